// The order of operations in streams.
#include "shadow/streams.h"

#include <gtest/gtest.h>

namespace tw::shadow {
namespace {

using Order = StreamOrder;
constexpr uint64_t kDefault = 1, kA = 2, kB = 3;

TEST(StreamOrder, OneStreamIsInOrderTwoAreNot) {
  Order o;
  const auto a1 = o.submit(kA, StreamKind::other), a2 = o.submit(kA, StreamKind::other);
  const auto b = o.submit(kB, StreamKind::other);
  EXPECT_TRUE(Order::ordered(a1, a2));
  EXPECT_FALSE(Order::ordered(a2, a1));
  EXPECT_FALSE(Order::ordered(a1, b));
  EXPECT_FALSE(Order::ordered(b, a2));
}

TEST(StreamOrder, AnEventOrdersWhatCameBeforeItsRecord) {
  Order o;
  int event = 0;
  const auto before = o.submit(kA, StreamKind::other);
  o.record(&event, kA, StreamKind::other);
  const auto after = o.submit(kA, StreamKind::other);
  const auto early = o.submit(kB, StreamKind::other);
  o.wait(kB, StreamKind::other, &event);
  const auto late = o.submit(kB, StreamKind::other);
  EXPECT_FALSE(Order::ordered(before, early));
  EXPECT_TRUE(Order::ordered(before, late));
  EXPECT_FALSE(Order::ordered(after, late));
}

TEST(StreamOrder, TheDefaultStreamWaitsForBlockingStreamsOnly) {
  Order o;
  const auto blocking = o.submit(kA, StreamKind::blocking), free = o.submit(kB, StreamKind::other);
  const auto middle = o.submit(kDefault, StreamKind::legacy);
  const auto again = o.submit(kA, StreamKind::blocking), later = o.submit(kB, StreamKind::other);
  EXPECT_TRUE(Order::ordered(blocking, middle));
  EXPECT_FALSE(Order::ordered(free, middle));
  EXPECT_TRUE(Order::ordered(middle, again));
  EXPECT_FALSE(Order::ordered(middle, later));
}

TEST(StreamOrder, WhatTheHostHasWaitedForIsOver) {
  Order o;
  int event = 0;
  const auto a = o.submit(kA, StreamKind::other);
  o.record(&event, kA, StreamKind::other);
  const auto a2 = o.submit(kA, StreamKind::other);
  EXPECT_FALSE(o.over(a));
  o.host_waits_for_event(&event);
  EXPECT_TRUE(o.over(a));
  EXPECT_FALSE(o.over(a2));
  const auto b = o.submit(kB, StreamKind::other);
  EXPECT_TRUE(Order::ordered(a, b));
  EXPECT_FALSE(Order::ordered(a2, b));
  o.host_waits(kA, StreamKind::other);
  EXPECT_TRUE(Order::ordered(a2, o.submit(kB, StreamKind::other)));
  EXPECT_FALSE(o.over(b));
  o.host_waits_for_all();
  EXPECT_TRUE(o.over(b));
}

}  // namespace
}  // namespace tw::shadow
