// fp32 GEMM on the CUDA cores: TMA feeds a ring of stages, each thread keeps an 8 x TN tile of D in
// registers.
//
// Problem: 128 FMA lanes per SM want two operands a clock each, and every LDS takes an issue slot
// from an FMA. Choice: 8 x 16 a thread, so that 24 16-byte loads feed 512 FMAs (4 k steps); shared
// tiles stay as TMA wrote them (rows of 128 bytes, swizzled), in either layout: a K-major operand
// is read four k at a time, an MN-major one four rows at a time, and the thread's rows are spread
// so that the eight lanes of a quarter-warp hit different banks. Thread 0 issues the copies of a
// stage when all warps have left it: a producer warp of its own would cost registers (they are
// given out to four warps at a time, so 9 warps leave 168 a thread, and 8 x 16 needs more). Limits:
// A and B suit TMA (others are repacked by the caller); the sum over k runs in order. Tested by
// tilewright-bench gemm --suite verify.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "common/hopper.cuh"
#include "gemm/lib/sgemm.h"
#include "gemm/lib/tensor_map.h"

namespace tw::gemm {
namespace {

using namespace tw::gpu;

struct SgemmParams {
  CUtensorMap a, b;
  int m, n, k_blocks, k_blocks_per_split, splits, batches, tiles_m, tiles_n, raster_group;
  float alpha, beta;
  const void* c;
  int64_t ld_c, stride_c;
  void* d;
  int64_t ld_d, stride_d;
  Output output;
};

template <int BM_, int BN_, int TN_, bool kAMn_, bool kBMn_> struct SgemmTile {
  static constexpr int BM = BM_, BN = BN_, TN = TN_, TM = 8;
  static constexpr bool kAMn = kAMn_, kBMn = kBMn_;
  static constexpr int BK = 32;                           // 128 bytes
  static constexpr int kWarpM = 4 * TM, kWarpN = 8 * TN;  // lanes: 4 along M, 8 along N
  static constexpr int kWarpsM = BM / kWarpM, kWarpsN = BN / kWarpN;
  static constexpr int kWarps = kWarpsM * kWarpsN;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kStageBytes = (BM + BN) * 128;
  static constexpr int kStages = BN == 256 ? 4 : 3;
  static constexpr int kSharedBytes = 1024 + 256 + kStages * kStageBytes;
  static constexpr int kBlocksPerSm = BN == 256 ? 1 : (BN == 128 ? 2 : 4);
  static_assert(BM % kWarpM == 0 && BN % kWarpN == 0, "warps tile the CTA's part of D");
};

// Row (or column) of the warp's tile that element i of a thread is; `lanes` threads share the tile.
template <bool kMn> __device__ __forceinline__ int spread(int lane, int lanes, int i) {
  return kMn ? (lane + lanes * (i / 4)) * 4 + i % 4 : lane + lanes * i;
}

// Four k of `kCount` rows: out[i][k]. `tile` is the operand's stage, `first` the warp's first row.
template <bool kMn, int kCount>
__device__ __forceinline__ void load_fragment(float (&out)[kCount][4], uint32_t tile, int first,
                                              int lane, int lanes, int k) {
  if constexpr (!kMn) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int row = first + spread<false>(lane, lanes, i);
      const uint4 v = load_shared_v4(tile + row * 128 + (((k >> 2) ^ (row & 7)) << 4));
      out[i][0] = __uint_as_float(v.x);
      out[i][1] = __uint_as_float(v.y);
      out[i][2] = __uint_as_float(v.z);
      out[i][3] = __uint_as_float(v.w);
    }
  } else {
#pragma unroll
    for (int q = 0; q < kCount / 4; ++q) {
      const int row = first + spread<true>(lane, lanes, 4 * q);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        // Panels of 32 rows: 32 k of 128 bytes each.
        const int line = k + e;
        const uint4 v = load_shared_v4(tile + (row >> 5) * 4096 + line * 128 +
                                       ((((row & 31) >> 2) ^ (line & 7)) << 4));
        out[4 * q][e] = __uint_as_float(v.x);
        out[4 * q + 1][e] = __uint_as_float(v.y);
        out[4 * q + 2][e] = __uint_as_float(v.z);
        out[4 * q + 3][e] = __uint_as_float(v.w);
      }
    }
  }
}

struct TileAt {
  int m, n, batch, split;
};
__device__ __forceinline__ TileAt tile_at(const SgemmParams& p, int index) {
  const int per_z = p.tiles_m * p.tiles_n;
  const int z = index / per_z, r = index - z * per_z;
  const int group = r / (p.raster_group * p.tiles_n), first = group * p.raster_group;
  const int rows = min(p.raster_group, p.tiles_m - first);
  const int within = r - group * p.raster_group * p.tiles_n;
  return {first + within % rows, within / rows, z / p.splits, z % p.splits};
}

