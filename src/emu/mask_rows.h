// Rows whose result or source is a predicate, for AVX-512, where masks are registers: compilers turn
// a mask into lanes and back between a comparison and its use. The bodies in src/isa stay the
// definition; tests/isa and tests/random compare these with them.
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
#include <immintrin.h>
#define TW_MASK_REGISTERS 1
#else
#define TW_MASK_REGISTERS 0
#endif

#include "emu/op.h"
#include "isa/lane_rows.h"

namespace tw::emu {
inline namespace TW_TARGET {

inline constexpr bool kMaskedStores = TW_MASK_REGISTERS != 0;

// Body: OneType<Row, T> of lane_handlers.cpp; M: its modifiers.
template <class Body, class M> struct MaskRow {
  static constexpr bool exists = false;
};

#if TW_MASK_REGISTERS

// Whole vectors are stored: a load of what a masked store has left would wait for it.
template <class Slot> TW_INLINE void store_active(Slot* to, const Slot* from, uint32_t active) {
  constexpr uint32_t kStep = 64 / sizeof(Slot);
  for (uint32_t i = 0; i < kLanes; i += kStep) {
    const __m512i v = _mm512_load_si512(from + i), old = _mm512_loadu_si512(to + i);
    if constexpr (sizeof(Slot) == 2)
      _mm512_storeu_si512(to + i, _mm512_mask_mov_epi16(old, __mmask32(active), v));
    else if constexpr (sizeof(Slot) == 4)
      _mm512_storeu_si512(to + i, _mm512_mask_mov_epi32(old, __mmask16(active >> i), v));
    else
      _mm512_storeu_si512(to + i, _mm512_mask_mov_epi64(old, __mmask8(active >> i), v));
  }
}

// Lanes 16 * half and on of a source of 32-bit elements.
template <bool kUniform> TW_INLINE __m512i half_of(const char* source, uint32_t half) {
  if constexpr (kUniform)
    return _mm512_set1_epi32(*reinterpret_cast<const int32_t*>(source));
  else
    return _mm512_loadu_si512(source + 64 * half);
}

// The mask of `compare` over both halves.
template <uint32_t kUniformBits, class F>
TW_INLINE uint32_t mask_of_halves(const char* a, const char* b, F compare) {
  constexpr bool kUniformA = (kUniformBits & 1) != 0, kUniformB = (kUniformBits & 2) != 0;
  uint32_t mask = 0;
  for (uint32_t half = 0; half < 2; ++half)
    mask |= uint32_t(compare(half_of<kUniformA>(a, half), half_of<kUniformB>(b, half)))
            << (16 * half);
  return mask;
}

constexpr int integer_predicate(uint8_t cmp) {
  switch (cmp) {
    case isa::kEq: return _MM_CMPINT_EQ;
    case isa::kNe: return _MM_CMPINT_NE;
    case isa::kLt: return _MM_CMPINT_LT;
    case isa::kLe: return _MM_CMPINT_LE;
    case isa::kGt: return _MM_CMPINT_NLE;
    case isa::kGe: return _MM_CMPINT_NLT;
    default: return -1;
  }
}
constexpr int float_predicate(uint8_t cmp) {
  switch (cmp) {
    case isa::kEq: return _CMP_EQ_OQ;
    case isa::kNe: return _CMP_NEQ_OQ;
    case isa::kLt: return _CMP_LT_OQ;
    case isa::kLe: return _CMP_LE_OQ;
    case isa::kGt: return _CMP_GT_OQ;
    case isa::kGe: return _CMP_GE_OQ;
    case isa::kEqu: return _CMP_EQ_UQ;
    case isa::kNeu: return _CMP_NEQ_UQ;
    case isa::kLtu: return _CMP_NGE_UQ;
    case isa::kLeu: return _CMP_NGT_UQ;
    case isa::kGtu: return _CMP_NLE_UQ;
    case isa::kGeu: return _CMP_NLT_UQ;
    case isa::kNum: return _CMP_ORD_Q;
    case isa::kNan: return _CMP_UNORD_Q;
    default: return -1;
  }
}

template <template <class, class> class OneType, class T, isa::Mods kMods>
  requires(std::is_integral_v<T> && sizeof(T) == 4 && kMods[isa::Field::operation] == 0 &&
           integer_predicate(kMods[isa::Field::cmp]) >= 0)
struct MaskRow<OneType<isa::SetpInt, T>, isa::Fixed<kMods>> {
  static constexpr bool exists = true;
  template <uint32_t kUniformBits> TW_INLINE static uint32_t compute(const char* a, const char* b) {
    constexpr int kPredicate = integer_predicate(kMods[isa::Field::cmp]);
    return mask_of_halves<kUniformBits>(a, b, [](__m512i x, __m512i y) {
      return std::is_signed_v<T> ? _mm512_cmp_epi32_mask(x, y, kPredicate)
                                 : _mm512_cmp_epu32_mask(x, y, kPredicate);
    });
  }
};

template <template <class, class> class OneType, isa::Mods kMods>
  requires(kMods[isa::Field::operation] == 0 && kMods[isa::Field::ftz] == 0 &&
           float_predicate(kMods[isa::Field::cmp]) >= 0)
struct MaskRow<OneType<isa::SetpFloat, float>, isa::Fixed<kMods>> {
  static constexpr bool exists = true;
  template <uint32_t kUniformBits> TW_INLINE static uint32_t compute(const char* a, const char* b) {
    constexpr int kPredicate = float_predicate(kMods[isa::Field::cmp]);
    return mask_of_halves<kUniformBits>(a, b, [](__m512i x, __m512i y) {
      return _mm512_cmp_ps_mask(_mm512_castsi512_ps(x), _mm512_castsi512_ps(y), kPredicate);
    });
  }
};

template <template <class, class> class OneType, isa::Mods kMods>
struct MaskRow<OneType<isa::Selp, uint32_t>, isa::Fixed<kMods>> {
  static constexpr bool exists = true;
  // `active`: the lanes to write; nullptr: all.
  template <uint32_t kUniformBits>
  TW_INLINE static void compute(char* d, const uint32_t* active, const char* a, const char* b,
                                const char* predicate) {
    constexpr bool kUniformA = (kUniformBits & 1) != 0, kUniformB = (kUniformBits & 2) != 0;
    const uint32_t chosen = *reinterpret_cast<const uint32_t*>(predicate);
    for (uint32_t half = 0; half < 2; ++half) {
      const __m512i x = half_of<kUniformA>(a, half);
      const __m512i y = half_of<kUniformB>(b, half);
      __m512i v = _mm512_mask_blend_epi32(__mmask16(chosen >> (16 * half)), y, x);
      if (active != nullptr)
        v = _mm512_mask_mov_epi32(half_of<false>(d, half), __mmask16(*active >> (16 * half)), v);
      _mm512_storeu_si512(d + 64 * half, v);
    }
  }
};

#endif

}  // namespace TW_TARGET
}  // namespace tw::emu
