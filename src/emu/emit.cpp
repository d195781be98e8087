// IR -> Ops: one array for warps with all 32 lanes, one for the others. Each instruction gets the
// handler that fits its operands' shapes; what no handler takes directly (a scalar in a vector
// store) is spread into scratch slots first. In the full array, runs of load-load-fma become one
// fused row.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "emu/bulk.h"
#include "emu/filter_handlers.h"
#include "emu/ir.h"
#include "emu/machine_handlers.h"
#include "emu/observe_handlers.h"
#include "isa/lane_rows.h"

namespace tw::emu {
namespace {

constexpr uint32_t kScratchSlots = 4;

class Emitter {
 public:
  explicit Emitter(Decoding& d) : d_(d), p_(*d.program) {}

  Status run() {
    collect_constants();
    count_uses();
    lane_base_ = (p_.uniform_bytes + 63) / 64 * 64;
    scratch_ = lane_base_ + p_.frame_bytes;
    p_.frame_bytes = scratch_ + kScratchSlots * 256;
    // An odd number of cache lines: the frames of a CTA's warps then start in different cache sets.
    p_.frame_bytes = (p_.frame_bytes / 64 | 1) * 64;
    for (size_t i = 0; i < p_.lane_inits.size(); ++i) {
      const IrRegister& r = d_.registers[d_.lane_init_registers[i]];
      p_.lane_inits[i].offset = offset(d_.lane_init_registers[i]);
      p_.lane_inits[i].uniform = r.scalar_slot;
    }
    p_.observed = d_.options.observed;
    p_.blocks.resize(d_.blocks.size());
    for (uint32_t b = 0; b < d_.blocks.size(); ++b) p_.blocks[b].acts = d_.blocks[b].acts;
    uint32_t last = ~0u;  // also of the block before: an instruction may be cut into several
    for (uint32_t b = 0; b < d_.blocks.size(); ++b)
      for (uint32_t i = d_.blocks[b].begin; i < d_.blocks[b].end; ++i)
        if (std::exchange(last, d_.code[i].site) != d_.code[i].site)
          p_.blocks[b].sites.push_back(d_.code[i].site);
    for (bool full : {true, false}) {
      full_ = full;
      out_ = full ? &p_.full : &p_.masked;
      for (uint32_t b = 0; b < d_.blocks.size(); ++b) {
        (full ? p_.blocks[b].full : p_.blocks[b].masked) = uint32_t(out_->size());
        if (Status s = block(b); !s.ok()) return s;
      }
      if (observes(kObserveSync)) push(observe_exit_handler(false), 0);
      push(end_handler(), 0);
    }
    resolve_targets(p_.full, true);
    resolve_targets(p_.masked, false);
    return Unit{};
  }

 private:
  // ---- operands ----

  uint32_t offset(uint32_t reg) const {
    const IrRegister& r = d_.registers[reg];
    return r.scalar_slot ? r.slot : lane_base_ + r.slot;
  }
  bool scalar(const Source& s) const {
    return s.constant || (d_.registers[s.reg].scalar_slot && d_.registers[s.reg].bytes != 0) ||
           (!s.constant && d_.registers[s.reg].bytes == 0);
  }
  uint32_t offset(const Source& s) const {
    return s.constant ? constants_.at(s.value) : offset(s.reg);
  }

  void collect_constants() {
    auto add = [&](uint64_t value) {
      auto [it, fresh] = constants_.try_emplace(value, p_.uniform_bytes);
      if (!fresh) return;
      p_.constants.push_back({p_.uniform_bytes, value});
      p_.uniform_bytes += 8;
    };
    add(0);
    for (const Ir& ir : d_.code)
      for (uint32_t i = 0; i < ir.sources; ++i)
        if (ir.s[i].constant) add(ir.s[i].value);
  }

  void count_uses() {
    uses_.assign(d_.registers.size(), 0);
    for (const Ir& ir : d_.code) {
      for (uint32_t i = 0; i < ir.sources; ++i)
        if (!ir.s[i].constant) ++uses_[ir.s[i].reg];
      if (ir.guard != kNoReg) ++uses_[ir.guard];
    }
  }

  Op& push(Handler handler, uint32_t site) {
    out_->emplace_back();
    out_->back().run = handler;
    out_->back().site = site;
    return out_->back();
  }

  template <class T> const T* own(std::shared_ptr<T> object) {
    p_.owned.push_back(object);
    return object.get();
  }

