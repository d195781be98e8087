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
#include <utility>

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
// N elements of 64 bits, where they take two vectors.
template <class T, size_t N> struct WideVector {
  Vector<T, N / 2> part[2];
};
template <class V> inline constexpr bool kIsWide = false;
template <class T, size_t N> inline constexpr bool kIsWide<WideVector<T, N>> = true;
template <class T, size_t N> struct VectorOf : VectorType<T, N> {};
template <class T, size_t N>
  requires(std::is_arithmetic_v<T> && sizeof(T) == 8 && N * 8 > kVectorBytes)
struct VectorOf<T, N> {
  using type = WideVector<T, N>;
};
// Masks of N lanes where a body takes predicates.
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
// How N lanes are read: 8-bit values stay in the 16 bits of their slots, extended.
template <class T, size_t N> struct SourceOf : VectorOf<T, N> {};
template <size_t N> struct SourceOf<uint8_t, N> : VectorType<uint16_t, N> {};
template <size_t N> struct SourceOf<int8_t, N> : VectorType<int16_t, N> {};

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
template <class T, size_t N> struct LikeOf<WideVector<T, N>> {
  using Element = T;
  static constexpr size_t kCount = N;
  template <class U> using type = typename VectorOf<U, N>::type;
};
template <class V, class T> using Like = typename LikeOf<V>::template type<T>;
template <class V> struct ElementOfType {
  using type = V;
};
template <class V>
  requires(kIsVector<V> || kIsWide<V>)
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

// The host's instruction for a conversion of a whole vector, where the compiler's way is longer: it
// takes vectors apart to widen them, and narrows integers by permutations of two.
#if defined(__AVX2__)
template <class D, class V> TW_INLINE D host_widened(V v) {
  using E = ElementOf<V>;
  using T = ElementOf<D>;
  constexpr bool kSign = kIsSigned<E>;
#if defined(__AVX512F__)
  if constexpr (sizeof(D) == 64) {
    if constexpr (std::is_same_v<E, float>) return D(_mm512_cvtps_pd(__m256(v)));
    if constexpr (std::is_same_v<T, double> && kSign) return D(_mm512_cvtepi32_pd(__m256i(v)));
    if constexpr (std::is_same_v<T, double>) return D(_mm512_cvtepu32_pd(__m256i(v)));
    if constexpr (sizeof(E) == 2)
      return D(kSign ? _mm512_cvtepi16_epi32(__m256i(v)) : _mm512_cvtepu16_epi32(__m256i(v)));
    if constexpr (sizeof(E) == 4)
      return D(kSign ? _mm512_cvtepi32_epi64(__m256i(v)) : _mm512_cvtepu32_epi64(__m256i(v)));
  }
#endif
  if constexpr (sizeof(D) == 32) {
    if constexpr (std::is_same_v<E, float>) return D(_mm256_cvtps_pd(__m128(v)));
    if constexpr (std::is_same_v<T, double>) return D(_mm256_cvtepi32_pd(__m128i(v)));
    if constexpr (sizeof(E) == 2)
      return D(kSign ? _mm256_cvtepi16_epi32(__m128i(v)) : _mm256_cvtepu16_epi32(__m128i(v)));
    if constexpr (sizeof(E) == 4)
      return D(kSign ? _mm256_cvtepi32_epi64(__m128i(v)) : _mm256_cvtepu32_epi64(__m128i(v)));
  }
  if constexpr (sizeof(D) == 16) {
    const __m128i low = _mm_cvtsi64_si128(bits_as<int64_t>(v));
    return D(kSign ? _mm_cvtepi16_epi32(low) : _mm_cvtepu16_epi32(low));
  }
}
// Of integers, to half their width.
template <class D, class V> TW_INLINE D host_narrowed(V v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && kElementBytesOf<V> == 8)
    return D(_mm512_cvtepi64_epi32(__m512i(v)));
  if constexpr (sizeof(V) == 64) return D(_mm512_cvtepi32_epi16(__m512i(v)));
