// The engine's own properties: divergence and reconvergence, forward progress, barriers, atomics,
// warp operations, calls, guards, faults, and the same result whatever the number of host threads.
#include <gmock/gmock.h>

#include <numeric>

#include "kernel_runner.h"

namespace tw::emu {
namespace {

using testing::Each;
using testing::HasSubstr;

TEST(Engine, EachLaneRunsItsOwnSideOfABranch) {
  auto v = KernelRunner().words(kPrologue + R"(
    and.b32 %r1, %tid32, 1;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra EVEN;
    mul.lo.u32 %value, %tid32, 3;
    bra DONE;
  EVEN:
    add.u32 %value, %tid32, 100;
  DONE:
  )" + kEpilogue);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], i % 2 ? 3 * i : i + 100);
}

TEST(Engine, LoopsOfDifferentLengthMeetAgain) {
  auto v = KernelRunner().words(kPrologue + R"(
    mov.u32 %r1, 0;
    mov.u32 %value, 0;
  LOOP:
    add.u32 %value, %value, %r1;
    add.u32 %r1, %r1, 1;
    setp.le.u32 %p1, %r1, %tid32;
    @%p1 bra LOOP;
    // All lanes are here again: the ballot sees them.
    vote.sync.ballot.b32 %r2, %p1, 0xffffffff;
    add.u32 %value, %value, %r2;
  )" + kEpilogue);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], i * (i + 1) / 2);
}

// The dynamic part begins behind a device function's own shared variable.
TEST(Engine, SharedVariablesOfFunctionsDoNotOverlapDynamicOnes) {
  KernelRunner runner;
  ASSERT_TRUE(runner
                  .load(R"(
    .extern .shared .align 4 .b8 dynamic[];
    .func (.param .b32 result) own(.param .b32 value)
    {
      .shared .align 4 .b32 word[32];
      .reg .b32 %t, %at, %a;
      ld.param.u32 %a, [value];
      mov.u32 %t, %tid.x;
      shl.b32 %t, %t, 2;
      mov.u32 %at, word;
      add.u32 %at, %at, %t;
      st.shared.u32 [%at], %a;
      ld.shared.u32 %a, [%at];
      st.param.b32 [result], %a;
      ret;
    }
    .visible .entry k(.param .u64 out, .param .u64 in)
    {
      .param .b32 given, back;
      .reg .b64 %out, %offset;
      .reg .b32 %t, %at, %value, %got;
      ld.param.u64 %out, [out];
      mov.u32 %t, %tid.x;
      mul.wide.u32 %offset, %t, 4;
      add.u64 %out, %out, %offset;
      shl.b32 %at, %t, 2;
      mov.u32 %value, dynamic;
      add.u32 %at, %at, %value;
      st.shared.u32 [%at], %t;
      st.param.b32 [given], 777;
      call (back), own, (given);
      ld.param.u32 %got, [back];
      ld.shared.u32 %value, [%at];
      mad.lo.u32 %value, %got, 1000, %value;
      st.global.u32 [%out], %value;
      ret;
    })")
                  .ok());
  const uint64_t out = runner.buffer(std::vector<uint32_t>(32));
  EXPECT_EQ(runner.run({1, 1, 1}, {32, 1, 1}, {out, 0}, 128).kind, FaultKind::none);
  const auto v = runner.read<uint32_t>(out, 32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], 777000 + i);
}

TEST(Engine, TheSecondPredicateIsMadeFromTheOldValueOfTheFirst) {
  auto v = KernelRunner().words(kPrologue + R"(
    and.b32 %value, %tid32, 1;
    setp.ne.u32 %p1, %value, 0;
    setp.lt.xor.u32 %p1|%p2, %tid32, 16, %p1;
    selp.u32 %value, 1, 0, %p1;
    @%p2 add.u32 %value, %value, 2;
  )" + kEpilogue);
  for (uint32_t i = 0; i < 32; ++i) {
    const bool odd = i % 2 != 0;
    EXPECT_EQ(v[i], ((i < 16) != odd ? 1u : 0u) + ((i >= 16) != odd ? 2u : 0u)) << i;
  }
}

TEST(Engine, TheFirstPredicateMayBeTheGuardOfBoth) {
  auto v = KernelRunner().words(kPrologue + R"(
    and.b32 %value, %tid32, 1;
    setp.ne.u32 %p1, %value, 0;
    setp.eq.u32 %p2, %value, 7;
    @%p1 setp.lt.u32 %p1|%p2, %tid32, 16;
    selp.u32 %value, 1, 0, %p1;
    @%p2 add.u32 %value, %value, 2;
  )" + kEpilogue);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], i % 2 == 0 ? 0u : i < 16 ? 1u : 2u) << i;
}

TEST(Engine, GuardsOnAnyInstruction) {
  auto v = KernelRunner().words(kPrologue + R"(
    mov.u32 %value, 7;
    setp.lt.u32 %p1, %tid32, 10;
    @%p1 add.u32 %value, %value, %tid32;
    @!%p1 mov.u32 %value, 1;
    @%p1 st.global.u32 [%out], %value;
    @%p1 exit;
  )" + kEpilogue);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], i < 10 ? 7 + i : 1);
}

TEST(Engine, PartialWarpsAndOddBlocks) {
  for (uint32_t threads : {1u, 5u, 31u, 33u, 100u}) {
    auto v = KernelRunner().words(
        kPrologue + "  mov.u32 %value, %ntid.x;\n  mad.lo.u32 %value, %value, 1000, %tid32;\n" +
            kEpilogue,
        threads);
    for (uint32_t i = 0; i < threads; ++i) EXPECT_EQ(v[i], threads * 1000 + i);
  }
}

// Lane by lane a lock: the lanes that wait spin while the holder, diverged from them, has to
// finish.
TEST(Engine, ASpinLockInsideAWarpMakesProgress) {
  KernelRunner r;
  ASSERT_TRUE(r.load(kPrologue + R"(
    ld.param.u64 %rd1, [in];
  SPIN:
    atom.global.cas.b32 %r1, [%rd1], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra SPIN;
    // critical section
    ld.volatile.global.u32 %r2, [%rd1+4];
    add.u32 %r2, %r2, 1;
    st.volatile.global.u32 [%rd1+4], %r2;
    membar.gl;
    atom.global.exch.b32 %r3, [%rd1], 0;
    mov.u32 %value, %r2;
  )" + kEpilogue)
                  .ok());
  uint64_t out = r.buffer(std::vector<uint32_t>(64)), in = r.buffer(std::vector<uint32_t>(2));
  Fault f = r.run({1, 1, 1}, {64, 1, 1}, {out, in});
  ASSERT_EQ(f.kind, FaultKind::none) << f.message;
  EXPECT_EQ(r.read<uint32_t>(in, 2)[1], 64u);
}

// Lane 0 loops for long, the others wait: however long that takes, all go on together.
TEST(Engine, LanesWaitForALongLoop) {
  for (const char* load : {"ld.global.u32", "ld.volatile.global.u32"}) {
    for (uint32_t schedule : {0, 1}) {
      KernelRunner r(1, schedule);
      ASSERT_TRUE(r.load(kPrologue + R"(
    ld.param.u64 %rd1, [in];
    setp.ne.u32 %p1, %tid32, 0;
    @%p1 bra MEET;
    mov.u32 %r1, 0;
  LOOP:
    )" + load + R"( %r2, [%rd1];
    add.u32 %r1, %r1, %r2;
    setp.lt.u32 %p2, %r1, 100000;
    @%p2 bra LOOP;
  MEET:
    st.global.u32 [%out], %tid32;
    activemask.b32 %value;
  )" + kEpilogue)
                      .ok());
      uint64_t out = r.buffer(std::vector<uint32_t>(64)), in = r.buffer(std::vector<uint32_t>{1});
      Fault f = r.run({1, 1, 1}, {64, 1, 1}, {out, in});
      ASSERT_EQ(f.kind, FaultKind::none) << f.message;
      EXPECT_THAT(r.read<uint32_t>(out, 64), Each(0xffffffffu)) << load << " " << schedule;
    }
  }
}

// Lane 0 waits for a store that the others make where lanes meet again; then for one that they
// make behind a barrier. The first they are let go for, the second they could not make on a GPU.
TEST(Engine, LanesAreLetGoForWhatTheyCanDo) {
  for (const char* count : {"", "add.u32 %r4, %r4, 1;"}) {
    KernelRunner r;
    ASSERT_TRUE(r.load(kPrologue + R"(
    ld.param.u64 %rd1, [in];
    mov.u32 %r4, 0;
    setp.ne.u32 %p1, %tid32, 0;
    @%p1 bra MEET;
  SPIN:
    )" + count + R"(
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra SPIN;
  MEET:
    st.volatile.global.u32 [%rd1], 1;
    bar.sync 0;
    activemask.b32 %value;
  )" + kEpilogue)
                    .ok());
    uint64_t out = r.buffer(std::vector<uint32_t>(32)), in = r.buffer(std::vector<uint32_t>(1));
    Fault f = r.run({1, 1, 1}, {32, 1, 1}, {out, in});
    ASSERT_EQ(f.kind, FaultKind::none) << f.message;
  }
}

// A lock with a time-out: lanes leave the loop one by one, each with the time at which it did.
TEST(Engine, LanesThatLeaveALoopOneByOneKeepTheirClock) {
  KernelRunner r;
  ASSERT_TRUE(r.load(kPrologue + R"(
    .reg .b64 %first, %now;
    ld.param.u64 %rd1, [in];
    mov.u64 %first, %clock64;
  SPIN:
    mov.u64 %now, %clock64;
    atom.global.cas.b32 %r1, [%rd1], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    setp.ge.s64 %p2, %now, %first;
    and.pred %p3, %p1, %p2;
    @%p3 bra SPIN;
    mov.u32 %value, %r1;
    setp.lt.s64 %p2, %now, %first;
    @%p2 mov.u32 %value, 7;
    membar.gl;
    atom.global.exch.b32 %r3, [%rd1], 0;
  )" + kEpilogue)
                  .ok());
  uint64_t out = r.buffer(std::vector<uint32_t>(64)), in = r.buffer(std::vector<uint32_t>(1));
  Fault f = r.run({1, 1, 1}, {64, 1, 1}, {out, in});
  ASSERT_EQ(f.kind, FaultKind::none) << f.message;
  EXPECT_THAT(r.read<uint32_t>(out, 64), Each(0u));
}

// Thread 0 of each block waits for the other block, as in a grid-wide barrier, while the rest of
// its warp waits for it: nobody needs to be let go.
TEST(Engine, LanesWaitForALeaderThatWaitsForAnotherBlock) {
  KernelRunner r;
  ASSERT_TRUE(r.load(R"(.visible .entry k(.param .u64 out, .param .u64 in) {
    .reg .b32 %r<9>; .reg .b64 %rd<8>; .reg .pred %p<5>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra MEET;
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra WAIT;
    mov.u32 %r3, 0;
  WORK:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p3, %r3, 50000;
    @%p3 bra WORK;
    st.release.gpu.u32 [%rd1], 1;
  WAIT:
    ld.acquire.gpu.u32 %r4, [%rd1];
    setp.eq.u32 %p4, %r4, 0;
    @%p4 bra WAIT;
  MEET:
    activemask.b32 %r5;
    mad.lo.u32 %r6, %r2, 32, %r1;
    mul.wide.u32 %rd3, %r6, 4;
    add.s64 %rd2, %rd2, %rd3;
    st.global.u32 [%rd2], %r5;
    ret;
  })")
                  .ok());
  uint64_t out = r.buffer(std::vector<uint32_t>(64)), in = r.buffer(std::vector<uint32_t>(1));
  Fault f = r.run({2, 1, 1}, {32, 1, 1}, {out, in});
  ASSERT_EQ(f.kind, FaultKind::none) << f.message;
  EXPECT_THAT(r.read<uint32_t>(out, 64), Each(0xffffffffu));
}

