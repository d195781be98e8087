// Control flow, barriers and the other instructions that are not lane functions or plain memory
// accesses. Portable; compiled once.
#include "emu/machine_handlers.h"

#include <chrono>

#include "emu/bulk.h"
#include "emu/cluster.h"
#include "emu/observe_handlers.h"

namespace tw::emu {
namespace {

TW_INLINE uint32_t predicate(const Op* op, const char* frame, bool negated) {
  uint32_t p = *reinterpret_cast<const uint32_t*>(frame + op->a);
  return negated ? ~p : p;
}

// Uses up fuel at a backward branch; true if the warp has to yield before going to `to`.
TW_INLINE bool out_of_fuel(Warp* warp, const Op* to) {
  if (--warp->fuel > 0) [[likely]]
    return false;
  warp->pc = to;
  warp->state = WarpState::yielded;
  return true;
}

template <bool kBackward> const Op* jump(TW_HANDLER_ARGS) {
  (void)frame;
  const Op* to = op->target;
  if (kBackward && out_of_fuel(warp, to)) return nullptr;
  TW_GO(to);
}

template <bool kBackward, bool kNegated> const Op* branch_uniform(TW_HANDLER_ARGS) {
  if (predicate(op, frame, kNegated)) {
    const Op* to = op->target;
    if (kBackward && out_of_fuel(warp, to)) return nullptr;
    TW_GO(to);
  }
  TW_NEXT;
}

template <bool kFull, bool kBackward, bool kNegated> const Op* branch_lanes(TW_HANDLER_ARGS) {
  const uint32_t active = kFull ? kFullMask : warp->active;
  const uint32_t taken = predicate(op, frame, kNegated) & active;
  const Op* to;
  if (taken == active)
    to = op->target;
  else if (taken == 0)
    TW_NEXT;
  else
    to = diverge(op, *warp, taken);
  if (kBackward && out_of_fuel(warp, to)) return nullptr;
  TW_GO(to);
}

const Op* exit_all(TW_HANDLER_ARGS) {
  (void)op, (void)frame;
  uint32_t lanes = warp->active;
  warp->exited |= lanes;
  warp->cta->lanes_exit(*warp, lanes);
  const Op* to = path_ended(*warp);
  if (to == nullptr) return nullptr;
  TW_GO(to);
}

template <bool kNegated> const Op* exit_some(TW_HANDLER_ARGS) {
  uint32_t lanes = predicate(op, frame, kNegated) & warp->active;
  if (lanes == 0) TW_NEXT;
  if (lanes == warp->active) return exit_all(op, frame, warp);
  warp->exited |= lanes;
  warp->active &= ~lanes;
  warp->cta->lanes_exit(*warp, lanes);
  const Op* to = block_code(*warp, op->e, warp->active);
  TW_GO(to);
}

const Op* join(TW_HANDLER_ARGS) {
  if (warp->join < 0 || warp->joins[warp->join].block != op->block) TW_NEXT;
  while (warp->join >= 0 && warp->joins[warp->join].block == op->block) {
    Join& j = warp->joins[warp->join];
    j.arrived |= warp->active;
    if ((j.expected & ~(j.arrived | warp->exited)) != 0) {
      const Op* to = next_path(*warp);
      if (to == nullptr) return nullptr;
      TW_GO(to);
    }
    warp->active = j.arrived & ~warp->exited;
    warp->join = j.parent;
    j.live = false;
  }
  if (warp->active == kFullMask) {
    const Op* to = block_code(*warp, op->block, kFullMask);
    TW_GO(to);
  }
  TW_NEXT;
}

const Op* end(TW_HANDLER_ARGS) { return exit_all(op, frame, warp); }

TW_INLINE uint32_t scalar_or_lane(const Op* op, const char* frame, uint32_t offset, uint32_t flag,
                                  uint32_t lane) {
  const uint32_t* slot = reinterpret_cast<const uint32_t*>(frame + offset);
  return slot[(op->flags & flag) ? 0 : lane];
}

// The running path waits at a barrier.
TW_INLINE const Op* wait_at(TW_HANDLER_ARGS, uint32_t id) {
  if (warp->path_count == 0 && !warp->split) [[likely]] {
    warp->barrier = id;
    warp->pc = op + 1;
    warp->state = WarpState::barrier;
    return nullptr;
  }
  park(*warp, op + 1, PathState::barrier);
  warp->paths[warp->path_count - 1].barrier = id;
  const Op* to = next_path(*warp);
  if (to == nullptr) return nullptr;
  TW_GO(to);
}

const Op* barrier_sync(TW_HANDLER_ARGS) {
  uint32_t lane = uint32_t(__builtin_ctz(warp->active));
  uint32_t id = scalar_or_lane(op, frame, op->a, kUniformA, lane) & (kBarriers - 1);
  uint32_t count = scalar_or_lane(op, frame, op->b, kUniformB, lane);
  if (warp->cta->arrive(id, count, count_lanes(warp->active))) TW_NEXT;
  return wait_at(op, frame, warp, id);
}

[[gnu::noinline, gnu::cold]] const Op* arrived_twice(const Op* op, Warp* warp) {
  const uint32_t lane = uint32_t(__builtin_ctz(warp->cluster_arrived & warp->active));
  return lane_fault(op, warp, lane, FaultKind::trap,
                    "barrier.cluster misuse: a thread arrives that has arrived already and has not "
                    "waited since");
}

// bar.warp.sync: the named lanes meet. Lanes that have exited are not waited for.
// Lanes of one path may name different sets; the path goes on when all of them are here.
const Op* warp_sync(TW_HANDLER_ARGS) {
  uint32_t members = 0;
  if (op->flags & kUniformA)
    members = scalar_or_lane(op, frame, op->a, kUniformA, 0);
  else
    for (uint32_t active = warp->active; active != 0; active &= active - 1)
      members |= scalar_or_lane(op, frame, op->a, kUniformA, uint32_t(__builtin_ctz(active)));
  members &= ~warp->exited;
  if ((members & ~warp->active) == 0) TW_NEXT;
  uint32_t here = warp->active;
  auto waits = [&](const Path& p) {
    return p.state == PathState::warp_sync && p.pc[-1].run == op->run;
  };
  for (uint32_t i = 0; i < warp->path_count; ++i)
    if (waits(warp->paths[i])) here |= warp->paths[i].mask;
  if ((members & ~here) == 0) {
    for (uint32_t i = 0; i < warp->path_count; ++i)
      if (waits(warp->paths[i]) && (warp->paths[i].sync_mask & ~warp->exited & ~here) == 0)
        warp->paths[i].state = PathState::ready;
    TW_NEXT;
  }
  park(*warp, op + 1, PathState::warp_sync);
  warp->paths[warp->path_count - 1].sync_mask = members;
  const Op* to = next_path(*warp);
  if (to == nullptr) return nullptr;
  TW_GO(to);
}

const Op* barrier_arrive(TW_HANDLER_ARGS) {
  uint32_t lane = uint32_t(__builtin_ctz(warp->active));
  uint32_t id = scalar_or_lane(op, frame, op->a, kUniformA, lane) & (kBarriers - 1);
  uint32_t count = scalar_or_lane(op, frame, op->b, kUniformB, lane);
  warp->cta->arrive(id, count, count_lanes(warp->active));
  TW_NEXT;
}

const Op* cluster_arrive(TW_HANDLER_ARGS) {
  if (!warp->cta->cluster.arrive(*warp, warp->active)) return arrived_twice(op, warp);
  TW_NEXT;
}

const Op* cluster_wait(TW_HANDLER_ARGS) {
  if ((warp->cluster_arrived & warp->active) == 0) TW_NEXT;
  return wait_at(op, frame, warp, kClusterBarrier);
}

// A group of wgmma is the warpgroup's: it is complete when each of the four warps has done its
// part, which here is before it commits the group. A warp that commits less often, or waits for this
// one, is not waited for longer than kMostTurns.
const Op* wgmma_commit(TW_HANDLER_ARGS) {
  ++warp->cta->notes[warp->index].wgmma_groups;
  TW_NEXT;
}

const Op* wgmma_wait(TW_HANDLER_ARGS) {
  constexpr uint32_t kMostTurns = 256;
  Cta& cta = *warp->cta;
  const uint32_t mine = cta.notes[warp->index].wgmma_groups, pending = uint32_t(op->imm);
  const uint32_t first = warp->index & ~3u;
  uint32_t& turns = cta.notes[warp->index].wgmma_turns;
  for (uint32_t w = first; w < first + 4 && w < cta.warps.size() && mine > pending; ++w) {
    const WarpState other = cta.warps[w].state;
    const bool runs = other == WarpState::ready || other == WarpState::yielded;
    if (cta.notes[w].wgmma_groups + pending >= mine || !runs) continue;
    if (++turns > kMostTurns) break;
    warp->pc = op;
    warp->state = WarpState::yielded;
    return nullptr;
  }
  turns = 0;
  TW_NEXT;
}

// bar.red: the predicate is added up before the threads arrive; the next Op reads the outcome.
const Op* barrier_red(TW_HANDLER_ARGS) {
  const auto& o = *static_cast<const MachineOperands*>(op->extra);
  uint32_t lane = uint32_t(__builtin_ctz(warp->active));
  uint32_t id = scalar_or_lane(op, frame, op->a, kUniformA, lane) & (kBarriers - 1);
  uint32_t p = *reinterpret_cast<const uint32_t*>(frame + o.s[2]);
  warp->cta->contribute(id, uint32_t(__builtin_popcount(p & warp->active)),
                        uint32_t(__builtin_popcount(~p & warp->active)));
  return barrier_sync(op, frame, warp);
}

const Op* barrier_red_result(TW_HANDLER_ARGS) {
  const auto& o = *static_cast<const MachineOperands*>(op->extra);
  uint32_t lane = uint32_t(__builtin_ctz(warp->active));
  uint32_t id = scalar_or_lane(op, frame, o.s[0], kUniformA, lane) & (kBarriers - 1);
  const Barrier& b = warp->cta->barriers[id];
  uint8_t operation = o.mods[isa::Field::operation];
  if (operation == isa::kOpAnd || operation == isa::kOpOr) {
    bool value = operation == isa::kOpAnd ? b.last_zeros == 0 : b.last_ones != 0;
    uint32_t* d = reinterpret_cast<uint32_t*>(frame + o.d[0]);
    *d = (*d & ~warp->active) | (value ? warp->active : 0);
  } else {
    uint32_t* d = reinterpret_cast<uint32_t*>(frame + o.d[0]);
    for (uint32_t l = 0; l < kLanes; ++l)
      if ((warp->active >> l) & 1) d[l] = b.last_ones;
  }
  TW_NEXT;
}

const Op* fence(TW_HANDLER_ARGS) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  TW_NEXT;
}

const Op* trap(TW_HANDLER_ARGS) {
  (void)frame;
  SitePlace place = place_of(warp->cta->program, op->site);
  Fault& f = warp->worker->fault;
  f.kind = FaultKind::trap;
  f.message = "the kernel executed 'trap'";
  f.file = place.file, f.line = place.line, f.instruction = place.text;
  f.block = warp->cta->index;
  warp->pc = op;
  warp->state = WarpState::faulted;
  return nullptr;
}

// A hint that others should run: the warp yields at once.
const Op* nanosleep_hint(TW_HANDLER_ARGS) {
  (void)frame;
  warp->pc = op + 1;
  warp->state = WarpState::yielded;
  return nullptr;
}

uint64_t nanoseconds() {
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::steady_clock::now().time_since_epoch())
                      .count());
}

