// fp32 GEMM on the CUDA cores: cp.async feeds a ring of stages, each thread keeps 8 x TN of D in
// registers.
//
// Problem: 128 FMA lanes per SM want an instruction a clock from each of the four schedulers, so
// everything that is not an FMA costs speed. Choice: both operands lie in shared memory as lines of
// one k each, M or N along the line, so that a k step of a thread is 2 + TN/4 16-byte loads for
// 8 * TN multiplications; the loads of a step run during the multiplications of the step before.
// An MN-major operand comes in 16-byte pieces where its address and pitch allow; all others come in
// single elements, which transposes a K-major operand on the way and makes every address and pitch
// good: nothing is repacked. Lanes are laid out 8 x 4 with neighbours sharing a row or a column, so
// that a 16-byte load takes two wavefronts, and lines are padded by 16 bytes, so that a transposing
// copy of 8 k x 4 rows hits 32 banks. Where tiles are few, two groups of a CTA's warps, and the CTAs of
// a cluster, share K of a tile and sum through shared memory.
//
// Limits: the sum over k runs in order, where K is shared in as many parts. Tested by tilewright-bench gemm --suite verify.
#include "common/hopper.cuh"
#include "gemm/lib/sgemm.h"
#include "gemm/lib/sgemm_common.cuh"

