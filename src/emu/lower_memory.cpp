// Loads and stores: the address and its space, values to the sizes the handlers move. Kernel
// parameters lie in the frame's uniform area, so reading one is a move.
#include <fmt/format.h>

#include <bit>

#include "emu/lowering.h"
#include "emu/windows.h"
#include "isa/lane_rows.h"

namespace tw::emu {

Result<Lowering::Place> Lowering::place(Instance& f, const ptx::Instruction& in,
                                        const isa::Match& match, const Operand& o) {
  if (o.kind != OperandKind::address || o.elements.size() != 1)
    return error_at(in, fmt::format("'{}' needs an address operand", in.spelling()));
  Place p;
  uint8_t space = match.mods[Field::space];
  if (match.mods[Field::ordering] != isa::kWeak || match.mods[Field::mmio])
    d_.program->order_dependent = true;
  switch (space) {
    case isa::kGeneric: p.space = AccessSpace::generic; break;
    case isa::kShared:
    case isa::kSharedCluster: p.space = AccessSpace::shared; break;
    case isa::kLocal: p.space = AccessSpace::local; break;
    default: p.space = AccessSpace::global; break;
  }
  const Operand& base = o.elements[0];
  if (base.kind == OperandKind::symbol) {
    Operand with_offset = base;
    with_offset.offset += o.offset;
    if (space == isa::kParam && base.symbol.kind == ptx::SymbolRef::Kind::parameter &&
        f.depth == 0) {
      uint64_t offset = parameter_offsets_[base.symbol.index] + uint64_t(with_offset.offset);
      p.kernel_parameter = true;
      p.address = constant(offset);
      return p;
    }
    ptx::Space where;
    Result<Source> s = symbol_address(f, in, with_offset, &where);
    if (!s.ok()) return s.error();
    p.address = *s;
    if (space == isa::kParam)
      p.space = where == ptx::Space::local ? AccessSpace::local : AccessSpace::global;
    if (space == isa::kGeneric) {  // a symbol named without a space: use the one it lives in
      p.space = where == ptx::Space::shared  ? AccessSpace::shared
                : where == ptx::Space::local ? AccessSpace::local
                                             : AccessSpace::global;
    }
    return p;
  }
  uint8_t bytes = p.space == AccessSpace::shared || p.space == AccessSpace::local ? 4 : 8;
  if (base.kind == OperandKind::reg) {
    uint32_t r = ir_register(f, base.reg);
    uint8_t have = d_.registers[r].bytes;
    if (have == 0)
      return error_at(in, fmt::format("register {} cannot hold an address",
                                      f.function->registers[base.reg].name));
    // A base below its memory comes back into it by the instruction's offset: clamped as a signed
    // number, so that only what is far outside stays outside.
    p.address = resize(reg(r), have, bytes, have > bytes, have > bytes);
    p.offset = o.offset;
    if (space == isa::kSharedCluster && clustered()) {  // perhaps of another CTA
      p.space = AccessSpace::generic;
      p.address = window_address(p.address);
    }
  } else if (base.kind == OperandKind::integer) {
    p.address = constant(base.bits + uint64_t(o.offset));
  } else {
    return error_at(in, fmt::format("'{}' has an address the engine does not know", in.spelling()));
  }
  return p;
}

Status Lowering::load(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  if (in.operands.size() != (match.mods[Field::cache_hint] ? 3u : 2u))
    return error_at(in, fmt::format("'{}' takes a destination and an address{}", in.spelling(),
                                    match.mods[Field::cache_hint] ? ", and a cache policy" : ""));
  Result<Place> p = place(f, in, match, in.operands[1]);
  if (!p.ok()) return p.error();
  std::vector<Operand> to = elements_of(in.operands[0]);
  size_t count = match.mods[Field::vec] ? match.mods[Field::vec] : 1;
  const bool wide = match.type == Type::b128;
  if (to.size() != count || count > 4 || (wide && (count > 1 || !is_wide(f, to[0]))))
    return error_at(
        in, fmt::format("'{}' with {} destinations is not supported", in.spelling(), to.size()));
  Element element = element_of(match.type);
  uint8_t slot_bytes = element == Element::b64 ? 8 : element == Element::b32 ? 4 : 2;
  std::vector<Destination> outs;
  if (wide) {
    for (const uint32_t half : halves(f, to[0].reg)) outs.push_back({half});
    to.clear();
  }
  for (const Operand& o : to) {
    Result<Destination> out = destination(f, in, o, slot_bytes, is_signed(match.type));
    if (!out.ok()) return out.error();
    outs.push_back(*out);
  }
  if (p->kernel_parameter) return load_parameter(f, in, match, *p, outs, slot_bytes);
  Ir& ir = append(IrKind::load);
  ir.row = match.row;
  ir.mods = match.mods;
  ir.space = p->space;
  ir.element = element;
  ir.elements = uint8_t(outs.size());
  ir.offset = p->offset;
  ir.s[ir.sources++] = p->address;
  for (const Destination& out : outs) ir.d[ir.destinations++] = out.reg;
  ir.guard = guard_;
  ir.guard_negated = guard_negated_;
  for (const Destination& out : outs) finish(out);
  return Unit{};
}

Status Lowering::load_parameter(Instance&, const ptx::Instruction& in, const isa::Match& match,
                                const Place& p, const std::vector<Destination>& to,
                                uint8_t slot_bytes) {
  const uint32_t element_bytes = std::min(ptx::type_bytes(match.type), 8u);
  if (p.address.value + element_bytes * to.size() > d_.program->parameter_bytes)
    return error_at(in, "the load lies outside the kernel's parameters");
  for (size_t i = 0; i < to.size(); ++i) {
    uint32_t at = uint32_t(d_.program->parameter_offset + p.address.value + i * element_bytes);
    uint32_t from = fixed_scalar(at, slot_bytes);
    if (element_bytes == 1)
      lane_op(isa::kRowCvtInt, match.type == Type::s8 ? Type::s16 : Type::u16,
              match.type == Type::s8 ? Type::s8 : Type::u8, {reg(from)}, {}, to[i].reg);
    else
      lane_op(isa::kRowMov, bits_type(slot_bytes), Type::none, {reg(from)}, {}, to[i].reg);
    finish(to[i]);
  }
  return Unit{};
}

Status Lowering::store(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  if (in.operands.size() != (match.mods[Field::cache_hint] ? 3u : 2u))
    return error_at(in, fmt::format("'{}' takes an address and a value{}", in.spelling(),
                                    match.mods[Field::cache_hint] ? ", and a cache policy" : ""));
  Result<Place> p = place(f, in, match, in.operands[0]);
  if (!p.ok()) return p.error();
  if (p->kernel_parameter) return error_at(in, "kernel parameters cannot be written");
  std::vector<Operand> from = elements_of(in.operands[1]);
  size_t count = match.mods[Field::vec] ? match.mods[Field::vec] : 1;
  const bool wide = match.type == Type::b128;
  if (from.size() != count || count > 4 || (wide && (count > 1 || !is_wide(f, from[0]))))
    return error_at(
        in, fmt::format("'{}' with {} values is not supported", in.spelling(), from.size()));
  Element element = element_of(match.type);
  uint8_t slot_bytes = element == Element::b64 ? 8 : element == Element::b32 ? 4 : 2;
  std::vector<Source> values;
  if (wide) {
    for (const uint32_t half : halves(f, from[0].reg)) values.push_back(reg(half));
    from.clear();
  }
  for (const Operand& o : from) {
    Result<Source> s = source(f, in, o, slot_bytes, match.type);
    if (!s.ok()) return s.error();
    values.push_back(*s);
  }
  Ir& ir = append(IrKind::store);
  ir.row = match.row;
  ir.mods = match.mods;
  ir.space = p->space;
  ir.element = element == Element::s8 ? Element::u8 : element;
  ir.elements = uint8_t(values.size());
  ir.offset = p->offset;
  ir.s[ir.sources++] = p->address;
  for (const Source& s : values) ir.s[ir.sources++] = s;
  ir.guard = guard_;
  ir.guard_negated = guard_negated_;
  return Unit{};
}

}  // namespace tw::emu