#endif
  if constexpr (sizeof(V) == 32 && kElementBytesOf<V> == 8)
    return D(_mm256_castsi256_si128(
        _mm256_permutevar8x32_epi32(__m256i(v), _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6))));
  const __m128i kLow = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13);
  if constexpr (sizeof(V) == 32 && kElementBytesOf<V> == 4)
    return D(_mm256_castsi256_si128(_mm256_permute4x64_epi64(
        _mm256_shuffle_epi8(__m256i(v), _mm256_broadcastsi128_si256(kLow)), 0x08)));
  if constexpr (sizeof(V) == 16 && kElementBytesOf<V> == 4)
    return bits_as<D>(int64_t(_mm_cvtsi128_si64(_mm_shuffle_epi8(__m128i(v), kLow))));
}
// Whether the two above have it.
template <class T, class V> constexpr bool host_widens() {
  using E = ElementOf<V>;
  constexpr size_t kTo = sizeof(Like<V, T>);
  if constexpr (sizeof(T) != 2 * sizeof(E) || (kTo != 16 && kTo != 32 && kTo != kVectorBytes))
    return false;
  else if constexpr (std::is_integral_v<T> && std::is_integral_v<E>)
    return sizeof(E) == 2 || (sizeof(E) == 4 && kTo != 16);
  else
    return std::is_same_v<T, double> && kTo != 16 &&
           (std::is_same_v<E, float> || std::is_same_v<E, int32_t> || kTo == 64);
}
template <class T, class V> constexpr bool host_narrows() {
  using E = ElementOf<V>;
  if constexpr (!std::is_integral_v<T> || !std::is_integral_v<E> || 2 * sizeof(T) != sizeof(E))
    return false;
  else
    return sizeof(V) == 32 || sizeof(V) == kVectorBytes ? sizeof(E) >= 4
                                                        : sizeof(V) == 16 && sizeof(E) == 4;
}
#else
template <class D, class V> D host_widened(V v);
template <class D, class V> D host_narrowed(V v);
template <class T, class V> constexpr bool host_widens() { return false; }
template <class T, class V> constexpr bool host_narrows() { return false; }
#endif

