// atom and red. Lanes go one after the other in lane order, so a warp's own atomics have one
// outcome. Kernels whose results can depend on the order of CTAs run them one at a time
// (LaunchState::exclusive) and need no host atomics; the others (integer sums without a result,
// ...) use them.
#include <bit>
#include <cmath>
#include <mutex>

#include "emu/cta.h"
#include "emu/machine_handlers.h"
#include "emu/windows.h"
#include "isa/half.h"

namespace tw::emu {
namespace {

using ptx::Type;

// A 16-bit float in memory, and two of them in one word, each added for itself.
template <class Format> struct Small {
  uint16_t bits = 0;
};
template <class Format> struct Pair {
  uint32_t bits = 0;
};

template <class T> T sum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return isa::canonical(a + b);
  else
    return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
}
template <class Format> uint32_t sum_bits(uint32_t a, uint32_t b) {
  return isa::narrow<Format>(isa::widen(Format{a & 0xffff}) + isa::widen(Format{b & 0xffff})).bits;
}
template <class Format> Small<Format> sum(Small<Format> a, Small<Format> b) {
  return {uint16_t(sum_bits<Format>(a.bits, b.bits))};
}
template <class Format> Pair<Format> sum(Pair<Format> a, Pair<Format> b) {
  return {sum_bits<Format>(a.bits, b.bits) | sum_bits<Format>(a.bits >> 16, b.bits >> 16) << 16};
}

// min and max of 16-bit floats: a NaN gives way to a number, and -0 lies below +0.
template <class Format> uint32_t extreme_bits(bool least, uint32_t a, uint32_t b) {
  const float x = isa::widen(Format{a & 0xffff}), y = isa::widen(Format{b & 0xffff});
  if (x != x && y != y) return 0x7fff;
  if (x != x || y != y) return x != x ? b & 0xffff : a & 0xffff;
  const bool a_less = x < y || (x == y && std::signbit(x));
  return (a_less == least ? a : b) & 0xffff;
}
template <class Format> Small<Format> extreme(bool least, Small<Format> a, Small<Format> b) {
  return {uint16_t(extreme_bits<Format>(least, a.bits, b.bits))};
}
template <class Format> Pair<Format> extreme(bool least, Pair<Format> a, Pair<Format> b) {
  return {extreme_bits<Format>(least, a.bits, b.bits) |
          extreme_bits<Format>(least, a.bits >> 16, b.bits >> 16) << 16};
}
template <class T> T extreme(bool least, T a, T b) { return (b < a) == least ? b : a; }

template <uint8_t kOperation, class T> T combined(T old, T b, T c) {
  if constexpr (kOperation == isa::kOpAdd)
    return sum(old, b);
  else if constexpr (kOperation == isa::kOpMin)
    return extreme(true, old, b);
  else if constexpr (kOperation == isa::kOpMax)
    return extreme(false, old, b);
  else if constexpr (kOperation == isa::kOpAnd)
    return old & b;
  else if constexpr (kOperation == isa::kOpOr)
    return old | b;
  else if constexpr (kOperation == isa::kOpXor)
    return old ^ b;
  else if constexpr (kOperation == isa::kOpExch)
    return b;
  else if constexpr (kOperation == isa::kOpCas)
    return old == b ? c : old;
  else if constexpr (kOperation == isa::kOpInc)
    return old >= b ? T(0) : T(old + 1);
  else
    return old == 0 || old > b ? b : T(old - 1);  // dec
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, uint64_t,
                                std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;

// The host's address of a lane's operand; nullptr where it is misaligned or out of bounds.
struct AtomicPlace {
  bool narrow, one_address;
  uint64_t address(const Op* op, const char* frame, uint32_t lane) const {
    const uint32_t slot = one_address ? 0 : lane;
    return narrow ? uint64_t(uint32_t(reinterpret_cast<const uint32_t*>(frame + op->a)[slot] +
                                      uint32_t(op->imm)))
                  : reinterpret_cast<const uint64_t*>(frame + op->a)[slot] + uint64_t(op->imm);
  }
};
template <uint32_t kBytes>
uint8_t* atomic_operand(const Op* op, Warp* warp, const MachineOperands& o, bool narrow,
                        uint64_t address, uint32_t lane) {
  SiteCache& cache = warp->sites[op->site];
  if ((address & (kBytes - 1)) != 0) return nullptr;
  if (o.space == AccessSpace::shared)
    return address + kBytes <= warp->shared_bytes ? warp->shared + address : nullptr;
  if (!narrow && address - cache.low <= cache.span)
    return reinterpret_cast<uint8_t*>(address + uint64_t(cache.bias));
  if (narrow || in_shared_window(address) || in_local_window(address))
    return lane_pointer(warp, o.space, address, kBytes, lane);
  return locate(warp, op->site, address, kBytes)
             ? reinterpret_cast<uint8_t*>(address + uint64_t(cache.bias))
             : nullptr;
}
const Op* atomic_fault(const Op* op, char* frame, Warp* warp, const MachineOperands& o,
                       Element element, uint8_t elements = 1) {
  MemoryKey key;
  key.store = key.masked = true;
  key.space = o.space;
  key.element = element;
  key.elements = elements;
  key.form = o.uniform & 1 ? AddressForm::uniform : AddressForm::lanes;
  return access_fault(op, frame, warp, key);
}

template <uint8_t kOperation, class T> struct Atomic {
  static constexpr Element kElement = sizeof(T) == 8   ? Element::b64
                                      : sizeof(T) == 4 ? Element::b32
                                                       : Element::b16;

  // In global memory, f32 sums take and give no subnormals.
  template <bool kFlush> static T next(T old, T b, T c) {
    if constexpr (kFlush) return isa::flush(sum(isa::flush(old), isa::flush(b)));
    return combined<kOperation, T>(old, b, c);
  }
  static T read_modify_write(uint8_t* at, T b, T c, bool exclusive, bool global) {
    if constexpr (std::is_same_v<T, float>)
      if (global) return read_modify_write<true>(at, b, c, exclusive);
    return read_modify_write<false>(at, b, c, exclusive);
  }

  template <bool kFlush> static T read_modify_write(uint8_t* at, T b, T c, bool exclusive) {
    auto* word = reinterpret_cast<Bits<T>*>(at);
    if (exclusive) {
      T old = std::bit_cast<T>(*word);
      *word = std::bit_cast<Bits<T>>(next<kFlush>(old, b, c));
      return old;
    }
    Bits<T> seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    for (;;) {
      T old = std::bit_cast<T>(seen);
      if (__atomic_compare_exchange_n(word, &seen, std::bit_cast<Bits<T>>(next<kFlush>(old, b, c)),
                                      true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return old;
    }
  }

  static const Op* run(TW_HANDLER_ARGS) {
    const auto& o = *static_cast<const MachineOperands*>(op->extra);
    const bool narrow = o.space == AccessSpace::shared || o.space == AccessSpace::local;
    const AtomicPlace place{narrow, (o.uniform & 1) != 0};
    // The host's atomics on shared memory go on beside a launch whose CTAs run one at a time.
    const bool exclusive =
        narrow || (warp->cta->state.exclusive && o.mods[isa::Field::scope] != isa::kScopeSys);
    for (uint32_t left = warp->active; left != 0; left &= left - 1) {
      const auto lane = uint32_t(__builtin_ctz(left));
      const uint64_t address = place.address(op, frame, lane);
      uint8_t* at = atomic_operand<sizeof(T)>(op, warp, o, narrow, address, lane);
      if (at == nullptr) return atomic_fault(op, frame, warp, o, kElement);
      auto value = [&](uint32_t i) {
        return std::bit_cast<T>(
            reinterpret_cast<const Bits<T>*>(frame + o.s[i])[(o.uniform >> i) & 1 ? 0 : lane]);
      };
      const bool global = !narrow && !in_shared_window(address) && !in_local_window(address);
      T old = read_modify_write(at, value(1), o.sources > 2 ? value(2) : T{}, exclusive, global);
      if (o.d[0] != kNoSlot)
        reinterpret_cast<Bits<T>*>(frame + o.d[0])[lane] = std::bit_cast<Bits<T>>(old);
    }
    TW_NEXT;
  }
};

// Sixteen bytes, exchanged or compared and exchanged. Sources: the address, and each value as two halves.
struct Wide {
  uint64_t low, high;
  bool operator==(const Wide&) const = default;
};
// *at == expected ? *at = next : expected = *at, as one access.
bool exchange_wide(Wide* at, Wide& expected, Wide next) {
#if defined(__x86_64__)
  bool equal;
  asm volatile("lock cmpxchg16b %1"
               : "=@ccz"(equal), "+m"(*at), "+a"(expected.low), "+d"(expected.high)
               : "b"(next.low), "c"(next.high)
               : "memory");
  return equal;
#else
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (*at == expected) {
    *at = next;
    return true;
  }
  expected = *at;
  return false;
#endif
}
template <uint8_t kOperation> struct AtomicWide {
  static const Op* run(TW_HANDLER_ARGS) {
    const auto& o = *static_cast<const MachineOperands*>(op->extra);
    const bool narrow = o.space == AccessSpace::shared || o.space == AccessSpace::local;
    const AtomicPlace place{narrow, (o.uniform & 1) != 0};
    for (uint32_t left = warp->active; left != 0; left &= left - 1) {
      const auto lane = uint32_t(__builtin_ctz(left));
      const uint64_t address = place.address(op, frame, lane);
      uint8_t* at = atomic_operand<16>(op, warp, o, narrow, address, lane);
      // What the host has placed elsewhere (registered memory) may not be aligned as the address is.
      if (at == nullptr || (reinterpret_cast<uint64_t>(at) & 15) != 0)
        return atomic_fault(op, frame, warp, o, Element::b64, 2);
      auto word = [&](uint32_t i) {
        return reinterpret_cast<const uint64_t*>(frame + o.s[i])[(o.uniform >> i) & 1 ? 0 : lane];
      };
      const Wide given{word(1), word(2)};
      auto* memory = reinterpret_cast<Wide*>(at);
      Wide old = kOperation == isa::kOpCas ? given : *memory;
      if constexpr (kOperation == isa::kOpCas) {
        exchange_wide(memory, old, {word(3), word(4)});
      } else {
        while (!exchange_wide(memory, old, given)) {
        }
      }
      for (uint32_t half = 0; half < 2; ++half)
        if (o.d[half] != kNoSlot)
          reinterpret_cast<uint64_t*>(frame + o.d[half])[lane] = half == 0 ? old.low : old.high;
    }
    TW_NEXT;
  }
};

template <class T> Handler integer_handler(uint8_t operation) {
  switch (operation) {
    case isa::kOpAdd: return Atomic<isa::kOpAdd, T>::run;
    case isa::kOpMin: return Atomic<isa::kOpMin, T>::run;
    case isa::kOpMax: return Atomic<isa::kOpMax, T>::run;
    case isa::kOpAnd: return Atomic<isa::kOpAnd, T>::run;
    case isa::kOpOr: return Atomic<isa::kOpOr, T>::run;
    case isa::kOpXor: return Atomic<isa::kOpXor, T>::run;
    case isa::kOpExch: return Atomic<isa::kOpExch, T>::run;
    case isa::kOpCas: return Atomic<isa::kOpCas, T>::run;
    case isa::kOpInc: return Atomic<isa::kOpInc, T>::run;
    case isa::kOpDec: return Atomic<isa::kOpDec, T>::run;
    default: return nullptr;
  }
}

template <class T> Handler small_handler(uint8_t operation) {
  switch (operation) {
    case isa::kOpAdd: return Atomic<isa::kOpAdd, T>::run;
    case isa::kOpMin: return Atomic<isa::kOpMin, T>::run;
    case isa::kOpMax: return Atomic<isa::kOpMax, T>::run;
    default: return nullptr;
  }
}

}  // namespace

Handler atomic_handler(uint8_t operation, Type type) {
  switch (type) {
    case Type::u32:
    case Type::b32: return integer_handler<uint32_t>(operation);
    case Type::s32: return integer_handler<int32_t>(operation);
    case Type::u64:
    case Type::b64: return integer_handler<uint64_t>(operation);
    case Type::s64: return integer_handler<int64_t>(operation);
    case Type::b128:
      return operation == isa::kOpCas    ? AtomicWide<isa::kOpCas>::run
             : operation == isa::kOpExch ? AtomicWide<isa::kOpExch>::run
                                         : nullptr;
    case Type::b16: return operation == isa::kOpCas ? Atomic<isa::kOpCas, uint16_t>::run : nullptr;
    case Type::f32: return operation == isa::kOpAdd ? Atomic<isa::kOpAdd, float>::run : nullptr;
    case Type::f64: return operation == isa::kOpAdd ? Atomic<isa::kOpAdd, double>::run : nullptr;
    case Type::f16: return small_handler<Small<isa::F16>>(operation);
    case Type::bf16: return small_handler<Small<isa::BF16>>(operation);
    case Type::f16x2: return small_handler<Pair<isa::F16>>(operation);
    case Type::bf16x2: return small_handler<Pair<isa::BF16>>(operation);
    default: return nullptr;
  }
}

}  // namespace tw::emu
