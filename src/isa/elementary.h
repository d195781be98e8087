// Elementary functions behind the approximate instructions. Computed in double with explicit
// operations (no fused multiply-add, no library call), so every instruction set gives the same
// bits; far inside the manual's error bounds, and not the hardware's own bits, which are not
// published.
//
// Tested by tests/isa against the bounds of the PTX manual.
#pragma once

#include "isa/rounding.h"

namespace tw::isa {
inline namespace TW_TARGET {

// 2^x for finite x; the relative error is below 2^-27.
TW_INLINE double power_of_two(double x) {
  x = x < -1000.0 ? -1000.0 : x > 1000.0 ? 1000.0 : x;
  double shifted = x + 0x1.8p52;  // the integer part now lies in the low bits
  double t = (x - (shifted - 0x1.8p52)) * 0x1.62e42fefa39efp-1;  // |t| <= ln(2)/2
  double series =
      1.0 +
      t * (1.0 +
           t * (0x1p-1 + t * (0x1.5555555555555p-3 +
                              t * (0x1.5555555555555p-5 +
                                   t * (0x1.1111111111111p-7 + t * (0x1.6c16c16c16c17p-10 +
                                                                    t * 0x1.a01a01a01a01ap-13))))));
  return bits_as<double>(bits_as<uint64_t>(series) + (bits_as<uint64_t>(shifted) << 52));
}

// log2(x) for positive, normal, finite x.
TW_INLINE double log_two(double x) {
  uint64_t bits = bits_as<uint64_t>(x);
  uint64_t offset = bits - 0x3fe6a09e667f3bcdu;  // mantissa from sqrt(1/2) to sqrt(2)
  uint64_t exponent = bits_as<uint64_t>(0x1p52) | (((offset >> 52) + 1023) & 0x7ff);
  double e = bits_as<double>(exponent) - (0x1p52 + 1023.0);
  double m = bits_as<double>((offset & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
  double s = (m - 1.0) / (m + 1.0), z = s * s;
  double series =
      1.0 + z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9 + z * (1.0 / 11)))));
  return e + s * series * 0x1.71547652b82fep+1;  // 2 / ln(2)
}

// sin(2 pi f) for |f| <= 1/4.
TW_INLINE double sine_of_turn(double f) {
  double y = f * 0x1.921fb54442d18p+2, z = y * y;
  return y *
         (1.0 + z * (-0x1.5555555555555p-3 +
                     z * (0x1.1111111111111p-7 +
                          z * (-0x1.a01a01a01a01ap-13 +
                               z * (0x1.71de3a556c734p-19 +
                                    z * (-0x1.ae64567f544e4p-26 + z * 0x1.6124613a86d09p-33))))));
}
// The angle as a fraction of a turn, in float as on the hardware: large angles lose their fraction.
TW_INLINE double turns(float x) {
  float t = x * 0.15915494f;
  float whole = magnitude(t) < 0x1p23f
                    ? (t + (negative(t) ? -0x1p23f : 0x1p23f)) - (negative(t) ? -0x1p23f : 0x1p23f)
                    : t;
  return double(t - whole);  // |.| <= 1/2; NaN for infinities
}
TW_INLINE float sine(float x) {
  double f = turns(x);
  double folded = f > 0.25 ? 0.5 - f : f < -0.25 ? -0.5 - f : f;
  return float(sine_of_turn(folded));
}
TW_INLINE float cosine(float x) { return float(sine_of_turn(0.25 - magnitude(turns(x)))); }

TW_INLINE float exp2_approx(float x) {
  float r = float(power_of_two(double(x)));
  return x != x ? x : x > 200.0f ? __builtin_inff() : x < -200.0f ? 0.0f : r;
}
TW_INLINE float log2_approx(float x) {
  float r = float(log_two(double(x)));
  return x > 0 ? (infinite(x) ? x : r) : x == 0 ? -__builtin_inff() : __builtin_nanf("");
}
TW_INLINE float tanh_approx(float x) {
  double e = power_of_two(double(x) * 0x1.71547652b82fep+1);  // e^(2x)
  double r = 1.0 - 2.0 / (e + 1.0);
  float size = magnitude(x);
  return x != x ? x : size < 0x1p-12f ? x : size > 20.0f ? (negative(x) ? -1.0f : 1.0f) : float(r);
}

}  // namespace TW_TARGET
}  // namespace tw::isa
