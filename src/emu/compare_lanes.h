// Comparisons of 32 lanes (or of the 64 halves of 32 pairs) as a mask of bits: setp and set, and both
// joined with a predicate, for the modifiers that have no handler of their own. The relation is chosen
// once a warp, outside the loop over the lanes; what is joined with it is one operation on masks. The
// bodies in isa/rows_compare.h stay the definition: warp-uniform execution runs them, and tests/isa
// compares the two.
#pragma once

#include <cstdint>
#include <utility>

#include "emu/lane_operands.h"
#include "emu/mask_rows.h"

namespace tw::emu {
inline namespace TW_TARGET {

// Bit i: the sign of the vector's element i; elements are 0 or all ones.
template <class C> TW_INLINE uint32_t bits_of(C c) {
  [[maybe_unused]] constexpr size_t kBytes = isa::kElementBytesOf<C>;
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
  if constexpr (sizeof(C) == 64 && kBytes == 2) return _mm512_movepi16_mask(__m512i(c));
  if constexpr (sizeof(C) == 64 && kBytes == 4) return _mm512_movepi32_mask(__m512i(c));
  if constexpr (sizeof(C) == 64 && kBytes == 8) return _mm512_movepi64_mask(__m512i(c));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(C) == 32 && kBytes == 2)
    return _pext_u32(uint32_t(_mm256_movemask_epi8(__m256i(c))), 0x55555555u);
  if constexpr (sizeof(C) == 32 && kBytes == 4) return uint32_t(_mm256_movemask_ps(__m256(c)));
  if constexpr (sizeof(C) == 32 && kBytes == 8) return uint32_t(_mm256_movemask_pd(__m256d(c)));
#endif
  uint32_t bits = 0;
  for (size_t i = 0; i < isa::LikeOf<C>::kCount; ++i) bits |= (c[i] != 0 ? 1u : 0u) << i;
  return bits;
}

// The relations that one instruction decides; the others are these with the operands exchanged or
// the outcome inverted.
enum class Relation : uint8_t { equal, unequal, less, less_equal, unordered };
struct Comparison {
  Relation relation;
  bool exchanged, inverted;
};
constexpr Comparison comparison_of(uint8_t cmp) {
  using enum Relation;
  switch (cmp) {
    case isa::kEq: return {equal, false, false};
    case isa::kNe: return {unequal, false, false};  // ordered
    case isa::kLt:
    case isa::kLo: return {less, false, false};
    case isa::kLe:
    case isa::kLs: return {less_equal, false, false};
    case isa::kGt:
    case isa::kHi: return {less, true, false};
    case isa::kGe:
    case isa::kHs: return {less_equal, true, false};
    case isa::kEqu: return {unequal, false, true};
    case isa::kNeu: return {equal, false, true};
    case isa::kLtu: return {less_equal, true, true};
    case isa::kLeu: return {less, true, true};
    case isa::kGtu: return {less_equal, false, true};
    case isa::kGeu: return {less, false, true};
    case isa::kNum: return {unordered, false, true};
    default: return {unordered, false, false};
  }
}

template <class T> inline constexpr size_t kCompared = isa::kIsPair<T> ? 2 * kLanes : kLanes;
template <class T> using ComparedBits = std::conditional_t<isa::kIsPair<T>, uint64_t, uint32_t>;

// Halves compare as integers of 16 bits: sign and magnitude as a number, both zeros as 0, and apart
// whether it is one.
template <class E, bool kFlush, class V> TW_INLINE V key_of_half(V half) {
  constexpr bool kF16 = isa::kIsF16<E>;
  const V sign = half >> 15;
  V magnitude = half & int16_t{0x7fff};
  if constexpr (kFlush) magnitude &= magnitude >= int16_t(kF16 ? 0x400 : 0x80);
  return (magnitude ^ sign) - sign;
}
template <class E, class V> TW_INLINE V half_is_nan(V half) {
  return (half & int16_t{0x7fff}) > int16_t(isa::kIsF16<E> ? 0x7c00 : 0x7f80);
}

template <Relation kRelation, class V> TW_INLINE auto related(V x, V y) {
  constexpr bool kInteger = std::is_integral_v<isa::ElementOf<V>>;
  if constexpr (kRelation == Relation::equal)
    return x == y;
  else if constexpr (kRelation == Relation::unequal && kInteger)
    return x != y;
  else if constexpr (kRelation == Relation::unequal)
    return (x < y) | (x > y);
  else if constexpr (kRelation == Relation::less)
    return x < y;
  else if constexpr (kRelation == Relation::less_equal)
    return x <= y;
  else
    return (x != x) | (y != y);
}
template <class T, Relation kRelation, bool kFlush>
TW_INLINE ComparedBits<T> relation_bits(const void* a, const void* b) {
  using E = std::conditional_t<isa::kIsPair<T>, OfHalf<T>, T>;
  using Slot = std::conditional_t<isa::kIsHalf<E>, int16_t, E>;
  constexpr size_t N = isa::kVectorBytes / sizeof(Slot);
  ComparedBits<T> bits = 0;
  for (size_t l = 0; l < kCompared<T>; l += N) {
    auto x = vector_at<N, Slot>(a, l), y = vector_at<N, Slot>(b, l);
    uint32_t hit;
    if constexpr (isa::kIsHalf<E>) {
      const auto none = half_is_nan<E>(x) | half_is_nan<E>(y);
      if constexpr (kRelation == Relation::unordered)
        hit = bits_of(none);
      else
        hit = bits_of(related<kRelation>(key_of_half<E, kFlush>(x), key_of_half<E, kFlush>(y)) &
                      ~none);
    } else {
      if constexpr (kFlush) x = isa::flush(x), y = isa::flush(y);
      hit = bits_of(related<kRelation>(x, y));
    }
    bits |= ComparedBits<T>(hit) << l;
  }
  return bits;
}
template <class T, bool kFlush>
TW_INLINE ComparedBits<T> comparison_bits(Relation relation, const void* a, const void* b) {
  switch (relation) {
    case Relation::equal: return relation_bits<T, Relation::equal, kFlush>(a, b);
    case Relation::unequal: return relation_bits<T, Relation::unequal, kFlush>(a, b);
    case Relation::less: return relation_bits<T, Relation::less, kFlush>(a, b);
    case Relation::less_equal: return relation_bits<T, Relation::less_equal, kFlush>(a, b);
    default: break;
  }
  if constexpr (std::is_integral_v<T>)
    return 0;  // integers are always ordered, and no spelling asks
  else
    return relation_bits<T, Relation::unordered, kFlush>(a, b);
}
// `flush`: .ftz, of f32 and halves.
template <class T>
[[gnu::noinline]] ComparedBits<T> compare_lanes(uint8_t cmp, [[maybe_unused]] bool flush,
                                                const void* a, const void* b) {
  const Comparison c = comparison_of(cmp);
  if (c.exchanged) std::swap(a, b);
  ComparedBits<T> bits;
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>)
    bits = comparison_bits<T, false>(c.relation, a, b);
  else
    bits = flush ? comparison_bits<T, true>(c.relation, a, b)
                 : comparison_bits<T, false>(c.relation, a, b);
  return c.inverted ? ~bits : bits;
}

