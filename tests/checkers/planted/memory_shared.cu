// Shared and local memory out of bounds: past the end of what the CTA has, and from one array into
// another.
//
// not-G: private_bins below
// expect: halo: error oob-shared @halo
// expect: padded: error oob-shared @pad
// expect: padded: error oob-shared @pad_read
// expect: two_tiles: error oob-shared @two_tiles
// expect: one_block: error oob-shared @one_block
// expect: ring: error oob-shared @ring
// expect: private_bins: error oob-shared @private_bins
// expect: left_edge: error oob-shared @left_edge
// expect: stack_read: error oob-local @stack_read
// expect: stack_write: error oob-local @stack_write
// expect: window: error oob-local @window
// expect: below: error oob-local @below
#include "planted.h"

namespace PLANTED {

__global__ void halo(const float* in, float* out) {
  __shared__ float s[66];
  const int t = threadIdx.x;
  s[t + 1] = in[t];
  if (t == 0) s[0] = s[65] = 0;
  __syncthreads();
  out[t] = s[t] + s[t + BUG(4, 2)];  // @halo
}
void halo_case() { halo<<<1, 64>>>(device_array<float>(64), device_array<float>(64)); }

__global__ void padded(const float* in, float* out) {
  extern __shared__ float tile[];
  const int t = threadIdx.x;
  tile[t * BUG(3, 2)] = in[t];  // @pad
  __syncthreads();
  out[t] = tile[t * BUG(3, 2)];  // @pad_read
}
void padded_case() {
  padded<<<1, 64, 64 * 2 * sizeof(float)>>>(device_array<float>(64), device_array<float>(64));
}

// GEMM: a row of A is read as if its tile were as deep as that of B.
__global__ void two_tiles(const float* a, const float* b, float* c, int depth) {
  __shared__ float a_tile[16 * 16];
  __shared__ float b_tile[16 * 16];
  const int x = threadIdx.x, y = threadIdx.y;
  a_tile[y * 16 + x] = a[y * 16 + x];
  b_tile[y * 16 + x] = b[y * 16 + x];
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < depth; ++i) {
    const float left = a_tile[y * 16 + i];  // @two_tiles
    sum += left * b_tile[(i & 15) * 16 + x];
  }
  c[y * 16 + x] = sum;
}
void two_tiles_case() {
  two_tiles<<<1, dim3(16, 16)>>>(device_array<float>(256), device_array<float>(256),
                                 device_array<float>(256), BUG(18, 16));
}

// Stencil: of many blocks only one in the middle, which has more neighbours, leaves its array.
__global__ void one_block(const float* in, float* out) {
  __shared__ float before[64];
  __shared__ float values[64];
  const int t = threadIdx.x, block = blockIdx.x;
  before[t] = in[t];
  values[t] = in[64 + t];
  __syncthreads();
  const int reach = block == 3 ? BUG(48, 32) : 32;
  float sum = values[t];
  if (t < 32) sum += before[t + reach];  // @one_block
  out[block * 64 + t] = sum;
}
void one_block_case() {
  one_block<<<8, 64>>>(device_array<float>(128), device_array<float>(8 * 64));
}

// Producer and consumer share a ring; the writer forgets to wrap.
__global__ void ring(const int* in, int* out, int n) {
  __shared__ int slots[64];
  __shared__ int sums[64];
  const int t = threadIdx.x;
  sums[t] = 0;
  for (int i = 0; i < n; i += 32) {
    if (t < 32) slots[BUG(i + t, (i + t) & 63)] = in[i + t];  // @ring
    __syncthreads();
    sums[t] += slots[(i & 32) + (t & 31)];
    __syncthreads();
  }
  out[t] = sums[t];
}
void ring_case() { ring<<<1, 64>>>(device_array<int>(128), device_array<int>(64), 128); }

// A histogram with bins of its own for each warp, and one bin too many.
__global__ void private_bins(const int* in, int* out) {
  __shared__ int counts[4 * 16];
  __shared__ int totals[64];
  const int t = threadIdx.x, warp = t / 32;
  if (t < 64) counts[t] = totals[t] = 0;
  __syncthreads();
  atomicAdd(&counts[warp * BUG(17, 16) + in[t]], 1);  // @private_bins
  __syncthreads();
  if (t < 64) atomicAdd(&totals[t & 15], counts[t]);
  __syncthreads();
  if (t < 16) out[t] = totals[t];
}
void private_bins_case() {
  std::vector<int> values(128, 15);
  int* in = device_array<int>(128);
  cudaMemcpy(in, values.data(), 128 * sizeof(int), cudaMemcpyHostToDevice);
  private_bins<<<1, 128>>>(in, device_array<int>(16));
}

// A stencil whose second plane lies behind the first.
__global__ void left_edge(const float* in, float* out, int reach) {
  __shared__ float above[64];
  __shared__ float plane[64];
  const int t = threadIdx.x;
  above[t] = in[t];
  plane[t] = in[64 + t];
  __syncthreads();
  float left = 0, right = 0;
  if (t >= BUG(0, reach)) left = plane[t - reach];  // @left_edge
  if (t + reach < 64) right = above[t + reach];
  out[t] = left + right;
}
void left_edge_case() {
  left_edge<<<1, 64>>>(device_array<float>(128), device_array<float>(64), 1);
}

__global__ void stack_read(const int* in, int* out) {
  int a[8];
  for (int i = 0; i < 8; ++i) a[i] = in[i];
  for (int i = 0; i < 8; ++i) a[in[i + threadIdx.x] & 7] += i;
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum += a[i];
  out[threadIdx.x] = sum + a[in[threadIdx.x] BUG(*64, &7)];  // @stack_read
}
void stack_read_case() { stack_read<<<1, 32>>>(device_array<int>(64), device_array<int>(64)); }

__global__ void stack_write(const int* in, int* out) {
  int a[8] = {};
  a[in[threadIdx.x] BUG(*100, &7)] = 1;  // @stack_write
  out[threadIdx.x] = a[in[1] & 7];
}
void stack_write_case() { stack_write<<<1, 32>>>(device_array<int>(64), device_array<int>(64)); }

// A register tile indexed by a column of the whole matrix.
__global__ void window(const float* in, float* out, int first) {
  float row[16];
  for (int i = 0; i < 16; ++i) row[i] = in[threadIdx.x + i];
  float sum = 0;
  for (int col = first; col < first + 4; ++col) sum += row[col BUG(, -first)];  // @window
  out[threadIdx.x] = sum;
}
void window_case() { window<<<1, 32>>>(device_array<float>(64), device_array<float>(64), 4096); }

// A depth-first walk that pops from an empty stack.
__global__ void below(const int* in, int* out, int pops) {
  int stack[8];
  int top = 0;
  for (int i = 0; i < 8; ++i) stack[top++] = in[i + threadIdx.x];
  int sum = 0;
  for (int i = 0; i < pops; ++i) sum += stack[top -= BUG(16, 1)];  // @below
  out[threadIdx.x] = sum;
}
void below_case() { below<<<1, 32>>>(device_array<int>(64), device_array<int>(64), 8); }

int program(const char* only) {
  return run_cases({{"halo", halo_case},
                    {"padded", padded_case},
                    {"two_tiles", two_tiles_case},
                    {"one_block", one_block_case},
                    {"ring", ring_case},
                    {"private_bins", private_bins_case},
                    {"left_edge", left_edge_case},
                    {"stack_read", stack_read_case},
                    {"stack_write", stack_write_case},
                    {"window", window_case},
                    {"below", below_case}},
                   only);
}

}  // namespace PLANTED
