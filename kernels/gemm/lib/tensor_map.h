// Tensor maps of the operands, encoded by the driver on the host.
//
// Tested by tilewright-bench gemm --suite verify.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "gemm/lib/wgmma_launch.h"

namespace tw::gemm {

// A matrix as `count` lines of `length` contiguous elements, `batches` times.
struct Lines {
  const void* data;
  int64_t length, count, pitch, batch_stride;
  int batches;
  Element element;
};

enum class Swizzle { kNone, k64, k128 };

// A map of boxes of box_x by box_y elements (swizzled ones are 128 bytes wide at most). False: the
// driver refuses, or there is none. Strides that lie beyond what a map can hold (2^40 bytes) are
// refused by the driver.
bool encode_lines(CUtensorMap* map, const Lines& lines, int box_x, int box_y,
                  Swizzle swizzle = Swizzle::k128);

// An operand (mn = m of A, n of B): boxes of `line_bytes` (64 or 128) by `box_lines`, swizzled.
inline bool encode_operand(CUtensorMap* map, const Matrix& x, int mn, int k, int batches,
                           Element element, int box_lines, int line_bytes = 128) {
  return encode_lines(
      map,
      {x.data, x.mn_major ? mn : k, x.mn_major ? k : mn, x.pitch, x.batch_stride, batches, element},
      line_bytes / element_bytes(element), box_lines,
      line_bytes == 64 ? Swizzle::k64 : Swizzle::k128);
}

}  // namespace tw::gemm
