// The list of lane rows: the instruction table's part whose bodies are pure functions of lane
// values. A row is a struct with
//   info            what the manual says (row.h)
//   lane<T>(m, ...) the body for `.type` = T
//   lane2<D, S>     with two types; masks(m, ...) on predicates
// and, where it pays or is needed,
//   kFixed            the Mods that get a compiled handler of their own; others go through Runtime
//   kOperandVariants  how many of kFixed get one for every mix of uniform and per-lane sources
//   kSignless         signed `.type`s share the handlers of the unsigned ones
//   kBitsOnly         the same, and floats share those of integers: the row only moves values
//   kVectors          the body also takes vectors of lanes (vector.h); kRuntimeVectors: where its
//                     modifiers are read at run time (of doubles only with kDoubleVectors);
//                     kVectorTypes<D, S>: for these types (D is S where there is one)
//   kHostMode<D, S>   which rounding mode of the host that body counts on (rounding.h)
//   kCompares         the body is one lane's; emu/compare_lanes.h compares the others
//   kWorkBytes        of the widest value a lane that such a body computes with; 4 if not given
//   kTakesWide<D, S>  vectors have as many lanes as kWorkBytes gives, and 64-bit elements come as
//                     two of them (WideVector)
//   kEachHalf         instructions on pairs do the same to each half: the body takes halves
//   kSpreadsPairs     but pairs of bf16 are given as pairs
//   kUniformSource    the source that must be a constant
//   carry<T>          what a .cc form leaves in the condition code
//   kReads            the Fields its body reads (others are cleared before a handler is chosen)
// To add an instruction: write the struct in the rows_*.h of its kind and add its name below.
//
// Tested by tests/unit/isa and, over edge values, by tests/isa.
#pragma once

#include <array>

#include "isa/rows_bits.h"
#include "isa/rows_carry.h"
#include "isa/rows_compare.h"
#include "isa/rows_convert.h"
#include "isa/rows_float.h"
#include "isa/rows_half.h"
#include "isa/rows_integer.h"
#include "isa/rows_move.h"
#include "isa/rows_special.h"
#include "isa/rows_video.h"

namespace tw::isa {
inline namespace TW_TARGET {

template <class... Rows> struct RowList {
  static constexpr size_t size = sizeof...(Rows);
};

// Groups are compiled apart (one object file each and instruction set) to share the work.
using MoveRows = RowList<Mov, MovPred, Selp, AndPred, OrPred, XorPred, NotPred, Slct>;
using IntegerRows = RowList<AddInt, SubInt, MulLo, MulHi, MulWide, MadLo, MadHi, MadWide, NegInt,
                            AbsInt, MinInt, MaxInt>;
using DivideRows = RowList<DivInt, RemInt, AddSat, SubSat, MadHiSat, MinRelu, MaxRelu, MinReluFirst,
                           MaxReluFirst, AddU16x2, AddS16x2, MinU16x2, MaxU16x2, MinS16x2, MaxS16x2,
                           MinS16x2ReluFirst, MaxS16x2ReluFirst, Sad, Mul24Lo, Mul24Hi, Mad24Lo,
                           Mad24Hi, Mad24HiSat, Dp4a, Dp2aLo, Dp2aHi>;
using LogicRows = RowList<Shl, Shr, And, Or, Xor, Not, Cnot, Lop3, ShfL, ShfR, Prmt, PrmtMode>;
using BitsRows = RowList<Popc, Clz, Bfind, Brev, Fns, Bfe, Bfi, Bmsk, Szext>;
using CarryRows = RowList<AddCc, Addc, SubCc, Subc, MadLoCc, MadHiCc, MadcLo, MadcHi>;
using VideoRows = RowList<Vadd2, Vsub2, Vavrg2, Vabsdiff2, Vmin2, Vmax2, Vset2, Vadd4, Vsub4,
                          Vavrg4, Vabsdiff4, Vmin4, Vmax4, Vset4>;
using FloatRows =
    RowList<AddFloat, SubFloat, MulFloat, FmaFloat, MadFloat, NegFloat, AbsFloat, Copysign, Testp>;
using QuotientRows =
    RowList<DivFloat, RcpFloat, SqrtFloat, DivApprox, DivFull, RcpApprox, SqrtApprox, RsqrtApprox,
            RcpApproxF64, RsqrtApproxF64, RsqrtApproxFtzF64>;
using SpecialRows = RowList<Sin, Cos, Lg2, Ex2, Tanh, Ex2F16, Ex2Bf16, TanhHalf, MinFloat, MaxFloat,
                            Min3Float, Max3Float>;
using HalfRows = RowList<AddHalf, SubHalf, MulHalf, FmaHalf, NegHalf, AbsHalf, MinHalf, MaxHalf>;
using CompareRows = RowList<SetpInt, SetpIntBool, SetpFloat, SetpFloatBool, SetpHalf, SetpHalfBool>;
using SetRows =
    RowList<Set, SetBool, SetHalf, SetHalfBool, SetF16x2, SetF16x2Bool, SetBf16x2, SetBf16x2Bool>;
using ConvertRows =
    RowList<CvtIntInt, CvtF32F64, CvtF64F32, CvtF32F32, CvtF64F64, CvtPack16, CvtPack8>;
using ConvertIntFloatRows = RowList<CvtFloatInt, CvtIntFloat>;
using ConvertHalfRows =
    RowList<CvtHalfInt, CvtIntHalf, CvtFloatHalf, CvtHalfFloat, CvtF16F16, CvtBf16Bf16, CvtPair,
            CvtTf32Rna, CvtTf32, CvtF8F32, CvtF8F16, CvtF16F8>;

// All groups, in the order of their row ids; the Group enumerators name the same order.
template <class... Groups> struct GroupList {};
using LaneGroups = GroupList<MoveRows, IntegerRows, DivideRows, LogicRows, BitsRows, CarryRows,
                             VideoRows, FloatRows, QuotientRows, SpecialRows, HalfRows, CompareRows,
                             SetRows, ConvertRows, ConvertIntFloatRows, ConvertHalfRows>;

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
enum class Group : uint8_t {
  move,
  integer,
  divide,
  logic,
  bits,
  carry,
  video,
  floating,
  quotient,
  special,
  half,
  compare,
  set,
  convert,
  convert_int_float,
  convert_half,
  count
};
template <class... Groups>
constexpr std::array<size_t, sizeof...(Groups)> group_sizes(GroupList<Groups...>) {
  return {Groups::size...};
}
inline constexpr auto kGroupSizes = group_sizes(LaneGroups{});
static_assert(kGroupSizes.size() == static_cast<size_t>(Group::count), "an enumerator a group");
constexpr size_t group_base(Group g) {
  size_t base = 0;
  for (size_t i = 0; i < static_cast<size_t>(g); ++i) base += kGroupSizes[i];
  return base;
}
inline constexpr size_t kLaneRows = group_base(Group::count);

// The id of a row named in C++: lane_row_id<AddInt, IntegerRows>(Group::integer).
template <class Row, class List> constexpr uint16_t lane_row_id(Group group) {
  return uint16_t(group_base(group) + IndexIn<Row, List>::value);
}
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
