// Rows: SIMD video instructions (two halves or four bytes a register). Operands are taken whole:
// the manual's element selectors (.h10, .b3210, ...) and destination masks are put in terms of
// other rows by the decoder (emu/lower_video.cpp).
#pragma once

#include "isa/lane.h"
#include "isa/row.h"

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

inline constexpr Field kVideoReads[] = {Field::type_a, Field::type_b, Field::sat, Field::operation};
template <int kParts, VideoOp kOp> struct Video {
  static constexpr std::span<const Field> kReads = kVideoReads;
  template <class T, class M> TW_INLINE static T lane(M m, uint32_t a, uint32_t b, uint32_t c) {
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
  template <class T, class M> TW_INLINE static T lane(M m, uint32_t a, uint32_t b, uint32_t c) {
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
