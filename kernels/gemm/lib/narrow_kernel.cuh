// Products with one narrow side (up to 64 rows of A, or columns of B): bound by reading the wide
// operand once.
//
// Problem: wgmma computes 64 rows whether they exist or not, and few rows make few tiles, so that
// an ordinary tile wastes shared memory and leaves SMs without work. Choice: the wide operand takes
// the M side of wgmma, 128 of its rows a CTA, the narrow one the N side, 16, 32 or 64; where that
// is D transposed, D is turned on its way out. Two CTAs share an SM, each with a ring of 113 KiB,
// which keeps DRAM busy from few CTAs; a CTA may take fewer than its 128 rows (it multiplies what
// lay in shared memory, and drops it), so that every SM has as many; where tiles are fewer still, a
// cluster of 2 to 8 CTAs splits K of one tile and sums in rank order (deterministic) through
// distributed shared memory. One warp issues the copies, one warpgroup multiplies.
//
// D always leaves through shared memory as fp32, in D's own orientation, and is then written four
// elements a thread. Limits: A and B suit TMA, as for wgmma_kernel.cuh; an MN-major narrow operand
// needs the 64-wide tile (its swizzled rows hold 64 elements). Tested by tilewright-bench gemm
// --suite verify.
#pragma once

#include "gemm/lib/wgmma_kernel.cuh"

namespace tw::gemm {

// TW: the wide operand's type, TX: the narrow one's.
template <class TW, class TX, int BX_, bool kWMn_, bool kXMn_> struct NarrowTile {
  using W = TW;
  using X = TX;
  static constexpr int BW = 128, BX = BX_;
  static constexpr bool kWMn = kWMn_, kXMn = kXMn_;
  static constexpr int BK = 128 / sizeof(TW);
  static constexpr Output kNative = native_output<TW>();
  static constexpr bool kPromote = sizeof(TW) == 1;
  // Two CTAs an SM: one's copies are in flight while the other sums and stores.
  static constexpr int kResident = 2;
  static constexpr int kThreads = 160;
  static constexpr int kWBytes = BW * 128, kXBytes = BX * 128, kStageBytes = kWBytes + kXBytes;
  // 228 KiB an SM with 1 KiB of each block reserved (programming guide, cc 9.0).
  static constexpr int kSharedLimit = 233472 / kResident - 1024;
  static constexpr int kStages = (kSharedLimit - 256) / kStageBytes;
  static constexpr int kSharedBytes = 256 + kStages * kStageBytes;
  static_assert(!kXMn || BX == 64, "a swizzled row of an MN-major operand holds 64 elements");
  static_assert(kStages * 16 <= 256, "barriers");
};

// One part of K of one tile, in shared memory as fp32: `rows` lines of `columns` of D, at this
// pitch.
__device__ __forceinline__ int narrow_pitch(int columns) { return columns * 4 + 16; }

template <class Tile>
__device__ __forceinline__ void narrow_produce(const WgmmaParams& p, uint32_t stages, uint32_t full,
                                               uint32_t empty, int w0, int batch, int first,
                                               int count, int turn) {
  const int bytes = Tile::kXBytes + (Tile::kWMn ? Tile::kWBytes : p.wide_rows * 128);
  int stage = 0;
  uint32_t phase = 0;
  int block = first + turn % count;
  for (int i = 0; i < count; ++i) {
    mbarrier_wait(empty + 8 * stage, phase ^ 1);
    const uint32_t w_at = stages + stage * Tile::kStageBytes, x_at = w_at + Tile::kWBytes;
    const uint32_t barrier = full + 8 * stage;
    mbarrier_arrive_expect(barrier, bytes);
    const int k0 = block * Tile::BK;
    if (++block == first + count) block = first;
    if constexpr (Tile::kWMn) {
      tma_load(w_at, &p.a, w0, k0, batch, barrier);
      tma_load(w_at + 8192, &p.a, w0 + 64, k0, batch, barrier);
    } else {
      tma_load(w_at, &p.a, k0, w0, batch, barrier);
    }
    if constexpr (Tile::kXMn) {
      tma_load(x_at, &p.b, 0, k0, batch, barrier);
    } else {
      tma_load(x_at, &p.b, k0, 0, batch, barrier);
    }
    if (++stage == Tile::kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
}

template <class Tile>
__device__ __forceinline__ void narrow_consume(uint32_t stages, uint32_t full, uint32_t empty,
                                               int count, float (&d)[2][Tile::BX / 2]) {
  constexpr uint64_t kStepW = Tile::kWMn ? 128 : 2, kStepX = Tile::kXMn ? 128 : 2;
  int stage = 0;
  uint32_t phase = 0;
  auto multiply = [&](float(&to)[2][Tile::BX / 2], int accumulate) {
    mbarrier_wait(full + 8 * stage, phase);
    const uint32_t w_at = stages + stage * Tile::kStageBytes, x_at = w_at + Tile::kWBytes;
    const uint64_t x = Tile::kXMn ? mn_major_descriptor(x_at, 8192) : k_major_descriptor(x_at);
    wgmma_fence();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint64_t w = Tile::kWMn ? mn_major_descriptor(w_at + half * 8192, 8192)
                                    : k_major_descriptor(w_at + half * 8192);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        wgmma<typename Tile::W, typename Tile::X, Tile::BX, Tile::kWMn, Tile::kXMn>(
            to[half], w + k * kStepW, x + k * kStepX, k > 0 ? 1 : accumulate);
      }
    }
    wgmma_commit();
  };
  auto release = [&](int which) {
    if (threadIdx.x == 0) mbarrier_arrive(empty + 8 * which);
  };
  auto advance = [&] {
    if (++stage == Tile::kStages) {
      stage = 0;
      phase ^= 1;
    }
  };
  if constexpr (Tile::kPromote) {
    float part[2][Tile::BX / 2];
#pragma unroll
    for (int i = 0; i < Tile::BX / 2; ++i) d[0][i] = d[1][i] = 0;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      multiply(part, 0);
      wgmma_wait<0>();
      keep_below(part[0]);
      keep_below(part[1]);
      release(stage);
      advance();
#pragma unroll
      for (int j = 0; j < Tile::BX / 2; ++j) {
        d[0][j] += part[0][j];
        d[1][j] += part[1][j];
      }
    }
  } else {
    multiply(d, 0);
    int previous = stage;
    advance();
#pragma unroll 1
    for (int i = 1; i < count; ++i) {
      multiply(d, 1);
      wgmma_wait<1>();
      release(previous);
      previous = stage;
      advance();
    }
    wgmma_wait<0>();
    keep_below(d[0]);
    keep_below(d[1]);
  }
}

