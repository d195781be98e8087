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
template <class D, class V> TW_INLINE Like<V, D> saturate_to(V a) {
  using S = ElementOf<V>;
  if constexpr (kIsSigned<S> && (!kIsSigned<D> || sizeof(D) < sizeof(S)))
    a = select(a < S(kLeastOf<D>), splat<V>(kLeastOf<D>), a);
  if constexpr (sizeof(D) < sizeof(S) || (sizeof(D) == sizeof(S) && kIsSigned<D> && !kIsSigned<S>))
    a = select(a > S(kMostOf<D>), splat<V>(kMostOf<D>), a);
  return convert<D>(a);
}

// int <- int: sign- or zero-extend by the source's type, chop, or saturate.
struct CvtIntInt {
  static constexpr RowInfo info{.grammar = "cvt{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kCvtInts,
                                .types2 = kCvtInts,
                                .category = Category::convert,
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .affine = Affine::widen,
                                .takes = "TS"};
  static constexpr bool kRuntimeVectors = true;
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::sat};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    using E = ElementOf<D>;
    return m[Field::sat] ? saturate_to<E>(a) : convert<E>(a);
  }
};

// ---- float <- int ----

// Whether an integer S always fits a float D.
template <class D, class S>
inline constexpr bool kExactIn = sizeof(S) < 4 || (sizeof(S) == 4 && !std::is_same_v<D, float>);
// To nearest; of 64-bit integers a double is rounded, which itself may have been.
template <class S> TW_INLINE auto near_float(S a) {
  if constexpr (kIsWide<S>)
    return both_vectors(near_float(a.part[0]), near_float(a.part[1]));
  else if constexpr (sizeof(ElementOf<S>) == 8)
    return convert<float>(double_of(a));
  else
    return convert<float>(a);
}
// Without instructions for 64-bit integers, with the host's rounding mode as the instruction asks:
// two roundings in one direction are one. To nearest, the second must not be from the middle between
// two floats if the first was one.
template <class S> TW_INLINE auto float_of_quadword(uint8_t rnd, S a) {
  return in_halves(
      [rnd](auto x) TW_INLINE_LAMBDA {
        auto d = double_of(x);
        using V = decltype(d);
        if (rnd != kRn) {
          d = select(x == 0, splat<V>(0), d);  // a difference of equals is -0 when rounding down
        } else {
          const auto below = bits_as<Like<V, uint64_t>>(d) & 0x1fffffffu;
          if (!none((below == 0x10000000u) & (magnitude(d) > 0x1p53))) d = odd_double(x);
        }
        return convert<float>(d);
      },
      a);
}
template <class D, class S> TW_INLINE D float_of_int(uint8_t rnd, S a) {
  constexpr bool kFloat = std::is_same_v<ElementOf<D>, float>;
  constexpr size_t kBytes = sizeof(ElementOf<S>);
  if constexpr (kExactIn<ElementOf<D>, ElementOf<S>>) {
    return convert<ElementOf<D>>(a);
  } else if constexpr (kModeIsSet<S>) {
    if constexpr (kHasQuadwords)
      return convert<ElementOf<D>>(a);
    else if constexpr (kFloat && kBytes == 8)
      return float_of_quadword(rnd, a);
    else if constexpr (kBytes == 4)
      return select(a == 0, splat<D>(0), convert<float>(a));
    else
      return select(a == 0, splat<D>(0), double_of(a));
  } else if constexpr (kFloat) {
    if constexpr (kBytes < 8) {
      if (rnd == kRn) return convert<float>(a);
    }
    return settle_float(rnd, odd_double(a));
  } else {
    D near = double_of(a);
    if (rnd == kRn) return near;
    auto missing = bits_as<Like<S, int64_t>>(a) - bits_as<Like<S, int64_t>>(integer_of(near));
    return settle(rnd, near, missing > 0, missing < 0);
  }
}
struct CvtFloatInt {
  static constexpr RowInfo info{.grammar = "cvt.rnd{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kF32F64,
                                .types2 = kCvtInts,
                                .category = Category::convert,
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
  static constexpr bool kRuntimeVectors = true;
  static constexpr size_t kWorkBytes = kHasHostRounding ? 4 : 8;
  template <class D, class S>
  static constexpr HostMode kHostMode = kExactIn<D, S> ? HostMode::none : HostMode::instruction;
  // Those for which the compiler knows no instruction.
  template <class D, class S> static constexpr bool kVectorTypes = sizeof(S) == 8;
  template <class D, class S>
  static constexpr bool kTakesWide = sizeof(D) == 4 && sizeof(S) == 8 && !kHasQuadwords;
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::rnd, Field::sat};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    D d = float_of_int<D>(m[Field::rnd], a);
    return m[Field::sat] ? limit(d) : d;
  }
};
// An integer as a float that a half of the format D sees as it would see the integer.
template <class D, class S> TW_INLINE auto float_for_half(S a) {
  using E = ElementOf<S>;
  if constexpr (kIsF16<D> && sizeof(E) == 8) {  // what float rounds is too large for the format
    return convert<float>(in_halves(
        [](auto x) TW_INLINE_LAMBDA {
          using V = decltype(x);
          constexpr E kLarge = E(1) << 20;
          auto limited = select(x > kLarge, splat<V>(kLarge), x);
          if constexpr (kIsSigned<E>)
            limited = select(limited < -kLarge, splat<V>(-kLarge), limited);
          return convert<int32_t>(limited);
        },
        a));
  } else if constexpr (kIsF16<D> || sizeof(E) < 4) {
    return convert<float>(a);
  } else {
    // What was rounded would be rounded a second time only from the middle between two bf16, and
    // with a direction from one.
    const auto near = near_float(a);
    const auto bits = bits_as<FloatBits<decltype(near)>>(near);
    if (none(((bits & 0x7fffu) == 0u) & (magnitude(near) >= 0x1p24f))) return near;
    return in_halves([](auto x) TW_INLINE_LAMBDA { return odd_float(odd_double(x)); }, a);
  }
}
struct CvtHalfInt {
  static constexpr RowInfo info{.grammar = "cvt.rnd.type.type2",
                                .operands = "d, a",
                                .types = kScalarHalves,
                                .types2 = kCvtInts,
                                .category = Category::convert,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
  static constexpr bool kVectors = true;
  template <class, class> static constexpr bool kTakesWide = true;
  static constexpr Field kReads[] = {Field::rnd};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    return narrow_as<D, true>(m, float_for_half<D>(a));
  }
};

