// 16-bit floats, packed pairs and the 8-bit and tf32 formats as bits; conversion to and from float.
//
// Arithmetic on halves is done in float (or double) and rounded once: the sum or product of two
// halves rounded to 24 bits and then to 11 or 8 equals the directly rounded one (24 >= 2 * 11 + 2).
// Where that does not hold (fused multiply-add, products below float's least normal, conversions
// from double and 64-bit integers) the wide value is first rounded to odd, which a second rounding
// cannot notice.
//
// Tested by tests/isa against an independent reference.
#pragma once

#include "isa/vector.h"

namespace tw::isa {
inline namespace TW_TARGET {

// The bodies here are templates over one half and a vector of them (vector.h): F16 or
// HalfVector<F16, N>.
template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <class H, size_t N> inline constexpr bool kIsHalf<HalfVector<H, N>> = true;
template <class H, size_t N> inline constexpr bool kIsHalf<SpreadHalfVector<H, N>> = true;
template <class T>
inline constexpr bool kIsPair = std::is_same_v<T, F16x2> || std::is_same_v<T, BF16x2>;
template <class P, size_t N> inline constexpr bool kIsPair<PackedVector<P, N>> = kIsPair<P>;
// F16 or BF16, of one or many.
template <class T> struct FormatOfHalf {
  using type = T;
};
template <class H, size_t N> struct FormatOfHalf<HalfVector<H, N>> {
  using type = H;
};
template <class H, size_t N> struct FormatOfHalf<SpreadHalfVector<H, N>> {
  using type = H;
};
template <class H>
inline constexpr bool kIsF16 = std::is_same_v<typename FormatOfHalf<H>::type, F16>;
// What lies in .bits.
template <class H> using HalfBits = decltype(H::bits);
template <class H> using FloatOf = Like<HalfBits<H>, float>;

// ---- widening ----

// The exponent is rebiased by a product: exact, subnormals included.
template <class U> TW_INLINE Like<U, float> widen_f16(U h) {
  using F = Like<U, float>;
  U magnitude = h & 0x7fffu, sign = (h & 0x8000u) << 16;
  U scaled = bits_as<U>(bits_as<F>(U(magnitude << 13)) * 0x1p112f);
  return bits_as<F>(U(scaled | sign | select(magnitude >= 0x7c00u, splat<U>(0x7f800000u), 0u)));
}
TW_INLINE float widen(F16 h) { return widen_f16(h.bits); }
TW_INLINE float widen(BF16 h) { return bits_as<float>(h.bits << 16); }
template <size_t N> TW_INLINE Vector<float, N> widen(HalfVector<F16, N> h) {
#if defined(__AVX512F__)
  if constexpr (N == 16)
    return bits_as<Vector<float, N>>(_mm512_cvtph_ps(bits_as<__m256i>(h.bits)));
#endif
#if defined(__F16C__)
  if constexpr (N == 8) return bits_as<Vector<float, N>>(_mm256_cvtph_ps(bits_as<__m128i>(h.bits)));
  if constexpr (N == 4)
    return bits_as<Vector<float, N>>(_mm_cvtph_ps(_mm_cvtsi64_si128(bits_as<int64_t>(h.bits))));
#endif
  return widen_f16(convert<uint32_t>(h.bits));
}
template <size_t N> TW_INLINE Vector<float, N> widen(HalfVector<BF16, N> h) {
#if defined(__AVX2__)  // the compiler's conversion is longer
  if constexpr (N == 8)
    return bits_as<Vector<float, N>>(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits_as<__m128i>(h.bits)), 16));
#endif
  return bits_as<Vector<float, N>>(convert<uint32_t>(h.bits) << 16);
}

template <size_t N> TW_INLINE Vector<float, N> widen(SpreadHalfVector<BF16, N> h) {
  return bits_as<Vector<float, N>>(h.bits << 16);
}

// ---- narrowing, to nearest even: NaN becomes 0x7fff, too large becomes infinity ----

