// How a tile of D leaves the registers of the WGMMA kernels: scaled, plus beta * C, through
// swizzled staging in shared memory.
//
// Problem: D may have any type, pitch and address, C may be added, and yet what most calls need must
// be short: a kernel that runs for 25 us spent 4 of them on fetching instructions, because the lines
// that it executed lay between lines for cases that it did not have (Nsight Compute on an H200,
// 2048 cubed: 2.8 warps an issue stalled for want of an instruction, cuBLASLt's kernel 0.5).
// Choice: `Epilogue` says at compile time how D leaves; beta, other output types and split K have
// kernels of their own.
// Tested by tilewright-bench gemm --suite verify (padding untouched).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/hopper.cuh"
#include "gemm/lib/wgmma_params.h"

namespace tw::gemm {

using namespace tw::gpu;

template <Output kOutput> __device__ __forceinline__ uint32_t pack16(float low, float high) {
  static_assert(kOutput != Output::kF32, "two elements a word");
  if constexpr (kOutput == Output::kBf16) {
    const __nv_bfloat162 v = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const uint32_t&>(v);
  } else {
    const __half2 v = __floats2half2_rn(low, high);
    return reinterpret_cast<const uint32_t&>(v);
  }
}

__device__ __forceinline__ float load_c(const void* c, int64_t index, Output output) {
  if (output == Output::kF32) return static_cast<const float*>(c)[index];
  if (output == Output::kBf16) return __bfloat162float(static_cast<const __nv_bfloat16*>(c)[index]);
  return __half2float(static_cast<const __half*>(c)[index]);
}

// The part of D that a warp writes: from row m0 (of the warpgroup) and column x on, up to `end`
// columns of D.
struct StorePart {
  int m0, x, z, end;
};

// Staging beside the columns of a narrow tile is never written, nor are words that come from there
// stored: lanes that would read it read the last place that is. `staged`, `full`: constants.
__device__ __forceinline__ int staged_place(int place, int staged, int full) {
  return staged < full ? min(place, staged - 1) : place;
}

// Stores the 16 rows of a staging buffer that this warp has written without TMA: 16 bytes a lane,
// four rows at once. D's width, pitch and address are multiples of 16 bytes.
template <Output kOutput>
__device__ __forceinline__ void store_rows_vector(const WgmmaParams& p, uint32_t base, StorePart at,
                                                  int staged, int warp, int lane) {
  constexpr int bytes = kOutput == Output::kF32 ? 4 : 2;
  const int first = warp * 16 + (lane >> 3), chunk = lane & 7;
  const int column = at.x + chunk * (16 / bytes);
  char* to = static_cast<char*>(p.d_data) +
             (at.z * p.stride_d + static_cast<int64_t>(at.m0 + first) * p.ld_d + column) * bytes;
  const int from = staged_place(chunk, staged * bytes / 16, 8);
  uint4 value[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int r = first + 4 * i;
    value[i] = load_shared_v4(base + r * 128 + ((from ^ (r & 7)) << 4));
  }
#pragma unroll
  for (int i = 0; i < 4; ++i, to += 4 * p.ld_d * bytes) {
    if (at.m0 + first + 4 * i < p.m && column < at.end) *reinterpret_cast<uint4*>(to) = value[i];
  }
}

// The same for fp32 at any address and pitch.
__device__ __forceinline__ void store_rows_f32(const WgmmaParams& p, uint32_t base, StorePart at,
                                               int staged, int warp, int lane) {
  const int rows = p.m - at.m0 - warp * 16;
  const bool column = at.x + lane < at.end;
  float* row = static_cast<float*>(p.d_data) + at.z * p.stride_d +
               static_cast<int64_t>(at.m0 + warp * 16) * p.ld_d + at.x + lane;
  const int from = staged_place(lane, staged, 32);
  constexpr int kInFlight = 8;
#pragma unroll
  for (int half = 0; half < 16; half += kInFlight) {
    uint32_t word[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const int r = warp * 16 + half + i;
      word[i] = load_shared(base + r * 128 + (((from >> 2) ^ (r & 7)) << 4) + (from & 3) * 4);
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i, row += p.ld_d) {
      if (half + i < rows && column) *row = __uint_as_float(word[i]);
    }
  }
}

// The same for 16-bit elements, up to 64 columns a row. A row may start on any element. Words of 8
// bytes on the 8-byte grid are stored whole, lane l's from its own four elements and those of lane
// l - 1; what is left at a row's two ends, up to three elements each, is stored for all 16 rows at
// once.
template <int kStaged>
__device__ __forceinline__ void store_short_rows_16(const WgmmaParams& p, uint32_t base,
                                                    StorePart at, int warp, int lane) {
  constexpr int kColumns = 64;
  const int rows = min(p.m - at.m0 - warp * 16, 16);
  const int columns = min(at.end - at.x, kColumns);
  if (rows <= 0 || columns <= 0) return;
  auto* first = static_cast<uint16_t*>(p.d_data) + at.z * p.stride_d +
                static_cast<int64_t>(at.m0 + warp * 16) * p.ld_d + at.x;
  auto staged = [&](int r, int element) {  // address of an element of the warp's row r
    const int line = warp * 16 + r;
    return base + line * 128 + (((element >> 3) ^ (line & 7)) << 4) + (element & 7) * 2;
  };
  const bool holds = lane * 4 < kStaged;
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

// The same for up to 256 columns, 8 rows at a time: 512 bytes of staging a row, words of 16 bytes
// on the 16-byte grid, each lane's from its own eight elements and its neighbour's, and the ends,
// up to seven elements each, in pieces of 2, 4 and 8 bytes. (Of 64 columns eight lanes would store:
// 65 to 500 cubed took 0.6 us longer so.)
template <int kStaged>
__device__ __forceinline__ void store_rows_16(const WgmmaParams& p, uint32_t base, StorePart at,
                                              int lane) {
  constexpr int kRows = 8, kInFlight = 4;
  const int rows = min(p.m - at.m0, kRows), columns = at.end - at.x;
  if (rows <= 0 || columns <= 0) return;
  auto* first = static_cast<uint16_t*>(p.d_data) + at.z * p.stride_d +
                static_cast<int64_t>(at.m0) * p.ld_d + at.x;
  // Elements by which a row's start lies past a multiple of 16 bytes.
  auto shift_of = [](const uint16_t* row) {
    return static_cast<int>(reinterpret_cast<uintptr_t>(row) >> 1) & 7;
  };
  const int chunk = staged_place(lane, kStaged / 8, 32);
#pragma unroll 1  // small problems pay for every line of code that is fetched
  for (int part = 0; part < kRows; part += kInFlight) {
    uint4 loaded[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i)
      loaded[i] = load_shared_v4(base + (part + i) * 512 + ((chunk ^ (part + i)) << 4));
    uint16_t* row = first + part * p.ld_d;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i, row += p.ld_d) {
      const uint4 own = loaded[i];
      const int shift = shift_of(row), bytes = 16 - 2 * shift;
      const uint32_t word[8] = {__shfl_up_sync(0xffffffffu, own.x, 1),
                                __shfl_up_sync(0xffffffffu, own.y, 1),
                                __shfl_up_sync(0xffffffffu, own.z, 1),
                                __shfl_up_sync(0xffffffffu, own.w, 1),
                                own.x,
                                own.y,
                                own.z,
                                own.w};
      uint32_t by_two[6], by_one[5], out[4];
#pragma unroll
      for (int w = 0; w < 6; ++w) by_two[w] = (bytes & 8) != 0 ? word[w + 2] : word[w];
#pragma unroll
      for (int w = 0; w < 5; ++w) by_one[w] = (bytes & 4) != 0 ? by_two[w + 1] : by_two[w];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const uint32_t shifted = __funnelshift_r(by_one[w], by_one[w + 1], (bytes & 2) * 8);
        out[w] = shift == 0 ? word[w + 4] : shifted;
      }
      const int element = lane * 8 - shift;
      if (part + i < rows && element >= 0 && element + 7 < columns)
        *reinterpret_cast<uint4*>(row + element) = make_uint4(out[0], out[1], out[2], out[3]);
    }
  }
  const int r = lane & 7;
  if (lane >= 2 * kRows || r >= rows) return;
  uint16_t* row = first + r * p.ld_d;
  auto staged = [&](int element) {
    return static_cast<uint32_t>(
        load_shared_u16(base + r * 512 + (((element >> 3) ^ r) << 4) + (element & 7) * 2));
  };
  // Left end: what comes before the first word; right end: what comes behind the last.
  const int shift = shift_of(row), to_grid = (8 - shift) & 7;
  if (columns < to_grid) {
    if (lane < kRows) {
      for (int i = 0; i < columns; ++i) row[i] = static_cast<uint16_t>(staged(i));
    }
    return;
  }
  const bool left = lane < kRows;
  const int from = left ? 0 : ((columns + shift) & ~7) - shift;
  const int count = left ? to_grid : columns - from;
  const int at_two = from + (left ? 0 : count & 6), at_four = from + (left ? count & 1 : count & 4),
            at_eight = from + (left ? count & 3 : 0);
  if ((count & 1) != 0) row[at_two] = static_cast<uint16_t>(staged(at_two));
  if ((count & 2) != 0) {
    *reinterpret_cast<uint32_t*>(row + at_four) = staged(at_four) | staged(at_four + 1) << 16;
  }
  if ((count & 4) != 0) {
    *reinterpret_cast<uint2*>(row + at_eight) =
        make_uint2(staged(at_eight) | staged(at_eight + 1) << 16,
                   staged(at_eight + 2) | staged(at_eight + 3) << 16);
  }
}

