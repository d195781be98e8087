// Where the sectors of global requests are served: a model of L1 and L2, and the bytes that no
// cache could save.
//
// Compulsory traffic is exact: distinct sectors read and written by the launch.
// L1 (assumptions): each CTA has a cache of its own, cold when it starts: its share of what shared
// memory leaves of the SM's 128-byte lines of 4 sectors, 4 ways, least recently used. Loads fill
// it; stores write through and do not allocate; atomics go past it. The warps of a CTA take turns,
// one request each (the engine runs them one after the other up to a barrier). L2 (assumptions):
// one cache of the device's size, cold when the launch starts (as Nsight Compute measures by
// default), least recently used, write-back; CTAs of a wave proceed side by side. Where all the
// launch touches fits, every sector is read once and nothing is written back. Otherwise one line in
// 64, chosen by a hash, goes through a cache of a 64th of the size, and the result is scaled. The
// results do not depend on the number of host threads.
//
// Tested by tests/unit/observe/cache_model_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tw::counters {

// Which sectors have been touched. Pages of 1 MiB of address space.
class Footprint {
 public:
  void add(uint64_t line, uint8_t sectors) {
    const uint64_t page = line / kPageLines;
    Recent& recent = recent_[page % kRecent];  // arrays are read in turn
    if (page != recent.number) [[unlikely]]
      recent = {page, &page_of(page)};
    (*recent.page)[line % kPageLines / 16] |= uint64_t(sectors) << (line % 16 * 4);
  }
  void merge(const Footprint& other);
  uint64_t sectors() const;
  // Distinct sectors of both together.
  static uint64_t sectors_of_union(const Footprint& a, const Footprint& b);

 private:
  static constexpr uint64_t kPageLines = 8192;
  using Page = std::array<uint64_t, kPageLines / 16>;
  Page& page_of(uint64_t page);
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  static constexpr uint32_t kRecent = 16;
  struct Recent {
    uint64_t number = ~uint64_t(0);
    Page* page = nullptr;
  };
  std::array<Recent, kRecent> recent_{};
};

class L1Model {
 public:
  explicit L1Model(uint64_t bytes);
  void begin_cta() { std::fill(sets_.begin(), sets_.end(), Set{}); }
  // The sectors that are not there; they are afterwards.
  uint8_t load(uint64_t line, uint8_t sectors) {
    // Hashed, as on hardware: a column of a matrix must not fall into a few sets.
    Set& set = sets_[line * 0x9e3779b97f4a7c15ull >> 32 & set_mask_];
    ++clock_;
    static_assert(kWays == 4, "the four comparisons below");
    const uint64_t tag = line + 1;
    // All four, as bits: which way holds a line is anybody's guess, that one does is not.
    uint32_t hit = uint32_t(set.line[0] == tag) | uint32_t(set.line[1] == tag) << 1 |
                   uint32_t(set.line[2] == tag) << 2 | uint32_t(set.line[3] == tag) << 3;
    asm("" : "+r"(hit));  // or the compiler branches on each of them all the same
    const uint32_t way = hit != 0 ? uint32_t(__builtin_ctz(hit)) : replace(set, tag);
    const uint8_t missing = uint8_t(sectors & ~set.sectors[way]);
    set.sectors[way] |= sectors;
    set.used[way] = clock_;
    return missing;
  }

 private:
  static constexpr uint32_t kWays = 4;
  struct alignas(64) Set {
    uint64_t line[kWays] = {};  // plus 1; 0: empty
    uint32_t used[kWays] = {};
    uint8_t sectors[kWays] = {};
  };
  // Makes room for a line; without branches, as the way is anybody's guess.
  static uint32_t replace(Set& set, uint64_t tag) {
    const auto at = [&](uint32_t i) { return uint64_t(set.used[i]) << 2 | i; };
    const uint64_t a = at(0), b = at(1), c = at(2), d = at(3);
    const uint64_t low = a < b ? a : b, high = c < d ? c : d;
    const uint32_t way = uint32_t(low < high ? low : high) & 3;
    set.line[way] = tag;
    set.sectors[way] = 0;
    return way;
  }
  uint64_t set_mask_ = 0;
  uint32_t clock_ = 0;
  std::vector<Set> sets_;
};

struct L2Request {
  uint64_t line = 0;
  uint32_t cta = 0;
  uint8_t sectors = 0;
  bool write = false;
};

inline constexpr uint32_t kL2Sample = 64;
inline bool sampled_line(uint64_t line) { return (line * 0x9e3779b97f4a7c15ull >> 58) == 0; }

struct DramSectors {
  uint64_t read = 0, written = 0;
};

// `requests`: of sampled lines, in any order of CTAs, in program order within one. The exact totals
// scale the result.
DramSectors model_l2(std::vector<L2Request> requests, uint64_t l2_bytes, uint64_t ctas_per_wave,
                     uint64_t read_sectors, uint64_t written_sectors);

}  // namespace tw::counters
