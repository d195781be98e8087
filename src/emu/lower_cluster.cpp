// What a CTA knows of its cluster, and addresses in the shared memory of the others. The shape of
// the cluster is known when a kernel is decoded, so nothing here needs more than %ctaid.
//
// Loads, stores and atomics on .shared::cluster become generic ones where there are clusters: a
// rank in the address (windows.h) goes the way of all addresses in the window of shared memory.
//
// Tested by tests/unit/emu/cluster_test.cpp and tests/e2e/programs/cluster.cu.
#include <fmt/format.h>

#include "emu/lowering.h"
#include "emu/windows.h"
#include "isa/lane_rows.h"

namespace tw::emu {

Source Lowering::cluster_rank() {
  const auto& shape = d_.program->cluster;
  Source rank = constant(0);
  for (int axis = 2; axis >= 0; --axis) {
    if (shape[size_t(axis)] == 1) continue;
    const UniformSlot ctaid = axis == 0 ? kCtaidX : axis == 1 ? kCtaidY : kCtaidZ;
    const Source at = apply("rem.u32", {reg(slot_register(ctaid)), constant(shape[size_t(axis)])});
    rank = apply("mad.lo.u32", {rank, constant(shape[size_t(axis)]), at});
  }
  return rank;
}

std::optional<Source> Lowering::cluster_register(const std::string& name) {
  const auto& shape = d_.program->cluster;
  if (name == "%cluster_ctarank") return cluster_rank();
  if (name == "%cluster_nctarank") return constant(d_.program->cluster_ctas());
  if (name == "%is_explicit_cluster") return constant(clustered() ? kFullMask : 0);
  if (name.size() < 3 || name[name.size() - 2] != '.') return std::nullopt;
  const size_t axis = size_t(name.back() - 'x');
  if (axis > 2) return std::nullopt;
  const Source extent = constant(shape[axis]);
  const auto of = [&](UniformSlot x) { return reg(slot_register(UniformSlot(x + axis))); };
  const std::string_view what = std::string_view(name).substr(0, name.size() - 2);
  if (what == "%cluster_nctaid") return extent;
  if (what == "%cluster_ctaid")
    return shape[axis] == 1 ? constant(0) : apply("rem.u32", {of(kCtaidX), extent});
  if (what == "%clusterid")
    return shape[axis] == 1 ? of(kCtaidX) : apply("div.u32", {of(kCtaidX), extent});
  if (what == "%nclusterid")
    return shape[axis] == 1 ? of(kNctaidX) : apply("div.u32", {of(kNctaidX), extent});
  return std::nullopt;
}

Source Lowering::window_address(Source address) {
  return apply("add.u64", {apply("cvt.s64.s32", {address}), constant(kSharedWindow)});
}

// The place of a 32-bit shared address in the CTA of a rank.
Source Lowering::with_rank(Source address, Source rank) {
  const Source high = apply(
      "shl.b32", {apply("add.u32", {apply("min.u32", {rank, constant(kMostRank)}), constant(1)}),
                  constant(kRankShift)});
  return apply("or.b32", {high, apply("and.b32", {address, constant(kOwnMask)})});
}

// The same as an address in the space: the CTA's own has no rank.
Source Lowering::mapped(Source address, Source rank) {
  const Source own = apply("setp.eq.u32", {rank, cluster_rank()});
  return apply("selp.b32",
               {apply("and.b32", {address, constant(kOwnMask)}), with_rank(address, rank), own});
}

// The rank of the CTA whose memory an address means.
Source Lowering::rank_of(Source address) {
  const Source high = apply("shr.u32", {address, constant(kRankShift)});
  return apply("selp.b32", {cluster_rank(), apply("sub.u32", {high, constant(1)}),
                            apply("setp.eq.u32", {high, constant(0)})});
}

// mapa d, a, b: the place of `a`, in anybody's shared memory, in that of rank `b`.
Status Lowering::map_address(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  if (in.operands.size() != 3)
    return error_at(in,
                    fmt::format("'{}' takes a destination, an address and a rank", in.spelling()));
  const uint8_t bytes = match.type == Type::u64 ? 8 : 4;
  const bool generic = match.mods[Field::space] == isa::kGeneric;
  Result<Source> address = source(f, in, in.operands[1], bytes, match.type);
  if (!address.ok()) return address.error();
  Result<Source> rank = source(f, in, in.operands[2], 4, Type::u32);
  if (!rank.ok()) return rank.error();
  Result<Destination> out = destination(f, in, in.operands[0], bytes, false);
  if (!out.ok()) return out.error();
  auto make = [&]() -> Status {
    const Source low = bytes == 8 ? apply("cvt.u32.u64", {*address}) : *address;
    const Source place = generic && clustered() ? with_rank(low, *rank) : mapped(low, *rank);
    if (bytes == 4)
      apply("mov.b32", {place}, out->reg);
    else if (generic)
      apply("add.u64", {apply("cvt.u64.u32", {place}), constant(kSharedWindow)}, out->reg);
    else
      apply("cvt.u64.u32", {place}, out->reg);
    finish(*out);
    return Unit{};
  };
  return guard_ != kNoReg ? guarded(in, make) : make();
}

// getctarank d, a
Status Lowering::rank_of_address(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  if (in.operands.size() != 2)
    return error_at(in, fmt::format("'{}' takes a destination and an address", in.spelling()));
  const uint8_t bytes = match.type == Type::u64 ? 8 : 4;
  Result<Source> address = source(f, in, in.operands[1], bytes, match.type);
  if (!address.ok()) return address.error();
  Result<Destination> out = destination(f, in, in.operands[0], 4, false);
  if (!out.ok()) return out.error();
  auto make = [&]() -> Status {
    apply("mov.b32", {rank_of(bytes == 8 ? apply("cvt.u32.u64", {*address}) : *address)}, out->reg);
    finish(*out);
    return Unit{};
  };
  return guard_ != kNoReg ? guarded(in, make) : make();
}

// cvta of shared memory in a cluster: a generic address holds the rank, the CTA's own in the space
// does not.
void Lowering::convert_shared(Source from, bool to_space, uint32_t destination) {
  const Source window = constant(kSharedWindow);
  if (to_space) {
    const Source low = apply("cvt.u32.u64", {from});
    const Source place = mapped(low, rank_of(low));
    // What lies outside of the window stays outside.
    const Source offset = apply("sub.u64", {from, window});
    apply("selp.b64",
          {apply("cvt.u64.u32", {place}), offset,
           apply("setp.lt.u64", {offset, constant(kWindowBytes)})},
          destination);
    return;
  }
  const Source low = apply("cvt.u32.u64", {from});
  const Source place = apply("cvt.u64.u32", {with_rank(low, rank_of(low))});
  apply("selp.b64",
        {apply("add.u64", {place, window}), apply("add.u64", {from, window}),
         apply("setp.lt.u64", {from, constant(kWindowBytes)})},
        destination);
}

// isspacep.shared: of the CTA's own shared memory.
Status Lowering::is_own_shared(Instance& f, const ptx::Instruction& in) {
  if (in.operands.size() != 2)
    return error_at(in, fmt::format("'{}' takes a predicate and an address", in.spelling()));
  Result<Source> address = source(f, in, in.operands[1], 8, Type::u64);
  if (!address.ok()) return address.error();
  Result<Destination> out = destination(f, in, in.operands[0], 0, false);
  if (!out.ok()) return out.error();
  auto make = [&]() -> Status {
    const Source offset = apply("sub.u64", {*address, constant(kSharedWindow)});
    const Source inside = apply("setp.lt.u64", {offset, constant(kWindowBytes)});
    const Source own =
        apply("setp.eq.u32", {rank_of(apply("cvt.u32.u64", {*address})), cluster_rank()});
    apply("and.pred", {inside, own}, out->reg);
    finish(*out);
    return Unit{};
  };
  return guard_ != kNoReg ? guarded(in, make) : make();
}

// The transaction that ends an asynchronous copy, store or reduction.
void Lowering::complete_transaction(Source barrier, Source bytes) {
  Ir& complete = append(IrKind::machine);
  complete.builtin = int32_t(Builtin::mbarrier_complete_tx);
  complete.space = AccessSpace::shared;
  complete.async = true;
  complete.s[complete.sources++] = barrier;
  complete.s[complete.sources++] = bytes;
}

// st.async [a], b, [mbar] and red.async: a store or reduction, then its mbarrier's transaction.
// Both addresses are of the same CTA's shared memory.
Status Lowering::async_store(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                             bool reduces) {
  if (in.operands.size() != 3)
    return error_at(in,
                    fmt::format("'{}' takes an address, a value and an mbarrier", in.spelling()));
  Result<Source> barrier = shared_operand(f, in, in.operands[2]);
  if (!barrier.ok()) return barrier.error();
  ptx::Instruction access = in;
  access.operands.pop_back();
  isa::Match plain = match;
  plain.mods = isa::Mods{}
                   .with(Field::space, isa::kSharedCluster)
                   .with(Field::vec, match.mods[Field::vec])
                   .with(Field::operation, match.mods[Field::operation]);
  if (reduces) plain.mods = plain.mods.with(Field::scope, isa::kScopeCluster);
  const uint32_t elements = match.mods[Field::vec] ? match.mods[Field::vec] : 1;
  d_.program->async_shared = true;
  auto make = [&]() -> Status {
    const size_t begin = d_.code.size();
    Status s = reduces ? atomic(f, access, plain, false) : store(f, access, plain);
    if (!s.ok()) return s;
    for (size_t i = begin; i < d_.code.size(); ++i) {
      Ir& ir = d_.code[i];
      if (ir.kind == IrKind::store) ir.async = ir.bulk = true;
      if (ir.kind == IrKind::machine && ir.builtin == int32_t(Builtin::atomic)) ir.bulk = true;
    }
    complete_transaction(*barrier, constant(elements * ptx::type_bytes(match.type)));
    return Unit{};
  };
  return guard_ != kNoReg ? guarded(in, make) : make();
}

}  // namespace tw::emu
