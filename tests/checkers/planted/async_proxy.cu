// Shared memory between threads and the asynchronous proxy: bulk copies read what threads have
// written only behind a fence, and go on reading until they have been waited for; an mbarrier exists
// for a thread once its initialisation is known to it. (wgmma reads in the same way: the bugs planted
// into the GEMM ladder by tests/gpu/planted_gemm.)
//
// expect: unfenced: error proxy-fence @unfenced_write @unfenced_copy
// expect: one_fence: error proxy-fence @one_fence_write @one_fence_copy
// expect: second_tile: error proxy-fence @second_tile_write @second_tile_copy
// expect: reuse: error race-shared @reuse_copy @reuse_write
// expect: one_ahead: error race-shared @one_ahead_copy @one_ahead_write
// expect: no_commit: error race-shared @no_commit_copy @no_commit_write
// expect: no_commit: error race-shared @no_commit_copy
// expect: no_wait: error race-shared @no_wait_copy
// expect: nobody_waits: error race-shared @nobody_waits_copy
// expect: off_grid: error misaligned @off_grid_copy
// alone: off_grid
// expect: init: error race-shared @init_mbarrier @init_arrive
#include "bulk.h"
#include "planted.h"

#ifndef PLANTED_ASYNC_PROXY
#define PLANTED_ASYNC_PROXY
__device__ inline void fence_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// A macro: the line of the kernel, not one here.
#define COPY_OUT(to, from, bytes)                                                         \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n" ::"l"(to), \
               "r"(shared_offset(from)), "r"(unsigned(bytes))                             \
               : "memory")
__device__ inline void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int kKeep> __device__ void wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kKeep) : "memory");
}
#endif

