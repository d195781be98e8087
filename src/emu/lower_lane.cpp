// Lane rows: operands to the sizes the body wants, both destinations of setp p|q, and mov between a
// register and a vector of its parts.
#include <fmt/format.h>

#include <bit>

#include "emu/lowering.h"
#include "emu/windows.h"
#include "isa/lane_rows.h"

namespace tw::emu {

Status Lowering::lane_instruction(Instance& f, const ptx::Instruction& in,
                                  const isa::Match& match) {
  if (match.row == isa::kRowMov && in.operands.size() == 2) {
    if (in.operands[0].kind == OperandKind::vector) return unpack(f, in, match);
    if (in.operands[1].kind == OperandKind::vector) return pack(f, in, match);
  }
  const LaneEntry* entry = find_entry(d_.target, match.row, match.type, match.type2);
  if (entry == nullptr) return error_at(in, fmt::format("'{}' has no handler", in.spelling()));
  const bool carry_in = isa::row_info(match.row).carry_in;
  const uint32_t written = entry->sources - (carry_in ? 1u : 0u);
  if (in.operands.size() != size_t(written) + 1)
    return error_at(in, fmt::format("'{}' takes {} operands, not {}", in.spelling(), written + 1,
                                    in.operands.size()));
  bool selects = false;  // parts of registers: video instructions
  for (const Operand& o : in.operands) selects |= o.kind == OperandKind::reg && !o.name.empty();
  for (const Operand& o : in.operands)
    if (o.kind == OperandKind::reg && !o.name.empty() && in.opcode[0] != 'v')
      return error_at(in, fmt::format("'{}' with the part selector '.{}' is not supported",
                                      in.spelling(), o.name));
  isa::Mods mods = match.mods;
  Source sources[kMaxSources];
  for (uint32_t i = 0; i < written; ++i) {
    Type literal_type = match.type2 != Type::none ? match.type2 : match.type;
    Result<Source> s = source(f, in, in.operands[i + 1], entry->source_bytes[i], literal_type);
    if (!s.ok()) return s.error();
    sources[i] = *s;
  }
  if (entry->constant_source < written && !sources[entry->constant_source].constant)
    return error_at(in, fmt::format("operand {} of '{}' must be a constant",
                                    entry->constant_source + 2, in.spelling()));
  if (selects) return simd_video(f, in, match, *entry, sources);
  if (carry_in) sources[written] = reg(condition_code());
  const Operand& to = in.operands[0];
  bool two = to.kind == OperandKind::pair;
  if (two && entry->destination_bytes != 0)
    return error_at(in,
                    fmt::format("'{}' with a second destination is not supported", in.spelling()));
  uint32_t kept = kNoReg, first = kNoReg;  // p of p|q, where q needs its old value
  for (int which = 0; which < (two ? 2 : 1); ++which) {
    const Operand& o = two ? to.elements[size_t(which)] : to;
    if (two && o.kind == OperandKind::sink) continue;
    Result<Destination> out =
        destination(f, in, o, entry->destination_bytes, entry->destination_signed);
    if (!out.ok()) return out.error();
    Ir& ir = append(IrKind::lane);
    ir.row = match.row;
    ir.entry = entry;
    ir.mods = which == 1 ? mods.with(Field::operation, 1) : mods;
    ir.destinations = 1;
    ir.d[0] = out->reg;
    ir.sources = entry->sources;
    if (two && which == 0 && guard_ == out->reg) first = out->reg;
    for (uint32_t i = 0; i < entry->sources; ++i) {
      ir.s[i] = sources[i];
      if (two && which == 0 && !sources[i].constant && sources[i].reg == out->reg) first = out->reg;
    }
    ir.guard = guard_;
    ir.guard_negated = guard_negated_;
    if (which == 0 && first != kNoReg) {
      kept = d_.new_register(0);
      ir.d[0] = kept;
    }
    if (mods[Field::carry_out]) carry_out(match, sources[written == 3 ? 2 : 0], out->reg);
    finish(*out);
  }
  if (kept != kNoReg) lane_op(isa::kRowMovPred, Type::pred, Type::none, {reg(kept)}, {}, first);
  return Unit{};
}

// CC.CF: a predicate register that no instruction names.
uint32_t Lowering::condition_code() {
  if (condition_code_ == kNoReg) condition_code_ = d_.new_register(0);
  return condition_code_;
}

// The carry of the .cc form that has just been appended, whose result goes to `result`; the row's
// entry for Type::pred takes that, the operand that was added last, and the old carry.
void Lowering::carry_out(const isa::Match& match, Source last, uint32_t result) {
  const bool overwrites = !last.constant && last.reg == result;
  const uint32_t sum = overwrites ? d_.new_register(d_.registers[result].bytes) : result;
  if (overwrites) d_.code.back().d[0] = sum;
  const LaneEntry* entry = find_entry(d_.target, match.row, match.type, Type::pred);
  Ir& ir = append(IrKind::lane);
  ir.row = match.row;
  ir.entry = entry;
  ir.destinations = 1;
  ir.d[0] = condition_code();
  ir.sources = entry->sources;
  ir.s[0] = reg(sum);
  ir.s[1] = last;
  if (entry->sources == 3) ir.s[2] = reg(condition_code());
  ir.guard = guard_;
  ir.guard_negated = guard_negated_;
  if (overwrites)
    lane_op(isa::kRowMov, bits_type(d_.registers[result].bytes), Type::none, {reg(sum)}, {},
            result);
}

Status Lowering::unpack(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  const std::vector<Operand>& parts = in.operands[0].elements;
  uint8_t whole = register_bytes(match.type);
  if (parts.empty() || whole % parts.size() != 0)
    return error_at(
        in, fmt::format("'{}' cannot split its source into {} parts", in.spelling(), parts.size()));
  const uint8_t part = uint8_t(whole / parts.size()),
                slot = part < 2 ? 2 : part;  // bytes lie in 16-bit slots
  Result<Source> from = source(f, in, in.operands[1], whole, match.type);
  if (!from.ok()) return from.error();
  std::vector<Source> values;
  for (size_t i = 0; i < parts.size(); ++i) {  // all reads before all writes
    Source v = *from;
    if (v.constant) {
      v.value = (v.value >> (i * part * 8)) & ((1ull << (part * 8)) - 1);
    } else {
      if (i > 0)
        v = reg(
            lane_op(isa::kRowShr, unsigned_type(whole), Type::none, {v, constant(i * part * 8)}));
      v = resize(v, whole, slot, false);
      if (part < slot) v = reg(lane_op(isa::kRowCvtInt, Type::u16, Type::u8, {v}));
    }
    values.push_back(v);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].kind == OperandKind::sink) continue;
    Result<Destination> out = destination(f, in, parts[i], slot, false);
    if (!out.ok()) return out.error();
    lane_op(isa::kRowMov, bits_type(slot), Type::none, {values[i]}, {}, out->reg);
    finish(*out);
  }
  return Unit{};
}

