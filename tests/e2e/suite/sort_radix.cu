// Least-significant-digit radix sort of 32-bit keys with values, four bits a pass: ballot ranks
// within a warp, digit counts in shared memory, a scan of all counts, a stable scatter.
#include <algorithm>
#include <numeric>

#include "suite.h"

constexpr int kBlock = 128, kDigits = 16;

__global__ void count(const unsigned* keys, int n, int shift, int* counts) {
  __shared__ int s[kDigits];
  if (threadIdx.x < kDigits) s[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) atomicAdd(&s[keys[i] >> shift & 15], 1);
  __syncthreads();
  if (threadIdx.x < kDigits) counts[threadIdx.x * gridDim.x + blockIdx.x] = s[threadIdx.x];
}
__global__ void scan(int* counts, int n) {  // one block, exclusive
  __shared__ int s[1024];
  int each = (n + 1023) / 1024, begin = threadIdx.x * each, sum = 0;
  for (int i = begin; i < min(begin + each, n); i++) sum += counts[i];
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 1; step < 1024; step *= 2) {
    int v = threadIdx.x >= step ? s[threadIdx.x - step] : 0;
    __syncthreads();
    s[threadIdx.x] += v;
    __syncthreads();
  }
  int before = s[threadIdx.x] - sum;
  for (int i = begin; i < min(begin + each, n); i++) {
    int c = counts[i];
    counts[i] = before, before += c;
  }
}
__global__ void scatter(const unsigned* keys, const int* values, int n, int shift,
                        const int* offsets, unsigned* out_keys, int* out_values) {
  __shared__ int warp_counts[kBlock / 32][kDigits];
  int i = blockIdx.x * kBlock + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned key = i < n ? keys[i] : ~0u, digit = i < n ? key >> shift & 15 : kDigits, mine = 0;
  for (unsigned d = 0; d < kDigits; d++) {
    unsigned same = __ballot_sync(~0u, digit == d);
    if (digit == d) mine = same;
    if (lane == d) warp_counts[warp][d] = __popc(same);
  }
  __syncthreads();
  if (i < n) {
    int place = offsets[digit * gridDim.x + blockIdx.x] + __popc(mine & ((1u << lane) - 1));
    for (int w = 0; w < warp; w++) place += warp_counts[w][digit];
    out_keys[place] = key, out_values[place] = values[i];
  }
}

int main() {
  const int n = 10000, blocks = (n + kBlock - 1) / kBlock;
  std::vector<unsigned> h = random_words(n);
  for (unsigned& k : h) k %= 5000;  // equal keys show whether the sort is stable
  std::vector<int> index(n);
  std::iota(index.begin(), index.end(), 0);
  DeviceArray<unsigned> a(h), b(n);
  DeviceArray<int> va(index), vb(n), counts(blocks * kDigits);
  unsigned *from = a, *to = b;
  int *vfrom = va, *vto = vb;
  for (int shift = 0; shift < 32; shift += 4) {
    count<<<blocks, kBlock>>>(from, n, shift, counts);
    scan<<<1, 1024>>>(counts, blocks * kDigits);
    scatter<<<blocks, kBlock>>>(from, vfrom, n, shift, counts, to, vto);
    std::swap(from, to), std::swap(vfrom, vto);
  }
  SYNC();
  std::stable_sort(index.begin(), index.end(), [&](int x, int y) { return h[x] < h[y]; });
  std::sort(h.begin(), h.end());
  expect_equal(a.host(), h, "keys");
  expect_equal(va.host(), index, "values");
  return verdict();
}
