// Sums the partial results that the CTAs of a cluster hold in their shared memories, in rank order.
//
// Problem: where tiles are few, the CTAs of a cluster each multiply a part of K; the sum must be the
// same bits every time. Choice: each CTA keeps its part as rows of fp32 in shared memory and sums
// its share of the tile from all ranks through distributed shared memory.
// Tested by tilewright-bench gemm --suite verify.
#pragma once

#include "gemm/lib/wgmma_store.cuh"

namespace tw::gemm {

template <Output kOutput>
__device__ __forceinline__ void store_element(void* d, int64_t at, float v) {
  if constexpr (kOutput == Output::kF32) {
    static_cast<float*>(d)[at] = v;
  } else if constexpr (kOutput == Output::kBf16) {
    static_cast<__nv_bfloat16*>(d)[at] = __float2bfloat16(v);
  } else {
    static_cast<__half*>(d)[at] = __float2half(v);
  }
}

// Four neighbouring elements of D at element `at`, of which `count` exist.
template <Output kOutput>
__device__ __forceinline__ void store_four(void* d, int64_t at, const float (&value)[4],
                                           int count) {
  constexpr int kBytes = kOutput == Output::kF32 ? 4 : 2;
  char* to = static_cast<char*>(d) + at * kBytes;
  if (count < 4 || (reinterpret_cast<uintptr_t>(to) & (4 * kBytes - 1)) != 0) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (e < count) store_element<kOutput>(d, at + e, value[e]);
    }
  } else if constexpr (kOutput == Output::kF32) {
    *reinterpret_cast<float4*>(to) = make_float4(value[0], value[1], value[2], value[3]);
  } else {
    *reinterpret_cast<uint2*>(to) =
        make_uint2(pack16<kOutput>(value[0], value[1]), pack16<kOutput>(value[2], value[3]));
  }
}

// The same, of any type, with beta * C added.
__device__ __forceinline__ void store_four_any(const WgmmaParams& p, int batch, int row, int column,
                                               int count, int64_t at, float (&value)[4]) {
  if (p.beta != 0.0f) {
#pragma unroll 1
    for (int e = 0; e < count; ++e) {
      value[e] += p.beta * load_c(p.c, batch * p.stride_c + row * p.ld_c + column + e, p.output);
    }
  }
  if (p.output == Output::kF32) {
    store_four<Output::kF32>(p.d_data, at, value, count);
  } else if (p.output == Output::kBf16) {
    store_four<Output::kBf16>(p.d_data, at, value, count);
  } else {
    store_four<Output::kF16>(p.d_data, at, value, count);
  }
}

// The part of D that lies as fp32 in the shared memory of each CTA of a cluster, a partial sum in
// each: this CTA's share of it is summed in rank order (deterministic), scaled and stored.
struct ClusterSum {
  uint32_t base;      // in shared memory, the same in all CTAs
  int pitch;          // of a line, bytes
  int rows;           // lines that exist in D
  int row0, column0;  // in D
  int columns;        // of D
};
// kQuads: groups of four columns in a line. kPlain: D is of type kNative and beta is 0. One body for
// all sizes of cluster: it runs once, so that fetching it costs more than the reads that it leaves
// out for small ones.
template <int kQuads, int kThreads, bool kPlain, Output kNative>
__device__ __forceinline__ void sum_cluster(const WgmmaParams& p, const ClusterSum& s, int ranks,
                                            int rank, int batch) {
  const float alpha = scaled_alpha(p);
  const int pieces = s.rows * kQuads;
#pragma unroll 1
  for (int at = rank * kThreads + static_cast<int>(threadIdx.x); at < pieces;
       at += ranks * kThreads) {
    const int row = at / kQuads, quad = at % kQuads;
    const uint32_t address = s.base + row * s.pitch + quad * 16;
    float4 part[kMostRanks];
#pragma unroll
    for (int r = 0; r < kMostRanks;
         ++r) {  // all in flight: what a remote read costs is its latency
      if (r < ranks) part[r] = load_remote_v4(address, r);
    }
    float4 sum = part[0];
#pragma unroll
    for (int r = 1; r < kMostRanks; ++r) {
      if (r >= ranks) break;
      sum.x += part[r].x;
      sum.y += part[r].y;
      sum.z += part[r].z;
      sum.w += part[r].w;
    }
    const int column = s.column0 + quad * 4, count = min(s.columns - column, 4);
    if (count <= 0) continue;
    float value[4] = {alpha * sum.x, alpha * sum.y, alpha * sum.z, alpha * sum.w};
    const int64_t to = batch * p.stride_d + static_cast<int64_t>(s.row0 + row) * p.ld_d + column;
    if constexpr (kPlain) {
      store_four<kNative>(p.d_data, to, value, count);
    } else {
      store_four_any(p, batch, s.row0 + row, column, count, to, value);
    }
  }
}

}  // namespace tw::gemm
