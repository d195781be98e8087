// The race detector's core, by hand: two threads and a few bytes at a time.
#include "shadow/races.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tw::shadow {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string word(const Race& r) {
  auto letter = [](AccessType t) {
    return t == AccessType::read ? "R" : t == AccessType::write ? "W" : "A";
  };
  return std::string(letter(r.first.type)) + std::to_string(r.first.site) + letter(r.second.type) +
         std::to_string(r.second.site) + (r.converged ? "c" : "");
}

class RacesTest : public testing::Test {
 protected:
  Races races{[this](const Race& r) {
    if (found.empty() || found.back() != word(r)) found.push_back(word(r));
  }};
  std::vector<std::string> found;

  static WarpAccess one(uint32_t thread, AccessType type, uint64_t* offsets, uint64_t offset,
                        uint32_t site, uint32_t bytes = 4) {
    WarpAccess a;
    a.warp = thread / 32;
    a.lanes = 1u << thread % 32;
    a.site = site;
    a.type = type;
    a.bytes = bytes;
    for (int i = 0; i < 32; ++i) offsets[i] = offset;
    a.offsets = offsets;
    return a;
  }
};

// Shared memory of the CTAs of a cluster, as lines.
class ClusterRaces : public RacesTest {
 protected:
  ClusterRaces() {
    for (uint32_t c = 0; c < 2; ++c) {
      ctas[c].begin(c, 64);
      lines[c].reset(256);
    }
  }
  // A thread of CTA `c` accesses the memory of CTA `of`.
  void go(uint32_t c, uint32_t thread, AccessType type, uint32_t of, uint64_t offset,
          uint32_t site) {
    uint64_t offsets[32];
    races.access_global(lines[of], ctas[c], one(thread, type, offsets, offset, site));
  }
  void arrive(uint32_t c, View& at, bool fenced = false) {
    for (uint32_t warp = 0; warp < 2; ++warp)
      CtaOrder::merge(at, ctas[c].hand_over(warp, ~0u, fenced));
  }
  void pass(uint32_t c, const View& from) {
    for (uint32_t warp = 0; warp < 2; ++warp) races.order().receive(ctas[c], warp, ~0u, from);
  }
  CtaOrder ctas[2];
  Lines lines[2];
};

TEST_F(ClusterRaces, ABarrierOfTheClusterOrdersItsBlocks) {
  go(0, 3, AccessType::write, 0, 0, 1);
  go(1, 40, AccessType::read, 0, 0, 2);
  EXPECT_THAT(found, ElementsAre("W1R2"));
  found.clear();
  go(0, 3, AccessType::write, 0, 128, 1);
  View barrier;
  arrive(0, barrier), arrive(1, barrier);
  pass(0, barrier), pass(1, barrier);
  go(1, 40, AccessType::read, 0, 128, 2);
  go(0, 40, AccessType::read, 0, 128, 3);  // and the threads of one block
  EXPECT_THAT(found, IsEmpty());
}

TEST_F(ClusterRaces, WhatComesAfterTheArrivalIsNotHandedOver) {
  View barrier;
  arrive(0, barrier);
  go(0, 3, AccessType::write, 0, 0, 1);
  arrive(1, barrier);
  pass(1, barrier);
  go(1, 40, AccessType::read, 0, 0, 2);
  EXPECT_THAT(found, ElementsAre("W1R2"));
}

TEST_F(ClusterRaces, ArrivalsHandOverEarlierEpochsOfTheWholeBlock) {
  go(0, 40, AccessType::write, 1, 0, 1);
  ctas[0].barrier_all();
  View mbarrier = ctas[0].hand_over(0, 1);  // one thread
  go(0, 41, AccessType::write, 1, 128, 2);  // after the barrier, by another warp
  races.order().receive(ctas[1], 1, 1, mbarrier);
  go(1, 32, AccessType::read, 1, 0, 3);
  EXPECT_THAT(found, IsEmpty());
  go(1, 32, AccessType::read, 1, 128, 4);
  EXPECT_THAT(found, ElementsAre("W2R4"));
}