template <class V> TW_INLINE Like<V, uint32_t> narrow_f16(V x) {
  using U = Like<V, uint32_t>;
  U bits = bits_as<U>(x), sign = (bits >> 16) & 0x8000u, m = bits & 0x7fffffffu;
  U normal = (m + 0xfffu + ((m >> 13) & 1u) - (112u << 23)) >> 13;
  // Adding 0.5 leaves the multiples of 2^-24, rounded, in the low bits.
  U subnormal = bits_as<U>(bits_as<V>(m) + 0.5f) - 0x3f000000u;
  U half = select(m < 0x38800000u, subnormal, select(m >= 0x47800000u, splat<U>(0x7c00u), normal));
  return half | sign;
}
template <class V> TW_INLINE Like<V, uint32_t> narrow_bf16(V x) {
  using U = Like<V, uint32_t>;
  U bits = bits_as<U>(x);
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}
// H: F16, BF16 or a vector of them; x is no NaN.
template <class H> TW_INLINE H narrow_number(FloatOf<H> x) {
#if defined(__AVX512F__)
  if constexpr (kIsF16<H> && sizeof x == 64)
    return H{bits_as<HalfBits<H>>(_mm512_cvtps_ph(bits_as<__m512>(x), _MM_FROUND_TO_NEAREST_INT))};
#endif
#if defined(__F16C__)
  if constexpr (kIsF16<H> && sizeof x == 32)
    return H{bits_as<HalfBits<H>>(_mm256_cvtps_ph(bits_as<__m256>(x), _MM_FROUND_TO_NEAREST_INT))};
  if constexpr (kIsF16<H> && sizeof x == 16)
    return H{bits_as<HalfBits<H>>(
        int64_t(_mm_cvtsi128_si64(_mm_cvtps_ph(bits_as<__m128>(x), _MM_FROUND_TO_NEAREST_INT))))};
#endif
  if constexpr (kIsF16<H>)
    return H{convert<ElementOf<HalfBits<H>>>(narrow_f16(x))};
  else
    return H{convert<ElementOf<HalfBits<H>>>(narrow_bf16(x))};
}
template <class H> TW_INLINE H narrow(FloatOf<H> x) {
#if defined(__F16C__)
  if constexpr (kIsF16<H> && sizeof x >= 16) return narrow_number<H>(canonical(x));
#endif
  using U = FloatBits<FloatOf<H>>;
  const U half = kIsF16<H> ? narrow_f16(x) : narrow_bf16(x);
  return H{convert<ElementOf<HalfBits<H>>>(select(x != x, splat<U>(0x7fff), half))};
}

// ---- any format, any rounding ----

template <class Format> struct FormatOf;
template <> struct FormatOf<F16> {
  static constexpr int kExponent = 5, kMantissa = 10;
  static constexpr uint32_t kNan = 0x7fff, kMost = 0x7bff, kInfinity = 0x7c00;
};
template <> struct FormatOf<BF16> {
  static constexpr int kExponent = 8, kMantissa = 7;
  static constexpr uint32_t kNan = 0x7fff, kMost = 0x7f7f, kInfinity = 0x7f80;
};
struct E4M3 {};
struct E5M2 {};
template <> struct FormatOf<E4M3> {
  static constexpr int kExponent = 4, kMantissa = 3;
  static constexpr uint32_t kNan = 0x7f, kMost = 0x7e, kInfinity = 0x7f;
};
template <> struct FormatOf<E5M2> {
  static constexpr int kExponent = 5, kMantissa = 2;
  static constexpr uint32_t kNan = 0x7f, kMost = 0x7b, kInfinity = 0x7c;
};
template <> struct FormatOf<Tf32> {
  static constexpr int kExponent = 8, kMantissa = 10;
  static constexpr uint32_t kNan = 0x3ffff, kMost = 0x3fbff, kInfinity = 0x3fc00;
};

