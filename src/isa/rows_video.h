// Rows: SIMD video instructions (two halves or four bytes a register). Operands are taken whole:
// the manual's element selectors (.h10, .b3210, ...) and destination masks are put in terms of
// other rows by the decoder (emu/lower_video.cpp).
#pragma once

#include "isa/lane.h"
#include "isa/row.h"
#include "isa/vector.h"

namespace tw::isa {
inline namespace TW_TARGET {

enum class VideoOp { add, sub, average, difference, least, most, compare };

// .type is the result's, type_a and type_b (1: signed) the operands'. With .add the results are
// summed into c, otherwise each takes its place (and c has none to give).
template <int kParts, VideoOp kOp, class T, class M>
TW_INLINE T simd(M m, uint32_t a, uint32_t b, uint32_t c) {
  constexpr int kBits = 32 / kParts;
  constexpr int32_t kAll = int32_t((1u << kBits) - 1);
  constexpr int32_t kMost = kIsSigned<T> ? kAll >> 1 : kAll,
                    kLeast = kIsSigned<T> ? -(kAll >> 1) - 1 : 0;
  uint32_t joined = 0, sum = c;
  for (int i = 0; i < kParts; ++i) {
    uint32_t pa = a >> (i * kBits) << (32 - kBits), pb = b >> (i * kBits) << (32 - kBits);
    int32_t x = m[Field::type_a] ? int32_t(pa) >> (32 - kBits) : int32_t(pa >> (32 - kBits));
    int32_t y = m[Field::type_b] ? int32_t(pb) >> (32 - kBits) : int32_t(pb >> (32 - kBits));
    int32_t r = 0;
    switch (kOp) {
      case VideoOp::add: r = x + y; break;
      case VideoOp::sub: r = x - y; break;
      case VideoOp::average: r = x + y >= 0 ? (x + y + 1) >> 1 : (x + y) >> 1; break;
      case VideoOp::difference: r = x < y ? y - x : x - y; break;
      case VideoOp::least: r = x < y ? x : y; break;
      case VideoOp::most: r = x > y ? x : y; break;
      case VideoOp::compare: {
        uint8_t cmp = m[Field::cmp];
        bool hit = cmp == kEq   ? x == y
                   : cmp == kNe ? x != y
                   : cmp == kLt ? x < y
                   : cmp == kLe ? x <= y
                   : cmp == kGt ? x > y
                                : x >= y;
        r = hit ? 1 : 0;
        break;
      }
    }
    if (m[Field::sat]) r = r > kMost ? kMost : r < kLeast ? kLeast : r;
    joined |= (uint32_t(r) & uint32_t(kAll)) << (i * kBits);
    sum += uint32_t(r);
  }
  return T(m[Field::operation] == kOpAdd ? sum : joined);
}

// The same for many lanes: elements of even and of odd places, each in twice its width, where no result
// overflows.
template <int kParts, VideoOp kOp, class T, class M, class U>
TW_INLINE U simd_lanes(M m, U a, U b, U c) {
  constexpr int kBits = 32 / kParts;
  using Element = std::conditional_t<kParts == 4, int16_t, int32_t>;
  using W = Vector<Element, sizeof(U) / sizeof(Element)>;
  using Bits = Vector<Unsigned<Element>, sizeof(U) / sizeof(Element)>;
  constexpr Element kAll = Element((1 << kBits) - 1), kSign = Element(1 << (kBits - 1));
  constexpr bool kSigned = kIsSigned<ElementOf<T>>;
  const bool saturates = m[Field::sat];
  const W most = splat<W>(kSigned ? kAll >> 1 : kAll), least = splat<W>(kSigned ? -kSign : 0);
  const W sign_a = splat<W>(m[Field::type_a] ? kSign : Element(0)),
          sign_b = splat<W>(m[Field::type_b] ? kSign : Element(0));
  auto element = [](U whole, bool odd, W sign) TW_INLINE_LAMBDA {
    const W w = odd ? bits_as<W>(Bits(bits_as<Bits>(whole) >> kBits)) : bits_as<W>(whole) & kAll;
    return W((w ^ sign) - sign);
  };
  W parts[2];
  for (int odd = 0; odd < 2; ++odd) {
    const W x = element(a, odd != 0, sign_a), y = element(b, odd != 0, sign_b);
    W r;
    switch (kOp) {
      case VideoOp::add: r = x + y; break;
      case VideoOp::sub: r = x - y; break;
      case VideoOp::average: {
        const W sum = x + y;
        r = (sum + 1 + (sum < 0)) >> 1;
        break;
      }
      case VideoOp::difference: r = larger(x, y) - smaller(x, y); break;
      case VideoOp::least: r = smaller(x, y); break;
      case VideoOp::most: r = larger(x, y); break;
      case VideoOp::compare: {
        const uint8_t cmp = m[Field::cmp];
        const W equal = x == y, less = x<y, greater = x> y;
        r = (cmp == kEq   ? equal
             : cmp == kNe ? W(less | greater)
             : cmp == kLt ? less
             : cmp == kLe ? W(less | equal)
             : cmp == kGt ? greater
                          : W(greater | equal)) &
            1;
        break;
      }
    }
    if (saturates) r = larger(smaller(r, most), least);
    parts[odd] = r;
  }
  if (m[Field::operation] != kOpAdd) return bits_as<U>(W((parts[0] & kAll) | parts[1] << kBits));
  const W both = parts[0] + parts[1];
  if constexpr (kParts == 4) {
    using I = Vector<int32_t, sizeof(U) / 4>;
    const I sums = bits_as<I>(both);
    return c + bits_as<U>(I((sums << 16 >> 16) + (sums >> 16)));
  } else {
    return c + bits_as<U>(both);
  }
}

inline constexpr Field kVideoReads[] = {Field::type_a, Field::type_b, Field::sat, Field::operation};
template <int kParts, VideoOp kOp> struct Video {
  static constexpr std::span<const Field> kReads = kVideoReads;
  static constexpr bool kVectors = true;
  template <class T, class M>
  TW_INLINE static T lane(M m, Like<T, uint32_t> a, Like<T, uint32_t> b, Like<T, uint32_t> c) {
    if constexpr (kIsVector<T>)
      return T(simd_lanes<kParts, kOp, T>(m, a, b, c));
    else
      return simd<kParts, kOp, T>(m, a, b, c);
  }
};
constexpr RowInfo video_info(std::string_view grammar, std::string_view manual) {
  return {.grammar = grammar,
          .operands = "d, a, b, c",
          .types = kIntegers32,
          .types2 = {},
          .category = Category::integer,
          .min_ptx = 30,
          .min_sm = 30,
          .manual = manual,
          .takes = "vvvv"};
}
inline constexpr std::string_view
    kVideo2 = "simd-video-instructions-vadd2-vsub2-vavrg2-vabsdiff2-vmin2-vmax2",
    kVideo4 = "simd-video-instructions-vadd4-vsub4-vavrg4-vabsdiff4-vmin4-vmax4";

struct Vadd2 : Video<2, VideoOp::add> {
  static constexpr RowInfo info = video_info("vadd2.type.atype.btype{.sat}{.accumulate}", kVideo2);
};
struct Vsub2 : Video<2, VideoOp::sub> {
  static constexpr RowInfo info = video_info("vsub2.type.atype.btype{.sat}{.accumulate}", kVideo2);
};
struct Vavrg2 : Video<2, VideoOp::average> {
  static constexpr RowInfo info = video_info("vavrg2.type.atype.btype{.sat}{.accumulate}", kVideo2);
};
struct Vabsdiff2 : Video<2, VideoOp::difference> {
  static constexpr RowInfo info =
      video_info("vabsdiff2.type.atype.btype{.sat}{.accumulate}", kVideo2);
};
struct Vmin2 : Video<2, VideoOp::least> {
  static constexpr RowInfo info = video_info("vmin2.type.atype.btype{.sat}{.accumulate}", kVideo2);
};
struct Vmax2 : Video<2, VideoOp::most> {
  static constexpr RowInfo info = video_info("vmax2.type.atype.btype{.sat}{.accumulate}", kVideo2);
};
struct Vadd4 : Video<4, VideoOp::add> {
  static constexpr RowInfo info = video_info("vadd4.type.atype.btype{.sat}{.accumulate}", kVideo4);
};
struct Vsub4 : Video<4, VideoOp::sub> {
  static constexpr RowInfo info = video_info("vsub4.type.atype.btype{.sat}{.accumulate}", kVideo4);
};
struct Vavrg4 : Video<4, VideoOp::average> {
  static constexpr RowInfo info = video_info("vavrg4.type.atype.btype{.sat}{.accumulate}", kVideo4);
};
struct Vabsdiff4 : Video<4, VideoOp::difference> {
  static constexpr RowInfo info =
      video_info("vabsdiff4.type.atype.btype{.sat}{.accumulate}", kVideo4);
};
struct Vmin4 : Video<4, VideoOp::least> {
  static constexpr RowInfo info = video_info("vmin4.type.atype.btype{.sat}{.accumulate}", kVideo4);
};
struct Vmax4 : Video<4, VideoOp::most> {
  static constexpr RowInfo info = video_info("vmax4.type.atype.btype{.sat}{.accumulate}", kVideo4);
};

// vset: no result type; 1 where the comparison holds.
inline constexpr Field kVsetReads[] = {Field::type_a, Field::type_b, Field::cmp, Field::operation};
template <int kParts> struct Vset {
  static constexpr std::span<const Field> kReads = kVsetReads;
  static constexpr bool kVectors = true;
  template <class T, class M>
  TW_INLINE static T lane(M m, Like<T, uint32_t> a, Like<T, uint32_t> b, Like<T, uint32_t> c) {
    if constexpr (kIsVector<T>)
      return T(simd_lanes<kParts, VideoOp::compare, T>(m, a, b, c));
    else
      return simd<kParts, VideoOp::compare, T>(m, a, b, c);
  }
};
struct Vset2 : Vset<2> {
  static constexpr RowInfo info{.grammar = "vset2.atype.btype.cmp{.accumulate}",
                                .operands = "d, a, b, c",
                                .types = kU32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 30,
                                .min_sm = 30,
                                .manual = "simd-video-instructions-vset2",
                                .takes = "zvvz"};
};
struct Vset4 : Vset<4> {
  static constexpr RowInfo info{.grammar = "vset4.atype.btype.cmp{.accumulate}",
                                .operands = "d, a, b, c",
                                .types = kU32,
                                .types2 = {},
                                .category = Category::integer,
                                .min_ptx = 30,
                                .min_sm = 30,
                                .manual = "simd-video-instructions-vset4",
                                .takes = "zvvz"};
};

}  // namespace TW_TARGET
}  // namespace tw::isa
