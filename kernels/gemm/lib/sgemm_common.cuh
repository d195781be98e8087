// What the two fp32 kernels share: which part of D a CTA computes, how it is summed over a cluster
// and written, the launch.
//
// Tested by tilewright-bench gemm --suite verify.
#pragma once

#include "common/hopper.cuh"
#include "gemm/lib/output.cuh"
#include "gemm/lib/wgmma_launch.h"

namespace tw::gemm {

struct SgemmGrid {
  int m, n, k, k_per_split, splits, batches, tiles_m, tiles_n, raster_group;
  int k_cluster;  // > 1: the CTAs of a cluster share K of one tile (splits is 1)
  float alpha, beta;
  float one = 1;  // not known to the compiler
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
  // Sums are multiplied before they are stored in any way (by alpha, partial sums by one): those
  // that went to memory as they are, four at once, would lie in registers as they do there from the
  // start, on the banks of the B that they are multiplied with, for which a tenth of the
  // multiplications would wait.
  __device__ __forceinline__ static float4 times(float factor, const float* sum) {
    return {factor * sum[0], factor * sum[1], factor * sum[2], factor * sum[3]};
  }
  // One sum, scaled by alpha; `row` and `column` exist.
  __device__ __forceinline__ void one(int row, int column, float v) const {
    if (p.beta != 0.0f)
      v += p.beta * read_output(p.c, z * p.stride_c + row * p.ld_c + column, p.output);
    write_output(p.d, z * p.stride_d + row * p.ld_d + column, p.output, v);
  }
  // Four, scaled; `row` exists; columns may lie outside.
  __device__ __forceinline__ void four(int row, int column, float4 v) const {
    if (whole && column + 3 < p.n) {
      const int64_t to = z * p.stride_d + row * p.ld_d + column;
      *reinterpret_cast<float4*>(static_cast<float*>(p.d) + to) = v;
      return;
    }
    const float value[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (column + e < p.n) one(row, column + e, value[e]);
    }
  }
};

__device__ __forceinline__ void store_quad(uint32_t address, float4 v) {
  gpu::store_shared_v4(address, __float_as_uint(v.x), __float_as_uint(v.y), __float_as_uint(v.z),
                       __float_as_uint(v.w));
}

// A thread's TM x TN sums: rows in fours, 32 apart, columns in fours, 16 apart; row and column of
// the first in D.
template <int TM, int TN>
__device__ __forceinline__ void store_sums(const SgemmStore& store, const float (&sum)[TM][TN],
                                           int row0, int column0) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = row0 + (i / 4) * 32 + i % 4;
    if (row >= store.p.m) continue;
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      store.four(row, column0 + 4 * j, store.times(store.p.alpha, &sum[i][j]));
    }
  }
}

// The same where 16 bytes cannot be stored at once: a store of single elements of `sum` touches
// eight rows (4095 cubed: 95 us of 2710), so the 64 x 64 sums of a warp go through shared memory
// (from `base` on, kWarpBytes) and leave as rows. (row0, column0): the warp's first in D; lane_row,
// lane_column: the thread's first among them.
constexpr int kWarpPitch = 64 * 4 + 16, kWarpBytes = 64 * kWarpPitch;
template <int TM, int TN>
__device__ __forceinline__ void store_sums_by_rows(const SgemmStore& store,
                                                   const float (&sum)[TM][TN], uint32_t base,
                                                   int row0, int column0, int lane_row,
                                                   int lane_column) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const uint32_t line = base + (lane_row + (i / 4) * 32 + i % 4) * kWarpPitch + lane_column * 4;
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      store_quad(line + 16 * j, store.times(store.p.alpha, &sum[i][j]));
    }
  }
  __syncwarp();
  const int lane = static_cast<int>(threadIdx.x) & 31, rows = min(64, store.p.m - row0);
#pragma unroll 4
  for (int r = 0; r < rows; ++r) {
#pragma unroll
    for (int half = 0; half < 64; half += 32) {
      const uint32_t word = gpu::load_shared(base + r * kWarpPitch + (half + lane) * 4);
      if (column0 + half + lane < store.p.n)
        store.one(row0 + r, column0 + half + lane, __uint_as_float(word));
    }
  }
}

