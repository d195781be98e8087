// Transpose step 06: 16-byte accesses on both sides, bytes transposed in registers.
//
// Change:  elements of one byte; a thread loads 16 bytes of each of four rows, transposes 4 x 4
//          bytes at a time with eight byte permutes, and shared memory holds whole words of one
//          output row. Its 16-byte chunk k lies at k ^ (vector of the column mod 8).
// Why:     with a byte per access a warp moves one sector per request; every instruction now moves
//          16 times as much, and the swizzle keeps both sides of shared memory free of conflicts.
// Expect:  m=256 n=256
//   requests_ld              128
//   sectors_ld               2048
//   sectors_per_request_ld   16
//   requests_st              128
//   sectors_st               2048
//   sectors_per_request_st   16
//   shared_requests_ld       128
//   shared_wavefronts_ld     512
//   shared_requests_st       512
//   shared_wavefronts_st     512
//   shared_excess_wavefronts 0
// Limits:  rows of both matrices on 16 bytes; sizes that break this take FunnelTile, which shifts
//          words in registers and cuts each output row at its own sectors.
// Next:    07_chosen_by_rule takes the tile that fits the shape.
#include <cstdint>

#include "../common/transpose_program.h"
#include "lib/funnel_tile.cuh"
#include "lib/vector_tile.cuh"

using tw::ladder::ceil_div;
using tw::ladder::MatrixShape;
using Aligned = tilewright::detail::VectorTile<1, 128, 128, 256>;
using Ragged = tilewright::detail::FunnelTile<1, 256, 128, 256>;

__global__ void __launch_bounds__(256)
    transpose_aligned(const char* __restrict__ in, char* __restrict__ out, int m, int n) {
  __shared__ __align__(128) char shared[Aligned::kSharedBytes];
  const int row = blockIdx.y * Aligned::kRows, col = blockIdx.x * Aligned::kCols;
  Aligned::load(threadIdx.x, shared, in + size_t(row) * n + col, n, m - row, n - col);
  __syncthreads();  // bytes move between warps: the tile must be complete
  Aligned::store_tile(threadIdx.x, shared, out + size_t(col) * m + row, m, m - row, n - col);
}

__global__ void __launch_bounds__(256)
    transpose_ragged(const char* __restrict__ in, char* __restrict__ out, int m, int n) {
  __shared__ __align__(128) char shared[Ragged::kSharedBytes];
  const int col = blockIdx.x * Ragged::kCols;
  const Ragged::Matrix matrix{in, n, m, n};
  const int64_t row = int64_t(blockIdx.y) * Ragged::kRows - Ragged::kHalo;
  Ragged::Held held;
  Ragged::load(threadIdx.x, shared, matrix, row, col);
  __syncthreads();  // bytes move between warps: the tile must be complete
  Ragged::gather(threadIdx.x, shared, held, matrix, row, col);
  __syncthreads();  // columns take the place of rows
  Ragged::scatter(threadIdx.x, shared, held, out, m, col);
  __syncthreads();
  Ragged::store_tile(threadIdx.x, shared, out, m, blockIdx.y, col, m, n);
}

void launch(const uint8_t* in, uint8_t* out, MatrixShape shape) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const char* from = reinterpret_cast<const char*>(in);
  char* to = reinterpret_cast<char*>(out);
  if (shape.m % 16 == 0 && shape.n % 16 == 0) {
    const dim3 grid(ceil_div(shape.n, Aligned::kCols), ceil_div(shape.m, Aligned::kRows));
    transpose_aligned<<<grid, Aligned::kThreadCount>>>(from, to, shape.m, shape.n);
  } else {
    const dim3 grid(ceil_div(shape.n, Ragged::kCols),
                    ceil_div(shape.m + Ragged::kHalo - 1, Ragged::kRows));
    transpose_ragged<<<grid, Ragged::kThreadCount>>>(from, to, shape.m, shape.n);
  }
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mn");
  return tw::ladder::run_transpose_step<uint8_t>(options,
                                                 {"transpose/06_vectorised_bytes", launch});
}
