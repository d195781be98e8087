// Races on global memory: the last block reads partial sums that nobody released, an atomic of
// block scope across blocks, a stencil in place, two blocks that write one element, a flag without
// acquire.
//
// expect: race-global @partial @total
// expect: race-global @ticket @ticket
// expect: race-global @in_place @in_place
// expect: race-global @half @half
// expect: race-global @produce @consume
#include "planted.h"

__global__ void last_block(const float* in, float* partial, unsigned* ticket, float* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < 32; ++i) sum += in[blockIdx.x * 32 + i];
    partial[blockIdx.x] = sum;  // @partial
    BUG(, __threadfence());
    last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    BUG(, __threadfence());
  }
  __syncthreads();
  if (last && threadIdx.x < gridDim.x) atomicAdd(out, partial[threadIdx.x]);  // @total
}

__global__ void tickets(int* counter, int* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = BUG(atomicAdd_block, atomicAdd)(counter, 1);  // @ticket
}

__global__ void stencil(float* a, float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) BUG(a, b)[i] = a[i - 1] + a[i + 1];  // @in_place
}

__global__ void shrink(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (BUG(true, i < 256)) out[i % 256] = in[i] + i;  // @half
}

__global__ void produce_consume(int* data, int* flag, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 42;  // @produce
    BUG(, __threadfence());
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) != 1) {
    }
    BUG(, __threadfence());
    *out = *data;  // @consume
  }
}

int main() {
  float *a = device_array<float>(1024), *b = device_array<float>(1024),
        *out = device_array<float>(1024);
  int *counter = device_array<int>(64), *numbers = device_array<int>(64);
  unsigned* ticket = device_array<unsigned>(1);
  cudaMemset(counter, 0, 64 * sizeof(int));
  last_block<<<8, 32>>>(a, b, ticket, out);
  tickets<<<4, 32>>>(counter, numbers);
  stencil<<<4, 256>>>(a, b, 1024);
  shrink<<<4, 128>>>(a, out);
  produce_consume<<<2, 32>>>(numbers, counter + 32, numbers + 1);
  return finish();
}