// kPlain: D is of the operands' own type and beta is 0.
template <class Tile, bool kPlain>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kResident)
    narrow_gemm(const __grid_constant__ WgmmaParams p) {
  constexpr int BW = Tile::BW, BX = Tile::BX;
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t stages = shared_address(shared);
  const uint32_t full = stages + Tile::kStages * Tile::kStageBytes;
  const uint32_t empty = full + 8 * Tile::kStages;
  if ((stages & 1023) != 0) __trap();
  if (threadIdx.x == 0) {
    prefetch_tensor_map(&p.a);
    prefetch_tensor_map(&p.b);
    for (int s = 0; s < Tile::kStages; ++s) {
      mbarrier_init(full + 8 * s, 1);
      mbarrier_init(empty + 8 * s, 1);
    }
    fence_mbarrier_init();
    // The kernel ahead writes other parts of D; what this one reads is there before that one ends.
    if (p.after != nullptr) wait_for_parts(p.after, p.after_count);
  }
  __syncthreads();
  if (p.after == nullptr) wait_for_kernels_ahead();
  let_kernels_behind_start();
  const int ranks = p.k_cluster;
  const int tile = static_cast<int>(blockIdx.x) / ranks;
  const int rank = static_cast<int>(blockIdx.x) - tile * ranks;  // clusters lie along x
  const int batch = blockIdx.z;
  const int w0 = tile * p.wide_rows;
  const int first = rank * p.k_blocks_per_split;
  const int count = min(p.k_blocks_per_split, p.k_blocks - first);
  const bool turned = p.transposed;  // D is narrow x wide
  const int pitch = narrow_pitch(turned ? BW : BX);
  const int warp = warp_uniform(threadIdx.x >> 5), lane = threadIdx.x & 31;
  if (warp == 4) {
    if (p.after != nullptr) fence_async_global();
    if (elect_lane())
      narrow_produce<Tile>(p, stages, full, empty, w0, batch, first, count,
                           p.starts_apart ? tile * 5 : 0);
    __syncwarp();
  } else {
    float d[2][BX / 2];
    narrow_consume<Tile>(stages, full, empty, count, d);
    named_barrier(1, 128);  // no warp reads the stages any more: the sums take their place
    const int g = lane >> 2, t = lane & 3;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = half * 64 + warp * 16 + g;
#pragma unroll
      for (int q = 0; q < BX / 8; ++q) {
        const int j = 8 * q + 2 * t;
        const float* v = &d[half][4 * q];
        if (turned) {
          const uint32_t at = stages + j * pitch + i * 4;
          store_shared(at, __float_as_uint(v[0]));
          store_shared(at + pitch, __float_as_uint(v[1]));
          store_shared(at + 32, __float_as_uint(v[2]));
          store_shared(at + pitch + 32, __float_as_uint(v[3]));
        } else {
          const uint32_t at = stages + i * pitch + j * 4;
          store_shared_v2(at, __float_as_uint(v[0]), __float_as_uint(v[1]));
          store_shared_v2(at + 8 * pitch, __float_as_uint(v[2]), __float_as_uint(v[3]));
        }
      }
    }
    if (ranks == 1) named_barrier(1, 128);
  }
  if (ranks > 1) cluster_sync();
  if (warp < 4) {
    if (turned) {
      const ClusterSum s{stages, pitch, min(BX, p.n), 0, w0, min(w0 + p.wide_rows, p.m)};
      sum_cluster<BW / 4, 128, kPlain, Tile::kNative>(p, s, ranks, rank, batch);
    } else {
      const ClusterSum s{stages, pitch, min(p.wide_rows, p.m - w0), w0, 0, p.n};
      sum_cluster<BX / 4, 128, kPlain, Tile::kNative>(p, s, ranks, rank, batch);
    }
  }
  if (ranks > 1) cluster_sync_relaxed();  // no CTA leaves while its peers may read from it
  // Whoever waits for this kernel waits for the one ahead, too. One CTA sees to that: others would
  // keep the rest of the grid from the SMs that the last wave of the kernel ahead leaves idle.
  if (p.after != nullptr && blockIdx.x + 1 == gridDim.x) wait_for_kernels_ahead();
}

}  // namespace tw::gemm
