// Warp-level matrix instructions: the product, of matrices that lie in lanes as isa/matrix.h says
// (halves of C and D are packed by neighbouring columns).
//
// The manual leaves open how sums of floats are rounded ("at least single precision"). Here
// products are exact and are added up, with C, in double, k by k; that sum is rounded to D's type.
// Hardware cuts off in places, so that last bits differ. f64 is a chain of fused multiply-adds in
// the order of k.
//
// The loops of the product are chosen by the processor, not by TILEWRIGHT_TARGET; their results are
// the same.
//
// Tested by tests/isa (matrix_cases.cpp) and by step 14 of kernels/gemm.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "emu/machine_handlers.h"
#include "isa/half.h"
#include "isa/matrix.h"

// The loops of the product, for the processor at hand. The sanitizers do not know resolvers.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(TW_FUZZ)
#define TW_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define TW_CLONES
#endif

namespace tw::emu {
namespace {

using isa::Field;
using ptx::Type;

constexpr uint32_t kMostRows = 16, kColumns = 8, kMostDepth = 256;

// Register `i` of the sources in every lane.
template <class T>
void read_register(const MachineOperands& o, const char* frame, uint32_t i, T* out) {
  const T* slot = reinterpret_cast<const T*>(frame + o.s[i]);
  if ((o.uniform >> i) & 1)
    std::fill(out, out + kLanes, *slot);
  else
    std::memcpy(out, slot, kLanes * sizeof(T));
}

template <class T>
void write_register(const MachineOperands& o, char* frame, uint32_t i, uint32_t lanes,
                    const T* value) {
  T* slot = reinterpret_cast<T*>(frame + o.d[i]);
  for (; lanes != 0; lanes &= lanes - 1) {
    const uint32_t l = uint32_t(__builtin_ctz(lanes));
    slot[l] = value[l];
  }
}

// ---- elements ----

double half_value(uint32_t bits) { return double(isa::widen(isa::F16{bits & 0xffffu})); }
// Through a float that is rounded to odd, so that the second rounding does not see the first.
uint32_t half_of(double value) {
  float f = float(value);
  uint32_t bits = std::bit_cast<uint32_t>(f);
  if (!std::isnan(value) && double(f) != value && bits % 2 == 0)
    f = std::bit_cast<float>(std::abs(double(f)) > std::abs(value) ? bits - 1 : bits + 1);
  return uint32_t(isa::narrow<isa::F16>(f).bits) & 0xffffu;
}

// e4m3: four bits of exponent biased by 7, no infinity; e5m2: the upper byte of a half.
double float8_value(uint32_t byte, bool e5m2) {
  if (e5m2) return half_value(byte << 8);
  const int exponent = int(byte >> 3 & 15), fraction = int(byte & 7);
  const double sign = (byte & 0x80) != 0 ? -1.0 : 1.0;
  if (exponent == 15 && fraction == 7) return sign * std::nan("");
  return sign *
         (exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10));
}

double factor_value(isa::MatrixElement element, uint32_t bits, bool second_kind) {
  switch (element) {
    case isa::kElementF16: return half_value(bits);
    case isa::kElementBf16: return double(std::bit_cast<float>(bits << 16));
    case isa::kElementTf32: return double(std::bit_cast<float>(bits & 0xffffe000u));  // cut off
    default: return float8_value(bits, second_kind);
  }
}
int32_t factor_integer(isa::MatrixElement element, uint32_t bits, bool is_signed) {
  const uint32_t width = element == isa::kElementByte ? 8 : 4;
  return is_signed ? int32_t(bits << (32 - width)) >> (32 - width) : int32_t(bits);
}

// f(register, lane, element, row or column, k) for every element of a factor of `rows` (8 or 16)
// rows; of B the "rows" are columns.
template <class F> void for_factor(uint32_t rows, uint32_t depth, uint32_t bits, F f) {
  const uint32_t elements = bits >= 32 ? 1 : 32 / bits, groups = rows / 8;
  for (uint32_t r = 0; r * 4 * elements < groups * depth; ++r)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t e = 0; e < elements; ++e)
        f(r, lane, e, isa::factor_row(r, groups).at(lane),
          isa::factor_k(r, groups, elements, e).at(lane));
}

