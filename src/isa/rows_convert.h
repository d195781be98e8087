// Rows: conversions. `lane2<D, S>`: D is `.type`, S is `.type2`, as in `cvt.D.S`.
#pragma once

#include "isa/lane.h"
#include "isa/row.h"
#include "isa/rows_float.h"

namespace tw::isa {
inline namespace TW_TARGET {

inline constexpr Type kCvtInts[] = {Type::u8, Type::u16, Type::u32, Type::u64, Type::s8, Type::s16, Type::s32, Type::s64};

// int <- int: sign- or zero-extend by the source's type, chop, or saturate.
struct CvtIntInt {
  static constexpr RowInfo info{.grammar = "cvt{.sat}.type.type2", .operands = "d, a", .types = kCvtInts, .types2 = kCvtInts, .category = Category::convert, .manual = "data-movement-and-conversion-instructions-cvt", .affine = Affine::widen};
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::sat};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    if (!m[Field::sat]) return D(a);
    constexpr D kLeast = kIsSigned<D> ? D(Unsigned<D>(1) << (kBitsOf<D> - 1)) : D(0);
    constexpr D kMost = D(~kLeast);
    if constexpr (kIsSigned<S>) {
      if constexpr (!kIsSigned<D>) {
        if (a < 0) return 0;
        return Unsigned<S>(a) > kMost ? kMost : D(a);
      } else {
        if constexpr (sizeof(D) >= sizeof(S)) return D(a);
        else return a < S(kLeast) ? kLeast : a > S(kMost) ? kMost : D(a);
      }
    } else {
      return a > Unsigned<D>(kMost) ? kMost : D(a);
    }
  }
};

struct CvtFloatInt {
  static constexpr RowInfo info{.grammar = "cvt.rn.type.type2", .operands = "d, a", .types = kF32F64, .types2 = kCvtInts, .category = Category::convert, .manual = "data-movement-and-conversion-instructions-cvt"};
  template <class D, class S, class M> TW_INLINE static D lane2(M, S a) { return D(a); }
};

template <class T>
TW_INLINE T round_integral(uint8_t rnd, T x) {
  if constexpr (sizeof(T) == 4) {
    switch (rnd) {
      case kRni: return __builtin_rintf(x);
      case kRmi: return __builtin_floorf(x);
      case kRpi: return __builtin_ceilf(x);
      default: return __builtin_truncf(x);
    }
  } else {
    switch (rnd) {
      case kRni: return __builtin_rint(x);
      case kRmi: return __builtin_floor(x);
      case kRpi: return __builtin_ceil(x);
      default: return __builtin_trunc(x);
    }
  }
}

// int <- float: always clamps; NaN gives 0 for 8-, 16- and 32-bit... results and the sign bit for 64.
struct CvtIntFloat {
  static constexpr RowInfo info{.grammar = "cvt.irnd{.ftz}{.sat}.type.type2", .operands = "d, a", .types = kCvtInts, .types2 = kF32F64, .category = Category::convert, .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    constexpr D kLeast = kIsSigned<D> ? D(Unsigned<D>(1) << (kBitsOf<D> - 1)) : D(0);
    constexpr D kMost = D(~kLeast);
    S x = round_integral(m[Field::rnd], in(m, a));
    constexpr S kUpper = S(1ull << (kBitsOf<D> - 1)) * (kIsSigned<D> ? S(1) : S(2));  // 2^bits or 2^(bits-1)
    if (x != x) return sizeof(D) == 8 ? D(Unsigned<D>(1) << (kBitsOf<D> - 1)) : D(0);
    if (x >= kUpper) return kMost;
    if (x <= S(kLeast)) return kLeast;
    return D(x);
  }
};

struct CvtF32F64 {
  static constexpr RowInfo info{.grammar = "cvt.rn{.ftz}{.sat}.type.type2", .operands = "d, a", .types = kF32, .types2 = kF64, .category = Category::convert, .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Field kReads[] = {Field::ftz, Field::sat};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) { return out(m, float(a)); }
};

struct CvtF64F32 {
  static constexpr RowInfo info{.grammar = "cvt{.ftz}{.sat}.type.type2", .operands = "d, a", .types = kF64, .types2 = kF32, .category = Category::convert, .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Field kReads[] = {Field::ftz};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) { return double(in(m, a)); }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