template <class T, class V> TW_INLINE Like<V, T> convert(V v) {
  if constexpr (kIsVector<V>) {
    using E = ElementOf<V>;
    constexpr bool kIntegers = std::is_integral_v<T> && std::is_integral_v<E>;
    if constexpr (std::is_same_v<T, E>)
      return v;
    else if constexpr (host_widens<T, V>())
      return host_widened<Like<V, T>>(v);
    else if constexpr (host_narrows<T, V>())
      return host_narrowed<Like<V, T>>(v);
    // The compiler has no short way for the others between short integers and floats, or bytes, or
    // past one width.
    else if constexpr (std::is_floating_point_v<T> && std::is_integral_v<E> && sizeof(E) < 4)
      return convert<T>(convert<int32_t>(v));
    else if constexpr (kIntegers && sizeof(E) == 8 && sizeof(T) == 2 && sizeof(V) <= 32)
      return convert<T>(convert<uint32_t>(v));
    else if constexpr (sizeof(T) == 1 && sizeof(E) > 2)
      return convert<T>(convert<uint16_t>(v));
    else
      return __builtin_convertvector(v, Like<V, T>);
  } else {
    return T(v);
  }
}
// Spelled as a sum: that compilers know as a broadcast, and element by element they do not.
template <class V, class T> TW_INLINE V splat(T x) {
  if constexpr (kIsVector<V>) {
    using E = ElementOf<V>;
    if constexpr (std::is_floating_point_v<E>) {
      using U = Like<V, std::conditional_t<sizeof(E) == 8, uint64_t, uint32_t>>;
      return bits_as<V>(U(U{} + bits_as<ElementOf<U>>(E(x))));
    } else {
      return V{} + E(x);
    }
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
template <class V>
  requires kIsVector<V>
TW_INLINE V wrap_add(V a, V b) {
  return a + b;
}
template <class V> TW_INLINE auto negative(V x) { return bits_as<SignedBits<V>>(x) < 0; }

// a < b ? a : b and a > b ? a : b: b where one of them is a NaN.
template <class V> TW_INLINE V smaller(V a, V b) {
  using E [[maybe_unused]] = ElementOf<V>;
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64) {
    if constexpr (kIsDouble<V>) return V(_mm512_min_pd(__m512d(a), __m512d(b)));
    if constexpr (std::is_same_v<E, float>) return V(_mm512_min_ps(__m512(a), __m512(b)));
    if constexpr (std::is_same_v<E, int16_t>) return V(_mm512_min_epi16(__m512i(a), __m512i(b)));
    if constexpr (std::is_same_v<E, int32_t>) return V(_mm512_min_epi32(__m512i(a), __m512i(b)));
    if constexpr (std::is_same_v<E, uint32_t>) return V(_mm512_min_epu32(__m512i(a), __m512i(b)));
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) {
    if constexpr (kIsDouble<V>) return V(_mm256_min_pd(__m256d(a), __m256d(b)));
    if constexpr (std::is_same_v<E, float>) return V(_mm256_min_ps(__m256(a), __m256(b)));
    if constexpr (std::is_same_v<E, int16_t>) return V(_mm256_min_epi16(__m256i(a), __m256i(b)));
    if constexpr (std::is_same_v<E, int32_t>) return V(_mm256_min_epi32(__m256i(a), __m256i(b)));
    if constexpr (std::is_same_v<E, uint32_t>) return V(_mm256_min_epu32(__m256i(a), __m256i(b)));
  }
  if constexpr (sizeof(V) == 16 && std::is_same_v<E, int32_t>)
    return V(_mm_min_epi32(__m128i(a), __m128i(b)));
  if constexpr (sizeof(V) == 16 && std::is_same_v<E, uint32_t>)
    return V(_mm_min_epu32(__m128i(a), __m128i(b)));
#endif
  return select(a < b, a, b);
}
template <class V> TW_INLINE V larger(V a, V b) {
  using E [[maybe_unused]] = ElementOf<V>;
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64) {
    if constexpr (kIsDouble<V>) return V(_mm512_max_pd(__m512d(a), __m512d(b)));
    if constexpr (std::is_same_v<E, float>) return V(_mm512_max_ps(__m512(a), __m512(b)));
    if constexpr (std::is_same_v<E, int16_t>) return V(_mm512_max_epi16(__m512i(a), __m512i(b)));
    if constexpr (std::is_same_v<E, int32_t>) return V(_mm512_max_epi32(__m512i(a), __m512i(b)));
    if constexpr (std::is_same_v<E, uint32_t>) return V(_mm512_max_epu32(__m512i(a), __m512i(b)));
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) {
    if constexpr (kIsDouble<V>) return V(_mm256_max_pd(__m256d(a), __m256d(b)));
    if constexpr (std::is_same_v<E, float>) return V(_mm256_max_ps(__m256(a), __m256(b)));
    if constexpr (std::is_same_v<E, int16_t>) return V(_mm256_max_epi16(__m256i(a), __m256i(b)));
    if constexpr (std::is_same_v<E, int32_t>) return V(_mm256_max_epi32(__m256i(a), __m256i(b)));
    if constexpr (std::is_same_v<E, uint32_t>) return V(_mm256_max_epu32(__m256i(a), __m256i(b)));
  }
  if constexpr (sizeof(V) == 16 && std::is_same_v<E, int32_t>)
    return V(_mm_max_epi32(__m128i(a), __m128i(b)));
  if constexpr (sizeof(V) == 16 && std::is_same_v<E, uint32_t>)
    return V(_mm_max_epu32(__m128i(a), __m128i(b)));
#endif
  return select(a > b, a, b);
}

