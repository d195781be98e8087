// The library's tensor-core GEMM: warp-specialised, persistent, fed by TMA, computed by WGMMA.
//
// D = alpha * A * B + beta * C for one tile shape and one pair of layouts. A CTA is one producer
// warpgroup (two threads of it, one for each operand, issue bulk tensor copies into a ring of
// stages) and BM/64 consumer warpgroups of 64 x BN each. A cluster of CTAs along M shares B, one
// along N shares A: each loads its part and multicasts. CTAs are persistent and walk tiles in
// groups along M, so that the tiles in flight share rows and columns in L2; the producers run
// ahead into the next tile while the consumers store the last one.
//
// D leaves through staging (wgmma_store.cuh). Edges need no guard in the mainloop: TMA fills what
// lies outside the matrix with zeros, and clips the store.
//
// Ping-pong: each warpgroup has tiles of its own, 128 x BN, and they take turns: one multiplies
// while the other stores. It needs no more than the accumulators of one tile a warpgroup, so BN is
// at most 176, in steps of 8: widths that fill a last wave. An MN-major B has them, too, where the
// product is computed as D^T = B^T A^T and leaves turned (turned_store.cuh).
//
// Operands that TMA cannot read as they lie may be repacked while the kernel runs (repack_order.h):
// a warpgroup more moves them in the order in which tiles want them, and the producers wait for
// what is not there yet; two more producer warps gather single lines, and the movers multiply the
// corner and part of a column beyond whole tiles (edge_lines.cuh). Kernels of their own do so
// (kRepack...), since a warpgroup takes registers.
//
// Long K on few tiles: the CTAs of a cluster split K and sum through each other's shared memory.
// fp8 is promoted: see WgmmaTile::kPromote.
// Limits: A and B need an address and a pitch that are multiples of 16 bytes: TMA wants the pitch,
// and an innermost coordinate off the 16-byte grid ends as an illegal instruction (seen on the
// H200), so an odd address cannot be made good by a coordinate either. The host repacks what does
// not comply. Tested by tilewright-bench gemm --suite verify (every layout, tile, output, offset;
// padding untouched).
#pragma once

#include <type_traits>

#include "common/hopper.cuh"
#include "common/wgmma.cuh"
#include "gemm/lib/cluster_sum.cuh"
#include "gemm/lib/edge_lines.cuh"
#include "gemm/lib/repack_lines.cuh"
#include "gemm/lib/turned_store.cuh"
#include "gemm/lib/wgmma_params.h"
#include "gemm/lib/wgmma_store.cuh"

