// A tensor map: what cuTensorMapEncodeTiled writes into the 128 bytes of a CUtensorMap and bulk
// tensor copies read. The layout that GPUs use is NVIDIA's own; this is ours, so a map is good only
// where it was made.
#pragma once

#include <cstdint>

namespace tw::emu {

inline constexpr uint32_t kMaxTensorRank = 5;

struct alignas(64) TensorMap {
  static constexpr uint32_t kMagic = 0x546d5754;  // what is no map of ours has another
  uint32_t magic = 0;
  uint8_t element_bytes = 0;
  uint8_t rank = 0;
  uint8_t swizzle_pieces = 0;  // 16-byte pieces of a line of the swizzle: 1 (none), 2, 4, 8
  uint8_t unused = 0;
  uint64_t address = 0;
  uint64_t stride[kMaxTensorRank] = {};  // bytes; [0] is the element's
  uint32_t size[kMaxTensorRank] = {};    // elements, minus 1: up to 2^32
  uint16_t box[kMaxTensorRank] = {};
};
// What is wrong with a map that a program made, or an empty text. Copies ask, too: a map lies in
// memory that anybody may write to.
inline const char* error_of(const TensorMap& m) {
  const uint32_t line = m.box[0] * m.element_bytes;
  const auto power = [](uint32_t n) { return n != 0 && n <= 8 && (n & (n - 1)) == 0; };
  if (m.rank == 0 || m.rank > kMaxTensorRank) return "the rank must be from 1 to 5";
  if (!power(m.element_bytes) || !power(m.swizzle_pieces))
    return "no such elements, or no such swizzle";
  if (m.address % 16 != 0) return "the address must be a multiple of 16";
  for (uint32_t d = 0; d < m.rank; ++d) {
    if (m.box[d] == 0 || m.box[d] > 256) return "a box has 1 to 256 elements along each dimension";
    if (d > 0 && (m.stride[d] % 16 != 0 || m.stride[d] >= uint64_t{1} << 40))
      return "a stride must be a multiple of 16, below 2^40";
  }
  if (line % 16 != 0) return "a line of the box must be a multiple of 16 bytes";
  if (m.swizzle_pieces != 1 && line > 16u * m.swizzle_pieces)
    return "a line of the box must fit into a line of the swizzle";
  return "";
}
static_assert(sizeof(TensorMap) == 128, "the size of a CUtensorMap");

}  // namespace tw::emu
