// Loads and stores for one instruction set. Bounds and alignment are checked on every access: per
// site, the bounds of the allocation that its last access fell into; a run of consecutive addresses
// is checked at its two ends. A failed check goes to access_fault, which names the lane and stops.
#include "emu/memory_handlers.h"

#include <algorithm>
#include <cstring>

#include "emu/cta.h"
#include "emu/float_vector.h"
#include "emu/lane_mask.h"
#include "emu/observer.h"
#include "emu/windows.h"
#include "shadow/filter.h"

namespace tw::emu {
inline namespace TW_TARGET {
namespace {

template <Element E> struct ElementTypes;
template <> struct ElementTypes<Element::u8> {
  using Memory = uint8_t;
  using Slot = uint16_t;
};
template <> struct ElementTypes<Element::s8> {
  using Memory = int8_t;
  using Slot = int16_t;
};
template <> struct ElementTypes<Element::b16> {
  using Memory = uint16_t;
  using Slot = uint16_t;
};
template <> struct ElementTypes<Element::b32> {
  using Memory = uint32_t;
  using Slot = uint32_t;
};
template <> struct ElementTypes<Element::b64> {
  using Memory = uint64_t;
  using Slot = uint64_t;
};

constexpr uint32_t kHalf = kLanes / 2;

// 32 words at base + (addresses[lane] + offset). With AVX-512 in one instruction for 16 or 8 lanes;
// AVX2's gather is no faster than loads one by one.
#if defined(__AVX512F__)
constexpr bool kHasGather = true;
TW_INLINE void gather_lanes(uint32_t* to, uintptr_t base, const uint32_t* addresses,
                            uint32_t offset) {
  for (uint32_t l = 0; l < kLanes; l += 16) {
    __m512i at =
        _mm512_add_epi32(_mm512_loadu_si512(addresses + l), _mm512_set1_epi32(int(offset)));
    _mm512_storeu_si512(to + l, _mm512_i32gather_epi32(at, reinterpret_cast<const void*>(base), 1));
  }
}
TW_INLINE void gather_lanes(uint32_t* to, uintptr_t base, const uint64_t* addresses,
                            uint64_t offset) {
  const __m512i shift = _mm512_set1_epi64(int64_t(base + offset));
  for (uint32_t l = 0; l < kLanes; l += 8) {
    __m512i at = _mm512_add_epi64(_mm512_loadu_si512(addresses + l), shift);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + l), _mm512_i64gather_epi32(at, nullptr, 1));
  }
}
#else
constexpr bool kHasGather = false;
template <class A> void gather_lanes(uint32_t*, uintptr_t, const A*, A);
#endif

template <AccessSpace kSpace>
using Address = std::conditional_t<kSpace == AccessSpace::shared || kSpace == AccessSpace::local,
                                   uint32_t, uint64_t>;

TW_INLINE uint32_t value_slot(const Op* op, int element) {
  return element == 0 ? op->d : element == 1 ? op->b : element == 2 ? op->c : op->e;
}

template <Element E, int N, AccessSpace kSpace, AddressForm kForm, bool kStore, bool kMasked,
          bool kUniformValue>
struct Access {
  using Memory = typename ElementTypes<E>::Memory;
  using Slot = typename ElementTypes<E>::Slot;
  using A = Address<kSpace>;
  static constexpr uint32_t kBytes = sizeof(Memory) * N;  // of one lane
  static constexpr MemoryKey kKey{kStore, kMasked, kUniformValue, kSpace, E, kForm, N};

  [[gnu::noinline, gnu::cold]] static const Op* fail(TW_HANDLER_ARGS) {
    return access_fault(op, frame, warp, kKey);
  }

