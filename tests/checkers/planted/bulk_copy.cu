// Bulk copies (cp.async.bulk, what TMA does): one thread asks for many bytes, an mbarrier says when they are there.
//
// expect: early: error race-shared @early_copy @early_read
// expect: early: error race-shared @early_copy
// expect: ring: error race-shared @ring_read @ring_copy
// expect: outside: error oob-global @outside_copy
// expect: store: error race-shared @store_write @store_copy
// allow: store: error uninit-shared @store_copy
#include "bulk.h"
#include "planted.h"

#ifndef PLANTED_BULK_COPY
#define PLANTED_BULK_COPY
// A macro: the line of the kernel, not one here.
#define BULK_STORE(to, from, bytes)                                         \
  asm volatile(                                                             \
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"       \
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::"l"(to), \
      "r"(shared_offset(from)), "r"(unsigned(bytes))                        \
      : "memory")
#endif

namespace PLANTED {

constexpr int kThreads = 128;

// A reversed tile: a barrier of the threads says nothing of the copy.
__global__ void early(const float* in, float* out) {
  __shared__ __align__(16) float s[kThreads];
  __shared__ unsigned long long full;
  const int t = threadIdx.x;
  if (t == 0) MBARRIER_INIT(&full, 1);
  __syncthreads();
  if (t == 0) BULK_LOAD(s, in, sizeof s, &full);  // @early_copy
  BUG(__syncthreads(), MBARRIER_WAIT(&full, 0));
  out[t] = s[kThreads - 1 - t];  // @early_read
}
void early_case() {
  early<<<1, kThreads>>>(device_array<float>(kThreads), device_array<float>(kThreads));
}

// Two stages: who says that a stage is free has read it.
__global__ void ring(const float* in, float* out, int steps) {
  __shared__ __align__(16) float s[2][kThreads];
  __shared__ unsigned long long full[2], empty[2];
  const int t = threadIdx.x;
  if (t == 0)
    for (int stage = 0; stage < 2; ++stage) {
      MBARRIER_INIT(&full[stage], 1);
      MBARRIER_INIT(&empty[stage], kThreads);
    }
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < steps + 1; ++i) {
    const int stage = i % 2;
    if (t == 0 && i < steps) {
      if (i >= 2) MBARRIER_WAIT(&empty[stage], (i / 2 - 1) & 1);
      BULK_LOAD(s[stage], in + i * kThreads, sizeof s[0], &full[stage]);  // @ring_copy
    }
    if (i == 0) continue;
    const int ready = (i - 1) % 2;
    MBARRIER_WAIT(&full[ready], ((i - 1) / 2) & 1);
    BUG(MBARRIER_ARRIVE(&empty[ready]), );
    sum += s[ready][kThreads - 1 - t];  // @ring_read
    BUG(, MBARRIER_ARRIVE(&empty[ready]));
  }
  out[t] = sum;
}
void ring_case() {
  ring<<<1, kThreads>>>(device_array<float>(6 * kThreads), device_array<float>(kThreads), 6);
}

// The last tile is not whole.
__global__ void outside(const float* in, float* out, int n) {
  __shared__ __align__(16) float s[kThreads];
  __shared__ unsigned long long full;
  const int t = threadIdx.x, first = blockIdx.x * kThreads;
  if (t == 0) MBARRIER_INIT(&full, 1);
  __syncthreads();
  const unsigned bytes = BUG(kThreads, min(kThreads, n - first)) * sizeof(float);
  if (t == 0) BULK_LOAD(s, in + first, bytes, &full);  // @outside_copy
  MBARRIER_WAIT(&full, 0);
  if (first + t < n) out[first + t] = s[t];
}
void outside_case() {
  constexpr int n = 3 * kThreads - 28;
  outside<<<3, kThreads>>>(device_array<float>(n), device_array<float>(n), n);
}

// A tile goes out when all of it has been written.
__global__ void store(float* out) {
  __shared__ __align__(16) float s[kThreads];
  const int t = threadIdx.x;
  s[t] = t;  // @store_write
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  BUG(, __syncthreads());
  if (t == 0) BULK_STORE(out, s, sizeof s);  // @store_copy
}
void store_case() { store<<<1, kThreads>>>(device_array<float>(kThreads)); }

int program(const char* only) {
  return run_cases({{"early", early_case},
                    {"ring", ring_case},
                    {"outside", outside_case},
                    {"store", store_case}},
                   only);
}

}  // namespace PLANTED
