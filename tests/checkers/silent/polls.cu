// Loops that wait for another block or for a lane of the same warp, and change registers meanwhile or
// hold a barrier: all of them end, and nothing is found.
#include <cstdio>

__device__ int flag, lock, total;

// Block 0 polls with a barrier in its loop; the block that it waits for may start later.
__global__ void poll_with_barrier(int* out) {
  __shared__ int seen;
  if (blockIdx.x != 0) {
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(&flag, 1);
    }
    return;
  }
  for (;;) {
    if (threadIdx.x == 0) seen = atomicAdd(&flag, 0);
    __syncthreads();
    const int now = seen;
    __syncthreads();
    if (now != 0) break;
  }
  out[threadIdx.x] = 1;
}

// The owner of the lock leaves the loop and waits at its end for lanes that wait for the lock.
__global__ void counting_lock(int* out) {
  int tries = 0;
  while (atomicCAS(&lock, 0, 1) != 0) ++tries;
  __threadfence();
  const int value = atomicAdd(&total, 0);
  atomicExch(&total, value + 1);
  __threadfence();
  atomicExch(&lock, 0);
  out[blockIdx.x * blockDim.x + threadIdx.x] = tries;
}

int main() {
  int *out = nullptr, sum = 0;
  cudaMalloc(&out, 128 * sizeof(int));
  poll_with_barrier<<<2, 128>>>(out);
  counting_lock<<<2, 32>>>(out);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  cudaMemcpyFromSymbol(&sum, total, sizeof sum);
  cudaFree(out);
  std::printf("%d\n", sum);
  return sum == 64 ? 0 : 1;
}
