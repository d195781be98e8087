// The library's tensor-core GEMM: warp-specialised, persistent, fed by TMA, computed by WGMMA.
//
// D = alpha * A * B + beta * C for one tile shape and one pair of layouts. A CTA is one producer
// warpgroup (two threads of it, one for each operand, issue bulk tensor copies into a ring of
// stages) and BM/64 consumer warpgroups of 64 x BN each. A cluster of CTAs along M shares B: each
// loads its part and multicasts. CTAs are persistent and walk tiles in groups along M, so that the
// tiles in flight share rows and columns in L2; the producers run ahead into the next tile while
// the consumers store the last one.
//
// D leaves through staging: fragments to swizzled rows of 128 bytes, then a bulk tensor store; each
// warp stores its own rows where that is sooner done or where D's pitch or address does not suit
// TMA (`Store`). Edges need no guard in the mainloop: TMA fills what lies outside the matrix with
// zeros, and clips the store.
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
#include "gemm/lib/wgmma_params.h"

namespace tw::gemm {

using namespace tw::gpu;

template <class TA, class TB, int BM_, int BN_, bool kAMn_, bool kBMn_, int kResident_>
struct WgmmaTile {
  using A = TA;
  using B = TB;
  static constexpr int BM = BM_, BN = BN_;
  static constexpr bool kAMn = kAMn_, kBMn = kBMn_;
  static constexpr int BK = 128 / sizeof(TA);  // one swizzle row
  // The tensor core adds fp8 products with fewer bits than fp32 has (about 14 in the sum, as
  // DeepGEMM's authors measured): after every K block the partial sum moves to fp32 registers.
  static constexpr bool kPromote = sizeof(TA) == 1;
  static constexpr int kConsumers = BM / 64;
  static constexpr int kThreads = (kConsumers + 1) * 128;
  static constexpr int kABytes = BM * 128, kBBytes = BN * 128, kStageBytes = kABytes + kBBytes;
  static constexpr int kStagingBytes = 8192;  // 64 rows of 128 bytes, a warpgroup and buffer
  static constexpr int kBuffers = 2;
  // CTAs an SM holds at once. Two of them hide each other's latencies, and the start of one kernel
  // behind the end of the kernel before it.
  static constexpr int kResident = kResident_;
  // 227 KiB a block, 228 KiB an SM with 1 KiB of each block reserved (programming guide, cc 9.0).
  static constexpr int kSharedLimit = kResident == 1 ? 232448 : 233472 / kResident - 1024;
  static constexpr int kFixed = 256 + kConsumers * kBuffers * kStagingBytes;
  static constexpr int kFitting = (kSharedLimit - kFixed) / kStageBytes;
  static constexpr int kStages = kFitting > 12 ? 12 : kFitting;
  static constexpr int kSharedBytes = kFixed + kStages * kStageBytes;
  static_assert(!kPromote || BN <= 192, "two sets of accumulators must fit the registers");
  static_assert(kStages >= 3, "a ring of fewer stages cannot hide the copies");
};

struct TileIndex {
  int m_unit, n, z;
};

__device__ __forceinline__ TileIndex tile_at(const WgmmaParams& p, int index) {
  const int per_z = p.units_m * p.tiles_n;
  // A cluster that splits K: its CTAs are one tile's splits.
  const int split = p.k_cluster > 1 ? index % p.k_cluster : 0;
  if (p.k_cluster > 1) index /= p.k_cluster;
  int z = index / per_z;
  const int r = index - z * per_z;
  if (p.k_cluster > 1) z = z * p.k_cluster + split;
  const int per_group = p.raster_group * p.tiles_n;
  const int group = r / per_group;
  const int first = group * p.raster_group;
  const int rows = min(p.raster_group, p.units_m - first);
  const int within = r - group * per_group;
  const int n = within / rows;
  return {first + within - n * rows, n, z};
}

// Fills the ring with one operand. Each has a warp of its own: one thread that issues the copies of
// both would decide the speed of small tiles.
template <class Tile, bool kIsA>
__device__ __forceinline__ void produce(const WgmmaParams& p, uint32_t stages, uint32_t full,
                                        uint32_t empty) {
  const int rank = p.cluster > 1 ? static_cast<int>(cluster_rank()) : 0;
  const uint16_t everyone = static_cast<uint16_t>((1 << p.cluster) - 1);
  const int units = p.units_m * p.tiles_n * p.batches * p.splits;
  const int step = static_cast<int>(gridDim.x) / p.cluster;
  // This CTA's part of a stage of B: half of it in a cluster of two.
  const int b_lines = (Tile::kBMn ? Tile::BK : Tile::BN) >> (p.cluster - 1);
  const int b_first = rank * b_lines;
  int stage = 0;
  uint32_t phase = 0;
  auto load_b = [&](uint32_t at, int x, int y, int z, uint32_t barrier) {
    if (p.cluster > 1) {
      tma_load_multicast(at, &p.b, x, y, z, barrier, everyone);
    } else {
      tma_load(at, &p.b, x, y, z, barrier);
    }
  };
  for (int unit = static_cast<int>(blockIdx.x) / p.cluster; unit < units; unit += step) {
    const TileIndex tile = tile_at(p, unit);
    const int batch = tile.z / p.splits;
    const int first_block = (tile.z - batch * p.splits) * p.k_blocks_per_split;
    const int last_block = min(first_block + p.k_blocks_per_split, p.k_blocks);
    const int m0 = (tile.m_unit * p.cluster + rank) * Tile::BM;
    const int n0 = tile.n * Tile::BN;
    // With one tile along M nobody shares B's columns: each tile starts at another k, so that rows
    // a large power of two apart do not all ask the same DRAM channels at once. The order within a
    // sum is free.
    int block = first_block;
    if (p.units_m == 1) block += tile.n * 5 % (last_block - first_block);
#pragma unroll 1
    for (int count = first_block; count < last_block; ++count) {
      mbarrier_wait(empty + 8 * stage, phase ^ 1);
      const uint32_t a_at = stages + stage * Tile::kStageBytes;
      const uint32_t b_at = a_at + Tile::kABytes;
      const uint32_t barrier = full + 8 * stage;
      const int k0 = block * Tile::BK;
      if (++block == last_block) block = first_block;
      mbarrier_arrive_expect(barrier, kIsA ? Tile::kABytes : Tile::kBBytes);
      if constexpr (kIsA && !Tile::kAMn) {
        tma_load(a_at, &p.a, k0, m0, batch, barrier);
      } else if constexpr (kIsA) {
#pragma unroll
        for (int panel = 0; panel < Tile::BM / 64; ++panel) {
          tma_load(a_at + panel * 8192, &p.a, m0 + panel * 64, k0, batch, barrier);
        }
      } else if constexpr (!Tile::kBMn) {
        load_b(b_at + b_first * 128, k0, n0 + b_first, batch, barrier);
      } else {
#pragma unroll
        for (int panel = 0; panel < Tile::BN / 64; ++panel) {
          load_b(b_at + panel * 8192 + b_first * 128, n0 + panel * 64, k0 + b_first, batch,
                 barrier);
        }
      }
      if (++stage == Tile::kStages) {
        stage = 0;
        phase ^= 1;
      }
    }
  }
}

__device__ __forceinline__ uint32_t pack16(float low, float high, Output output) {
  if (output == Output::kBf16) {
    const __nv_bfloat162 v = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const uint32_t&>(v);
  }
  const __half2 v = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(v);
}

__device__ __forceinline__ float load_c(const void* c, int64_t index, Output output) {
  if (output == Output::kF32) return static_cast<const float*>(c)[index];
  if (output == Output::kBf16) return __bfloat162float(static_cast<const __nv_bfloat16*>(c)[index]);
  return __half2float(static_cast<const __half*>(c)[index]);
}

// Stores the 16 rows of a staging buffer that this warp has written, columns x.. of D, without TMA:
// 16 bytes a lane, four rows at once. D's width, pitch and address are multiples of 16 bytes.
__device__ __forceinline__ void store_rows_vector(const WgmmaParams& p, uint32_t base, int m0,
                                                  int x, int z, int warp, int lane) {
  const int bytes = p.output == Output::kF32 ? 4 : 2;
  const int first = warp * 16 + (lane >> 3), chunk = lane & 7;
  const int column = x + chunk * (16 / bytes);
  char* to = static_cast<char*>(p.d_data) +
             (z * p.stride_d + static_cast<int64_t>(m0 + first) * p.ld_d + column) * bytes;
  uint4 value[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int r = first + 4 * i;
    value[i] = load_shared_v4(base + r * 128 + ((chunk ^ (r & 7)) << 4));
  }
#pragma unroll
  for (int i = 0; i < 4; ++i, to += 4 * p.ld_d * bytes) {
    if (m0 + first + 4 * i < p.m && column < p.n) *reinterpret_cast<uint4*>(to) = value[i];
  }
}

// The same for fp32 at any address and pitch.
__device__ __forceinline__ void store_rows_f32(const WgmmaParams& p, uint32_t base, int m0, int x,
                                               int z, int warp, int lane) {
  const int rows = p.m - m0 - warp * 16;
  const bool column = x + lane < p.n;
  float* row = static_cast<float*>(p.d_data) + z * p.stride_d +
               static_cast<int64_t>(m0 + warp * 16) * p.ld_d + x + lane;
  constexpr int kInFlight = 8;
#pragma unroll
  for (int half = 0; half < 16; half += kInFlight) {
    uint32_t word[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const int r = warp * 16 + half + i;
      word[i] = load_shared(base + r * 128 + (((lane >> 2) ^ (r & 7)) << 4) + (lane & 3) * 4);
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i, row += p.ld_d) {
      if (half + i < rows && column) *row = __uint_as_float(word[i]);
    }
  }
}

// The same for 16-bit elements, kColumns (64 or 128) of them a row: two neighbouring staging
// buffers hold 128. A row may start on any element. Words of 8 bytes on the 8-byte grid are stored
// whole, lane l's from its own four elements and those of lane l - 1; what is left at a row's two
// ends, up to three elements each, is stored for all 16 rows at once.
template <int kColumns>
__device__ __forceinline__ void store_rows_16(const WgmmaParams& p, uint32_t base, int m0, int x,
                                              int z, int warp, int lane) {
  const int rows = min(p.m - m0 - warp * 16, 16);
  const int columns = min(p.n - x, kColumns);
  if (rows <= 0 || columns <= 0) return;
  auto* first = static_cast<uint16_t*>(p.d_data) + z * p.stride_d +
                static_cast<int64_t>(m0 + warp * 16) * p.ld_d + x;
  auto staged = [&](int r, int element) {  // address of an element of the warp's row r
    const int line = warp * 16 + r, chunk = (element & 63) >> 3;
    return base + (element >> 6) * 8192 + line * 128 + ((chunk ^ (line & 7)) << 4) +
           (element & 7) * 2;
  };
  const bool holds = lane * 4 < kColumns;
  constexpr int kInFlight = 8;
#pragma unroll 1  // small problems pay for every line of code that is fetched
  for (int part = 0; part < 16; part += kInFlight) {
    uint2 own[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i)
      own[i] = holds ? load_shared_v2(staged(part + i, lane * 4)) : uint2{};
    uint16_t* row = first + part * p.ld_d;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i, row += p.ld_d) {
      const uint2 before = {__shfl_up_sync(0xffffffffu, own[i].x, 1),
                            __shfl_up_sync(0xffffffffu, own[i].y, 1)};
      const int shift = static_cast<int>(reinterpret_cast<uintptr_t>(row) >> 1) & 3;
      const bool two = (shift & 2) != 0;
      const uint32_t w0 = two ? before.x : before.y, w1 = two ? before.y : own[i].x,
                     w2 = two ? own[i].x : own[i].y;
      const int bits = (shift & 1) != 0 ? 16 : 32;
      const int element = lane * 4 - shift;
      if (part + i < rows && element >= 0 && element + 3 < columns) {
        *reinterpret_cast<uint2*>(row + element) =
            make_uint2(__funnelshift_rc(w0, w1, bits), __funnelshift_rc(w1, w2, bits));
      }
    }
  }
  const int r = lane & 15;
  if (r < rows) {
    uint16_t* row = first + r * p.ld_d;
    const int shift = static_cast<int>(reinterpret_cast<uintptr_t>(row) >> 1) & 3;
    // Left end: what comes before the first word; right end: what comes behind the last.
    const int left = min((4 - shift) & 3, columns);
    const int right = max(((columns + shift) & ~3) - shift, left);
    const int from = lane < 16 ? 0 : right, to = lane < 16 ? left : columns;
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      if (from + i < to) row[from + i] = load_shared_u16(staged(r, from + i));
    }
  }
}

