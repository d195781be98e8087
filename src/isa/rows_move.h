// Rows: moving and choosing values.
#pragma once

#include "isa/lane.h"
#include "isa/row.h"

namespace tw::isa {
inline namespace TW_TARGET {

struct Mov {
  static constexpr RowInfo info{.grammar = "mov.type",
                                .operands = "d, a",
                                .types = kMoveTypes,
                                .types2 = {},
                                .category = Category::move,
                                .manual = "data-movement-and-conversion-instructions-mov",
                                .affine = Affine::copy};
  static constexpr size_t kOperandVariants = 1;
  static constexpr bool kBitsOnly = true;
  template <class T, class M> TW_INLINE static T lane(M, T a) { return a; }
};

struct MovPred {
  static constexpr RowInfo info{.grammar = "mov.type",
                                .operands = "d, a",
                                .types = kPred,
                                .types2 = {},
                                .category = Category::move,
                                .manual = "data-movement-and-conversion-instructions-mov"};
  template <class T, class M> TW_INLINE static uint32_t masks(M, uint32_t a) { return a; }
};

struct Selp {
  static constexpr RowInfo info{.grammar = "selp.type",
                                .operands = "d, a, b, c",
                                .types = kMoveTypes,
                                .types2 = {},
                                .category = Category::select,
                                .manual = "comparison-and-selection-instructions-selp",
                                .takes = "tttp"};
  static constexpr size_t kOperandVariants = 1;
  static constexpr bool kBitsOnly = true;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, bool c) { return c ? a : b; }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