// Blocks that wait for a later block's flag: co-resident blocks are time-sliced.
TEST(Engine, BlocksThatWaitForOneAnotherMakeProgress) {
  KernelRunner r;
  ASSERT_TRUE(r.load(R"(.visible .entry k(.param .u64 out, .param .u64 in) {
    .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;
    ld.param.u64 %rd1, [in];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %nctaid.x;
    sub.u32 %r2, %r2, 1;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd2, %rd1, %rd2;
    setp.eq.u32 %p1, %r1, %r2;
    @%p1 bra SET;
  WAIT:
    ld.acquire.gpu.u32 %r3, [%rd2+4];
    setp.eq.u32 %p2, %r3, 0;
    @%p2 bra WAIT;
  SET:
    st.release.gpu.u32 [%rd2], 1;
    ret;
  })")
                  .ok());
  uint64_t flags = r.buffer(std::vector<uint32_t>(9));
  Fault f = r.run({8, 1, 1}, {1, 1, 1}, {0, flags});
  ASSERT_EQ(f.kind, FaultKind::none) << f.message;
  auto v = r.read<uint32_t>(flags, 8);
  EXPECT_THAT(v, Each(1u));
}

TEST(Engine, ABarrierOrdersWarps) {
  auto v = KernelRunner().words(kPrologue + R"(
    .shared .align 4 .b8 s[512];
    shl.b32 %r1, %tid32, 2;
    mov.u32 %r2, s;
    add.u32 %r3, %r2, %r1;
    st.shared.u32 [%r3], %tid32;
    bar.sync 0;
    xor.b32 %r4, %r1, 508;
    add.u32 %r4, %r2, %r4;
    ld.shared.u32 %value, [%r4];
  )" + kEpilogue,
                                128);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(v[i], 127 - i);
}

