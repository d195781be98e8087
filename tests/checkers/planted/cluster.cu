// Clusters: shared memory of other blocks, their barrier, their mbarriers, copies to several of them.
//
// expect: no_sync: error race-shared @no_sync_write @no_sync_read
// allow: no_sync: error uninit-shared @no_sync_read
// expect: between: error race-shared @between_write @between_read
// expect: relaxed: error race-shared @relaxed_write @relaxed_read
// expect: leaves: error race-shared @leaves_read
// expect: leaves_early: error race-shared @leaves_early_write
// expect: outside: error oob-shared @outside_read
// expect: wrong_rank: error oob-shared @wrong_rank_read
// expect: unwritten: error uninit-shared @unwritten_read
// expect: sum: error race-shared @sum_add @sum_add
// expect: crossed_wait: error deadlock @crossed_wait @crossed_sync
// expect: twice: error invalid-sync @twice
// expect: no_arrival: error invalid-sync @no_arrival
// expect: again: error invalid-sync @again
// expect: own_only: error oob-shared @own_only_read
// expect: arrival: error deadlock @arrival_wait
// alone: twice
// expect: own_arrival: error race-shared @own_arrival_read @own_arrival_write
// expect: no_expect: error race-shared @no_expect_copy @no_expect_read
// allow: no_expect: error uninit-shared @no_expect_read
// expect: early_multicast: error race-shared @multicast_copy @multicast_read
// expect: store_async: error race-shared @store_async @store_async_read
// expect: store_async: error race-shared @store_async
// allow: store_async: error uninit-shared @store_async_read
#include <cooperative_groups.h>

#include "planted.h"

#ifndef PLANTED_CLUSTER
#define PLANTED_CLUSTER
namespace cg = cooperative_groups;
__device__ inline unsigned cluster_offset(const void* p) {
  return unsigned(__cvta_generic_to_shared(p));
}
__device__ inline unsigned cluster_mapa(const void* p, unsigned rank) {
  unsigned r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(r)
               : "r"(cluster_offset(p)), "r"(rank));
  return r;
}
// Macros: the line of the kernel, not one here.
#define CLUSTER_SYNC() \
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory")
#define CLUSTER_WAIT(barrier, parity)                                                              \
  asm volatile(                                                                                    \
      "{ .reg .pred done;\nagain: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, " \
      "[%0], %1;\n@!done bra again; }" ::"r"(cluster_offset(barrier)),                             \
      "r"(unsigned(parity))                                                                        \
      : "memory")
#define CLUSTER_MULTICAST(to, from, bytes, barrier, mask)                                        \
  asm volatile(                                                                                  \
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "    \
      "[%0], "                                                                                   \
      "[%1], %2, [%3], %4;" ::"r"(cluster_offset(to)),                                           \
      "l"(from), "r"(unsigned(bytes)), "r"(cluster_offset(barrier)), "h"((unsigned short)(mask)) \
      : "memory")
#define CLUSTER_STORE_ASYNC(to, value, barrier, rank)                                         \
  asm volatile(                                                                               \
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"( \
          cluster_mapa(to, rank)),                                                            \
      "r"(value), "r"(cluster_mapa(barrier, rank))                                            \
      : "memory")
__device__ inline void cluster_init(unsigned long long* barrier, unsigned arrivals) {
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], %1;\nfence.mbarrier_init.release.cluster;" ::"r"(
          cluster_offset(barrier)),
      "r"(arrivals)
      : "memory");
}
__device__ inline void cluster_arrive(unsigned long long* barrier, unsigned rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                   cluster_mapa(barrier, rank))
               : "memory");
}
__device__ inline void cluster_expect(unsigned long long* barrier, unsigned bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(cluster_offset(barrier)),
      "r"(bytes)
      : "memory");
}
template <class... Parameters, class... Arguments>
void launch_cluster(void (*kernel)(Parameters...), int blocks, int threads, int cluster,
                    Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, arguments...);
}
#endif