  // One lane: host address of a checked access in the site's (or shared) bounds, or nullptr.
  TW_INLINE static uint8_t* checked(const Op* op, Warp* warp, A address, uint32_t lane) {
    if (address & (kBytes - 1)) return nullptr;
    if constexpr (kSpace == AccessSpace::shared) {
      if (uint64_t(address) + kBytes > warp->shared_bytes) return nullptr;
      return warp->shared + address;
    } else if constexpr (kSpace == AccessSpace::global) {
      SiteCache& cache = warp->sites[op->site];
      if (address - cache.low > cache.span) {
        if (!locate(warp, op->site, address, kBytes)) return nullptr;
      }
      return reinterpret_cast<uint8_t*>(address + cache.bias);
    } else if constexpr (kSpace == AccessSpace::generic) {
      SiteCache& cache = warp->sites[op->site];
      if (address - cache.low <= cache.span)
        return reinterpret_cast<uint8_t*>(address + cache.bias);
      if (in_shared_window(address) || in_local_window(address))
        return lane_pointer(warp, kSpace, address, kBytes, lane);
      return locate(warp, op->site, address, kBytes)
                 ? reinterpret_cast<uint8_t*>(address + cache.bias)
                 : nullptr;
    } else {
      return lane_pointer(warp, kSpace, address, kBytes, lane);
    }
  }

  // Host address of a run of `count` consecutive elements, or nullptr.
  TW_INLINE static uint8_t* checked_run(const Op* op, Warp* warp, A first, A last, uint32_t count) {
    if (A(last - first) != A((count - 1) * kBytes)) return nullptr;
    if (first & (kBytes - 1)) return nullptr;
    if constexpr (kSpace == AccessSpace::shared) {
      if (uint64_t(first) + count * kBytes > warp->shared_bytes) return nullptr;
      return warp->shared + first;
    } else {
      SiteCache& cache = warp->sites[op->site];
      if (first - cache.low > cache.span || last - cache.low > cache.span) {
        if (!locate(warp, op->site, first, kBytes) || last - cache.low > cache.span) return nullptr;
      }
      return reinterpret_cast<uint8_t*>(first + cache.bias);
    }
  }

  TW_INLINE static void load_lane(const Op* op, char* frame, const uint8_t* from, uint32_t lane) {
    for (int j = 0; j < N; ++j) {
      Memory value;
      __builtin_memcpy(&value, from + j * sizeof(Memory), sizeof(Memory));
      reinterpret_cast<Slot*>(frame + value_slot(op, j))[lane] = Slot(value);
    }
  }
  TW_INLINE static void store_lane(const Op* op, const char* frame, uint8_t* to, uint32_t lane) {
    for (int j = 0; j < N; ++j) {
      const Slot* slot = reinterpret_cast<const Slot*>(frame + value_slot(op, j));
      Memory value = Memory(slot[kUniformValue ? 0 : lane]);
      __builtin_memcpy(to + j * sizeof(Memory), &value, sizeof(Memory));
    }
  }
  TW_INLINE static void move_lane(const Op* op, char* frame, uint8_t* at, uint32_t lane) {
    if constexpr (kStore)
      store_lane(op, frame, at, lane);
    else
      load_lane(op, frame, at, lane);
  }

  // Consecutive elements <-> `count` lanes from `lane` on.
  template <uint32_t kCount>
  TW_INLINE static void move_run(const Op* op, char* frame, uint8_t* at, uint32_t lane) {
    static_assert(N == 1, "runs of vectors go lane by lane");
    Slot* slot = reinterpret_cast<Slot*>(frame + op->d) + lane;
    if constexpr (!kStore) {
      if constexpr (sizeof(Memory) == sizeof(Slot)) {
        __builtin_memcpy(slot, at, kCount * sizeof(Memory));
      } else {
        const Memory* from = reinterpret_cast<const Memory*>(at);
#pragma GCC ivdep
        for (uint32_t l = 0; l < kCount; ++l) slot[l] = Slot(from[l]);
      }
    } else {
      Memory* to = reinterpret_cast<Memory*>(at);
      if constexpr (kUniformValue) {
        Memory value = Memory(*reinterpret_cast<const Slot*>(frame + op->d));
#pragma GCC ivdep
        for (uint32_t l = 0; l < kCount; ++l) to[l] = value;
      } else if constexpr (sizeof(Memory) == sizeof(Slot)) {
        __builtin_memcpy(at, slot, kCount * sizeof(Memory));
      } else {
#pragma GCC ivdep
        for (uint32_t l = 0; l < kCount; ++l) to[l] = Memory(slot[l]);
      }
    }
  }

