// Hazard: out is n x m, but its guard still asks for a row below m and a column below n.
// With 65 x 45, rows 45 to 63 of out are written past the end of the allocation, from elements of
// the tile that were never filled, and columns 45 to 64 of out stay empty.
//
// expect: error oob-global line=22
// expect: error uninit-shared line=22
#include "lesson.h"

constexpr int kTile = 32;
constexpr int kRows = 8;

__global__ void transpose(const float* in, float* out, int m, int n) {
  __shared__ float tile[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int in_col = blockIdx.x * kTile + tx, in_row = blockIdx.y * kTile + ty;
  for (int j = 0; j < kTile; j += kRows)
    if (in_row + j < m && in_col < n) tile[ty + j][tx] = in[(in_row + j) * n + in_col];
  __syncthreads();
  const int out_col = blockIdx.y * kTile + tx, out_row = blockIdx.x * kTile + ty;
  for (int j = 0; j < kTile; j += kRows)
    if (out_row + j < m && out_col < n)
      out[(out_row + j) * m + out_col] = tile[tx][ty + j];  // site: write
}

int main() {
  constexpr int m = 65, n = 45;
  const auto launch = [](const float* in, float* out) {
    const dim3 grid(lesson::ceil_div(n, kTile), lesson::ceil_div(m, kTile));
    transpose<<<grid, dim3(kTile, kRows)>>>(in, out, m, n);
  };
  return lesson::run_transpose(m, n, lesson::Result::kNotCompared, launch);
}