  // A lane slot that holds the source: its own, or a scratch slot it is spread into.
  uint32_t lane_offset(const Source& s, uint8_t bytes, uint32_t scratch, uint32_t site) {
    if (!scalar(s)) return offset(s);
    isa::Type type = bytes == 8 ? isa::Type::b64 : bytes == 4 ? isa::Type::b32 : isa::Type::b16;
    Op& op = push(
        find_entry(d_.target, isa::kRowMov, type, isa::Type::none)->fixed[0].handlers.full, site);
    op.a = offset(s);
    op.d = scratch_ + scratch * 256;
    op.flags = kUniformA;
    return op.d;
  }

  // ---- instructions ----

  Status block(uint32_t b) {
    const IrBlock& block = d_.blocks[b];
    branching_ = nullptr;
    if (!full_ && block.join) {
      Op& op = push(join_handler(), d_.code[block.begin].site);
      op.block = b;
    }
    if (observes(kObserveBlocks)) push(count_block_handler(), 0).imm = b;
    for (uint32_t i = block.begin; i < block.end; ++i) {
      if (full_ && (!observes(kObserveAccesses) || observes(kObserveRows) ||
                    (observes(kObserveFiltered) && !all_of_shared(AccessSpace::shared))))
        dot_row(i, block.end);
      if (full_ && (!observes(kObserveAccesses) || observes(kObserveFiltered)))
        global_dot(i, block.end);
      if (const uint32_t taken = full_ ? fma_row(i, block.end) : 0; taken != 0) {
        i += taken - 1;
        continue;
      }
      if (Status s = instruction(d_.code[i], b); !s.ok()) return s;
      if (full_ && i + 1 == dot_until_) (*out_)[dot_at_].imm = int64_t(out_->size() - dot_at_);
    }
    return Unit{};
  }

  Status instruction(const Ir& ir, uint32_t b) {
    bool guarded = ir.guard != kNoReg && ir.kind != IrKind::branch && ir.kind != IrKind::exit;
    if (!guarded) return plain(ir, b, full_);
    // The lanes whose guard holds run the masked handler; then the mask is put back.
    size_t at = out_->size();
    Op& enter = push(builtin_handler(Builtin::skip_unless, full_, false), ir.site);
    enter.a = offset(ir.guard);
    enter.flags = ir.guard_negated ? kNegated : 0u;
    if (Status s = plain(ir, b, false); !s.ok()) return s;
    push(builtin_handler(Builtin::restore_mask, full_, false), ir.site);
    (*out_)[at].imm = int64_t(out_->size() - at);  // ops to skip when no lane's guard holds
    return Unit{};
  }

  Status plain(const Ir& ir, uint32_t b, bool full) {
    switch (ir.kind) {
      case IrKind::lane: lane(ir, full); break;
      case IrKind::load: load(ir, full); break;
      case IrKind::store: store(ir, full); break;
      case IrKind::branch: branch(ir, b); break;
      case IrKind::exit: {
        bool uniform = ir.guard != kNoReg && uniform_predicate(ir.guard);
        Op& op = push(exit_handler(full_, ir.guard != kNoReg, uniform, ir.guard_negated), ir.site);
        if (ir.guard != kNoReg) op.a = offset(ir.guard);
        op.e = b + 1;
        if (observes(kObserveSync)) observe_exit(ir);
        break;
      }
      case IrKind::barrier:
      case IrKind::machine: {
        bool uniform = ir.destinations > 0 && d_.registers[ir.d[0]].scalar_slot;
        Op op;
        op.site = ir.site;
        op.run = builtin_handler(static_cast<Builtin>(ir.builtin), full, uniform);
        if (ir.sources > 0) op.a = offset(ir.s[0]), op.flags |= scalar(ir.s[0]) ? kUniformA : 0u;
        if (ir.sources > 1) op.b = offset(ir.s[1]), op.flags |= scalar(ir.s[1]) ? kUniformB : 0u;
        if (ir.destinations > 0) op.d = offset(ir.d[0]);
        op.e = b + 1;
        if (ir.kind == IrKind::machine) machine(ir, op);
        const auto builtin = static_cast<Builtin>(ir.builtin);
        const bool cut = observes(kObserveAccesses) && builtin == Builtin::atomic;
        if (cut) observe_atomic(ir, op);
        if (observes(kObserveSync)) observe_sync(ir, op);
        out_->push_back(op);
        if (cut) push(observe_end_handler(), ir.site);
        if (!observes(kObserveSync)) break;
        if (builtin == Builtin::cluster_wait) push(observe_cluster_wait_handler(true), ir.site);
        if (builtin == Builtin::wgmma_wait)
          push(observe_wgmma_handler(true), ir.site).imm = ir.offset;
        if (builtin == Builtin::mbarrier_wait && ir.destinations > 0) {
          op.run = observe_mbarrier_handler(MbarrierAction::passed);
          op.extra = nullptr;
          out_->push_back(op);
        }
        break;
      }
      case IrKind::nop: break;
    }
    return Unit{};
  }

