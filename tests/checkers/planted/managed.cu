// Managed memory that the host touches while a kernel may still use it.
//
// expect: reads: error race-global @scale @first_read
// expect: part: error race-global @tail @late_read
// expect: refill: error race-global @sum_up @refill
// expect: wrong_stream: error race-global @scale @other_stream
// expect: own_handler: error race-global @scale @handled_read
// expect: after_many: error race-global @scale @after_many
#include <unistd.h>

#include <csignal>

#include "planted.h"

namespace PLANTED {

volatile float seen;  // keeps the host's reads

template <class T> T* managed_array(size_t n) {
  T* p = nullptr;
  cudaMallocManaged(&p, n * sizeof(T));
  for (size_t i = 0; i < n; ++i) p[i] = T(i);
  return p;
}

__global__ void scale(float* a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= 2;  // @scale
}

// The result is read without waiting for the kernel.
void reads_case() {
  float* a = managed_array<float>(4096);
  scale<<<16, 256>>>(a, 4096);
  BUG(, cudaDeviceSynchronize());
  float sum = 0;
  for (int i = 0; i < 64; ++i) sum += a[i * 64];  // @first_read
  seen = sum;
  cudaDeviceSynchronize();
  cudaFree(a);
}

// The kernel writes the second half only: the host may read the first one, on the same page.
__global__ void tail(float* a) {
  a[256 + threadIdx.x] = float(threadIdx.x);  // @tail
}
void part_case() {
  float* a = managed_array<float>(512);
  tail<<<1, 256>>>(a);
  float sum = 0;
  for (int i = 0; i < 256; ++i) sum += a[i];
  seen = sum + a[BUG(256, 255)];  // @late_read
  cudaDeviceSynchronize();
  cudaFree(a);
}

// The input of the next step is written while this one may still read it.
__global__ void sum_up(const float* in, float* out) {
  float sum = 0;
  for (int i = 0; i < 128; ++i) sum += in[threadIdx.x * 128 + i];  // @sum_up
  out[threadIdx.x] = sum;
}
void refill_case() {
  float* in = managed_array<float>(128 * 32);
  float* out = device_array<float>(32);
  for (int step = 0; step < 2; ++step) {
    sum_up<<<1, 32>>>(in, out);
    BUG(, cudaStreamSynchronize(0));
    for (int i = 0; i < 128; ++i) in[i] = float(step);  // @refill
  }
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
}

// Two streams; the host waits for the other one.
void wrong_stream_case() {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  float* x = managed_array<float>(1024);
  float* y = managed_array<float>(1024);
  scale<<<4, 256, 0, a>>>(x, 1024);
  scale<<<4, 256, 0, b>>>(y, 1024);
  cudaStreamSynchronize(BUG(b, a));
  seen = x[1000];  // @other_stream
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}

// The program has a handler for its own faults, put in place after the first CUDA call.
void own_handler_case() {
  float* a = managed_array<float>(1024);
  struct sigaction own = {}, before;
  own.sa_handler = [](int) { _exit(99); };
  sigaction(SIGSEGV, &own, &before);
  scale<<<4, 256>>>(a, 1024);
  BUG(, cudaDeviceSynchronize());
  seen = a[700];  // @handled_read
  cudaDeviceSynchronize();
  sigaction(SIGSEGV, &before, nullptr);
  cudaFree(a);
}

// So many harmless accesses that they are not followed any more, until the host has waited.
void after_many_case() {
  float* a = managed_array<float>(1024);
  tail<<<1, 256>>>(a);
  float sum = 0;
  for (int i = 0; i < 20000; ++i) sum += a[i & 127];
  cudaDeviceSynchronize();
  scale<<<4, 256>>>(a, 1024);
  BUG(, cudaDeviceSynchronize());
  seen = sum + a[5];  // @after_many
  cudaDeviceSynchronize();
  cudaFree(a);
}

int program(const char* only) {
  return run_cases({{"reads", reads_case},
                    {"part", part_case},
                    {"refill", refill_case},
                    {"wrong_stream", wrong_stream_case},
                    {"own_handler", own_handler_case},
                    {"after_many", after_many_case}},
                   only);
}

}  // namespace PLANTED