Status Lowering::pack(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  const std::vector<Operand>& parts = in.operands[1].elements;
  uint8_t whole = register_bytes(match.type);
  if (parts.empty() || whole % parts.size() != 0)
    return error_at(in, fmt::format("'{}' cannot join {} parts", in.spelling(), parts.size()));
  const uint8_t part = uint8_t(whole / parts.size()), slot = part < 2 ? 2 : part;
  Source sum;
  for (size_t i = 0; i < parts.size(); ++i) {
    Result<Source> v = source(f, in, parts[i], slot, unsigned_type(slot));
    if (!v.ok()) return v.error();
    if (part < slot)
      *v = v->constant ? constant(v->value & 0xff)
                       : reg(lane_op(isa::kRowCvtInt, Type::u16, Type::u8, {*v}));
    Source piece = resize(*v, slot, whole, false);
    if (i > 0)
      piece = piece.constant ? constant(piece.value << (i * part * 8))
                             : reg(lane_op(isa::kRowShl, bits_type(whole), Type::none,
                                           {piece, constant(i * part * 8)}));
    sum = i == 0 ? piece : reg(lane_op(isa::kRowOr, bits_type(whole), Type::none, {sum, piece}));
  }
  Result<Destination> out = destination(f, in, in.operands[0], whole, false);
  if (!out.ok()) return out.error();
  lane_op(isa::kRowMov, bits_type(whole), Type::none, {sum}, {}, out->reg);
  finish(*out);
  return Unit{};
}

