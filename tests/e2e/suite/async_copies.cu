// Asynchronous copies: in the three ways that the toolkit offers (pipeline primitives,
// cooperative groups, cuda::pipeline), with zero fill at the end of the data, and through an
// mbarrier.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>

#include <cuda/barrier>
#include <cuda/pipeline>

#include "suite.h"

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;

constexpr int kThreads = 128;
constexpr int kItems = 1000;  // ragged: the last tile is zero beyond it

// Sums of neighbours a tile apart, three stages deep.
__global__ void primitives(const int* in, int* out, int n) {
  constexpr int kStages = 3;
  __shared__ alignas(16) int s[kStages][kThreads * 4];
  const int tiles = (n + kThreads * 4 - 1) / (kThreads * 4), t = threadIdx.x;
  const auto start = [&](int tile) {
    const int at = (tile * kThreads + t) * 4;
    if (tile < tiles) {
      const int left = at < n ? min(4, n - at) : 0;  // bytes beyond are zero
      __pipeline_memcpy_async(&s[tile % kStages][4 * t], in + (left ? at : 0), 16, 16 - 4 * left);
    }
    __pipeline_commit();
  };
  for (int i = 0; i < kStages - 1; ++i) start(i);
  for (int i = 0; i < tiles; ++i) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
    start(i + kStages - 1);
    for (int j = 0; j < 4; ++j) {
      const int e = j * kThreads + t;
      out[i * kThreads * 4 + e] = s[i % kStages][e] + s[i % kStages][kThreads * 4 - 1 - e];
    }
  }
}

__global__ void groups(const int* in, int* out, int n) {
  __shared__ int s[kThreads * 4];
  const cg::thread_block block = cg::this_thread_block();
  for (int at = 0; at < n; at += kThreads * 4) {
    const int count = min(kThreads * 4, n - at);
    for (int i = count + threadIdx.x; i < kThreads * 4; i += kThreads) s[i] = 0;
    cg::memcpy_async(block, s, in + at, sizeof(int) * count);
    cg::wait(block);
    for (int e = threadIdx.x; e < kThreads * 4; e += kThreads)
      out[at + e] = s[e] + s[kThreads * 4 - 1 - e];
    block.sync();
  }
}

__global__ void pipeline(const int* in, int* out, int n) {
  __shared__ int s[2][kThreads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const cg::thread_block block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const int tiles = (n + kThreads - 1) / kThreads, t = threadIdx.x;
  const auto start = [&](int tile) {
    pipe.producer_acquire();
    const int at = tile * kThreads + t;
    if (at < n)
      cuda::memcpy_async(&s[tile % 2][t], in + at, sizeof(int), pipe);
    else
      s[tile % 2][t] = 0;
    pipe.producer_commit();
  };
  start(0);
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) start(i + 1);
    pipe.consumer_wait();
    out[i * kThreads + t] = s[i % 2][t] + s[i % 2][kThreads - 1 - t];
    pipe.consumer_release();
  }
}

__global__ void barrier(const int* in, int* out, int n) {
  __shared__ int s[kThreads];
  __shared__ cuda::barrier<cuda::thread_scope_block> full;
  const cg::thread_block block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&full, kThreads);
  block.sync();
  for (int at = 0; at < n; at += kThreads) {
    const int i = at + threadIdx.x;
    if (i < n)
      cuda::memcpy_async(&s[threadIdx.x], in + i, sizeof(int), full);
    else
      s[threadIdx.x] = 0;
    full.arrive_and_wait();
    out[i] = s[threadIdx.x] + s[kThreads - 1 - threadIdx.x];
    block.sync();
  }
}

// Sum of each element and its mirror image in its tile.
std::vector<int> mirrored(const std::vector<int>& in, size_t room, size_t tile) {
  std::vector<int> out(room, -1);
  const auto value = [&](size_t i) { return i < in.size() ? in[i] : 0; };
  for (size_t i = 0; i < (in.size() + tile - 1) / tile * tile; ++i)
    out[i] = value(i) + value(i / tile * tile + tile - 1 - i % tile);
  return out;
}

int main() {
  constexpr size_t kRoom = (kItems + 511) / 512 * 512;
  std::vector<int> values(kItems);
  for (int i = 0; i < kItems; ++i) values[i] = int(hash(unsigned(i)) % 1000);
  DeviceArray<int> in(values), out(kRoom);
  const auto run = [&](void (*kernel)(const int*, int*, int), size_t tile, const char* name) {
    CHECK(cudaMemset(out, 0xff, kRoom * sizeof(int)));
    kernel<<<1, kThreads>>>(in, out, kItems);
    SYNC();
    expect_equal(out.host(), mirrored(values, kRoom, tile), name);
  };
  run(primitives, kThreads * 4, "pipeline primitives");
  run(groups, kThreads * 4, "cooperative groups");
  run(pipeline, kThreads, "cuda::pipeline");
  run(barrier, kThreads, "cuda::barrier");
  return verdict();
}
