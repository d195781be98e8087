// mbarrier: a 64-bit object in shared memory that counts arrivals (and bytes of asynchronous
// copies) of a phase. The manual leaves its layout open; ours:
//   bits  0-19  arrivals expected in each phase        bits 20-39  arrivals still missing
//   bits 40-61  bytes still missing (offset by 2^21)   bit  62     initialised       bit 63  phase
// The state that mbarrier.arrive returns is the object as it was before.
//
// Lanes of a warp act in lane order. Misuse (not initialised, more arrivals than expected) is a
// trap, as on the hardware the behaviour is undefined.
#include <fmt/format.h>

#include <cstring>

#include "emu/cta.h"
#include "emu/machine_handlers.h"

namespace tw::emu {
namespace {

using isa::Field;

constexpr uint64_t kCountMask = (1u << 20) - 1;
constexpr int64_t kBytesBias = int64_t{1} << 21;
constexpr int64_t kMostBytes = (int64_t{1} << 20) - 1;  // of the manual; the field holds more
constexpr const char* kTooManyBytes = "more bytes pending than the object counts (2^20-1)";

struct State {
  uint32_t expected = 0, missing = 0;
  int64_t bytes = 0;
  bool live = false, phase = false;

  static State unpack(uint64_t w) {
    return {uint32_t(w & kCountMask), uint32_t((w >> 20) & kCountMask),
            int64_t((w >> 40) & ((1u << 22) - 1)) - kBytesBias, ((w >> 62) & 1) != 0,
            (w >> 63) != 0};
  }
  uint64_t pack() const {
    return expected | uint64_t(missing) << 20 |
           uint64_t((bytes + kBytesBias) & ((1 << 22) - 1)) << 40 | uint64_t(live) << 62 |
           uint64_t(phase) << 63;
  }
  bool too_many_bytes() const { return bytes > kMostBytes || bytes < -kMostBytes; }
  void complete_if_due() {
    if (missing != 0 || bytes != 0) return;
    phase = !phase;
    missing = expected;
  }
};

const Op* misuse(const Op* op, Warp* warp, uint32_t lane, const char* what) {
  return lane_fault(op, warp, lane, FaultKind::trap, fmt::format("mbarrier misuse: {}", what));
}

template <class T> T value(const MachineOperands& o, const char* frame, uint32_t i, uint32_t lane) {
  return reinterpret_cast<const T*>(frame + o.s[i])[(o.uniform >> i) & 1 ? 0 : lane];
}

// Calls body(lane, word) for each active lane; body returns an error text or nullptr.
template <class F> TW_INLINE const Op* each_lane(TW_HANDLER_ARGS, F body) {
  const auto& o = *static_cast<const MachineOperands*>(op->extra);
  for (uint32_t left = warp->active; left != 0; left &= left - 1) {
    uint32_t lane = uint32_t(__builtin_ctz(left));
    uint32_t address = value<uint32_t>(o, frame, 0, lane) + uint32_t(op->imm);
    uint8_t* const at = (address & 7) == 0 ? shared_pointer(warp, address, 8) : nullptr;
    if (at == nullptr) {
      MemoryKey key;
      key.store = key.masked = true;
      key.space = AccessSpace::shared;
      key.element = Element::b64;
      key.form = o.uniform & 1 ? AddressForm::uniform : AddressForm::lanes;
      return access_fault(op, frame, warp, key);
    }
    if (const char* error = body(o, lane, reinterpret_cast<uint64_t*>(at)))
      return misuse(op, warp, lane, error);
  }
  TW_NEXT;
}

const Op* init(TW_HANDLER_ARGS) {
  return each_lane(op, frame, warp,
                   [frame](const MachineOperands& o, uint32_t lane, uint64_t* word) -> const char* {
                     uint32_t count = value<uint32_t>(o, frame, 1, lane);
                     if (count == 0 || count > kCountMask)
                       return "the count of mbarrier.init must be from 1 to 2^20-1";
                     *word = State{count, count, 0, true, false}.pack();
                     return nullptr;
                   });
}

const Op* inval(TW_HANDLER_ARGS) {
  return each_lane(op, frame, warp,
                   [](const MachineOperands&, uint32_t, uint64_t* word) -> const char* {
                     if (!State::unpack(*word).live)
                       return "mbarrier.inval of an object that is not initialised";
                     *word = 0;
                     return nullptr;
                   });
}

template <bool kDrop> const Op* arrive(TW_HANDLER_ARGS) {
  return each_lane(op, frame, warp,
                   [frame](const MachineOperands& o, uint32_t lane, uint64_t* word) -> const char* {
                     State s = State::unpack(*word);
                     if (!s.live) return "arrival at an object that is not initialised";
                     bool expect = o.mods[Field::to] != 0;
                     uint32_t count =
                         o.sources > 1 && !expect ? value<uint32_t>(o, frame, 1, lane) : 1;
                     if (expect) s.bytes += value<uint32_t>(o, frame, 1, lane);
                     if (s.too_many_bytes()) return kTooManyBytes;
                     if (count > s.missing) return "more arrivals than the phase expects";
                     reinterpret_cast<uint64_t*>(frame + o.d[0])[lane] = *word;
                     s.missing -= count;
                     if (kDrop) s.expected -= std::min(s.expected, count);
                     s.complete_if_due();
                     *word = s.pack();
                     return nullptr;
                   });
}

template <int kSign> const Op* transaction(TW_HANDLER_ARGS) {
  return each_lane(op, frame, warp,
                   [frame](const MachineOperands& o, uint32_t lane, uint64_t* word) -> const char* {
                     State s = State::unpack(*word);
                     if (!s.live) return "transaction on an object that is not initialised";
                     s.bytes += kSign * int64_t(value<uint32_t>(o, frame, 1, lane));
                     if (s.too_many_bytes()) return kTooManyBytes;
                     if (kSign < 0) s.complete_if_due();
                     *word = s.pack();
                     return nullptr;
                   });
}

// Done when the phase named by the state (or parity) has passed. When it has not, there is no use
// in trying again before other warps have run: the warp gives back most of its fuel, all but an
// eighth, which the wait has cost (Cta::note_yield).
const Op* wait(TW_HANDLER_ARGS) {
  return each_lane(
      op, frame, warp,
      [op, frame, warp](const MachineOperands& o, uint32_t lane, uint64_t* word) -> const char* {
        State s = State::unpack(*word);
        if (!s.live) return "wait for an object that is not initialised";
        bool waited = o.mods[Field::part] != 0
                          ? (value<uint32_t>(o, frame, 1, lane) & 1) != 0
                          : State::unpack(value<uint64_t>(o, frame, 1, lane)).phase;
        uint32_t* d = reinterpret_cast<uint32_t*>(frame + o.d[0]);
        *d = (*d & ~(1u << lane)) | uint32_t(s.phase != waited) << lane;
        if (s.phase == waited) warp->cta->notes[warp->index].failed_wait = op->site;
        if (s.phase == waited && warp->fuel > 1)
          warp->fuel_given -= warp->fuel - 1 - warp->fuel / 8, warp->fuel = 1;
        return nullptr;
      });
}

const Op* pending(TW_HANDLER_ARGS) {
  const auto& o = *static_cast<const MachineOperands*>(op->extra);
  for (uint32_t left = warp->active; left != 0; left &= left - 1) {
    uint32_t lane = uint32_t(__builtin_ctz(left));
    reinterpret_cast<uint32_t*>(frame + o.d[0])[lane] =
        State::unpack(value<uint64_t>(o, frame, 0, lane)).missing;
  }
  TW_NEXT;
}

}  // namespace

Handler mbarrier_handler(Builtin builtin) {
  switch (builtin) {
    case Builtin::mbarrier_init: return init;
    case Builtin::mbarrier_inval: return inval;
    case Builtin::mbarrier_arrive: return arrive<false>;
    case Builtin::mbarrier_arrive_drop: return arrive<true>;
    case Builtin::mbarrier_expect_tx: return transaction<1>;
    case Builtin::mbarrier_complete_tx: return transaction<-1>;
    case Builtin::mbarrier_wait: return wait;
    case Builtin::mbarrier_pending: return pending;
    default: return nullptr;
  }
}

}  // namespace tw::emu