TEST(Engine, BarrierReductions) {
  auto v = KernelRunner().words(kPrologue + R"(
    setp.lt.u32 %p1, %tid32, 40;
    bar.red.popc.u32 %r1, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, %p1;
    selp.u32 %r2, 1000, 0, %p2;
    selp.u32 %r3, 10000, 0, %p3;
    add.u32 %value, %r1, %r2;
    add.u32 %value, %value, %r3;
  )" + kEpilogue,
                                64);
  EXPECT_THAT(v, Each(10040u));
}

// A loop left only by a guarded exit has no natural post-dominator: lane 0 must not wait beyond the
// barrier.
TEST(Engine, APersistentLoopWithABarrierAndALeader) {
  auto v = KernelRunner().words(kPrologue + R"(
    .shared .align 4 .b8 item[4];
    mov.u32 %r1, item;
    mov.u32 %r2, 0;
    mov.u32 %value, 0;
  LOOP:
    setp.ne.u32 %p1, %tid32, 0;
    @%p1 bra WAIT;
    mov.u32 %r3, 0;
  SPIN:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 2000;
    @%p2 bra SPIN;
    st.shared.u32 [%r1], %r2;
  WAIT:
    bar.sync 0;
    ld.shared.u32 %r4, [%r1];
    bar.sync 0;
    add.u32 %value, %value, %r4;
    add.u32 %r2, %r2, 1;
    setp.gt.u32 %p3, %r4, 5;
    @%p3 st.global.u32 [%out], %value;
    @%p3 exit;
    setp.eq.u32 %p4, %tid32, 0;
    @!%p4 bra LOOP;
    add.u32 %value, %value, 100;
    bra LOOP;
  )" + kEpilogue);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], i == 0 ? 621u : 21u);
}

