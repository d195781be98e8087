// Rows of a column of D beyond whole tiles, multiplied by the warps that have repacked the operands.
//
// Problem: the row and the column that 4097 cubed has beyond 4096 are multiplied by launches of their
// own, on SMs that the last wave leaves idle; but those take longer to read both operands again than
// that wave lasts. Choice: the warps that move lines are done halfway through the product, in every
// CTA. They multiply those rows of A that they have moved last, which lie in L2, by the column, in
// fp32: eight K-major rows a warp and task, or a range of K of 256 MN-major rows, whose partial sums
// are added by whoever brings the last one, in the order of K. Who takes which task changes nothing in
// any sum: the results are the same in every run.
//
// Limits: 16-bit operands. Tested by tilewright-bench gemm --suite verify.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "common/hopper.cuh"
#include "gemm/lib/output.cuh"
#include "gemm/lib/repack_order.h"
#include "gemm/lib/wgmma_store.cuh"

namespace tw::gemm {

template <class T> __device__ __forceinline__ float2 unpack16(uint32_t pair) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half22float2(reinterpret_cast<const __half2&>(pair));
  } else {
    return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
  }
}

// D[m][n] from the sum of its products.
__device__ __forceinline__ void write_edge(const WgmmaParams& p, int64_t m, int64_t n, float sum) {
  float v = scaled_alpha(p) * sum;
  if (p.beta != 0.0f) v += p.beta * read_output(p.c, m * p.ld_c + n, p.output);
  write_output(p.d_data, m * p.ld_d + n, p.output, v);
}

__device__ __forceinline__ float sum_of_warp(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}

