// Host side: errors that the program ignores, frees that cannot be, memory that is never freed.
//
// options: --leak-check full
// expect: threads: error api-error @threads
// expect: dynamic_shared: error api-error @dynamic_shared
// expect: copy: warning api-error @copy
// expect: event: warning api-error @event
// expect: twice: error invalid-free @twice allocated=@twice_allocated freed=@twice_first
// expect: interior: error invalid-free @interior allocated=@interior_allocated
// expect: on_stack: error invalid-free @on_stack
// expect: wrong_call: error invalid-free @wrong_call
// expect: loop: warning leak @loop
// expect: early: warning leak @early
// expect: pinned: warning leak @pinned
// expect: managed: warning leak @managed
// expect: device_heap: warning leak @device_heap
#include "planted.h"

namespace PLANTED {

__global__ void scale(float* a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= 2;
}
__global__ void tile(float* a) {
  extern __shared__ float s[];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

void threads_case() {
  float* a = device_array<float>(2048);
  scale<<<1, BUG(2048, 1024)>>>(a, 2048);  // @threads
  cudaFree(a);
}

void dynamic_shared_case() {
  float* a = device_array<float>(128);
  tile<<<1, 128, BUG(100 << 10, 48 << 10)>>>(a);  // @dynamic_shared
  cudaFree(a);
}

void copy_case() {
  float* a = device_array<float>(64);
  std::vector<float> host(128);
  cudaMemcpy(host.data(), a, BUG(128, 64) * sizeof(float), cudaMemcpyDeviceToHost);  // @copy
  cudaFree(a);
}

void event_case() {
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  float* a = device_array<float>(64);
  cudaEventRecord(start);
  scale<<<1, 64>>>(a, 64);
  BUG(, cudaEventRecord(stop));
  cudaDeviceSynchronize();
  float ms = 0;
  cudaEventElapsedTime(&ms, start, stop);  // @event
  cudaFree(a);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
}

void twice_case() {
  float* a = device_array<float>(64);  // @twice_allocated
  scale<<<1, 64>>>(a, 64);
  cudaFree(a);  // @twice_first
  BUG(, a = nullptr);
  cudaFree(a);  // @twice
}

void interior_case() {
  float* a = device_array<float>(64);  // @interior_allocated
  cudaFree(BUG(a + 32, a));            // @interior
  BUG(cudaFree(a), );
}

void on_stack_case() {
  float values[16] = {};
  float* a = device_array<float>(16);
  cudaMemcpy(a, values, sizeof values, cudaMemcpyHostToDevice);
  cudaFree(BUG(values, a));  // @on_stack
  BUG(cudaFree(a), );
}

void wrong_call_case() {
  float* staging = nullptr;
  cudaMallocHost(&staging, 64 * sizeof(float));
  staging[0] = 1;
  BUG(cudaFree, cudaFreeHost)(staging);  // @wrong_call
  BUG(cudaFreeHost(staging), );
}

void loop_case() {
  float* buffer = nullptr;
  for (int i = 0; i < 5; ++i) {
    buffer = device_array<float>(32);  // @loop
    scale<<<1, 32>>>(buffer, 32);
    BUG(, cudaFree(buffer));
  }
  BUG(cudaFree(buffer), );
}

bool early(int n) {
  float* a = device_array<float>(256);  // @early
  if (n > 256) {
    BUG(, cudaFree(a));
    return false;
  }
  scale<<<1, 256>>>(a, n);
  cudaFree(a);
  return true;
}
void early_case() {
  early(100);
  early(300);
}

void pinned_case() {
  void* staging = nullptr;
  cudaMallocHost(&staging, 1000);  // @pinned
  std::memset(staging, 0, 1000);
  BUG(, cudaFreeHost(staging));
}

void managed_case() {
  float* a = nullptr;
  cudaMallocManaged(&a, 100 * sizeof(float));  // @managed
  for (int i = 0; i < 100; ++i) a[i] = float(i);
  scale<<<1, 128>>>(a, 100);
  cudaDeviceSynchronize();
  BUG(, cudaFree(a));
}

// A list that device code makes and does not take down.
__global__ void list(int* out) {
  struct Node {
    Node* next;
    int value;
  };
  Node* head = nullptr;
  for (int i = 0; i < 3; ++i) head = new Node{head, i};
  int sum = 0;
  for (const Node* n = head; n != nullptr; n = n->next) sum += n->value;
  out[threadIdx.x] = sum;
  while (head != nullptr) {
    Node* const next = head->next;
    BUG(, delete head);
    head = next;
  }
}
void device_heap_case() {
  int* out = device_array<int>(8);
  list<<<1, 8>>>(out);  // @device_heap
  cudaFree(out);
}

int program(const char* only) {
  return run_cases({{"threads", threads_case},
                    {"dynamic_shared", dynamic_shared_case},
                    {"copy", copy_case},
                    {"event", event_case},
                    {"twice", twice_case},
                    {"interior", interior_case},
                    {"on_stack", on_stack_case},
                    {"wrong_call", wrong_call_case},
                    {"loop", loop_case},
                    {"early", early_case},
                    {"pinned", pinned_case},
                    {"managed", managed_case},
                    {"device_heap", device_heap_case}},
                   only);
}

}  // namespace PLANTED
