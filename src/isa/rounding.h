// Arithmetic with directed rounding (.rz .rm .rp).
//
// One lane at a time (constant folding, warp-uniform registers, the portable target): without the
// host's rounding mode. Every result is first rounded to nearest; the sign of what is missing then
// tells whether to take a step. For f32 the missing part is found in double, where products are exact.
// For f64 it comes from error-free transforms (two-sum, fused multiply-add residuals), scaled where they
// would underflow.
//
// Vectors: AVX-512 rounds as an instruction asks. AVX2 has one rounding mode for all of them, which
// HostRounding sets for one operation or, where a row says so (kHostMode), for all lanes.
//
// Tested by tests/isa against exact integer arithmetic.
#pragma once

#include "isa/half.h"

namespace tw::isa {
inline namespace TW_TARGET {

template <class V> TW_INLINE auto infinite(V x) { return (x - x != 0) & (x == x); }
template <class V> TW_INLINE auto finite(V x) { return x - x == 0; }
template <class V> TW_INLINE V outward(V x) {
  return bits_as<V>(FloatBits<V>(bits_as<FloatBits<V>>(x) + 1u));
}
template <class V> TW_INLINE V inward(V x) {
  return bits_as<V>(FloatBits<V>(bits_as<FloatBits<V>>(x) - 1u));
}
template <class V> TW_INLINE V next_up(V x) { return select(negative(x), inward(x), outward(x)); }
template <class V> TW_INLINE V next_down(V x) { return select(negative(x), outward(x), inward(x)); }

TW_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TW_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
TW_INLINE float square_root(float a) { return __builtin_sqrtf(a); }
TW_INLINE double square_root(double a) { return __builtin_sqrt(a); }
template <class V>
  requires kIsVector<V>
TW_INLINE V fused(V a, V b, V c) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && !kIsDouble<V>)
    return V(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
  if constexpr (sizeof(V) == 64 && kIsDouble<V>)
    return V(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
#endif
#if defined(__FMA__)
  if constexpr (sizeof(V) == 32 && kIsDouble<V>)
    return V(_mm256_fmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
  if constexpr (sizeof(V) == 32 && !kIsDouble<V>)
    return V(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
  if constexpr (sizeof(V) == 16 && !kIsDouble<V>)
    return V(_mm_fmadd_ps(__m128(a), __m128(b), __m128(c)));
#endif
  V d;
  for (size_t i = 0; i < LikeOf<V>::kCount; ++i) d[i] = fused(a[i], b[i], c[i]);
  return d;
}
template <class V>
  requires kIsVector<V>
TW_INLINE V square_root(V a) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && !kIsDouble<V>) return V(_mm512_sqrt_ps(__m512(a)));
  if constexpr (sizeof(V) == 64 && kIsDouble<V>) return V(_mm512_sqrt_pd(__m512d(a)));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32 && kIsDouble<V>) return V(_mm256_sqrt_pd(__m256d(a)));
  if constexpr (sizeof(V) == 32 && !kIsDouble<V>) return V(_mm256_sqrt_ps(__m256(a)));
  if constexpr (sizeof(V) == 16 && !kIsDouble<V>) return V(_mm_sqrt_ps(__m128(a)));
#endif
  V d;
  for (size_t i = 0; i < LikeOf<V>::kCount; ++i) d[i] = square_root(a[i]);
  return d;
}

// .rni .rmi .rpi .rzi; anything else counts as the last.
TW_INLINE float round_integral(uint8_t rnd, float x) {
  switch (rnd) {
    case kRni: return __builtin_rintf(x);
    case kRmi: return __builtin_floorf(x);
    case kRpi: return __builtin_ceilf(x);
    default: return __builtin_truncf(x);
  }
}
TW_INLINE double round_integral(uint8_t rnd, double x) {
  switch (rnd) {
    case kRni: return __builtin_rint(x);
    case kRmi: return __builtin_floor(x);
    case kRpi: return __builtin_ceil(x);
    default: return __builtin_trunc(x);
  }
}
#if defined(__AVX2__)
template <int kMode, class V> TW_INLINE V round_vector(V x) {
  constexpr int kExact = kMode | _MM_FROUND_NO_EXC;
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && kIsDouble<V>) return V(_mm512_roundscale_pd(__m512d(x), kExact));
  if constexpr (sizeof(V) == 64 && !kIsDouble<V>) return V(_mm512_roundscale_ps(__m512(x), kExact));
#endif
  if constexpr (sizeof(V) == 32 && kIsDouble<V>) return V(_mm256_round_pd(__m256d(x), kExact));
  if constexpr (sizeof(V) == 32 && !kIsDouble<V>) return V(_mm256_round_ps(__m256(x), kExact));
  if constexpr (sizeof(V) == 16 && !kIsDouble<V>) return V(_mm_round_ps(__m128(x), kExact));
}
#endif
template <class V>
  requires kIsVector<V>
