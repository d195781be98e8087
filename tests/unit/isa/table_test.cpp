// The instruction table as a table: no spelling fits two rows, every spelling finds its own row,
// and what is not in the table is refused with the manual's section.
#include "isa/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "isa/lane_rows.h"

namespace tw::isa {
namespace {

ptx::Instruction instruction(std::string opcode, std::vector<std::string> modifiers,
                             size_t operands) {
  ptx::Instruction in;
  in.opcode = std::move(opcode);
  in.modifiers = std::move(modifiers);
  in.operands.resize(operands);
  return in;
}

size_t operand_count(const RowInfo& info) {
  return info.operands.empty()
             ? 0
             : 1 + size_t(std::count(info.operands.begin(), info.operands.end(), ','));
}

TEST(Table, NoSpellingIsAmbiguous) { EXPECT_THAT(ambiguous_spellings(), testing::IsEmpty()); }

TEST(Table, EverySpellingOfALaneRowFindsIt) {
  for (RowId row = 0; row < kLaneRows; ++row) {
    const RowInfo& info = row_info(row);
    for (const std::vector<std::string>& slots : spellings(row)) {
      std::vector<std::string> words;
      for (const std::string& w : slots)
        if (!w.empty()) words.push_back(w);
      Result<Match> found =
          match(instruction(std::string(info.opcode()), words, operand_count(info)), "t.ptx");
      ASSERT_TRUE(found.ok()) << info.grammar << ": " << found.error().to_string();
      ASSERT_EQ(found->row, row) << info.grammar << " is matched by "
                                 << row_info(found->row).grammar;
    }
  }
}

TEST(Table, ModifiersAndTypesAreRead) {
  Result<Match> m = match(instruction("add", {"rz", "ftz", "sat", "f32"}, 3), "t.ptx");
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->type, Type::f32);
  EXPECT_EQ(m->mods[Field::rnd], kRz);
  EXPECT_EQ(m->mods[Field::ftz], 1);
  EXPECT_EQ(m->mods[Field::sat], 1);
  m = match(instruction("cvt", {"rn", "satfinite", "relu", "e4m3x2", "f32"}, 3), "t.ptx");
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->type, Type::e4m3x2);
  EXPECT_EQ(m->type2, Type::f32);
  EXPECT_EQ(m->mods[Field::relu], 1);
}

TEST(Table, OperandsTellTwoFormsOfOneSpellingApart) {
  Result<Match> two = match(instruction("min", {"f32"}, 3), "t.ptx"),
                three = match(instruction("min", {"f32"}, 4), "t.ptx");
  ASSERT_TRUE(two.ok() && three.ok());
  EXPECT_NE(two->row, three->row);
  EXPECT_EQ(row_info(three->row).operands, "d, a, b, c");
}

TEST(Table, UnknownFormsAreRefusedByName) {
  Result<Match> m = match(instruction("add", {"u128"}, 3), "t.ptx");
  ASSERT_FALSE(m.ok());
  EXPECT_THAT(m.error().message, testing::HasSubstr("'add.u128' is not supported in this form"));
  EXPECT_THAT(m.error().message, testing::HasSubstr("docs.nvidia.com"));
  m = match(instruction("frobnicate", {}, 0), "t.ptx");
  ASSERT_FALSE(m.ok());
  EXPECT_THAT(m.error().message, testing::HasSubstr("no row"));
}

}  // namespace
}  // namespace tw::isa