// Stages and stores a warpgroup's 64 x BN part of D: fragments to swizzled rows of 128 bytes, then
// each warp its own 16 rows, by a bulk tensor store or by itself: no warp waits for another.
template <Output kOutput, int BN, int kBuffers, int kStagingBytes>
__device__ __forceinline__ void store_part(const WgmmaParams& p, Store store,
                                           const float (&d)[BN / 2], uint32_t staging,
                                           StorePart part, int& buffer) {
  const int thread = threadIdx.x & 127, warp = thread >> 5, lane = thread & 31;
  constexpr int kColumns = kOutput == Output::kF32 ? 32 : 64;  // 128 bytes
  // Address of 16-byte chunk `chunk` of row r in a staging buffer.
  auto chunk_address = [&](uint32_t base, int r, int chunk) {
    return base + r * 128 + ((chunk ^ (r & 7)) << 4);
  };
  auto stage = [&](uint32_t base, int first, int columns) {  // columns first.. of the part
    if constexpr (kOutput == Output::kF32) {
      const int g = lane >> 2, t = lane & 3;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int r = warp * 16 + g + half * 8;
#pragma unroll
        for (int q = 0; q < columns / 8; ++q) {
          const int i = 4 * (first / 8 + q) + 2 * half;
          store_shared_v2(chunk_address(base, r, 2 * q + (t >> 1)) + (t & 1) * 8,
                          __float_as_uint(d[i]), __float_as_uint(d[i + 1]));
        }
      }
    } else {
      const int matrix = lane >> 3, r = warp * 16 + (matrix & 1) * 8 + (lane & 7);
#pragma unroll
      for (int pair = 0; pair < columns / 16; ++pair) {
        const int i = 4 * (first / 8 + 2 * pair);
        store_matrix_x4(chunk_address(base, r, 2 * pair + (matrix >> 1)),
                        pack16<kOutput>(d[i], d[i + 1]), pack16<kOutput>(d[i + 2], d[i + 3]),
                        pack16<kOutput>(d[i + 4], d[i + 5]), pack16<kOutput>(d[i + 6], d[i + 7]));
      }
      if (columns % 16 != 0) {  // eight are left
        const int g = lane >> 2, t = lane & 3, i = 4 * ((first + columns) / 8 - 1);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          store_shared(chunk_address(base, warp * 16 + g + half * 8, columns / 8 - 1) + t * 4,
                       pack16<kOutput>(d[i + 2 * half], d[i + 2 * half + 1]));
        }
      }
    }
  };
  const int x0 = part.x;
  part.end = min(p.n, x0 + BN);
  if constexpr (kOutput != Output::kF32) {
    if constexpr (BN <= kColumns) {
      if (store == Store::kElements) {
        __syncwarp();
        stage(staging, 0, BN);
        __syncwarp();
        store_short_rows_16<BN>(p, staging, part, warp, lane);
        return;
      }
    } else if (store == Store::kElements) {
      static_assert(BN <= 256 && kBuffers * kStagingBytes == 4 * 8 * 512,
                    "a warp has 8 rows of 512");
      const uint32_t rows = staging + warp * 4096;
      const int matrix = lane >> 3, r = lane & 7;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        __syncwarp();
#pragma unroll
        for (int q = 0; q < BN; q += 32) {
          auto word = [&](int j) {
            const int i = (q + 8 * j) / 2 + 2 * half;
            return q + 8 * j < BN ? pack16<kOutput>(d[i % (BN / 2)], d[(i + 1) % (BN / 2)]) : 0u;
          };
          store_matrix_x4(rows + r * 512 + (((q / 8 + matrix) ^ r) << 4), word(0), word(1), word(2),
                          word(3));
        }
        __syncwarp();
        StorePart eight = part;
        eight.m0 += warp * 16 + half * 8;
        store_rows_16<(BN + 31) / 32 * 32>(p, rows, eight, lane);
      }
      return;
    }
  }
