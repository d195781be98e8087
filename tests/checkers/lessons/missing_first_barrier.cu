// Hazard: no barrier between filling the tiles and reading them.
// A warp reads elements that another one may not have written yet. A reader that comes first also
// meets memory never written: whether it does depends on the order of warps, so that finding is
// only allowed.
//
// expect: error race-shared line=21 line=23
// expect: error race-shared line=22 line=23
// allow: error uninit-shared line=23
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
    a_tile[ty][tx] = row < m && a_col < k ? a[row * k + a_col] : 0.0f;     // site: store of A
    b_tile[ty][tx] = b_row < k && col < n ? b[b_row * n + col] : 0.0f;     // site: store of B
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