template <class T> class EdgeMultiplier {
 public:
  __device__ __forceinline__ EdgeMultiplier(const WgmmaParams& p, int lane) : p_(p), lane_(lane) {}

  __device__ __forceinline__ void run(int task) {
    if (p_.repack.edge.mn_major) {
      stripe(task);
    } else {
      lines(p_.repack.edge.first + task * kEdgeLines);
    }
  }

 private:
  static constexpr int kChunk = 8;  // elements of 16 bytes

  static __device__ __forceinline__ void multiply(const uint4& x, const uint4& y, float& sum) {
    const uint32_t a[4] = {x.x, x.y, x.z, x.w}, b[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 u = unpack16<T>(a[i]), v = unpack16<T>(b[i]);
      sum = fmaf(u.x, v.x, sum);
      sum = fmaf(u.y, v.y, sum);
    }
  }
  static __device__ __forceinline__ float element(const char* line, int k) {
    return static_cast<float>(reinterpret_cast<const T*>(line)[k]);
  }

  // Eight K-major rows from `first` on.
  __device__ __forceinline__ void lines(int first) {
    const EdgeColumn& x = p_.repack.edge;
    const char* line = x.matrix + first * x.pitch;
    const char* vector = p_.repack.column;
    const int chunks = p_.k / kChunk;
    float sum[kEdgeLines] = {};
    const char* at = line + lane_ * 16;
#pragma unroll 1
    for (int c = lane_; c < chunks; c += 32, at += 512) {
      uint4 own[kEdgeLines];
#pragma unroll
      for (int l = 0; l < kEdgeLines; ++l)
        own[l] = *reinterpret_cast<const uint4*>(at + l * x.pitch);
      const uint4 v = *reinterpret_cast<const uint4*>(vector + c * 16);
#pragma unroll
      for (int l = 0; l < kEdgeLines; ++l) multiply(own[l], v, sum[l]);
    }
    const int rest = chunks * kChunk + lane_;
    if (rest < p_.k) {
#pragma unroll
      for (int l = 0; l < kEdgeLines; ++l)
        sum[l] = fmaf(element(line + l * x.pitch, rest), element(vector, rest), sum[l]);
    }
    float mine = 0;
#pragma unroll
    for (int l = 0; l < kEdgeLines; ++l) {
      const float all = sum_of_warp(sum[l]);
      if (lane_ == l) mine = all;
    }
    if (lane_ < kEdgeLines) write_edge(p_, first + lane_, p_.n, mine);
  }

  // Eight MN-major rows a lane, over a range of K.
  __device__ __forceinline__ void stripe(int task) {
    const EdgeColumn& x = p_.repack.edge;
    const char* vector = p_.repack.column;
    const int count = x.end - x.first, stripes = (count + kEdgeStripe - 1) / kEdgeStripe;
    const int range = task / stripes, which = task - range * stripes;
    const int first = which * kEdgeStripe + lane_ * kChunk;
    const bool in = first < count;
    const int from = range * x.k_range;
    const int to = range + 1 == x.k_ranges ? p_.k : from + x.k_range;
    const char* at = x.matrix + from * x.pitch + (x.first + (in ? first : 0)) * 2;
    float sum[kChunk] = {};
    auto add = [&](const uint4& line, float v) {
      const uint32_t word[4] = {line.x, line.y, line.z, line.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 u = unpack16<T>(word[i]);
        sum[2 * i] = fmaf(u.x, v, sum[2 * i]);
        sum[2 * i + 1] = fmaf(u.y, v, sum[2 * i + 1]);
      }
    };
    int k = from;
#pragma unroll 1
    for (; k + kChunk <= to; k += kChunk) {
      uint4 line[kChunk];
#pragma unroll
      for (int i = 0; i < kChunk; ++i, at += x.pitch) line[i] = *reinterpret_cast<const uint4*>(at);
      const uint4 v = *reinterpret_cast<const uint4*>(vector + k * 2);
      const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 two = unpack16<T>(word[i]);
        add(line[2 * i], two.x);
        add(line[2 * i + 1], two.y);
      }
    }
#pragma unroll 1
    for (; k < to; ++k, at += x.pitch) add(*reinterpret_cast<const uint4*>(at), element(vector, k));
    auto place = [&](int r) {
      return reinterpret_cast<float4*>(x.partial + static_cast<int64_t>(r) * count + first);
    };
    if (in) {
      place(range)[0] = make_float4(sum[0], sum[1], sum[2], sum[3]);
      place(range)[1] = make_float4(sum[4], sum[5], sum[6], sum[7]);
    }
    __syncwarp();
    int before = 0;
    if (lane_ == 0) {
      gpu::fence_gpu();
      before = atomicAdd(x.arrived + which, 1);
      gpu::fence_gpu();
    }
    before = __shfl_sync(0xffffffffu, before, 0);
    __syncwarp();
    if (before + 1 < x.k_ranges || !in) return;
#pragma unroll
    for (float& s : sum) s = 0;
#pragma unroll 2
    for (int r = 0; r < x.k_ranges; ++r) {
      const float4 low = place(r)[0], high = place(r)[1];
      sum[0] += low.x;
      sum[1] += low.y;
      sum[2] += low.z;
      sum[3] += low.w;
      sum[4] += high.x;
      sum[5] += high.y;
      sum[6] += high.z;
      sum[7] += high.w;
    }
#pragma unroll
    for (int i = 0; i < kChunk; ++i) write_edge(p_, x.first + first + i, p_.n, sum[i]);
  }

  const WgmmaParams& p_;
  int lane_;
};

// Once all is moved.
template <class T> __device__ __forceinline__ void multiply_edge(const WgmmaParams& p) {
  const EdgeColumn& e = p.repack.edge;
  if (e.tasks == 0) return;
  const int lane = threadIdx.x & 31;
  while (gpu::load_acquire(p.repack.done) < p.repack.parts) {
  }
  EdgeMultiplier<T> multiplier(p, lane);
  auto take = [&] { return lane == 0 ? atomicAdd(e.next, 1) : 0; };
  int task = __shfl_sync(0xffffffffu, take(), 0);
#pragma unroll 1
  while (task < e.tasks) {
    const int following = take();
    multiplier.run(task);
    task = __shfl_sync(0xffffffffu, following, 0);
  }
}

}  // namespace tw::gemm
