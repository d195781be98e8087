// One hardware vector of floats, for the fused handlers whose accumulators must stay in registers.
// The fused multiply-add rounds once on every instruction set: same bits everywhere.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "emu/op.h"

namespace tw::emu {
inline namespace TW_TARGET {

#if defined(__AVX512F__)
using FloatVector = __m512;
#elif defined(__AVX2__)
using FloatVector = __m256;
#else
typedef float FloatVector __attribute__((vector_size(16)));
#endif
inline constexpr uint32_t kVectorFloats = sizeof(FloatVector) / 4;

TW_INLINE FloatVector load(const float* from) {
  FloatVector v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
TW_INLINE void store(float* to, FloatVector v) { __builtin_memcpy(to, &v, sizeof v); }
TW_INLINE FloatVector splat(float x) {
#if defined(__AVX512F__)
  return _mm512_set1_ps(x);
#elif defined(__AVX2__)
  return _mm256_set1_ps(x);
#else
  return FloatVector{x, x, x, x};
#endif
}

TW_INLINE FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#else
  FloatVector d;
  for (uint32_t i = 0; i < kVectorFloats; ++i) d[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return d;
#endif
}

// NaN -> 0x7fffffff, as the hardware's f32 arithmetic gives it.
TW_INLINE FloatVector canonical(FloatVector v) {
#if defined(__AVX512F__)
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), v,
                              _mm512_castsi512_ps(_mm512_set1_epi32(0x7fffffff)));
#elif defined(__AVX2__)
  return _mm256_blendv_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)),
                          _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
#else
  typedef int32_t Bits __attribute__((vector_size(16)));
  Bits unordered = v != v;
  return FloatVector((Bits(v) & ~unordered) | (unordered & 0x7fffffff));
#endif
}

}  // namespace TW_TARGET
}  // namespace tw::emu