// The same for all lanes; but their registers differ where some of them read it later than others.
template <class T, bool kUniform> const Op* read_clock(TW_HANDLER_ARGS) {
  T* to = reinterpret_cast<T*>(frame + op->d);
  const T value = T(nanoseconds());
  if (kUniform)
    *to = value;
  else
    for (uint32_t left = warp->active; left != 0; left &= left - 1) to[__builtin_ctz(left)] = value;
  TW_NEXT;
}

const Op* skip_unless(TW_HANDLER_ARGS) {
  uint32_t p = *reinterpret_cast<const uint32_t*>(frame + op->a);
  if (op->flags & kNegated) p = ~p;
  uint32_t lanes = p & warp->active;
  if (lanes == 0) TW_GO(op + op->imm);
  warp->saved_mask = warp->active;
  warp->active = lanes;
  TW_NEXT;
}

const Op* restore_mask(TW_HANDLER_ARGS) {
  warp->active = warp->saved_mask;
  TW_NEXT;
}

}  // namespace

Handler builtin_handler(Builtin builtin, bool, bool uniform) {
  switch (builtin) {
    case Builtin::barrier_sync: return barrier_sync;
    case Builtin::warp_sync: return warp_sync;
    case Builtin::fence: return fence;
    case Builtin::trap: return trap;
    case Builtin::clock32:
      return uniform ? read_clock<uint32_t, true> : read_clock<uint32_t, false>;
    case Builtin::clock64:
    case Builtin::global_timer:
      return uniform ? read_clock<uint64_t, true> : read_clock<uint64_t, false>;
    case Builtin::skip_unless: return skip_unless;
    case Builtin::restore_mask: return restore_mask;
    case Builtin::barrier_arrive: return barrier_arrive;
    case Builtin::barrier_red: return barrier_red;
    case Builtin::cluster_arrive: return cluster_arrive;
    case Builtin::cluster_wait: return cluster_wait;
    case Builtin::wgmma_commit: return wgmma_commit;
    case Builtin::wgmma_wait: return wgmma_wait;
    case Builtin::barrier_red_result: return barrier_red_result;
    case Builtin::nanosleep: return nanosleep_hint;
    case Builtin::atomic: return nullptr;  // by operation and type: atomic_handler
    case Builtin::shuffle:
    case Builtin::vote:
    case Builtin::match:
    case Builtin::redux:
    case Builtin::active_mask:
    case Builtin::elect:
    case Builtin::is_space:
    case Builtin::matrix_move:
    case Builtin::matrix_multiply: return warp_handler(builtin);
    case Builtin::mbarrier_init:
    case Builtin::mbarrier_inval:
    case Builtin::mbarrier_arrive:
    case Builtin::mbarrier_arrive_drop:
    case Builtin::mbarrier_expect_tx:
    case Builtin::mbarrier_complete_tx:
    case Builtin::mbarrier_wait:
    case Builtin::mbarrier_pending: return mbarrier_handler(builtin);
    case Builtin::bulk_copy: return bulk_handler();
    case Builtin::async_commit:
    case Builtin::async_wait:
    case Builtin::bulk_commit:
    case Builtin::bulk_wait:
    case Builtin::proxy_fence: return observe_async_handler(builtin);
    case Builtin::call_printf:
    case Builtin::call_assertfail:
    case Builtin::call_malloc:
    case Builtin::call_free: return system_call_handler(builtin);
    case Builtin::count: break;
  }
  return nullptr;
}

Handler jump_handler(bool backward) { return backward ? jump<true> : jump<false>; }

namespace {
template <bool kBackward> Handler branch_of(bool full, bool uniform, bool negated) {
  if (uniform) return negated ? branch_uniform<kBackward, true> : branch_uniform<kBackward, false>;
  if (full)
    return negated ? branch_lanes<true, kBackward, true> : branch_lanes<true, kBackward, false>;
  return negated ? branch_lanes<false, kBackward, true> : branch_lanes<false, kBackward, false>;
}
}  // namespace

Handler branch_handler(bool full, bool uniform, bool negated) {
  return branch_of<false>(full, uniform, negated);
}
Handler backward_branch_handler(bool full, bool uniform, bool negated) {
  return branch_of<true>(full, uniform, negated);
}
Handler exit_handler(bool, bool guarded, bool, bool negated) {
  return !guarded ? exit_all : negated ? exit_some<true> : exit_some<false>;
}
Handler join_handler() { return join; }
Handler end_handler() { return end; }

}  // namespace tw::emu
