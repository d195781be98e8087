// Bitonic sort: within a block in shared memory, across blocks one global step a launch.
#include <algorithm>

#include "suite.h"

constexpr int kTile = 512;

__device__ void exchange(unsigned& a, unsigned& b, bool up) {
  if ((a > b) == up) {
    unsigned t = a;
    a = b, b = t;
  }
}
__global__ void sort_tiles(unsigned* data) {
  __shared__ unsigned s[kTile];
  int t = threadIdx.x, base = blockIdx.x * kTile;
  s[t] = data[base + t], s[t + kTile / 2] = data[base + t + kTile / 2];
  for (int size = 2; size <= kTile; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int i = 2 * t - (t & (stride - 1));
      exchange(s[i], s[i + stride], ((base + i) & size) == 0);
    }
  __syncthreads();
  data[base + t] = s[t], data[base + t + kTile / 2] = s[t + kTile / 2];
}
__global__ void merge_step(unsigned* data, int size, int stride) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, i = 2 * t - (t & (stride - 1));
  exchange(data[i], data[i + stride], (i & size) == 0);
}
__global__ void merge_tiles(unsigned* data, int size) {
  __shared__ unsigned s[kTile];
  int t = threadIdx.x, base = blockIdx.x * kTile;
  s[t] = data[base + t], s[t + kTile / 2] = data[base + t + kTile / 2];
  for (int stride = kTile / 2; stride > 0; stride /= 2) {
    __syncthreads();
    int i = 2 * t - (t & (stride - 1));
    exchange(s[i], s[i + stride], ((base + i) & size) == 0);
  }
  __syncthreads();
  data[base + t] = s[t], data[base + t + kTile / 2] = s[t + kTile / 2];
}

int main() {
  const int n = 1 << 13;
  std::vector<unsigned> h = random_words(n);
  DeviceArray<unsigned> d(h);
  sort_tiles<<<n / kTile, kTile / 2>>>(d);
  for (int size = 2 * kTile; size <= n; size *= 2) {
    for (int stride = size / 2; stride >= kTile; stride /= 2)
      merge_step<<<n / kTile, kTile / 2>>>(d, size, stride);
    merge_tiles<<<n / kTile, kTile / 2>>>(d, size);
  }
  SYNC();
  std::sort(h.begin(), h.end());
  expect_equal(d.host(), h, "bitonic sort");
  return verdict();
}
