// Rows: bit fields, counts, permutes, funnel shifts, look-up logic and 24-bit products.
#pragma once

#include "isa/half.h"
#include "isa/row.h"
#include "isa/vector.h"

namespace tw::isa {
inline namespace TW_TARGET {

// Bit tricks rather than builtins: these vectorise on every instruction set.
TW_INLINE uint32_t population(uint32_t x) {
  x -= (x >> 1) & 0x55555555u;
  x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0fu;
  return (x * 0x01010101u) >> 24;
}
TW_INLINE uint32_t population(uint64_t x) {
  return population(uint32_t(x)) + population(uint32_t(x >> 32));
}
// By nibbles: a byte shuffle looks sixteen of them up.
template <class V>
  requires kIsVector<V>
TW_INLINE Like<V, uint32_t> population(V x) {
  using T = ElementOf<V>;
  if constexpr (kShufflesBytes<V>) {
    using B = Vector<uint8_t, sizeof(V)>;
    constexpr uint8_t kCounts[] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    const B counts = repeated<B>(kCounts);
    constexpr T kNibbles = T(~T(0)) / 17;  // 0x0f0f...
    V bytes = bits_as<V>(shuffled_bytes(counts, bits_as<B>(V(x & kNibbles))) +
                         shuffled_bytes(counts, bits_as<B>(V((x >> 4) & kNibbles))));
    return convert<uint32_t>(sum_of_bytes(bytes));
  } else {
    Like<V, uint32_t> d;
    for (size_t i = 0; i < LikeOf<V>::kCount; ++i) d[i] = population(x[i]);
    return d;
  }
}
TW_INLINE uint32_t reverse(uint32_t x) {
  x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
  x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
  x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
  x = ((x >> 8) & 0x00ff00ffu) | ((x & 0x00ff00ffu) << 8);
  return (x >> 16) | (x << 16);
}
TW_INLINE uint64_t reverse(uint64_t x) {
  return uint64_t(reverse(uint32_t(x))) << 32 | reverse(uint32_t(x >> 32));
}
template <class V>
  requires kIsVector<V>
TW_INLINE V reverse(V x) {
  if constexpr (kShufflesBytes<V>) {
    using B = Vector<uint8_t, sizeof(V)>;
    constexpr uint8_t kNibble[] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
    constexpr uint8_t kBytes32[] = {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12};
    constexpr uint8_t kBytes64[] = {7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8};
    constexpr auto kNibbles = ElementOf<V>(~ElementOf<V>(0)) / 17;
    const B nibble = repeated<B>(kNibble);
    V low = bits_as<V>(shuffled_bytes(nibble, bits_as<B>(V(x & kNibbles)))),
      high = bits_as<V>(shuffled_bytes(nibble, bits_as<B>(V((x >> 4) & kNibbles))));
    return bits_as<V>(shuffled_bytes(bits_as<B>(V(low << 4 | high)),
                                     repeated<B>(kElementBytesOf<V> == 8 ? kBytes64 : kBytes32)));
  } else {
    V d;
    for (size_t i = 0; i < LikeOf<V>::kCount; ++i) d[i] = reverse(x[i]);
    return d;
  }
}
// Shifts that give 0 beyond the width.
template <class U> TW_INLINE U left(U x, Like<U, uint32_t> n) {
  if constexpr (kIsVector<U>)
    return shifted_left(x, convert<ElementOf<U>>(n));
  else
    return n < kBitsOf<U> ? U(x << (n & (kBitsOf<U> - 1))) : U(0);
}
template <class U> TW_INLINE U right(U x, Like<U, uint32_t> n) {
  if constexpr (kIsVector<U>)
    return shifted_right(x, convert<ElementOf<U>>(n));
  else
    return n < kBitsOf<U> ? U(x >> (n & (kBitsOf<U> - 1))) : U(0);
}
template <class U> TW_INLINE U low_ones(Like<U, uint32_t> n) {
  return U(~left(splat<U>(~ElementOf<U>(0)), n));
}

struct Popc {
  static constexpr RowInfo info{.grammar = "popc.type",
                                .operands = "d, a",
                                .types = kBits32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-popc",
                                .takes = "ut"};
  static constexpr bool kVectors = true;
  template <class T, class M> TW_INLINE static auto lane(M, T a) { return population(a); }
};
// The place of the highest set bit, from the exponent of a float; -1 for 0.
TW_INLINE uint32_t highest_bit(uint32_t x) {
  uint32_t half = x >> 1;
  float exact = float(int32_t(half & ~(half >> 1)));  // no rounding up to the next power of two
  return half == 0 ? x - 1 : (bits_as<uint32_t>(exact) >> 23) - 126;
}
TW_INLINE uint32_t highest_bit(uint64_t x) {
  uint32_t high = uint32_t(x >> 32);
  uint32_t place = highest_bit(high != 0 ? high : uint32_t(x));
  return high != 0 ? place + 32 : place;
}

// Of 64 bits and many lanes, from the exponent of a double.
template <class V>
  requires(kIsVector<V> && kElementBytesOf<V> == 8)
TW_INLINE Like<V, uint32_t> highest_bit(V x) {
  using I = Like<V, int32_t>;
  const V exact = x & ~(x >> 1);  // no rounding up to the next power of two
  const V field = bits_as<V>(double_of(exact)) >> 52;
  const I place = convert<int32_t>(bits_as<Like<V, int64_t>>(field)) - 1023;
  return bits_as<Like<V, uint32_t>>(larger(place, splat<I>(-1)));
}

struct Clz {
  static constexpr RowInfo info{.grammar = "clz.type",
                                .operands = "d, a",
                                .types = kBits32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-clz",
                                .takes = "ut"};
  template <class, class S> static constexpr bool kVectorTypes = sizeof(S) == 8;
  template <class T, class M> TW_INLINE static Like<T, uint32_t> lane(M, T a) {
    return kBitsOf<ElementOf<T>> - 1 - highest_bit(a);
  }
};
// The highest bit that differs from the sign; .shiftamt: how far to shift it to the top.
struct Bfind {
  static constexpr RowInfo info{.grammar = "bfind{.shiftamt}.type",
                                .operands = "d, a",
                                .types = kIntegers32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 20,
                                .min_sm = 20,
                                .manual = "integer-arithmetic-instructions-bfind",
                                .takes = "ut"};
  static constexpr Mods kFixed[] = {Mods{}, Mods{}.with(Field::shiftamt, 1)};
  static constexpr Field kReads[] = {Field::shiftamt};
  template <class, class S> static constexpr bool kVectorTypes = sizeof(S) == 8;
  template <class T, class M> TW_INLINE static Like<T, uint32_t> lane(M m, T a) {
    using E = ElementOf<T>;
    using U = Like<T, Unsigned<E>>;
    U x = bits_as<U>(a);
    if constexpr (kIsSigned<E>) x ^= bits_as<U>(T(a >> (kBitsOf<E> - 1)));
    const Like<T, uint32_t> place = highest_bit(x);
    return m[Field::shiftamt] ? select(x != 0, kBitsOf<E> - 1 - place, place) : place;
  }
};
struct Brev {
  static constexpr RowInfo info{.grammar = "brev.type",
                                .operands = "d, a",
                                .types = kBits32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 20,
                                .min_sm = 20,
                                .manual = "integer-arithmetic-instructions-brev"};
  static constexpr bool kVectors = true;
  template <class T, class M> TW_INLINE static T lane(M, T a) { return reverse(a); }
};
// The n-th set bit of a mask, from `base` upwards (offset > 0) or downwards.
struct Fns {
  static constexpr RowInfo info{.grammar = "fns.type",
                                .operands = "d, mask, base, offset",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 60,
                                .min_sm = 30,
                                .manual = "integer-arithmetic-instructions-fns"};
  static constexpr bool kVectors = true;
  template <class T, class M>
  TW_INLINE static T lane(M, T mask, Like<T, uint32_t> base, Like<T, int32_t> offset) {
    // Counts of ever wider groups of bits lead to the wanted one, counted from the lowest.
    const auto down = offset < 0;
    const auto inside = base < 32u;
    const T first = base & 31u, zero = splat<T>(0u), ones = splat<T>(0xffffffffu);
    const T m = mask & select(down, T(ones >> T(31u - first)), T(ones << first));
    const T by2 = m - ((m >> 1) & 0x55555555u),
            by4 = (by2 & 0x33333333u) + ((by2 >> 2) & 0x33333333u),
            by8 = (by4 + (by4 >> 4)) & 0x0f0f0f0fu, by16 = (by8 + (by8 >> 8)) & 0x00ff00ffu;
    const T total = (by16 + (by16 >> 16)) & 63u;
    const T distance = bits_as<T>(offset), wanted = select(down, T(0u - distance), distance);
    T missing = select(down, T(total + 1u - wanted), wanted), at = zero;
    auto descend = [&](T counts, uint32_t width, uint32_t places) TW_INLINE_LAMBDA {
      const T below = (counts >> at) & places;
      const auto beyond = missing > below;
      missing -= select(beyond, below, zero);
      at += select(beyond, splat<T>(width), zero);
    };
    descend(by16, 16, 0xff);
    descend(by8, 8, 0xff);
    descend(by4, 4, 0xf);
    descend(by2, 2, 3);
    descend(m, 1, 1);
    const T nth = select(inside & (wanted <= total), at, ones);
    const T here = select(inside & (((mask >> first) & 1u) != 0u), base, ones);
    // The least offset has no magnitude: what an H200 gives.
    const T found = select(distance == 0x80000000u, zero, nth);
    return select(distance == 0u, here, found);
  }
};

// Position and length are the low bytes of b and c; the 64-bit forms read all of them, as an H200
// does (the manual allows 0 to 255 only). A field that runs over the top is filled with the sign
// (the field's, or the operand's top bit), or zeros.
struct Bfe {
  static constexpr RowInfo info{.grammar = "bfe.type",
                                .operands = "d, a, b, c",
                                .types = kIntegers32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 20,
                                .min_sm = 20,
                                .manual = "integer-arithmetic-instructions-bfe",
                                .takes = "ttyy"};
  template <class D, class S> static constexpr bool kVectorTypes = sizeof(S) == 8;
  template <class T, class M>
  TW_INLINE static T lane(M, T a, Like<T, uint32_t> b, Like<T, uint32_t> c) {
    using E = ElementOf<T>;
    using U = Like<T, Unsigned<E>>;
    using N = Like<T, uint32_t>;
    constexpr uint32_t kTop = kBitsOf<E> - 1;
    constexpr uint32_t kRead = kBitsOf<E> == 64 ? ~0u : 0xffu;
    N position = b & kRead, length = c & kRead;
    if constexpr (!kIsSigned<E>) {
      return right(U(a), position) & low_ones<U>(length);
    } else {  // a field above the top is of copies of the top bit
      position = smaller(position, splat<N>(kTop));
      N held = smaller(length, N(kTop + 1 - position));
      U field = right(U(a), position) & low_ones<U>(length);
      U sign = left(splat<U>(1), N(held - 1));  // 0 where there is no field
      return T((field ^ sign) - sign);
    }
  }
};
struct Bfi {
  static constexpr RowInfo info{.grammar = "bfi.type",
                                .operands = "f, a, b, c, d",
                                .types = kBits32And64,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 20,
                                .min_sm = 20,
                                .manual = "integer-arithmetic-instructions-bfi",
                                .takes = "tttyy"};
  template <class D, class S> static constexpr bool kVectorTypes = sizeof(S) == 8;
  template <class T, class M>
  TW_INLINE static T lane(M, T a, T b, Like<T, uint32_t> c, Like<T, uint32_t> d) {
    using N = Like<T, uint32_t>;
    constexpr uint32_t kRead = kBitsOf<ElementOf<T>> == 64 ? ~0u : 0xffu;
    N position = c & kRead;
    T mask = left(low_ones<T>(N(d & kRead)), position);
    return T((b & ~mask) | (left(a, position) & mask));
  }
};
struct Bmsk {
  static constexpr RowInfo info{.grammar = "bmsk.shiftmode.type",
                                .operands = "d, a, b",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 76,
                                .min_sm = 70,
                                .manual = "integer-arithmetic-instructions-bmsk",
                                .takes = "uuu"};
  static constexpr Mods kFixed[] = {Mods{}.with(Field::shift, kShiftClamp),
                                    Mods{}.with(Field::shift, kShiftWrap)};
  static constexpr Field kReads[] = {Field::shift};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b) {
    bool wrap = m[Field::shift] == kShiftWrap;
    uint32_t from = wrap ? a & 31 : a, length = wrap ? b & 31 : b;
    uint32_t end = from + length;
    uint32_t above = end < from ? 0u : left(0xffffffffu, end);  // the end may lie beyond 2^32
    return left(0xffffffffu, from) & ~above;
  }
};
struct Szext {
  static constexpr RowInfo info{.grammar = "szext.shiftmode.type",
                                .operands = "d, a, b",
                                .types = kIntegers32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 76,
                                .min_sm = 70,
                                .manual = "integer-arithmetic-instructions-szext",
                                .takes = "ttu"};
  static constexpr Mods kFixed[] = {Mods{}.with(Field::shift, kShiftClamp),
                                    Mods{}.with(Field::shift, kShiftWrap)};
  static constexpr Field kReads[] = {Field::shift};
  template <class T, class M> TW_INLINE static T lane(M m, T a, uint32_t b) {
    uint32_t width = m[Field::shift] == kShiftWrap ? b & 31 : b;
    uint32_t kept = uint32_t(a) & low_ones<uint32_t>(width);
    bool sign = kIsSigned<T> && width != 0 && (right(uint32_t(a), width > 31 ? 31 : width - 1) & 1);
    return T(sign ? kept | ~low_ones<uint32_t>(width) : kept);
  }
};

struct Shf {
  template <bool kLeft, class M>
  TW_INLINE static uint32_t funnel(M m, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t n = m[Field::shift] == kShiftWrap ? c & 31 : c > 32 ? 32 : c;
    return kLeft ? left(b, n) | right(a, 32 - n) : right(a, n) | left(b, 32 - n);
  }
};
struct ShfL : Shf {
  static constexpr RowInfo info{.grammar = "shf.l.shiftmode.type",
                                .operands = "d, a, b, c",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::logic,
                                .min_ptx = 31,
                                .min_sm = 32,
                                .manual = "logic-and-shift-instructions-shf",
                                .takes = "tttu"};
  static constexpr Mods kFixed[] = {Mods{}.with(Field::shift, kShiftClamp),
                                    Mods{}.with(Field::shift, kShiftWrap)};
  static constexpr Field kReads[] = {Field::shift};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b, uint32_t c) {
    return funnel<true>(m, a, b, c);
  }
};
struct ShfR : Shf {
  static constexpr RowInfo info{.grammar = "shf.r.shiftmode.type",
                                .operands = "d, a, b, c",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::logic,
                                .min_ptx = 31,
                                .min_sm = 32,
                                .manual = "logic-and-shift-instructions-shf",
                                .takes = "tttu"};
  static constexpr Mods kFixed[] = {Mods{}.with(Field::shift, kShiftClamp),
                                    Mods{}.with(Field::shift, kShiftWrap)};
  static constexpr Field kReads[] = {Field::shift};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b, uint32_t c) {
    return funnel<false>(m, a, b, c);
  }
};

