// Runs the tile bodies of the GPU transpose on the host, thread by thread, against the definition.
// A phase is a function of (thread, shared memory, tile); between the phases lies the barrier, so
// running all threads of one phase after the other is one legal schedule. Also counts the
// shared-memory wavefronts the vector tile's swizzle promises.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#pragma GCC diagnostic ignored "-Wunknown-pragmas"  // unroll is nvcc's
#include "../../../kernels/transpose/lib/element_tile.cuh"
#include "../../../kernels/transpose/lib/funnel_tile.cuh"
#include "../../../kernels/transpose/lib/narrow_strip.cuh"
#include "../../../kernels/transpose/lib/raw_tile.cuh"
#include "../../../kernels/transpose/lib/strip_tile.cuh"
#include "../../../kernels/transpose/lib/vector_tile.cuh"
#include "../../../kernels/transpose/lib/word_tile.cuh"

namespace tilewright::detail {
namespace {

// Input and output with leading dimensions and byte offsets, canaries around every output row.
struct Problem {
  int element;
  int64_t rows, cols, ld_in, ld_out;
  int in_offset, out_offset;  // bytes past a 32-byte boundary
  std::vector<char> in_store, out_store;
  char *in, *out;

  Problem(int element_, int64_t rows_, int64_t cols_, int64_t ld_in_, int64_t ld_out_,
          int in_off = 0, int out_off = 0)
      : element(element_),
        rows(rows_),
        cols(cols_),
        ld_in(ld_in_),
        ld_out(ld_out_),
        in_offset(in_off),
        out_offset(out_off) {
    in_store.resize(size_t(rows * ld_in * element + 128));
    out_store.assign(size_t(cols * ld_out * element + 128), char(0x5a));
    std::mt19937 random(7);
    for (char& c : in_store) c = char(random());
    in = align(in_store.data()) + in_off;
    out = align(out_store.data()) + out_off;
  }
  static char* align(char* p) {
    return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(p) + 63) / 64 * 64);
  }

  static char* align16(char* p) {
    return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(p) + 15) / 16 * 16);
  }

  // Every element right, and nothing between the rows touched.
  void expect_transposed() const {
    std::vector<char> want(out_store.size(), char(0x5a));
    char* w = want.data() + (out - out_store.data());
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c)
        std::memcpy(w + (c * ld_out + r) * element, in + (r * ld_in + c) * element,
                    size_t(element));
    size_t wrong = 0;
    for (size_t i = 0; i < want.size(); ++i) wrong += want[i] != out_store[i];
    EXPECT_EQ(wrong, 0u) << "element " << element << ", " << rows << "x" << cols << ", ld " << ld_in
                         << "/" << ld_out << ", offsets " << in_offset << "/" << out_offset;
  }
};

template <class Tile> void run_vector(const Problem& p) {
  alignas(128) static char shared[Tile::kSharedBytes];
  for (int64_t r0 = 0; r0 < p.rows; r0 += Tile::kRows)
    for (int64_t c0 = 0; c0 < p.cols; c0 += Tile::kCols) {
      for (int t = 0; t < Tile::kThreadCount; ++t)
        Tile::load(t, shared, p.in + (r0 * p.ld_in + c0) * p.element, p.ld_in * p.element,
                   p.rows - r0, p.cols - c0);
      for (int t = 0; t < Tile::kThreadCount; ++t)
        Tile::store_tile(t, shared, p.out + (c0 * p.ld_out + r0) * p.element, p.ld_out * p.element,
                         p.rows - r0, p.cols - c0);
    }
  p.expect_transposed();
}