namespace PLANTED {

constexpr int kThreads = 128;

// A tile goes out; nobody has fenced what the threads wrote.
__global__ void unfenced(float* out) {
  __shared__ __align__(16) float s[kThreads];
  const int t = threadIdx.x;
  s[t] = t;  // @unfenced_write
  BUG(, fence_proxy());
  __syncthreads();
  if (t == 0) {
    COPY_OUT(out, s, sizeof s);  // @unfenced_copy
    commit();
    wait_read<0>();
  }
}
void unfenced_case() { unfenced<<<1, kThreads>>>(device_array<float>(kThreads)); }

// One thread's fence is enough behind the barrier, not before it.
__global__ void one_fence(float* out) {
  __shared__ __align__(16) float s[kThreads];
  const int t = threadIdx.x;
  s[t] = t;  // @one_fence_write
  if (BUG(t == 0, false)) fence_proxy();
  __syncthreads();
  if (t == 0) {
    BUG(, fence_proxy());
    COPY_OUT(out, s, sizeof s);  // @one_fence_copy
    commit();
    wait_read<0>();
  }
}
void one_fence_case() { one_fence<<<1, kThreads>>>(device_array<float>(kThreads)); }

// The fence of the first tile says nothing of the second.
__global__ void second_tile(float* out) {
  __shared__ __align__(16) float s[2][kThreads];
  const int t = threadIdx.x;
  for (int i = 0; i < 2; ++i) {
    s[i][t] = t + i;  // @second_tile_write
    if (BUG(i == 0, true)) fence_proxy();
    __syncthreads();
    if (t == 0) {
      COPY_OUT(out + i * kThreads, s[i], sizeof s[i]);  // @second_tile_copy
      commit();
    }
  }
  if (t == 0) wait_read<0>();
}
void second_tile_case() { second_tile<<<1, kThreads>>>(device_array<float>(2 * kThreads)); }

// The staging buffer is filled again while the copy may still read it: the barrier knows nothing of
// the copy.
__global__ void reuse(float* out, int tiles) {
  __shared__ __align__(16) float s[kThreads];
  const int t = threadIdx.x;
  for (int i = 0; i < tiles; ++i) {
    if (t == 0) BUG(, wait_read<0>());
    __syncthreads();
    s[t] = t + i;  // @reuse_write
    fence_proxy();
    __syncthreads();
    if (t == 0) {
      COPY_OUT(out + i * kThreads, s, sizeof s);  // @reuse_copy
      commit();
    }
  }
  if (t == 0) wait_read<0>();
}
void reuse_case() { reuse<<<1, kThreads>>>(device_array<float>(4 * kThreads), 4); }

// Two buffers: one copy may be on its way, not two.
__global__ void one_ahead(float* out, int tiles) {
  __shared__ __align__(16) float s[2][kThreads];
  const int t = threadIdx.x;
  for (int i = 0; i < tiles; ++i) {
    if (t == 0) wait_read<BUG(2, 1)>();
    __syncthreads();
    s[i % 2][t] = t + i;  // @one_ahead_write
    fence_proxy();
    __syncthreads();
    if (t == 0) {
      COPY_OUT(out + i * kThreads, s[i % 2], sizeof s[0]);  // @one_ahead_copy
      commit();
    }
  }
  if (t == 0) wait_read<0>();
}
void one_ahead_case() { one_ahead<<<1, kThreads>>>(device_array<float>(6 * kThreads), 6); }

// A wait is for groups that have been closed.
__global__ void no_commit(float* out) {
  __shared__ __align__(16) float s[kThreads];
  const int t = threadIdx.x;
  s[t] = t;
  fence_proxy();
  __syncthreads();
  if (t == 0) {
    COPY_OUT(out, s, sizeof s);  // @no_commit_copy
    BUG(, commit());
    wait_read<0>();
  }
  __syncthreads();
  s[t] = -t;  // @no_commit_write
  out[kThreads + t] = s[t];
}
void no_commit_case() { no_commit<<<1, kThreads>>>(device_array<float>(2 * kThreads)); }

// The block ends, and its shared memory with it.
__global__ void no_wait(float* out) {
  __shared__ __align__(16) float s[kThreads];
  const int t = threadIdx.x;
  s[t] = t;
  fence_proxy();
  __syncthreads();
  if (t == 0) {
    COPY_OUT(out, s, sizeof s);  // @no_wait_copy
    commit();
    BUG(, wait_read<0>());
  }
}
void no_wait_case() { no_wait<<<1, kThreads>>>(device_array<float>(kThreads)); }

// The same of a copy that fills it.
__global__ void nobody_waits(const float* in, float* out) {
  __shared__ __align__(16) float s[kThreads];
  __shared__ unsigned long long full;
  const int t = threadIdx.x;
  if (t == 0) MBARRIER_INIT(&full, 1);
  __syncthreads();
  if (t == 0) BULK_LOAD(s, in, sizeof s, &full);  // @nobody_waits_copy
  BUG(, MBARRIER_WAIT(&full, 0));
  out[t] = t;
}
void nobody_waits_case() {
  nobody_waits<<<1, kThreads>>>(device_array<float>(kThreads), device_array<float>(kThreads));
}

// Bulk copies begin on 16 bytes.
__global__ void off_grid(const float* in, float* out) {
  __shared__ __align__(16) float s[kThreads];
  __shared__ unsigned long long full;
  const int t = threadIdx.x;
  if (t == 0) MBARRIER_INIT(&full, 1);
  __syncthreads();
  if (t == 0) BULK_LOAD(s, in + BUG(1, 4), sizeof s, &full);  // @off_grid_copy
  MBARRIER_WAIT(&full, 0);
  out[t] = s[t];
}
void off_grid_case() {
  off_grid<<<1, kThreads>>>(device_array<float>(kThreads + 4), device_array<float>(kThreads));
}

// Other warps may come to the mbarrier first.
__global__ void init(float* out) {
  __shared__ unsigned long long barrier;
  const int t = threadIdx.x;
  if (t == 0) MBARRIER_INIT(&barrier, kThreads);  // @init_mbarrier
  BUG(, __syncthreads());
  MBARRIER_ARRIVE(&barrier);  // @init_arrive
  MBARRIER_WAIT(&barrier, 0);
  out[t] = t;
}
void init_case() { init<<<1, kThreads>>>(device_array<float>(kThreads)); }

int program(const char* only) {
  return run_cases({{"unfenced", unfenced_case},
                    {"one_fence", one_fence_case},
                    {"second_tile", second_tile_case},
                    {"reuse", reuse_case},
                    {"one_ahead", one_ahead_case},
                    {"no_commit", no_commit_case},
                    {"no_wait", no_wait_case},
                    {"nobody_waits", nobody_waits_case},
                    {"off_grid", off_grid_case},
                    {"init", init_case}},
                   only);
}

}  // namespace PLANTED
