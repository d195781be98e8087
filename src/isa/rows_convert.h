// Rows: conversions. `lane2<D, S>`: D is `.type`, S is `.type2`, as in `cvt.D.S`.
#pragma once

#include "isa/half.h"
#include "isa/lane.h"
#include "isa/rounding.h"
#include "isa/row.h"
#include "isa/rows_compare.h"
#include "isa/rows_float.h"
#include "isa/rows_half.h"

namespace tw::isa {
inline namespace TW_TARGET {

inline constexpr Type kCvtInts[] = {Type::u8, Type::u16, Type::u32, Type::u64,
                                    Type::s8, Type::s16, Type::s32, Type::s64};

template <class D>
inline constexpr D kLeastOf = kIsSigned<D> ? D(Unsigned<D>(1) << (kBitsOf<D> - 1)) : D(0);
template <class D> inline constexpr D kMostOf = D(~kLeastOf<D>);

// a, limited to what D holds.
template <class D, class S> TW_INLINE D saturate_to(S a) {
  if constexpr (kIsSigned<S> && !kIsSigned<D>) {
    if (a < 0) return 0;
    return Unsigned<S>(a) > kMostOf<D> ? kMostOf<D> : D(a);
  } else if constexpr (kIsSigned<S>) {
    if constexpr (sizeof(D) >= sizeof(S))
      return D(a);
    else
      return a < S(kLeastOf<D>) ? kLeastOf<D> : a > S(kMostOf<D>) ? kMostOf<D> : D(a);
  } else {
    return a > Unsigned<D>(kMostOf<D>) ? kMostOf<D> : D(a);
  }
}

// int <- int: sign- or zero-extend by the source's type, chop, or saturate.
struct CvtIntInt {
  static constexpr RowInfo info{.grammar = "cvt{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kCvtInts,
                                .types2 = kCvtInts,
                                .category = Category::convert,
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .affine = Affine::widen};
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::sat};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    return m[Field::sat] ? saturate_to<D>(a) : D(a);
  }
};

// ---- float <- int ----

// Rounded by hand for .rz .rm .rp: 32-bit integers are exact in double, 64-bit ones lose their low
// bits.
template <class D, class S> TW_INLINE D float_of_int(uint8_t rnd, S a) {
  if (rnd == kRn) return D(a);
  if constexpr (sizeof(D) == 4)
    return settle_float(rnd, odd_double(a));
  else if constexpr (sizeof(S) < 8)
    return D(a);
  else {
    bool below_zero = kIsSigned<S> && int64_t(a) < 0;
    uint64_t size = below_zero ? 0 - uint64_t(a) : uint64_t(a);
    uint32_t drop = size >> 53 ? 11 - uint32_t(__builtin_clzll(size)) : 0;
    uint64_t kept = size >> drop << drop;
    bool away = size != kept && (rnd == kRm ? below_zero : rnd == kRp ? !below_zero : false);
    double d = double(kept);
    if (away) d = outward(d);
    return below_zero ? -d : d;
  }
}
struct CvtFloatInt {
  static constexpr RowInfo info{.grammar = "cvt.rnd{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kF32F64,
                                .types2 = kCvtInts,
                                .category = Category::convert,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::rnd, Field::sat};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    D d = float_of_int<D>(m[Field::rnd], a);
    return m[Field::sat] ? (d > 1 ? D(1) : d < 0 ? D(0) : d) : d;
  }
};
struct CvtHalfInt {
  static constexpr RowInfo info{.grammar = "cvt.rnd.type.type2",
                                .operands = "d, a",
                                .types = kScalarHalves,
                                .types2 = kCvtInts,
                                .category = Category::convert,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Field kReads[] = {Field::rnd};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    return narrow_by<D>(m[Field::rnd], false, odd_float(odd_double(a)));
  }
};

// ---- int <- float ----

