// The tile of last resort: elements at addresses that are not multiples of the element (16-byte
// elements on 4 or 8 bytes, 8-byte elements on 4). Moves them in pieces of kPiece bytes through
// padded shared memory. Limits: about half the copy rate; the alignment is rare. Tested by
// `tilewright-bench transpose --suite verify`.
//

#pragma once

#include "access.cuh"

namespace tilewright::detail {

template <int kElement, int kThreads> struct ElementTile {
  static constexpr int kPiece = kElement < 4 ? kElement : 4, kPieces = kElement / kPiece;
  using Piece = typename Unsigned<kPiece>::Type;
  static constexpr int kRows = 32, kCols = 32, kThreadCount = kThreads, kElementBytes = kElement;
  static constexpr int kPitch = 33 * kPieces;  // pieces
  static constexpr int kSharedBytes = 32 * kPitch * kPiece;

  TW_DEVICE static void load(int thread, char* shared, const char* in, int64_t row_bytes,
                             int64_t rows, int64_t cols) {
    for (int u = thread; u < 32 * 32 * kPieces; u += kThreads) {
      int row = u / (32 * kPieces), piece = u % (32 * kPieces);
      if (row < rows && piece / kPieces < cols)
        store<Piece>(shared + (row * kPitch + piece) * kPiece,
                     detail::load<Piece>(in + row * row_bytes + piece * kPiece));
    }
  }
  TW_DEVICE static void store_tile(int thread, const char* shared, char* out, int64_t row_bytes,
                                   int64_t rows, int64_t cols) {
    for (int u = thread; u < 32 * 32 * kPieces; u += kThreads) {
      int column = u / (32 * kPieces), piece = u % (32 * kPieces), row = piece / kPieces;
      if (row < rows && column < cols)
        store<Piece>(out + column * row_bytes + piece * kPiece,
                     detail::load<Piece>(
                         shared + (row * kPitch + column * kPieces + piece % kPieces) * kPiece));
    }
  }
};

}  // namespace tilewright::detail
