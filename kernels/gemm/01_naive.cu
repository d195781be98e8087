// GEMM step 01: one thread per element of C, every operand from global memory.
//
// Change:  the starting point: thread (row, col) walks one row of A and one column of B.
// Why:     each fused multiply-add loads 8 bytes, 0.25 FLOP/byte: far to the left of the ridge
//          point of any GPU (about 14 FLOP/byte for fp32 on an H200), so memory decides.
// Expect:  m=256 n=256 k=256
//   ffma                   16777216
//   requests_ld            1048576
//   sectors_ld             2097152
//   sectors_per_request_ld 2
//   requests_st            2048
//   sectors_st             8192
//   sectors_per_request_st 4
// Limits:  fewer than 2^31 elements a matrix; M up to 65535 * 16 (grid y).
// Next:    02_tiled_16 loads each element once per CTA into shared memory.
#include "../common/gemm_program.h"

using tw::ladder::ceil_div;
using tw::ladder::GemmShape;

constexpr int kBlock = 16;

__global__ void gemm_naive(const float* __restrict__ a, const float* __restrict__ b,
                           float* __restrict__ c, int m, int n, int k) {
  const int row = blockIdx.y * kBlock + threadIdx.y;
  const int col = blockIdx.x * kBlock + threadIdx.x;
  if (row >= m || col >= n) return;  // no barrier follows, so leaving early is harmless
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}

void launch(const float* a, const float* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const dim3 block(kBlock, kBlock);
  const dim3 grid(ceil_div(shape.n, kBlock), ceil_div(shape.m, kBlock));
  gemm_naive<<<grid, block>>>(a, b, c, shape.m, shape.n, shape.k);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  return tw::ladder::run_gemm_step(options, {"gemm/01_naive", launch});
}
