// Sum, minimum and maximum of an array: shared-memory tree, warp shuffles, one atomic a block.
#include <algorithm>

#include "suite.h"

__global__ void sum_tree(const int* in, int n, int* partial) {
  __shared__ int s[256];
  int v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    v += in[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = s[0];
}

__global__ void sum_shuffle(const float* in, int n, float* out) {
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    v += in[i];
  for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(~0u, v, step);
  __shared__ float warps[32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0u, v, step);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}

__global__ void extremes(const int* in, int n, int* low, int* high) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = in[min(i, n - 1)];
  int l = __reduce_min_sync(~0u, v), h = __reduce_max_sync(~0u, v);
  if (threadIdx.x % 32 == 0) atomicMin(low, l), atomicMax(high, h);
}

int main() {
  const int n = 50001, blocks = 20;
  std::vector<unsigned> words = random_words(n);
  std::vector<int> h(words.begin(), words.end());
  DeviceArray<int> d(h), partial(blocks), ends(std::vector<int>{0x7fffffff, -0x7fffffff - 1});
  sum_tree<<<blocks, 256>>>(d, n, partial);
  SYNC();
  unsigned got = 0, wanted = 0;
  for (int p : partial.host()) got += p;
  for (int v : h) wanted += v;
  expect(got == wanted, "sum by a tree");

  std::vector<float> hf = random_floats(n);
  DeviceArray<float> df(hf), out(1);
  sum_shuffle<<<7, 192>>>(df, n, out);
  SYNC();
  double sum = 0;
  for (float v : hf) sum += v;
  expect_near(out.host(), {float(sum)}, 1e-4, "sum by shuffles");

  extremes<<<(n + 127) / 128, 128>>>(d, n, ends, ends + 1);
  SYNC();
  expect_equal(ends.host(),
               {*std::min_element(h.begin(), h.end()), *std::max_element(h.begin(), h.end())},
               "extremes by redux");
  return verdict();
}
