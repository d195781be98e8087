// Strips of 2 to 8 columns (tall) or rows (wide) whose vectors are aligned: a warp on its own.
//
// Problem: in a strip of three columns of bytes, a thread that gathers the sixteen rows of an
// output vector reads sixteen single bytes from shared memory, four lanes to a bank: the strip is
// bound by that, and short ones by the barrier between two halves of a CTA. Choice: kWidth, the
// short side, is known when compiling. A lane holds kWidth vectors: kPerVector rows of all columns.
// They come and go through the warp's own piece of shared memory, so that both sides of global
// memory see consecutive vectors, and are transposed in registers by byte permutes whose selectors
// are constants. No barrier: only lanes of the warp meet. Limits: elements of 1 to 8 bytes; 16-byte
// alignment of the stream and of the rows on the other side.
//
// Tested by tests/unit/transpose/transpose_tile_test.cpp.
#pragma once

#include "access.cuh"

namespace tilewright::detail {

TW_DEVICE void meet_lanes() {
#ifdef __CUDA_ARCH__
  __syncwarp();
#endif
}

// kElement bytes; kWidth columns (rows of the wide strip); kWarps warps a CTA.
template <int kElement, int kWidth, int kWarps> struct NarrowStrip {
  using Item = typename Unsigned<kElement>::Type;
  static constexpr int kPerVector = 16 / kElement;
  static constexpr int kThreadCount = kWarps * 32, kElementBytes = kElement;
  static constexpr int kLong = 32 * kPerVector;  // long side of a warp's piece, elements
  static constexpr int kBlockLong = kLong * kWarps;
  // A lane's kWidth vectors are an odd number of 16-byte units apart: eight lanes, eight banks.
  static constexpr int kLanePitch = (kWidth | 1) * 16;
  static constexpr int kWarpBytes = 32 * kLanePitch;
  static constexpr int kSharedBytes = kWarps * kWarpBytes;
  static_assert(kWidth >= 2 && kWidth <= 8 && kElement <= 8, "vectors are held in registers");

  struct Strip {
    const char* in;
    char* out;
    int64_t row_bytes;  // tall: of the output; wide: of the input
    int64_t length;     // the long side
  };
  struct Held {
    Vector v[kWidth];
  };

  // The stream's vectors (v[k] is the lane's k-th of kWidth * 32 consecutive ones) to shared
  // memory.
  TW_DEVICE static void put_stream(int lane, char* piece, const Held& held) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const int u = k * 32 + lane;
      store_vector(piece + u / kWidth * kLanePitch + u % kWidth * 16, held.v[k]);
    }
  }
  TW_DEVICE static void get_stream(int lane, const char* piece, Held& held) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const int u = k * 32 + lane;
      held.v[k] = load_vector(piece + u / kWidth * kLanePitch + u % kWidth * 16);
    }
  }
  TW_DEVICE static void put_own(int lane, char* piece, const Held& held) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) store_vector(piece + lane * kLanePitch + k * 16, held.v[k]);
  }
  TW_DEVICE static void get_own(int lane, const char* piece, Held& held) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) held.v[k] = load_vector(piece + lane * kLanePitch + k * 16);
  }

  // Stream order (kPerVector rows of kWidth) to column order (kWidth vectors of kPerVector), and
  // back: element `at` of the result is element source(at).
  template <bool kToColumns> TW_DEVICE static void reorder(Held& held) {
    uint32_t from[kWidth * 4];
#pragma unroll
    for (int i = 0; i < kWidth * 4; ++i) from[i] = held.v[i / 4].word[i % 4];
#pragma unroll
    for (int i = 0; i < kWidth * 4; ++i) {
      uint32_t word;
      if constexpr (kElement >= 4) {
        constexpr int kWords = kElement / 4;
        word = from[source<kToColumns>(i / kWords) * kWords + i % kWords];
      } else if constexpr (kElement == 2) {
        const int a = source<kToColumns>(2 * i), b = source<kToColumns>(2 * i + 1);
        word = permute_bytes(from[a / 2], from[b / 2],
                             (a % 2 ? 0x32u : 0x10u) | (b % 2 ? 0x7600u : 0x5400u));
      } else {
        const int a = source<kToColumns>(4 * i), b = source<kToColumns>(4 * i + 1),
                  c = source<kToColumns>(4 * i + 2), d = source<kToColumns>(4 * i + 3);
        const uint32_t low =
            permute_bytes(from[a / 4], from[b / 4], uint32_t(a % 4) | uint32_t(4 + b % 4) << 4);
        const uint32_t high =
            permute_bytes(from[c / 4], from[d / 4], uint32_t(c % 4) | uint32_t(4 + d % 4) << 4);
        word = permute_bytes(low, high, 0x5410);
      }
      held.v[i / 4].word[i % 4] = word;
    }
  }
  template <bool kToColumns> static constexpr TW_DEVICE int source(int at) {
    return kToColumns ? at % kPerVector * kWidth + at / kPerVector
                      : at % kWidth * kPerVector + at / kWidth;
  }

  // Piece `index` of the strip, by one warp: all lanes fill, meet, and drain. `piece`: the warp's
  // kWarpBytes of shared memory.
  template <bool kTall>
  TW_DEVICE static void fill(int lane, char* piece, const Strip& s, int64_t index) {
    const int64_t left = s.length - index * kLong;
    if (left >= kLong)
      fill_piece<kTall, true>(lane, piece, s, index, kLong);
    else
      fill_piece<kTall, false>(lane, piece, s, index, int(left));
  }
  template <bool kTall>
  TW_DEVICE static void drain(int lane, const char* piece, const Strip& s, int64_t index) {
    const int64_t left = s.length - index * kLong;
    if (left >= kLong)
      drain_piece<kTall, true>(lane, piece, s, index, kLong);
    else
      drain_piece<kTall, false>(lane, piece, s, index, int(left));
  }

 private:
  // `length` of the piece's kLong rows (columns) exist; kWhole: all.
  template <bool kTall, bool kWhole>
  TW_DEVICE static void fill_piece(int lane, char* piece, const Strip& s, int64_t index,
                                   int length) {
    Held held;
    if constexpr (kTall) {
      const char* from = s.in + index * kLong * kWidth * kElement + lane * 16;
#pragma unroll
      for (int k = 0; k < kWidth; ++k)
        held.v[k] = load_first<kWhole>(from + k * 512, in_stream(lane, k, length));
      put_stream(lane, piece, held);
    } else {
      const char* from = s.in + index * kLong * kElement + lane * 16;
#pragma unroll
      for (int c = 0; c < kWidth; ++c)
        held.v[c] = load_first<kWhole>(from + c * s.row_bytes, length - lane * kPerVector);
      reorder<false>(held);
      put_own(lane, piece, held);
    }
  }
  template <bool kTall, bool kWhole>
  TW_DEVICE static void drain_piece(int lane, const char* piece, const Strip& s, int64_t index,
                                    int length) {
    Held held;
    if constexpr (kTall) {
      char* to = s.out + index * kLong * kElement + lane * 16;
      get_own(lane, piece, held);
      reorder<true>(held);
#pragma unroll
      for (int c = 0; c < kWidth; ++c)
        store_first<kWhole>(to + c * s.row_bytes, held.v[c], length - lane * kPerVector);
    } else {
      char* to = s.out + index * kLong * kWidth * kElement + lane * 16;
      get_stream(lane, piece, held);
#pragma unroll
      for (int k = 0; k < kWidth; ++k)
        store_first<kWhole>(to + k * 512, held.v[k], in_stream(lane, k, length));
    }
  }
  // Elements from the lane's k-th vector of the stream to the stream's end.
  TW_DEVICE static int in_stream(int lane, int k, int length) {
    return length * kWidth - (k * 32 + lane) * kPerVector;
  }

  // The vector at p of which the first `count` elements exist (any number; kWhole: all).
  template <bool kWhole> TW_DEVICE static Vector load_first(const char* p, int count) {
    if constexpr (kWhole) {
      return load_vector(p);
    } else {
      return count >= kPerVector ? load_vector(p) : load_elements(p, count);
    }
  }
  TW_DEVICE static Vector load_elements(const char* p, int count) {
    Vector v{};
#pragma unroll
    for (int e = 0; e < kPerVector; ++e) {
      if (e >= count) continue;
      if constexpr (kElement == 8) {
        const uint64_t x = detail::load<uint64_t>(p + e * 8);
        v.word[2 * e] = uint32_t(x), v.word[2 * e + 1] = uint32_t(x >> 32);
      } else {
        v.word[e * kElement / 4] |= uint32_t(detail::load<Item>(p + e * kElement))
                                    << (e * kElement % 4 * 8);
      }
    }
    return v;
  }
  template <bool kWhole> TW_DEVICE static void store_first(char* p, const Vector& v, int count) {
    if constexpr (kWhole) {
      store_vector(p, v);
    } else {
      if (count >= kPerVector)
        store_vector(p, v);
      else
        store_elements(p, v, count);
    }
  }
  TW_DEVICE static void store_elements(char* p, const Vector& v, int count) {
#pragma unroll
    for (int e = 0; e < kPerVector; ++e) {
      if (e >= count) continue;
      if constexpr (kElement == 8)
        store<uint64_t>(p + e * 8, uint64_t(v.word[2 * e + 1]) << 32 | v.word[2 * e]);
      else
        store<Item>(p + e * kElement, Item(v.word[e * kElement / 4] >> (e * kElement % 4 * 8)));
    }
  }
};

}  // namespace tilewright::detail
