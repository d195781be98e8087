// GEMM step 03: tiles of 32 x 32 in shared memory.
//
// Change:  kTile 16 -> 32, nothing else.
// Why:     a loaded element now serves 32 threads: requests_ld and sectors_ld halve against step
//          02 and the intensity is 8 FLOP/byte. A warp is one row of the tile: its load of a_tile
//          is a broadcast.
// Expect:  m=256 n=256 k=256
//   ffma                     16777216
//   requests_ld              32768
//   sectors_ld               131072
//   sectors_per_request_ld   4
//   requests_st              2048
//   sectors_st               8192
//   sectors_per_request_st   4
//   shared_requests_ld       655360
//   shared_wavefronts_ld     786432
//   shared_requests_st       32768
//   shared_wavefronts_st     32768
//   shared_excess_wavefronts 0
// Limits:  1024 threads are the most a CTA may have, so this way of growing the tile ends here;
//          two CTAs fill an SM, one if a thread needs more than 32 registers. M up to 65535 * 32
//          (grid y). The shared-load counts are those of the machine code (four loads of a_tile
//          merged).
// Next:    04_tiled_whole_tiles_only takes the guards away, to show what they are for.
#include "../common/gemm_program.h"

using tw::ladder::ceil_div;
using tw::ladder::GemmShape;

constexpr int kTile = 32;

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
  return tw::ladder::run_gemm_step(options, {"gemm/03_tiled_32", launch});
}
