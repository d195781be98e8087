// Clusters of several CTAs: what a CTA knows of its cluster, shared memory of the others by every
// kind of access, remote mbarriers, asynchronous stores, copies and multicasts, the barrier in
// halves, and how such launches are made and refused. Also run on an H200.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__device__ uint32_t shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }
__device__ uint32_t mapa(uint32_t address, uint32_t rank) {
  uint32_t r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(rank));
  return r;
}
__device__ void barrier_init(uint64_t* barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals)
               : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ void expect(uint64_t* barrier, uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}
__device__ void wait(uint64_t* barrier, uint32_t parity) {
  asm volatile(
      "{ .reg .pred done;\nagain: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, "
      "[%0], %1;\n@!done bra again; }" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}
__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}

// ---- what a CTA knows ----

#define SPECIAL(name)                                  \
  ([] {                                                \
    uint32_t v;                                        \
    asm volatile("mov.u32 %0, %%" name ";" : "=r"(v)); \
    return v;                                          \
  }())
constexpr int kKnown = 16;
__global__ void known(uint32_t* out) {
  const uint32_t cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const uint32_t values[kKnown] = {SPECIAL("clusterid.x"),
                                   SPECIAL("clusterid.y"),
                                   SPECIAL("clusterid.z"),
                                   SPECIAL("nclusterid.x"),
                                   SPECIAL("nclusterid.y"),
                                   SPECIAL("nclusterid.z"),
                                   SPECIAL("cluster_ctaid.x"),
                                   SPECIAL("cluster_ctaid.y"),
                                   SPECIAL("cluster_ctaid.z"),
                                   SPECIAL("cluster_nctaid.x"),
                                   SPECIAL("cluster_nctaid.y"),
                                   SPECIAL("cluster_nctaid.z"),
                                   SPECIAL("cluster_ctarank"),
                                   SPECIAL("cluster_nctarank"),
                                   uint32_t(cg::this_cluster().thread_rank()),
                                   uint32_t(cg::this_cluster().num_threads())};
  for (int i = 0; i < kKnown; ++i) out[cta * kKnown + i] = values[i];
}
__global__ void explicit_cluster(uint32_t* out) {
  uint32_t is;
  asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }"
               : "=r"(is));
  out[blockIdx.x] = is;
}

// ---- shared memory of the others ----

constexpr int kThreads = 64;
// Ring shift: reads from the next, writes to the one after it, adds to all.
__global__ void ring(int* out) {
  __shared__ int mine[kThreads], from[kThreads], sum, count;
  cg::cluster_group cluster = cg::this_cluster();
  const int t = threadIdx.x, rank = cluster.block_rank(), ranks = cluster.num_blocks();
  mine[t] = blockIdx.x * 1000 + t;
  if (t == 0) sum = count = 0;
  cluster.sync();
  const int* next = cluster.map_shared_rank(mine, (rank + 1) % ranks);
  cluster.map_shared_rank(from, (rank + 2) % ranks)[kThreads - 1 - t] = next[t] + 7;
  for (int r = 0; r < ranks; ++r) atomicAdd(cluster.map_shared_rank(&sum, r), t + rank);
  const int before = atomicAdd(cluster.map_shared_rank(&count, 0), 1);
  if (before < 0) out[0] = -1;
  cluster.sync();
  out[(blockIdx.x * 2) * kThreads + t] = from[t];
  out[(blockIdx.x * 2 + 1) * kThreads + t] = sum + (rank == 0 ? count : 0);
  cluster.sync();
}

