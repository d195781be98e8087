// The tile for elements of 4 to 16 bytes at any alignment.
//
// Problem: rows that start anywhere rule out vector accesses to the tile's own columns, and what
// bounds such a matrix is the L2 cache (Nsight Compute on an H200: 94 % busy, device memory 76 %):
// every sector that is asked for twice counts. Choice, input: the *aligned* 16-byte vectors that cover
// a tile row go to shared memory as they are. A row of kRowVectors vectors serves kRowVectors - 1
// vectors' worth of columns, wherever the row starts; the shift costs nothing, because the reader adds
// it to its address (a table in shared memory holds each row's start). 16 bytes of padding every
// kPerVector rows keep the readers off one bank. The asynchronous copy through the first-level cache
// (cp.async.ca) is faster than the one past it (cp.async.cg): 0.94 and 0.91 of the copy for 4 bytes,
// 8191 x 8191. Choice, output: each output row is cut at its own multiples of kAlign bytes (a
// sector): row c starts `skew` bytes into one, so tile t owns bytes [t*kOutBytes - skew,
// (t+1)*kOutBytes - skew) of it, a parallelogram of input rows, for which the tile loads kHalo rows
// more. A thread gathers the kPerVector rows of one 16-byte piece with scalar loads (eight lanes
// along the output row, four across: free of conflicts up to the shift) and stores it whole. Limits:
// elements of 4, 8 and 16 bytes, pointers multiples of the element. Alternatives measured: a CTA that
// goes down the rows and carries the halo, 0.91 of the copy for two steps of 64 rows, 0.79 for
// sixteen: CTAs that run together then write far from one another.
//
// Tested by tests/unit/transpose/transpose_tile_test.cpp.
#pragma once

#include "access.cuh"

namespace tilewright::detail {

// How 16 bytes come from global to shared memory: through registers and the first-level cache, or
// asynchronously, past it (kAsync) or through it (kAsyncCached).
enum class Copy { kRegisters, kAsync, kAsyncCached };

// Asynchronously; wait_copies() before the barrier. kPrefetch: L2 fetches that many bytes around
// (0, 128 or 256).
template <Copy kCopy, int kPrefetch> TW_DEVICE void copy_async(char* shared, const char* p) {
#ifdef __CUDA_ARCH__
  const uint32_t to = uint32_t(__cvta_generic_to_shared(shared));
  if constexpr (kCopy == Copy::kAsyncCached && kPrefetch == 128)
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(p) : "memory");
  else if constexpr (kCopy == Copy::kAsyncCached)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(p) : "memory");
  else if constexpr (kPrefetch == 256)
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to), "l"(p) : "memory");
  else if constexpr (kPrefetch == 128)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(p) : "memory");
  else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(p) : "memory");
#else
  std::memcpy(shared, p, 16);
#endif
}
TW_DEVICE void wait_copies() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Elements of kElement bytes side by side in one vector.
template <int kElement>
TW_DEVICE Vector pack_vector(const typename Unsigned<kElement>::Type (&x)[16 / kElement]) {
  Vector v;
  if constexpr (kElement == 16) {
    v = x[0];
  } else if constexpr (kElement == 8) {
    v.word[0] = uint32_t(x[0]), v.word[1] = uint32_t(x[0] >> 32);
    v.word[2] = uint32_t(x[1]), v.word[3] = uint32_t(x[1] >> 32);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) v.word[i] = x[i];
  }
  return v;
}

// kBatch: vectors a thread asks for before it waits or goes on to the next rows.
template <int kElement, int kRowVectors, int kOutBytes, int kThreads, int kAlign = 32,
          int kPrefetch = 0, Copy kCopy = Copy::kRegisters, Cache kLoad = Cache::kDefault,
          Cache kStore = Cache::kDefault, int kBatch = 4>
struct RawTile {
  using Item = typename Unsigned<kElement>::Type;
  static constexpr int kPerVector = 16 / kElement;
  static constexpr int kHalo = kAlign / kElement;     // rows before the tile's own
  static constexpr int kRows = kOutBytes / kElement;  // rows the tile advances by
  static constexpr int kLoadedRows = kRows + kHalo;
  static constexpr int kCols = (kRowVectors - (kElement < 16 ? 1 : 0)) * kPerVector;
  static constexpr int kThreadCount = kThreads, kElementBytes = kElement;
  static constexpr int kRowBytes = kRowVectors * 16;
  static constexpr int kDataBytes =
      (kLoadedRows + kPerVector) / kPerVector * (kPerVector * kRowBytes + 16);
  static constexpr int kSharedBytes =
      kDataBytes + kLoadedRows * 4;  // then the table of row offsets
  static constexpr int kOutChunks = kOutBytes / 16;
  static constexpr int kRowStep = kThreads / kRowVectors;  // rows the threads load at once
  static constexpr int kChunkGroups = kOutChunks / 8;
  static constexpr int kColumnStep = kThreads / kOutChunks;  // columns the threads store at once
  static_assert(kElement >= 4, "narrower elements are transposed in registers");
  static_assert(kThreads % kRowVectors == 0 && kThreads % (kOutChunks * 4) == 0,
                "a thread keeps its vector and its chunk");

  struct Matrix {  // the input as a whole
    const char* base;
    int64_t row_bytes, rows, cols;
  };

  // Where row `row` starts: 16 bytes of padding every kPerVector rows put the rows that eight lanes
  // read (kPerVector apart) on different banks.
  TW_DEVICE static int row_offset(int row) { return row * kRowBytes + row / kPerVector * 16; }

