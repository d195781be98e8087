// Collatz lengths: every lane loops a different number of times, and the loop body diverges too.
#include "suite.h"

__host__ __device__ int length(unsigned long long n) {
  int steps = 0;
  while (n != 1) {
    if (n & 1)
      n = 3 * n + 1;
    else
      n >>= 1;
    if (++steps > 1000) return -1;
  }
  return steps;
}
__global__ void lengths(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = length(i + 1);
}

int main() {
  const int n = 5000;
  DeviceArray<int> out(n);
  lengths<<<(n + 63) / 64, 64>>>(out, n);
  SYNC();
  std::vector<int> wanted(n);
  for (int i = 0; i < n; i++) wanted[i] = length(i + 1);
  expect_equal(out.host(), wanted, "lengths");
  return verdict();
}