  bool result_used(const Ir& ir) const {
    return std::any_of(ir.d, ir.d + ir.destinations, [&](uint32_t d) { return uses_[d] > 0; });
  }
  std::shared_ptr<MachineOperands> bulk_operands(const Ir& ir) {
    auto bulk = std::make_shared<BulkOperands>();
    bulk->observed = observes(kObserveAccesses);
    const bool store = ir.mods[isa::Field::to] != 0;
    const auto fill = [&](AccessSite& s, AccessSpace space, bool write, uint32_t bytes) {
      s.site = s.group = s.log.site = ir.site;
      s.kind = write ? AccessKind::write : AccessKind::read;
      s.space = space;
      s.element = bytes == 1 ? Element::u8 : bytes == 2 ? Element::b16 : Element::b32;
      s.elements = uint8_t(std::max(bytes / 4, 1u));
      s.bytes = uint8_t(bytes);
      s.async = s.bulk = true;
      s.log.bytes = bytes;
      s.log.write = write;
    };
    fill(bulk->shared, AccessSpace::shared, !store, 16);
    bulk->shared.bulk_group = store;
    fill(bulk->source, AccessSpace::shared, false, 16);
    for (uint32_t i = 0; i < 5; ++i) fill(bulk->global[i], AccessSpace::global, store, 1u << i);
    return bulk;
  }

  void machine(const Ir& ir, Op& op) {
    const bool bulk = static_cast<Builtin>(ir.builtin) == Builtin::bulk_copy;
    auto operands = bulk ? bulk_operands(ir) : std::make_shared<MachineOperands>();
    for (uint32_t i = 0; i < ir.destinations; ++i) operands->d[i] = offset(ir.d[i]);
    for (uint32_t i = 0; i < ir.sources; ++i) {
      operands->s[i] = offset(ir.s[i]);
      bool is_predicate = !ir.s[i].constant && d_.registers[ir.s[i].reg].bytes == 0;
      if (scalar(ir.s[i]) && !is_predicate) operands->uniform |= 1u << i;
    }
    operands->sources = ir.sources;
    operands->mods = ir.mods;
    operands->type = ir.type;
    operands->type2 = ir.type2;
    operands->space = ir.space;
    op.extra = own(operands);
    op.imm = ir.offset;
    if (static_cast<Builtin>(ir.builtin) != Builtin::atomic) return;
    p_.schedule_dependent = true;
    op.run = atomic_handler(ir.mods[isa::Field::operation], ir.type);
    bool floating = ir.type == isa::Type::f32 || ir.type == isa::Type::f64 ||
                    ir.type == isa::Type::f16 || ir.type == isa::Type::f16x2 ||
                    ir.type == isa::Type::bf16 || ir.type == isa::Type::bf16x2;
    uint8_t operation = ir.mods[isa::Field::operation];
    if (ir.space != AccessSpace::shared &&
        (result_used(ir) || floating || operation == isa::kOpExch || operation == isa::kOpCas ||
         operation == isa::kOpInc || operation == isa::kOpDec))
      p_.order_dependent = true;
  }

  void lane(const Ir& ir, bool full) {
    const HandlerSet* set = &ir.entry->runtime;
    bool fixed = false;
    for (const FixedHandlers& f : ir.entry->fixed)
      if (f.mods == ir.mods) {
        set = &f.handlers;
        fixed = true;
      }
    Op op;
    op.site = ir.site;
    uint32_t uniform_bits = 0;
    uint32_t* slots[kMaxSources] = {&op.a, &op.b, &op.c, &op.e};
    for (uint32_t i = 0; i < ir.sources; ++i) {
      *slots[i] = offset(ir.s[i]);
      if (ir.entry->source_bytes[i] != 0 && scalar(ir.s[i])) uniform_bits |= 1u << i;
    }
    op.flags = uniform_bits;
    op.d = offset(ir.d[0]);
    if (!fixed) op.extra = own(std::make_shared<isa::Mods>(ir.mods));
    const IrRegister& to = d_.registers[ir.d[0]];
    bool scalar_result = to.shape.kind == Shape::uniform;
    if (scalar_result)
      op.run = set->uniform;
    else {
      const bool whole = full || to.temporary;
      const Handler* mixed = whole ? set->mixed : set->mixed_masked;
      Handler own_handler = uniform_bits < 8 ? mixed[uniform_bits] : nullptr;
      op.run = own_handler != nullptr ? own_handler : whole ? set->full : set->masked;
      if (set->branching != nullptr && uniform_bits < 8) {
        const BranchHandlers& b = *set->branching;
        branching_ = (whole ? b.mixed : b.mixed_masked)[uniform_bits];
        branching_at_ = out_->size();
      }
    }
    out_->push_back(op);
  }

