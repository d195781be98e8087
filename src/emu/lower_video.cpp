// Scalar video instructions (vadd, vmad, vset, ...), the element selectors and masks of the SIMD
// ones, and lop3 with a predicate. No program of the census uses them, so they get no handlers of
// their own: each is spelled out in instructions that have some, over 64-bit intermediates, which
// hold every value that the manual's 33- and 34-bit ones can. Left out: .sat, the second operations
// .min and .max, the destination .h1 and scaled products of different signs, where an H200 does
// something else than the manual says.
#include <fmt/format.h>

#include "emu/lowering.h"
#include "isa/lane_rows.h"

namespace tw::emu {
namespace {

// ".b2": 8 bits from bit 16; ".h1": 16 from bit 16; no selector: all 32.
struct Part {
  uint32_t at = 0, bits = 32;
};
std::optional<Part> part_named(std::string_view name) {
  if (name.empty()) return Part{};
  if (name.size() != 2) return std::nullopt;
  const uint32_t index = uint32_t(name[1] - '0');
  if (name[0] == 'b' && index < 4) return Part{index * 8, 8};
  if (name[0] == 'h' && index < 2) return Part{index * 16, 16};
  return std::nullopt;
}

// The bytes that ".h20" or ".b7140" takes, as prmt's selector over b:a; nullopt if it is malformed.
std::optional<uint32_t> byte_selector(std::string_view name, int parts) {
  if (name.size() != size_t(parts) + 1 || name[0] != (parts == 2 ? 'h' : 'b')) return std::nullopt;
  uint32_t selector = 0;
  for (int i = 0; i < parts; i++) {  // the most significant element is written first
    const uint32_t element = uint32_t(name[size_t(parts - i)] - '0');
    if (element >= uint32_t(2 * parts)) return std::nullopt;
    selector |=
        parts == 4 ? element << (4 * i) : ((2 * element + 1) << 4 | (2 * element)) << (8 * i);
  }
  return selector;
}

// The elements that a destination mask (".h1", ".b310") names, as a mask of bits.
std::optional<uint32_t> element_mask(std::string_view name, int parts) {
  if (name.empty()) return 0xffffffffu;
  if (name.size() < 2 || name[0] != (parts == 2 ? 'h' : 'b')) return std::nullopt;
  uint32_t mask = 0;
  for (const char c : name.substr(1)) {
    const uint32_t element = uint32_t(c - '0');
    if (element >= uint32_t(parts)) return std::nullopt;
    mask |= (parts == 2 ? 0xffffu : 0xffu) << (element * (32 / uint32_t(parts)));
  }
  return mask;
}

}  // namespace

Source Lowering::apply(std::string_view spelling, std::initializer_list<Source> sources,
                       uint32_t destination) {
  ptx::Instruction in;
  size_t at = spelling.find('.');
  in.opcode = spelling.substr(0, at);
  while (at != std::string_view::npos) {
    const size_t next = spelling.find('.', at + 1);
    in.modifiers.emplace_back(spelling.substr(at + 1, next - at - 1));
    at = next;
  }
  in.operands.resize(sources.size() + 1);
  const Result<isa::Match> match = find_match(in);  // spellings of this file: they exist
  return reg(lane_op(match->row, match->type, match->type2, sources, match->mods, destination));
}

Status Lowering::scalar_video(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                              Machine machine) {
  const bool product = machine == Machine::vmad;
  const bool sum = match.mods[Field::operation] == isa::kOpAdd;
  const size_t n = in.operands.size();
  if (n != 3 && n != 4)
    return error_at(in, fmt::format("'{}' takes two or three sources", in.spelling()));
  // Its elements: of the destination, of a and b.
  std::optional<Part> parts[3];
  Source sources[3];
  for (size_t i = 0; i < n; i++) {
    const Operand& o = in.operands[i];
    const std::string selector = o.kind == OperandKind::reg ? o.name : "";
    const std::optional<Part> part = part_named(selector);
    if (!part || (i == 3 && !selector.empty()))
      return error_at(in, fmt::format("'.{}' selects no part of a 32-bit register", selector));
    if (i < 3) parts[i] = part;
    if (i == 0) continue;
    Result<Source> s = source(f, in, o, 4, Type::u32);
    if (!s.ok()) return s.error();
    sources[i - 1] = *s;
  }
  const bool merge = parts[0]->bits != 32;
  if ((n == 4) != (merge || product || sum))
    return error_at(in, fmt::format("'{}': the third source goes with a part of the destination or "
                                    ".add",
                                    in.spelling()));
  if (parts[0]->bits == 16 && parts[0]->at == 16)
    return error_at(in, "the destination '.h1' of a video instruction is not supported");

  const auto element = [&](Source whole, const Part& part, bool is_signed) {
    const Source wide = apply("cvt.u64.u32", {whole});
    return apply(is_signed ? "bfe.s64" : "bfe.u64", {wide, constant(part.at), constant(part.bits)});
  };
  const bool signed_a = match.mods[Field::type_a], signed_b = match.mods[Field::type_b];
  const Source a = element(sources[0], *parts[1], signed_a),
               b = element(sources[1], *parts[2], signed_b);
  Source r;
  switch (machine) {
    case Machine::vadd: r = apply("add.s64", {a, b}); break;
    case Machine::vsub: r = apply("sub.s64", {a, b}); break;
    case Machine::vabsdiff:
      r = apply("max.s64", {apply("sub.s64", {a, b}), apply("sub.s64", {b, a})});
      break;
    case Machine::vmin: r = apply("min.s64", {a, b}); break;
    case Machine::vmax: r = apply("max.s64", {a, b}); break;
    case Machine::vshl:
    case Machine::vshr: {
      const Source count = apply("cvt.u32.u64", {b});
      const Source places = match.mods[Field::shift] == isa::kShiftWrap
                                ? apply("and.b32", {count, constant(31)})
                                : apply("min.u32", {count, constant(32)});
      r = apply(machine == Machine::vshl ? "shl.b64" : "shr.s64", {a, places});
      break;
    }
    case Machine::vset: {
      constexpr const char* kCompare[] = {"eq", "ne", "lt", "le", "gt", "ge"};
      const uint8_t cmp = match.mods[Field::cmp];
      if (cmp < isa::kEq || cmp > isa::kGe)
        return error_at(in, fmt::format("'{}' compares integers", in.spelling()));
      const Source holds = apply(fmt::format("setp.{}.s64", kCompare[cmp - isa::kEq]), {a, b});
      r = apply("selp.b64", {constant(1), constant(0), holds});
      break;
    }
    default: {  // vmad: a * b + c, or + 1 more, scaled
      const bool is_signed = signed_a || signed_b;
      const Source c = apply(is_signed ? "cvt.s64.s32" : "cvt.u64.u32", {sources[2]});
      r = apply("add.s64", {apply("mul.lo.s64", {a, b}), c});
      if (match.mods[Field::carry_out]) r = apply("add.s64", {r, constant(1)});
      const uint8_t scale = match.mods[Field::shift];
      if (scale != 0 && signed_a != signed_b)
        return error_at(in, fmt::format("'{}' with operands of different signs is not supported",
                                        in.spelling()));
      if (scale != 0) r = apply(is_signed ? "shr.s64" : "shr.u64", {r, constant(scale)});
      break;
    }
  }
  r = apply("cvt.u32.u64", {r});

  Operand to = in.operands[0];
  to.name.clear();
  Result<Destination> out = destination(f, in, to, 4, false);
  if (!out.ok()) return out.error();
  if (merge)
    apply("bfi.b32", {r, sources[2], constant(parts[0]->at), constant(parts[0]->bits)}, out->reg);
  else if (sum)
    apply("add.u32", {r, sources[2]}, out->reg);
  else
    apply("mov.b32", {r}, out->reg);
  finish(*out);
  return Unit{};
}

// Selectors choose a's and b's elements among those of both; the mask says which elements of the
// result are new, the others being c's (or, where the elements are summed, left out).
Status Lowering::simd_video(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                            const LaneEntry& entry, const Source* sources) {
  const int parts = in.opcode.back() - '0';
  Source ab[2] = {sources[0], sources[1]};
  for (size_t i = 0; i < 2; i++) {
    const Operand& o = in.operands[i + 1];
    if (o.kind != OperandKind::reg || o.name.empty()) continue;
    const std::optional<uint32_t> selector = byte_selector(o.name, parts);
    if (!selector)
      return error_at(in, fmt::format("'.{}' selects no elements of two registers", o.name));
    ab[i] = apply("prmt.b32", {sources[0], sources[1], constant(*selector)});
  }
  Operand to = in.operands[0];
  const std::optional<uint32_t> mask = element_mask(to.name, parts);
  if (!mask || !in.operands[3].name.empty())
    return error_at(in, fmt::format("'{}': malformed selector", in.spelling()));
  to.name.clear();
  const bool sum = match.mods[Field::operation] == isa::kOpAdd, all = *mask == 0xffffffffu;
  if (sum && !all)  // elements of zeros give zero, but for comparisons that hold between equals
    for (Source& s : ab) s = apply("and.b32", {s, constant(*mask)});
  Result<Destination> out = destination(f, in, to, 4, false);
  if (!out.ok()) return out.error();
  const uint32_t result = all ? out->reg : d_.new_register(4);
  Ir& ir = append(IrKind::lane);
  ir.row = match.row;
  ir.entry = &entry;
  ir.mods = match.mods;
  ir.destinations = 1;
  ir.d[0] = result;
  for (const Source& s : {ab[0], ab[1], sources[2]}) ir.s[ir.sources++] = s;
  ir.guard = guard_;
  ir.guard_negated = guard_negated_;
  if (!all && sum) {
    const uint8_t cmp = match.mods[Field::cmp];
    const bool equal_holds = cmp == isa::kEq || cmp == isa::kLe || cmp == isa::kGe;
    const int left_out = std::popcount(~*mask) / (32 / parts);
    apply("sub.u32", {reg(result), constant(equal_holds ? uint64_t(left_out) : 0)}, out->reg);
  } else if (!all) {
    constexpr uint64_t kSelect = 0xca;  // the mask's bits choose
    apply("lop3.b32", {constant(*mask), reg(result), sources[2], constant(kSelect)}, out->reg);
  }
  finish(*out);
  return Unit{};
}

// lop3.BoolOp d|p, a, b, c, table, q: p = (d != 0) BoolOp q.
Status Lowering::lop3_test(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  if (in.operands.size() != 6 || in.operands[0].kind != OperandKind::pair)
    return error_at(in,
                    fmt::format("'{}' takes d|p, a, b, c, a table and a predicate", in.spelling()));
  Source s[5];
  for (size_t i = 0; i < 5; i++) {
    Result<Source> r =
        source(f, in, in.operands[i + 1], i < 4 ? 4 : 0, i < 4 ? Type::b32 : Type::pred);
    if (!r.ok()) return r.error();
    s[i] = *r;
  }
  if (!s[3].constant)
    return error_at(in, fmt::format("the table of '{}' must be a constant", in.spelling()));
  Result<Destination> value = destination(f, in, in.operands[0].elements[0], 4, false);
  if (!value.ok()) return value.error();
  Result<Destination> holds = destination(f, in, in.operands[0].elements[1], 0, false);
  if (!holds.ok()) return holds.error();
  // In temporaries first: the destinations may be sources too.
  const Source result = apply("lop3.b32", {s[0], s[1], s[2], s[3]});
  apply(match.mods[Field::operation] == isa::kOpAnd ? "setp.ne.and.u32" : "setp.ne.or.u32",
        {result, constant(0), s[4]}, holds->reg);
  apply("mov.b32", {result}, value->reg);
  finish(*value);
  return Unit{};
}

}  // namespace tw::emu
