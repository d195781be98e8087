#include "emu/observe_handlers.h"

#include <cstring>

#include "emu/cta.h"
#include "emu/machine_handlers.h"

namespace tw::emu {

namespace {

uint32_t element_bytes(Element e) {
  return e == Element::b64 ? 8 : e == Element::b32 ? 4 : e == Element::b16 ? 2 : 1;
}

uint32_t value_slot(const Op& op, uint32_t element) {
  return element == 0 ? op.d : element == 1 ? op.b : element == 2 ? op.c : op.e;
}

// Slots are 2 bytes wide for 8- and 16-bit elements.
uint32_t slot_bytes(Element e) { return e == Element::b64 ? 8 : e == Element::b32 ? 4 : 2; }

inline void leave_vector_code() {
#if defined(__x86_64__)
  static const bool avx = __builtin_cpu_supports("avx");
  if (avx) clear_upper_halves();
#endif
}

// The Access lives in a function of its own: a handler with an object whose address has left it
// cannot end in a tail call.
[[gnu::noinline]] uint32_t ask(const Op* op, const char* frame, Warp* warp) {
  leave_vector_code();
  const Access access{
      *static_cast<const AccessSite*>(op->extra), *warp->cta, *warp, warp->active, *op, frame};
  return warp->cta->observer->access(access);
}

// The lanes left to an access that the observer has cut, one by one; loads give 0 to the others.
[[gnu::noinline]] const Op* partial(const Op* observe, char* frame, Warp* warp, uint32_t kept) {
  const Access a{*static_cast<const AccessSite*>(observe->extra),
                 *warp->cta,
                 *warp,
                 warp->active,
                 *observe,
                 frame};
  const Op* memory = observe + 1;
  const AccessSite& s = a.site;
  const uint32_t bytes = element_bytes(s.element), slot = slot_bytes(s.element);
  const bool load = s.kind == AccessKind::read;
  for (uint32_t left = load ? a.lanes : kept; left != 0; left &= left - 1) {
    const uint32_t lane = uint32_t(__builtin_ctz(left));
    uint8_t* at = nullptr;
    if ((kept >> lane) & 1) {
      at = lane_pointer(warp, s.space, a.address(lane), s.bytes, lane);
      if (at == nullptr) {
        MemoryKey key{
            !load,     true,      s.value_uniform,
            s.space,   s.element, s.address_uniform ? AddressForm::uniform : AddressForm::lanes,
            s.elements};
        return access_fault(memory, frame, warp, key);
      }
    }
    const uint32_t index = s.value_uniform ? 0 : lane;
    for (uint32_t j = 0; j < s.elements; ++j) {
      char* value = frame + value_slot(*memory, j) + slot * index;
      if (!load) {
        std::memcpy(at + j * bytes, value, bytes);
        continue;
      }
      uint64_t loaded = 0;
      if (at != nullptr) std::memcpy(&loaded, at + j * bytes, bytes);
      if (s.element == Element::s8) loaded = uint64_t(int64_t(int8_t(loaded)));
      std::memcpy(value, &loaded, slot);
    }
  }
  return memory + 1;
}

template <AccessKind kKind> const Op* observe_access(TW_HANDLER_ARGS) {
  const uint32_t lanes = warp->active;
  const uint32_t kept = ask(op, frame, warp);
  if constexpr (kKind == AccessKind::atomic) {
    warp->observed_mask = lanes;
    if (kept == 0) TW_GO(op + 3);  // over the atomic and what puts the lanes back
    warp->active = kept;
    TW_NEXT;
  } else {
    if (kept == lanes) [[likely]]
      TW_NEXT;
    const Op* to = partial(op, frame, warp, kept);
    if (to == nullptr) return nullptr;
    TW_GO(to);
  }
}

const Op* observe_end(TW_HANDLER_ARGS) {
  warp->active = warp->observed_mask;
  TW_NEXT;
}

uint32_t scalar_or_lane(const Op* op, const char* frame, uint32_t offset, uint32_t flag,
                        uint32_t lane) {
  return reinterpret_cast<const uint32_t*>(frame + offset)[(op->flags & flag) ? 0 : lane];
}

template <bool kWaits> const Op* observe_barrier(TW_HANDLER_ARGS) {
  leave_vector_code();
  const uint32_t lane = uint32_t(__builtin_ctz(warp->active));
  const uint32_t id = scalar_or_lane(op, frame, op->a, kUniformA, lane) & (kBarriers - 1);
  warp->cta->observer->barrier_arrive(*warp->cta, *warp, op->site, id,
                                      scalar_or_lane(op, frame, op->b, kUniformB, lane),
                                      warp->active, kWaits);
  TW_NEXT;
}

const Op* observe_cluster_arrive(TW_HANDLER_ARGS) {
  leave_vector_code();
  warp->cta->observer->cluster_arrive(*warp->cta, *warp, op->site, warp->active, op->d != 0);
  TW_NEXT;
}

template <bool kPassed> const Op* observe_cluster_wait(TW_HANDLER_ARGS) {
  leave_vector_code();
  warp->cta->observer->cluster_wait(*warp->cta, *warp, op->site, warp->active, kPassed);
  TW_NEXT;
}

template <bool kWaits> const Op* observe_wgmma(TW_HANDLER_ARGS) {
  leave_vector_code();
  Observer& observer = *warp->cta->observer;
  if constexpr (kWaits)
    observer.wgmma_wait(*warp->cta, *warp, warp->active, uint32_t(op->imm));
  else
    observer.wgmma_commit(*warp->cta, *warp, warp->active);
  TW_NEXT;
}

// Lanes of one warp may name different sets: each set is told of its own.
template <bool kSync> const Op* observe_members(TW_HANDLER_ARGS) {
  leave_vector_code();
  for (uint32_t left = warp->active; left != 0;) {
    const uint32_t members =
        scalar_or_lane(op, frame, op->a, kUniformA, uint32_t(__builtin_ctz(left)));
    uint32_t set = left;
    if (!(op->flags & kUniformA))
      for (uint32_t rest = left; rest != 0; rest &= rest - 1)
        if (scalar_or_lane(op, frame, op->a, kUniformA, uint32_t(__builtin_ctz(rest))) != members)
          set &= ~(rest & -rest);
    if constexpr (kSync)
      warp->cta->observer->warp_sync(*warp->cta, *warp, op->site, members, set);
    else
      warp->cta->observer->converge(*warp->cta, *warp, op->site, members, set);
    left &= ~set;
  }
  TW_NEXT;
}

// The arrays live in functions of their own (see `ask`).
[[gnu::noinline]] void tell_shuffle(const Op* op, const char* frame, Warp* warp) {
  leave_vector_code();
  const MachineOperands& o = *static_cast<const MachineOperands*>(op->extra);
  auto operand = [&](uint32_t i, uint32_t lane) {
    return reinterpret_cast<const uint32_t*>(frame + o.s[i])[(o.uniform >> i) & 1 ? 0 : lane];
  };
  uint32_t members[kLanes];
  uint8_t source[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) {
    bool in_range = false;
    source[l] = uint8_t(
        shuffle_source(o.mods[isa::Field::operation], l, operand(1, l), operand(2, l), in_range));
    members[l] = operand(o.sources - 1u, l);
  }
  warp->cta->observer->shuffle(*warp->cta, *warp, op->site, members, warp->active, source);
}

const Op* observe_shuffle(TW_HANDLER_ARGS) {
  tell_shuffle(op, frame, warp);
  TW_NEXT;
}

[[gnu::noinline]] void tell_mbarrier(const Op* op, const char* frame, Warp* warp,
                                     MbarrierAction action) {
  leave_vector_code();
  uint32_t lanes = warp->active, offsets[kLanes];
  if (action == MbarrierAction::passed) lanes &= *reinterpret_cast<const uint32_t*>(frame + op->d);
  if (lanes == 0) return;
  for (uint32_t l = 0; l < kLanes; ++l)
    offsets[l] = scalar_or_lane(op, frame, op->a, kUniformA, l) + uint32_t(op->imm);
  warp->cta->observer->mbarrier(*warp->cta, *warp, op->site, action, lanes, offsets);
}

template <MbarrierAction kAction> const Op* observe_mbarrier(TW_HANDLER_ARGS) {
  tell_mbarrier(op, frame, warp, kAction);
  TW_NEXT;
}

const Op* observe_fence(TW_HANDLER_ARGS) {
  leave_vector_code();
  warp->cta->observer->fence(*warp->cta, *warp, op->site, uint8_t(op->d), uint8_t(op->e),
                             warp->active);
  TW_NEXT;
}

template <bool kGuarded> const Op* observe_exit(TW_HANDLER_ARGS) {
  uint32_t lanes = warp->active;
  if constexpr (kGuarded) {
    uint32_t p = *reinterpret_cast<const uint32_t*>(frame + op->a);
    lanes &= (op->flags & kNegated) ? ~p : p;
  }
  leave_vector_code();
  if (lanes != 0) warp->cta->observer->exit(*warp->cta, *warp, op->site, lanes);
  TW_NEXT;
}

const Op* observe_row(TW_HANDLER_ARGS) {
  leave_vector_code();
  warp->cta->observer->access_row(*static_cast<const AccessRow*>(op->extra),
                                  reinterpret_cast<const uint32_t*>(frame + op->a));
  TW_NEXT;
}

template <Builtin kEvent> const Op* observe_async(TW_HANDLER_ARGS) {
  leave_vector_code();
  Observer& observer = *warp->cta->observer;
  Cta& cta = *warp->cta;
  const uint32_t keep = uint32_t(op->imm);
  switch (kEvent) {
    case Builtin::async_commit: observer.async_commit(cta, *warp, warp->active); break;
    case Builtin::async_wait: observer.async_wait(cta, *warp, warp->active, keep); break;
    case Builtin::bulk_commit: observer.bulk_commit(cta, *warp, warp->active); break;
    case Builtin::bulk_wait: observer.bulk_wait(cta, *warp, warp->active, keep); break;
    default: observer.proxy_fence(cta, *warp, warp->active); break;
  }
  TW_NEXT;
}

const Op* count_block(TW_HANDLER_ARGS) {
  BlockTally& t = warp->worker->block_tallies[op->imm];
  ++t.warps;
  if (warp->active != kFullMask) [[unlikely]]
    t.inactive += kLanes - count_lanes(warp->active);
  TW_NEXT;
}

}  // namespace

uint64_t Access::value(uint32_t element, uint32_t lane) const {
  const uint32_t bytes = element_bytes(site.element);
  const uint32_t index = site.value_uniform ? 0 : lane;
  uint64_t v = 0;
  std::memcpy(&v, frame + value_slot(op, element) + slot_bytes(site.element) * index, bytes);
  return v;
}

const Op* observe_read(TW_HANDLER_ARGS) {
  return observe_access<AccessKind::read>(op, frame, warp);
}
const Op* observe_write(TW_HANDLER_ARGS) {
  return observe_access<AccessKind::write>(op, frame, warp);
}

Handler observe_access_handler(AccessKind kind) {
  return kind == AccessKind::read    ? observe_access<AccessKind::read>
         : kind == AccessKind::write ? observe_access<AccessKind::write>
                                     : observe_access<AccessKind::atomic>;
}
Handler observe_end_handler() { return observe_end; }
Handler observe_barrier_handler(bool waits) {
  return waits ? observe_barrier<true> : observe_barrier<false>;
}
Handler observe_cluster_arrive_handler() { return observe_cluster_arrive; }
Handler observe_cluster_wait_handler(bool passed) {
  return passed ? observe_cluster_wait<true> : observe_cluster_wait<false>;
}
Handler observe_wgmma_handler(bool waits) {
  return waits ? observe_wgmma<true> : observe_wgmma<false>;
}
Handler observe_warp_sync_handler() { return observe_members<true>; }
Handler observe_converge_handler() { return observe_members<false>; }
Handler observe_shuffle_handler() { return observe_shuffle; }
MbarrierAction action_of(Builtin builtin, bool async) {
  switch (builtin) {
    case Builtin::mbarrier_init: return MbarrierAction::init;
    case Builtin::mbarrier_inval: return MbarrierAction::invalidate;
    case Builtin::mbarrier_arrive:
    case Builtin::mbarrier_arrive_drop:
      return async ? MbarrierAction::copies : MbarrierAction::arrive;
    default: return async ? MbarrierAction::bulk : MbarrierAction::transaction;
  }
}
Handler observe_mbarrier_handler(MbarrierAction action) {
  switch (action) {
    case MbarrierAction::init: return observe_mbarrier<MbarrierAction::init>;
    case MbarrierAction::invalidate: return observe_mbarrier<MbarrierAction::invalidate>;
    case MbarrierAction::arrive: return observe_mbarrier<MbarrierAction::arrive>;
    case MbarrierAction::copies: return observe_mbarrier<MbarrierAction::copies>;
    case MbarrierAction::bulk: return observe_mbarrier<MbarrierAction::bulk>;
    case MbarrierAction::transaction: return observe_mbarrier<MbarrierAction::transaction>;
    default: return observe_mbarrier<MbarrierAction::passed>;
  }
}
Handler observe_fence_handler() { return observe_fence; }
Handler observe_exit_handler(bool guarded) {
  return guarded ? observe_exit<true> : observe_exit<false>;
}
Handler observe_row_handler() { return observe_row; }
Handler observe_async_handler(Builtin event) {
  switch (event) {
    case Builtin::async_commit: return observe_async<Builtin::async_commit>;
    case Builtin::async_wait: return observe_async<Builtin::async_wait>;
    case Builtin::bulk_commit: return observe_async<Builtin::bulk_commit>;
    case Builtin::bulk_wait: return observe_async<Builtin::bulk_wait>;
    default: return observe_async<Builtin::proxy_fence>;
  }
}
Handler count_block_handler() { return count_block; }

}  // namespace tw::emu
