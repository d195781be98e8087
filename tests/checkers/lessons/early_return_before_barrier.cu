// Hazard: threads outside C return before the barriers of the loop.
// They never load their elements of the tiles, which the others read: silent wrong results, or a
// hang. M=35 N=25: warps that lose part of their lanes (columns 25 on) and whole warps (rows 36
// on).
//
// expect: error barrier-divergence line=26
// expect: warning barrier-divergence line=26
// expect: error barrier-divergence line=28
// expect: warning barrier-divergence line=28
// expect: error uninit-shared line=27
#include "lesson.h"

constexpr int kTile = 16;

__global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
  if (row >= m || col >= n) return;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += kTile) {
    const int a_col = k0 + tx, b_row = k0 + ty;
    a_tile[ty][tx] = row < m && a_col < k ? a[row * k + a_col] : 0.0f;
    b_tile[ty][tx] = b_row < k && col < n ? b[b_row * n + col] : 0.0f;
    __syncthreads();                                                       // site: first barrier
    for (int i = 0; i < kTile; ++i) sum += a_tile[ty][i] * b_tile[i][tx];  // site: sum
    __syncthreads();                                                       // site: second barrier
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