  // Spreads one loaded element over `count` lanes.
  template <uint32_t kCount>
  TW_INLINE static void spread(const Op* op, char* frame, const uint8_t* from, uint32_t lane) {
    for (int j = 0; j < N; ++j) {
      Memory value;
      __builtin_memcpy(&value, from + j * sizeof(Memory), sizeof(Memory));
      Slot* slot = reinterpret_cast<Slot*>(frame + value_slot(op, j)) + lane;
#pragma GCC ivdep
      for (uint32_t l = 0; l < kCount; ++l) slot[l] = Slot(value);
    }
  }

  static const Op* run(TW_HANDLER_ARGS) {
    const A* addresses = reinterpret_cast<const A*>(frame + op->a);
    const A offset = A(op->imm);
    if constexpr (kForm == AddressForm::uniform) {
      uint32_t first_lane = kMasked ? uint32_t(__builtin_ctz(warp->active)) : 0;
      uint8_t* at = checked(op, warp, A(addresses[0] + offset), first_lane);
      if (!at) [[unlikely]]
        return fail(op, frame, warp);
      if constexpr (kSpace == AccessSpace::local || kSpace == AccessSpace::generic) {
        // Local memory: the same address is another place for each lane.
        uint32_t active = kMasked ? warp->active : kFullMask;
        while (active) {
          uint32_t lane = uint32_t(__builtin_ctz(active));
          active &= active - 1;
          at = checked(op, warp, A(addresses[0] + offset), lane);
          if (!at) [[unlikely]]
            return fail(op, frame, warp);
          if constexpr (kUniformValue && !kStore) {
            Memory value;
            __builtin_memcpy(&value, at, sizeof(Memory));
            *reinterpret_cast<Slot*>(frame + op->d) = Slot(value);
            break;
          } else {
            move_lane(op, frame, at, lane);
          }
        }
      } else if constexpr (kStore) {
        store_lane(op, frame, at,
                   kMasked ? 31u - uint32_t(__builtin_clz(warp->active)) : kLanes - 1);
      } else if constexpr (kUniformValue) {
        for (int j = 0; j < N; ++j) {
          Memory value;
          __builtin_memcpy(&value, at + j * sizeof(Memory), sizeof(Memory));
          *reinterpret_cast<Slot*>(frame + value_slot(op, j)) = Slot(value);
        }
      } else if constexpr (kMasked) {
        for (int j = 0; j < N; ++j) {
          Memory value;
          __builtin_memcpy(&value, at + j * sizeof(Memory), sizeof(Memory));
          Slot* slot = reinterpret_cast<Slot*>(frame + value_slot(op, j));
          uint32_t active = warp->active;
#pragma GCC ivdep
          for (uint32_t l = 0; l < kLanes; ++l) slot[l] = (active >> l) & 1 ? Slot(value) : slot[l];
        }
      } else {
        spread<kLanes>(op, frame, at, 0);
      }
    } else if constexpr (kForm == AddressForm::broadcast) {
      uint8_t* low = checked(op, warp, A(addresses[0] + offset), 0);
      if (!low) [[unlikely]]
        return fail(op, frame, warp);
      spread<kHalf>(op, frame, low, 0);
      uint8_t* high = checked(op, warp, A(addresses[kHalf] + offset), kHalf);
      if (!high) [[unlikely]]
        return fail(op, frame, warp);
      spread<kHalf>(op, frame, high, kHalf);
    } else if constexpr (kForm == AddressForm::unit) {
      uint8_t* low =
          checked_run(op, warp, A(addresses[0] + offset), A(addresses[kHalf - 1] + offset), kHalf);
      if (!low) [[unlikely]]
        return lanes(op, frame, warp);
      move_run<kHalf>(op, frame, low, 0);
      uint8_t* high = checked_run(op, warp, A(addresses[kHalf] + offset),
                                  A(addresses[kLanes - 1] + offset), kHalf);
      if (!high) [[unlikely]]
        return lanes(op, frame, warp);
      move_run<kHalf>(op, frame, high, kHalf);
    } else if constexpr (kForm == AddressForm::unit_warp) {
      uint8_t* at = checked_run(op, warp, A(addresses[0] + offset),
                                A(addresses[kLanes - 1] + offset), kLanes);
      if (!at) [[unlikely]]
        return lanes(op, frame, warp);
      move_run<kLanes>(op, frame, at, 0);
    } else {
      return lanes(op, frame, warp);
    }
    TW_NEXT;
  }

