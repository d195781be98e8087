// Managed memory that two devices use one after the other, ordered by an event; a device that is
// reset and has only used it.
// options: --devices 2
#include <cstdio>

__global__ void add(int* a, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += value;
}

int main() {
  const int n = 5000;
  int* a;
  cudaMallocManaged(&a, n * sizeof(int));
  for (int i = 0; i < n; ++i) a[i] = i;

  cudaStream_t streams[2];
  cudaEvent_t done;
  for (int d = 0; d < 2; ++d) {
    cudaSetDevice(d);
    cudaStreamCreate(&streams[d]);
  }
  cudaSetDevice(0);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  add<<<(n + 255) / 256, 256, 0, streams[0]>>>(a, n, 1);
  cudaEventRecord(done, streams[0]);
  cudaSetDevice(1);
  cudaStreamWaitEvent(streams[1], done, 0);
  add<<<(n + 255) / 256, 256, 0, streams[1]>>>(a, n, 2);
  cudaStreamSynchronize(streams[1]);
  bool right = a[n - 1] == n + 2;

  cudaDeviceReset();
  cudaSetDevice(0);
  add<<<(n + 255) / 256, 256>>>(a, n, 4);
  cudaDeviceSynchronize();
  for (int i = 0; i < n; ++i) right = right && a[i] == i + 7;
  std::printf("%s\n", right ? "right" : "WRONG");
  cudaFree(a);
  return right ? 0 : 1;
}
