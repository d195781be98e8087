// GEMM step 11: two buffers.
//
// Change:  two tiles of each operand in shared memory: the loads of the next phase are issued
//          before the multiplications of this one and stored behind them; one barrier a phase
//          instead of two.
// Why:     in step 10 a warp that has issued its loads waits for all of them, some 600 clocks from
//          L2, before it multiplies for 256: most issue slots stay empty. Here the loads have the
//          whole phase to arrive.
// Expect:  m=256 n=256 k=256
//   ffma                     16777216
//   requests_ld              4096
//   sectors_ld               65536
//   sectors_per_request_ld   16
//   requests_st              512
//   sectors_st               8192
//   sectors_per_request_st   16
// Limits:  the next tiles wait in registers, 16 a thread, and only one phase is in flight; a load
//          still costs an instruction in every thread and a second one to store what it brought.
// Next:    12_cp_async lets the copies go to shared memory by themselves, several phases ahead.
#include "../common/gemm_access.cuh"
#include "../common/gemm_program.h"

using tw::ladder::ceil_div;
using tw::ladder::GemmShape;
using tw::ladder::load_four;
using tw::ladder::store_four;

constexpr int kTile = 64;  // rows and columns of C a CTA computes
constexpr int kDepth = 8;  // k of a phase
constexpr int kSums = 8;   // rows, and columns, of C a thread computes
constexpr int kSide = kTile / kSums;
constexpr int kThreads = kSide * kSide;

// Where row `row` lies in line `k` of the tile of A: groups of four rows stay together.
__device__ inline int swizzled(int k, int row) { return row ^ ((k & 4) << 2); }

__global__ void gemm_double_buffered(const float* __restrict__ a, const float* __restrict__ b,
                                     float* __restrict__ c, int m, int n, int k) {
  __shared__ alignas(16) float a_tile[2][kDepth][kTile];  // transposed: k, then row
  __shared__ alignas(16) float b_tile[2][kDepth][kTile];
  const int thread = threadIdx.x;
  const int tx = thread % kSide, ty = thread / kSide;
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  const bool a_aligned = k % 4 == 0, b_aligned = n % 4 == 0;
  constexpr int kVectors = kTile * kDepth / 4 / kThreads;  // of each operand, a thread and phase
  float4 a_next[kVectors], b_next[kVectors];
  auto load = [&](int k0) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int at = (thread + i * kThreads) * 4;
      a_next[i] = load_four(a, row0 + at / kDepth, k0 + at % kDepth, m, k, a_aligned);
      b_next[i] = load_four(b, k0 + at / kTile, col0 + at % kTile, k, n, b_aligned);
    }
  };
  auto store = [&](int buffer) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int at = (thread + i * kThreads) * 4;
      const int a_col = at % kDepth, place = swizzled(a_col, at / kDepth);
      a_tile[buffer][a_col + 0][place] = a_next[i].x;
      a_tile[buffer][a_col + 1][place] = a_next[i].y;
      a_tile[buffer][a_col + 2][place] = a_next[i].z;
      a_tile[buffer][a_col + 3][place] = a_next[i].w;
      *reinterpret_cast<float4*>(&b_tile[buffer][at / kTile][at % kTile]) = b_next[i];
    }
  };
  float sum[kSums][kSums] = {};
  if (k > 0) {
    load(0);
    store(0);
  }
  __syncthreads();  // the first tiles are complete
  for (int k0 = 0, now = 0; k0 < k; k0 += kDepth, now ^= 1) {
    const bool more = k0 + kDepth < k;
    if (more) load(k0 + kDepth);  // in flight during the multiplications below
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      const float4 al = *reinterpret_cast<const float4*>(&a_tile[now][i][swizzled(i, 4 * ty)]);
      const float4 ah =
          *reinterpret_cast<const float4*>(&a_tile[now][i][swizzled(i, kTile / 2 + 4 * ty)]);
      const float4 bl = *reinterpret_cast<const float4*>(&b_tile[now][i][4 * tx]);
      const float4 bh = *reinterpret_cast<const float4*>(&b_tile[now][i][kTile / 2 + 4 * tx]);
      const float a_value[kSums] = {al.x, al.y, al.z, al.w, ah.x, ah.y, ah.z, ah.w};
      const float b_value[kSums] = {bl.x, bl.y, bl.z, bl.w, bh.x, bh.y, bh.z, bh.w};
#pragma unroll
      for (int r = 0; r < kSums; ++r) {
#pragma unroll
        for (int s = 0; s < kSums; ++s) sum[r][s] += a_value[r] * b_value[s];
      }
    }
    // The other buffer was read in the phase before; the barrier that ended it lies behind us.
    if (more) store(now ^ 1);
    __syncthreads();  // the next tiles are complete, and these have been read
  }
#pragma unroll
  for (int r = 0; r < kSums; ++r) {
    const int row = row0 + r / 4 * (kTile / 2) + 4 * ty + r % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float* s = &sum[r][4 * half];
      store_four(c, row, col0 + half * (kTile / 2) + 4 * tx, m, n, b_aligned,
                 make_float4(s[0], s[1], s[2], s[3]));
    }
  }
}

void launch(const float* a, const float* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const dim3 grid(ceil_div(shape.n, kTile), ceil_div(shape.m, kTile));
  gemm_double_buffered<<<grid, kThreads>>>(a, b, c, shape.m, shape.n, shape.k);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  return tw::ladder::run_gemm_step(options, {"gemm/11_double_buffered", launch});
}
