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
// so that each has one operand from the reuse cache (54.0 TFLOP/s; columns of 8 rows 50.9).
// Limits: operands that suit TMA; sums run over k in order. Tested by tilewright-bench gemm --suite
// verify.
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

constexpr int BM = model::kCudaCoreTmaTile.bm, BN = model::kCudaCoreTmaTile.bn, BK = 32;
constexpr int TM = 8, TN = 16, kUnroll = 4;  // k steps in the loop's body: what fits the L0 cache
constexpr int kStages = 4;
constexpr int kLineA = BM * 4, kLineB = BN * 4;  // one k, in bytes
constexpr int kBytesA = BK * kLineA, kBytesB = BK * kLineB, kStageBytes = kBytesA + kBytesB;
constexpr int kWarpsM = 2, kWarpsN = 4, kConsumers = kWarpsM * kWarpsN;  // 64 x 64 of D each
constexpr int kThreads = (kConsumers + 4) * 32;  // registers move between whole warpgroups
constexpr int kSharedBytes = kStages * kStageBytes + 16 * kStages;
static_assert(kWarpsM * 64 == BM && kWarpsN * 64 == BN, "warps tile the CTA's part of D");
static_assert(kSharedBytes <= 232448, "227 KiB a block (programming guide, cc 9.0)");

__device__ __forceinline__ void produce(const SgemmTmaParams& p, TileAt at, int first, int blocks,
                                        uint32_t stages, uint32_t full, uint32_t empty) {
  int stage = 0;
  uint32_t phase = 0;
#pragma unroll 1
  for (int block = first; block < first + blocks; ++block) {
    mbarrier_wait(empty + 8 * stage, phase ^ 1);
    const uint32_t to = stages + stage * kStageBytes, barrier = full + 8 * stage;
    mbarrier_arrive_expect(barrier, kStageBytes);
    tma_load(to, &p.a, at.m * BM, block * BK, at.batch, barrier);
    tma_load(to + kBytesA, &p.b, at.n * BN, block * BK, at.batch, barrier);
    if (++stage == kStages) {
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

__global__ void __launch_bounds__(kThreads, 1) sgemm_tma(const __grid_constant__ SgemmTmaParams p) {
  extern __shared__ __align__(128) uint8_t shared[];
  const uint32_t stages = shared_address(shared);
  const uint32_t full = stages + kStages * kStageBytes, empty = full + 8 * kStages;
  if (threadIdx.x == 0) {
    prefetch_tensor_map(&p.a);
    prefetch_tensor_map(&p.b);
    for (int s = 0; s < kStages; ++s) {
      mbarrier_init(full + 8 * s, 1);
      mbarrier_init(empty + 8 * s, kConsumers);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  wait_for_kernels_ahead();
  let_kernels_behind_start();
  const TileAt at = tile_at(p.grid, static_cast<int>(blockIdx.x));
  const int first = at.split * p.grid.k_per_split / BK;
  const int blocks = min(p.grid.k_per_split, p.grid.k - first * BK + BK - 1) / BK;
  const int warp = warp_uniform(static_cast<int>(threadIdx.x) >> 5), lane = threadIdx.x & 31;
  if (warp >= kConsumers) {
    registers_release<40>();
    if (warp == kConsumers && elect_lane()) produce(p, at, first, blocks, stages, full, empty);
    return;
  }
  registers_acquire<232>();
  // Bits 1, 2, 3 of the lane go along M, 0 and 4 along N.
  const int lane_m = (lane >> 1) & 7, lane_n = (lane & 1) | ((lane >> 4) << 1);
  const int row0 = warp % kWarpsM * 64 + lane_m * 4;     // rows row0 .. + 3, and 32 further
  const int column0 = warp / kWarpsM * 64 + lane_n * 4;  // columns column0 .. + 3, and 16, 32, 48
  float sum[TM][TN] = {};
  float a[2][TM], b[2][TN];
  int stage = 0;
  uint32_t phase = 0;
  uint32_t a_next = stages + row0 * 4, b_next = stages + kBytesA + column0 * 4;
  mbarrier_wait(full, 0);
  load_quads<TM, 32>(a[0], a_next);
  load_quads<TN, 16>(b[0], b_next);
  a_next += kLineA;  // of the k after this one
  b_next += kLineB;
#pragma unroll 1
  for (int t = 0; t < blocks; ++t) {
#pragma unroll 1
    for (int k = 0; k < BK; k += kUnroll) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (u == kUnroll - 1 && k + kUnroll == BK) {  // the next k lies in the next stage
          if (++stage == kStages) {
            stage = 0;
            phase ^= 1;
          }
          const uint32_t start = stages + stage * kStageBytes;
          a_next = start + row0 * 4 - (kUnroll - 1) * kLineA;
          b_next = start + kBytesA + column0 * 4 - (kUnroll - 1) * kLineB;
          if (t + 1 < blocks) mbarrier_wait(full + 8 * stage, phase);
        }
        load_quads<TM, 32>(a[(u + 1) & 1], a_next + u * kLineA);
        load_quads<TN, 16>(b[(u + 1) & 1], b_next + u * kLineB);
        if (u == 0 && k == 0 && t > 0) {  // every lane has its last values of the stage before
          __syncwarp();
          if (lane == 0) mbarrier_arrive(empty + 8 * (stage == 0 ? kStages - 1 : stage - 1));
        }
        multiply(sum, a[u & 1], b[u & 1]);
      }
      a_next += kUnroll * kLineA;
      b_next += kUnroll * kLineB;
    }
  }
  const SgemmStore store(p.grid, at);
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = at.m * BM + row0 + (i / 4) * 32 + i % 4;
    if (row >= p.grid.m) continue;
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      store.four(row, at.n * BN + column0 + 4 * j,
                 {sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]});
    }
  }
}

bool encode(CUtensorMap* map, const Matrix& x, int mn, int k, int batches, int box) {
  return encode_lines(map, {x.data, mn, k, x.pitch, x.batch_stride, batches, Element::kF32}, box,
                      BK, Swizzle::kNone);
}

}  // namespace

cudaError_t launch_sgemm_tma(const WgmmaProblem& problem, const WgmmaSchedule& schedule,
                             cudaStream_t stream) {
  static const cudaError_t configured =
      cudaFuncSetAttribute(sgemm_tma, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (configured != cudaSuccess) return configured;
  if (!problem.a.mn_major || !problem.b.mn_major) return cudaErrorInvalidValue;
  SgemmTmaParams p{};
  p.grid = sgemm_grid(problem, schedule, BM, BN);
  if (!encode(&p.a, problem.a, problem.m, problem.k, problem.batches, BM) ||
      !encode(&p.b, problem.b, problem.n, problem.k, problem.batches, BN)) {
    return cudaErrorInvalidValue;
  }
  SgemmLaunch launch;
  if (!launch.configure(p.grid, kThreads, kSharedBytes, schedule, stream))
    return cudaErrorInvalidConfiguration;
  void* arguments[] = {&p};
  return cudaLaunchKernelExC(&launch.config, reinterpret_cast<const void*>(&sgemm_tma), arguments);
}

}  // namespace tw::gemm
