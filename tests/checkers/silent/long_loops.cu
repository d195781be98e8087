// One thread works for long while the others of its warp wait at a barrier, at a shuffle, or with stores
// to make: a loop that ends is waited for, and nobody arrives at a barrier alone.
#include <cstdio>
#include <cstdlib>

constexpr int kLong = 20000;

__global__ void leader_sums(const int* in, int* out) {
  __shared__ int sum;
  if (threadIdx.x == 0) {
    int s = 0;
#pragma unroll 1
    for (int i = 0; i < kLong; ++i) s += in[i & 63];
    sum = s;
  }
  __syncthreads();
  out[threadIdx.x] = sum;
}

__global__ void volatile_leader(const volatile int* in, volatile int* out) {
  __shared__ int sum;
  if (threadIdx.x == 0) {
    int s = 0;
#pragma unroll 1
    for (int i = 0; i < kLong; ++i) s += in[i & 63];
    sum = s;
  }
  out[128 + threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = sum;
}

// Whether a block is the last one is the same for all its threads.
__global__ void last_block(const int* in, volatile int* part, unsigned* count, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    int s = 0;
#pragma unroll 1
    for (int i = blockIdx.x; i < kLong; i += gridDim.x) s += in[i & 63];
    part[blockIdx.x] = s;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) atomicAdd(&sum, part[i]);
    __syncthreads();
    if (threadIdx.x == 0) *out = sum;
  }
}

__global__ void shuffled(const int* in, int* out) {
  int s = 1;
  if (threadIdx.x % 32 == 5) {
    s = 0;
#pragma unroll 1
    for (int i = 0; i < kLong; ++i) s += in[i & 63];
  }
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  out[threadIdx.x] = s;
}

int main() {
  int *in, *out, host[64], result[128];
  for (int& x : host) x = 1;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, 4096);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, 4096);
  bool right = true;
  auto check = [&](int count, int want) {
    right = right && cudaDeviceSynchronize() == cudaSuccess;
    cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
    for (int i = 0; i < count; ++i) right = right && result[i] == want;
  };
  leader_sums<<<1, 128>>>(in, out);
  check(128, kLong);
  volatile_leader<<<1, 128>>>(in, out);
  check(128, kLong);
  last_block<<<8, 128>>>(in, out + 512, (unsigned*)out + 600, out);
  check(1, kLong);
  shuffled<<<1, 128>>>(in, out);
  check(128, kLong + 31);
  cudaFree(in);
  cudaFree(out);
  puts(right ? "right" : "wrong");
  return !right;
}
