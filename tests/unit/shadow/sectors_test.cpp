// The sector rule against every measured row and a slow oracle built on sets.
#include "shadow/sectors.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "lane_patterns.h"

namespace tw::shadow {
namespace {

TEST(Sectors, EveryMeasuredRow) {
  const auto patterns = read_lane_patterns();
  ASSERT_EQ(patterns.size(), 90u);
  for (const LanePattern& p : patterns) {
    uint64_t address[32];
    for (int l = 0; l < 32; ++l) address[l] = p.address[l];
    EXPECT_EQ(count_sectors(address, ~0u, p.width), p.ld_sectors) << p.name << " " << p.width;
    EXPECT_EQ(count_sectors(address, ~0u, p.width), p.st_sectors) << p.name << " " << p.width;
  }
}

TEST(Sectors, RandomAgainstSets) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20000; ++round) {
    const uint32_t width = 1u << (random() % 6);
    const uint64_t span = 1ull << (random() % 14);
    const uint64_t base = random() >> 2;
    uint64_t address[32];
    for (uint64_t& a : address) a = base + random() % span * (random() % 8 ? width : 1);
    const auto mask = static_cast<uint32_t>(random() % 3 == 0 ? ~0u : random() & random());
    std::set<uint64_t> sectors;
    for (int l = 0; l < 32; ++l)
      if (mask >> l & 1)
        for (uint32_t i = 0; i < width; ++i) sectors.insert((address[l] + i) / 32);
    ASSERT_EQ(count_sectors(address, mask, width), sectors.size()) << round;
  }
}

TEST(Sectors, Ideal) {
  EXPECT_EQ(ideal_sectors(32, 4), 4u);
  EXPECT_EQ(ideal_sectors(32, 16), 16u);
  EXPECT_EQ(ideal_sectors(1, 1), 1u);
  EXPECT_EQ(ideal_sectors(0, 4), 0u);
}

}  // namespace
}  // namespace tw::shadow