#pragma unroll
  for (int h = 0; h < BN; h += kColumns) {
    const int columns = BN - h < kColumns ? BN - h : kColumns;
    part.x = x0 + h;
    // A bulk copy's box is 128 bytes wide: a narrower rest is stored 16 bytes a lane.
    const bool bulk = store == Store::kBulk && columns == kColumns;
    // The warp's rows of the buffer must be free: of its own bulk copies, or of its own reads.
    if (store == Store::kBulk && elect_lane()) tma_store_wait_read<kBuffers - 1>();
    __syncwarp();
    uint32_t base = staging + buffer * kStagingBytes;
    buffer ^= 1;
    // Addresses are computed here, not kept in registers through the mainloop.
    asm volatile("" : "+r"(base));
    stage(base, h, columns);
    if (bulk) fence_async_shared();
    __syncwarp();
    if (bulk) {
      if (elect_lane()) {
        tma_store(&p.d, part.x, part.m0 + warp * 16, part.z, base + warp * 2048);
        tma_store_commit();
      }
      continue;
    }
    // An empty group: the waits above count groups, one a buffer.
    if (store == Store::kBulk && elect_lane()) tma_store_commit();
    if (kOutput != Output::kF32 || store != Store::kElements) {
      store_rows_vector<kOutput>(p, base, part, columns, warp, lane);
    } else {
      store_rows_f32(p, base, part, columns, warp, lane);
    }
  }
}

