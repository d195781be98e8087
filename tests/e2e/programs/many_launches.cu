// 10 000 launches of a small kernel, and as many launches with a synchronisation each.
#include <chrono>
#include <cstdio>
__global__ void add(int* p) { p[threadIdx.x] += 1; }
int main() {
  int *d, h[32];
  cudaMalloc(&d, sizeof h);
  cudaMemset(d, 0, sizeof h);
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10000; i++) add<<<1, 32>>>(d);
  cudaDeviceSynchronize();
  fprintf(
      stderr, "10000 launches: %.0f ms\n",
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  start = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; i++) {
    add<<<1, 32>>>(d);
    cudaDeviceSynchronize();
  }
  fprintf(
      stderr, "1000 launches with synchronisation: %.0f ms\n",
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d\n", h[31]);
  return 0;
}
