// cudaMemAdvise and cudaMemPrefetchAsync: hints, checked and remembered for cudaMemRangeGetAttribute, but
// without effect (there is one memory).
// The two ABIs name the location differently; both end here. `device`: an ordinal or
// cudaCpuDeviceId. Also what both ABIs' cudaGetDeviceProperties do.
#pragma once

#include "cudart/api.h"
#include "cudart/properties.h"

namespace tw::cudart {

cudaError_t advise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device);
cudaError_t prefetch(const void* pointer, size_t bytes, int device, unsigned flags,
                     cudaStream_t stream);

// New managed memory has had no advice.
void forget_advice(uint64_t address, uint64_t bytes);

template <class Properties> cudaError_t query_properties(Properties* properties, int device) {
  return guarded([&]() -> cudaError_t {
    if (properties == nullptr) return cudaErrorInvalidValue;
    if (device < 0 || device >= Runtime::get().device_count()) return cudaErrorInvalidDevice;
    const model::DeviceSpec* spec = nullptr;
    if (const cudaError_t error = Runtime::get().spec(spec); error != cudaSuccess) return error;
    fill_properties(*properties, *spec, device, spec->memory_bytes);
    return cudaSuccess;
  });
}

}  // namespace tw::cudart
