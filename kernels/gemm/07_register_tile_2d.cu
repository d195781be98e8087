// GEMM step 07: each thread computes eight rows by eight columns.
//
// Change:  the same 64 x 64 tile by 64 threads of 8 x 8 sums; each k needs eight A and eight B from
//          shared memory for 64 multiplications. A thread's rows and columns are eight apart, so
//          that neighbouring threads touch neighbouring words.
// Why:     step 06 still reads nine values for eight FFMAs (shared_requests_ld per ffma); here it
//          is sixteen for 64. The global loads stay as they were.
// Expect:  m=256 n=256 k=256
//   ffma                     16777216
//   requests_ld              16384
//   sectors_ld               65536
//   sectors_per_request_ld   4
//   requests_st              2048
//   sectors_st               8192
//   sectors_per_request_st   4
// Limits:  64 threads a CTA and 64 sums a thread: few warps hide latency, and every phase waits for
//          its own global loads. The shared-memory counts are left out until they are read from the
//          machine code.
// Next:    08_vectorised moves four neighbouring elements an instruction, A transposed on its way
//          into shared memory.
#include "../common/gemm_program.h"

using tw::ladder::ceil_div;
using tw::ladder::GemmShape;

constexpr int kTile = 64;  // rows and columns of C a CTA computes
constexpr int kDepth = 8;  // k of a phase
constexpr int kSums = 8;   // rows, and columns, of C a thread computes
constexpr int kSide = kTile / kSums;
constexpr int kThreads = kSide * kSide;

__global__ void gemm_register_tile_2d(const float* __restrict__ a, const float* __restrict__ b,
                                      float* __restrict__ c, int m, int n, int k) {
  __shared__ float a_tile[kTile][kDepth];
  __shared__ float b_tile[kDepth][kTile];
  const int thread = threadIdx.x;
  const int tx = thread % kSide, ty = thread / kSide;
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  float sum[kSums][kSums] = {};
  for (int k0 = 0; k0 < k; k0 += kDepth) {
#pragma unroll
    for (int i = 0; i < kTile * kDepth / kThreads; ++i) {
      const int at = thread + i * kThreads;
      const int a_row = at / kDepth, a_col = at % kDepth;
      const int b_row = at / kTile, b_col = at % kTile;
      a_tile[a_row][a_col] =
          row0 + a_row < m && k0 + a_col < k ? a[size_t(row0 + a_row) * k + k0 + a_col] : 0.0f;
      b_tile[b_row][b_col] =
          k0 + b_row < k && col0 + b_col < n ? b[size_t(k0 + b_row) * n + col0 + b_col] : 0.0f;
    }
    __syncthreads();  // the tiles are complete before anyone reads them
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      float a_value[kSums], b_value[kSums];
#pragma unroll
      for (int s = 0; s < kSums; ++s) {
        a_value[s] = a_tile[ty + s * kSide][i];
        b_value[s] = b_tile[i][tx + s * kSide];
      }
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
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
      const int row = row0 + ty + r * kSide, column = col0 + tx + s * kSide;
      if (row < m && column < n) c[size_t(row) * n + column] = sum[r][s];
    }
  }
}

void launch(const float* a, const float* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const dim3 grid(ceil_div(shape.n, kTile), ceil_div(shape.m, kTile));
  gemm_register_tile_2d<<<grid, kThreads>>>(a, b, c, shape.m, shape.n, shape.k);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  return tw::ladder::run_gemm_step(options, {"gemm/07_register_tile_2d", launch});
}