// Bit i of the look-up table is the result for a, b, c = the bits of i.
struct Lop3 {
  static constexpr RowInfo info{.grammar = "lop3.type",
                                .operands = "d, a, b, c, immLut",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::logic,
                                .min_ptx = 43,
                                .min_sm = 50,
                                .manual = "logic-and-shift-instructions-lop3",
                                .takes = "tttti"};
  // The table is an immediate, so the masks below are the same for all lanes.
  static constexpr size_t kUniformSource = 3;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c, uint32_t table) {
    auto entry = [table](uint32_t i) TW_INLINE_LAMBDA { return T(0) - T((table >> i) & 1); };
    // Halve the table by c, then by b, then by a.
    auto by_c = [&](uint32_t i)
                    TW_INLINE_LAMBDA { return entry(i) ^ (c & (entry(i) ^ entry(i + 1))); };
    T not_a = by_c(0) ^ (b & (by_c(0) ^ by_c(2))), with_a = by_c(4) ^ (b & (by_c(4) ^ by_c(6)));
    return not_a ^ (a & (not_a ^ with_a));
  }
};
struct Cnot {
  static constexpr RowInfo info{.grammar = "cnot.type",
                                .operands = "d, a",
                                .types = kBits,
                                .types2 = {},
                                .category = Category::logic,
                                .manual = "logic-and-shift-instructions-cnot"};
  template <class T, class M> TW_INLINE static T lane(M, T a) { return a == 0 ? T(1) : T(0); }
};