TEST(Engine, ABarrierNobodyCanReleaseIsADeadlock) {
  KernelRunner r;
  ASSERT_TRUE(r.load(kPrologue + R"(
    setp.lt.u32 %p1, %tid32, 32;
    @%p1 bra FIRST;
    bar.sync 1, 64;
    bra DONE;
  FIRST:
    bar.sync 2, 64;
  DONE:
    mov.u32 %value, 1;
  )" + kEpilogue)
                  .ok());
  uint64_t out = r.buffer(std::vector<uint32_t>(64));
  Fault f = r.run({1, 1, 1}, {64, 1, 1}, {out, out});
  EXPECT_EQ(f.kind, FaultKind::deadlock);
  EXPECT_THAT(f.message, HasSubstr("bar.sync 1, 64"));
  EXPECT_THAT(f.message, HasSubstr("bar.sync 2, 64"));
}

TEST(Engine, AnMbarrierCountsArrivalsByPhase) {
  auto v = KernelRunner().words(kPrologue + R"(
    .shared .align 8 .b64 bar;
    .shared .align 4 .b8 s[512];
    mov.u32 %r1, bar;
    setp.eq.u32 %p1, %tid32, 0;
    @%p1 mbarrier.init.shared.b64 [%r1], 128;
    bar.sync 0;
    shl.b32 %r2, %tid32, 2;
    mov.u32 %r3, s;
    add.u32 %r4, %r3, %r2;
    st.shared.u32 [%r4], %tid32;
    mbarrier.arrive.shared::cta.b64 %rd1, [%r1];
  WAIT:
    mbarrier.try_wait.shared.b64 %p2, [%r1], %rd1;
    @!%p2 bra WAIT;
    xor.b32 %r5, %r2, 508;
    add.u32 %r5, %r3, %r5;
    ld.shared.u32 %value, [%r5];
    mbarrier.arrive.shared.b64 %rd2, [%r1];
  WAIT2:
    mbarrier.test_wait.parity.shared.b64 %p3, [%r1], 1;
    @!%p3 bra WAIT2;
  )" + kEpilogue,
                                128);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(v[i], 127 - i);
}

