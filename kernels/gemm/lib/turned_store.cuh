// How a tile of D leaves turned: the product was computed as D^T = B^T A^T.
//
// Problem: an MN-major operand on WGMMA's N side comes in panels of 64 columns, so that the widths
// of ping-pong that fill a wave (96, 112, 160 to 176) do not exist for it; on the M side it may be
// MN-major at no cost. Choice: such a product changes its operands' places, and the fragments,
// whose rows are columns of D, pass through the transposing stmatrix. A buffer holds 64 rows of D
// and the 64 columns of a warpgroup's half of the tile, a swizzled row of 128 bytes. A warp's own
// part of that would be 32 bytes of every row; so the warpgroup meets once a buffer, and each warp
// stores whole rows. The other warpgroup multiplies meanwhile.
//
// Limits: 16-bit D that bulk copies can store; ping-pong. Tested by tilewright-bench gemm --suite
// verify.
#pragma once

#include "common/hopper.cuh"
#include "gemm/lib/wgmma_params.h"
#include "gemm/lib/wgmma_store.cuh"

namespace tw::gemm {

// Scales and stores 64 rows of the kernel's tile, `part.m0` on, as columns of D. Columns of the
// tile, `part.x` on, are rows of D. `group`: the warpgroup of the CTA.
template <class Tile>
__device__ __forceinline__ void store_turned(const WgmmaParams& p, float (&d)[Tile::BN / 2],
                                             uint32_t staging, StorePart part, int group,
                                             int& buffer) {
  constexpr int BN = Tile::BN, kBufferRows = Tile::kStagingBytes / 128;
  constexpr int kBoxRows = Tile::kTurnedRows, kWarps = 4;
  static_assert(Tile::kNative != Output::kF32 && Tile::kBuffers == 2 && BN % kBoxRows == 0);
  const int thread = threadIdx.x & 127, warp = thread >> 5, lane = thread & 31;
  scale(p, d);
#pragma unroll
  for (int first = 0; first < BN; first += kBufferRows) {
    const int rows = BN - first < kBufferRows ? BN - first : kBufferRows;
    uint32_t base = staging + buffer * Tile::kStagingBytes;
    buffer ^= 1;
    // Addresses are computed here, not kept in registers through the mainloop.
    asm volatile("" : "+r"(base));
    // Of four matrices, the first two are eight rows of D, side by side, the others the next eight.
    const int matrix = lane >> 3, row = (matrix >> 1) * 8 + (lane & 7);
    const uint32_t at = base + row * 128 + (((2 * warp + (matrix & 1)) ^ (row & 7)) << 4);
#pragma unroll
    for (int r = 0; r < rows; r += 16) {
      auto word = [&](int i) {
        i += (first + r) / 2;
        return pack16<Tile::kNative>(d[i % (BN / 2)], d[i % (BN / 2) + 1]);
      };
      if (r + 16 <= rows) {
        store_matrix_x4_trans(at + r * 128, word(0), word(2), word(4), word(6));
      } else {
        store_matrix_x2_trans(at + r * 128, word(0), word(2));
      }
    }
    fence_async_shared();
    // Behind the barrier the other buffer is free, too: each warp's copies have read it.
    if (elect_lane()) tma_store_wait_read<0>();
    __syncwarp();
    named_barrier(1 + group, 128);
#pragma unroll
    for (int box = 0; box < rows / kBoxRows; box += kWarps) {
      const int r = (box + warp) * kBoxRows;
      if (r < rows && elect_lane())
        tma_store(&p.d, part.m0, part.x + first + r, part.z, base + r * 128);
    }
    if (elect_lane()) tma_store_commit();
  }
}

}  // namespace tw::gemm
