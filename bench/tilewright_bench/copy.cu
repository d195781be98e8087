// See copy.h.
#include "copy.h"
#include "frame.h"

namespace tilewright::bench {
namespace {

constexpr int kThreads = 512;
constexpr int kVectors = 4;  // in flight per thread

__global__ void __launch_bounds__(kThreads)
    copy_vectors(uint4* __restrict__ out, const uint4* __restrict__ in, size_t count) {
  size_t i = size_t(blockIdx.x) * (kThreads * kVectors) + threadIdx.x;
  uint4 v[kVectors];
#pragma unroll
  for (int k = 0; k < kVectors; ++k)
    if (i + k * kThreads < count) v[k] = __ldcs(in + i + k * kThreads);
#pragma unroll
  for (int k = 0; k < kVectors; ++k)
    if (i + k * kThreads < count) __stcs(out + i + k * kThreads, v[k]);
}

}  // namespace

void copy_kernel(void* out, const void* in, size_t bytes, cudaStream_t stream) {
  size_t count = bytes / 16, per_block = size_t(kThreads) * kVectors;
  if (count)
    copy_vectors<<<unsigned((count + per_block - 1) / per_block), kThreads, 0, stream>>>(
        static_cast<uint4*>(out), static_cast<const uint4*>(in), count);
  if (bytes % 16)
    TW_CUDA(cudaMemcpyAsync(static_cast<char*>(out) + count * 16,
                            static_cast<const char*>(in) + count * 16, bytes % 16,
                            cudaMemcpyDeviceToDevice, stream));
}

}  // namespace tilewright::bench
