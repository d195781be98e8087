// The list of lane rows: the instruction table's part whose bodies are pure functions of lane values.
// A row is a struct with
//   info            what the manual says (row.h)
//   lane<T>(m, ...) the body for `.type` = T; lane2<D, S> with two types; masks(m, ...) on predicates
// and, where it pays or is needed,
//   kOperandVariants  a handler for every mix of uniform and per-lane sources
//   kReads            the Fields its body reads (others are cleared before the handler is chosen)
//   kFixed            the Mods that get a compiled handler of their own; others go through Runtime
// To add an instruction: write the struct in the rows_*.h of its kind and add its name below.
//
// Tested by tests/unit/isa and, over edge values, by tests/isa.
#pragma once

#include "isa/rows_compare.h"
#include "isa/rows_convert.h"
#include "isa/rows_float.h"
#include "isa/rows_integer.h"
#include "isa/rows_move.h"

namespace tw::isa {
inline namespace TW_TARGET {

template <class... Rows> struct RowList { static constexpr size_t size = sizeof...(Rows); };

// Groups are compiled apart (one object file each and instruction set) to share the work.
using MoveRows = RowList<Mov, MovPred, Selp, AndPred, OrPred, XorPred, NotPred>;
using IntegerRows = RowList<AddInt, SubInt, MulLo, MulHi, MulWide, MadLo, MadHi, MadWide, DivInt, RemInt, NegInt, AbsInt, MinInt, MaxInt>;
using LogicRows = RowList<Shl, Shr, And, Or, Xor, Not>;
using FloatRows = RowList<AddFloat, SubFloat, MulFloat, FmaFloat, DivFloat, NegFloat, AbsFloat, MinFloat, MaxFloat, SqrtFloat, RcpFloat>;
using CompareRows = RowList<SetpInt, SetpIntBool, SetpFloat, SetpFloatBool>;
using ConvertRows = RowList<CvtIntInt, CvtFloatInt, CvtIntFloat, CvtF32F64, CvtF64F32>;

template <class Row, class List> struct IndexIn;
template <class Row, class... Rows> struct IndexIn<Row, RowList<Rows...>> {
  static constexpr size_t value = [] {
    size_t i = 0;
    (void)((std::is_same_v<Row, Rows> || (++i, false)) || ...);
    return i;
  }();
};

}  // namespace TW_TARGET

// Row ids: the groups one after the other, then the machine rows (machine_rows.h).
enum class Group : uint8_t { move, integer, logic, floating, compare, convert, count };
inline constexpr size_t kGroupSizes[] = {MoveRows::size, IntegerRows::size, LogicRows::size, FloatRows::size, CompareRows::size, ConvertRows::size};
constexpr size_t group_base(Group g) {
  size_t base = 0;
  for (size_t i = 0; i < static_cast<size_t>(g); ++i) base += kGroupSizes[i];
  return base;
}
inline constexpr size_t kLaneRows = group_base(Group::count);

// The id of a row named in C++: lane_row_id<AddInt, IntegerRows>(Group::integer).
template <class Row, class List> constexpr uint16_t lane_row_id(Group group) { return uint16_t(group_base(group) + IndexIn<Row, List>::value); }
inline constexpr uint16_t kRowMov = lane_row_id<Mov, MoveRows>(Group::move);
inline constexpr uint16_t kRowMovPred = lane_row_id<MovPred, MoveRows>(Group::move);
inline constexpr uint16_t kRowNotPred = lane_row_id<NotPred, MoveRows>(Group::move);
inline constexpr uint16_t kRowAdd = lane_row_id<AddInt, IntegerRows>(Group::integer);
inline constexpr uint16_t kRowSub = lane_row_id<SubInt, IntegerRows>(Group::integer);
inline constexpr uint16_t kRowShl = lane_row_id<Shl, LogicRows>(Group::logic);
inline constexpr uint16_t kRowShr = lane_row_id<Shr, LogicRows>(Group::logic);
inline constexpr uint16_t kRowOr = lane_row_id<Or, LogicRows>(Group::logic);
inline constexpr uint16_t kRowFma = lane_row_id<FmaFloat, FloatRows>(Group::floating);
inline constexpr uint16_t kRowSetpInt = lane_row_id<SetpInt, CompareRows>(Group::compare);
inline constexpr uint16_t kRowCvtInt = lane_row_id<CvtIntInt, ConvertRows>(Group::convert);

}  // namespace tw::isa