  // Whether every lane's access is aligned and lies in the `span` addresses from `low` on.
  TW_INLINE static bool all_lanes_inside(const A* addresses, A offset, A low, A span) {
    A outside = 0;
    for (uint32_t l = 0; l < kLanes; ++l) {
      A address = A(addresses[l] + offset);
      outside |= A(A(address - low) > span) | (address & (kBytes - 1));
    }
    return outside == 0;
  }
  TW_INLINE static A lowest(const A* addresses, A offset) {
    A least = A(addresses[0] + offset);
    for (uint32_t l = 1; l < kLanes; ++l) least = std::min(least, A(addresses[l] + offset));
    return least;
  }

  // Any addresses. With a full mask all lanes are checked at once where they lie in one allocation.
  static const Op* lanes(TW_HANDLER_ARGS) {
    const A* addresses = reinterpret_cast<const A*>(frame + op->a);
    const A offset = A(op->imm);
    if constexpr (!kMasked && (kSpace == AccessSpace::shared || kSpace == AccessSpace::global)) {
      bool inside;
      uintptr_t base;  // of address 0: no place in memory, so no pointer
      if constexpr (kSpace == AccessSpace::shared) {
        base = reinterpret_cast<uintptr_t>(warp->shared);
        inside = warp->shared_bytes >= kBytes &&
                 all_lanes_inside(addresses, offset, A(0), A(warp->shared_bytes - kBytes));
      } else {
        SiteCache& cache = warp->sites[op->site];
        inside = all_lanes_inside(addresses, offset, cache.low, cache.span);
        if (!inside)  // the lowest address decides which allocation is meant
          inside = locate(warp, op->site, lowest(addresses, offset), kBytes) &&
                   all_lanes_inside(addresses, offset, cache.low, cache.span);
        base = uintptr_t(cache.bias);
      }
      if (inside) [[likely]] {
        if constexpr (E == Element::b32 && N == 4)
          move_quads(op, frame, base, addresses, offset);
        else if constexpr (E == Element::b32 && N == 1 && !kStore && kHasGather)
          gather_lanes(reinterpret_cast<uint32_t*>(frame + op->d), base, addresses, offset);
        else
          for (uint32_t l = 0; l < kLanes; ++l)
            move_lane(op, frame, reinterpret_cast<uint8_t*>(base + A(addresses[l] + offset)), l);
        TW_NEXT;
      }
    }
    uint32_t active = kMasked ? warp->active : kFullMask;
    while (active) {
      uint32_t lane = uint32_t(__builtin_ctz(active));
      active &= active - 1;
      uint8_t* at = checked(op, warp, A(addresses[lane] + offset), lane);
      if (!at) [[unlikely]]
        return fail(op, frame, warp);
      move_lane(op, frame, at, lane);
    }
    TW_NEXT;
  }

#if defined(__AVX512F__)
  // The 16-byte vectors of lanes l, l + 4, l + 8 and l + 12 in one register.
  TW_INLINE static __m512i quad_of(uintptr_t base, const A* addresses, A offset) {
    auto place = [&](uint32_t i) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(base + A(addresses[i] + offset)));
    };
    __m512i v = _mm512_castsi128_si512(place(0));
    v = _mm512_mask_broadcast_i32x4(v, 0x00f0, place(4));
    v = _mm512_mask_broadcast_i32x4(v, 0x0f00, place(8));
    return _mm512_mask_broadcast_i32x4(v, 0xf000, place(12));
  }
  TW_INLINE static void load_quads(const Op* op, char* frame, uintptr_t base, const A* addresses,
                                   A offset) {
    for (uint32_t l = 0; l < kLanes; l += 16) {
      __m512i r0 = quad_of(base, addresses + l, offset),
              r1 = quad_of(base, addresses + l + 1, offset),
              r2 = quad_of(base, addresses + l + 2, offset),
              r3 = quad_of(base, addresses + l + 3, offset);
      __m512i low01 = _mm512_unpacklo_epi32(r0, r1), high01 = _mm512_unpackhi_epi32(r0, r1),
              low23 = _mm512_unpacklo_epi32(r2, r3), high23 = _mm512_unpackhi_epi32(r2, r3);
      auto put = [&](int element, __m512i v) {
        _mm512_storeu_si512(frame + value_slot(op, element) + 4 * l, v);
      };
      put(0, _mm512_unpacklo_epi64(low01, low23));
      put(1, _mm512_unpackhi_epi64(low01, low23));
      put(2, _mm512_unpacklo_epi64(high01, high23));
      put(3, _mm512_unpackhi_epi64(high01, high23));
    }
  }
