// Clusters in the engine: ranks and addresses, the barrier, deadlocks, exits, schedules.
#include <gtest/gtest.h>

#include "kernel_runner.h"

namespace tw::emu {
namespace {

constexpr const char* kWriteOut = R"(
  mov.u32 %c, %ctaid.x;
  mad.lo.u32 %c, %c, 32, %t;
  mul.wide.u32 %a, %c, 4;
  ld.param.u64 %o, [out];
  add.u64 %o, %o, %a;
  st.global.u32 [%o], %v;)";
constexpr const char* kRegisters = R"(
  .reg .u32 %c, %t, %v, %r, %n, %s<4>;
  .reg .u64 %a, %o;
  .reg .pred %p<4>;
  .shared .align 4 .u32 cell[32];
  mov.u32 %t, %tid.x;)";

struct Outcome {
  Fault fault;
  std::vector<uint32_t> words;
};
Outcome run(const std::string& body, uint32_t ctas, uint32_t cluster, uint32_t threads = 1,
            uint32_t schedule = 0) {
  KernelRunner runner(threads, schedule);
  const Status s = runner.load(kRegisters + body);
  EXPECT_TRUE(s.ok()) << (s.ok() ? "" : s.error().to_string());
  if (!s.ok()) return {};
  const uint64_t out = runner.buffer(std::vector<uint32_t>(ctas * 32));
  Outcome outcome;
  outcome.fault = runner.run({ctas, 1, 1}, {32, 1, 1}, {out, out}, 0, false, Dim3{cluster, 1, 1});
  outcome.words = runner.read<uint32_t>(out, ctas * 32);
  return outcome;
}

// Each thread leaves its number with the next CTA, and reads what it was left.
const std::string kExchange = std::string(R"(
  mov.u32 %r, %cluster_ctarank;
  mov.u32 %n, %cluster_nctarank;
  add.u32 %r, %r, 1;
  rem.u32 %r, %r, %n;
  mov.u32 %s0, cell;
  mapa.shared::cluster.u32 %s1, %s0, %r;
  shl.b32 %s2, %t, 2;
  add.u32 %s1, %s1, %s2;
  mov.u32 %c, %ctaid.x;
  mad.lo.u32 %v, %c, 100, %t;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  st.shared::cluster.u32 [%s1], %v;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  add.u32 %s0, %s0, %s2;
  ld.shared.u32 %v, [%s0];)") +
                              kWriteOut;

TEST(Cluster, ExchangesSharedMemory) {
  for (const uint32_t threads : {1u, 4u})
    for (const uint32_t schedule : {0u, 1u, 7u})
      for (const uint32_t cluster : {1u, 2u, 3u, 8u}) {
        const Outcome o = run(kExchange, 24, cluster, threads, schedule);
        ASSERT_EQ(o.fault.kind, FaultKind::none) << o.fault.message;
        for (uint32_t b = 0; b < 24; ++b)
          for (uint32_t t = 0; t < 32; ++t)
            ASSERT_EQ(o.words[b * 32 + t],
                      (b / cluster * cluster + (b + cluster - 1) % cluster) * 100 + t)
                << cluster << " CTAs, block " << b;
      }
}

// Without a cluster there is no rank: an address beyond the block's memory is not its first bytes.
TEST(Cluster, NoRanksWithoutClusters) {
  for (const char* load : {"ld.shared.u32 %v, [%s0];", R"(
  cvt.u64.u32 %a, %s0;
  cvta.shared.u64 %a, %a;
  ld.u32 %v, [%a];)"}) {
    const Outcome o = run(R"(
  mov.u32 %s0, cell;
  add.u32 %s0, %s0, 16777216;
  )" + std::string(load) + kWriteOut,
                          2, 1);
    EXPECT_EQ(o.fault.kind, FaultKind::illegal_address) << load;
  }
}

