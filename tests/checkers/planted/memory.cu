// Memory errors: out of bounds in global, shared and local memory, misaligned, freed.
//
// expect: oob-global @last_row
// expect: oob-global @before
// expect: oob-global @vector
// expect: oob-global @scatter
// expect: oob-shared @halo
// expect: oob-shared @pad
// expect: oob-shared @pad_read
// expect: oob-local @stack
// expect: misaligned @unaligned
// expect: use-after-free @freed
#include "planted.h"

__global__ void rows(const float* in, float* out, int m, int n) {
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (col < n && BUG(row <= m, row < m)) out[row * n + col] = in[row * n + col];  // @last_row
}

__global__ void previous(const float* in, float* out) {
  const int i = threadIdx.x;
  float left = 0;
  if (BUG(true, i > 0)) left = in[i - 1];  // @before
  out[i] = in[i] - left;
}

__global__ void vectors(const float4* in, float* out, int n) {
  const int i = threadIdx.x;
  if (BUG(i * 4 < n, i * 4 + 3 < n)) out[i] = in[i].x + in[i].w;  // @vector
}

__global__ void scatter(const int* index, int* bins) {
  const int i = threadIdx.x;
  atomicAdd(&bins[BUG(index[i] + 60, index[i])], 1);  // @scatter
}

__global__ void halo(const float* in, float* out) {
  __shared__ float s[66];
  const int t = threadIdx.x;
  s[t + 1] = in[t];
  if (t == 0) s[0] = s[65] = 0;
  __syncthreads();
  out[t] = s[t] + s[t + BUG(4, 2)];  // @halo
}

__global__ void padded(const float* in, float* out, int n) {
  extern __shared__ float tile[];
  const int t = threadIdx.x;
  tile[t * BUG(3, 2)] = in[t];  // @pad
  __syncthreads();
  out[t] = tile[t * BUG(3, 2)];  // @pad_read
}

__global__ void stack(const int* in, int* out) {
  int a[8];
  for (int i = 0; i < 8; ++i) a[i] = in[i];
  int sum = 0;
  for (int i = 0; i < 8; ++i) a[in[i + threadIdx.x] & 7] += i;
  for (int i = 0; i < 8; ++i) sum += a[i];
  out[threadIdx.x] = sum + a[in[threadIdx.x] BUG(*64, &7)];  // @stack
}

__global__ void unaligned(const char* in, float* out) {
  out[threadIdx.x] = reinterpret_cast<const float*>(in + BUG(2, 4))[threadIdx.x];  // @unaligned
}

__global__ void freed(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x];  // @freed
}

int main() {
  float *in = device_array<float>(40 * 30), *out = device_array<float>(40 * 30);
  int *numbers = device_array<int>(64), *bins = device_array<int>(64);
  rows<<<dim3(2, 3), dim3(16, 16)>>>(in, out, 40, 30);
  float* small = device_array<float>(64);
  previous<<<1, 64>>>(small, out);
  float* odd = device_array<float>(63);
  vectors<<<1, 32>>>(reinterpret_cast<float4*>(odd), out, 63);
  scatter<<<1, 32>>>(numbers, bins);
  halo<<<1, 64>>>(in, out);
  float* room = device_array<float>(64);
  padded<<<1, 64, 64 * 2 * sizeof(float)>>>(in, room, 64);
  stack<<<1, 32>>>(numbers, bins);
  unaligned<<<1, 32>>>(reinterpret_cast<char*>(in), out);
  float* gone = device_array<float>(64);
  BUG(cudaFree(gone), );
  freed<<<1, 64>>>(gone, out);
  return finish();
}
