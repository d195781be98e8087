// The tile for small matrices of 1- and 2-byte elements whose rows start on 4 bytes: one word a
// access.
//
// Problem: a grid of a few tiles is bound by the latency of one. The vector tile needs 128 x 128
// bytes for its 16-byte accesses, so that a matrix of 256 x 256 bytes keeps four SMs busy; 32 x 32
// tiles of single bytes keep all of them busy with four times the instructions. Choice: small
// tiles, words on both sides, kPack x kPack elements transposed in registers.
// Limits: two-way bank conflicts; large matrices are better served by VectorTile.
//
// Tested by tests/unit/transpose/transpose_tile_test.cpp.
#pragma once

#include "access.cuh"

namespace tilewright::detail {

template <int kElement, int kTileRows, int kTileCols, int kThreads> struct WordTile {
  using Item = typename Unsigned<kElement>::Type;
  static constexpr int kRows = kTileRows, kCols = kTileCols, kThreadCount = kThreads,
                       kElementBytes = kElement;
  static constexpr int kPack = 4 / kElement;
  static constexpr int kRowWords = kTileCols / kPack, kGroups = kTileRows / kPack;
  static constexpr int kPitch = kGroups + 1;  // words of a tile column
  static constexpr int kUnits = kRowWords * kGroups / kThreads;
  static constexpr int kStores = kTileCols * kGroups / kThreads;
  static constexpr int kSharedBytes = kTileCols * kPitch * 4;
  static_assert(kElement < 4, "wider elements are words: ElementTile");
  static_assert(kRowWords * kGroups % kThreads == 0, "every thread has the same work");

  // `in`: the tile's first element; rows and cols: what is left of the matrix from there.
  TW_DEVICE static void load(int thread, char* shared, const char* in, int64_t row_bytes,
                             int64_t rows, int64_t cols) {
    uint32_t x[kUnits][kPack];
#pragma unroll
    for (int k = 0; k < kUnits; ++k) {
      const int u = thread + k * kThreads, word = u % kRowWords, group = u / kRowWords;
      const char* p = in + group * kPack * row_bytes + word * 4;
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        x[k][i] = 0;
        if (group * kPack + i < rows) {
          if ((word + 1) * kPack <= cols) {
            x[k][i] = detail::load<uint32_t>(p + i * row_bytes);
          } else {
#pragma unroll
            for (int e = 0; e < kPack; ++e)
              if (word * kPack + e < cols)
                x[k][i] |= uint32_t(detail::load<Item>(p + i * row_bytes + e * kElement))
                           << (e * kElement * 8);
          }
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kUnits; ++k) {
      const int u = thread + k * kThreads, word = u % kRowWords, group = u / kRowWords;
      transpose_words<kPack>(x[k]);
#pragma unroll
      for (int j = 0; j < kPack; ++j)
        store<uint32_t>(shared + ((word * kPack + j) * kPitch + group) * 4, x[k][j]);
    }
  }

  // `out`: where the tile's first element goes; rows and cols as in load.
  TW_DEVICE static void store_tile(int thread, const char* shared, char* out, int64_t row_bytes,
                                   int64_t rows, int64_t cols) {
#pragma unroll
    for (int k = 0; k < kStores; ++k) {
      const int u = thread + k * kThreads, group = u % kGroups, column = u / kGroups;
      if (column >= cols || group * kPack >= rows) continue;
      const uint32_t x = detail::load<uint32_t>(shared + (column * kPitch + group) * 4);
      char* to = out + column * row_bytes + group * 4;
      if ((group + 1) * kPack <= rows) {
        store<uint32_t>(to, x);
      } else {
#pragma unroll
        for (int e = 0; e < kPack; ++e)
          if (group * kPack + e < rows)
            store<Item>(to + e * kElement, Item(x >> (e * kElement * 8)));
      }
    }
  }
};

}  // namespace tilewright::detail