TEST(Cluster, AddressesHoldTheRank) {
  const Outcome o = run(std::string(R"(
    .reg .u64 %g<3>;
    mov.u32 %s0, cell;
    mapa.shared::cluster.u32 %s1, %s0, 1;
    getctarank.shared::cluster.u32 %v, %s1;
    getctarank.shared::cluster.u32 %s2, %s0;
    mad.lo.u32 %v, %v, 10, %s2;
    cvt.u64.u32 %g0, %s0;
    cvta.shared.u64 %g1, %g0;
    isspacep.shared::cta %p0, %g1;
    selp.u32 %s2, 1, 0, %p0;
    mad.lo.u32 %v, %v, 10, %s2;
    mapa.u64 %g2, %g1, 1;
    isspacep.shared::cta %p0, %g2;
    selp.u32 %s2, 1, 0, %p0;
    mad.lo.u32 %v, %v, 10, %s2;
    isspacep.shared::cluster %p0, %g2;
    selp.u32 %s2, 1, 0, %p0;
    mad.lo.u32 %v, %v, 10, %s2;
    cvta.to.shared.u64 %g2, %g1;
    setp.eq.u64 %p0, %g2, %g0;
    selp.u32 %s2, 1, 0, %p0;
    mad.lo.u32 %v, %v, 10, %s2;)") +
                            kWriteOut,
                        2, 2);
  ASSERT_EQ(o.fault.kind, FaultKind::none) << o.fault.message;
  EXPECT_EQ(o.words[0], 101011u);
  EXPECT_EQ(o.words[32], 111111u);
}

TEST(Cluster, ABarrierThatOneNeverReachesIsADeadlock) {
  const Outcome o = run(R"(
    mov.u32 %r, %cluster_ctarank;
    setp.eq.u32 %p0, %r, 1;
    @%p0 bra waits;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    bra done;
  waits:
    bar.sync 1, 64;
  done:)",
                        4, 2);
  EXPECT_EQ(o.fault.kind, FaultKind::deadlock);
  EXPECT_NE(o.fault.message.find("barrier.cluster.wait"), std::string::npos) << o.fault.message;
  EXPECT_NE(o.fault.message.find("bar.sync"), std::string::npos) << o.fault.message;
}

TEST(Cluster, AWaitForAnArrivalThatNobodyIsLeftToMakeIsADeadlock) {
  for (const uint32_t cluster : {1u, 2u}) {
    const Outcome o = run(R"(
    .shared .align 8 .b64 bar;
    .reg .u32 %b;
    mov.u32 %b, bar;
    setp.eq.u32 %p0, %t, 0;
    @%p0 mbarrier.init.shared::cta.b64 [%b], 33;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mbarrier.arrive.shared::cta.b64 _, [%b];
  again:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%b], 0;
    @!%p1 bra again;
    barrier.cluster.arrive;
    barrier.cluster.wait;)",
                          2, cluster);
    EXPECT_EQ(o.fault.kind, FaultKind::deadlock);
    EXPECT_NE(o.fault.message.find("mbarrier.try_wait"), std::string::npos) << o.fault.message;
  }
}

TEST(Cluster, ExitedThreadsAreNotWaitedFor) {
  const Outcome o = run(std::string(R"(
    mov.u32 %r, %cluster_ctarank;
    setp.eq.u32 %p0, %r, 0;
    @%p0 exit;
    setp.gt.u32 %p1, %t, 4;
    @%p1 exit;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u32 %v, 3;)") + kWriteOut,
                        4, 4);
  ASSERT_EQ(o.fault.kind, FaultKind::none) << o.fault.message;
  EXPECT_EQ(o.words[0], 0u);
  EXPECT_EQ(o.words[32 + 4], 3u);
  EXPECT_EQ(o.words[32 + 5], 0u);
}

// Blocks of a cluster that end at any time, in any order.
TEST(Cluster, EndsUnderEverySchedule) {
  for (uint32_t schedule = 0; schedule < 20; ++schedule) {
    const Outcome o =
        run(std::string("mov.u32 %v, %cluster_ctarank;") + kWriteOut, 12, 4, 1, schedule);
    ASSERT_EQ(o.fault.kind, FaultKind::none) << o.fault.message;
    EXPECT_EQ(o.words[11 * 32], 3u);
  }
}

// Lanes of a warp arrive and wait apart.
TEST(Cluster, DivergedLanesMeet) {
  const Outcome o = run(std::string(R"(
    setp.lt.u32 %p0, %t, 7;
    @%p0 bra low;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u32 %v, 1;
    bra both;
  low:
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u32 %v, 2;
  both:)") + kWriteOut,
                        2, 2);
  ASSERT_EQ(o.fault.kind, FaultKind::none) << o.fault.message;
  EXPECT_EQ(o.words[6], 2u);
  EXPECT_EQ(o.words[32 + 7], 1u);
}

TEST(Cluster, AGridIsAMultipleOfItsClusters) {
  const Fault f = run("mov.u32 %v, 0;", 3, 2).fault;
  EXPECT_EQ(f.kind, FaultKind::unsupported);
  EXPECT_NE(f.message.find("no multiple of clusters"), std::string::npos) << f.message;
}