// Selects four of the eight bytes b:a, one a nibble of c; the nibble's top bit replicates the sign.
TW_INLINE uint32_t permute(uint32_t a, uint32_t b, uint32_t selectors) {
  uint32_t d = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t s = selectors >> (4 * i);
    uint32_t byte = (((s & 4) ? b : a) >> (8 * (s & 3))) & 0xffu;
    uint32_t sign = (byte & 0x80u) ? 0xffu : 0u;
    d |= ((s & 8) ? sign : byte) << (8 * i);
  }
  return d;
}
#if defined(__AVX2__)
// The same for eight lanes: a byte shuffle picks within 128 bits, where b:a of two lanes lie.
TW_INLINE __m256i permute(__m256i a, __m256i b, __m256i selectors) {
  __m256i c = _mm256_and_si256(selectors, _mm256_set1_epi32(0xffff));
  c = _mm256_and_si256(_mm256_or_si256(c, _mm256_slli_epi32(c, 8)), _mm256_set1_epi32(0x00ff00ff));
  c = _mm256_and_si256(_mm256_or_si256(c, _mm256_slli_epi32(c, 4)), _mm256_set1_epi32(0x0f0f0f0f));
  const __m256i odd_lane = _mm256_set1_epi64x(0x08080808'00000000);
  __m256i index = _mm256_or_si256(_mm256_and_si256(c, _mm256_set1_epi8(7)), odd_lane);
  __m256i low = _mm256_shuffle_epi8(_mm256_unpacklo_epi32(a, b), index);
  __m256i high = _mm256_shuffle_epi8(_mm256_unpackhi_epi32(a, b), index);
  __m256i bytes = _mm256_blend_epi32(low, high, 0b1100'1100);
  __m256i signs = _mm256_cmpgt_epi8(_mm256_setzero_si256(), bytes);
  return _mm256_blendv_epi8(bytes, signs, _mm256_slli_epi16(c, 4));  // by a nibble's top bit
}
#endif
template <class V> TW_INLINE V permute_lanes(V a, V b, V selectors) {
  if constexpr (!kIsVector<V>) {
    return permute(a, b, selectors);
  } else {
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32)
      return bits_as<V>(
          permute(bits_as<__m256i>(a), bits_as<__m256i>(b), bits_as<__m256i>(selectors)));
#endif
    V d;
    for (size_t i = 0; i < LikeOf<V>::kCount; ++i) d[i] = permute(a[i], b[i], selectors[i]);
    return d;
  }
}
struct Prmt {
  static constexpr RowInfo info{.grammar = "prmt.type",
                                .operands = "d, a, b, c",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::move,
                                .min_ptx = 20,
                                .min_sm = 20,
                                .manual = "data-movement-and-conversion-instructions-prmt"};
  // kWorkBytes: 256 bits on AVX-512, too.
  static constexpr bool kVectors = true;
  static constexpr size_t kWorkBytes = kVectorBytes == 64 ? 8 : 4;
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c) {
    return permute_lanes(a, b, c);
  }
};
struct PrmtMode {
  static constexpr RowInfo info{.grammar = "prmt.type.prmtmode",
                                .operands = "d, a, b, c",
                                .types = kB32,
                                .types2 = {},
                                .category = Category::move,
                                .min_ptx = 20,
                                .min_sm = 20,
                                .manual = "data-movement-and-conversion-instructions-prmt"};
  static constexpr bool kVectors = true;
  static constexpr size_t kWorkBytes = Prmt::kWorkBytes;
  static constexpr Field kReads[] = {Field::operation};
  template <class T, class M> TW_INLINE static T lane(M m, T a, T b, T c) {
    constexpr uint64_t kSelectors[] = {// by c & 3, 16 bits each, the first in the low ones
                                       0x6543'5432'4321'3210u, 0x0123'7012'6701'5670u,
                                       0x3333'2222'1111'0000u, 0x3333'3222'3211'3210u,
                                       0x3210'2210'1110'0000u, 0x3232'1010'3232'1010u};
    const uint64_t selectors = kSelectors[m[Field::operation] - kOpF4e];
    const uint32_t table[] = {uint32_t(selectors) & 0xffffu, uint32_t(selectors) >> 16,
                              uint32_t(selectors >> 32) & 0xffffu, uint32_t(selectors >> 48)};
    return permute_lanes(a, b, looked_up(table, T(c & 3u)));
  }
};

