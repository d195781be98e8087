// How many wavefronts a shared-memory request takes: the rule of the load-store unit of compute
// capability 9.0, found by comparing with Nsight Compute on an H200
// (tests/data/lane-patterns-h200.tsv, every row equal). It is free of engine types and allocates
// nothing, so that a memory handler can inline it; the model and the command use the same function,
// so there is one rule.
//
//  - 32 banks of 4 bytes; bank = (byte address / 4) mod 32. Lanes that want the same word share it.
//  - A request is served in passes over groups of consecutive lanes: one group of 32 for 1-, 2- and
//    4-byte accesses, 2 groups of 16 for 8 bytes, 4 groups of 8 for 16 bytes.
//  - Loads only: if every lane has the address of lane^1, or every lane that of lane^2,
//    neighbouring
//    groups merge (8 bytes: 1 group of 32; 16 bytes: 2 groups of 16).
//  - Wavefronts of a group: the largest number of distinct words wanted in one bank. The request
//    takes the sum. Bank conflicts as Nsight Compute counts them: wavefronts - groups.
//
// Partial masks: an inactive lane wants no word, sets no condition on merging, and a group without
// an active lane takes no pass (tests/data/lane-masks-h200.tsv, every row equal).
//
// Atomics (assumed; no counter of the hardware has been compared): groups as for stores, but each
// lane is an operation of its own, so that lanes with one word take a wavefront each. Increments
// that the hardware adds up before it writes (ATOMS.POPC.INC) share a word as stores do.
//
// Addresses need not be aligned here: alignment is another checker's business.
//
// Tested by tests/unit/shadow/banks_test.cpp.
#pragma once

#include <cstdint>

namespace tw::shadow {

inline constexpr uint32_t kBanks = 32;
inline constexpr uint32_t kBankBytes = 4;
inline constexpr uint32_t kWarpLanes = 32;

enum class SharedAccess : uint8_t { kLoad, kStore, kAtomic };

struct BankCount {
  uint32_t wavefronts = 0;
  uint32_t groups =
      0;  // passes with at least one active lane: the wavefronts of a conflict-free request

  constexpr uint32_t conflicts() const { return wavefronts - groups; }
};

// Lanes served in one pass. `width`: bytes per lane, 1, 2, 4, 8 or 16.
constexpr uint32_t lanes_per_group(uint32_t width) {
  return width <= 4 ? kWarpLanes : width == 8 ? 16 : 8;
}

// True if every active lane has the address of its active partner lane^distance.
constexpr bool lanes_pair_up(const uint32_t* address, uint32_t mask, uint32_t distance) {
  for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
    const uint32_t partner = lane ^ distance;
    if ((mask >> lane & 1) != 0 && (mask >> partner & 1) != 0 && address[lane] != address[partner])
      return false;
  }
  return true;
}

// The largest number of distinct words that lanes first .. first+count-1 want in one bank; unless
// `share`, a word counts once for each lane that wants it.
constexpr uint32_t wavefronts_of_group(const uint32_t* address, uint32_t mask, uint32_t width,
                                       uint32_t first, uint32_t count, bool share = true) {
  const uint32_t words_per_lane = width <= kBankBytes ? 1 : width / kBankBytes;
  // Distinct words per bank as chains: head[bank] is the last word found there, next[] the one
  // before.
  uint32_t word[64] = {};
  uint8_t next[64] = {};
  uint8_t head[kBanks] = {};  // index + 1; 0: none
  uint8_t depth[kBanks] = {};
  uint32_t words = 0, deepest = 0;
  for (uint32_t lane = first; lane < first + count; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    for (uint32_t i = 0; i < words_per_lane; ++i) {
      const uint32_t wanted = address[lane] / kBankBytes + i;
      const uint32_t bank = wanted % kBanks;
      uint32_t at = share ? head[bank] : 0;
      while (at != 0 && word[at - 1] != wanted) at = next[at - 1];
      if (at != 0) continue;
      word[words] = wanted;
      next[words] = head[bank];
      head[bank] = static_cast<uint8_t>(++words);
      if (++depth[bank] > deepest) deepest = depth[bank];
    }
  }
  return deepest;
}

// `address`: the byte address of each of the 32 lanes in the shared window (inactive lanes:
// ignored). `width`: bytes per lane, 1, 2, 4, 8 or 16. No active lane: no wavefront.
constexpr BankCount count_banks(const uint32_t* address, uint32_t mask, uint32_t width,
                                SharedAccess access) {
  BankCount result;
  if (mask == 0) return result;
  uint32_t lanes = lanes_per_group(width);
  if (lanes < kWarpLanes && access == SharedAccess::kLoad &&
      (lanes_pair_up(address, mask, 1) || lanes_pair_up(address, mask, 2)))
    lanes *= 2;
  for (uint32_t first = 0; first < kWarpLanes; first += lanes) {
    const uint32_t group_mask = (lanes == kWarpLanes ? ~0u : ((1u << lanes) - 1)) << first;
    if ((mask & group_mask) == 0) continue;
    ++result.groups;
    result.wavefronts +=
        wavefronts_of_group(address, mask, width, first, lanes, access != SharedAccess::kAtomic);
  }
  return result;
}

}  // namespace tw::shadow