TEST_F(ClusterRaces, ARelaxedArrivalHandsOverWhatLiesBeforeAFence) {
  go(0, 3, AccessType::write, 0, 0, 1);
  races.order().fence(ctas[0], 0, ~0u, true);
  go(0, 3, AccessType::write, 0, 128, 2);
  View barrier;
  arrive(0, barrier, true);
  pass(1, barrier);
  go(1, 40, AccessType::read, 0, 0, 3);
  EXPECT_THAT(found, IsEmpty());
  go(1, 40, AccessType::read, 0, 128, 4);
  EXPECT_THAT(found, ElementsAre("W2R4"));
}

TEST_F(ClusterRaces, WhatIsKnownIsHandedOn) {
  go(0, 3, AccessType::write, 0, 0, 1);
  races.order().receive(ctas[1], 0, 1, ctas[0].hand_over(0, ~0u));
  ctas[1].barrier_all();  // thread 0 knows it; then all do
  View back = ctas[1].hand_over(1, ~0u);
  races.order().receive(ctas[0], 1, ~0u, back);
  go(0, 40, AccessType::read, 0, 0, 2);
  EXPECT_THAT(found, IsEmpty());
}

class SharedRaces : public RacesTest {
 protected:
  SharedRaces() { races.shared_begin(s, 0, 128, 256); }
  void go(uint32_t thread, AccessType type, uint64_t offset, uint32_t site, uint32_t bytes = 4,
          bool strong = false) {
    uint64_t offsets[32];
    WarpAccess a = one(thread, type, offsets, offset, site, bytes);
    a.strong = strong;
    races.access_shared(s, a);
  }
  Races::Shared s;
};

TEST_F(SharedRaces, BarriersOrder) {
  go(0, AccessType::write, 0, 1);
  races.barrier_all(s);
  go(40, AccessType::read, 0, 2);
  races.barrier_all(s);
  go(80, AccessType::write, 0, 3);
  races.barrier_all(s);
  EXPECT_THAT(found, IsEmpty());
}

TEST_F(SharedRaces, EitherOrderOfReadAndWriteIsFound) {
  go(0, AccessType::write, 0, 1);
  go(40, AccessType::read, 0, 2);
  races.barrier_all(s);
  EXPECT_THAT(found, ElementsAre("W1R2"));
  found.clear();
  go(40, AccessType::read, 8, 2);
  go(0, AccessType::write, 8, 1);
  races.barrier_all(s);
  EXPECT_THAT(found, ElementsAre("R2W1"));
}

TEST_F(SharedRaces, TwoWritersAndNeighbouringBytes) {
  go(0, AccessType::write, 0, 1);
  go(40, AccessType::write, 0, 2);
  EXPECT_THAT(found, ElementsAre("W1W2"));
  found.clear();
  races.barrier_all(s);
  go(0, AccessType::write, 16, 1, 1);
  go(40, AccessType::write, 17, 2, 1);
  go(50, AccessType::read, 18, 3, 2);
  races.barrier_all(s);
  EXPECT_THAT(found, IsEmpty());
  go(0, AccessType::write, 16, 1, 2);
  go(40, AccessType::write, 17, 2, 1);
  EXPECT_THAT(found, ElementsAre("W1W2"));
}

TEST_F(SharedRaces, AtomicsAgainstAtomicsButNotAgainstPlain) {
  go(0, AccessType::atomic, 0, 1, 4, true);
  go(40, AccessType::atomic, 0, 1, 4, true);
  races.barrier_all(s);
  EXPECT_THAT(found, IsEmpty());
  go(0, AccessType::atomic, 0, 1, 4, true);
  go(40, AccessType::atomic, 0, 1, 4, true);
  go(40, AccessType::read, 0, 2);  // the other thread's atomic is not ordered before this
  races.barrier_all(s);
  EXPECT_THAT(found, ElementsAre("A1R2"));
}

