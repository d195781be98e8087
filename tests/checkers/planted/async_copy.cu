// Asynchronous copies (cp.async) that are used before they are complete.
//
// expect: tile: error race-shared @tile_copy @tile_read
// expect: own: error race-shared @own_copy @own_read
// expect: stages: error race-shared @first_copy @stage_read
// expect: stages: error race-shared @stage_copy @stage_read
// expect: no_barrier: error race-shared @unordered_copy @unordered_read
// allow: no_barrier: error uninit-shared @unordered_read
// expect: arrive: error race-shared @arrive_copy @arrive_read
// expect: refill: error race-shared @refill_copy @refill_read
// expect: overtaken: error race-shared @zero_store @late_copy
#include <cuda_pipeline.h>

#include "planted.h"

#ifndef PLANTED_ASYNC_COPY
#define PLANTED_ASYNC_COPY
// The line of the kernel, not that of the toolkit's header.
__device__ inline unsigned shared_offset(const void* p) {
  return unsigned(__cvta_generic_to_shared(p));
}
#define COPY(to, from, bytes)                                                                   \
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_offset(to)), "l"(from), \
               "n"(bytes)                                                                       \
               : "memory")
#endif

namespace PLANTED {

constexpr int kThreads = 128;

// A reversed tile: nobody waits before the barrier.
__global__ void tile(const float* in, float* out) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  COPY(&s[t], in + t, 4);  // @tile_copy
  __pipeline_commit();
  BUG(, __pipeline_wait_prior(0));
  __syncthreads();
  out[t] = s[kThreads - 1 - t];  // @tile_read
}
void tile_case() {
  tile<<<1, kThreads>>>(device_array<float>(kThreads), device_array<float>(kThreads));
}

// A thread's own element, too, is there only after the wait.
__global__ void own(const float4* in, float4* out) {
  __shared__ float4 s[kThreads];
  const int t = threadIdx.x;
  COPY(&s[t], in + t, 16);  // @own_copy
  __pipeline_commit();
  __pipeline_wait_prior(BUG(1, 0));
  out[t] = s[t];  // @own_read
}
void own_case() {
  own<<<1, kThreads>>>(reinterpret_cast<float4*>(device_array<float>(4 * kThreads)),
                       reinterpret_cast<float4*>(device_array<float>(4 * kThreads)));
}

// A GEMM's loop over stages, which waits for one group too few.
template <int kStages> __global__ void stages(const float* a, float* sums, int steps) {
  __shared__ float s[kStages][kThreads];
  const int t = threadIdx.x;
  for (int i = 0; i < kStages - 1; ++i) {
    COPY(&s[i][t], a + i * kThreads + t, 4);  // @first_copy
    __pipeline_commit();
  }
  float sum = 0;
  for (int i = 0; i < steps; ++i) {
    __pipeline_wait_prior(BUG(kStages - 1, kStages - 2));
    __syncthreads();
    const int next = i + kStages - 1;
    if (next < steps) COPY(&s[next % kStages][t], a + next * kThreads + t, 4);  // @stage_copy
    __pipeline_commit();
    for (int j = 0; j < 4; ++j) sum += s[i % kStages][(t + 32 * j) % kThreads];  // @stage_read
  }
  sums[t] = sum;
}
void stages_case() {
  stages<3><<<1, kThreads>>>(device_array<float>(8 * kThreads), device_array<float>(kThreads), 8);
}

// Waited for, but not told to the others.
__global__ void no_barrier(const float* in, float* out) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  COPY(&s[t], in + t, 4);  // @unordered_copy
  __pipeline_commit();
  __pipeline_wait_prior(0);
  BUG(, __syncthreads());
  out[t] = s[(t + 32) % kThreads];  // @unordered_read
}
void no_barrier_case() {
  no_barrier<<<1, kThreads>>>(device_array<float>(kThreads), device_array<float>(kThreads));
}

// The next tile is on its way while others still read this one.
__global__ void refill(const float* in, float* out, int tiles) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < tiles; ++i) {
    COPY(&s[t], in + i * kThreads + t, 4);  // @refill_copy
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    sum += s[kThreads - 1 - t];  // @refill_read
    BUG(, __syncthreads());
  }
  out[t] = sum;
}
void refill_case() {
  refill<<<1, kThreads>>>(device_array<float>(3 * kThreads), device_array<float>(kThreads), 3);
}

// The halo is set to zero by a plain store while the copy of the row has not ended.
__global__ void overtaken(const float* in, float* out) {
  __shared__ float s[kThreads];
  const int t = threadIdx.x;
  COPY(&s[t], in + t, 4);  // @late_copy
  __pipeline_commit();
  BUG(, __pipeline_wait_prior(0));
  if (t == 0) s[0] = 0;  // @zero_store
  __pipeline_wait_prior(0);
  __syncthreads();
  out[t] = s[kThreads - 1 - t];
}
void overtaken_case() {
  overtaken<<<1, kThreads>>>(device_array<float>(kThreads), device_array<float>(kThreads));
}

// An arrival at an mbarrier for the copies is no wait.
__global__ void arrive(const float* in, float* out) {
  __shared__ float s[kThreads];
  __shared__ unsigned long long full;
  const int t = threadIdx.x;
  const unsigned at = shared_offset(&full);
  if (t == 0)
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "n"(kThreads) : "memory");
  __syncthreads();
  COPY(&s[t], in + t, 4);  // @arrive_copy
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at) : "memory");
  unsigned over = BUG(1, 0);
  while (!over)
    asm volatile(
        "{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
        : "=r"(over)
        : "r"(at)
        : "memory");
  out[t] = s[t];  // @arrive_read
}
void arrive_case() {
  arrive<<<1, kThreads>>>(device_array<float>(kThreads), device_array<float>(kThreads));
}

int program(const char* only) {
  return run_cases({{"tile", tile_case},
                    {"own", own_case},
                    {"stages", stages_case},
                    {"no_barrier", no_barrier_case},
                    {"refill", refill_case},
                    {"overtaken", overtaken_case},
                    {"arrive", arrive_case}},
                   only);
}

}  // namespace PLANTED
