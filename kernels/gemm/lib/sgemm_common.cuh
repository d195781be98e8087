// What the two fp32 kernels share: which part of D a CTA computes, how it is written, the launch.
//
// Tested by tilewright-bench gemm --suite verify.
#pragma once

#include "gemm/lib/output.cuh"
#include "gemm/lib/wgmma_launch.h"

namespace tw::gemm {

struct SgemmGrid {
  int m, n, k, k_per_split, splits, batches, tiles_m, tiles_n, raster_group;
  float alpha, beta;
  const void* c;
  int64_t ld_c, stride_c;
  void* d;
  int64_t ld_d, stride_d;
  Output output;
};

struct TileAt {
  int m, n, batch, split;
};
__device__ __forceinline__ TileAt tile_at(const SgemmGrid& p, int index) {
  const int per_z = p.tiles_m * p.tiles_n;
  const int z = index / per_z, r = index - z * per_z;
  const int group = r / (p.raster_group * p.tiles_n), first = group * p.raster_group;
  const int rows = min(p.raster_group, p.tiles_m - first);
  const int within = r - group * p.raster_group * p.tiles_n;
  return {first + within % rows, within / rows, z / p.splits, z % p.splits};
}

// Writes D from the sums of one CTA's part of it, four neighbouring columns at a time.
struct SgemmStore {
  const SgemmGrid& p;
  int64_t z;   // which matrix of D
  bool whole;  // 16 bytes may be stored at once

  __device__ __forceinline__ SgemmStore(const SgemmGrid& grid, TileAt at) : p(grid) {
    z = static_cast<int64_t>(at.batch) * p.splits + at.split;
    whole = p.output == Output::kF32 && p.beta == 0.0f && (p.ld_d & 3) == 0 &&
            (p.stride_d & 3) == 0 && (reinterpret_cast<uintptr_t>(p.d) & 15) == 0;
  }
  // `row` exists; columns may lie outside.
  __device__ __forceinline__ void four(int row, int column, float4 sum) const {
    const int64_t to = z * p.stride_d + row * p.ld_d + column;
    const float value[4] = {p.alpha * sum.x, p.alpha * sum.y, p.alpha * sum.z, p.alpha * sum.w};
    if (whole && column + 3 < p.n) {
      *reinterpret_cast<float4*>(static_cast<float*>(p.d) + to) =
          make_float4(value[0], value[1], value[2], value[3]);
      return;
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (column + e >= p.n) continue;
      float v = value[e];
      if (p.beta != 0.0f)
        v += p.beta * read_output(p.c, z * p.stride_c + row * p.ld_c + column + e, p.output);
      write_output(p.d, to + e, p.output, v);
    }
  }
};

inline SgemmGrid sgemm_grid(const WgmmaProblem& problem, const WgmmaSchedule& schedule, int bm,
                            int bn) {
  auto div_up = [](int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); };
  SgemmGrid p{};
  p.m = problem.m;
  p.n = problem.n;
  p.k = problem.k;
  p.batches = problem.batches;
  p.k_per_split = div_up(div_up(problem.k, 32), schedule.splits) * 32;
  p.splits = div_up(problem.k, p.k_per_split);
  p.tiles_m = div_up(problem.m, bm);
  p.tiles_n = div_up(problem.n, bn);
  p.raster_group = schedule.raster_group;
  p.alpha = problem.alpha;
  p.beta = problem.beta;
  p.c = problem.c;
  p.ld_c = problem.ld_c;
  p.stride_c = problem.stride_c;
  p.d = problem.d;
  p.ld_d = problem.ld_d;
  p.stride_d = problem.stride_d;
  p.output = problem.output;
  return p;
}

// One CTA a part of D, which may start before the kernel ahead has ended.
struct SgemmLaunch {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attribute{};

  bool configure(const SgemmGrid& p, int threads, int shared_bytes, const WgmmaSchedule& schedule,
                 cudaStream_t stream) {
    const int64_t units = int64_t{p.tiles_m} * p.tiles_n * p.batches * p.splits;
    if (units > (int64_t{1} << 30)) return false;
    config.gridDim = dim3(static_cast<unsigned>(units));
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = schedule.programmatic ? 1 : 0;
    return true;
  }
};

}  // namespace tw::gemm
