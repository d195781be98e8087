// cudaMemcpy and cudaMemset in all their forms, symbols included. `_ptds` / `_ptsz`: the same under
// --default-stream per-thread.
#include "cudart/api.h"
#include "cudart/copy.h"

namespace tw::cudart {

cudaError_t symbol_address(Context& context, const void* symbol, size_t bytes, size_t offset,
                           void*& address) {
  const Variable* variable = symbol ? Runtime::get().registry.variable(symbol) : nullptr;
  if (variable == nullptr) return cudaErrorInvalidSymbol;
  emu::Allocation allocation;
  if (const cudaError_t error = context.variable(*variable, allocation); error != cudaSuccess)
    return error;
  if (offset > allocation.bytes || bytes > allocation.bytes - offset) return cudaErrorInvalidValue;
  address = reinterpret_cast<void*>(allocation.address + offset);
  return cudaSuccess;
}

}  // namespace tw::cudart

using namespace tw::cudart;

namespace {

cudaError_t copy_linear(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                        cudaStream_t stream, Waiting waiting) {
  return with_stream(stream, [&](Context&, Stream& s) {
    return copy({to, bytes, bytes}, {from, bytes, bytes}, {bytes}, kind, s, waiting);
  });
}

cudaError_t copy_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                    size_t height, cudaMemcpyKind kind, cudaStream_t stream, Waiting waiting) {
  return with_stream(stream, [&](Context&, Stream& s) -> cudaError_t {
    if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
    return copy({to, to_pitch}, {from, from_pitch}, {width, height}, kind, s, waiting);
  });
}

cudaError_t copy_3d(const cudaMemcpy3DParms* p, cudaStream_t stream, Waiting waiting) {
  return with_stream(stream, [&](Context&, Stream& s) -> cudaError_t {
    if (p == nullptr) return cudaErrorInvalidValue;
    if (p->srcArray != nullptr || p->dstArray != nullptr) return cudaErrorNotSupported;
    if (p->extent.width > p->srcPtr.pitch || p->extent.width > p->dstPtr.pitch)
      return cudaErrorInvalidPitchValue;
    const auto side = [](const cudaPitchedPtr& pointer, const cudaPos& pos) {
      Side result{nullptr, pointer.pitch, pointer.pitch * pointer.ysize};
      if (pointer.ptr)
        result.address = static_cast<uint8_t*>(pointer.ptr) + pos.x + pos.y * result.pitch +
                         pos.z * result.slice;
      return result;
    };
    return copy(side(p->dstPtr, p->dstPos), side(p->srcPtr, p->srcPos),
                {p->extent.width, p->extent.height, p->extent.depth}, p->kind, s, waiting);
  });
}

// Devices share one address space: where a copy goes, its addresses tell.
cudaError_t copy_3d_peer(const cudaMemcpy3DPeerParms* p, cudaStream_t stream, Waiting waiting) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  cudaMemcpy3DParms same{};
  same.srcArray = p->srcArray, same.srcPos = p->srcPos, same.srcPtr = p->srcPtr;
  same.dstArray = p->dstArray, same.dstPos = p->dstPos, same.dstPtr = p->dstPtr;
  same.extent = p->extent;
  same.kind = cudaMemcpyDefault;
  return copy_3d(&same, stream, waiting);
}

cudaError_t fill_linear(void* to, int value, size_t bytes, cudaStream_t stream, Waiting waiting) {
  return with_stream(stream, [&](Context&, Stream& s) {
    return fill({to, bytes, bytes}, value, {bytes}, s, waiting);
  });
}

cudaError_t fill_2d(void* to, size_t pitch, int value, size_t width, size_t height,
                    cudaStream_t stream, Waiting waiting) {
  return with_stream(stream, [&](Context&, Stream& s) -> cudaError_t {
    if (width > pitch && height > 1) return cudaErrorInvalidValue;
    return fill({to, pitch}, value, {width, height}, s, waiting);
  });
}

cudaError_t fill_3d(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream,
                    Waiting waiting) {
  return with_stream(stream, [&](Context&, Stream& s) -> cudaError_t {
    if (extent.width > to.pitch) return cudaErrorInvalidValue;
    return fill({to.ptr, to.pitch, to.pitch * to.ysize}, value,
                {extent.width, extent.height, extent.depth}, s, waiting);
  });
}

cudaError_t copy_to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                           cudaMemcpyKind kind, cudaStream_t stream, Waiting waiting) {
  return with_stream(stream, [&](Context& context, Stream& s) -> cudaError_t {
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
      return cudaErrorInvalidMemcpyDirection;
    void* to = nullptr;
    if (const cudaError_t error = symbol_address(context, symbol, bytes, offset, to);
        error != cudaSuccess)
      return error;
    return copy({to, bytes, bytes}, {from, bytes, bytes}, {bytes}, kind, s, waiting);
  });
}