// The bits of x in the format, sign bit above the exponent. `finite`: what is too large becomes the
// largest finite value. kNumber: x is no NaN.
template <class Format, bool kNumber = false, class V>
TW_INLINE Like<V, uint32_t> round_to_format(V x, uint8_t rnd, bool finite) {
  using F = FormatOf<Format>;
  using U = Like<V, uint32_t>;
  using I = Like<V, int32_t>;
  constexpr int kBias = (1 << (F::kExponent - 1)) - 1;
  constexpr uint32_t kShift = 23 - F::kMantissa;
  const bool nearest = rnd == kRn || rnd == kRna;
  U bits = bits_as<U>(x), m = bits & 0x7fffffffu;
  U negative = bits >> 31;
  if constexpr (F::kExponent == 8) {  // float's own exponents: a carry out of the mantissa is right
    constexpr uint32_t kRest = (1u << kShift) - 1u, kSize = (1u << (31 - kShift)) - 1u;
    U more = rnd == kRn    ? U((kRest >> 1) + ((bits >> kShift) & 1u))
             : rnd == kRna ? splat<U>((kRest >> 1) + 1u)
             : rnd == kRm  ? U((0u - negative) & kRest)
             : rnd == kRp  ? U((negative - 1u) & kRest)
                           : splat<U>(0u);
    U cut = (bits + more) >> kShift;
    if (finite) cut = select((cut & kSize) > F::kMost, U((cut & ~kSize) | F::kMost), cut);
    return kNumber ? cut : select(m > 0x7f800000u, splat<U>(F::kNan), cut);
  }
  U sign = negative << (F::kExponent + F::kMantissa);
  U field = m >> 23;
  U significand = (m & 0x7fffffu) | select(field != 0u, splat<U>(0x800000u), 0u);
  I exponent = bits_as<I>(select(field != 0u, field, 1u)) - (127 - kBias);
  U below = bits_as<U>(select(exponent < 1, I(1 - exponent), 0));
  U shift = select(below > 25u - kShift, splat<U>(25u), U(below + kShift));
  U kept = significand >> shift, unit = splat<U>(1u) << shift, rest = significand & (unit - 1u),
    middle = unit >> 1;
  U tie_up = rnd == kRna ? splat<U>(1u) : U(kept & 1u);
  U up = nearest ? U(select(rest > middle, splat<U>(1u), 0u) | (select(rest == middle, tie_up, 0u)))
                 : select(rest != 0u,
                          rnd == kRm   ? negative
                          : rnd == kRp ? U(negative ^ 1u)
                                       : splat<U>(0u),
                          0u);
  kept += up;
  U value =
      select(exponent < 1, splat<U>(0u), U(bits_as<U>(I(exponent - 1)) << uint32_t(F::kMantissa))) +
      kept;
  U to_infinity = nearest ? splat<U>(1u)
                          : (rnd == kRm   ? negative
                             : rnd == kRp ? U(negative ^ 1u)
                                          : splat<U>(0u));
  auto infinite = m == 0x7f800000u;
  U large = finite ? splat<U>(F::kMost)
                   : select((to_infinity != 0u) | infinite, splat<U>(F::kInfinity), F::kMost);
  value = select((value > F::kMost) | infinite, large, value) | sign;
  return select(m > 0x7f800000u, splat<U>(F::kNan), value);
}
// The same for halves. The host converts to f16 as the instruction asks; bf16 is float cut short.
#if defined(__F16C__)
template <int kRounding, class V> TW_INLINE auto host_narrow(V x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64)
    return bits_as<Like<V, uint16_t>>(_mm512_cvtps_ph(bits_as<__m512>(x), kRounding));
#endif
  if constexpr (sizeof(V) == 32)
    return bits_as<Like<V, uint16_t>>(_mm256_cvtps_ph(bits_as<__m256>(x), kRounding));
  if constexpr (sizeof(V) == 16)
    return bits_as<Like<V, uint16_t>>(
        int64_t(_mm_cvtsi128_si64(_mm_cvtps_ph(bits_as<__m128>(x), kRounding))));
}
#endif
template <class H, bool kNumber = false>
TW_INLINE H narrow_by(uint8_t rnd, bool finite, FloatOf<H> x) {
#if defined(__F16C__)
  if constexpr (kIsF16<H> && sizeof x >= 16) {
    using B = HalfBits<H>;
    const auto y = kNumber ? x : canonical(x);
    B h = rnd == kRz   ? host_narrow<_MM_FROUND_TO_ZERO>(y)
          : rnd == kRm ? host_narrow<_MM_FROUND_TO_NEG_INF>(y)
          : rnd == kRp ? host_narrow<_MM_FROUND_TO_POS_INF>(y)
                       : host_narrow<_MM_FROUND_TO_NEAREST_INT>(y);
    if (finite) {
      const B size = h & uint16_t{0x7fff};
      h = select(size == uint16_t{0x7c00}, B((h & uint16_t{0x8000}) | uint16_t{0x7bff}), h);
    }
    return H{h};
  }
#endif
  return H{convert<ElementOf<HalfBits<H>>>(
      round_to_format<typename FormatOfHalf<H>::type, kNumber>(x, rnd, finite))};
}
// By .rnd and .satfinite of an instruction.
template <class H, bool kNumber = false, class M> TW_INLINE H narrow_as(M m, FloatOf<H> x) {
  if (m[Field::rnd] != kRn || m[Field::satfinite])
    return narrow_by<H, kNumber>(m[Field::rnd], m[Field::satfinite], x);
  return kNumber ? narrow_number<H>(x) : narrow<H>(x);
}

