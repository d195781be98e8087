// Dynamic shared memory: several arrays carved from one block of bytes, more than 48 KiB by opting
// in, an error when it is too much, and a template with an extern array of each type.
#include "suite.h"

extern __shared__ __align__(16) unsigned char bytes[];

__global__ void carve(double* out, int n) {
  double* d = reinterpret_cast<double*>(bytes);
  short* s = reinterpret_cast<short*>(d + n);
  for (int i = threadIdx.x; i < n; i += blockDim.x) d[i] = i * 0.5, s[i] = short(n - i);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = d[n - 1 - i] + s[i];
}
__global__ void large(unsigned* out, int words) {
  unsigned* s = reinterpret_cast<unsigned*>(bytes);
  for (int i = threadIdx.x; i < words; i += blockDim.x) s[i] = hash(i);
  __syncthreads();
  unsigned sum = 0;
  for (int i = threadIdx.x; i < words; i += blockDim.x) sum += s[words - 1 - i] ^ i;
  atomicAdd(out, sum);
}

int main() {
  const int n = 300, words = 40000;
  DeviceArray<double> d(n);
  carve<<<1, 128, n * (sizeof(double) + sizeof(short))>>>(d, n);
  SYNC();
  std::vector<double> wanted(n);
  for (int i = 0; i < n; i++) wanted[i] = (n - 1 - i) * 0.5 + (n - i);
  expect_equal(d.host(), wanted, "two arrays");

  DeviceArray<unsigned> sum(1);
  large<<<1, 256, words * 4>>>(sum, words);
  expect(cudaGetLastError() == cudaErrorInvalidValue, "too much without opting in");
  CHECK(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, words * 4));
  large<<<1, 256, words * 4>>>(sum, words);
  SYNC();
  unsigned total = 0;
  for (int i = 0; i < words; i++) total += hash(words - 1 - i) ^ i;
  expect(sum.host()[0] == total, "160000 bytes");
  expect(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) ==
             cudaErrorInvalidValue,
         "more than there is");
  cudaGetLastError();
  return verdict();
}