// Scales the accumulators, adds beta * C, and stores the warpgroup's 64 x BN part of D through
// staging.
template <class Tile>
__device__ __forceinline__ void store_tile(const WgmmaParams& p, float (&d)[Tile::BN / 2],
                                           uint32_t staging, int m0, int n0, int z, int group,
                                           int& buffer) {
  constexpr int BN = Tile::BN;
  const int thread = threadIdx.x & 127, warp = thread >> 5, lane = thread & 31;
  const int g = lane >> 2, t = lane & 3;
  float alpha = p.alpha;
  if (p.scale_a != nullptr) alpha *= *p.scale_a;
  if (p.scale_b != nullptr) alpha *= *p.scale_b;
  if (alpha != 1.0f) {
#pragma unroll
    for (int i = 0; i < BN / 2; ++i) d[i] *= alpha;
  }
  if (p.beta != 0.0f) {
#pragma unroll
    for (int i = 0; i < BN / 2; ++i) {
      const int r = warp * 16 + g + ((i >> 1) & 1) * 8;
      const int c = (i >> 2) * 8 + 2 * t + (i & 1);
      const int row = m0 + r, column = n0 + c;
      if (row < p.m && column < p.n) {
        d[i] += p.beta * load_c(p.c, z * p.stride_c + row * p.ld_c + column, p.output);
      }
      if (i % 8 == 7)
        asm volatile("" ::: "memory");  // eight loads in flight, not 128: registers are full
    }
  }
  // Address of 16-byte chunk `chunk` of row r in a staging buffer.
  auto chunk_address = [&](uint32_t base, int r, int chunk) {
    return base + r * 128 + ((chunk ^ (r & 7)) << 4);
  };
  // Where the next 8 KiB of D are staged; waits until they are free.
  auto begin = [&]() -> uint32_t {
    if (p.store == Store::kBulk) {
      if (thread < 32 && elect_lane()) tma_store_wait_read<Tile::kBuffers - 1>();
      named_barrier(1 + group, 128);
    }
    uint32_t base = staging + buffer * Tile::kStagingBytes;
    buffer ^= 1;
    // Addresses are computed here, not kept in registers through the mainloop.
    asm volatile("" : "+r"(base));
    return base;
  };
  auto finish = [&](uint32_t base, int x) {
    fence_async_shared();
    named_barrier(1 + group, 128);
    if (thread < 32 && elect_lane()) {
      tma_store(&p.d, x, m0, z, base);
      tma_store_commit();
    }
  };
  // Without TMA a warp stores the rows that it staged itself.
  if (p.output == Output::kF32) {
#pragma unroll
    for (int h = 0; h < BN / 32; ++h) {
      const uint32_t base = begin();
      if (p.store != Store::kBulk) __syncwarp();
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int r = warp * 16 + g + half * 8;
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int i = 4 * (4 * h + q) + 2 * half;
          store_shared_v2(chunk_address(base, r, 2 * q + (t >> 1)) + (t & 1) * 8,
                          __float_as_uint(d[i]), __float_as_uint(d[i + 1]));
        }
      }
      if (p.store == Store::kBulk) {
        finish(base, n0 + 32 * h);
        continue;
      }
      __syncwarp();
      if (p.store == Store::kVector) {
        store_rows_vector(p, base, m0, n0 + 32 * h, z, warp, lane);
      } else {
        store_rows_f32(p, base, m0, n0 + 32 * h, z, warp, lane);
      }
    }
    return;
  }
  const int matrix = lane >> 3;
  const int r = warp * 16 + (matrix & 1) * 8 + (lane & 7);
  auto stage_64 = [&](uint32_t base, int h) {  // columns 64 h .. 64 h + 63
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      const int i = 4 * (8 * h + 2 * pair);
      store_matrix_x4(chunk_address(base, r, 2 * pair + (matrix >> 1)),
                      pack16(d[i], d[i + 1], p.output), pack16(d[i + 2], d[i + 3], p.output),
                      pack16(d[i + 4], d[i + 5], p.output), pack16(d[i + 6], d[i + 7], p.output));
    }
  };
  if (p.store != Store::kElements) {
#pragma unroll
    for (int h = 0; h < BN / 64; ++h) {
      const uint32_t base = begin();
      if (p.store == Store::kVector) __syncwarp();
      stage_64(base, h);
      if (p.store == Store::kBulk) {
        finish(base, n0 + 64 * h);
      } else {
        __syncwarp();
        store_rows_vector(p, base, m0, n0 + 64 * h, z, warp, lane);
      }
    }
    return;
  }
  static_assert(Tile::kBuffers == 2 && Tile::kStagingBytes == 8192, "store_rows_16 reads both");
