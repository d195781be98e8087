// Scalar video instructions (vadd, vmad, vset, ...), the element selectors and masks of the SIMD
// ones, and lop3 with a predicate. No program of the census uses them, so they get no handlers of
// their own: each is spelled out in instructions that have some, over 64-bit intermediates.
//
// GPUs have had no video instructions since compute capability 5.0: ptxas spells them out, too, and
// in places not as the manual says. The GPU's results are what programs get, so this file follows
// ptxas 13 (as the code that it makes for sm_90 shows); "instead" marks where the manual differs.
#include <fmt/format.h>

#include "emu/lowering.h"
#include "isa/lane_rows.h"
#include "isa/operand_types.h"

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

Source Lowering::clamped(Source value, uint64_t least, uint64_t most) {
  return apply("min.s64", {apply("max.s64", {value, constant(least)}), constant(most)});
}

// The value that .sat makes of an intermediate one, for a destination of `bits` bits.
Source Lowering::saturated_video(Source value, const isa::Match& match, Machine machine,
                                 uint32_t bits) {
  const bool to_signed = is_signed(match.type);
  const bool shifts = machine == Machine::vshl || machine == Machine::vshr;
  // Parts of a register: negative values count as large ones, instead.
  if (bits != 32 && !shifts)
    return apply("min.u64", {value, constant((1ull << (to_signed ? bits - 1 : bits)) - 1)});
  // Shifts saturate to 32 bits whatever the destination, instead, and look at 34 bits.
  if (shifts) value = apply("bfe.s64", {value, constant(0), constant(34)});
  if (to_signed) return clamped(value, uint64_t(INT32_MIN), INT32_MAX);
  if (shifts) return clamped(value, 0, UINT32_MAX);
  return apply("max.s64", {value, constant(0)});  // from above not at all, instead
}

// vmad: a * b + c, or one more, scaled. Operands count as signed, instead, which shows in .sat and
// in the bits that scaling brings down; of unsigned operands the sum is unsigned again.
Source Lowering::video_product(const ptx::Instruction& in, const isa::Match& match, Source a,
                               Source b, Source c) {
  const bool minus_product = in.operands[1].minus != in.operands[2].minus,
             minus_c = in.operands[3].minus;
  const auto signed_word = [&](Source wide) {
    return apply("bfe.s64", {wide, constant(0), constant(32)});
  };
  Source r = apply("mul.lo.s64", {signed_word(a), signed_word(b)});
  if (minus_product) r = apply("neg.s64", {r});
  r = apply(minus_c ? "sub.s64" : "add.s64", {r, apply("cvt.s64.s32", {c})});
  if (match.mods[Field::carry_out]) r = apply("add.s64", {r, constant(1)});
  const bool is_signed_sum =
      match.mods[Field::type_a] || match.mods[Field::type_b] || minus_product || minus_c;
  if (const uint8_t scale = match.mods[Field::shift]; scale != 0)
    r = apply(is_signed_sum ? "shr.s64" : "shr.u64", {r, constant(scale)});
  if (!match.mods[Field::sat]) return r;
  return is_signed_sum ? clamped(r, uint64_t(INT32_MIN), INT32_MAX) : clamped(r, 0, UINT32_MAX);
}

Status Lowering::scalar_video(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                              Machine machine) {
  const bool product = machine == Machine::vmad;
  const uint8_t second = match.mods[Field::operation];
  const size_t n = in.operands.size();
  if (n != 3 && n != 4)
    return error_at(in, fmt::format("'{}' takes two or three sources", in.spelling()));
  if (product)
    if (const std::string problem = isa::vmad_negation(in, match); !problem.empty())
      return error_at(in, problem);
  // Its elements: of the destination, of a and b.
  std::optional<Part> parts[3];
  Source sources[3];
  for (size_t i = 0; i < n; i++) {
    Operand o = in.operands[i];
    const std::string selector = o.kind == OperandKind::reg ? o.name : "";
    const std::optional<Part> part = part_named(selector);
    if (!part || (i == 3 && !selector.empty()))
      return error_at(in, fmt::format("'.{}' selects no part of a 32-bit register", selector));
    if (i < 3) parts[i] = part;
    if (i == 0) continue;
    if (product) o.minus = false;  // video_product looks at it
    Result<Source> s = source(f, in, o, 4, Type::u32);
    if (!s.ok()) return s.error();
    sources[i - 1] = *s;
  }
  const bool merge = parts[0]->bits != 32;
  if ((n != 4 && (merge || product || second)) || (merge && (product || second)))
    return error_at(in, fmt::format("'{}': the third source goes with a part of the destination or "
                                    ".add, .min or .max",
                                    in.spelling()));

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
      if (signed_b) return error_at(in, fmt::format("'{}' shifts by a .u32", in.spelling()));
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
    default: r = video_product(in, match, a, b, sources[2]); break;
  }
  const bool saturates = match.mods[Field::sat] && !product;
  if (saturates) r = saturated_video(r, match, machine, parts[0]->bits);
  if (second == isa::kOpMin || second == isa::kOpMax) {
    // 64 bits are compared; of sums and of what has been saturated, the lower 32, extended.
    const bool shifts = machine == Machine::vshl || machine == Machine::vshr;
    if (machine == Machine::vadd || machine == Machine::vsub || (shifts && saturates))
      r = apply("bfe.s64", {r, constant(0), constant(32)});
    const bool as_signed = machine == Machine::vset ? signed_a : is_signed(match.type);
    const Source c = apply(as_signed ? "cvt.s64.s32" : "cvt.u64.u32", {sources[2]});
    r = apply(fmt::format("{}.{}64", second == isa::kOpMin ? "min" : "max", as_signed ? 's' : 'u'),
              {r, c});
  }
  r = apply("cvt.u32.u64", {r});

  Operand to = in.operands[0];
  to.name.clear();
  Result<Destination> out = destination(f, in, to, 4, false);
  if (!out.ok()) return out.error();
  constexpr uint64_t kSelect = 0xca;                        // the mask's bits choose
  if (merge && parts[0]->at == 16 && parts[0]->bits == 16)  // .h1 takes the upper half, instead
    apply("lop3.b32", {constant(0xffff0000u), r, sources[2], constant(kSelect)}, out->reg);
  else if (merge)
    apply("bfi.b32", {r, sources[2], constant(parts[0]->at), constant(parts[0]->bits)}, out->reg);
  else if (second == isa::kOpAdd)
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
    constexpr uint64_t kSelect = 0xca;
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
