// Global memory: accesses out of bounds, misaligned, to freed memory.
//
// expect: nothing_there: error oob-global @nothing_there
// expect: free_twice: error invalid-free @free_twice
// expect: free_inside: error invalid-free @free_inside
// expect: free_of_host: error invalid-free @free_of_host
// expect: rows: error oob-global @last_row allocated=@rows_in
// expect: rows: error oob-global @last_row_store allocated=@rows_out
// expect: previous: error oob-global @before
// expect: vectors: error oob-global @vector
// expect: scatter: error oob-global @scatter
// expect: unaligned: error misaligned @unaligned
// expect: row_vectors: error misaligned @row_vector
// expect: pairs: error misaligned @pair
// expect: shared_vectors: error misaligned @shared_vector
// expect: freed: error use-after-free @freed allocated=@freed_allocated freed=@freed_free
// expect: double_buffer: error use-after-free @step freed=@step_free
// expect: bins: error use-after-free @bins
// expect: given_again: error use-after-free @given_again freed=@given_again_free
// expect: freed_async: error use-after-free @freed_async
#include "planted.h"

namespace PLANTED {

// The epilogue of a GEMM whose last row of tiles is ragged.
__global__ void rows(const float* in, float* out, int m, int n) {
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (col < n && BUG(row <= m, row < m)) {
    const float sum = in[row * n + col];  // @last_row
    out[row * n + col] = sum * 2;         // @last_row_store
  }
}
void rows_case() {
  float* in = device_array<float>(40 * 30);   // @rows_in
  float* out = device_array<float>(40 * 30);  // @rows_out
  rows<<<dim3(2, 3), dim3(16, 16)>>>(in, out, 40, 30);
}

// A stencil that reads its left neighbour.
__global__ void previous(const float* in, float* out) {
  const int i = threadIdx.x;
  float left = 0;
  if (BUG(true, i > 0)) left = in[i - 1];  // @before
  out[i] = in[i] - left;
}
void previous_case() {
  float *in = device_array<float>(64), *out = device_array<float>(64);
  previous<<<1, 64>>>(in, out);
}

__global__ void vectors(const float4* in, float* out, int n) {
  const int i = threadIdx.x;
  if (BUG(i * 4 < n, i * 4 + 3 < n)) out[i] = in[i].x + in[i].w;  // @vector
}
void vectors_case() {
  float *in = device_array<float>(63), *out = device_array<float>(63);
  vectors<<<1, 32>>>(reinterpret_cast<float4*>(in), out, 63);
}

// A histogram whose bins are fewer than the values.
__global__ void scatter(const int* index, int* bins) {
  const int i = threadIdx.x;
  atomicAdd(&bins[BUG(index[i] + 60, index[i])], 1);  // @scatter
}
void scatter_case() { scatter<<<1, 32>>>(device_array<int>(64), device_array<int>(64)); }

__global__ void unaligned(const char* in, float* out) {
  out[threadIdx.x] = reinterpret_cast<const float*>(in + BUG(2, 4))[threadIdx.x];  // @unaligned
}
void unaligned_case() {
  unaligned<<<1, 32>>>(reinterpret_cast<char*>(device_array<float>(64)), device_array<float>(64));
}

// A vectorised copy of rows that are no multiple of the vector long.
__global__ void row_vectors(const float* in, float* out, int pitch) {
  const float* row = in + threadIdx.y * pitch;
  const float4 v = *reinterpret_cast<const float4*>(row + threadIdx.x * 4);  // @row_vector
  out[threadIdx.y * 8 + threadIdx.x] = v.x + v.y + v.z + v.w;
}
void row_vectors_case() {
  row_vectors<<<1, dim3(8, 8)>>>(device_array<float>(512), device_array<float>(64), BUG(33, 36));
}

// A reduction over pairs that starts at an odd element.
__global__ void pairs(int* a, int n) {
  int2* p = reinterpret_cast<int2*>(a + BUG(1, 2));
  const int i = threadIdx.x;
  if (i < n) atomicMax(reinterpret_cast<unsigned long long*>(p + i), 5ull);  // @pair
}
void pairs_case() { pairs<<<1, 32>>>(device_array<int>(128), 31); }

// Fragments read from a tile whose rows were padded by one.
__global__ void shared_vectors(const float* in, float* out) {
  __shared__ alignas(16) float tile[16][BUG(17, 20)];
  const int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[y * 16 + x];
  __syncthreads();
  if (x < 4) {
    const float4 v = *reinterpret_cast<const float4*>(&tile[y][x * 4]);  // @shared_vector
    out[y * 4 + x] = v.x * v.w;
  }
}
void shared_vectors_case() {
  shared_vectors<<<1, dim3(16, 16)>>>(device_array<float>(256), device_array<float>(64));
}

__global__ void freed(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x];  // @freed
}
void freed_case() {
  float* out = device_array<float>(64);
  float* in = device_array<float>(64);  // @freed_allocated
  BUG(cudaFree(in), );                  // @freed_free
  freed<<<1, 64>>>(in, out);
}

