// Calls through pointers: a table in constant memory, a pointer passed to a kernel, different
// targets in one warp.
#include "suite.h"

typedef int (*Operation)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int subtract(int a, int b) { return a - b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
__device__ __noinline__ int greatest(int a, int b) {
  for (int k = 0; k < 3 && b > a; k++) a++;
  return a > b ? a : b;
}
__device__ Operation table[4] = {add, subtract, multiply, greatest};
__device__ Operation single = multiply;

__global__ void each_its_own(int* out) {
  int t = threadIdx.x;
  out[t] = table[t % 4](t, 7);
}
__global__ void given(Operation op, int* out) { out[threadIdx.x] = op(threadIdx.x, 3); }

int main() {
  DeviceArray<int> a(64), b(32);
  each_its_own<<<1, 64>>>(a);
  Operation op;
  CHECK(cudaMemcpyFromSymbol(&op, single, sizeof op));
  given<<<1, 32>>>(op, b);
  SYNC();
  std::vector<int> wa(64), wb(32);
  for (int t = 0; t < 64; t++)
    wa[t] = t % 4 == 0 ? t + 7 : t % 4 == 1 ? t - 7 : t % 4 == 2 ? t * 7 : t > 7 ? t : 7;
  for (int t = 0; t < 32; t++) wb[t] = t * 3;
  expect_equal(a.host(), wa, "a table of functions");
  expect_equal(b.host(), wb, "a pointer from the host");
  return verdict();
}
