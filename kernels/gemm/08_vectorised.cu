// GEMM step 08: four elements an instruction, to and from memory.
//
// Change:  global loads and stores move 16 bytes where four neighbours lie in one row and the row's
//          pitch keeps them aligned (else one element at a time); A is transposed on its way into
//          shared memory, so that the eight A of a k, like the eight B, are two 16-byte loads.
// Why:     step 07 issues one load for each element that it moves: requests_ld falls to a quarter
//          and so do the shared loads of the inner loop, while the sectors stay.
// Expect:  m=256 n=256 k=256
//   ffma                     16777216
//   requests_ld              4096
//   sectors_ld               65536
//   sectors_per_request_ld   16
//   requests_st              512
//   sectors_st               8192
//   sectors_per_request_st   16
// Limits:  a ragged pitch falls back to single elements: half the point of the later steps. The
//          transposed stores of A meet in one bank (the next step pads them). The shared-memory
//          counts are left out until they are read from the machine code.
// Next:    09_conflict_free pads the transposed tile of A.
#include "../common/gemm_program.h"

using tw::ladder::ceil_div;
using tw::ladder::GemmShape;

constexpr int kTile = 64;  // rows and columns of C a CTA computes
constexpr int kDepth = 8;  // k of a phase
constexpr int kSums = 8;   // rows, and columns, of C a thread computes
constexpr int kSide = kTile / kSums;
constexpr int kThreads = kSide * kSide;

// Four elements of a row from `column` on; zeros outside. `aligned`: the pitch is a multiple of 4.
__device__ float4 load_four(const float* matrix, int row, int column, int rows, int columns,
                            bool aligned) {
  const float* from = matrix + size_t(row) * columns + column;
  if (row < rows && aligned && column < columns) return *reinterpret_cast<const float4*>(from);
  float4 v{};
  if (row >= rows) return v;
  if (column + 0 < columns) v.x = from[0];
  if (column + 1 < columns) v.y = from[1];
  if (column + 2 < columns) v.z = from[2];
  if (column + 3 < columns) v.w = from[3];
  return v;
}

__device__ void store_four(float* matrix, int row, int column, int rows, int columns, bool aligned,
                           float4 v) {
  if (row >= rows) return;
  float* to = matrix + size_t(row) * columns + column;
  if (aligned && column < columns) {
    *reinterpret_cast<float4*>(to) = v;
    return;
  }
  if (column + 0 < columns) to[0] = v.x;
  if (column + 1 < columns) to[1] = v.y;
  if (column + 2 < columns) to[2] = v.z;
  if (column + 3 < columns) to[3] = v.w;
}

__global__ void gemm_vectorised(const float* __restrict__ a, const float* __restrict__ b,
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
      a_tile[a_col + 0][a_row] = va.x;
      a_tile[a_col + 1][a_row] = va.y;
      a_tile[a_col + 2][a_row] = va.z;
      a_tile[a_col + 3][a_row] = va.w;
      *reinterpret_cast<float4*>(&b_tile[b_row][b_col]) =
          load_four(b, k0 + b_row, col0 + b_col, k, n, b_aligned);
    }
    __syncthreads();  // the tiles are complete before anyone reads them
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      // Rows and columns 4 * ty + {0..3} and 32 + 4 * ty + {0..3}: two vectors each.
      const float4 al = *reinterpret_cast<const float4*>(&a_tile[i][4 * ty]);
      const float4 ah = *reinterpret_cast<const float4*>(&a_tile[i][kTile / 2 + 4 * ty]);
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
  gemm_vectorised<<<grid, kThreads>>>(a, b, c, shape.m, shape.n, shape.k);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  return tw::ladder::run_gemm_step(options, {"gemm/08_vectorised", launch});
}