#endif

  // Four lanes' 16-byte vectors at a time, transposed in registers.
  TW_INLINE static void move_quads(const Op* op, char* frame, uintptr_t base, const A* addresses,
                                   A offset) {
#if defined(__AVX512F__)
    if constexpr (!kStore) return load_quads(op, frame, base, addresses, offset);
#endif
    typedef uint32_t Quad __attribute__((vector_size(16)));
    for (uint32_t l = 0; l < kLanes; l += 4) {
      Quad r[4], t[4];
      auto place = [&](uint32_t i) {
        return reinterpret_cast<uint8_t*>(base + A(addresses[l + i] + offset));
      };
      auto slot = [&](int j) { return frame + value_slot(op, j) + 4 * l; };
      for (int i = 0; i < 4; ++i) {
        if constexpr (kStore)
          __builtin_memcpy(&r[i], slot(i), 16);
        else
          __builtin_memcpy(&r[i], place(uint32_t(i)), 16);
      }
      t[0] = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
      t[1] = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
      t[2] = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
      t[3] = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
      r[0] = __builtin_shufflevector(t[0], t[2], 0, 1, 4, 5);
      r[1] = __builtin_shufflevector(t[0], t[2], 2, 3, 6, 7);
      r[2] = __builtin_shufflevector(t[1], t[3], 0, 1, 4, 5);
      r[3] = __builtin_shufflevector(t[1], t[3], 2, 3, 6, 7);
      for (int i = 0; i < 4; ++i) {
        if constexpr (kStore)
          __builtin_memcpy(place(uint32_t(i)), &r[i], 16);
        else
          __builtin_memcpy(slot(i), &r[i], 16);
      }
    }
  }
};

// ---- the table: run-time key -> instantiation ----

template <Element E, int N, AccessSpace kSpace, bool kStore, bool kMasked>
Handler pick_form(const MemoryKey& key) {
  // Full-mask forms other than `lanes` exist for global and shared memory; the rest goes lane by
  // lane.
  constexpr bool kForms = kSpace == AccessSpace::global || kSpace == AccessSpace::shared;
  if (key.form == AddressForm::uniform) {
    if (key.uniform_value && (N == 1 || !kStore))
      return Access<E, N, kSpace, AddressForm::uniform, kStore, kMasked, true>::run;
    return Access<E, N, kSpace, AddressForm::uniform, kStore, kMasked, false>::run;
  }
  if constexpr (kForms && !kMasked && !kStore) {
    if (key.form == AddressForm::broadcast)
      return Access<E, N, kSpace, AddressForm::broadcast, false, false, false>::run;
  }
  if constexpr (kForms && !kMasked && N == 1) {
    if (kStore && key.uniform_value) {
      if (key.form == AddressForm::unit)
        return Access<E, N, kSpace, AddressForm::unit, kStore, false, true>::run;
      if (key.form == AddressForm::unit_warp)
        return Access<E, N, kSpace, AddressForm::unit_warp, kStore, false, true>::run;
    } else {
      if (key.form == AddressForm::unit)
        return Access<E, N, kSpace, AddressForm::unit, kStore, false, false>::run;
      if (key.form == AddressForm::unit_warp)
        return Access<E, N, kSpace, AddressForm::unit_warp, kStore, false, false>::run;
    }
  }
  if constexpr (kStore && N == 1) {
    if (key.uniform_value)
      return Access<E, N, kSpace, AddressForm::lanes, kStore, kMasked, true>::run;
  }
  return Access<E, N, kSpace, AddressForm::lanes, kStore, kMasked, false>::run;
}

template <Element E, int N, AccessSpace kSpace> Handler pick_kind(const MemoryKey& key) {
  if (key.store)
    return key.masked ? pick_form<E, N, kSpace, true, true>(key)
                      : pick_form<E, N, kSpace, true, false>(key);
  return key.masked ? pick_form<E, N, kSpace, false, true>(key)
                    : pick_form<E, N, kSpace, false, false>(key);
}

