// Races on shared memory: the log of an epoch, and the detector that takes over when accesses in it
// may conflict, or something orders part of the threads.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "shadow/races_context.h"

namespace tw::shadow {
namespace {

constexpr size_t kNotedLimit = 1 << 15;
constexpr size_t kLogBegin = 128, kLogLimit = 1 << 14;  // entries
constexpr uint32_t kThreadsLimit = 1024;                // stamps of an epoch: one for each thread
constexpr uint32_t kStampLimit = 0x7fffffffu - 2 * kThreadsLimit;
constexpr size_t kConvergeLimit = 256;  // logged accesses that are looked at again

uint64_t end_of(const CtaFilter& f, const std::vector<uint32_t>& offsets) {
  return uint64_t(f.offsets - offsets.data());
}

// The lanes' addresses of an entry, without the members' distances.
void spread(const Logged& e, const std::vector<uint32_t>& offsets, uint32_t* address) {
  if (!e.regular) {
    std::memcpy(address, &offsets[e.low], 32 * sizeof(uint32_t));
    return;
  }
  for (uint32_t l = 0; l < 16; ++l) {
    address[l] = e.low + l * e.what->stride;
    address[l + 16] = e.high + l * e.what->stride;
  }
}

}  // namespace

uint32_t PassedReads::number(const WrittenView& written, uint32_t bytes) {
  const size_t words = bytes / 64 + 1;
  if (known_.size() != words || !std::equal(known_.begin(), known_.end(), written.bits)) {
    known_.assign(written.bits, written.bits + words);
    ++known_number_;
  }
  return content_ = known_number_;
}

void Races::shared_begin(Shared& s, uint32_t cta, uint32_t threads, uint64_t bytes) {
  if (!s.records.restart()) s.cells.forget();
  s.order.begin(cta, threads);
  s.noted.clear();
  s.offsets.clear();
  s.written_low = ~0ull, s.written_high = 0;
  CtaFilter& f = s.filter;
  if (f.bytes != bytes || s.stamps.empty()) {
    s.stamps.assign(bytes / 4 + 8, 0);
    f.base = 0;
  }
  if (s.log.empty()) {
    s.log.resize(kLogBegin);
    s.log_offsets.resize(kLogBegin / 2 * 32);
  }
  f.bytes = uint32_t(bytes);
  f.races = true;
  f.stamps = s.stamps.data();
  f.times = s.order.times();
  open(s);
}

// A new epoch, whose accesses are logged.
void Races::open(Shared& s) {
  CtaFilter& f = s.filter;
  if (f.base >= kStampLimit) {
    std::fill(s.stamps.begin(), s.stamps.end(), 0);
    f.base = 0;
  }
  f.base += kThreadsLimit;
  f.written_low = ~0u, f.written_high = 0;
  f.log = s.log.data(), f.log_end = f.log + s.log.size();
  f.offsets = s.log_offsets.data(), f.offsets_end = f.offsets + s.log_offsets.size();
  f.offsets_begin = f.offsets;
  f.open = true;
}

void Races::access_shared(Shared& s, const WarpAccess& a, const LogSite* what) {
  if (s.filter.open) {
    if (what != nullptr && !a.strong && log_access(s, a, *what)) return;
    play(s);
  }
  access_cells(s, a);
}

// False: the access conflicts with an earlier one, perhaps, or there is no room.
bool Races::log_access(Shared& s, const WarpAccess& a, const LogSite& what) {
  CtaFilter& f = s.filter;
  if (!f.room_for_offsets() && !compact(s)) return false;
  if (a.type != AccessType::read) {
    for (uint32_t left = a.lanes; left != 0; left &= left - 1) {
      const uint32_t lane = uint32_t(__builtin_ctz(left));
      const uint64_t begin = a.offsets[lane], end = begin + a.bytes;
      const uint32_t stamp = f.base + a.warp * 32 + lane;
      for (uint64_t w = begin / 4; w < (end + 3) / 4; ++w) {
        if (f.stamps[w] >= f.base && f.stamps[w] != stamp) return false;
        f.stamps[w] = stamp;
      }
      f.wrote(uint32_t(begin), uint32_t(end));
    }
  }
  uint32_t* to = f.add_offsets(&what, a.lanes, a.warp);
  for (uint32_t l = 0; l < 32; ++l) to[l] = uint32_t(a.offsets[l]);
  return true;
}

// Makes room: entries that say the same are one; otherwise the log grows.
bool Races::compact(Shared& s) {
  CtaFilter& f = s.filter;
  const size_t count = size_t(f.log - s.log.data()), used = end_of(f, s.log_offsets);
  if (s.log.size() < kLogLimit) {
    const size_t entries = s.log.size() * 2;
    s.log.resize(entries);
    s.log_offsets.resize(entries / 2 * 32);
    f.log = s.log.data() + count, f.log_end = s.log.data() + entries;
    f.offsets_begin = s.log_offsets.data();
    f.offsets = s.log_offsets.data() + used;
    f.offsets_end = s.log_offsets.data() + s.log_offsets.size();
    return true;
  }
  // The order of entries matters for what a finding says, not for whether there is one; first
  // occurrences keep theirs.
  auto less = [&](uint32_t x, uint32_t y) {
    const Logged &a = s.log[x], &b = s.log[y];
    auto key = [](const Logged& e) {
      return std::tuple(e.what, e.lanes, e.warp, e.time, e.regular ? e.low : 0,
                        e.regular ? e.high : 0);
    };
    if (key(a) != key(b)) return key(a) < key(b);
    return !a.regular &&
           std::memcmp(&s.log_offsets[a.low], &s.log_offsets[b.low], 32 * sizeof(uint32_t)) < 0;
  };
  std::vector<uint32_t> order(count);
  for (uint32_t i = 0; i < count; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), less);
  std::vector<uint32_t> kept;
  for (uint32_t i : order)
    if (kept.empty() || less(kept.back(), i)) kept.push_back(i);
  if (kept.size() > count / 2) return false;
  std::sort(kept.begin(), kept.end());
  std::vector<Logged> log;
  std::vector<uint32_t> offsets;
  for (uint32_t i : kept) {
    Logged e = s.log[i];
    if (!e.regular) {
      const auto from = s.log_offsets.begin() + e.low;
      e.low = uint32_t(offsets.size());
      offsets.insert(offsets.end(), from, from + 32);
    }
    log.push_back(e);
  }
  std::copy(log.begin(), log.end(), s.log.begin());
  std::copy(offsets.begin(), offsets.end(), s.log_offsets.begin());
  f.log = s.log.data() + log.size();
  f.offsets = s.log_offsets.data() + offsets.size();
  return f.offsets_end - f.offsets >= 32 * std::ptrdiff_t(kLogLimit / 8);
}

