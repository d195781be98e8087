// Rows: arithmetic with the condition code CC.CF. The decoder keeps CC.CF as a hidden predicate
// register: `carry` is what an instruction with .cc leaves there, and a last operand of type bool
// reads it (RowInfo::carry_in). There is one flag for both directions: a subtraction is the sum a +
// ~b + 1 and leaves its carry, which is 1 when nothing was borrowed. Nothing in the manual says so,
// but NVIDIA's own 128-bit division reads the outcome of sub.cc with addc.
#pragma once

#include "isa/lane.h"
#include "isa/row.h"

namespace tw::isa {
inline namespace TW_TARGET {

// a + b + c as a carry out of the top.
template <class T> TW_INLINE bool carry_of_sum(T a, T b, bool c) {
  using U = Unsigned<T>;
  U sum = U(U(a) + U(b));
  return (sum < U(a)) | ((sum == U(~U(0))) & c);
}
template <class T> TW_INLINE bool borrow_of_difference(T a, T b, bool c) {
  return (Unsigned<T>(a) < Unsigned<T>(b)) | ((a == b) & c);
}
template <class T> TW_INLINE T high_product(T a, T b) {
  return T((Wide<T>(a) * Wide<T>(b)) >> kBitsOf<T>);
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
  template <class T, class M> TW_INLINE static bool carry(M, T a, T b) {
    return carry_of_sum(a, b, false);
  }
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
  template <class T, class M> TW_INLINE static bool carry(M, T a, T b, bool c) {
    return carry_of_sum(a, b, c);
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
  template <class T, class M> TW_INLINE static bool carry(M, T a, T b) {
    return !borrow_of_difference(a, b, false);
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
  template <class T, class M> TW_INLINE static bool carry(M, T a, T b, bool c) {
    return !borrow_of_difference(a, b, !c);
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
  template <class T, class M> TW_INLINE static bool carry(M, T a, T b, T c) {
    return carry_of_sum(wrap_mul(a, b), c, false);
  }
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
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c) {
    return wrap_add(high_product(a, b), c);
  }
  template <class T, class M> TW_INLINE static bool carry(M, T a, T b, T c) {
    return carry_of_sum(high_product(a, b), c, false);
  }
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
  template <class T, class M> TW_INLINE static bool carry(M, T a, T b, T c, bool cc) {
    return carry_of_sum(wrap_mul(a, b), c, cc);
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
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c, bool cc) {
    return wrap_add(wrap_add(high_product(a, b), c), T(cc));
  }
  template <class T, class M> TW_INLINE static bool carry(M, T a, T b, T c, bool cc) {
    return carry_of_sum(high_product(a, b), c, cc);
  }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
