// GEMM step 10: no bank conflict, by a swizzle.
//
// Change:  instead of padding, lines 4 to 7 of the transposed tile of A swap their halves of 16
//          floats: row r lies at r XOR 16.
// Why:     padding costs memory and breaks the power of two that later steps rely on; an exclusive
//          or moves every element within its line, a bijection that needs one instruction, and the
//          two k that a warp stores at once fall into different halves of the banks.
// Expect:  m=256 n=256 k=256
//   ffma                     16777216
//   requests_ld              4096
//   sectors_ld               65536
//   sectors_per_request_ld   16
//   requests_st              512
//   sectors_st               8192
//   sectors_per_request_st   16
// Limits:  every phase still waits for its own loads: load, barrier, multiply, barrier. The shared-
//          memory counts are left out until they are read from the machine code.
// Next:    11_double_buffered loads the next tiles while it multiplies these.
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

__global__ void gemm_swizzled(const float* __restrict__ a, const float* __restrict__ b,
                              float* __restrict__ c, int m, int n, int k) {
  __shared__ alignas(16) float a_tile[kDepth][kTile];  // transposed: k, then row
  __shared__ alignas(16) float b_tile[kDepth][kTile];
  const int thread = threadIdx.x;
  const int tx = thread % kSide, ty = thread / kSide;
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  const bool a_aligned = k % 4 == 0, b_aligned = n % 4 == 0;
  float sum[kSums][kSums] = {};
  for (int k0 = 0; k0 < k; k0 += kDepth) {
#pragma unroll
    for (int i = 0; i < kTile * kDepth / 4 / kThreads; ++i) {
      const int at = (thread + i * kThreads) * 4;
      const int a_row = at / kDepth, a_col = at % kDepth;
      const int b_row = at / kTile, b_col = at % kTile;
      const float4 va = load_four(a, row0 + a_row, k0 + a_col, m, k, a_aligned);
      a_tile[a_col + 0][swizzled(a_col, a_row)] = va.x;
      a_tile[a_col + 1][swizzled(a_col, a_row)] = va.y;
      a_tile[a_col + 2][swizzled(a_col, a_row)] = va.z;
      a_tile[a_col + 3][swizzled(a_col, a_row)] = va.w;
      *reinterpret_cast<float4*>(&b_tile[b_row][b_col]) =
          load_four(b, k0 + b_row, col0 + b_col, k, n, b_aligned);
    }
    __syncthreads();  // the tiles are complete before anyone reads them
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      // Rows and columns 4 * ty + {0..3} and 32 + 4 * ty + {0..3}: two vectors each.
      const float4 al = *reinterpret_cast<const float4*>(&a_tile[i][swizzled(i, 4 * ty)]);
      const float4 ah =
          *reinterpret_cast<const float4*>(&a_tile[i][swizzled(i, kTile / 2 + 4 * ty)]);
      const float4 bl = *reinterpret_cast<const float4*>(&b_tile[i][4 * tx]);
      const float4 bh = *reinterpret_cast<const float4*>(&b_tile[i][kTile / 2 + 4 * tx]);
      const float a_value[kSums] = {al.x, al.y, al.z, al.w, ah.x, ah.y, ah.z, ah.w};
      const float b_value[kSums] = {bl.x, bl.y, bl.z, bl.w, bh.x, bh.y, bh.z, bh.w};
#pragma unroll
      for (int r = 0; r < kSums; ++r) {
#pragma unroll
        for (int s = 0; s < kSums; ++s) sum[r][s] += a_value[r] * b_value[s];
      }
    }
    __syncthreads();  // everyone has read them before the next phase overwrites them
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
  gemm_swizzled<<<grid, kThreads>>>(a, b, c, shape.m, shape.n, shape.k);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  return tw::ladder::run_gemm_step(options, {"gemm/10_swizzled", launch});
}
