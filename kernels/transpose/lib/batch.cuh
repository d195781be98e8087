// Batch dimensions of a launch: from a linear index to byte offsets on both sides, without hardware
// division (multiply-high by a precomputed reciprocal; Granlund and Montgomery 1994, round-up
// variant).
//
// Tested by tests/unit/transpose/transpose_tile_test.cpp.
#pragma once

#include <cstdint>

#include "access.cuh"

namespace tilewright::detail {

struct Divisor {
  uint32_t value = 1, multiplier = 0, shift = 0;

  Divisor() = default;
  // value in [1, 2^31].
  explicit Divisor(uint32_t v) : value(v) {
    while ((uint64_t(1) << shift) < v) ++shift;
    multiplier = uint32_t(((uint64_t(1) << 32) * ((uint64_t(1) << shift) - v)) / v + 1);
  }
  // n < 2^31.
  TW_DEVICE uint32_t quotient(uint32_t n) const {
#ifdef __CUDA_ARCH__
    return (__umulhi(n, multiplier) + n) >> shift;
#else
    return uint32_t(((uint64_t(n) * multiplier >> 32) + n) >> shift);
#endif
  }
};

constexpr int kMaxBatchDims = 8;

struct BatchDims {
  int count = 0;  // the last varies fastest
  Divisor extent[kMaxBatchDims];
  int64_t stride_in[kMaxBatchDims] = {}, stride_out[kMaxBatchDims] = {};  // bytes

  // `index` < 2^31.
  TW_DEVICE void offsets(uint32_t index, int64_t& in, int64_t& out) const {
    in = out = 0;
#pragma unroll
    for (int d = kMaxBatchDims - 1; d >= 0; --d) {
      if (d >= count) continue;
      uint32_t q = extent[d].quotient(index), r = index - q * extent[d].value;
      in += int64_t(r) * stride_in[d];
      out += int64_t(r) * stride_out[d];
      index = q;
    }
  }
};

}  // namespace tilewright::detail