// Products of the operands' low 24 bits: .lo is the low 32 bits of 48, .hi the high 32.
template <class T> TW_INLINE T low24(T a) {
  return kIsSigned<T> ? T(int32_t(uint32_t(a) << 8) >> 8) : T(a & T(0xffffff));
}
struct Mul24Lo {
  static constexpr RowInfo info{.grammar = "mul24.lo.type",
                                .operands = "d, a, b",
                                .types = kIntegers32,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-mul24"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) {
    return wrap_mul(low24(a), low24(b));
  }
};
struct Mul24Hi {
  static constexpr RowInfo info{.grammar = "mul24.hi.type",
                                .operands = "d, a, b",
                                .types = kIntegers32,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-mul24"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b) {
    return T((Wide<T>(low24(a)) * Wide<T>(low24(b))) >> 16);
  }
};
struct Mad24Lo {
  static constexpr RowInfo info{.grammar = "mad24.lo.type",
                                .operands = "d, a, b, c",
                                .types = kIntegers32,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-mad24"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c) {
    return wrap_add(wrap_mul(low24(a), low24(b)), c);
  }
};
struct Mad24Hi {
  static constexpr RowInfo info{.grammar = "mad24.hi.type",
                                .operands = "d, a, b, c",
                                .types = kIntegers32,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-mad24"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c) {
    return wrap_add(T((Wide<T>(low24(a)) * Wide<T>(low24(b))) >> 16), c);
  }
};
TW_INLINE int32_t saturated_sum(int32_t a, int32_t b) {
  const int32_t sum = wrap_add(a, b);
  return ((a ^ sum) & (b ^ sum)) < 0 ? (sum >> 31) ^ int32_t(0x80000000u) : sum;
}
TW_INLINE int32_t saturated_difference(int32_t a, int32_t b) {
  const int32_t rest = wrap_sub(a, b);
  return ((a ^ b) & (a ^ rest)) < 0 ? (rest >> 31) ^ int32_t(0x80000000u) : rest;
}
struct Mad24HiSat {
  static constexpr RowInfo info{.grammar = "mad24.hi.sat.type",
                                .operands = "d, a, b, c",
                                .types = kS32,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-mad24"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c) {
    return saturated_sum(T((Wide<T>(low24(a)) * Wide<T>(low24(b))) >> 16), c);
  }
};

