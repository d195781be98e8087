#include "isa/operand_types.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

namespace tw::isa {
namespace {

using OperandKind = ptx::Operand::Kind;

enum class Kind : uint8_t { bits, integer, floating, predicate };

Kind kind_of(Type type) {
  if (type == Type::pred) return Kind::predicate;
  switch (ptx::type_name(type)[0]) {
    case 'b': return ptx::type_name(type).starts_with("bf") ? Kind::floating : Kind::bits;
    case 'u':
    case 's': return Kind::integer;
    default: return Kind::floating;
  }
}

Type bits_of(uint32_t bytes) {
  switch (bytes) {
    case 1: return Type::b8;
    case 2: return Type::b16;
    case 4: return Type::b32;
    case 8: return Type::b64;
    default: return Type::b128;
  }
}

// What one operand has to be.
struct Wanted {
  Type type = Type::none;
  bool wider = false;   // a wider register does, too
  bool strict = false;  // not a register declared for two halves
  bool no_literal = false;
  bool constant = false;  // nothing but a literal
  uint64_t most = ~0ull;  // of an integer literal
};

// Formats that no register is declared with: their registers are bits.
bool is_bits_only(Type type) {
  return type == Type::bf16 || type == Type::bf16x2 || type == Type::tf32 || type == Type::e4m3x2 ||
         type == Type::e5m2x2;
}

std::optional<Wanted> wanted_by(char letter, const Match& match) {
  const auto width = [](Type type) { return ptx::type_bytes(type); };
  Wanted w;
  switch (letter) {
    case 't':
    case 'T': w.type = match.type; break;
    case 's':
    case 'S': w.type = match.type2; break;
    case 'w':
      w.type = kind_of(match.type) == Kind::integer && ptx::type_name(match.type)[0] == 's'
                   ? (width(match.type) == 2 ? Type::s32 : Type::s64)
                   : (width(match.type) == 2 ? Type::u32 : Type::u64);
      break;
    case 'y': w.most = 255; [[fallthrough]];
    case 'u':
      w.type = Type::u32;
      w.strict = true;
      break;
    case 'U': w.type = Type::u32; break;
    case 'B': w.type = Type::b32; break;
    case 'd': w.type = is_bits_only(match.type) ? bits_of(width(match.type)) : match.type; break;
    case 'l':
      w.type = Type::u64;
      w.strict = true;
      break;
    case '6': w.type = Type::b64; break;
    case 'p': w.type = Type::pred; break;
    case 'x': w.type = Type::f16x2; break;
    case 'z': w.strict = true; [[fallthrough]];
    case 'v':
      w.type = Type::u32;
      w.no_literal = true;
      break;
    case 'i':
      w.type = Type::u32;
      w.constant = true;
      break;
    default: return std::nullopt;
  }
  if (w.type == Type::none) return std::nullopt;
  const bool formatted = is_bits_only(match.type) || is_bits_only(match.type2);
  w.wider = std::isupper(letter) != 0 && !formatted;
  return w;
}

bool agrees(const Wanted& wanted, Type declared) {
  const Kind want = kind_of(wanted.type);
  if (want == Kind::predicate || declared == Type::pred)
    return (want == Kind::predicate) == (declared == Type::pred);
  const uint32_t bytes = ptx::type_bytes(wanted.type), have_bytes = ptx::type_bytes(declared);
  if (wanted.wider ? have_bytes < bytes : have_bytes != bytes) return false;
  const Kind have = kind_of(declared);
  if (is_bits_only(wanted.type)) return have == Kind::bits;
  if (have == Kind::bits) return true;
  if (declared == Type::f16x2)
    return wanted.type == Type::f16x2 || (want != Kind::floating && !wanted.strict);
  if (wanted.type == Type::f16x2) return false;
  if (want == Kind::bits) return true;
  return want == have && (want == Kind::integer || wanted.type == declared);
}

class Check {
 public:
  Check(const ptx::Instruction& instruction, const Match& match, const ptx::Function& function)
      : in_(instruction), match_(match), info_(row_info(match.row)), function_(function) {}

