#include "shadow/races.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace tw::shadow {
namespace {

constexpr uint32_t kSaturated = 0x80000000u;  // in Cell::read[1]
constexpr size_t kNotedLimit = 1 << 15;

}  // namespace

// ---- cells ----

void Cells::Free::operator()(Cell* p) const { std::free(p); }

void Cells::reset(uint64_t bytes) {
  bytes_ = bytes;
  shift_ = 2;
  // calloc of much memory takes pages only where they are touched.
  cells_.reset(static_cast<Cell*>(std::calloc((bytes >> shift_) + 8, sizeof(Cell))));
  if (!cells_) throw std::bad_alloc();
}

void Cells::forget() { reset(bytes_); }

void Cells::split(uint32_t access_bytes, uint64_t offset) {
  uint32_t wanted = shift_;
  while (wanted > 0 && ((access_bytes | offset) & ((1u << wanted) - 1)) != 0) --wanted;
  if (wanted == shift_) return;
  const uint64_t old_count = (bytes_ >> shift_) + 8, parts = 1ull << (shift_ - wanted);
  auto* finer = static_cast<Cell*>(std::calloc(old_count * parts, sizeof(Cell)));
  if (finer == nullptr) throw std::bad_alloc();
  const Cell none{};
  for (uint64_t i = 0; i < old_count; ++i) {
    const Cell& c = cells_[i];
    if (c.write[0] == none.write[0] && c.read[0] == none.read[0]) continue;
    for (uint64_t k = 0; k < parts; ++k) finer[i * parts + k] = c;
  }
  cells_.reset(finer);
  shift_ = wanted;
}

// ---- one access ----

struct Races::Context {
  Cells& cells;
  RecordLog& records;
  const CtaOrder& order;
  bool global;
  uint32_t record = 0;  // of this access; made when first needed
  uint32_t entry(const WarpAccess& a, uint32_t lane) {
    if (record == 0)
      record = records.add({order.cta(), order.epoch(), order.time(a.warp), a.site,
                            uint16_t(a.warp), a.type, a.strong, a.wide});
    return record * 32 + lane;
  }
};

void Races::report(Context& x, const WarpAccess& a, uint32_t lane, uint32_t entry, uint64_t offset,
                   AccessType type) {
  Race race;
  race.first = x.records[entry / 32];
  race.second = {
      x.order.cta(), x.order.epoch(), x.order.time(a.warp), a.site, uint16_t(a.warp), type,
      a.strong,      a.wide};
  race.first_thread = race.first.warp * 32u + entry % 32;
  race.second_thread = a.warp * 32 + lane;
  race.offset = offset;
  race.converged = race.first.cta == x.order.cta() && race.first.warp == a.warp &&
                   x.order.converged(a.warp, entry % 32, lane, race.first.time);
  if (type == AccessType::write) {
    const bool together = entry / 32 == x.record;
    if (a.values != nullptr)
      race.unchanged = together ? a.values->same(lane, entry % 32) : a.values->unchanged(lane);
  }
  sink_(race);
}

void Races::check(Context& x, const WarpAccess& a, uint32_t lane) {
  const uint32_t thread = a.warp * 32 + lane, first = x.records.first() * 32;
  const uint64_t begin = a.offsets[lane], step = 1ull << x.cells.shift();
  const bool writes = a.type != AccessType::read;
  // Whether an earlier access, whose entry is given, conflicts with this one.
  auto unordered = [&](uint32_t entry) {
    if (entry < first) return false;
    const Record& r = x.records[entry / 32];
    const uint32_t other = r.warp * 32u + entry % 32;
    if (r.cta == x.order.cta() && (other == thread || r.epoch < x.order.epoch())) return false;
    if (x.order.plain() && r.cta == x.order.cta()) return true;
    return !order_.ordered(x.order, thread, {r.cta, other, r.epoch, r.time});
  };
  auto conflicts = [&](uint32_t entry) {
    if (!unordered(entry)) return false;
    const Record& r = x.records[entry / 32];
    return !(r.strong && a.strong && (r.cta == x.order.cta() || (r.wide && a.wide)));
  };
  for (uint64_t offset = begin; offset < begin + a.bytes; offset += step) {
    Cell& cell = *x.cells.at(offset);
    for (uint32_t w : cell.write)
      if (w >= first && conflicts(w)) {
        report(x, a, lane, w, offset, a.type);
        break;
      }
    if (writes) {
      for (uint32_t k = 0; k < 2; ++k) {
        const uint32_t r = cell.read[k] & ~kSaturated;
        if (r >= first && conflicts(r)) {
          report(x, a, lane, r, offset, a.type);
          break;
        }
      }
      const uint32_t e = x.entry(a, lane);
      // The writer before stays where it is somebody else's and unordered: a later access may be
      // ordered after one only.
      const uint32_t old = cell.write[0];
      cell.write[1] = old >= first && unordered(old) ? old : 0;
      cell.write[0] = e;
      if (a.type == AccessType::write) cell.read[0] = cell.read[1] = 0;
      continue;
    }
    // Readers: the last one, and another that is not ordered before it.
    const uint32_t last = cell.read[0];
    if (last < first) {
      cell.read[0] = x.entry(a, lane);
      cell.read[1] = 0;
      continue;
    }
    if (x.global && (cell.read[1] & kSaturated) && last / 32 >= generation_first_) continue;
    const Record r = x.records[last / 32];  // a copy: the log grows below
    const uint32_t other = r.warp * 32u + last % 32;
    if (r.cta == x.order.cta() && other == thread && r.epoch == x.order.epoch() &&
        r.time == x.order.time(a.warp))
      continue;
    const uint32_t e = x.entry(a, lane);
    if (unordered(last)) {
      const uint32_t second = cell.read[1] & ~kSaturated;
      const bool keep =
          second >= first && x.records[second / 32].cta != x.order.cta() && r.cta == x.order.cta();
      cell.read[1] = keep ? second : last;
      if (x.global && r.cta != x.order.cta()) cell.read[1] |= kSaturated;
    } else if ((cell.read[1] & ~kSaturated) >= first && !unordered(cell.read[1] & ~kSaturated)) {
      cell.read[1] = 0;
    }
    cell.read[0] = e;
  }
}

