// See occupancy.h for the rule and its source.
#include "model/occupancy.h"

#include <algorithm>

namespace tw::model {
namespace {

constexpr uint32_t kWarpLanes = 32;

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// A block that no limit below can hold: the launch itself is refused.
std::string launch_refused(const DeviceSpec& device, const BlockResources& block,
                           uint64_t registers_checked) {
  if (block.threads == 0) return "a block needs at least one thread";
  if (block.threads > device.max_threads_per_block)
    return "a block has at most " + std::to_string(device.max_threads_per_block) + " threads";
  if (block.registers_per_thread > device.max_registers_per_thread)
    return "a thread has at most " + std::to_string(device.max_registers_per_thread) + " registers";
  if (registers_checked > device.registers_per_block)
    return "the block needs " + std::to_string(registers_checked) + " registers, " +
           std::to_string(device.registers_per_block) + " is the most a block can have";
  if (block.shared_bytes > device.shared_per_block_optin)
    return "the block needs " + std::to_string(block.shared_bytes) + " bytes of shared memory, " +
           std::to_string(device.shared_per_block_optin) + " is the most a block can have";
  if (block.barriers > 16) return "a block has at most 16 named barriers";
  return {};
}

WhatIf row(const DeviceSpec& device, const BlockResources& block, uint64_t value) {
  const Occupancy result = occupancy(device, block);
  return {value, result.blocks_per_sm, result.warps_per_sm, result.fraction()};
}

}  // namespace

const char* limiter_name(Limiter limiter) {
  switch (limiter) {
    case Limiter::kWarps: return "warps";
    case Limiter::kBlocks: return "blocks";
    case Limiter::kRegisters: return "registers";
    case Limiter::kShared: return "shared memory";
    case Limiter::kBarriers: return "barriers";
  }
  return "?";
}

Occupancy occupancy(const DeviceSpec& device, const BlockResources& block) {
  Occupancy result;
  result.max_warps_per_sm = device.max_warps_per_sm;
  result.warps_per_block = (block.threads + kWarpLanes - 1) / kWarpLanes;
  const uint64_t registers_per_warp =
      round_up(uint64_t{block.registers_per_thread} * kWarpLanes, device.register_allocation_unit);
  const uint32_t partitions = device.warp_allocation_granularity;
  result.shared_per_block = round_up(block.shared_bytes + device.shared_reserved_per_block,
                                     device.shared_allocation_unit);
  // The hardware's check at launch assumes that each sub-partition gets the same number of warps.
  const uint64_t registers_checked =
      registers_per_warp * round_up(result.warps_per_block, partitions);
  result.why_zero = launch_refused(device, block, registers_checked);
  if (!result.why_zero.empty()) return result;
  result.registers_per_block = static_cast<uint32_t>(registers_per_warp * result.warps_per_block);

  result.limit_warps = device.max_warps_per_sm / result.warps_per_block;
  result.limit_blocks = device.max_blocks_per_sm;
  result.limit_registers = kNoLimit;
  if (registers_per_warp != 0) {
    const uint64_t warps_per_partition = device.registers_per_sm / partitions / registers_per_warp;
    result.limit_registers =
        static_cast<uint32_t>(warps_per_partition * partitions / result.warps_per_block);
  }
  result.limit_shared = result.shared_per_block == 0
                            ? kNoLimit
                            : static_cast<uint32_t>(device.shared_per_sm / result.shared_per_block);
  result.limit_barriers = block.barriers == 0 || device.barriers_per_sm == 0
                              ? kNoLimit
                              : device.barriers_per_sm / block.barriers;

  const struct {
    Limiter limiter;
    uint32_t blocks;
  } limits[] = {{Limiter::kWarps, result.limit_warps},
                {Limiter::kBlocks, result.limit_blocks},
                {Limiter::kRegisters, result.limit_registers},
                {Limiter::kShared, result.limit_shared},
                {Limiter::kBarriers, result.limit_barriers}};
  result.blocks_per_sm = kNoLimit;
  for (const auto& limit : limits)
    result.blocks_per_sm = std::min(result.blocks_per_sm, limit.blocks);
  for (const auto& limit : limits)
    if (limit.blocks == result.blocks_per_sm) result.limiters.push_back(limit.limiter);
  result.warps_per_sm = result.blocks_per_sm * result.warps_per_block;
  if (result.blocks_per_sm == 0) result.why_zero = "one SM cannot hold a single block";
  return result;
}

std::vector<WhatIf> vary_threads(const DeviceSpec& device, const BlockResources& block) {
  std::vector<WhatIf> rows;
  BlockResources changed = block;
  for (changed.threads = kWarpLanes; changed.threads <= device.max_threads_per_block;
       changed.threads += kWarpLanes)
    rows.push_back(row(device, changed, changed.threads));
  return rows;
}

std::vector<WhatIf> vary_registers(const DeviceSpec& device, const BlockResources& block) {
  std::vector<WhatIf> rows;
  BlockResources changed = block;
  const uint32_t step = std::max(1u, device.register_allocation_unit / kWarpLanes);
  for (uint32_t registers = step; registers < device.max_registers_per_thread + step;
       registers += step) {
    changed.registers_per_thread = std::min(registers, device.max_registers_per_thread);
    rows.push_back(row(device, changed, changed.registers_per_thread));
  }
  return rows;
}

std::vector<WhatIf> vary_shared(const DeviceSpec& device, const BlockResources& block) {
  std::vector<WhatIf> rows;
  BlockResources changed = block;
  const uint64_t unit = device.shared_allocation_unit;
  for (uint32_t blocks = device.max_blocks_per_sm; blocks >= 1; --blocks) {
    const uint64_t allocated = device.shared_per_sm / blocks / unit * unit;
    if (allocated < device.shared_reserved_per_block) continue;
    changed.shared_bytes =
        std::min(allocated - device.shared_reserved_per_block, device.shared_per_block_optin);
    rows.push_back(row(device, changed, changed.shared_bytes));
  }
  return rows;
}

}  // namespace tw::model
