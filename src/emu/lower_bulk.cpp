// cp.async.bulk and cp.async.bulk.tensor: one lane's copy of a run of bytes or of a box of a tensor
// (Builtin::bulk_copy), and the transaction of the mbarrier that it completes. The copy happens at its
// start: groups of copies have nothing to wait for. For `tilewright check` the bytes of a copy to
// shared memory are nobody's until a phase of the mbarrier is over (Ir::async).
//
// Tested by tests/e2e/programs/bulk.cu and steps 16, 17 and 20 of kernels/gemm.
#include <fmt/format.h>

#include "emu/lowering.h"
#include "emu/tensor_map.h"
#include "isa/lane_rows.h"

namespace tw::emu {

// An address in shared memory as a 32-bit offset.
Result<Source> Lowering::shared_operand(Instance& f, const ptx::Instruction& in, const Operand& o) {
  isa::Match match;
  match.mods = isa::Mods{}.with(Field::space, isa::kShared);
  Result<Place> p = place(f, in, match, o);
  if (!p.ok()) return p.error();
  if (p->offset == 0) return p->address;
  return apply("add.u32", {p->address, constant(uint32_t(p->offset))});
}

Status Lowering::bulk_copy(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                           Machine machine) {
  const bool tensor = machine == Machine::bulk_tensor_load || machine == Machine::bulk_tensor_store,
             load = machine == Machine::bulk_load || machine == Machine::bulk_tensor_load;
  const uint32_t rank = tensor ? match.mods[Field::vec] : 0;
  const size_t needed = 2 + !tensor + load, given = in.operands.size();
  if (given != needed + match.mods[Field::cache_hint])  // a cache policy comes last
    return error_at(in, fmt::format("'{}' takes {} operands", in.spelling(),
                                    needed + match.mods[Field::cache_hint]));
  const Operand &inner = in.operands[load ? 0 : 1], &outer = in.operands[load ? 1 : 0];
  Result<Source> shared = shared_operand(f, in, inner);
  if (!shared.ok()) return shared.error();
  std::vector<Source> sources = {*shared, {}};
  Operand address = outer;
  if (tensor) {
    if (outer.kind != OperandKind::address || outer.elements.size() != 2 ||
        elements_of(outer.elements[1]).size() != rank)
      return error_at(in, fmt::format("'{}' takes [map, {{{} coordinates}}]", in.spelling(), rank));
    for (const Operand& o : elements_of(outer.elements[1])) {
      Result<Source> c = source(f, in, o, 4, Type::s32);
      if (!c.ok()) return c.error();
      sources.push_back(*c);
    }
    address.elements.resize(1);
  } else {
    Result<Source> size = source(f, in, in.operands[2], 4, Type::u32);
    if (!size.ok()) return size.error();
    sources.push_back(*size);
  }
  isa::Match side;
  side.mods = isa::Mods{}.with(Field::space, isa::kGlobal);
  Result<Place> place = this->place(f, in, side, address);
  if (!place.ok()) return place.error();
  std::optional<Source> barrier;
  if (load) {
    Result<Source> b = shared_operand(f, in, in.operands[2 + !tensor]);
    if (!b.ok()) return b.error();
    barrier = *b;
    d_.program->async_copies = true;
  }

  auto make = [&]() -> Status {
    sources[1] = place->offset == 0
                     ? place->address
                     : apply("add.u64", {place->address, constant(uint64_t(place->offset))});
    const uint32_t bytes = load ? d_.new_register(4) : kNoReg;
    Ir& copy = append(IrKind::machine);
    copy.builtin = int32_t(Builtin::bulk_copy);
    copy.mods = isa::Mods{}.with(Field::vec, uint8_t(rank)).with(Field::to, !load);
    for (const Source& s : sources) copy.s[copy.sources++] = s;
    if (!load) return Unit{};
    copy.d[copy.destinations++] = bytes;
    Ir& complete = append(IrKind::machine);
    complete.builtin = int32_t(Builtin::mbarrier_complete_tx);
    complete.space = AccessSpace::shared;
    complete.async = true;
    complete.s[complete.sources++] = *barrier;
    complete.s[complete.sources++] = reg(bytes);
    return Unit{};
  };
  return guard_ != kNoReg ? guarded(in, make) : make();
}

// Groups of bulk copies and of wgmma, fences of wgmma: nothing to do where each is complete when it
// has started.
Status Lowering::nothing_to_order(const ptx::Instruction& in, bool waits) {
  if (in.operands.size() != waits || (waits && in.operands[0].kind != OperandKind::integer))
    return error_at(in, fmt::format("'{}' takes {}", in.spelling(),
                                    waits ? "a number of groups" : "no operand"));
  return Unit{};
}

}  // namespace tw::emu
