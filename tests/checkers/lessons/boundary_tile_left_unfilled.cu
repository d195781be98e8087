// Hazard: where a tile reaches past the matrix, the guard skips the store instead of storing zero.
// In the first phase those elements were never written, later they hold the phase before: in the
// last phase (45 = 2 * 16 + 13) three stale columns enter every sum.
//
// expect: error uninit-shared line=21
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
    if (row < m && a_col < k) a_tile[ty][tx] = a[row * k + a_col];
    if (b_row < k && col < n) b_tile[ty][tx] = b[b_row * n + col];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += a_tile[ty][i] * b_tile[i][tx];  // site: sum
    __syncthreads();
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
