// Control flow, barriers and warp operations.
#include <fmt/format.h>

#include <bit>

#include "emu/lowering.h"
#include "emu/windows.h"
#include "isa/lane_rows.h"

namespace tw::emu {

Status Lowering::machine_instruction(Instance& f, const ptx::Instruction& in,
                                     const isa::Match& match, Machine machine) {
  switch (machine) {
    case Machine::ld:
    case Machine::ldu: return load(f, in, match);
    case Machine::st: return store(f, in, match);
    case Machine::cvta_to:
    case Machine::cvta: return convert_address(f, in, match, machine == Machine::cvta_to);
    case Machine::bra: {
      if (in.operands.size() != 1 || in.operands[0].kind != OperandKind::label)
        return error_at(in, "'bra' needs a label");
      branch(f.labels[in.operands[0].index]);
      return Unit{};
    }
    case Machine::ret:
      if (f.depth > 0) {
        branch(f.return_label);
        return Unit{};
      }
      [[fallthrough]];
    case Machine::exit: {
      Ir& ir = append(IrKind::exit);
      ir.guard = guard_;
      ir.guard_negated = guard_negated_;
      return Unit{};
    }
    case Machine::call: return call(f, in);
    case Machine::trap: return builtin(in, Builtin::trap, {});
    case Machine::bar_sync:
    case Machine::barrier_sync: {
      if (in.operands.empty() || in.operands.size() > 2)
        return error_at(in, fmt::format("'{}' takes a barrier number and an optional thread count",
                                        in.spelling()));
      std::vector<Source> sources;
      for (const Operand& o : in.operands) {
        Result<Source> s = source(f, in, o, 4, Type::u32);
        if (!s.ok()) return s.error();
        sources.push_back(*s);
      }
      if (sources.size() == 1) sources.push_back(constant(0));
      if (guard_ != kNoReg) return guarded(in, [&] { return barrier(sources); });
      return barrier(sources);
    }
    case Machine::bar_warp_sync: {
      if (in.operands.size() != 1) return error_at(in, "'bar.warp.sync' needs a member mask");
      Result<Source> s = source(f, in, in.operands[0], 4, Type::u32);
      if (!s.ok()) return s.error();
      return builtin(in, Builtin::warp_sync, {*s});
    }
    case Machine::membar:
    case Machine::fence: return builtin(in, Builtin::fence, {}, match.mods);
    case Machine::fence_proxy: return proxy_fence(in, match);
    case Machine::bar_arrive:
    case Machine::barrier_arrive: return barrier_arrive(f, in);
    case Machine::bar_red:
    case Machine::bar_red_popc:
    case Machine::barrier_red:
    case Machine::barrier_red_popc: return barrier_reduce(f, in, match);
    case Machine::atom:
    case Machine::atom_float:
    case Machine::atom_cas:
    case Machine::atom_wide: return atomic(f, in, match, true);
    case Machine::red:
    case Machine::red_float: return atomic(f, in, match, false);
    case Machine::atom_vector:
    case Machine::red_vector: return vector_atomic(f, in, match, machine == Machine::atom_vector);
    case Machine::mov_vector: return move_vector(f, in, match);
    case Machine::mov_wide: return move_wide(f, in);
    case Machine::createpolicy_range:
    case Machine::createpolicy_fractional:
    case Machine::createpolicy_cvt: return create_policy(f, in, match, machine);
    case Machine::shfl_sync: return warp_operation(f, in, match, Builtin::shuffle, "daaam");
    case Machine::shfl: return warp_operation(f, in, match, Builtin::shuffle, "daaa");
    case Machine::vote_sync: return warp_operation(f, in, match, Builtin::vote, "pbm");
    case Machine::vote: return warp_operation(f, in, match, Builtin::vote, "pb");
    case Machine::vote_ballot_sync: return warp_operation(f, in, match, Builtin::vote, "dbm");
    case Machine::vote_ballot:
      return warp_operation(f, in, match, Builtin::vote, in.operands.size() == 3 ? "dbm" : "db");
    case Machine::match_any: return warp_operation(f, in, match, Builtin::match, "dAm");
    case Machine::match_all: {
      isa::Match all = match;
      all.mods = all.mods.with(Field::operation, isa::kOpAll);
      return warp_operation(f, in, all, Builtin::match, "dAm");
    }
    case Machine::redux:
    case Machine::redux_logic: return warp_operation(f, in, match, Builtin::redux, "dam");
    case Machine::activemask: return warp_operation(f, in, match, Builtin::active_mask, "d");
    case Machine::elect: return warp_operation(f, in, match, Builtin::elect, "dm");
    case Machine::isspacep:
      if (clustered() && match.mods[Field::space] == isa::kShared) return is_own_shared(f, in);
      return warp_operation(f, in, match, Builtin::is_space, "pL");
    case Machine::mbarrier_init:
    case Machine::mbarrier_inval:
    case Machine::mbarrier_arrive:
    case Machine::mbarrier_arrive_drop:
    case Machine::mbarrier_expect_tx:
    case Machine::mbarrier_complete_tx:
    case Machine::mbarrier_wait:
    case Machine::mbarrier_wait_parity:
    case Machine::mbarrier_pending: return mbarrier(f, in, match, machine);
    case Machine::brx: return branch_indexed(f, in);
    case Machine::nanosleep:
      d_.program->order_dependent = true;
      return builtin(in, Builtin::nanosleep, {});
    case Machine::brkpt: return builtin(in, Builtin::trap, {});
    case Machine::discard:  // what is discarded may be read as it was
    case Machine::applypriority:
      if (in.operands.size() != 2 || in.operands[1].kind != OperandKind::integer ||
          in.operands[1].bits != 128)
        return error_at(in, fmt::format("'{}' takes an address and the size 128", in.spelling()));
      return Unit{};
    case Machine::prefetch:
    case Machine::prefetchu:
    case Machine::prefetch_bulk:
    case Machine::pmevent:
    case Machine::griddepcontrol: return Unit{};  // hints: no effect on results
    case Machine::lop3_test: return lop3_test(f, in, match);
    case Machine::vadd:
    case Machine::vsub:
    case Machine::vabsdiff:
    case Machine::vmin:
    case Machine::vmax:
    case Machine::vshl:
    case Machine::vshr:
    case Machine::vmad:
    case Machine::vset: return scalar_video(f, in, match, machine);
    case Machine::cp_async_ca:
    case Machine::cp_async_cg: return async_copy(f, in, machine == Machine::cp_async_cg);
    case Machine::cp_async_commit:
    case Machine::cp_async_wait_group:
    case Machine::cp_async_wait_all: return async_group(in, machine);
    case Machine::cp_async_arrive: return async_arrive(f, in, match);
    case Machine::ldmatrix: return load_matrices(f, in, match);
    case Machine::stmatrix: return store_matrices(f, in, match);
    case Machine::movmatrix: return move_matrix(f, in);
    case Machine::mma_half:
    case Machine::mma_bfloat:
    case Machine::mma_tf32:
    case Machine::mma_float8:
    case Machine::mma_double:
    case Machine::mma_byte:
    case Machine::mma_nibble:
    case Machine::mma_bit: return multiply(f, in, match, machine);
    case Machine::wmma_load_a:
    case Machine::wmma_load_b:
    case Machine::wmma_load_c: return wmma_load(f, in, match, machine);
    case Machine::wmma_store: return wmma_store(f, in, match);
    case Machine::wmma_half:
    case Machine::wmma_bfloat:
    case Machine::wmma_tf32:
    case Machine::wmma_double:
    case Machine::wmma_byte: return wmma_multiply(f, in, match, machine);
    case Machine::wgmma_half:
    case Machine::wgmma_bfloat:
    case Machine::wgmma_tf32:
    case Machine::wgmma_float8:
    case Machine::wgmma_byte:
    case Machine::wgmma_bit: return warpgroup_multiply(f, in, match, machine);
    case Machine::wgmma_commit:
    case Machine::wgmma_wait: return warpgroup_group(in, machine == Machine::wgmma_wait);
    case Machine::wgmma_fence: return nothing_to_order(in, false);
    case Machine::bulk_commit:
    case Machine::bulk_wait: return bulk_group(in, machine == Machine::bulk_wait);
    case Machine::bulk_load:
    case Machine::bulk_store:
    case Machine::bulk_tensor_load:
    case Machine::bulk_tensor_store:
    case Machine::bulk_multicast:
    case Machine::bulk_tensor_multicast:
    case Machine::bulk_to_cluster: return bulk_copy(f, in, match, machine);
    case Machine::fence_mbarrier_init: return builtin(in, Builtin::fence, {}, match.mods);
    case Machine::setmaxnreg: return Unit{};  // each warp has all registers that it names
    case Machine::cluster_arrive: return builtin(in, Builtin::cluster_arrive, {}, match.mods);
    case Machine::cluster_wait: return builtin(in, Builtin::cluster_wait, {}, match.mods);
    case Machine::mapa: return map_address(f, in, match);
    case Machine::getctarank: return rank_of_address(f, in, match);
    case Machine::st_async: return async_store(f, in, match, false);
    case Machine::red_async: return async_store(f, in, match, true);
    case Machine::count: break;
  }
  return error_at(in, fmt::format("'{}' is not supported", in.spelling()));
}

Status Lowering::barrier(const std::vector<Source>& sources) {
  Ir& ir = append(IrKind::barrier);
  ir.builtin = int32_t(Builtin::barrier_sync);
  for (const Source& s : sources) ir.s[ir.sources++] = s;
  return Unit{};
}

Status Lowering::builtin(const ptx::Instruction& in, Builtin which,
                         std::initializer_list<Source> sources, isa::Mods mods) {
  auto make = [&]() -> Status {
    Ir& ir = append(IrKind::machine);
    ir.builtin = int32_t(which);
    ir.mods = mods;
    for (const Source& s : sources) ir.s[ir.sources++] = s;
    return Unit{};
  };
  if (guard_ != kNoReg) return guarded(in, make);
  return make();
}

void Lowering::branch(uint32_t label) {
  Ir& ir = append(IrKind::branch);
  ir.target = label;
  ir.guard = guard_;
  ir.guard_negated = guard_negated_;
}

Status Lowering::convert_address(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                                 bool to_space) {
  if (in.operands.size() != 2)
    return error_at(in, fmt::format("'{}' takes two operands", in.spelling()));
  Result<Source> from = source(f, in, in.operands[1], 8, Type::u64);
  if (!from.ok()) return from.error();
  Result<Destination> out = destination(f, in, in.operands[0], 8, false);
  if (!out.ok()) return out.error();
  uint8_t space = match.mods[Field::space];
  uint64_t window = space == isa::kShared || space == isa::kSharedCluster ? kSharedWindow
                    : space == isa::kLocal                                ? kLocalWindow
                                                                          : 0;
  if (window == kSharedWindow && clustered())
    convert_shared(*from, to_space, out->reg);
  else if (window == 0)
    lane_op(isa::kRowMov, Type::b64, Type::none, {*from}, {}, out->reg);
  else
    lane_op(isa::kRowAdd, Type::u64, Type::none, {*from, constant(to_space ? 0 - window : window)},
            {}, out->reg);
  return Unit{};
}

Status Lowering::barrier_arrive(Instance& f, const ptx::Instruction& in) {
  if (in.operands.size() != 2)
    return error_at(in,
                    fmt::format("'{}' takes a barrier number and a thread count", in.spelling()));
  Result<Source> id = source(f, in, in.operands[0], 4, Type::u32);
  if (!id.ok()) return id.error();
  Result<Source> count = source(f, in, in.operands[1], 4, Type::u32);
  if (!count.ok()) return count.error();
  return builtin(in, Builtin::barrier_arrive, {*id, *count});
}

// bar.red d, a{, b}, c: the barrier itself, then one more Op that reads the outcome.
Status Lowering::barrier_reduce(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  size_t n = in.operands.size();
  if (n != 3 && n != 4)
    return error_at(
        in,
        fmt::format("'{}' takes a destination, a barrier number, an optional count and a predicate",
                    in.spelling()));
  Result<Source> id = source(f, in, in.operands[1], 4, Type::u32);
  if (!id.ok()) return id.error();
  Source count = constant(0);
  if (n == 4) {
    Result<Source> c = source(f, in, in.operands[2], 4, Type::u32);
    if (!c.ok()) return c.error();
    count = *c;
  }
  Result<Source> p = source(f, in, in.operands[n - 1], 0, Type::pred);
  if (!p.ok()) return p.error();
  bool predicate = match.type == Type::pred;
  Result<Destination> out = destination(f, in, in.operands[0], predicate ? 0 : 4, false);
  if (!out.ok()) return out.error();
  auto make = [&]() -> Status {
    Ir& arrive = append(IrKind::machine);
    arrive.builtin = int32_t(Builtin::barrier_red);
    for (const Source& s : {*id, count, *p}) arrive.s[arrive.sources++] = s;
    arrive.mods = match.mods;
    Ir& result = append(IrKind::machine);
    result.builtin = int32_t(Builtin::barrier_red_result);
    result.s[result.sources++] = *id;
    result.mods = match.mods;
    result.destinations = 1;
    result.d[0] = out->reg;
    return Unit{};
  };
  Status s = guard_ != kNoReg ? guarded(in, make) : make();
  finish(*out);
  return s;
}

// A policy is opaque: the number is the one that ptxas makes for the whole of an allocation.
Status Lowering::create_policy(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                               Machine machine) {
  const size_t n = in.operands.size();
  const bool right = machine == Machine::createpolicy_range        ? n == 4
                     : machine == Machine::createpolicy_fractional ? n == 1 || n == 2
                                                                   : n == 2;
  if (!right) return error_at(in, fmt::format("'{}' does not take {} operands", in.spelling(), n));
  Source policy = constant((0x10f0ull | uint64_t{match.mods[Field::operation]} << 8) << 48);
  if (machine == Machine::createpolicy_cvt) {
    Result<Source> property = source(f, in, in.operands[1], 8, Type::b64);
    if (!property.ok()) return property.error();
    policy = *property;
  }
  Result<Destination> out = destination(f, in, in.operands[0], 8, false);
  if (!out.ok()) return out.error();
  lane_op(isa::kRowMov, Type::b64, Type::none, {policy}, {}, out->reg);
  finish(*out);
  return Unit{};
}

// atom.add.v4.f32 and the like: each element for itself, as the manual has it.
Status Lowering::vector_atomic(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                               bool with_result) {
  const size_t at = with_result ? 1 : 0, count = match.mods[Field::vec];
  const uint32_t bytes = ptx::type_bytes(match.type);
  const size_t operands = at + 2 + (match.mods[Field::cache_hint] ? 1 : 0);
  if (in.operands.size() != operands || count * bytes > 16 ||
      in.operands[at].kind != OperandKind::address ||
      elements_of(in.operands[at + 1]).size() != count ||
      (with_result && in.operands[0].kind != OperandKind::sink &&
       elements_of(in.operands[0]).size() != count))
    return error_at(in, fmt::format("'{}' takes vectors of {} elements, 16 bytes at most",
                                    in.spelling(), count));
  const uint8_t space = match.mods[Field::space];
  if (space != isa::kGeneric && space != isa::kGlobal)
    return error_at(in, fmt::format("'{}' works on global memory only", in.spelling()));
  // Results go to registers of their own first: they may be sources of the elements that follow.
  std::vector<Destination> results;
  std::vector<uint32_t> values;
  const std::vector<Operand> from = elements_of(in.operands[at + 1]);
  for (size_t i = 0; i < count; ++i) {
    Destination out;
    if (with_result && in.operands[0].kind != OperandKind::sink &&
        in.operands[0].elements[i].kind != OperandKind::sink) {
      Result<Destination> d =
          destination(f, in, in.operands[0].elements[i], register_bytes(match.type), false);
      if (!d.ok()) return d.error();
      out = *d;
    }
    results.push_back(out);
    values.push_back(out.reg == kNoReg ? kNoReg : d_.new_register(register_bytes(match.type)));
    ptx::Instruction one;
    one.opcode = in.opcode;
    one.modifiers = in.modifiers;
    one.line = in.line;
    one.column = in.column;
    one.operands = {in.operands[at], from[i]};
    one.operands[0].offset += int64_t(i) * bytes;
    const uint32_t guard = guard_;
    const bool negated = guard_negated_;
    if (Status s = atomic(f, one, match, false, values.back()); !s.ok()) return s;
    guard_ = guard;
    guard_negated_ = negated;
  }
  for (size_t i = 0; i < count; ++i) {
    if (values[i] == kNoReg) continue;
    lane_op(isa::kRowMov, bits_type(register_bytes(match.type)), Type::none, {reg(values[i])}, {},
            results[i].reg);
    finish(results[i]);
  }
  return Unit{};
}

Status Lowering::atomic(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                        bool with_result, uint32_t result) {
  size_t first = with_result ? 1 : 0;
  size_t values = match.mods[Field::operation] == isa::kOpCas ? 2 : 1;
  const size_t hint = match.mods[Field::cache_hint] && !match.mods[Field::vec] ? 1 : 0;
  if (in.operands.size() != first + 1 + values + hint)
    return error_at(
        in, fmt::format("'{}' takes {} operands", in.spelling(), first + 1 + values + hint));
  uint8_t operation = match.mods[Field::operation];
  if (atomic_handler(operation, match.type) == nullptr)
    return error_at(in, fmt::format("'{}' is not supported", in.spelling()));
  isa::Match plain = match;
  plain.mods = plain.mods.with(Field::ordering,
                               isa::kWeak);  // the ordering of an atomic is its own; see emit
  Result<Place> p = place(f, in, plain, in.operands[first]);
  if (!p.ok()) return p.error();
  if (p->kernel_parameter) return error_at(in, "kernel parameters cannot be written");
  uint8_t bytes = register_bytes(match.type);
  const bool wide = match.type == Type::b128;
  std::vector<Source> sources{p->address};
  for (size_t i = 0; i < values; ++i) {
    const Operand& given = in.operands[first + 1 + i];
    if (wide) {
      if (!is_wide(f, given))
        return error_at(in, fmt::format("'{}' takes .b128 registers", in.spelling()));
      for (const uint32_t half : halves(f, given.reg)) sources.push_back(reg(half));
      continue;
    }
    Result<Source> v = source(f, in, given, bytes, match.type);
    if (!v.ok()) return v.error();
    sources.push_back(*v);
  }
  Destination out;
  out.reg = result;
  uint32_t upper = kNoReg;  // half of a wide result
  if (with_result && in.operands[0].kind != OperandKind::sink) {
    if (wide) {
      if (!is_wide(f, in.operands[0]))
        return error_at(in, fmt::format("'{}' takes .b128 registers", in.spelling()));
      const std::array<uint32_t, 2> to = halves(f, in.operands[0].reg);
      out.reg = to[0], upper = to[1];
    } else {
      Result<Destination> d = destination(f, in, in.operands[0], bytes, is_signed(match.type));
      if (!d.ok()) return d.error();
      out = *d;
    }
  }
  auto make = [&]() -> Status {
    Ir& ir = append(IrKind::machine);
    ir.builtin = int32_t(Builtin::atomic);
    ir.row = match.row;
    ir.mods = match.mods;
    ir.type = match.type;
    ir.space = p->space;
    ir.offset = p->offset;
    for (const Source& s : sources) ir.s[ir.sources++] = s;
    if (out.reg != kNoReg) ir.d[ir.destinations++] = out.reg;
    if (upper != kNoReg) ir.d[ir.destinations++] = upper;
    return Unit{};
  };
  Status s = guard_ != kNoReg ? guarded(in, make) : make();
  if (out.reg != kNoReg) finish(out);
  return s;
}

Status Lowering::warp_operation(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                                Builtin which, std::string_view kinds) {
  if (in.operands.size() != kinds.size())
    return error_at(in, fmt::format("'{}' takes {} operands, not {}", in.spelling(), kinds.size(),
                                    in.operands.size()));
  std::vector<Source> sources;
  Destination outs[2];
  for (size_t i = 0; i < kinds.size(); ++i) {
    const Operand& o = in.operands[i];
    if (kinds[i] == 'd' || kinds[i] == 'p') {
      // d|p: a value and a predicate.
      const Operand* parts[2] = {&o, nullptr};
      if (o.kind == OperandKind::pair) parts[0] = &o.elements[0], parts[1] = &o.elements[1];
      for (int k = 0; k < 2; ++k) {
        if (parts[k] == nullptr || parts[k]->kind == OperandKind::sink) continue;
        Result<Destination> d =
            destination(f, in, *parts[k], kinds[i] == 'p' || k == 1 ? 0 : 4, false);
        if (!d.ok()) return d.error();
        outs[k] = *d;
      }
      continue;
    }
    uint8_t bytes = kinds[i] == 'b'   ? 0
                    : kinds[i] == 'L' ? 8
                    : kinds[i] == 'A' ? register_bytes(match.type)
                                      : 4;
    Result<Source> s = source(f, in, o, bytes, Type::u32);
    if (!s.ok()) return s.error();
    sources.push_back(*s);
  }
  auto make = [&]() -> Status {
    // Every slot the handler may write exists: a destination left out goes to a register nobody
    // reads.
    uint32_t first = outs[0].reg != kNoReg ? outs[0].reg : d_.new_register(kinds[0] == 'p' ? 0 : 4);
    Ir& ir = append(IrKind::machine);
    ir.builtin = int32_t(which);
    ir.row = match.row;
    ir.mods = match.mods;
    ir.type = match.type;
    for (const Source& s : sources) ir.s[ir.sources++] = s;
    ir.d[ir.destinations++] = first;
    if (outs[1].reg != kNoReg) ir.d[ir.destinations++] = outs[1].reg;
    return Unit{};
  };
  Status s = guard_ != kNoReg ? guarded(in, make) : make();
  for (const Destination& out : outs)
    if (out.reg != kNoReg) finish(out);
  return s;
}

// mbarrier.*: sources are the address (32-bit, shared), then a count, byte number, state or parity.
Status Lowering::mbarrier(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                          Machine machine) {
  size_t next = 0, n = in.operands.size();
  bool has_state = machine == Machine::mbarrier_arrive || machine == Machine::mbarrier_arrive_drop;
  bool has_predicate =
      machine == Machine::mbarrier_wait || machine == Machine::mbarrier_wait_parity;
  Destination out;
  if (has_state || has_predicate || machine == Machine::mbarrier_pending) {
    if (n == 0) return error_at(in, fmt::format("'{}' lacks its operands", in.spelling()));
    if (in.operands[0].kind != OperandKind::sink) {
      Result<Destination> d = destination(f, in, in.operands[0],
                                          has_predicate                          ? 0
                                          : machine == Machine::mbarrier_pending ? 4
                                                                                 : 8,
                                          false);
      if (!d.ok()) return d.error();
      out = *d;
    }
    next = 1;
  }
  std::vector<Source> sources;
  int64_t offset = 0;
  if (machine != Machine::mbarrier_pending) {
    if (next >= n) return error_at(in, fmt::format("'{}' lacks its address", in.spelling()));
    isa::Match plain = match;
    plain.mods = plain.mods.with(Field::ordering, isa::kWeak).with(Field::space, isa::kShared);
    bool generic = match.mods[Field::space] == isa::kGeneric;
    if (generic) plain.mods = plain.mods.with(Field::space, isa::kGeneric);
    Result<Place> p = place(f, in, plain, in.operands[next++]);
    if (!p.ok()) return p.error();
    Source address = p->address;
    if (p->space == AccessSpace::generic) {  // always in shared memory: window address -> offset
      Source low =
          reg(lane_op(isa::kRowSub, Type::u64, Type::none, {address, constant(kSharedWindow)}));
      address = resize(low, 8, 4, false, true);
    }
    sources.push_back(address);
    offset = p->offset;
  }
  Builtin which = Builtin::mbarrier_init;
  Type operand_type = Type::u32;
  switch (machine) {
    case Machine::mbarrier_inval: which = Builtin::mbarrier_inval; break;
    case Machine::mbarrier_arrive: which = Builtin::mbarrier_arrive; break;
    case Machine::mbarrier_arrive_drop: which = Builtin::mbarrier_arrive_drop; break;
    case Machine::mbarrier_expect_tx: which = Builtin::mbarrier_expect_tx; break;
    case Machine::mbarrier_complete_tx: which = Builtin::mbarrier_complete_tx; break;
    case Machine::mbarrier_wait: which = Builtin::mbarrier_wait, operand_type = Type::u64; break;
    case Machine::mbarrier_wait_parity: which = Builtin::mbarrier_wait; break;
    case Machine::mbarrier_pending:
      which = Builtin::mbarrier_pending, operand_type = Type::u64;
      break;
    default: break;
  }
  if (next < n) {
    Result<Source> s =
        source(f, in, in.operands[next], operand_type == Type::u64 ? 8 : 4, operand_type);
    if (!s.ok()) return s.error();
    sources.push_back(*s);
  }
  isa::Mods mods = match.mods.with(Field::part, machine == Machine::mbarrier_wait_parity ? 1 : 0);
  auto make = [&]() -> Status {
    uint32_t d = out.reg != kNoReg ? out.reg
                                   : d_.new_register(has_predicate                          ? 0
                                                     : machine == Machine::mbarrier_pending ? 4
                                                                                            : 8);
    Ir& ir = append(IrKind::machine);
    ir.builtin = int32_t(which);
    ir.mods = mods;
    ir.space = AccessSpace::shared;
    ir.offset = offset;
    for (const Source& s : sources) ir.s[ir.sources++] = s;
    ir.d[ir.destinations++] = d;
    return Unit{};
  };
  Status s = guard_ != kNoReg ? guarded(in, make) : make();
  if (out.reg != kNoReg) finish(out);
  return s;
}

// brx.idx: one comparison and branch a target. The tables of real programs are short.
Status Lowering::branch_indexed(Instance& f, const ptx::Instruction& in) {
  if (in.operands.size() != 2 || in.operands[1].kind != OperandKind::table)
    return error_at(in, "'brx.idx' takes an index and the name of a .branchtargets list");
  Result<Source> index = source(f, in, in.operands[0], 4, Type::u32);
  if (!index.ok()) return index.error();
  auto make = [&]() -> Status {
    const std::vector<uint32_t>& targets = f.function->branch_tables[in.operands[1].index].labels;
    for (size_t i = 0; i < targets.size(); ++i) {
      guard_ = kNoReg;
      uint32_t equal = lane_op(isa::kRowSetpInt, Type::u32, Type::none, {*index, constant(i)},
                               isa::Mods{}.with(Field::cmp, isa::kEq));
      guard_ = equal;
      guard_negated_ = false;
      branch(f.labels[targets[i]]);
      guard_ = kNoReg;
    }
    return builtin(in, Builtin::trap, {});  // an index outside the table is undefined
  };
  if (guard_ != kNoReg) return guarded(in, make);
  return make();
}

}  // namespace tw::emu