// mov.v4.u32 {a, b, c, d}, {e, f, g, h}
Status Lowering::move_vector(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  const size_t count = match.mods[Field::vec];
  if (in.operands.size() != 2 || count > 4 || elements_of(in.operands[0]).size() != count ||
      elements_of(in.operands[1]).size() != count)
    return error_at(in, fmt::format("'{}' takes two vectors of {} elements", in.spelling(), count));
  const uint8_t bytes = register_bytes(match.type);
  std::vector<uint32_t> values;  // all are read before one is written
  for (const Operand& o : in.operands[1].elements) {
    Result<Source> from = source(f, in, o, bytes, match.type);
    if (!from.ok()) return from.error();
    values.push_back(lane_op(isa::kRowMov, bits_type(bytes), Type::none, {*from}));
  }
  for (size_t i = 0; i < count; ++i) {
    if (in.operands[0].elements[i].kind == OperandKind::sink) continue;
    Result<Destination> out = destination(f, in, in.operands[0].elements[i], bytes, false);
    if (!out.ok()) return out.error();
    lane_op(isa::kRowMov, bits_type(bytes), Type::none, {reg(values[i])}, {}, out->reg);
    finish(*out);
  }
  return Unit{};
}

// mov.b128 between two .b128 registers, or one and its parts of 64 or 32 bits.
Status Lowering::move_wide(Instance& f, const ptx::Instruction& in) {
  const auto fits = [&](const Operand& o) {
    return is_wide(f, o) ||
           (o.kind == OperandKind::vector && (o.elements.size() == 2 || o.elements.size() == 4));
  };
  if (in.operands.size() != 2 || !fits(in.operands[0]) || !fits(in.operands[1]) ||
      !(is_wide(f, in.operands[0]) || is_wide(f, in.operands[1])))
    return error_at(in, fmt::format("'{}' takes a .b128 register and another, or its two or four "
                                    "parts in braces",
                                    in.spelling()));
  Source parts[2];
  if (is_wide(f, in.operands[1])) {
    const std::array<uint32_t, 2> from = halves(f, in.operands[1].reg);
    parts[0] = reg(from[0]), parts[1] = reg(from[1]);
  } else {
    const std::vector<Operand>& given = in.operands[1].elements;
    const size_t each = given.size() / 2;
    for (size_t i = 0; i < 2; ++i) {
      if (each == 1) {
        Result<Source> s = source(f, in, given[i], 8, Type::b64);
        if (!s.ok()) return s.error();
        parts[i] = *s;
        continue;
      }
      Result<Source> low = source(f, in, given[2 * i], 4, Type::b32);
      if (!low.ok()) return low.error();
      Result<Source> high = source(f, in, given[2 * i + 1], 4, Type::b32);
      if (!high.ok()) return high.error();
      parts[i] = apply("or.b64", {apply("cvt.u64.u32", {*low}),
                                  apply("shl.b64", {apply("cvt.u64.u32", {*high}), constant(32)})});
    }
  }
  if (is_wide(f, in.operands[0])) {
    const std::array<uint32_t, 2> to = halves(f, in.operands[0].reg);
    for (size_t i = 0; i < 2; ++i) apply("mov.b64", {parts[i]}, to[i]);
    return Unit{};
  }
  const std::vector<Operand>& to = in.operands[0].elements;
  const size_t each = to.size() / 2;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].kind == OperandKind::sink) continue;
    const uint8_t bytes = uint8_t(8 / each);
    Result<Destination> out = destination(f, in, to[i], bytes, false);
    if (!out.ok()) return out.error();
    const Source part = parts[i / each];
    if (each == 1)
      apply("mov.b64", {part}, out->reg);
    else
      apply("cvt.u32.u64", {i % 2 == 0 ? part : apply("shr.u64", {part, constant(32)})}, out->reg);
    finish(*out);
  }
  return Unit{};
}

}  // namespace tw::emu
