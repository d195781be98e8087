#include "observe/counters/request_pattern.h"

#include <algorithm>
#include <bit>

#include "shadow/sectors.h"

namespace tw::counters {

bool worse(const report::BankExample& a, const report::BankExample& b) {
  if (b.wavefronts == 0) return a.wavefronts != 0;
  const uint32_t excess_a = a.wavefronts - a.groups, excess_b = b.wavefronts - b.groups;
  if (excess_a != excess_b) return excess_a > excess_b;
  return a.mask != b.mask ? a.mask > b.mask : a.address < b.address;
}

namespace {

// Distinct sectors of each group of lanes that moves 128 bytes, summed. Copies are aligned to their
// size, so that a lane's lie in one sector.
uint32_t sectors_by_group(const uint64_t* address, uint32_t mask, uint32_t width) {
  const uint32_t lanes = std::min(32u, kLineBytes / width);
  uint32_t count = 0;
  for (uint32_t begin = 0; begin < 32; begin += lanes)
    for (uint32_t lane = begin; lane < begin + lanes; ++lane) {
      bool seen = (mask >> lane & 1) == 0;
      for (uint32_t before = begin; before < lane && !seen; ++before)
        seen = (mask >> before & 1) != 0 &&
               address[before] / shadow::kSectorBytes == address[lane] / shadow::kSectorBytes;
      count += !seen;
    }
  return count;
}

}  // namespace

Pattern& PatternTable::add(PatternSpace space, SharedAccess access, uint32_t width,
                           const uint64_t* address, Pattern pattern) {
  if (patterns_.size() == kMaxPatterns) fold();
  const uint32_t mask = pattern.mask;
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1) pattern.address_bits |= uint32_t(address[lane] & 15);
  if (space == PatternSpace::shared) {
    const bool atomic = access == SharedAccess::kAtomic;
    for (uint32_t i = 0; i < (atomic ? 2 : 3) && (atomic || (width << i) <= 16); ++i) {
      const uint32_t wide = atomic ? width : width << i;
      uint32_t at[32];
      for (uint32_t lane = 0; lane < 32; ++lane)
        at[lane] = uint32_t(address[lane]) & ~(i == 0 ? 0 : wide - 1);
      const shadow::BankCount count = shadow::count_banks(
          at, mask, wide, atomic && i == 1 ? SharedAccess::kStore : access);  // lanes added up
      pattern.wavefronts[i] = count.wavefronts, pattern.groups[i] = count.groups;
      if (i != 0) continue;
      report::BankExample seen{.site = 0,
                               .mask = mask,
                               .wavefronts = count.wavefronts,
                               .groups = count.groups,
                               .address = {}};
      for (uint32_t lane = 0; lane < 32;
           ++lane)  // translated: the same request elsewhere is the same example
        if (mask >> lane & 1)
          seen.address[lane] = uint32_t(
              pattern.low + (uint32_t(address[lane]) - uint32_t(address[std::countr_zero(mask)])));
      if (worse(seen, example_)) example_ = seen;
    }
  } else {
    const uint32_t first = uint32_t(std::countr_zero(mask));
    const int64_t base = int64_t(address[first] / kLineBytes);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      const uint64_t last = (address[lane] + width - 1) / shadow::kSectorBytes;
      for (uint64_t sector = address[lane] / shadow::kSectorBytes; sector <= last; ++sector) {
        const int64_t line = int64_t(sector / 4) - base;
        auto part = std::find_if(pattern.lines.begin(), pattern.lines.end(),
                                 [&](const LinePart& l) { return l.line == line; });
        if (part == pattern.lines.end()) part = pattern.lines.insert(part, LinePart{line, 0});
        part->sectors = uint8_t(part->sectors | 1u << (sector & 3));
      }
    }
    // L1 holds a line in the 32 banks of shared memory, and looks up four lines a clock.
    uint32_t at[32];
    for (uint32_t lane = 0; lane < 32; ++lane) at[lane] = uint32_t(address[lane]);
    pattern.wavefronts[0] = std::max(shadow::count_banks(at, mask, width, access).wavefronts,
                                     uint32_t(pattern.lines.size() + 3) / 4);
    if (space == PatternSpace::copy)
      pattern.sectors = sectors_by_group(address, mask, width);
    else
      for (const LinePart& l : pattern.lines) pattern.sectors += uint32_t(std::popcount(l.sectors));
    // The ideal holds what is asked for once: lanes that share an address ask for it together.
    uint32_t distinct = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      bool seen = (mask >> lane & 1) == 0;
      for (uint32_t before = 0; before < lane && !seen; ++before)
        seen = (mask >> before & 1) && address[before] == address[lane];
      distinct += !seen;
    }
    pattern.ideal_sectors = shadow::ideal_sectors(distinct, width);
  }
  patterns_.push_back(std::make_unique<Pattern>(std::move(pattern)));
  Pattern& added = *patterns_.back();
  recent_[slot(added.low)] = &added;
  return added;
}

void PatternTable::fold() {
  for (const auto& p : patterns_) {
    totals_.requests += p->count;
    totals_.access_lanes += p->count * uint32_t(std::popcount(p->mask));
    totals_.sectors += p->count * p->sectors;
    totals_.ideal_sectors += p->count * p->ideal_sectors;
    totals_.lines += p->count * p->lines.size();
    for (size_t i = 0; i < 3; ++i) {
      totals_.wavefronts[i] += p->count * p->wavefronts[i];
      totals_.groups[i] += p->count * p->groups[i];
    }
    totals_.address_bits |= p->address_bits;
  }
  patterns_.clear();
  recent_.fill(nullptr);
}

}  // namespace tw::counters