TW_INLINE V round_integral(uint8_t rnd, V x) {
#if defined(__AVX2__)
  switch (rnd) {
    case kRni: return round_vector<_MM_FROUND_TO_NEAREST_INT>(x);
    case kRmi: return round_vector<_MM_FROUND_TO_NEG_INF>(x);
    case kRpi: return round_vector<_MM_FROUND_TO_POS_INF>(x);
    default: return round_vector<_MM_FROUND_TO_ZERO>(x);
  }
#else
  V d;
  for (size_t i = 0; i < LikeOf<V>::kCount; ++i) d[i] = round_integral(rnd, x[i]);
  return d;
#endif
}

// `near` is the value rounded to nearest, and `low` or `high` holds where that is below or above
// the value.
template <class V, class C> TW_INLINE V settle(uint8_t rnd, V near, C low, C high) {
  switch (rnd) {
    case kRz:
      return select(negative(near), select(low, inward(near), near),
                    select(high, inward(near), near));
    case kRm: return select(high, next_down(near), near);
    case kRp: return select(low, next_up(near), near);
    default: return near;
  }
}
// The sign of `missing` is that of value - near.
TW_INLINE double settle(uint8_t rnd, double near, double missing) {
  return settle(rnd, near, missing > 0, missing < 0);
}
// A double that is exact or rounded to odd, as a float.
template <class V> TW_INLINE Like<V, float> settle_float(uint8_t rnd, V x) {
  Like<V, float> near = convert<float>(x);
  V back = convert<double>(near);
  return settle(rnd, near, back<x, back> x);
}
// The sign of x - infinity, when the exact value is finite: `near` has overflowed.
TW_INLINE double overflow_of(double near) { return negative(near) ? 1.0 : -1.0; }

// An exact sum of zero is -0 when rounding down, unless both terms are +0.
template <class V> TW_INLINE V zero_sum(uint8_t rnd, V sum, V x, V y) {
  if (rnd != kRm) return sum;
  return select((sum == 0) & (negative(x) | negative(y)), splat<V>(-0.0f), sum);
}

// ---- vectors: the host's own directed rounding ----

#if defined(__AVX2__)
// The host's rounding mode while this lives. The compiler does not know that arithmetic depends on the
// mode: operands must be loaded after the constructor from what `reachable` names (or pinned), results
// stored before the destructor.
class HostRounding {
 public:
  template <class... P> TW_INLINE explicit HostRounding(uint8_t rnd, P*... reachable) {
    was_ = _mm_getcsr();
    constexpr uint32_t kMask = 0x6000, kDown = 0x2000, kUp = 0x4000, kZero = 0x6000;
    set((was_ & ~kMask) | (rnd == kRz   ? kZero
                           : rnd == kRm ? kDown
                           : rnd == kRp ? kUp
                                        : 0u),
        reachable...);
  }
  TW_INLINE ~HostRounding() { set(was_); }
  HostRounding(const HostRounding&) = delete;
  // v, not computed earlier or later than here.
  template <class V> TW_INLINE static void pin(V& v) { asm volatile("" : "+x"(v)); }

 private:
  template <class... P> TW_INLINE static void set(uint32_t control, P*... reachable) {
    ((void)(asm_reach(reachable)), ...);
    asm volatile("ldmxcsr %0" : : "m"(control) : "memory");
  }
  template <class P> TW_INLINE static int asm_reach(P* p) {
    asm volatile("" : : "r"(p) : "memory");
    return 0;
  }
  uint32_t was_;
};
inline constexpr bool kHasHostRounding = true;
#else
struct HostRounding {
  template <class... P> explicit HostRounding(uint8_t, P*...) {}
};
inline constexpr bool kHasHostRounding = false;
#endif

