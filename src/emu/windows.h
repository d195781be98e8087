// Where the state spaces lie in the 64-bit generic address space. Global, constant and parameter
// addresses are generic addresses already; shared and local ones are offsets into a window.
//
// In a cluster of several CTAs generic addresses of shared memory hold the CTA's rank, so that they
// mean the same to all of them, as on the hardware. Addresses in the space itself hold it only
// where they are another CTA's.
#pragma once

#include <cstdint>

namespace tw::emu {

inline constexpr uint64_t kSharedWindow = 0x0000'0700'0000'0000;
inline constexpr uint64_t kLocalWindow = 0x0000'0700'8000'0000;
inline constexpr uint64_t kWindowBytes = 0x0000'0000'4000'0000;  // of each

// "Addresses" of device functions: numbers that only calls through pointers understand.
inline constexpr uint64_t kFunctionWindow = 0x0000'0701'0000'0000;
inline uint64_t function_address(uint32_t function) {
  return kFunctionWindow + 16 * uint64_t(function);
}

// Within the window, and as a 32-bit address: a CTA's own shared memory begins at 0, that of the
// CTA of rank r of its cluster at (r + 1) << kRankShift.
inline constexpr uint32_t kRankShift = 24;
inline constexpr uint32_t kOwnMask = (1u << kRankShift) - 1;
// Whose memory an address means; `own`: of one without a rank.
inline uint32_t rank_in(uint64_t address, uint32_t own) {
  const uint64_t high = address >> kRankShift;
  return high == 0 ? own : uint32_t(high) - 1;
}
// Ranks beyond the cluster's are kept apart as well as may be.
inline constexpr uint32_t kMostRank = uint32_t(kWindowBytes >> kRankShift) - 2;

inline bool in_shared_window(uint64_t address) { return address - kSharedWindow < kWindowBytes; }
inline bool in_local_window(uint64_t address) { return address - kLocalWindow < kWindowBytes; }

}  // namespace tw::emu
