// Rows: arithmetic with the condition code CC.CF. The decoder keeps CC.CF as a hidden predicate
// register: `carry` is what an instruction with .cc leaves there, and a last operand of type bool
// reads it (RowInfo::carry_in). It is found from the result and the one operand that was added last, the
// first of a sum or difference and the third of the others. There is one flag for both directions: a subtraction is the sum a +
// ~b + 1 and leaves its carry, which is 1 when nothing was borrowed. Nothing in the manual says so,
// but NVIDIA's own 128-bit division reads the outcome of sub.cc with addc.
#pragma once

#include "isa/lane.h"
#include "isa/row.h"
#include "isa/rows_integer.h"

namespace tw::isa {
inline namespace TW_TARGET {

// bool, or a mask of lanes.
template <class T> using Truth = decltype(std::declval<T>() == std::declval<T>());
template <class T> TW_INLINE Truth<T> below(T x, T y) {
  using U = Like<T, Unsigned<ElementOf<T>>>;
  return bits_as<U>(x) < bits_as<U>(y);
}
template <class T> TW_INLINE Truth<T> equal_where(T x, T y, PredicateOf<T> c) {
  if constexpr (kIsVector<T>)
    return (x == y) & convert<std::make_signed_t<ElementOf<T>>>(c);
  else
    return x == y && c;
}
// The carry of d = x + y + c, whatever y is, and the borrow of d = x - y - c.
template <class T> TW_INLINE Truth<T> carry_of_sum(T d, T x, PredicateOf<T> c) {
  return below(d, x) | equal_where(d, x, c);
}
template <class T> TW_INLINE Truth<T> borrow_of_difference(T d, T x, PredicateOf<T> c) {
  return below(x, d) | equal_where(d, x, c);
}

struct AddCc {
  static constexpr RowInfo info{.grammar = "add.cc.type",
                                .operands = "d, a, b",
                                .types = kIntegers32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 12,
                                .manual = "extended-precision-arithmetic-instructions-add-cc"};
  static constexpr bool kSignless = true;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) { return wrap_add(a, b); }
  template <class T, class M> TW_INLINE static Truth<T> carry(M, T d, T a) { return below(d, a); }
};
struct Addc {
  static constexpr RowInfo info{.grammar = "addc{.cc}.type",
                                .operands = "d, a, b",
                                .types = kIntegers32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 12,
                                .manual = "extended-precision-arithmetic-instructions-addc",
                                .carry_in = true};
  static constexpr bool kSignless = true;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, bool c) {
    return wrap_add(wrap_add(a, b), T(c));
  }
  template <class T, class M> TW_INLINE static Truth<T> carry(M, T d, T a, PredicateOf<T> c) {
    return carry_of_sum(d, a, c);
  }
};
struct SubCc {
  static constexpr RowInfo info{.grammar = "sub.cc.type",
                                .operands = "d, a, b",
                                .types = kIntegers32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 12,
                                .manual = "extended-precision-arithmetic-instructions-sub-cc"};
  static constexpr bool kSignless = true;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) { return wrap_sub(a, b); }
  template <class T, class M> TW_INLINE static Truth<T> carry(M, T d, T a) {
    return lacking(below(a, d));
  }
};
struct Subc {
  static constexpr RowInfo info{.grammar = "subc{.cc}.type",
                                .operands = "d, a, b",
                                .types = kIntegers32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 12,
                                .manual = "extended-precision-arithmetic-instructions-subc",
                                .carry_in = true};
  static constexpr bool kSignless = true;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, bool c) {
    return wrap_sub(wrap_sub(a, b), T(!c));
  }
  template <class T, class M> TW_INLINE static Truth<T> carry(M, T d, T a, PredicateOf<T> c) {
    return lacking(borrow_of_difference(d, a, lacking(c)));
  }
};
struct MadLoCc {
  static constexpr RowInfo info{.grammar = "mad.lo.cc.type",
                                .operands = "d, a, b, c",
                                .types = kIntegers32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 30,
                                .min_sm = 20,
                                .manual = "extended-precision-arithmetic-instructions-mad-cc"};
  static constexpr bool kSignless = true;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c) {
    return wrap_add(wrap_mul(a, b), c);
  }
  template <class T, class M> TW_INLINE static Truth<T> carry(M, T d, T c) { return below(d, c); }
};
struct MadHiCc {
  static constexpr RowInfo info{.grammar = "mad.hi.cc.type",
                                .operands = "d, a, b, c",
                                .types = kIntegers32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 30,
                                .min_sm = 20,
                                .manual = "extended-precision-arithmetic-instructions-mad-cc"};
  template <class D, class S> static constexpr bool kVectorTypes = sizeof(S) == 8;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c) {
    return wrap_add(high_product(a, b), c);
  }
  template <class T, class M> TW_INLINE static Truth<T> carry(M, T d, T c) { return below(d, c); }
};
struct MadcLo {
  static constexpr RowInfo info{.grammar = "madc.lo{.cc}.type",
                                .operands = "d, a, b, c",
                                .types = kIntegers32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 30,
                                .min_sm = 20,
                                .manual = "extended-precision-arithmetic-instructions-madc",
                                .carry_in = true};
  static constexpr bool kSignless = true;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c, bool cc) {
    return wrap_add(wrap_add(wrap_mul(a, b), c), T(cc));
  }
  template <class T, class M> TW_INLINE static Truth<T> carry(M, T d, T c, PredicateOf<T> cc) {
    return carry_of_sum(d, c, cc);
  }
};
struct MadcHi {
  static constexpr RowInfo info{.grammar = "madc.hi{.cc}.type",
                                .operands = "d, a, b, c",
                                .types = kIntegers32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 30,
                                .min_sm = 20,
                                .manual = "extended-precision-arithmetic-instructions-madc",
                                .carry_in = true};
  template <class D, class S> static constexpr bool kVectorTypes = sizeof(S) == 8;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c, PredicateOf<T> cc) {
    return wrap_add(wrap_add(high_product(a, b), c), one_where<T>(cc));
  }
  template <class T, class M> TW_INLINE static Truth<T> carry(M, T d, T c, PredicateOf<T> cc) {
    return carry_of_sum(d, c, cc);
  }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
