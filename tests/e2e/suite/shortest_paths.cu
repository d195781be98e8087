// All-pairs shortest paths by the blocked Floyd-Warshall method: three kernels a round.
#include <algorithm>

#include "suite.h"

constexpr int kTile = 16, kFar = 1000000;

__device__ void relax(int (*c)[kTile], const int (*a)[kTile], const int (*b)[kTile],
                      bool dependent) {
  for (int k = 0; k < kTile; k++) {
    c[threadIdx.y][threadIdx.x] =
        min(c[threadIdx.y][threadIdx.x], a[threadIdx.y][k] + b[k][threadIdx.x]);
    if (dependent) __syncthreads();
  }
}
__device__ int& cell(int* d, int n, int tile_y, int tile_x) {
  return d[(tile_y * kTile + threadIdx.y) * n + tile_x * kTile + threadIdx.x];
}

__global__ void diagonal(int* d, int n, int k) {
  __shared__ int c[kTile][kTile];
  c[threadIdx.y][threadIdx.x] = cell(d, n, k, k);
  __syncthreads();
  relax(c, c, c, true);
  cell(d, n, k, k) = c[threadIdx.y][threadIdx.x];
}
__global__ void cross(int* d, int n, int k) {
  if (int(blockIdx.x) == k) return;
  __shared__ int c[kTile][kTile], p[kTile][kTile];
  int y = blockIdx.y ? blockIdx.x : k, x = blockIdx.y ? k : blockIdx.x;
  c[threadIdx.y][threadIdx.x] = cell(d, n, y, x), p[threadIdx.y][threadIdx.x] = cell(d, n, k, k);
  __syncthreads();
  if (blockIdx.y)
    relax(c, c, p, true);
  else
    relax(c, p, c, true);
  cell(d, n, y, x) = c[threadIdx.y][threadIdx.x];
}
__global__ void rest(int* d, int n, int k) {
  if (int(blockIdx.x) == k || int(blockIdx.y) == k) return;
  __shared__ int c[kTile][kTile], a[kTile][kTile], b[kTile][kTile];
  c[threadIdx.y][threadIdx.x] = cell(d, n, blockIdx.y, blockIdx.x);
  a[threadIdx.y][threadIdx.x] = cell(d, n, blockIdx.y, k),
  b[threadIdx.y][threadIdx.x] = cell(d, n, k, blockIdx.x);
  __syncthreads();
  relax(c, a, b, false);
  cell(d, n, blockIdx.y, blockIdx.x) = c[threadIdx.y][threadIdx.x];
}

int main() {
  const int n = 96, tiles = n / kTile;
  std::vector<int> h(n * n, kFar);
  for (int i = 0; i < n; i++) {
    h[i * n + i] = 0;
    for (int e = 0; e < 4; e++) h[i * n + hash(i * 4 + e) % n] = 1 + hash(i * 9 + e) % 50;
    h[i * n + i] = 0;
  }
  DeviceArray<int> d(h);
  for (int k = 0; k < tiles; k++) {
    diagonal<<<1, dim3(kTile, kTile)>>>(d, n, k);
    cross<<<dim3(tiles, 2), dim3(kTile, kTile)>>>(d, n, k);
    rest<<<dim3(tiles, tiles), dim3(kTile, kTile)>>>(d, n, k);
  }
  SYNC();
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        h[i * n + j] = std::min(h[i * n + j], h[i * n + k] + h[k * n + j]);
  expect_equal(d.host(), h, "distances");
  return verdict();
}