namespace PLANTED {

constexpr int kThreads = 64;

// The neighbour's tile: a barrier of the own block says nothing of the neighbour.
__global__ void no_sync(int* out) {
  __shared__ int s[kThreads];
  cg::cluster_group cluster = cg::this_cluster();
  const int t = threadIdx.x, at = int(blockIdx.x) * kThreads + t;
  const int* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  s[t] = at + 1;  // @no_sync_write
  BUG(__syncthreads(), cluster.sync());
  out[at] = other[t];  // @no_sync_read
  cluster.sync();
}
void no_sync_case() { launch_cluster(no_sync, 4, kThreads, 2, device_array<int>(4 * kThreads)); }

// What is done between arriving and waiting is not handed over.
__global__ void between(int* out) {
  __shared__ int s[kThreads];
  cg::cluster_group cluster = cg::this_cluster();
  const int t = threadIdx.x, at = int(blockIdx.x) * kThreads + t;
  const int* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  s[t] = 0;
  cluster.sync();
  if (BUG(false, true)) s[t] = at + 1;
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  if (BUG(true, false)) s[t] = at + 1;  // @between_write
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
  out[at] = other[t];  // @between_read
  cluster.sync();
}
void between_case() { launch_cluster(between, 4, kThreads, 2, device_array<int>(4 * kThreads)); }

// Nor is anything by an arrival that is relaxed.
__global__ void relaxed(int* out) {
  __shared__ int s[kThreads];
  cg::cluster_group cluster = cg::this_cluster();
  const int t = threadIdx.x, at = int(blockIdx.x) * kThreads + t;
  const int* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  s[t] = 0;
  cluster.sync();
  s[t] = at + 1;  // @relaxed_write
  if (BUG(false, true)) asm volatile("fence.acq_rel.cluster;" ::: "memory");
  asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait.acquire;" ::: "memory");
  out[at] = other[t];  // @relaxed_read
  cluster.sync();
}
void relaxed_case() { launch_cluster(relaxed, 4, kThreads, 2, device_array<int>(4 * kThreads)); }

// A block may be gone while the other still reads.
__global__ void leaves(int* out) {
  __shared__ int s[kThreads];
  cg::cluster_group cluster = cg::this_cluster();
  const int t = threadIdx.x, at = int(blockIdx.x) * kThreads + t;
  const int* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  s[t] = t;
  cluster.sync();
  out[at] = other[t];  // @leaves_read
  BUG(__syncthreads(), cluster.sync());
}
void leaves_case() { launch_cluster(leaves, 4, kThreads, 2, device_array<int>(4 * kThreads)); }

// The same of writes, by one that takes long.
__global__ void leaves_early(int* out, int n) {
  __shared__ int s[kThreads];
  cg::cluster_group cluster = cg::this_cluster();
  const int t = threadIdx.x;
  s[t] = t;
  cluster.sync();
  if (cluster.block_rank() == 0) {
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += (sum ^ i) * 3 + __shfl_sync(~0u, sum, i % 32);
    out[t] = sum;
    *cluster.map_shared_rank(&s[t], 1) = sum;  // @leaves_early_write
  }
  BUG(, cluster.sync());
}
void leaves_early_case() {
  launch_cluster(leaves_early, 2, kThreads, 2, device_array<int>(kThreads), 20000);
}

__global__ void outside(int* out) {
  __shared__ int s[kThreads];
  cg::cluster_group cluster = cg::this_cluster();
  const int t = threadIdx.x;
  const int* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  s[t] = t;
  cluster.sync();
  out[blockIdx.x * kThreads + t] = other[t + BUG(kThreads, 0)];  // @outside_read
  cluster.sync();
}
void outside_case() { launch_cluster(outside, 4, kThreads, 2, device_array<int>(4 * kThreads)); }

// The last has no next.
__global__ void wrong_rank(int* out) {
  __shared__ int s[kThreads];
  cg::cluster_group cluster = cg::this_cluster();
  const int t = threadIdx.x;
  const unsigned next = cluster.block_rank() + 1;
  const int* other = cluster.map_shared_rank(s, BUG(next, next % cluster.num_blocks()));
  s[t] = t;
  cluster.sync();
  out[blockIdx.x * kThreads + t] = other[t];  // @wrong_rank_read
  cluster.sync();
}
void wrong_rank_case() {
  launch_cluster(wrong_rank, 4, kThreads, 4, device_array<int>(4 * kThreads));
}

__global__ void unwritten(int* out) {
  __shared__ int s[kThreads];
  cg::cluster_group cluster = cg::this_cluster();
  const int t = threadIdx.x;
  if (BUG(cluster.block_rank() == 0, true)) s[t] = t;
  cluster.sync();
  out[blockIdx.x * kThreads + t] = *cluster.map_shared_rank(&s[t], 1);  // @unwritten_read
  cluster.sync();
}
void unwritten_case() {
  launch_cluster(unwritten, 2, kThreads, 2, device_array<int>(2 * kThreads));
}

// All blocks add to one sum.
__global__ void sum(int* out) {
  __shared__ int total;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) total = 0;
  cluster.sync();
  int* first = cluster.map_shared_rank(&total, 0);
  if (threadIdx.x == 0) BUG(*first += 1, atomicAdd(first, 1));  // @sum_add
  cluster.sync();
  if (threadIdx.x == 0) out[blockIdx.x] = *first;
  cluster.sync();
}
void sum_case() { launch_cluster(sum, 4, 32, 4, device_array<int>(4)); }