// Whether a thread has read what another writes in the same epoch. (Two writers show at once.)
bool Races::conflicts(const Shared& s) {
  const CtaFilter& f = s.filter;
  if (f.written_high == 0) return false;
  const Logged* end = f.log;
  for (const Logged* e = s.log.data(); e != end; ++e) {
    const LogSite& what = *e->what;
    if (what.write) continue;
    uint32_t address[32];
    spread(*e, s.log_offsets, address);
    uint32_t low = ~0u, high = 0;
    for (uint32_t left = e->lanes; left != 0; left &= left - 1) {
      const uint32_t l = uint32_t(__builtin_ctz(left));
      low = std::min(low, address[l]), high = std::max(high, address[l]);
    }
    if (uint64_t(low) + uint32_t(what.low) >= f.written_high ||
        uint64_t(high) + uint32_t(what.high) + what.bytes <= f.written_low)
      continue;
    const uint32_t count = what.members != nullptr ? what.count : 1;
    for (uint32_t m = 0; m < count; ++m) {
      const uint32_t distance = what.members != nullptr ? uint32_t(what.members[m].offset) : 0;
      for (uint32_t left = e->lanes; left != 0; left &= left - 1) {
        const uint32_t l = uint32_t(__builtin_ctz(left));
        const uint32_t begin = address[l] + distance, stamp = f.base + e->warp * 32 + l;
        for (uint32_t w = begin / 4; w < (begin + what.bytes + 3) / 4; ++w)
          if (f.stamps[w] >= f.base && f.stamps[w] != stamp) return true;
      }
    }
  }
  return false;
}

void Races::play(Shared& s) {
  CtaFilter& f = s.filter;
  f.open = false;
  const Logged* end = f.log;
  for (const Logged* e = s.log.data(); e != end; ++e) {
    const LogSite& what = *e->what;
    uint32_t address[32];
    uint64_t offsets[32];
    spread(*e, s.log_offsets, address);
    WarpAccess a;
    a.warp = e->warp, a.lanes = e->lanes, a.bytes = what.bytes, a.time = e->time;
    a.type = what.write ? AccessType::write : AccessType::read;
    a.offsets = offsets;
    const uint32_t count = what.members != nullptr ? what.count : 1;
    for (uint32_t m = 0; m < count; ++m) {
      a.site = what.members != nullptr ? what.members[m].site : what.site;
      const uint32_t distance = what.members != nullptr ? uint32_t(what.members[m].offset) : 0;
      for (uint32_t l = 0; l < 32; ++l) offsets[l] = address[l] + distance;
      access_cells(s, a);
    }
  }
}

// ---- the detector ----