// ---- global memory ----

bool Races::launch_end() {
  order_.clear();
  generation_ = order_.generation();
  const bool more = records_.restart();
  generation_first_ = records_.first();
  return more;
}

void Races::access_global(Cells& cells, const CtaOrder& c, const WarpAccess& a) {
  if (records_.full()) return;
  if (generation_ != order_.generation()) {
    generation_ = order_.generation();
    generation_first_ = records_.next();
  }
  for (uint32_t left = a.lanes; left != 0; left &= left - 1) {
    const uint64_t offset = a.offsets[__builtin_ctz(left)];
    if (((a.bytes | offset) & ((1u << cells.shift()) - 1)) != 0) cells.split(a.bytes, offset);
  }
  Context x{cells, records_, c, true};
  for (uint32_t left = a.lanes; left != 0; left &= left - 1)
    check(x, a, uint32_t(__builtin_ctz(left)));
}

// ---- shared memory ----

void Races::shared_begin(Shared& s, uint32_t cta, uint32_t threads, uint64_t bytes) {
  if (s.cells.bytes() != bytes || bytes == 0) s.cells.reset(bytes);
  if (!s.records.restart()) s.cells.forget();
  s.order.begin(cta, threads);
  s.noted.clear();
  s.offsets.clear();
  s.written_low = ~0ull, s.written_high = 0;
}

void Races::access_shared(Shared& s, const WarpAccess& a) {
  if (a.type == AccessType::read && s.order.plain() && s.noted.size() < kNotedLimit) {
    s.noted.push_back({a.site, a.lanes, uint32_t(s.offsets.size()), s.records.next(),
                       s.order.time(a.warp), uint16_t(a.warp), uint8_t(a.bytes), a.strong});
    const size_t at = s.offsets.size();
    s.offsets.resize(at + 32);
    for (uint32_t l = 0; l < 32; ++l) s.offsets[at + l] = uint32_t(a.offsets[l]);
    return;
  }
  if (a.type == AccessType::read && !s.noted.empty()) settle(s);
  if (s.records.full()) return;
  for (uint32_t left = a.lanes; left != 0; left &= left - 1) {
    const uint64_t offset = a.offsets[__builtin_ctz(left)];
    if (((a.bytes | offset) & ((1u << s.cells.shift()) - 1)) != 0) s.cells.split(a.bytes, offset);
    if (a.type != AccessType::read)
      s.written_low = std::min(s.written_low, offset),
      s.written_high = std::max(s.written_high, offset + a.bytes);
  }
  Context x{s.cells, s.records, s.order, false};
  for (uint32_t left = a.lanes; left != 0; left &= left - 1)
    check(x, a, uint32_t(__builtin_ctz(left)));
}

void Races::settle(Shared& s) {
  const uint32_t first = s.records.first() * 32;
  for (const Shared::Noted& n : s.noted) {
    const uint32_t* offsets = &s.offsets[n.offsets];
    uint64_t wide[32];
    WarpAccess a;
    a.warp = n.warp, a.lanes = n.lanes, a.site = n.site, a.bytes = n.bytes, a.strong = n.strong;
    a.offsets = wide;
    Context x{s.cells, s.records, s.order, false};
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
        const uint32_t e = x.entry(a, lane);
        if (cell.read[0] >= first && cell.read[0] / 32 != x.record) cell.read[1] = cell.read[0];
        cell.read[0] = e;
      }
    }
  }
  s.noted.clear();
  s.offsets.clear();
}

void Races::barrier_all(Shared& s) {
  if (s.written_high != 0 && !s.noted.empty()) {
    // Only reads of what was written in this epoch matter.
    std::erase_if(s.noted, [&](const Shared::Noted& n) {
      for (uint32_t left = n.lanes; left != 0; left &= left - 1) {
        const uint64_t offset = s.offsets[n.offsets + uint32_t(__builtin_ctz(left))];
        if (offset < s.written_high && offset + n.bytes > s.written_low) return false;
      }
      return true;
    });
    settle(s);
  }
  s.noted.clear();
  s.offsets.clear();
  s.written_low = ~0ull, s.written_high = 0;
  if (!s.records.restart()) s.cells.forget();
  s.order.barrier_all();
}

}  // namespace tw::shadow
