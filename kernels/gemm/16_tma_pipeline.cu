// GEMM step 16: bulk tensor copies and an mbarrier pipeline.
//
// Change:  one thread asks the copy engine for whole boxes (two instructions and a barrier a
//          stage); mbarriers count the bytes that have arrived and say when a stage has been read.
// Why:     in step 15 each of 256 threads computes addresses and issues eight copies a stage,
//          between the multiplications. A tensor map holds the shape, the pitch, the swizzle and
//          the zeros outside: nothing is left to compute.
// Expect:  m=256 n=256 k=256
//   requests_ld              0
//   sectors_ld               0
//   sectors_per_request_ld   0
//   requests_st              1024
//   sectors_st               8192
//   sectors_per_request_st   8
// Limits:  TMA wants a pitch of 16 bytes (others are copied first). The thread that issues copies
//          also multiplies, so a stage is refilled only when its warp comes round.
// Next:    17_warp_specialised gives the copies a warp of their own.
#include "../common/gemm_program.h"
#include "../common/pitched.h"
#include "../common/warpgroup.cuh"

using namespace tw::ladder;
using namespace tw::gpu;

constexpr int kTile = 128;  // rows and columns of C a CTA computes
constexpr int kStages = 6;
constexpr int kThreads = 256;  // two warpgroups of 64 x 128
constexpr int kBytesA = kTile / 64 * kPanelBytes;
constexpr int kBytesB = kTile / 64 * kPanelBytes;
constexpr int kStageBytes = kBytesA + kBytesB;
constexpr int kSharedBytes = kStages * kStageBytes;

__global__ void __launch_bounds__(kThreads, 1)
    gemm_tma_pipeline(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                      float* __restrict__ c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char shared[];  // a swizzle repeats after 1024 bytes
  __shared__ uint64_t full[kStages], empty[kStages];
  const int thread = threadIdx.x, group = thread / 128;
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  const int phases = (k + kStageDepth - 1) / kStageDepth;
  if (thread == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(shared_address(&full[stage]), 1);   // the thread that asks for the copies
      mbarrier_init(shared_address(&empty[stage]), 2);  // one thread of each warpgroup
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  auto copy = [&](int phase) {
    const int stage = phase % kStages, round = phase / kStages;
    // The first round finds the stages free: a wait for the phase before the first one returns.
    mbarrier_wait(shared_address(&empty[stage]), (round & 1) ^ 1);
    const uint32_t to = shared_address(shared) + stage * kStageBytes;
    const uint32_t barrier = shared_address(&full[stage]);
    mbarrier_arrive_expect(barrier, kStageBytes);
    tma_load(to, &a, phase * kStageDepth, row0, 0, barrier);
#pragma unroll
    for (int panel = 0; panel < kTile / 64; ++panel)
      tma_load(to + kBytesA + panel * kPanelBytes, &b, col0 + panel * 64, phase * kStageDepth, 0,
               barrier);
  };
  if (thread == 0) {
    for (int phase = 0; phase < kStages - 1 && phase < phases; ++phase) copy(phase);
  }
  float d[kTile / 2] = {};
  for (int phase = 0; phase < phases; ++phase) {
    const int stage = phase % kStages, round = phase / kStages;
    mbarrier_wait(shared_address(&full[stage]), round & 1);
    const uint32_t at = shared_address(shared) + stage * kStageBytes;
    multiply_stage<kTile>(d, at + group * kPanelBytes, at + kBytesA, false);
    wgmma_wait<1>();  // the stage before this one has been read
    if (phase > 0 && thread % 128 == 0)
      mbarrier_arrive(shared_address(&empty[(phase - 1) % kStages]));
    if (thread == 0 && phase + kStages - 1 < phases) copy(phase + kStages - 1);
    __syncwarp();
  }
  wgmma_wait<0>();
  keep_below(d);
  store_warpgroup<kTile>(d, c, row0 + group * 64, col0, m, n);
}

void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0) {  // no tensor map of an empty matrix; an empty sum is zero
    check(cudaMemsetAsync(c, 0, size_t(shape.m) * shape.n * sizeof(float)));
    return;
  }
  check(cudaFuncSetAttribute(gemm_tma_pipeline, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kSharedBytes));
  const dim3 grid(ceil_div(shape.n, kTile), ceil_div(shape.m, kTile));
  gemm_tma_pipeline<<<grid, kThreads, kSharedBytes>>>(
      tensor_map(on_16_bytes(a, shape.m, shape.k, 0), kStageDepth, kTile),
      tensor_map(on_16_bytes(b, shape.k, shape.n, 1), 64, kStageDepth), c, shape.m, shape.n,
      shape.k);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  tw::ladder::GemmStep step{"gemm/16_tma_pipeline", nullptr};
  step.launch_bf16 = launch;
  return tw::ladder::run_gemm_step(options, step);
}
