// Hazard: the launch gives dynamic shared memory for one tile, the kernel uses two.
// All of b_tile lies past the end of what the CTA owns.
//
// expect: error oob-shared line=19
// expect: error oob-shared line=22
#include "lesson.h"

constexpr int kTile = 16;

__global__ void gemm(const float* a, const float* b, float* c, int n, int k) {
  extern __shared__ float tiles[];  // kTile * kTile elements of A, then as many of B
  float* a_tile = tiles;
  float* b_tile = tiles + kTile * kTile;
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += kTile) {
    a_tile[ty * kTile + tx] = a[row * k + k0 + tx];
    b_tile[ty * kTile + tx] = b[(k0 + ty) * n + col];  // site: store of B
    __syncthreads();
    for (int i = 0; i < kTile; ++i)
      sum += a_tile[ty * kTile + i] * b_tile[i * kTile + tx];  // site: sum
    __syncthreads();
  }
  c[row * n + col] = sum;
}

int main() {
  const lesson::GemmShape s = {32, 32, 32};
  const auto launch = [&](const float* a, const float* b, float* c) {
    constexpr int kBytes = kTile * kTile * sizeof(float);
    gemm<<<dim3(s.n / kTile, s.m / kTile), dim3(kTile, kTile), kBytes>>>(a, b, c, s.n, s.k);
  };
  return lesson::run_gemm(s, lesson::Result::kNotCompared, launch);
}
