// GEMM step 18: two CTAs share B.
//
// Change:  clusters of two CTAs, one above the other: each loads half of a stage of B and the copy
//          engine delivers it to both.
// Why:     step 17 draws 48 KiB a stage and SM from L2, of which 32 are B: 48 bytes a clock, of
//          some 60 that L2 gives each of 132 SMs. Shared by two, B is 16 KiB.
// Expect:  m=256 n=256 k=256
//   requests_ld              0
//   sectors_ld               0
//   sectors_per_request_ld   0
//   requests_st              1024
//   sectors_st               8192
//   sectors_per_request_st   8
// Limits:  a stage is free only when both CTAs have read it: they run in step. Tiles are still one
//          a CTA.
// Next:    19_persistent keeps the CTAs and lets them walk over the tiles.
#include "../common/gemm_program.h"
#include "../common/pitched.h"
#include "../common/warpgroup.cuh"

using namespace tw::ladder;
using namespace tw::gpu;

constexpr int kTileM = 128, kTileN = 256;  // of C a CTA computes
constexpr int kStages = 4;
constexpr int kThreads = 384;  // two warpgroups that multiply 64 x 256, one that copies
constexpr int kCluster = 2;    // CTAs, one above the other, that share the columns of B
constexpr int kBytesA = kTileM / 64 * kPanelBytes;
constexpr int kBytesB = kTileN / 64 * kPanelBytes;
constexpr int kStageBytes = kBytesA + kBytesB;
constexpr int kSharedBytes = kStages * kStageBytes;

__global__ void __launch_bounds__(kThreads, 1)
    gemm_cluster_multicast(const __grid_constant__ CUtensorMap a,
                           const __grid_constant__ CUtensorMap b, float* __restrict__ c, int m,
                           int n, int k) {
  extern __shared__ __align__(1024) unsigned char shared[];  // a swizzle repeats after 1024 bytes
  __shared__ uint64_t full[kStages], empty[kStages];
  const int thread = threadIdx.x, group = thread / 128;
  const int phases = (k + kStageDepth - 1) / kStageDepth;
  const int rank = static_cast<int>(cluster_rank());
  const int row0 = blockIdx.x * kTileM, col0 = blockIdx.y * kTileN;  // a cluster lies along x
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
                             col0 + panel * 64, phase * kStageDepth + rank * kLines, 0, barrier, 3);
        advance();
      }
    }
  } else {
    registers_acquire<232>();
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
  cluster_sync();  // no CTA leaves while the other may still signal it
}

void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0) {  // no tensor map of an empty matrix; an empty sum is zero
    check(cudaMemsetAsync(c, 0, size_t(shape.m) * shape.n * sizeof(float)));
    return;
  }
  check(cudaFuncSetAttribute(gemm_cluster_multicast, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kSharedBytes));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(ceil_div(shape.m, kTileM * kCluster) * kCluster, ceil_div(shape.n, kTileN));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kSharedBytes;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = kCluster;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  config.attrs = &cluster;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(
      &config, gemm_cluster_multicast,
      tensor_map(on_16_bytes(a, shape.m, shape.k, 0), kStageDepth, kTileM),
      tensor_map(on_16_bytes(b, shape.k, shape.n, 1), 64, kStageDepth / kCluster), c, shape.m,
      shape.n, shape.k));
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  tw::ladder::GemmStep step{"gemm/18_cluster_multicast", nullptr};
  step.launch_bf16 = launch;
  return tw::ladder::run_gemm_step(options, step);
}