// Element i that a lane holds of C or D.
template <class T> T& element_of(T (*sum)[kColumns], uint32_t i, uint32_t lane) {
  return sum[isa::sum_row(i).at(lane)][isa::sum_column(i).at(lane)];
}

// C or D as a matrix of T from registers of one element each, and back.
template <class T>
void read_sums(const MachineOperands& o, const char* frame, uint32_t first, uint32_t rows,
               T (*sum)[kColumns]) {
  T value[kLanes];
  for (uint32_t r = 0; r < rows / 4; ++r) {
    read_register(o, frame, first + r, value);
    for (uint32_t l = 0; l < kLanes; ++l) element_of(sum, r, l) = value[l];
  }
}
template <class T>
void write_sums(const MachineOperands& o, char* frame, uint32_t lanes, uint32_t rows,
                T (*sum)[kColumns]) {
  T value[kLanes];
  for (uint32_t r = 0; r < rows / 4; ++r) {
    for (uint32_t l = 0; l < kLanes; ++l) value[l] = element_of(sum, r, l);
    write_register(o, frame, r, lanes, value);
  }
}

// ---- products ----

TW_CLONES void multiply_doubles(uint32_t rows, uint32_t depth, const double (*a)[kMostDepth],
                                const double (*b)[kColumns], double (*sum)[kColumns]) {
  for (uint32_t i = 0; i < rows; ++i)
    for (uint32_t k = 0; k < depth; ++k)
      for (uint32_t n = 0; n < kColumns; ++n) sum[i][n] += a[i][k] * b[k][n];
}
TW_CLONES void multiply_integers(uint32_t rows, uint32_t depth, const int32_t (*a)[kMostDepth],
                                 const int32_t (*b)[kColumns], int64_t (*sum)[kColumns]) {
  for (uint32_t i = 0; i < rows; ++i) {
    int32_t part[kColumns] = {};  // 64 products of bytes: 22 bits
    for (uint32_t k = 0; k < depth; ++k)
      for (uint32_t n = 0; n < kColumns; ++n) part[n] += a[i][k] * b[k][n];
    for (uint32_t n = 0; n < kColumns; ++n) sum[i][n] += part[n];
  }
}

struct Shape {
  isa::MatrixElement element;
  uint32_t rows, depth, a_registers, b_registers;
};

void floats(const MachineOperands& o, char* frame, uint32_t lanes, const Shape& s) {
  double a[kMostRows][kMostDepth], b[kMostDepth][kColumns], sum[kMostRows][kColumns] = {};
  const uint32_t bits = isa::element_bits(s.element), mask = bits == 32 ? ~0u : (1u << bits) - 1;
  uint32_t words[4][kLanes];
  for (uint32_t r = 0; r < s.a_registers; ++r) read_register(o, frame, r, words[r]);
  for_factor(s.rows, s.depth, bits,
             [&](uint32_t r, uint32_t lane, uint32_t e, uint32_t row, uint32_t k) {
               a[row][k] = factor_value(s.element, words[r][lane] >> (e * bits % 32) & mask,
                                        o.mods[Field::type_a] != 0);
             });
  for (uint32_t r = 0; r < s.b_registers; ++r) read_register(o, frame, s.a_registers + r, words[r]);
  for_factor(8, s.depth, bits,
             [&](uint32_t r, uint32_t lane, uint32_t e, uint32_t column, uint32_t k) {
               b[k][column] = factor_value(s.element, words[r][lane] >> (e * bits % 32) & mask,
                                           o.mods[Field::type_b] != 0);
             });
  const uint32_t c = s.a_registers + s.b_registers;
  if (o.type2 == Type::f16) {
    for (uint32_t r = 0; r < s.rows / 8; ++r) {
      read_register(o, frame, c + r, words[0]);
      for (uint32_t l = 0; l < kLanes; ++l)
        for (uint32_t e = 0; e < 2; ++e)
          element_of(sum, 2 * r + e, l) = half_value(words[0][l] >> 16 * e);
    }
  } else {
    float value[kMostRows][kColumns] = {};
    read_sums(o, frame, c, s.rows, value);
    for (uint32_t i = 0; i < s.rows; ++i)
      for (uint32_t n = 0; n < kColumns; ++n) sum[i][n] = value[i][n];
  }
  multiply_doubles(s.rows, s.depth, a, b, sum);
  if (o.type == Type::f16) {
    for (uint32_t r = 0; r < s.rows / 8; ++r) {
      for (uint32_t l = 0; l < kLanes; ++l) {
        words[0][l] = 0;
        for (uint32_t e = 0; e < 2; ++e)
          words[0][l] |= half_of(element_of(sum, 2 * r + e, l)) << 16 * e;
      }
      write_register(o, frame, r, lanes, words[0]);
    }
    return;
  }
  float value[kMostRows][kColumns];
  for (uint32_t i = 0; i < s.rows; ++i)
    for (uint32_t n = 0; n < kColumns; ++n) {
      value[i][n] = float(sum[i][n]);
      if (std::isnan(value[i][n])) value[i][n] = std::bit_cast<float>(0x7fffffffu);
    }
  write_sums(o, frame, lanes, s.rows, value);
}