// The same memory by PTX: addresses, spaces, vectors, all sizes.
__global__ void spaces(uint32_t* out) {
  __shared__ __align__(16) uint32_t word[4];
  const uint32_t rank = cg::this_cluster().block_rank(), other = rank ^ 1;
  if (threadIdx.x < 4) word[threadIdx.x] = 0x01020304u * (rank + 1) + threadIdx.x;
  cluster_sync();
  if (threadIdx.x == 0) {
    const uint32_t here = shared_address(word), there = mapa(here, other),
                   again = mapa(there, rank);
    uint64_t generic;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(generic) : "l"(word), "r"(other));
    uint32_t ranks[3], cta, cluster, own, global;
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(ranks[0]) : "r"(there));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(ranks[1]) : "r"(again));
    asm volatile("getctarank.u64 %0, %1;" : "=r"(ranks[2]) : "l"(generic));
    asm volatile("{ .reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p; }"
                 : "=r"(cta)
                 : "l"(generic));
    asm volatile("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }"
                 : "=r"(cluster)
                 : "l"(generic));
    asm volatile("{ .reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p; }"
                 : "=r"(own)
                 : "l"(word));
    asm volatile("{ .reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p; }"
                 : "=r"(global)
                 : "l"(generic));
    uint32_t byte, half, w, pair[2], four[4], old;
    asm volatile("ld.shared::cluster.u8 %0, [%1+1];" : "=r"(byte) : "r"(there) : "memory");
    asm volatile("{ .reg .u16 h; ld.shared::cluster.u16 h, [%1+2]; cvt.u32.u16 %0, h; }"
                 : "=r"(half)
                 : "r"(there)
                 : "memory");
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(w) : "r"(there) : "memory");
    asm volatile("ld.shared::cluster.v2.u32 {%0, %1}, [%2+8];"
                 : "=r"(pair[0]), "=r"(pair[1])
                 : "r"(there)
                 : "memory");
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(four[0]), "=r"(four[1]), "=r"(four[2]), "=r"(four[3])
                 : "r"(again)
                 : "memory");
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(w + 1) : "memory");
    asm volatile("atom.shared::cluster.add.u32 %0, [%1+4], %2;"
                 : "=r"(old)
                 : "r"(there), "r"(5)
                 : "memory");
    asm volatile("red.shared::cluster.max.u32 [%0+8], %1;" ::"r"(there), "r"(0x70000000u + rank)
                 : "memory");
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    const uint32_t values[] = {ranks[0], ranks[1], ranks[2], cta,     cluster,
                               own,      global,   byte,     half,    w,
                               pair[0],  pair[1],  four[0],  four[3], old,
                               word[0],  word[1],  word[2],  word[3], again == mapa(here, rank)};
    for (int i = 0; i < 20; ++i) out[blockIdx.x * 20 + i] = values[i];
  }
  if (threadIdx.x != 0)
    for (int i = 0; i < 2; ++i)
      asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
  cluster_sync();
}

// A pointer to a CTA's own shared memory means the same to the others.
__global__ void handed_over(int* out) {
  __shared__ int value;
  __shared__ const int* from;
  cg::cluster_group cluster = cg::this_cluster();
  value = int(blockIdx.x) + 40;
  cluster.sync();
  *cluster.map_shared_rank(&from, cluster.block_rank() ^ 1) = &value;
  cluster.sync();
  out[blockIdx.x] = *from;
  cluster.sync();
}
// Beyond what the other has.
__global__ void outside(int* out, int offset) {
  __shared__ int words[kThreads];
  cg::cluster_group cluster = cg::this_cluster();
  words[threadIdx.x] = 5;
  cluster.sync();
  if (cluster.block_rank() == 0)
    out[threadIdx.x] = cluster.map_shared_rank(words, 1)[offset + int(threadIdx.x)];
  cluster.sync();
}

// ---- mbarriers of the others ----

