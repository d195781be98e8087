// Races on global memory: whole lines by their words, others cell by cell.
#include <algorithm>

#include "shadow/races_context.h"

namespace tw::shadow {
namespace {

bool consecutive(const uint64_t* offsets, uint32_t count, uint32_t bytes) {
  uint64_t differs = 0;
  for (uint32_t i = 0; i < count; ++i) differs |= offsets[i] ^ (offsets[0] + i * bytes);
  return differs == 0;
}

}  // namespace

bool Races::launch_end() {
  order_.clear();
  generation_ = order_.generation();
  const bool more = records_.restart();
  generation_first_ = records_.first();
  return more;
}

void Races::access_global(Lines& lines, const CtaOrder& c, const WarpAccess& a,
                          const WrittenView* written) {
  if (a.type != AccessType::read)
    for (uint32_t left = a.lanes; left != 0; left &= left - 1)
      lines.tags()[a.offsets[__builtin_ctz(left)] >> kLineShift] = 0;
  if (records_.full()) return;
  if (generation_ != order_.generation()) {
    generation_ = order_.generation();
    generation_first_ = records_.next();
  }
  Context x{records_, c, true};
  const uint32_t n = a.bytes >= 4 ? 64u / a.bytes : 64;  // lanes that fill a line
  for (uint32_t left = a.lanes; left != 0;) {
    const uint32_t lane = uint32_t(__builtin_ctz(left));
    const uint64_t offset = a.offsets[lane];
    if (offset % 64 == 0 && lane + n <= 32) {
      const uint32_t run = ((1u << n) - 1) << lane;
      if ((left & run) == run && consecutive(a.offsets + lane, n, a.bytes) &&
          whole_line(x, lines, offset >> kLineShift, a, lane, written)) {
        left &= ~run;
        continue;
      }
    }
    // Of many lanes that read one place two will do, if nobody has written it.
    uint32_t last = lane;
    while (last < 31 && ((left >> (last + 1)) & 1) && a.offsets[last + 1] == offset) ++last;
    if (a.type == AccessType::read && last > lane + 1 && unwritten(x, lines, offset, a.bytes)) {
      line_cells(x, lines, a, lane, written);
      line_cells(x, lines, a, last, written);
      left &= last == 31 ? 0 : ~0u << (last + 1);
      continue;
    }
    line_cells(x, lines, a, lane, written);
    left &= left - 1;
  }
}

// Whether nobody has written these bytes in this launch.
bool Races::unwritten(Context& x, Lines& lines, uint64_t offset, uint32_t bytes) {
  const Line& l = lines.line(offset >> kLineShift);
  const uint32_t first = x.records.first();
  if (!(l.cells & Lines::kActive)) return l.write >> 7 < first;
  const uint32_t shift = Lines::shift(l);
  const Cell* cell = lines.cells(l) + ((offset & 63) >> shift);
  for (uint64_t at = 0; at < bytes; at += 1ull << shift, ++cell)
    if (cell->write[0] / 32 >= first || cell->write[1] / 32 >= first) return false;
  return true;
}

// False: the line needs cells.
bool Races::whole_line(Context& x, Lines& lines, uint64_t number, const WarpAccess& a,
                       uint32_t lane, const WrittenView* written) {
  Line& l = lines.line(number);
  const uint32_t first = x.records.first();
  const CtaOrder& order = x.order;
  if (a.strong) return false;
  if (l.cells & Lines::kActive) {
    if (l.read[0] >= first) return false;
    Lines::collapse(l);
  }
  const uint32_t threads = lane << 2 | uint32_t(__builtin_ctz(a.bytes) - 2);
  auto recent = [&](uint32_t e) { return (e & ~kSaturated) >> 7 >= first; };
  if ((recent(l.write) || recent(l.read[0])) && !(order.isolated() && order.plain())) return false;
  enum Relation { ordered, same, other_thread, other_cta };
  auto relation = [&](uint32_t e) {
    e &= ~kSaturated;
    const Record& r = x.records[e >> 7];
    if (r.cta != order.cta()) return order_.retired(r.cta) ? ordered : other_cta;
    if (r.epoch < order.epoch()) return ordered;
    return r.warp == a.warp && (e & 127) == threads ? same : other_thread;
  };
  if (recent(l.write) && relation(l.write) >= other_thread) return false;  // a race, perhaps
  auto entry = [&] { return x.number(a) << 7 | threads; };
  if (a.type != AccessType::read) {
    for (uint32_t r : l.read)
      if (recent(r) && relation(r) >= other_thread) return false;
    l.write = entry();
    l.read[0] = l.read[1] = 0;
    return true;
  }
  if (!recent(l.read[0])) {
    l.read[0] = entry();
    l.read[1] = 0;
    return true;
  }
  if (!((l.read[1] & kSaturated) && l.read[0] >> 7 >= generation_first_)) {
    const Relation last = relation(l.read[0]);
    if (last == same && x.records[l.read[0] >> 7].time == x.time(a)) return true;
    const uint32_t second = l.read[1] & ~kSaturated;
    if (last == other_cta)
      l.read[1] = l.read[0] | kSaturated;
    else if (last == other_thread)
      l.read[1] = recent(second) && relation(second) == other_cta ? second : l.read[0];
    else if (recent(second) && relation(second) <= same)
      l.read[1] = 0;
    l.read[0] = entry();
    if (!(l.read[1] & kSaturated)) return true;
  }
  tag(lines, number, written);
  return true;
}

void Races::line_cells(Context& x, Lines& lines, const WarpAccess& a, uint32_t lane,
                       const WrittenView* written) {
  const uint64_t offset = a.offsets[lane], number = offset >> kLineShift;
  Line& l = lines.line(number);
  lines.expand(l, x.records.first());
  if (((a.bytes | offset) & ((1u << Lines::shift(l)) - 1)) != 0) lines.split(l);
  const uint32_t shift = Lines::shift(l);
  check(x, a, lane, lines.cells(l) + ((offset & 63) >> shift), shift);
  if (x.record != 0) l.read[0] = std::max(l.read[0], x.record);
  if (a.type == AccessType::read) tag(lines, number, written);
}

// Sets the line's tag if loads of it need no further note.
void Races::tag(Lines& lines, uint64_t number, const WrittenView* written) {
  const Line& l = lines.line(number);
  if (written != nullptr && written->left != 0 &&
      !written->all(number << kLineShift,
                    uint32_t(std::min<uint64_t>(64, lines.bytes() - (number << kLineShift)))))
    return;
  const uint32_t first = records_.first();
  if (l.cells & Lines::kActive) {
    const uint32_t count = lines.words(number) << (2 - Lines::shift(l));
    const Cell* cell = lines.cells(l);
    for (uint32_t i = 0; i < count; ++i, ++cell)
      if (!(cell->read[1] & kSaturated) || cell->read[0] / 32 < generation_first_ ||
          cell->write[0] / 32 >= first || cell->write[1] / 32 >= first)
        return;
  } else if (!(l.read[1] & kSaturated) || l.read[0] >> 7 < generation_first_ ||
             l.write >> 7 >= first) {
    return;
  }
  lines.tags()[number] = order_.generation();
}

}  // namespace tw::shadow