namespace tw::gemm {
namespace {

using namespace tw::gpu;

struct SgemmParams {
  Matrix a, b;
  bool a_vector, b_vector;  // MN-major, and 16-byte copies are allowed
  SgemmGrid grid;
};

template <int BM_, int BN_, int BK_, int TN_, int kWarpsM_, int kWarpsN_, int kStages_,
          int kBlocksPerSm_, int kUnroll_, int kGroups_ = 1>
struct SgemmTile {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TN = TN_, TM = 8;
  static constexpr int kWarpsM = kWarpsM_, kWarpsN = kWarpsN_, kStages = kStages_;
  static constexpr int kBlocksPerSm = kBlocksPerSm_;
  static constexpr int kUnroll =
      kUnroll_;  // k steps in the loop's body: what fits the instruction caches
  static constexpr int kWarpM = 8 * TM, kWarpN = 4 * TN;  // lanes: 8 along M, 4 along N
  // Groups of warps that share K of the CTA's tile, each with a ring of its own.
  static constexpr int kGroups = kGroups_;
  static constexpr int kGroupThreads = kWarpsM * kWarpsN * 32, kThreads = kGroups * kGroupThreads;
  static constexpr int kPitchA = BM + 4, kPitchB = BN + 4;  // floats
  static constexpr int kStageBytes = BK * (kPitchA + kPitchB) * 4;
  static constexpr int kRingBytes = kStages * kStageBytes, kSharedBytes = kGroups * kRingBytes;
  static constexpr int kPartialBytes = kGroups * partial_bytes(BM, BN);  // over the stages
  static constexpr int kMostBytes = kSharedBytes > kPartialBytes ? kSharedBytes : kPartialBytes;
  static_assert(kWarpsM * kWarpM == BM && kWarpsN * kWarpN == BN, "warps tile the CTA's part of D");
  static_assert(kUnroll % 2 == 0 && BK % kUnroll == 0, "two sets of fragments take turns");
  static_assert(BK % 8 == 0, "a transposing copy takes eight k at a time");
};

__device__ __forceinline__ void copy_element(uint32_t to, const float* from, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from),
               "r"(valid ? 4 : 0)
               : "memory");
}
__device__ __forceinline__ void copy_four(uint32_t to, const float* from, int valid_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(valid_bytes)
               : "memory");
}
__device__ __forceinline__ void copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kPending> __device__ __forceinline__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// The part of an operand that one CTA reads: `kRows` rows from `first` on, k from k0 on.
template <class Tile, int kRows, int kPitch, bool kMn> struct Loader {
  const float* base;  // of the first element this thread copies, at the current k
  int64_t pitch;
  int rows_left, k_left;  // from this thread's first row (or k) to the end
  int thread;
  bool vector, whole;  // `whole`: no row of the CTA lies outside

  __device__ __forceinline__ Loader(const Matrix& x, int batch, int first, int rows, int k0,
                                    int k_end, bool use_vector) {
    thread = static_cast<int>(threadIdx.x) % Tile::kGroupThreads;
    pitch = x.pitch;
    vector = use_vector;
    whole = first + kRows <= rows;
    const float* matrix = static_cast<const float*>(x.data) + batch * x.batch_stride;
    if constexpr (kMn) {
      base = matrix + k0 * pitch + first;
    } else {
      base = matrix + first * pitch + k0;
    }
    rows_left = rows - first;
    k_left = k_end - k0;
  }

  // Queues the copies of the next BK k into `stage` (lines of kPitch floats).
  __device__ __forceinline__ void load(uint32_t stage) {
    constexpr int BK = Tile::BK, T = Tile::kGroupThreads;
    const bool inside = whole && k_left >= BK;
    if constexpr (kMn) {
      if (vector) {
        constexpr int kLine = kRows / 4;  // pieces of a line
        static_assert(BK * kLine % T == 0 && (T % kLine == 0 || kLine % T == 0), "whole rounds");
#pragma unroll
        for (int i = 0; i < BK * kLine / T; ++i) {
          const int at = thread + i * T, k = at / kLine, row = at % kLine * 4;
          const float* from = base + k * pitch + row;
          const uint32_t to = stage + (k * kPitch + row) * 4;
          if (inside) {
            copy_four(to, from, 16);
          } else {
            const int valid = k < k_left ? min(max(rows_left - row, 0), 4) : 0;
            copy_four(to, valid > 0 ? from : base, valid * 4);
          }
        }
      } else {
#pragma unroll 4
        for (int i = 0; i < BK * kRows / T; ++i) {
          const int at = thread + i * T, k = at / kRows, row = at % kRows;
          const bool valid = inside || (k < k_left && row < rows_left);
          copy_element(stage + (k * kPitch + row) * 4, valid ? base + k * pitch + row : base,
                       valid);
        }
      }
      base += BK * pitch;
    } else {
      const int k_lane = thread & 7, row_lane = thread >> 3;
      const float* from = base + row_lane * pitch + k_lane;
      const uint32_t to = stage + (k_lane * kPitch + row_lane) * 4;
      const int64_t step = T / 8 * pitch;
      static_assert(kRows % (T / 8) == 0, "whole rounds");
#pragma unroll
      for (int i = 0; i < kRows / (T / 8); ++i) {
#pragma unroll
        for (int part = 0; part < BK / 8; ++part) {
          const uint32_t at = to + (part * 8 * kPitch + i * (T / 8)) * 4;
          if (inside) {
            copy_element(at, from + part * 8, true);
          } else {
            const bool valid = part * 8 + k_lane < k_left && row_lane + i * (T / 8) < rows_left;
            copy_element(at, valid ? from + part * 8 : base, valid);
          }
        }
        from += step;
      }
      base += BK;
    }
    k_left -= BK;
  }
};

// kCount / 4 pieces of a line, kStep floats apart.
template <int kCount, int kStep>
__device__ __forceinline__ void load_fragment(float (&out)[kCount], uint32_t line) {
#pragma unroll
  for (int i = 0; i < kCount / 4; ++i) {
    const uint4 v = load_shared_v4(line + i * kStep * 4);
    out[4 * i] = __uint_as_float(v.x);
    out[4 * i + 1] = __uint_as_float(v.y);
    out[4 * i + 2] = __uint_as_float(v.z);
    out[4 * i + 3] = __uint_as_float(v.w);
  }
}

