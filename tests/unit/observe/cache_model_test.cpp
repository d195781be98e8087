#include "observe/counters/cache_model.h"

#include <gtest/gtest.h>

namespace tw::counters {
namespace {

TEST(Footprint, CountsDistinctSectors) {
  Footprint f, g;
  f.add(1, 0b0001);
  f.add(1, 0b0011);
  f.add(1u << 20, 0b1111);
  g.add(1, 0b1000);
  EXPECT_EQ(f.sectors(), 6u);
  EXPECT_EQ(Footprint::sectors_of_union(f, g), 7u);
  f.merge(g);
  EXPECT_EQ(f.sectors(), 7u);
}

TEST(L1Model, LoadsFillSectorsAndCtasStartCold) {
  L1Model l1(16 * 128 * 4);
  l1.begin_cta();
  EXPECT_EQ(l1.load(5, 0b0011), 0b0011);
  EXPECT_EQ(l1.load(5, 0b0111), 0b0100);
  EXPECT_EQ(l1.load(5, 0b0111), 0);
  l1.begin_cta();
  EXPECT_EQ(l1.load(5, 0b0001), 0b0001);
}

TEST(L1Model, TheLeastRecentlyUsedLineGoes) {
  L1Model l1(4 * 128);  // one set of four ways
  l1.begin_cta();
  for (uint64_t line = 0; line < 4; ++line) (void)l1.load(line, 1);
  EXPECT_EQ(l1.load(0, 1), 0);
  EXPECT_EQ(l1.load(9, 1), 1);  // takes line 1's place
  EXPECT_EQ(l1.load(0, 1), 0);
  EXPECT_EQ(l1.load(1, 1), 1);
}

std::vector<L2Request> sweep(uint32_t cta, uint64_t lines, bool write) {
  std::vector<L2Request> requests;
  for (uint64_t line = 0; line < lines; ++line)
    if (sampled_line(line)) requests.push_back({line, cta, 0b1111, write});
  return requests;
}

TEST(L2Model, ASecondSweepHitsWhatFitsAndMissesWhatDoesNot) {
  for (const uint64_t lines : {uint64_t(16384), uint64_t(131072)}) {
    std::vector<L2Request> requests = sweep(0, lines, false);
    const std::vector<L2Request> again = sweep(1, lines, false);
    requests.insert(requests.end(), again.begin(), again.end());
    const DramSectors dram = model_l2(requests, 65536 * 128, 1, 2 * 4 * lines, 0);
    const double sweeps = double(dram.read) / double(4 * lines);
    EXPECT_NEAR(sweeps, lines < 65536 ? 1 : 2, 1e-9);
  }
}

TEST(L2Model, WritesComeBackWhenTheyAreEvicted) {
  const DramSectors dram = model_l2(sweep(0, 131072, true), 65536 * 128, 1, 0, 4 * 131072);
  EXPECT_EQ(dram.read, 0u);
  EXPECT_NEAR(double(dram.written) / (4 * 131072), 0.5,
              0.05);  // the other half is still there at the end
}

TEST(L2Model, CtasOfAWaveTakeTurns) {
  // Two CTAs sweep the same lines side by side: the second finds what the first has just read.
  std::vector<L2Request> requests = sweep(0, 131072, false);
  const std::vector<L2Request> other = sweep(1, 131072, false);
  requests.insert(requests.end(), other.begin(), other.end());
  const DramSectors dram = model_l2(requests, 4096 * 128, 2, 2 * 4 * 131072, 0);
  EXPECT_NEAR(double(dram.read) / (4 * 131072), 1, 1e-9);
}

}  // namespace
}  // namespace tw::counters