// The product of these is 2^32.
TEST(Cluster, NoLargerThanAnyGpuTakes) {
  KernelRunner runner;
  ASSERT_TRUE(runner.load("ret;").ok());
  for (const Dim3 size : {Dim3{65536, 32768, 2}, Dim3{1u << 31, 2, 1}, Dim3{17, 1, 1}}) {
    const Fault f = runner.run(size, {32, 1, 1}, {0, 0}, 0, false, size);
    EXPECT_EQ(f.kind, FaultKind::unsupported);
    EXPECT_NE(f.message.find("at most 16 blocks"), std::string::npos) << f.message;
  }
}

// Others have ended, or end: those that wait for ever are named.
TEST(Cluster, ADeadlockNamesItsBlock) {
  for (const uint32_t cluster : {1u, 2u})
    for (const char* waits :
         {"again: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%b], 0; @!%p1 bra again;",
          "bar.sync 1, 64;"}) {
      const Outcome o = run(std::string(R"(
    .shared .align 8 .b64 bar;
    .reg .u32 %b;
    mov.u32 %c, %ctaid.x;
    setp.ne.u32 %p0, %c, 5;
    @%p0 exit;
    mov.u32 %b, bar;
    setp.eq.u32 %p0, %t, 0;
    @%p0 mbarrier.init.shared::cta.b64 [%b], 33;
    bar.sync 0;
    )") + waits,
                            8, cluster);
      EXPECT_EQ(o.fault.kind, FaultKind::deadlock) << waits;
      EXPECT_EQ(o.fault.block, (std::array<uint32_t, 3>{5, 0, 0})) << waits;
    }
}

// Each block waits for an mbarrier that never completes, and asks memory in turn, which the last
// block writes after long work: no deadlock, however long that takes.
TEST(Cluster, ALoopThatPollsMemoryIsNoDeadlock) {
  for (const uint32_t cluster : {1u, 2u})
    for (const char* poll :
         {"ld.volatile.global.u32 %v, [%o];", "ld.acquire.gpu.global.u32 %v, [%o];",
          "atom.global.add.u32 %v, [%o], 0;"}) {
      const Outcome o = run(std::string(R"(
    .shared .align 8 .b64 bar;
    .reg .u32 %b;
    ld.param.u64 %o, [out];
    mov.u32 %b, bar;
    setp.eq.u32 %p0, %t, 0;
    @%p0 mbarrier.init.shared::cta.b64 [%b], 33;
    bar.sync 0;
    mov.u32 %c, %ctaid.x;
    setp.eq.u32 %p0, %c, 7;
    @%p0 bra works;
  again:
    mbarrier.test_wait.parity.shared::cta.b64 %p1, [%b], 0;
    @%p1 bra done;
    )") + poll + R"(
    setp.eq.u32 %p1, %v, 0;
    @%p1 bra again;
    bra done;
  works:
    mov.u32 %n, 0;
  more:
    add.u32 %n, %n, 1;
    setp.lt.u32 %p1, %n, 3000000;
    @%p1 bra more;
    st.volatile.global.u32 [%o], %n;
  done:)",
                            8, cluster);
      EXPECT_EQ(o.fault.kind, FaultKind::none) << poll << o.fault.message;
      EXPECT_EQ(o.words[0], 3000000u);
    }
}

TEST(Cluster, MisuseFaults) {
  const char* twice = "barrier.cluster.arrive;\n barrier.cluster.arrive;";
  EXPECT_NE(run(twice, 2, 2).fault.message.find("arrived already"), std::string::npos);
  const char* rank = R"(
    mov.u32 %s0, cell;
    mapa.shared::cluster.u32 %s1, %s0, 2;
    ld.shared::cluster.u32 %v, [%s1];)";
  EXPECT_NE(run(rank, 2, 2).fault.message.find("block 2 of the cluster, which has 2"),
            std::string::npos);
  const char* outside = R"(
    mov.u32 %s0, cell;
    mapa.shared::cluster.u32 %s1, %s0, 1;
    ld.shared::cluster.u32 %v, [%s1+4096];
    barrier.cluster.arrive;
    barrier.cluster.wait;)";
  EXPECT_NE(run(outside, 2, 2).fault.message.find("bytes of shared memory"), std::string::npos);
  const char* gone = R"(
    mov.u32 %r, %cluster_ctarank;
    setp.eq.u32 %p0, %r, 1;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    @%p0 exit;
    bar.sync 0;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u32 %s0, cell;
    mapa.shared::cluster.u32 %s1, %s0, 1;
    ld.shared::cluster.u32 %v, [%s1];)";
  const Fault f = run(gone, 2, 2).fault;
  EXPECT_NE(f.message.find("which has exited"), std::string::npos) << f.message;
}

}  // namespace
}  // namespace tw::emu