// What a row's body on vectors asks of its handler (Row::kHostMode<D, S>, S the source's type):
// nothing, or the instruction's own rounding. Rows of arithmetic then take it for rounding to
// nearest; with .ftz they look at a second result that is rounded so, and go without.
enum class HostMode : uint8_t { none, instruction, arithmetic_unless_ftz };
// Where the body can count on it.
template <class V>
inline constexpr bool kModeIsSet = (kIsVector<V> || kIsWide<V>) && kHasHostRounding;

// AVX-512 rounds whole vectors as an instruction asks, whatever the mode is.
struct HostAdd;
struct HostMul;
struct HostFma;
struct HostDiv;
struct HostSqrt;
#if defined(__AVX512F__)
struct HostAdd {
  template <int k> static __m512 run(__m512 a, __m512 b) { return _mm512_add_round_ps(a, b, k); }
  template <int k> static __m512d run(__m512d a, __m512d b) { return _mm512_add_round_pd(a, b, k); }
};
struct HostMul {
  template <int k> static __m512 run(__m512 a, __m512 b) { return _mm512_mul_round_ps(a, b, k); }
  template <int k> static __m512d run(__m512d a, __m512d b) { return _mm512_mul_round_pd(a, b, k); }
};
struct HostFma {
  template <int k> static __m512 run(__m512 a, __m512 b, __m512 c) {
    return _mm512_fmadd_round_ps(a, b, c, k);
  }
  template <int k> static __m512d run(__m512d a, __m512d b, __m512d c) {
    return _mm512_fmadd_round_pd(a, b, c, k);
  }
};
struct HostDiv {
  template <int k> static __m512 run(__m512 a, __m512 b) { return _mm512_div_round_ps(a, b, k); }
  template <int k> static __m512d run(__m512d a, __m512d b) { return _mm512_div_round_pd(a, b, k); }
};
struct HostSqrt {
  template <int k> static __m512 run(__m512 a) { return _mm512_sqrt_round_ps(a, k); }
  template <int k> static __m512d run(__m512d a) { return _mm512_sqrt_round_pd(a, k); }
};
template <class V> inline constexpr bool kHostRounds = sizeof(V) == 64;
inline constexpr HostMode kArithmeticMode = HostMode::none;
template <class Operation, int kMode, class V, class... S> TW_INLINE V host_operation(V a, S... s) {
  constexpr int k = kMode | _MM_FROUND_NO_EXC;
  if constexpr (kIsDouble<V>)
    return V(Operation::template run<k>(__m512d(a), __m512d(s)...));
  else
    return V(Operation::template run<k>(__m512(a), __m512(s)...));
}
template <class Operation, class V, class... S> TW_INLINE V host_rounded(uint8_t rnd, V a, S... s) {
  switch (rnd) {
    case kRz: return host_operation<Operation, _MM_FROUND_TO_ZERO>(a, s...);
    case kRm: return host_operation<Operation, _MM_FROUND_TO_NEG_INF>(a, s...);
    case kRp: return host_operation<Operation, _MM_FROUND_TO_POS_INF>(a, s...);
    default: return host_operation<Operation, _MM_FROUND_TO_NEAREST_INT>(a, s...);
  }
}
#elif defined(__AVX2__)
struct HostAdd {
  template <class V> TW_INLINE static V run(V a, V b) { return a + b; }
};
struct HostMul {
  template <class V> TW_INLINE static V run(V a, V b) { return a * b; }
};
struct HostFma {
  template <class V> TW_INLINE static V run(V a, V b, V c) { return fused(a, b, c); }
};
struct HostDiv {
  template <class V> TW_INLINE static V run(V a, V b) { return a / b; }
};
struct HostSqrt {
  template <class V> TW_INLINE static V run(V a) { return square_root(a); }
};
template <class V> inline constexpr bool kHostRounds = sizeof(V) == 32;
inline constexpr HostMode kArithmeticMode = HostMode::arithmetic_unless_ftz;
template <class Operation, class V, class... S> TW_INLINE V host_rounded(uint8_t rnd, V a, S... s) {
  HostRounding mode(rnd);
  HostRounding::pin(a);
  (HostRounding::pin(s), ...);
  V d = Operation::run(a, s...);
  HostRounding::pin(d);
  return d;
}
#else
template <class V> inline constexpr bool kHostRounds = false;
inline constexpr HostMode kArithmeticMode = HostMode::none;
template <class Operation, class V, class... S> V host_rounded(uint8_t rnd, V a, S... s);
#endif
// f of scalars on each lane.
template <class F, class V, class... S> TW_INLINE V lane_by_lane(F f, V a, S... s) {
  V d = a;
  for (size_t i = 0; i < LikeOf<V>::kCount; ++i) d[i] = f(a[i], s[i]...);
  return d;
}

