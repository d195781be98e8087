// Hazard: only the store to C is guarded, the loads of A and B are not.
// On ragged sizes the tiles reach past the last row and the last column: the start of the next row
// is taken for the end of this one, and past the last row the loads leave the allocation.
//
// expect: error oob-global line=19
// expect: error oob-global line=20
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
    a_tile[ty][tx] = a[row * k + a_col];  // site: store of A
    b_tile[ty][tx] = b[b_row * n + col];  // site: store of B
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += a_tile[ty][i] * b_tile[i][tx];
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