// `beside`: few columns past whole tiles go with the last of them.
template <class Tile> void run_funnel(const Problem& p, bool beside) {
  alignas(128) static char shared[Tile::kSharedBytes + Tile::kFewBytes];
  static std::vector<typename Tile::Held> held(Tile::kThreadCount);
  const int64_t tiles = (p.rows + Tile::kHalo - 1 + Tile::kRows - 1) / Tile::kRows;
  const int64_t out_row_bytes = p.ld_out * p.element;
  typename Tile::Matrix m{p.in, p.ld_in * p.element, p.rows, p.cols};
  for (int64_t tile = 0; tile < tiles; ++tile)
    for (int64_t c0 = 0; c0 < p.cols; c0 += Tile::kCols) {
      const int64_t first = tile * Tile::kRows - Tile::kHalo, next = c0 + Tile::kCols;
      if (p.cols - c0 <= Tile::kFewColumns) {
        if (!beside || c0 == 0)
          for (int t = 0; t < Tile::kThreadCount; ++t)
            Tile::move_few(t, m, p.out, out_row_bytes, tile, c0);
        continue;
      }
      const bool few = beside && next < p.cols && p.cols - next <= Tile::kFewColumns;
      for (int t = 0; t < Tile::kThreadCount; ++t) {
        Tile::load(t, shared, m, first, c0);
        if (few) Tile::load_few(t, shared, m, p.out, out_row_bytes, tile, next);
      }
      for (int t = 0; t < Tile::kThreadCount; ++t)
        Tile::gather(t, shared, held[size_t(t)], m, first, c0);
      for (int t = 0; t < Tile::kThreadCount; ++t)
        Tile::scatter(t, shared, held[size_t(t)], p.out, out_row_bytes, c0);
      for (int t = 0; t < Tile::kThreadCount; ++t) {
        Tile::store_tile(t, shared, p.out, out_row_bytes, tile, c0, p.rows, p.cols);
        if (few) Tile::store_few(t, shared, m, p.out, out_row_bytes, tile, next);
      }
    }
  p.expect_transposed();
}

template <class Tile> void run_raw(const Problem& p) {
  alignas(128) static char shared[Tile::kSharedBytes];
  int64_t tiles = (p.rows + Tile::kHalo - 1 + Tile::kRows - 1) / Tile::kRows;
  typename Tile::Matrix m{p.in, p.ld_in * p.element, p.rows, p.cols};
  for (int64_t tile = 0; tile < tiles; ++tile)
    for (int64_t c0 = 0; c0 < p.cols; c0 += Tile::kCols) {
      for (int t = 0; t < Tile::kThreadCount; ++t)
        Tile::load(t, shared, m, tile * Tile::kRows - Tile::kHalo, c0);
      for (int t = 0; t < Tile::kThreadCount; ++t)
        Tile::store_tile(t, shared, m, p.out, p.ld_out * p.element, tile, c0);
    }
  p.expect_transposed();
}

template <class Tile> void vector_shapes() {
  const int e = Tile::kElementBytes, v = 16 / e;
  auto up = [&](int64_t n) { return (n + v - 1) / v * v; };
  for (int64_t rows :
       {int64_t(1), int64_t(Tile::kRows - 1), int64_t(Tile::kRows), int64_t(2 * Tile::kRows + 3)})
    for (int64_t cols : {int64_t(1), int64_t(Tile::kCols), int64_t(Tile::kCols + 5)})
      run_vector<Tile>(Problem(e, rows, cols, up(cols), up(rows) + v));
}

template <class Tile> void funnel_shapes() {
  const int e = Tile::kElementBytes;
  for (int64_t rows :
       {int64_t(1), int64_t(Tile::kRows - 1), int64_t(Tile::kRows), int64_t(3 * Tile::kRows + 1)})
    for (int64_t cols : {int64_t(1), int64_t(20), int64_t(Tile::kCols), int64_t(Tile::kCols + 5),
                         int64_t(Tile::kCols + 20)})
      for (int pad : {0, 1, 3})
        for (bool beside : {false, true})
          run_funnel<Tile>(Problem(e, rows, cols, cols + pad, rows + pad, e * (pad % (32 / e)), e),
                           beside);
}

template <class Tile> void raw_shapes() {
  const int e = Tile::kElementBytes;
  for (int64_t rows :
       {int64_t(1), int64_t(Tile::kRows - 1), int64_t(Tile::kRows), int64_t(3 * Tile::kRows + 1)})
    for (int64_t cols : {int64_t(1), int64_t(Tile::kCols), int64_t(Tile::kCols + 5)})
      for (int pad : {0, 1, 3})
        run_raw<Tile>(Problem(e, rows, cols, cols + pad, rows + pad, e * (pad % (32 / e)), e));
}