// Every second bit, from the lowest on; each bit twice.
TW_INLINE uint32_t one_half(uint64_t bits) {
#if defined(__BMI2__)
  return uint32_t(_pext_u64(bits, 0x5555555555555555u));
#endif
  bits &= 0x5555555555555555u;
  bits = (bits | bits >> 1) & 0x3333333333333333u;
  bits = (bits | bits >> 2) & 0x0f0f0f0f0f0f0f0fu;
  bits = (bits | bits >> 4) & 0x00ff00ff00ff00ffu;
  bits = (bits | bits >> 8) & 0x0000ffff0000ffffu;
  return uint32_t(bits | bits >> 16);
}
TW_INLINE uint64_t both_halves(uint32_t mask) {
#if defined(__BMI2__)
  return _pdep_u64(mask, 0x5555555555555555u) * 3;
#endif
  uint64_t bits = mask;
  bits = (bits | bits << 16) & 0x0000ffff0000ffffu;
  bits = (bits | bits << 8) & 0x00ff00ff00ff00ffu;
  bits = (bits | bits << 4) & 0x0f0f0f0f0f0f0f0fu;
  bits = (bits | bits << 2) & 0x3333333333333333u;
  bits = (bits | bits << 1) & 0x5555555555555555u;
  return bits | bits << 1;
}

// out[i] = value where bit i is set, else 0: one element a bit.
template <class Bits, class Slot> TW_INLINE void spread_mask(Bits bits, Slot value, Slot* out) {
  using Element = std::conditional_t<sizeof(Slot) == 2, uint16_t, uint32_t>;
  const auto pattern = isa::bits_as<Element>(value);
#if TW_MASK_REGISTERS
  // Whole vectors, as in lanes_of_mask.
  for (size_t l = 0; l < sizeof(Bits) * 8; l += 64 / sizeof(Slot)) {
    __m512i lanes;
    if constexpr (sizeof(Slot) == 2)
      lanes = _mm512_maskz_set1_epi16(__mmask32(bits >> l), int16_t(pattern));
    else
      lanes = _mm512_maskz_set1_epi32(__mmask16(bits >> l), int32_t(pattern));
    __builtin_memcpy(out + l, &lanes, sizeof lanes);
  }
#else
  constexpr size_t N = sizeof(Slot) == 2 ? 16 : 8;
  using U = isa::Vector<Element, N>;
  U places{};
  for (size_t i = 0; i < N; ++i) places[i] = Element(1u << i);
  const U values = isa::splat<U>(pattern);
  for (size_t l = 0; l < sizeof(Bits) * 8; l += N) {
    const U all = isa::splat<U>(Element(bits >> l));
    const U lanes = isa::bits_as<U>((all & places) == places) & values;
    __builtin_memcpy(out + l, &lanes, sizeof lanes);
  }
#endif
}

}  // namespace TW_TARGET
}  // namespace tw::emu