template <Element E, int N> Handler pick_space(const MemoryKey& key) {
  switch (key.space) {
    case AccessSpace::global: return pick_kind<E, N, AccessSpace::global>(key);
    case AccessSpace::shared: return pick_kind<E, N, AccessSpace::shared>(key);
    case AccessSpace::local: return pick_kind<E, N, AccessSpace::local>(key);
    default: return pick_kind<E, N, AccessSpace::generic>(key);
  }
}

template <Element E> Handler pick_count(const MemoryKey& key) {
  switch (key.elements) {
    case 2: return pick_space<E, 2>(key);
    case 4: return pick_space<E, 4>(key);
    default: return pick_space<E, 1>(key);
  }
}

// ---- fused inner products ----

// d = c + sum of shared[a + ao_i] * shared[b + bo_i], in order, each step one fused multiply-add.
// The accumulators stay in registers; the two runs of addresses are checked at their ends.
template <AddressForm kA, AddressForm kB> struct Dot {
  static constexpr bool kUnitA = kA == AddressForm::unit, kUnitB = kB == AddressForm::unit;
  template <bool kUnit>
  TW_INLINE static bool inside(const Warp* warp, uint32_t address, int32_t low, int32_t high) {
    uint32_t first = address + uint32_t(low);
    uint64_t end = uint64_t(first) + uint32_t(high - low) + (kUnit ? kHalf * 4 : 4);
    return (address & 3) == 0 && end <= warp->shared_bytes;
  }
  template <bool kUnit> TW_INLINE static FloatVector term(const uint8_t* at, uint32_t vector) {
    const float* values = reinterpret_cast<const float*>(at);
    return kUnit ? load(values + vector * kVectorFloats) : splat(values[0]);
  }
  [[gnu::noinline, gnu::cold]] static const Op* apart(TW_HANDLER_ARGS) { TW_GO(op + 1); }

  static const Op* run(TW_HANDLER_ARGS) {
    const DotRow* row = static_cast<const DotRow*>(op->extra);
    const uint32_t* a = reinterpret_cast<const uint32_t*>(frame + op->a);
    const uint32_t* b = reinterpret_cast<const uint32_t*>(frame + op->b);
    for (uint32_t h = 0; h < kLanes;
         h += kHalf)  // a failed check: the unfused code follows and names the lane
      if (!inside<kUnitA>(warp, a[h], row->a_low, row->a_high) ||
          !inside<kUnitB>(warp, b[h], row->b_low, row->b_high)) [[unlikely]]
        return apart(op, frame, warp);
    constexpr uint32_t kPart = kHalf / kVectorFloats;  // vectors a half-warp
    FloatVector low[kPart], high[kPart];
    const float* c = reinterpret_cast<const float*>(frame + op->c);
    for (uint32_t v = 0; v < kPart; ++v)
      low[v] = load(c + v * kVectorFloats), high[v] = load(c + kHalf + v * kVectorFloats);
    const uint8_t* a0 = warp->shared + a[0];
    const uint8_t* a1 = warp->shared + a[kHalf];
    const uint8_t* b0 = warp->shared + b[0];
    const uint8_t* b1 = warp->shared + b[kHalf];
    const uint32_t count = row->count;
    for (uint32_t i = 0; i < count; ++i) {
      const int32_t ao = row->terms[i].a_offset, bo = row->terms[i].b_offset;
      for (uint32_t v = 0; v < kPart; ++v)
        low[v] = multiply_add(term<kUnitA>(a0 + ao, v), term<kUnitB>(b0 + bo, v), low[v]);
      for (uint32_t v = 0; v < kPart; ++v)
        high[v] = multiply_add(term<kUnitA>(a1 + ao, v), term<kUnitB>(b1 + bo, v), high[v]);
    }
    float* d = reinterpret_cast<float*>(frame + op->d);
    for (uint32_t v = 0; v < kPart; ++v)
      store(d + v * kVectorFloats, canonical(low[v])),
          store(d + kHalf + v * kVectorFloats, canonical(high[v]));
    TW_GO(op->target);
  }
};

