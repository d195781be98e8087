// fp32 GEMM on the CUDA cores, fed by TMA: for large products, operands MN-major.
//
// Problem: sgemm.cu spends a sixth of its issue slots on copies and stops all warps at a barrier for
// every stage. Choice: one producer warp queues a bulk tensor copy an operand and stage, and eight
// warps do nothing but load fragments and multiply; each waits for a stage and gives it back by
// mbarrier, so that they drift apart instead of meeting at barriers. TMA cannot transpose, and
// fragments of a K-major operand cost register bank conflicts (43 TFLOP/s at 4096, measured: an FFMA
// takes at most two operands that its neighbour did not, from different banks, and four k of a row
// lie in banks by k); so the host transposes K-major operands first, at the speed of a copy.
//
// The order of the multiplications decides the speed, too: a row of 16 columns to, the next row fro,
// so that each has one operand from the reuse cache; and so does the length of the loop's body: with
// four k it ran over the L0 cache (0.15 stalls an issue for want of an instruction, now 0.02).
// Where tiles are few, two groups of warps and the CTAs of a cluster share K of a tile.
// Limits: operands that suit TMA; sums run over k in order, where K is shared in as many parts.
// Tested by tilewright-bench gemm --suite verify and tests/e2e/gemm_library.sh.
#include "common/hopper.cuh"
#include "gemm/lib/sgemm.h"
#include "gemm/lib/sgemm_common.cuh"
#include "gemm/lib/tensor_map.h"