TEST(TransposeTile, RawTileIsTheTransposeAtAnyAlignment) {
  raw_shapes<RawTile<4, 16, 512, 256>>();
  raw_shapes<RawTile<4, 16, 512, 256, 32, 128, Copy::kAsyncCached>>();
  raw_shapes<RawTile<4, 8, 512, 256, 128>>();
  raw_shapes<RawTile<8, 16, 512, 256, 64>>();
  raw_shapes<RawTile<16, 16, 512, 256>>();
  raw_shapes<RawTile<16, 32, 256, 128>>();
  raw_shapes<RawTile<16, 64, 512, 256, 32, 128, Copy::kAsyncCached>>();
  raw_shapes<
      RawTile<4, 16, 512, 256, 32, 128, Copy::kAsyncCached, Cache::kDefault, Cache::kDefault, 9>>();
}

TEST(TransposeTile, VectorTileIsTheTranspose) {
  vector_shapes<VectorTile<1, 128, 128, 256>>();
  vector_shapes<VectorTile<1, 256, 128, 512>>();
  vector_shapes<VectorTile<2, 64, 64, 128>>();
  vector_shapes<VectorTile<2, 128, 64, 256>>();
  vector_shapes<VectorTile<4, 64, 64, 256>>();
  vector_shapes<VectorTile<4, 32, 64, 128>>();
  vector_shapes<VectorTile<8, 32, 32, 128>>();
  vector_shapes<VectorTile<8, 64, 32, 256>>();
  vector_shapes<VectorTile<16, 16, 16, 64>>();
  vector_shapes<VectorTile<16, 32, 32, 256>>();
  // 256 or 512 bytes of a row to a warp.
  constexpr Cache kPlain = Cache::kDefault;
  vector_shapes<VectorTile<1, 128, 256, 512, kPlain, kPlain, 16>>();
  vector_shapes<VectorTile<2, 128, 128, 512, kPlain, kPlain, 16>>();
  vector_shapes<VectorTile<4, 64, 64, 256, kPlain, kPlain, 16>>();
  vector_shapes<VectorTile<8, 32, 32, 256, kPlain, kPlain, 16>>();
  vector_shapes<VectorTile<16, 16, 32, 256, kPlain, kPlain, 32>>();
  vector_shapes<VectorTile<16, 32, 16, 256, kPlain, kPlain, 16>>();
}

TEST(TransposeTile, FunnelTileIsTheTransposeAtAnyAlignment) {
  funnel_shapes<FunnelTile<1, 256, 128, 256>>();
  funnel_shapes<FunnelTile<2, 128, 64, 256>>();
  funnel_shapes<FunnelTile<2, 256, 64, 256, 32, 128, Copy::kAsyncCached>>();
  funnel_shapes<FunnelTile<1, 128, 128, 128, 32, 128, Copy::kAsyncCached, 9>>();
  funnel_shapes<FunnelTile<1, 128, 128, 256, 32, 128, Copy::kAsyncCached>>();
  funnel_shapes<FunnelTile<2, 128, 128, 256, 32, 128, Copy::kAsyncCached>>();
}

template <int kElement> void tall_and_wide() {
  constexpr int kThreads = 128;
  const int log_long = 7 - TallStrip<kElement, kThreads>::log2_of(kElement) + 1;  // 256 bytes
  for (int short_side : {1, 2, 3, 8, 31})
    for (int64_t long_side :
         {int64_t(1), int64_t(5), int64_t(1) << log_long, int64_t(1000), int64_t(1025)})
      for (int offset : {0, 1, 5}) {
        int bytes = offset * kElement;
        {
          using Tile = TallStrip<kElement, kThreads>;
          Problem p(kElement, long_side, short_side, short_side, long_side + offset, bytes,
                    bytes % 32);
          std::vector<char> shared_store(size_t(Tile::shared_bytes(log_long, short_side)) + 16);
          char* shared = Problem::align16(shared_store.data());
          typename Tile::Strip s{p.in, p.out, p.ld_out * kElement, p.rows, short_side, log_long};
          for (int64_t tile = 0; tile < Tile::tiles(p.rows, log_long); ++tile) {
            for (int t = 0; t < kThreads; ++t) Tile::load(t, shared, s, tile);
            for (int t = 0; t < kThreads; ++t) Tile::store_tile(t, shared, s, tile);
          }
          p.expect_transposed();
        }
        {
          using Tile = WideStrip<kElement, kThreads>;
          Problem p(kElement, short_side, long_side, long_side + offset, short_side, bytes,
                    bytes % 32);
          std::vector<char> shared_store(size_t(Tile::shared_bytes(log_long, short_side)) + 16);
          char* shared = Problem::align16(shared_store.data());
          typename Tile::Strip s{p.in, p.out, p.ld_in * kElement, p.cols, short_side, log_long};
          for (int64_t tile = 0; tile < Tile::tiles(p.cols, log_long); ++tile) {
            for (int t = 0; t < kThreads; ++t) Tile::load(t, shared, s, tile);
            for (int t = 0; t < kThreads; ++t) Tile::store_tile(t, shared, s, tile);
          }
          p.expect_transposed();
        }
      }
}

