// Hazard: no barrier between reading the tiles and filling them again.
// A warp that is ahead overwrites, in the next phase, elements that a slower one still has to
// read.
//
// expect: error race-shared line=19 line=22
// expect: error race-shared line=20 line=22
#include "lesson.h"

constexpr int kTile = 16;

__global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += kTile) {
    const int a_col = k0 + tx, b_row = k0 + ty;
    a_tile[ty][tx] = row < m && a_col < k ? a[row * k + a_col] : 0.0f;  // site: store of A
    b_tile[ty][tx] = b_row < k && col < n ? b[b_row * n + col] : 0.0f;  // site: store of B
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += a_tile[ty][i] * b_tile[i][tx];  // site: sum
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

int main() {
  const lesson::GemmShape s = {35, 25, 45};
  const auto launch = [&](const float* a, const float* b, float* c) {
    const dim3 grid(lesson::ceil_div(s.n, kTile), lesson::ceil_div(s.m, kTile));
    gemm<<<grid, dim3(kTile, kTile)>>>(a, b, c, s.m, s.n, s.k);
  };
  return lesson::run_gemm(s, lesson::Result::kNotCompared, launch);
}
