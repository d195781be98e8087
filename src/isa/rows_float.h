// Rows: single and double precision arithmetic, every rounding. Correctly rounded results come from
// the host's own operations (to nearest) or from rounding.h (directed); special functions are in
// rows_special.h.
#pragma once

#include "isa/lane.h"
#include "isa/rounding.h"
#include "isa/row.h"

namespace tw::isa {
inline namespace TW_TARGET {

// .ftz looks at the result before it is fitted to the subnormal range: what would round up to the
// least normal number from below is flushed. `scaled` is the same result times 2^30. (Sums are
// exact there.)
inline constexpr float kScale = 0x1p30f;
template <class M, class V>
TW_INLINE V flush_tiny([[maybe_unused]] M m, V r, [[maybe_unused]] V scaled) {
  if constexpr (kIsSingle<V>) {
    if (m[Field::ftz]) return select(magnitude(scaled) < 0x1p-96f, signed_zero(r), r);
  }
  return r;
}

// f32 operands and results honour .ftz and .sat; f64 has neither.
template <class M, class V> TW_INLINE V in([[maybe_unused]] M m, V x) {
  if constexpr (kIsSingle<V>) {
    if (m[Field::ftz]) return flush(x);
  }
  return x;
}
// Limited to [+0, 1]; NaN -> +0.
template <class V> TW_INLINE V limit(V x) {
  return select(x > 0, select(x < 1, x, splat<V>(1)), splat<V>(0));
}
template <class M, class V> TW_INLINE V out([[maybe_unused]] M m, V x) {
  if constexpr (kIsSingle<V>) {
    if (m[Field::ftz]) x = flush(x);
    if (m[Field::sat]) return limit(x);
  }
  return canonical(x);
}

inline constexpr Mods kPlain{};
inline constexpr Mods kFtz = Mods{}.with(Field::ftz, 1);
inline constexpr Mods kSat = Mods{}.with(Field::sat, 1);

struct AddFloat {
  static constexpr RowInfo info{.grammar = "add{.rnd}{.ftz}{.sat}.type",
                                .operands = "d, a, b",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 1,
                                .manual = "floating-point-instructions-add"};
  static constexpr bool kRuntimeVectors = true, kDoubleVectors = true;
  template <class, class> static constexpr HostMode kHostMode = kArithmeticMode;
  static constexpr size_t kOperandVariants = 1;
  static constexpr Mods kFixed[] = {kPlain, kFtz, kSat};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz, Field::sat};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    a = in(m, a), b = in(m, b);
    return out(m, m[Field::rnd] == kRn ? a + b : add_rounded(m[Field::rnd], a, b));
  }
};

struct SubFloat {
  static constexpr RowInfo info{.grammar = "sub{.rnd}{.ftz}{.sat}.type",
                                .operands = "d, a, b",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 1,
                                .manual = "floating-point-instructions-sub"};
  static constexpr bool kRuntimeVectors = true, kDoubleVectors = true;
  template <class, class> static constexpr HostMode kHostMode = kArithmeticMode;
  static constexpr size_t kOperandVariants = 1;
  static constexpr Mods kFixed[] = {kPlain, kFtz, kSat};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz, Field::sat};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    a = in(m, a), b = in(m, b);
    return out(m, m[Field::rnd] == kRn ? a - b : add_rounded(m[Field::rnd], a, -b));
  }
};

struct MulFloat {
  static constexpr RowInfo info{.grammar = "mul{.rnd}{.ftz}{.sat}.type",
                                .operands = "d, a, b",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 1,
                                .manual = "floating-point-instructions-mul"};
  static constexpr bool kRuntimeVectors = true, kDoubleVectors = true;
  template <class, class> static constexpr HostMode kHostMode = kArithmeticMode;
  static constexpr size_t kOperandVariants = 1;
  static constexpr Mods kFixed[] = {kPlain, kFtz, kSat};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz, Field::sat};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    a = in(m, a), b = in(m, b);
    return out(m, flush_tiny(m, m[Field::rnd] == kRn ? a * b : mul_rounded(m[Field::rnd], a, b),
                             a * kScale * b));
  }
};