  AddressForm form_of(const Source& address, uint32_t lane_bytes) const {
    if (scalar(address)) return AddressForm::uniform;
    const Shape& s = d_.registers[address.reg].shape;
    if (s.kind != Shape::affine) return AddressForm::lanes;
    if (s.stride == 0) return AddressForm::broadcast;
    if (s.stride == int64_t(lane_bytes))
      return s.whole ? AddressForm::unit_warp : AddressForm::unit;
    return AddressForm::lanes;
  }

  static uint32_t element_bytes(Element e) {
    return e == Element::b64 ? 8 : e == Element::b32 ? 4 : e == Element::b16 ? 2 : 1;
  }
  static uint8_t slot_bytes(Element e) { return e == Element::b64 ? 8 : e == Element::b32 ? 4 : 2; }

  void load(const Ir& ir, bool full) {
    MemoryKey key;
    key.space = ir.space;
    key.element = ir.element;
    key.elements = ir.elements;
    key.masked = !full;
    key.form = form_of(ir.s[0], element_bytes(ir.element) * ir.elements);
    key.uniform_value = d_.registers[ir.d[0]].shape.kind == Shape::uniform;
    Op op;
    op.site = ir.site;
    op.a = offset(ir.s[0]);
    op.imm = ir.offset;
    uint32_t* slots[4] = {&op.d, &op.b, &op.c, &op.e};
    for (uint32_t i = 0; i < ir.destinations; ++i) *slots[i] = offset(ir.d[i]);
    op.run = d_.target.memory(key);
    if (observes(kObserveAccesses) && !ir.unobserved && !in_observed_row(ir))
      observe_access(ir, op, AccessKind::read, key);
    out_->push_back(op);
  }

  void store(const Ir& ir, bool full) {
    MemoryKey key;
    key.store = true;
    key.space = ir.space;
    key.element = ir.element;
    key.elements = ir.elements;
    key.masked = !full;
    key.form = form_of(ir.s[0], element_bytes(ir.element) * ir.elements);
    if (key.form == AddressForm::broadcast) key.form = AddressForm::lanes;
    key.uniform_value = ir.elements == 1 && scalar(ir.s[1]);
    uint32_t values[4] = {};
    for (uint32_t i = 0; i < ir.elements; ++i)
      values[i] = ir.elements == 1 ? offset(ir.s[1])
                                   : lane_offset(ir.s[i + 1], slot_bytes(ir.element), i, ir.site);
    Op op;
    op.site = ir.site;
    op.a = offset(ir.s[0]);
    op.imm = ir.offset;
    op.d = values[0], op.b = values[1], op.c = values[2], op.e = values[3];
    op.run = d_.target.memory(key);
    if (observes(kObserveAccesses)) observe_access(ir, op, AccessKind::write, key);
    out_->push_back(op);
  }

  bool uniform_predicate(uint32_t reg) const {
    return d_.registers[reg].shape.kind == Shape::uniform;
  }

  void branch(const Ir& ir, uint32_t b) {
    bool backward = ir.target <= b;
    Op op;
    op.site = ir.site;
    op.e = ir.target;
    op.d = b + 1;
    op.block = d_.blocks[b].post_dominator;
    if (ir.guard == kNoReg) {
      op.run = jump_handler(backward);
    } else {
      op.a = offset(ir.guard);
      bool uniform = uniform_predicate(ir.guard);
      op.run = backward ? backward_branch_handler(full_, uniform, ir.guard_negated)
                        : branch_handler(full_, uniform, ir.guard_negated);
      op.flags = (backward ? kBackward : 0u) | (ir.guard_negated ? kNegated : 0u);
      if (branching_ != nullptr && branching_at_ + 1 == out_->size() && out_->back().d == op.a)
        out_->back().run = branching_;
    }
    op.flags |= kBranchOp;
    out_->push_back(op);
  }
  static constexpr uint32_t kBranchOp = 1u
                                        << 31;  // Op::e is a block whose address `target` must hold

  void resolve_targets(std::vector<Op>& ops, bool full) {
    for (Op& op : ops) {
      if (op.flags & kBranchOp) {
        op.target = &ops[full ? p_.blocks[op.e].full : p_.blocks[op.e].masked];
        op.flags &= ~kBranchOp;
      } else if (op.flags & kRelativeTarget) {
        op.target = &op + op.imm;
        op.flags &= ~kRelativeTarget;
      }
    }
  }
  static constexpr uint32_t kRelativeTarget = 1u << 30;

  // ---- observation (observer.h) ----

  bool observes(uint8_t events) const { return (d_.options.observed & events) != 0; }

  // Where copies are asynchronous, or other CTAs reach it, the observer sees all of shared memory.
  bool all_of_shared(AccessSpace space) const {
    return (p_.async_shared || p_.cluster_ctas() > 1) && space == AccessSpace::shared;
  }

