// Rows: comparisons.
#pragma once

#include "isa/lane.h"
#include "isa/row.h"
#include "isa/rows_float.h"

namespace tw::isa {
inline namespace TW_TARGET {

template <class T>
TW_INLINE bool compare(uint8_t cmp, T a, T b) {
  switch (cmp) {
    case kEq: return a == b;
    case kNe: return a != b && a == a && b == b;  // ordered for floats
    case kLt: case kLo: return a < b;
    case kLe: case kLs: return a <= b;
    case kGt: case kHi: return a > b;
    case kGe: case kHs: return a >= b;
    case kEqu: return !(a < b || a > b);
    case kNeu: return a != b;
    case kLtu: return !(a >= b);
    case kLeu: return !(a > b);
    case kGtu: return !(a <= b);
    case kGeu: return !(a < b);
    case kNum: return a == a && b == b;
    case kNan: return a != a || b != b;
    default: return false;
  }
}
TW_INLINE bool combine(uint8_t boolop, bool x, bool c) {
  switch (boolop) {
    case kBoolAnd: return x & c;
    case kBoolOr: return x | c;
    case kBoolXor: return x ^ c;
    default: return x;
  }
}

inline constexpr Type kSetpIntTypes[] = {Type::b16, Type::b32, Type::b64, Type::u16, Type::u32, Type::u64, Type::s16, Type::s32, Type::s64};

// The second destination of `setp p|q` is a second instruction with the comparison negated
// (Field::operation == 1), made by the decoder.
struct SetpInt {
  static constexpr RowInfo info{.grammar = "setp.cmp.type", .operands = "p{|q}, a, b", .types = kSetpIntTypes, .types2 = {}, .category = Category::compare, .manual = "comparison-and-selection-instructions-setp"};
  static constexpr bool kOperandVariants = true;
  static constexpr Mods kFixed[] = {Mods{}.with(Field::cmp, kEq), Mods{}.with(Field::cmp, kNe), Mods{}.with(Field::cmp, kLt), Mods{}.with(Field::cmp, kLe), Mods{}.with(Field::cmp, kGt), Mods{}.with(Field::cmp, kGe)};
  static constexpr Field kReads[] = {Field::cmp, Field::operation};
  template <class T, class M> TW_INLINE static bool lane(M m, T a, T b) { return compare(m[Field::cmp], a, b) ^ (m[Field::operation] != 0); }
};

struct SetpIntBool {
  static constexpr RowInfo info{.grammar = "setp.cmp.boolop.type", .operands = "p{|q}, a, b, {!}c", .types = kSetpIntTypes, .types2 = {}, .category = Category::compare, .manual = "comparison-and-selection-instructions-setp"};
  static constexpr Field kReads[] = {Field::cmp, Field::boolop, Field::operation};
  template <class T, class M> TW_INLINE static bool lane(M m, T a, T b, bool c) { return combine(m[Field::boolop], compare(m[Field::cmp], a, b) ^ (m[Field::operation] != 0), c); }
};

struct SetpFloat {
  static constexpr RowInfo info{.grammar = "setp.cmp{.ftz}.type", .operands = "p{|q}, a, b", .types = kF32F64, .types2 = {}, .category = Category::compare, .manual = "comparison-and-selection-instructions-setp"};
  static constexpr Field kReads[] = {Field::cmp, Field::ftz, Field::operation};
  template <class T, class M> TW_INLINE static bool lane(M m, T a, T b) { return compare(m[Field::cmp], in(m, a), in(m, b)) ^ (m[Field::operation] != 0); }
};

struct SetpFloatBool {
  static constexpr RowInfo info{.grammar = "setp.cmp.boolop{.ftz}.type", .operands = "p{|q}, a, b, {!}c", .types = kF32F64, .types2 = {}, .category = Category::compare, .manual = "comparison-and-selection-instructions-setp"};
  static constexpr Field kReads[] = {Field::cmp, Field::boolop, Field::ftz, Field::operation};
  template <class T, class M> TW_INLINE static bool lane(M m, T a, T b, bool c) { return combine(m[Field::boolop], compare(m[Field::cmp], in(m, a), in(m, b)) ^ (m[Field::operation] != 0), c); }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
