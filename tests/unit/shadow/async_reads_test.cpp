#include "shadow/async_reads.h"

#include <gtest/gtest.h>

namespace tw::shadow {
namespace {

struct Reads : AsyncReads {
  Reads() { reset(1024, 256); }  // two warpgroups
  bool busy(uint64_t offset, uint32_t bytes = 4) const {
    Pending found;
    return pending(offset, bytes, &found);
  }
};

TEST(AsyncReads, AProductIsPendingUntilAWarpOfItsWarpgroupHasWaited) {
  Reads r;
  r.product(5, 7, 64, 4);
  AsyncReads::Pending found;
  ASSERT_TRUE(r.pending(64, 4, &found));
  EXPECT_EQ(found.thread, 128u);
  EXPECT_EQ(found.site, 7u);
  EXPECT_TRUE(found.product);
  EXPECT_FALSE(r.busy(60));
  EXPECT_FALSE(r.busy(68));
  r.product_wait(5, 0);  // its group is not closed
  EXPECT_TRUE(r.busy(64));
  for (uint32_t warp = 4; warp < 8; ++warp) r.product_commit(warp);
  r.product_wait(5, 1);
  EXPECT_TRUE(r.busy(64));
  r.product_wait(1, 0);  // the other warpgroup
  EXPECT_TRUE(r.busy(64));
  r.product_wait(6, 0);
  EXPECT_FALSE(r.busy(64));
}

TEST(AsyncReads, ALaterProductOfTheSameBytesKeepsThemBusy) {
  Reads r;
  r.product(0, 1, 0, 4);
  r.product_commit(0);
  r.product(0, 2, 0, 4);
  r.product_commit(0);
  r.product(4, 3, 0, 4);  // and the other warpgroup's
  r.product_commit(4);
  r.product_wait(0, 1);
  EXPECT_TRUE(r.busy(0));
  r.product_wait(0, 0);
  EXPECT_TRUE(r.busy(0));
  r.product_wait(4, 0);
  EXPECT_FALSE(r.busy(0));
}

TEST(AsyncReads, AWarpBehindDoesNotHideTheGroupOfOneAhead) {
  Reads r;
  r.product_commit(0);
  r.product(0, 1, 0, 4);  // group 2
  r.product(1, 1, 0, 4);  // group 1
  r.product_commit(1);
  r.product_wait(1, 0);
  EXPECT_TRUE(r.busy(0));
  r.product_commit(0);
  r.product_wait(0, 0);
  EXPECT_FALSE(r.busy(0));
}

TEST(AsyncReads, ACopyIsPendingUntilItsThreadHasWaited) {
  Reads r;
  r.copy(3, 9, 16, 16);
  r.copy_wait(3, 0);
  EXPECT_TRUE(r.busy(28));  // not closed
  r.copy_commit(3);
  r.copy_wait(3, 1);
  EXPECT_TRUE(r.busy(28));
  r.copy_commit(4), r.copy_wait(4, 0);  // another thread
  EXPECT_TRUE(r.busy(28));
  r.copy_wait(3, 0);
  EXPECT_FALSE(r.busy(28));
  r.copy_wait(3, 5);  // more than there are
  r.copy(3, 9, 32, 16);
  EXPECT_TRUE(r.busy(32));
  EXPECT_FALSE(r.busy(16));
}

TEST(AsyncReads, AWriteNeedsAFenceOfItsThread) {
  Reads r;
  r.write(0, 1, 0, 4, 1);
  r.fence(1, 1, false);  // another thread, nothing between the two
  ASSERT_NE(r.unfenced(0, 4), nullptr);
  EXPECT_EQ(r.unfenced(0, 4)->site, 1u);
  r.fence(0, 1, false);
  EXPECT_EQ(r.unfenced(0, 4), nullptr);
  r.write(0, 1, 0, 4, 1);  // behind the fence
  EXPECT_NE(r.unfenced(0, 4), nullptr);
}

TEST(AsyncReads, OrOfAThreadThatComesAfterIt) {
  Reads r;
  r.write(0, 1, 0, 4, 1);
  r.fence(9, 2, false);  // after a barrier
  EXPECT_EQ(r.unfenced(0, 4), nullptr);
  r.write(0, 1, 0, 4, 2);
  EXPECT_NE(r.unfenced(0, 4), nullptr);
  r.fence(9, 2, true);  // perhaps after a barrier of some threads
  EXPECT_EQ(r.unfenced(0, 4), nullptr);
}

TEST(AsyncReads, WhatACopyHasOverwrittenNeedsNone) {
  Reads r;
  r.write(0, 1, 0, 16, 1);
  r.overwritten(0, 16);
  EXPECT_EQ(r.unfenced(0, 16), nullptr);
  EXPECT_EQ(r.unfenced(512, 16), nullptr);  // never written
}

TEST(AsyncReads, NothingIsKeptBeyondTheEndOrWithoutReset) {
  Reads r;
  r.product(0, 1, 1022, 16);
  EXPECT_TRUE(r.busy(1020));
  static_cast<AsyncReads&>(r) = {};
  EXPECT_FALSE(r.in_use());
  EXPECT_FALSE(r.busy(0));
  r.product_commit(0), r.product_wait(0, 0), r.copy_commit(0), r.copy_wait(0, 0);
  r.fence(0, 1, false);
  EXPECT_EQ(r.unfenced(0, 4), nullptr);
}

}  // namespace
}  // namespace tw::shadow
