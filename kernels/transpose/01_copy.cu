// Transpose step 01: a plain copy, the yardstick.
//
// Change:  the starting point: a CTA of 32 x 8 threads copies a tile of 32 x 32, four rows a
//          thread.
// Why:     no transpose can beat a copy: it sets the bandwidth that the next steps are measured
//          by.
// Expect:  m=256 n=256
//   requests_ld            2048
//   sectors_ld             8192
//   sectors_per_request_ld 4
//   requests_st            2048
//   sectors_st             8192
//   sectors_per_request_st 4
// Limits:  fewer than 2^31 elements; M up to 65535 * 32 (grid y).
// Next:    02_naive writes to the transposed place.
#include "../common/transpose_program.h"

using tw::ladder::ceil_div;
using tw::ladder::MatrixShape;

constexpr int kTile = 32;  // elements of a tile's side, and lanes of a warp
constexpr int kRows = 8;   // rows of threads: a thread moves kTile / kRows elements

__global__ void copy(const float* __restrict__ in, float* __restrict__ out, int m, int n) {
  const int col = blockIdx.x * kTile + threadIdx.x;
  const int first_row = blockIdx.y * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kRows) {
    const int row = first_row + j;
    if (row < m && col < n) out[row * n + col] = in[row * n + col];
  }
}

void launch(const float* in, float* out, MatrixShape shape) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const dim3 block(kTile, kRows);
  const dim3 grid(ceil_div(shape.n, kTile), ceil_div(shape.m, kTile));
  copy<<<grid, block>>>(in, out, shape.m, shape.n);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mn");
  return tw::ladder::run_transpose_step<float>(options,
                                               {"transpose/01_copy", launch, /*copies=*/true});
}
