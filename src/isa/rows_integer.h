// Rows: integer arithmetic and logic.
#pragma once

#include "isa/rounding.h"
#include "isa/row.h"
#include "isa/rows_bits.h"

namespace tw::isa {
inline namespace TW_TARGET {

struct AddInt {
  static constexpr RowInfo info{.grammar = "add.type",
                                .operands = "d, a, b",
                                .types = kIntegers,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-add",
                                .affine = Affine::add};
  static constexpr bool kSignless = true;
  static constexpr size_t kOperandVariants = 1;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) { return wrap_add(a, b); }
};

struct SubInt {
  static constexpr RowInfo info{.grammar = "sub.type",
                                .operands = "d, a, b",
                                .types = kIntegers,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-sub",
                                .affine = Affine::sub};
  static constexpr bool kSignless = true;
  static constexpr size_t kOperandVariants = 1;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) { return wrap_sub(a, b); }
};

struct MulLo {
  static constexpr RowInfo info{.grammar = "mul.lo.type",
                                .operands = "d, a, b",
                                .types = kIntegers,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-mul",
                                .affine = Affine::mul};
  static constexpr bool kSignless = true;
  static constexpr size_t kOperandVariants = 1;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) { return wrap_mul(a, b); }
};

// The upper half of a product. Of 64 bits and many lanes: four products of the halves.
template <class T> TW_INLINE T high_product(T a, T b) {
  if constexpr (!kIsVector<T>) {
    return T((Wide<T>(a) * Wide<T>(b)) >> kBitsOf<T>);
  } else {
    using U = Like<T, uint64_t>;
    const U x = bits_as<U>(a), y = bits_as<U>(b), above_x = x >> 32, above_y = y >> 32;
    const U middle = low_product(above_x, y) + (low_product(x, y) >> 32);
    const U other = low_product(x, above_y) + (middle & 0xffffffffu);
    const T high = bits_as<T>(U(low_product(above_x, above_y) + (middle >> 32) + (other >> 32)));
    if constexpr (kIsSigned<ElementOf<T>>)
      return high - ((a < 0) & b) - ((b < 0) & a);
    else
      return high;
  }
}
struct MulHi {
  static constexpr RowInfo info{.grammar = "mul.hi.type",
                                .operands = "d, a, b",
                                .types = kIntegers,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-mul"};
  template <class D, class S> static constexpr bool kVectorTypes = sizeof(S) == 8;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) { return high_product(a, b); }
};

struct MulWide {
  static constexpr RowInfo info{.grammar = "mul.wide.type",
                                .operands = "d, a, b",
                                .types = kIntegers16And32,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-mul",
                                .affine = Affine::mul_wide,
                                .takes = "wtt"};
  static constexpr size_t kOperandVariants = 1;
  template <class T, class M> TW_INLINE static Wide<T> lane(M, T a, T b) {
    return wrap_mul(Wide<T>(a), Wide<T>(b));
  }
};

struct MadLo {
  static constexpr RowInfo info{.grammar = "mad.lo.type",
                                .operands = "d, a, b, c",
                                .types = kIntegers,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-mad",
                                .affine = Affine::mad};
  static constexpr bool kSignless = true;
  static constexpr size_t kOperandVariants = 1;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c) {
    return wrap_add(wrap_mul(a, b), c);
  }
};

struct MadHi {
  static constexpr RowInfo info{.grammar = "mad.hi.type",
                                .operands = "d, a, b, c",
                                .types = kIntegers,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-mad"};
  template <class D, class S> static constexpr bool kVectorTypes = sizeof(S) == 8;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c) {
    return wrap_add(high_product(a, b), c);
  }
};

struct MadWide {
  static constexpr RowInfo info{.grammar = "mad.wide.type",
                                .operands = "d, a, b, c",
                                .types = kIntegers16And32,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-mad",
                                .affine = Affine::mad_wide,
                                .takes = "wttw"};
  template <class T, class M> TW_INLINE static Wide<T> lane(M, T a, T b, Wide<T> c) {
    return wrap_add(wrap_mul(Wide<T>(a), Wide<T>(b)), c);
  }
};

