// The wrong side's memory: kernels that are given host pointers, host code that uses device
// pointers (each ends the program), and kernels that end with a fault.
//
// alone: reads_result writes_input copies_row reads_freed
// expect: heap: error host-access @heap
// expect: heap: error host-access @heap_store
// expect: on_stack: error host-access @on_stack
// expect: variable: error host-access @variable
// expect: pointers: error host-access @pointers
// expect: reads_result: error host-access @reads_result allocated=@reads_result_allocated
// expect: writes_input: error host-access @writes_input
// expect: copies_row: error host-access @copies_row
// expect: reads_freed: error host-access @reads_freed freed=@reads_freed_free
// expect: assertion: error kernel-fault @assertion
// expect: trap: error kernel-fault @trap
// expect: state: error kernel-fault @state
// expect: no_function: error kernel-fault @no_function
#include <cassert>
#include <cstdlib>

#include "planted.h"

namespace PLANTED {

__global__ void negate(const float* in, float* out) {
  const float v = in[threadIdx.x];  // @heap
  out[threadIdx.x] = -v;            // @heap_store
}
void heap_case() {
  auto* host = static_cast<float*>(std::calloc(4096, sizeof(float)));
  float* device = device_array<float>(64);
  negate<<<1, 64>>>(BUG(host, device), BUG(host, device));
  cudaDeviceSynchronize();
  std::free(host);
}

__global__ void count(const int* in, int* total) {
  if (in[threadIdx.x] > 5) atomicAdd(total, 1);  // @on_stack
}
void on_stack_case() {
  int total = 0;
  int* device_total = device_array<int>(1);
  count<<<1, 64>>>(device_array<int>(64), BUG(&total, device_total));
  cudaDeviceSynchronize();
  cudaMemcpy(&total, device_total, sizeof total, cudaMemcpyDeviceToHost);
}

float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__global__ void convolve(const float* in, const float* w, float* out) {
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += in[threadIdx.x + i] * w[i];  // @variable
  out[threadIdx.x] = sum;
}
void variable_case() {
  float* copy = device_array<float>(8);
  cudaMemcpy(copy, weights, sizeof weights, cudaMemcpyHostToDevice);
  convolve<<<1, 32>>>(device_array<float>(64), BUG(weights, copy), device_array<float>(64));
  cudaDeviceSynchronize();
}

// A batch: the array of pointers itself must lie on the device.
__global__ void batch(float* const* matrices) {
  float* m = matrices[blockIdx.x];  // @pointers
  if (m != nullptr) m[threadIdx.x] += 1;
}
void pointers_case() {
  std::vector<float*> matrices(512);
  for (int i = 0; i < 4; ++i) matrices[i] = device_array<float>(32);
  float** on_device = nullptr;
  cudaMalloc(&on_device, 4 * sizeof(float*));
  cudaMemcpy(on_device, matrices.data(), 4 * sizeof(float*), cudaMemcpyHostToDevice);
  batch<<<4, 32>>>(BUG(matrices.data(), on_device));
  cudaDeviceSynchronize();
}

void reads_result_case() {
  float* out = device_array<float>(64);  // @reads_result_allocated
  float host[64];
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  const float first = BUG(out, host)[0];  // @reads_result
  std::printf("%g\n", first);
}

void writes_input_case() {
  float* in = nullptr;
  BUG(cudaMalloc, cudaMallocManaged)(&in, 64 * sizeof(float));
  for (int i = 0; i < 64; ++i) in[i] = float(i);  // @writes_input
}

void copies_row_case() {
  float* out = device_array<float>(64);
  std::vector<float> host(64);
  BUG(std::memcpy(host.data(), out, 256),  // @copies_row
      cudaMemcpy(host.data(), out, 256, cudaMemcpyDeviceToHost));
}

void reads_freed_case() {
  int* flags = nullptr;
  cudaMallocManaged(&flags, 64 * sizeof(int));
  flags[0] = 1;
  BUG(cudaFree(flags), );         // @reads_freed_free
  std::printf("%d\n", flags[0]);  // @reads_freed
}

__global__ void assertion(const int* in) {
  assert(in[threadIdx.x] BUG(< 5, < 500));  // @assertion
}
void assertion_case() { assertion<<<1, 32>>>(device_array<int>(64)); }

__global__ void trap(const int* in, int* out) {
  if (in[threadIdx.x] == BUG(7, 700)) __trap();  // @trap
  out[threadIdx.x] = 1;
}
void trap_case() { trap<<<1, 32>>>(device_array<int>(64), device_array<int>(64)); }

// A state machine with a state that has no transition.
__global__ void state(const int* in, int* out) {
  int s = in[threadIdx.x] BUG(, &3);
  for (int i = 0; i < 4; ++i) switch (s) {
      case 0: s = 1; break;
      case 1: s = 2; break;
      case 2: s = 3; break;
      case 3: s = 0; break;
      default: asm volatile("trap;");  // @state
    }
  out[threadIdx.x] = s;
}
void state_case() { state<<<1, 32>>>(device_array<int>(64), device_array<int>(64)); }

using Operation = float (*)(float);
__device__ float square(float x) { return x * x; }
__device__ float half(float x) { return x / 2; }
__global__ void no_function(const int* which, float* out) {
  const Operation table[3] = {square, half, BUG(nullptr, half)};
  out[threadIdx.x] = table[which[threadIdx.x] % 3](2.0f);  // @no_function
}
void no_function_case() { no_function<<<1, 32>>>(device_array<int>(64), device_array<float>(64)); }

int program(const char* only) {
  return run_cases({{"heap", heap_case},
                    {"on_stack", on_stack_case},
                    {"variable", variable_case},
                    {"pointers", pointers_case},
                    {"reads_result", reads_result_case},
                    {"writes_input", writes_input_case},
                    {"copies_row", copies_row_case},
                    {"reads_freed", reads_freed_case},
                    {"assertion", assertion_case},
                    {"trap", trap_case},
                    {"state", state_case},
                    {"no_function", no_function_case}},
                   only);
}

}  // namespace PLANTED
