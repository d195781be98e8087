// A kernel that never ends.
__global__ void spin(volatile int* p) {
  while (p[threadIdx.x] == 0) {
  }
}
int main() {
  int* d;
  cudaMalloc(&d, 128);
  cudaMemset(d, 0, 128);
  spin<<<3, 32>>>(d);
  return int(cudaDeviceSynchronize());
}
