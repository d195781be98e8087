// transpose_host(): the CPU path.
//
// Problem: a transpose reads rows and writes columns; written the obvious way every store touches
// another cache line and another page, and each line is read from memory before it is overwritten.
// Choice: tiles of 16 KiB are transposed block by block in registers (AVX2: 8x8 of 4 bytes, 4x4 of
// 8; SSE2: 16x16 of 1, 8x8 of 2 bytes) into a buffer that stays in the first-level cache, and leave
// it as whole cache lines of one output row after the other, past the caches when the matrix is
// larger than they are. Threads take bands of output rows. Limits: AVX-512 is not used. Output rows
// that do not start on 16 bytes are stored normally, not streamed.
//
// Tested by tests/unit/transpose/transpose_host_test.cpp; bench/cpu/transpose_host_bench.cpp
// measures.
#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "tilewright/transpose.h"
#include "transpose/transpose_plan.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define TW_X86 1
#endif

namespace tilewright {
namespace {

constexpr int64_t kStreamBytes = int64_t(8) << 20;  // larger results bypass the caches
constexpr int64_t kThreadBytes = int64_t(1) << 20;  // least work worth a thread

struct Matrix {
  const char* in;
  char* out;
  int64_t in_row, out_row;  // bytes
  int64_t rows, cols;
  bool stream;
};

template <int kElement> struct Item {
  unsigned char bytes[kElement];
};

// Tile extents in elements: 16 KiB, and 128 bytes or more of a row on both sides.
template <int kElement>
constexpr int kTileRows = kElement == 1   ? 128
                          : kElement == 2 ? 128
                          : kElement == 4 ? 64
                          : kElement == 8 ? 64
                                          : 32;
template <int kElement> constexpr int kTileCols = 16384 / (kTileRows<kElement> * kElement);

// rows x cols elements (at most a tile) to `buffer`, column c at c * kTileRows elements.
template <int kElement>
void transpose_tile_portable(const char* in, int64_t in_row, char* buffer, int row0, int row1,
                             int col0, int col1) {
  using T = Item<kElement>;
  for (int r = row0; r < row1; ++r)
    for (int c = col0; c < col1; ++c)
      std::memcpy(buffer + (int64_t(c) * kTileRows<kElement> + r) * kElement,
                  in + r * in_row + c * kElement, sizeof(T));
}

#ifdef TW_X86

__attribute__((target("avx2"))) inline void block4(const char* in, int64_t in_row, char* out,
                                                   int64_t out_row) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i)
    r[i] = _mm256_loadu_ps(reinterpret_cast<const float*>(in + i * in_row));
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_store_ps(reinterpret_cast<float*>(out + i * out_row),
                    _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_store_ps(reinterpret_cast<float*>(out + (i + 4) * out_row),
                    _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

__attribute__((target("avx2"))) inline void block8(const char* in, int64_t in_row, char* out,
                                                   int64_t out_row) {
  __m256d r[4], t[4];
  for (int i = 0; i < 4; ++i)
    r[i] = _mm256_loadu_pd(reinterpret_cast<const double*>(in + i * in_row));
  t[0] = _mm256_unpacklo_pd(r[0], r[1]);
  t[1] = _mm256_unpackhi_pd(r[0], r[1]);
  t[2] = _mm256_unpacklo_pd(r[2], r[3]);
  t[3] = _mm256_unpackhi_pd(r[2], r[3]);
  for (int i = 0; i < 2; ++i) {
    _mm256_store_pd(reinterpret_cast<double*>(out + i * out_row),
                    _mm256_permute2f128_pd(t[i], t[i + 2], 0x20));
    _mm256_store_pd(reinterpret_cast<double*>(out + (i + 2) * out_row),
                    _mm256_permute2f128_pd(t[i], t[i + 2], 0x31));
  }
}

inline void block2(const char* in, int64_t in_row, char* out, int64_t out_row) {
  __m128i r[8], t[8];
  for (int i = 0; i < 8; ++i)
    r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i * in_row));
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm_unpacklo_epi16(r[i], r[i + 4]);
    t[2 * i + 1] = _mm_unpackhi_epi16(r[i], r[i + 4]);
  }
  for (int i = 0; i < 4; ++i) {
    r[2 * i] = _mm_unpacklo_epi16(t[i], t[i + 4]);
    r[2 * i + 1] = _mm_unpackhi_epi16(t[i], t[i + 4]);
  }
  for (int i = 0; i < 4; ++i) {
    _mm_store_si128(reinterpret_cast<__m128i*>(out + (2 * i) * out_row),
                    _mm_unpacklo_epi16(r[i], r[i + 4]));
    _mm_store_si128(reinterpret_cast<__m128i*>(out + (2 * i + 1) * out_row),
                    _mm_unpackhi_epi16(r[i], r[i + 4]));
  }
}

