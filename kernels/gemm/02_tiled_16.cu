// GEMM step 02: tiles of 16 x 16 in shared memory.
//
// Change:  a CTA copies a tile of A and a tile of B to shared memory, and its 256 threads reuse
//          them.
// Why:     step 01 loads every element of A N times and every element of B M times; here a loaded
//          element serves 16 threads, so requests_ld falls by 16 and the intensity is 4
//          FLOP/byte.
// Expect:  m=256 n=256 k=256
//   ffma                     16777216
//   requests_ld              65536
//   sectors_ld               262144
//   sectors_per_request_ld   4
//   requests_st              2048
//   sectors_st               8192
//   sectors_per_request_st   4
//   shared_requests_ld       655360
//   shared_wavefronts_ld     786432
//   shared_requests_st       65536
//   shared_wavefronts_st     65536
//   shared_excess_wavefronts 0
// Limits:  fewer than 2^31 elements a matrix; M up to 65535 * 16 (grid y). The shared-load counts
//          are those of the machine code: ptxas merges four loads of a_tile into one of 16 bytes.
// Next:    03_tiled_32 doubles the reuse with a larger tile.
#include "../common/gemm_program.h"

using tw::ladder::ceil_div;
using tw::ladder::GemmShape;

constexpr int kTile = 16;

__global__ void gemm_tiled(const float* __restrict__ a, const float* __restrict__ b,
                           float* __restrict__ c, int m, int n, int k) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty;
  const int col = blockIdx.x * kTile + tx;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += kTile) {
    // Each of the three accesses to global memory has a guard of its own. Outside the matrix a zero
    // fills the tile: it adds nothing to any sum, and the thread stays for both barriers.
    const int a_col = k0 + tx, b_row = k0 + ty;
    a_tile[ty][tx] = row < m && a_col < k ? a[row * k + a_col] : 0.0f;
    b_tile[ty][tx] = b_row < k && col < n ? b[b_row * n + col] : 0.0f;
    __syncthreads();  // the tiles are complete before anyone reads them
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += a_tile[ty][i] * b_tile[i][tx];
    __syncthreads();  // everyone has read them before the next phase overwrites them
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

void launch(const float* a, const float* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const dim3 block(kTile, kTile);
  const dim3 grid(ceil_div(shape.n, kTile), ceil_div(shape.m, kTile));
  gemm_tiled<<<grid, block>>>(a, b, c, shape.m, shape.n, shape.k);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  return tw::ladder::run_gemm_step(options, {"gemm/02_tiled_16", launch});
}
