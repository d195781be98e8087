// Lane bodies on several lanes at once. Most bodies are scalar functions whose loop over 32 lanes
// the compiler vectorises. Where it does not (modifiers read at run time, conversions of halves,
// 64-bit conversions), the row says `kVectors` and its body is a template over the kind of value:
// one lane's (the definition; warp-uniform registers and constant folding run it) or a vector of N
// lanes (GCC's vector types). The names below mean the same for both, so the body is written once:
//   Like<V, T>        T, or as many T as V has lanes
//   select(c, a, b)   c ? a : b, lane by lane; c is what a comparison gives: bool, or a vector mask
//   convert<T>(v)     each lane as a T
//   bits_as<To>(v)    reinterpretation (lane.h)
// Arithmetic and comparisons are the language's own.
//
// Tested by tests/isa: plain execution runs the vectors, uniform execution the scalars.
#pragma once

#include <cmath>
#include <type_traits>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "isa/lane.h"

namespace tw::isa {
inline namespace TW_TARGET {

#if defined(__AVX512F__)
inline constexpr size_t kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr size_t kVectorBytes = 32;
#else
inline constexpr size_t kVectorBytes = 16;
#endif

template <class T, size_t N> struct VectorType {
  typedef T type __attribute__((vector_size(sizeof(T) * N)));
};
template <class T, size_t N> using Vector = typename VectorType<T, N>::type;

// N halves, as they lie in their slots (a single one is widened), and N of the other formats.
template <class H, size_t N> struct HalfVector {
  Vector<uint16_t, N> bits;
};
// Halves of pairs, each in 32 bits of its own.
template <class H, size_t N> struct SpreadHalfVector {
  Vector<uint32_t, N> bits;
};
template <class P, size_t N> struct PackedVector {
  Vector<uint32_t, N> bits;
};
// Masks of N lanes where a body takes predicates.
template <class T, size_t N> struct VectorOf : VectorType<T, N> {};
template <size_t N> struct VectorOf<bool, N> {
  using type = Vector<int32_t, N>;
};
template <class T, size_t N>
  requires requires(T t) { t.bits; }
struct VectorOf<T, N> {
  using type = PackedVector<T, N>;
};
template <size_t N> struct VectorOf<F16, N> {
  using type = HalfVector<F16, N>;
};
template <size_t N> struct VectorOf<BF16, N> {
  using type = HalfVector<BF16, N>;
};

template <class V>
inline constexpr bool kIsVector = !std::is_arithmetic_v<V> && requires(V v) { v[0]; };
template <class V> struct LikeOf {
  template <class T> using type = T;
};
template <class V>
  requires kIsVector<V>
struct LikeOf<V> {
  using Element = std::remove_cvref_t<decltype(std::declval<V>()[0])>;
  static constexpr size_t kCount = sizeof(V) / sizeof(Element);
  template <class T> using type = Vector<T, kCount>;
};
template <class V, class T> using Like = typename LikeOf<V>::template type<T>;
template <class V> struct ElementOfType {
  using type = V;
};
template <class V>
  requires kIsVector<V>
struct ElementOfType<V> {
  using type = typename LikeOf<V>::Element;
};
template <class V> using ElementOf = typename ElementOfType<V>::type;
template <class V> inline constexpr size_t kElementBytesOf = sizeof(ElementOf<V>);
template <class V> inline constexpr bool kIsDouble = std::is_same_v<ElementOf<V>, double>;
template <class V>
using FloatBits = Like<V, std::conditional_t<kElementBytesOf<V> == 8, uint64_t, uint32_t>>;
template <class V>
using SignedBits = Like<V, std::conditional_t<kElementBytesOf<V> == 8, int64_t, int32_t>>;

template <class T, class V> TW_INLINE Like<V, T> convert(V v) {
  if constexpr (kIsVector<V> && sizeof(T) == 1 && sizeof(ElementOf<V>) > 2)
    return convert<T>(
        __builtin_convertvector(v, Like<V, uint16_t>));  // the compiler's way is longer
  else if constexpr (kIsVector<V>)
    return __builtin_convertvector(v, Like<V, T>);
  else
    return T(v);
}
template <class V, class T> TW_INLINE V splat(T x) {
  if constexpr (kIsVector<V>) {
    V v;
    for (size_t i = 0; i < LikeOf<V>::kCount; ++i) v[i] = typename LikeOf<V>::Element(x);
    return v;
  } else {
    return V(x);
  }
}
template <class C, class V> TW_INLINE V select(C c, V a, V b) {
  if constexpr (kIsVector<C> && kElementBytesOf<C> != kElementBytesOf<V>) {
    using Signed =
        std::conditional_t<kElementBytesOf<V> == 8, int64_t,
                           std::conditional_t<kElementBytesOf<V> == 4, int32_t, int16_t>>;
    return convert<Signed>(c) ? a : b;
  } else {
    return c ? a : b;
  }
}
// One of the two may be a constant.
template <class C, class V, class T>
  requires std::is_arithmetic_v<T>
TW_INLINE V select(C c, V a, T b) {
  return select(c, a, splat<V>(b));
}
template <class C, class V, class T>
  requires(std::is_arithmetic_v<T> && !std::is_arithmetic_v<V>)
TW_INLINE V select(C c, T a, V b) {
  return select(c, splat<V>(a), b);
}
template <class V>
  requires kIsVector<V>
TW_INLINE V canonical(V x) {
  constexpr auto kNan = kIsDouble<V> ? 0xfff8000000000000u : 0x7fffffffu;
  return select(x != x, bits_as<V>(splat<FloatBits<V>>(kNan)), x);
}
TW_INLINE float magnitude(float a) { return __builtin_fabsf(a); }
TW_INLINE double magnitude(double a) { return __builtin_fabs(a); }
template <class V>
  requires kIsVector<V>
TW_INLINE V magnitude(V x) {
  using U = FloatBits<V>;
  return bits_as<V>(U(bits_as<U>(x) & (ElementOf<U>(~ElementOf<U>(0)) >> 1)));
}
template <class V> TW_INLINE auto negative(V x) { return bits_as<SignedBits<V>>(x) < 0; }

// a < b ? a : b and a > b ? a : b: b where one of them is a NaN.
template <class V> TW_INLINE V smaller(V a, V b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && kIsDouble<V>) return V(_mm512_min_pd(__m512d(a), __m512d(b)));
  if constexpr (sizeof(V) == 64 && !kIsDouble<V>) return V(_mm512_min_ps(__m512(a), __m512(b)));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32 && kIsDouble<V>) return V(_mm256_min_pd(__m256d(a), __m256d(b)));
  if constexpr (sizeof(V) == 32 && !kIsDouble<V>) return V(_mm256_min_ps(__m256(a), __m256(b)));
#endif
  return select(a < b, a, b);
}
template <class V> TW_INLINE V larger(V a, V b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && kIsDouble<V>) return V(_mm512_max_pd(__m512d(a), __m512d(b)));
  if constexpr (sizeof(V) == 64 && !kIsDouble<V>) return V(_mm512_max_ps(__m512(a), __m512(b)));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32 && kIsDouble<V>) return V(_mm256_max_pd(__m256d(a), __m256d(b)));
  if constexpr (sizeof(V) == 32 && !kIsDouble<V>) return V(_mm256_max_ps(__m256(a), __m256(b)));
