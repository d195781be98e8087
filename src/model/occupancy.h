// Occupancy: how many blocks of a kernel one SM holds, what limits it, and what would change it.
//
// The arithmetic is that of the CUDA runtime (cudaOccupancyMaxActiveBlocksPerMultiprocessor; NVIDIA
// documents it in the toolkit's cuda_occupancy.h): registers are allocated per warp in units of 256
// inside each of the four sub-partitions, shared memory per block in units of 128 bytes with 1 KiB
// added by the driver, and the smallest of the warp, block, register, shared-memory and barrier
// limits decides.
//
// Not modelled: the carve-out. The runtime assumes the largest shared-memory configuration, and so
// does this; the configuration that the driver picks at launch is what ncu's
// launch__occupancy_limit_shared_mem shows. Nor clusters, which need their blocks on one GPC.
//
// Tested by tests/unit/model/occupancy_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/device_spec.h"

namespace tw::model {

// What one block needs. Shared memory beyond 48 KiB assumes that the kernel opted in
// (cudaFuncAttributeMaxDynamicSharedMemorySize).
struct BlockResources {
  uint32_t threads = 0;
  uint32_t registers_per_thread = 0;  // as ptxas reports; 0: registers do not limit
  uint64_t shared_bytes = 0;          // static + dynamic, without what the system reserves
  uint32_t barriers = 1;              // named barriers used (bar.sync 0 counts as one)
};

enum class Limiter : uint8_t { kWarps, kBlocks, kRegisters, kShared, kBarriers };
const char* limiter_name(Limiter limiter);

inline constexpr uint32_t kNoLimit = 0xffffffffu;

struct Occupancy {
  uint32_t blocks_per_sm = 0;
  uint32_t warps_per_block = 0, warps_per_sm = 0, max_warps_per_sm = 0;
  // Blocks per SM that each resource alone would allow; kNoLimit: it does not limit.
  uint32_t limit_warps = 0, limit_blocks = 0, limit_registers = 0, limit_shared = 0,
           limit_barriers = 0;
  std::vector<Limiter> limiters;     // the resources whose limit is blocks_per_sm
  uint32_t registers_per_block = 0;  // allocated
  uint64_t shared_per_block = 0;     // allocated, reserved bytes included
  std::string why_zero;              // one sentence if blocks_per_sm == 0: the launch would fail

  double fraction() const {
    return max_warps_per_sm == 0 ? 0 : static_cast<double>(warps_per_sm) / max_warps_per_sm;
  }
};

Occupancy occupancy(const DeviceSpec& device, const BlockResources& block);

// One row of a what-if table: one resource changed, the others kept.
struct WhatIf {
  uint64_t value = 0;  // threads, registers per thread, or shared bytes
  uint32_t blocks_per_sm = 0, warps_per_sm = 0;
  double fraction = 0;
};

// Every warp multiple up to the largest block; every register count that ptxas allocates (multiples
// of 8, as the allocation unit is 256 a warp) up to the per-thread limit.
std::vector<WhatIf> vary_threads(const DeviceSpec& device, const BlockResources& block);
std::vector<WhatIf> vary_registers(const DeviceSpec& device, const BlockResources& block);
// The steps of the staircase: for each number of blocks, the most shared memory that still allows
// it.
std::vector<WhatIf> vary_shared(const DeviceSpec& device, const BlockResources& block);

}  // namespace tw::model