  // What is wrong with operand `number` (from 1), or nothing.
  std::string operand(size_t number, const ptx::Operand& o, char letter) const {
    if (letter == 'a') return address(number, o);
    if (o.kind == OperandKind::pair) {
      const std::string first = operand(number, o.elements[0], letter);
      return first.empty() ? operand(number, o.elements[1], 'p') : first;
    }
    if (o.kind == OperandKind::vector) return elements(number, o, letter);
    const std::optional<Wanted> wanted = wanted_by(letter, match_);
    return wanted ? value(number, o, *wanted) : "";
  }

 private:
  std::string says(std::string_view what) const {
    return fmt::format("'{}' {}", in_.spelling(), what);
  }

  std::string value(size_t number, const ptx::Operand& o, const Wanted& wanted) const {
    switch (o.kind) {
      case OperandKind::reg:
        if (o.minus && info_.opcode() != "vmad")
          return says("takes no negated register: negate it before, with neg");
        if (!o.name.empty()) return "";  // a part of it: a video instruction
        return declared(number, function_.registers[o.reg], wanted);
      case OperandKind::special:
        return o.name == "WARP_SZ" ? integer(number, 32, wanted) : special(number, o, wanted);
      case OperandKind::integer: return integer(number, o.bits, wanted);
      case OperandKind::float32:
      case OperandKind::float64: return floating(number, o.kind == OperandKind::float32, wanted);
      case OperandKind::symbol:
        if (info_.opcode() == "mov" && kind_of(wanted.type) != Kind::floating) return "";
        return says(
            fmt::format("takes no address as operand {}: put it into a register with mov", number));
      default: return "";
    }
  }

  std::string declared(size_t number, const ptx::Register& r, const Wanted& wanted) const {
    if (wanted.constant)
      return says(
          fmt::format("takes a constant as operand {}, and {} is a register", number, r.name));
    if (r.type == Type::none || agrees(wanted, r.type)) return "";
    const std::string what =
        fmt::format("takes a .{} as operand {}, and {} is a .{}",
                    ptx::type_name(is_bits_only(wanted.type) ? bits_of(ptx::type_bytes(wanted.type))
                                                             : wanted.type),
                    number, r.name, ptx::type_name(r.type));
    const bool width = ptx::type_bytes(wanted.type) == ptx::type_bytes(r.type);
    return says(what +
                (wanted.type == Type::pred ? ": compare it first, with setp"
                 : r.type == Type::pred    ? ": make a number of it, with selp"
                 : width ? fmt::format(": move it into a .b{} first", ptx::type_bytes(r.type) * 8)
                         : ": convert it first, with cvt"));
  }

  bool takes_literals(const Wanted& wanted) const {
    if (wanted.no_literal || is_bits_only(wanted.type)) return false;
    if (wanted.type == Type::pred) return !is_bits_only(match_.type) && !is_bits_only(match_.type2);
    return wanted.type != Type::f16 && wanted.type != Type::f16x2;
  }
  std::string no_literal(size_t number) const {
    return says(
        fmt::format("takes no literal as operand {}: put it into a register with mov", number));
  }

  std::string integer(size_t number, uint64_t bits, const Wanted& wanted) const {
    if (!takes_literals(wanted)) return no_literal(number);
    if (kind_of(wanted.type) == Kind::floating)
      return says(
          fmt::format("takes a floating-point literal as operand {}: write 0f and 8, or 0d "
                      "and 16 hexadecimal digits, or a decimal point",
                      number));
    if (bits > wanted.most)
      return says(fmt::format("takes 0 to {} as operand {}", wanted.most, number));
    return "";
  }

  std::string floating(size_t number, bool single, const Wanted& wanted) const {
    if (!takes_literals(wanted)) return no_literal(number);
    const Kind want = kind_of(wanted.type);
    const bool whole = want == Kind::bits && ptx::type_bytes(wanted.type) == (single ? 4u : 8u);
    if (want == Kind::floating || whole) return "";
    return says(
        fmt::format("takes a .{} as operand {}, and this is a floating-point literal: write "
                    "an integer",
                    ptx::type_name(wanted.type), number));
  }

