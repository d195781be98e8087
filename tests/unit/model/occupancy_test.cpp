// Occupancy against three oracles: values by hand, the block limits that Nsight Compute printed for
// the textbook kernels, and (where the CUDA toolkit is installed) NVIDIA's own cuda_occupancy.h on
// every device over a grid of configurations. What an H200 answered is compared in
// occupancy_h200_test.cpp.
#include "model/occupancy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define TILEWRIGHT_HAS_CUDA_OCCUPANCY 1
#endif

namespace tw::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

DeviceSpec device(const char* id) {
  auto spec = load_device_spec(id);
  EXPECT_TRUE(spec.ok()) << spec.error().to_string();
  return *spec;
}

TEST(Occupancy, TextbookCases) {
  const DeviceSpec h100 = device("h100");
  Occupancy o = occupancy(h100, {256, 32, 38 * 1024});
  EXPECT_EQ(o.blocks_per_sm, 5u);
  EXPECT_DOUBLE_EQ(o.fraction(), 0.625);
  EXPECT_THAT(o.limiters, ElementsAre(Limiter::kShared));
  EXPECT_EQ(o.shared_per_block, 39u * 1024);

  o = occupancy(h100, {1024, 33, 8192});  // 1280 registers a warp: 12 warps in each sub-partition
  EXPECT_EQ(o.blocks_per_sm, 1u);
  EXPECT_THAT(o.limiters, ElementsAre(Limiter::kRegisters));

  o = occupancy(h100, {32, 16, 0});
  EXPECT_EQ(o.blocks_per_sm, 32u);
  EXPECT_THAT(o.limiters, ElementsAre(Limiter::kBlocks));

  o = occupancy(h100, {128, 32, 0, 8});  // 64 barriers an SM
  EXPECT_EQ(o.blocks_per_sm, 8u);
  EXPECT_THAT(o.limiters, ElementsAre(Limiter::kBarriers));
}

TEST(Occupancy, RefusedLaunches) {
  const DeviceSpec h100 = device("h100");
  EXPECT_THAT(occupancy(h100, {0, 32, 0}).why_zero, HasSubstr("at least one thread"));
  EXPECT_THAT(occupancy(h100, {1025, 32, 0}).why_zero, HasSubstr("at most 1024 threads"));
  EXPECT_THAT(occupancy(h100, {256, 256, 0}).why_zero, HasSubstr("at most 255 registers"));
  EXPECT_THAT(occupancy(h100, {1024, 65, 0}).why_zero, HasSubstr("73728 registers"));
  EXPECT_THAT(occupancy(h100, {64, 32, 228 * 1024}).why_zero, HasSubstr("shared memory"));
  EXPECT_EQ(occupancy(h100, {64, 32, 227 * 1024}).blocks_per_sm, 1u);
  EXPECT_EQ(occupancy(h100, {0xffffffffu, 0xffffffffu, ~0ull}).blocks_per_sm, 0u);
}

TEST(Occupancy, WhatIfTablesAreMonotone) {
  const DeviceSpec h200 = device("h200");
  const BlockResources block{256, 40, 20000};
  uint32_t last = kNoLimit;
  for (const WhatIf& row : vary_registers(h200, block)) {
    EXPECT_LE(row.blocks_per_sm, last);
    last = row.blocks_per_sm;
  }
  EXPECT_EQ(vary_registers(h200, block).back().value, 255u);
  EXPECT_EQ(vary_threads(h200, block).size(), 32u);
  for (const WhatIf& row : vary_shared(h200, {32, 16, 0})) {  // one byte more costs a block
    const Occupancy more = occupancy(h200, {32, 16, row.value + 1});
    EXPECT_EQ(more.blocks_per_sm, row.blocks_per_sm - 1) << row.value;
  }
}

