// What the host hands to the WGMMA kernel: tensor maps, raster, scalars. Passed by value as a
// __grid_constant__ parameter, so that a call allocates nothing and can be captured in a graph.
//
// Tested by tilewright-bench gemm --suite verify.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace tw::gemm {

enum class Output : int { kF32 = 0, kBf16 = 1, kF16 = 2 };

struct WgmmaParams {
  CUtensorMap a, b, d;
  int m, n;
  int k_blocks;            // ceil(k / elements in 128 bytes)
  int k_blocks_per_split;  // every split but the last has this many
  int splits;  // 1: no split; else k_cluster, or D holds `splits` partial results per batch
  int batches;
  int units_m, tiles_n;  // tiles along M in clusters, tiles along N
  int raster_group;      // tiles along M (in clusters) walked before the next tile along N
  int cluster;           // CTAs along M that share B: 1 or 2
  int k_cluster;  // > 1: this many CTAs of a cluster each take a split of one tile (cluster is 1)
  float alpha, beta;
  const float* scale_a;  // fp8: device scalars, or null
  const float* scale_b;
  const void* c;           // read only if beta != 0; of the output's type
  int64_t ld_c, stride_c;  // elements
  void* d_data;
  bool d_by_tma;  // false: D's width, pitch or address does not suit TMA
  int64_t ld_d, stride_d;
  Output output;
  bool transposed;  // narrow_kernel.cuh only: D is n x m, the narrow side first
};

}  // namespace tw::gemm