void doubles(const MachineOperands& o, char* frame, uint32_t lanes, const Shape& s) {
  double a[kMostRows][4], b[4][kColumns], sum[kMostRows][kColumns], word[kLanes];
  for (uint32_t r = 0; r < s.a_registers; ++r) {
    read_register(o, frame, r, word);
    for (uint32_t l = 0; l < kLanes; ++l)
      a[isa::factor_row(r, s.rows / 8).at(l)][isa::factor_k(r, s.rows / 8, 1, 0).at(l)] = word[l];
  }
  read_register(o, frame, s.a_registers, word);
  for (uint32_t l = 0; l < kLanes; ++l)
    b[isa::factor_k(0, 1, 1, 0).at(l)][isa::factor_row(0, 1).at(l)] = word[l];
  read_sums(o, frame, s.a_registers + 1, s.rows, sum);
  for (uint32_t i = 0; i < s.rows; ++i)
    for (uint32_t k = 0; k < 4; ++k)
      for (uint32_t n = 0; n < kColumns; ++n) sum[i][n] = std::fma(a[i][k], b[k][n], sum[i][n]);
  for (uint32_t i = 0; i < s.rows; ++i)
    for (double& v : sum[i])
      if (std::isnan(v)) v = std::bit_cast<double>(0xfff8000000000000u);
  write_sums(o, frame, lanes, s.rows, sum);
}

void integers(const MachineOperands& o, char* frame, uint32_t lanes, const Shape& s) {
  int32_t a[kMostRows][kMostDepth], b[kMostDepth][kColumns], value[kMostRows][kColumns];
  int64_t sum[kMostRows][kColumns];
  const uint32_t bits = isa::element_bits(s.element), mask = (1u << bits) - 1;
  uint32_t words[4][kLanes];
  for (uint32_t r = 0; r < s.a_registers; ++r) read_register(o, frame, r, words[r]);
  for_factor(s.rows, s.depth, bits,
             [&](uint32_t r, uint32_t lane, uint32_t e, uint32_t row, uint32_t k) {
               a[row][k] = factor_integer(s.element, words[r][lane] >> e * bits & mask,
                                          o.mods[Field::type_a] != 0);
             });
  for (uint32_t r = 0; r < s.b_registers; ++r) read_register(o, frame, s.a_registers + r, words[r]);
  for_factor(8, s.depth, bits,
             [&](uint32_t r, uint32_t lane, uint32_t e, uint32_t column, uint32_t k) {
               b[k][column] = factor_integer(s.element, words[r][lane] >> e * bits & mask,
                                             o.mods[Field::type_b] != 0);
             });
  read_sums(o, frame, s.a_registers + s.b_registers, s.rows, value);
  for (uint32_t i = 0; i < s.rows; ++i)
    for (uint32_t n = 0; n < kColumns; ++n) sum[i][n] = value[i][n];
  multiply_integers(s.rows, s.depth, a, b, sum);
  for (uint32_t i = 0; i < s.rows; ++i)
    for (uint32_t n = 0; n < kColumns; ++n)
      value[i][n] = o.mods[Field::satfinite]
                        ? int32_t(std::clamp<int64_t>(sum[i][n], INT32_MIN, INT32_MAX))
                        : int32_t(uint32_t(sum[i][n]));
  write_sums(o, frame, lanes, s.rows, value);
}