// Two buffers that change places; the older one is freed a step too early.
__global__ void step(const float* from, float* to) {
  const int i = threadIdx.x;
  to[i] = 0.5f * (from[(i + 63) & 63] + from[(i + 1) & 63]);  // @step
}
void double_buffer_case() {
  float *from = device_array<float>(64), *to = device_array<float>(64);
  step<<<1, 64>>>(from, to);
  BUG(cudaFree(from), );  // @step_free
  float* next = device_array<float>(4096);
  step<<<1, 64>>>(to, next);
  step<<<1, 64>>>(from, next + 64);
}

__global__ void bins(const int* in, int* out) {
  atomicAdd(&out[in[threadIdx.x]], 1);  // @bins
}
void bins_case() {
  int *in = device_array<int>(64), *out = device_array<int>(64);
  for (int i = 0; i < 2; ++i) {
    bins<<<1, 64>>>(in, out);
    BUG(if (i == 0) cudaFree(out), );
  }
}

__global__ void last_use(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x] * 2;  // @freed_async
}
void freed_async_case() {
  float *in = nullptr, *out = device_array<float>(64);
  cudaMallocAsync(&in, 64 * sizeof(float), cudaStreamPerThread);
  cudaMemsetAsync(in, 0, 64 * sizeof(float), cudaStreamPerThread);
  BUG(cudaFreeAsync(in, cudaStreamPerThread), );
  last_use<<<1, 64, 0, cudaStreamPerThread>>>(in, out);
  BUG(, cudaFreeAsync(in, cudaStreamPerThread));
}

// An array of the same size has been allocated since: it does not lie where the other was.
__global__ void given_again(float* values) {
  values[threadIdx.x] = threadIdx.x;  // @given_again
}
void given_again_case() {
  float* first = device_array<float>(64);
  cudaFree(first);  // @given_again_free
  float* second = device_array<float>(64);
  given_again<<<1, 64>>>(BUG(first, second));
  cudaDeviceSynchronize();
  cudaFree(second);
}

// An allocation that has failed, and nobody has looked.
__global__ void nothing_there(float* values, int n) {
  if (threadIdx.x < n) values[threadIdx.x] = 1;  // @nothing_there
}
void nothing_there_case() { nothing_there<<<1, 64>>>(BUG(nullptr, device_array<float>(64)), 64); }

// A list that device code takes down twice, from within, and with what the host owns.
__global__ void free_twice(int* out) {
  int* const own = new int[4];
  own[3] = threadIdx.x;
  out[threadIdx.x] = own[3];
  delete[] own;
  BUG(delete[] own, );  // @free_twice
}
void free_twice_case() { free_twice<<<1, 2>>>(device_array<int>(2)); }
__global__ void free_inside(int* out) {
  int* const own = static_cast<int*>(malloc(4 * sizeof(int)));
  own[1] = out[0];
  out[1] = own[1];
  free(own + BUG(1, 0));  // @free_inside
}
void free_inside_case() { free_inside<<<1, 1>>>(device_array<int>(2)); }
__global__ void free_of_host(int* out) {
  int* const own = static_cast<int*>(malloc(sizeof(int)));
  *own = out[0];
  out[1] = *own;
  BUG(free(out), );  // @free_of_host
  free(own);
}
void free_of_host_case() { free_of_host<<<1, 1>>>(device_array<int>(2)); }

int program(const char* only) {
  return run_cases({{"rows", rows_case},
                    {"previous", previous_case},
                    {"vectors", vectors_case},
                    {"scatter", scatter_case},
                    {"unaligned", unaligned_case},
                    {"row_vectors", row_vectors_case},
                    {"pairs", pairs_case},
                    {"shared_vectors", shared_vectors_case},
                    {"freed", freed_case},
                    {"double_buffer", double_buffer_case},
                    {"bins", bins_case},
                    {"given_again", given_again_case},
                    {"freed_async", freed_async_case},
                    {"nothing_there", nothing_there_case},
                    {"free_twice", free_twice_case},
                    {"free_inside", free_inside_case},
                    {"free_of_host", free_of_host_case}},
                   only);
}

}  // namespace PLANTED