cudaError_t copy_from_symbol(void* to, const void* symbol, size_t bytes, size_t offset,
                             cudaMemcpyKind kind, cudaStream_t stream, Waiting waiting) {
  return with_stream(stream, [&](Context& context, Stream& s) -> cudaError_t {
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
      return cudaErrorInvalidMemcpyDirection;
    void* from = nullptr;
    if (const cudaError_t error = symbol_address(context, symbol, bytes, offset, from);
        error != cudaSuccess)
      return error;
    return copy({to, bytes, bytes}, {from, bytes, bytes}, {bytes}, kind, s, waiting);
  });
}

constexpr Waiting kSync = Waiting::synchronous, kAsync = Waiting::asynchronous;

}  // namespace

cudaError_t cudaMemcpy(void* to, const void* from, size_t n, cudaMemcpyKind kind) {
  return copy_linear(to, from, n, kind, nullptr, kSync);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind kind,
                            cudaStream_t s) {
  return copy_linear(to, from, n, kind, s, kAsync);
}
TW_CUDA_EXPORT cudaError_t cudaMemcpy_ptds(void* to, const void* from, size_t n,
                                           cudaMemcpyKind kind) {
  return copy_linear(to, from, n, kind, cudaStreamPerThread, kSync);
}
TW_CUDA_EXPORT cudaError_t cudaMemcpyAsync_ptsz(void* to, const void* from, size_t n,
                                                cudaMemcpyKind kind, cudaStream_t s) {
  return copy_linear(to, from, n, kind, per_thread(s), kAsync);
}

cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t n) {
  return copy_linear(to, from, n, cudaMemcpyDefault, nullptr, kSync);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t n, cudaStream_t s) {
  return copy_linear(to, from, n, cudaMemcpyDefault, s, kAsync);
}

cudaError_t cudaMemcpy2D(void* to, size_t tp, const void* from, size_t fp, size_t w, size_t h,
                         cudaMemcpyKind kind) {
  return copy_2d(to, tp, from, fp, w, h, kind, nullptr, kSync);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t tp, const void* from, size_t fp, size_t w, size_t h,
                              cudaMemcpyKind kind, cudaStream_t s) {
  return copy_2d(to, tp, from, fp, w, h, kind, s, kAsync);
}
TW_CUDA_EXPORT cudaError_t cudaMemcpy2D_ptds(void* to, size_t tp, const void* from, size_t fp,
                                             size_t w, size_t h, cudaMemcpyKind kind) {
  return copy_2d(to, tp, from, fp, w, h, kind, cudaStreamPerThread, kSync);
}
TW_CUDA_EXPORT cudaError_t cudaMemcpy2DAsync_ptsz(void* to, size_t tp, const void* from, size_t fp,
                                                  size_t w, size_t h, cudaMemcpyKind kind,
                                                  cudaStream_t s) {
  return copy_2d(to, tp, from, fp, w, h, kind, per_thread(s), kAsync);
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) { return copy_3d(p, nullptr, kSync); }
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t s) {
  return copy_3d(p, s, kAsync);
}
TW_CUDA_EXPORT cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms* p) {
  return copy_3d(p, cudaStreamPerThread, kSync);
}
TW_CUDA_EXPORT cudaError_t cudaMemcpy3DAsync_ptsz(const cudaMemcpy3DParms* p, cudaStream_t s) {
  return copy_3d(p, per_thread(s), kAsync);
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) {
  return copy_3d_peer(p, nullptr, kSync);
}
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t s) {
  return copy_3d_peer(p, s, kAsync);
}
TW_CUDA_EXPORT cudaError_t cudaMemcpy3DPeer_ptds(const cudaMemcpy3DPeerParms* p) {
  return copy_3d_peer(p, cudaStreamPerThread, kSync);
}
TW_CUDA_EXPORT cudaError_t cudaMemcpy3DPeerAsync_ptsz(const cudaMemcpy3DPeerParms* p,
                                                      cudaStream_t s) {
  return copy_3d_peer(p, per_thread(s), kAsync);
}

namespace tw::cudart {

// Copies in no order among themselves, after what the stream holds. The attributes are hints.
cudaError_t copy_batch(void* const* to, const void* const* from, const size_t* bytes, size_t count,
                       const cudaMemcpyAttributes* attributes, const size_t* first,
                       size_t attribute_count, size_t* failed, cudaStream_t stream) {
  if (failed) *failed = SIZE_MAX;
  return with_stream(stream, [&](Context&, Stream& s) -> cudaError_t {
    if (s.legacy || to == nullptr || from == nullptr || bytes == nullptr || count == 0 ||
        attributes == nullptr || first == nullptr || attribute_count == 0 ||
        attribute_count > count || first[0] != 0)
      return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++)
      if (const cudaError_t error = copy({to[i], bytes[i], bytes[i]}, {from[i], bytes[i], bytes[i]},
                                         {bytes[i]}, cudaMemcpyDefault, s, Waiting::asynchronous);
          error != cudaSuccess) {
        if (failed) *failed = i;
        return error;
      }
    return cudaSuccess;
  });
}

}  // namespace tw::cudart