// Rank 0 gathers: the others store asynchronously, add, copy and arrive at its barriers.
__global__ void gather(int* out) {
  __shared__ __align__(16) int slot[8][4], copied[8][kThreads], mine[kThreads];
  __shared__ int total;
  __shared__ uint64_t stores, arrivals, copies;
  const int t = threadIdx.x;
  cg::cluster_group cluster = cg::this_cluster();
  const uint32_t rank = cluster.block_rank(), ranks = cluster.num_blocks();
  mine[t] = int(rank) * 100 + t;
  if (t == 0) {
    total = 0;
    barrier_init(&stores, 1);
    barrier_init(&arrivals, ranks * kThreads);
    barrier_init(&copies, 1);
    if (rank == 0) {
      expect(&stores, ranks * (4 + 16));
      expect(&copies, ranks * uint32_t(sizeof mine));
    }
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cluster_sync();
  const uint32_t to_stores = mapa(shared_address(&stores), 0);
  if (t == 0) {
    const uint32_t to = mapa(shared_address(slot[rank]), 0),
                   to_total = mapa(shared_address(&total), 0);
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, "
        "[%5];" ::"r"(to),
        "r"(rank), "r"(rank * 2), "r"(rank * 3), "r"(rank * 4), "r"(to_stores)
        : "memory");
    asm volatile(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, "
        "[%2];" ::"r"(to_total),
        "r"(rank + 1), "r"(to_stores)
        : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, "
        "[%3];" ::"r"(mapa(shared_address(copied[rank]), 0)),
        "r"(shared_address(mine)), "r"(uint32_t(sizeof mine)), "r"(mapa(shared_address(&copies), 0))
        : "memory");
  }
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                   mapa(shared_address(&arrivals), 0))
               : "memory");
  if (rank == 0) {
    wait(&stores, 0);
    wait(&arrivals, 0);
    wait(&copies, 0);
    int sum = total;
    for (uint32_t r = 0; r < ranks; ++r) {
      for (int i = 0; i < 4; ++i) sum += slot[r][i] * (i + 1);
      sum += copied[r][t];
    }
    out[blockIdx.x / ranks * kThreads + t] = sum;
  }
  cluster_sync();
}

// Each CTA fetches a part of a tile and sends it to all; then only to the even ones.
constexpr int kTile = 256;
__global__ void multicast(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t full;
  cg::cluster_group cluster = cg::this_cluster();
  const uint32_t rank = cluster.block_rank(), ranks = cluster.num_blocks();
  const int part = kTile / int(ranks);
  const int cluster_number = blockIdx.x / ranks;
  if (threadIdx.x == 0) barrier_init(&full, 1);
  for (int i = threadIdx.x; i < kTile; i += blockDim.x) tile[i] = -1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cluster_sync();
  uint32_t phase = 0;
  for (const uint32_t even : {0u, 1u}) {
    const uint16_t mask = uint16_t(even ? 0x5555u & ((1u << ranks) - 1) : (1u << ranks) - 1);
    if (threadIdx.x == 0) {
      if ((mask >> rank) & 1) expect(&full, sizeof tile);
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
          "[%0], "
          "[%1], %2, [%3], %4;" ::"r"(shared_address(tile + rank * part)),
          "l"(in + (cluster_number * 2 + int(even)) * kTile + int(rank) * part),
          "r"(uint32_t(part * sizeof(int))), "r"(shared_address(&full)), "h"(mask)
          : "memory");
    }
    if ((mask >> rank) & 1) wait(&full, phase++ & 1);
    __syncthreads();
    for (int i = threadIdx.x; i < kTile; i += blockDim.x)
      out[(blockIdx.x * 2 + int(even)) * kTile + i] = tile[i];
    cluster_sync();
  }
}

// ---- the barrier in halves ----

// Work between arriving and waiting; a block may leave early, and is not waited for.
__global__ void halves(int* out, int leaves) {
  __shared__ int value;
  cg::cluster_group cluster = cg::this_cluster();
  const uint32_t rank = cluster.block_rank(), ranks = cluster.num_blocks();
  if (int(rank) == leaves) return;
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) value = int(blockIdx.x) * 10 + round;
    cg::cluster_group::arrival_token token = cluster.barrier_arrive();
    sum += round;
    cluster.barrier_wait(std::move(token));
    const uint32_t next = (rank + 1) % ranks == uint32_t(leaves) ? rank : (rank + 1) % ranks;
    sum += *cluster.map_shared_rank(&value, next);
    asm volatile("fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::
                     : "memory");
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void __cluster_dims__(2, 1, 1) two(int* out) {
  out[blockIdx.x] = int(cg::this_cluster().num_blocks());
}
__global__ void __cluster_dims__() must_say(int* out) {
  out[blockIdx.x] = int(cg::this_cluster().num_blocks());
}