TEST(TransposeTile, StripsAreTheTranspose) {
  tall_and_wide<1>();
  tall_and_wide<2>();
  tall_and_wide<4>();
  tall_and_wide<8>();
  tall_and_wide<16>();
}

// Tiles of a few instructions: rows start on `align` elements.
template <class Tile> void plain_shapes(int64_t align) {
  const int e = Tile::kElementBytes;
  auto up = [&](int64_t n) { return (n + align - 1) / align * align; };
  for (int64_t rows : {int64_t(1), int64_t(31), int64_t(Tile::kRows), int64_t(2 * Tile::kRows + 3)})
    for (int64_t cols : {int64_t(1), int64_t(Tile::kCols - 1), int64_t(Tile::kCols + 5)})
      run_vector<Tile>(Problem(e, rows, cols, up(cols), up(rows) + align));
}

TEST(TransposeTile, WordAndElementTilesAreTheTranspose) {
  plain_shapes<WordTile<1, 64, 64, 256>>(4);
  plain_shapes<WordTile<2, 32, 64, 128>>(2);
  plain_shapes<ElementTile<1, 256>>(1);
  plain_shapes<ElementTile<2, 256>>(1);
  plain_shapes<ElementTile<4, 256>>(1);
  plain_shapes<ElementTile<8, 256, 8>>(1);
  plain_shapes<ElementTile<8, 256, 4>>(1);
  plain_shapes<ElementTile<16, 256, 16>>(1);
  plain_shapes<ElementTile<16, 256, 4>>(1);
}

template <int kElement, int kWidth> void narrow() {
  using Tile = NarrowStrip<kElement, kWidth, 1>;
  alignas(16) static char piece[Tile::kWarpBytes];
  constexpr int kVector = 16 / kElement;
  for (int64_t length : {1, Tile::kLong - 1, Tile::kLong, 2 * Tile::kLong + 5})
    for (int pad : {0, kVector}) {
      const int64_t pitch = (length + kVector - 1) / kVector * kVector + pad;
      auto run = [&]<bool kTall>(const Problem& p) {
        const typename Tile::Strip s{p.in, p.out, pitch * kElement, length};
        for (int64_t i = 0; i * Tile::kLong < length; ++i) {
          for (int lane = 0; lane < 32; ++lane) Tile::template fill<kTall>(lane, piece, s, i);
          for (int lane = 0; lane < 32; ++lane) Tile::template drain<kTall>(lane, piece, s, i);
        }
        p.expect_transposed();
      };
      run.template operator()<true>(Problem(kElement, length, kWidth, kWidth, pitch));
      run.template operator()<false>(Problem(kElement, kWidth, length, pitch, kWidth));
    }
}

template <int kElement> void narrow_widths() {
  narrow<kElement, 2>();
  narrow<kElement, 3>();
  narrow<kElement, 4>();
  narrow<kElement, 5>();
  narrow<kElement, 6>();
  narrow<kElement, 7>();
  narrow<kElement, 8>();
}

TEST(TransposeTile, NarrowStripsAreTheTranspose) {
  narrow_widths<1>();
  narrow_widths<2>();
  narrow_widths<4>();
  narrow_widths<8>();
}

