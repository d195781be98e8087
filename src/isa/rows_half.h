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
  constexpr uint32_t kOne = std::is_same_v<H, F16> ? 0x3c00 : 0x3f80;
  if (m[Field::sat])
    return H{is_nan(h) | ((h.bits & 0x8000u) != 0) ? 0 : h.bits > kOne ? kOne : h.bits};
  if (m[Field::relu]) return H{is_nan(h) ? 0x7fff : (h.bits & 0x8000u) ? 0 : h.bits};
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
template <class H, class M> TW_INLINE H narrow_result(M m, float x) {
  constexpr float kLeastNormal = std::is_same_v<H, F16> ? 0x1p-14f : 0x1p-126f;
  return half_out(
      m,
      narrow<H>(m[Field::ftz] && magnitude(x) < kLeastNormal ? (negative(x) ? -0.0f : 0.0f) : x));
}

// a * b + c and a * b, exact or rounded to odd: to be rounded once more.
TW_INLINE float fma_half(F16 a, F16 b, F16 c) { return odd_sum(widen(a) * widen(b), widen(c)); }
TW_INLINE float fma_half(BF16 a, BF16 b, BF16 c) {
  return odd_float(odd_sum(double(widen(a)) * double(widen(b)), double(widen(c))));
}
TW_INLINE float mul_half(F16 a, F16 b) { return widen(a) * widen(b); }
TW_INLINE float mul_half(BF16 a, BF16 b) { return odd_float(double(widen(a)) * double(widen(b))); }

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
  static constexpr Mods kFixed[] = {Mods{}};
  static constexpr Field kReads[] = {Field::ftz, Field::sat};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    return each_half(
        [m](auto x, auto y) TW_INLINE_LAMBDA {
          return narrow_result<decltype(x)>(m, mul_half(half_in(m, x), half_in(m, y)));
        },
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
  static constexpr Mods kFixed[] = {Mods{}};
  static constexpr Field kReads[] = {Field::ftz, Field::sat, Field::relu};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b, T c) {
    return each_half(
        [m](auto x, auto y, auto z) TW_INLINE_LAMBDA {
          return narrow_result<decltype(x)>(m,
                                            fma_half(half_in(m, x), half_in(m, y), half_in(m, z)));
        },
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
  static constexpr Mods kFixed[] = {Mods{}};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) {
    return each_half(
        [m](auto x) TW_INLINE_LAMBDA {
          return decltype(x){is_nan(x) ? 0x7fffu : half_in(m, x).bits ^ 0x8000u};
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
  static constexpr Mods kFixed[] = {Mods{}};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) {
    return each_half(
        [m](auto x) TW_INLINE_LAMBDA {
          return decltype(x){is_nan(x) ? 0x7fffu : half_in(m, x).bits & 0x7fffu};
        },
        a);
  }
};

// An integer that orders as the number does, -0 below +0.
template <class H> TW_INLINE int32_t ordered(H h) {
  int32_t x = int32_t(h.bits << 16) >> 16;
  return x ^ ((x >> 31) & 0x7fff);
}
template <bool kMin, class M, class H> TW_INLINE H half_extreme(M m, H a, H b) {
  a = half_in(m, a), b = half_in(m, b);
  uint32_t keep = m[Field::abs] ? 0x7fff : 0xffff;
  H x{a.bits & keep}, y{b.bits & keep};
  int32_t u = ordered(x), v = ordered(y);
  uint32_t best = is_nan(a)                ? y.bits
                  : is_nan(b)              ? x.bits
                  : (kMin ? u < v : u > v) ? x.bits
                                           : y.bits;
  if (m[Field::xorsign]) best = uint32_t((best & 0x7fffu) | ((a.bits ^ b.bits) & 0x8000u));
  bool any = is_nan(a) | is_nan(b), all = is_nan(a) & is_nan(b);
  return H{(m[Field::nan] ? any : all) ? 0x7fff : best};
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
  static constexpr Mods kFixed[] = {Mods{}};
  static constexpr Field kReads[] = {Field::ftz, Field::nan, Field::xorsign, Field::abs};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    return each_half([m](auto x, auto y) TW_INLINE_LAMBDA { return half_extreme<false>(m, x, y); },
                     a, b);
  }
};

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
  template <class T, class M> TW_INLINE static T lane(M, T a) {
    return each_half(
        [](auto x) TW_INLINE_LAMBDA { return narrow<decltype(x)>(exp2_approx(widen(x))); }, a);
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
  template <class T, class M> TW_INLINE static T lane(M, T a) {
    return each_half(
        [](auto x) TW_INLINE_LAMBDA {
          return flush_half(narrow<decltype(x)>(exp2_approx(widen(flush_half(x)))));
        },
        a);
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
  template <class T, class M> TW_INLINE static T lane(M, T a) {
    return each_half(
        [](auto x) TW_INLINE_LAMBDA { return narrow<decltype(x)>(tanh_approx(widen(x))); }, a);
  }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