// One waits for what the other does only after the barrier.
__global__ void crossed_wait(int* out) {
  __shared__ unsigned long long full;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  if (threadIdx.x == 0) cluster_init(&full, 1);
  cluster.sync();
  if (BUG(rank == 1, false)) CLUSTER_WAIT(&full, 0);  // @crossed_wait
  CLUSTER_SYNC();                                     // @crossed_sync
  if (rank == 0 && threadIdx.x == 0) cluster_arrive(&full, 1);
  if (rank == 1) CLUSTER_WAIT(&full, 0);
  out[blockIdx.x * 32 + threadIdx.x] = 1;
  cluster.sync();
}
void crossed_wait_case() { launch_cluster(crossed_wait, 2, 32, 2, device_array<int>(64)); }

// Both blocks have to arrive.
__global__ void arrival(int* out) {
  __shared__ int s[kThreads];
  __shared__ unsigned long long ready;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  const int t = threadIdx.x;
  if (t == 0) cluster_init(&ready, 2 * kThreads);
  cluster.sync();
  *cluster.map_shared_rank(&s[t], rank ^ 1) = t;
  cluster_arrive(&ready, rank);
  if (BUG(false, true)) cluster_arrive(&ready, rank ^ 1);
  CLUSTER_WAIT(&ready, 0);  // @arrival_wait
  out[blockIdx.x * kThreads + t] = s[kThreads - 1 - t];
  cluster.sync();
}
void arrival_case() { launch_cluster(arrival, 2, kThreads, 2, device_array<int>(2 * kThreads)); }

// The barrier counts the readers of the own block only: the other may still read.
__global__ void own_arrival(int* out) {
  __shared__ int s[kThreads];
  __shared__ unsigned long long read;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  const int t = threadIdx.x;
  if (t == 0) cluster_init(&read, BUG(kThreads, 2 * kThreads));
  s[t] = t + 1;
  cluster.sync();
  int sum = s[kThreads - 1 - t] + *cluster.map_shared_rank(&s[t], rank ^ 1);  // @own_arrival_read
  cluster_arrive(&read, rank);
  if (BUG(false, true)) cluster_arrive(&read, rank ^ 1);
  CLUSTER_WAIT(&read, 0);
  s[t] = sum;  // @own_arrival_write
  cluster.sync();
  out[blockIdx.x * kThreads + t] = s[t];
}
void own_arrival_case() {
  launch_cluster(own_arrival, 2, kThreads, 2, device_array<int>(2 * kThreads));
}

// A copy to both blocks counts its bytes at both barriers: both have to expect them.
__global__ void no_expect(const int* in, int* out) {
  __shared__ __align__(16) int s[kThreads];
  __shared__ unsigned long long full;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  const int t = threadIdx.x;
  if (t == 0) cluster_init(&full, 1);
  cluster.sync();
  if (t == 0) {
    if (BUG(rank == 0, true))
      cluster_expect(&full, sizeof s);
    else
      cluster_arrive(&full, rank);
    if (rank == 0) CLUSTER_MULTICAST(s, in, sizeof s, &full, 3);  // @no_expect_copy
  }
  CLUSTER_WAIT(&full, 0);
  out[blockIdx.x * kThreads + t] = s[t];  // @no_expect_read
  cluster.sync();
}
void no_expect_case() {
  launch_cluster(no_expect, 2, kThreads, 2, device_array<int>(kThreads),
                 device_array<int>(2 * kThreads));
}