struct FmaFloat {
  static constexpr RowInfo info{.grammar = "fma.rnd{.ftz}{.sat}.type",
                                .operands = "d, a, b, c",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 2,
                                .manual = "floating-point-instructions-fma"};
  static constexpr bool kRuntimeVectors = true, kDoubleVectors = true;
  template <class, class> static constexpr HostMode kHostMode = kArithmeticMode;
  static constexpr size_t kOperandVariants = 1;
  static constexpr Mods kFixed[] = {kPlain, kFtz, kSat};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz, Field::sat};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b, T c) {
    a = in(m, a), b = in(m, b), c = in(m, c);
    return out(
        m,
        flush_tiny(m, m[Field::rnd] == kRn ? fused(a, b, c) : fma_rounded(m[Field::rnd], a, b, c),
                   fused(T(a * kScale), b, T(c * kScale))));
  }
};

// On every GPU since compute capability 2.0 mad is fma.
struct MadFloat : FmaFloat {
  static constexpr RowInfo info{.grammar = "mad{.rnd}{.ftz}{.sat}.type",
                                .operands = "d, a, b, c",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 2,
                                .manual = "floating-point-instructions-mad"};
  static constexpr size_t kOperandVariants = 0;
  static constexpr Mods kFixed[] = {kPlain};
};

struct DivFloat {
  static constexpr RowInfo info{.grammar = "div.rnd{.ftz}.type",
                                .operands = "d, a, b",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 1,
                                .manual = "floating-point-instructions-div"};
  static constexpr bool kRuntimeVectors = true, kDoubleVectors = true;
  template <class, class> static constexpr HostMode kHostMode = kArithmeticMode;
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    a = in(m, a), b = in(m, b);
    return out(m, flush_tiny(m, m[Field::rnd] == kRn ? a / b : div_rounded(m[Field::rnd], a, b),
                             a * kScale / b));
  }
};

struct NegFloat {
  static constexpr RowInfo info{.grammar = "neg{.ftz}.type",
                                .operands = "d, a",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 1,
                                .manual = "floating-point-instructions-neg"};
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) { return -in(m, a); }
};

struct AbsFloat {
  static constexpr RowInfo info{.grammar = "abs{.ftz}.type",
                                .operands = "d, a",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 1,
                                .manual = "floating-point-instructions-abs"};
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) { return magnitude(in(m, a)); }
};

// A NaN operand yields the other operand, with .NaN a NaN; -0 < +0; .xorsign.abs orders by
// magnitude and gives the result the product's sign.
template <bool kMin, class T, class M> TW_INLINE T min_or_max(M m, T a, T b) {
  a = in(m, a), b = in(m, b);
  T x = m[Field::abs] ? magnitude(a) : a, y = m[Field::abs] ? magnitude(b) : b;
  if constexpr (kIsVector<T>) {
    // Of two zeros both orders are taken: their bits joined give the right one.
    using U = FloatBits<T>;
    if (!m[Field::xorsign] && all((x == x) & (y == y))) {
      U one = bits_as<U>(kMin ? smaller(x, y) : larger(x, y)),
        other = bits_as<U>(kMin ? smaller(y, x) : larger(y, x));
      return bits_as<T>(kMin ? U(one | other) : U(one & other));
    }
  }
  auto first = kMin ? (x < y) | ((x == y) & negative(x)) : (x > y) | ((x == y) & negative(y));
  T best = select(first | is_nan(y), x, y);
  if (m[Field::xorsign]) best = select(negative(a) != negative(b), T(-best), best);
  if (m[Field::nan]) best = select(is_nan(a) | is_nan(b), T(a + b), best);
  return canonical(best);
}
struct MinFloat {
  static constexpr RowInfo info{.grammar = "min{.ftz}{.NaN}{.xorsign}{.abs}.type",
                                .operands = "d, a, b",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 1,
                                .manual = "floating-point-instructions-min"};
  static constexpr bool kVectors = true;
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::ftz, Field::nan, Field::xorsign, Field::abs};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    return min_or_max<true>(m, a, b);
  }
};
struct MaxFloat {
  static constexpr RowInfo info{.grammar = "max{.ftz}{.NaN}{.xorsign}{.abs}.type",
                                .operands = "d, a, b",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 1,
                                .manual = "floating-point-instructions-max"};
  static constexpr bool kVectors = true;
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::ftz, Field::nan, Field::xorsign, Field::abs};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    return min_or_max<false>(m, a, b);
  }
};
struct Min3Float {
  static constexpr RowInfo info{.grammar = "min{.ftz}{.NaN}{.abs}.type",
                                .operands = "d, a, b, c",
                                .types = kF32,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 2,
                                .min_ptx = 88,
                                .min_sm = 100,
                                .manual = "floating-point-instructions-min"};
  static constexpr bool kRuntimeVectors = true;
  static constexpr Field kReads[] = {Field::ftz, Field::nan, Field::abs};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b, T c) {
    return min_or_max<true>(m, min_or_max<true>(m, a, b), c);
  }
};
struct Max3Float {
  static constexpr RowInfo info{.grammar = "max{.ftz}{.NaN}{.abs}.type",
                                .operands = "d, a, b, c",
                                .types = kF32,
                                .types2 = {},
                                .category = Category::fp32,
                                .flops = 2,
                                .min_ptx = 88,
                                .min_sm = 100,
                                .manual = "floating-point-instructions-max"};
  static constexpr bool kRuntimeVectors = true;
  static constexpr Field kReads[] = {Field::ftz, Field::nan, Field::abs};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b, T c) {
    return min_or_max<false>(m, min_or_max<false>(m, a, b), c);
  }
};

