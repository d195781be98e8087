// Input values of the instruction tests: edge values of each operand type, then random ones. Shared
// by the engine's test and by the program that runs the same cases on a GPU (tests/gpu), so it
// depends on nothing but the standard library, and the values follow from a case's seed alone.
//
// Tested by tests/isa: both users must agree on every input.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tw::isa_test {

inline constexpr uint32_t kTuples = 512;  // input tuples a case: one thread each

inline uint64_t next_random(uint64_t& state) {  // splitmix64
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

inline uint64_t hash_of(std::string_view text) {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325u;
  for (char c : text) h = (h ^ uint8_t(c)) * 0x100000001b3u;
  return h;
}

enum class Shape : uint8_t {
  predicate,
  integer,
  binary16,
  brain16,
  binary32,
  binary64,
  e4m3,
  e5m2
};

// One operand: how its bits are built. Pairs are two elements of half the width.
struct ValueKind {
  Shape shape = Shape::integer;
  uint8_t bits = 32;  // of one element
  uint8_t elements = 1;
};

// "pred", "u32", "f16x2", ...
inline ValueKind value_kind(std::string_view type) {
  auto is = [&](std::string_view t) { return type == t; };
  if (is("pred")) return {Shape::predicate, 1, 1};
  if (is("f16")) return {Shape::binary16, 16, 1};
  if (is("f16x2")) return {Shape::binary16, 16, 2};
  if (is("bf16")) return {Shape::brain16, 16, 1};
  if (is("bf16x2")) return {Shape::brain16, 16, 2};
  if (is("f32") || is("tf32")) return {Shape::binary32, 32, 1};
  if (is("f64")) return {Shape::binary64, 64, 1};
  if (is("e4m3x2")) return {Shape::e4m3, 8, 2};
  if (is("e5m2x2")) return {Shape::e5m2, 8, 2};
  uint32_t bits = 0;
  for (char c : type.substr(1)) bits = bits * 10 + uint32_t(c - '0');
  return {Shape::integer, uint8_t(bits), 1};
}

inline const std::vector<uint64_t>& edges(Shape shape) {
  static const std::vector<uint64_t> predicate = {0, 1};
  static const std::vector<uint64_t> integer = {0,
                                                1,
                                                2,
                                                3,
                                                ~0ull,
                                                ~1ull,
                                                0x8000000000000000u,
                                                0x7fffffffffffffffu,
                                                0x80000000u,
                                                0x7fffffffu,
                                                0xffffffffu,
                                                0x8000,
                                                0x7fff,
                                                0xffff,
                                                0x80,
                                                0x7f,
                                                0xff,
                                                31,
                                                32,
                                                33,
                                                63,
                                                64,
                                                65,
                                                8,
                                                16,
                                                0x5555555555555555u,
                                                0x123456789abcdef0u,
                                                0x0f0f,
                                                0x1f05,
                                                0xffffffff80000000u};
  static const std::vector<uint64_t> binary16 = {0,      0x8000, 0x3c00, 0xbc00, 0x0001, 0x8001,
                                                 0x03ff, 0x0400, 0x8400, 0x7bff, 0xfbff, 0x7c00,
                                                 0xfc00, 0x7e00, 0xfd23, 0x7c01, 0x3800, 0x3e00,
                                                 0x4100, 0xc100, 0x3555, 0x6400, 0x7bfe, 0x3bff};
  static const std::vector<uint64_t> brain16 = {0,      0x8000, 0x3f80, 0xbf80, 0x0001, 0x8001,
                                                0x007f, 0x0080, 0x8080, 0x7f7f, 0xff7f, 0x7f80,
                                                0xff80, 0x7fc0, 0xffa3, 0x7f81, 0x3f00, 0x3fc0,
                                                0x4020, 0xc020, 0x3eab, 0x4f00, 0x5f00, 0x3f7f};
  static const std::vector<uint64_t> binary32 = {
      0,          0x80000000u, 0x3f800000, 0xbf800000u, 1,          0x80000001u, 0x007fffff,
      0x00800000, 0x80800000u, 0x7f7fffff, 0xff7fffffu, 0x7f800000, 0xff800000u, 0x7fc00000,
      0x7f800001, 0xffc12345u, 0x3f000000, 0x3fc00000,  0x40200000, 0xc0200000u, 0x4b800001,
      0x4f000000, 0x4effffff,  0x4f800000, 0x5f000000,  0x5f800000, 0xcf000000u, 0x477fe000,
      0x477ff000, 0x38800000,  0x33000000, 0x33000001,  0x43e00000, 0x43e80000,  0x40490fdb,
      0x3f7fffff, 0x7e800000,  0xff000000u};
  static const std::vector<uint64_t> binary64 = {0,
                                                 0x8000000000000000u,
                                                 0x3ff0000000000000u,
                                                 0xbff0000000000000u,
                                                 1,
                                                 0x8000000000000001u,
                                                 0x000fffffffffffffu,
                                                 0x0010000000000000u,
                                                 0x8010000000000000u,
                                                 0x7fefffffffffffffu,
                                                 0xffefffffffffffffu,
                                                 0x7ff0000000000000u,
                                                 0xfff0000000000000u,
                                                 0x7ff8000000000000u,
                                                 0x7ff0000000000001u,
                                                 0xfff8000012345678u,
                                                 0x3fe0000000000000u,
                                                 0x3ff8000000000000u,
                                                 0x4004000000000000u,
                                                 0xc004000000000000u,
                                                 0x41dfffffffc00000u,
                                                 0x41e0000000000000u,
                                                 0x41efffffffe00000u,
                                                 0x43e0000000000000u,
                                                 0x43f0000000000000u,
                                                 0x47efffffe0000000u,
                                                 0x47effffff0000000u,
                                                 0x36a0000000000000u,
                                                 0x3690000000000000u,
                                                 0x3810000000000000u,
                                                 0x3fefffffffffffffu,
                                                 0x400921fb54442d18u};
  static const std::vector<uint64_t> e4m3 = {0,    0x80, 0x01, 0x07, 0x08, 0x38,
                                             0x7e, 0x7f, 0xfe, 0xff, 0x87, 0x5a};
  static const std::vector<uint64_t> e5m2 = {0,    0x80, 0x01, 0x03, 0x04, 0x3c, 0x7b,
                                             0x7c, 0x7d, 0x7f, 0xfb, 0xfc, 0xff, 0x5a};
  switch (shape) {
    case Shape::predicate: return predicate;
    case Shape::integer: return integer;
    case Shape::binary16: return binary16;
    case Shape::brain16: return brain16;
    case Shape::binary32: return binary32;
    case Shape::binary64: return binary64;
    case Shape::e4m3: return e4m3;
    default: return e5m2;
  }
}

// A random element; floats half the time of moderate size, integers half the time small.
inline uint64_t random_element(const ValueKind& kind, uint64_t& state) {
  uint64_t r = next_random(state), how = next_random(state) & 7;
  auto moderate = [&](int mantissa, uint64_t bias, uint64_t spread) {
    uint64_t exponent = bias + next_random(state) % (2 * spread) - spread;
    uint64_t sign = (r >> 63) << (kind.bits - 1);
    return sign | (exponent << mantissa) | (r & ((1ull << mantissa) - 1));
  };
  switch (kind.shape) {
    case Shape::binary16: return how < 4 ? moderate(10, 15, 6) : r;
    case Shape::brain16: return how < 4 ? moderate(7, 127, 6) : r;
    case Shape::binary32:
      return how < 3 ? moderate(23, 127, 5) : how < 5 ? moderate(23, 127, 40) : r;
    case Shape::binary64:
      return how < 3 ? moderate(52, 1023, 5) : how < 5 ? moderate(52, 1023, 80) : r;
    case Shape::integer: return how < 3 ? r & 0x7f : how < 5 ? r >> (r & 63) : r;
    default: return r;
  }
}

// kTuples x operands values, tuple by tuple, each in the low bits of a word. All combinations of
// edge values come first as far as there is room (in an order that varies every operand early),
// then random values; one in four random floats differs from its neighbour in the last bits only.
inline std::vector<uint64_t> input_values(const std::vector<std::string>& types, uint64_t seed) {
  std::vector<ValueKind> kinds;
  for (const std::string& t : types) kinds.push_back(value_kind(t));
  std::vector<uint64_t> values(size_t(kTuples) * kinds.size());
  uint64_t combinations = 1;
  for (const ValueKind& k : kinds)
    for (uint8_t e = 0; e < k.elements; ++e) combinations *= edges(k.shape).size();
  const uint32_t edge_tuples = uint32_t(combinations < kTuples / 2 ? combinations : kTuples / 2);
  const uint64_t stride = combinations <= edge_tuples ? 1 : (combinations / edge_tuples) | 1;
  uint64_t state = seed;
  for (uint32_t t = 0; t < kTuples; ++t) {
    uint64_t pick = combinations <= edge_tuples ? t : t * stride + next_random(state) % stride;
    for (size_t k = 0; k < kinds.size(); ++k) {
      const ValueKind& kind = kinds[k];
      uint64_t word = 0;
      for (uint8_t e = 0; e < kind.elements; ++e) {
        uint64_t element;
        if (t < edge_tuples) {
          const std::vector<uint64_t>& list = edges(kind.shape);
          element = list[pick % list.size()];
          pick /= list.size();
        } else {
          element = random_element(kind, state);
        }
        uint64_t mask = kind.bits == 64 ? ~0ull : (1ull << kind.bits) - 1;
        word |= (element & mask) << (e * kind.bits);
      }
      bool near = t >= edge_tuples && k > 0 && kinds[k].shape >= Shape::binary16 &&
                  kinds[k].shape == kinds[k - 1].shape && (next_random(state) & 3) == 0;
      if (near) {
        const uint64_t last_bits = next_random(state) & 7, sign = next_random(state) & 1;
        word = values[size_t(t) * kinds.size() + k - 1] ^ last_bits ^ (sign << (kind.bits - 1));
      }
      values[size_t(t) * kinds.size() + k] = word;
    }
  }
  return values;
}

}  // namespace tw::isa_test