// Four rounds of the same perfect shuffle: after each, byte positions take one more bit of the row.
inline void block1(const char* in, int64_t in_row, char* out, int64_t out_row) {
  __m128i r[16], t[16];
  for (int i = 0; i < 16; ++i)
    r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i * in_row));
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 8; ++i) {
      t[2 * i] = _mm_unpacklo_epi8(r[i], r[i + 8]);
      t[2 * i + 1] = _mm_unpackhi_epi8(r[i], r[i + 8]);
    }
    for (int i = 0; i < 16; ++i) r[i] = t[i];
  }
  for (int i = 0; i < 16; ++i) _mm_store_si128(reinterpret_cast<__m128i*>(out + i * out_row), r[i]);
}

inline void block16(const char* in, int64_t, char* out, int64_t) {
  _mm_store_si128(reinterpret_cast<__m128i*>(out),
                  _mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
}

template <int kElement>
constexpr int kBlock = kElement == 1   ? 16
                       : kElement == 2 ? 8
                       : kElement == 4 ? 8
                       : kElement == 8 ? 4
                                       : 1;

template <int kElement>
__attribute__((target("avx2"))) void transpose_tile_avx2(const char* in, int64_t in_row,
                                                         char* buffer, int rows, int cols) {
  constexpr int kStep = kBlock<kElement>;
  constexpr int64_t kBufferRow = int64_t(kTileRows<kElement>) * kElement;
  const int whole_rows = rows / kStep * kStep, whole_cols = cols / kStep * kStep;
  for (int r = 0; r < whole_rows; r += kStep)
    for (int c = 0; c < whole_cols; c += kStep) {
      const char* from = in + r * in_row + c * kElement;
      char* to = buffer + c * kBufferRow + r * kElement;
      if constexpr (kElement == 1) block1(from, in_row, to, kBufferRow);
      if constexpr (kElement == 2) block2(from, in_row, to, kBufferRow);
      if constexpr (kElement == 4) block4(from, in_row, to, kBufferRow);
      if constexpr (kElement == 8) block8(from, in_row, to, kBufferRow);
      if constexpr (kElement == 16) block16(from, in_row, to, kBufferRow);
    }
  transpose_tile_portable<kElement>(in, in_row, buffer, whole_rows, rows, 0, cols);
  transpose_tile_portable<kElement>(in, in_row, buffer, 0, whole_rows, whole_cols, cols);
}

// Copies bytes past the caches; both 16-byte aligned, whole vectors streamed, the rest stored.
void stream_copy(char* out, const char* from, int64_t bytes) {
  int64_t i = 0;
  for (; i + 64 <= bytes; i += 64) {
    const __m128i* p = reinterpret_cast<const __m128i*>(from + i);
    __m128i* q = reinterpret_cast<__m128i*>(out + i);
    const __m128i a = _mm_load_si128(p), b = _mm_load_si128(p + 1), c = _mm_load_si128(p + 2),
                  d = _mm_load_si128(p + 3);
    _mm_stream_si128(q, a);
    _mm_stream_si128(q + 1, b);
    _mm_stream_si128(q + 2, c);
    _mm_stream_si128(q + 3, d);
  }
  std::memcpy(out + i, from + i, size_t(bytes - i));
}
#endif

template <int kElement>
void transpose_band(const Matrix& m, int64_t col_begin, int64_t col_end, bool avx2) {
  alignas(64) char buffer[16384];
  constexpr int kRows = kTileRows<kElement>, kCols = kTileCols<kElement>;
  for (int64_t c0 = col_begin; c0 < col_end; c0 += kCols) {
    const int cols = int(std::min<int64_t>(kCols, col_end - c0));
    for (int64_t r0 = 0; r0 < m.rows; r0 += kRows) {
      const int rows = int(std::min<int64_t>(kRows, m.rows - r0));
      const char* in = m.in + r0 * m.in_row + c0 * kElement;
#ifdef TW_X86
      // The next tile down: its rows lie far apart, beyond what the hardware prefetchers follow.
      if (r0 + kRows < m.rows) {
        const int next = int(std::min<int64_t>(kRows, m.rows - r0 - kRows));
        for (int r = 0; r < next; ++r)
          for (int b = 0; b < cols * kElement; b += 64)
            __builtin_prefetch(in + (kRows + r) * m.in_row + b, 0, 2);
      }
      if (avx2)
        transpose_tile_avx2<kElement>(in, m.in_row, buffer, rows, cols);
      else
#endif
        transpose_tile_portable<kElement>(in, m.in_row, buffer, 0, rows, 0, cols);
      char* out = m.out + c0 * m.out_row + r0 * kElement;
      for (int c = 0; c < cols; ++c, out += m.out_row) {
        const char* from = buffer + int64_t(c) * kRows * kElement;
#ifdef TW_X86
        if (m.stream && (reinterpret_cast<uintptr_t>(out) & 15) == 0) {
          stream_copy(out, from, int64_t(rows) * kElement);
          continue;
        }
#endif
        std::memcpy(out, from, size_t(rows) * kElement);
      }
    }
  }
#ifdef TW_X86
  _mm_sfence();
#endif
  (void)avx2;
}

void transpose_columns(const Matrix& m, int element, int64_t begin, int64_t end, bool avx2) {
  switch (element) {
    case 1: return transpose_band<1>(m, begin, end, avx2);
    case 2: return transpose_band<2>(m, begin, end, avx2);
    case 4: return transpose_band<4>(m, begin, end, avx2);
    case 8: return transpose_band<8>(m, begin, end, avx2);
    default: return transpose_band<16>(m, begin, end, avx2);
  }
}

}  // namespace

