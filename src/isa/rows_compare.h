// Rows: comparisons into predicates (setp) and into values (set), and slct.
#pragma once

#include "isa/half.h"
#include "isa/lane.h"
#include "isa/row.h"
#include "isa/rows_float.h"
#include "isa/rows_half.h"

namespace tw::isa {
inline namespace TW_TARGET {

// One lane; emu/compare_lanes.h compares all of them, with the same results.
template <class T> TW_INLINE bool compare(uint8_t cmp, T a, T b) {
  switch (cmp) {
    case kEq: return a == b;
    case kNe: return (a != b) & (a == a) & (b == b);  // ordered for floats
    case kLt:
    case kLo: return a < b;
    case kLe:
    case kLs: return a <= b;
    case kGt:
    case kHi: return a > b;
    case kGe:
    case kHs: return a >= b;
    case kEqu: return !((a < b) | (a > b));
    case kNeu: return a != b;
    case kLtu: return !(a >= b);
    case kLeu: return !(a > b);
    case kGtu: return !(a <= b);
    case kGeu: return !(a < b);
    case kNum: return (a == a) & (b == b);
    case kNan: return (a != a) | (b != b);
    default: return false;
  }
}
template <class B> TW_INLINE B combine(uint8_t boolop, B x, B c) {  // bool, or masks of lanes
  switch (boolop) {
    case kBoolAnd: return x & c;
    case kBoolOr: return x | c;
    case kBoolXor: return x ^ c;
    default: return x;
  }
}

// What is compared: integers as they are, floats after .ftz, halves as floats.
template <class M, class T> TW_INLINE auto comparable(M m, T a) {
  if constexpr (kIsHalf<T>)
    return widen(half_in(m, a));
  else if constexpr (kIsFloating<ElementOf<T>>)
    return in(m, a);
  else
    return a;
}
template <class M, class T> TW_INLINE bool compared(M m, T a, T b) {
  return compare(m[Field::cmp], comparable(m, a), comparable(m, b));
}
// Predicates from pairs: p from the low halves, q (Field::operation == 1) from the high halves.
// From everything else q is the opposite of p, taken before the boolean operation.
template <class M, class T> TW_INLINE bool compared_for(M m, T a, T b) {
  bool second = m[Field::operation] != 0;
  if constexpr (kIsPair<T>) {
    return second ? compared(m, high_half(a), high_half(b)) : compared(m, low_half(a), low_half(b));
  } else {
    return compared(m, a, b) != second;
  }
}

inline constexpr Type kSetpIntTypes[] = {Type::b16, Type::b32, Type::b64, Type::u16, Type::u32,
                                         Type::u64, Type::s16, Type::s32, Type::s64};
constexpr Mods compare_mods(Cmp c) { return Mods{}.with(Field::cmp, c); }

// The second destination of `setp p|q` is a second instruction with Field::operation == 1, made by
// the decoder.
struct SetpInt {
  static constexpr RowInfo info{.grammar = "setp.cmp.type",
                                .operands = "p{|q}, a, b",
                                .types = kSetpIntTypes,
                                .types2 = {},
                                .category = Category::compare,
                                .manual = "comparison-and-selection-instructions-setp",
                                .takes = "ptt"};
  static constexpr bool kCompares = true;
  static constexpr size_t kOperandVariants = 6;
  static constexpr Mods kFixed[] = {compare_mods(kEq), compare_mods(kNe), compare_mods(kLt),
                                    compare_mods(kLe), compare_mods(kGt), compare_mods(kGe)};
  static constexpr Field kReads[] = {Field::cmp, Field::operation};
  template <class T, class M> TW_INLINE static bool lane(M m, T a, T b) {
    return compared_for(m, a, b);
  }
};
struct SetpIntBool {
  static constexpr RowInfo info{.grammar = "setp.cmp.boolop.type",
                                .operands = "p{|q}, a, b, {!}c",
                                .types = kSetpIntTypes,
                                .types2 = {},
                                .category = Category::compare,
                                .manual = "comparison-and-selection-instructions-setp",
                                .takes = "pttp"};
  static constexpr bool kCompares = true;
  static constexpr Field kReads[] = {Field::cmp, Field::boolop, Field::operation};
  template <class T, class M> TW_INLINE static bool lane(M m, T a, T b, bool c) {
    return combine(m[Field::boolop], compared_for(m, a, b), c);
  }
};
struct SetpFloat {
  static constexpr RowInfo info{.grammar = "setp.cmp{.ftz}.type",
                                .operands = "p{|q}, a, b",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::compare,
                                .manual = "comparison-and-selection-instructions-setp",
                                .takes = "ptt"};
  static constexpr bool kCompares = true;
  static constexpr Mods kFixed[] = {compare_mods(kEq),
                                    compare_mods(kNeu),
                                    compare_mods(kLt),
                                    compare_mods(kLe),
                                    compare_mods(kGt),
                                    compare_mods(kGe),
                                    compare_mods(kLtu),
                                    compare_mods(kLeu),
                                    compare_mods(kGtu),
                                    compare_mods(kGeu),
                                    compare_mods(kNan),
                                    compare_mods(kLt).with(Field::ftz, 1),
                                    compare_mods(kGt).with(Field::ftz, 1)};
  static constexpr Field kReads[] = {Field::cmp, Field::ftz, Field::operation};
  template <class T, class M> TW_INLINE static bool lane(M m, T a, T b) {
    return compared_for(m, a, b);
  }
};
struct SetpFloatBool {
  static constexpr RowInfo info{.grammar = "setp.cmp.boolop{.ftz}.type",
                                .operands = "p{|q}, a, b, {!}c",
                                .types = kF32F64,
                                .types2 = {},
                                .category = Category::compare,
                                .manual = "comparison-and-selection-instructions-setp",
                                .takes = "pttp"};
  static constexpr bool kCompares = true;
  static constexpr Field kReads[] = {Field::cmp, Field::boolop, Field::ftz, Field::operation};
  template <class T, class M> TW_INLINE static bool lane(M m, T a, T b, bool c) {
    return combine(m[Field::boolop], compared_for(m, a, b), c);
  }
};
struct SetpHalf {
  static constexpr RowInfo info{.grammar = "setp.cmp{.ftz}.type",
                                .operands = "p{|q}, a, b",
                                .types = kHalves,
                                .types2 = {},
                                .category = Category::compare,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "half-precision-comparison-instructions-setp",
                                .takes = "ptt"};
  static constexpr bool kCompares = true;
  static constexpr Field kReads[] = {Field::cmp, Field::ftz, Field::operation};
  template <class T, class M> TW_INLINE static bool lane(M m, T a, T b) {
    return compared_for(m, a, b);
  }
};
struct SetpHalfBool {
  static constexpr RowInfo info{.grammar = "setp.cmp.boolop{.ftz}.type",
                                .operands = "p{|q}, a, b, {!}c",
                                .types = kHalves,
                                .types2 = {},
                                .category = Category::compare,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "half-precision-comparison-instructions-setp",
                                .takes = "pttp"};
  static constexpr bool kCompares = true;
  static constexpr Field kReads[] = {Field::cmp, Field::boolop, Field::ftz, Field::operation};
  template <class T, class M> TW_INLINE static bool lane(M m, T a, T b, bool c) {
    return combine(m[Field::boolop], compared_for(m, a, b), c);
  }
};

// True as a value: 1.0 in a float type, all ones in an integer.
template <class D, class C> TW_INLINE D truth(C x) {
  if constexpr (kIsHalf<D>) {
    using B = HalfBits<D>;
    return D{select(x, splat<B>(kIsF16<D> ? 0x3c00 : 0x3f80), splat<B>(0))};
  } else if constexpr (kIsFloating<ElementOf<D>>) {
    return select(x, splat<D>(1), splat<D>(0));
  } else {
    return select(x, splat<D>(~ElementOf<D>(0)), splat<D>(0));
  }
}
inline constexpr Type kSetTypes[] = {Type::u32, Type::s32, Type::f32};
inline constexpr Type kSetSources[] = {Type::b16, Type::b32, Type::b64, Type::u16, Type::u32,
                                       Type::u64, Type::s16, Type::s32, Type::s64, Type::f32,
                                       Type::f64, Type::f16, Type::bf16};
struct Set {
  static constexpr RowInfo info{.grammar = "set.cmp{.ftz}.type.type2",
                                .operands = "d, a, b",
                                .types = kSetTypes,
                                .types2 = kSetSources,
                                .category = Category::compare,
                                .manual = "comparison-and-selection-instructions-set",
                                .takes = "dss"};
  static constexpr bool kCompares = true;
  static constexpr bool kSignless = true;
  static constexpr Field kReads[] = {Field::cmp, Field::ftz};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a, S b) {
    return truth<D>(compared(m, a, b));
  }
};
struct SetBool {
  static constexpr RowInfo info{.grammar = "set.cmp.boolop{.ftz}.type.type2",
                                .operands = "d, a, b, {!}c",
                                .types = kSetTypes,
                                .types2 = kSetSources,
                                .category = Category::compare,
                                .manual = "comparison-and-selection-instructions-set",
                                .takes = "dssp"};
  static constexpr bool kCompares = true;
  static constexpr bool kSignless = true;
  static constexpr Field kReads[] = {Field::cmp, Field::boolop, Field::ftz};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a, S b, bool c) {
    return truth<D>(combine(m[Field::boolop], compared(m, a, b), c));
  }
};
inline constexpr Type kSetHalfTypes[] = {Type::f16, Type::bf16, Type::u16, Type::s16};
inline constexpr Type kScalarHalves[] = {Type::f16, Type::bf16};
struct SetHalf {
  static constexpr RowInfo info{.grammar = "set.cmp{.ftz}.type.type2",
                                .operands = "d, a, b",
                                .types = kSetHalfTypes,
                                .types2 = kScalarHalves,
                                .category = Category::compare,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "half-precision-comparison-instructions-set",
                                .takes = "dss"};
  static constexpr bool kCompares = true;
  static constexpr bool kSignless = true;
  static constexpr Field kReads[] = {Field::cmp, Field::ftz};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a, S b) {
    return truth<D>(compared(m, a, b));
  }
};
struct SetHalfBool {
  static constexpr RowInfo info{.grammar = "set.cmp.boolop{.ftz}.type.type2",
                                .operands = "d, a, b, {!}c",
                                .types = kSetHalfTypes,
                                .types2 = kScalarHalves,
                                .category = Category::compare,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "half-precision-comparison-instructions-set",
                                .takes = "dssp"};
  static constexpr bool kCompares = true;
  static constexpr bool kSignless = true;
  static constexpr Field kReads[] = {Field::cmp, Field::boolop, Field::ftz};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a, S b, bool c) {
    return truth<D>(combine(m[Field::boolop], compared(m, a, b), c));
  }
};
// Pairs: each half of the result tells of its half: 1.0, or sixteen ones when .type is an integer.
template <class D, class C> TW_INLINE D pair_truth(C low, C high) {
  if constexpr (kIsPair<D>)
    return join<D>(truth<Half<D>>(low), truth<Half<D>>(high));
  else
    return select(low, splat<D>(0xffffu), splat<D>(0u)) |
           select(high, splat<D>(0xffff0000u), splat<D>(0u));
}
inline constexpr Type kSetF16x2Types[] = {Type::f16x2, Type::u32, Type::s32};
inline constexpr Type kSetBf16x2Types[] = {Type::bf16x2, Type::u32, Type::s32};
inline constexpr Type kF16x2[] = {Type::f16x2};
inline constexpr Type kBf16x2[] = {Type::bf16x2};
struct SetPair {
  static constexpr bool kCompares = true;
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a, S b) {
    return pair_truth<D>(compared(m, low_half(a), low_half(b)),
                         compared(m, high_half(a), high_half(b)));
  }
  static constexpr bool kSignless = true;
  static constexpr Field kReads[] = {Field::cmp, Field::ftz};
};
struct SetPairBool {
  static constexpr bool kCompares = true;
  template <class D, class S, class M> TW_INLINE static D lane2(M m, S a, S b, bool c) {
    uint8_t op = m[Field::boolop];
    return pair_truth<D>(combine(op, compared(m, low_half(a), low_half(b)), c),
                         combine(op, compared(m, high_half(a), high_half(b)), c));
  }
  static constexpr bool kSignless = true;
  static constexpr Field kReads[] = {Field::cmp, Field::boolop, Field::ftz};
};
struct SetF16x2 : SetPair {
  static constexpr RowInfo info{.grammar = "set.cmp{.ftz}.type.type2",
                                .operands = "d, a, b",
                                .types = kSetF16x2Types,
                                .types2 = kF16x2,
                                .category = Category::compare,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "half-precision-comparison-instructions-set",
                                .takes = "dss"};
};
struct SetF16x2Bool : SetPairBool {
  static constexpr RowInfo info{.grammar = "set.cmp.boolop{.ftz}.type.type2",
                                .operands = "d, a, b, {!}c",
                                .types = kSetF16x2Types,
                                .types2 = kF16x2,
                                .category = Category::compare,
                                .min_ptx = 42,
                                .min_sm = 53,
                                .manual = "half-precision-comparison-instructions-set",
                                .takes = "dssp"};
};
struct SetBf16x2 : SetPair {
  static constexpr RowInfo info{.grammar = "set.cmp.type.type2",
                                .operands = "d, a, b",
                                .types = kSetBf16x2Types,
                                .types2 = kBf16x2,
                                .category = Category::compare,
                                .min_ptx = 78,
                                .min_sm = 90,
                                .manual = "half-precision-comparison-instructions-set",
                                .takes = "dss"};
};
struct SetBf16x2Bool : SetPairBool {
  static constexpr RowInfo info{.grammar = "set.cmp.boolop.type.type2",
                                .operands = "d, a, b, {!}c",
                                .types = kSetBf16x2Types,
                                .types2 = kBf16x2,
                                .category = Category::compare,
                                .min_ptx = 78,
                                .min_sm = 90,
                                .manual = "half-precision-comparison-instructions-set",
                                .takes = "dssp"};
};

// c >= 0 ? a : b; -0 counts as zero, NaN selects b.
inline constexpr Type kSlctSelectors[] = {Type::s32, Type::f32};
struct Slct {
  static constexpr RowInfo info{.grammar = "slct{.ftz}.type.type2",
                                .operands = "d, a, b, c",
                                .types = kMoveTypes,
                                .types2 = kSlctSelectors,
                                .category = Category::select,
                                .manual = "comparison-and-selection-instructions-slct",
                                .takes = "ttts"};
  static constexpr bool kBitsOnly = true;
  static constexpr Mods kFixed[] = {kPlain};
  static constexpr Field kReads[] = {Field::ftz};
  template <class D, class S, class M> TW_INLINE static D lane2(M m, D a, D b, S c) {
    return comparable(m, c) >= 0 ? a : b;
  }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