// ---- the host ----

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, dim3 cluster,
                   Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x;
  attribute.val.clusterDim.y = cluster.y;
  attribute.val.clusterDim.z = cluster.z;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}
template <class T> uint64_t hash_of(const T* device, size_t count) {
  std::vector<T> host(count);
  if (cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost) != cudaSuccess)
    return 0;
  uint64_t h = 1469598103934665603ull;
  for (const T v : host) h = (h ^ uint64_t(uint32_t(v))) * 1099511628211ull;
  return h;
}
void tell(const char* what, cudaError_t error) {
  const cudaError_t after = cudaDeviceSynchronize();
  printf("%s: %s, %s, last %s\n", what, cudaGetErrorName(error), cudaGetErrorName(after),
         cudaGetErrorName(cudaGetLastError()));
}

int main() {
  int *out, *in;
  constexpr size_t kOut = 1 << 16;
  cudaMalloc(&out, kOut * sizeof(int));
  cudaMalloc(&in, kOut * sizeof(int));
  std::vector<int> numbers(kOut);
  for (size_t i = 0; i < kOut; ++i) numbers[i] = int(i * 2654435761u >> 8);
  cudaMemcpy(in, numbers.data(), kOut * sizeof(int), cudaMemcpyHostToDevice);
  auto* words = reinterpret_cast<uint32_t*>(out);
  auto clear = [&] { cudaMemset(out, 0, kOut * sizeof(int)); };

  for (const dim3 cluster : {dim3(1, 1, 1), dim3(2, 1, 1), dim3(1, 4, 1), dim3(2, 2, 2)}) {
    clear();
    const cudaError_t error = launch(known, dim3(4, 8, 2), dim3(1), cluster, words);
    printf("known %u %u %u: %s %016llx\n", cluster.x, cluster.y, cluster.z, cudaGetErrorName(error),
           (unsigned long long)hash_of(words, 64 * kKnown));
  }
  for (const unsigned ranks : {1u, 2u}) {
    clear();
    if (ranks == 1)
      explicit_cluster<<<2, 1>>>(words);
    else
      launch(explicit_cluster, dim3(2), dim3(1), dim3(2), words);
    uint32_t is[2];
    cudaMemcpy(is, words, sizeof is, cudaMemcpyDeviceToHost);
    printf("explicit with %u: %u %u\n", ranks, is[0], is[1]);
  }
  for (const unsigned ranks : {1u, 2u, 4u, 8u}) {
    clear();
    launch(ring, dim3(ranks * 5), dim3(kThreads), dim3(ranks), out);
    printf("ring %u: %016llx\n", ranks, (unsigned long long)hash_of(out, ranks * 5 * 2 * kThreads));
    clear();
    launch(gather, dim3(ranks * 5), dim3(kThreads), dim3(ranks), out);
    printf("gather %u: %016llx\n", ranks, (unsigned long long)hash_of(out, 5 * kThreads));
    clear();
    launch(multicast, dim3(ranks * 3), dim3(kThreads), dim3(ranks), in, out);
    printf("multicast %u: %016llx\n", ranks,
           (unsigned long long)hash_of(out, ranks * 3 * 2 * kTile));
    for (const int leaves : {-1, 0, int(ranks) - 1}) {
      clear();
      if (ranks == 1 && leaves == 0) continue;
      launch(halves, dim3(ranks * 2), dim3(kThreads), dim3(ranks), out, leaves);
      printf("halves %u, %d leaves: %016llx\n", ranks, leaves,
             (unsigned long long)hash_of(out, ranks * 2 * kThreads));
    }
  }
  clear();
  launch(spaces, dim3(4), dim3(32), dim3(2), words);
  uint32_t values[20];
  cudaMemcpy(values, words, sizeof values, cudaMemcpyDeviceToHost);
  printf("spaces:");
  for (const uint32_t v : values) printf(" %x", v);
  printf("\nspaces: %016llx\n", (unsigned long long)hash_of(words, 80));
  launch(handed_over, dim3(2), dim3(1), dim3(2), out);
  int handed[2];
  cudaMemcpy(handed, out, sizeof handed, cudaMemcpyDeviceToHost);
  printf("handed over: %d %d\n", handed[0], handed[1]);
  tell("all of these", cudaSuccess);

  two<<<4, 32>>>(out);
  tell("__cluster_dims__(2)", cudaPeekAtLastError());
  two<<<3, 32>>>(out);
  tell("__cluster_dims__(2), a grid of 3", cudaPeekAtLastError());
  tell("__cluster_dims__(2), launched with 4", launch(two, dim3(4), dim3(32), dim3(4), out));
  tell("__cluster_dims__(2), launched with 2", launch(two, dim3(4), dim3(32), dim3(2), out));
  must_say<<<4, 32>>>(out);
  tell("__cluster_dims__(), launched without", cudaPeekAtLastError());
  tell("__cluster_dims__(), launched with 2", launch(must_say, dim3(4), dim3(32), dim3(2), out));
  tell("2, a grid of 3", launch(halves, dim3(3), dim3(32), dim3(2), out, -1));
  tell("3, a grid of 6", launch(halves, dim3(6), dim3(32), dim3(3), out, -1));
  tell("0", launch(halves, dim3(4), dim3(32), dim3(0, 1, 1), out, -1));
  tell("9", launch(halves, dim3(9), dim3(32), dim3(9), out, -1));
  tell("16", launch(halves, dim3(16), dim3(32), dim3(16), out, -1));
  tell("the attribute",
       cudaFuncSetAttribute(halves, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  clear();
  tell("16, non-portable", launch(halves, dim3(32), dim3(32), dim3(16), out, -1));
  printf("16: %016llx\n", (unsigned long long)hash_of(out, 32 * 32));
  tell("17, non-portable", launch(halves, dim3(17), dim3(32), dim3(17), out, -1));

  cudaLaunchConfig_t config{};
  config.gridDim = dim3(16);
  config.blockDim = dim3(128);
  int size = 0;
  tell("cudaOccupancyMaxPotentialClusterSize",
       cudaOccupancyMaxPotentialClusterSize(&size, ring, &config));
  printf("%d\n", size);
  cudaOccupancyMaxPotentialClusterSize(&size, halves, &config);
  printf("%d, non-portable\n", size);
  cudaFuncAttributes attributes{};
  cudaFuncGetAttributes(&attributes, two);
  printf("two: %d %d %d %d %d\n", attributes.clusterDimMustBeSet, attributes.requiredClusterWidth,
         attributes.requiredClusterHeight, attributes.requiredClusterDepth,
         attributes.nonPortableClusterSizeAllowed);
  cudaFuncGetAttributes(&attributes, must_say);
  printf("must_say: %d %d %d %d %d\n", attributes.clusterDimMustBeSet,
         attributes.requiredClusterWidth, attributes.requiredClusterHeight,
         attributes.requiredClusterDepth, attributes.nonPortableClusterSizeAllowed);
  cudaFuncGetAttributes(&attributes, halves);
  printf("halves: %d %d %d %d %d\n", attributes.clusterDimMustBeSet,
         attributes.requiredClusterWidth, attributes.requiredClusterHeight,
         attributes.requiredClusterDepth, attributes.nonPortableClusterSizeAllowed);
  tell("outside of the other's shared memory",
       launch(outside, dim3(2), dim3(kThreads), dim3(2), out, 1 << 14));
}
