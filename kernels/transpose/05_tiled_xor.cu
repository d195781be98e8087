// Transpose step 05: an XOR swizzle instead of padding.
//
// Change:  element (r, c) of the tile is stored at column c ^ r of row r; no padding.
// Why:     for a fixed r, c ^ r visits every bank once as c runs, and for a fixed c as r runs:
//          rows and columns are both free of conflicts in exactly 4096 bytes, and rows keep a
//          power-of-two length (as bulk copies and ldmatrix want it).
// Expect:  m=256 n=256
//   requests_ld              2048
//   sectors_ld               8192
//   sectors_per_request_ld   4
//   requests_st              2048
//   sectors_st               8192
//   sectors_per_request_st   4
//   shared_requests_ld       2048
//   shared_wavefronts_ld     2048
//   shared_requests_st       2048
//   shared_wavefronts_st     2048
//   shared_excess_wavefronts 0
// Limits:  fewer than 2^31 elements; M up to 65535 * 32 (grid y). The swizzle needs a tile whose
//          side is a power of two.
// Next:    06_vectorised_bytes: wider accesses, other element types (examples/transpose_types.cu).
#include "../common/transpose_program.h"

using tw::ladder::ceil_div;
using tw::ladder::MatrixShape;

constexpr int kTile = 32;  // elements of a tile's side, and lanes of a warp
constexpr int kRows = 8;   // rows of threads: a thread moves kTile / kRows elements

__global__ void transpose_tiled(const float* __restrict__ in, float* __restrict__ out, int m,
                                int n) {
  __shared__ float tile[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int in_col = blockIdx.x * kTile + tx, in_row = blockIdx.y * kTile + ty;
  for (int j = 0; j < kTile; j += kRows)
    if (in_row + j < m && in_col < n) tile[ty + j][tx ^ (ty + j)] = in[(in_row + j) * n + in_col];
  __syncthreads();  // elements move between warps: the tile must be complete
  // The same tile of out: block coordinates swapped, and with them the two bounds.
  const int out_col = blockIdx.y * kTile + tx, out_row = blockIdx.x * kTile + ty;
  for (int j = 0; j < kTile; j += kRows)
    if (out_row + j < n && out_col < m) out[(out_row + j) * m + out_col] = tile[tx][(ty + j) ^ tx];
}

void launch(const float* in, float* out, MatrixShape shape) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const dim3 block(kTile, kRows);
  const dim3 grid(ceil_div(shape.n, kTile), ceil_div(shape.m, kTile));
  transpose_tiled<<<grid, block>>>(in, out, shape.m, shape.n);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mn");
  return tw::ladder::run_transpose_step<float>(options, {"transpose/05_tiled_xor", launch});
}
