#include "cudart/occupancy.h"

#include <algorithm>

#include "cudart/api.h"
#include "cudart/launch.h"
#include "model/occupancy.h"

namespace tw::cudart {

uint32_t blocks_per_sm(const model::DeviceSpec& spec, const emu::KernelInfo& info, uint64_t threads,
                       uint64_t dynamic_shared_bytes) {
  if (threads == 0 || threads > std::min(spec.max_threads_per_block, info.max_threads_per_block))
    return 0;
  return model::occupancy(spec, {.threads = uint32_t(threads),
                                 .registers_per_thread = info.registers,
                                 .shared_bytes = info.static_shared_bytes + dynamic_shared_bytes})
      .blocks_per_sm;
}

}  // namespace tw::cudart

using namespace tw::cudart;

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                   const void* function,
                                                                   int threads, size_t shared_bytes,
                                                                   unsigned) {
  return with_context([&](Context& context) -> cudaError_t {
    if (blocks == nullptr || threads <= 0) return cudaErrorInvalidValue;
    KernelState* state = nullptr;
    if (const cudaError_t error = find_kernel(context, function, state); error != cudaSuccess)
      return error;
    *blocks = int(blocks_per_sm(context.spec(), *state->info, uint64_t(threads), shared_bytes));
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int threads, size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                                shared_bytes, 0);
}

// The most dynamic shared memory with which `blocks` blocks still fit on an SM.
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function,
                                                      int blocks, int threads) {
  return with_context([&](Context& context) -> cudaError_t {
    if (bytes == nullptr || blocks <= 0 || threads <= 0) return cudaErrorInvalidValue;
    KernelState* state = nullptr;
    if (const cudaError_t error = find_kernel(context, function, state); error != cudaSuccess)
      return error;
    const uint64_t fixed = state->info->static_shared_bytes,
                   most = context.spec().shared_per_block_optin;
    uint64_t low = 0, high = most > fixed ? most - fixed : 0;
    if (int(blocks_per_sm(context.spec(), *state->info, uint64_t(threads), 0)) < blocks)
      return cudaErrorInvalidValue;
    while (low < high) {  // the number of blocks falls as the bytes grow
      const uint64_t middle = (low + high + 1) / 2;
      if (int(blocks_per_sm(context.spec(), *state->info, uint64_t(threads), middle)) >= blocks)
        low = middle;
      else
        high = middle - 1;
    }
    *bytes = low;
    return cudaSuccess;
  });
}

namespace {
// The cluster of a launch with this configuration.
dim3 cluster_of(const cudaLaunchConfig_t& config, const KernelState& state) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) {
      const auto& c = config.attrs[i].val.clusterDim;
      return dim3(c.x, c.y, c.z);
    }
  return own_cluster(state);
}
}  // namespace

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                 const cudaLaunchConfig_t* config) {
  return with_context([&](Context& context) -> cudaError_t {
    if (size == nullptr || config == nullptr) return cudaErrorInvalidValue;
    KernelState* state = nullptr;
    if (const cudaError_t error = find_kernel(context, function, state); error != cudaSuccess)
      return error;
    *size = int(largest_cluster(context.spec(), *state));
    return cudaSuccess;
  });
}

// As if every cluster could lie on any SMs: that its CTAs need one GPC is not modelled. Of CTAs
// that fill an SM, an H200 gives 66, 30, 15 and 7 clusters of 2, 4, 8 and 16, this 66, 33, 16 and
// 8.
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
  return with_context([&](Context& context) -> cudaError_t {
    if (clusters == nullptr || config == nullptr) return cudaErrorInvalidValue;
    KernelState* state = nullptr;
    if (const cudaError_t error = find_kernel(context, function, state); error != cudaSuccess)
      return error;
    const dim3 cluster = cluster_of(*config, *state);
    const uint64_t ctas = uint64_t(cluster.x) * cluster.y * cluster.z;
    if (ctas == 0 || ctas > largest_cluster(context.spec(), *state))
      return cudaErrorInvalidClusterSize;
    const dim3& block = config->blockDim;
    const uint64_t threads = uint64_t(block.x) * block.y * block.z;
    if (config->dynamicSmemBytes > state->max_dynamic_shared) return cudaErrorInvalidValue;
    *clusters = int(
        uint64_t(blocks_per_sm(context.spec(), *state->info, threads, config->dynamicSmemBytes)) *
        context.spec().sm_count / ctas);
    return cudaSuccess;
  });
}
