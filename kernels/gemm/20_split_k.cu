// GEMM step 20: K divided among CTAs.
//
// Change:  from step 17: where tiles are fewer than SMs, several CTAs take a part of K of one tile
//          each and write their sums to scratch memory; a second kernel adds them in a fixed order.
// Why:     at 256 x 256 x 65536 step 19 has one pair of CTAs, and 130 of 132 SMs do nothing. In 64
//          parts of 16 stages each, 128 of them work; adding the parts writes and reads 17 MB,
//          beside 67 MB of A and B.
// Expect:  m=256 n=256 k=256
//   requests_ld              0
//   sectors_ld               0
//   sectors_per_request_ld   0
//   requests_st              1024
//   sectors_st               8192
//   sectors_per_request_st   8
// Limits:  every part costs a write and a read of the tile in fp32: at full waves there is only one
//          part and this is step 17. The library also sums within a cluster, through distributed
//          shared memory, and picks by a model: lib/, docs/gemm.md.
// Next:    the library, lib/wgmma_kernel.cuh: any layout, type, pitch and address, the epilogue
//          through staging and bulk stores.
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
    gemm_split_k(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                 float* __restrict__ partial, int m, int n, int k, int phases_a_part) {
  extern __shared__ __align__(1024) unsigned char shared[];  // a swizzle repeats after 1024 bytes
  __shared__ uint64_t full[kStages], empty[kStages];
  const int thread = threadIdx.x, group = thread / 128;
  const int all_phases = (k + kStageDepth - 1) / kStageDepth;
  const int first_phase = blockIdx.z * phases_a_part;  // this CTA's part of K
  const int phases = min(phases_a_part, all_phases - first_phase);
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
        tma_load(to, &a, (first_phase + phase) * kStageDepth, row0, 0, barrier);
#pragma unroll
        for (int panel = 0; panel < kTileN / 64; ++panel)
          tma_load(to + kBytesA + panel * kPanelBytes, &b, col0 + panel * 64,
                   (first_phase + phase) * kStageDepth, 0, barrier);
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
    store_warpgroup<kTileN>(d, partial + blockIdx.z * size_t(m) * n, row0 + group * 64, col0, m, n);
  }
}

// C = the sum of the parts, always in the same order: the same bits every time.
__global__ void sum_parts(const float* __restrict__ partial, float* __restrict__ c, size_t count,
                          int parts) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    float sum = partial[i];
    for (int part = 1; part < parts; ++part) sum += partial[part * count + i];
    c[i] = sum;
  }
}

void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0) {  // no tensor map of an empty matrix; an empty sum is zero
    check(cudaMemsetAsync(c, 0, size_t(shape.m) * shape.n * sizeof(float)));
    return;
  }
  check(cudaFuncSetAttribute(gemm_split_k, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kSharedBytes));
  // As many parts as SMs without a tile allow, of four phases or more.
  int device = 0, processors = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  const dim3 tiles(ceil_div(shape.n, kTileN), ceil_div(shape.m, kTileM));
  const int phases = ceil_div(shape.k, kStageDepth);
  const int wanted = std::max(1, std::min<int>(processors / (tiles.x * tiles.y), phases / 4));
  const int phases_a_part = ceil_div(phases, wanted), parts = ceil_div(phases, phases_a_part);
  static std::unique_ptr<DeviceArray<float>> scratch;
  const size_t count = size_t(shape.m) * shape.n;
  if (parts > 1 && (scratch == nullptr || scratch->size() < count * parts))
    scratch = std::make_unique<DeviceArray<float>>(count * parts);
  float* partial = parts > 1 ? scratch->data() : c;
  gemm_split_k<<<dim3(tiles.x, tiles.y, parts), kThreads, kSharedBytes>>>(
      tensor_map(on_16_bytes(a, shape.m, shape.k, 0), kStageDepth, kTileM),
      tensor_map(on_16_bytes(b, shape.k, shape.n, 1), 64, kStageDepth), partial, shape.m, shape.n,
      shape.k, phases_a_part);
  if (parts > 1) sum_parts<<<processors * 4, 256>>>(partial, c, count, parts);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  tw::ladder::GemmStep step{"gemm/20_split_k", nullptr};
  step.launch_bf16 = launch;
  return tw::ladder::run_gemm_step(options, step);
}