#pragma unroll
  for (int h = 0; h < BN / 64; h += 2) {
    __syncwarp();
    stage_64(staging, h);
    if (h + 1 < BN / 64) stage_64(staging + Tile::kStagingBytes, h + 1);
    __syncwarp();
    if (h + 1 < BN / 64) {
      store_rows_16<128>(p, staging, m0, n0 + 64 * h, z, warp, lane);
    } else {
      store_rows_16<64>(p, staging, m0, n0 + 64 * h, z, warp, lane);
    }
  }
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

__device__ __forceinline__ void store_element(const WgmmaParams& p, int64_t at, float v) {
  if (p.output == Output::kF32) {
    static_cast<float*>(p.d_data)[at] = v;
  } else if (p.output == Output::kBf16) {
    static_cast<__nv_bfloat16*>(p.d_data)[at] = __float2bfloat16(v);
  } else {
    static_cast<__half*>(p.d_data)[at] = __float2half(v);
  }
}

// Four neighbouring elements of D: scaled, plus beta * C.
__device__ __forceinline__ void store_four(const WgmmaParams& p, float4 sum, float alpha, int batch,
                                           int row, int column, int columns) {
  float value[4] = {alpha * sum.x, alpha * sum.y, alpha * sum.z, alpha * sum.w};
  const int64_t at = batch * p.stride_d + static_cast<int64_t>(row) * p.ld_d + column;
  if (p.beta != 0.0f) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (column + e < columns) {
        value[e] += p.beta * load_c(p.c, batch * p.stride_c + row * p.ld_c + column + e, p.output);
      }
    }
  }
  const int bytes = p.output == Output::kF32 ? 4 : 2;
  if (column + 4 <= columns &&
      ((reinterpret_cast<uintptr_t>(p.d_data) + at * bytes) & (4 * bytes - 1)) == 0) {
    if (p.output == Output::kF32) {
      *reinterpret_cast<float4*>(static_cast<float*>(p.d_data) + at) =
          make_float4(value[0], value[1], value[2], value[3]);
    } else {
      *reinterpret_cast<uint2*>(static_cast<uint16_t*>(p.d_data) + at) =
          make_uint2(pack16(value[0], value[1], p.output), pack16(value[2], value[3], p.output));
    }
  } else {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (column + e < columns) store_element(p, at + e, value[e]);
    }
  }
}