struct Sad {
  static constexpr RowInfo info{.grammar = "sad.type",
                                .operands = "d, a, b, c",
                                .types = kIntegers,
                                .types2 = {},
                                .category = Category::integer,
                                .manual = "integer-arithmetic-instructions-sad"};
  template <class T, class M> TW_INLINE static T lane(M, T a, T b, T c) {
    return wrap_add(c, a < b ? wrap_sub(b, a) : wrap_sub(a, b));
  }
};

// Dot products of bytes (and halves with bytes) with a 32-bit sum; each vector has its own sign.
template <class V> TW_INLINE Like<V, int32_t> byte_of(V x, uint32_t i) {
  auto top = bits_as<Like<V, int32_t>>(x) << (24 - 8 * i);
  return kIsSigned<ElementOf<V>> ? top >> 24 : (top >> 24) & 0xff;
}
template <class T> TW_INLINE int32_t word_of(T x, uint32_t i) {
  return kIsSigned<T> ? int32_t(int16_t(uint32_t(x) >> (16 * i)))
                      : int32_t((uint32_t(x) >> (16 * i)) & 0xffffu);
}
// The even (0) or odd (1) bytes of each element as numbers of 16 bits.
template <uint32_t kOdd, class V> TW_INLINE auto bytes_as_words(V x) {
  using W = Vector<std::conditional_t<kIsSigned<ElementOf<V>>, int16_t, uint16_t>, sizeof(V) / 2>;
  const W w = bits_as<W>(x);
  return bits_as<Vector<int16_t, sizeof(V) / 2>>(W((kOdd != 0 ? w : W(w << 8)) >> 8));
}
struct Dp4a {
  static constexpr RowInfo info{.grammar = "dp4a.type.type2",
                                .operands = "d, a, b, c",
                                .types = kIntegers32,
                                .types2 = kIntegers32,
                                .category = Category::integer,
                                .min_ptx = 50,
                                .min_sm = 61,
                                .manual = "integer-arithmetic-instructions-dp4a",
                                .takes = "utsu"};
  static constexpr bool kVectors = true;
  template <class A, class B, class M>
  TW_INLINE static Like<A, uint32_t> lane2(M, A a, B b, Like<A, uint32_t> c) {
    using U = Like<A, uint32_t>;
    if constexpr (kIsVector<A>) {
      c += bits_as<U>(sums_of_products(bytes_as_words<0>(a), bytes_as_words<0>(b)));
      c += bits_as<U>(sums_of_products(bytes_as_words<1>(a), bytes_as_words<1>(b)));
    } else {
      for (uint32_t i = 0; i < 4; ++i) c += U(byte_of(a, i) * byte_of(b, i));
    }
    return c;
  }
};
struct Dp2aLo {
  static constexpr RowInfo info{.grammar = "dp2a.lo.type.type2",
                                .operands = "d, a, b, c",
                                .types = kIntegers32,
                                .types2 = kIntegers32,
                                .category = Category::integer,
                                .min_ptx = 50,
                                .min_sm = 61,
                                .manual = "integer-arithmetic-instructions-dp2a",
                                .takes = "utsu"};
  template <class A, class B, class M> TW_INLINE static uint32_t lane2(M, A a, B b, uint32_t c) {
    for (uint32_t i = 0; i < 2; ++i) c += uint32_t(word_of(a, i)) * uint32_t(byte_of(b, i));
    return c;
  }
};
struct Dp2aHi {
  static constexpr RowInfo info{.grammar = "dp2a.hi.type.type2",
                                .operands = "d, a, b, c",
                                .types = kIntegers32,
                                .types2 = kIntegers32,
                                .category = Category::integer,
                                .min_ptx = 50,
                                .min_sm = 61,
                                .manual = "integer-arithmetic-instructions-dp2a",
                                .takes = "utsu"};
  template <class A, class B, class M> TW_INLINE static uint32_t lane2(M, A a, B b, uint32_t c) {
    for (uint32_t i = 0; i < 2; ++i) c += uint32_t(word_of(a, i)) * uint32_t(byte_of(b, i + 2));
    return c;
  }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
