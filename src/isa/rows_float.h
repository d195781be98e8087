// Rows: single and double precision arithmetic.
#pragma once

#include "isa/lane.h"
#include "isa/row.h"

namespace tw::isa {
inline namespace TW_TARGET {

// f32 results honour .ftz and .sat; f64 results pass through.
template <class M> TW_INLINE float in(M m, float x) { return m[Field::ftz] ? flush(x) : x; }
template <class M> TW_INLINE float out(M m, float x) {
  if (m[Field::ftz]) x = flush(x);
  if (m[Field::sat]) x = x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;  // NaN -> +0
  return m[Field::sat] ? x : canonical(x);
}
template <class M> TW_INLINE double in(M, double x) { return x; }
template <class M> TW_INLINE double out(M, double x) { return x; }

inline constexpr Mods kPlain{};
inline constexpr Mods kFtz = Mods{}.with(Field::ftz, 1);

struct AddFloat {
  static constexpr RowInfo info{.grammar = "add{.rn}{.ftz}{.sat}.type", .operands = "d, a, b", .types = kF32F64, .types2 = {}, .category = Category::fp32, .flops = 1, .manual = "floating-point-instructions-add"};
  static constexpr bool kOperandVariants = true;
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::ftz, Field::sat};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) { return out(m, in(m, a) + in(m, b)); }
};

struct SubFloat {
  static constexpr RowInfo info{.grammar = "sub{.rn}{.ftz}{.sat}.type", .operands = "d, a, b", .types = kF32F64, .types2 = {}, .category = Category::fp32, .flops = 1, .manual = "floating-point-instructions-sub"};
  static constexpr bool kOperandVariants = true;
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::ftz, Field::sat};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) { return out(m, in(m, a) - in(m, b)); }
};

struct MulFloat {
  static constexpr RowInfo info{.grammar = "mul{.rn}{.ftz}{.sat}.type", .operands = "d, a, b", .types = kF32F64, .types2 = {}, .category = Category::fp32, .flops = 1, .manual = "floating-point-instructions-mul"};
  static constexpr bool kOperandVariants = true;
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::ftz, Field::sat};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) { return out(m, in(m, a) * in(m, b)); }
};

struct FmaFloat {
  static constexpr RowInfo info{.grammar = "fma.rn{.ftz}{.sat}.type", .operands = "d, a, b, c", .types = kF32F64, .types2 = {}, .category = Category::fp32, .flops = 2, .manual = "floating-point-instructions-fma"};
  static constexpr bool kOperandVariants = true;
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::ftz, Field::sat};
  TW_INLINE static float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  TW_INLINE static double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b, T c) { return out(m, fused(in(m, a), in(m, b), in(m, c))); }
};

struct DivFloat {
  static constexpr RowInfo info{.grammar = "div.rn{.ftz}.type", .operands = "d, a, b", .types = kF32F64, .types2 = {}, .category = Category::fp32, .flops = 1, .manual = "floating-point-instructions-div"};
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) { return out(m, in(m, a) / in(m, b)); }
};

struct NegFloat {
  static constexpr RowInfo info{.grammar = "neg{.ftz}.type", .operands = "d, a", .types = kF32F64, .types2 = {}, .category = Category::fp32, .flops = 1, .manual = "floating-point-instructions-neg"};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) { return -in(m, a); }
};

struct AbsFloat {
  static constexpr RowInfo info{.grammar = "abs{.ftz}.type", .operands = "d, a", .types = kF32F64, .types2 = {}, .category = Category::fp32, .flops = 1, .manual = "floating-point-instructions-abs"};
  static constexpr Field kReads[] = {Field::ftz};
  TW_INLINE static float magnitude(float a) { return __builtin_fabsf(a); }
  TW_INLINE static double magnitude(double a) { return __builtin_fabs(a); }
  template <class T, class M> TW_INLINE static T lane(M m, T a) { return magnitude(in(m, a)); }
};

// A NaN operand yields the other operand; -0 < +0.
struct MinFloat {
  static constexpr RowInfo info{.grammar = "min{.ftz}.type", .operands = "d, a, b", .types = kF32F64, .types2 = {}, .category = Category::fp32, .flops = 1, .manual = "floating-point-instructions-min"};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    a = in(m, a), b = in(m, b);
    T least = a < b || (a == b && __builtin_signbit(a)) ? a : b;
    return out(m, is_nan(a) ? b : is_nan(b) ? a : least);
  }
};

struct MaxFloat {
  static constexpr RowInfo info{.grammar = "max{.ftz}.type", .operands = "d, a, b", .types = kF32F64, .types2 = {}, .category = Category::fp32, .flops = 1, .manual = "floating-point-instructions-max"};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    a = in(m, a), b = in(m, b);
    T most = a > b || (a == b && __builtin_signbit(b)) ? a : b;
    return out(m, is_nan(a) ? b : is_nan(b) ? a : most);
  }
};

struct SqrtFloat {
  static constexpr RowInfo info{.grammar = "sqrt.rn{.ftz}.type", .operands = "d, a", .types = kF32F64, .types2 = {}, .category = Category::special_function, .flops = 1, .manual = "floating-point-instructions-sqrt"};
  static constexpr Field kReads[] = {Field::ftz};
  TW_INLINE static float root(float a) { return __builtin_sqrtf(a); }
  TW_INLINE static double root(double a) { return __builtin_sqrt(a); }
  template <class T, class M> TW_INLINE static T lane(M m, T a) { return out(m, root(in(m, a))); }
};

struct RcpFloat {
  static constexpr RowInfo info{.grammar = "rcp.rn{.ftz}.type", .operands = "d, a", .types = kF32F64, .types2 = {}, .category = Category::special_function, .flops = 1, .manual = "floating-point-instructions-rcp"};
  static constexpr Field kReads[] = {Field::ftz};
  template <class T, class M> TW_INLINE static T lane(M m, T a) { return out(m, T(1) / in(m, a)); }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