  // `op` is about to be pushed.
  void observe_access(const Ir& ir, const Op& op, AccessKind kind, const MemoryKey& key) {
    auto site = std::make_shared<AccessSite>();
    site->site = ir.site;
    site->kind = kind;
    site->space = key.space;
    site->form = key.form;
    site->element = key.element;
    site->elements = key.elements;
    site->bytes = uint8_t(element_bytes(key.element) * key.elements);
    site->copy_bytes = ir.copy_bytes;
    site->ordering = ir.mods[isa::Field::ordering];
    site->scope = ir.mods[isa::Field::scope];
    site->operation = ir.mods[isa::Field::operation];
    site->address_uniform = scalar(ir.s[0]);
    site->value_uniform = key.uniform_value;
    site->async = ir.async;
    site->bulk = ir.bulk;
    if (kind == AccessKind::atomic) {
      if (site->ordering == isa::kWeak) site->ordering = isa::kRelaxed;
      if (site->scope == isa::kScopeNone) site->scope = isa::kScopeGpu;
      site->result_used = result_used(ir);
    }
    site->group = group_of(ir, *site);
    bool follows = false;  // what is copied from local memory: no filter sees that
    if (kind != AccessKind::atomic) {
      const Site& s = p_.sites[ir.site];
      site->used_bytes = s.function->instructions[s.instruction].used_bytes;
      // Bytes whose register nobody reads are unused, too.
      for (uint32_t i = 0; i < ir.destinations; ++i)
        if (uses_[ir.d[i]] == 0)
          site->used_bytes &=
              ~(((1u << element_bytes(ir.element)) - 1) << (i * element_bytes(ir.element)));
      site->unused = ir.unused;
      site->copied = d_.copied[size_t(&ir - d_.code.data())];
      for (const uint32_t value : site->copied)
        follows = follows || (value != kNoCopy && p_.copied[value].local);
    }
    shadow::LogSite& log = site->log;
    log.site = ir.site;
    log.bytes = site->bytes;
    log.write = kind == AccessKind::write;
    Op observe = op;
    observe.run = observe_access_handler(kind);
    if (observes(kObserveFiltered) && kind != AccessKind::atomic && site->ordering == isa::kWeak &&
        key.space != AccessSpace::local && !follows && !all_of_shared(key.space)) {
      FilterKey filter;
      filter.store = log.write;
      filter.shared = key.space == AccessSpace::shared;
      filter.uniform = site->address_uniform;
      filter.bytes = site->bytes;
      if (!key.masked && !site->address_uniform) {
        const Shape& shape = d_.registers[ir.s[0].reg].shape;
        filter.regular = shape.kind == Shape::affine && shape.stride >= 0 &&
                         shape.stride < (1 << 20) && shape.stride % site->bytes == 0;
        if (filter.regular) log.stride = uint32_t(shape.stride);
        filter.unit = filter.regular && shape.stride == site->bytes;
      }
      observe.run = filter_target(d_.target).filter(filter);
    }
    observe.extra = own(site);
    out_->push_back(observe);
  }

  uint32_t group_of(const Ir& ir, const AccessSite& site) {
    const Site& s = p_.sites[ir.site];
    const uint32_t location = s.function->instructions[s.instruction].location;
    if (location == ptx::kNone || ir.s[0].constant) return ir.site;
    const auto key = std::tuple(s.function, location, ir.s[0].reg, site.kind, site.bytes);
    return groups_.try_emplace(key, ir.site).first->second;
  }

  void filter_row(const AccessRow& row_a, const AccessRow& row_b, AddressForm form_a,
                  AddressForm form_b, uint32_t a_reg, uint32_t b_reg) {
    auto filter = std::make_shared<RowFilter>();
    auto fill = [](shadow::LogSite& log, std::vector<shadow::LogSite::Member>& members,
                   const AccessRow& row, AddressForm form) {
      for (const AccessRow::Member& m : row.members) {
        members.push_back({m.site, m.offset});
        log.low = std::min(log.low, m.offset), log.high = std::max(log.high, m.offset);
      }
      log.site = members.front().site;
      log.stride = form == AddressForm::broadcast ? 0 : 4;
      log.members = members.data();
      log.count = uint32_t(members.size());
    };
    filter->a.low = filter->a.high = row_a.members.front().offset;
    filter->b.low = filter->b.high = row_b.members.front().offset;
    fill(filter->a, filter->members_a, row_a, form_a);
    fill(filter->b, filter->members_b, row_b, form_b);
    Op& op = push(filter_target(d_.target).row, row_a.members.front().site);
    op.a = offset(a_reg), op.b = offset(b_reg);
    filter->index = uint32_t(p_.rows.size());
    p_.rows.push_back(own(filter));
    op.extra = p_.rows.back();
  }