  std::string special(size_t number, const ptx::Operand& o, const Wanted& wanted) const {
    const bool wide = o.name == "%clock64" || o.name == "%globaltimer" || o.name == "%gridid";
    const bool moves = info_.opcode() == "mov" && kind_of(wanted.type) != Kind::floating &&
                       kind_of(wanted.type) != Kind::predicate &&
                       wide == (ptx::type_bytes(wanted.type) == 8);
    const bool converts =
        info_.grammar == "cvt{.sat}.type.type2" && ptx::type_bytes(wanted.type) <= (wide ? 8 : 4);
    if (moves || converts) return "";
    return says(fmt::format("does not take {} as operand {}: read it with mov.u{} first", o.name,
                            number, wide ? 64 : 32));
  }

  // Elements of a vector: as wide as the instruction's type, or what mov packs and unpacks, whose
  // parts have a width of their own and take any literal.
  std::string elements(size_t number, const ptx::Operand& o, char letter) const {
    std::optional<Wanted> wanted = wanted_by(letter, match_);
    if (!wanted || o.elements.empty()) return "";
    const bool moves = info_.opcode() == "mov", packs = info_.body == Body::lane;
    uint32_t bytes = ptx::type_bytes(wanted->type);
    if (packs) {
      if (bytes % o.elements.size() != 0)
        return says(fmt::format("has no {} equal parts", o.elements.size()));
      bytes /= uint32_t(o.elements.size());
    }
    // In vectors that are stored ptxas looks at the width only.
    const bool stores = info_.category == Category::store || info_.category == Category::atomic;
    if (moves || info_.category == Category::store) wanted->type = bits_of(bytes);
    for (const ptx::Operand& e : o.elements) {
      if ((packs || stores) && e.kind != OperandKind::reg) continue;
      if (const std::string problem = value(number, e, *wanted); !problem.empty()) return problem;
    }
    return "";
  }

  std::string address(size_t number, const ptx::Operand& o) const {
    if (o.kind != OperandKind::address)
      return says(fmt::format("takes an address in brackets as operand {}", number));
    const ptx::Operand& base = o.elements[0];
    if (base.kind == OperandKind::integer && match_.mods[Field::space] != kLocal)
      return says("takes a number as an address in local memory only: put it into a register");
    if (base.kind != OperandKind::reg) return "";
    const ptx::Register& r = function_.registers[base.reg];
    const Kind kind = kind_of(r.type);
    if (r.type == Type::none ||
        (ptx::type_bytes(r.type) <= 8 && (kind == Kind::bits || kind == Kind::integer)))
      return "";
    return says(fmt::format("takes an integer as an address, and {} is a .{}", r.name,
                            ptx::type_name(r.type)));
  }

  const ptx::Instruction& in_;
  const Match& match_;
  const RowInfo& info_;
  const ptx::Function& function_;
};

}  // namespace

std::string vmad_negation(const ptx::Instruction& instruction, const Match& match) {
  bool minus[3] = {};
  for (size_t i = 0; i < 3 && i + 1 < instruction.operands.size(); ++i)
    minus[i] = instruction.operands[i + 1].minus;
  if (match.mods[Field::carry_out] && (minus[0] || minus[1] || minus[2]))
    return fmt::format("'{}' takes no negated register: .po and negation exclude each other",
                       instruction.spelling());
  if (minus[0] != minus[1] && minus[2])
    return fmt::format(
        "'{}' negates either its product or its third source: negate one before, "
        "with neg",
        instruction.spelling());
  return "";
}

Status check_operand_types(const ptx::Instruction& instruction, const Match& match,
                           const ptx::Function& function, const std::string& file) {
  const RowInfo& info = row_info(match.row);
  if (info.takes.empty() && info.body != Body::lane) return Unit{};
  std::string takes(info.takes);
  if (const size_t optional = takes.find('{'); optional != std::string::npos) {
    const bool there = takes.size() - 2 == instruction.operands.size();
    takes = takes.substr(0, optional) + (there ? takes.substr(optional + 1, 1) : "") +
            takes.substr(optional + 3);
  }
  if (info.opcode() == "vmad")
    if (const std::string problem = vmad_negation(instruction, match); !problem.empty())
      return Error{problem, file, instruction.line, instruction.column};
  const Check check(instruction, match, function);
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    if (!takes.empty() && i >= takes.size()) break;
    const char letter = takes.empty() ? 't' : takes[i];
    const std::string problem = check.operand(i + 1, instruction.operands[i], letter);
    if (!problem.empty()) return Error{problem, file, instruction.line, instruction.column};
  }
  return Unit{};
}

}  // namespace tw::isa
