#include "shadow/races.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "shadow/races_context.h"

namespace tw::shadow {
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

void Races::report(Context& x, const WarpAccess& a, uint32_t lane, uint32_t entry, uint64_t offset,
                   AccessType type) {
  Race race;
  race.first = x.records[entry / 32];
  race.second = {x.order.cta(), x.order.epoch(), x.time(a), a.site, uint16_t(a.warp),
                 type,          a.strong,        a.wide};
  race.first_thread = race.first.warp * 32u + entry % 32;
  race.second_thread = a.warp * 32 + lane;
  race.offset = offset;
  race.converged = race.first.cta == x.order.cta() && race.first.warp == a.warp &&
                   x.order.converged(a.warp, entry % 32, lane, race.first.time);
  if (type == AccessType::write) {
    const uint32_t other = entry % 32;
    const bool together =
        entry / 32 == x.record && ((a.lanes >> other) & 1) && a.offsets[other] == a.offsets[lane];
    if (a.values != nullptr)
      race.unchanged = together ? a.values->same(lane, other) : a.values->unchanged(lane);
  }
  sink_(race);
}

void Races::check(Context& x, const WarpAccess& a, uint32_t lane, Cell* cells, uint32_t shift) {
  const uint32_t thread = a.warp * 32 + lane, first = x.records.first() * 32;
  const uint64_t begin = a.offsets[lane], step = 1ull << shift;
  const bool writes = a.type != AccessType::read;
  // An earlier access, whose entry is given: of this thread, or before the CTA's last barrier.
  auto before = [&](uint32_t entry) {
    if (entry < first) return true;
    const Record& r = x.records[entry / 32];
    return r.cta == x.order.cta() &&
           (r.warp * 32u + entry % 32 == thread || r.epoch < x.order.epoch());
  };
  uint64_t at = begin;  // of the cell
  auto unordered = [&](uint32_t entry) {
    if (before(entry)) return false;
    const Record& r = x.records[entry / 32];
    const Moment m{r.cta, r.warp * 32u + entry % 32, r.epoch, r.time};
    if (!(x.order.plain() && r.cta == x.order.cta()) && order_.ordered(x.order, thread, m))
      return false;
    if (!r.strong || r.type == AccessType::read || a.objects == WarpAccess::kNoObjects) return true;
    // Offsets of an access's later cells are no objects: that of its beginning is.
    uint64_t offset = at;
    for (const uint64_t bytes : {8, 16})
      if (!order_.has(a.objects + offset)) offset = at & ~(bytes - 1);
    const uint64_t object = a.objects + offset;
    return !order_.observed(x.order, thread, object, m, r.type == AccessType::atomic);
  };
  auto both_strong = [&](uint32_t entry) { return a.strong && x.records[entry / 32].strong; };
  // Taken for unordered without being asked where both are strong: threads that wait for a lock
  // would ask without end, and what is ordered after the second is ordered after the first.
  auto perhaps_unordered = [&](uint32_t entry) {
    return both_strong(entry) ? !before(entry) : unordered(entry);
  };
  auto conflicts = [&](uint32_t entry) {
    const Record& r = x.records[entry / 32];
    if (both_strong(entry) && (r.cta == x.order.cta() || (r.wide && a.wide))) return false;
    return unordered(entry);
  };
  const Cell* last_seen = nullptr;  // the cell before, and what it was
  Cell neighbour;
  for (uint64_t offset = begin; offset < begin + a.bytes; offset += step) {
    at = offset;
    Cell& cell = *cells++;
    if (!writes && last_seen != nullptr && cell == neighbour && neighbour.write[0] < first &&
        neighbour.write[1] < first) {  // nobody has written it: it fares like the one before
      cell = *last_seen;
      last_seen = &cell;
      continue;
    }
    neighbour = cell;
    last_seen = &cell;
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
      // ordered after one only. So does a weak one before a strong one: a strong access races with
      // it alone.
      const uint32_t old = cell.write[0];
      const bool kept =
          old >= first && (perhaps_unordered(old) || (a.strong && !x.records[old / 32].strong));
      cell.write[1] = kept ? old : 0;
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
        r.time == x.time(a))
      continue;
    const uint32_t e = x.entry(a, lane);
    if (perhaps_unordered(last)) {
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

}  // namespace tw::shadow
