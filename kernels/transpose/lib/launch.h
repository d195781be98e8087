// What the files of the library share: launching with the error as a value, and limits of the
// device.
#pragma once

#include <cuda_runtime.h>

#include "batch.cuh"
#include "tilewright/status.h"
#include "transpose/transpose_plan.h"

namespace tilewright::detail {

inline Status launch_failed(cudaError_t error) {
  return {StatusCode::kLaunchFailed, "", "the CUDA runtime refused the launch", int(error)};
}

// The first line of every kernel that launch() starts, before any access to global memory. Such a
// kernel may start while the last CTAs of the kernel before it on the stream still run
// (programmatic dependent launch): here it waits until that one has ended and its writes are
// visible, then lets the next start. Between kernels back to back this hides what a launch costs, 1
// to 2 us on an H200.
#ifdef __CUDACC__
__device__ __forceinline__ void wait_for_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#endif

// The current device's limits; asked once a device.
plan::DeviceLimits device_limits();

// `cluster`: so many CTAs along x start together on one GPC (1: each on its own); grid.x is a
// multiple. `balanced`: they go to the SMs with the most room, not to as many SMs as there are.
template <class... Parameters, class... Arguments>
Status launch_clusters(int cluster, bool balanced, void (*kernel)(Parameters...), dim3 grid,
                       dim3 block, int shared_bytes, cudaStream_t stream, Arguments... arguments) {
  void* pointers[] = {&arguments...};
  cudaLaunchAttribute attributes[3]{};
  unsigned count = 0;
  if (device_limits().overlapped_launches) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = unsigned(cluster);
    attributes[count].val.clusterDim.y = attributes[count].val.clusterDim.z = 1;
    ++count;
  }
  if (cluster > 1 && balanced) {
    attributes[count].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
    attributes[count++].val.clusterSchedulingPolicyPreference =
        cudaClusterSchedulingPolicyLoadBalancing;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = size_t(shared_bytes);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  cudaError_t error = cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), pointers);
  return error == cudaSuccess ? Status{} : launch_failed(error);
}

template <class... Parameters, class... Arguments>
Status launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, int shared_bytes,
              cudaStream_t stream, Arguments... arguments) {
  return launch_clusters(1, false, kernel, grid, block, shared_bytes, stream, arguments...);
}

// One matrix shape, `batch` of them placed by `dims`; what transpose() and permute() come down to.
// Strides in `problem` are not looked at except for alignment and density; addresses are.
Status run_transpose(const plan::TransposeProblem& problem, const plan::TransposePlan& plan,
                     const BatchDims& dims, cudaStream_t stream);

}  // namespace tilewright::detail
