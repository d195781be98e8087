// cudaDeviceReset gives a working device again after a fault.
#include <cstdio>
__global__ void write(int* p, int v) { p[threadIdx.x] = v; }
int main() {
  write<<<1, 32>>>((int*)16, 1);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaDeviceReset();
  cudaGetLastError();
  int *d, h[32];
  cudaMalloc(&d, sizeof h);
  write<<<1, 32>>>(d, 7);
  cudaError_t copied = cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%s %d\n", cudaGetErrorName(copied), h[31]);
  write<<<1, 32>>>((int*)((char*)d + 1), 1);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 3;
}
