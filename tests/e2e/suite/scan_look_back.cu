// Single-pass prefix sum with decoupled look-back (Merrill and Garland): a block publishes its own
// sum, then waits for those before it. Works only if blocks that wait let earlier blocks run.
#include "suite.h"

constexpr int kBlock = 128, kItems = 4, kTile = kBlock * kItems;
__device__ int next_tile;

// High word: 0 nothing yet, 1 the tile's own sum, 2 the sum up to and with the tile.
__device__ unsigned long long pack(unsigned state, int sum) {
  return (unsigned long long)state << 32 | unsigned(sum);
}

__global__ void scan(const int* in, int* out, int n, volatile unsigned long long* status) {
  __shared__ int tile, before, warps[kBlock / 32];
  if (threadIdx.x == 0) tile = atomicAdd(&next_tile, 1);
  __syncthreads();
  int base = tile * kTile + threadIdx.x * kItems, v[kItems], sum = 0;
#pragma unroll
  for (int k = 0; k < kItems; k++) v[k] = sum += base + k < n ? in[base + k] : 0;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, inclusive = sum;
  for (int step = 1; step < 32; step *= 2) {
    int up = __shfl_up_sync(~0u, inclusive, step);
    if (lane >= step) inclusive += up;
  }
  if (lane == 31) warps[warp] = inclusive;
  __syncthreads();
  int exclusive = inclusive - sum, total = 0;
  for (int w = 0; w < kBlock / 32; w++) {
    if (w < warp) exclusive += warps[w];
    total += warps[w];
  }
  if (threadIdx.x == 0) {
    status[tile] = pack(tile == 0 ? 2 : 1, total);
    int prefix = 0;
    for (int t = tile - 1; t >= 0; t--) {
      unsigned long long s;
      do s = status[t];
      while (s >> 32 == 0);
      prefix += int(s);
      if (s >> 32 == 2) break;
    }
    __threadfence();
    if (tile > 0) status[tile] = pack(2, prefix + total);
    before = prefix;
  }
  __syncthreads();
  for (int k = 0; k < kItems; k++)
    if (base + k < n) out[base + k] = before + exclusive + v[k];
}

int main() {
  const int n = 100003, tiles = (n + kTile - 1) / kTile;
  std::vector<int> h(n), wanted(n);
  int sum = 0;
  for (int i = 0; i < n; i++) h[i] = int(hash(i) % 1001) - 500, wanted[i] = sum += h[i];
  DeviceArray<int> in(h), out(n);
  DeviceArray<unsigned long long> status(tiles);
  scan<<<tiles, kBlock>>>(in, out, n, status);
  SYNC();
  expect_equal(out.host(), wanted, "look-back scan");
  return verdict();
}