// The part of D that lies as fp32 in the shared memory of each CTA of a cluster, a partial sum in
// each: this CTA's share of it is summed in rank order (deterministic), scaled and stored.
struct ClusterSum {
  uint32_t base;      // in shared memory, the same in all CTAs
  int pitch;          // of a line, bytes
  int rows;           // lines that exist in D
  int row0, column0;  // in D
  int columns;        // of D
};
// kQuads: groups of four columns in a line. kRanks: CTAs, at most. A thread reads kPieces groups
// together, since what a remote read costs is its latency.
template <int kQuads, int kThreads, int kRanks, int kPieces>
__device__ __forceinline__ void sum_ranks(const WgmmaParams& p, const ClusterSum& s, int ranks,
                                          int rank, float alpha, int batch) {
  const int pieces = s.rows * kQuads, step = ranks * kThreads;
  for (int first = rank * kThreads + static_cast<int>(threadIdx.x); first < pieces;
       first += kPieces * step) {
    float4 part[kPieces][kRanks];
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const int at = min(first + i * step, pieces - 1);
      const uint32_t address = s.base + at / kQuads * s.pitch + at % kQuads * 16;
#pragma unroll
      for (int r = 0; r < kRanks; ++r) {
        if (r < ranks)
          part[i][r] = r == rank ? load_shared_f4(address) : load_remote_v4(address, r);
      }
    }
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const int at = first + i * step;
      if (at >= pieces) break;
      float4 sum = part[i][0];
#pragma unroll
      for (int r = 1; r < kRanks; ++r) {
        if (r >= ranks) continue;
        sum.x += part[i][r].x;
        sum.y += part[i][r].y;
        sum.z += part[i][r].z;
        sum.w += part[i][r].w;
      }
      const int column = s.column0 + at % kQuads * 4;
      if (column < s.columns)
        store_four(p, sum, alpha, batch, s.row0 + at / kQuads, column, s.columns);
    }
  }
}
template <int kQuads, int kThreads>
__device__ __forceinline__ void sum_cluster(const WgmmaParams& p, const ClusterSum& s, int ranks,
                                            int rank, int batch) {
  float alpha = p.alpha;
  if (p.scale_a != nullptr) alpha *= *p.scale_a;
  if (p.scale_b != nullptr) alpha *= *p.scale_b;
  if (ranks <= 2) {
    sum_ranks<kQuads, kThreads, 2, 8>(p, s, ranks, rank, alpha, batch);
  } else if (ranks <= 4) {
    sum_ranks<kQuads, kThreads, 4, 4>(p, s, ranks, rank, alpha, batch);
  } else {
    sum_ranks<kQuads, kThreads, 8, 2>(p, s, ranks, rank, alpha, batch);
  }
}