template <class T> TW_INLINE T round_integral(uint8_t rnd, T x) {
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

// Always limited to D. NaN gives 0, or the top bit where source or result has 64 bits.
template <class D, class S> TW_INLINE D int_of_float(uint8_t rnd, S a) {
  S x = round_integral(rnd, a);
  constexpr S kUpper =
      S(1ull << (kBitsOf<D> - 1)) * (kIsSigned<D> ? S(1) : S(2));  // 2^bits or 2^(bits-1)
  constexpr S kHalf = S(1ull << (kBitsOf<D> - 1));
  constexpr D kNan =
      sizeof(D) == 8 || sizeof(S) == 8 ? D(Unsigned<D>(1) << (kBitsOf<D> - 1)) : D(0);
  S within = x < kUpper ? (x > S(kLeastOf<D>) ? x : S(kLeastOf<D>)) : S(0);  // NaN -> 0
  D inside;
  if constexpr (kBitsOf<D> < 32)
    inside = D(int32_t(within));
  else if constexpr (kIsSigned<D>)
    inside = D(within);
  else {  // through the signed conversion: the unsigned one is no vector instruction
    bool upper = within >= kHalf;
    inside = D(D(std::make_signed_t<D>(within - (upper ? kHalf : S(0)))) |
               (upper ? D(1) << (kBitsOf<D> - 1) : D(0)));
  }
  return x != x ? kNan : x >= kUpper ? kMostOf<D> : inside;
}
constexpr Mods round_mods(Rnd r) { return Mods{}.with(Field::rnd, r); }
struct CvtIntFloat {
  static constexpr RowInfo info{.grammar = "cvt.irnd{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kCvtInts,
                                .types2 = kF32F64,
                                .category = Category::convert,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Mods kFixed[] = {round_mods(kRzi), round_mods(kRni), round_mods(kRmi)};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    return int_of_float<D>(m[Field::rnd], in(m, a));
  }
};
struct CvtIntHalf {
  static constexpr RowInfo info{.grammar = "cvt.irnd{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kCvtInts,
                                .types2 = kScalarHalves,
                                .category = Category::convert,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    return int_of_float<D>(m[Field::rnd], widen(a));
  }
};

// ---- float <- float ----

TW_INLINE float limit(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }  // NaN -> +0
TW_INLINE double limit(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }

struct CvtF32F64 {
  static constexpr RowInfo info{.grammar = "cvt.rnd{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kF32,
                                .types2 = kF64,
                                .category = Category::convert,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz, Field::sat};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    float x = settle_float(m[Field::rnd], a);
    if (m[Field::ftz]) x = flush(x);
    return m[Field::sat] ? limit(x) : x;  // a NaN keeps its sign and the top of its payload
  }
};
// Widening is exact.
struct CvtF64F32 {
  static constexpr RowInfo info{.grammar = "cvt{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kF64,
                                .types2 = kF32,
                                .category = Category::convert,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::ftz, Field::sat};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    double d = double(in(m, a));
    return m[Field::sat] ? limit(d) : d;
  }
};
struct CvtFloatHalf {
  static constexpr RowInfo info{.grammar = "cvt{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kF32F64,
                                .types2 = kScalarHalves,
                                .category = Category::convert,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::ftz, Field::sat};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    float x = widen(a);  // .ftz does not touch halves
    if (m[Field::sat]) return D(limit(x));
    return D(std::is_same_v<S, F16> ? canonical(x) : x);  // bf16 -> f32 only moves the bits
  }
};
inline constexpr Type kNarrowSources[] = {Type::f32, Type::f64, Type::f16, Type::bf16};
struct CvtHalfFloat {
  static constexpr RowInfo info{.grammar = "cvt.rnd{.ftz}{.sat}{.relu}{.satfinite}.type.type2",
                                .operands = "d, a",
                                .types = kScalarHalves,
                                .types2 = kNarrowSources,
                                .category = Category::convert,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz, Field::sat, Field::relu,
                                     Field::satfinite};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    float x;
    if constexpr (kIsHalf<S>)
      x = widen(a);
    else
      x = odd_float(in(m, a));
    D d = m[Field::rnd] == kRn && !m[Field::satfinite]
              ? narrow<D>(x)
              : narrow_by<D>(m[Field::rnd], m[Field::satfinite], x);
    if constexpr (std::is_same_v<D, BF16> && std::is_same_v<S, double>)
      d = x != x ? BF16{bits_as<uint32_t>(x) >> 16} : d;
    return limit_half(m, d);  // .ftz is for f32 operands
  }
};
// Same type: to an integral value, or only .ftz and .sat.
struct CvtSame {
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    if constexpr (kIsHalf<S>) {
      float r = widen(a);  // .ftz does not touch halves
      if (m[Field::rnd] != 0) r = round_integral(m[Field::rnd], r);
      return limit_half(m, narrow<D>(r));
    } else {
      S x = in(m, a);
      S r = m[Field::rnd] != 0 ? round_integral(m[Field::rnd], x) : x;
      if (m[Field::rnd] == 0 && !m[Field::ftz] && !m[Field::sat])
        return a;  // a move: NaNs keep their bits
      return m[Field::sat] ? limit(r) : out(m, r);
    }
  }
  static constexpr Field kReads[] = {Field::rnd, Field::ftz, Field::sat};
};
struct CvtF32F32 : CvtSame {
  static constexpr RowInfo info{.grammar = "cvt{.irnd}{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kF32,
                                .types2 = kF32,
                                .category = Category::convert,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Mods kFixed[] = {round_mods(kRzi), round_mods(kRni), round_mods(kRmi),
                                    round_mods(kRpi), kSat};
};
struct CvtF64F64 : CvtSame {
  static constexpr RowInfo info{.grammar = "cvt{.irnd}{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kF64,
                                .types2 = kF64,
                                .category = Category::convert,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Mods kFixed[] = {round_mods(kRzi), round_mods(kRni), round_mods(kRmi),
                                    round_mods(kRpi)};
};
inline constexpr Type kF16Only[] = {Type::f16};
inline constexpr Type kBf16Only[] = {Type::bf16};
struct CvtF16F16 : CvtSame {
  static constexpr RowInfo info{.grammar = "cvt{.irnd}{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kF16Only,
                                .types2 = kF16Only,
                                .category = Category::convert,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
};
struct CvtBf16Bf16 : CvtSame {
  static constexpr RowInfo info{.grammar = "cvt{.irnd}{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kBf16Only,
                                .types2 = kBf16Only,
                                .category = Category::convert,
                                .min_ptx = 78,
                                .min_sm = 90,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
};

// ---- packed and 8-bit floats ----

// a goes to the upper half, b to the lower.
inline constexpr Type kPairs[] = {Type::f16x2, Type::bf16x2};
struct CvtPair {
  static constexpr RowInfo info{.grammar = "cvt.rnd{.relu}{.satfinite}.type.type2",
                                .operands = "d, a, b",
                                .types = kPairs,
                                .types2 = kF32,
                                .category = Category::convert,
                                .min_ptx = 70,
                                .min_sm = 80,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::rnd, Field::relu, Field::satfinite};
  template <class D, class M> TW_INLINE static Half<D> one(M m, float x) {
    using H = Half<D>;
    H h = m[Field::rnd] == kRn && !m[Field::satfinite]
              ? narrow<H>(x)
              : narrow_by<H>(m[Field::rnd], m[Field::satfinite], x);
    if (m[Field::relu]) h = H{!is_nan(h) && (h.bits & 0x8000u) ? 0 : h.bits};
    return h;
  }
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a, S b) {
    return join<D>(one<D>(m, b), one<D>(m, a));
  }
};
inline constexpr Type kTf32[] = {Type::tf32};
struct CvtTf32Common {
  static constexpr Field kReads[] = {Field::rnd, Field::relu, Field::satfinite};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    if (m[Field::rnd] == kRna) {  // on the bits; a NaN loses its low ones
      uint32_t bits = (bits_as<uint32_t>(a) + (a == a ? 0x1000u : 0u)) & ~0x1fffu;
      return Tf32{m[Field::satfinite] && (bits & 0x7fffffffu) >= 0x7f800000u ? bits - 0x2000u
                                                                             : bits};
    }
    uint32_t t = round_to_format<Tf32>(a, m[Field::rnd], m[Field::satfinite]);
    if (m[Field::relu] && (t >> 18) && a == a) t = 0;
    return Tf32{a != a ? 0x7fffe000u : t << 13};
  }
};
struct CvtTf32Rna : CvtTf32Common {
  static constexpr RowInfo info{.grammar = "cvt.rna{.satfinite}.type.type2",
                                .operands = "d, a",
                                .types = kTf32,
                                .types2 = kF32,
                                .category = Category::convert,
                                .min_ptx = 70,
                                .min_sm = 80,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
};
struct CvtTf32 : CvtTf32Common {
  static constexpr RowInfo info{.grammar = "cvt.rnd{.satfinite}{.relu}.type.type2",
                                .operands = "d, a",
                                .types = kTf32,
                                .types2 = kF32,
                                .category = Category::convert,
                                .min_ptx = 78,
                                .min_sm = 90,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
};

inline constexpr Type kF8Pairs[] = {Type::e4m3x2, Type::e5m2x2};
template <class D, class M> TW_INLINE uint32_t to_f8(M m, float x) {
  using Format = std::conditional_t<std::is_same_v<D, E4M3x2>, E4M3, E5M2>;
  uint32_t b = round_to_format<Format>(x, kRn, true);
  return m[Field::relu] && (b & 0x80u) && x == x ? 0u : b;
}
struct CvtF8F32 {
  static constexpr RowInfo info{.grammar = "cvt.rn.satfinite{.relu}.type.type2",
                                .operands = "d, a, b",
                                .types = kF8Pairs,
                                .types2 = kF32,
                                .category = Category::convert,
                                .min_ptx = 78,
                                .min_sm = 89,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::relu};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a, S b) {
    return D{to_f8<D>(m, a) << 8 | to_f8<D>(m, b)};
  }
};
struct CvtF8F16 {
  static constexpr RowInfo info{.grammar = "cvt.rn.satfinite{.relu}.type.type2",
                                .operands = "d, a",
                                .types = kF8Pairs,
                                .types2 = kF16x2,
                                .category = Category::convert,
                                .min_ptx = 78,
                                .min_sm = 89,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Field kReads[] = {Field::relu};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    return D{to_f8<D>(m, widen(high_half(a))) << 8 | to_f8<D>(m, widen(low_half(a)))};
  }
};
struct CvtF16F8 {
  static constexpr RowInfo info{.grammar = "cvt.rn{.relu}.type.type2",
                                .operands = "d, a",
                                .types = kF16x2,
                                .types2 = kF8Pairs,
                                .category = Category::convert,
                                .min_ptx = 78,
                                .min_sm = 89,
                                .manual = "data-movement-and-conversion-instructions-cvt"};
  static constexpr Field kReads[] = {Field::relu};
  template <class S, class M> TW_INLINE static F16 one(M m, uint32_t byte) {
    float x = std::is_same_v<S, E4M3x2> ? widen_e4m3(byte) : widen_e5m2(byte);
    return m[Field::relu] && negative(x) && x == x ? F16{0} : narrow<F16>(x);
  }
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    return join<D>(one<S>(m, a.bits & 0xffu), one<S>(m, uint32_t(a.bits) >> 8));
  }
};

// ---- cvt.pack: saturated integers side by side ----

inline constexpr Type kPack16[] = {Type::u16, Type::s16};
inline constexpr Type kPack8[] = {Type::u8, Type::s8};
struct CvtPack16 {
  static constexpr RowInfo info{.grammar = "cvt.pack.sat.type.type2",
                                .operands = "d, a, b",
                                .types = kPack16,
                                .types2 = kS32,
                                .category = Category::convert,
                                .min_ptx = 65,
                                .min_sm = 72,
                                .manual = "data-movement-and-conversion-instructions-cvt-pack"};
  template <class D, class S, class M> TW_INLINE static uint32_t lane2(M, S a, S b) {
    return uint32_t(uint16_t(saturate_to<D>(a))) << 16 | uint16_t(saturate_to<D>(b));
  }
};
struct CvtPack8 {
  static constexpr RowInfo info{.grammar = "cvt.pack.sat.type.type2.b32",
                                .operands = "d, a, b, c",
                                .types = kPack8,
                                .types2 = kS32,
                                .category = Category::convert,
                                .min_ptx = 65,
                                .min_sm = 72,
                                .manual = "data-movement-and-conversion-instructions-cvt-pack"};
  template <class D, class S, class M> TW_INLINE static uint32_t lane2(M, S a, S b, uint32_t c) {
    return c << 16 | uint32_t(uint8_t(saturate_to<D>(a))) << 8 | uint8_t(saturate_to<D>(b));
  }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
