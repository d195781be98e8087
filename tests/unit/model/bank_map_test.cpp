// Layouts of shared tiles: padding, swizzling, vector accesses, and shapes that must be refused.
#include "model/bank_map.h"

#include <gtest/gtest.h>

namespace tw::model {
namespace {

using shadow::SharedAccess;

SharedArray array(uint32_t rows, uint32_t columns, uint32_t element, uint32_t pad = 0,
                  uint32_t vector = 1, bool swizzle = false) {
  SharedArray a;
  a.rows = rows;
  a.columns = columns;
  a.element_bytes = element;
  a.pad = pad;
  a.vector = vector;
  a.xor_swizzle = swizzle;
  return a;
}

TEST(BankMap, ColumnOf32x32AndItsCures) {
  const BankMap plain = map_banks(array(32, 32, 4), Walk::kColumn, 0, SharedAccess::kLoad);
  EXPECT_EQ(plain.ways, 32u);
  EXPECT_EQ(plain.count.conflicts(), 31u);
  EXPECT_EQ(map_banks(array(32, 32, 4, 1), Walk::kColumn, 0, SharedAccess::kLoad).ways, 1u);
  EXPECT_EQ(map_banks(array(32, 32, 4, 0, 1, true), Walk::kColumn, 0, SharedAccess::kLoad).ways,
            1u);
  EXPECT_EQ(conflict_free_pad(array(32, 32, 4), Walk::kColumn, SharedAccess::kLoad), 1);
}

TEST(BankMap, RowsNeverConflict) {
  for (bool swizzle : {false, true}) {
    const BankSurvey s =
        survey_banks(array(32, 32, 4, 0, 1, swizzle), Walk::kRow, SharedAccess::kStore);
    EXPECT_EQ(s.worst.count.conflicts(), 0u);
    EXPECT_EQ(s.positions, 32u);
  }
}

TEST(BankMap, NarrowArraysWrapAndSmallOnesLeaveLanesOut) {
  const BankMap wrapped = map_banks(array(8, 32, 4), Walk::kColumn, 0, SharedAccess::kLoad);
  EXPECT_EQ(wrapped.lanes[8].row, 0u);
  EXPECT_EQ(wrapped.lanes[8].column, 1u);
  EXPECT_EQ(wrapped.mask, ~0u);
  const BankMap small = map_banks(array(4, 4, 4), Walk::kRow, 0, SharedAccess::kLoad);
  EXPECT_EQ(small.mask, 0xffffu);
  EXPECT_EQ(small.count.wavefronts, 1u);
}

TEST(BankMap, VectorsOfFour) {
  // 144-byte rows: the eight lanes of a group start four banks apart.
  const BankSurvey s = survey_banks(array(32, 32, 4, 4, 4), Walk::kColumn, SharedAccess::kLoad);
  EXPECT_EQ(s.worst.count.conflicts(), 0u);
  EXPECT_EQ(s.misaligned_positions, 0u);
  EXPECT_EQ(conflict_free_pad(array(32, 32, 4, 0, 4), Walk::kColumn, SharedAccess::kLoad), 4);
  // The first row of a padded tile is aligned, the second is not.
  const BankSurvey rows = survey_banks(array(32, 32, 4, 1, 4), Walk::kRow, SharedAccess::kLoad);
  EXPECT_GT(rows.misaligned_positions, 0u);
}

TEST(BankMap, Refused) {
  EXPECT_FALSE(check_array(array(0, 32, 4)).ok());
  EXPECT_FALSE(check_array(array(32, 0, 4)).ok());
  EXPECT_FALSE(check_array(array(32, 70000, 4)).ok());
  EXPECT_FALSE(check_array(array(32, 32, 3)).ok());
  EXPECT_FALSE(check_array(array(32, 32, 32)).ok());
  EXPECT_FALSE(check_array(array(32, 32, 8, 0, 4)).ok());
  EXPECT_FALSE(check_array(array(32, 30, 4, 0, 4)).ok());
  EXPECT_FALSE(check_array(array(32, 32, 4, 0, 3)).ok());
  EXPECT_FALSE(check_array(array(32, 32, 4, 1, 1, true)).ok());
  EXPECT_FALSE(check_array(array(32, 24, 4, 0, 1, true)).ok());
  EXPECT_FALSE(check_array(array(65536, 65536, 16)).ok());
  EXPECT_TRUE(check_array(array(32, 32, 4)).ok());
}

}  // namespace
}  // namespace tw::model