// The products of the low 32 bits of elements of 64.
template <class V> TW_INLINE V low_product(V a, V b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return V(_mm512_mul_epu32(__m512i(a), __m512i(b)));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) return V(_mm256_mul_epu32(__m256i(a), __m256i(b)));
#endif
  return (a & 0xffffffffu) * (b & 0xffffffffu);
}
// The bytes of each element, summed.
template <class V> TW_INLINE V sum_of_bytes(V x) {
  constexpr bool kWide = kElementBytesOf<V> == 8;
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64 && kWide)
    return V(_mm512_sad_epu8(__m512i(x), _mm512_setzero_si512()));
  if constexpr (sizeof(V) == 64)
    return V(_mm512_madd_epi16(_mm512_maddubs_epi16(__m512i(x), _mm512_set1_epi8(1)),
                               _mm512_set1_epi16(1)));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32 && kWide)
    return V(_mm256_sad_epu8(__m256i(x), _mm256_setzero_si256()));
  if constexpr (sizeof(V) == 32)
    return V(_mm256_madd_epi16(_mm256_maddubs_epi16(__m256i(x), _mm256_set1_epi8(1)),
                               _mm256_set1_epi16(1)));
#endif
  return (x * (ElementOf<V>(~ElementOf<V>(0)) / 255)) >> (8 * (kElementBytesOf<V> - 1));
}
// The products of words of 16 bits, summed two by two.
template <class W> TW_INLINE auto sums_of_products(W a, W b) {
  using I = Vector<int32_t, sizeof(W) / 4>;
#if defined(__AVX512BW__)
  if constexpr (sizeof(W) == 64) return I(_mm512_madd_epi16(__m512i(a), __m512i(b)));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(W) == 32) return I(_mm256_madd_epi16(__m256i(a), __m256i(b)));
#endif
  const I x = bits_as<I>(a), y = bits_as<I>(b);
  return I((x << 16 >> 16) * (y << 16 >> 16) + (x >> 16) * (y >> 16));
}
// Shifts by counts of their own, which give 0 beyond the width.
template <class V> TW_INLINE V shifted_left(V x, V n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && kElementBytesOf<V> == 8)
    return V(_mm512_sllv_epi64(__m512i(x), __m512i(n)));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32 && kElementBytesOf<V> == 8)
    return V(_mm256_sllv_epi64(__m256i(x), __m256i(n)));
#endif
  constexpr uint32_t kBits = 8 * kElementBytesOf<V>;
  return select(n < kBits, V(x << (n & (kBits - 1))), splat<V>(0));
}
template <class V> TW_INLINE V shifted_right(V x, V n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && kElementBytesOf<V> == 8)
    return V(_mm512_srlv_epi64(__m512i(x), __m512i(n)));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32 && kElementBytesOf<V> == 8)
    return V(_mm256_srlv_epi64(__m256i(x), __m256i(n)));