struct SqrtFloat {
  static constexpr RowInfo info{.grammar = "sqrt.rnd{.ftz}.type",
                                .operands = "d, a",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .manual = "floating-point-instructions-sqrt"};
  static constexpr bool kRuntimeVectors = true, kDoubleVectors = true;
  template <class, class> static constexpr HostMode kHostMode = kArithmeticMode;
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) {
    a = in(m, a);
    return out(m, m[Field::rnd] == kRn ? square_root(a) : sqrt_rounded(m[Field::rnd], a));
  }
};

struct RcpFloat {
  static constexpr RowInfo info{.grammar = "rcp.rnd{.ftz}.type",
                                .operands = "d, a",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::special_function,
                                .flops = 1,
                                .manual = "floating-point-instructions-rcp"};
  static constexpr bool kRuntimeVectors = true, kDoubleVectors = true;
  template <class, class> static constexpr HostMode kHostMode = kArithmeticMode;
  static constexpr Mods kFixed[] = {kPlain, kFtz};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) {
    a = in(m, a);
    return out(m, m[Field::rnd] == kRn ? 1 / a : div_rounded(m[Field::rnd], splat<T>(1), a));
  }
};

// b with the sign of a.
struct Copysign {
  static constexpr RowInfo info{.grammar = "copysign.type",
                                .operands = "d, a, b",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::fp32,
                                .manual = "floating-point-instructions-copysign"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) {
    using Bits = FloatBits<T>;
    constexpr Bits kSign = Bits(1) << (kBitsOf<T> - 1);
    return bits_as<T>((bits_as<Bits>(a) & kSign) | (bits_as<Bits>(b) & ~kSign));
  }
};

struct Testp {
  static constexpr RowInfo info{.grammar = "testp.testop.type",
                                .operands = "p, a",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::compare,
                                .manual = "floating-point-instructions-testp",
                                .takes = "pt"};
  static constexpr Mods kFixed[] = {
      Mods{}.with(Field::operation, kOpFinite), Mods{}.with(Field::operation, kOpInfinite),
      Mods{}.with(Field::operation, kOpNumber), Mods{}.with(Field::operation, kOpNotANumber),
      Mods{}.with(Field::operation, kOpNormal), Mods{}.with(Field::operation, kOpSubnormal)};
  static constexpr Field kReads[] = {Field::operation};
  template <class T, class M> TW_INLINE static bool lane(M m, T a) {
    T size = magnitude(a);
    constexpr T kLeastNormal = sizeof(T) == 8 ? T(0x1p-1022) : T(0x1p-126f);
    switch (m[Field::operation]) {
      case kOpFinite: return finite(a);
      case kOpInfinite: return infinite(a);
      case kOpNumber: return a == a;
      case kOpNotANumber: return a != a;
      case kOpNormal:
        return finite(a) && (size >= kLeastNormal || size == 0);  // zeros count as normal
      default: return size < kLeastNormal && size != 0;
    }
  }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