  void observe_row(const std::shared_ptr<AccessRow>& row, uint32_t address) {
    row->index = rows_++;
    Op& op = push(observe_row_handler(), row->members.front().site);
    op.a = offset(address);
    op.extra = own(row);
  }
  // The plain instructions behind a fused row, which has told the observer of them.
  bool in_observed_row(const Ir& ir) const {
    return full_ && observes(kObserveRows) && size_t(&ir - d_.code.data()) < dot_until_;
  }

  void observe_atomic(const Ir& ir, const Op& op) {
    const uint32_t bytes = ptx::type_bytes(ir.type);
    MemoryKey key;
    key.space = ir.space;
    key.element = bytes >= 8 ? Element::b64 : bytes == 4 ? Element::b32 : Element::b16;
    key.elements = bytes == 16 ? 2 : 1;
    // Of sixteen bytes, halves of which one is the same for the warp count as changing.
    key.uniform_value = ir.sources > 1 && scalar(ir.s[1]) && (key.elements == 1 || scalar(ir.s[2]));
    observe_access(ir, op, AccessKind::atomic, key);
    Op& observe = out_->back();
    if (ir.sources > 1) observe.d = offset(ir.s[1]);
    if (key.elements == 2) observe.b = offset(ir.s[2]);
  }

  void observe_sync(const Ir& ir, const Op& op) {
    Op observe = op;
    observe.extra = nullptr;
    switch (static_cast<Builtin>(ir.builtin)) {
      case Builtin::barrier_sync:
      case Builtin::barrier_red:
      case Builtin::barrier_arrive:
        observe.run = observe_barrier_handler(ir.builtin != int32_t(Builtin::barrier_arrive));
        break;
      case Builtin::cluster_arrive:
        observe.run = observe_cluster_arrive_handler();
        observe.d = ir.mods[isa::Field::ordering] != isa::kRelaxed;
        break;
      case Builtin::cluster_wait: observe.run = observe_cluster_wait_handler(false); break;
      case Builtin::wgmma_commit: observe.run = observe_wgmma_handler(false); break;
      case Builtin::shuffle:
      case Builtin::vote:
      case Builtin::match:
      case Builtin::redux:
      case Builtin::matrix_move:
      case Builtin::matrix_multiply:
      case Builtin::elect: {
        const auto builtin = static_cast<Builtin>(ir.builtin);
        const bool names_lanes = builtin == Builtin::elect || builtin == Builtin::matrix_move ||
                                 builtin == Builtin::matrix_multiply ||
                                 ir.sources == (builtin == Builtin::shuffle ? 4 : 2);
        if (!names_lanes) return;
        const Source& members = ir.s[ir.sources - 1];
        observe.run = observe_converge_handler();
        observe.a = offset(members);
        observe.flags = scalar(members) ? kUniformA : 0u;
        if (builtin == Builtin::shuffle) {
          out_->push_back(observe);
          observe.run = observe_shuffle_handler();
          observe.extra = op.extra;
        }
        break;
      }
      case Builtin::mbarrier_init:
      case Builtin::mbarrier_inval:
      case Builtin::mbarrier_arrive:
      case Builtin::mbarrier_arrive_drop:
      case Builtin::mbarrier_expect_tx:
      case Builtin::mbarrier_complete_tx:
        observe.run =
            observe_mbarrier_handler(action_of(static_cast<Builtin>(ir.builtin), ir.async));
        break;
      case Builtin::warp_sync: observe.run = observe_warp_sync_handler(); break;
      case Builtin::fence:
        observe.run = observe_fence_handler();
        observe.d = ir.mods[isa::Field::ordering];
        observe.e = ir.mods[isa::Field::scope];
        break;
      default: return;
    }
    out_->push_back(observe);
  }

  void observe_exit(const Ir& ir) {
    Op exit = out_->back();
    out_->back().run = observe_exit_handler(ir.guard != kNoReg);
    out_->back().flags = ir.guard_negated ? kNegated : 0u;
    out_->push_back(exit);
  }

  // ---- fused rows ----

  // A load of one word a lane whose value one instruction takes.
  bool single_use_load(const Ir& ir, AccessSpace space, AddressForm& form) const {
    if (ir.kind != IrKind::load || ir.space != space || ir.element != Element::b32 ||
        ir.elements != 1 || ir.guard != kNoReg)
      return false;
    if (ir.mods[isa::Field::ordering] != isa::kWeak || uses_[ir.d[0]] != 1) return false;
    form = form_of(ir.s[0], 4);
    return form != AddressForm::lanes;
  }
  bool lane_slot(const Source& s) const { return !s.constant && !d_.registers[s.reg].scalar_slot; }
  // One whose addend and sum have a value for each lane.
  bool plain_fma(const Ir& f) const {
    return f.kind == IrKind::lane && f.row == isa::kRowFma && f.entry->type == isa::Type::f32 &&
           f.guard == kNoReg && f.mods == isa::Mods{} && !f.s[0].constant && !f.s[1].constant &&
           lane_slot(f.s[2]) && !d_.registers[f.d[0]].scalar_slot;
  }

