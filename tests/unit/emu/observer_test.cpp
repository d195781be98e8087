// What an observer is told, and that what it cuts is not carried out.
#include "emu/observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "emu/cta.h"
#include "ptx/parser.h"

namespace tw::emu {
namespace {

// out[tid] = in[tid] for 64 threads, through shared memory, with a barrier; tid 40 and up exit
// early.
constexpr const char* kCopy = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 in, .param .u64 out) {
  .shared .align 4 .b8 tile[256];
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r2, [%rd4];
  shl.b32 %r3, %r1, 2;
  mov.u32 %r4, tile;
  add.s32 %r4, %r4, %r3;
  st.shared.u32 [%r4], %r2;
  bar.sync 0;
  setp.gt.u32 %p1, %r1, 39;
  @%p1 exit;
  membar.gl;
  ld.shared.u32 %r5, [%r4];
  st.global.u32 [%rd5], %r5;
  ret;
}
)";

struct Recorder final : ObserverSource, Observer {
  uint8_t events = kObserveAccesses | kObserveSync | kObserveBlocks;
  uint32_t allowed = kFullMask;  // lanes of global loads that are carried out
  std::vector<std::string> log;
  std::vector<BlockCount> counts;

  void add(const char* what, const Warp& warp, uint32_t lanes) {
    log.push_back(std::string(what) + " w" + std::to_string(warp.index) + " " +
                  std::to_string(__builtin_popcount(lanes)));
  }

  uint8_t wanted(const Launch&) override { return events; }
  Observer* launch_begin(const Launch&, const Program&, uint32_t) override { return this; }
  void launch_end(const Launch&, const Program&, const Fault& fault,
                  std::span<const BlockCount> c) override {
    EXPECT_EQ(fault.kind, FaultKind::none) << fault.message;
    counts.assign(c.begin(), c.end());
  }
  void cta_begin(Cta&) override { log.push_back("cta"); }
  void cta_end(Cta&) override { log.push_back("end"); }
  uint32_t access(const Access& a) override {
    const bool global = a.site.space == AccessSpace::global, read = a.site.kind == AccessKind::read;
    add(global ? read ? "ld" : "st" : read ? "ld.shared" : "st.shared", a.warp, a.lanes);
    if (!global) {
      EXPECT_EQ(a.address(3), uint64_t(a.warp.index * 32 + 3) * 4);
    }
    if (!read && (a.lanes >> 5) & 1) {
      EXPECT_EQ(a.value(0, 5), (allowed >> 5) & 1 ? a.warp.index * 32 + 5 + 100 : 0);
    }
    return global && read ? a.lanes & allowed : a.lanes;
  }
  void barrier_arrive(Cta&, Warp& warp, uint32_t, uint32_t, uint32_t threads, uint32_t lanes,
                      bool waits) override {
    EXPECT_EQ(threads, 0u);
    EXPECT_TRUE(waits);
    add("bar", warp, lanes);
  }
  void barrier_complete(Cta&, uint32_t id) override {
    log.push_back("complete " + std::to_string(id));
  }
  void fence(Cta&, Warp& warp, uint32_t, uint8_t, uint8_t scope, uint32_t lanes) override {
    EXPECT_EQ(scope, isa::kScopeGpu);
    add("fence", warp, lanes);
  }
  void exit(Cta&, Warp& warp, uint32_t, uint32_t lanes) override { add("exit", warp, lanes); }
};

std::vector<uint32_t> run_copy(Recorder& recorder) {
  DeviceOptions options;
  options.threads = 2;
  options.memory_bytes = 64 << 20;
  options.observers = &recorder;
  auto spec = model::load_device_spec("h200");
  auto device = Device::create(*spec, options);
  auto module = ptx::parse(kCopy, "copy.ptx");
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  auto loaded = (*device)->load(std::move(*module));
  const uint64_t in = *(*device)->allocate(256, AllocationKind::device),
                 out = *(*device)->allocate(256, AllocationKind::device);
  auto* from = reinterpret_cast<uint32_t*>((*device)->host_pointer(in, 256));
  auto* to = reinterpret_cast<uint32_t*>((*device)->host_pointer(out, 256));
  for (uint32_t i = 0; i < 64; ++i) from[i] = i + 100, to[i] = 7;
  Launch launch;
  launch.kernel = (*device)->find_kernel(**loaded, "copy");
  launch.block.x = 64;
  launch.parameters.resize(16);
  std::memcpy(launch.parameters.data(), &in, 8);
  std::memcpy(launch.parameters.data() + 8, &out, 8);
  auto run = (*device)->start(launch);
  EXPECT_TRUE(run.ok()) << run.error().to_string();
  EXPECT_EQ((*run)->advance(), GridRun::State::done) << (*run)->fault().message;
  return {to, to + 64};
}

TEST(Observer, SeesAccessesBarriersAndExits) {
  Recorder recorder;
  const std::vector<uint32_t> out = run_copy(recorder);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i < 40 ? i + 100 : 7);
  EXPECT_THAT(recorder.log, testing::ElementsAre(
                                "cta", "ld w0 32", "st.shared w0 32", "bar w0 32", "ld w1 32",
                                "st.shared w1 32", "bar w1 32", "complete 0", "exit w1 24",
                                "fence w1 8", "ld.shared w1 8", "st w1 8", "exit w1 8",
                                "fence w0 32", "ld.shared w0 32", "st w0 32", "exit w0 32", "end"));
  ASSERT_FALSE(recorder.counts.empty());
  EXPECT_EQ(recorder.counts[0].warps, 2u);
  EXPECT_EQ(recorder.counts[0].lanes, 64u);
  // The block after `@%p1 exit` is left to 8 lanes of the second warp.
  ASSERT_GE(recorder.counts.size(), 3u);
  EXPECT_EQ(recorder.counts[1].lanes, 64u);  // after the barrier, up to the exit
  EXPECT_EQ(recorder.counts[2].warps, 2u);
  EXPECT_EQ(recorder.counts[2].lanes, 40u);
}

TEST(Observer, LanesLeftOutReadZero) {
  Recorder recorder;
  recorder.allowed = 0x0000ffffu & ~(1u << 5);
  const std::vector<uint32_t> out = run_copy(recorder);
  for (uint32_t i = 0; i < 40; ++i)
    EXPECT_EQ(out[i], (recorder.allowed >> (i % 32)) & 1 ? i + 100 : 0) << i;
}

TEST(Observer, AnUnwantedLaunchIsNotObserved) {
  Recorder recorder;
  recorder.events = 0;
  EXPECT_EQ(run_copy(recorder)[39], 139u);
  EXPECT_THAT(recorder.log, testing::IsEmpty());
}

}  // namespace
}  // namespace tw::emu
