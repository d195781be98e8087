// transpose_host(): the CPU path.
//
// Problem: a transpose reads rows and writes columns; written the obvious way every store touches
// another cache line and another page, and each line is read from memory before it is overwritten.
// Choice (host_tile.inc): blocks are transposed in registers (AVX2 or AVX-512) into a buffer of a
// few output rows, and leave it as whole cache lines past the caches, in panels that use up an
// input page before they leave it and write a kilobyte or more to an output page at a visit. With
// AVX-512 (with VBMI) lines leave from registers, two to four of an output row side by side.
// Results that fit the caches go through the same blocks with normal stores. Threads take ranges of
// columns, and of rows where there are few columns. Limits: without AVX2, plain loops in square
// tiles.
//
// Tested by tests/unit/transpose/transpose_host_test.cpp; bench/cpu/transpose_host_bench.cpp
// measures.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "tilewright/transpose.h"
#include "transpose/host_isa.h"
#include "transpose/transpose_plan.h"

#if defined(__x86_64__)
// GCC 12 takes the undefined registers of its own AVX-512 headers for ours.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#define TW_X86 1
#endif

namespace tilewright {
namespace {

constexpr int64_t kStreamBytes = int64_t(8) << 20;  // larger results bypass the caches
constexpr int64_t kThreadBytes = int64_t(1) << 20;  // least work worth a thread
constexpr int64_t kRowChunk = 4096;                 // threads share a matrix's rows in these

struct Matrix {
  const char* in;
  char* out;
  int64_t in_row, out_row;  // bytes
  int64_t rows, cols;
};

// Panels of the streaming path, for elements of 1, 2, 4, 8 and 16 bytes: rows, bytes of a row side
// by side, and how many rows ahead lines are fetched. The fastest of 32 combinations on a Xeon with
// AVX-512, matrices beyond the caches (docs/transpose.md).
struct PanelShape {
  int rows, row_bytes, ahead;
};
constexpr PanelShape kPanels[5] = {
    {256, 256, 16}, {64, 128, 32}, {64, 128, 16}, {32, 256, 8}, {32, 128, 16}};
constexpr PanelShape panel_of(int element_bytes) {
  return kPanels[plan::size_index(element_bytes)];
}
template <int kElement> constexpr int64_t kPanelBytes = panel_of(kElement).rows * kElement;
template <int kElement>
constexpr int kHostColumns = std::max(panel_of(kElement).row_bytes / kElement, kElement == 1   ? 32
                                                                               : kElement == 2 ? 16
                                                                                               : 8);
template <int kElement> constexpr int kHostAhead = panel_of(kElement).ahead;
// The path of lines (AVX-512), for the same elements. Bytes of a row side by side: no more columns
// than the TLB holds pages. Where output rows start anywhere, every column carries a line: fewer
// columns keep them nearer.
constexpr int64_t kBands[5] = {1024, 2048, 4096, 8192, 8192};
constexpr int64_t kCarryingBands[5] = {1024, 2048, 2048, 4096, 8192};
template <int kElement, bool kCarrying>
constexpr int64_t kBandBytes = (kCarrying ? kCarryingBands : kBands)[plan::size_index(kElement)];
constexpr int64_t kHostBufferBytes = 256 * 1024;

// Elements one by one, in squares that fit the first-level cache.
template <int kElement> void copy_squares(const Matrix& m, int64_t col_begin, int64_t col_end) {
  constexpr int64_t kSide = 32;
  for (int64_t r0 = 0; r0 < m.rows; r0 += kSide)
    for (int64_t c0 = col_begin; c0 < col_end; c0 += kSide)
      for (int64_t c = c0; c < std::min(c0 + kSide, col_end); ++c)
        for (int64_t r = r0; r < std::min(r0 + kSide, m.rows); ++r)
          std::memcpy(m.out + c * m.out_row + r * kElement, m.in + r * m.in_row + c * kElement,
                      kElement);
}

#ifdef TW_X86
#define TW_UNROLL _Pragma("GCC unroll 16")
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
namespace avx2 {
#include "host_tile.inc"
}
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(                                                    \
    __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512vbmi,prfchw"))), \
    apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,avx512f,avx512bw,avx512vl,avx512vbmi,prfchw")
#endif
#define TW_HOST_AVX512 1
namespace avx512 {
#include "host_tile.inc"
}
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

using Isa = detail::HostIsa;

struct Free {
  void operator()(char* p) const { std::free(p); }
};

template <int kElement>
void run_columns(const Matrix& m, int64_t begin, int64_t end, bool stream, Isa isa) {
#ifdef TW_X86
  if (stream && isa == Isa::kAvx512) {
    if (std::unique_ptr<char, Free> scratch(
            static_cast<char*>(std::aligned_alloc(64, size_t(avx512::kLineScratch<kElement>))));
        scratch)
      return (reinterpret_cast<uintptr_t>(m.out) | uintptr_t(m.out_row)) % 64 == 0
                 ? avx512::stream_lines<kElement, true>(m, begin, end, scratch.get())
                 : avx512::stream_lines<kElement, false>(m, begin, end, scratch.get());
  }
  if (isa != Isa::kPortable) {
    const size_t bytes = 2 * kHostBufferBytes + (stream ? size_t(end - begin) * 64 : 0);
    // No memory: the plain loops need none.
    if (std::unique_ptr<char, Free> scratch(static_cast<char*>(std::aligned_alloc(64, bytes)));
        scratch) {
      char* const buffers[] = {scratch.get(), scratch.get() + kHostBufferBytes};
      char* carried = scratch.get() + 2 * kHostBufferBytes;
      if (isa == Isa::kAvx512 && !stream)
        return avx512::store_columns<kElement>(m, begin, end, buffers[0]);
      return stream ? avx2::stream_columns<kElement>(m, begin, end, buffers, carried)
                    : avx2::store_columns<kElement>(m, begin, end, buffers[0]);
    }
  }
#endif
  (void)stream, (void)isa;
  copy_squares<kElement>(m, begin, end);
}

void transpose_columns(const Matrix& m, int element, int64_t begin, int64_t end, bool stream,
                       Isa isa) {
  switch (element) {
    case 1: return run_columns<1>(m, begin, end, stream, isa);
    case 2: return run_columns<2>(m, begin, end, stream, isa);
    case 4: return run_columns<4>(m, begin, end, stream, isa);
    case 8: return run_columns<8>(m, begin, end, stream, isa);
    default: return run_columns<16>(m, begin, end, stream, isa);
  }
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

detail::HostIsa detail::host_isa() {
#ifdef TW_X86
  if (!__builtin_cpu_supports("avx2")) return Isa::kPortable;
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512vbmi")
             ? Isa::kAvx512
             : Isa::kAvx2;
#else
  return Isa::kPortable;
#endif
}

Status transpose_host(const void* in, int64_t ld_in, void* out, int64_t ld_out, int64_t rows,
                      int64_t cols, int element_bytes, const Batch& batch, int threads) noexcept {
  return detail::transpose_host_with(detail::host_isa(), in, ld_in, out, ld_out, rows, cols,
                                     element_bytes, batch, threads);
}

Status detail::transpose_host_with(HostIsa isa, const void* in, int64_t ld_in, void* out,
                                   int64_t ld_out, int64_t rows, int64_t cols, int element_bytes,
                                   const Batch& batch, int threads) noexcept {
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

  const int64_t bytes = rows * cols * element_bytes;
  int64_t workers =
      threads > 0 ? threads : int64_t(std::max(1u, std::thread::hardware_concurrency()));
  workers = std::clamp<int64_t>(bytes * batch.count / kThreadBytes, 1, workers);
  // Work = matrices x chunks of rows x bands of columns, dealt out in order. Rows are shared only
  // where there are too few bands.
  const int64_t band = 256 / element_bytes, bands = ceil_div(cols, band);
  const int64_t chunks =
      std::clamp<int64_t>(ceil_div(workers, bands * batch.count), 1, ceil_div(rows, kRowChunk));
  const int64_t chunk = ceil_div(ceil_div(rows, chunks), kRowChunk) * kRowChunk;
  const int64_t units = bands * chunks * batch.count;
  workers = std::min(workers, units);
  auto work = [&](int64_t worker) {
    const int64_t begin = units * worker / workers, end = units * (worker + 1) / workers;
    for (int64_t unit = begin; unit < end;) {
      const int64_t which = unit / bands / chunks, row = unit / bands % chunks * chunk;
      const int64_t first = unit % bands, last = std::min(bands, first + (end - unit));
      unit += last - first;
      if (row >= rows) continue;
      const Matrix m{
          static_cast<const char*>(in) + (which * batch.stride_in + row * ld_in) * element_bytes,
          static_cast<char*>(out) + (which * batch.stride_out + row) * element_bytes,
          ld_in * element_bytes,
          ld_out * element_bytes,
          std::min(chunk, rows - row),
          cols};
      transpose_columns(m, element_bytes, first * band, std::min(cols, last * band),
                        bytes * batch.count >= kStreamBytes, isa);
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