// launch__occupancy_limit_{warps,blocks,registers} of the textbook kernels. The shared-memory limit
// is left out: Nsight Compute shows the carve-out that the driver picked.
TEST(Occupancy, LimitsThatNsightComputePrinted) {
  std::ifstream in(TILEWRIGHT_SOURCE_DIR "/tests/data/seed-kernels-ncu-h200.tsv");
  std::map<std::string, std::map<std::string, double>> kernels;
  std::map<std::string, uint32_t> threads;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string n, id, kernel, block, grid, metric, value;
    for (std::string* f : {&n, &id, &kernel, &block, &grid, &metric, &value})
      std::getline(fields, *f, '\t');
    uint32_t x = 0, y = 0, z = 0;
    ASSERT_EQ(std::sscanf(block.c_str(), "(%u, %u, %u)", &x, &y, &z), 3) << line;
    threads[kernel] = x * y * z;
    kernels[kernel][metric] = std::stod(value);
  }
  ASSERT_EQ(kernels.size(), 8u);
  const DeviceSpec h200 = device("h200");
  for (auto& [name, m] : kernels) {
    const auto shared = static_cast<uint64_t>(m.at("launch__shared_mem_per_block"));
    const Occupancy o =
        occupancy(h200, {threads[name], static_cast<uint32_t>(m.at("launch__registers_per_thread")),
                         shared - h200.shared_reserved_per_block});
    EXPECT_EQ(o.limit_warps, m.at("launch__occupancy_limit_warps")) << name;
    EXPECT_EQ(o.limit_blocks, m.at("launch__occupancy_limit_blocks")) << name;
    EXPECT_EQ(o.limit_registers, m.at("launch__occupancy_limit_registers")) << name;
    EXPECT_EQ(o.shared_per_block, shared) << name;  // already a multiple of 128 there
  }
}

#ifdef TILEWRIGHT_HAS_CUDA_OCCUPANCY
TEST(Occupancy, EqualsTheToolkitsCalculatorOnEveryDevice) {
  int compared = 0;
  for (const std::string& id : device_ids()) {
    const DeviceSpec spec = device(id.c_str());
    cudaOccDeviceProp prop;
    prop.computeMajor = static_cast<int>(spec.compute_major);
    prop.computeMinor = static_cast<int>(spec.compute_minor);
    prop.maxThreadsPerBlock = static_cast<int>(spec.max_threads_per_block);
    prop.maxThreadsPerMultiprocessor = static_cast<int>(spec.max_threads_per_sm);
    prop.regsPerBlock = static_cast<int>(spec.registers_per_block);
    prop.regsPerMultiprocessor = static_cast<int>(spec.registers_per_sm);
    prop.warpSize = 32;
    prop.sharedMemPerBlock = spec.shared_per_block;
    prop.sharedMemPerMultiprocessor = spec.shared_per_sm;
    prop.numSms = static_cast<int>(spec.sm_count);
    prop.sharedMemPerBlockOptin = spec.shared_per_block_optin;
    prop.reservedSharedMemPerBlock = spec.shared_reserved_per_block;
    for (uint32_t threads = 1; threads <= 1024; threads += threads < 64 ? 21 : 31)
      for (uint32_t registers = 0; registers <= 255; registers += 5)
        for (uint64_t shared = 0; shared <= spec.shared_per_block_optin; shared += 3001)
          for (uint32_t barriers : {1u, 5u}) {
            cudaOccFuncAttributes attributes;
            attributes.maxThreadsPerBlock = 1024;
            attributes.numRegs = static_cast<int>(registers);
            attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
            attributes.maxDynamicSharedSizeBytes = spec.shared_per_block_optin;
            attributes.numBlockBarriers = static_cast<int>(barriers);
            cudaOccDeviceState state;
            cudaOccResult want{};
            ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&want, &prop, &attributes, &state,
                                                              static_cast<int>(threads), shared),
                      CUDA_OCC_SUCCESS);
            const Occupancy got = occupancy(spec, {threads, registers, shared, barriers});
            ASSERT_EQ(got.blocks_per_sm, static_cast<uint32_t>(want.activeBlocksPerMultiprocessor))
                << id << " threads " << threads << " registers " << registers << " shared "
                << shared << " barriers " << barriers;
            ++compared;
          }
  }
  EXPECT_GT(compared, 100000);
}
#endif

}  // namespace
}  // namespace tw::model