  // At i: ld.shared x; ld.shared y; fma d, x, y, c (either order), repeated with the same two
  // address registers and each sum feeding the next. The plain instructions follow the fused row:
  // they run when its bounds check fails, and so name the lane at fault.
  void dot_row(uint32_t begin, uint32_t end) {
    if (begin < dot_until_) return;
    AddressForm form_a{}, form_b{};
    const Ir* first = nullptr;
    uint32_t a_reg = kNoReg, b_reg = kNoReg, sum = kNoReg;
    std::vector<DotTerm> terms;
    auto row_a = std::make_shared<AccessRow>(),
         row_b = std::make_shared<AccessRow>();  // for the observer
    Source addend;
    uint32_t i = begin;
    for (; i + 2 < end; i += 3) {
      const Ir &x = d_.code[i], &y = d_.code[i + 1], &f = d_.code[i + 2];
      AddressForm fx{}, fy{};
      if (!single_use_load(x, AccessSpace::shared, fx) ||
          !single_use_load(y, AccessSpace::shared, fy) || fx == AddressForm::uniform ||
          fy == AddressForm::uniform || !plain_fma(f))
        break;
      const Ir *a = nullptr, *b = nullptr;
      if (f.s[0].reg == x.d[0] && f.s[1].reg == y.d[0])
        a = &x, b = &y;
      else if (f.s[0].reg == y.d[0] && f.s[1].reg == x.d[0])
        a = &y, b = &x;
      else
        break;
      if (first == nullptr) {
        first = &f;
        a_reg = a->s[0].reg, b_reg = b->s[0].reg;
        form_a = a == &x ? fx : fy, form_b = a == &x ? fy : fx;
        addend = f.s[2];
      } else {
        bool same = a->s[0].reg == a_reg && b->s[0].reg == b_reg;
        bool crossed = a->s[0].reg == b_reg && b->s[0].reg == a_reg;
        if ((!same && !crossed) || f.s[2].reg != sum || uses_[sum] != 1) break;
        if (crossed) std::swap(a, b);
      }
      // Addresses must not change inside the row.
      if (f.d[0] == a_reg || f.d[0] == b_reg || x.d[0] == a_reg || x.d[0] == b_reg ||
          y.d[0] == a_reg || y.d[0] == b_reg)
        break;
      terms.push_back({int32_t(a->offset), int32_t(b->offset)});
      row_a->members.push_back({a->site, int32_t(a->offset)});
      row_b->members.push_back({b->site, int32_t(b->offset)});
      sum = f.d[0];
    }
    if (terms.empty()) return;
    Handler handler = d_.target.dot(form_a, form_b);
    if (handler == nullptr) return;
    uint32_t taken = uint32_t(terms.size()) * 3;
    dot_until_ = begin + taken;
    auto memory = std::shared_ptr<DotRow>(
        static_cast<DotRow*>(std::calloc(1, sizeof(DotRow) + terms.size() * sizeof(DotTerm))),
        std::free);
    memory->count = uint32_t(terms.size());
    memory->a_low = memory->a_high = terms[0].a_offset;
    memory->b_low = memory->b_high = terms[0].b_offset;
    for (size_t t = 0; t < terms.size(); ++t) {
      memory->terms[t] = terms[t];
      memory->a_low = std::min(memory->a_low, terms[t].a_offset),
      memory->a_high = std::max(memory->a_high, terms[t].a_offset);
      memory->b_low = std::min(memory->b_low, terms[t].b_offset),
      memory->b_high = std::max(memory->b_high, terms[t].b_offset);
    }
    if (observes(kObserveRows)) observe_row(row_a, a_reg), observe_row(row_b, b_reg);
    if (observes(kObserveFiltered)) filter_row(*row_a, *row_b, form_a, form_b, a_reg, b_reg);
    Op& op = push(handler, d_.code[begin].site);
    op.a = offset(a_reg), op.b = offset(b_reg);
    op.c = offset(addend), op.d = offset(sum);
    op.extra = own(memory);
    dot_at_ =
        out_->size() - 1;  // imm, to behind the plain instructions: when they have been emitted
    op.flags = kRelativeTarget;
  }

