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

#include "isa/lane.h"

namespace tw::isa {
inline namespace TW_TARGET {

// ---- widening ----

TW_INLINE float widen(F16 h) {
  uint32_t magnitude = h.bits & 0x7fffu, sign = (h.bits & 0x8000u) << 16;
  // The exponent is rebiased by a product: exact, subnormals included.
  uint32_t scaled = bits_as<uint32_t>(bits_as<float>(magnitude << 13) * 0x1p112f);
  return bits_as<float>(scaled | sign | (magnitude >= 0x7c00u ? 0x7f800000u : 0u));
}
TW_INLINE float widen(BF16 h) { return bits_as<float>(h.bits << 16); }

// ---- narrowing, to nearest even: NaN becomes 0x7fff, too large becomes infinity ----

template <class H> H narrow(float x);
template <> TW_INLINE F16 narrow<F16>(float x) {
  uint32_t bits = bits_as<uint32_t>(x), sign = (bits >> 16) & 0x8000u, m = bits & 0x7fffffffu;
  uint32_t normal = (m + 0xfffu + ((m >> 13) & 1) - (112u << 23)) >> 13;
  // Adding 0.5 leaves the multiples of 2^-24, rounded, in the low bits.
  uint32_t subnormal = bits_as<uint32_t>(bits_as<float>(m) + 0.5f) - 0x3f000000u;
  uint32_t half = m < 0x38800000u ? subnormal : m >= 0x47800000u ? 0x7c00u : normal;
  return F16{m > 0x7f800000u ? 0x7fffu : half | sign};
}
template <> TW_INLINE BF16 narrow<BF16>(float x) {
  uint32_t bits = bits_as<uint32_t>(x);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  return BF16{(bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded};
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
// largest finite value.
template <class Format> TW_INLINE uint32_t round_to_format(float x, uint8_t rnd, bool finite) {
  using F = FormatOf<Format>;
  constexpr int kBias = (1 << (F::kExponent - 1)) - 1;
  uint32_t bits = bits_as<uint32_t>(x), m = bits & 0x7fffffffu;
  bool negative = bits >> 31;
  uint32_t sign = (bits >> 31) << (F::kExponent + F::kMantissa);
  int32_t field = int32_t(m >> 23);
  uint32_t significand = (m & 0x7fffffu) | (field != 0 ? 0x800000u : 0u);
  int32_t exponent = (field != 0 ? field : 1) - 127 + kBias;
  int32_t below = exponent < 1 ? 1 - exponent : 0;
  uint32_t shift = uint32_t(23 - F::kMantissa + below);
  shift = shift > 25 ? 25 : shift;
  uint32_t kept = significand >> shift, rest = significand & ((1u << shift) - 1),
           middle = (1u << shift) >> 1;
  // Bitwise rather than logical: no branches, so that the lanes' loop is vectorised.
  uint32_t tie_up = rnd == kRna ? 1u : kept & 1;
  uint32_t nearest = uint32_t(rest > middle) | (uint32_t(rest == middle) & tie_up);
  uint32_t directed = uint32_t(rest != 0) & (rnd == kRm   ? uint32_t(negative)
                                             : rnd == kRp ? uint32_t(!negative)
                                                          : 0u);
  kept += rnd == kRn || rnd == kRna ? nearest : directed;
  uint32_t value = (exponent < 1 ? 0u : uint32_t(exponent - 1) << F::kMantissa) + kept;
  bool to_infinity =
      rnd == kRn || rnd == kRna || (rnd == kRm && negative) || (rnd == kRp && !negative);
  bool infinite = m == 0x7f800000u;
  uint32_t large = (!finite) & (to_infinity | infinite) ? F::kInfinity : F::kMost;
  value = ((value > F::kMost) | infinite ? large : value) | sign;
  return m > 0x7f800000u ? F::kNan : value;
}
// The same for the usual case.
template <class H> TW_INLINE H narrow_by(uint8_t rnd, bool finite, float x) {
  return H{round_to_format<H>(x, rnd, finite)};
}

TW_INLINE float widen_e4m3(uint32_t b) {
  uint32_t magnitude = b & 0x7fu, sign = (b & 0x80u) << 24;
  uint32_t normal = (magnitude << 20) + (120u << 23);
  uint32_t subnormal = bits_as<uint32_t>(float(int32_t(magnitude)) * 0x1p-9f);
  return bits_as<float>(magnitude == 0x7fu ? 0x7fffffffu
                                           : (magnitude < 8 ? subnormal : normal) | sign);
}
TW_INLINE float widen_e5m2(uint32_t b) { return widen(F16{(b << 8) & 0xffffu}); }

// ---- rounding to odd ----

// x + y with the last bit set when the sum is not exact.
template <class T> TW_INLINE T odd_sum(T x, T y) {
  T sum = x + y;
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  bool swap = (bits_as<Bits>(x) << 1) < (bits_as<Bits>(y) << 1);  // by magnitude
  T larger = swap ? y : x, smaller = swap ? x : y;
  T error = smaller - (sum - larger);
  Bits bits = bits_as<Bits>(sum);
  bool inexact = error > 0 || error < 0;
  bool outward = (error > 0) == (sum > 0);
  Bits odd = (bits & 1) ? bits : outward ? bits + 1 : bits - 1;
  return bits_as<T>(inexact ? odd : bits);
}
TW_INLINE float odd_float(double x) {
  float f = float(x);
  uint32_t bits = bits_as<uint32_t>(f);
  double back = double(f);
  double was = __builtin_fabs(x), is = __builtin_fabs(back);
  bool low = is<was, high = is> was;
  uint32_t odd = (bits & 1) ? bits : low ? bits + 1 : bits - 1;
  return bits_as<float>(low || high ? odd : bits);
}
TW_INLINE float odd_float(float x) { return x; }
// Any integer as a double, rounded to odd.
template <class I> TW_INLINE double odd_double(I value) {
  if constexpr (sizeof(I) < 8)
    return double(value);
  else {
    bool negative = kIsSigned<I> && int64_t(value) < 0;
    uint64_t magnitude = negative ? 0 - uint64_t(value) : uint64_t(value);
    uint64_t top = (magnitude >> 11) | ((magnitude & 0x7ff) != 0);
    double d =
        magnitude < (1ull << 53) ? double(int64_t(magnitude)) : double(int64_t(top)) * 2048.0;
    return negative ? -d : d;
  }
}

// ---- lane by lane over halves and pairs ----

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <class T>
inline constexpr bool kIsPair = std::is_same_v<T, F16x2> || std::is_same_v<T, BF16x2>;
template <class T> struct HalfOf {
  using type = T;
};
template <> struct HalfOf<F16x2> {
  using type = F16;
};
template <> struct HalfOf<BF16x2> {
  using type = BF16;
};
template <class T> using Half = typename HalfOf<T>::type;

template <class T> TW_INLINE Half<T> low_half(T x) { return Half<T>{x.bits & 0xffffu}; }
template <class T> TW_INLINE Half<T> high_half(T x) { return Half<T>{x.bits >> 16}; }
template <class T> TW_INLINE T join(Half<T> low, Half<T> high) {
  return T{low.bits | high.bits << 16};
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
  constexpr uint32_t kExponentBits = std::is_same_v<H, F16> ? 0x7c00 : 0x7f80;
  return H{(h.bits & kExponentBits) == 0 ? h.bits & 0x8000u : h.bits};
}
TW_INLINE bool is_nan(F16 h) { return (h.bits & 0x7fffu) > 0x7c00u; }
TW_INLINE bool is_nan(BF16 h) { return (h.bits & 0x7fffu) > 0x7f80u; }

}  // namespace TW_TARGET
}  // namespace tw::isa
