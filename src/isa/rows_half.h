// Rows: arithmetic on half, bfloat16 and packed pairs of them. Each body works on one half;
// each_half applies it to both of a pair.
#pragma once

#include "isa/elementary.h"
#include "isa/half.h"
#include "isa/lane.h"
#include "isa/row.h"

namespace tw::isa {
inline namespace TW_TARGET {

inline constexpr Type kHalves[] = {Type::f16, Type::f16x2, Type::bf16, Type::bf16x2};
inline constexpr Type kF16s[] = {Type::f16, Type::f16x2};
inline constexpr Type kBf16s[] = {Type::bf16, Type::bf16x2};

// .sat and .relu of a half.
template <class H, class M> TW_INLINE H limit_half(M m, H h) {
  using B = HalfBits<H>;
  constexpr uint16_t kOne = kIsF16<H> ? 0x3c00 : 0x3f80;
  auto below = (h.bits & uint16_t{0x8000}) != 0;
  if (m[Field::sat])
    return H{select(is_nan(h) | below, splat<B>(0), select(h.bits > kOne, splat<B>(kOne), h.bits))};
  if (m[Field::relu])
    return H{select(is_nan(h), splat<B>(0x7fff), select(below, splat<B>(0), h.bits))};
  return h;
}

template <class M, class H> TW_INLINE H half_in(M m, H h) {
  return m[Field::ftz] ? flush_half(h) : h;
}
template <class H, class M> TW_INLINE H half_out(M m, H h) {
  if (m[Field::ftz]) h = flush_half(h);
  return limit_half(m, h);
}

// The float x as a half; .ftz flushes what is below the least normal before it is rounded.
template <class H, class M> TW_INLINE H narrow_result(M m, FloatOf<H> x) {
  constexpr float kLeastNormal = kIsF16<H> ? 0x1p-14f : 0x1p-126f;
  using U = FloatBits<FloatOf<H>>;
  if (m[Field::ftz])
    x = select(magnitude(x) < kLeastNormal, bits_as<FloatOf<H>>(U(bits_as<U>(x) & 0x80000000u)), x);
  return half_out(m, narrow<H>(x));
}

// a * b + c and a * b, rounded once. Rounding to float first gives the same unless that falls in
// the middle between two halves, or below what an f16 has as least normal number: then it is
// rounded to odd. The exact sum of a product of bf16 may need double's range.
template <class H> TW_INLINE auto may_round_twice(FloatOf<H> x) {
  using U = FloatBits<FloatOf<H>>;
  U bits = bits_as<U>(x);
  if constexpr (kIsF16<H>)
    return ((bits & 0x1fffu) == 0x1000u) | lacking(magnitude(x) >= 0x1p-14f);  // NaNs, too
  else
    return ((bits & 0xffffu) == 0x8000u) | (x != x);
}
template <class H, class M> TW_INLINE H fma_half(M m, H a, H b, H c) {
  FloatOf<H> x = widen(a), y = widen(b), z = widen(c), sum = fused(x, y, z);
  if (!m[Field::ftz] && none(may_round_twice<H>(sum))) return half_out(m, narrow_number<H>(sum));
  FloatOf<H> product = x * y;  // exact in float, of bf16 within its range
  if constexpr (kIsF16<H>) return narrow_result<H>(m, odd_sum(product, z));
  if (all((magnitude(product) >= 0x1p-100f) & (magnitude(product) < 0x1p127f) &
          (magnitude(z) < 0x1p127f)))
    return narrow_result<H>(m, odd_sum(product, z));
  return narrow_result<H>(m, in_halves(
                                 [](auto p, auto q, auto r) TW_INLINE_LAMBDA {
                                   return odd_float(odd_sum(convert<double>(p) * convert<double>(q),
                                                            convert<double>(r)));
                                 },
                                 x, y, z));
}
template <class H, class M> TW_INLINE H mul_half(M m, H a, H b) {
  FloatOf<H> x = widen(a), y = widen(b), product = x * y;
  if constexpr (!kIsF16<H>) {  // inexact only among float's subnormals
    if (!m[Field::ftz] && all(magnitude(product) >= 0x1p-126f))  // nor a NaN
      return half_out(m, narrow_number<H>(product));
    using I = SignedBits<FloatOf<H>>;
    auto subnormal = I(bits_as<I>(magnitude(product)) - 1 - 0x7fffffff) < int32_t(0x807fffff);
    if (!none(subnormal))
      product = in_halves(
          [](auto p, auto q)
              TW_INLINE_LAMBDA { return odd_float(convert<double>(p) * convert<double>(q)); },
          x, y);
  }
  return narrow_result<H>(m, product);
}

struct AddHalf {
  static constexpr RowInfo info{.grammar = "add{.rn}{.ftz}{.sat}.type",
                                .operands = "d, a, b",
                                .types = kHalves,
                                .types2 = {},
                                .category = Category::fp16,
                                .flops = 1,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "half-precision-floating-point-instructions-add"};
  static constexpr bool kVectors = true, kEachHalf = true, kSpreadsPairs = true;
  static constexpr Mods kFixed[] = {Mods{}};
  static constexpr Field kReads[] = {Field::ftz, Field::sat};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    return each_half(
        [m](auto x, auto y) TW_INLINE_LAMBDA {
          return half_out(m, narrow<decltype(x)>(widen(half_in(m, x)) + widen(half_in(m, y))));
        },
        a, b);
  }
};
struct SubHalf {
  static constexpr RowInfo info{.grammar = "sub{.rn}{.ftz}{.sat}.type",
                                .operands = "d, a, b",
                                .types = kHalves,
                                .types2 = {},
                                .category = Category::fp16,
                                .flops = 1,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "half-precision-floating-point-instructions-sub"};
  static constexpr bool kVectors = true, kEachHalf = true, kSpreadsPairs = true;
  static constexpr Mods kFixed[] = {Mods{}};
  static constexpr Field kReads[] = {Field::ftz, Field::sat};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    return each_half(
        [m](auto x, auto y) TW_INLINE_LAMBDA {
          return half_out(m, narrow<decltype(x)>(widen(half_in(m, x)) - widen(half_in(m, y))));
        },
        a, b);
  }
};
struct MulHalf {
  static constexpr RowInfo info{.grammar = "mul{.rn}{.ftz}{.sat}.type",
                                .operands = "d, a, b",
                                .types = kHalves,
                                .types2 = {},
                                .category = Category::fp16,
                                .flops = 1,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "half-precision-floating-point-instructions-mul"};
  static constexpr bool kVectors = true, kEachHalf = true, kSpreadsPairs = true;
  static constexpr Mods kFixed[] = {Mods{}};
  static constexpr Field kReads[] = {Field::ftz, Field::sat};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    return each_half([m](auto x, auto y)
                         TW_INLINE_LAMBDA { return mul_half(m, half_in(m, x), half_in(m, y)); },
                     a, b);
  }
};
struct FmaHalf {
  static constexpr RowInfo info{.grammar = "fma.rn{.ftz}{.sat}{.relu}.type",
                                .operands = "d, a, b, c",
                                .types = kHalves,
                                .types2 = {},
                                .category = Category::fp16,
                                .flops = 2,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "half-precision-floating-point-instructions-fma"};
  static constexpr bool kVectors = true, kEachHalf = true, kSpreadsPairs = true;
  static constexpr Mods kFixed[] = {Mods{}};
  static constexpr Field kReads[] = {Field::ftz, Field::sat, Field::relu};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b, T c) {
    return each_half(
        [m](auto x, auto y, auto z)
            TW_INLINE_LAMBDA { return fma_half(m, half_in(m, x), half_in(m, y), half_in(m, z)); },
        a, b, c);
  }
};
struct NegHalf {
  static constexpr RowInfo info{.grammar = "neg{.ftz}.type",
                                .operands = "d, a",
                                .types = kHalves,
                                .types2 = {},
                                .category = Category::fp16,
                                .flops = 1,
                                .min_ptx = 60,
                                .min_sm = 53,
                                .manual = "half-precision-floating-point-instructions-neg"};
  static constexpr bool kVectors = true, kEachHalf = true;
  static constexpr size_t kWorkBytes = 2;
  static constexpr Mods kFixed[] = {Mods{}};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) {
    return each_half(
        [m](auto x) TW_INLINE_LAMBDA {
          using B = HalfBits<decltype(x)>;
          return decltype(x){
              select(is_nan(x), splat<B>(0x7fff), B(half_in(m, x).bits ^ uint16_t{0x8000}))};
        },
        a);
  }
};
struct AbsHalf {
  static constexpr RowInfo info{.grammar = "abs{.ftz}.type",
                                .operands = "d, a",
                                .types = kHalves,
                                .types2 = {},
                                .category = Category::fp16,
                                .flops = 1,
                                .min_ptx = 65,
                                .min_sm = 53,
                                .manual = "half-precision-floating-point-instructions-abs"};
  static constexpr bool kVectors = true, kEachHalf = true;
  static constexpr size_t kWorkBytes = 2;
  static constexpr Mods kFixed[] = {Mods{}};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) {
    return each_half(
        [m](auto x) TW_INLINE_LAMBDA {
          using B = HalfBits<decltype(x)>;
          return decltype(x){
              select(is_nan(x), splat<B>(0x7fff), B(half_in(m, x).bits & uint16_t{0x7fff}))};
        },
        a);
  }
};

