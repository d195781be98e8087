// Allocation: device, pitched, managed and host memory; pointer queries.
#include <algorithm>

#include "cudart/api.h"
#include "cudart/graph_memory.h"
#include "cudart/host_observer.h"
#include "cudart/memory_advice.h"

using namespace tw::cudart;
using tw::emu::Allocation;
using tw::emu::AllocationKind;

namespace {

constexpr size_t kPitchAlignment =
    512;  // an H200 gives 512 for rows of 100 bytes and 1024 for 1000

cudaError_t allocate(Context& context, void** pointer, size_t bytes, AllocationKind kind) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  const tw::Result<uint64_t> address = context.device().allocate(bytes, kind);
  if (!address) return cudaErrorMemoryAllocation;
  *pointer = reinterpret_cast<void*>(*address);
  if (kind != AllocationKind::device) Runtime::get().share(context, *pointer, bytes);
  const std::lock_guard lock(context.mutex);
  context.live.insert(*address);
  return cudaSuccess;
}

cudaError_t invalid_free(void* pointer, bool host) {
  if (HostObserver* observer = host_observer())
    observer->invalid_free(reinterpret_cast<uint64_t>(pointer), host);
  return cudaErrorInvalidValue;
}

// Frees the allocation that starts at `pointer` and is of one of the kinds.
cudaError_t release(void* pointer, bool host) {
  if (pointer == nullptr) return cudaSuccess;
  if (const std::shared_ptr<GraphMemory> memory = host ? nullptr : GraphMemory::at(pointer)) {
    if (!memory->in_use) return cudaErrorInvalidValue;
    memory->in_use = false;
    return cudaSuccess;
  }
  const std::optional<Located> located = locate(pointer);
  const uint64_t address = reinterpret_cast<uint64_t>(pointer);
  if (!located || located->allocation.address != address) return invalid_free(pointer, host);
  const AllocationKind kind = located->allocation.kind;
  const bool variable = kind == AllocationKind::managed && !located->allocation.label.empty();
  const bool right =
      host ? kind == AllocationKind::host
           : kind == AllocationKind::device || (kind == AllocationKind::managed && !variable);
  Context& context = *located->context;
  {
    const std::lock_guard lock(context.mutex);
    if (!right || context.registered.count(pointer)) return invalid_free(pointer, host);
  }
  Runtime::get().scheduler.wait(context);  // a free waits for the device, as cudaFree does
  if (context.sticky() != cudaSuccess) return context.sticky();
  Runtime::get().unshare(pointer);
  if (!context.device().free(address)) return cudaErrorInvalidValue;
  const std::lock_guard lock(context.mutex);
  context.live.erase(address);
  context.host_flags.erase(address);
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return with_context(
      [&](Context& context) { return allocate(context, pointer, bytes, AllocationKind::device); });
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return with_context([&](Context& context) -> cudaError_t {
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return cudaErrorInvalidValue;
    const cudaError_t error = allocate(context, pointer, bytes, AllocationKind::managed);
    if (error == cudaSuccess) forget_advice(reinterpret_cast<uint64_t>(*pointer), bytes);
    return error;
  });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return with_context([&](Context& context) -> cudaError_t {
    if (pitch == nullptr) return cudaErrorInvalidValue;
    *pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    if (height != 0 && *pitch > SIZE_MAX / height) return cudaErrorMemoryAllocation;
    return allocate(context, pointer, *pitch * height, AllocationKind::device);
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* out, cudaExtent extent) {
  return with_context([&](Context& context) -> cudaError_t {
    if (out == nullptr) return cudaErrorInvalidValue;
    out->pitch = (extent.width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    out->xsize = extent.width;
    out->ysize = extent.height;
    const size_t rows = extent.height * extent.depth;
    if (rows != 0 && out->pitch > SIZE_MAX / rows) return cudaErrorMemoryAllocation;
    return allocate(context, &out->ptr, out->pitch * rows, AllocationKind::device);
  });
}

cudaError_t cudaFree(void* pointer) {
  return with_context([&](Context&) { return release(pointer, false); });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return with_context([&](Context& context) -> cudaError_t {
    if (flags & ~unsigned(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined))
      return cudaErrorInvalidValue;
    const cudaError_t error = allocate(context, pointer, bytes, AllocationKind::host);
    if (error == cudaSuccess && *pointer != nullptr) {
      const std::lock_guard lock(context.mutex);
      context.host_flags[reinterpret_cast<uint64_t>(*pointer)] = flags | cudaHostAllocMapped;
    }
    return error;
  });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* pointer) {
  return with_context([&](Context&) { return release(pointer, true); });
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return with_context([&](Context& context) -> cudaError_t {
    if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
    if (flags & ~unsigned(cudaHostRegisterPortable | cudaHostRegisterMapped |
                          cudaHostRegisterIoMemory | cudaHostRegisterReadOnly))
      return cudaErrorInvalidValue;
    if (locate(pointer) || in_device_window(pointer)) return cudaErrorHostMemoryAlreadyRegistered;
    if (!context.device().register_host(pointer, bytes)) return cudaErrorInvalidValue;
    Runtime::get().share(context, pointer, bytes);
    const std::lock_guard lock(context.mutex);
    context.registered.insert(pointer);
    return cudaSuccess;
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return with_context([&](Context& current) -> cudaError_t {
    const std::optional<Located> located = locate(pointer);
    Context& context = located ? *located->context : current;  // any device's thread may do it
    {
      const std::lock_guard lock(context.mutex);
      if (!context.registered.count(pointer)) return cudaErrorHostMemoryNotRegistered;
    }
    Runtime::get().scheduler.wait(context);
    Runtime::get().unshare(pointer);
    const std::lock_guard lock(context.mutex);
    context.registered.erase(pointer);
    return context.device().free(reinterpret_cast<uint64_t>(pointer)) ? cudaSuccess
                                                                      : cudaErrorInvalidValue;
  });
}

cudaError_t cudaHostGetDevicePointer(void** out, void* host, unsigned flags) {
  return with_context([&](Context&) -> cudaError_t {
    if (out == nullptr || flags != 0) return cudaErrorInvalidValue;
    const std::optional<Located> located = host ? locate(host) : std::nullopt;
    if (!located || located->allocation.kind != AllocationKind::host) return cudaErrorInvalidValue;
    *out = host;  // one address for both
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  return with_context([&](Context& context) -> cudaError_t {
    const std::lock_guard lock(context.mutex);
    const auto place = context.host_flags.find(reinterpret_cast<uint64_t>(host));
    if (flags == nullptr || place == context.host_flags.end()) return cudaErrorInvalidValue;
    *flags = place->second;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return with_context([&](Context& context) -> cudaError_t {
    if (free_bytes == nullptr || total_bytes == nullptr) return cudaErrorInvalidValue;
    *free_bytes = context.device().memory_free();
    *total_bytes = context.device().memory_total();
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return with_context([&](Context&) -> cudaError_t {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    *attributes = {};
    void* const address = const_cast<void*>(pointer);
    const std::optional<Located> located = locate(pointer);
    if (!located) {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = cudaInvalidDeviceId;
      attributes->hostPointer = address;
      return cudaSuccess;
    }
    attributes->device = located->context->ordinal;
    attributes->devicePointer = address;
    switch (located->allocation.kind) {
      case AllocationKind::device:
      case AllocationKind::module: attributes->type = cudaMemoryTypeDevice; break;
      case AllocationKind::managed:
        attributes->type = cudaMemoryTypeManaged;
        attributes->hostPointer = address;
        break;
      case AllocationKind::host:
        attributes->type = cudaMemoryTypeHost;
        attributes->hostPointer = address;
        break;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t, unsigned flags) {
  return with_stream(stream, [&](Context&, Stream&) -> cudaError_t {
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
      return cudaErrorInvalidValue;
    return locate(pointer) ? cudaSuccess : cudaErrorInvalidValue;
  });
}
TW_CUDA_EXPORT cudaError_t cudaStreamAttachMemAsync_ptsz(cudaStream_t s, void* pointer,
                                                         size_t bytes, unsigned flags) {
  return cudaStreamAttachMemAsync(per_thread(s), pointer, bytes, flags);
}

// A plain value; the arrays that it would describe are refused.
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
