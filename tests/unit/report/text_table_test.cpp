// Layout of tables and the words for sizes, times and shares.
#include "report/text_table.h"

#include <gtest/gtest.h>

namespace tw::report {
namespace {

TEST(TextTable, AlignsAndDropsTrailingBlanks) {
  TextTable table("lrl");
  table.add_row({"name", "value", "note"});
  table.add_row({"a", "12"});
  table.add_row({"\xc3\xa4\xc3\xb6", "7", "x", "dropped"});
  EXPECT_EQ(table.to_string(2),
            "  name  value  note\n"
            "  a        12\n"
            "  \xc3\xa4\xc3\xb6        7  x\n");
  EXPECT_EQ(TextTable("l").to_string(), "");
}

TEST(TextTable, Words) {
  EXPECT_EQ(binary_bytes(100), "100 B");
  EXPECT_EQ(binary_bytes(38912), "38 KB");
  EXPECT_EQ(binary_bytes(1536), "1.5 KB");
  EXPECT_EQ(binary_bytes(62914560), "60 MB");
  EXPECT_EQ(decimal_bytes(8589934592.0), "8.59 GB");
  EXPECT_EQ(decimal_bytes(536870912.0), "536.87 MB");
  EXPECT_EQ(decimal_bytes(12), "12 B");
  EXPECT_EQ(duration(0.004), "4.00 ms");
  EXPECT_EQ(duration(2.5e-8), "25.0 ns");
  EXPECT_EQ(percent(0.625), "62.5 %");
  EXPECT_EQ(percent(1), "100 %");
  EXPECT_EQ(three_digits(26.8), "26.8");
  EXPECT_EQ(three_digits(0.8375), "0.84");
  EXPECT_EQ(three_digits(0.0833), "0.083");
  EXPECT_EQ(three_digits(3350), "3350");
  EXPECT_EQ(three_digits(0), "0");
}

}  // namespace
}  // namespace tw::report