TEST_F(SharedRaces, WarpSyncOrdersItsLanesOnly) {
  go(0, AccessType::write, 0, 1);
  races.settle(s);
  s.order.warp_sync(0, 0xff);
  go(1, AccessType::read, 0, 2);
  EXPECT_THAT(found, IsEmpty());
  go(9, AccessType::read, 0, 3);
  EXPECT_THAT(found, ElementsAre("W1R3"));
  found.clear();
  go(33, AccessType::read, 0, 4);
  EXPECT_THAT(found, ElementsAre("W1R4"));
}

TEST_F(SharedRaces, ConvergenceIsNoOrder) {
  go(0, AccessType::write, 0, 1);
  races.settle(s);
  s.order.converge(0, 0xffffffff);
  go(1, AccessType::read, 0, 2);
  races.barrier_all(s);
  EXPECT_THAT(found, ElementsAre("W1R2c"));
}

TEST_F(SharedRaces, NamedBarrierOrdersThoseWhoTakePart) {
  go(0, AccessType::write, 0, 1);
  races.settle(s);
  s.order.barrier_arrive(1, 0, ~0u, false);  // warp 0 arrives and goes on
  go(0, AccessType::write, 4, 2);
  s.order.barrier_arrive(1, 1, ~0u, true);
  s.order.barrier_complete(1);
  go(32, AccessType::read, 0, 3);
  EXPECT_THAT(found, IsEmpty());
  go(32, AccessType::read, 4, 4);  // written after the arrival
  EXPECT_THAT(found, ElementsAre("W2R4"));
  found.clear();
  go(64, AccessType::read, 0, 5);  // takes no part
  EXPECT_THAT(found, ElementsAre("W1R5"));
}

TEST_F(SharedRaces, ANewCtaStartsClean) {
  go(0, AccessType::write, 0, 1);
  races.shared_begin(s, 1, 128, 256);
  go(40, AccessType::read, 0, 2);
  races.barrier_all(s);
  EXPECT_THAT(found, IsEmpty());
}

class GlobalRaces : public RacesTest {
 protected:
  GlobalRaces() {
    cells.reset(256);
    for (uint32_t i = 0; i < 4; ++i) cta[i].begin(i, 64);
  }
  void go(uint32_t c, uint32_t thread, AccessType type, uint64_t offset, uint32_t site,
          bool strong = false, bool wide = true) {
    uint64_t offsets[32];
    WarpAccess a = one(thread, type, offsets, offset, site);
    a.strong = strong;
    a.wide = wide;
    a.objects = 0;
    if (strong && type != AccessType::write)
      races.order().strong_read(cta[c], thread, offset, false, wide);
    if (strong && type != AccessType::read)
      races.order().strong_write(cta[c], thread, offset, false, wide, type == AccessType::atomic);
    races.access_global(cells, cta[c], a);
  }
  Lines cells;
  CtaOrder cta[4];
};

TEST_F(GlobalRaces, BlocksAreOrderedByLaunchesOnly) {
  go(0, 0, AccessType::write, 0, 1);
  go(1, 0, AccessType::read, 0, 2);
  EXPECT_THAT(found, ElementsAre("W1R2"));
  found.clear();
  races.launch_end();
  for (uint32_t i = 0; i < 4; ++i) cta[i].begin(i, 64);
  go(2, 0, AccessType::write, 0, 3);
  EXPECT_THAT(found, IsEmpty());
}

TEST_F(GlobalRaces, ReadersOfManyBlocksThenAWriter) {
  for (uint32_t c = 0; c < 3; ++c) go(c, 0, AccessType::read, 0, 1);
  cta[0].barrier_all();
  go(0, 5, AccessType::write, 0, 2);  // ordered after its own block's reader, not after the others
  EXPECT_THAT(found, ElementsAre("R1W2"));
}

TEST_F(GlobalRaces, OneBlockAndItsBarrier) {
  go(0, 0, AccessType::read, 0, 1);
  go(0, 1, AccessType::read, 0, 1);
  cta[0].barrier_all();
  go(0, 5, AccessType::write, 0, 2);
  cta[0].barrier_all();
  go(0, 6, AccessType::read, 0, 3);
  EXPECT_THAT(found, IsEmpty());
}

