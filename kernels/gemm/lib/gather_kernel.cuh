// Small products, and batches of them, at any address and pitch.
//
// Problem: TMA takes no pitch off the 16-byte grid, a repack is a kernel of its own, and a ring of
// copies only pays over many K blocks. Choice: a CTA computes 64 x 64 of D with kGroups warpgroups,
// each of which takes every kGroups-th K block: its threads load lines of 128 bytes by 16-byte
// loads on the 16-byte grid (two where the line lies off it), shift them in registers, store them
// in the swizzle that WGMMA reads, and load the next block while this one is multiplied. The
// groups' sums are added in order (deterministic). Only chunks that hold a byte of the line are
// read; what lies outside the matrix is zero.
//
// Limits: shared memory takes each byte of an operand three times (load, store, WGMMA), so that
// large products are faster repacked; tf32 and fp8 are K-major only, as in wgmma_kernel.cuh. Tested
// by tilewright-bench gemm --suite verify.
#pragma once

#include "gemm/lib/wgmma_kernel.cuh"

namespace tw::gemm {

template <class TA, class TB, bool kAMn_, bool kBMn_, int kGroups_> struct GatherTile {
  using A = TA;
  using B = TB;
  static constexpr int BM = 64, BN = 64, kGroups = kGroups_;
  static constexpr bool kAMn = kAMn_, kBMn = kBMn_;
  static constexpr int BK = 128 / sizeof(TA);
  static constexpr Output kNative = native_output<TA>();
  static constexpr bool kPromote = sizeof(TA) == 1;  // see WgmmaTile
  static constexpr int kThreads = 128 * kGroups;
  static constexpr int kResident = kGroups > 1 ? 1 : (kPromote ? 3 : 4);  // what registers hold
  static constexpr int kStageBytes = (BM + BN) * 128, kSharedBytes = kGroups * kStageBytes;
  static constexpr int kBuffers = 2, kStagingBytes = 8192;  // of D, where the first stage was
  static_assert(!kPromote || kGroups <= 2, "two sets of accumulators must fit the registers");
};

// The lines of one operand that a thread moves: 16 bytes of lines row, row + 16, row + 32, row + 48
// of each K block. Their addresses differ by multiples of 16 lines, and so they all lie as far off
// the 16-byte grid.
template <class T, bool kMn> struct GatherLines {
  static constexpr int kLines = 4;
  const char* at;          // on the 16-byte grid, at or below the thread's first byte
  int64_t pitch;           // bytes
  int shift;               // bytes from `at` to the thread's first
  int lines_left, length;  // lines from the thread's first to the end; bytes of its chunk's rest
  uint4 low[kLines], high[kLines];

  __device__ __forceinline__ GatherLines(const Source& x, int batch, int first, int block,
                                         int thread) {
    const int row = thread >> 3, chunk = thread & 7;
    constexpr int kBlockLines = 128 / sizeof(T);  // of an MN-major operand: one a k
    const int line = (kMn ? block * kBlockLines : first) + row;
    const int byte = (kMn ? first * static_cast<int>(sizeof(T)) : block * 128) + chunk * 16;
    pitch = x.pitch;
    lines_left = x.lines - line;
    length = x.length - byte;
    at = x.data + batch * x.stride + line * pitch + byte;
    shift = static_cast<int>(reinterpret_cast<uintptr_t>(at) & 15);
    at -= shift;
  }
  // Queues the loads of this K block, and moves on by `blocks`.
  __device__ __forceinline__ void load(int blocks) {
#pragma unroll
    for (int i = 0; i < kLines; ++i) {
      const auto* from = reinterpret_cast<const uint4*>(at + i * 16 * pitch);
      const int valid = i * 16 < lines_left ? length : 0;
      low[i] = valid > 0 ? __ldg(from) : uint4{};
      high[i] = valid > 16 - shift && shift > 0 ? __ldg(from + 1) : uint4{};
    }
    if constexpr (kMn) {
      constexpr int kBlockLines = 128 / sizeof(T);
      at += blocks * kBlockLines * pitch;
      lines_left -= blocks * kBlockLines;
    } else {
      at += blocks * 128;
      length -= blocks * 128;
    }
  }
  // Stores the block loaded last, whose lines end `valid` bytes behind the thread's first byte.
  __device__ __forceinline__ void store(uint32_t base, int valid, int thread) {
    const int row = thread >> 3, chunk = thread & 7;
    const bool two = (shift & 8) != 0, one = (shift & 4) != 0;
    const int bits = (shift & 3) * 8;
    uint32_t inside[4];  // the bits that lie in the line
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const int bytes = min(max(valid - 4 * w, 0), 4);
      inside[w] = bytes == 4 ? ~0u : (1u << (8 * bytes)) - 1;
    }
#pragma unroll
    for (int i = 0; i < kLines; ++i) {
      const uint32_t in[8] = {low[i].x,  low[i].y,  low[i].z,  low[i].w,
                              high[i].x, high[i].y, high[i].z, high[i].w};
      uint32_t half[6], word[5], out[4];
#pragma unroll
      for (int w = 0; w < 6; ++w) half[w] = two ? in[w + 2] : in[w];
#pragma unroll
      for (int w = 0; w < 5; ++w) word[w] = one ? half[w + 1] : half[w];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        out[w] = __funnelshift_r(word[w], word[w + 1], bits) & inside[w];
        if constexpr (std::is_same_v<T, Tf32>) out[w] = round_to_tf32(out[w]);
      }
      const int line = row + 16 * i;
      store_shared_v4(base + line * 128 + ((chunk ^ (line & 7)) << 4), out[0], out[1], out[2],
                      out[3]);
    }
  }
};

