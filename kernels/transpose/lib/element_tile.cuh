// The tile of 32 x 32 elements, moved one by one through padded shared memory. Two uses: elements
// at addresses that are not multiples of the element (16-byte elements on 4 or 8 bytes, 8-byte
// elements on 4), moved in pieces of kPiece bytes; and grids of a few tiles, which are bound by the
// latency of one, so that small tiles of few instructions win. Limits: about half the copy rate on
// large matrices. Tested by `tilewright-bench transpose --suite verify`.
#pragma once

#include "access.cuh"

namespace tilewright::detail {

template <int kElement, int kThreads, int kPiece = (kElement < 4 ? kElement : 4)>
struct ElementTile {
  static constexpr int kPieces = kElement / kPiece;
  using Piece = typename Unsigned<kPiece>::Type;
  static constexpr int kRows = 32, kCols = 32, kThreadCount = kThreads, kElementBytes = kElement;
  static constexpr int kPitch = 32 * kPieces + 1;  // pieces
  static constexpr int kSharedBytes = 32 * kPitch * kPiece;

  static constexpr int kUnits = 32 * 32 * kPieces / kThreads;
  static constexpr int kRowStep = kThreads / (32 * kPieces);  // rows, or columns, from unit to unit
  static_assert(kThreads % (32 * kPieces) == 0 && kUnits * kThreads == 32 * 32 * kPieces,
                "a thread keeps its piece of a row");

  // `in`: the tile's first element; rows and cols: what is left of the matrix from there. All loads
  // of a thread are in flight together.
  TW_DEVICE static void load(int thread, char* shared, const char* in, int64_t row_bytes,
                             int64_t rows, int64_t cols) {
    const int first = thread / (32 * kPieces), piece = thread % (32 * kPieces);
    const int height = int(rows < 32 ? rows : 32);
    if (piece / kPieces >= cols) return;
    const char* p = in + first * row_bytes + piece * kPiece;
    Piece x[kUnits]{};
#pragma unroll
    for (int k = 0; k < kUnits; ++k)
      if (first + k * kRowStep < height) x[k] = detail::load<Piece>(p + k * kRowStep * row_bytes);
#pragma unroll
    for (int k = 0; k < kUnits; ++k)
      if (first + k * kRowStep < height)
        store<Piece>(shared + ((first + k * kRowStep) * kPitch + piece) * kPiece, x[k]);
  }
  TW_DEVICE static void store_tile(int thread, const char* shared, char* out, int64_t row_bytes,
                                   int64_t rows, int64_t cols) {
    const int first = thread / (32 * kPieces), piece = thread % (32 * kPieces);
    const int row = piece / kPieces, width = int(cols < 32 ? cols : 32);
    if (row >= rows) return;
    char* p = out + first * row_bytes + piece * kPiece;
    const char* from = shared + (row * kPitch + first * kPieces + piece % kPieces) * kPiece;
#pragma unroll
    for (int k = 0; k < kUnits; ++k)
      if (first + k * kRowStep < width)
        store<Piece>(p + k * kRowStep * row_bytes,
                     detail::load<Piece>(from + k * kRowStep * kPieces * kPiece));
  }
};

}  // namespace tilewright::detail
