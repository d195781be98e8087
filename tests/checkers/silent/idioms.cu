// Correct code that looks suspicious: pointers before an array's start, two arrays walked with one
// index, halves of a warp that shuffle for themselves, a reduction that reads beyond its width but
// drops it, a lock, a grid-wide flag, threads that return early without a barrier after it.
#include <cstdio>
#include <vector>

// One pointer runs below its array before an index brings it back; the two arrays are one loop.
__global__ void based_at_one(const float* in, float* out, int n) {
  __shared__ float low[64], high[64];
  const int t = threadIdx.x;
  float* one_based = low + (n - 65);
  one_based[t + 1] = in[t];
  (t < 32 ? low : high)[t] = in[t];
  if (t < 32) high[t] = in[t] * 2;
  __syncthreads();
  float* p = t & 1 ? low : high;
  out[t] = p[63 - t] + one_based[n - t];
}

// What C++ forbids but machine code may do: the arrays of a struct are one variable.
struct Tiles {
  float a[16][16];
  float b[16][16];
};
__global__ void one_variable(const float* in, float* out) {
  __shared__ Tiles s;
  float* all = &s.a[0][0];
  for (int i = threadIdx.x; i < 512; i += 64) all[i] = in[i & 63];
  __syncthreads();
  out[threadIdx.x] = s.a[threadIdx.x / 16][threadIdx.x % 16] + s.b[3][threadIdx.x % 16];
}

__global__ void half_warps(const int* in, int* out) {
  const int lane = threadIdx.x & 31;
  int v = in[threadIdx.x];
  const unsigned mine = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  for (int d = 8; d > 0; d /= 2) v += __shfl_down_sync(mine, v, d, 16);
  v = __shfl_sync(mine, v, 0, 16);
  if (lane < 16) v += __shfl_xor_sync(0x0000ffffu, v, 1);
  out[threadIdx.x] = v;
}

__global__ void lock(int* mutex, int* total, const int* in) {
  for (int i = 0; i < 32; ++i) {
    if ((threadIdx.x & 31) != i) continue;
    while (atomicCAS(mutex, 0, 1) != 0) {
    }
    __threadfence();
    *total += in[threadIdx.x];
    __threadfence();
    atomicExch(mutex, 0);
  }
}

__global__ void early(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float s[64];
  s[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (i >= n) return;
  out[i] = s[63 - threadIdx.x];
}

int main() {
  std::vector<float> host(128, 1);
  float *in, *out;
  int *numbers, *result, *cells;
  bool good = cudaMalloc(&in, 128 * 4) == cudaSuccess && cudaMalloc(&out, 128 * 4) == cudaSuccess;
  good = good && cudaMalloc(&numbers, 128 * 4) == cudaSuccess &&
         cudaMalloc(&result, 128 * 4) == cudaSuccess;
  good = good && cudaMalloc(&cells, 8) == cudaSuccess && cudaMemset(cells, 0, 8) == cudaSuccess;
  good = good && cudaMemset(numbers, 0, 128 * 4) == cudaSuccess;
  good = good && cudaMemcpy(in, host.data(), 128 * 4, cudaMemcpyHostToDevice) == cudaSuccess;
  based_at_one<<<1, 64>>>(in, out, 64);
  one_variable<<<1, 64>>>(in, out);
  half_warps<<<1, 64>>>(numbers, result);
  lock<<<2, 64>>>(cells, cells + 1, numbers);
  early<<<2, 64>>>(in, out, 100);
  good = good && cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess;
  // Host code that tries, and asks why.
  void* huge = nullptr;
  if (cudaMalloc(&huge, size_t(1) << 50) != cudaSuccess)
    std::printf("no room: %s\n", cudaGetErrorString(cudaGetLastError()));
  return good ? 0 : 1;
}
