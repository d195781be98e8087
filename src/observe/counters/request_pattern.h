// The counts of a request, remembered by its shape.
//
// Problem: counting banks and sectors takes a hundred times as long as the access itself, and a
// kernel makes the same few requests over and over at other addresses. Choice: counts are
// translation-invariant (shared memory modulo 16 bytes, global memory modulo a line of 128), so
// each site keeps the patterns it has seen, relative to the first lane, and how often. Where decode
// knows the lanes' addresses to be regular over each half-warp, two numbers stand for all 32.
// Limits: a site with more than kMaxPatterns patterns (a gather) folds them into its totals and
// starts over: exact all the same, only slow.
//
// Tested by tests/unit/observe/request_pattern_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "report/record.h"
#include "shadow/banks.h"

namespace tw::counters {

inline constexpr uint32_t kMaxPatterns = 64;
inline constexpr uint32_t kLineBytes = 128;

// The sectors that a request wants of one line.
struct LinePart {
  int64_t line = 0;     // relative to the line of the first lane
  uint8_t sectors = 0;  // mask
};

struct Pattern {
  // What it looks like.
  uint32_t mask = 0;
  bool regular = false;                 // low and half say all
  uint32_t width = 0;                   // bytes of a lane
  uint64_t low = 0;                     // first active lane's address, modulo 16 or 128
  uint64_t half = 0;                    // regular: lane 16's distance from lane 0
  std::array<uint64_t, 32> distance{};  // from the first active lane; 0 for inactive lanes
  // What it costs.
  uint64_t count = 0;
  std::array<uint32_t, 3> wavefronts{}, groups{};
  uint32_t address_bits = 0;
  uint32_t sectors = 0, ideal_sectors = 0;
  std::vector<LinePart> lines;
};

// copy: global memory read by cp.async, whose lanes hand over 128 bytes at a time (8 lanes of 16
// bytes): a sector that two such groups share counts twice, as on an H200 (step 14 of kernels/gemm).
enum class PatternSpace : uint8_t { shared, global, copy };
using shadow::SharedAccess;

// True if `a` shows more conflicts, or as many and comes first in a fixed order (so that the
// example does not depend on who saw it first).
bool worse(const report::BankExample& a, const report::BankExample& b);

// The patterns of one site.
class PatternTable {
 public:
  // The lanes' addresses are address[lane] + offset (address[0] + offset if `uniform`). `regular`:
  // the full mask, and equal or consecutive addresses over each half-warp.
  template <class A>
  [[gnu::always_inline]] Pattern& find(PatternSpace space, SharedAccess access, uint32_t width,
                                       const A* address, A offset, uint32_t mask, bool regular,
                                       bool uniform);

  void fold();  // counts of all patterns -> totals
  bool crowded() const { return patterns_.size() >= kMaxPatterns; }
  // All patterns, which are then forgotten without going into the totals.
  std::vector<std::unique_ptr<Pattern>> take() {
    recent_.fill(nullptr);
    return std::move(patterns_);
  }
  const report::SiteCounts& totals() const { return totals_; }
  const report::BankExample& example() const { return example_; }

 private:
  template <class A>
  [[gnu::noinline]] Pattern& find_other(PatternSpace space, SharedAccess access, uint32_t width,
                                        const A* address, A offset, uint32_t mask, bool regular,
                                        bool uniform);
  Pattern& add(PatternSpace space, SharedAccess access, uint32_t width, const uint64_t* address,
               Pattern pattern);

  // The last pattern seen for each start within a line: walking along a row takes them in turn.
  static uint32_t slot(uint64_t low) { return uint32_t(low >> 2) & 31; }
  std::array<Pattern*, 32> recent_{};
  std::vector<std::unique_ptr<Pattern>> patterns_;
  report::SiteCounts totals_;
  report::BankExample example_;
};

// ---- the hot path, inline ----

namespace detail {
template <class A>
[[gnu::noinline]] inline bool same_distances(const Pattern& p, const A* address, A first) {
  uint64_t different = 0;
  if (p.mask == 0xffffffffu) {
    for (uint32_t lane = 0; lane < 32; ++lane)
      different |= uint64_t(A(address[lane] - first)) ^ p.distance[lane];
    return different == 0;
  }
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint64_t active = 0 - uint64_t(p.mask >> lane & 1);
    different |= (uint64_t(A(address[lane] - first)) ^ p.distance[lane]) & active;
  }
  return different == 0;
}

template <class A>
inline bool fits(const Pattern& p, const A* address, uint64_t low, uint32_t width, uint32_t mask,
                 bool regular, bool uniform) {
  if (p.low != low || p.mask != mask || p.width != width) return false;
  if (uniform) return p.regular && p.half == 0;
  if (regular) return p.regular && p.half == uint64_t(A(address[16] - address[0]));
  return !p.regular && same_distances(p, address, address[__builtin_ctz(mask)]);
}

// The first lane's, as far as counts depend on it.
template <class A>
inline uint64_t low_of(PatternSpace space, const A* address, A offset, uint32_t mask,
                       bool uniform) {
  const A first = address[uniform ? 0 : __builtin_ctz(mask)];
  return uint64_t(A(first + offset)) & (space == PatternSpace::shared ? 15 : kLineBytes - 1);
}
}  // namespace detail

template <class A>
inline Pattern& PatternTable::find(PatternSpace space, SharedAccess access, uint32_t width,
                                   const A* address, A offset, uint32_t mask, bool regular,
                                   bool uniform) {
  const uint64_t low = detail::low_of(space, address, offset, mask, uniform);
  Pattern* recent = recent_[slot(low)];
  if (recent != nullptr && detail::fits(*recent, address, low, width, mask, regular, uniform))
      [[likely]] {
    ++recent->count;
    return *recent;
  }
  return find_other(space, access, width, address, offset, mask, regular, uniform);
}

// Not the one seen last: an older one, or a new one.
template <class A>
Pattern& PatternTable::find_other(PatternSpace space, SharedAccess access, uint32_t width,
                                  const A* address, A offset, uint32_t mask, bool regular,
                                  bool uniform) {
  const uint64_t low = detail::low_of(space, address, offset, mask, uniform);
  for (const auto& p : patterns_)
    if (detail::fits(*p, address, low, width, mask, regular, uniform)) {
      recent_[slot(low)] = p.get();
      ++p->count;
      return *p;
    }
  const A first = address[uniform ? 0 : __builtin_ctz(mask)];
  Pattern p;
  p.mask = mask, p.low = low, p.width = width, p.regular = regular || uniform;
  if (regular && !uniform) p.half = uint64_t(A(address[16] - first));
  uint64_t full[32] = {};
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    full[lane] = A(address[uniform ? 0 : lane] + offset);
    p.distance[lane] = uint64_t(A(address[uniform ? 0 : lane] - first));
  }
  p.count = 1;
  return add(space, access, width, full, std::move(p));
}

}  // namespace tw::counters
