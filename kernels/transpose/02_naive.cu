// Transpose step 02: read by rows, write by columns.
//
// Change:  the element read at (row, col) is written at (col, row).
// Why:     it is the shortest transpose, and shows what it costs: the 32 lanes of a warp write 32
//          different rows of out, so each store request touches 32 sectors where 4 would do.
// Expect:  m=256 n=256
//   requests_ld            2048
//   sectors_ld             8192
//   sectors_per_request_ld 4
//   requests_st            2048
//   sectors_st             65536
//   sectors_per_request_st 32
// Limits:  fewer than 2^31 elements; M up to 65535 * 32 (grid y).
// Next:    03_tiled turns the tile in shared memory, so that reads and writes both go along rows.
#include "../common/transpose_program.h"

using tw::ladder::ceil_div;
using tw::ladder::MatrixShape;

constexpr int kTile = 32;  // elements of a tile's side, and lanes of a warp
constexpr int kRows = 8;   // rows of threads: a thread moves kTile / kRows elements

__global__ void transpose_naive(const float* __restrict__ in, float* __restrict__ out, int m,
                                int n) {
  const int col = blockIdx.x * kTile + threadIdx.x;
  const int first_row = blockIdx.y * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kRows) {
    const int row = first_row + j;
    if (row < m && col < n) out[col * m + row] = in[row * n + col];
  }
}

void launch(const float* in, float* out, MatrixShape shape) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const dim3 block(kTile, kRows);
  const dim3 grid(ceil_div(shape.n, kTile), ceil_div(shape.m, kTile));
  transpose_naive<<<grid, block>>>(in, out, shape.m, shape.n);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mn");
  return tw::ladder::run_transpose_step<float>(options, {"transpose/02_naive", launch});
}
