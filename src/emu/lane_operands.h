// Operands of lane rows: how lane values lie in the frame, one at a time and as vectors of lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "emu/lane_mask.h"
#include "emu/op.h"
#include "isa/lane_rows.h"
#include "isa/vector.h"

namespace tw::emu {
inline namespace TW_TARGET {

// How a T lies in its slot.
template <class T> struct Stored {
  using type = T;
};
template <> struct Stored<uint8_t> {
  using type = uint16_t;
};
template <> struct Stored<int8_t> {
  using type = int16_t;
};
template <class T>
  requires requires(T t) { t.bits; }
struct Stored<T> {
  using type = typename T::Slot;
};  // small floats and pairs
template <class T>
inline constexpr uint8_t kElementBytes =
    sizeof(typename Stored<T>::type);  // 8-bit values live in 16-bit slots
template <> inline constexpr uint8_t kElementBytes<bool> = 0;
template <class T> TW_INLINE typename Stored<T>::type slot_of(T value) {
  if constexpr (requires { value.bits; })
    return typename T::Slot(value.bits);
  else
    return typename Stored<T>::type(value);
}

template <class T> struct LaneSource {
  const typename Stored<T>::type* values;
  TW_INLINE explicit LaneSource(const char* at)
      : values(reinterpret_cast<const typename Stored<T>::type*>(at)) {}
  TW_INLINE T operator[](uint32_t lane) const { return T(values[lane]); }
};
template <> struct LaneSource<bool> {  // predicates are masks whether uniform or not
  alignas(64) uint32_t values[kLanes];
  TW_INLINE explicit LaneSource(const char* at) {
    lanes_of_mask(*reinterpret_cast<const uint32_t*>(at), values);
  }
  TW_INLINE bool operator[](uint32_t lane) const { return values[lane] != 0; }
};
template <class T> TW_INLINE T scalar_value(const char* at) {
  if constexpr (std::is_same_v<T, bool>)
    return *reinterpret_cast<const uint32_t*>(at) & 1;
  else
    return LaneSource<T>(at)[0];
}
template <class T> struct UniformSource {
  T value;
  TW_INLINE explicit UniformSource(const char* at, bool = true) : value(scalar_value<T>(at)) {}
  TW_INLINE T operator[](uint32_t) const { return value; }
};
// Which of the two is read from the Op: scalars are spread over a local array first.
template <class T> struct EitherSource {
  typename Stored<T>::type spread[kLanes];
  const typename Stored<T>::type* values;
  TW_INLINE EitherSource(const char* at, bool uniform)
      : values(reinterpret_cast<const typename Stored<T>::type*>(at)) {
    if (!uniform) return;
    typename Stored<T>::type value = values[0];
    for (uint32_t i = 0; i < kLanes; ++i) spread[i] = value;
    values = spread;
  }
  TW_INLINE T operator[](uint32_t lane) const { return T(values[lane]); }
};
template <> struct EitherSource<bool> : LaneSource<bool> {
  TW_INLINE EitherSource(const char* at, bool) : LaneSource<bool>(at) {}
};

// N lanes from `lane` on.
template <size_t N, class T> TW_INLINE auto vector_at(const void* source, size_t lane) {
  using V = typename isa::VectorOf<T, N>::type;
  auto values = static_cast<const typename Stored<T>::type*>(source);
  if constexpr (isa::kIsHalf<T>) {
    V v;
    __builtin_memcpy(&v.bits, values + lane, sizeof v.bits);
    return v;
  } else if constexpr (std::is_same_v<T, bool>) {
    V v;
    __builtin_memcpy(&v, static_cast<const uint32_t*>(source) + lane, sizeof v);
    return v;
  } else if constexpr (isa::kIsWide<V>) {
    const auto first = vector_at<N / 2, T>(source, lane),
               second = vector_at<N / 2, T>(source, lane + N / 2);
    return V{{first, second}};
  } else {
    isa::Vector<typename Stored<T>::type, N> v;
    __builtin_memcpy(&v, values + lane, sizeof v);
    if constexpr (!isa::kIsVector<V>)
      return V{isa::convert<uint32_t>(v)};
    else if constexpr (sizeof(T) == 1)  // of a register only the low byte counts
      return std::is_signed_v<T> ? (v << 8) >> 8 : v & typename Stored<T>::type(0xff);
    else
      return isa::convert<T>(v);
  }
}
template <class D, class V> TW_INLINE auto slots_of(V value) {
  if constexpr (isa::kIsVector<V>)
    return isa::convert<typename Stored<D>::type>(value);
  else
    return isa::convert<typename Stored<D>::type>(value.bits);
}
template <class D, class V> TW_INLINE void store_slots(typename Stored<D>::type* to, V value) {
  if constexpr (isa::kIsWide<V>) {
    store_slots<D>(to, value.part[0]);
    store_slots<D>(to + isa::LikeOf<V>::kCount / 2, value.part[1]);
  } else {
    const auto slots = slots_of<D>(value);
    __builtin_memcpy(to, &slots, sizeof slots);
  }
}

// Of a pair, or of a register that holds one.
template <class T> struct OfHalfType : isa::HalfOf<T> {};
template <> struct OfHalfType<uint32_t> {
  using type = uint16_t;
};
template <class T> using OfHalf = typename OfHalfType<T>::type;

// Constructed in place: a spread source points into itself.
template <size_t I, class T, bool kUniform> struct EitherSlot {
  std::conditional_t<kUniform, UniformSource<T>, EitherSource<T>> source;
  TW_INLINE EitherSlot(const char* at, [[maybe_unused]] bool uniform) : source(at, uniform) {}
  EitherSlot(const EitherSlot&) = delete;
};

template <size_t I> TW_INLINE uint32_t source_offset(const Op* op) {
  if constexpr (I == 0)
    return op->a;
  else if constexpr (I == 1)
    return op->b;
  else if constexpr (I == 2)
    return op->c;
  else
    return op->e;
}

}  // namespace TW_TARGET
}  // namespace tw::emu