namespace tw::gemm {

using namespace tw::gpu;

// The type of D that has kernels without the general epilogue.
template <class T> constexpr Output native_output() {
  if constexpr (std::is_same_v<T, Tf32>) return Output::kF32;
  return std::is_same_v<T, __half> ? Output::kF16 : Output::kBf16;
}

template <class TA, class TB, int BM_, int BN_, bool kAMn_, bool kBMn_, int kResident_,
          bool kPingPong_ = false>
struct WgmmaTile {
  using A = TA;
  using B = TB;
  static constexpr int BM = BM_, BN = BN_;
  static constexpr bool kAMn = kAMn_, kBMn = kBMn_;
  static constexpr bool kPingPong = kPingPong_;
  static constexpr Output kNative = native_output<TA>();
  static constexpr int BK = 128 / sizeof(TA);  // one swizzle row
  // The tensor core adds fp8 products with fewer bits than fp32 has (about 14 in the sum, as
  // DeepGEMM's authors measured): after every K block the partial sum moves to fp32 registers.
  static constexpr bool kPromote = sizeof(TA) == 1;
  static constexpr int kConsumers = BM / 64;
  static constexpr int kThreads = (kConsumers + 1) * 128;
  // An MN-major B comes in panels of 64 columns, or one of 32; a K-major one in lines that two CTAs
  // can share.
  static constexpr int kBPanels = kBMn ? (BN + 63) / 64 : 1;
  static constexpr int kBLines = kBMn ? BK : copied_lines(BN);
  static constexpr int kBLineBytes = kBMn && BN == 32 ? 64 : 128;
  static constexpr int kABytes = BM * 128, kBBytes = kBPanels * kBLines * kBLineBytes,
                       kStageBytes = kABytes + kBBytes;
  static constexpr int kStagingBytes = 8192;  // 64 rows of 128 bytes, a warpgroup and buffer
  static constexpr int kBuffers = 2;
  static constexpr int kTurnedRows = turned_rows(BN);
  // CTAs an SM holds at once. Two of them hide each other's latencies, and the start of one kernel
  // behind the end of the kernel before it.
  static constexpr int kResident = kResident_;
  // 227 KiB a block, 228 KiB an SM with 1 KiB of each block reserved (programming guide, cc 9.0).
  static constexpr int kSharedLimit = kResident == 1 ? 232448 : 233472 / kResident - 1024;
  // Their barriers have 256 bytes. (64x4096x4096 nn in 64x32: 12.0 us with twelve, 12.2 with 16.)
  static constexpr int kMostStages = BM == 64 && BN == 32 && kBMn ? 12 : 16;
  static constexpr int kFixed = 256 + kConsumers * kBuffers * kStagingBytes;
  static constexpr int kFitting = (kSharedLimit - kFixed) / kStageBytes;
  static constexpr int kStages = kFitting > kMostStages ? kMostStages : kFitting;
  static constexpr int kSharedBytes = kFixed + kStages * kStageBytes;
  static_assert(!kPromote || BN <= 192, "two sets of accumulators must fit the registers");
  static_assert(!kPingPong || (BM == 128 && BN <= 176 && !kPromote && kResident == 1),
                "a warpgroup holds the sums of a whole tile");
  static_assert(BN % 8 == 0, "D is staged eight columns at a time");
  static_assert(kStages >= 3, "a ring of fewer stages cannot hide the copies");
};

struct TileIndex {
  int m_unit, n_unit, z;
  // Of this CTA's tile, in tiles.
  __device__ __forceinline__ int m(const WgmmaParams& p, int rank) const {
    return p.shares_a ? m_unit : m_unit * p.cluster + rank;
  }
  __device__ __forceinline__ int n(const WgmmaParams& p, int rank) const {
    return p.shares_a ? n_unit * p.cluster + rank : n_unit;
  }
};

__device__ __forceinline__ TileIndex tile_at(const WgmmaParams& p, int index) {
  const int per_z = p.units_m * p.units_n;
  // A cluster that splits K: its CTAs are one tile's splits.
  const int split = p.k_cluster > 1 ? index % p.k_cluster : 0;
  if (p.k_cluster > 1) index /= p.k_cluster;
  int z = index < per_z ? 0 : index / per_z;  // a division takes its time
  const int r = index - z * per_z;
  if (p.k_cluster > 1) z = z * p.k_cluster + split;
  const int per_group = p.raster_group * p.units_n;
  const int group = r / per_group;
  const int first = group * p.raster_group;
  const int rows = min(p.raster_group, p.units_m - first);
  const int within = r - group * per_group;
  const int n = within / rows;
  return {first + within - n * rows, n, z};
}

// Threads of a CTA, and the registers of each: two warpgroups multiply, and what they leave of 64
// Ki registers goes to the producers and, in a kernel that repacks, to the warps that move lines.
template <class Tile, Epilogue e> struct Warpgroups {
  static_assert(!kRepacks<e> || Tile::kConsumers == 2, "the registers are counted for two");
  static constexpr int kThreads = Tile::kThreads + (kRepacks<e> ? 128 : 0);
  static constexpr int kConsumerRegisters = 208, kProducerRegisters = kRepacks<e> ? 32 : 88,
                       kMoverRegisters = 64;
  static constexpr int kLinesInFlight = 2;  // of a warp that moves
};

// Before the copies of band `k_band` of K for this tile's lines (from mn on): they have been moved.
template <class Tile, bool kIsA>
__device__ __forceinline__ void wait_for_cells(const RepackOperand& x, int mn, int k_band) {
  constexpr int kBand =
      (kIsA ? Tile::kAMn : Tile::kBMn) ? kPartBytes / sizeof(typename Tile::A) : kBandLines;
  constexpr int kLines = kIsA ? Tile::BM : (Tile::kBMn ? Tile::BN : Tile::kBLines);
  const int last = min((mn + kLines - 1) / kBand, x.bands - 1);
  for (int band = mn / kBand; band <= last; ++band)
    wait_for_parts(x.ready + k_band * x.bands + band, x.parts);
}

// Fills the ring with one operand. Each has a warp of its own: one thread that issues the copies of
// both would decide the speed of small tiles.
template <class Tile, bool kIsA, bool kMayWait>
__device__ __forceinline__ void produce(const WgmmaParams& p, uint32_t stages, uint32_t full,
                                        uint32_t empty) {
  const int rank = p.cluster > 1 ? static_cast<int>(cluster_rank()) : 0;
  const uint16_t everyone = static_cast<uint16_t>((1 << p.cluster) - 1);
  const int units = p.units_m * p.units_n * p.batches * p.splits;
  const int step = static_cast<int>(gridDim.x) / p.cluster;
  // Of a shared operand this CTA loads a part of the lines, and all CTAs receive it.
  const bool shared = p.cluster > 1 && p.shares_a == kIsA;
  constexpr int kLines = kIsA ? (Tile::kAMn ? Tile::BK : Tile::BM) : Tile::kBLines;
  constexpr int kLineBytes = kIsA ? 128 : Tile::kBLineBytes;
  const int lines = shared ? kLines >> (p.cluster >> 1) : kLines;
  const int first_line = shared ? rank * lines : 0;
  int stage = 0;
  uint32_t phase = 0;
  const CUtensorMap* map = kIsA ? &p.a : &p.b;
  auto load = [&](uint32_t at, int x, int y, int z, uint32_t barrier) {
    if (shared) {
      tma_load_multicast(at, map, x, y, z, barrier, everyone);
    } else {
      tma_load(at, map, x, y, z, barrier);
    }
  };
  const RepackOperand& moved = kIsA ? p.repack.a : p.repack.b;
  bool waits = kMayWait && moved.source != nullptr;
  for (int unit = static_cast<int>(blockIdx.x) / p.cluster; unit < units; unit += step) {
    if (waits && load_acquire(p.repack.done) == p.repack.parts) {  // nothing to wait for any more
      fence_async_global();
      waits = false;
    }
    const TileIndex tile = tile_at(p, unit);
    const int batch = tile.z / p.splits;
    const int first_block = (tile.z - batch * p.splits) * p.k_blocks_per_split;
    const int last_block = min(first_block + p.k_blocks_per_split, p.k_blocks);
    const int mn = kIsA ? tile.m(p, rank) * Tile::BM : tile.n(p, rank) * Tile::BN;
    // CTAs that run together read the same blocks of the operand that they share at about the same
    // time, which L2 then sees once; pairs that share A have no use for it, and ask fewer DRAM
    // channels at once where each starts at another k. The order within a sum is free.
    int block = first_block;
    if (p.starts_apart) block += (tile.n_unit + tile.z) * 5 % (last_block - first_block);
#pragma unroll 1
    for (int count = first_block; count < last_block; ++count) {
      if (waits && (block % model::kRepackBand == 0 || count == first_block)) {
        const int k_band = block / model::kRepackBand;
        if (k_band < p.repack.k_bands) {
          wait_for_cells<Tile, kIsA>(moved, mn, k_band);
        } else {
          wait_for_parts(p.repack.gathered, p.repack.gathers);
        }
      }
      mbarrier_wait(empty + 8 * stage, phase ^ 1);
      const uint32_t to =
          stages + stage * Tile::kStageBytes + (kIsA ? 0 : Tile::kABytes) + first_line * kLineBytes;
      const uint32_t barrier = full + 8 * stage;
      const int k0 = block * Tile::BK;
      if (++block == last_block) block = first_block;
      mbarrier_arrive_expect(barrier, kIsA ? Tile::kABytes : Tile::kBBytes);
      if constexpr (kIsA ? Tile::kAMn : Tile::kBMn) {
#pragma unroll
        for (int panel = 0; panel < (kIsA ? Tile::BM / 64 : Tile::kBPanels); ++panel) {
          load(to + panel * 8192, mn + panel * 64, k0 + first_line, batch, barrier);
        }
      } else {
        load(to, k0, mn + first_line, batch, barrier);
      }
      if (++stage == Tile::kStages) {
        stage = 0;
        phase ^= 1;
      }
    }
  }
}

template <class T> __device__ __forceinline__ float element_at(const char* line, int k) {
  if constexpr (std::is_same_v<T, Tf32>) {
    return __uint_as_float(round_to_tf32(reinterpret_cast<const uint32_t*>(line)[k]));
  } else {
    return static_cast<float>(reinterpret_cast<const T*>(line)[k]);
  }
}

// The element of D where a row and a column beyond this product meet, by one warp.
template <class Tile> __device__ __forceinline__ void store_corner(const WgmmaParams& p) {
  const int lane = threadIdx.x & 31;
  wait_for_parts(p.repack.gathered, p.repack.gathers);
  float sum = 0;
#pragma unroll 4
  for (int k = lane; k < p.k; k += 32) {
    sum = fmaf(element_at<typename Tile::A>(p.repack.row, k),
               element_at<typename Tile::B>(p.repack.column, k), sum);
  }
  sum = sum_of_warp(sum);
  if (lane == 0) write_edge(p, p.m, p.n, sum);
}

// Split K in a cluster, first half: the accumulators, as rows of fp32 where the stages were.
template <class Tile>
__device__ __forceinline__ void keep_partial(float (&d)[Tile::BN / 2], uint32_t stages, int group) {
  constexpr int kPitch = Tile::BN * 4 + 16;
  static_assert(Tile::BM * kPitch <= Tile::kStages * Tile::kStageBytes,
                "partial sums lie over the stages");
  const int thread = threadIdx.x & 127, warp = thread >> 5, g = (thread & 31) >> 2, t = thread & 3;
  named_barrier(7, Tile::kConsumers * 128);  // no warpgroup reads the stages any more
  const uint32_t row = stages + (group * 64 + warp * 16 + g) * kPitch + t * 8;
#pragma unroll
  for (int q = 0; q < Tile::BN / 8; ++q) {
    store_shared_v2(row + q * 32, __float_as_uint(d[4 * q]), __float_as_uint(d[4 * q + 1]));
    store_shared_v2(row + 8 * kPitch + q * 32, __float_as_uint(d[4 * q + 2]),
                    __float_as_uint(d[4 * q + 3]));
  }
}

// Second half, after a cluster barrier.
template <class Tile, bool kPlain>
__device__ __forceinline__ void reduce_cluster(const WgmmaParams& p, uint32_t stages) {
  const TileIndex tile = tile_at(p, static_cast<int>(blockIdx.x));
  const int row0 = tile.m_unit * Tile::BM;
  const ClusterSum s{stages, Tile::BN * 4 + 16,      min(Tile::BM, p.m - row0),
                     row0,   tile.n_unit * Tile::BN, p.n};
  sum_cluster<Tile::BN / 4, Tile::kConsumers * 128, kPlain, Tile::kNative>(
      p, s, p.k_cluster, static_cast<int>(cluster_rank()), tile.z / p.splits);
}

// No read of the accumulators moves above this point (the wait before it does not name them).
template <int kCount> __device__ __forceinline__ void keep_below(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// Before a warpgroup leaves: its bulk stores have read shared memory.
template <Epilogue kEpilogue> __device__ __forceinline__ void finish_stores(const WgmmaParams& p) {
  constexpr Epilogue kStore = kStoresAs<kEpilogue>;
  if constexpr (kStore == Epilogue::kVector || kStore == Epilogue::kElements) return;
  if (kStore == Epilogue::kBulk || p.store == Store::kBulk) {
    if (elect_lane()) tma_store_wait_read<0>();
  }
}

// The first kSteps instructions of the K block in the stage at `at`: a warpgroup's 64 rows.
template <class Tile, Epilogue kEpilogue, int kSteps>
__device__ __forceinline__ void multiply_block(float (&to)[Tile::BN / 2], int accumulate,
                                               uint32_t at, int group) {
  // Descriptor steps, in units of 16 bytes: 32 bytes along a swizzled row, or 16 rows of 128 bytes.
  constexpr uint64_t kStepA = Tile::kAMn ? 128 : 2;
  constexpr uint64_t kStepB = Tile::kBMn ? Tile::kBLineBytes : 2;
  const uint32_t a_at = at + group * 8192, b_at = at + Tile::kABytes;
  const uint64_t a = Tile::kAMn ? mn_major_descriptor(a_at, 8192) : k_major_descriptor(a_at);
  const uint64_t b = !Tile::kBMn                ? k_major_descriptor(b_at)
                     : Tile::kBLineBytes == 128 ? mn_major_descriptor(b_at, 8192)
                                                : mn_major_descriptor_64(b_at);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    if constexpr (kRepacks<kEpilogue> && Tile::BN == 256) {
      // Two of 128 columns: with 512 threads ptxas refuses an instruction of 256.
      auto& halves = reinterpret_cast<float(&)[2][64]>(to);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        wgmma<typename Tile::A, typename Tile::B, 128, Tile::kAMn, Tile::kBMn>(
            halves[half], a + k * kStepA, b + half * 1024 + k * kStepB, k > 0 ? 1 : accumulate);
      }
    } else {
      wgmma<typename Tile::A, typename Tile::B, Tile::BN, Tile::kAMn, Tile::kBMn>(
          to, a + k * kStepA, b + k * kStepB, k > 0 ? 1 : accumulate);
    }
  }
  wgmma_commit();
}