// The same with one pair of global loads: the loaded values go straight into the FMA.
template <AddressForm kA, AddressForm kB, bool kFiltered> struct GlobalDot {
  // Host address of a half-warp's run or single element, or nullptr.
  template <AddressForm kForm>
  TW_INLINE static const uint8_t* place(Warp* warp, uint32_t number, const uint64_t* addresses,
                                        int64_t offset, uint32_t h) {
    const uint64_t first = addresses[h] + uint64_t(offset);
    uint64_t reach = 0;
    if (first & 3) return nullptr;
    if constexpr (kForm == AddressForm::unit) {
      reach = (kHalf - 1) * 4;
      if (addresses[h + kHalf - 1] - addresses[h] != reach) return nullptr;
    }
    SiteCache& cache = warp->sites[number];
    if (first - cache.low > cache.span || first - cache.low + reach > cache.span) {
      if (!locate(warp, number, first, 4) || first - cache.low + reach > cache.span) return nullptr;
    }
    return reinterpret_cast<const uint8_t*>(first + uint64_t(cache.bias));
  }
  // The same for both halves, if no checker needs to see the access. What has to hold is gathered
  // and branched on once: it nearly always does.
  struct Places {
    const uint8_t *low, *high;
    uint64_t bad;  // 0: both are places
  };
  template <AddressForm kForm>
  TW_INLINE static Places filtered(const shadow::CtaFilter& filter, uint32_t number,
                                   const uint64_t* addresses, int64_t offset) {
    constexpr bool kOne = kForm == AddressForm::uniform, kUnit = kForm == AddressForm::unit;
    constexpr uint64_t kReach = kUnit ? (kHalf - 1) * 4 : 0;
    const shadow::CtaFilter::Site& site = filter.sites[number];
    const uint64_t low = addresses[0] + uint64_t(offset);
    const uint64_t high = kOne ? low : addresses[kHalf] + uint64_t(offset);
    const uint64_t at = low - site.low, at_high = high - site.low, last = site.span - kReach;
    uint64_t bad = ((low | high) & 3) | (at | at_high | (last - at) | (last - at_high)) >> 63;
    if constexpr (kUnit)
      bad |= ((addresses[kHalf - 1] - addresses[0]) ^ kReach) |
             ((addresses[kLanes - 1] - addresses[kHalf]) ^ kReach);
    if (bad == 0 && !site.always) {
      const uint32_t tag = *filter.tag;
      auto other = [&](uint64_t byte) { return site.tags[byte >> shadow::kLineShift] ^ tag; };
      bad = other(at);
      if constexpr (!kOne) bad |= other(at_high);
      if (kUnit && ((at | at_high) & 63) != 0) bad |= other(at + kReach) | other(at_high + kReach);
    }
    return {reinterpret_cast<const uint8_t*>(low + uint64_t(site.bias)),
            reinterpret_cast<const uint8_t*>(high + uint64_t(site.bias)), bad};
  }
  template <AddressForm kForm>
  TW_INLINE static FloatVector term(const uint8_t* at, uint32_t vector) {
    const float* values = reinterpret_cast<const float*>(at);
    return kForm == AddressForm::unit ? load(values + vector * kVectorFloats) : splat(values[0]);
  }
  [[gnu::noinline, gnu::cold]] static const Op* apart(TW_HANDLER_ARGS) { TW_GO(op + 1); }

  static const Op* run(TW_HANDLER_ARGS) {
    constexpr bool kOneA = kA == AddressForm::uniform, kOneB = kB == AddressForm::uniform;
    const GlobalPair* pair = static_cast<const GlobalPair*>(op->extra);
    const uint64_t* a = reinterpret_cast<const uint64_t*>(frame + op->a);
    const uint64_t* b = reinterpret_cast<const uint64_t*>(frame + op->b);
    const uint8_t *a0, *a1, *b0, *b1;
    if constexpr (kFiltered) {
      const shadow::CtaFilter& filter = *warp->cta->observer->filter;
      const Places pa = filtered<kA>(filter, op->site, a, pair->a_offset);
      const Places pb = filtered<kB>(filter, pair->b_site, b, pair->b_offset);
      if ((pa.bad | pb.bad) != 0) [[unlikely]]
        return apart(op, frame, warp);
      a0 = pa.low, a1 = pa.high, b0 = pb.low, b1 = pb.high;
    } else {
      a0 = place<kA>(warp, op->site, a, pair->a_offset, 0);
      b0 = place<kB>(warp, pair->b_site, b, pair->b_offset, 0);
      a1 = kOneA ? a0 : place<kA>(warp, op->site, a, pair->a_offset, kHalf);
      b1 = kOneB ? b0 : place<kB>(warp, pair->b_site, b, pair->b_offset, kHalf);
      if (!a0 || !a1 || !b0 || !b1) [[unlikely]]
        return apart(op, frame, warp);
    }
    constexpr uint32_t kPart = kHalf / kVectorFloats;
    const float* c = reinterpret_cast<const float*>(frame + op->c);
    FloatVector low[kPart], high[kPart];
    for (uint32_t v = 0; v < kPart; ++v) {
      low[v] = multiply_add(term<kA>(a0, v), term<kB>(b0, v), load(c + v * kVectorFloats));
      high[v] = multiply_add(term<kA>(a1, v), term<kB>(b1, v), load(c + kHalf + v * kVectorFloats));
    }
    float* d = reinterpret_cast<float*>(frame + op->d);
    for (uint32_t v = 0; v < kPart; ++v)
      store(d + v * kVectorFloats, canonical(low[v])),
          store(d + kHalf + v * kVectorFloats, canonical(high[v]));
    TW_GO(op->target);
  }
};

