// GEMM step 19: persistent CTAs.
//
// Change:  as many CTAs as SMs, each taking tile after tile in an order that keeps neighbours
//          together; the copies of the next tile start while this one is stored.
// Why:     in step 18 an SM that finishes a tile stores 128 KiB, ends its CTA, starts another, sets
//          up barriers and waits for the first copies, all without a product. Here the ring is full
//          again when the store is done. Tiles in flight that form a square share rows and columns
//          in L2.
// Expect:  m=256 n=256 k=256
//   requests_ld              0
//   sectors_ld               0
//   sectors_per_request_ld   0
//   requests_st              1024
//   sectors_st               8192
//   sectors_per_request_st   8
// Limits:  the last wave leaves SMs without a tile, and few tiles leave most of them without any.
// Next:    20_split_k divides K where tiles are few.
#include "../common/gemm_program.h"
#include "../common/pitched.h"
#include "../common/warpgroup.cuh"

using namespace tw::ladder;
using namespace tw::gpu;

constexpr int kTileM = 128, kTileN = 256;  // of C a CTA computes
constexpr int kStages = 4;
constexpr int kThreads = 384;  // two warpgroups that multiply 64 x 256, one that copies
constexpr int kCluster = 2;    // CTAs, one above the other, that share the columns of B
constexpr int kRowsAhead =
    8;  // pairs of tiles walked along M before the next columns: they share B in L2
constexpr int kBytesA = kTileM / 64 * kPanelBytes;
constexpr int kBytesB = kTileN / 64 * kPanelBytes;
constexpr int kStageBytes = kBytesA + kBytesB;
constexpr int kSharedBytes = kStages * kStageBytes;

struct Tile {
  int row, column;
};
// Tile `index` of the walk: kRowsAhead clusters along M, then the next columns.
__device__ inline Tile tile_at(int index, int rows, int columns) {
  const int group = index / (kRowsAhead * columns), first = group * kRowsAhead;
  const int height = min(kRowsAhead, rows - first), within = index - first * columns;
  return {first + within % height, within / height};
}

__global__ void __launch_bounds__(kThreads, 1)
    gemm_persistent(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                    float* __restrict__ c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char shared[];  // a swizzle repeats after 1024 bytes
  __shared__ uint64_t full[kStages], empty[kStages];
  const int thread = threadIdx.x, group = thread / 128;
  const int phases = (k + kStageDepth - 1) / kStageDepth;
  const int rank = static_cast<int>(cluster_rank());
  const int rows = (m + kTileM * kCluster - 1) / (kTileM * kCluster);
  const int columns = (n + kTileN - 1) / kTileN;
  const int tiles = rows * columns, first_tile = blockIdx.x / kCluster, step = gridDim.x / kCluster;
  if (thread == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(shared_address(&full[stage]), 1);
      mbarrier_init(shared_address(&empty[stage]),
                    2 * kCluster);  // the warpgroups that read it, of both CTAs
    }
    fence_mbarrier_init();
  }
  cluster_sync();  // no copy may reach a CTA whose barriers do not exist yet
  int stage = 0;
  uint32_t round = 0;  // parity of the passes over the ring
  auto advance = [&] {
    if (++stage == kStages) {
      stage = 0;
      round ^= 1;
    }
  };
  if (group == 2) {
    registers_release<40>();
    if (thread == 256) {
      for (int tile = first_tile; tile < tiles; tile += step) {
        const Tile at = tile_at(tile, rows, columns);
        const int row0 = (at.row * kCluster + rank) * kTileM, col0 = at.column * kTileN;
        for (int phase = 0; phase < phases; ++phase) {
          mbarrier_wait(shared_address(&empty[stage]), round ^ 1);
          const uint32_t to = shared_address(shared) + stage * kStageBytes;
          const uint32_t barrier = shared_address(&full[stage]);
          mbarrier_arrive_expect(barrier, kStageBytes);
          tma_load(to, &a, phase * kStageDepth, row0, 0, barrier);
          // Half of B's lines each, to both CTAs.
          constexpr int kLines = kStageDepth / kCluster;
#pragma unroll
          for (int panel = 0; panel < kTileN / 64; ++panel)
            tma_load_multicast(to + kBytesA + panel * kPanelBytes + rank * kLines * 128, &b,
                               col0 + panel * 64, phase * kStageDepth + rank * kLines, 0, barrier,
                               3);
          advance();
        }
      }
    }
  } else {
    registers_acquire<232>();
    for (int tile = first_tile; tile < tiles; tile += step) {
      const Tile at = tile_at(tile, rows, columns);
      const int row0 = (at.row * kCluster + rank) * kTileM, col0 = at.column * kTileN;
      float d[kTileN / 2];
      int previous = 0;
      auto release = [&](int which) {
        if (thread % 128 < kCluster)
          mbarrier_arrive_remote(shared_address(&empty[which]), thread % 128);
      };
      auto multiply = [&](bool first) {
        mbarrier_wait(shared_address(&full[stage]), round);
        const uint32_t at_stage = shared_address(shared) + stage * kStageBytes;
        multiply_stage<kTileN>(d, at_stage + group * kPanelBytes, at_stage + kBytesA, first);
      };
      multiply(true);
      for (int phase = 1; phase < phases; ++phase) {
        previous = stage;
        advance();
        multiply(false);
        wgmma_wait<1>();  // the stage before this one has been read
        release(previous);
      }
      wgmma_wait<0>();
      keep_below(d);
      release(stage);
      advance();
      store_warpgroup<kTileN>(d, c, row0 + group * 64, col0, m, n);
    }
  }
  cluster_sync();  // no CTA leaves while the other may still signal it
}

void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0) {  // no tensor map of an empty matrix; an empty sum is zero
    check(cudaMemsetAsync(c, 0, size_t(shape.m) * shape.n * sizeof(float)));
    return;
  }
  check(cudaFuncSetAttribute(gemm_persistent, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kSharedBytes));
  int device = 0, processors = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  const int tiles = ceil_div(shape.m, kTileM * kCluster) * ceil_div(shape.n, kTileN);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(std::min(tiles, processors / kCluster) * kCluster);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kSharedBytes;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = kCluster;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  config.attrs = &cluster;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(
      &config, gemm_persistent,
      tensor_map(on_16_bytes(a, shape.m, shape.k, 0), kStageDepth, kTileM),
      tensor_map(on_16_bytes(b, shape.k, shape.n, 1), 64, kStageDepth / kCluster), c, shape.m,
      shape.n, shape.k));
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  tw::ladder::GemmStep step{"gemm/19_persistent", nullptr};
  step.launch_bf16 = launch;
  return tw::ladder::run_gemm_step(options, step);
}
