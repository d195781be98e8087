#include "cudart/copy.h"

#include <fmt/format.h>

#include <cstring>

#include "cudart/api.h"

namespace tw::cudart {
namespace {

struct Resolved {
  uint8_t* bytes = nullptr;
  bool known = false;             // memory that CUDA knows
  emu::Device* device = nullptr;  // whose memory it is

  // Tells observers of an access to `bytes` at `offset` of `address`.
  void tell(const void* address, uint64_t offset, uint64_t size, bool write) const {
    if (device != nullptr)
      device->host_access(reinterpret_cast<uint64_t>(address) + offset, size, write);
  }
};

// The host address of [address, address + the bytes the extent spans).
cudaError_t resolve(const Side& side, const Extent& extent, Resolved& resolved) {
  if (side.address == nullptr) return because(cudaErrorInvalidValue, "an address is null");
  const uint64_t address = reinterpret_cast<uint64_t>(side.address);
  const unsigned __int128 span = (unsigned __int128)(extent.depth - 1) * side.slice +
                                 (unsigned __int128)(extent.height - 1) * side.pitch + extent.width;
  if (span > UINT64_MAX - address) return cudaErrorInvalidValue;
  const std::optional<Located> located = locate(side.address);
  if (!located) {
    if (in_device_window(side.address))
      return because(cudaErrorInvalidValue,
                     fmt::format("no allocation holds the device address {:#x}", address));
    resolved.bytes = reinterpret_cast<uint8_t*>(address);
    return cudaSuccess;
  }
  const emu::Allocation& allocation = located->allocation;
  if (uint64_t(span) > allocation.address + allocation.bytes - address)
    return because(cudaErrorInvalidValue,
                   fmt::format("{} bytes at offset {} of an allocation of {} bytes", uint64_t(span),
                               address - allocation.address, allocation.bytes));
  resolved.bytes = located->context->device().host_pointer(address, uint64_t(span));
  resolved.known = true;
  resolved.device = &located->context->device();
  return resolved.bytes ? cudaSuccess : cudaErrorInvalidValue;
}

bool valid(cudaMemcpyKind kind) {
  return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

}  // namespace

cudaError_t prepare_copy(Side to, Side from, Extent extent, cudaMemcpyKind kind,
                         std::function<cudaError_t()>& work, bool& pageable) {
  if (!valid(kind)) return cudaErrorInvalidMemcpyDirection;
  work = [] { return cudaSuccess; };
  pageable = false;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
  Resolved target, source;
  if (const cudaError_t error = resolve(to, extent, target); error != cudaSuccess) return error;
  if (const cudaError_t error = resolve(from, extent, source); error != cudaSuccess) return error;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (to_device && !target.known)
    return because(cudaErrorInvalidValue, "to a device, but the destination is the host's memory");
  if (from_device && !source.known)
    return because(cudaErrorInvalidValue, "from a device, but the source is the host's memory");
  pageable = !target.known || !source.known;
  work = [=] {
    for (size_t z = 0; z < extent.depth; z++) {
      uint8_t* t = target.bytes + z * to.slice;
      const uint8_t* s = source.bytes + z * from.slice;
      if (to.pitch == extent.width && from.pitch == extent.width) {
        std::memmove(t, s, extent.width * extent.height);
        target.tell(to.address, z * to.slice, extent.width * extent.height, true);
        source.tell(from.address, z * from.slice, extent.width * extent.height, false);
      } else {
        for (size_t y = 0; y < extent.height; y++) {
          std::memmove(t + y * to.pitch, s + y * from.pitch, extent.width);
          target.tell(to.address, z * to.slice + y * to.pitch, extent.width, true);
          source.tell(from.address, z * from.slice + y * from.pitch, extent.width, false);
        }
      }
    }
    return cudaSuccess;
  };
  return cudaSuccess;
}

cudaError_t copy(Side to, Side from, Extent extent, cudaMemcpyKind kind, Stream& stream,
                 Waiting waiting) {
  std::function<cudaError_t()> work;
  bool pageable = false;
  if (const cudaError_t error = prepare_copy(to, from, extent, kind, work, pageable);
      error != cudaSuccess)
    return error;
  // A copy from or to pageable memory returns when the memory may be used again, as on a GPU.
  if (waiting == Waiting::synchronous || (pageable && !stream.capture)) return run_in(stream, work);
  return submit(stream, {.kind = Command::Kind::work, .work = std::move(work)});
}

cudaError_t prepare_fill(Side to, int value, unsigned element_bytes, Extent extent,
                         std::function<cudaError_t()>& work) {
  work = [] { return cudaSuccess; };
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
  Resolved target;
  if (const cudaError_t error = resolve(to, extent, target); error != cudaSuccess) return error;
  if (!target.known) return because(cudaErrorInvalidValue, "this is the host's memory");
  work = [=] {
    for (size_t z = 0; z < extent.depth; z++)
      for (size_t y = 0; y < extent.height; y++) {
        uint8_t* row = target.bytes + z * to.slice + y * to.pitch;
        if (element_bytes == 1)
          std::memset(row, value, extent.width);
        else
          for (size_t x = 0; x + element_bytes <= extent.width; x += element_bytes)
            std::memcpy(row + x, &value, element_bytes);
        target.tell(to.address, z * to.slice + y * to.pitch, extent.width, true);
      }
    return cudaSuccess;
  };
  return cudaSuccess;
}

cudaError_t fill(Side to, int value, Extent extent, Stream& stream, Waiting waiting) {
  std::function<cudaError_t()> work;
  if (const cudaError_t error = prepare_fill(to, value, 1, extent, work); error != cudaSuccess)
    return error;
  if (waiting == Waiting::synchronous) return run_in(stream, work);
  return submit(stream, {.kind = Command::Kind::work, .work = std::move(work)});
}

}  // namespace tw::cudart
