// Races on shared memory: a reduction without its first barrier, an in-place scan, a stencil whose
// double buffer is swapped too early, a warp exchange that trusts lockstep, a histogram without
// atomics.
//
// expect: race-shared @reduce_fill @reduce_add
// allow: uninit-shared @reduce_add
// expect: race-shared @scan_read @scan_write
// expect: race-shared @stencil_read @stencil_write
// expect: race-shared @exchange_write @exchange_read
// expect: race-shared @count @count
#include "planted.h"

constexpr int kThreads = 128;

__global__ void reduce(const float* in, float* out) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  s[t] = in[blockIdx.x * kThreads + t];  // @reduce_fill
  BUG(, __syncthreads());
  for (int d = kThreads / 2; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];  // @reduce_add
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void scan(const float* in, float* out) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  for (int d = 1; d < kThreads; d *= 2) {
    float v = 0;
    if (t >= d) v = s[t - d];  // @scan_read
    BUG(, __syncthreads());
    if (t >= d) s[t] += v;  // @scan_write
    __syncthreads();
  }
  out[t] = s[t];
}

__global__ void stencil(const float* in, float* out, int steps) {
  __shared__ float s[2][kThreads + 2];
  const int t = threadIdx.x;
  if (t < 2) s[0][t * (kThreads + 1)] = s[1][t * (kThreads + 1)] = 0;
  s[0][t + 1] = in[t];
  __syncthreads();
  int from = 0;
  for (int i = 0; i < steps; ++i) {
    const float sum = s[from][t] + s[from][t + 2];  // @stencil_read
    s[BUG(from, 1 - from)][t + 1] = sum;            // @stencil_write
    from = BUG(from, 1 - from);
    __syncthreads();
  }
  out[t] = s[from][t + 1];
}

__global__ void exchange(const int* in, int* out) {
  __shared__ int s[32];
  const int lane = threadIdx.x;
  s[lane] = in[lane];  // @exchange_write
  BUG(, __syncwarp());
  out[lane] = s[lane ^ 1];  // @exchange_read
}

__global__ void histogram(const int* in, int* out) {
  __shared__ int bins[16];
  const int t = threadIdx.x;
  if (t < 16) bins[t] = 0;
  __syncthreads();
  BUG(bins[in[t] & 15]++, atomicAdd(&bins[in[t] & 15], 1));  // @count
  __syncthreads();
  if (t < 16) atomicAdd(&out[t], bins[t]);
}

int main() {
  float *in = device_array<float>(4 * kThreads), *out = device_array<float>(4 * kThreads);
  int *numbers = device_array<int>(kThreads), *counts = device_array<int>(kThreads);
  reduce<<<4, kThreads>>>(in, out);
  scan<<<1, kThreads>>>(in, out);
  stencil<<<1, kThreads>>>(in, out, 3);
  exchange<<<1, 32>>>(numbers, counts);
  histogram<<<2, kThreads>>>(numbers, counts);
  return finish();
}
