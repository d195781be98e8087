// The tile for elements of 1 and 2 bytes whose rows start anywhere (odd leading dimensions,
// sub-matrices, odd pointers).
//
// Problem: neither side can be moved in whole words at the tile's own columns, and byte accesses
// are bound by instructions. Every shift is therefore split: whole words are shifted by an address,
// for nothing, and only the rest (0 to 3 bytes) by one funnel shift a word.
//   load     the aligned 16-byte vectors that cover a tile row go to shared memory as they are: no
//            shifts.
//   gather   a thread reads kPack rows of 16 bytes, five words each from where the row's own
//            alignment puts them, shifts them, and transposes words in registers.
//   scatter  the words of a column go to shared memory at the column's own alignment, in words.
//   store    each *output row* is cut at its own multiples of kAlign bytes (a sector). Output row c
//            starts `skew` bytes into one, so tile t owns bytes [t*kOutBytes - skew,
//            (t+1)*kOutBytes - skew) of it: a parallelogram of input rows, for which the tile loads
//            kHalo rows more. Every store is aligned, every sector whole, except at the edge.
// gather to scatter goes through registers (Held), so that both layouts share one buffer.
// Banks: lanes are eight vectors times four row groups. Vectors lie 4 banks apart; row groups 0 to
// 3 banks on odd pitches (gather), always (scatter).
// Alternatives measured (fraction of the copy, 1-byte 8191 x 8191; this one 0.82 in the same run):
// vectors shifted in registers with shuffles 0.76; input past the first-level cache (cp.async.cg)
// 0.71; a CTA that goes down the rows and carries the halo 0.72, since CTAs that run together then
// write far from one another.
//
// Tested by tests/unit/transpose/transpose_tile_test.cpp.
#pragma once

#include "raw_tile.cuh"

namespace tilewright::detail {

// The multiple of kBytes at or below p.
template <int kBytes, class T> TW_DEVICE T* down_to(T* p) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(p) & ~uintptr_t(kBytes - 1));
}

// Bytes [4 - shift/8, 8 - shift/8) of {low, high}; shift modulo 32 is 0, 8, 16 or 24.
TW_DEVICE uint32_t funnel_shift_left(uint32_t low, uint32_t high, uint32_t shift) {
#ifdef __CUDA_ARCH__
  return __funnelshift_l(low, high, shift);
#else
  return uint32_t((uint64_t(high) << 32 | low) << (shift & 31) >> 32);
#endif
}

template <int kElement, int kTileRows, int kTileCols, int kThreads, int kAlign = 32,
          int kPrefetch = 0, Copy kCopy = Copy::kRegisters, int kBatch = 4>
struct FunnelTile {
  using Item = typename Unsigned<kElement>::Type;
  static constexpr int kPack = 4 / kElement, kPerVector = 16 / kElement;
  static constexpr int kHalo = kAlign / kElement;  // rows before the tile's own
  static constexpr int kRows = kTileRows - kHalo;  // rows the tile advances by
  static constexpr int kCols = kTileCols, kThreadCount = kThreads, kElementBytes = kElement;
  static constexpr int kVectors = kTileCols / kPerVector, kGroups = kTileRows / kPack;
  static constexpr int kUnits = kVectors * kGroups / kThreads;  // of kPack rows of a vector
  static constexpr int kWords = 4 * kPack;                      // of a unit
  static constexpr int kOutChunks = kRows * kElement / 16;
  // Shared memory, first as rows of vectors, then as columns: kTileRows elements, room for a shift
  // of three words, and 16 bytes more every vector.
  static constexpr int kRowBytes = kVectors * 16 + 16;
  static constexpr int kColumnBytes = kTileRows * kElement + 16;
  static constexpr int kRawBytes = kTileRows * kRowBytes;
  static constexpr int kColumnsBytes = kTileCols * kColumnBytes + kVectors * 16;
  static constexpr int kSharedBytes = kRawBytes > kColumnsBytes ? kRawBytes : kColumnsBytes;
  // Then, where there are any, the elements of load_few.
  static constexpr int kFewColumns = 8;
  static constexpr int kFewBytes = kFewColumns * kRows * kElement;
  static_assert(kElement < 4, "wider elements need no registers: RawTile");
  static_assert(kRows * kElement % kAlign == 0, "tiles begin at multiples of kAlign");
  static_assert(kVectors % 8 == 0 && kGroups % 4 == 0, "a warp is eight vectors, four row groups");
  static_assert(kVectors * kGroups % kThreads == 0 && kThreads % (kVectors * 4) == 0,
                "a thread keeps its vector");
  static_assert(kColumnBytes % 32 == 16, "vectors lie on different banks");