template <class Tile, bool kAMn, bool kBMn>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocksPerSm)
    sgemm(const __grid_constant__ SgemmParams p) {
  constexpr int BM = Tile::BM, BN = Tile::BN, BK = Tile::BK, TM = Tile::TM, TN = Tile::TN;
  constexpr int kStages = Tile::kStages, kPitchA = Tile::kPitchA, kPitchB = Tile::kPitchB;
  extern __shared__ __align__(16) uint8_t shared[];
  constexpr int T = Tile::kGroupThreads;
  const int group = Tile::kGroups == 1 ? 0 : warp_uniform(static_cast<int>(threadIdx.x) / T);
  const uint32_t stages = shared_address(shared) + group * Tile::kRingBytes;
  auto meet = [group] { named_barrier(1 + group, T); };
  wait_for_kernels_ahead();
  let_kernels_behind_start();
  const int warp = static_cast<int>(threadIdx.x) % T >> 5, lane = threadIdx.x & 31;
  // Bits 1, 2, 3 of the lane go along M, 0 and 4 along N.
  const int lane_m = (lane >> 1) & 7, lane_n = (lane & 1) | ((lane >> 4) << 1);
  const int row0 = warp % Tile::kWarpsM * Tile::kWarpM + lane_m * 4;
  const int column0 = warp / Tile::kWarpsM * Tile::kWarpN + lane_n * 4;
  const int ranks = p.grid.k_cluster;
  const int index = static_cast<int>(blockIdx.x) / ranks;
  const int rank = static_cast<int>(blockIdx.x) - index * ranks;
  const TileAt at = tile_at(p.grid, index);
  const int part = ranks > 1 ? rank : at.split;
  const int k0 = (part * Tile::kGroups + group) * p.grid.k_per_split;
  const int k_end = min(k0 + p.grid.k_per_split, p.grid.k);
  const int tiles = (k_end - k0 + BK - 1) / BK;
  Loader<Tile, BM, kPitchA, kAMn> load_a(p.a, at.batch, at.m * BM, p.grid.m, k0, k_end, p.a_vector);
  Loader<Tile, BN, kPitchB, kBMn> load_b(p.b, at.batch, at.n * BN, p.grid.n, k0, k_end, p.b_vector);
  constexpr int kBytesA = BK * kPitchA * 4;
  uint32_t write_at = stages;
  auto load_next = [&] {
    load_a.load(write_at);
    load_b.load(write_at + kBytesA);
    write_at += Tile::kStageBytes;
    if (write_at == stages + kStages * Tile::kStageBytes) write_at = stages;
  };
#pragma unroll 1
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < tiles) load_next();
    copy_commit();
  }
  float sum[TM][TN] = {};
  float a[2][TM], b[2][TN];
  copy_wait<kStages - 2>();
  meet();
  // Of the stage being read, where this thread's fragments of its first k lie.
  uint32_t a_stage = stages + row0 * 4, b_stage = stages + kBytesA + column0 * 4;
  const uint32_t a_end = a_stage + kStages * Tile::kStageBytes;
  if (tiles > 0) {
    load_fragment<TM, 32>(a[0], a_stage);
    load_fragment<TN, 16>(b[0], b_stage);
  }
  constexpr int U = Tile::kUnroll, kLineA = kPitchA * 4, kLineB = kPitchB * 4;
  uint32_t a_next = a_stage + kLineA, b_next = b_stage + kLineB;  // of the k after this one
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
#pragma unroll 1
    for (int k = 0; k < BK; k += U) {
#pragma unroll
      for (int u = 0; u < U; ++u) {
        if (u == U - 1 && k + U == BK) {
          // The next stage has arrived, and this one is no longer read but from registers. Behind
          // the last there is none: what is loaded once more is not used.
          copy_wait<kStages - 2>();
          meet();
          const int bytes = t + 1 < tiles ? Tile::kStageBytes : 0;
          a_stage += bytes;
          b_stage += bytes;
          if (a_stage == a_end) {
            a_stage -= kStages * Tile::kStageBytes;
            b_stage -= kStages * Tile::kStageBytes;
          }
          a_next = a_stage - (U - 1) * kLineA;
          b_next = b_stage - (U - 1) * kLineB;
        }
        load_fragment<TM, 32>(a[(u + 1) & 1], a_next + u * kLineA);
        load_fragment<TN, 16>(b[(u + 1) & 1], b_next + u * kLineB);
        if (u == 0 && k == 0) {
          if (t + kStages - 1 < tiles) load_next();
          copy_commit();
        }
#pragma unroll
        for (int i = 0; i < TM; ++i) {
#pragma unroll
          for (int j = 0; j < TN; ++j) {
            const int turn =
                i % 2 ? TN - 1 - j : j;  // to and fro: a value of B serves twice in a row
            sum[i][turn] = fmaf(a[u & 1][i], b[u & 1][turn], sum[i][turn]);
          }
        }
      }
      a_next += U * kLineA;
      b_next += U * kLineB;
    }
  }
  copy_wait<0>();
  const SgemmStore store(p.grid, at);
  if (Tile::kGroups > 1 || ranks > 1) {
    __syncthreads();  // no warp reads the stages any more
    store_shared_sums<BM, BN, Tile::kThreads, Tile::kGroups>(
        store, sum, row0, column0, shared_address(shared), at, rank, group);
  } else {
    store_sums(store, sum, at.m * BM + row0, at.n * BN + column0);
  }
}