void Races::access_cells(Shared& s, const WarpAccess& a) {
  if (s.cells.bytes() != s.filter.bytes || s.filter.bytes == 0) s.cells.reset(s.filter.bytes);
  const uint32_t time = a.time == WarpAccess::kNow ? s.order.time(a.warp) : a.time;
  if (a.type == AccessType::read && s.order.plain() && s.noted.size() < kNotedLimit) {
    s.noted.push_back({a.site, a.lanes, uint32_t(s.offsets.size()), s.records.next(), time,
                       uint16_t(a.warp), uint8_t(a.bytes), a.strong});
    const size_t at = s.offsets.size();
    s.offsets.resize(at + 32);
    for (uint32_t l = 0; l < 32; ++l) s.offsets[at + l] = uint32_t(a.offsets[l]);
    return;
  }
  if (a.type == AccessType::read && !s.noted.empty()) settle_noted(s);
  if (s.records.full()) {
    left_out_ = true;
    return;
  }
  for (uint32_t left = a.lanes; left != 0; left &= left - 1) {
    const uint64_t offset = a.offsets[__builtin_ctz(left)];
    if (((a.bytes | offset) & ((1u << s.cells.shift()) - 1)) != 0) s.cells.split(a.bytes, offset);
    if (a.type != AccessType::read)
      s.written_low = std::min(s.written_low, offset),
      s.written_high = std::max(s.written_high, offset + a.bytes);
  }
  Context x{s.records, s.order, false};
  for (uint32_t left = a.lanes; left != 0; left &= left - 1) {
    const uint32_t lane = uint32_t(__builtin_ctz(left));
    check(x, a, lane, s.cells.at(a.offsets[lane]), s.cells.shift());
  }
}

void Races::settle(Shared& s) {
  if (s.filter.open) play(s);
  settle_noted(s);
}

void Races::converge(Shared& s, uint32_t warp, uint32_t lanes) {
  // Pairs of which both come before this point must not count as converged: they are looked at now.
  if (!s.filter.open)
    settle_noted(s);
  else if (s.filter.written_high != 0 &&
           (size_t(s.filter.log - s.log.data()) > kConvergeLimit || conflicts(s)))
    settle(s);
  s.order.converge(warp, lanes);
}

void Races::settle_noted(Shared& s) {
  const uint32_t first = s.records.first() * 32;
  for (const Shared::Noted& n : s.noted) {
    const uint32_t* offsets = &s.offsets[n.offsets];
    uint64_t wide[32];
    WarpAccess a;
    a.warp = n.warp, a.lanes = n.lanes, a.site = n.site, a.bytes = n.bytes, a.strong = n.strong;
    a.offsets = wide, a.time = n.time;
    Context x{s.records, s.order, false};
    for (uint32_t left = n.lanes; left != 0; left &= left - 1) {
      const uint32_t lane = uint32_t(__builtin_ctz(left));
      const uint64_t offset = offsets[lane];
      wide[lane] = offset;
      if (((a.bytes | offset) & ((1u << s.cells.shift()) - 1)) != 0) s.cells.split(a.bytes, offset);
      const uint64_t step = 1ull << s.cells.shift();
      for (uint64_t at = offset; at < offset + a.bytes; at += step) {
        Cell& cell = *s.cells.at(at);
        for (uint32_t w : cell.write) {
          if (w < first) continue;
          const Record r = s.records[w / 32];
          if (r.warp * 32u + w % 32 == a.warp * 32 + lane || (r.strong && a.strong)) continue;
          if (w / 32 < n.watermark) {
            report(x, a, lane, w, at, AccessType::read);
          } else {
            // The write came after the read.
            Race race;
            race.first = {s.order.cta(),    s.order.epoch(),  n.time,   a.site,
                          uint16_t(a.warp), AccessType::read, a.strong, false};
            race.second = r;
            race.first_thread = a.warp * 32 + lane;
            race.second_thread = r.warp * 32u + w % 32;
            race.offset = at;
            race.converged = r.warp == a.warp && s.order.converged(a.warp, lane, w % 32, n.time);
            sink_(race);
          }
          break;
        }
        // Later accesses of this epoch may be ordered after part of the threads: from now on
        // readers count.
        const uint32_t e = x.entry(a, lane), last = cell.read[0];
        const bool again =
            last >= first && s.records[last / 32].warp == a.warp && last % 32 == lane;
        // Two threads, of two instructions where there are such.
        if (last >= first && !again && (last / 32 != x.record || cell.read[1] < first))
          cell.read[1] = last;
        cell.read[0] = e;
      }
    }
  }
  s.noted.clear();
  s.offsets.clear();
}

void Races::barrier_all(Shared& s) {
  if (s.filter.open && conflicts(s)) play(s);
  if (!s.filter.open && s.written_high != 0 && !s.noted.empty()) {
    // Only reads of what was written in this epoch matter.
    std::erase_if(s.noted, [&](const Shared::Noted& n) {
      for (uint32_t left = n.lanes; left != 0; left &= left - 1) {
        const uint64_t offset = s.offsets[n.offsets + uint32_t(__builtin_ctz(left))];
        if (offset < s.written_high && offset + n.bytes > s.written_low) return false;
      }
      return true;
    });
    settle_noted(s);
  }
  s.noted.clear();
  s.offsets.clear();
  s.written_low = ~0ull, s.written_high = 0;
  if (!s.records.restart()) s.cells.forget();
  s.order.barrier_all();
  open(s);
}

}  // namespace tw::shadow