// An integer that orders as the number does, -0 below +0.
TW_INLINE int32_t ordered(uint32_t half) {
  int32_t x = int32_t(half << 16) >> 16;
  return x ^ ((x >> 31) & 0x7fff);
}
template <class B>
  requires kIsVector<B>
TW_INLINE Like<B, int16_t> ordered(B halves) {
  auto x = bits_as<Like<B, int16_t>>(halves);
  return x ^ ((x >> 15) & int16_t{0x7fff});
}
template <bool kMin, class M, class H> TW_INLINE H half_extreme(M m, H a, H b) {
  using B = HalfBits<H>;
  a = half_in(m, a), b = half_in(m, b);
  H x = a, y = b;
  if (m[Field::abs]) x.bits &= uint16_t{0x7fff}, y.bits &= uint16_t{0x7fff};
  auto u = ordered(x.bits), v = ordered(y.bits);
  auto first = kMin ? u < v : u > v;
  B best = select(is_nan(a), y.bits, select(is_nan(b) | first, x.bits, y.bits));
  if (m[Field::xorsign]) best = (best & uint16_t{0x7fff}) | ((a.bits ^ b.bits) & uint16_t{0x8000});
  auto none = m[Field::nan] ? is_nan(a) | is_nan(b) : is_nan(a) & is_nan(b);
  return H{select(none, splat<B>(0x7fff), best)};
}
struct MinHalf {
  static constexpr RowInfo info{.grammar = "min{.ftz}{.NaN}{.xorsign}{.abs}.type",
                                .operands = "d, a, b",
                                .types = kHalves,
                                .types2 = {},
                                .category = Category::fp16,
                                .flops = 1,
                                .min_ptx = 70,
                                .min_sm = 80,
                                .manual = "half-precision-floating-point-instructions-min"};
  static constexpr bool kVectors = true, kEachHalf = true;
  static constexpr size_t kWorkBytes = 2;
  static constexpr Mods kFixed[] = {Mods{}};
  static constexpr Field kReads[] = {Field::ftz, Field::nan, Field::xorsign, Field::abs};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    return each_half([m](auto x, auto y) TW_INLINE_LAMBDA { return half_extreme<true>(m, x, y); },
                     a, b);
  }
};
struct MaxHalf {
  static constexpr RowInfo info{.grammar = "max{.ftz}{.NaN}{.xorsign}{.abs}.type",
                                .operands = "d, a, b",
                                .types = kHalves,
                                .types2 = {},
                                .category = Category::fp16,
                                .flops = 1,
                                .min_ptx = 70,
                                .min_sm = 80,
                                .manual = "half-precision-floating-point-instructions-max"};
  static constexpr bool kVectors = true, kEachHalf = true;
  static constexpr size_t kWorkBytes = 2;
  static constexpr Mods kFixed[] = {Mods{}};
  static constexpr Field kReads[] = {Field::ftz, Field::nan, Field::xorsign, Field::abs};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    return each_half([m](auto x, auto y) TW_INLINE_LAMBDA { return half_extreme<false>(m, x, y); },
                     a, b);
  }
};

