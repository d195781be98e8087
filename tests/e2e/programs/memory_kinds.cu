// Managed, pinned, registered and pool memory, module variables of every kind, 2D and 3D copies.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "check.h"

__managed__ int counter = 40;
__device__ int table[4] = {1, 2, 3, 4};
__constant__ int factor = 2;
__device__ int* pointer_to_table = &table[2];

__global__ void use_variables(int* out) {
  counter += 2;
  out[threadIdx.x] = table[threadIdx.x] * factor + *pointer_to_table;
}
__global__ void add_one(int* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += 1;
}

int main() {
  int *d, h[4];
  CHECK(cudaMalloc(&d, 16));
  printf("managed before: %d\n", counter);
  use_variables<<<1, 4>>>(d);
  CHECK(cudaMemcpy(h, d, 16, cudaMemcpyDeviceToHost));
  printf("variables: %d %d %d %d, managed %d\n", h[0], h[1], h[2], h[3], counter);
  const int new_factor = 10, new_table[2] = {7, 8};
  CHECK(cudaMemcpyToSymbol(factor, &new_factor, 4));
  CHECK(cudaMemcpyToSymbol(table, new_table, 8, 8));
  use_variables<<<1, 4>>>(d);
  CHECK(cudaMemcpy(h, d, 16, cudaMemcpyDeviceToHost));
  printf("after copies to symbols: %d %d %d %d\n", h[0], h[1], h[2], h[3]);
  CHECK(cudaMemcpyFromSymbol(h, table, 16));
  printf("table: %d %d %d %d\n", h[0], h[1], h[2], h[3]);

  int* managed;
  CHECK(cudaMallocManaged(&managed, 1000 * sizeof(int)));
  for (int i = 0; i < 1000; i++) managed[i] = i;
  add_one<<<4, 256>>>(managed, 1000);
  CHECK(cudaDeviceSynchronize());
  long sum = 0;
  for (int i = 0; i < 1000; i++) sum += managed[i];
  printf("managed sum: %ld\n", sum);

  int* pinned;
  CHECK(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped));
  int* mapped;
  CHECK(cudaHostGetDevicePointer((void**)&mapped, pinned, 0));
  pinned[3] = 5;
  add_one<<<1, 16>>>(mapped, 16);
  CHECK(cudaDeviceSynchronize());
  printf("mapped: %d\n", pinned[3]);

  std::vector<int> registered(64, 1);
  CHECK(cudaHostRegister(registered.data(), 256, cudaHostRegisterDefault));
  add_one<<<1, 64>>>(registered.data(), 64);
  CHECK(cudaDeviceSynchronize());
  printf("registered: %d\n", registered[63]);
  CHECK(cudaHostUnregister(registered.data()));

  int* pool;
  CHECK(cudaMallocAsync(&pool, 64, 0));
  CHECK(cudaMemsetAsync(pool, 0, 64, 0));
  add_one<<<1, 16>>>(pool, 16);
  CHECK(cudaMemcpyAsync(h, pool, 16, cudaMemcpyDeviceToHost, 0));
  CHECK(cudaFreeAsync(pool, 0));
  CHECK(cudaStreamSynchronize(0));
  printf("pool: %d\n", h[3]);

  char *pitched, rows[8][20], back[8][20];
  size_t pitch;
  CHECK(cudaMallocPitch((void**)&pitched, &pitch, 20, 8));
  for (int i = 0; i < 160; i++) (&rows[0][0])[i] = char(i);
  CHECK(cudaMemcpy2D(pitched, pitch, rows, 20, 20, 8, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2D(back, 20, pitched, pitch, 20, 8, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < 160; i++) wrong += (&rows[0][0])[i] != (&back[0][0])[i];
  printf("pitch %zu, %d wrong\n", pitch, wrong);
  return 0;
}