// ---- int <- float ----

// How many lanes of D are given: 8-bit ones in the 16 bits of their slots.
template <class D, class V>
using Held = std::conditional_t<kIsVector<V> && sizeof(D) == 1,
                                std::conditional_t<kIsSigned<D>, int16_t, uint16_t>, D>;
// Of an integral number; always limited to D. NaN gives 0, or the top bit where source or result
// has 64 bits.
template <class D, class V> TW_INLINE Like<V, Held<D, V>> int_of_integral(V x) {
  using S = ElementOf<V>;
  if constexpr (kIsVector<V> && kIsDouble<V> && kBitsOf<D> == 64) {
    // The integer in the low bits of a mantissa.
    constexpr double kShift = 0x1.8p52;
    if (all(kIsSigned<D> ? magnitude(x) < 0x1p51 : (x > -1.0) & (x < 0x1p51)))
      return convert<Held<D, V>>(bits_as<Like<V, int64_t>>(V(x + kShift)) -
                                 bits_as<int64_t>(kShift));
  }
  if constexpr (kIsVector<V> && kIsDouble<V> && kBitsOf<D> <= 32) {
    // Limited first; then the integer lies in the low bits of a mantissa. A NaN becomes the top bit.
    constexpr double kLeast = double(kLeastOf<D>), kMost = double(kMostOf<D>);
    constexpr D kTop = D(Unsigned<D>(1) << (kBitsOf<D> - 1));
    V within = smaller(larger(x, splat<V>(kLeast)), splat<V>(kMost));
    if constexpr (kTop != kLeastOf<D>) within = select(x != x, splat<V>(double(kTop)), within);
    return convert<Held<D, V>>(convert<uint32_t>(bits_as<Like<V, uint64_t>>(V(within + 0x1.8p52))));
  }
  constexpr S kHalf = S(1ull << (kBitsOf<D> - 1));
  constexpr S kUpper = kHalf * (kIsSigned<D> ? S(1) : S(2));  // 2^bits or 2^(bits-1)
  constexpr D kNan =
      sizeof(D) == 8 || sizeof(S) == 8 ? D(Unsigned<D>(1) << (kBitsOf<D> - 1)) : D(0);
  V least = splat<V>(S(kLeastOf<D>));
  V within = select(x < kUpper, select(x > least, x, least), splat<V>(0));  // NaN -> 0
  using Wide = Like<V, std::conditional_t<(kBitsOf<D> < 32), int32_t, D>>;
  Wide inside;
  if constexpr (kBitsOf<D> == 64)
    inside = convert<D>(integer_of(convert<double>(within)));
  else if constexpr (kIsSigned<D> || kBitsOf<D> < 32)
    inside = convert<int32_t>(within);
  else {  // through the signed conversion: the unsigned one is no vector instruction
    auto upper = within >= kHalf;
    inside = convert<D>(convert<int32_t>(V(within - select(upper, splat<V>(kHalf), splat<V>(0))))) |
             select(upper, splat<Wide>(0x80000000u), splat<Wide>(0));
  }
  return convert<Held<D, V>>(
      select(x != x, splat<Wide>(kNan), select(x >= kUpper, splat<Wide>(kMostOf<D>), inside)));
}
template <class D, class V> TW_INLINE auto int_of_float(uint8_t rnd, V a) {
  const V x = round_integral(rnd, a);
  if constexpr (kIsVector<V> && !kIsDouble<V> && kBitsOf<D> == 64)
    return in_halves([](auto v) TW_INLINE_LAMBDA { return int_of_integral<D>(convert<double>(v)); },
                     x);
  else
    return int_of_integral<D>(x);
}
constexpr Mods round_mods(Rnd r) { return Mods{}.with(Field::rnd, r); }
struct CvtIntFloat {
  static constexpr RowInfo info{.grammar = "cvt.irnd{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kCvtInts,
                                .types2 = kF32F64,
                                .category = Category::convert,
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
  static constexpr bool kVectors = true;
  template <class D, class S> static constexpr bool kTakesWide = sizeof(D) == 8 && sizeof(S) == 4;
  static constexpr Mods kFixed[] = {round_mods(kRzi), round_mods(kRni), round_mods(kRmi)};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz};
  template <class D, class S, class M> TW_INLINE static auto lane2(M m, S a) {
    return int_of_float<ElementOf<D>>(m[Field::rnd], in(m, a));
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
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
  static constexpr bool kVectors = true;
  template <class D, class> static constexpr bool kTakesWide = sizeof(D) == 8;
  static constexpr Field kReads[] = {Field::rnd, Field::ftz};
  template <class D, class S, class M> TW_INLINE static auto lane2(M m, S a) {
    return int_of_float<ElementOf<D>>(m[Field::rnd], widen(a));
  }
};

// ---- float <- float ----

struct CvtF32F64 {
  static constexpr RowInfo info{.grammar = "cvt.rnd{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kF32,
                                .types2 = kF64,
                                .category = Category::convert,
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
  static constexpr bool kRuntimeVectors = true;
  template <class D, class S> static constexpr HostMode kHostMode = HostMode::instruction;
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz, Field::sat};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    D x;
    if constexpr (kModeIsSet<S>)
      x = convert<float>(a);
    else
      x = settle_float(m[Field::rnd], a);
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
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
  static constexpr bool kRuntimeVectors = true;
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::ftz, Field::sat};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    D d = convert<double>(in(m, a));
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
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
  static constexpr bool kVectors = true;
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::ftz, Field::sat};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    using E = ElementOf<D>;
    auto x = widen(a);  // .ftz does not touch halves
    if (m[Field::sat]) return convert<E>(limit(x));
    return convert<E>(kIsF16<S> ? canonical(x) : x);  // bf16 -> f32 only moves the bits
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
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
  static constexpr bool kVectors = true;
  template <class, class> static constexpr bool kTakesWide = true;
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::rnd, Field::ftz, Field::sat, Field::relu,
                                     Field::satfinite};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    FloatOf<D> x;
    if constexpr (kIsHalf<S>)
      x = widen(a);
    else if constexpr (kIsDouble<S>)
      x = odd_float(a);
    else
      x = in(m, a);
    if constexpr (!kIsF16<D> && kIsDouble<S>) {
      const auto nan = x != x;
      if (none(nan)) return limit_half(m, narrow_as<D, true>(m, x));
      using U = FloatBits<FloatOf<D>>;  // a NaN is cut short
      const auto top = convert<ElementOf<HalfBits<D>>>(U(bits_as<U>(x) >> 16));
      return limit_half(m, D{select(nan, top, narrow_as<D>(m, x).bits)});
    }
    return limit_half(m, narrow_as<D>(m, x));  // .ftz is for f32 operands
  }
};
// Same type: to an integral value, or only .ftz and .sat.
struct CvtSame {
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    if constexpr (kIsHalf<S>) {
      auto r = widen(a);  // .ftz does not touch halves
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
  static constexpr bool kRuntimeVectors = true;
  static constexpr Field kReads[] = {Field::rnd, Field::ftz, Field::sat};
};
struct CvtF32F32 : CvtSame {
  static constexpr RowInfo info{.grammar = "cvt{.irnd}{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kF32,
                                .types2 = kF32,
                                .category = Category::convert,
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
  static constexpr Mods kFixed[] = {round_mods(kRzi), round_mods(kRni), round_mods(kRmi),
                                    round_mods(kRpi), kSat};
};
struct CvtF64F64 : CvtSame {
  static constexpr RowInfo info{.grammar = "cvt{.irnd}{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kF64,
                                .types2 = kF64,
                                .category = Category::convert,
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
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
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
  static constexpr bool kVectors = true;
};
struct CvtBf16Bf16 : CvtSame {
  static constexpr RowInfo info{.grammar = "cvt{.irnd}{.ftz}{.sat}.type.type2",
                                .operands = "d, a",
                                .types = kBf16Only,
                                .types2 = kBf16Only,
                                .category = Category::convert,
                                .min_ptx = 78,
                                .min_sm = 90,
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
  static constexpr bool kVectors = true;
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
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TSS"};
  static constexpr bool kVectors = true;
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::rnd, Field::relu, Field::satfinite};
  template <class D, class M> TW_INLINE static Half<D> one(M m, FloatOf<Half<D>> x) {
    using H = Half<D>;
    const H h = narrow_as<H>(m, x);
    return m[Field::relu] ? limit_half(m, h) : h;
  }
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a, S b) {
    return join<D>(one<D>(m, b), one<D>(m, a));
  }
};
inline constexpr Type kTf32[] = {Type::tf32};
struct CvtTf32Common {
  static constexpr bool kVectors = true;
  static constexpr Field kReads[] = {Field::rnd, Field::relu, Field::satfinite};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    using U = Like<S, uint32_t>;
    if (m[Field::rnd] == kRna) {  // on the bits; a NaN loses its low ones
      U bits = (bits_as<U>(a) + select(a == a, splat<U>(0x1000u), 0u)) & ~0x1fffu;
      if (m[Field::satfinite])
        bits = select((bits & 0x7fffffffu) >= 0x7f800000u, U(bits - 0x2000u), bits);
      return D{bits};
    }
    U t = round_to_format<Tf32>(a, m[Field::rnd], m[Field::satfinite]);
    if (m[Field::relu]) t = select((t >> 18) != 0u, splat<U>(0u), t);
    return D{select(a != a, splat<U>(0x7fffe000u), U(t << 13))};
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
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "ts"};
};
struct CvtTf32 : CvtTf32Common {
  static constexpr RowInfo info{.grammar = "cvt.rnd{.satfinite}{.relu}.type.type2",
                                .operands = "d, a",
                                .types = kTf32,
                                .types2 = kF32,
                                .category = Category::convert,
                                .min_ptx = 78,
                                .min_sm = 90,
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "ts"};
};

inline constexpr Type kF8Pairs[] = {Type::e4m3x2, Type::e5m2x2};
template <class T> inline constexpr bool kIsE4M3 = std::is_same_v<T, E4M3x2>;
template <size_t N> inline constexpr bool kIsE4M3<PackedVector<E4M3x2, N>> = true;
template <class D> using F8Of = std::conditional_t<kIsE4M3<D>, E4M3, E5M2>;
// .relu of two 8-bit floats; a NaN has no sign any more.
template <class D, class M, class U> TW_INLINE D f8_pair(M m, U bytes) {
  const U sign = bytes & 0x8080u;
  return D{m[Field::relu] ? U(bytes & ~((sign << 1) - (sign >> 7))) : bytes};
}
// f16s to 8-bit floats as numbers of 16 bits. False, with nothing done, where one is a NaN, or is
// not zero and below E4M3's least normal number.
template <class Format, class U> TW_INLINE bool narrow_f16s_in_place(U pairs, U& result) {
  if constexpr (!kIsVector<U>) {
    return false;
  } else {
    using F = FormatOf<Format>;
    using W = Vector<int16_t, 2 * LikeOf<U>::kCount>;
    constexpr int kShift = 10 - F::kMantissa;
    constexpr bool kRebiases = F::kExponent < 5;
    constexpr int16_t kRebias = kRebiases ? 0x2000 : 0, kLeast = kRebias + 0x400;
    const W w = bits_as<W>(pairs), size = w & int16_t{0x7fff};
    const W normal = size >= kLeast;
    const W other = kRebiases ? W((size > 0x7c00) | (~normal & (size > 0))) : W(size > 0x7c00);
    if (!none(other)) return false;
    const W limited = smaller(size, splat<W>((F::kMost << kShift) + kRebias));
    W value = (limited + ((limited >> kShift) & 1) + int16_t((1 << (kShift - 1)) - 1 - kRebias)) >>
              kShift;
    if constexpr (kRebiases) value &= normal;
    result = bits_as<U>(W(value | ((w >> 8) & 0x80)));
    return true;
  }
}
struct CvtF8F32 {
  static constexpr RowInfo info{.grammar = "cvt.rn.satfinite{.relu}.type.type2",
                                .operands = "d, a, b",
                                .types = kF8Pairs,
                                .types2 = kF32,
                                .category = Category::convert,
                                .min_ptx = 78,
                                .min_sm = 89,
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TSS"};
  static constexpr bool kVectors = true;
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::relu};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a, S b) {
    return f8_pair<D>(m, narrow_f8<F8Of<D>>(a) << 8 | narrow_f8<F8Of<D>>(b));
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
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
  static constexpr bool kVectors = true;
  static constexpr Field kReads[] = {Field::relu};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    using U = decltype(a.bits);
    using F = F8Of<D>;
    U halves;
    if (narrow_f16s_in_place<F>(a.bits, halves))
      return f8_pair<D>(m, U((halves | halves >> 8) & 0xffffu));
    return f8_pair<D>(m, narrow_f8<F>(widen(high_half(a))) << 8 | narrow_f8<F>(widen(low_half(a))));
  }
};
// Two 8-bit floats in the low bytes of the halves of each element, as f16s: their bits in place, and
// what E4M3 has below its least normal number, eight units of 2^-9, by the number of units.
template <bool kE4M3, class U> TW_INLINE U halves_of_f8(U pairs) {
  using W = Vector<uint16_t, 2 * LikeOf<U>::kCount>;
  const W w = bits_as<W>(pairs);
  const W magnitude = w & uint16_t{0x7f}, sign = (w & uint16_t{0x80}) << 8;
  if constexpr (!kE4M3) {
    return bits_as<U>(select(magnitude > uint16_t{0x7c}, splat<W>(0x7fff), W(w << 8)));
  } else {
    const W normal = (magnitude << 7) + uint16_t{0x2000};
    W units;
    if constexpr (kShufflesBytes<W>) {
      using B = Vector<uint8_t, sizeof(W)>;
      constexpr uint8_t kUpper[16] = {0, 0x18, 0x1c, 0x1e, 0x20, 0x21, 0x22, 0x23};
      units = bits_as<W>(
          shuffled_bytes(repeated<B>(kUpper), bits_as<B>(W(magnitude << 8 | uint16_t{0x80}))));
    } else {
      const W high = (magnitude >= uint16_t{4}) & W((magnitude << 8) + uint16_t{0x1c00}),
              middle = (magnitude < uint16_t{4}) & (magnitude >= uint16_t{2}) &
                       W((magnitude << 9) + uint16_t{0x1800}),
              low = (magnitude == uint16_t{1}) & splat<W>(0x1800);
      units = high | middle | low;
    }
    const W half = select(magnitude >= uint16_t{8}, normal, units);
    return bits_as<U>(select(magnitude == uint16_t{0x7f}, splat<W>(0x7fff), W(half | sign)));
  }
}
template <class U> TW_INLINE U relu_of_f16s(U pairs) {
  using W = Vector<uint16_t, 2 * LikeOf<U>::kCount>;
  const W w = bits_as<W>(pairs);  // a NaN has no sign any more
  return bits_as<U>(W((w < uint16_t{0x8000}) & w));
}
struct CvtF16F8 {
  static constexpr RowInfo info{.grammar = "cvt.rn{.relu}.type.type2",
                                .operands = "d, a",
                                .types = kF16x2,
                                .types2 = kF8Pairs,
                                .category = Category::convert,
                                .min_ptx = 78,
                                .min_sm = 89,
                                .manual = "data-movement-and-conversion-instructions-cvt",
                                .takes = "TS"};
  static constexpr bool kVectors = true;
  static constexpr Field kReads[] = {Field::relu};
  template <class D, class S, class U, class M> TW_INLINE static Half<D> one(M m, U byte) {
    auto x = kIsE4M3<S> ? widen_e4m3(byte) : widen_f16(U(byte << 8));
    return limit_half(m, narrow<Half<D>>(x));
  }
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a) {
    using U = decltype(a.bits);
    if constexpr (kIsVector<U>) {
      U d = halves_of_f8<kIsE4M3<S>>(U((a.bits & 0xffu) | (a.bits & 0xff00u) << 8));
      if (m[Field::relu]) d = relu_of_f16s(d);
      return D{d};
    } else {
      return join<D>(one<D, S>(m, U(a.bits & 0xffu)), one<D, S>(m, U(a.bits >> 8)));
    }
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
                                .manual = "data-movement-and-conversion-instructions-cvt-pack",
                                .takes = "USS"};
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
                                .manual = "data-movement-and-conversion-instructions-cvt-pack",
                                .takes = "USSB"};
  template <class D, class S, class M> TW_INLINE static uint32_t lane2(M, S a, S b, uint32_t c) {
    return c << 16 | uint32_t(uint8_t(saturate_to<D>(a))) << 8 | uint8_t(saturate_to<D>(b));
  }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