Status transpose_host(const void* in, int64_t ld_in, void* out, int64_t ld_out, int64_t rows,
                      int64_t cols, int element_bytes, const Batch& batch, int threads) noexcept {
  plan::TransposeProblem p;
  p.element_bytes = element_bytes;
  p.rows = rows;
  p.cols = cols;
  p.ld_in = ld_in;
  p.ld_out = ld_out;
  p.batch = batch.count;
  p.stride_in = batch.stride_in;
  p.stride_out = batch.stride_out;
  p.in_address = reinterpret_cast<uint64_t>(in);
  p.out_address = reinterpret_cast<uint64_t>(out);
  if (Status status = plan::validate(p); !status.ok()) return status;
  if (threads < 0) return {StatusCode::kInvalidArgument, "threads", "is negative", 0};
  if (rows == 0 || cols == 0 || batch.count == 0) return {};

  bool avx2 = false;
#ifdef TW_X86
  avx2 = __builtin_cpu_supports("avx2");
#endif
  const int64_t bytes = rows * cols * element_bytes;
  // Bands of whole tiles: work = matrices x bands, dealt out in order.
  const int64_t band = 16384 /
                       (element_bytes <= 2   ? 128
                        : element_bytes <= 8 ? 64
                                             : 32) /
                       element_bytes;
  const int64_t bands = (cols + band - 1) / band, units = bands * batch.count;
  int64_t workers =
      threads > 0 ? threads : int64_t(std::max(1u, std::thread::hardware_concurrency()));
  workers = std::clamp<int64_t>(std::min(workers, bytes * batch.count / kThreadBytes), 1, units);
  auto work = [&](int64_t worker) {
    const int64_t begin = units * worker / workers, end = units * (worker + 1) / workers;
    for (int64_t unit = begin; unit < end;) {
      const int64_t which = unit / bands, first = unit % bands;
      const int64_t last = std::min(bands, first + (end - unit));
      const Matrix m{static_cast<const char*>(in) + which * batch.stride_in * element_bytes,
                     static_cast<char*>(out) + which * batch.stride_out * element_bytes,
                     ld_in * element_bytes,
                     ld_out * element_bytes,
                     rows,
                     cols,
                     bytes * batch.count >= kStreamBytes};
      transpose_columns(m, element_bytes, first * band, std::min(cols, last * band), avx2);
      unit += last - first;
    }
  };
  std::vector<std::thread> pool;
  int64_t started = 1;
  try {
    for (; started < workers; ++started) pool.emplace_back(work, started);
  } catch (...) {  // no more threads or memory: this one does the rest
  }
  work(0);
  for (; started < workers; ++started) work(started);
  for (std::thread& t : pool) t.join();
  return {};
}

}  // namespace tilewright
