// Error queries and versions.
#include "cudart/api.h"
#include "cudart/host_observer.h"
#include "cudart/refused_launch.h"

using namespace tw::cudart;

namespace {

void asked(cudaError_t last, int code) {
  if (last == cudaSuccess) return;
  refusal_was_asked_for();
  if (HostObserver* observer = host_observer()) observer->error_asked(code);
}

}  // namespace

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error();
  asked(error, 0);
  last_error() = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  asked(last_error(), 0);
  return last_error();
}
const char* cudaGetErrorName(cudaError_t error) {
  asked(error, int(error));
  return error_name(error);
}
const char* cudaGetErrorString(cudaError_t error) {
  asked(error, int(error));
  return error_text(error);
}

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