template <class Tile, Epilogue kEpilogue>
__device__ __forceinline__ void consume(const WgmmaParams& p, uint32_t stages, uint32_t full,
                                        uint32_t empty, uint32_t staging, int group) {
  constexpr int BN = Tile::BN;
  const int thread = threadIdx.x & 127;
  const int rank = p.cluster > 1 ? static_cast<int>(cluster_rank()) : 0;
  const int units = p.units_m * p.units_n * p.batches * p.splits;
  const int step = static_cast<int>(gridDim.x) / p.cluster;
  int stage = 0, buffer = 0;
  uint32_t phase = 0;
  float d[BN / 2];
  // One arrival a warpgroup and CTA that fills this stage, from different warps.
  auto release = [&](int which) {
    if ((thread & 31) == 0 && (thread >> 5) < p.cluster) {
      if (p.cluster == 1) {
        mbarrier_arrive(empty + 8 * which);
      } else {
        mbarrier_arrive_remote(empty + 8 * which, thread >> 5);
      }
    }
  };
  for (int unit = static_cast<int>(blockIdx.x) / p.cluster; unit < units; unit += step) {
    const TileIndex tile = tile_at(p, unit);
    const int first_block = (tile.z % p.splits) * p.k_blocks_per_split;
    const int blocks = min(p.k_blocks_per_split, p.k_blocks - first_block);
    int previous = 0;
    auto advance = [&]() {
      previous = stage;
      if (++stage == Tile::kStages) {
        stage = 0;
        phase ^= 1;
      }
    };
    // The first block of a tile overwrites the accumulators; it stands apart so that ptxas sees one
    // unbroken chain of asynchronous instructions on them. One group stays in flight: the stage
    // before it is free once it is issued.
    auto multiply = [&](float(&to)[BN / 2], int accumulate) {
      mbarrier_wait(full + 8 * stage, phase);
      multiply_block<Tile, kEpilogue, 4>(to, accumulate, stages + stage * Tile::kStageBytes, group);
    };
    if constexpr (Tile::kPromote) {
      // Two sets of partial sums where registers hold them: one is added while the tensor cores
      // work on the other, in chains of K blocks (across iterations of a loop ptxas would serialise
      // them). At the end of a chain nothing is in flight, so chains are long where K is.
      constexpr int kSets = BN <= 128 ? 2 : 1;
      float part[kSets][BN / 2];
#pragma unroll
      for (int i = 0; i < BN / 2; ++i) d[i] = 0;
      int oldest = stage;  // the first stage that is not released
      auto issue = [&](int which) {
        multiply(part[which], 0);
        advance();
      };
      auto add = [&](int which) {
        keep_below(part[which]);
        release(oldest);
        if (++oldest == Tile::kStages) oldest = 0;
#pragma unroll
        for (int i = 0; i < BN / 2; ++i) d[i] += part[which][i];
      };
      int block = 0;
      if constexpr (kSets == 2) {
        auto chains_of = [&]<int kChain>() {
#pragma unroll 1
          for (; block + kChain <= blocks; block += kChain) {
            issue(0);
#pragma unroll
            for (int i = 1; i < kChain; ++i) {
              issue(i & 1);
              wgmma_wait<1>();
              add((i - 1) & 1);
            }
            wgmma_wait<0>();
            add((kChain - 1) & 1);
          }
        };
        // A sum has two chains at least: what runs once has to be fetched for that. (Kernels that
        // repack have no registers for longer ones: 4095 cubed took 162 us with them, 142 without.)
        if constexpr (!kRepacks<kEpilogue>) {
          if (Tile::kConsumers == 2 && blocks >= 64) chains_of.template operator()<32>();
          if (blocks >= 32) chains_of.template operator()<16>();
        }
        chains_of.template operator()<4>();
      }
#pragma unroll 1
      for (; block < blocks; ++block) {
        issue(0);
        wgmma_wait<0>();
        add(0);
      }
    } else {
      // Of a last block that holds no more than one instruction's K (4097 cubed), only that.
      const bool one_step = kRepacks<kEpilogue> && p.last_block_short && blocks > 1;
      const int whole = blocks - (one_step ? 1 : 0);
      multiply(d, 0);
      advance();
#pragma unroll 1
      for (int block = 1; block < whole; ++block) {
        multiply(d, 1);
        wgmma_wait<1>();
        release(previous);
        advance();
      }
      if constexpr (kRepacks<kEpilogue>) {
        if (one_step) {
          mbarrier_wait(full + 8 * stage, phase);
          multiply_block<Tile, kEpilogue, 1>(d, 1, stages + stage * Tile::kStageBytes, group);
          wgmma_wait<1>();
          release(previous);
          advance();
        }
      }
      wgmma_wait<0>();
      keep_below(d);
      release(previous);
    }
    if constexpr (kIsClusterSum<kEpilogue>) {
      keep_partial<Tile>(d, stages, group);
      return;  // one tile a CTA; reduce_cluster goes on
    } else {
      const StorePart part{tile.m(p, rank) * Tile::BM + group * 64, tile.n(p, rank) * BN, tile.z,
                           0};
      store_tile<Tile, kEpilogue>(p, d, staging + group * Tile::kBuffers * Tile::kStagingBytes,
                                  part, buffer);
    }
  }
  finish_stores<kEpilogue>(p);
}