// ---- quotients of several lanes, by way of double; what they give for b == 0 is not used ----

// Below 2^52, from the bits.
template <class V> TW_INLINE Like<V, double> double_of_low(V a) {
  using U = Like<V, uint64_t>;
  return bits_as<Like<V, double>>(U(convert<uint64_t>(a) | bits_as<uint64_t>(0x1p52))) - 0x1p52;
}
template <class V> TW_INLINE Like<V, uint64_t> low_of_double(V x) {  // integral, below 2^52
  return bits_as<Like<V, uint64_t>>(V(x + 0x1p52)) & ((uint64_t{1} << 52) - 1);
}
template <class V> TW_INLINE V quotient_of_low(V a, V b) {
  return convert<ElementOf<V>>(
      low_of_double(round_integral(kRzi, double_of_low(a) / double_of_low(b))));
}
template <class V> struct Division {
  V quotient, rest;
};
// An estimate is a little too small, so no remainder is negative; below 2^49 it lacks one at most, and
// a second one always leaves less than 2 b.
template <class V> TW_INLINE Division<V> division_of_wide(V a, V b) {
  constexpr double kBelow = 1 - 0x1p-49;
  auto inverse = kBelow / double_of(b), estimate = double_of(a) * inverse;
  V q, rest;
  if (all(estimate < 0x1p49)) {
    q = low_of_double(round_integral(kRzi, estimate));
    rest = a - q * b;
  } else {
    q = integer_of(round_integral(kRzi, estimate));
    rest = a - q * b;
    V more = low_of_double(round_integral(kRzi, double_of(rest) * inverse));
    q += more;
    rest -= more * b;
  }
  const V lacks = V(rest >= b);
  return {q - lacks, rest - (lacks & b)};
}
template <class V> TW_INLINE Division<V> division(V a, V b) {
  using T = ElementOf<V>;
  if constexpr (sizeof(T) == 2 || (sizeof(T) == 4 && kIsSigned<T>)) {
    auto x = convert<double>(convert<int32_t>(a)), y = convert<double>(convert<int32_t>(b));
    V q = convert<T>(convert<int32_t>(x / y));
    if constexpr (sizeof(T) == 4)  // 2^31 has no int32_t: processors differ
      q = select(b == -1, V(-a), q);
    return {q, a - q * b};
  } else if constexpr (sizeof(T) == 4) {
    const V q = quotient_of_low(a, b);
    return {q, a - q * b};
  } else if constexpr (kIsSigned<T>) {
    using U = Like<V, uint64_t>;
    const V sign_a = a >> 63, sign_b = b >> 63, sign = sign_a ^ sign_b;
    const auto d =
        division(bits_as<U>(V((a ^ sign_a) - sign_a)), bits_as<U>(V((b ^ sign_b) - sign_b)));
    return {(bits_as<V>(d.quotient) ^ sign) - sign, (bits_as<V>(d.rest) ^ sign_a) - sign_a};
  } else {
    if (!all(((a | b) >> 52) == 0u)) return division_of_wide(a, b);
    const V q = quotient_of_low(a, b);
    return {q, a - q * b};
  }
}

// Division by zero does not trap; the hardware gives all ones (div) and the dividend (rem).
struct DivInt {
  static constexpr RowInfo info{.grammar = "div.type",
                                .operands = "d, a, b",
                                .types = kIntegers,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-div"};
  static constexpr bool kVectors = true;
  static constexpr size_t kWorkBytes = 8;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) {
    if constexpr (kIsVector<T>) {
      return select(b == 0, splat<T>(~ElementOf<T>(0)), division(a, b).quotient);
    } else {
      if (b == 0) return T(~T(0));
      if (kIsSigned<T> && b == T(-1)) return wrap_sub(T(0), a);
      return T(a / b);
    }
  }
};

