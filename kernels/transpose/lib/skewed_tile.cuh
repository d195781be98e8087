// The tile for elements of 1 and 2 bytes whose rows start anywhere (odd leading dimensions,
// sub-matrices, odd pointers).
//
// Problem: neither side can be moved in whole words at the tile's own columns, and byte accesses
// are bound by instructions. Choice, input: a lane loads the *aligned* 16-byte vector that holds
// its first byte; the bytes that spill into the next vector come from the next lane (shuffle; the
// eighth lane loads them itself), and a shift in registers, uniform over the row, puts columns in
// place. From there on the vector tile's layout serves. Choice, output: each *output row* is cut at
// its own multiples of kAlign bytes (a sector). Output row c starts `skew` bytes into one, so tile
// t owns bytes [t*kOutBytes - skew, (t+1)*kOutBytes - skew) of it: a parallelogram of input rows,
// for which the tile loads kHalo rows more. Two neighbouring chunks of shared memory are shifted
// into each 16 bytes; every store is aligned, every sector whole, except at the edge. Alternatives
// measured (fraction of the copy, 16-bit 8191 x 16383): 4-byte accesses on both sides 0.47; raw
// rows through shared memory by cp.async, shifted on the way to registers, 0.82 (two barriers
// more).
//
// Tested by tests/unit/transpose/transpose_tile_test.cpp.
#pragma once

#include "vector_tile.cuh"

namespace tilewright::detail {

// The 16 bytes that start `shift` bytes into {low, high}; shift < 16.
TW_DEVICE Vector shift_bytes(const Vector& low, const Vector& high, int shift) {
  uint32_t w[7] = {low.word[0],  low.word[1],  low.word[2], low.word[3],
                   high.word[0], high.word[1], high.word[2]};
  const uint32_t last = high.word[3];
  const bool by8 = shift & 8, by4 = shift & 4;
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = by8 ? (i < 5 ? w[i + 2] : last) : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = by4 ? w[i + 1] : w[i];
  Vector out;
#pragma unroll
  for (int i = 0; i < 4; ++i) out.word[i] = funnel_shift(w[i], w[i + 1], uint32_t(shift & 3) * 8);
  return out;
}

template <int kElement, int kTileRows, int kTileCols, int kThreads, int kAlign = 32,
          Cache kStore = Cache::kDefault>
struct SkewedTile {
  using Layout = VectorTile<kElement, kTileRows, kTileCols, kThreads>;
  using Item = typename Unsigned<kElement>::Type;
  static constexpr int kHalo = kAlign / kElement;  // rows before the tile's own
  static constexpr int kRows = kTileRows - kHalo;  // rows the tile advances by
  static constexpr int kCols = kTileCols, kThreadCount = kThreads, kElementBytes = kElement;
  static constexpr int kPack = Layout::kPack, kPerVector = Layout::kPerVector;
  static constexpr int kSharedBytes = Layout::kSharedBytes;
  static constexpr int kOutChunks =
      Layout::kChunks - kAlign / 16;        // 16-byte pieces of an output row
  static constexpr int kBatch = 4 / kPack;  // units in flight: four vectors
  static_assert(kElement < 4, "wider elements need no registers: RawTile");
  static_assert(kRows * kElement % kAlign == 0, "tiles begin at multiples of kAlign");
  static_assert(Layout::kColumnVectors == 8, "the eighth lane is the last of its row");
  static_assert(Layout::kLoads % kBatch == 0, "whole batches");

  struct Matrix {  // the input as a whole
    const char* base;
    int64_t row_bytes, rows, cols;
  };

  // `first_row` may be negative (the halo of the first tile).
  TW_DEVICE static void load(int thread, char* shared, const Matrix& m, int64_t first_row,
                             int64_t first_col) {
    // Interior tiles: a vector that reaches over the end of its row still lies in the matrix.
    if (first_row >= 1 && first_row + kTileRows < m.rows && first_col + kTileCols <= m.cols)
      load_rows<true>(thread, shared, m, first_row, first_col);
    else
      load_rows<false>(thread, shared, m, first_row, first_col);
  }

  // `tile_row`: index of the tile along rows; out: element (0, 0) of the output; rows, cols of the
  // input matrix.
  TW_DEVICE static void store_tile(int thread, const char* shared, char* out, int64_t row_bytes,
                                   int64_t tile_row, int64_t first_col, int64_t rows,
                                   int64_t cols) {
    if (tile_row >= 1 && (tile_row + 1) * kRows <= rows)  // of every column, whatever its skew
      store_columns<true>(thread, shared, out, row_bytes, tile_row, first_col, rows, cols);
    else
      store_columns<false>(thread, shared, out, row_bytes, tile_row, first_col, rows, cols);
  }

