// Arrays per thread, indexed at run time: an insertion sort, the eight-queens problem with a stack
// of its own, a permutation by pointer.
#include <algorithm>

#include "suite.h"

__global__ void sort_rows(const int* in, int* out, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x, v[24];
  if (row >= n) return;
  for (int i = 0; i < 24; i++) {
    int x = in[row * 24 + i], j = i;
    for (; j > 0 && v[j - 1] > x; j--) v[j] = v[j - 1];
    v[j] = x;
  }
  for (int i = 0; i < 24; i++) out[row * 24 + i] = v[i];
}
__global__ void queens(int* solutions) {  // a thread for every first two columns
  int place[8] = {int(threadIdx.x % 8), int(threadIdx.x / 8)}, depth = 2, found = 0;
  auto safe = [&](int d) {
    for (int k = 0; k < d; k++)
      if (place[k] == place[d] || place[d] - place[k] == d - k || place[k] - place[d] == d - k)
        return false;
    return true;
  };
  if (safe(1)) {
    place[2] = -1;
    while (depth >= 2) {
      if (++place[depth] == 8) {
        depth--;
        continue;
      }
      if (!safe(depth)) continue;
      if (depth == 7)
        found++;
      else
        place[++depth] = -1;
    }
  }
  if (found) atomicAdd(solutions, found);
}
__global__ void bytes(unsigned* out) {
  unsigned char b[16];
  for (int i = 0; i < 16; i++) b[(i * 7 + threadIdx.x) & 15] = (unsigned char)(i + threadIdx.x);
  unsigned v = 0;
  for (int i = 0; i < 16; i++) v = v * 31 + b[i];
  out[threadIdx.x] = v;
}

int main() {
  const int n = 100;
  std::vector<int> h(n * 24);
  for (int i = 0; i < n * 24; i++) h[i] = int(hash(i) % 1000);
  DeviceArray<int> in(h), out(n * 24), solutions(1);
  DeviceArray<unsigned> words(32);
  sort_rows<<<4, 32>>>(in, out, n);
  queens<<<1, 64>>>(solutions);
  bytes<<<1, 32>>>(words);
  SYNC();
  for (int r = 0; r < n; r++) std::sort(h.begin() + r * 24, h.begin() + (r + 1) * 24);
  expect_equal(out.host(), h, "sorted rows");
  expect(solutions.host()[0] == 92, "eight queens");
  std::vector<unsigned> wanted(32);
  for (unsigned t = 0; t < 32; t++) {
    unsigned char b[16];
    for (int i = 0; i < 16; i++) b[(i * 7 + t) & 15] = (unsigned char)(i + t);
    for (int i = 0; i < 16; i++) wanted[t] = wanted[t] * 31 + b[i];
  }
  expect_equal(words.host(), wanted, "bytes");
  return verdict();
}