template <bool kFiltered> Handler pick_global_dot(AddressForm a, AddressForm b) {
  using enum AddressForm;
  if (a == uniform && b == unit) return GlobalDot<uniform, unit, kFiltered>::run;
  if (a == unit && b == uniform) return GlobalDot<unit, uniform, kFiltered>::run;
  if (a == broadcast && b == unit) return GlobalDot<broadcast, unit, kFiltered>::run;
  if (a == unit && b == broadcast) return GlobalDot<unit, broadcast, kFiltered>::run;
  if (a == unit && b == unit) return GlobalDot<unit, unit, kFiltered>::run;
  return nullptr;
}

}  // namespace

Handler memory_handler(const MemoryKey& key) {
  switch (key.element) {
    case Element::u8: return pick_count<Element::u8>(key);
    case Element::s8: return pick_count<Element::s8>(key);
    case Element::b16: return pick_count<Element::b16>(key);
    case Element::b32: return pick_count<Element::b32>(key);
    default: return pick_count<Element::b64>(key);
  }
}

Handler dot_handler(AddressForm a, AddressForm b) {
  auto half = [](AddressForm f) { return f == AddressForm::unit_warp ? AddressForm::unit : f; };
  a = half(a), b = half(b);
  using enum AddressForm;
  if (a == broadcast && b == unit) return Dot<broadcast, unit>::run;
  if (a == unit && b == broadcast) return Dot<unit, broadcast>::run;
  if (a == unit && b == unit) return Dot<unit, unit>::run;
  if (a == broadcast && b == broadcast) return Dot<broadcast, broadcast>::run;
  return nullptr;
}

Handler global_dot_handler(AddressForm a, AddressForm b, bool filtered) {
  auto half = [](AddressForm f) { return f == AddressForm::unit_warp ? AddressForm::unit : f; };
  return filtered ? pick_global_dot<true>(half(a), half(b))
                  : pick_global_dot<false>(half(a), half(b));
}

const Op* fma_row(TW_HANDLER_ARGS) {
  const FmaRow* row = static_cast<const FmaRow*>(op->extra);
  constexpr uint32_t kParts = kLanes / kVectorFloats;
  const float* common = reinterpret_cast<const float*>(frame + row->common);
  FloatVector x[kParts];
  for (uint32_t v = 0; v < kParts; ++v) x[v] = load(common + v * kVectorFloats);
  const FmaTerm* end = row->terms + row->count;
  for (const FmaTerm* t = row->terms; t != end; ++t) {
    const float* b = reinterpret_cast<const float*>(frame + t->b);
    const float* c = reinterpret_cast<const float*>(frame + t->c);
    float* d = reinterpret_cast<float*>(frame + t->d);
    FloatVector sums[kParts];
    for (uint32_t v = 0; v < kParts; ++v)
      sums[v] = multiply_add(x[v], load(b + v * kVectorFloats), load(c + v * kVectorFloats));
    for (uint32_t v = 0; v < kParts; ++v) store(d + v * kVectorFloats, canonical(sums[v]));
  }
  TW_NEXT;
}

}  // namespace TW_TARGET
}  // namespace tw::emu
