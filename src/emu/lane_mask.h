// Lane arrays <-> lane masks, for the instruction set being compiled.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "emu/op.h"

namespace tw::emu {
inline namespace TW_TARGET {

// Bit l of the result is the sign bit of lanes[l]; lanes hold 0 or all ones. 64-byte aligned.
TW_INLINE uint32_t mask_of_lanes(const uint32_t* lanes) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  __m512i low = _mm512_load_si512(lanes), high = _mm512_load_si512(lanes + 16);
  return uint32_t(_mm512_movepi32_mask(low)) | uint32_t(_mm512_movepi32_mask(high)) << 16;
#elif defined(__AVX2__)
  uint32_t mask = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    __m256 v = _mm256_load_ps(reinterpret_cast<const float*>(lanes + 8 * i));
    mask |= uint32_t(_mm256_movemask_ps(v)) << (8 * i);
  }
  return mask;
#else
  uint32_t mask = 0;
  for (uint32_t l = 0; l < kLanes; ++l) mask |= (lanes[l] & 1u) << l;
  return mask;
#endif
}

// lanes[l] = all ones where bit l of the mask is set, else 0. Spelled with vector types: a loop of
// shifts and tests is not vectorised well.
TW_INLINE void lanes_of_mask(uint32_t mask, uint32_t* lanes) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  // Whole vectors: 64-byte loads of what two 32-byte stores wrote would wait for the stores.
  __m512i low = _mm512_movm_epi32(__mmask16(mask)), high = _mm512_movm_epi32(__mmask16(mask >> 16));
  __builtin_memcpy(lanes, &low, sizeof low);
  __builtin_memcpy(lanes + 16, &high, sizeof high);
#else
  typedef uint32_t Eight __attribute__((vector_size(32)));
  Eight all = {mask, mask, mask, mask, mask, mask, mask, mask};
  Eight bit = {1, 2, 4, 8, 16, 32, 64, 128};
  for (uint32_t i = 0; i < 4; ++i) {
    Eight hit = Eight((all & bit) == bit);
    __builtin_memcpy(lanes + 8 * i, &hit, sizeof hit);
    bit <<= 8;
  }
#endif
}

}  // namespace TW_TARGET
}  // namespace tw::emu
