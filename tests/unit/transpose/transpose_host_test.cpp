// The CPU transpose against the definition, on every instruction set that this CPU has: every
// element size, ragged shapes, leading dimensions, batches, threads; bytes between rows stay
// untouched.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "tilewright/transpose.h"
#include "transpose/host_isa.h"

namespace tilewright {
namespace {

// shift: elements that `in` and `out` start off their alignment.
void check(int e, int64_t rows, int64_t cols, int64_t pad_in, int64_t pad_out, int64_t count,
           int threads, int64_t shift = 0) {
  const int64_t ld_in = cols + pad_in, ld_out = rows + pad_out;
  const int64_t in_size = rows * ld_in, out_size = cols * ld_out;
  std::vector<char> in_store(size_t((count * in_size + shift) * e + 80)),
      out(size_t((count * out_size + shift) * e + 80), char(0x5a));
  // Rows start on lines where leading dimensions and shift allow.
  auto begin = [&](std::vector<char>& v) {
    return v.data() + (-reinterpret_cast<uintptr_t>(v.data()) & 63) + shift * e;
  };
  const char* const in = begin(in_store);
  char* const to = begin(out);
  std::mt19937 random(11);
  for (char& c : in_store) c = char(random());
  std::vector<char> want_store = out;
  char* const want = want_store.data() + (to - out.data());
  for (int64_t b = 0; b < count; ++b)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c)
        std::memcpy(want + (b * out_size + c * ld_out + r) * e,
                    in + (b * in_size + r * ld_in + c) * e, size_t(e));
  const std::vector<char> poisoned = out;
  for (auto isa : {detail::HostIsa::kPortable, detail::HostIsa::kAvx2, detail::HostIsa::kAvx512}) {
    if (isa > detail::host_isa()) continue;
    std::memcpy(out.data(), poisoned.data(), out.size());
    ASSERT_TRUE(detail::transpose_host_with(isa, in, ld_in, to, ld_out, rows, cols, e,
                                            {count, in_size, out_size}, threads)
                    .ok());
    EXPECT_TRUE(out == want_store)
        << e << " bytes, " << rows << "x" << cols << " pads " << pad_in << "/" << pad_out
        << ", shift " << shift << ", instruction set " << int(isa);
  }
}

TEST(TransposeHost, EveryElementSizeAndShape) {
  for (int e : {1, 2, 4, 8, 16})
    for (auto [rows, cols] : {std::pair(1, 1), std::pair(1, 300), std::pair(300, 1),
                              std::pair(64, 64), std::pair(129, 257), std::pair(33, 7)})
      for (int pad : {0, 1, 5}) check(e, rows, cols, pad, pad ? pad + 1 : 0, 1, 1);
}

TEST(TransposeHost, BatchesThreadsAndStreamedStores) {
  check(4, 50, 70, 0, 0, 9, 1);
  check(4, 1024, 1030, 2, 0, 3, 2);  // threads
  check(4, 1536, 1536, 0, 0, 1, 2);  // 9 MiB: streamed
  check(1, 3001, 3003, 0, 0, 1, 3);  // 9 MB, odd rows: lines carried from panel to panel
  check(2, 2100, 2047, 5, 3, 1, 2);
  check(4, 1601, 1503, 7, 1, 1, 2);
  check(8, 1100, 1001, 1, 3, 1, 1);
  check(16, 733, 801, 0, 1, 1, 2);
  check(4, 1601, 1503, 7, 15, 1, 2);  // output rows on lines, margins on both sides
  check(8, 1101, 1003, 1, 3, 1, 2);
  check(16, 733, 803, 0, 3, 1, 1);
  check(4, 3000, 7, 0, 8, 130, 2);
  check(2, 1 << 21, 3, 0, 1, 1, 4);  // few columns: threads share the rows
  check(4, 3, 900001, 1, 0, 1, 2);   // and few rows
  check(2, 70, 70001, 0, 1, 1, 1);   // more columns than lines are carried at a time
  check(1, 63, 140001, 0, 0, 1, 1);  // no whole block of rows
  check(1, 4200, 2100, 3, 8, 1, 1);  // output rows of 1 byte on every eighth of a line
  check(1, 3001, 3003, 0, 7, 1, 1);  // output rows on lines, rows and columns left over
  check(2, 2100, 4300, 5, 12, 1, 1);
  check(2, 2100, 4300, 0, 1, 1, 2);  // and nowhere, in two bands
}

// Rows around tiles (128 and fewer), columns around blocks (64 bytes) and pieces that are fetched
// (256 bytes), of results just large enough to be streamed; rows that start on lines, and anywhere.
TEST(TransposeHost, StreamedSizesAroundBlocks) {
  for (int e : {1, 2, 4, 8, 16}) {
    check(e, 1024, 8448 / e, 0, 0, 1, 1);
    check(e, 1023, 8448 / e + 1, 64 / e - 1, 1, 1, 1);
    check(e, 1025, 8448 / e - 1, 1, 64 / e - 1, 1, 1);
    check(e, 1027, 8192 / e + 2, 0, 0, 1, 2, 1);
    check(e, (9 << 20) / (64 + e), 64 / e + 1, 0, 3, 1, 1);
    check(e, (9 << 20) / (256 + e) + 5, 256 / e + 1, 1, 0, 1, 2, 1);
    check(e, (9 << 20) / (320 - e), 320 / e - 1, 0, 1, 1, 1, 3);
  }
}

TEST(TransposeHost, RefusesByName) {
  char a[64] = {}, b[64] = {};
  EXPECT_STREQ(transpose_host(a, 3, b, 4, 4, 4, 1).argument, "ld_in");
  EXPECT_STREQ(transpose_host(a, 4, a, 4, 4, 4, 1).argument, "out");
  EXPECT_STREQ(transpose_host(a, 4, b, 4, 4, 4, 1, {}, -1).argument, "threads");
}

}  // namespace
}  // namespace tilewright
