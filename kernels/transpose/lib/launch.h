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

template <class... Parameters, class... Arguments>
Status launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, int shared_bytes,
              cudaStream_t stream, Arguments... arguments) {
  void* pointers[] = {&arguments...};
  cudaError_t error = cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, pointers,
                                       size_t(shared_bytes), stream);
  return error == cudaSuccess ? Status{} : launch_failed(error);
}

// The current device's limits; asked once a device.
plan::DeviceLimits device_limits();

// One matrix shape, `batch` of them placed by `dims`; what transpose() and permute() come down to.
// Strides in `problem` are not looked at except for alignment and density; addresses are.
Status run_transpose(const plan::TransposeProblem& problem, const plan::TransposePlan& plan,
                     const BatchDims& dims, cudaStream_t stream);

}  // namespace tilewright::detail