TEST(Engine, MbarrierMisuseIsAFault) {
  KernelRunner r;
  ASSERT_TRUE(r.load(kPrologue + "  .shared .align 8 .b64 bar;\n  mov.u32 %r1, bar;\n  "
                                 "mbarrier.arrive.shared.b64 %rd1, [%r1];\n  ret;\n")
                  .ok());
  Fault f = r.run({1, 1, 1}, {1, 1, 1}, {0, 0});
  EXPECT_EQ(f.kind, FaultKind::trap);
  EXPECT_THAT(f.message, HasSubstr("not initialised"));
}

TEST(Engine, Shuffles) {
  auto run = [](const std::string& instruction) {
    return KernelRunner().words(kPrologue + "  add.u32 %r1, %tid32, 50;\n  " + instruction +
                                "\n  selp.u32 %r3, 1000, 0, %p1;\n  add.u32 %value, %r2, %r3;\n" +
                                kEpilogue);
  };
  auto down = run("shfl.sync.down.b32 %r2|%p1, %r1, 4, 31, -1;");
  auto up = run("shfl.sync.up.b32 %r2|%p1, %r1, 4, 0, -1;");
  auto bfly = run("shfl.sync.bfly.b32 %r2|%p1, %r1, 3, 31, -1;");
  auto idx = run("shfl.sync.idx.b32 %r2|%p1, %r1, 5, 0x181f, -1;");  // segments of 8 lanes
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(down[i], i + 4 < 32 ? i + 54 + 1000 : i + 50);
    EXPECT_EQ(up[i], i >= 4 ? i + 46 + 1000 : i + 50);
    EXPECT_EQ(bfly[i], (i ^ 3) + 1050);
    EXPECT_EQ(idx[i], (i & 24) + 5 + 1050);
  }
}

TEST(Engine, AShuffleWaitsForDivergedLanes) {
  auto v = KernelRunner().words(kPrologue + R"(
    setp.lt.u32 %p1, %tid32, 16;
    mov.u32 %r1, %tid32;
    @%p1 bra LOW;
    add.u32 %r1, %r1, 100;
    shfl.sync.bfly.b32 %value, %r1, 1, 31, 0xffff0000;
    bra DONE;
  LOW:
    shfl.sync.bfly.b32 %value, %r1, 1, 31, 0x0000ffff;
  DONE:
  )" + kEpilogue);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], (i ^ 1) + (i < 16 ? 0 : 100));
}

// Two tiles of sixteen lanes execute one instruction together, each naming its own half.
TEST(Engine, LanesOfOneInstructionMayNameDifferentSets) {
  auto run = [](const std::string& text) {
    return KernelRunner().words(kPrologue + R"(
      setp.ge.u32 %p1, %tid32, 16;
      selp.b32 %r1, 0xffff0000, 0x0000ffff, %p1;
      setp.gt.u32 %p2, %tid32, 20;
    )" + text + kEpilogue);
  };
  auto sums = run("redux.sync.add.u32 %value, %tid32, %r1;");
  auto ballots = run("vote.sync.ballot.b32 %value, %p2, %r1;");
  auto any = run("vote.sync.any.pred %p3, %p2, %r1;\nselp.u32 %value, 1, 0, %p3;");
  auto matches = run("and.b32 %r2, %tid32, 7;\nmatch.any.sync.b32 %value, %r2, %r1;");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(sums[i], i < 16 ? 120u : 376u);
    EXPECT_EQ(ballots[i], i < 16 ? 0u : 0xffe00000u);
    EXPECT_EQ(any[i], i < 16 ? 0u : 1u);
    EXPECT_EQ(matches[i], (i < 16 ? 0x0101u : 0x01010000u) << (i & 7));
  }
}

