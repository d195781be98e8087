// Races on global memory: whole lines by their words, others cell by cell.
#include <algorithm>

#include "shadow/races_context.h"

namespace tw::shadow {
namespace {

// Lanes from `lane` on whose accesses follow one another inside of one line.
uint32_t steps_inside_line(const WarpAccess& a, uint32_t left, uint32_t lane) {
  const uint64_t begin = a.offsets[lane];
  const uint32_t most = uint32_t(64 - begin % 64) / a.bytes;
  uint32_t n = 1;
  while (n < most && lane + n < 32 && ((left >> (lane + n)) & 1) &&
         a.offsets[lane + n] == begin + n * a.bytes)
    ++n;
  return n;
}

// Lanes from `lane` on that access the same place.
uint32_t lanes_together(const WarpAccess& a, uint32_t left, uint32_t lane) {
  uint32_t n = 1;
  while (lane + n < 32 && ((left >> (lane + n)) & 1) && a.offsets[lane + n] == a.offsets[lane]) ++n;
  return n;
}

constexpr uint32_t lanes_mask(uint32_t lane, uint32_t count) {
  return (count == 32 ? ~0u : (1u << count) - 1) << lane;
}

}  // namespace

static_assert(uint64_t{RecordLog::kMost} * 128 <= kSaturated,
              "the top bit of a line's entry is a mark");

bool Races::launch_end() {
  order_.clear();
  bool more = records_.restart();
  if (order_.generation() > Order::kLastGeneration / 2) {
    order_.restart_generations();
    more = false;
  }
  generation_ = order_.generation();
  launch_ = generation_ - 1;
  generation_first_ = records_.first();
  return more;
}

void Races::each_noted(
    Lines& lines, const std::function<void(uint64_t offset, uint32_t bytes, const Record&)>& take) {
  const uint32_t first = records_.first();
  for (uint64_t number = 0; number < lines.count(); ++number) {
    const Line& l = lines.line(number, launch_);
    const uint64_t begin = number << kLineShift;
    if (l.cells & Lines::kActive) {
      if (l.read[0] < first) continue;
      const uint32_t shift = Lines::shift(l), count = lines.words(number) << (2 - shift);
      const Cell* cell = lines.cells(l);
      for (uint32_t i = 0; i < count; ++i, ++cell)
        for (uint32_t e : {cell->write[0], cell->write[1], cell->read[0], cell->read[1]})
          if ((e & ~kSaturated) / 32 >= first)
            take(begin + (uint64_t{i} << shift), 1u << shift, records_[(e & ~kSaturated) / 32]);
      continue;
    }
    if (l.write >> 7 >= first) take(begin, 4 * lines.words(number), records_[l.write >> 7]);
    for (uint32_t r = 0; r < 2; ++r) {
      const uint32_t e = l.read[r] & ~kSaturated;
      if (e >> 7 < first) continue;
      for (uint32_t left = l.words[r]; left != 0; left &= left - 1)
        take(begin + 4 * uint32_t(__builtin_ctz(left)), 4, records_[e >> 7]);
    }
  }
}

// False: there is no room for more records.
bool Races::begin_access() {
  if (records_.full() || order_.generation() == Order::kLastGeneration) {
    left_out_ = true;
    return false;
  }
  if (generation_ != order_.generation()) {
    generation_ = order_.generation();
    generation_first_ = records_.next();
  }
  return true;
}

bool Races::note_global(const CtaFilter::Site& s, const CtaOrder& c, const NotedAccess& n) {
  if (!begin_access()) return false;
  Context x{records_, c, true};
  WarpAccess a;
  a.warp = n.warp, a.site = n.site, a.bytes = n.bytes;
  a.type = n.write ? AccessType::write : AccessType::read;
  Lines& lines = *s.lines;
  WrittenView* const written = s.written != nullptr && s.written->left != 0 ? s.written : nullptr;
  auto line = [&](uint64_t offset, uint32_t bytes, uint32_t lanes) {
    const uint64_t number = offset >> kLineShift;
    if (n.write)
      lines.untag(number, launch_);
    else if (written != nullptr && !written->all(offset, bytes))
      return false;
    if (!note_line(x, lines, number, a, lanes, lanes_mask(uint32_t(offset % 64 / 4), bytes / 4),
                   written))
      return false;
    if (n.write && written != nullptr) written->set(offset, bytes);
    return true;
  };
  if (n.together) {
    if (n.low == n.high) return line(n.low, n.bytes, 1 << 2 | kSpread);
    return line(n.low, n.bytes, 0 << 2 | kSpread) && line(n.high, n.bytes, 16 << 2 | kSpread);
  }
  const uint32_t log2_bytes = uint32_t(__builtin_ctz(n.bytes)), log2_words = log2_bytes - 2;
  if (((n.low | n.high) & 63) == 0) {
    // Each half-warp has whole lines to itself. Mostly nobody has accessed them in this launch.
    const uint32_t first = records_.first(), per_line = 64 >> log2_bytes;
    for (uint32_t lane = 0; lane < 32; lane += per_line) {
      const uint64_t offset = (lane < 16 ? n.low : n.high) + (uint64_t{lane & 15} << log2_bytes);
      const uint64_t number = offset >> kLineShift;
      if (!lines.fresh(number, launch_, first) ||
          (!n.write && written != nullptr && !written->all(offset, 64))) {
        if (!line(offset, 64, lanes_in_steps(lane, 0, log2_words))) return false;
        continue;
      }
      lines.note_whole(number, x.number(a), lane, log2_words, n.write);
      if (n.write && written != nullptr) written->set(offset, 64);
    }
    return true;
  }
  const uint32_t run = n.high == n.low + 16 * n.bytes ? 32 : 16;  // lanes that follow one another
  for (uint32_t lane = 0; lane < 32;) {
    const uint32_t in_run = lane & (run - 1);
    const uint64_t offset = (lane < run ? n.low : n.high) + (in_run << log2_bytes);
    const uint32_t count = std::min(uint32_t(64 - offset % 64) >> log2_bytes, run - in_run);
    if (!line(offset, count << log2_bytes,
              lanes_in_steps(lane, uint32_t(offset % 64 / 4), log2_words)))
      return false;
    lane += count;
  }
  return true;
}

// One function: most of what kernels that move data are checked by.
[[gnu::flatten]] bool note_global(const CtaFilter& filter, const CtaFilter::Site& s,
                                  const NotedAccess& n) {
  return filter.detector->note_global(s, *filter.order, n);
}

void Races::access_global(Lines& lines, const CtaOrder& c, const WarpAccess& a,
                          const WrittenView* written) {
  if (a.type != AccessType::read)
    for (uint32_t left = a.lanes; left != 0; left &= left - 1)
      lines.untag(a.offsets[__builtin_ctz(left)] >> kLineShift, launch_);
  if (!begin_access()) return;
  Context x{records_, c, true};
  for (uint32_t left = a.lanes; left != 0;) {
    const uint32_t lane = uint32_t(__builtin_ctz(left));
    const uint64_t offset = a.offsets[lane];
    const uint32_t word = uint32_t(offset % 64 / 4);
    const bool wordwise = a.bytes >= 4 && !a.strong;
    if (const uint32_t n = steps_inside_line(a, left, lane); wordwise && n > 1) {
      const uint32_t log2_words = uint32_t(__builtin_ctz(a.bytes) - 2);
      if (note_line(x, lines, offset >> kLineShift, a, lanes_in_steps(lane, word, log2_words),
                    lanes_mask(word, n << log2_words), written)) {
        left &= ~lanes_mask(lane, n);
        continue;
      }
    }
    // Of many lanes that read one place two will do, if nobody has written it.
    const uint32_t n = lanes_together(a, left, lane);
    if (a.type == AccessType::read && n > 2) {
      const bool half = n == 16 && lane % 16 == 0;
      if (wordwise && (half || n == 32) &&
          note_line(x, lines, offset >> kLineShift, a, (half ? lane : 1) << 2 | kSpread,
                    lanes_mask(word, a.bytes / 4), written)) {
        left &= ~lanes_mask(lane, n);
        continue;
      }
      if (unwritten(x, lines, offset, a.bytes)) {
        line_cells(x, lines, a, 1u << lane | 1u << (lane + n - 1), written);
        left &= ~lanes_mask(lane, n);
        continue;
      }
    }
    const uint32_t run = lanes_mask(lane, steps_inside_line(a, left, lane));
    line_cells(x, lines, a, run, written);
    left &= ~run;
  }
}

// Whether nobody has written these bytes in this launch.
bool Races::unwritten(Context& x, Lines& lines, uint64_t offset, uint32_t bytes) {
  const Line& l = lines.line(offset >> kLineShift, launch_);
  const uint32_t first = x.records.first();
  if (!(l.cells & Lines::kActive)) return l.write >> 7 < first;
  const uint32_t shift = Lines::shift(l);
  const Cell* cell = lines.cells(l) + ((offset & 63) >> shift);
  for (uint64_t at = 0; at < bytes; at += 1ull << shift, ++cell)
    if (cell->write[0] / 32 >= first || cell->write[1] / 32 >= first) return false;
  return true;
}

// Lanes access some words of a line. False: the line needs cells.
bool Races::note_line(Context& x, Lines& lines, uint64_t number, const WarpAccess& a,
                      uint32_t lanes, uint32_t words, const WrittenView* written) {
  Line& l = lines.line(number, launch_);
  const uint32_t first = x.records.first(), all = lanes_mask(0, lines.words(number));
  const CtaOrder& order = x.order;
  if (l.cells & Lines::kActive) {
    if (l.read[0] >= first) return false;
    Lines::collapse(l);
  }
  auto recent = [&](uint32_t e) { return (e & ~kSaturated) >> 7 >= first; };
  const bool fresh = !recent(l.read[0]);
  if ((recent(l.write) || !fresh) && !(order.isolated() && order.plain())) return false;
  enum Relation { ordered, same, other_thread, other_cta };
  auto relation = [&](uint32_t e) {
    e &= ~kSaturated;
    const Record& r = x.records[e >> 7];
    if (r.cta != order.cta()) return order_.retired(r.cta) ? ordered : other_cta;
    if (r.epoch < order.epoch()) return ordered;
    return r.warp == a.warp && (e & 127) == lanes && (e & 3) != kSpread ? same : other_thread;
  };
  if (recent(l.write) && relation(l.write) >= other_thread) return false;  // a race, perhaps
  auto entry = [&] { return x.number(a) << 7 | lanes; };
  if (a.type != AccessType::read) {
    if (words != all || (lanes & 3) == kSpread) return false;
    for (uint32_t r : l.read)
      if (recent(r) && relation(r) >= other_thread) return false;
    l.write = entry();
    l.read[0] = l.read[1] = 0;
    return true;
  }
  if (fresh) {
    l.read[0] = entry();
    l.words[0] = uint16_t(words);
    l.read[1] = 0;
    return true;
  }
  if (!((l.read[1] & kSaturated) && l.read[0] >> 7 >= generation_first_ &&
        (words & ~(l.words[0] & l.words[1])) == 0)) {
    const uint32_t e = entry();
    const bool two = recent(l.read[1]), covered = (l.words[0] & ~words) == 0;
    if (e == l.read[0]) {
      l.words[0] |= uint16_t(words);
    } else if (two && (!covered || (l.words[1] & ~l.words[0]) != 0)) {
      return false;  // some word would have one reader less
    } else {
      const Relation last = relation(l.read[0]);
      const Relation second = two ? relation(l.read[1]) : ordered;
      if (covered && last <= same) {  // in the place of an earlier reader
        if (second <= same)
          l.read[1] = 0;
        else if (second != other_cta)
          l.read[1] &= ~kSaturated;
      } else if (last != other_thread || second != other_cta) {
        l.read[1] = l.read[0] | (last == other_cta ? kSaturated : 0);
        l.words[1] = l.words[0];
      }
      l.read[0] = e;
      l.words[0] = uint16_t(words);
    }
  }
  if ((l.read[1] & kSaturated) && (all & ~(l.words[0] & l.words[1])) == 0)
    tag(lines, number, written);
  return true;
}

// Lanes that access one line, by its cells.
void Races::line_cells(Context& x, Lines& lines, const WarpAccess& a, uint32_t lanes,
                       const WrittenView* written) {
  const uint64_t number = a.offsets[__builtin_ctz(lanes)] >> kLineShift;
  Line& l = lines.line(number, launch_);
  lines.expand(l, x.records.first());
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t lane = uint32_t(__builtin_ctz(left));
    const uint64_t offset = a.offsets[lane];
    if (((a.bytes | offset) & ((1u << Lines::shift(l)) - 1)) != 0) lines.split(l);
    const uint32_t shift = Lines::shift(l);
    check(x, a, lane, lines.cells(l) + ((offset & 63) >> shift), shift);
  }
  if (x.record != 0) l.read[0] = std::max(l.read[0], x.record);
  if (a.type == AccessType::read) tag(lines, number, written);
}

// Sets the line's tag if loads of it need no further note.
void Races::tag(Lines& lines, uint64_t number, const WrittenView* written) {
  const Line& l = lines.line(number, launch_);
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
             l.write >> 7 >= first ||
             (lanes_mask(0, lines.words(number)) & ~(l.words[0] & l.words[1])) != 0) {
    return;
  }
  lines.tags()[number] = order_.generation();
}

}  // namespace tw::shadow