__device__ __forceinline__ float read_output(const void* c, int64_t i, Output o) {
  if (o == Output::kF32) return static_cast<const float*>(c)[i];
  if (o == Output::kBf16) return __bfloat162float(static_cast<const __nv_bfloat16*>(c)[i]);
  return __half2float(static_cast<const __half*>(c)[i]);
}
__device__ __forceinline__ void write_output(void* d, int64_t i, Output o, float v) {
  if (o == Output::kF32) {
    static_cast<float*>(d)[i] = v;
  } else if (o == Output::kBf16) {
    static_cast<__nv_bfloat16*>(d)[i] = __float2bfloat16(v);
  } else {
    static_cast<__half*>(d)[i] = __float2half(v);
  }
}

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocksPerSm)
    sgemm(const __grid_constant__ SgemmParams p) {
  extern __shared__ uint8_t shared[];
  const uint32_t stages = (shared_address(shared) + 1023) & ~1023u;
  const uint32_t full = stages + Tile::kStages * Tile::kStageBytes,
                 empty = full + 8 * Tile::kStages;
  if (threadIdx.x == 0) {
    for (int s = 0; s < Tile::kStages; ++s) {
      mbarrier_init(full + 8 * s, 1);
      mbarrier_init(empty + 8 * s, Tile::kWarps);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  wait_for_kernels_ahead();
  let_kernels_behind_start();
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const int units = p.tiles_m * p.tiles_n * p.batches * p.splits;
  // Thread 0 runs ahead by all stages but one: the next block to load, and where.
  int load_unit = blockIdx.x, load_block = -1, load_stage = 0;
  uint32_t load_phase = 0;
  auto load_next = [&]() {
    if (load_unit >= units) return;
    const TileAt at = tile_at(p, load_unit);
    if (load_block < 0) load_block = at.split * p.k_blocks_per_split;
    mbarrier_wait(empty + 8 * load_stage, load_phase ^ 1);
    const uint32_t barrier = full + 8 * load_stage;
    mbarrier_arrive_expect(barrier, Tile::kStageBytes);
    const uint32_t a_at = stages + load_stage * Tile::kStageBytes, b_at = a_at + Tile::BM * 128;
    const int k0 = load_block * Tile::BK;
    if constexpr (Tile::kAMn) {
      for (int panel = 0; panel < Tile::BM / 32; ++panel) {
        tma_load(a_at + panel * 4096, &p.a, at.m * Tile::BM + panel * 32, k0, at.batch, barrier);
      }
    } else {
      tma_load(a_at, &p.a, k0, at.m * Tile::BM, at.batch, barrier);
    }
    if constexpr (Tile::kBMn) {
      for (int panel = 0; panel < Tile::BN / 32; ++panel) {
        tma_load(b_at + panel * 4096, &p.b, at.n * Tile::BN + panel * 32, k0, at.batch, barrier);
      }
    } else {
      tma_load(b_at, &p.b, k0, at.n * Tile::BN, at.batch, barrier);
    }
    if (++load_block == min((at.split + 1) * p.k_blocks_per_split, p.k_blocks)) {
      load_block = -1;
      load_unit += gridDim.x;
    }
    if (++load_stage == Tile::kStages) {
      load_stage = 0;
      load_phase ^= 1;
    }
  };
  if (threadIdx.x == 0) {
    for (int s = 0; s < Tile::kStages - 1; ++s) load_next();
  }
  __syncwarp();
  int stage = 0;
  uint32_t phase = 0;
  const int lane_m = lane & 3, lane_n = lane >> 2;
  const int warp_m = warp % Tile::kWarpsM * Tile::kWarpM,
            warp_n = warp / Tile::kWarpsM * Tile::kWarpN;
  for (int unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const TileAt at = tile_at(p, unit);
    const int blocks = min(p.k_blocks_per_split, p.k_blocks - at.split * p.k_blocks_per_split);
    float sum[Tile::TM][Tile::TN] = {};
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      if (threadIdx.x == 0) load_next();  // into the stage that was left last
      __syncwarp();
      mbarrier_wait(full + 8 * stage, phase);
      const uint32_t a_at = stages + stage * Tile::kStageBytes, b_at = a_at + Tile::BM * 128;
#pragma unroll 2
      for (int k = 0; k < Tile::BK; k += 4) {
        float a[Tile::TM][4];
        load_fragment<Tile::kAMn>(a, a_at, warp_m, lane_m, 4, k);
#pragma unroll
        for (int half = 0; half < Tile::TN / 8; ++half) {
          float b[8][4];
          load_fragment<Tile::kBMn>(b, b_at, warp_n + half * 64, lane_n, 8, k);
#pragma unroll
          for (int e = 0; e < 4; ++e) {
#pragma unroll
            for (int i = 0; i < Tile::TM; ++i) {
#pragma unroll
              for (int j = 0; j < 8; ++j)
                sum[i][half * 8 + j] = fmaf(a[i][e], b[j][e], sum[i][half * 8 + j]);
            }
          }
        }
      }
      __syncwarp();
      if (lane == 0) mbarrier_arrive(empty + 8 * stage);
      if (++stage == Tile::kStages) {
        stage = 0;
        phase ^= 1;
      }
    }
    const int64_t z = static_cast<int64_t>(at.batch) * p.splits + at.split;
#pragma unroll
    for (int i = 0; i < Tile::TM; ++i) {
      const int row = at.m * Tile::BM + warp_m + spread<Tile::kAMn>(lane_m, 4, i);
      if (row >= p.m) continue;
#pragma unroll
      for (int j = 0; j < Tile::TN; ++j) {
        const int column =
            at.n * Tile::BN + warp_n + (j / 8) * 64 + spread<Tile::kBMn>(lane_n, 8, j % 8);
        if (column >= p.n) continue;
        float v = p.alpha * sum[i][j];
        if (p.beta != 0.0f)
          v += p.beta * read_output(p.c, z * p.stride_c + row * p.ld_c + column, p.output);
        write_output(p.d, z * p.stride_d + row * p.ld_d + column, p.output, v);
      }
    }
  }
}

template <class Tile>
cudaError_t launch(const WgmmaProblem& problem, const WgmmaSchedule& schedule,
                   cudaStream_t stream) {
  static const cudaError_t configured = cudaFuncSetAttribute(
      sgemm<Tile>, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes);
  if (configured != cudaSuccess) return configured;
  auto div_up = [](int a, int b) { return (a + b - 1) / b; };
  SgemmParams p{};
  p.m = problem.m;
  p.n = problem.n;
  p.batches = problem.batches;
  p.k_blocks = div_up(problem.k, Tile::BK);
  p.k_blocks_per_split = div_up(p.k_blocks, schedule.splits);
  p.splits = div_up(p.k_blocks, p.k_blocks_per_split);
  p.tiles_m = div_up(problem.m, Tile::BM);
  p.tiles_n = div_up(problem.n, Tile::BN);
  p.raster_group = schedule.raster_group;
  p.alpha = problem.alpha;
  p.beta = problem.beta;
  p.c = problem.c;
  p.ld_c = problem.ld_c;
  p.stride_c = problem.stride_c;
  p.d = problem.d;
  p.ld_d = problem.ld_d;
  p.stride_d = problem.stride_d;
  p.output = problem.output;
  if (!encode_operand(&p.a, problem.a, problem.m, problem.k, problem.batches, Element::kF32,
                      problem.a.mn_major ? Tile::BK : Tile::BM) ||
      !encode_operand(&p.b, problem.b, problem.n, problem.k, problem.batches, Element::kF32,
                      problem.b.mn_major ? Tile::BK : Tile::BN)) {
    return cudaErrorInvalidValue;
  }
  const int64_t units = int64_t{p.tiles_m} * p.tiles_n * p.batches * p.splits;
  if (units > (int64_t{1} << 30)) return cudaErrorInvalidConfiguration;
  cudaLaunchConfig_t config{};
  config.gridDim =
      dim3(static_cast<unsigned>(std::min<int64_t>(units, schedule.sm_count * Tile::kBlocksPerSm)));
  config.blockDim = dim3(Tile::kThreads);
  config.dynamicSmemBytes = Tile::kSharedBytes;
  config.stream = stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = schedule.programmatic ? 1 : 0;
  void* arguments[] = {&p};
  return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(&sgemm<Tile>), arguments);
}

template <bool kAMn, bool kBMn>
cudaError_t launch_layout(const WgmmaProblem& problem, SgemmTileShape tile,
                          const WgmmaSchedule& schedule, cudaStream_t stream) {
  if (tile.bn == 256) return launch<SgemmTile<128, 256, 16, kAMn, kBMn>>(problem, schedule, stream);
  if (tile.bn == 128) return launch<SgemmTile<128, 128, 16, kAMn, kBMn>>(problem, schedule, stream);
  return launch<SgemmTile<64, 64, 8, kAMn, kBMn>>(problem, schedule, stream);
}

}  // namespace

cudaError_t launch_sgemm(const WgmmaProblem& problem, SgemmTileShape tile,
                         const WgmmaSchedule& schedule, cudaStream_t stream) {
  if (problem.a.mn_major) {
    return problem.b.mn_major ? launch_layout<true, true>(problem, tile, schedule, stream)
                              : launch_layout<true, false>(problem, tile, schedule, stream);
  }
  return problem.b.mn_major ? launch_layout<false, true>(problem, tile, schedule, stream)
                            : launch_layout<false, false>(problem, tile, schedule, stream);
}

}  // namespace tw::gemm
