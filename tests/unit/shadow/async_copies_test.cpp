#include "shadow/async_copies.h"

#include <gtest/gtest.h>

namespace tw::shadow {
namespace {

AsyncCopies of_two_threads() {
  AsyncCopies copies;
  copies.reset(256, 2);
  return copies;
}

TEST(AsyncCopies, AreOverWhenTheirThreadHasWaitedForTheirGroup) {
  AsyncCopies c = of_two_threads();
  EXPECT_FALSE(c.any());
  c.begin(0, 7, 16, 16);
  ASSERT_NE(c.find(28, 4), nullptr);
  EXPECT_EQ(c.find(28, 4)->site, 7u);
  EXPECT_EQ(c.find(32, 4), nullptr);
  EXPECT_EQ(c.find(12, 4), nullptr);
  EXPECT_NE(c.find(15, 2), nullptr);  // one byte of it
  c.wait(0, 0);                       // its group is not closed
  EXPECT_NE(c.find(16, 1), nullptr);
  c.commit(0);
  c.wait(1, 0);  // another thread's wait
  EXPECT_NE(c.find(16, 1), nullptr);
  c.wait(0, 1);  // all but the last group: it is the last
  EXPECT_NE(c.find(16, 1), nullptr);
  c.wait(0, 0);
  EXPECT_EQ(c.find(16, 1), nullptr);
  EXPECT_FALSE(c.any());
}

TEST(AsyncCopies, GroupsAreCompleteInTheirOrder) {
  AsyncCopies c = of_two_threads();
  for (uint32_t i = 0; i < 4; ++i) c.begin(1, i, i * 4, 4), c.commit(1);
  c.commit(1);  // an empty group counts
  c.wait(1, 3);
  EXPECT_EQ(c.find(4, 4), nullptr);
  EXPECT_NE(c.find(8, 4), nullptr);
  c.wait(1, 100);  // more than there are: nothing is complete by that
  EXPECT_NE(c.find(8, 4), nullptr);
  c.wait(1, 0);
  EXPECT_FALSE(c.any());
}

TEST(AsyncCopies, OfTwoOverOneWordTheLaterCounts) {
  AsyncCopies c = of_two_threads();
  c.begin(0, 1, 0, 8);
  c.begin(1, 2, 4, 4);
  EXPECT_EQ(c.find(0, 4)->site, 1u);
  EXPECT_EQ(c.find(4, 4)->site, 2u);
  c.commit(0);
  c.wait(0, 0);
  EXPECT_EQ(c.find(0, 4), nullptr);
  EXPECT_EQ(c.find(4, 4)->site, 2u);
}

TEST(AsyncCopies, EndWithTheMbarrierTheyAreTiedTo) {
  AsyncCopies c = of_two_threads();
  c.begin(0, 1, 0, 4);
  c.tie(0, 128);
  c.begin(0, 2, 4, 4);  // not tied
  c.begin(1, 3, 8, 4);
  c.tie(1, 136);
  c.passed(144);
  EXPECT_NE(c.find(0, 4), nullptr);
  c.passed(128);
  EXPECT_EQ(c.find(0, 4), nullptr);
  EXPECT_NE(c.find(4, 4), nullptr);
  EXPECT_NE(c.find(8, 4), nullptr);
  c.commit(1);
  c.wait(1, 0);  // waiting ends it as well
  EXPECT_EQ(c.find(8, 4), nullptr);
  c.begin(1, 4, 12, 4);  // in the place of one that is over: the mbarrier must not end it
  c.passed(136);
  EXPECT_NE(c.find(12, 4), nullptr);
  c.commit(0), c.wait(0, 0);
  c.commit(1), c.wait(1, 0);
  EXPECT_FALSE(c.any());
}

TEST(AsyncCopies, BulkCopiesEndWithTheirOwnMbarrierAlone) {
  AsyncCopies c = of_two_threads();
  c.begin(0, 1, 0, 16, true);
  c.begin(0, 1, 16, 16, true);
  c.tie_bulk(0, 128);
  c.begin(0, 2, 32, 16, true);  // the next stage
  c.tie_bulk(0, 136);
  c.commit(0), c.wait(0, 0);  // groups are of cp.async
  c.tie(0, 144), c.passed(144);
  EXPECT_NE(c.find(0, 4), nullptr);
  c.passed(136);
  EXPECT_EQ(c.find(32, 16), nullptr);
  EXPECT_NE(c.find(0, 4), nullptr);
  EXPECT_NE(c.find(16, 4), nullptr);
  c.passed(128);
  EXPECT_FALSE(c.any());
}

TEST(AsyncCopies, WithoutAnyNothingIsKept) {
  AsyncCopies c;
  c.clear();
  c.commit(5);
  c.wait(5, 0);
  c.tie(5, 0);
  c.passed(0);
  EXPECT_FALSE(c.any());
  EXPECT_EQ(c.find(0, 4), nullptr);
}

TEST(AsyncCopies, WhatLiesOutsideIsNotThere) {
  AsyncCopies c = of_two_threads();
  c.begin(0, 1, 252, 16);
  EXPECT_NE(c.find(252, 4), nullptr);
  EXPECT_EQ(c.find(256, 4), nullptr);
  c.commit(0);
  c.wait(0, 0);
  EXPECT_FALSE(c.any());
}

}  // namespace
}  // namespace tw::shadow