#endif
  return select(a > b, a, b);
}

// The lanes that a comparison's result leaves out.
template <class C> TW_INLINE C lacking(C c) {
  if constexpr (kIsVector<C>)
    return ~c;
  else
    return !c;
}

// Whether a condition holds in all lanes: bodies take a short way where that is common.
template <class C> TW_INLINE bool all(C c) {
  if constexpr (kIsVector<C>) {
#if defined(__AVX512F__)
    if constexpr (sizeof(C) == 64) return _mm512_movepi32_mask(__m512i(c)) == 0xffff;
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(C) == 32) return _mm256_movemask_epi8(__m256i(c)) == -1;
    if constexpr (sizeof(C) == 16) return _mm_movemask_epi8(__m128i(c)) == 0xffff;
#endif
    bool every = true;
    for (size_t i = 0; i < LikeOf<C>::kCount; ++i) every &= c[i] != 0;
    return every;
  } else {
    return c;
  }
}

template <class V>
  requires kIsVector<V>
TW_INLINE V flush(V x) {
  using U = FloatBits<V>;
  U u = bits_as<U>(x);
  return bits_as<V>(select((u & 0x7f800000u) == 0u, U(u & 0x80000000u), u));
}
template <class V> TW_INLINE V signed_zero(V x) {
  using U = FloatBits<V>;
  return bits_as<V>(U(bits_as<U>(x) & (ElementOf<U>(1) << (kElementBytesOf<U> * 8 - 1))));
}
template <class V>
  requires kIsVector<V>
TW_INLINE auto is_nan(V x) {
  return x != x;
}

template <class C> TW_INLINE bool none(C c) {
  if constexpr (kIsVector<C>) {
#if defined(__AVX512F__)
    if constexpr (sizeof(C) == 64) return _mm512_movepi32_mask(__m512i(c)) == 0;
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(C) == 32) return _mm256_movemask_epi8(__m256i(c)) == 0;
    if constexpr (sizeof(C) == 16) return _mm_movemask_epi8(__m128i(c)) == 0;
#endif
  }
  return all(lacking(c));
}

// f on whole vectors, or on each half of vectors whose doubles would not fit one vector.
template <class F, class V, class... S> TW_INLINE V in_halves(F f, V a, S... s) {
  if constexpr (kIsVector<V>) {
    if constexpr (LikeOf<V>::kCount * 8 > kVectorBytes) {
      constexpr size_t kHalf = LikeOf<V>::kCount / 2;
      using Part = Vector<ElementOf<V>, kHalf>;
      struct Pair {
        Part part[2];
      };
      Pair result;
      for (size_t i = 0; i < 2; ++i)
        result.part[i] = f(bits_as<Pair>(a).part[i], bits_as<Pair>(s).part[i]...);
      return bits_as<V>(result);
    }
  }
  return f(a, s...);
}

}  // namespace TW_TARGET
}  // namespace tw::isa