// 2^x; of bf16 with .ftz, where a subnormal x counts as 0 all the same: its power is 1.
template <class H> TW_INLINE H exp2_half(H h) {
  const auto x = widen(h);
  if (ordinary_power(x)) return narrow_number<H>(exp2_of_limited(x, true));
  const H power = narrow<H>(exp2_approx(x));
  return kIsF16<H> ? power : flush_half(power);
}
struct Ex2F16 {
  static constexpr RowInfo info{.grammar = "ex2.approx.type",
                                .operands = "d, a",
                                .types = kF16s,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .min_ptx = 70,
                                .min_sm = 75,
                                .manual = "half-precision-floating-point-instructions-ex2"};
  static constexpr bool kVectors = true, kEachHalf = true;
  template <class T, class M> TW_INLINE static T lane(M, T a) {
    return each_half([](auto x) TW_INLINE_LAMBDA { return exp2_half(x); }, a);
  }
};
struct Ex2Bf16 {
  static constexpr RowInfo info{.grammar = "ex2.approx.ftz.type",
                                .operands = "d, a",
                                .types = kBf16s,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .min_ptx = 78,
                                .min_sm = 90,
                                .manual = "half-precision-floating-point-instructions-ex2"};
  static constexpr bool kVectors = true, kEachHalf = true, kSpreadsPairs = true;
  template <class T, class M> TW_INLINE static T lane(M, T a) {
    return each_half([](auto x) TW_INLINE_LAMBDA { return exp2_half(x); }, a);
  }
};
struct TanhHalf {
  static constexpr RowInfo info{.grammar = "tanh.approx.type",
                                .operands = "d, a",
                                .types = kHalves,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .min_ptx = 70,
                                .min_sm = 75,
                                .manual = "half-precision-floating-point-instructions-tanh"};
  static constexpr bool kVectors = true, kEachHalf = true, kSpreadsPairs = true;
  template <class T, class M> TW_INLINE static T lane(M, T a) {
    return each_half(
        [](auto x) TW_INLINE_LAMBDA { return narrow<decltype(x)>(tanh_approx(widen(x))); }, a);
  }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