TEST(Engine, VotesAndMatches) {
  auto v = KernelRunner().words(kPrologue + R"(
    and.b32 %r1, %tid32, 3;
    match.any.sync.b32 %r2, %r1, -1;
    shr.u32 %r3, %r2, %r1;
    and.b32 %r3, %r3, 255;
    setp.lt.u32 %p1, %tid32, 31;
    vote.sync.all.pred %p2, %p1, -1;
    vote.sync.any.pred %p3, %p1, -1;
    selp.u32 %r4, 100, 0, %p2;
    selp.u32 %r5, 1000, 0, %p3;
    add.u32 %value, %r3, %r4;
    add.u32 %value, %value, %r5;
    redux.sync.add.u32 %r6, %tid32, -1;
    add.u32 %value, %value, %r6;
  )" + kEpilogue);
  EXPECT_THAT(v, Each(0x11u + 1000u + 496u));
}

// As NVIDIA's 128-bit division uses it: addc after sub.cc adds 1 when nothing was borrowed.
TEST(Engine, ASubtractionLeavesACarryWhereNothingIsBorrowed) {
  auto v = KernelRunner().words(kPrologue + R"(
    sub.cc.u32 %r1, %tid32, 10;
    addc.u32 %value, 0, 0;
    sub.cc.u32 %r1, %tid32, 10;
    subc.cc.u32 %r2, 7, 7;
    addc.u32 %r3, 0, 0;
    sub.cc.u32 %r1, %tid32, 10;
    subc.u32 %r2, 0, 0;
    mad.lo.u32 %value, %r3, 10, %value;
    and.b32 %r2, %r2, 100;
    add.u32 %value, %value, %r2;
  )" + kEpilogue);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], i < 10 ? 100u : 11u);
}

TEST(Engine, AtomicSumsOfSmallFloats) {
  KernelRunner r;
  ASSERT_TRUE(r.load(R"(.visible .entry k(.param .u64 out, .param .u64 in) {
    .reg .b64 %rd<2>; .reg .b32 %r<3>; .reg .b16 %h<3>;
    ld.param.u64 %rd1, [in];
    mov.b16 %h1, 0x3800;                        // 0.5
    red.global.add.noftz.f16 [%rd1], %h1;
    mov.b16 %h2, 0x3f80;                        // 1 in bfloat16
    red.global.add.noftz.bf16 [%rd1+4], %h2;
    mov.b32 %r1, 0x34003c00;                    // 1 and 0.25
    atom.global.add.noftz.f16x2 %r2, [%rd1+8], %r1;
    mov.b32 %r1, 0x40003f80;                    // 1 and 2
    red.global.add.noftz.bf16x2 [%rd1+12], %r1;
    ret;
  })")
                  .ok());
  uint64_t in = r.buffer(std::vector<uint32_t>(4)), out = r.buffer(std::vector<uint32_t>(1));
  ASSERT_EQ(r.run({1, 1, 1}, {32, 1, 1}, {out, in}).kind, FaultKind::none);
  // 32 times each: 16; 32; 32 and 8; 32 and 64.
  EXPECT_THAT(r.read<uint32_t>(in, 4),
              testing::ElementsAre(0x4c00u, 0x4200u, 0x48005000u, 0x42804200u));
}

TEST(Engine, IntegerAtomicsGiveTheSameSumOnAnyNumberOfThreads) {
  for (uint32_t threads : {1u, 2u, 4u}) {
    KernelRunner r(threads);
    ASSERT_TRUE(r.load(kPrologue + "  red.global.add.u32 [%in], %tid32;\n  ret;\n").ok());
    uint64_t in = r.buffer(std::vector<uint32_t>(1)), out = r.buffer(std::vector<uint32_t>(64));
    Fault f = r.run({100, 1, 1}, {64, 1, 1}, {out, in});
    ASSERT_EQ(f.kind, FaultKind::none) << f.message;
    EXPECT_EQ(r.read<uint32_t>(in, 1)[0], 100u * 64 * 63 / 2);
  }
}

