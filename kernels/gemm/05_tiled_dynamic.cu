// GEMM step 05: the tile size is chosen at run time.
//
// Change:  both tiles lie in one dynamic shared-memory array whose size the launch gives, so the
//          tile size is a kernel argument; the host takes the largest one the device allows.
// Why:     a compiled-in tile cannot follow the device's limits. The price is in the inner loop:
//          its length is unknown, so ptxas cannot merge the loads of a_tile (shared_requests_ld
//          rises).
// Expect:  m=256 n=256 k=256 tile=32
//   ffma                     16777216
//   requests_ld              32768
//   sectors_ld               131072
//   sectors_per_request_ld   4
//   requests_st              2048
//   sectors_st               8192
//   sectors_per_request_st   4
//   shared_requests_ld       1048576
//   shared_wavefronts_ld     1048576
//   shared_requests_st       32768
//   shared_wavefronts_st     32768
//   shared_excess_wavefronts 0
// Limits:  tile * tile threads must fit a CTA (tile <= 32 today). A tile that is no multiple of
//          16 leaves lanes idle in the last warp and splits rows over warps; it is right, but
//          slower.
// Next:    06_register_tile_1d: each thread computes several elements of a column and reuses what
//          it reads from shared memory.
#include "../common/gemm_program.h"

using tw::ladder::ceil_div;
using tw::ladder::check;
using tw::ladder::GemmShape;

__global__ void gemm_tiled_dynamic(const float* __restrict__ a, const float* __restrict__ b,
                                   float* __restrict__ c, int m, int n, int k, int tile) {
  extern __shared__ float tiles[];  // tile * tile of A, then tile * tile of B
  float* a_tile = tiles;
  float* b_tile = tiles + tile * tile;
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * tile + ty;
  const int col = blockIdx.x * tile + tx;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += tile) {
    const int a_col = k0 + tx, b_row = k0 + ty;
    a_tile[ty * tile + tx] = row < m && a_col < k ? a[row * k + a_col] : 0.0f;
    b_tile[ty * tile + tx] = b_row < k && col < n ? b[b_row * n + col] : 0.0f;
    __syncthreads();  // the tiles are complete before anyone reads them
    for (int i = 0; i < tile; ++i) sum += a_tile[ty * tile + i] * b_tile[i * tile + tx];
    __syncthreads();  // everyone has read them before the next phase overwrites them
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

int shared_bytes(int tile) { return 2 * tile * tile * static_cast<int>(sizeof(float)); }

void launch(const float* a, const float* b, float* c, GemmShape shape, int tile) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const dim3 block(tile, tile);
  const dim3 grid(ceil_div(shape.n, tile), ceil_div(shape.m, tile));
  gemm_tiled_dynamic<<<grid, block, shared_bytes(tile)>>>(a, b, c, shape.m, shape.n, shape.k, tile);
}

// The largest tile, in steps of 4, whose threads and shared memory fit one CTA of the device.
int largest_tile() {
  int threads = 0, bytes = 0;
  check(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, 0));
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlock, 0));
  int tile = 4;
  while ((tile + 4) * (tile + 4) <= threads && shared_bytes(tile + 4) <= bytes) tile += 4;
  return tile;
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  const int largest = largest_tile();
  int status = 0;
  for (int tile : {largest, 20, 8}) {  // one size: the largest tile only
    std::printf("tile=%d, %d bytes of shared memory a CTA\n", tile, shared_bytes(tile));
    const auto launch_with_tile = [tile](const float* a, const float* b, float* c,
                                         GemmShape shape) { launch(a, b, c, shape, tile); };
    status |= tw::ladder::run_gemm_step(options, {"gemm/05_tiled_dynamic", launch_with_tile});
    if (options.one_size) break;
  }
  return status;
}
