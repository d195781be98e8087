// Inclusive and exclusive prefix sums: Hillis-Steele in a block, Blelloch in a block, warp
// shuffles, and three kernels for a long array.
#include "suite.h"

__global__ void hillis_steele(int* data) {
  __shared__ int s[2][256];
  int t = threadIdx.x, from = 0;
  s[0][t] = data[t];
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    s[1 - from][t] = s[from][t] + (t >= step ? s[from][t - step] : 0);
    from = 1 - from;
    __syncthreads();
  }
  data[t] = s[from][t];
}

__global__ void blelloch(int* data) {  // exclusive, two elements a thread
  __shared__ int s[512];
  int t = threadIdx.x;
  s[2 * t] = data[2 * t], s[2 * t + 1] = data[2 * t + 1];
  int offset = 1;
  for (int d = 256; d > 0; d /= 2, offset *= 2) {
    __syncthreads();
    if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
  }
  if (t == 0) s[511] = 0;
  for (int d = 1; d < 512; d *= 2) {
    offset /= 2;
    __syncthreads();
    if (t < d) {
      int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1, old = s[a];
      s[a] = s[b], s[b] += old;
    }
  }
  __syncthreads();
  data[2 * t] = s[2 * t], data[2 * t + 1] = s[2 * t + 1];
}

__device__ int warp_scan(int v) {
  for (int step = 1; step < 32; step *= 2) {
    int up = __shfl_up_sync(~0u, v, step);
    if (threadIdx.x % 32 >= step) v += up;
  }
  return v;
}
__device__ int block_scan(int v) {
  __shared__ int warps[32];
  v = warp_scan(v);
  if (threadIdx.x % 32 == 31) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32)
    warps[threadIdx.x] = warp_scan(threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0);
  __syncthreads();
  return v + (threadIdx.x >= 32 ? warps[threadIdx.x / 32 - 1] : 0);
}
__global__ void scan_blocks(int* data, int n, int* sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = block_scan(i < n ? data[i] : 0);
  if (i < n) data[i] = v;
  if (threadIdx.x == blockDim.x - 1 && sums) sums[blockIdx.x] = v;
}
__global__ void add_sums(int* data, int n, const int* sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x > 0 && i < n) data[i] += sums[blockIdx.x - 1];
}

std::vector<int> reference(const std::vector<int>& in, bool inclusive) {
  std::vector<int> out(in.size());
  int sum = 0;
  for (size_t i = 0; i < in.size(); i++) {
    if (!inclusive) out[i] = sum;
    sum += in[i];
    if (inclusive) out[i] = sum;
  }
  return out;
}
std::vector<int> input(int n) {
  std::vector<int> v(n);
  for (int i = 0; i < n; i++) v[i] = int(hash(i) % 201) - 100;
  return v;
}

int main() {
  DeviceArray<int> a(input(256)), b(input(512));
  hillis_steele<<<1, 256>>>(a);
  blelloch<<<1, 256>>>(b);
  SYNC();
  expect_equal(a.host(), reference(input(256), true), "Hillis and Steele");
  expect_equal(b.host(), reference(input(512), false), "Blelloch");
  const int n = 70000, block = 512, blocks = (n + block - 1) / block;
  DeviceArray<int> c(input(n)), sums(blocks);
  scan_blocks<<<blocks, block>>>(c, n, sums);
  scan_blocks<<<1, block>>>(sums, blocks, nullptr);
  add_sums<<<blocks, block>>>(c, n, sums);
  SYNC();
  expect_equal(c.host(), reference(input(n), true), "scan, then add");
  return verdict();
}
