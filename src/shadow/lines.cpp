#include "shadow/lines.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace tw::shadow {
namespace {

// calloc of much memory takes pages only where they are touched.
template <class T> T* zeroed(uint64_t count) {
  auto* p = static_cast<T*>(std::calloc(count, sizeof(T)));
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void Lines::Free::operator()(void* p) const { std::free(p); }

void Lines::reset(uint64_t bytes) {
  bytes_ = bytes;
  lines_.reset(zeroed<Line>(count() + 1));
  tags_.reset(zeroed<uint32_t>(count() + 1));
  chunks_.clear();
  next_ = 1;
}

void Lines::unfold(uint64_t number) {
  const uint32_t t = tags_[number] & ~kWhole;
  const uint32_t e = (t & ~127u) | (t >> 4 & 7) << 4 | (t >> 1 & 3);
  Line& l = lines_[number];
  collapse(l);  // whatever it held is of earlier launches
  if (t & 1) {
    l.write = e;
  } else {
    l.read[0] = e;
    l.words[0] = 0xffff;
  }
}

uint32_t Lines::new_blocks(uint32_t count) {
  if (next_ % kChunk + count > kChunk) next_ = (next_ / kChunk + 1) * kChunk;
  const uint32_t number = next_;
  next_ += count;
  while (chunks_.size() <= number / kChunk) chunks_.emplace_back(zeroed<Cell>(kChunk * 16));
  return number;
}

void Lines::expand(Line& l, uint32_t first) {
  if (l.cells & kActive) return;
  if (l.cells == 0) l.cells = new_blocks(1);
  l.cells |= kActive;
  auto entry = [&](uint32_t e, uint32_t word) {
    if (e >> 7 < first) return 0u;
    const uint32_t lane = (e >> 2) & 31;
    if ((e & 3) == kSpread) return (e >> 7) * 32 + (lane & 16);
    return (e >> 7) * 32 + ((lane + (word >> (e & 3))) & 31);
  };
  // Of many lanes that have read one word, another one.
  auto other = [&](uint32_t e, uint32_t read) {
    if (read == 0 || (e & 3) != kSpread) return 0u;
    return read / 32 * 32 + (((e >> 2) & 31) == 0 ? 15u : 31u);
  };
  const bool bytewise = (l.cells & kBytewise) != 0;
  Cell* to = cells(l);
  const bool saturated = (l.read[1] & kSaturated) != 0;
  const uint32_t second = l.read[1] & ~kSaturated;
  for (uint32_t w = 0; w < 16; ++w) {
    Cell c;
    c.write[0] = entry(l.write, w);
    const uint32_t r0 = (l.words[0] >> w) & 1 ? entry(l.read[0], w) : 0;
    const uint32_t r1 = (l.words[1] >> w) & 1 ? entry(second, w) : 0;
    if (r0 != 0 && r1 != 0) {
      c.read[0] = r0, c.read[1] = r1 | (saturated ? kSaturated : 0);
    } else {
      c.read[0] = r0 | r1;
      c.read[1] = other(r0 != 0 ? l.read[0] : second, c.read[0]);
    }
    if (!bytewise)
      to[w] = c;
    else
      for (uint32_t i = 0; i < 4; ++i) to[4 * w + i] = c;
  }
  l.read[0] = std::max({l.write >> 7, l.read[0] >> 7, second >> 7});
}

void Lines::split(Line& l) {
  if (l.cells & kBytewise) return;
  const Cell* from = cells(l);
  const uint32_t number = new_blocks(4);
  Cell* to = block(number);
  for (uint32_t w = 0; w < 16; ++w)
    for (uint32_t i = 0; i < 4; ++i) to[4 * w + i] = from[w];
  l.cells = number | kActive | kBytewise;
}

}  // namespace tw::shadow
