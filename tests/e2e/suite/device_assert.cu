// assert on the device: silent where it holds, cudaErrorAssert where it does not, and then for
// good.
#include <cassert>

#include "suite.h"

__global__ void checked(const int* in, int limit) {
  assert(in[threadIdx.x] < limit && "value too large");
}

int main() {
  std::vector<int> h(64);
  for (int i = 0; i < 64; i++) h[i] = i;
  int* d;
  CHECK(cudaMalloc(&d, 64 * sizeof(int)));
  CHECK(cudaMemcpy(d, h.data(), 64 * sizeof(int), cudaMemcpyHostToDevice));
  checked<<<1, 64>>>(d, 64);
  expect(cudaDeviceSynchronize() == cudaSuccess, "holds");
  checked<<<1, 64>>>(d, 63);
  expect(cudaDeviceSynchronize() == cudaErrorAssert, "does not hold");
  expect(cudaFree(d) == cudaErrorAssert, "later calls");
  return verdict();
}
