// Streams, events, host callbacks, a kernel that waits for the host and one that waits for another
// kernel.
#include <cstdio>
#include <cstdlib>

#include "check.h"

__global__ void add(int* p, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += value;
}
__global__ void scale(int* p, int n, int factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= factor;
}
__global__ void wait_for(volatile int* flag, int* out) {
  while (*flag == 0) {
  }
  *out = *flag;
}
__global__ void raise(volatile int* flag, int value) { *flag = value; }

int main() {
  const int n = 1000;
  int *p, h[n];
  CHECK(cudaMalloc(&p, n * sizeof(int)));
  cudaStream_t a, b;
  CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, -1));
  cudaEvent_t start, ready, end;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  CHECK(cudaEventCreate(&end));

  CHECK(cudaEventRecord(start, a));
  CHECK(cudaMemsetAsync(p, 0, n * sizeof(int), a));
  for (int i = 0; i < 50; i++) add<<<4, 256, 0, a>>>(p, n, 1);
  CHECK(cudaEventRecord(ready, a));
  CHECK(cudaStreamWaitEvent(b, ready, 0));
  scale<<<4, 256, 0, b>>>(p, n, 3);
  CHECK(cudaMemcpyAsync(h, p, sizeof h, cudaMemcpyDeviceToHost, b));
  CHECK(cudaEventRecord(end, b));
  CHECK(cudaStreamSynchronize(b));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, start, end));
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += h[i] != 150;
  printf("ordered by an event: %d wrong, time %s\n", wrong, ms > 0 ? "positive" : "not positive");

  static int called = 0;
  CHECK(cudaLaunchHostFunc(a, [](void* data) { *(int*)data = 7; }, &called));
  CHECK(cudaStreamSynchronize(a));
  printf("host function: %d\n", called);

  int *flag, *out;
  CHECK(cudaMallocHost(&flag, sizeof(int)));
  CHECK(cudaMalloc(&out, sizeof(int)));
  *(volatile int*)flag = 0;
  wait_for<<<1, 1, 0, a>>>(flag, out);
  printf("query while it polls: %s\n", cudaGetErrorName(cudaStreamQuery(a)));
  *(volatile int*)flag = 5;
  CHECK(cudaStreamSynchronize(a));
  CHECK(cudaMemcpy(h, out, sizeof(int), cudaMemcpyDeviceToHost));
  printf("released by the host: %d\n", h[0]);

  *(volatile int*)flag = 0;
  wait_for<<<1, 1, 0, a>>>(flag, out);
  raise<<<1, 1, 0, b>>>(flag, 9);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(h, out, sizeof(int), cudaMemcpyDeviceToHost));
  printf("released by another kernel: %d\n", h[0]);
  CHECK(cudaEventDestroy(start));
  CHECK(cudaStreamDestroy(a));
  CHECK(cudaFree(p));
  return 0;
}