TEST(Engine, FloatAtomicsGiveTheSameBitsOnAnyNumberOfThreads) {
  std::vector<uint32_t> results;
  for (uint32_t threads : {1u, 2u, 4u}) {
    KernelRunner r(threads);
    ASSERT_TRUE(r.load(kPrologue + R"(
      mov.u32 %r1, %ctaid.x;
      mad.lo.u32 %r1, %r1, 37, %tid32;
      cvt.rn.f32.u32 %f1, %r1;
      mul.f32 %f1, %f1, 0f3DCCCCCD;
      atom.global.add.f32 %f2, [%in], %f1;
      ret;)")
                    .ok());
    uint64_t in = r.buffer(std::vector<uint32_t>(1)), out = r.buffer(std::vector<uint32_t>(64));
    ASSERT_EQ(r.run({50, 1, 1}, {64, 1, 1}, {out, in}).kind, FaultKind::none);
    results.push_back(r.read<uint32_t>(in, 1)[0]);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Engine, DeviceFunctionsAndCallsThroughPointers) {
  KernelRunner r;
  ASSERT_TRUE(r.load(R"(
    .func (.param .b32 result) triple(.param .b32 x) {
      .reg .b32 %r<4>;
      ld.param.u32 %r1, [x];
      mul.lo.u32 %r2, %r1, 3;
      st.param.b32 [result], %r2;
      ret;
    }
    .func (.param .b32 result) plus_one(.param .b32 x) {
      .reg .b32 %r<4>;
      ld.param.u32 %r1, [x];
      add.u32 %r2, %r1, 1;
      st.param.b32 [result], %r2;
      ret;
    }
    .visible .entry k(.param .u64 out, .param .u64 in) {
      .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;
      mov.u32 %r1, %tid.x;
      ld.param.u64 %rd1, [out];
      mul.wide.u32 %rd2, %r1, 4;
      add.s64 %rd1, %rd1, %rd2;
      { .param .b32 a; .param .b32 b;
        st.param.b32 [a], %r1;
        call (b), triple, (a);
        ld.param.b32 %r2, [b]; }
      mov.u64 %rd3, triple;
      mov.u64 %rd4, plus_one;
      setp.lt.u32 %p1, %r1, 16;
      selp.b64 %rd5, %rd3, %rd4, %p1;
      { .param .b32 a; .param .b32 b;
        st.param.b32 [a], %r2;
        prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
        call (b), %rd5, (a), prototype;
        ld.param.b32 %r3, [b]; }
      st.global.u32 [%rd1], %r3;
      ret;
    })")
                  .ok());
  uint64_t out = r.buffer(std::vector<uint32_t>(32));
  Fault f = r.run({1, 1, 1}, {32, 1, 1}, {out, out});
  ASSERT_EQ(f.kind, FaultKind::none) << f.message;
  auto v = r.read<uint32_t>(out, 32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], i < 16 ? 9 * i : 3 * i + 1);
}

TEST(Engine, IndexedBranches) {
  auto v = KernelRunner().words(kPrologue + R"(
    and.b32 %r1, %tid32, 3;
    table: .branchtargets A, B, C, D;
    brx.idx %r1, table;
  A: mov.u32 %value, 10; bra DONE;
  B: mov.u32 %value, 20; bra DONE;
  C: mov.u32 %value, 30; bra DONE;
  D: mov.u32 %value, 40;
  DONE:
  )" + kEpilogue);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], 10 * (i % 4 + 1));
}

TEST(Engine, LocalMemoryIsAThreadsOwn) {
  auto v = KernelRunner().words(kPrologue + R"(
    .local .align 4 .b8 mine[64];
    mov.u64 %rd1, mine;
    cvta.local.u64 %rd2, %rd1;
    and.b32 %r1, %tid32, 15;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd2, %rd2, %rd3;
    st.u32 [%rd2], %tid32;
    add.s64 %rd4, %rd1, %rd3;
    ld.local.u32 %value, [%rd4];
  )" + kEpilogue);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], i);
}

TEST(Engine, AnOutOfBoundsAccessNamesThreadAndAllocation) {
  KernelRunner r;
  ASSERT_TRUE(r.load(kPrologue + "  mov.u32 %value, 1;\n" + kEpilogue).ok());
  uint64_t out = r.buffer(std::vector<uint32_t>(40));
  Fault f = r.run({1, 1, 1}, {64, 1, 1}, {out, out});
  EXPECT_EQ(f.kind, FaultKind::illegal_address);
  EXPECT_EQ(f.thread[0], 40u);
  EXPECT_THAT(f.message, HasSubstr("just past the end of the allocation of 160 bytes"));
  EXPECT_THAT(f.instruction, HasSubstr("st.global.u32"));
}

TEST(Engine, AMisalignedAccessIsAFault) {
  KernelRunner r;
  ASSERT_TRUE(
      r.load(kPrologue + "  mov.u32 %value, 1;\n  add.s64 %out, %out, 2;\n" + kEpilogue).ok());
  uint64_t out = r.buffer(std::vector<uint32_t>(64));
  EXPECT_EQ(r.run({1, 1, 1}, {32, 1, 1}, {out, out}).kind, FaultKind::misaligned_address);
}