// A memset of the default stream returns before it is done; nobody can tell, for every access is
// ordered after it.
cudaError_t cudaMemset(void* to, int value, size_t n) {
  return fill_linear(to, value, n, nullptr, kSync);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t n, cudaStream_t s) {
  return fill_linear(to, value, n, s, kAsync);
}
TW_CUDA_EXPORT cudaError_t cudaMemset_ptds(void* to, int value, size_t n) {
  return fill_linear(to, value, n, cudaStreamPerThread, kSync);
}
TW_CUDA_EXPORT cudaError_t cudaMemsetAsync_ptsz(void* to, int value, size_t n, cudaStream_t s) {
  return fill_linear(to, value, n, per_thread(s), kAsync);
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t w, size_t h) {
  return fill_2d(to, pitch, value, w, h, nullptr, kSync);
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t w, size_t h,
                              cudaStream_t s) {
  return fill_2d(to, pitch, value, w, h, s, kAsync);
}
TW_CUDA_EXPORT cudaError_t cudaMemset2D_ptds(void* to, size_t pitch, int value, size_t w,
                                             size_t h) {
  return fill_2d(to, pitch, value, w, h, cudaStreamPerThread, kSync);
}
TW_CUDA_EXPORT cudaError_t cudaMemset2DAsync_ptsz(void* to, size_t pitch, int value, size_t w,
                                                  size_t h, cudaStream_t s) {
  return fill_2d(to, pitch, value, w, h, per_thread(s), kAsync);
}
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return fill_3d(to, value, extent, nullptr, kSync);
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t s) {
  return fill_3d(to, value, extent, s, kAsync);
}
TW_CUDA_EXPORT cudaError_t cudaMemset3D_ptds(cudaPitchedPtr to, int value, cudaExtent extent) {
  return fill_3d(to, value, extent, cudaStreamPerThread, kSync);
}
TW_CUDA_EXPORT cudaError_t cudaMemset3DAsync_ptsz(cudaPitchedPtr to, int value, cudaExtent extent,
                                                  cudaStream_t s) {
  return fill_3d(to, value, extent, per_thread(s), kAsync);
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t n, size_t offset,
                               cudaMemcpyKind kind) {
  return copy_to_symbol(symbol, from, n, offset, kind, nullptr, kSync);
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t n, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t s) {
  return copy_to_symbol(symbol, from, n, offset, kind, s, kAsync);
}
TW_CUDA_EXPORT cudaError_t cudaMemcpyToSymbol_ptds(const void* symbol, const void* from, size_t n,
                                                   size_t offset, cudaMemcpyKind kind) {
  return copy_to_symbol(symbol, from, n, offset, kind, cudaStreamPerThread, kSync);
}
TW_CUDA_EXPORT cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* from,
                                                        size_t n, size_t offset,
                                                        cudaMemcpyKind kind, cudaStream_t s) {
  return copy_to_symbol(symbol, from, n, offset, kind, per_thread(s), kAsync);
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t n, size_t offset,
                                 cudaMemcpyKind kind) {
  return copy_from_symbol(to, symbol, n, offset, kind, nullptr, kSync);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t n, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t s) {
  return copy_from_symbol(to, symbol, n, offset, kind, s, kAsync);
}
TW_CUDA_EXPORT cudaError_t cudaMemcpyFromSymbol_ptds(void* to, const void* symbol, size_t n,
                                                     size_t offset, cudaMemcpyKind kind) {
  return copy_from_symbol(to, symbol, n, offset, kind, cudaStreamPerThread, kSync);
}
TW_CUDA_EXPORT cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void* to, const void* symbol, size_t n,
                                                          size_t offset, cudaMemcpyKind kind,
                                                          cudaStream_t s) {
  return copy_from_symbol(to, symbol, n, offset, kind, per_thread(s), kAsync);
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return with_context([&](Context& context) -> cudaError_t {
    if (address == nullptr) return cudaErrorInvalidValue;
    return symbol_address(context, symbol, 0, 0, *address);
  });
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return with_context([&](Context& context) -> cudaError_t {
    const Variable* variable = symbol ? Runtime::get().registry.variable(symbol) : nullptr;
    if (variable == nullptr) return cudaErrorInvalidSymbol;
    if (bytes == nullptr) return cudaErrorInvalidValue;
    tw::emu::Allocation allocation;
    if (const cudaError_t error = context.variable(*variable, allocation); error != cudaSuccess)
      return error;
    *bytes = allocation.bytes;
    return cudaSuccess;
  });
}