// Partial sums in shared memory: the pitch of their lines, 16 bytes off a multiple of the banks.
__host__ __device__ constexpr int partial_pitch(int bn) { return bn * 4 + 16; }
__host__ __device__ constexpr int partial_bytes(int bm, int bn) { return bm * partial_pitch(bn); }

// The same where groups of warps, and the CTAs of a cluster, hold partial sums of one tile: each
// keeps its own in shared memory (partial_bytes a group from `base` on, which nothing reads any
// more), and each CTA sums its share of the tile from all of them in a fixed order, and stores it.
// The first kThreads of every CTA of the cluster call this, others have ended; row0 and column0 lie
// within the tile.
template <int BM, int BN, int kThreads, int kGroups, int TM, int TN>
__device__ __forceinline__ void store_shared_sums(const SgemmStore& store,
                                                  const float (&sum)[TM][TN], int row0, int column0,
                                                  uint32_t base, TileAt at, int rank, int group) {
  constexpr int kPitch = partial_pitch(BN), kQuads = BN / 4;
  const int ranks = store.p.k_cluster;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const uint32_t line =
        base + group * partial_bytes(BM, BN) + (row0 + (i / 4) * 32 + i % 4) * kPitch + column0 * 4;
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      store_quad(line + 16 * j, store.times(store.p.one, &sum[i][j]));
    }
  }
  if (ranks > 1) {
    gpu::cluster_sync();
  } else {
    gpu::named_barrier(8, kThreads);
  }
  const int rows = min(BM, store.p.m - at.m * BM);
#pragma unroll 1
  for (int piece = rank * kThreads + static_cast<int>(threadIdx.x); piece < rows * kQuads;
       piece += ranks * kThreads) {
    const int row = piece / kQuads, quad = piece % kQuads;
    float4 total = {};
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const uint32_t address = base + g * partial_bytes(BM, BN) + row * kPitch + quad * 16;
      float4 part[kMostRanks];
#pragma unroll
      for (int r = 0; r < kMostRanks; ++r) {  // all in flight
        if (r < ranks)
          part[r] = ranks > 1 ? gpu::load_remote_v4(address, r) : gpu::load_shared_f4(address);
      }
#pragma unroll
      for (int r = 0; r < kMostRanks; ++r) {
        if (r >= ranks) break;
        total.x += part[r].x;
        total.y += part[r].y;
        total.z += part[r].z;
        total.w += part[r].w;
      }
    }
    const float alpha = store.p.alpha;
    store.four(at.m * BM + row, at.n * BN + quad * 4,
               {alpha * total.x, alpha * total.y, alpha * total.z, alpha * total.w});
  }
  if (ranks > 1) gpu::cluster_sync_relaxed();  // no CTA leaves while its peers may read from it
}

// `groups`: of a CTA's warps that share K of its tile.
inline SgemmGrid sgemm_grid(const WgmmaProblem& problem, const WgmmaSchedule& schedule, int bm,
                            int bn, int groups = 1) {
  auto div_up = [](int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); };
  SgemmGrid p{};
  p.m = problem.m;
  p.n = problem.n;
  p.k = problem.k;
  p.batches = problem.batches;
  p.k_cluster = schedule.k_cluster;
  p.k_per_split = div_up(div_up(problem.k, 32), schedule.splits * schedule.k_cluster * groups) * 32;
  p.splits = schedule.k_cluster > 1 ? 1 : div_up(problem.k, p.k_per_split * groups);
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

// One CTA a part of D, or of its sums, which may start before the kernel ahead has ended.
struct SgemmLaunch {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attributes[2]{};

  bool configure(const SgemmGrid& p, int threads, int shared_bytes, const WgmmaSchedule& schedule,
                 cudaStream_t stream) {
    const int64_t units = int64_t{p.tiles_m} * p.tiles_n * p.batches * p.splits * p.k_cluster;
    if (units > (int64_t{1} << 30)) return false;
    config.gridDim = dim3(static_cast<unsigned>(units));
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = attributes;
    if (p.k_cluster > 1) {
      attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
      attributes[config.numAttrs].val.clusterDim.x = static_cast<unsigned>(p.k_cluster);
      attributes[config.numAttrs].val.clusterDim.y = 1;
      attributes[config.numAttrs++].val.clusterDim.z = 1;
    }
    if (schedule.programmatic) {
      attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    return true;
  }
};

}  // namespace tw::gemm