struct RemInt {
  static constexpr RowInfo info{.grammar = "rem.type",
                                .operands = "d, a, b",
                                .types = kIntegers,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-rem"};
  static constexpr bool kVectors = true;
  static constexpr size_t kWorkBytes = 8;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) {
    if constexpr (kIsVector<T>) {
      return select(b == 0, a, division(a, b).rest);
    } else {
      if (b == 0) return a;
      if (kIsSigned<T> && b == T(-1)) return 0;
      return T(a % b);
    }
  }
};

// Saturating forms exist for .s32 only.
struct AddSat {
  static constexpr RowInfo info{.grammar = "add.sat.type",
                                .operands = "d, a, b",
                                .types = kS32,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-add"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) { return saturated_sum(a, b); }
};
struct SubSat {
  static constexpr RowInfo info{.grammar = "sub.sat.type",
                                .operands = "d, a, b",
                                .types = kS32,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-sub"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) {
    return saturated_difference(a, b);
  }
};
struct MadHiSat {
  static constexpr RowInfo info{.grammar = "mad.hi.sat.type",
                                .operands = "d, a, b, c",
                                .types = kS32,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-mad"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c) {
    return saturated_sum(high_product(a, b), c);
  }
};

struct NegInt {
  static constexpr RowInfo info{.grammar = "neg.type",
                                .operands = "d, a",
                                .types = kSigned,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-neg",
                                .affine = Affine::neg};
  template <class T, class M> TW_INLINE static T lane(M, T a) { return wrap_sub(T(0), a); }
};

struct AbsInt {
  static constexpr RowInfo info{.grammar = "abs.type",
                                .operands = "d, a",
                                .types = kSigned,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-abs"};
  template <class T, class M> TW_INLINE static T lane(M, T a) {
    return a < 0 ? wrap_sub(T(0), a) : a;
  }
};

struct MinInt {
  static constexpr RowInfo info{.grammar = "min.type",
                                .operands = "d, a, b",
                                .types = kIntegers,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-min"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) { return a < b ? a : b; }
};

struct MaxInt {
  static constexpr RowInfo info{.grammar = "max.type",
                                .operands = "d, a, b",
                                .types = kIntegers,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-max"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) { return a > b ? a : b; }
};

struct MinRelu {
  static constexpr RowInfo info{.grammar = "min.type.relu",
                                .operands = "d, a, b",
                                .types = kS32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 80,
                                .min_sm = 90,
                                .manual = "integer-arithmetic-instructions-min"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) {
    T least = a < b ? a : b;
    return least < 0 ? 0 : least;
  }
};
struct MaxRelu {
  static constexpr RowInfo info{.grammar = "max.type.relu",
                                .operands = "d, a, b",
                                .types = kS32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 80,
                                .min_sm = 90,
                                .manual = "integer-arithmetic-instructions-max"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) {
    T most = a > b ? a : b;
    return most < 0 ? 0 : most;
  }
};
// The manual's order of the words; the toolkit's headers write the other.
struct MinReluFirst : MinRelu {
  static constexpr RowInfo info{.grammar = "min.relu.type",
                                .operands = "d, a, b",
                                .types = kS32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 80,
                                .min_sm = 90,
                                .manual = "integer-arithmetic-instructions-min"};
};
struct MaxReluFirst : MaxRelu {
  static constexpr RowInfo info{.grammar = "max.relu.type",
                                .operands = "d, a, b",
                                .types = kS32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 80,
                                .min_sm = 90,
                                .manual = "integer-arithmetic-instructions-max"};
};
// Packed 16-bit pairs: the type lies in the spelling, the register has 32 bits.
template <class H, class F> TW_INLINE uint32_t each_word(F f, uint32_t a, uint32_t b) {
  uint32_t low = uint16_t(f(H(uint16_t(a)), H(uint16_t(b)))),
           high = uint16_t(f(H(uint16_t(a >> 16)), H(uint16_t(b >> 16))));
  return low | high << 16;
}
struct AddU16x2 {
  static constexpr RowInfo info{.grammar = "add.u16x2",
                                .operands = "d, a, b",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 80,
                                .min_sm = 90,
                                .manual = "integer-arithmetic-instructions-add",
                                .takes = "xxx"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) {
    return each_word<uint16_t>([](uint32_t x, uint32_t y) TW_INLINE_LAMBDA { return x + y; }, a, b);
  }
};
struct AddS16x2 : AddU16x2 {
  static constexpr RowInfo info{.grammar = "add.s16x2",
                                .operands = "d, a, b",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 80,
                                .min_sm = 90,
                                .manual = "integer-arithmetic-instructions-add",
                                .takes = "xxx"};
};
struct MinU16x2 {
  static constexpr RowInfo info{.grammar = "min.u16x2",
                                .operands = "d, a, b",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 80,
                                .min_sm = 90,
                                .manual = "integer-arithmetic-instructions-min",
                                .takes = "xxx"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) {
    return each_word<uint16_t>(
        [](uint32_t x, uint32_t y) TW_INLINE_LAMBDA { return x < y ? x : y; }, a, b);
  }
};
struct MaxU16x2 {
  static constexpr RowInfo info{.grammar = "max.u16x2",
                                .operands = "d, a, b",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 80,
                                .min_sm = 90,
                                .manual = "integer-arithmetic-instructions-max",
                                .takes = "xxx"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) {
    return each_word<uint16_t>(
        [](uint32_t x, uint32_t y) TW_INLINE_LAMBDA { return x > y ? x : y; }, a, b);
  }
};
struct MinS16x2 {
  static constexpr RowInfo info{.grammar = "min.s16x2{.relu}",
                                .operands = "d, a, b",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 80,
                                .min_sm = 90,
                                .manual = "integer-arithmetic-instructions-min",
                                .takes = "xxx"};
  static constexpr Field kReads[] = {Field::relu};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    return each_word<int16_t>(
        [m](int32_t x, int32_t y) TW_INLINE_LAMBDA {
          int32_t r = x < y ? x : y;
          return m[Field::relu] && r < 0 ? 0 : r;
        },
        a, b);
  }
};
struct MinS16x2ReluFirst : MinS16x2 {
  static constexpr RowInfo info{.grammar = "min.relu.s16x2",
                                .operands = "d, a, b",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 80,
                                .min_sm = 90,
                                .manual = "integer-arithmetic-instructions-min",
                                .takes = "xxx"};
};
struct MaxS16x2 {
  static constexpr RowInfo info{.grammar = "max.s16x2{.relu}",
                                .operands = "d, a, b",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 80,
                                .min_sm = 90,
                                .manual = "integer-arithmetic-instructions-max",
                                .takes = "xxx"};
  static constexpr Field kReads[] = {Field::relu};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    return each_word<int16_t>(
        [m](int32_t x, int32_t y) TW_INLINE_LAMBDA {
          int32_t r = x > y ? x : y;
          return m[Field::relu] && r < 0 ? 0 : r;
        },
        a, b);
  }
};
struct MaxS16x2ReluFirst : MaxS16x2 {
  static constexpr RowInfo info{.grammar = "max.relu.s16x2",
                                .operands = "d, a, b",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 80,
                                .min_sm = 90,
                                .manual = "integer-arithmetic-instructions-max",
                                .takes = "xxx"};
};

// Shift amounts are unsigned 32-bit and clamp at the width.
struct Shl {
  static constexpr RowInfo info{.grammar = "shl.type",
                                .operands = "d, a, b",
                                .types = kBits,
                                .types2 = {},
                                .category = Category::logic,
                                .manual = "logic-and-shift-instructions-shl",
                                .affine = Affine::shl,
                                .takes = "ttu"};
  static constexpr size_t kOperandVariants = 1;
  template <class T, class M> TW_INLINE static T lane(M, T a, uint32_t b) {
    return b >= kBitsOf<T> ? T(0) : T(Work<T>(a) << (b & (kBitsOf<T> - 1)));
  }
};

inline constexpr Type kShrTypes[] = {Type::b16, Type::b32, Type::b64, Type::u16, Type::u32,
                                     Type::u64, Type::s16, Type::s32, Type::s64};
struct Shr {
  static constexpr RowInfo info{.grammar = "shr.type",
                                .operands = "d, a, b",
                                .types = kShrTypes,
                                .types2 = {},
                                .category = Category::logic,
                                .manual = "logic-and-shift-instructions-shr",
                                .takes = "ttu"};
  static constexpr size_t kOperandVariants = 1;
  template <class T, class M> TW_INLINE static T lane(M, T a, uint32_t b) {
    if constexpr (kIsSigned<T>)
      return T(a >> (b >= kBitsOf<T> ? kBitsOf<T> - 1 : b));
    else
      return b >= kBitsOf<T> ? T(0) : T(a >> (b & (kBitsOf<T> - 1)));
  }
};

struct And {
  static constexpr RowInfo info{.grammar = "and.type",
                                .operands = "d, a, b",
                                .types = kBits,
                                .types2 = {},
                                .category = Category::logic,
                                .manual = "logic-and-shift-instructions-and"};
  static constexpr size_t kOperandVariants = 1;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) { return T(a & b); }
};
struct Or {
  static constexpr RowInfo info{.grammar = "or.type",
                                .operands = "d, a, b",
                                .types = kBits,
                                .types2 = {},
                                .category = Category::logic,
                                .manual = "logic-and-shift-instructions-or"};
  static constexpr size_t kOperandVariants = 1;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) { return T(a | b); }
};
struct Xor {
  static constexpr RowInfo info{.grammar = "xor.type",
                                .operands = "d, a, b",
                                .types = kBits,
                                .types2 = {},
                                .category = Category::logic,
                                .manual = "logic-and-shift-instructions-xor"};
  static constexpr size_t kOperandVariants = 1;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) { return T(a ^ b); }
};
struct Not {
  static constexpr RowInfo info{.grammar = "not.type",
                                .operands = "d, a",
                                .types = kBits,
                                .types2 = {},
                                .category = Category::logic,
                                .manual = "logic-and-shift-instructions-not"};
  template <class T, class M> TW_INLINE static T lane(M, T a) { return T(~a); }
};