// Two stages: one is free when the readers of both blocks are done with it.
__global__ void early_multicast(const int* in, int* out, int steps) {
  __shared__ __align__(16) int s[2][kThreads];
  __shared__ unsigned long long full[2], empty[2];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  const int t = threadIdx.x;
  if (t == 0)
    for (int stage = 0; stage < 2; ++stage) {
      cluster_init(&full[stage], 1);
      cluster_init(&empty[stage], BUG(kThreads, 2 * kThreads));
    }
  cluster.sync();
  int sum = 0;
  for (int i = 0; i < steps + 1; ++i) {
    const int stage = i % 2;
    if (t == 0 && i < steps) {
      if (i >= 2) CLUSTER_WAIT(&empty[stage], (i / 2 - 1) & 1);
      cluster_expect(&full[stage], sizeof s[0]);
      const int half = int(rank) * (kThreads / 2);
      const int* from = in + i * kThreads + half;
      int* to = s[stage] + half;
      CLUSTER_MULTICAST(to, from, sizeof s[0] / 2, &full[stage], 3);  // @multicast_copy
    }
    if (i == 0) continue;
    const int from = (i - 1) % 2;
    CLUSTER_WAIT(&full[from], ((i - 1) / 2) & 1);
    sum += s[from][kThreads - 1 - t];  // @multicast_read
    cluster_arrive(&empty[from], rank);
    if (BUG(false, true)) cluster_arrive(&empty[from], rank ^ 1);
    __syncwarp();
  }
  out[blockIdx.x * kThreads + t] = sum;
  cluster.sync();
}
void early_multicast_case() {
  launch_cluster(early_multicast, 2, kThreads, 2, device_array<int>(8 * kThreads),
                 device_array<int>(2 * kThreads), 8);
}

// An asynchronous store is there when its mbarrier says so.
__global__ void store_async(int* out) {
  __shared__ int slot;
  __shared__ unsigned long long full;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  if (threadIdx.x == 0) {
    cluster_init(&full, 1);
    cluster_expect(&full, sizeof slot);
  }
  cluster.sync();
  if (threadIdx.x == 0) CLUSTER_STORE_ASYNC(&slot, rank + 7, &full, rank ^ 1);  // @store_async
  if (BUG(false, true)) CLUSTER_WAIT(&full, 0);
  cluster.sync();
  out[blockIdx.x * 32 + threadIdx.x] = slot;  // @store_async_read
  cluster.sync();
}
void store_async_case() { launch_cluster(store_async, 2, 32, 2, device_array<int>(64)); }

// A thread arrives, waits, and then arrives again.
__global__ void twice(int* out) {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  if (BUG(false, true)) asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");  // @twice
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
  out[blockIdx.x * 32 + threadIdx.x] = 1;
}
void twice_case() { launch_cluster(twice, 2, 32, 2, device_array<int>(64)); }

// A thread waits at the barrier without having arrived.
__global__ void no_arrival(int* out) {
  if (BUG(false, true)) asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");  // @no_arrival
  out[blockIdx.x * 32 + threadIdx.x] = 1;
}
void no_arrival_case() { launch_cluster(no_arrival, 2, 32, 2, device_array<int>(64)); }

// Arrives twice, though the first phase is over by then: the one warp is the whole cluster.
__global__ void again(int* out) {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  if (BUG(false, true)) asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");  // @again
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
  out[blockIdx.x * 32 + threadIdx.x] = 1;
}
void again_case() { launch_cluster(again, 2, 32, 1, device_array<int>(64)); }

// ld.shared reads the block's own memory; another's takes ld.shared::cluster.
__global__ void own_only(int* out) {
  __shared__ int cell[32];
  cg::cluster_group cluster = cg::this_cluster();
  cell[threadIdx.x] = threadIdx.x;
  cluster.sync();
  const unsigned from = cluster_mapa(&cell[threadIdx.x], cluster.block_rank() ^ 1);
  int value;
  if (BUG(true, false))
    asm volatile("ld.shared.s32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");  // @own_only_read
  else
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
  cluster.sync();
  out[blockIdx.x * 32 + threadIdx.x] = value;
}
void own_only_case() { launch_cluster(own_only, 2, 32, 2, device_array<int>(64)); }

int program(const char* only) {
  return run_cases({{"no_sync", no_sync_case},
                    {"between", between_case},
                    {"relaxed", relaxed_case},
                    {"leaves", leaves_case},
                    {"leaves_early", leaves_early_case},
                    {"outside", outside_case},
                    {"wrong_rank", wrong_rank_case},
                    {"unwritten", unwritten_case},
                    {"sum", sum_case},
                    {"crossed_wait", crossed_wait_case},
                    {"twice", twice_case},
                    {"no_arrival", no_arrival_case},
                    {"again", again_case},
                    {"own_only", own_only_case},
                    {"arrival", arrival_case},
                    {"own_arrival", own_arrival_case},
                    {"no_expect", no_expect_case},
                    {"early_multicast", early_multicast_case},
                    {"store_async", store_async_case}},
                   only);
}

}  // namespace PLANTED
