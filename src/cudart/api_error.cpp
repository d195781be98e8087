// Error queries and versions.
#include "cudart/api.h"

using namespace tw::cudart;

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error();
  last_error() = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() { return last_error(); }
const char* cudaGetErrorName(cudaError_t error) { return error_name(error); }
const char* cudaGetErrorString(cudaError_t error) { return error_text(error); }

cudaError_t cudaRuntimeGetVersion(int* version) {
  return guarded(
      [&] { return version ? (*version = abi_version(), cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return guarded([&] { return version ? (*version = 13000, cudaSuccess) : cudaErrorInvalidValue; });
}

TW_CUDA_EXPORT cudaError_t cudaProfilerStart() {
  return guarded([] { return cudaSuccess; });
}
TW_CUDA_EXPORT cudaError_t cudaProfilerStop() {
  return guarded([] { return cudaSuccess; });
}
