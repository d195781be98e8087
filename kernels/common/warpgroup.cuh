// What the ladder's WGMMA steps share: multiplying one stage, and storing a warpgroup's part of C.
//
// A stage holds K-major A, rows of 64 k in 128 swizzled bytes, and MN-major B, panels of 64
// columns: a line of 128 swizzled bytes for each of 64 k. Tested by the ladder steps that use it
// (gemm/15 and on).
#pragma once

#include <cuda_bf16.h>

#include "hopper.cuh"
#include "wgmma.cuh"

namespace tw::ladder {

constexpr int kStageDepth = 64;        // k of a stage: 128 bytes of bf16
constexpr int kPanelBytes = 64 * 128;  // 64 columns of B, or 64 rows of A

// d += A * B for 64 rows of A, kColumns of B and the 64 k of a stage; commits a group. `first`: d
// is overwritten.
template <int kColumns>
__device__ __forceinline__ void multiply_stage(float (&d)[kColumns / 2], uint32_t a_rows,
                                               uint32_t b_panels, bool first) {
  const uint64_t a = gpu::k_major_descriptor(a_rows);
  const uint64_t b = gpu::mn_major_descriptor(b_panels, kPanelBytes);
  gpu::wgmma_fence();
#pragma unroll
  for (int step = 0; step < 4; ++step) {  // 16 k each: 32 bytes of a row of A, 16 lines of B
    gpu::wgmma<__nv_bfloat16, __nv_bfloat16, kColumns, 0, 1>(d, a + step * 2, b + step * 128,
                                                             step > 0 || !first);
  }
  gpu::wgmma_commit();
}

// Fragment layout: wgmma.cuh. Pairs of neighbours go as one word of 8 bytes where the pitch allows.
template <int kColumns>
__device__ __forceinline__ void store_warpgroup(const float (&d)[kColumns / 2], float* c, int row0,
                                                int col0, int m, int n) {
  const int warp = (threadIdx.x & 127) >> 5, lane = threadIdx.x & 31;
  const bool pairs = n % 2 == 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = row0 + warp * 16 + half * 8 + (lane >> 2);
    if (row >= m) continue;
    float* line = c + size_t(row) * n;
#pragma unroll
    for (int q = 0; q < kColumns / 8; ++q) {
      const int column = col0 + q * 8 + (lane & 3) * 2;
      const float low = d[4 * q + 2 * half], high = d[4 * q + 2 * half + 1];
      if (pairs && column < n) {
        *reinterpret_cast<float2*>(line + column) = make_float2(low, high);
      } else {
        if (column < n) line[column] = low;
        if (column + 1 < n) line[column + 1] = high;
      }
    }
  }
}

// No read of the accumulators moves above this point (the wait before it does not name them).
template <int kCount> __device__ __forceinline__ void keep_below(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

}  // namespace tw::ladder
