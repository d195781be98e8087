#include "util/strided_lines.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

namespace tw {
namespace {

std::vector<bool> bytes_of(const StridedLines& x) {
  std::vector<bool> used(4096);
  for (int64_t batch = 0; batch < x.batches; ++batch)
    for (int64_t line = 0; line < x.lines; ++line)
      for (int64_t byte = 0; byte < x.width; ++byte)
        used.at(x.address + batch * x.stride + line * x.pitch + byte) = true;
  return used;
}

bool really_share(const StridedLines& a, const StridedLines& b) {
  const std::vector<bool> in_a = bytes_of(a), in_b = bytes_of(b);
  for (size_t i = 0; i < in_a.size(); ++i)
    if (in_a[i] && in_b[i]) return true;
  return false;
}

TEST(StridedLines, WindowsOfColumnsInRowsOfOnePitchShareNothing) {
  const StridedLines left{1024, 100, 16, 64}, right{1040, 100, 48, 64};
  EXPECT_FALSE(share_bytes(left, right));
  EXPECT_FALSE(share_bytes(right, left));
  EXPECT_TRUE(share_bytes(left, {1039, 100, 48, 64}));
  EXPECT_TRUE(share_bytes(left, {1040, 100, 49, 64}));
}

TEST(StridedLines, BatchesInCommonRowsAreOneWindow) {
  // Three heads of 16 bytes in rows of 128, and what lies behind them.
  const StridedLines heads{1000, 20, 16, 128, 3, 16};
  EXPECT_FALSE(share_bytes(heads, {1048, 20, 80, 128}));
  EXPECT_TRUE(share_bytes(heads, {1047, 20, 80, 128}));
}

TEST(StridedLines, RangesApartShareNothingWhateverTheirPitch) {
  EXPECT_FALSE(share_bytes({0, 4, 8, 16}, {56, 4, 8, 24}));
  EXPECT_TRUE(share_bytes({0, 4, 8, 16}, {55, 4, 8, 24}));
  const int64_t huge = int64_t{1} << 61;
  EXPECT_TRUE(share_bytes({0, huge, 8, huge}, {uint64_t{1} << 63, huge, 8, huge}));
}

TEST(StridedLines, NeverCallsSharedBytesApart) {
  std::mt19937 random(1);
  auto upto = [&](int most) { return int64_t(random() % unsigned(most + 1)); };
  int shared = 0, apart = 0;
  for (int i = 0; i < 200000; ++i) {
    const int64_t pitch = 1 + upto(40);
    auto lines = [&] {
      StridedLines x;
      x.address = uint64_t(upto(60));
      x.lines = 1 + upto(4);
      x.pitch = upto(3) ? pitch : 1 + upto(40);
      x.width = 1 + upto(int(x.pitch) - 1);
      x.batches = 1 + upto(2);
      x.stride = upto(2) == 0 ? x.pitch * upto(6) : upto(50);
      return x;
    };
    const StridedLines a = lines(), b = lines();
    const bool truth = really_share(a, b), said = share_bytes(a, b);
    ASSERT_EQ(said, share_bytes(b, a));
    if (truth) {
      ASSERT_TRUE(said) << i;
    }
    // Single matrices of one pitch: exactly.
    if (a.batches == 1 && b.batches == 1 && a.lines > 1 && b.lines > 1 && a.pitch == b.pitch &&
        std::llabs(int64_t(a.address) - int64_t(b.address)) < a.pitch) {
      ASSERT_EQ(said, truth) << i;
      ++(truth ? shared : apart);
    }
  }
  EXPECT_GT(shared, 500);
  EXPECT_GT(apart, 500);
}

}  // namespace
}  // namespace tw