TEST(Engine, SharedMemoryHasBounds) {
  KernelRunner r;
  ASSERT_TRUE(r.load(kPrologue + R"(
    .shared .align 4 .b8 s[64];
    shl.b32 %r1, %tid32, 2;
    st.shared.u32 [%r1], %tid32;
    ret;)")
                  .ok());
  Fault f = r.run({1, 1, 1}, {32, 1, 1}, {0, 0});
  EXPECT_EQ(f.kind, FaultKind::illegal_address);
  EXPECT_THAT(f.message, HasSubstr("64 bytes of shared memory"));
}

TEST(Engine, UnsupportedInstructionsAreNamedBeforeTheKernelStarts) {
  KernelRunner r;
  ASSERT_TRUE(r.load(kPrologue + "  frobnicate.b32 %value, %tid32;\n" + kEpilogue).ok());
  Fault f = r.run({1, 1, 1}, {32, 1, 1}, {0, 0});
  EXPECT_EQ(f.kind, FaultKind::unsupported);
  EXPECT_THAT(f.message, HasSubstr("frobnicate.b32"));
  EXPECT_THAT(f.message, HasSubstr("test.ptx:"));
}

TEST(Engine, PrintfFormatsOnTheHost) {
  KernelRunner r;
  ASSERT_TRUE(r.load(R"(
    .global .align 1 .b8 text[16] = {116, 61, 37, 100, 32, 37, 46, 49, 102, 37, 110, 10, 0};
    .extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);
    .visible .entry k(.param .u64 out, .param .u64 in) {
      .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f64 %fd<2>;
      .local .align 8 .b8 buffer[16];
      mov.u32 %r1, %tid.x;
      mov.u64 %rd1, buffer;
      cvta.local.u64 %rd2, %rd1;
      st.local.u32 [%rd1], %r1;
      mov.f64 %fd1, 0d3FE0000000000000;
      st.local.f64 [%rd1+8], %fd1;
      mov.u64 %rd3, text;
      cvta.global.u64 %rd4, %rd3;
      { .param .b64 a; .param .b64 b; .param .b32 c;
        st.param.b64 [a], %rd4;
        st.param.b64 [b], %rd2;
        call.uni (c), vprintf, (a, b); }
      ret;
    })")
                  .ok());
  Fault f = r.run({1, 1, 1}, {2, 1, 1}, {0, 0});
  ASSERT_EQ(f.kind, FaultKind::none) << f.message;
  EXPECT_EQ(r.printed, "t=0 0.5%n\nt=1 0.5%n\n");  // %n is text, not a store
}

// Results do not depend on the number of host threads: a kernel with every kind of construct.
TEST(Engine, TheSameBitsOnOneAndFourThreads) {
  std::vector<std::vector<uint32_t>> results;
  for (uint32_t threads : {1u, 4u}) {
    KernelRunner r(threads);
    ASSERT_TRUE(r.load(R"(.visible .entry k(.param .u64 out, .param .u64 in) {
      .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<4>; .reg .f32 %f<8>;
      .shared .align 4 .b8 s[512];
      mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
      mad.lo.u32 %r4, %r2, %r3, %r1;
      mov.u32 %r5, 0; mov.f32 %f1, 0f3F800000;
    L: cvt.rn.f32.u32 %f2, %r4; fma.rn.f32 %f1, %f1, 0f3F7FBE77, %f2;
      add.u32 %r5, %r5, 1; and.b32 %r6, %r4, 15; setp.lt.u32 %p1, %r5, %r6; @%p1 bra L;
      shl.b32 %r7, %r1, 2; mov.u32 %r8, s; add.u32 %r9, %r8, %r7;
      st.shared.f32 [%r9], %f1; bar.sync 0;
      xor.b32 %r10, %r7, 4; add.u32 %r10, %r8, %r10; ld.shared.f32 %f3, [%r10];
      add.f32 %f1, %f1, %f3;
      ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd1, %rd1, %rd2; st.global.f32 [%rd1], %f1;
      ret; })")
                    .ok());
    uint64_t out = r.buffer(std::vector<uint32_t>(128 * 64));
    ASSERT_EQ(r.run({64, 1, 1}, {128, 1, 1}, {out, out}).kind, FaultKind::none);
    results.push_back(r.read<uint32_t>(out, 128 * 64));
  }
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace tw::emu
