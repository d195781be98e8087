// Tiles for matrices with one short side, and for batches of matrices smaller than a tile.
//
// Problem: a matrix of 2^20 x 3 has rows of 12 bytes; a square tile would be almost empty. But
// where the short rows lie one after the other, that side is simply a stream of bytes. Choice: move
// the stream in 16-byte vectors through shared memory as it is, and gather (or scatter) the
// elements there. One unit (4 bytes or the element) of padding every 128 bytes keeps strides that
// are powers of two off one bank; other strides conflict at most a few ways, which the copy rate
// hides.
//   TallStrip    rows x K, ld_in == K: stream in, K rows out, cut at their sectors (raw_tile.cuh)
//   WideStrip    K x cols, ld_out == K: K rows in, stream out
//   PackedBatch  whole small matrices back to back on both sides: stream in, stream out
// Two to eight columns or rows whose vectors are aligned are better served by NarrowStrip.
// Limits: pointers are multiples of the element.
//
// Tested by tests/unit/transpose/transpose_tile_test.cpp.
#pragma once

#include "access.cuh"

namespace tilewright::detail {

template <int kElement, int kThreads> struct Stream {
  using Item = typename Unsigned<kElement>::Type;
  static constexpr int kPerVector = 16 / kElement;
  static constexpr int kUnit = kElement < 4 ? 4 : kElement;
  using Unit = typename Unsigned<kUnit>::Type;

  // Where byte `b` of the stream lies in shared memory.
  TW_DEVICE static int padded(int b) { return b + (b >> 7) * kUnit; }
  // Shared memory for a stream of `bytes` bytes that starts anywhere in a vector.
  static constexpr int shared_bytes(int bytes) {
    return (bytes + 32) + ((bytes + 32) / 128 + 1) * kUnit;
  }

  TW_DEVICE static Item item(const char* shared, int b) {
    return detail::load<Item>(shared + padded(b));
  }
  TW_DEVICE static void put_item(char* shared, int b, Item x) {
    store<Item>(shared + padded(b), x);
  }

  TW_DEVICE static void set_item(Vector& v, int e, Item x) {
    if constexpr (kElement == 16)
      v = x;
    else if constexpr (kElement == 8)
      v.word[2 * e] = uint32_t(x), v.word[2 * e + 1] = uint32_t(x >> 32);
    else
      v.word[e * kElement / 4] |= uint32_t(x) << (e * kElement % 4 * 8);
  }
  TW_DEVICE static Item get_item(const Vector& v, int e) {
    if constexpr (kElement == 16)
      return v;
    else if constexpr (kElement == 8)
      return uint64_t(v.word[2 * e + 1]) << 32 | v.word[2 * e];
    else
      return Item(v.word[e * kElement / 4] >> (e * kElement % 4 * 8));
  }

  // The aligned vector at p as far as [begin, end) reaches.
  TW_DEVICE static Vector load_within(const char* p, const char* begin, const char* end) {
    if (p >= begin && p + 16 <= end) return load_vector(p);
    Vector v{};
    if constexpr (kElement < 16) {
#pragma unroll
      for (int e = 0; e < kPerVector; ++e) {
        const char* at = p + e * kElement;
        if (at >= begin && at < end) set_item(v, e, detail::load<Item>(at));
      }
    }
    return v;
  }

  TW_DEVICE static void store_within(char* p, const Vector& v, const char* begin, const char* end) {
    if (p >= begin && p + 16 <= end) {
      store_vector(p, v);
    } else if constexpr (kElement < 16) {
#pragma unroll
      for (int e = 0; e < kPerVector; ++e) {
        char* at = p + e * kElement;
        if (at >= begin && at < end) store<Item>(at, get_item(v, e));
      }
    }
  }

  // Bytes [begin, end) of global memory to shared memory; the byte at `origin` (aligned to 16) is
  // stream byte 0.
  TW_DEVICE static void load_stream(int thread, char* shared, const char* origin, const char* begin,
                                    const char* end) {
    const char* first = begin - (reinterpret_cast<uintptr_t>(begin) & 15);
    int vectors = int((end - first + 15) >> 4), base = int(first - origin);
    for (int i0 = thread; i0 < vectors; i0 += 4 * kThreads) {
      Vector v[4];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if (i0 + k * kThreads < vectors)
          v[k] = load_within(first + (i0 + k * kThreads) * 16, begin, end);
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if (i0 + k * kThreads < vectors) put_vector(shared, base + (i0 + k * kThreads) * 16, v[k]);
    }
  }

  TW_DEVICE static void put_vector(char* shared, int b, const Vector& v) {
    char* to = shared + padded(b);  // a vector never straddles a padding
    if constexpr (kUnit == 16) {
      store_vector(to, v);
    } else if constexpr (kUnit == 8) {
      store<uint64_t>(to, uint64_t(v.word[1]) << 32 | v.word[0]);
      store<uint64_t>(to + 8, uint64_t(v.word[3]) << 32 | v.word[2]);
    } else {
#pragma unroll
      for (int q = 0; q < 4; ++q) store<uint32_t>(to + q * 4, v.word[q]);
    }
  }
  TW_DEVICE static Vector get_vector(const char* shared, int b) {
    const char* from = shared + padded(b);
    if constexpr (kUnit == 16) {
      return load_vector(from);
    } else {
      Vector v;
      if constexpr (kUnit == 8) {
        uint64_t low = detail::load<uint64_t>(from), high = detail::load<uint64_t>(from + 8);
        v.word[0] = uint32_t(low), v.word[1] = uint32_t(low >> 32);
        v.word[2] = uint32_t(high), v.word[3] = uint32_t(high >> 32);
      } else {
#pragma unroll
        for (int q = 0; q < 4; ++q) v.word[q] = detail::load<uint32_t>(from + q * 4);
      }
      return v;
    }
  }
};

// rows x cols, rows contiguous (ld_in == cols). A tile advances by 2^log_rows rows (2^log_rows
// elements are a multiple of 128 bytes).
template <int kElement, int kThreads> struct TallStrip {
  using S = Stream<kElement, kThreads>;
  static constexpr int kHalo = 32 / kElement;
  struct Strip {
    const char* in;
    char* out;
    int64_t out_row_bytes, rows;
    int cols, log_rows;
  };
  static int shared_bytes(int log_rows, int cols) {
    return S::shared_bytes(((1 << log_rows) + kHalo) * cols * kElement);
  }
  static int64_t tiles(int64_t rows, int log_rows) {
    return (rows + kHalo - 1 + (int64_t(1) << log_rows) - 1) >> log_rows;
  }

  TW_DEVICE static void load(int thread, char* shared, const Strip& s, int64_t tile) {
    int64_t first = (tile << s.log_rows) - kHalo, last = (tile + 1) << s.log_rows;
    const char* start = s.in + first * s.cols * kElement;
    const char* origin = start - (reinterpret_cast<uintptr_t>(start) & 15);
    int64_t low = first < 0 ? 0 : first, high = last < s.rows ? last : s.rows;
    S::load_stream(thread, shared, origin, s.in + low * s.cols * kElement,
                   s.in + high * s.cols * kElement);
  }

  TW_DEVICE static void store_tile(int thread, const char* shared, const Strip& s, int64_t tile) {
    int64_t first = (tile << s.log_rows) - kHalo;
    int lead = int(reinterpret_cast<uintptr_t>(s.in + first * s.cols * kElement) & 15);
    int log_chunks = s.log_rows - log2_of(S::kPerVector), step = s.cols * kElement;
    for (int u = thread; u < s.cols << log_chunks; u += kThreads) {
      int column = u >> log_chunks, chunk = u & ((1 << log_chunks) - 1);
      char* row = s.out + column * s.out_row_bytes;
      int skew = int(reinterpret_cast<uintptr_t>(row) & 31);
      int relative = kHalo - skew / kElement + chunk * S::kPerVector;  // rows after `first`
      int64_t r = first + relative;
      if (r >= s.rows) continue;
      int b = lead + relative * step + column * kElement;
      Vector v{};
      if (r >= 0 && r + S::kPerVector <= s.rows) {
#pragma unroll
        for (int e = 0; e < S::kPerVector; ++e) S::set_item(v, e, S::item(shared, b + e * step));
        store_vector(row + r * kElement, v);
        continue;
      }
#pragma unroll
      for (int e = 0; e < S::kPerVector; ++e)
        if (r + e >= 0 && r + e < s.rows) S::set_item(v, e, S::item(shared, b + e * step));
      S::store_within(row + r * kElement, v, row, row + s.rows * kElement);
    }
  }

  static constexpr TW_DEVICE int log2_of(int n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }
};

// rows x cols, output rows contiguous (ld_out == rows). A tile is 2^log_cols columns (a multiple of
// 128 bytes).
template <int kElement, int kThreads> struct WideStrip {
  using S = Stream<kElement, kThreads>;
  struct Strip {
    const char* in;
    char* out;
    int64_t in_row_bytes, cols;
    int rows, log_cols;
  };
  static int shared_bytes(int log_cols, int rows) {
    return S::shared_bytes((1 << log_cols) * rows * kElement);
  }
  static int64_t tiles(int64_t cols, int log_cols) {
    return (cols + (int64_t(1) << log_cols) - 1) >> log_cols;
  }

  TW_DEVICE static void load(int thread, char* shared, const Strip& s, int64_t tile) {
    int64_t first = tile << s.log_cols;
    int count = int(s.cols - first < (1 << s.log_cols) ? s.cols - first : (1 << s.log_cols));
    int lead = int(reinterpret_cast<uintptr_t>(s.out + first * s.rows * kElement) & 15);
    int log_vectors = s.log_cols - TallStrip<kElement, kThreads>::log2_of(S::kPerVector);
    const char* begin = s.in;
    const char* end = s.in + (s.rows - 1) * s.in_row_bytes + s.cols * kElement;
    int regular =
        s.rows
        << log_vectors;  // then one vector more for each row: the one its misalignment reaches into
    for (int u0 = thread; u0 < regular + s.rows; u0 += 4 * kThreads) {
      Vector v[4];
      int at[4], row[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        int u = u0 + k * kThreads;
        row[k] = u < regular ? u >> log_vectors : u - regular;
        int vector = u < regular ? u & ((1 << log_vectors) - 1) : 1 << log_vectors;
        at[k] = count;
        if (u < regular + s.rows) {
          const char* p = s.in + row[k] * s.in_row_bytes + first * kElement;
          int shift = int(reinterpret_cast<uintptr_t>(p) & 15);
          at[k] =
              vector * S::kPerVector - shift / kElement;  // column of the vector's first element
          if (at[k] < count) v[k] = S::load_within(p - shift + vector * 16, begin, end);
        }
      }
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (at[k] >= count) continue;
        if (at[k] >= 0 && at[k] + S::kPerVector <= count) {
          int b = lead + (at[k] * s.rows + row[k]) * kElement;
#pragma unroll
          for (int e = 0; e < S::kPerVector; ++e, b += s.rows * kElement)
            S::put_item(shared, b, S::get_item(v[k], e));
          continue;
        }
#pragma unroll
        for (int e = 0; e < S::kPerVector; ++e) {
          int column = at[k] + e;
          if (column >= 0 && column < count)
            S::put_item(shared, lead + (column * s.rows + row[k]) * kElement, S::get_item(v[k], e));
        }
      }
    }
  }

