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
static_assert(sizeof(TensorMap) == 128, "the size of a CUtensorMap");

}  // namespace tw::emu
