// Device-side malloc gives out what cudaLimitMallocHeapSize allows, and NULL beyond.
#include "suite.h"

constexpr int kBlock = 1 << 16, kMost = 256;

__global__ void take(void** pointers, int* count) {
  while (*count < kMost && (pointers[*count] = malloc(kBlock)) != nullptr) {
    memset(pointers[*count], 1, 64);
    ++*count;
  }
}
__global__ void give_back(void** pointers, int count) {
  for (int i = 0; i < count; i++) free(pointers[i]);
}

int main() {
  constexpr size_t kHeap = size_t(4) << 20;
  size_t heap = 0;
  CHECK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
  expect(heap == size_t(8) << 20, "8 MiB at first");
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, kHeap));
  void** pointers;
  int* count;
  CHECK(cudaMalloc(&pointers, kMost * sizeof *pointers));
  CHECK(cudaMallocManaged(&count, sizeof *count));
  for (int round = 0; round < 2; round++) {
    *count = 0;
    take<<<1, 1>>>(pointers, count);
    SYNC();
    expect(*count > 0 && size_t(*count) * kBlock <= kHeap, "no more than the heap");
    expect(size_t(*count) * kBlock > kHeap / 2, "most of the heap");
    give_back<<<1, 1>>>(pointers, *count);
    SYNC();
  }
  // Once a kernel that allocates has been launched, its heap stays as large as it is.
  expect(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 2 * kHeap) == cudaErrorInvalidValue,
         "the heap is in use");
  CHECK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
  expect(heap == kHeap, "the limit is what it was");
  CHECK(cudaDeviceReset());
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 2 * kHeap));
  return verdict();
}