template <class Tile, Epilogue kEpilogue>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kResident)
    gather_gemm(const __grid_constant__ WgmmaParams p) {
  constexpr int kSums = Tile::BN / 2;
  extern __shared__ __align__(1024) uint8_t shared[];  // swizzle atoms are 1024 bytes
  const uint32_t stages = shared_address(shared);
  if ((stages & 1023) != 0) __trap();
  wait_for_kernels_ahead();
  let_kernels_behind_start();
  const int group = static_cast<int>(threadIdx.x) / 128, thread = threadIdx.x & 127;
  const TileIndex tile = tile_at(p, static_cast<int>(blockIdx.x));
  const int m0 = tile.m_unit * Tile::BM, n0 = tile.n_unit * Tile::BN;
  const uint32_t a_at = stages + group * Tile::kStageBytes, b_at = a_at + Tile::BM * 128;
  float d[kSums];
#pragma unroll
  for (int i = 0; i < kSums; ++i) d[i] = 0;
  // K may be split over the grid: this CTA's blocks.
  const int batch = tile.z / p.splits;
  const int first = (tile.z - batch * p.splits) * p.k_blocks_per_split + group;
  const int end = min(first - group + p.k_blocks_per_split, p.k_blocks);
  if (first < end) {
    GatherLines<typename Tile::A, Tile::kAMn> a(p.a_source, batch, m0, first, thread);
    GatherLines<typename Tile::B, Tile::kBMn> b(p.b_source, batch, n0, first, thread);
    int a_length = a.length, b_length = b.length;
    a.load(Tile::kGroups);
    b.load(Tile::kGroups);
#pragma unroll 1
    for (int block = first; block < end; block += Tile::kGroups) {
      a.store(a_at, a_length, thread);
      b.store(b_at, b_length, thread);
      fence_async_shared();
      named_barrier(1 + group, 128);
      constexpr uint64_t kStepA = Tile::kAMn ? 128 : 2, kStepB = Tile::kBMn ? 128 : 2;
      const uint64_t a_tile =
          Tile::kAMn ? mn_major_descriptor(a_at, 8192) : k_major_descriptor(a_at);
      const uint64_t b_tile =
          Tile::kBMn ? mn_major_descriptor(b_at, 8192) : k_major_descriptor(b_at);
      auto multiply = [&](float(&to)[kSums], int accumulate) {
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          wgmma<typename Tile::A, typename Tile::B, Tile::BN, Tile::kAMn, Tile::kBMn>(
              to, a_tile + k * kStepA, b_tile + k * kStepB, k > 0 ? 1 : accumulate);
        }
        wgmma_commit();
        if (block + Tile::kGroups < end) {
          a_length = a.length, b_length = b.length;
          a.load(Tile::kGroups);
          b.load(Tile::kGroups);
        }
        wgmma_wait<0>();
        keep_below(to);
        named_barrier(1 + group, 128);  // every warp has read the stage
      };
      if constexpr (Tile::kPromote) {
        float part[kSums];
        multiply(part, 0);
#pragma unroll
        for (int i = 0; i < kSums; ++i) d[i] += part[i];
      } else {
        multiply(d, 1);
      }
    }
  }
  if constexpr (Tile::kGroups > 1) {
    // Four sums a thread and line of 2 KiB.
    const uint32_t own = stages + group * Tile::kStageBytes + thread * 16;
    if (group > 0) {
#pragma unroll
      for (int i = 0; i < kSums; i += 4) {
        store_shared_v4(own + i * 512, __float_as_uint(d[i]), __float_as_uint(d[i + 1]),
                        __float_as_uint(d[i + 2]), __float_as_uint(d[i + 3]));
      }
    }
    __syncthreads();
    if (group > 0) return;
#pragma unroll 1
    for (int other = 1; other < Tile::kGroups; ++other) {
#pragma unroll
      for (int i = 0; i < kSums; i += 4) {
        const float4 v = load_shared_f4(own + other * Tile::kStageBytes + i * 512);
        d[i] += v.x;
        d[i + 1] += v.y;
        d[i + 2] += v.z;
        d[i + 3] += v.w;
      }
    }
  }
  int buffer = 0;
  store_tile<Tile, kEpilogue>(p, d, stages, {m0, n0, tile.z, 0}, buffer);
}

}  // namespace tw::gemm
