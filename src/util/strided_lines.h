// Lines of bytes at one pitch, as a matrix with a leading dimension or a batch of such lies in
// memory: whether two of them share a byte, so that an output may be a window of columns beside its
// input in rows of one pitch.
//
// Tested by tests/unit/util/strided_lines_test.cpp.
#pragma once

#include <cstdint>

namespace tw {

// All in bytes; lines, width and batches at least 1; no pitch or stride is negative. The pitch of
// one line and the stride of one batch mean nothing.
struct StridedLines {
  uint64_t address = 0;
  int64_t lines = 1, width = 1, pitch = 0;
  int64_t batches = 1, stride = 0;

  // From the first to past the last byte.
  __int128 extent() const {
    return __int128(lines - 1) * pitch + __int128(batches - 1) * stride + width;
  }
};

namespace detail {

// The same lines as one comb: teeth of `width` every `pitch`; pitch 0: a single line. False where
// they are no comb.
inline bool as_comb(const StridedLines& x, int64_t& pitch, __int128& width) {
  pitch = x.lines > 1 ? x.pitch : 0;
  width = x.width;
  if (x.batches == 1) return true;
  if (x.lines == 1) {
    pitch = x.stride;
    return true;
  }
  if (pitch > 0 && x.stride % pitch == 0) return true;
  width = __int128(x.batches - 1) * x.stride + x.width;  // side by side in common rows
  return width <= pitch;
}

}  // namespace detail

// False only where no byte belongs to both. Where the ranges from first to last byte meet, that is
// seen for lines of one pitch; batches whose matrices start elsewhere in the pitch, and lines of
// different pitches, count as sharing.
inline bool share_bytes(const StridedLines& a, const StridedLines& b) {
  if (__int128(a.address) + a.extent() <= b.address ||
      __int128(b.address) + b.extent() <= a.address)
    return false;
  int64_t a_pitch, b_pitch;
  __int128 a_width, b_width;
  if (!detail::as_comb(a, a_pitch, a_width) || !detail::as_comb(b, b_pitch, b_width)) return true;
  const int64_t pitch = a_pitch ? a_pitch : b_pitch;
  if (pitch == 0 || (b_pitch && b_pitch != pitch)) return true;
  const __int128 apart = __int128(b.address) - __int128(a.address);
  const __int128 phase = (apart % pitch + pitch) % pitch;
  return phase < a_width || phase + b_width > pitch;
}

}  // namespace tw