// To E4M3 or E5M2, to nearest even, with what is too large limited to the largest number. Added to
// its power of two (or to the least normal number's) times 2^(23 - mantissa), a number leaves its
// rounded significand in the low bits of the sum.
template <class Format, class V> TW_INLINE Like<V, uint32_t> narrow_f8(V x) {
  using F = FormatOf<Format>;
  using U = Like<V, uint32_t>;
  constexpr int kBias = (1 << (F::kExponent - 1)) - 1;
  constexpr uint32_t kShift = 23 - F::kMantissa, kRebias = uint32_t(127 - kBias) << 23;
  constexpr uint32_t kLeastNormal = kRebias + (1u << 23);
  const V size = smaller(magnitude(x), splat<V>(bits_as<float>((F::kMost << kShift) + kRebias)));
  const U field = bits_as<U>(larger(bits_as<V>(U(bits_as<U>(size) & 0x7f800000u)),
                                    splat<V>(bits_as<float>(kLeastNormal))));
  const U unit = field + (kShift << 23);
  const U significand = bits_as<U>(V(size + bits_as<V>(unit))) - unit;
  const U value = ((field - kLeastNormal) >> kShift) + significand;
  const U sign = (bits_as<U>(x) >> 24) & 0x80u;
  return select(x != x, splat<U>(F::kNan), U(value | sign));
}
template <class U> TW_INLINE Like<U, float> widen_e4m3(U b) {
  using F = Like<U, float>;
  U magnitude = b & 0x7fu, sign = (b & 0x80u) << 24;
  U normal = (magnitude << 20) + (120u << 23);
  U subnormal = bits_as<U>(convert<float>(bits_as<Like<U, int32_t>>(magnitude)) * 0x1p-9f);
  return bits_as<F>(select(magnitude == 0x7fu, splat<U>(0x7fffffffu),
                           U(select(magnitude < 8u, subnormal, normal) | sign)));
}

// ---- rounding to odd ----

// x + y with the last bit set when the sum is not exact.
template <class V> TW_INLINE V odd_sum(V x, V y) {
  using I = SignedBits<V>;
  V sum = x + y;
  V of_y = sum - x;
  V error = (x - (sum - of_y)) + (y - of_y);  // exact; NaN where the sum is not finite
  I bits = bits_as<I>(sum);
  auto inexact = (error > 0) | (error < 0);
  auto outward = (bits ^ bits_as<I>(error)) < 0;  // the sum was rounded away from zero
  return bits_as<V>(select(inexact, I((bits - select(outward, splat<I>(1), 0)) | 1), bits));
}
// A double as a float, wherever it lies.
template <class V> TW_INLINE Like<V, float> odd_float_of_any(V x) {
  using F = Like<V, float>;
  using I = SignedBits<F>;
  F f = convert<float>(x);
  V was = magnitude(x), is = magnitude(convert<double>(f));
  I bits = bits_as<I>(f);
  return bits_as<F>(
      select((is < was) | (is > was), I((bits - select(is > was, splat<I>(1), 0)) | 1), bits));
}
// The same where float has no subnormal, infinity or zero: its bits are kept, the last of them set
// where there are others.
template <class V> TW_INLINE Like<V, float> odd_float_of_ordinary(V x) {
  using U = Like<V, uint64_t>;
  constexpr uint64_t kRest = (uint64_t{1} << (52 - 23)) - 1;
  U bits = bits_as<U>(x);
  return convert<float>(bits_as<V>(U((bits | ((bits & kRest) + kRest)) & ~kRest)));
}
template <class V>
  requires kIsDouble<V>
TW_INLINE Like<V, float> odd_float(V x) {
  const auto f = in_halves([](auto v) TW_INLINE_LAMBDA { return odd_float_of_ordinary(v); }, x);
  if (all((magnitude(f) > 0x1p-126f) & (magnitude(f) < __builtin_inff()))) return f;
  return in_halves([](auto v) TW_INLINE_LAMBDA { return odd_float_of_any(v); }, x);
}

// ---- 64-bit integers and doubles ----

#if defined(__AVX512DQ__)
inline constexpr bool kHasQuadwords = true;  // conversions of 64-bit integers, and of unsigned ones
#else
inline constexpr bool kHasQuadwords = false;
#endif

