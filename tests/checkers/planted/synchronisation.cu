// Misused barriers and warp operations.
//
// expect: barrier-divergence @part
// expect: barrier-divergence @after_part
// expect: barrier-divergence @part @after_part
// expect: barrier-divergence @returned
// expect: barrier-divergence @left @right
// expect: invalid-sync @odd
// expect: invalid-sync @self
// expect: invalid-sync @gone
// expect: invalid-sync @vote
#include "planted.h"

__global__ void part_of_a_warp(int* out) {
  const int t = threadIdx.x;
  if (BUG(t < 16, true)) {
    out[t] = t;
    __syncthreads();  // @part
  }
  out[64 + t] = t;
  __syncthreads();  // @after_part
}

__global__ void early_return(const int* in, int* out, int n) {
  const int t = threadIdx.x;
  if (BUG(t >= n, false)) return;
  out[t] = in[t];
  __syncthreads();  // @returned
  out[64 + t] = in[t];
}

__global__ void two_barriers(int* out) {
  const int t = threadIdx.x;
  if (t < 32) {
    out[t] = 1;
    BUG(__syncthreads(), );  // @left
  } else {
    out[t] = 2;
    BUG(__syncthreads(), );  // @right
  }
  BUG(, __syncthreads());
  out[64 + t] = t;
}

__global__ void odd_count(int* out) {
  asm volatile("bar.sync 1, %0;" ::"r"(BUG(48, 64)) : "memory");  // @odd
  out[threadIdx.x] = 1;
}

__global__ void without_self(int* out) {
  if (threadIdx.x < 16) __syncwarp(BUG(0x00ff, 0xffff));  // @self
  out[threadIdx.x] = 1;
}

__global__ void exited_source(int* out) {
  if (BUG(threadIdx.x >= 24, false)) return;
  out[threadIdx.x] = __shfl_sync(0xffffffff, threadIdx.x, 31);  // @gone
}

__global__ void missing_voters(int* out) {
  const int t = threadIdx.x;
  unsigned mask = 0;
  if (t < BUG(20, 32))
    mask = __ballot_sync(0xffffffff, t & 1);  // @vote
  else
    return;
  out[t] = mask;
}

int main() {
  int *in = device_array<int>(128), *out = device_array<int>(128);
  part_of_a_warp<<<1, 64>>>(out);
  early_return<<<1, 64>>>(in, out, 40);
  two_barriers<<<1, 64>>>(out);
  odd_count<<<1, 64>>>(out);
  without_self<<<1, 32>>>(out);
  exited_source<<<1, 32>>>(out);
  missing_voters<<<1, 32>>>(out);
  return finish();
}