  TW_DEVICE static void store_tile(int thread, const char* shared, const Strip& s, int64_t tile) {
    int64_t first = tile << s.log_cols;
    int64_t count = s.cols - first < (1 << s.log_cols) ? s.cols - first : (1 << s.log_cols);
    char* begin = s.out + first * s.rows * kElement;
    char* end = begin + count * s.rows * kElement;
    char* aligned = begin - (reinterpret_cast<uintptr_t>(begin) & 15);
    int vectors = int((end - aligned + 15) >> 4);
    for (int i = thread; i < vectors; i += kThreads) {
      char* to = aligned + i * 16;
      if (to >= begin && to + 16 <= end) {
        store_vector(to, S::get_vector(shared, i * 16));
      } else {  // of a vector at an end of the stream, only the part that was loaded is read
#pragma unroll
        for (int e = 0; e < S::kPerVector; ++e) {
          char* at = to + e * kElement;
          if (at >= begin && at < end)
            store<typename S::Item>(at, S::item(shared, i * 16 + e * kElement));
        }
      }
    }
  }
};

// `count` matrices of rows x cols, one after the other on both sides; a tile is `per_tile` of them.
template <int kElement, int kThreads> struct PackedBatch {
  using S = Stream<kElement, kThreads>;
  struct Pack {
    const char* in;
    char* out;
    int64_t count;
    int rows, cols, per_tile;
  };
  static int shared_bytes(int per_tile, int rows, int cols) {
    return S::shared_bytes(per_tile * rows * cols * kElement);
  }
  static int64_t tiles(int64_t count, int per_tile) { return (count + per_tile - 1) / per_tile; }

  TW_DEVICE static void load(int thread, char* shared, const Pack& p, int64_t tile) {
    int64_t size = int64_t(p.rows) * p.cols * kElement, first = tile * p.per_tile;
    int64_t last = first + p.per_tile < p.count ? first + p.per_tile : p.count;
    const char* begin = p.in + first * size;
    S::load_stream(thread, shared, begin - (reinterpret_cast<uintptr_t>(begin) & 15), begin,
                   p.in + last * size);
  }

  TW_DEVICE static void store_tile(int thread, const char* shared, const Pack& p, int64_t tile) {
    int64_t size = int64_t(p.rows) * p.cols * kElement, first = tile * p.per_tile;
    int64_t last = first + p.per_tile < p.count ? first + p.per_tile : p.count;
    int lead = int(reinterpret_cast<uintptr_t>(p.in + first * size) & 15);
    char* begin = p.out + first * size;
    char* end = p.out + last * size;
    char* aligned = begin - (reinterpret_cast<uintptr_t>(begin) & 15);
    int vectors = int((end - aligned + 15) >> 4), skip = int(begin - aligned) / kElement;
    int matrix = p.rows * p.cols;
    if constexpr (kElement < 4) {
      // Blocks of kPack x kPack elements: words on both sides, transposed in registers.
      constexpr int kPack = 4 / kElement;
      if (p.rows % S::kPerVector == 0 && p.cols % kPack == 0 && lead % 4 == 0 &&
          !(reinterpret_cast<uintptr_t>(begin) & 15)) {
        // The same for four blocks, one above the other, which fill a vector of each column.
        const int chunks = p.rows / S::kPerVector, units = chunks * (p.cols / kPack),
                  all = int(last - first) * units;
        for (int u = thread; u < all; u += kThreads) {
          const int which = u / units, rest = u - which * units, q = rest / chunks,
                    g = rest - q * chunks;
          int source = lead + (which * matrix + g * S::kPerVector * p.cols + q * kPack) * kElement;
          Vector v[kPack];
#pragma unroll
          for (int w = 0; w < 4; ++w) {
            uint32_t x[kPack];
#pragma unroll
            for (int k = 0; k < kPack; ++k, source += p.cols * kElement)
              x[k] = detail::load<uint32_t>(shared + S::padded(source));
            transpose_words<kPack>(x);
#pragma unroll
            for (int k = 0; k < kPack; ++k) v[k].word[w] = x[k];
          }
          char* to = begin + (which * matrix + q * kPack * p.rows + g * S::kPerVector) * kElement;
#pragma unroll
          for (int k = 0; k < kPack; ++k) store_vector(to + k * p.rows * kElement, v[k]);
        }
        return;
      }
      if (p.rows % kPack == 0 && p.cols % kPack == 0 && lead % 4 == 0 &&
          !(reinterpret_cast<uintptr_t>(begin) & 3)) {
        const int words = p.rows / kPack, blocks = words * (p.cols / kPack),
                  all = int(last - first) * blocks;
        for (int u = thread; u < all; u += kThreads) {
          const int which = u / blocks, rest = u - which * blocks, q = rest / words,
                    g = rest - q * words;
          const int source = lead + (which * matrix + g * kPack * p.cols + q * kPack) * kElement;
          uint32_t x[kPack];
#pragma unroll
          for (int k = 0; k < kPack; ++k)
            x[k] = detail::load<uint32_t>(shared + S::padded(source + k * p.cols * kElement));
          transpose_words<kPack>(x);
          char* to = begin + (which * matrix + q * kPack * p.rows + g * kPack) * kElement;
#pragma unroll
          for (int k = 0; k < kPack; ++k) store<uint32_t>(to + k * p.rows * kElement, x[k]);
        }
        return;
      }
    }
    for (int i = thread; i < vectors; i += kThreads) {
      int o =
          i * S::kPerVector - skip;  // output element, within the tile; negative before its start
      int from = o < 0 ? 0 : o;
      int which = from / matrix, rest = from % matrix, c = rest / p.rows, r = rest % p.rows;
      int source = which * matrix + r * p.cols + c;
      Vector v{};
#pragma unroll
      for (int e = 0; e < S::kPerVector; ++e) {
        if (o + e < 0 || aligned + i * 16 + e * kElement >= end) continue;
        S::set_item(v, e, S::item(shared, lead + source * kElement));
        source += p.cols;
        if (++r == p.rows) {
          r = 0;
          source = which * matrix + ++c;
          if (c == p.cols) c = 0, source = ++which * matrix;
        }
      }
      S::store_within(aligned + i * 16, v, begin, end);
    }
  }
};

}  // namespace tilewright::detail