// Second half, after a cluster barrier.
template <class Tile>
__device__ __forceinline__ void reduce_cluster(const WgmmaParams& p, uint32_t stages) {
  const TileIndex tile = tile_at(p, static_cast<int>(blockIdx.x));
  const int row0 = tile.m_unit * Tile::BM;
  const ClusterSum s{stages, Tile::BN * 4 + 16, min(Tile::BM, p.m - row0),
                     row0,   tile.n * Tile::BN, p.n};
  sum_cluster<Tile::BN / 4, Tile::kConsumers * 128>(
      p, s, p.k_cluster, static_cast<int>(cluster_rank()), tile.z / p.splits);
}

// No read of the accumulators moves above this point (the wait before it does not name them).
template <int kCount> __device__ __forceinline__ void keep_below(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

template <class Tile>
__device__ __forceinline__ void consume(const WgmmaParams& p, uint32_t stages, uint32_t full,
                                        uint32_t empty, uint32_t staging, int group) {
  constexpr int BN = Tile::BN;
  const int thread = threadIdx.x & 127;
  const int rank = p.cluster > 1 ? static_cast<int>(cluster_rank()) : 0;
  const int units = p.units_m * p.tiles_n * p.batches * p.splits;
  const int step = static_cast<int>(gridDim.x) / p.cluster;
  // Descriptor steps, in units of 16 bytes: 32 bytes along a swizzled row, or 16 rows of 128 bytes.
  constexpr uint64_t kStepA = Tile::kAMn ? 128 : 2, kStepB = Tile::kBMn ? 128 : 2;
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
      const uint32_t a_at = stages + stage * Tile::kStageBytes + group * 8192;
      const uint32_t b_at = stages + stage * Tile::kStageBytes + Tile::kABytes;
      const uint64_t a = Tile::kAMn ? mn_major_descriptor(a_at, 8192) : k_major_descriptor(a_at);
      const uint64_t b = Tile::kBMn ? mn_major_descriptor(b_at, 8192) : k_major_descriptor(b_at);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        wgmma<typename Tile::A, typename Tile::B, BN, Tile::kAMn, Tile::kBMn>(
            to, a + k * kStepA, b + k * kStepB, k > 0 ? 1 : accumulate);
      }
      wgmma_commit();
    };
    if constexpr (Tile::kPromote) {
      // Two sets of partial sums where registers hold them: one is added while the tensor cores
      // work on the other. (Across iterations of the loop ptxas would serialise them.)
      constexpr int kSets = BN <= 128 ? 2 : 1;
      float part[kSets][BN / 2];
#pragma unroll
      for (int i = 0; i < BN / 2; ++i) d[i] = 0;
      auto add = [&](float(&done)[BN / 2], int which) {
        keep_below(done);
        release(which);
#pragma unroll
        for (int i = 0; i < BN / 2; ++i) d[i] += done[i];
      };
      int block = 0;
      if constexpr (kSets == 2) {
#pragma unroll 1
        for (; block + 1 < blocks; block += 2) {
          multiply(part[0], 0);
          advance();
          const int first = previous;
          multiply(part[1], 0);
          advance();
          wgmma_wait<1>();
          add(part[0], first);
          wgmma_wait<0>();
          add(part[1], previous);
        }
      }
#pragma unroll 1
      for (; block < blocks; ++block) {
        multiply(part[0], 0);
        advance();
        wgmma_wait<0>();
        add(part[0], previous);
      }
    } else {
      multiply(d, 0);
      advance();
#pragma unroll 1
      for (int block = 1; block < blocks; ++block) {
        multiply(d, 1);
        wgmma_wait<1>();
        release(previous);
        advance();
      }
      wgmma_wait<0>();
      keep_below(d);
      release(previous);
    }
    if (p.k_cluster > 1) {
      keep_partial<Tile>(d, stages, group);
      return;  // one tile a CTA; reduce_cluster goes on
    }
    store_tile<Tile>(p, d, staging + group * Tile::kBuffers * Tile::kStagingBytes,
                     (tile.m_unit * p.cluster + rank) * Tile::BM + group * 64, tile.n * BN, tile.z,
                     group, buffer);
  }
  if (p.store == Store::kBulk && thread < 32 && elect_lane()) tma_store_wait_read<0>();
}

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kResident)
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
    if (p.store == Store::kBulk) prefetch_tensor_map(&p.d);
    for (int s = 0; s < Tile::kStages; ++s) {
      mbarrier_init(full + 8 * s, 2);  // a producer for each operand
      mbarrier_init(empty + 8 * s,
                    Tile::kConsumers * p.cluster);  // every consumer warpgroup of the cluster
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
  // Each branch holds all that its warps do: behind the join the compiler would have to fit the
  // consumers' code into the producer's registers.
  if (group == Tile::kConsumers) {
    if constexpr (Tile::kConsumers > 1) registers_release<40>();
    const int warp = warp_uniform((threadIdx.x & 127) >> 5);
    if (warp == 0) {
      if (elect_lane()) produce<Tile, true>(p, stages, full, empty);
    } else if (warp == 1) {
      if (elect_lane()) produce<Tile, false>(p, stages, full, empty);
    }
    __syncwarp();
    if (p.k_cluster > 1) cluster_sync();
    // No CTA leaves while its peer may still write to it or read from it.
    if (p.cluster > 1 || p.k_cluster > 1) cluster_sync_relaxed();
  } else {
    if constexpr (Tile::kConsumers > 1) registers_acquire<232>();
    consume<Tile>(p, stages, full, empty, staging, group);
    if (p.k_cluster > 1) {
      cluster_sync();
      reduce_cluster<Tile>(p, stages);
    }
    if (p.cluster > 1 || p.k_cluster > 1) cluster_sync_relaxed();
  }
}

}  // namespace tw::gemm
