// The words of the matrix instructions (ldmatrix, mma, wmma, wgmma): what the fields geometry,
// layout and vec of Mods hold for them; and which lane holds which element (the manual's "matrix
// fragments").
#pragma once

#include <cstdint>

namespace tw::isa {

// Field::geometry: M x N x K of a product.
enum Geometry : uint8_t {
  kGeometryNone,
  kM8N8K4,
  kM8N8K16,
  kM8N8K32,
  kM8N8K128,
  kM16N8K4,
  kM16N8K8,
  kM16N8K16,
  kM16N8K32,
  kM16N8K64,
  kM16N8K128,
  kM16N8K256,
  kM16N16K8,
  kM16N16K16,
  kM32N8K16,
  kM8N32K16,
  kGeometries
};
struct GeometrySize {
  uint16_t m = 0, n = 0, k = 0;
};
// Indexed by Geometry.
inline constexpr GeometrySize kGeometrySizes[kGeometries] = {
    {},          {8, 8, 4},    {8, 8, 16},  {8, 8, 32},  {8, 8, 128},  {16, 8, 4},
    {16, 8, 8},  {16, 8, 16},  {16, 8, 32}, {16, 8, 64}, {16, 8, 128}, {16, 8, 256},
    {16, 16, 8}, {16, 16, 16}, {32, 8, 16}, {8, 32, 16},
};
// What the factors of a product hold. Field::layout of Builtin::matrix_multiply.
enum MatrixElement : uint8_t {
  kElementF16,
  kElementBf16,
  kElementTf32,
  kElementFloat8,  // e4m3 or e5m2, by Field::type_a and type_b
  kElementF64,
  kElementByte,  // signed where Field::type_a, type_b say so
  kElementNibble,
  kElementBit
};
constexpr uint32_t element_bits(MatrixElement e) {
  switch (e) {
    case kElementF16:
    case kElementBf16: return 16;
    case kElementTf32: return 32;
    case kElementF64: return 64;
    case kElementFloat8:
    case kElementByte: return 8;
    case kElementNibble: return 4;
    case kElementBit: return 1;
  }
  return 32;
}
// wgmma: a warpgroup's product of 64 x N x (32 bytes of k); Field::geometry holds N / 8.
constexpr GeometrySize warpgroup_size(uint8_t eighths, MatrixElement e) {
  return {64, uint16_t(8 * eighths), uint16_t(256 / element_bits(e))};
}
// Field::layout of a matrix in memory.
enum MatrixLayout : uint8_t { kRowMajor, kColumnMajor };

// A row, column or k as lanes hold it: g * (lane / 4) + t * (lane % 4) + c.
struct LaneCoordinate {
  uint32_t g = 0, t = 0, c = 0;
  constexpr uint32_t at(uint32_t lane) const { return g * (lane / 4) + t * (lane % 4) + c; }
};
// Register r of a factor with 8 * groups rows (of B: columns) and `elements` of k a register: the
// row, and the k of element e.
constexpr LaneCoordinate factor_row(uint32_t r, uint32_t groups) {
  return {1, 0, 8 * (r % groups)};
}
constexpr LaneCoordinate factor_k(uint32_t r, uint32_t groups, uint32_t elements, uint32_t e) {
  return {0, elements, 4 * elements * (r / groups) + e};
}
// Element i of C and D, one a register, or two where they are halves.
constexpr LaneCoordinate sum_row(uint32_t i) { return {1, 0, 8 * (i / 2)}; }
constexpr LaneCoordinate sum_column(uint32_t i) { return {0, 2, i % 2}; }

}  // namespace tw::isa