// The log of records grows while cells are looked at.
TEST_F(GlobalRaces, ManyReaders) {
  Lines large;
  large.reset(1 << 20);
  uint64_t offsets[32];
  for (uint32_t round = 0; round < 4; ++round)
    for (uint32_t at = 0; at < 1 << 20; at += 4) {
      WarpAccess a = one(round * 7, AccessType::read, offsets, at, 1);
      races.access_global(large, cta[round], a);
    }
  EXPECT_THAT(found, IsEmpty());
  WarpAccess w = one(0, AccessType::write, offsets, 4096, 2);
  races.access_global(large, cta[0], w);
  EXPECT_THAT(found, ElementsAre("R1W2"));
}

// Block 0: data, fence, flag; block 1: flag, fence, data.
TEST_F(GlobalRaces, FencesAroundAFlagOrderBlocks) {
  go(0, 0, AccessType::write, 0, 1);
  races.order().fence(cta[0], 0, 1, true);
  races.order().strong_write(cta[0], 0, 100, false, true, false);
  go(0, 0, AccessType::write, 8, 3);  // after the flag: not released
  races.order().strong_read(cta[1], 7, 100, false, true);
  races.order().fence(cta[1], 0, 1u << 7, true);
  go(1, 7, AccessType::read, 0, 2);
  EXPECT_THAT(found, IsEmpty());
  go(1, 8, AccessType::read, 0, 4);  // another thread, no barrier yet
  EXPECT_THAT(found, ElementsAre("W1R4"));
  found.clear();
  go(1, 7, AccessType::read, 8, 5);
  EXPECT_THAT(found, ElementsAre("W3R5"));
  found.clear();
  cta[1].barrier_all();
  go(1, 9, AccessType::read, 0, 6);
  EXPECT_THAT(found, IsEmpty());
}

TEST_F(GlobalRaces, FencesOfBlockScopeDoNotOrderBlocks) {
  go(0, 0, AccessType::write, 0, 1);
  races.order().fence(cta[0], 0, 1, false);
  races.order().strong_write(cta[0], 0, 100, false, true, false);
  races.order().strong_read(cta[1], 7, 100, true, true);
  go(1, 7, AccessType::read, 0, 2);
  EXPECT_THAT(found, ElementsAre("W1R2"));
}

TEST_F(GlobalRaces, ReleaseAndAcquireAreTransitive) {
  go(0, 0, AccessType::write, 0, 1);
  races.order().strong_write(cta[0], 0, 100, true, true, false);
  races.order().strong_read(cta[1], 0, 100, true, true);
  races.order().strong_write(cta[1], 0, 200, true, true, false);
  races.order().strong_read(cta[2], 0, 200, true, true);
  go(2, 0, AccessType::read, 0, 2);
  EXPECT_THAT(found, IsEmpty());
  // A store that releases nothing takes the flag's past away.
  races.order().strong_write(cta[3], 0, 200, false, true, false);
  races.order().strong_read(cta[3], 1, 200, true, true);
  go(3, 1, AccessType::read, 0, 3);
  EXPECT_THAT(found, ElementsAre("W1R3"));
}

TEST_F(GlobalRaces, AtomicsOfBlockScopeRaceAcrossBlocks) {
  go(0, 0, AccessType::atomic, 0, 1, true, false);
  go(0, 1, AccessType::atomic, 0, 1, true, false);
  EXPECT_THAT(found, IsEmpty());
  go(1, 0, AccessType::atomic, 0, 1, true, false);
  EXPECT_THAT(found, ElementsAre("A1A1"));
}

// A counter at which every block arrives (grid.sync): data of all blocks is visible to all.
TEST_F(GlobalRaces, EveryBlockMeetsAtACounter) {
  for (uint32_t c = 0; c < 4; ++c) {
    go(c, 3, AccessType::write, 16 * c, 1);
    cta[c].barrier_all();
    races.order().fence(cta[c], 0, 1, true);
    races.order().strong_read(cta[c], 0, 100, false, true);
    races.order().strong_write(cta[c], 0, 100, false, true, true);
  }
  for (uint32_t c = 0; c < 4; ++c) {
    races.order().strong_read(cta[c], 0, 100, false, true);
    races.order().fence(cta[c], 0, 1, true);
    cta[c].barrier_all();
    for (uint32_t other = 0; other < 4; ++other) go(c, 5, AccessType::read, 16 * other, 2);
  }
  EXPECT_THAT(found, IsEmpty());
}