template <class Tile, bool kAMn, bool kBMn>
cudaError_t launch(const WgmmaProblem& problem, const WgmmaSchedule& schedule,
                   cudaStream_t stream) {
  // Groups without a cluster are a launch that racecheck names (it is silent where a cluster
  // barrier orders the sums); nothing takes it.
  if (Tile::kGroups > 1 && schedule.k_cluster == 1) return cudaErrorInvalidConfiguration;
  static const cudaError_t configured = cudaFuncSetAttribute(
      sgemm<Tile, kAMn, kBMn>, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kMostBytes);
  if (configured != cudaSuccess) return configured;
  SgemmParams p{};
  p.a = problem.a;
  p.b = problem.b;
  auto vector = [&](const Matrix& x) {
    return x.mn_major && suits_tma(x.data, x.pitch, x.batch_stride, problem.batches, 4);
  };
  p.a_vector = vector(p.a);
  p.b_vector = vector(p.b);
  p.grid = sgemm_grid(problem, schedule, Tile::BM, Tile::BN, Tile::kGroups);
  SgemmLaunch launch;
  const int shared_bytes =
      Tile::kGroups * p.grid.k_cluster > 1 ? Tile::kMostBytes : Tile::kSharedBytes;
  if (!launch.configure(p.grid, Tile::kThreads, shared_bytes, schedule, stream))
    return cudaErrorInvalidConfiguration;
  void* arguments[] = {&p};
  return cudaLaunchKernelExC(&launch.config,
                             reinterpret_cast<const void*>(&sgemm<Tile, kAMn, kBMn>), arguments);
}

template <bool kAMn, bool kBMn>
cudaError_t launch_layout(const WgmmaProblem& problem, const model::GemmTile& tile,
                          const WgmmaSchedule& schedule, cudaStream_t stream) {
  auto go = [&]<class Tile>(Tile) { return launch<Tile, kAMn, kBMn>(problem, schedule, stream); };
  //                           BM   BN  BK  TN  warps stages CTAs an SM, unrolled
  if (tile.bn == 256) return go(SgemmTile<128, 256, 16, 16, 2, 4, 3, 1, 4>{});
  if (tile.bn == 128 && tile.groups == 2)
    return go(SgemmTile<128, 128, 16, 16, 2, 2, 3, 1, 4, 2>{});
  if (tile.bn == 128) return go(SgemmTile<128, 128, 16, 16, 2, 2, 3, 2, 4>{});
  return go(SgemmTile<64, 64, 16, 8, 1, 2, 4, 4, 4>{});
}

}  // namespace

cudaError_t launch_sgemm(const WgmmaProblem& problem, const model::GemmTile& tile,
                         const WgmmaSchedule& schedule, cudaStream_t stream) {
  if (problem.a.mn_major) {
    return problem.b.mn_major ? launch_layout<true, true>(problem, tile, schedule, stream)
                              : launch_layout<true, false>(problem, tile, schedule, stream);
  }
  return problem.b.mn_major ? launch_layout<false, true>(problem, tile, schedule, stream)
                            : launch_layout<false, false>(problem, tile, schedule, stream);
}

}  // namespace tw::gemm