// Counts the bits of a AND b, or of a XOR b, 32 of them a register.
void bits(const MachineOperands& o, char* frame, uint32_t lanes, const Shape& s) {
  uint32_t a[kMostRows][kMostDepth / 32], b[kMostDepth / 32][kColumns], word[kLanes];
  int32_t value[kMostRows][kColumns];
  const uint32_t groups = s.rows / 8;
  for (uint32_t r = 0; r < s.a_registers; ++r) {
    read_register(o, frame, r, word);
    for (uint32_t l = 0; l < kLanes; ++l)
      a[isa::factor_row(r, groups).at(l)][isa::factor_k(r, groups, 1, 0).at(l)] = word[l];
  }
  for (uint32_t r = 0; r < s.b_registers; ++r) {
    read_register(o, frame, s.a_registers + r, word);
    for (uint32_t l = 0; l < kLanes; ++l)
      b[isa::factor_k(r, 1, 1, 0).at(l)][isa::factor_row(r, 1).at(l)] = word[l];
  }
  read_sums(o, frame, s.a_registers + s.b_registers, s.rows, value);
  const bool both = o.mods[Field::operation] == isa::kOpAnd;
  for (uint32_t i = 0; i < s.rows; ++i)
    for (uint32_t n = 0; n < kColumns; ++n)
      for (uint32_t k = 0; k < s.depth / 32; ++k)
        value[i][n] =
            int32_t(uint32_t(value[i][n]) +
                    uint32_t(std::popcount(both ? a[i][k] & b[k][n] : a[i][k] ^ b[k][n])));
  write_sums(o, frame, lanes, s.rows, value);
}

// ---- moves ----

// Words of four of the rows of matrix i, lane 8 i + r, to and from lane 4 r + c of word i.
void transpose_halves(uint32_t (&fragment)[kLanes]) {
  uint16_t element[8][8];
  for (uint32_t l = 0; l < kLanes; ++l)
    for (uint32_t e = 0; e < 2; ++e)
      element[l / 4][l % 4 * 2 + e] = uint16_t(fragment[l] >> 16 * e);
  for (uint32_t l = 0; l < kLanes; ++l)
    fragment[l] = uint32_t(element[l % 4 * 2][l / 4]) | uint32_t(element[l % 4 * 2 + 1][l / 4])
                                                            << 16;
}

}  // namespace

void matrix_move_lanes(const MachineOperands& o, char* frame, uint32_t lanes) {
  uint32_t in[4][kLanes] = {}, out[4][kLanes] = {};
  const uint32_t sources = o.sources - 1u;
  for (uint32_t i = 0; i < sources; ++i) read_register(o, frame, i, in[i]);
  const bool transposed = o.mods[Field::to] != 0;
  switch (o.mods[Field::operation]) {
    case kRowsToFragment:
      for (uint32_t i = 0; i < 4 && o.d[i] != kNoSlot; ++i) {
        for (uint32_t l = 0; l < kLanes; ++l) out[i][l] = in[l % 4][8 * i + l / 4];
        if (transposed) transpose_halves(out[i]);
        write_register(o, frame, i, lanes, out[i]);
      }
      break;
    case kFragmentToRows:
      for (uint32_t i = 0; i < sources; ++i) {
        if (transposed) transpose_halves(in[i]);
        for (uint32_t l = 0; l < kLanes; ++l) out[l % 4][8 * i + l / 4] = in[i][l];
      }
      for (uint32_t w = 0; w < 4; ++w) write_register(o, frame, w, lanes, out[w]);
      break;
    default:
      transpose_halves(in[0]);
      write_register(o, frame, 0, lanes, in[0]);
      break;
  }
}

void matrix_multiply_lanes(const MachineOperands& o, char* frame, uint32_t lanes) {
  const isa::GeometrySize size = isa::kGeometrySizes[o.mods[Field::geometry]];
  const auto element = isa::MatrixElement(o.mods[Field::layout]);
  const uint32_t words = std::max(1u, size.k * std::min(isa::element_bits(element), 32u) / 128u);
  const Shape s{element, size.m, size.k, size.m / 8 * words, words};
  switch (element) {
    case isa::kElementF64: return doubles(o, frame, lanes, s);
    case isa::kElementByte:
    case isa::kElementNibble: return integers(o, frame, lanes, s);
    case isa::kElementBit: return bits(o, frame, lanes, s);
    default: return floats(o, frame, lanes, s);
  }
}

}  // namespace tw::emu
