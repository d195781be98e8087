// CUB's block primitives in one kernel: load, scan, reduce, radix sort, histogram, discontinuity,
// store.
#include <algorithm>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

#include "suite.h"

constexpr int kThreads = 64, kItems = 4, kTile = kThreads * kItems;

__global__ void primitives(const int* in, int* sorted, int* scanned, int* sums,
                           unsigned* histogram) {
  using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, kThreads, kItems, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  using Scan = cub::BlockScan<int, kThreads>;
  using Reduce = cub::BlockReduce<int, kThreads>;
  using Sort = cub::BlockRadixSort<int, kThreads, kItems>;
  using Histogram =
      cub::BlockHistogram<unsigned char, kThreads, kItems, 16, cub::BLOCK_HISTO_ATOMIC>;
  __shared__ union {
    Load::TempStorage load;
    Store::TempStorage store;
    Scan::TempStorage scan;
    Reduce::TempStorage reduce;
    Sort::TempStorage sort;
    Histogram::TempStorage histogram;
  } temp;
  __shared__ unsigned bins[16];
  int v[kItems], prefix[kItems], base = blockIdx.x * kTile;
  unsigned char low[kItems];
  Load(temp.load).Load(in + base, v);
  __syncthreads();
  Scan(temp.scan).ExclusiveSum(v, prefix);
  __syncthreads();
  int sum = Reduce(temp.reduce).Sum(v);
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  for (int k = 0; k < kItems; k++) low[k] = (unsigned char)(v[k] & 15);
  Histogram(temp.histogram).Histogram(low, bins);
  __syncthreads();
  if (threadIdx.x < 16) histogram[blockIdx.x * 16 + threadIdx.x] = bins[threadIdx.x];
  Sort(temp.sort).Sort(v);
  __syncthreads();
  Store(temp.store).Store(sorted + base, v);
  __syncthreads();
  Store(temp.store).Store(scanned + base, prefix);
}

int main() {
  const int blocks = 3, n = blocks * kTile;
  std::vector<int> h(n), prefix(n), sums(blocks);
  std::vector<unsigned> bins(blocks * 16);
  for (int i = 0; i < n; i++) {
    h[i] = int(hash(i)) >> 8;
    prefix[i] = i % kTile ? prefix[i - 1] + h[i - 1] : 0;
    sums[i / kTile] += h[i], bins[i / kTile * 16 + (h[i] & 15)]++;
  }
  DeviceArray<int> in(h), sorted(n), scanned(n), dsums(blocks);
  DeviceArray<unsigned> dbins(blocks * 16);
  primitives<<<blocks, kThreads>>>(in, sorted, scanned, dsums, dbins);
  SYNC();
  for (int b = 0; b < blocks; b++) std::sort(h.begin() + b * kTile, h.begin() + (b + 1) * kTile);
  expect_equal(sorted.host(), h, "radix sort");
  expect_equal(scanned.host(), prefix, "exclusive sum");
  expect_equal(dsums.host(), sums, "sum");
  expect_equal(dbins.host(), bins, "histogram");
  return verdict();
}
