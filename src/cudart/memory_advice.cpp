#include "cudart/memory_advice.h"

namespace tw::cudart {
namespace {

cudaError_t check(const void* pointer, size_t bytes, int device) {
  if (device != cudaCpuDeviceId && (device < 0 || device >= Runtime::get().device_count()))
    return cudaErrorInvalidDevice;
  const std::optional<Located> located = pointer ? locate(pointer) : std::nullopt;
  if (!located || located->allocation.kind != emu::AllocationKind::managed || bytes == 0)
    return cudaErrorInvalidValue;
  const uint64_t end = located->allocation.address + located->allocation.bytes;
  return bytes <= end - reinterpret_cast<uint64_t>(pointer) ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

cudaError_t advise(const void* pointer, size_t bytes, cudaMemoryAdvise, int device) {
  return with_context([&](Context&) { return check(pointer, bytes, device); });
}

cudaError_t prefetch(const void* pointer, size_t bytes, int device, unsigned flags,
                     cudaStream_t stream) {
  return with_stream(stream, [&](Context&, Stream&) {
    return flags ? cudaErrorInvalidValue : check(pointer, bytes, device);
  });
}

}  // namespace tw::cudart
