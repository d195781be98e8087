// cp.async.bulk and cp.async.bulk.tensor: one lane's copy of a run of bytes or of a box of a tensor
// (Builtin::bulk_copy), and the transaction of the mbarrier that it completes. The copy happens at its
// start: groups of copies have nothing to wait for. A copy to several CTAs of a cluster is a copy to one
// after the other. For `tilewright check` the bytes of a copy to
// shared memory are nobody's until a phase of the mbarrier is over (Ir::async).
//
// Tested by tests/e2e/programs/bulk.cu and steps 16 to 20 of kernels/gemm.
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
  const bool multicast =
      machine == Machine::bulk_multicast || machine == Machine::bulk_tensor_multicast;
  const bool tensor = machine == Machine::bulk_tensor_load ||
                      machine == Machine::bulk_tensor_store ||
                      machine == Machine::bulk_tensor_multicast;
  const bool store = machine == Machine::bulk_store || machine == Machine::bulk_tensor_store;
  const bool within = machine == Machine::bulk_to_cluster, load = !store;
  const uint32_t rank = tensor ? match.mods[Field::vec] : 0;
  const size_t needed = 2 + !tensor + load + multicast, given = in.operands.size();
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
  std::optional<Source> barrier, mask, from;
  Place place;
  if (within) {
    Result<Source> s = shared_operand(f, in, outer);
    if (!s.ok()) return s.error();
    from = *s;
  } else {
    isa::Match side;
    side.mods = isa::Mods{}.with(Field::space, isa::kGlobal);
    Result<Place> p = this->place(f, in, side, address);
    if (!p.ok()) return p.error();
    place = *p;
  }
  d_.program->async_shared = true;
  if (load) {
    const size_t at = 2 + !tensor;
    Result<Source> b = shared_operand(f, in, in.operands[at]);
    if (!b.ok()) return b.error();
    barrier = *b;
    if (multicast) {
      Result<Source> m = source(f, in, in.operands[at + 1], 2, Type::u16);
      if (!m.ok()) return m.error();
      mask = *m;
    }
  }

  // `again`: not 0 where another CTA has got the same already, by the same multicast.
  auto copy_to = [&](Source to, std::optional<Source> completes, std::optional<Source> again = {}) {
    sources[0] = to;
    const uint32_t bytes = load ? d_.new_register(4) : kNoReg;
    Ir& copy = append(IrKind::machine);
    copy.builtin = int32_t(Builtin::bulk_copy);
    copy.mods = isa::Mods{}
                    .with(Field::vec, uint8_t(rank))
                    .with(Field::to, store)
                    .with(Field::part, within)
                    .with(Field::noinc, again.has_value());
    for (const Source& s : sources) copy.s[copy.sources++] = s;
    if (again) copy.s[copy.sources++] = *again;
    if (!load) return;
    copy.d[copy.destinations++] = bytes;
    complete_transaction(*completes, reg(bytes));
  };
  auto make = [&]() -> Status {
    sources[1] = from ? window_address(*from)
                 : place.offset == 0
                     ? place.address
                     : apply("add.u64", {place.address, constant(uint64_t(place.offset))});
    if (!multicast) {
      copy_to(*shared, barrier);
      return Unit{};
    }
    // To each CTA that the mask names: the same place, and the barrier at the same place.
    const Source ranks = apply("cvt.u32.u16", {*mask});
    const uint32_t ctas = d_.program->cluster_ctas();
    for (uint32_t r = 0; r <= ctas; ++r) {  // the last: a CTA that is not there
      const Source bits = apply("and.b32", {ranks, constant(r < ctas ? 1u << r : 0xffffu << ctas)});
      guard_ = apply("setp.ne.u32", {bits, constant(0)}).reg;
      guard_negated_ = false;
      Status s = guarded(in, [&]() -> Status {
        copy_to(mapped(*shared, constant(r)), mapped(*barrier, constant(r)),
                apply("and.b32", {ranks, constant((1u << r) - 1)}));
        return Unit{};
      });
      if (!s.ok()) return s;
    }
    return Unit{};
  };
  return guard_ != kNoReg ? guarded(in, make) : make();
}

// cp.async.bulk.commit_group, wait_group{.read}: what they say to `check`.
Status Lowering::bulk_group(const ptx::Instruction& in, bool waits) {
  if (Status s = nothing_to_order(in, waits); !s.ok()) return s;
  return event(in, waits ? Builtin::bulk_wait : Builtin::bulk_commit,
               waits ? in.operands[0].bits : 0);
}

// fence.proxy.*: accesses happen one after the other. `check` is told of those between generic and
// asynchronous accesses of shared memory.
Status Lowering::proxy_fence(const ptx::Instruction& in, const isa::Match& match) {
  if (Status s = builtin(in, Builtin::fence, {}, match.mods); !s.ok()) return s;
  const bool elsewhere = match.mods[Field::space] == isa::kGlobal;
  if (match.mods[Field::operation] != isa::kProxyAsync || elsewhere) return Unit{};
  return event(in, Builtin::proxy_fence, 0);
}

// An event for the Observer, if there is one.
Status Lowering::event(const ptx::Instruction& in, Builtin which, uint64_t keep) {
  if (d_.options.observed == 0) return Unit{};
  auto make = [&]() -> Status {
    append_async(which, keep);
    return Unit{};
  };
  return guard_ != kNoReg ? guarded(in, make) : make();
}

// Groups of bulk copies, fences of wgmma: nothing to do where each is complete when it
// has started.
Status Lowering::nothing_to_order(const ptx::Instruction& in, bool waits) {
  if (in.operands.size() != waits || (waits && in.operands[0].kind != OperandKind::integer))
    return error_at(in, fmt::format("'{}' takes {}", in.spelling(),
                                    waits ? "a number of groups" : "no operand"));
  return Unit{};
}

}  // namespace tw::emu
