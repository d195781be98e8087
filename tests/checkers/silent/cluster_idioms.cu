// How clusters are used: a sum through distributed shared memory that ends with a barrier without a
// release, a ring of stages that two blocks fill and empty by remote mbarriers, a histogram whose
// bins lie in several blocks, the barrier of a cluster of one block, copies from block to block.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

constexpr int kThreads = 128;

__device__ unsigned offset_of(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }
__device__ unsigned mapped(const void* p, unsigned rank) {
  unsigned r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(offset_of(p)), "r"(rank));
  return r;
}
__device__ void init(unsigned long long* barrier, unsigned arrivals) {
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], %1;\nfence.mbarrier_init.release.cluster;" ::"r"(
          offset_of(barrier)),
      "r"(arrivals)
      : "memory");
}
__device__ void arrive(unsigned long long* barrier, unsigned rank) {
  asm volatile(
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped(barrier, rank))
      : "memory");
}
__device__ void wait(unsigned long long* barrier, unsigned parity) {
  asm volatile(
      "{ .reg .pred done;\nagain: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, "
      "[%0], %1;\n@!done bra again; }" ::"r"(offset_of(barrier)),
      "r"(parity)
      : "memory");
}

__global__ void sum_of_blocks(const float* in, float* out) {
  __shared__ float part[kThreads];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), ranks = cluster.num_blocks();
  const int t = threadIdx.x, share = kThreads / int(ranks);
  part[t] = in[blockIdx.x * kThreads + t];
  cluster.sync();
  if (t < share) {
    const int at = int(rank) * share + t;
    float sum = 0;
    for (unsigned r = 0; r < ranks; ++r) sum += cluster.map_shared_rank(part, r)[at];
    out[blockIdx.x / ranks * kThreads + at] = sum;
  }
  asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

// Block 0 fills stages in the memory of block 1, which tells it by a remote arrival that one is
// free.
__global__ void ring(const float* in, float* out, int steps) {
  constexpr int kStages = 2;
  __shared__ float stage[kStages][kThreads];
  __shared__ unsigned long long full[kStages], empty[kStages];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  const int t = threadIdx.x;
  if (t == 0)
    for (int s = 0; s < kStages; ++s) init(&full[s], kThreads), init(&empty[s], kThreads);
  cluster.sync();
  float sum = 0;
  for (int i = 0; i < steps; ++i) {
    const int s = i % kStages;
    const unsigned parity = unsigned(i / kStages) & 1;
    if (rank == 0) {
      wait(&empty[s], parity ^ 1);
      *cluster.map_shared_rank(&stage[s][t], 1) = in[i * kThreads + t];
      arrive(&full[s], 1);
    } else {
      wait(&full[s], parity);
      sum += stage[s][kThreads - 1 - t];
      arrive(&empty[s], 0);
    }
  }
  if (rank == 1) out[t] = sum;
  cluster.sync();
}

__global__ void histogram(const int* in, int* out, int bins) {
  extern __shared__ int mine[];
  cg::cluster_group cluster = cg::this_cluster();
  const int share = bins / int(cluster.num_blocks());
  for (int b = threadIdx.x; b < share; b += kThreads) mine[b] = 0;
  cluster.sync();
  const int bin = in[blockIdx.x * kThreads + threadIdx.x] % bins;
  atomicAdd(cluster.map_shared_rank(mine, unsigned(bin / share)) + bin % share, 1);
  cluster.sync();
  for (int b = threadIdx.x; b < share; b += kThreads)
    atomicAdd(&out[int(cluster.block_rank()) * share + b], mine[b]);
}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), int blocks, int cluster, size_t bytes,
            Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = bytes;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...);
  if (error != cudaSuccess) printf("%s\n", cudaGetErrorString(error));
}

// Block 0 sends what it fills again and again, each time when block 1 has read the last.
__global__ void sends(float* out, int steps) {
  __shared__ __align__(16) float mine[kThreads], got[kThreads];
  __shared__ unsigned long long full;
  cg::cluster_group cluster = cg::this_cluster();
  const int t = threadIdx.x;
  const bool sender = cluster.block_rank() == 0;
  if (t == 0) init(&full, 1);
  cluster.sync();
  float sum = 0;
  for (int i = 0; i < steps; ++i) {
    if (sender) {
      mine[t] = t * i;
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncthreads();
      if (t == 0)
        asm volatile(
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], "
            "%2, [%3];" ::"r"(mapped(got, 1)),
            "r"(offset_of(mine)), "r"(unsigned(sizeof mine)), "r"(mapped(&full, 1))
            : "memory");
    } else {
      if (t == 0)
        asm volatile(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(offset_of(&full)),
            "r"(unsigned(sizeof got))
            : "memory");
      wait(&full, i & 1);
      sum += got[kThreads - 1 - t];
    }
    cluster.sync();
  }
  if (!sender) out[t] = sum;
}

int main() {
  constexpr int kBlocks = 8, kCount = kBlocks * kThreads;
  std::vector<float> floats(kCount);
  std::vector<int> ints(kCount);
  for (int i = 0; i < kCount; ++i) floats[i] = float(i % 17), ints[i] = i * 31 % 257;
  float *in, *out;
  int *values, *bins;
  cudaMalloc(&in, kCount * sizeof(float));
  cudaMalloc(&out, kCount * sizeof(float));
  cudaMalloc(&values, kCount * sizeof(int));
  cudaMalloc(&bins, 64 * sizeof(int));
  cudaMemcpy(in, floats.data(), kCount * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(values, ints.data(), kCount * sizeof(int), cudaMemcpyHostToDevice);
  int wrong = 0;
  for (const int cluster : {1, 2, 4, 8}) {
    launch(sum_of_blocks, kBlocks, cluster, 0, in, out);
    std::vector<float> sums(kBlocks / cluster * kThreads);
    cudaMemcpy(sums.data(), out, sums.size() * sizeof(float), cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < sums.size(); ++i) {
      float sum = 0;
      for (int r = 0; r < cluster; ++r)
        sum += floats[(i / kThreads * size_t(cluster) + size_t(r)) * kThreads + i % kThreads];
      wrong += sum != sums[i];
    }
    cudaMemset(bins, 0, 64 * sizeof(int));
    launch(histogram, kBlocks, cluster, 64 / cluster * sizeof(int), values, bins, 64);
    std::vector<int> counts(64);
    cudaMemcpy(counts.data(), bins, 64 * sizeof(int), cudaMemcpyDeviceToHost);
    for (const int v : ints) --counts[v % 64];
    for (const int c : counts) wrong += c != 0;
  }
  launch(ring, 2, 2, 0, in, out, kBlocks);
  std::vector<float> sums(kThreads);
  cudaMemcpy(sums.data(), out, sums.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (int t = 0; t < kThreads; ++t) {
    float sum = 0;
    for (int i = 0; i < kBlocks; ++i) sum += floats[i * kThreads + kThreads - 1 - t];
    wrong += sum != sums[t];
  }
  launch(sends, 2, 2, 0, out, 5);
  cudaMemcpy(sums.data(), out, sums.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (int t = 0; t < kThreads; ++t) wrong += sums[t] != (kThreads - 1 - t) * 10;
  printf("%d wrong (%s)\n", wrong, cudaGetErrorString(cudaDeviceSynchronize()));
  return wrong != 0;
}
