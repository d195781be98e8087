// How many 32-byte sectors a global-memory request moves: the number of distinct 32-byte segments
// that its active lanes touch, for every width and pattern measured on an H200
// (tests/data/lane-patterns-h200.tsv, every row equal). Beside it the ideal: the fewest sectors
// that could hold the bytes asked for. Sectors are what
// l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st}.sum counts. The count depends on addresses modulo
// 32 only through where the pattern starts, so a caller may pass addresses relative to any multiple
// of 32.
//
// Tested by tests/unit/shadow/sectors_test.cpp.
#pragma once

#include <bit>
#include <cstdint>

namespace tw::shadow {

inline constexpr uint32_t kSectorBytes = 32;

// Distinct segments of 2^log2_bytes bytes that the active lanes touch. `width`: bytes per lane, at
// most 32; an unaligned lane may touch two segments.
constexpr uint32_t count_segments(const uint64_t* address, uint32_t mask, uint32_t width,
                                  uint32_t log2_bytes) {
  uint64_t seen[64] = {};
  uint32_t count = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint64_t last = (address[lane] + width - 1) >> log2_bytes;
    for (uint64_t segment = address[lane] >> log2_bytes; segment <= last; ++segment) {
      // Neighbouring lanes mostly share the last segment found, so look from the newest back.
      uint32_t at = count;
      while (at != 0 && seen[at - 1] != segment) --at;
      if (at == 0) seen[count++] = segment;
    }
  }
  return count;
}

// `address`: 32 byte addresses, inactive lanes ignored. `width`: 1, 2, 4, 8, 16 or 32 bytes.
constexpr uint32_t count_sectors(const uint64_t* address, uint32_t mask, uint32_t width) {
  return count_segments(address, mask, width, 5);
}

// The fewest sectors that hold what `lanes` lanes of `width` bytes ask for, all different.
constexpr uint32_t ideal_sectors(uint32_t lanes, uint32_t width) {
  return (lanes * width + kSectorBytes - 1) / kSectorBytes;
}

}  // namespace tw::shadow
