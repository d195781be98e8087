// Elementary functions behind the approximate instructions. Computed in float with explicit
// operations (fused multiply-adds where written, no library call), so every instruction set gives
// the same bits; inside the manual's error bounds, and not the hardware's own bits, which are not
// published. The polynomials are minimax fits (their errors are given); V is float or a vector of
// floats.
//
// Tested by tests/isa against the bounds of the PTX manual.
#pragma once

#include "isa/rounding.h"

namespace tw::isa {
inline namespace TW_TARGET {

// c[0] + x * (c[1] + x * (...))
template <size_t N, class V> TW_INLINE V polynomial(const float (&c)[N], V x) {
  V sum = splat<V>(c[N - 1]);
  for (size_t i = N - 1; i-- > 0;) sum = fused(sum, x, splat<V>(c[i]));
  return sum;
}

// 2^x of |x| <= 200 or a NaN, `ordinary`: |x| < 126; the relative error is below 2^-23 where the
// result is normal.
template <class V> TW_INLINE V exp2_of_limited(V x, bool ordinary) {
  using I = Like<V, int32_t>;
  V shifted = x + 0x1.8p23f;           // the integer part now lies in the low bits
  V part = x - (shifted - 0x1.8p23f);  // |part| <= 1/2
  constexpr float kPower[] = {1.0f,           0x1.62e43p-1f,   0x1.ebfbep-3f,  0x1.c6af6cp-5f,
                              0x1.3b29e4p-7f, 0x1.5f0896p-10f, 0x1.446c72p-13f};  // 4e-9
  V power = polynomial(kPower, part);
  if (ordinary) return bits_as<V>(I(bits_as<I>(power) + (bits_as<I>(shifted) << 23)));
  I exponent = bits_as<I>(shifted) - 0x4b400000;
  I half = exponent >> 1;  // infinite and subnormal results: in two steps
  return power * bits_as<V>(I((half + 127) << 23)) * bits_as<V>(I((exponent - half + 127) << 23));
}
template <class V> TW_INLINE bool ordinary_power(V x) { return all(magnitude(x) < 126.0f); }
template <class V> TW_INLINE V exp2_approx(V x) {
  if (ordinary_power(x)) return exp2_of_limited(x, true);
  return exp2_of_limited(larger(splat<V>(-200.0f), smaller(splat<V>(200.0f), x)),
                         false);  // NaNs stay
}

// log2(x); the error is below 2^-23, relative or, between 1/2 and 2, absolute.
template <class V> TW_INLINE V log2_approx(V x) {
  using I = Like<V, int32_t>;
  constexpr int32_t kLeast = 0x3f3504f3;  // sqrt(1/2): the mantissa lies from there to sqrt(2)
  const bool normal = all((x >= 0x1p-126f) & (x < __builtin_inff()));
  auto subnormal = x < 0x1p-126f;
  V scaled = normal ? x : select(subnormal, V(x * 0x1p23f), x);
  I offset = bits_as<I>(scaled) - kLeast;
  I exponent = offset >> 23;
  if (!normal) exponent -= select(subnormal, splat<I>(23), 0);
  V m = bits_as<V>(I((offset & 0x7fffff) + kLeast));
  V s = (m - 1.0f) / (m + 1.0f);
  constexpr float kSeries[] = {0x1.715476p+1f, 0x1.ec70e6p-1f, 0x1.27470ap-1f,
                               0x1.ba1c3ap-2f};  // 4e-10
  V r = fused(s, polynomial(kSeries, V(s * s)), convert<float>(exponent));
  if (normal) return r;
  V special = select(x == 0, splat<V>(-__builtin_inff()), splat<V>(__builtin_nanf("")));
  return select(x > 0, select(infinite(x), x, r), special);
}

// sin(2 pi f) for |f| <= 1/4.
template <class V> TW_INLINE V sine_of_turn(V f) {
  V y = f * 0x1.921fb6p+2f;
  constexpr float kSeries[] = {1.0f, -0x1.555554p-3f, 0x1.11104ep-7f, -0x1.9fb6c2p-13f,
                               0x1.61a598p-19f};  // 2e-8
  return y * polynomial(kSeries, V(y * y));
}
// The angle as a fraction of a turn, in float as on the hardware: large angles lose their fraction.
template <class V> TW_INLINE V turns(V x) {
  V t = x * 0.15915494f;
  return t - round_integral(kRni, t);  // |.| <= 1/2; NaN for infinities
}
template <class V> TW_INLINE V sine(V x) {
  using U = FloatBits<V>;
  V f = turns(x), size = magnitude(f);
  V folded = smaller(V(0.5f - size), size);
  return sine_of_turn(bits_as<V>(U(bits_as<U>(folded) | (bits_as<U>(f) & 0x80000000u))));
}
template <class V> TW_INLINE V cosine(V x) { return sine_of_turn(V(0.25f - magnitude(turns(x)))); }

// The continued fraction, cut after seven terms; the relative error is below 2^-13.
template <class V> TW_INLINE V tanh_approx(V x) {
  constexpr float kMost = 4.97f;                                           // the fraction reaches 1
  V y = larger(splat<V>(-kMost), smaller(splat<V>(kMost), x)), z = y * y;  // NaNs stay
  constexpr float kAbove[] = {135135, 17325, 378, 1}, kBelow[] = {135135, 62370, 3150, 28};
  return y * polynomial(kAbove, z) / polynomial(kBelow, z);
}

}  // namespace TW_TARGET
}  // namespace tw::isa
