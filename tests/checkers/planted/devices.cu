// Memory of another device, to which the kernel's device has no access; managed memory of two
// devices, freed, or known to one only.
//
// options: --devices 2
// expect: never: error oob-global @scale allocated=@never_allocated
// expect: reverse: error oob-global @push
// expect: disabled: error oob-global @halo
// expect: wrong_buffer: error oob-global @reduce
// expect: freed_managed: error use-after-free @freed_read freed=@freed_here allocated=@allocated_here
// expect: after_reset: error race-global @both_write @both_write
#include "planted.h"

namespace PLANTED {

template <class T> T* array_on(int device, size_t n) {
  cudaSetDevice(device);
  return device_array<T>(n);
}
void enable(int device, int peer) {
  cudaSetDevice(device);
  cudaDeviceEnablePeerAccess(peer, 0);
}
void disable(int device, int peer) {
  cudaSetDevice(device);
  cudaDeviceDisablePeerAccess(peer);
}

// Nobody has enabled anything.
__global__ void scale(const float* in, float* out) {
  const float v = in[threadIdx.x];  // @scale
  out[threadIdx.x] = 2 * v;
}
void never_case() {
  float* in = array_on<float>(1, 64);  // @never_allocated
  float* out = array_on<float>(0, 64);
  BUG(, enable(0, 1));
  cudaSetDevice(0);
  scale<<<1, 64>>>(in, out);
  cudaDeviceSynchronize();
  BUG(, disable(0, 1));
}

// The other direction was enabled.
__global__ void push(float* peer) {
  peer[threadIdx.x] = float(threadIdx.x);  // @push
}
void reverse_case() {
  float* there = array_on<float>(1, 64);
  enable(BUG(1, 0), BUG(0, 1));
  cudaSetDevice(0);
  push<<<1, 64>>>(there);
  cudaDeviceSynchronize();
  disable(BUG(1, 0), BUG(0, 1));
}

// A stencil reads the neighbour's edge, after access has been taken away again.
__global__ void stencil(const float* mine, const float* neighbour, float* out, int n) {
  const int i = threadIdx.x;
  const float right = i + 1 < n ? mine[i + 1] : neighbour[0];  // @halo
  out[i] = mine[i] + right;
}
void disabled_case() {
  float* neighbour = array_on<float>(1, 64);
  float* mine = array_on<float>(0, 64);
  float* out = array_on<float>(0, 64);
  enable(0, 1);
  BUG(disable(0, 1), );
  cudaSetDevice(0);
  stencil<<<1, 64>>>(mine, neighbour, out, 64);
  cudaDeviceSynchronize();
  BUG(, disable(0, 1));
}

// Each device sums into a counter of its own, but one launch gets the other's.
__global__ void reduce(const int* in, int* sum) {
  atomicAdd(sum, in[threadIdx.x]);  // @reduce
}
void wrong_buffer_case() {
  int *in[2], *sum[2];
  for (int d = 0; d < 2; ++d) in[d] = array_on<int>(d, 64), sum[d] = array_on<int>(d, 1);
  for (int d = 0; d < 2; ++d) {
    cudaSetDevice(d);
    reduce<<<1, 64>>>(in[d], sum[BUG(0, d)]);
    cudaDeviceSynchronize();
  }
  cudaSetDevice(0);
}

// Two devices have used the memory; the one that does not own it is reset, and the memory is checked
// as before.
__global__ void count_up(int* a) { a[threadIdx.x] += 1; }
__global__ void number_blocks(int* a) {
  a[BUG(0, blockIdx.x * 32) + threadIdx.x] = int(blockIdx.x);  // @both_write
}
void after_reset_case() {
  int* a = nullptr;
  cudaSetDevice(0);
  cudaMallocManaged(&a, 64 * sizeof(int));
  for (int i = 0; i < 64; ++i) a[i] = i;
  for (int d = 0; d < 2; ++d) {
    cudaSetDevice(d);
    count_up<<<1, 64>>>(a);
    cudaDeviceSynchronize();
  }
  cudaDeviceReset();
  cudaSetDevice(0);
  number_blocks<<<2, 32>>>(a);
}

// Both devices know the memory, and both give it up when it is freed.
__global__ void total(const int* a, int* sum) {
  const int v = a[threadIdx.x];  // @freed_read
  atomicAdd(sum, v);
}
void freed_managed_case() {
  int* sum = array_on<int>(0, 1);
  int* a = nullptr;
  cudaMallocManaged(&a, 64 * sizeof(int));  // @allocated_here
  for (int i = 0; i < 64; ++i) a[i] = i;
  for (int d = 1; d >= 0; --d) {
    cudaSetDevice(d);
    count_up<<<1, 64>>>(a);
    cudaDeviceSynchronize();
  }
  BUG(cudaFree(a), );  // @freed_here
  total<<<1, 64>>>(a, sum);
}

int program(const char* only) {
  return run_cases({{"never", never_case},
                    {"reverse", reverse_case},
                    {"disabled", disabled_case},
                    {"wrong_buffer", wrong_buffer_case},
                    {"after_reset", after_reset_case},
                    {"freed_managed", freed_managed_case}},
                   only);
}

}  // namespace PLANTED
