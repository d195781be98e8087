// Separate compilation (-rdc=true), first object: calls device functions, uses variables and takes
// a function pointer of the second, and both have an internal name in common.
#include "suite.h"

extern __device__ int scale;
extern __constant__ float table[4];
__device__ int scaled(int x);
__device__ float looked_up(int i);
extern __device__ int (*chosen)(int);
static __device__ int hidden = 1000;

__global__ void use(int* out, float* values) {
  int t = threadIdx.x;
  out[t] = scaled(t) + scale + chosen(t) + hidden;
  values[t] = looked_up(t) + table[t % 4];
}

void launch_other(int* out);

int main() {
  DeviceArray<int> out(32), other(32);
  DeviceArray<float> values(32);
  int three = 3;
  CHECK(cudaMemcpyToSymbol(scale, &three, sizeof three));
  use<<<1, 32>>>(out, values);
  launch_other(other);
  SYNC();
  std::vector<int> wanted(32), wanted_other(32);
  std::vector<float> wanted_values(32);
  for (int t = 0; t < 32; t++)
    wanted[t] = 3 * t + 3 + (t - 7) + 1000, wanted_other[t] = t + 5,
    wanted_values[t] = 2 * 0.5f * float(1 << t % 4);
  expect_equal(out.host(), wanted, "functions and variables of the other object");
  expect_equal(values.host(), wanted_values, "constants of the other object");
  expect_equal(other.host(), wanted_other, "a kernel of the other object");
  return verdict();
}
