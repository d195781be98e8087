// The aligned tile: 16-byte loads, registers, swizzled shared memory, 16-byte stores.
//
// Problem: a transpose touches every row of its tile on one side and every column on the other;
// with elements narrower than 4 bytes neither side would move whole words. Choice: a thread loads
// kPack rows of one 16-byte vector (kPack = elements per word; 1 from 4 bytes up) and transposes
// them word by word in registers, so that shared memory sees whole words of one output row. Tile
// column c lies in shared memory as TR elements, cut into 16-byte chunks; chunk k sits at k ^
// (vector(c) mod 8). A quarter-warp then writes and reads 8 different chunks: no bank conflict, no
// padding, and the reads are 16 bytes wide. kRowLanes lanes of a warp read one row: 16 and 32 (256
// and 512 bytes of a row in one instruction) are 0.5 to 1.3 % faster than 8 on large matrices and
// cost two-way conflicts of the writes to shared memory.
// Limits: rows of both matrices aligned to 16 bytes (base and leading dimension); any rows and
// cols. Alternatives: padding (+1) forces 4-byte shared reads; TMA needs tensor maps per call (host
// time).
//
// Tested by tests/unit/transpose/transpose_tile_test.cpp.
#pragma once

#include "access.cuh"

namespace tilewright::detail {

// kElement bytes; a tile of kTileRows x kTileCols input elements; kThreads threads.
template <int kElement, int kTileRows, int kTileCols, int kThreads, Cache kLoad = Cache::kStreaming,
          Cache kStore = Cache::kDefault, int kRowLanes = 8>
struct VectorTile {
  static constexpr int kRows = kTileRows, kCols = kTileCols, kThreadCount = kThreads,
                       kElementBytes = kElement;
  static constexpr int kPerVector = 16 / kElement;  // elements
  static constexpr int kPack =
      kElement < 4 ? 4 / kElement : 1;  // rows that make a shared-memory word
  static constexpr int kWordBytes = kElement < 4 ? 4 : kElement;
  static constexpr int kColumnVectors = kTileCols / kPerVector;
  static constexpr int kRowGroups = kTileRows / kPack;
  static constexpr int kColumnBytes = kTileRows * kElement;  // one tile column in shared memory
  static constexpr int kChunks = kColumnBytes / 16;
  static constexpr int kSharedBytes = kTileRows * kTileCols * kElement;
  static constexpr int kLoads =
      kRowGroups * kColumnVectors / kThreads;  // units of kPack vectors a thread
  static constexpr int kStores = kTileCols * kChunks / kThreads;
  static_assert(kRowLanes % 8 == 0 && 32 % kRowLanes == 0 && kColumnVectors % kRowLanes == 0,
                "eight lanes or more read one row: 128 contiguous bytes");
  static_assert(kChunks % 8 == 0, "the swizzle permutes eight chunks");
  static_assert(kRowGroups % (32 / kRowLanes) == 0, "a warp loads whole row groups");
  static_assert(kRowGroups * kColumnVectors % kThreads == 0 && kTileCols * kChunks % kThreads == 0,
                "every thread has the same work");

  // Thread's unit k: vector of the row, row group. A warp covers kRowLanes vectors of 32 / kRowLanes
  // row groups.
  TW_DEVICE static void unit(int thread, int k, int& vector, int& group) {
    int u = thread + k * kThreads, block = u >> 5;
    vector = u % kRowLanes + kRowLanes * (block % (kColumnVectors / kRowLanes));
    group = u % 32 / kRowLanes + 32 / kRowLanes * (block / (kColumnVectors / kRowLanes));
  }

  TW_DEVICE static int shared_offset(int column, int byte) {
    return column * kColumnBytes + ((byte >> 4 ^ (column / kPerVector & 7)) << 4) + (byte & 15);
  }