// Predicates are 32-bit lane masks: one scalar operation serves a whole warp.
struct AndPred {
  static constexpr RowInfo info{.grammar = "and.type",
                                .operands = "d, a, b",
                                .types = kPred,
                                .types2 = {},
                                .category = Category::logic,
                                .manual = "logic-and-shift-instructions-and"};
  template <class T, class M> TW_INLINE static uint32_t masks(M, uint32_t a, uint32_t b) {
    return a & b;
  }
};
struct OrPred {
  static constexpr RowInfo info{.grammar = "or.type",
                                .operands = "d, a, b",
                                .types = kPred,
                                .types2 = {},
                                .category = Category::logic,
                                .manual = "logic-and-shift-instructions-or"};
  template <class T, class M> TW_INLINE static uint32_t masks(M, uint32_t a, uint32_t b) {
    return a | b;
  }
};
struct XorPred {
  static constexpr RowInfo info{.grammar = "xor.type",
                                .operands = "d, a, b",
                                .types = kPred,
                                .types2 = {},
                                .category = Category::logic,
                                .manual = "logic-and-shift-instructions-xor"};
  template <class T, class M> TW_INLINE static uint32_t masks(M, uint32_t a, uint32_t b) {
    return a ^ b;
  }
};
struct NotPred {
  static constexpr RowInfo info{.grammar = "not.type",
                                .operands = "d, a",
                                .types = kPred,
                                .types2 = {},
                                .category = Category::logic,
                                .manual = "logic-and-shift-instructions-not"};
  template <class T, class M> TW_INLINE static uint32_t masks(M, uint32_t a) { return ~a; }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