// Ping-pong: this warpgroup's tiles, every other one of the CTA's. Named barrier 4 + group opens
// when the other warpgroup has issued its last multiplication, and the tensor cores are this one's.
template <class Tile, Epilogue kEpilogue>
__device__ __forceinline__ void consume_in_turns(const WgmmaParams& p, uint32_t stages,
                                                 uint32_t full, uint32_t empty, uint32_t staging,
                                                 int group) {
  constexpr int BN = Tile::BN;
  const int thread = threadIdx.x & 127;
  const int rank = p.cluster > 1 ? static_cast<int>(cluster_rank()) : 0;
  const int units = p.units_m * p.units_n * p.batches;
  const int step = static_cast<int>(gridDim.x) / p.cluster;
  constexpr uint64_t kStepA = Tile::kAMn ? 128 : 2, kStepB = Tile::kBMn ? 128 : 2;
  const int blocks = p.k_blocks;
  // Where the ring stands after the other warpgroup's tile.
  const int skip = blocks % Tile::kStages;
  const uint32_t skip_phase = (blocks / Tile::kStages) & 1;
  int stage = group == 0 ? 0 : skip, buffer = 0;
  uint32_t phase = group == 0 ? 0 : skip_phase;
  float d[2][BN / 2];
  auto release = [&](int which) {  // one arrival a CTA that fills this stage, from different warps
    if ((thread & 31) == 0 && (thread >> 5) < p.cluster) {
      if (p.cluster == 1) {
        mbarrier_arrive(empty + 8 * which);
      } else {
        mbarrier_arrive_remote(empty + 8 * which, thread >> 5);
      }
    }
  };
  const int first = static_cast<int>(blockIdx.x) / p.cluster;
  for (int unit = first + group * step; unit < units; unit += 2 * step) {
    if (unit != first) named_barrier(4 + group, 256);
    int previous = 0;
    auto multiply = [&](int accumulate) {
      mbarrier_wait(full + 8 * stage, phase);
      const uint32_t a_at = stages + stage * Tile::kStageBytes, b_at = a_at + Tile::kABytes;
      const uint64_t b = Tile::kBMn ? mn_major_descriptor(b_at, 8192) : k_major_descriptor(b_at);
      wgmma_fence();
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const uint64_t a = Tile::kAMn ? mn_major_descriptor(a_at + half * 8192, 8192)
                                      : k_major_descriptor(a_at + half * 8192);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          wgmma<typename Tile::A, typename Tile::B, BN, Tile::kAMn, Tile::kBMn>(
              d[half], a + k * kStepA, b + k * kStepB, k > 0 ? 1 : accumulate);
        }
      }
      wgmma_commit();
      previous = stage;
      if (++stage == Tile::kStages) {
        stage = 0;
        phase ^= 1;
      }
    };
    multiply(0);