namespace tw::gemm {
namespace {

using namespace tw::gpu;

struct SgemmTmaParams {
  CUtensorMap a, b;
  SgemmGrid grid;
};

constexpr int BK = 32, TM = 8, TN = 16;

// Eight warps multiply 64 x 64 of D each: all of a tile's 128 x 256, or two groups of four share
// the K blocks of a tile of 128 x 128.
template <int BN_, int kGroups_> struct SgemmTmaTile {
  static constexpr int BM = 128, BN = BN_, kGroups = kGroups_;
  static constexpr int kLineA = BM * 4, kLineB = BN * 4;  // one k, in bytes
  static constexpr int kBytesA = BK * kLineA, kBytesB = BK * kLineB;
  static constexpr int kStageBytes = kBytesA + kBytesB, kStages = kGroups == 1 ? 4 : 6;
  static constexpr int kWarpsM = 2, kWarpsN = BN / 64, kGroupWarps = kWarpsM * kWarpsN;
  static constexpr int kConsumers = kGroups * kGroupWarps;
  static constexpr int kThreads = (kConsumers + 4) * 32;  // registers move between whole warpgroups
  static constexpr int kSharedBytes = kStages * kStageBytes + 16 * kStages;
  static_assert(kConsumers == 8, "what registers hold");
  static_assert(kStages % kGroups == 0, "each group has stages of its own");
  static_assert(kSharedBytes <= 232448, "227 KiB a block (programming guide, cc 9.0)");
  static_assert(kGroups * partial_bytes(BM, BN) <= kStages * kStageBytes,
                "partial sums lie over the stages");
  static_assert(kConsumers * kWarpBytes <= kStages * kStageBytes, "as do the rows of a ragged D");
};

template <class Tile>
__device__ __forceinline__ void produce(const SgemmTmaParams& p, TileAt at, int first, int blocks,
                                        uint32_t stages, uint32_t full, uint32_t empty) {
  int stage = 0;
  uint32_t phase = 0;
#pragma unroll 1
  for (int block = first; block < first + blocks; ++block) {
    mbarrier_wait(empty + 8 * stage, phase ^ 1);
    const uint32_t to = stages + stage * Tile::kStageBytes, barrier = full + 8 * stage;
    mbarrier_arrive_expect(barrier, Tile::kStageBytes);
    tma_load(to, &p.a, at.m * Tile::BM, block * BK, at.batch, barrier);
    tma_load(to + Tile::kBytesA, &p.b, at.n * Tile::BN, block * BK, at.batch, barrier);
    if (++stage == Tile::kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
}

// Quads of a line, kStep floats apart.
template <int kCount, int kStep>
__device__ __forceinline__ void load_quads(float (&out)[kCount], uint32_t line) {
#pragma unroll
  for (int i = 0; i < kCount / 4; ++i) {
    const float4 v = load_shared_f4(line + i * kStep * 4);
    out[4 * i] = v.x;
    out[4 * i + 1] = v.y;
    out[4 * i + 2] = v.z;
    out[4 * i + 3] = v.w;
  }
}

__device__ __forceinline__ void multiply(float (&sum)[TM][TN], const float (&a)[TM],
                                         const float (&b)[TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const int turn = i % 2 ? TN - 1 - j : j;
      sum[i][turn] = fmaf(a[i], b[turn], sum[i][turn]);
    }
  }
}

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    sgemm_tma(const __grid_constant__ SgemmTmaParams p) {
  constexpr int BM = Tile::BM, BN = Tile::BN, kStages = Tile::kStages, kGroups = Tile::kGroups;
  extern __shared__ __align__(128) uint8_t shared[];
  const uint32_t stages = shared_address(shared);
  const uint32_t full = stages + kStages * Tile::kStageBytes, empty = full + 8 * kStages;
  if (threadIdx.x == 0) {
    prefetch_tensor_map(&p.a);
    prefetch_tensor_map(&p.b);
    for (int s = 0; s < kStages; ++s) {
      mbarrier_init(full + 8 * s, 1);
      mbarrier_init(empty + 8 * s, Tile::kGroupWarps);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  wait_for_kernels_ahead();
  let_kernels_behind_start();
  // Only the tile with groups shares K in clusters: what the other does not execute, it has not.
  const int ranks = kGroups == 1 ? 1 : p.grid.k_cluster;
  const int index = static_cast<int>(blockIdx.x) / ranks;
  const int rank = static_cast<int>(blockIdx.x) - index * ranks;
  const TileAt at = tile_at(p.grid, index);
  const int share = p.grid.k_per_split * kGroups;  // k of this CTA
  const int first = (kGroups > 1 && ranks > 1 ? rank : at.split) * share / BK;
  const int blocks = min(share, p.grid.k - first * BK + BK - 1) / BK;
  const int warp = warp_uniform(static_cast<int>(threadIdx.x) >> 5), lane = threadIdx.x & 31;
  if (warp >= Tile::kConsumers) {
    registers_release<40>();
    if (warp == Tile::kConsumers && elect_lane())
      produce<Tile>(p, at, first, blocks, stages, full, empty);
    return;
  }
  registers_acquire<232>();
  const int group = kGroups == 1 ? 0 : warp / Tile::kGroupWarps,
            own = warp - group * Tile::kGroupWarps;
  // Bits 1, 2, 3 of the lane go along M, 0 and 4 along N.
  const int lane_m = (lane >> 1) & 7, lane_n = (lane & 1) | ((lane >> 4) << 1);
  const int row0 = own % Tile::kWarpsM * 64 + lane_m * 4;     // rows row0 .. + 3, and 32 further
  const int column0 = own / Tile::kWarpsM * 64 + lane_n * 4;  // column0 .. + 3, and 16, 32, 48
  float sum[TM][TN] = {};
  float a[2][TM], b[2][TN];
  // This group's blocks: every kGroups-th, in every kGroups-th stage.
  int stage = group;
  uint32_t phase = 0, a_next, b_next;  // where the next k lies
  auto load = [&](int which, int ahead) {
    load_quads<TM, 32>(a[which], a_next + ahead * Tile::kLineA);
    load_quads<TN, 16>(b[which], b_next + ahead * Tile::kLineB);
  };
  auto load_first = [&] {  // of a stage
    mbarrier_wait(full + 8 * stage, phase);
    const uint32_t start = stages + stage * Tile::kStageBytes;
    a_next = start + row0 * 4;
    b_next = start + Tile::kBytesA + column0 * 4;
    load(0, 0);
    a_next += Tile::kLineA;
    b_next += Tile::kLineB;
  };
  if (kGroups == 1 || group < blocks) load_first();
#pragma unroll 1
  for (int t = group; t < blocks; t += kGroups) {
    // Two k a turn; longer bodies do not fit the L0 cache.
#pragma unroll 1
    for (int k = 0; k < BK - 2; k += 2) {
      load(1, 0);
      multiply(sum, a[0], b[0]);
      load(0, 1);
      multiply(sum, a[1], b[1]);
      a_next += 2 * Tile::kLineA;
      b_next += 2 * Tile::kLineB;
    }
    load(1, 0);
    multiply(sum, a[0], b[0]);
    const int before = stage;
    stage += kGroups;
    if (stage == kStages + group) {
      stage = group;
      phase ^= 1;
    }
    if (t + kGroups < blocks) load_first();
    __syncwarp();  // every lane has its last values of the stage before
    if (lane == 0) mbarrier_arrive(empty + 8 * before);
    multiply(sum, a[1], b[1]);
  }
  const SgemmStore store(p.grid, at);
  if constexpr (kGroups > 1) {
    named_barrier(1, Tile::kConsumers * 32);  // no warp reads the stages any more
    store_shared_sums<BM, BN, Tile::kConsumers * 32, kGroups>(store, sum, row0, column0, stages, at,
                                                              rank, group);
  } else if (store.whole) {
    store_sums(store, sum, at.m * BM + row0, at.n * BN + column0);
  } else {
    named_barrier(1, Tile::kConsumers * 32);  // no warp reads the stages any more
    store_sums_by_rows(store, sum, stages + warp * kWarpBytes, at.m * BM + own % Tile::kWarpsM * 64,
                       at.n * BN + own / Tile::kWarpsM * 64, lane_m * 4, lane_n * 4);
  }
}

bool encode(CUtensorMap* map, const Matrix& x, int mn, int k, int batches, int box) {
  return encode_lines(map, {x.data, mn, k, x.pitch, x.batch_stride, batches, Element::kF32}, box,
                      BK, Swizzle::kNone);
}

template <class Tile>
cudaError_t launch(const WgmmaProblem& problem, const WgmmaSchedule& schedule,
                   cudaStream_t stream) {
  static const cudaError_t configured = cudaFuncSetAttribute(
      sgemm_tma<Tile>, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes);
  if (configured != cudaSuccess) return configured;
  if (!problem.a.mn_major || !problem.b.mn_major) return cudaErrorInvalidValue;
  if (Tile::kGroups == 1 && schedule.k_cluster > 1) return cudaErrorInvalidConfiguration;
  SgemmTmaParams p{};
  p.grid = sgemm_grid(problem, schedule, Tile::BM, Tile::BN, Tile::kGroups);
  if (!encode(&p.a, problem.a, problem.m, problem.k, problem.batches, Tile::BM) ||
      !encode(&p.b, problem.b, problem.n, problem.k, problem.batches, Tile::BN)) {
    return cudaErrorInvalidValue;
  }
  SgemmLaunch launch;
  if (!launch.configure(p.grid, Tile::kThreads, Tile::kSharedBytes, schedule, stream))
    return cudaErrorInvalidConfiguration;
  void* arguments[] = {&p};
  return cudaLaunchKernelExC(&launch.config, reinterpret_cast<const void*>(&sgemm_tma<Tile>),
                             arguments);
}

}  // namespace

cudaError_t launch_sgemm_tma(const WgmmaProblem& problem, const model::GemmTile& tile,
                             const WgmmaSchedule& schedule, cudaStream_t stream) {
  static_assert(model::kCudaCoreTmaTiles[0].bn == 256 && model::kCudaCoreTmaTiles[1].groups == 2,
                "the model predicts these kernels");
  return tile.groups == 2 ? launch<SgemmTmaTile<128, 2>>(problem, schedule, stream)
                          : launch<SgemmTmaTile<256, 1>>(problem, schedule, stream);
}

}  // namespace tw::gemm
