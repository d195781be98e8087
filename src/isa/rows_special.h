// Rows: approximate instructions. Where a correctly rounded result is as cheap, that is the
// approximation; the others come from elementary.h.
#pragma once

#include "isa/elementary.h"
#include "isa/lane.h"
#include "isa/row.h"
#include "isa/rows_float.h"

namespace tw::isa {
inline namespace TW_TARGET {

// a * (1/b): for |b| beyond 2^126 the reciprocal is flushed.
struct DivApprox {
  static constexpr RowInfo info{.grammar = "div.approx{.ftz}.type",
                                .operands = "d, a, b",
                                .types = kF32,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 1,
                                .manual = "floating-point-instructions-div"};
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    a = in(m, a), b = in(m, b);
    bool large = magnitude(b) > 0x1p126f && finite(b);
    return out(m, large ? a * (negative(b) ? -0.0f : 0.0f) : a / b);
  }
};
struct DivFull {
  static constexpr RowInfo info{.grammar = "div.full{.ftz}.type",
                                .operands = "d, a, b",
                                .types = kF32,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 1,
                                .manual = "floating-point-instructions-div"};
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    return out(m, in(m, a) / in(m, b));
  }
};
struct RcpApprox {
  static constexpr RowInfo info{.grammar = "rcp.approx{.ftz}.type",
                                .operands = "d, a",
                                .types = kF32,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .manual = "floating-point-instructions-rcp"};
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) { return out(m, 1.0f / in(m, a)); }
};
struct SqrtApprox {
  static constexpr RowInfo info{.grammar = "sqrt.approx{.ftz}.type",
                                .operands = "d, a",
                                .types = kF32,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .manual = "floating-point-instructions-sqrt"};
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) {
    return out(m, square_root(in(m, a)));
  }
};
struct RsqrtApprox {
  static constexpr RowInfo info{.grammar = "rsqrt.approx{.ftz}.type",
                                .operands = "d, a",
                                .types = kF32,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .manual = "floating-point-instructions-rsqrt"};
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) {
    return out(m, 1 / square_root(in(m, a)));  // two roundings: 2^-23
  }
};

// f64: 20 bits of mantissa; the low word of operand and result is not there (.ftz).
template <class V>
  requires kIsDouble<V>
TW_INLINE V flush_double(V x) {
  return select(magnitude(x) < 0x1p-1022, signed_zero(x), x);
}
template <class V> TW_INLINE V high_word(V x) {
  using U = FloatBits<V>;
  return bits_as<V>(U(bits_as<U>(x) & 0xffffffff00000000u));
}
template <class V> TW_INLINE V gross(V x) {  // cut to 20 bits, as an H200 does
  return select(x != x, canonical(x), flush_double(high_word(x)));
}
struct RcpApproxF64 {
  static constexpr RowInfo info{.grammar = "rcp.approx.ftz.type",
                                .operands = "d, a",
                                .types = kF64,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .manual = "floating-point-instructions-rcp-approx-ftz-f64"};
  static constexpr bool kVectors = true;
  template <class T, class M> TW_INLINE static T lane(M, T a) {
    return gross(T(1.0 / flush_double(high_word(a))));
  }
};
struct RsqrtApproxF64 {
  static constexpr RowInfo info{.grammar = "rsqrt.approx.type",
                                .operands = "d, a",
                                .types = kF64,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .manual = "floating-point-instructions-rsqrt"};
  static constexpr bool kVectors = true;
  template <class T, class M> TW_INLINE static T lane(M m, T a) {
    return out(m, T(1.0 / square_root(a)));
  }
};
struct RsqrtApproxFtzF64 {
  static constexpr RowInfo info{.grammar = "rsqrt.approx.ftz.type",
                                .operands = "d, a",
                                .types = kF64,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .manual = "floating-point-instructions-rsqrt-approx-ftz-f64"};
  static constexpr bool kVectors = true;
  template <class T, class M> TW_INLINE static T lane(M, T a) {
    return gross(T(1.0 / square_root(flush_double(high_word(a)))));
  }
};

struct Sin {
  static constexpr RowInfo info{.grammar = "sin.approx{.ftz}.type",
                                .operands = "d, a",
                                .types = kF32,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .manual = "floating-point-instructions-sin"};
  static constexpr bool kVectors = true;
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) { return out(m, sine(in(m, a))); }
};
struct Cos {
  static constexpr RowInfo info{.grammar = "cos.approx{.ftz}.type",
                                .operands = "d, a",
                                .types = kF32,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .manual = "floating-point-instructions-cos"};
  static constexpr bool kVectors = true;
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) { return out(m, cosine(in(m, a))); }
};
struct Lg2 {
  static constexpr RowInfo info{.grammar = "lg2.approx{.ftz}.type",
                                .operands = "d, a",
                                .types = kF32,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .manual = "floating-point-instructions-lg2"};
  static constexpr bool kVectors = true;
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) {
    return out(m, log2_approx(in(m, a)));
  }
};
struct Ex2 {
  static constexpr RowInfo info{.grammar = "ex2.approx{.ftz}.type",
                                .operands = "d, a",
                                .types = kF32,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .manual = "floating-point-instructions-ex2"};
  static constexpr bool kVectors = true;
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) {
    return out(m, exp2_approx(in(m, a)));
  }
};
struct Tanh {
  static constexpr RowInfo info{.grammar = "tanh.approx.type",
                                .operands = "d, a",
                                .types = kF32,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .min_ptx = 70,
                                .min_sm = 75,
                                .manual = "floating-point-instructions-tanh"};
  static constexpr bool kVectors = true;
  template <class T, class M> TW_INLINE static T lane(M, T a) { return canonical(tanh_approx(a)); }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
