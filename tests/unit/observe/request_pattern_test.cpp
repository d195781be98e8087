#include "observe/counters/request_pattern.h"

#include <gtest/gtest.h>

#include <random>

#include "shadow/banks.h"
#include "shadow/sectors.h"

namespace tw::counters {
namespace {

constexpr uint32_t kAll = 0xffffffffu;

TEST(RequestPattern, ATiledGemmsLoadsAreOnePatternEach) {
  PatternTable broadcast, rows;
  uint32_t a[32], b[32];
  for (uint32_t step = 0; step < 100; ++step) {
    for (uint32_t lane = 0; lane < 32; ++lane)
      a[lane] = 1024 * step + lane / 16 * 64, b[lane] = 64 * step + lane % 16 * 4;
    broadcast.find<uint32_t>(PatternSpace::shared, SharedAccess::kLoad, 4, a, 0, kAll, true, false);
    rows.find<uint32_t>(PatternSpace::shared, SharedAccess::kLoad, 4, b, 0, kAll, true, false);
  }
  broadcast.fold();
  rows.fold();
  EXPECT_EQ(broadcast.totals().requests, 100u);
  EXPECT_EQ(broadcast.totals().wavefronts,
            (std::array<uint64_t, 3>{100, 100, 200}));  // an LDS.128 of A takes 2 on an H200
  EXPECT_EQ(broadcast.totals().groups[2], 200u);
  EXPECT_EQ(rows.totals().wavefronts[0], 100u);
  EXPECT_EQ(rows.totals().access_lanes, 3200u);
}

// Whatever is asked, in whatever order, remembered counts are those of counting each request anew.
TEST(RequestPattern, EqualsCountingEachRequest) {
  std::mt19937 random(7);
  for (const uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
    PatternTable shared, global;
    report::SiteCounts expected_shared, expected_global;
    for (int i = 0; i < 2000; ++i) {
      const uint32_t mask = i % 3 == 0 ? kAll : uint32_t(random()) | 1u << random() % 32;
      const uint32_t stride = uint32_t(random() % 5) * width, scatter = random() % 4 == 0 ? 64 : 1;
      const uint32_t base = uint32_t(random() % 64) * width;
      uint32_t narrow[32];
      uint64_t wide[32];
      for (uint32_t lane = 0; lane < 32; ++lane) {
        narrow[lane] = base + lane * stride + uint32_t(random() % scatter) * width;
        wide[lane] = 0x700000000ull + narrow[lane];
      }
      const uint32_t offset = uint32_t(random() % 8) * width;
      shared.find<uint32_t>(PatternSpace::shared, SharedAccess::kStore, width, narrow, offset, mask,
                            false, false);
      global.find<uint64_t>(PatternSpace::global, SharedAccess::kLoad, width, wide, offset, mask,
                            false, false);
      for (uint32_t lane = 0; lane < 32; ++lane) narrow[lane] += offset, wide[lane] += offset;
      const shadow::BankCount count =
          shadow::count_banks(narrow, mask, width, shadow::SharedAccess::kStore);
      ++expected_shared.requests;
      expected_shared.wavefronts[0] += count.wavefronts, expected_shared.groups[0] += count.groups;
      expected_global.sectors += shadow::count_sectors(wide, mask, width);
    }
    shared.fold();
    global.fold();
    EXPECT_EQ(shared.totals().requests, 2000u);
    EXPECT_EQ(shared.totals().wavefronts[0], expected_shared.wavefronts[0]) << width;
    EXPECT_EQ(shared.totals().groups[0], expected_shared.groups[0]) << width;
    EXPECT_EQ(global.totals().sectors, expected_global.sectors) << width;
  }
}

TEST(RequestPattern, LinesAreRelativeToTheFirstLane) {
  PatternTable table;
  uint64_t address[32];
  for (uint32_t lane = 0; lane < 32; ++lane)
    address[lane] = 0x10000 + (31 - lane) * 128;  // downwards
  const Pattern& p = table.find<uint64_t>(PatternSpace::global, SharedAccess::kLoad, 4, address, 32,
                                          kAll, false, false);
  ASSERT_EQ(p.lines.size(), 32u);
  EXPECT_EQ(p.lines[1].line, -1);
  EXPECT_EQ(p.lines[1].sectors, 2);
  EXPECT_EQ(p.ideal_sectors, 4u);
}

TEST(RequestPattern, AtomicsAreCountedLaneByLaneAndAddedUp) {
  PatternTable table;
  uint32_t address[32] = {};
  table.find<uint32_t>(PatternSpace::shared, SharedAccess::kAtomic, 4, address, 0, kAll, false,
                       false);
  for (uint32_t lane = 0; lane < 32; ++lane) address[lane] = lane % 2 * 128;
  table.find<uint32_t>(PatternSpace::shared, SharedAccess::kAtomic, 4, address, 0, kAll, false,
                       false);
  table.fold();
  EXPECT_EQ(table.totals().wavefronts, (std::array<uint64_t, 3>{32 + 32, 1 + 2, 0}));
  EXPECT_EQ(table.totals().groups, (std::array<uint64_t, 3>{2, 2, 0}));
}

TEST(RequestPattern, TheWorstRequestIsKept) {
  PatternTable table;
  uint32_t address[32];
  for (uint32_t stride : {4u, 128u, 8u}) {
    for (uint32_t lane = 0; lane < 32; ++lane) address[lane] = lane * stride;
    table.find<uint32_t>(PatternSpace::shared, SharedAccess::kLoad, 4, address, 0, kAll, false,
                         false);
  }
  EXPECT_EQ(table.example().wavefronts, 32u);
  EXPECT_EQ(table.example().address[31], 31 * 128u);
}

}  // namespace
}  // namespace tw::counters
