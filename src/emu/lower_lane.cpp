// Lane rows: operands to the sizes the body wants, both destinations of setp p|q, and mov between a
// register and a vector of its parts.
#include <fmt/format.h>

#include <bit>

#include "emu/lowering.h"
#include "emu/windows.h"
#include "isa/lane_rows.h"

namespace tw::emu {

Status Lowering::lane_instruction(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  if (match.row == isa::kRowMov && in.operands.size() == 2) {
    if (in.operands[0].kind == OperandKind::vector) return unpack(f, in, match);
    if (in.operands[1].kind == OperandKind::vector) return pack(f, in, match);
  }
  const LaneEntry* entry = find_entry(d_.target, match.row, match.type, match.type2);
  if (entry == nullptr) return error_at(in, fmt::format("'{}' has no handler", in.spelling()));
  if (in.operands.size() != size_t(entry->sources) + 1) return error_at(in, fmt::format("'{}' takes {} operands, not {}", in.spelling(), entry->sources + 1, in.operands.size()));
  isa::Mods mods = match.mods;
  Source sources[kMaxSources];
  for (uint32_t i = 0; i < entry->sources; ++i) {
    Type literal_type = match.type2 != Type::none ? match.type2 : match.type;
    Result<Source> s = source(f, in, in.operands[i + 1], entry->source_bytes[i], literal_type);
    if (!s.ok()) return s.error();
    sources[i] = *s;
  }
  const Operand& to = in.operands[0];
  bool two = to.kind == OperandKind::pair;
  for (int which = 0; which < (two ? 2 : 1); ++which) {
    const Operand& o = two ? to.elements[size_t(which)] : to;
    if (two && o.kind == OperandKind::sink) continue;
    Result<Destination> out = destination(f, in, o, entry->destination_bytes, entry->destination_signed);
    if (!out.ok()) return out.error();
    Ir& ir = append(IrKind::lane);
    ir.row = match.row;
    ir.entry = entry;
    ir.mods = which == 1 ? mods.with(Field::operation, 1) : mods;
    ir.destinations = 1;
    ir.d[0] = out->reg;
    ir.sources = entry->sources;
    for (uint32_t i = 0; i < entry->sources; ++i) ir.s[i] = sources[i];
    ir.guard = guard_;
    ir.guard_negated = guard_negated_;
    finish(*out);
  }
  return Unit{};
}

Status Lowering::unpack(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  const std::vector<Operand>& parts = in.operands[0].elements;
  uint8_t whole = register_bytes(match.type);
  if (parts.empty() || whole % parts.size() != 0 || whole / parts.size() < 2) return error_at(in, fmt::format("'{}' cannot split its source into {} parts", in.spelling(), parts.size()));
  uint8_t part = uint8_t(whole / parts.size());
  Result<Source> from = source(f, in, in.operands[1], whole, match.type);
  if (!from.ok()) return from.error();
  std::vector<Source> values;
  for (size_t i = 0; i < parts.size(); ++i) {  // all reads before all writes
    Source v = *from;
    if (v.constant) {
      v.value = (v.value >> (i * part * 8)) & ((1ull << (part * 8)) - 1);
    } else {
      if (i > 0) v = reg(lane_op(isa::kRowShr, unsigned_type(whole), Type::none, {v, constant(i * part * 8)}));
      v = resize(v, whole, part, false);
    }
    values.push_back(v);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].kind == OperandKind::sink) continue;
    Result<Destination> out = destination(f, in, parts[i], part, false);
    if (!out.ok()) return out.error();
    lane_op(isa::kRowMov, bits_type(part), Type::none, {values[i]}, {}, out->reg);
    finish(*out);
  }
  return Unit{};
}

Status Lowering::pack(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  const std::vector<Operand>& parts = in.operands[1].elements;
  uint8_t whole = register_bytes(match.type);
  if (parts.empty() || whole % parts.size() != 0 || whole / parts.size() < 2) return error_at(in, fmt::format("'{}' cannot join {} parts", in.spelling(), parts.size()));
  uint8_t part = uint8_t(whole / parts.size());
  Source sum;
  for (size_t i = 0; i < parts.size(); ++i) {
    Result<Source> v = source(f, in, parts[i], part, unsigned_type(part));
    if (!v.ok()) return v.error();
    Source piece = resize(*v, part, whole, false);
    if (i > 0) piece = piece.constant ? constant(piece.value << (i * part * 8)) : reg(lane_op(isa::kRowShl, bits_type(whole), Type::none, {piece, constant(i * part * 8)}));
    sum = i == 0 ? piece : reg(lane_op(isa::kRowOr, bits_type(whole), Type::none, {sum, piece}));
  }
  Result<Destination> out = destination(f, in, in.operands[0], whole, false);
  if (!out.ok()) return out.error();
  lane_op(isa::kRowMov, bits_type(whole), Type::none, {sum}, {}, out->reg);
  finish(*out);
  return Unit{};
}

}  // namespace tw::emu