#endif
  constexpr uint32_t kBits = 8 * kElementBytesOf<V>;
  return select(n < kBits, V(x >> (n & (kBits - 1))), splat<V>(0));
}
// table[index] of each lane.
template <class V> TW_INLINE V looked_up(const uint32_t (&table)[4], V index) {
  if constexpr (!kIsVector<V>) {
    return table[index];
  } else {
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32)
      return V(_mm256_permutevar8x32_epi32(
          _mm256_setr_epi32(int(table[0]), int(table[1]), int(table[2]), int(table[3]), 0, 0, 0, 0),
          __m256i(index)));
#endif
    V d;
    for (size_t i = 0; i < LikeOf<V>::kCount; ++i) d[i] = table[index[i]];
    return d;
  }
}
// Bytes of each 16 from the sixteen of `table`, or of the vector itself when it is the table.
#if defined(__AVX2__)
template <class V> TW_INLINE V shuffled_bytes(V table, V index) {
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64) return V(_mm512_shuffle_epi8(__m512i(table), __m512i(index)));
#endif
  if constexpr (sizeof(V) == 32) return V(_mm256_shuffle_epi8(__m256i(table), __m256i(index)));
}
template <class V> inline constexpr bool kShufflesBytes = sizeof(V) == kVectorBytes;
#else
template <class V> V shuffled_bytes(V table, V index);
template <class V> inline constexpr bool kShufflesBytes = false;
#endif
// Sixteen bytes, again and again.
template <class V> TW_INLINE V repeated(const uint8_t (&bytes)[16]) {
  struct Sixteen {
    uint8_t bytes[16];
  };
  struct All {
    Sixteen part[sizeof(V) / 16];
  } all;
  for (Sixteen& part : all.part)
    for (size_t i = 0; i < 16; ++i) part.bytes[i] = bytes[i];
  return bits_as<V>(all);
}

// A predicate beside operands of type T, and 1 where it holds.
template <class T> using PredicateOf = std::conditional_t<kIsVector<T>, Like<T, int32_t>, bool>;
template <class T, class P> TW_INLINE T one_where(P p) {
  if constexpr (kIsVector<T>)
    return T(convert<std::make_signed_t<ElementOf<T>>>(p) & 1);
  else
    return T(p);
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
    if constexpr (sizeof(C) == 64) return _mm512_test_epi64_mask(__m512i(~c), __m512i(~c)) == 0;
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
    if constexpr (sizeof(C) == 64) return _mm512_test_epi64_mask(__m512i(c), __m512i(c)) == 0;
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(C) == 32) return _mm256_movemask_epi8(__m256i(c)) == 0;
    if constexpr (sizeof(C) == 16) return _mm_movemask_epi8(__m128i(c)) == 0;
#endif
  }
  return all(lacking(c));
}

// The first (0) or second (1) half of a vector, and two halves as one.
template <size_t kPart, class V> TW_INLINE auto half_vector(V v) {
  if constexpr (kIsWide<V>) {
    return v.part[kPart];
  } else {
    using Part = Vector<ElementOf<V>, LikeOf<V>::kCount / 2>;
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) return Part(_mm512_extracti64x4_epi64(__m512i(v), kPart));
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32) return Part(_mm256_extracti128_si256(__m256i(v), kPart));
#endif
    struct Parts {
      Part part[2];
    };
    return bits_as<Parts>(v).part[kPart];
  }
}
template <class P> TW_INLINE auto both_vectors(P first, P second) {
  constexpr size_t kCount = 2 * LikeOf<P>::kCount;
  if constexpr (sizeof(P) == kVectorBytes) {
    return WideVector<ElementOf<P>, kCount>{{first, second}};
  } else {
    using V = Vector<ElementOf<P>, kCount>;
#if defined(__AVX512F__)
    if constexpr (sizeof(P) == 32)
      return V(_mm512_inserti64x4(_mm512_castsi256_si512(__m256i(first)), __m256i(second), 1));
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(P) == 16) return V(_mm256_set_m128i(__m128i(second), __m128i(first)));
#endif
    struct Parts {
      P part[2];
    };
    return bits_as<V>(Parts{{first, second}});
  }
}
// f of vectors, or of each half of vectors whose lanes would not fit one vector as doubles.
template <class F, class V, class... S> TW_INLINE auto in_halves(F f, V a, S... s) {
  if constexpr (kIsVector<V> || kIsWide<V>) {
    if constexpr (LikeOf<V>::kCount * 8 > kVectorBytes)
      return both_vectors(f(half_vector<0>(a), half_vector<0>(s)...),
                          f(half_vector<1>(a), half_vector<1>(s)...));
    else
      return f(a, s...);
  } else {
    return f(a, s...);
  }
}

}  // namespace TW_TARGET
}  // namespace tw::isa