  // At i: ld.global x; ld.global y; fma d, x, y, c (either order). As dot_row, for one term.
  void global_dot(uint32_t begin, uint32_t end) {
    if (begin < dot_until_ || begin + 2 >= end) return;
    const Ir &x = d_.code[begin], &y = d_.code[begin + 1], &f = d_.code[begin + 2];
    AddressForm fx{}, fy{};
    if (!single_use_load(x, AccessSpace::global, fx) ||
        !single_use_load(y, AccessSpace::global, fy) || !plain_fma(f))
      return;
    const bool straight = f.s[0].reg == x.d[0] && f.s[1].reg == y.d[0];
    const bool crossed = f.s[0].reg == y.d[0] && f.s[1].reg == x.d[0];
    if (!straight && !crossed) return;
    if ((!y.s[0].constant && y.s[0].reg == x.d[0]) || f.s[2].reg == x.d[0] || f.s[2].reg == y.d[0])
      return;
    Handler handler = d_.target.global_dot(fx, fy, observes(kObserveFiltered));
    if (handler == nullptr) return;
    dot_until_ = begin + 3;
    auto pair = std::make_shared<GlobalPair>();
    *pair = {x.offset, y.offset, y.site};
    Op& op = push(handler, x.site);
    op.a = offset(x.s[0]), op.b = offset(y.s[0]), op.c = offset(f.s[2]), op.d = offset(f.d[0]);
    op.extra = own(pair);
    dot_at_ = out_->size() - 1;
    op.flags = kRelativeTarget;
  }

  // At i: FMAs with a common factor, one after the other; returns how many were fused. Nothing in
  // them can fail: the row stands for the plain instructions.
  uint32_t fma_row(uint32_t begin, uint32_t end) {
    constexpr uint32_t kLeast = 4;
    auto takes = [&](const Ir& f) {
      return plain_fma(f) && lane_slot(f.s[0]) && lane_slot(f.s[1]);
    };
    if (begin < dot_until_ || !takes(d_.code[begin])) return 0;
    for (uint32_t which = 0; which < 2; ++which) {
      const uint32_t common = d_.code[begin].s[which].reg;
      uint32_t n = 0;
      for (uint32_t i = begin; i < end && takes(d_.code[i]); ++i, ++n) {
        const Ir& f = d_.code[i];
        if ((f.s[0].reg != common && f.s[1].reg != common) || f.d[0] == common) break;
      }
      if (n < kLeast) continue;
      auto row = std::shared_ptr<FmaRow>(
          static_cast<FmaRow*>(std::calloc(1, sizeof(FmaRow) + n * sizeof(FmaTerm))), std::free);
      row->count = n;
      row->common = offset(common);
      for (uint32_t t = 0; t < n; ++t) {
        const Ir& f = d_.code[begin + t];
        row->terms[t] = {offset(f.d[0]), offset(f.s[0].reg == common ? f.s[1] : f.s[0]),
                         offset(f.s[2])};
      }
      push(d_.target.fma_row, d_.code[begin].site).extra = own(row);
      return n;
    }
    return 0;
  }

  Decoding& d_;
  Program& p_;
  std::vector<Op>* out_ = nullptr;
  bool full_ = true;
  uint32_t lane_base_ = 0, scratch_ = 0;
  // Of the block's last predicate: the handler that branches, too, and which Op computes it.
  Handler branching_ = nullptr;
  size_t branching_at_ = 0;
  uint32_t dot_until_ = 0;
  size_t dot_at_ = 0;
  uint32_t rows_ = 0;  // AccessRows so far
  std::unordered_map<uint64_t, uint32_t> constants_;
  std::vector<uint32_t> uses_;
  std::map<std::tuple<const ptx::Function*, uint32_t, uint32_t, AccessKind, uint8_t>, uint32_t>
      groups_;  // of accesses that are observed, see AccessSite::group
};

}  // namespace

Status emit(Decoding& d) {
  Status status = Emitter(d).run();
  d.program->schedule_dependent |= d.program->order_dependent || d.program->cluster_ctas() > 1;
  return status;
}

Result<std::unique_ptr<Program>> decode(const ptx::Module& module, const ptx::Function& function,
                                        const SymbolAddresses& symbols,
                                        const DecodeOptions& options, const Target& target) {
  Decoding d{module, function, symbols, options, target, std::make_unique<Program>(), {}, {},
             {},     {},       {},      {},      {}};
  d.program->module = &module;
  d.program->function = &function;
  d.program->block_shape = options.block_shape;
  d.program->cluster = options.cluster;
  if (Status s = lower(d); !s.ok()) return s.error();
  simplify(d);
  build_flow(d);
  analyse(d);
  allocate(d);
  if (options.observed & kObserveAccesses) find_copies(d);
  if (Status s = emit(d); !s.ok()) return s.error();
  return std::move(d.program);
}

}  // namespace tw::emu
