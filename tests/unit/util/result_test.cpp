#include "util/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tw {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return Error{"odd number: give an even one", "input.txt", 3, 7};
  return value / 2;
}

TEST(Result, HoldsAValue) {
  Result<int> r = half(8);
  ASSERT_TRUE(r.ok());
  EXPECT_TRUE(static_cast<bool>(r));
  EXPECT_EQ(r.value(), 4);
  EXPECT_EQ(*r, 4);
  *r = 5;
  EXPECT_EQ(r.value(), 5);
}

TEST(Result, HoldsAnError) {
  const Result<int> r = half(3);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().message, "odd number: give an even one");
  EXPECT_EQ(r.error().line, 3u);
  EXPECT_EQ(r.error().column, 7u);
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> r = std::make_unique<int>(42);
  std::unique_ptr<int> taken = std::move(r).value();
  EXPECT_EQ(*taken, 42);
}

TEST(Result, MovesTheErrorOut) {
  Result<int> r = half(1);
  const Error e = std::move(r).error();
  EXPECT_EQ(e.file, "input.txt");
}

TEST(Result, AValueOfTheErrorTypeIsNoError) {
  // Constructed by index, so even Result<std::string> and a message do not mix.
  Result<std::string> r = std::string("text");
  EXPECT_TRUE(r.ok());
  EXPECT_EQ(r->size(), 4u);
}

TEST(Result, StatusCarriesNothing) {
  Status good = Unit{};
  EXPECT_TRUE(good.ok());
  Status bad = Error{"no", "", 0, 0};
  EXPECT_FALSE(bad.ok());
}

TEST(Error, ToStringLeavesOutWhatIsUnknown) {
  EXPECT_EQ((Error{"wrong", "a.ptx", 3, 7}).to_string(), "a.ptx:3:7: wrong");
  EXPECT_EQ((Error{"wrong", "a.ptx", 3, 0}).to_string(), "a.ptx:3: wrong");
  EXPECT_EQ((Error{"wrong", "a.ptx", 0, 7}).to_string(), "a.ptx: wrong");
  EXPECT_EQ((Error{"wrong", "", 0, 0}).to_string(), "wrong");
}

}  // namespace
}  // namespace tw