  // `first_row` may be negative (the halo of the first tile).
  TW_DEVICE static void load(int thread, char* shared, const Matrix& m, int64_t first_row,
                             int64_t first_col) {
    const char* base = m.base + first_row * m.row_bytes + first_col * kElement;
    for (int row = thread; row < kLoadedRows; row += kThreads)
      store<uint32_t>(
          shared + kDataBytes + row * 4,
          uint32_t(row_offset(row)) + uint32_t((uint32_t(reinterpret_cast<uintptr_t>(base)) +
                                                uint32_t(row) * uint32_t(m.row_bytes)) &
                                               15));
    // Interior rows: a vector that reaches over the end of its row still lies in the matrix.
    if (first_row >= 1 && first_row + kLoadedRows < m.rows)
      load_rows<true>(thread, shared, m, base, first_row, first_col);
    else
      load_rows<false>(thread, shared, m, base, first_row, first_col);
    if constexpr (kCopy != Copy::kRegisters) wait_copies();
  }

  // `tile_row`: index of the tile along rows; out: element (0, 0) of the output.
  TW_DEVICE static void store_tile(int thread, const char* shared, const Matrix& m, char* out,
                                   int64_t out_row_bytes, int64_t tile_row, int64_t first_col) {
    if (tile_row >= 1 && (tile_row + 1) * kRows <= m.rows)
      store_columns<true>(thread, shared, m, out, out_row_bytes, tile_row, first_col);
    else
      store_columns<false>(thread, shared, m, out, out_row_bytes, tile_row, first_col);
  }

 private:
  template <bool kInside>
  TW_DEVICE static void load_rows(int thread, char* shared, const Matrix& m, const char* base,
                                  int64_t first_row, int64_t first_col) {
    const int vector = thread % kRowVectors;
    const int64_t row_tail =
        (m.cols - first_col) * kElement;  // bytes from the tile's first column to the row's end
    const int tail = int(row_tail < kRowBytes ? row_tail : kRowBytes);
    const char* begin = m.base;
    const char* end = m.base + (m.rows - 1) * m.row_bytes + m.cols * kElement;
    int row = thread / kRowVectors;
    const char* p = base + row * m.row_bytes;
    const int64_t step = kRowStep * m.row_bytes;
    for (; row < kLoadedRows; row += kBatch * kRowStep) {
      Vector held[kBatch]{};
      bool whole[kBatch];
      int at[kBatch];
#pragma unroll
      for (int b = 0; b < kBatch; ++b, p += step) {
        const int this_row = row + b * kRowStep;
        const int offset = vector * 16 - int(uint32_t(reinterpret_cast<uintptr_t>(p)) & 15);
        const char* from = p + offset;
        at[b] = row_offset(this_row) + vector * 16;
        whole[b] = offset < tail && this_row < kLoadedRows;
        if (!kInside && whole[b]) {
          const bool exists = first_row + this_row >= 0 && first_row + this_row < m.rows;
          whole[b] = exists && from >= begin && from + 16 <= end;
          if constexpr (kElement < 16) {
            if (exists && !whole[b]) {
#pragma unroll
              for (int e = 0; e < kPerVector; ++e)
                if (from + e * kElement >= begin && from + e * kElement < end)
                  store<Item>(shared + at[b] + e * kElement,
                              detail::load<Item>(from + e * kElement));
            }
          }
        }
        if (!whole[b]) continue;
        if constexpr (kCopy == Copy::kRegisters)
          held[b] = load_vector<kLoad>(from);
        else
          copy_async<kCopy, kPrefetch>(shared + at[b], from);
      }
      if constexpr (kCopy == Copy::kRegisters) {
#pragma unroll
        for (int b = 0; b < kBatch; ++b)
          if (whole[b]) store_vector(shared + at[b], held[b]);
      }
    }
  }

  template <bool kComplete>
  TW_DEVICE static void store_columns(int thread, const char* shared, const Matrix& m, char* out,
                                      int64_t out_row_bytes, int64_t tile_row, int64_t first_col) {
    const int64_t first = tile_row * kRows, first_loaded = first - kHalo;
    const int columns = int(m.cols - first_col < kCols ? m.cols - first_col : kCols);
    // A warp: eight chunks along the output row, four columns.
    const int block = thread >> 5;
    const int chunk = (thread & 7) + 8 * (block % kChunkGroups);
    int column = (thread >> 3 & 3) + 4 * (block / kChunkGroups);
    const int chunk_row = kHalo + chunk * kPerVector;
    const char* table = shared + kDataBytes;
    char* to = out + (first_col + column) * out_row_bytes + first * kElement + chunk * 16;
    const int64_t step = kColumnStep * out_row_bytes;
#pragma unroll 2
    for (; column < columns; column += kColumnStep, to += step) {
      // first * kElement and 16 * chunk aside, `to` is the output row; chunk * 16 is not a multiple
      // of kAlign.
      const int skew =
          int((uint32_t(reinterpret_cast<uintptr_t>(to)) - uint32_t(chunk * 16)) & (kAlign - 1));
      const int row = chunk_row - skew / kElement;  // of the loaded rows
      char* target = to - skew;
      const int64_t r = first_loaded + row;
      Item x[kPerVector];
#pragma unroll
      for (int e = 0; e < kPerVector; ++e) {
        // Rows beyond the matrix were not loaded.
        if (kComplete || (r + e >= 0 && r + e < m.rows))
          x[e] = detail::load<Item>(shared + detail::load<uint32_t>(table + (row + e) * 4) +
                                    column * kElement);
        else
          x[e] = Item{};
      }
      if (kComplete || (r >= 0 && r + kPerVector <= m.rows)) {
        store_vector<kStore>(target, pack_vector<kElement>(x));
      } else {
#pragma unroll
        for (int e = 0; e < kPerVector; ++e)
          if (r + e >= 0 && r + e < m.rows) store<Item>(target + e * kElement, x[e]);
      }
    }
  }
};

}  // namespace tilewright::detail
