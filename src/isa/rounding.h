// Arithmetic with directed rounding (.rz .rm .rp), without changing the host's rounding mode: every
// result is first rounded to nearest; the sign of what is missing then tells whether to take a
// step.
//
// For f32 the missing part is found in double, where products are exact. For f64 it comes from
// error-free transforms (two-sum, fused multiply-add residuals), scaled where they would underflow.
//
// Tested by tests/isa against exact integer arithmetic.
#pragma once

#include "isa/half.h"

namespace tw::isa {
inline namespace TW_TARGET {

template <class T> using FloatBits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T> TW_INLINE bool negative(T x) {
  return (bits_as<FloatBits<T>>(x) >> (kBitsOf<T> - 1)) != 0;
}
template <class T> TW_INLINE bool infinite(T x) { return x - x != T(0) && x == x; }
template <class T> TW_INLINE bool finite(T x) { return x - x == T(0); }
template <class T> TW_INLINE T outward(T x) {
  return bits_as<T>(FloatBits<T>(bits_as<FloatBits<T>>(x) + 1));
}
template <class T> TW_INLINE T inward(T x) {
  return bits_as<T>(FloatBits<T>(bits_as<FloatBits<T>>(x) - 1));
}
template <class T> TW_INLINE T next_up(T x) { return negative(x) ? inward(x) : outward(x); }
template <class T> TW_INLINE T next_down(T x) { return negative(x) ? outward(x) : inward(x); }

TW_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TW_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
TW_INLINE float square_root(float a) { return __builtin_sqrtf(a); }
TW_INLINE double square_root(double a) { return __builtin_sqrt(a); }
TW_INLINE float magnitude(float a) { return __builtin_fabsf(a); }
TW_INLINE double magnitude(double a) { return __builtin_fabs(a); }

// `near` is the value rounded to nearest; `missing` has the sign of value - near.
template <class T> TW_INLINE T settle(uint8_t rnd, T near, double missing) {
  bool low = missing > 0, high = missing < 0;  // near is too low, too high
  switch (rnd) {
    case kRz: return (negative(near) ? low : high) ? inward(near) : near;
    case kRm: return high ? next_down(near) : near;
    case kRp: return low ? next_up(near) : near;
    default: return near;
  }
}
// A double that is exact or rounded to odd, as a float.
TW_INLINE float settle_float(uint8_t rnd, double x) {
  float near = float(x);
  double back = double(near);
  return settle(rnd, near, back < x ? 1.0 : back > x ? -1.0 : 0.0);
}
// The sign of x - infinity, when the exact value is finite: `near` has overflowed.
template <class T> TW_INLINE double overflow_of(T near) { return negative(near) ? 1.0 : -1.0; }

// An exact sum of zero is -0 when rounding down, unless both terms are +0.
template <class T> TW_INLINE T zero_sum(uint8_t rnd, T sum, T x, T y) {
  return rnd == kRm && sum == 0 && (negative(x) || negative(y)) ? -T(0) : sum;
}

// ---- f32 ----

TW_INLINE float add_rounded(uint8_t rnd, float a, float b) {
  return zero_sum(rnd, settle_float(rnd, odd_sum(double(a), double(b))), a, b);
}
TW_INLINE float mul_rounded(uint8_t rnd, float a, float b) {
  return settle_float(rnd, double(a) * double(b));
}
TW_INLINE float fma_rounded(uint8_t rnd, float a, float b, float c) {
  double product = double(a) * double(b);
  double sum = odd_sum(product, double(c));
  return sum == 0 ? float(zero_sum(rnd, sum, product, double(c))) : settle_float(rnd, sum);
}
TW_INLINE float div_rounded(uint8_t rnd, float a, float b) {
  float near = a / b;
  double back = double(near) * double(b);  // exact
  double missing = back < double(a) ? 1.0 : back > double(a) ? -1.0 : 0.0;
  return settle(rnd, near, negative(b) ? -missing : missing);
}
TW_INLINE float sqrt_rounded(uint8_t rnd, float a) {
  float near = square_root(a);
  double back = double(near) * double(near);
  return settle(rnd, near, back < double(a) ? 1.0 : back > double(a) ? -1.0 : 0.0);
}

// ---- f64 ----

// x + y == sum + error, exactly, unless the sum overflows.
TW_INLINE double sum_error(double x, double y, double sum) {
  bool swap = magnitude(x) < magnitude(y);
  double larger = swap ? y : x, smaller = swap ? x : y;
  return smaller - (sum - larger);
}
TW_INLINE double add_rounded(uint8_t rnd, double a, double b) {
  double near = a + b;
  double missing = finite(near)             ? sum_error(a, b, near)
                   : finite(a) && finite(b) ? overflow_of(near)
                                            : 0.0;
  return near == 0 && missing == 0 ? zero_sum(rnd, near, a, b) : settle(rnd, near, missing);
}
TW_INLINE double product_sign(double a, double b) {
  return negative(a) != negative(b) ? -1.0 : 1.0;
}
TW_INLINE double mul_rounded(uint8_t rnd, double a, double b) {
  double near = a * b;
  if (!finite(near)) return finite(a) && finite(b) ? settle(rnd, near, overflow_of(near)) : near;
  if (magnitude(near) > 0x1p-900) return settle(rnd, near, fused(a, b, -near));
  if (near == 0) return settle(rnd, near, a == 0 || b == 0 ? 0.0 : product_sign(a, b));
  double smaller = magnitude(a) < magnitude(b) ? a : b,
         larger = magnitude(a) < magnitude(b) ? b : a;
  return settle(rnd, near, fused(smaller * 0x1p600, larger, -(near * 0x1p600)));
}
TW_INLINE double div_rounded(uint8_t rnd, double a, double b) {
  double near = a / b;
  if (!finite(a) || !finite(b) || b == 0 || near != near) return near;
  if (!finite(near)) return settle(rnd, near, overflow_of(near));
  double x = a, y = b, q = near;
  if (magnitude(a) < 0x1p-400) {  // keep the residual a - q * b away from underflow
    x *= 0x1p600;
    if (magnitude(b) < 1)
      y *= 0x1p600;
    else
      q *= 0x1p600;
  }
  double missing = fused(-q, y, x);
  return settle(rnd, near, negative(b) ? -missing : missing);
}
TW_INLINE double sqrt_rounded(uint8_t rnd, double a) {
  double near = square_root(a);
  if (!finite(near) || near == 0) return near;
  double scale = a < 0x1p-500 ? 0x1p300 : 1.0;
  double s = near * scale;
  return settle(rnd, near, fused(-s, s, a * scale * scale));
}
// The sign of a sum of four doubles, exactly: an expansion of non-overlapping parts (Shewchuk),
// whose largest part decides.
TW_INLINE double sign_of_sum(double a, double b, double c, double d) {
  double part[4] = {};
  const double terms[4] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    double q = terms[i];
    for (int j = 0; j < i; ++j) {
      double sum = q + part[j];
      double error = sum_error(q, part[j], sum);
      part[j] = error;
      q = sum;
    }
    part[i] = q;
  }
  for (int i = 3; i >= 0; --i)
    if (part[i] != 0) return part[i];
  return 0;
}
TW_INLINE double fma_rounded(uint8_t rnd, double a, double b, double c) {
  double near = fused(a, b, c);
  if (!finite(a) || !finite(b) || !finite(c)) return near;
  if (!finite(near)) return settle(rnd, near, overflow_of(near));
  double smaller = magnitude(a) < magnitude(b) ? a : b,
         larger = magnitude(a) < magnitude(b) ? b : a;
  if (a == 0 || b == 0) return near == 0 ? zero_sum(rnd, near, a * b, c) : near;
  double product = a * b;
  double x = smaller, y = larger, z = c, n = near;
  if (magnitude(product) < 0x1p-800) {
    if (magnitude(c) > 0x1p-500)
      return settle(rnd, near, near == c ? product_sign(a, b) : c - near);
    x *= 0x1p400, z *= 0x1p400, n *= 0x1p400;
    if (magnitude(x * y) < 0x1p-800) {  // far below the least subnormal: only its sign counts
      x = product_sign(a, b), y = 0x1p-790;
    }
  } else if (magnitude(product) > 0x1p800) {
    y *= 0x1p-400, z *= 0x1p-400, n *= 0x1p-400;
    if (z == 0 && c != 0) z = negative(c) ? -0x1p-1074 : 0x1p-1074;
  }
  double p = x * y;
  double missing = sign_of_sum(fused(x, y, -p), z, p, -n);
  return near == 0 && missing == 0 ? zero_sum(rnd, near, product, c) : settle(rnd, near, missing);
}

}  // namespace TW_TARGET
}  // namespace tw::isa
