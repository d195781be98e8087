#include "observe/counters/cache_model.h"

#include <algorithm>
#include <bit>
#include <list>

#include "observe/counters/request_pattern.h"

namespace tw::counters {

Footprint::Page& Footprint::page_of(uint64_t page) {
  std::unique_ptr<Page>& p = pages_[page];
  if (!p) p = std::make_unique<Page>();
  return *p;
}

void Footprint::merge(const Footprint& other) {
  for (const auto& [number, page] : other.pages_) {
    Page& mine = page_of(number);
    for (size_t i = 0; i < mine.size(); ++i) mine[i] |= (*page)[i];
  }
}

uint64_t Footprint::sectors() const {
  uint64_t count = 0;
  for (const auto& [number, page] : pages_)
    for (uint64_t word : *page) count += uint64_t(std::popcount(word));
  return count;
}

uint64_t Footprint::sectors_of_union(const Footprint& a, const Footprint& b) {
  Footprint both;
  both.merge(a);
  both.merge(b);
  return both.sectors();
}

L1Model::L1Model(uint64_t bytes) {
  const uint64_t sets = std::bit_floor(std::max<uint64_t>(1, bytes / kLineBytes / kWays));
  set_mask_ = sets - 1;
  sets_.resize(sets);
}

namespace {

// CTAs of one wave take turns, one request each.
void interleave(std::vector<L2Request>& requests, uint64_t ctas_per_wave) {
  std::stable_sort(requests.begin(), requests.end(),
                   [](const L2Request& a, const L2Request& b) { return a.cta < b.cta; });
  std::vector<L2Request> ordered;
  ordered.reserve(requests.size());
  size_t begin = 0;
  while (begin < requests.size()) {
    const uint64_t wave = requests[begin].cta / ctas_per_wave;
    std::vector<std::pair<size_t, size_t>> runs;  // of one CTA
    size_t at = begin;
    while (at < requests.size() && requests[at].cta / ctas_per_wave == wave) {
      size_t end = at;
      while (end < requests.size() && requests[end].cta == requests[at].cta) ++end;
      runs.emplace_back(at, end);
      at = end;
    }
    for (size_t left = at - begin; left != 0;)
      for (auto& [next, end] : runs)
        if (next != end) ordered.push_back(requests[next++]), --left;
    begin = at;
  }
  requests = std::move(ordered);
}

struct CachedLine {
  uint64_t line = 0;
  uint8_t valid = 0, dirty = 0;
};

}  // namespace

DramSectors model_l2(std::vector<L2Request> requests, uint64_t l2_bytes, uint64_t ctas_per_wave,
                     uint64_t read_sectors, uint64_t written_sectors) {
  interleave(requests, std::max<uint64_t>(1, ctas_per_wave));
  const size_t capacity = std::max<size_t>(1, l2_bytes / kLineBytes / kL2Sample);
  std::list<CachedLine> lines;  // most recently used first
  std::unordered_map<uint64_t, std::list<CachedLine>::iterator> where;
  DramSectors sample;
  uint64_t read = 0, written = 0;
  for (const L2Request& r : requests) {
    const auto found = where.find(r.line);
    if (found != where.end()) {
      lines.splice(lines.begin(), lines, found->second);
    } else {
      if (lines.size() == capacity) {
        sample.written += uint32_t(std::popcount(lines.back().dirty));
        where.erase(lines.back().line);
        lines.pop_back();
      }
      lines.push_front({r.line, 0, 0});
      where[r.line] = lines.begin();
    }
    CachedLine& l = lines.front();
    const uint32_t count = uint32_t(std::popcount(r.sectors));
    if (r.write) {
      written += count;
      l.dirty |= r.sectors;
    } else {
      read += count;
      sample.read += uint32_t(std::popcount(uint8_t(r.sectors & ~l.valid)));
    }
    l.valid |= r.sectors;
  }
  DramSectors result;
  if (read != 0)
    result.read = uint64_t(double(sample.read) * double(read_sectors) / double(read) + 0.5);
  if (written != 0)
    result.written =
        uint64_t(double(sample.written) * double(written_sectors) / double(written) + 0.5);
  return result;
}

}  // namespace tw::counters
