// Misused mbarriers (the kernel ends at the misuse), and data handed over without waiting for one.
//
// expect: not_initialised: error invalid-sync @not_initialised
// expect: overrun: error invalid-sync @overrun
// expect: count_zero: error invalid-sync @count_zero
// expect: invalidated: error invalid-sync @invalidated
// expect: no_wait: error race-shared @fill_stage @read_stage
// allow: no_wait: error uninit-shared @read_stage
#include "planted.h"

namespace PLANTED {

__device__ unsigned address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

#undef INIT
#undef ARRIVE
#define INIT(barrier, count)                                                            \
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(barrier)), "r"(count) \
               : "memor"                                                                \
                 "y")
#define ARRIVE(barrier)                                                                     \
  asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" ::"r"(address(barrier)) \
               : "memory")

__device__ void wait(const void* barrier, unsigned parity) {
  unsigned done = 0;
  while (done == 0)
    asm volatile(
        "{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(address(barrier)), "r"(parity)
        : "memory");
}

// The wrong one of two barriers is set up.
__global__ void not_initialised(int* out) {
  __shared__ alignas(8) unsigned long long full, empty;
  if (threadIdx.x == 0) {
    INIT(&full, 64);
    INIT(BUG(&full, &empty), 64);
  }
  __syncthreads();
  ARRIVE(&empty);  // @not_initialised
  out[threadIdx.x] = 1;
}
void not_initialised_case() { not_initialised<<<1, 64>>>(device_array<int>(64)); }

// Each thread arrives for three: more arrivals than the phase still expects.
__global__ void overrun(const float* in, float* out) {
  __shared__ alignas(8) unsigned long long full;
  __shared__ float stage[64];
  const int t = threadIdx.x;
  if (t == 0) INIT(&full, 64);
  __syncthreads();
  stage[t] = in[t];
  const unsigned count = BUG(3, 1);
  // clang-format off
  asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0], %1;}" ::"r"(address(&full)), "r"(count) : "memory");  // @overrun
  // clang-format on
  wait(&full, 0);
  out[t] = stage[63 - t];
}
void overrun_case() { overrun<<<1, 64>>>(device_array<float>(64), device_array<float>(64)); }

// The number of consumers is computed, and is none.
__global__ void count_zero(int* out, int consumers) {
  __shared__ alignas(8) unsigned long long full;
  // clang-format off
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(&full)), "r"(consumers) : "memory");  // @count_zero
  // clang-format on
  __syncthreads();
  if (threadIdx.x < 32) ARRIVE(&full);
  out[threadIdx.x] = 1;
}
void count_zero_case() { count_zero<<<1, 64>>>(device_array<int>(64), BUG(0, 32)); }

// The barrier is taken down while it is still in use.
__global__ void invalidated(int* out, int rounds) {
  __shared__ alignas(8) unsigned long long full;
  const int t = threadIdx.x;
  if (t == 0) INIT(&full, 64);
  __syncthreads();
  for (int i = 0; i < rounds; ++i) {
    ARRIVE(&full);  // @invalidated
    wait(&full, i & 1);
    __syncthreads();
    if (t == 0 && BUG(i == 1, i + 1 == rounds))
      asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(address(&full)) : "memory");
    __syncthreads();
  }
  out[t] = rounds;
}
void invalidated_case() { invalidated<<<1, 64>>>(device_array<int>(64), 4); }

// The consumer arrives, but does not wait.
__global__ void no_wait(const float* in, float* out) {
  __shared__ alignas(8) unsigned long long full;
  __shared__ float stage[32];
  const int t = threadIdx.x;
  if (t == 0) INIT(&full, 64);
  __syncthreads();
  if (t < 32) {
    stage[t] = in[t];  // @fill_stage
    ARRIVE(&full);
  } else {
    ARRIVE(&full);
    BUG(, wait(&full, 0));
    out[t - 32] = stage[63 - t];  // @read_stage
  }
}
void no_wait_case() { no_wait<<<1, 64>>>(device_array<float>(64), device_array<float>(32)); }

int program(const char* only) {
  return run_cases({{"not_initialised", not_initialised_case},
                    {"overrun", overrun_case},
                    {"count_zero", count_zero_case},
                    {"invalidated", invalidated_case},
                    {"no_wait", no_wait_case}},
                   only);
}

}  // namespace PLANTED