  struct Matrix {  // the input as a whole
    const char* base;
    int64_t row_bytes, rows, cols;
  };
  struct Held {
    uint32_t word[kUnits][kWords];
  };

  // `first_row` may be negative (the halo of the first tile). Asynchronous copies are not waited for.
  TW_DEVICE static void load(int thread, char* shared, const Matrix& m, int64_t first_row,
                             int64_t first_col) {
    // Interior rows: a vector that reaches over the end of its row still lies in the matrix.
    if (first_row >= 1 && first_row + kTileRows < m.rows)
      if (kCopy != Copy::kRegisters && first_col + kTileCols <= m.cols)
        load_whole(thread, shared, m, first_row, first_col);
      else
        load_rows<true>(thread, shared, m, first_row, first_col);
    else
      load_rows<false>(thread, shared, m, first_row, first_col);
  }

  TW_DEVICE static void gather(int thread, const char* shared, Held& held, const Matrix& m,
                               int64_t first_row, int64_t first_col) {
    const int vector = vector_of(thread);
    const uint32_t pitch = uint32_t(m.row_bytes);
    const uint32_t start = uint32_t(reinterpret_cast<uintptr_t>(m.base)) +
                           uint32_t(first_row) * pitch + uint32_t(first_col) * kElement;
#pragma unroll
    for (int k = 0; k < kUnits; ++k) {
      const int row = group_of(thread, k) * kPack;
      const uint32_t at = start + uint32_t(row) * pitch;
      uint32_t x[kPack][4];
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        const uint32_t phase = at + uint32_t(i) * pitch;
        const char* from = shared + (row + i) * kRowBytes + vector * 16 + (phase & 12);
        uint32_t w[5];
#pragma unroll
        for (int q = 0; q < 5; ++q) w[q] = detail::load<uint32_t>(from + q * 4);
#pragma unroll
        for (int q = 0; q < 4; ++q) x[i][q] = funnel_shift(w[q], w[q + 1], phase << 3);
      }
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        uint32_t t[kPack];
#pragma unroll
        for (int i = 0; i < kPack; ++i) t[i] = x[i][q];
        transpose_words<kPack>(t);
#pragma unroll
        for (int j = 0; j < kPack; ++j) held.word[k][q * kPack + j] = t[j];
      }
    }
  }

  // `out`: element (0, 0) of the output.
  TW_DEVICE static void scatter(int thread, char* shared, const Held& held, const char* out,
                                int64_t out_row_bytes, int64_t first_col) {
    const int vector = vector_of(thread);
    // The columns of one j start at the same alignment modulo 16, whatever their vector.
    const uint32_t pitch = uint32_t(out_row_bytes);
    uint32_t start = uint32_t(reinterpret_cast<uintptr_t>(out)) + uint32_t(first_col) * pitch;
#pragma unroll
    for (int j = 0; j < kPerVector; ++j, start += pitch) {
      char* to = shared + column_offset(vector * kPerVector + j) + (start & 12);
#pragma unroll
      for (int k = 0; k < kUnits; ++k)
        store<uint32_t>(to + group_of(thread, k) * 4, held.word[k][j]);
    }
  }

  // Instead of all phases, for a tile of at most kFewColumns columns, in which most lanes would have
  // none: elements one by one, cut like the rest.
  TW_DEVICE static void move_few(int thread, const Matrix& m, char* out, int64_t row_bytes,
                                 int64_t tile_row, int64_t first_col) {
    for (int64_t c = first_col; c < m.cols; ++c) {
      char* const to = out + c * row_bytes;
      const int skew = int(uint32_t(reinterpret_cast<uintptr_t>(to)) & (kAlign - 1)) / kElement;
      const int64_t first = tile_row * kRows - skew;
      for (int t = thread; t < kRows; t += kThreads)
        if (first + t >= 0 && first + t < m.rows)
          store<Item>(to + (first + t) * kElement,
                      detail::load<Item>(m.base + (first + t) * m.row_bytes + c * kElement));
    }
  }

  // The same beside a tile's own phases: the columns from first_col on, whose sectors are, but for
  // some, the tile's, along with it. load_few() before the copies are waited for, store_few() at any
  // time after it: a thread stores what it has loaded.
  TW_DEVICE static void load_few(int thread, char* shared, const Matrix& m, const char* out,
                                 int64_t row_bytes, int64_t tile_row, int64_t first_col) {
    const int all = int(m.cols - first_col) * kRows;
    for (int u = thread; u < all; u += kThreads) {
      const Place at = few_at(u, out, row_bytes, tile_row, first_col);
      if (at.row >= 0 && at.row < m.rows)
        store<Item>(shared + kSharedBytes + u * kElement,
                    detail::load<Item>(m.base + at.row * m.row_bytes + at.col * kElement));
    }
  }
  TW_DEVICE static void store_few(int thread, const char* shared, const Matrix& m, char* out,
                                  int64_t row_bytes, int64_t tile_row, int64_t first_col) {
    const int all = int(m.cols - first_col) * kRows;
    for (int u = thread; u < all; u += kThreads) {
      const Place at = few_at(u, out, row_bytes, tile_row, first_col);
      if (at.row >= 0 && at.row < m.rows)
        store<Item>(out + at.col * row_bytes + at.row * kElement,
                    detail::load<Item>(shared + kSharedBytes + u * kElement));
    }
  }

  // `tile_row`: index of the tile along rows; rows, cols of the input matrix.
  TW_DEVICE static void store_tile(int thread, const char* shared, char* out, int64_t row_bytes,
                                   int64_t tile_row, int64_t first_col, int64_t rows,
                                   int64_t cols) {
    if (tile_row >= 1 && (tile_row + 1) * kRows <= rows)  // of every column, whatever its skew
      if (first_col + kTileCols <= cols)
        store_whole(thread, shared, out, row_bytes, tile_row, first_col);
      else
        store_columns<true>(thread, shared, out, row_bytes, tile_row, first_col, rows, cols);
    else
      store_columns<false>(thread, shared, out, row_bytes, tile_row, first_col, rows, cols);
  }

 private:
  struct Place {
    int64_t row, col;
  };
  // Element u of the few columns' part in the tile; its row may lie outside the matrix.
  TW_DEVICE static Place few_at(int u, const char* out, int64_t row_bytes, int64_t tile_row,
                                int64_t first_col) {
    const int column = u / kRows;
    const int64_t col = first_col + column;
    const char* const to = out + col * row_bytes;
    const int skew = int(uint32_t(reinterpret_cast<uintptr_t>(to)) & (kAlign - 1)) / kElement;
    return {tile_row * kRows - skew + (u - column * kRows), col};
  }
  // A warp covers eight vectors of four row groups; a thread keeps its vector.
  TW_DEVICE static int vector_of(int thread) {
    return (thread & 7) + 8 * ((thread >> 5) % (kVectors / 8));
  }
  TW_DEVICE static int group_of(int thread, int k) {
    return (thread >> 3 & 3) + 4 * ((thread >> 5) / (kVectors / 8)) + k * (kThreads / kVectors);
  }
  TW_DEVICE static int column_offset(int column) {
    return column * kColumnBytes + column / kPerVector * 16;
  }

  // A tile that lies in the matrix, asynchronously: a thread keeps its vector and goes down the rows,
  // an addition and a mask each. Of a row that starts on 16 bytes, a vector more is read than needed.
  TW_DEVICE static void load_whole(int thread, char* shared, const Matrix& m, int64_t first_row,
                                   int64_t first_col) {
    constexpr int kRowVectors = kVectors + 1, kStep = kThreads / kRowVectors,
                  kTurns = (kTileRows + kStep - 1) / kStep;
    const int row = thread / kRowVectors, vector = thread - row * kRowVectors;
    if (row >= kStep) return;
    const char* p = m.base + (first_row + row) * m.row_bytes + first_col * kElement + vector * 16;
    char* const to = shared + row * kRowBytes + vector * 16;
    const int64_t step = kStep * m.row_bytes;
#pragma unroll
    for (int t = 0; t < kTurns; ++t, p += step) {
      if (kTileRows % kStep != 0 && t + 1 == kTurns && row + t * kStep >= kTileRows) break;
      const char* from = down_to<16>(p);
      copy_async<kCopy, kPrefetch>(to + t * kStep * kRowBytes, from);
    }
  }

  // One vector a thread and turn, kRowVectors to a row: what neighbouring lanes want of one sector
  // is asked for once.
  template <bool kInside>
  TW_DEVICE static void load_rows(int thread, char* shared, const Matrix& m, int64_t first_row,
                                  int64_t first_col) {
    constexpr int kRowVectors = kVectors + 1, kAll = kTileRows * kRowVectors;
    const char* base = m.base + first_row * m.row_bytes + first_col * kElement;
    const char* begin = m.base;
    const char* end = m.base + (m.rows - 1) * m.row_bytes + m.cols * kElement;
    const int64_t row_tail = (m.cols - first_col) * kElement;
    const int tail = int(row_tail < kTileCols * kElement ? row_tail : kTileCols * kElement);
#pragma unroll 1
    for (int u0 = thread; u0 < kAll; u0 += kBatch * kThreads) {
      Vector held[kBatch]{};
      bool whole[kBatch];
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const int u = u0 + b * kThreads, row = u / kRowVectors, vector = u - row * kRowVectors;
        const char* p = base + row * m.row_bytes;
        const int offset = vector * 16 - int(uint32_t(reinterpret_cast<uintptr_t>(p)) & 15);
        const char* from = p + offset;
        whole[b] = u < kAll && offset < tail;
        if (!kInside && whole[b]) {
          const bool exists = first_row + row >= 0 && first_row + row < m.rows;
          whole[b] = exists && from >= begin && from + 16 <= end;
          if (exists && !whole[b]) {
            store_vector(shared + u * 16, Vector{});
#pragma unroll
            for (int e = 0; e < kPerVector; ++e)
              if (from + e * kElement >= begin && from + e * kElement < end)
                store<Item>(shared + u * 16 + e * kElement,
                            detail::load<Item>(from + e * kElement));
            continue;
          }
        }
        // What gather reads without need is zero, so that nothing unwritten is read.
        if (u < kAll && !whole[b]) store_vector(shared + u * 16, Vector{});
        if (!whole[b]) continue;
        if constexpr (kCopy == Copy::kRegisters)
          held[b] = load_vector(from);
        else
          copy_async<kCopy, kPrefetch>(shared + u * 16, from);
      }
      if constexpr (kCopy == Copy::kRegisters) {
#pragma unroll
        for (int b = 0; b < kBatch; ++b)
          if (whole[b]) store_vector(shared + (u0 + b * kThreads) * 16, held[b]);
      }
    }
  }

  // A tile that lies in the matrix: the columns a thread serves are a constant apart.
  TW_DEVICE static void store_whole(int thread, const char* shared, char* out, int64_t row_bytes,
                                    int64_t tile_row, int64_t first_col) {
    constexpr int kLanes = kTileRows * kElement / 16, kColumnStep = kThreads / kLanes;
    static_assert(kTileCols % kColumnStep == 0, "every thread serves as many columns");
    const int chunk = thread % kLanes;
    if (chunk >= kOutChunks) return;
    const int column = thread / kLanes;
    char* to = out + (first_col + column) * row_bytes + tile_row * kRows * kElement;
    const char* const base = shared + kAlign + chunk * 16;
    const int64_t step = kColumnStep * row_bytes;
#pragma unroll
    for (int i = 0; i < kTileCols / kColumnStep; ++i, to += step) {
      const uint32_t skew = uint32_t(reinterpret_cast<uintptr_t>(to)) & (kAlign - 1);
      const char* from = base + column_offset(column + i * kColumnStep) - (skew & ~15u);
      store_vector(down_to<kAlign>(to) + chunk * 16, shifted(from, skew));
    }
  }

  // The vector at `from`, moved up by the bytes of `skew` below a word.
  TW_DEVICE static Vector shifted(const char* from, uint32_t skew) {
    const uint32_t before = detail::load<uint32_t>(from - 4);
    const Vector own = load_vector(from);
    const uint32_t shift = skew << 3;  // modulo 32
    Vector x;
    x.word[0] = funnel_shift_left(before, own.word[0], shift);
#pragma unroll
    for (int q = 1; q < 4; ++q) x.word[q] = funnel_shift_left(own.word[q - 1], own.word[q], shift);
    return x;
  }

  template <bool kComplete>
  TW_DEVICE static void store_columns(int thread, const char* shared, char* out, int64_t row_bytes,
                                      int64_t tile_row, int64_t first_col, int64_t rows,
                                      int64_t cols) {
    const int64_t first = tile_row * kRows;
    const int columns = int(cols - first_col < kTileCols ? cols - first_col : kTileCols);
    // 8, 16 or 32 lanes serve the chunks of one output row; the last ones (kAlign's share) idle.
    constexpr int kLanes = kTileRows * kElement / 16, kColumnStep = kThreads / kLanes;
    static_assert(kThreads % kLanes == 0, "a thread keeps its chunk");
    const int chunk = thread % kLanes;
    if (chunk >= kOutChunks) return;
    int column = thread / kLanes;
    char* to = out + (first_col + column) * row_bytes + first * kElement;
    const int64_t step = kColumnStep * row_bytes;
#pragma unroll 4
    for (; column < columns; column += kColumnStep, to += step) {
      // first * kElement is a multiple of kAlign: what is left of `to` is the row's own skew, of
      // which scatter has taken the whole words below 16 bytes.
      const int skew = int(uint32_t(reinterpret_cast<uintptr_t>(to)) & (kAlign - 1));
      const char* from = shared + column_offset(column) + kAlign + chunk * 16 - (skew & ~15);
      const Vector x = shifted(from, uint32_t(skew));
      char* target = to - skew + chunk * 16;
      const int64_t r = first + (chunk * 16 - skew) / kElement;
      if (kComplete || (r >= 0 && r + kPerVector <= rows)) {
        store_vector(target, x);
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