// ---- f32 ----

template <class V> inline constexpr bool kIsSingle = std::is_same_v<ElementOf<V>, float>;
// Through double, where products are exact.
template <class V>
  requires kIsSingle<V>
TW_INLINE V add_by_double(uint8_t rnd, V a, V b) {
  return zero_sum(rnd, settle_float(rnd, odd_sum(convert<double>(a), convert<double>(b))), a, b);
}
template <class V>
  requires kIsSingle<V>
TW_INLINE V mul_by_double(uint8_t rnd, V a, V b) {
  return settle_float(rnd, convert<double>(a) * convert<double>(b));
}
template <class V>
  requires kIsSingle<V>
TW_INLINE V fma_by_double(uint8_t rnd, V a, V b, V c) {
  auto product = convert<double>(a) * convert<double>(b);
  auto sum = odd_sum(product, convert<double>(c));
  return settle_float(rnd, zero_sum(rnd, sum, product, convert<double>(c)));
}
template <class V>
  requires kIsSingle<V>
TW_INLINE V div_by_double(uint8_t rnd, V a, V b) {
  V near = a / b;
  auto back = convert<double>(near) * convert<double>(b), wide = convert<double>(a);  // exact
  auto below = back<wide, above = back> wide;
  auto swap = convert<double>(b) < 0;
  return settle(rnd, near, select(swap, above, below), select(swap, below, above));
}
template <class V>
  requires kIsSingle<V>
TW_INLINE V sqrt_by_double(uint8_t rnd, V a) {
  V near = square_root(a);
  auto back = convert<double>(near) * convert<double>(near), wide = convert<double>(a);
  return settle(rnd, near, back<wide, back> wide);
}

TW_INLINE float add_rounded(uint8_t rnd, float a, float b) { return add_by_double(rnd, a, b); }
TW_INLINE float mul_rounded(uint8_t rnd, float a, float b) { return mul_by_double(rnd, a, b); }
TW_INLINE float fma_rounded(uint8_t rnd, float a, float b, float c) {
  return fma_by_double(rnd, a, b, c);
}
TW_INLINE float div_rounded(uint8_t rnd, float a, float b) { return div_by_double(rnd, a, b); }
TW_INLINE float sqrt_rounded(uint8_t rnd, float a) { return sqrt_by_double(rnd, a); }

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

// ---- vectors of either ----

template <class V>
  requires kIsVector<V>
TW_INLINE V add_rounded(uint8_t rnd, V a, V b) {
  if constexpr (kHostRounds<V>) return host_rounded<HostAdd>(rnd, a, b);
  return lane_by_lane([rnd](auto x, auto y) { return add_rounded(rnd, x, y); }, a, b);
}
template <class V>
  requires kIsVector<V>
TW_INLINE V mul_rounded(uint8_t rnd, V a, V b) {
  if constexpr (kHostRounds<V>) return host_rounded<HostMul>(rnd, a, b);
  return lane_by_lane([rnd](auto x, auto y) { return mul_rounded(rnd, x, y); }, a, b);
}
template <class V>
  requires kIsVector<V>
TW_INLINE V fma_rounded(uint8_t rnd, V a, V b, V c) {
  if constexpr (kHostRounds<V>) return host_rounded<HostFma>(rnd, a, b, c);
  return lane_by_lane([rnd](auto x, auto y, auto z) { return fma_rounded(rnd, x, y, z); }, a, b, c);
}
template <class V>
  requires kIsVector<V>
TW_INLINE V div_rounded(uint8_t rnd, V a, V b) {
  if constexpr (kHostRounds<V>) return host_rounded<HostDiv>(rnd, a, b);
  return lane_by_lane([rnd](auto x, auto y) { return div_rounded(rnd, x, y); }, a, b);
}
template <class V>
  requires kIsVector<V>
TW_INLINE V sqrt_rounded(uint8_t rnd, V a) {
  if constexpr (kHostRounds<V>) return host_rounded<HostSqrt>(rnd, a);
  return lane_by_lane([rnd](auto x) { return sqrt_rounded(rnd, x); }, a);
}

}  // namespace TW_TARGET
}  // namespace tw::isa
