// The entry points that nvcc's and clang's start-up code calls, and the launch configuration of
// `<<<>>>`.
#include "cudart/api.h"
#include "cudart/launch.h"
#include "cudart/refused_launch.h"

using namespace tw::cudart;

namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
};
thread_local std::vector<CallConfiguration> call_configurations;

Binary* binary_of(void** handle) { return reinterpret_cast<Binary*>(handle); }

}  // namespace

TW_CUDA_EXPORT void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(Runtime::get().registry.add_binary(wrapper));
}

TW_CUDA_EXPORT void __cudaRegisterFatBinaryEnd(void**) {}

TW_CUDA_EXPORT void __cudaUnregisterFatBinary(void** handle) {
  Runtime::get().registry.remove_binary(binary_of(handle));
}

TW_CUDA_EXPORT void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name,
                                           int, uint3*, uint3*, dim3*, dim3*, int*) {
  Runtime::get().registry.add_function(binary_of(handle), host, name);
}

TW_CUDA_EXPORT void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int,
                                      size_t bytes, int, int) {
  Runtime::get().registry.add_variable(binary_of(handle), host, nullptr, name, bytes);
}

TW_CUDA_EXPORT void __cudaRegisterManagedVar(void** handle, void** slot, char*, const char* name,
                                             int, size_t bytes, int, int) {
  Runtime::get().registry.add_variable(binary_of(handle), slot, slot, name, bytes);
}

// Called before the host touches a managed variable.
TW_CUDA_EXPORT char __cudaInitModule(void** handle) {
  return with_context([&](Context& context) { return context.load(*binary_of(handle)); }) ==
         cudaSuccess;
}

TW_CUDA_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                                    CUstream_st* stream) {
  call_configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

TW_CUDA_EXPORT cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                                      void* stream) {
  if (call_configurations.empty()) return note(cudaErrorMissingConfiguration);
  const CallConfiguration& top = call_configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  call_configurations.pop_back();
  launch_drops_its_error();
  return cudaSuccess;
}

TW_CUDA_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  return guarded([&] {
    Function* function = host ? Runtime::get().registry.function(host) : nullptr;
    *kernel = reinterpret_cast<cudaKernel_t>(function);
    return function ? cudaSuccess : cudaErrorInvalidDeviceFunction;
  });
}

TW_CUDA_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                              void** arguments, size_t shared_bytes,
                                              cudaStream_t stream) {
  return launch({.function = kernel,
                 .grid = grid,
                 .block = block,
                 .dynamic_shared_bytes = shared_bytes,
                 .stream = stream},
                arguments);
}

TW_CUDA_EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
                                                   void** arguments, size_t shared_bytes,
                                                   cudaStream_t stream) {
  return __cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, per_thread(stream));
}