// To nearest even.
template <class V> TW_INLINE Like<V, double> double_of(V value) {
  if constexpr (kIsVector<V> && sizeof(ElementOf<V>) == 8 && !kHasQuadwords) {
    // The halves as mantissas of 2^52 and 2^84; the top bit of a signed number counts upwards from
    // -2^63. Only the last sum rounds.
    using U = Like<V, uint64_t>;
    using F = Like<V, double>;
    constexpr double kOffset = kIsSigned<ElementOf<V>> ? 0x1p84 + 0x1p63 + 0x1p52 : 0x1p84 + 0x1p52;
    U bits = bits_as<U>(value) ^ (kIsSigned<ElementOf<V>> ? 0x8000000000000000u : 0u);
    F high = bits_as<F>(U((bits >> 32) | bits_as<uint64_t>(0x1p84)));
    F low = bits_as<F>(U((bits & 0xffffffffu) | bits_as<uint64_t>(0x1p52)));
    return (high - kOffset) + low;
  } else {
    return convert<double>(value);
  }
}
// The low 64 bits of an integral number between -2^64 and 2^64.
template <class V> TW_INLINE Like<V, uint64_t> integer_of(V x) {
  using U = Like<V, uint64_t>;
  constexpr double kShift = 0x1.8p52;
  V high = (x * 0x1p-32 + kShift) - kShift;  // to nearest
  V low = x - high * 0x1p32;                 // exact: 33 bits and a sign
  return ((bits_as<U>(V(high + kShift)) - bits_as<uint64_t>(kShift)) << 32) +
         (bits_as<U>(V(low + kShift)) - bits_as<uint64_t>(kShift));
}
// Any integer as a double: exact, or rounded to odd at a place that neither float nor a half reaches.
template <class V> TW_INLINE Like<V, double> odd_double(V value) {
  if constexpr (sizeof(ElementOf<V>) < 8) {
    return convert<double>(value);
  } else {
    using U = Like<V, uint64_t>;
    constexpr uint64_t kExact = uint64_t{1} << 53;
    U bits = bits_as<U>(value);
    auto large = kIsSigned<ElementOf<V>> ? bits + kExact > 2 * kExact : bits > kExact;
    auto inexact = large & ((bits & 0xfffu) != 0u);
    return double_of(bits_as<V>(select(inexact, U((bits & ~uint64_t{0xfff}) | 0x800u), bits)));
  }
}

// ---- lane by lane over halves and pairs ----

template <class T> struct HalfOf {
  using type = T;
};
template <> struct HalfOf<F16x2> {
  using type = F16;
};
template <> struct HalfOf<BF16x2> {
  using type = BF16;
};
template <class P, size_t N> struct HalfOf<PackedVector<P, N>> {
  using type = HalfVector<typename HalfOf<P>::type, N>;
};
// bf16 is the upper half of a float: to spread a pair costs nothing.
template <size_t N> struct HalfOf<PackedVector<BF16x2, N>> {
  using type = SpreadHalfVector<BF16, N>;
};
template <class T> using Half = typename HalfOf<T>::type;

template <class T> TW_INLINE Half<T> low_half(T x) {
  using Bits = HalfBits<Half<T>>;
  return Half<T>{convert<ElementOf<Bits>>(HalfBits<T>(x.bits & 0xffffu))};
}
template <class T> TW_INLINE Half<T> high_half(T x) {
  using Bits = HalfBits<Half<T>>;
  return Half<T>{convert<ElementOf<Bits>>(HalfBits<T>(x.bits >> 16))};
}
template <class T> TW_INLINE T join(Half<T> low, Half<T> high) {
  return T{convert<uint32_t>(low.bits) | convert<uint32_t>(high.bits) << 16};
}

// f on a half, or on each half of a pair.
template <class T, class F, class... S> TW_INLINE T each_half(F f, T a, S... s) {
  if constexpr (kIsPair<T>)
    return join<T>(f(low_half(a), low_half(s)...), f(high_half(a), high_half(s)...));
  else
    return f(a, s...);
}

// Subnormal -> zero of the same sign.
template <class H> TW_INLINE H flush_half(H h) {
  using B = HalfBits<H>;
  constexpr uint16_t kExponentBits = kIsF16<H> ? 0x7c00 : 0x7f80;
  return H{select((h.bits & kExponentBits) == 0, B(h.bits & uint16_t{0x8000}), h.bits)};
}
template <class H>
  requires kIsHalf<H>
TW_INLINE auto is_nan(H h) {
  constexpr uint16_t kInfinity = kIsF16<H> ? 0x7c00 : 0x7f80;
  return (h.bits & uint16_t{0x7fff}) > kInfinity;
}

}  // namespace TW_TARGET
}  // namespace tw::isa
