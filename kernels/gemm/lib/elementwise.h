// The memory-bound parts of a GEMM call: repack, reduction of splits, beta * C.
//
// Tested by tilewright-bench gemm --suite verify.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gemm/lib/wgmma_launch.h"

namespace tw::gemm {

// `count` lines of `length` elements per batch, copied to lines of another pitch. The destination's
// address, pitch and batch stride suit TMA; the source may have any (element-aligned) address and
// pitch.
struct RepackJob {
  const void* source;
  void* destination;
  int64_t length, count, source_pitch, destination_pitch, source_stride, destination_stride;
};
// Up to two jobs in one launch (A and B). `jobs`: 1 or 2.
cudaError_t launch_repack(const RepackJob* job, int jobs, int batches, int element_size,
                          int sm_count, cudaStream_t stream);

// The first parts of an order that is finished while the product runs (repack_order.h), and its
// counters.
cudaError_t launch_repack_ahead(const RepackOrder& order, int sm_count, cudaStream_t stream);

// D = alpha * (sum over splits of partial) + beta * C. Partial results: fp32, m x n without
// padding, split after split, batch after batch. The sum runs in split order: deterministic.
struct ReduceJob {
  const float* partial;
  int splits;
  int64_t m, n;
  int batches;
  float alpha, beta;
  const float *scale_a, *scale_b;
  const void* c;
  int64_t ld_c, stride_c;
  void* d;
  int64_t ld_d, stride_d;
  Output output;
};
// splits 0: D = beta * C
cudaError_t launch_reduce(const ReduceJob& job, int sm_count, cudaStream_t stream);

}  // namespace tw::gemm
