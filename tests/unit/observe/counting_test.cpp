// A tiled GEMM run with counting on: the counts are those of the formula, whatever the number of
// threads, and the result is that of the bare engine.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "observe/counters/counting_observer.h"
#include "ptx/parser.h"
#include "report/profile.h"

namespace tw::counters {
namespace {

constexpr const char* kKernel = "_Z10gemm_tiledILi16EEvPKfS1_Pfi";
constexpr uint32_t kN = 64, kTiles = kN / 16;

std::string data(const char* name) {
  std::ifstream file(std::string(TILEWRIGHT_SOURCE_DIR "/tests/data/sass/") + name,
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const model::DeviceSpec& h200() {
  static const model::DeviceSpec spec = *model::load_device_spec("h200");
  return spec;
}

struct Outcome {
  std::string records;
  std::vector<float> result;
};

Outcome run_gemm(uint32_t threads, const char* kernels = nullptr) {
  Outcome out;
  std::optional<std::regex> filter;
  if (kernels != nullptr) filter.emplace(kernels);
  CountingSource source(
      h200(), [&](const std::string& line) { out.records += line; }, std::move(filter));
  emu::DeviceOptions options;
  options.threads = threads;
  options.observers = &source;
  auto device = emu::Device::create(h200(), options);
  EXPECT_TRUE(device.ok());
  auto module = (*device)->load(*ptx::parse(data("tiled.ptx"), "tiled.ptx"));
  EXPECT_TRUE(module.ok());
  emu::Launch launch;
  launch.kernel = (*device)->find_kernel(**module, kKernel);
  launch.grid = {kTiles, kTiles, 1};
  launch.block = {16, 16, 1};
  launch.id = 7;
  uint64_t c = 0;
  for (int i = 0; i < 3; ++i) {
    const uint64_t p = *(*device)->allocate(kN * kN * 4, emu::AllocationKind::device);
    float* values = reinterpret_cast<float*>((*device)->host_pointer(p, kN * kN * 4));
    for (uint32_t e = 0; e < kN * kN; ++e) values[e] = float(int(e % (5 + uint32_t(i))) - 2);
    launch.parameters.insert(launch.parameters.end(), reinterpret_cast<const uint8_t*>(&p),
                             reinterpret_cast<const uint8_t*>(&p) + 8);
    c = p;
  }
  const int32_t n = kN;
  launch.parameters.insert(launch.parameters.end(), reinterpret_cast<const uint8_t*>(&n),
                           reinterpret_cast<const uint8_t*>(&n) + 4);
  auto started = (*device)->start(launch);
  EXPECT_TRUE(started.ok());
  emu::GridRun::State state;
  do state = (*started)->advance();
  while (state == emu::GridRun::State::yielded);
  EXPECT_EQ(state, emu::GridRun::State::done);
  const float* values = reinterpret_cast<const float*>((*device)->host_pointer(c, kN * kN * 4));
  out.result.assign(values, values + kN * kN);
  return out;
}

TEST(Counting, ATiledGemmGivesTheCountsOfTheFormula) {
  const Outcome r = run_gemm(1);
  const auto records = report::read_records(r.records, "records");
  ASSERT_TRUE(records.ok()) << records.error().to_string();
  ASSERT_EQ(records->launches.size(), 1u);
  const report::LaunchRecord& l = records->launches[0];
  EXPECT_EQ(l.id, 7u);
  EXPECT_EQ(l.read_sectors, 2 * kN * kN / 8);  // A and B once
  EXPECT_EQ(l.written_sectors, kN * kN / 8);
  EXPECT_EQ(l.dram_read_sectors, l.read_sectors);

  report::BuildOptions options;
  const std::string image = data("tiled.cubin");
  options.machine[records->modules[0].id].code = *sass::read_cubin(
      {reinterpret_cast<const uint8_t*>(image.data()), image.size()}, "tiled.cubin");
  const report::Profile p = report::build_profile(*records, h200(), options);
  const report::Metrics& m = p.launches[0].metrics;
  const double warp_tiles = kTiles * kTiles * 8.0 * kTiles;  // warps times K-tiles
  EXPECT_EQ(m.at("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"), double(kN) * kN * kN);
  EXPECT_EQ(m.at("smsp__sass_inst_executed_op_shared_ld.sum"), 20 * warp_tiles);
  EXPECT_EQ(m.at("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"), 24 * warp_tiles);
  EXPECT_EQ(m.at("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"), 0);
  EXPECT_EQ(m.at("smsp__sass_inst_executed_op_shared_st.sum"), 2 * warp_tiles);
  EXPECT_EQ(m.at("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 2 * warp_tiles);
  EXPECT_EQ(m.at("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), 8 * warp_tiles);
  EXPECT_EQ(m.at("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"), kTiles * kTiles * 8.0);
  EXPECT_EQ(m.at("tilewright__barrier_arrivals.sum"), 2 * warp_tiles);
  EXPECT_EQ(m.at("tilewright__flops.sum"), 2.0 * kN * kN * kN);
}

TEST(Counting, TheNumberOfThreadsChangesNothing) {
  const Outcome one = run_gemm(1), three = run_gemm(3);
  EXPECT_EQ(one.result, three.result);
  auto a = report::read_records(one.records, "a"), b = report::read_records(three.records, "b");
  ASSERT_TRUE(a.ok() && b.ok());
  a->launches[0].program = b->launches[0].program;  // ids go on within a process
  EXPECT_EQ(a->launches[0], b->launches[0]);
}

TEST(Counting, OnlyTheKernelsAskedFor) {
  const Outcome r = run_gemm(1, "some_other_kernel");
  EXPECT_TRUE(r.records.empty());
  EXPECT_EQ(r.result, run_gemm(1, "gemm_tiled").result);
}

}  // namespace
}  // namespace tw::counters