template <int kElement> void packed() {
  constexpr int kThreads = 64;
  using Tile = PackedBatch<kElement, kThreads>;
  for (auto [rows, cols] :
       {std::pair(3, 5), std::pair(8, 8), std::pair(1, 7), std::pair(16, 2), std::pair(32, 12)})
    for (int count : {1, 4, 11})
      for (int offset : {0, 1}) {
        const int per_tile = 4, size = rows * cols * kElement;
        std::vector<char> in_store(size_t(count * size + 64)),
            out_store(size_t(count * size + 64), char(0x5a));
        std::mt19937 random(3);
        for (char& c : in_store) c = char(random());
        char* in = Problem::align16(in_store.data()) + offset * kElement;
        char* out = Problem::align16(out_store.data()) + offset * kElement;
        std::vector<char> want = out_store,
                          shared_store(size_t(Tile::shared_bytes(per_tile, rows, cols)) + 16);
        for (int b = 0; b < count; ++b)
          for (int r = 0; r < rows; ++r)
            for (int c = 0; c < cols; ++c)
              std::memcpy(
                  want.data() + (out - out_store.data()) + b * size + (c * rows + r) * kElement,
                  in + b * size + (r * cols + c) * kElement, kElement);
        char* shared = Problem::align16(shared_store.data());
        typename Tile::Pack p{in, out, count, rows, cols, per_tile};
        for (int64_t tile = 0; tile < Tile::tiles(count, per_tile); ++tile) {
          for (int t = 0; t < kThreads; ++t) Tile::load(t, shared, p, tile);
          for (int t = 0; t < kThreads; ++t) Tile::store_tile(t, shared, p, tile);
        }
        EXPECT_EQ(out_store, want)
            << kElement << " bytes, " << count << " of " << rows << "x" << cols;
      }
}

TEST(TransposeTile, PackedBatchIsTheTranspose) {
  packed<1>();
  packed<2>();
  packed<4>();
  packed<8>();
  packed<16>();
}

// The swizzle: for each group of lanes that the hardware serves together (32, 16 or 8 lanes for 4,
// 8 or 16 bytes), the words wanted lie in different banks.
template <class Tile> int conflicts_of_loads() {
  int extra = 0;
  for (int k = 0; k < Tile::kStores; ++k)
    for (int first = 0; first < Tile::kThreadCount; first += 8) {
      unsigned banks = 0;
      for (int t = first; t < first + 8; ++t) {
        int u = t + k * Tile::kThreadCount;
        int offset = Tile::shared_offset(u / Tile::kChunks, u % Tile::kChunks * 16);
        unsigned want = 0xfu << (offset / 4 % 32);
        extra += (banks & want) != 0;
        banks |= want;
      }
    }
  return extra;
}

template <class Tile> int conflicts_of_stores() {
  int extra = 0, lanes = 128 / Tile::kWordBytes, words = Tile::kWordBytes / 4;
  for (int k = 0; k < Tile::kLoads; ++k)
    for (int first = 0; first < Tile::kThreadCount; first += lanes)
      for (int j = 0; j < Tile::kPerVector; ++j) {
        unsigned banks = 0;
        for (int t = first; t < first + lanes; ++t) {
          int vector, group;
          Tile::unit(t, k, vector, group);
          int offset = Tile::shared_offset(vector * Tile::kPerVector + j, group * Tile::kWordBytes);
          unsigned want = (words == 4 ? 0xfu : words == 2 ? 3u : 1u) << (offset / 4 % 32);
          extra += (banks & want) != 0;
          banks |= want;
        }
      }
  return extra;
}

TEST(TransposeTile, SwizzleHasNoBankConflict) {
  EXPECT_EQ((conflicts_of_loads<VectorTile<1, 128, 128, 256>>()), 0);
  EXPECT_EQ((conflicts_of_loads<VectorTile<4, 64, 64, 256>>()), 0);
  EXPECT_EQ((conflicts_of_loads<VectorTile<16, 32, 32, 256>>()), 0);
  EXPECT_EQ((conflicts_of_stores<VectorTile<1, 128, 128, 256>>()), 0);
  EXPECT_EQ((conflicts_of_stores<VectorTile<2, 64, 64, 128>>()), 0);
  EXPECT_EQ((conflicts_of_stores<VectorTile<4, 64, 64, 256>>()), 0);
  EXPECT_EQ((conflicts_of_stores<VectorTile<8, 32, 32, 128>>()), 0);
  EXPECT_EQ((conflicts_of_stores<VectorTile<16, 16, 16, 64>>()), 0);
}

}  // namespace
}  // namespace tilewright::detail