// The block that has drawn the last ticket may reset the counter: its atomic has observed all
// others.
TEST_F(GlobalRaces, AWriteThatAnAtomicHasObservedIsOrderedBeforeWhatComesAfterThat) {
  for (uint32_t c = 0; c < 4; ++c) go(c, 0, AccessType::atomic, 0, 1, true);
  go(3, 0, AccessType::write, 0, 2);
  EXPECT_THAT(found, IsEmpty());
}

TEST_F(GlobalRaces, AfterABarrierThatHoldsForTheWholeBlock) {
  for (uint32_t c = 0; c < 4; ++c) go(c, 0, AccessType::atomic, 0, 1, true);
  cta[3].barrier_all();
  go(3, 40, AccessType::write, 0, 2);
  EXPECT_THAT(found, IsEmpty());
}

TEST_F(GlobalRaces, WithoutABarrierItHoldsForThatThreadOnly) {
  for (uint32_t c = 0; c < 4; ++c) go(c, 0, AccessType::atomic, 0, 1, true);
  go(3, 1, AccessType::write, 0, 2);
  EXPECT_THAT(found, ElementsAre("A1W2"));
}

TEST_F(GlobalRaces, AnAtomicThatOthersFollowHasNotObservedThem) {
  for (uint32_t c = 0; c < 4; ++c) go(c, 0, AccessType::atomic, 0, 1, true);
  go(2, 0, AccessType::write, 0, 2);
  EXPECT_THAT(found, ElementsAre("A1W2"));
}

TEST_F(GlobalRaces, AResetBeforeTheLastAtomicRaces) {
  for (uint32_t c = 0; c < 3; ++c) go(c, 0, AccessType::atomic, 0, 1, true);
  go(2, 0, AccessType::write, 0, 2);
  EXPECT_THAT(found, IsEmpty());
  go(3, 0, AccessType::atomic, 0, 1, true);
  EXPECT_THAT(found, ElementsAre("W2A1"));
}

TEST_F(GlobalRaces, AtomicsOfBlockScopeObserveTheirOwnBlockOnly) {
  go(0, 0, AccessType::atomic, 0, 1, true, false);
  go(0, 40, AccessType::atomic, 0, 1, true, false);
  go(0, 40, AccessType::write, 0, 2);
  EXPECT_THAT(found, IsEmpty());
  go(0, 0, AccessType::atomic, 4, 1, true, true);
  go(1, 0, AccessType::atomic, 4, 1, true, false);
  found.clear();
  go(1, 0, AccessType::write, 4, 2);
  EXPECT_THAT(found, ElementsAre("A1W2"));
}

TEST_F(GlobalRaces, AStoreThatHasBeenReadMayBeOverwritten) {
  go(0, 0, AccessType::write, 0, 1, true);
  go(1, 0, AccessType::read, 0, 2, true);
  go(1, 0, AccessType::write, 0, 3);
  EXPECT_THAT(found, IsEmpty());
  // Overwritten before it was read, it has not been observed.
  go(0, 0, AccessType::atomic, 4, 1, true);
  go(2, 0, AccessType::write, 4, 4, true);
  go(1, 0, AccessType::read, 4, 2, true);
  go(1, 0, AccessType::write, 4, 3);
  EXPECT_THAT(found, ElementsAre("A1W3"));
}

// Nothing but the write itself is ordered: what came before it needs a release.
TEST_F(GlobalRaces, ObservationOrdersNothingElse) {
  go(0, 0, AccessType::write, 8, 1);
  go(0, 0, AccessType::atomic, 0, 2, true);
  go(1, 0, AccessType::atomic, 0, 2, true);
  go(1, 0, AccessType::read, 8, 3);
  EXPECT_THAT(found, ElementsAre("W1R3"));
}

}  // namespace
}  // namespace tw::shadow