__device__ __forceinline__ float scaled_alpha(const WgmmaParams& p) {
  float alpha = p.alpha;
  if (p.scale_a != nullptr) alpha *= *p.scale_a;
  if (p.scale_b != nullptr) alpha *= *p.scale_b;
  return alpha;
}

template <int kCount>
__device__ __forceinline__ void scale(const WgmmaParams& p, float (&d)[kCount]) {
  const float alpha = scaled_alpha(p);
  if (alpha != 1.0f) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) d[i] *= alpha;
  }
}

// Scales the accumulators, adds beta * C if kReadsC, and stores the warpgroup's 64 x BN part of D.
template <class Tile, Epilogue kEpilogue>
__device__ __forceinline__ void store_tile(const WgmmaParams& p, float (&d)[Tile::BN / 2],
                                           uint32_t staging, StorePart part, int& buffer) {
  constexpr int BN = Tile::BN, kBuffers = Tile::kBuffers, kBytes = Tile::kStagingBytes;
  scale(p, d);
  if constexpr (kStoresAs<kEpilogue> != Epilogue::kGeneral) {
    constexpr Store kStore = kStoresAs<kEpilogue> == Epilogue::kBulk     ? Store::kBulk
                             : kStoresAs<kEpilogue> == Epilogue::kVector ? Store::kVector
                                                                         : Store::kElements;
    store_part<Tile::kNative, BN, kBuffers, kBytes>(p, kStore, d, staging, part, buffer);
    return;
  }
  if (p.beta != 0.0f) {
    const int thread = threadIdx.x & 127, warp = thread >> 5, lane = thread & 31;
    const int g = lane >> 2, t = lane & 3;
#pragma unroll
    for (int i = 0; i < BN / 2; ++i) {
      const int row = part.m0 + warp * 16 + g + ((i >> 1) & 1) * 8;
      const int column = part.x + (i >> 2) * 8 + 2 * t + (i & 1);
      if (row < p.m && column < p.n) {
        d[i] += p.beta * load_c(p.c, part.z * p.stride_c + row * p.ld_c + column, p.output);
      }
      if (i % 8 == 7)
        asm volatile("" ::: "memory");  // eight loads in flight, not 128: registers are full
    }
  }
  if (p.output == Output::kF32) {
    store_part<Output::kF32, BN, kBuffers, kBytes>(p, p.store, d, staging, part, buffer);
  } else if (p.output == Output::kBf16) {
    store_part<Output::kBf16, BN, kBuffers, kBytes>(p, p.store, d, staging, part, buffer);
  } else {
    store_part<Output::kF16, BN, kBuffers, kBytes>(p, p.store, d, staging, part, buffer);
  }
}

}  // namespace tw::gemm