#pragma unroll 1
    for (int block = 1; block < blocks; ++block) {
      const int done = previous;
      multiply(1);
      wgmma_wait<1>();
      release(done);
    }
    if (unit + step < units) named_barrier_arrive(4 + (group ^ 1), 256);
    const TileIndex tile = tile_at(p, unit);
    wgmma_wait<0>();
    keep_below(d[0]);
    keep_below(d[1]);
    release(previous);
    stage += skip;
    phase ^= skip_phase;
    if (stage >= Tile::kStages) {
      stage -= Tile::kStages;
      phase ^= 1;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const StorePart part{tile.m(p, rank) * Tile::BM + half * 64, tile.n(p, rank) * BN, tile.z, 0};
      const uint32_t at = staging + group * Tile::kBuffers * Tile::kStagingBytes;
      if constexpr (kEpilogue == Epilogue::kTurned) {
        store_turned<Tile>(p, d[half], at, part, group, buffer);
      } else {
        store_tile<Tile, kEpilogue>(p, d[half], at, part, buffer);
      }
    }
  }
  finish_stores<kEpilogue>(p);
}

template <class Tile, Epilogue kEpilogue>
__global__ void __launch_bounds__(Warpgroups<Tile, kEpilogue>::kThreads, Tile::kResident)
    wgmma_gemm(const __grid_constant__ WgmmaParams p) {
  extern __shared__ __align__(1024) uint8_t shared[];  // swizzle atoms are 1024 bytes
  const uint32_t stages = shared_address(shared);
  if ((stages & 1023) != 0) __trap();
  const uint32_t staging = stages + Tile::kStages * Tile::kStageBytes;
  const uint32_t full = staging + Tile::kConsumers * Tile::kBuffers * Tile::kStagingBytes;
  const uint32_t empty = full + 8 * Tile::kStages;
  if (threadIdx.x == 0) {
    prefetch_tensor_map(&p.a);
    prefetch_tensor_map(&p.b);
    if (kStoresAs<kEpilogue> == Epilogue::kBulk ||
        (kStoresAs<kEpilogue> == Epilogue::kGeneral && p.store == Store::kBulk))
      prefetch_tensor_map(&p.d);
    for (int s = 0; s < Tile::kStages; ++s) {
      mbarrier_init(full + 8 * s, 2);  // a producer for each operand
      // Every consumer warpgroup of the cluster, in ping-pong one of each CTA.
      mbarrier_init(empty + 8 * s, (Tile::kPingPong ? 1 : Tile::kConsumers) * p.cluster);
    }
    fence_mbarrier_init();
  }
  if (p.cluster > 1) {
    cluster_sync_relaxed();  // the fence above has published the barriers
  } else {
    __syncthreads();
  }
  wait_for_kernels_ahead();
  let_kernels_behind_start();
  const int group = warp_uniform(static_cast<int>(threadIdx.x) / 128);
  using Groups = Warpgroups<Tile, kEpilogue>;
  // Each branch holds all that its warps do: behind the join the compiler would have to fit the
  // consumers' code into the producer's registers.
  if (group == Tile::kConsumers) {
    if constexpr (Tile::kConsumers > 1) registers_release<Groups::kProducerRegisters>();
    const int warp = warp_uniform((threadIdx.x & 127) >> 5);
    if (warp == 0) {
      if (elect_lane()) produce<Tile, true, kRepacks<kEpilogue>>(p, stages, full, empty);
    } else if (warp == 1) {
      if (elect_lane()) produce<Tile, false, kRepacks<kEpilogue>>(p, stages, full, empty);
    } else if (kRepacks<kEpilogue>) {
      gather_meanwhile<sizeof(typename Tile::A)>(p.repack);
    }
    __syncwarp();
    if constexpr (kIsClusterSum<kEpilogue>) cluster_sync();
    // No CTA leaves while its peer may still write to it or read from it.
    if (kIsClusterSum<kEpilogue> || p.cluster > 1) cluster_sync_relaxed();
  } else if (kRepacks<kEpilogue> && group > Tile::kConsumers) {
    if constexpr (kRepacks<kEpilogue>) {
      registers_release<Groups::kMoverRegisters>();
      const bool last = move_meanwhile<sizeof(typename Tile::A), Groups::kLinesInFlight>(p.repack);
      if (last && p.repack.row != nullptr && p.repack.column != nullptr) store_corner<Tile>(p);
      if constexpr (sizeof(typename Tile::A) == 2) multiply_edge<typename Tile::A>(p);
      __syncwarp();
      if (p.cluster > 1) cluster_sync_relaxed();
    }
  } else {
    if constexpr (Tile::kConsumers > 1) registers_acquire<Groups::kConsumerRegisters>();
    if constexpr (Tile::kPingPong) {
      consume_in_turns<Tile, kEpilogue>(p, stages, full, empty, staging, group);
    } else {
      consume<Tile, kEpilogue>(p, stages, full, empty, staging, group);
    }
    if constexpr (kIsClusterSum<kEpilogue>) {
      cluster_sync();
      reduce_cluster<Tile, kEpilogue == Epilogue::kPlainSum>(p, stages);
    }
    if (kIsClusterSum<kEpilogue> || p.cluster > 1) cluster_sync_relaxed();
  }
}

}  // namespace tw::gemm
