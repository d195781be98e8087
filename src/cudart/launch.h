// Checking a launch against the device and turning it into a command.
//
// The limits and their error codes are those seen on an H200: CUDA 13 gives cudaErrorInvalidValue
// for a bad grid or block, CUDA 12 gives cudaErrorInvalidConfiguration. Too much dynamic shared
// memory is cudaErrorInvalidValue in both. Tested by tests/unit/cudart/api_test.cpp and
// tests/e2e/programs/api_errors.cu.
#pragma once

#include "cudart/runtime.h"

namespace tw::cudart {

struct LaunchRequest {
  const void* function = nullptr;  // a stub's address, a cudaKernel_t or a cudaFunction_t
  dim3 grid, block;
  size_t dynamic_shared_bytes = 0;
  cudaStream_t stream = nullptr;
  dim3 cluster{1, 1, 1};
  bool cooperative = false;
  bool clustered = false;  // the launch says how large clusters are
  bool node = false;       // of a graph: the program may say so later
};

// Checks the request and gathers the arguments (one pointer for each parameter) into `command`.
cudaError_t prepare_launch(Context& context, const LaunchRequest& request, void** arguments,
                           Command& command);
cudaError_t launch(const LaunchRequest& request, void** arguments);

// The cluster that a launch has which names none, {1, 1, 1}: none; and how many CTAs one may have.
dim3 own_cluster(const KernelState& state);
uint32_t largest_cluster(const model::DeviceSpec& spec, const KernelState& state);
// Whether each launch must say how large clusters are.
bool must_say_cluster(const KernelState& state);
// Clusters that a launch asks for. `why` says what is wrong with them.
cudaError_t check_cluster(const model::DeviceSpec& spec, const KernelState& state, dim3 cluster,
                          std::string& why);

// The registered function and what the context knows of it.
cudaError_t find_kernel(Context& context, const void* function, KernelState*& state);

}  // namespace tw::cudart
