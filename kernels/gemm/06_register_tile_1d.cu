// GEMM step 06: each thread computes eight rows of one column.
//
// Change:  a 64 x 64 tile of C is computed by 512 threads with eight sums each, eight k at a time;
//          an element of B is read from shared memory once for eight multiplications.
// Why:     in steps 02 to 05 every FFMA needs two operands from shared memory, so its port, not the
//          multipliers, sets the pace (shared_requests_ld per ffma). Here one B and eight A serve
//          eight FFMAs, and the eight A are the same for the whole warp: broadcasts. Global loads
//          halve against step 03: each element that a CTA loads serves 64 rows or columns, not 32.
// Expect:  m=256 n=256 k=256
//   ffma                     16777216
//   requests_ld              16384
//   sectors_ld               65536
//   sectors_per_request_ld   4
//   requests_st              2048
//   sectors_st               8192
//   sectors_per_request_st   4
// Limits:  the shared-memory counts are left out until they are read from the machine code (ptxas
//          merges loads of a_tile along k). A warp reads 32-byte pieces of four rows of A: four
//          sectors a request, as good as a whole line, but four lines touched.
// Next:    07_register_tile_2d lets a thread reuse A as well.
#include "../common/gemm_program.h"

using tw::ladder::ceil_div;
using tw::ladder::GemmShape;

constexpr int kTile = 64;  // rows and columns of C a CTA computes
constexpr int kDepth = 8;  // k of a phase
constexpr int kRows = 8;   // rows of C a thread computes
constexpr int kThreads = kTile * kTile / kRows;
static_assert(kTile * kDepth == kThreads, "each thread loads one element of A and one of B");

__global__ void gemm_register_tile_1d(const float* __restrict__ a, const float* __restrict__ b,
                                      float* __restrict__ c, int m, int n, int k) {
  __shared__ float a_tile[kTile][kDepth];
  __shared__ float b_tile[kDepth][kTile];
  const int thread = threadIdx.x;
  const int column = thread % kTile, first_row = thread / kTile * kRows;
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  float sum[kRows] = {};
  for (int k0 = 0; k0 < k; k0 += kDepth) {
    const int a_row = thread / kDepth, a_col = thread % kDepth;
    const int b_row = thread / kTile, b_col = thread % kTile;
    a_tile[a_row][a_col] =
        row0 + a_row < m && k0 + a_col < k ? a[size_t(row0 + a_row) * k + k0 + a_col] : 0.0f;
    b_tile[b_row][b_col] =
        k0 + b_row < k && col0 + b_col < n ? b[size_t(k0 + b_row) * n + col0 + b_col] : 0.0f;
    __syncthreads();  // the tiles are complete before anyone reads them
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      const float b_value = b_tile[i][column];
#pragma unroll
      for (int r = 0; r < kRows; ++r) sum[r] += a_tile[first_row + r][i] * b_value;
    }
    __syncthreads();  // everyone has read them before the next phase overwrites them
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int row = row0 + first_row + r;
    if (row < m && col0 + column < n) c[size_t(row) * n + col0 + column] = sum[r];
  }
}

void launch(const float* a, const float* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const dim3 grid(ceil_div(shape.n, kTile), ceil_div(shape.m, kTile));
  gemm_register_tile_1d<<<grid, kThreads>>>(a, b, c, shape.m, shape.n, shape.k);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  return tw::ladder::run_gemm_step(options, {"gemm/06_register_tile_1d", launch});
}
