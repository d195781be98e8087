// Reads of memory that nobody wrote: global, shared and local.
//
// expect: uninit-global @accumulate
// expect: uninit-global @half_copied
// expect: uninit-global @bytes
// expect: uninit-global @gap
// expect: uninit-shared @corner
// expect: uninit-shared @tail
// expect: uninit-shared @dynamic
// expect: uninit-shared @guarded
// expect: uninit-local @partly
#include "planted.h"

__global__ void accumulate(const float* in, float* out) {
  out[threadIdx.x] += in[threadIdx.x];  // @accumulate
}

__global__ void copy(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x];  // @half_copied
}

__global__ void bytes(const unsigned char* in, unsigned char* out) {
  out[threadIdx.x] = in[threadIdx.x];  // @bytes
}

__global__ void fill_gaps(float* a) {
  if (BUG(threadIdx.x % 4 != 3, true)) a[threadIdx.x] = 1;
}
__global__ void sum(const float* a, float* out) { atomicAdd(out, a[threadIdx.x]); }  // @gap

__global__ void corners(const float* in, float* out) {
  __shared__ float s[10][10];
  const int x = threadIdx.x, y = threadIdx.y;
  s[y + 1][x + 1] = in[y * 8 + x];
  if (y == 0) s[0][x + 1] = s[9][x + 1] = 0;
  if (x == 0) s[y + 1][0] = s[y + 1][9] = 0;
  BUG(, if (x < 2 && y < 2) s[y * 9][x * 9] = 0);
  __syncthreads();
  out[y * 8 + x] = s[y][x] + s[y + 2][x + 2];  // @corner
}

__global__ void tail(const float* in, float* out, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  if (t < n) s[t] = in[t];
  BUG(, else s[t] = 0);
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];  // @tail
    __syncthreads();
  }
  if (t == 0) *out = s[0];
}

__global__ void dynamic(const float* in, float* out) {
  extern __shared__ float buffer[];
  buffer[threadIdx.x * BUG(2, 1)] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = buffer[63 - threadIdx.x];  // @dynamic
}

__global__ void guarded(const float* in, float* out, int n) {
  __shared__ float s[32][33];
  const int x = threadIdx.x, y = threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    if (x < n && y + j < n) s[y + j][x] = in[(y + j) * n + x];
    BUG(, else s[y + j][x] = 0);
  }
  __syncthreads();
  for (int j = 0; j < 32; j += 8) out[(y + j) * 32 + x] = s[x][y + j];  // @guarded
}

__global__ void partly(const int* in, int* out) {
  int a[8];
  const int n = BUG(6, 8);
  for (int i = 0; i < n; ++i) a[(in[i] + i) & 7] = in[i];
  out[threadIdx.x] = a[in[8 + threadIdx.x] & 7];  // @partly
}

int main() {
  float* in = device_array<float>(4096);
  float* fresh = device_array<float>(4096, BUG(false, true));
  accumulate<<<1, 64>>>(in, fresh);
  float *half = device_array<float>(64, false), *out = device_array<float>(4096);
  cudaMemcpy(half, out, BUG(32, 64) * sizeof(float), cudaMemcpyDeviceToDevice);
  copy<<<1, 64>>>(half, out);
  unsigned char* raw = device_array<unsigned char>(64, false);
  cudaMemset(raw, 1, BUG(61, 64));
  bytes<<<1, 64>>>(raw, reinterpret_cast<unsigned char*>(out));
  float* gaps = device_array<float>(64, false);
  fill_gaps<<<1, 64>>>(gaps);
  sum<<<1, 64>>>(gaps, out);
  corners<<<1, dim3(8, 8)>>>(in, out);
  tail<<<1, 64>>>(in, out, 50);
  dynamic<<<1, 64, 128 * sizeof(float)>>>(in, out);
  guarded<<<1, dim3(32, 8)>>>(in, out, 30);
  std::vector<int> zeros(64);
  int *numbers = device_array<int>(64), *result = device_array<int>(64);
  for (int i = 0; i < 64; ++i) zeros[i] = i < 8 ? 0 : i - 8;
  cudaMemcpy(numbers, zeros.data(), 64 * sizeof(int), cudaMemcpyHostToDevice);
  partly<<<1, 32>>>(numbers, result);
  return finish();
}