 private:
  template <bool kInside>
  TW_DEVICE static void load_rows(int thread, char* shared, const Matrix& m, int64_t first_row,
                                  int64_t first_col) {
    // A warp's unit: eight vectors of four row groups; the next unit of a thread is kGroupStep
    // groups on.
    constexpr int kGroupStep = kThreads / 8;
    const int vector = thread & 7;
    int group = thread >> 3;
    const char* p =
        m.base + (first_row + group * kPack) * m.row_bytes + first_col * kElement + vector * 16;
    const int64_t step = kGroupStep * kPack * m.row_bytes;
    const char* begin = m.base;
    const char* end = m.base + (m.rows - 1) * m.row_bytes + m.cols * kElement;
    const int64_t tail =
        (m.cols - first_col) * kElement - vector * 16;  // bytes from p to the end of its row
#pragma unroll 1                                        // more units in flight would cost occupancy
    for (int k = 0; k < Layout::kLoads; k += kBatch) {
      Vector own[kBatch][kPack], next[kBatch][kPack];
      int shift[kBatch][kPack];
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const char* at = p + b * step;
#pragma unroll
        for (int i = 0; i < kPack; ++i, at += m.row_bytes) {
          shift[b][i] = int(uint32_t(reinterpret_cast<uintptr_t>(at)) & 15);
          const char* aligned = at - shift[b][i];
          const int64_t row = first_row + (group + b * kGroupStep) * kPack + i;
          own[b][i] = load_aligned<kInside>(aligned, -shift[b][i] < tail, row, m, begin, end);
          bool last = true;  // on the host every thread loads its own
#ifdef __CUDA_ARCH__
          last = vector == 7;
#endif
          if (last && shift[b][i])
            next[b][i] =
                load_aligned<kInside>(aligned + 16, 16 - shift[b][i] < tail, row, m, begin, end);
          else
            next[b][i] = Vector{};
        }
      }
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        Vector x[kPack];
#pragma unroll
        for (int i = 0; i < kPack; ++i) {
#ifdef __CUDA_ARCH__
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            const uint32_t neighbour = __shfl_down_sync(0xffffffffu, own[b][i].word[q], 1);
            next[b][i].word[q] = vector == 7 ? next[b][i].word[q] : neighbour;
          }
#endif
          x[i] = shift_bytes(own[b][i], next[b][i], shift[b][i]);
        }
        Layout::put(shared, vector, group + b * kGroupStep, x);
      }
      p += kBatch * step;
      group += kBatch * kGroupStep;
    }
  }

  // The aligned vector at p, as far as it holds bytes of the row (`wanted`: it holds one).
  template <bool kInside>
  TW_DEVICE static Vector load_aligned(const char* p, bool wanted, int64_t row, const Matrix& m,
                                       const char* begin, const char* end) {
    if constexpr (kInside) {
      return load_vector(p);
    } else {
      Vector v{};
      if (!wanted || row < 0 || row >= m.rows) return v;
      if (p >= begin && p + 16 <= end) return load_vector(p);
#pragma unroll
      for (int e = 0; e < kPerVector; ++e) {
        const char* at = p + e * kElement;
        if (at >= begin && at < end)
          v.word[e * kElement / 4] |= uint32_t(detail::load<Item>(at)) << (e * kElement % 4 * 8);
      }
      return v;
    }
  }

  template <bool kComplete>
  TW_DEVICE static void store_columns(int thread, const char* shared, char* out, int64_t row_bytes,
                                      int64_t tile_row, int64_t first_col, int64_t rows,
                                      int64_t cols) {
    const int64_t first = tile_row * kRows;
    const int columns = int(cols - first_col < kTileCols ? cols - first_col : kTileCols);
    // 16 or 32 lanes serve the chunks of one output row; the last ones (kAlign's share) idle.
    constexpr int kLanes = Layout::kChunks, kColumnStep = kThreads / kLanes;
    static_assert(kThreads % kLanes == 0, "a thread keeps its chunk");
    const int chunk = thread % kLanes;
    if (chunk >= kOutChunks) return;
    int column = thread / kLanes;
    char* to = out + (first_col + column) * row_bytes + first * kElement + chunk * 16;
    const int64_t step = kColumnStep * row_bytes;
#pragma unroll 2
    for (; column < columns; column += kColumnStep, to += step) {
      // first * kElement is a multiple of kAlign: what is left of `to` without the chunk is the
      // row's own skew.
      const int skew =
          int((uint32_t(reinterpret_cast<uintptr_t>(to)) - uint32_t(chunk * 16)) & (kAlign - 1));
      const int from = kAlign - skew + chunk * 16, shift = from & 15;
      const Vector low = load_vector(shared + Layout::shared_offset(column, from & ~15));
      // A whole chunk needs no second one, and past the last row there is none.
      const Vector high =
          load_vector(shared + Layout::shared_offset(column, (from + (shift ? 16 : 0)) & ~15));
      const Vector x = shift_bytes(low, high, shift);
      char* target = to - skew;
      const int64_t r = first + (chunk * 16 - skew) / kElement;
      if (kComplete || (r >= 0 && r + kPerVector <= rows)) {
        store_vector<kStore>(target, x);
      } else {
#pragma unroll
        for (int e = 0; e < kPerVector; ++e)
          if (r + e >= 0 && r + e < rows)
            store<Item>(target + e * kElement,
                        Item(x.word[e * kElement / 4] >> (e * kElement % 4 * 8)));
      }
    }
  }
};

}  // namespace tilewright::detail
