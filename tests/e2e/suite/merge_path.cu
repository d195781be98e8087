// Merge sort whose merges are cut into equal parts by binary searches along the merge path.
#include <algorithm>

#include "suite.h"

__global__ void merge(const int* in, int* out, int n, int run) {
  constexpr int each = 7;
  int diagonal = (blockIdx.x * blockDim.x + threadIdx.x) * each;
  if (diagonal >= n) return;
  int base = diagonal / (2 * run) * (2 * run);
  for (int left = each; left > 0 && diagonal < n;) {
    base = diagonal / (2 * run) * (2 * run);
    const int *a = in + base, *b = in + min(base + run, n);
    int na = min(run, n - base), nb = max(0, min(2 * run, n - base) - run), d = diagonal - base;
    int low = max(0, d - nb), high = min(d, na);
    while (low < high) {
      int middle = (low + high) / 2;
      if (a[middle] <= b[d - 1 - middle])
        low = middle + 1;
      else
        high = middle;
    }
    int i = low, j = d - low;
    for (; left > 0 && i + j < na + nb; left--, diagonal++)
      out[diagonal] = j >= nb || (i < na && a[i] <= b[j]) ? a[i++] : b[j++];
  }
}

int main() {
  const int n = 6001;
  std::vector<int> h(n);
  for (int i = 0; i < n; i++) h[i] = int(hash(i) % 3000);
  DeviceArray<int> a(h), b(n);
  int *from = a, *to = b;
  for (int run = 1; run < n; run *= 2) {
    merge<<<(n / 7 + 64) / 64, 64>>>(from, to, n, run);
    std::swap(from, to);
  }
  SYNC();
  std::vector<int> got(n);
  CHECK(cudaMemcpy(got.data(), from, n * sizeof(int), cudaMemcpyDeviceToHost));
  std::sort(h.begin(), h.end());
  expect_equal(got, h, "merge sort");
  return verdict();
}