  // `in`: the tile's first element; rows and cols: what is left of the matrix from there.
  TW_DEVICE static void load(int thread, char* shared, const char* in, int64_t row_bytes,
                             int64_t rows, int64_t cols) {
    Vector v[kLoads][kPack];
    if (rows >= kTileRows && cols >= kTileCols) {
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        int vector, group;
        unit(thread, k, vector, group);
        const char* p = in + group * kPack * row_bytes + vector * 16;
#pragma unroll
        for (int i = 0; i < kPack; ++i) v[k][i] = load_vector<kLoad>(p + i * row_bytes);
      }
    } else {
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        int vector, group;
        unit(thread, k, vector, group);
#pragma unroll
        for (int i = 0; i < kPack; ++i) {
          int row = group * kPack + i;
          v[k][i] = row < rows
                        ? load_part(in + row * row_bytes + vector * 16, cols - vector * kPerVector)
                        : Vector{};
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      int vector, group;
      unit(thread, k, vector, group);
      put(shared, vector, group, v[k]);
    }
  }

  // Puts kPack rows of one vector (the unit's) into shared memory, transposed word by word.
  TW_DEVICE static void put(char* shared, int vector, int group, const Vector (&v)[kPack]) {
    if constexpr (kElement < 4) {
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        uint32_t x[kPack];
#pragma unroll
        for (int i = 0; i < kPack; ++i) x[i] = v[i].word[q];
        transpose_words<kPack>(x);
#pragma unroll
        for (int j = 0; j < kPack; ++j)
          store<uint32_t>(shared + shared_offset(vector * kPerVector + q * kPack + j, group * 4),
                          x[j]);
      }
    } else if constexpr (kElement == 4) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        store<uint32_t>(shared + shared_offset(vector * 4 + j, group * 4), v[0].word[j]);
    } else if constexpr (kElement == 8) {
#pragma unroll
      for (int j = 0; j < 2; ++j)
        store<uint64_t>(shared + shared_offset(vector * 2 + j, group * 8),
                        uint64_t(v[0].word[2 * j + 1]) << 32 | v[0].word[2 * j]);
    } else {
      store_vector(shared + shared_offset(vector, group * 16), v[0]);
    }
  }

  // `out`: where the tile's first element goes; rows and cols as in load.
  TW_DEVICE static void store_tile(int thread, const char* shared, char* out, int64_t row_bytes,
                                   int64_t rows, int64_t cols) {
    if (rows >= kTileRows && cols >= kTileCols) {
#pragma unroll
      for (int k = 0; k < kStores; ++k) {
        int u = thread + k * kThreads, column = u / kChunks, chunk = u % kChunks;
        store_vector<kStore>(out + column * row_bytes + chunk * 16,
                             load_vector(shared + shared_offset(column, chunk * 16)));
      }
    } else {
      for (int k = 0; k < kStores; ++k) {
        int u = thread + k * kThreads, column = u / kChunks, chunk = u % kChunks;
        int64_t left = rows - chunk * kPerVector;
        if (column >= cols || left <= 0) continue;
        const char* from = shared + shared_offset(column, chunk * 16);
        char* to = out + column * row_bytes + chunk * 16;
        if (left >= kPerVector) {
          store_vector<kStore>(to, load_vector(from));
        } else {
          using Item = typename Unsigned<kElement>::Type;
          for (int e = 0; e < left; ++e)
            store<Item>(to + e * kElement, detail::load<Item>(from + e * kElement));
        }
      }
    }
  }

 private:
  // The vector at p of which only the first `left` elements exist.
  TW_DEVICE static Vector load_part(const char* p, int64_t left) {
    if (left >= kPerVector) return load_vector<kLoad>(p);
    Vector v{};
    if constexpr (kElement <= 4) {
#pragma unroll
      for (int e = 0; e < kPerVector; ++e)
        if (e < left)
          v.word[e * kElement / 4] |=
              uint32_t(detail::load<typename Unsigned<kElement>::Type>(p + e * kElement))
              << (e * kElement % 4 * 8);
    } else if constexpr (kElement == 8) {
      if (left > 0) {
        uint64_t x = detail::load<uint64_t>(p);
        v.word[0] = uint32_t(x), v.word[1] = uint32_t(x >> 32);
      }
    }
    return v;
  }
};

}  // namespace tilewright::detail
