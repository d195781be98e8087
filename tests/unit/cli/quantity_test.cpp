// Sizes, counts, times and shapes as people type them, and text that must be refused.
#include "cli/quantity.h"

#include <gtest/gtest.h>

namespace tw::cli {
namespace {

TEST(Quantity, Bytes) {
  EXPECT_EQ(*parse_bytes("38KB"), 38912u);
  EXPECT_EQ(*parse_bytes("38 kib"), 38912u);
  EXPECT_EQ(*parse_bytes("1.5k"), 1536u);
  EXPECT_EQ(*parse_bytes("0"), 0u);
  EXPECT_EQ(*parse_bytes("3072B"), 3072u);
  for (const char* bad :
       {"", "KB", "-1", "1.3B", "12TB", "1e30", "nan", "inf", "0x10", "38KBs", "1e999"})
    EXPECT_FALSE(parse_bytes(bad).ok()) << bad;
}

TEST(Quantity, Counts) {
  EXPECT_EQ(*parse_count("1e9"), 1000000000u);
  EXPECT_EQ(*parse_count("1024"), 1024u);
  EXPECT_EQ(*parse_count("2M"), 2000000u);
  for (const char* bad : {"", "-5", "1.5", "1e20", "ten", "5 apples"})
    EXPECT_FALSE(parse_count(bad).ok()) << bad;
}

TEST(Quantity, Seconds) {
  EXPECT_DOUBLE_EQ(*parse_seconds("4ms"), 0.004);
  EXPECT_DOUBLE_EQ(*parse_seconds("3.5us"), 3.5e-6);
  EXPECT_DOUBLE_EQ(*parse_seconds("2"), 2);
  for (const char* bad : {"", "0", "-1ms", "4m", "soon", "nan"})
    EXPECT_FALSE(parse_seconds(bad).ok()) << bad;
}

TEST(Quantity, Extents) {
  EXPECT_EQ(parse_extents("32x33")->value[1], 33u);
  EXPECT_EQ(parse_extents("16")->count, 1);
  EXPECT_EQ(parse_extents("128X64x8")->count, 3);
  for (const char* bad :
       {"", "x", "32x", "x32", "1x2x3x4", "32*32", "-1x2", "99999999999x1", "4294967295"})
    EXPECT_FALSE(parse_extents(bad).ok()) << bad;
}

}  // namespace
}  // namespace tw::cli
