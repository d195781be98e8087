// GEMM step 17: a warpgroup for the copies.
//
// Change:  one thread of a third warpgroup does nothing but copy; the two others only multiply, 64
//          x 256 each; the copying warps give their registers to them.
// Why:     in step 16 the thread that copies also waits for its own multiplications, so the ring is
//          refilled late. And 128 x 128 tiles make the tensor cores wait for shared memory: 614
//          clocks of reads and writes for 512 of products a stage; 128 x 256 needs 986 for 1024.
// Expect:  m=256 n=256 k=256
//   requests_ld              0
//   sectors_ld               0
//   sectors_per_request_ld   0
//   requests_st              1024
//   sectors_st               8192
//   sectors_per_request_st   8
// Limits:  each CTA fetches its 256 columns of B for 128 rows only, and between two tiles of an SM
//          nothing is multiplied: the epilogue, the launch and the first copies of the next CTA lie
//          bare.
// Next:    18_cluster_multicast fetches B once for two CTAs.
#include "../common/gemm_program.h"
#include "../common/pitched.h"
#include "../common/warpgroup.cuh"

using namespace tw::ladder;
using namespace tw::gpu;

constexpr int kTileM = 128, kTileN = 256;  // of C a CTA computes
constexpr int kStages = 4;
constexpr int kThreads = 384;  // two warpgroups that multiply 64 x 256, one that copies
constexpr int kBytesA = kTileM / 64 * kPanelBytes;
constexpr int kBytesB = kTileN / 64 * kPanelBytes;
constexpr int kStageBytes = kBytesA + kBytesB;
constexpr int kSharedBytes = kStages * kStageBytes;

__global__ void __launch_bounds__(kThreads, 1)
    gemm_warp_specialised(const __grid_constant__ CUtensorMap a,
                          const __grid_constant__ CUtensorMap b, float* __restrict__ c, int m,
                          int n, int k) {
  extern __shared__ __align__(1024) unsigned char shared[];  // a swizzle repeats after 1024 bytes
  __shared__ uint64_t full[kStages], empty[kStages];
  const int thread = threadIdx.x, group = thread / 128;
  const int phases = (k + kStageDepth - 1) / kStageDepth;
  const int row0 = blockIdx.y * kTileM, col0 = blockIdx.x * kTileN;
  if (thread == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(shared_address(&full[stage]), 1);
      mbarrier_init(shared_address(&empty[stage]), 2);  // the warpgroups that read it
    }
    fence_mbarrier_init();
  }
  __syncthreads();
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
#pragma unroll
        for (int panel = 0; panel < kTileN / 64; ++panel)
          tma_load(to + kBytesA + panel * kPanelBytes, &b, col0 + panel * 64, phase * kStageDepth,
                   0, barrier);
        advance();
      }
    }
  } else {
    registers_acquire<232>();
    float d[kTileN / 2];
    int previous = 0;
    auto release = [&](int which) {
      if (thread % 128 == 0) mbarrier_arrive(shared_address(&empty[which]));
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

void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0) {  // no tensor map of an empty matrix; an empty sum is zero
    check(cudaMemsetAsync(c, 0, size_t(shape.m) * shape.n * sizeof(float)));
    return;
  }
  check(cudaFuncSetAttribute(gemm_warp_specialised, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kSharedBytes));
  const dim3 grid(ceil_div(shape.n, kTileN), ceil_div(shape.m, kTileM));
  gemm_warp_specialised<<<grid, kThreads, kSharedBytes>>>(
      tensor_map(on_16_bytes(a, shape.m, shape.k, 0), kStageDepth, kTileM),
      tensor_map(on_16_bytes(b, shape.k, shape.n, 1), 64, kStageDepth), c, shape.m, shape.n,
      shape.k);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  tw::ladder::GemmStep step{"gemm/17_warp_specialised", nullptr};
  step.launch_bf16 = launch;
  return tw::ladder::run_gemm_step(options, step);
}
