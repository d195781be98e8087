// In front of observed loads and stores, for one instruction set: what shadow/filter.h lets a
// handler decide by itself. Whatever a filter cannot settle goes to the observer (observe_read,
// observe_write), lane masks, faults and all; so a filter may give up wherever it likes.
#include "emu/filter_handlers.h"

#include <cstring>

#include "emu/cta.h"
#include "emu/observe_handlers.h"
#include "shadow/filter.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tw::emu {
inline namespace TW_TARGET {
namespace {

using shadow::CtaFilter;
using shadow::LogSite;
using shadow::SharedRange;
using shadow::WrittenView;

constexpr uint32_t kHalf = kLanes / 2;

TW_INLINE const AccessSite& site_of(const Op* op) {
  return *static_cast<const AccessSite*>(op->extra);
}

// Sixteen aligned elements, of those lanes that take part. The bits of each lie in one word at any
// byte of `bits`.
TW_INLINE bool elements_written(const WrittenView& w, const uint32_t* address, uint32_t lanes,
                                uint32_t bytes) {
#if defined(__AVX512F__)
  const __m512i at = _mm512_loadu_si512(address);
  const __m512i words = _mm512_mask_i32gather_epi32(_mm512_set1_epi32(-1), __mmask16(lanes),
                                                    _mm512_srli_epi32(at, 3), w.bits, 1);
  const __m512i bits = _mm512_srlv_epi32(words, _mm512_and_epi32(at, _mm512_set1_epi32(7)));
  const __m512i missing = _mm512_andnot_epi32(bits, _mm512_set1_epi32((1 << bytes) - 1));
  return (_mm512_test_epi32_mask(missing, missing) & lanes) == 0;
#else
  const uint64_t wanted = (1ull << bytes) - 1;
  uint64_t missing = 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t at = address[__builtin_ctz(left)];
    missing |= ~w.bits[at / 64] >> at % 64 & wanted;
  }
  return missing == 0;
#endif
}

// Sixteen lanes in steps.
TW_INLINE bool half_written(const WrittenView& w, uint64_t address, uint32_t stride,
                            uint32_t bytes) {
  if (stride == 0) return w.all(address, bytes);
  if (stride == bytes) {
    for (uint32_t i = 0; i < kHalf * bytes; i += 64)
      if (!w.all(address + i, kHalf * bytes < 64 ? kHalf * bytes : 64)) return false;
    return true;
  }
  uint32_t at[kHalf];
  for (uint32_t l = 0; l < kHalf; ++l) at[l] = uint32_t(address) + l * stride;
  return elements_written(w, at, 0xffff, bytes);
}

// ---- shared memory ----

TW_INLINE bool halves_written(const WrittenView& w, uint32_t low, uint32_t high,
                              const LogSite& log) {
  return half_written(w, low, log.stride, log.bytes) &&
         half_written(w, high, log.stride, log.bytes);
}

// Lanes in steps, where some bytes of the CTA's memory have not been written.
[[gnu::noinline]] bool warp_written(CtaFilter& f, const LogSite& log, uint32_t warp, uint32_t low,
                                    uint32_t high) {
  if (log.stride == 0 || log.stride == log.bytes || f.passed == nullptr)
    return halves_written(f.written, low, high, log);
  const uint32_t content = f.passed->content(f.written, f.bytes);
  if (content == 0) return halves_written(f.written, low, high, log);
  const shadow::PassedReads::Read now{content, log.site, warp, low, high};
  shadow::PassedReads::Read& known = f.passed->at(log.site, warp);
  if (known == now) return true;
  if (!halves_written(f.written, low, high, log)) return false;
  known = now;
  return true;
}

template <bool kUniform> const Op* shared_read(TW_HANDLER_ARGS) {
  CtaFilter& f = *warp->cta->observer->filter;
  const LogSite& log = site_of(op).log;
  const uint32_t* a = reinterpret_cast<const uint32_t*>(frame + op->a);
  const uint32_t low = a[0] + uint32_t(op->imm);
  const uint32_t high = kUniform ? low : a[kHalf] + uint32_t(op->imm);
  const uint32_t extent = kUniform ? log.bytes : (kHalf - 1) * log.stride + log.bytes;
  const SharedRange& range = f.ranges[op->site];
  if (!f.open || ((low | high) & (log.bytes - 1u)) != 0 || !f.fits(range, low, extent) ||
      !f.fits(range, high, extent) || !f.room()) [[unlikely]]
    return observe_read(op, frame, warp);
  if (f.written.left != 0 &&
      !(kUniform ? f.written.all(low, log.bytes) : warp_written(f, log, warp->index, low, high)))
      [[unlikely]]
    return observe_read(op, frame, warp);
  if (f.races) f.add(&log, warp->active, low, high, warp->index);
  TW_NEXT;
}

// Bounds and alignment of the active lanes.
TW_INLINE bool lanes_fit(const uint32_t* a, uint32_t offset, uint32_t lanes, uint32_t bytes,
                         const SharedRange& range) {
  if (range.low + bytes > range.high) return false;
  const uint32_t low = uint32_t(range.low), span = uint32_t(range.high - range.low) - bytes;
  uint32_t bad = 0;
  if (lanes == kFullMask) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint32_t at = a[l] + offset;
      bad |= (at & (bytes - 1)) | uint32_t(at - low > span);
    }
  } else {
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const uint32_t at = a[__builtin_ctz(left)] + offset;
      bad |= (at & (bytes - 1)) | uint32_t(at - low > span);
    }
  }
  return bad == 0;
}

TW_INLINE void log_lanes(CtaFilter& f, const LogSite& log, const uint32_t* a, uint32_t offset,
                         const Warp* warp) {
  uint32_t* to = f.add_offsets(&log, warp->active, warp->index);
#pragma GCC ivdep
  for (uint32_t l = 0; l < kLanes; ++l) to[l] = a[l] + offset;
}

const Op* shared_read_lanes(TW_HANDLER_ARGS) {
  CtaFilter& f = *warp->cta->observer->filter;
  const LogSite& log = site_of(op).log;
  const uint32_t* a = reinterpret_cast<const uint32_t*>(frame + op->a);
  const uint32_t offset = uint32_t(op->imm), bytes = log.bytes;
  if (!f.open || !f.room_for_offsets() ||
      !lanes_fit(a, offset, warp->active, bytes, f.ranges[op->site])) [[unlikely]]
    return observe_read(op, frame, warp);
  if (f.written.left != 0) {
    uint32_t at[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) at[l] = a[l] + offset;
    if (!elements_written(f.written, at, warp->active & 0xffff, bytes) ||
        !elements_written(f.written, at + kHalf, warp->active >> kHalf, bytes)) [[unlikely]]
      return observe_read(op, frame, warp);
  }
  if (f.races) log_lanes(f, log, a, offset, warp);
  TW_NEXT;
}

// Whether other threads have written any of `kStamped` neighbouring words in this epoch. `thread` is
// the stamp of word 0's thread, the next ones follow, each for 1 << `log2` words; `at` is where word
// number `word` has its stamp.
struct Stamps {
#if defined(__AVX512F__)
  static constexpr uint32_t kStamped = 16;
  __m512i old, mine, base;
  TW_INLINE Stamps(const uint32_t* at, uint32_t base_stamp, uint32_t thread, uint32_t word,
                   uint32_t log2)
      : old(_mm512_loadu_si512(at)),
        mine(_mm512_add_epi32(
            _mm512_set1_epi32(int(thread)),
            _mm512_srl_epi32(_mm512_add_epi32(_mm512_set1_epi32(int(word)),
                                              _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                                                11, 12, 13, 14, 15)),
                             _mm_cvtsi32_si128(int(log2))))),
        base(_mm512_set1_epi32(int(base_stamp))) {}
  TW_INLINE bool taken() const {
    return _mm512_mask_cmpneq_epi32_mask(_mm512_cmpge_epu32_mask(old, base), old, mine) != 0;
  }
  TW_INLINE void put(uint32_t* at) const { _mm512_storeu_si512(at, mine); }
#elif defined(__AVX2__)
  static constexpr uint32_t kStamped = 8;
  __m256i old, mine, base;
  TW_INLINE Stamps(const uint32_t* at, uint32_t base_stamp, uint32_t thread, uint32_t word,
                   uint32_t log2)
      : old(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))),
        mine(_mm256_add_epi32(
            _mm256_set1_epi32(int(thread)),
            _mm256_srl_epi32(_mm256_add_epi32(_mm256_set1_epi32(int(word)),
                                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
                             _mm_cvtsi32_si128(int(log2))))),
        base(_mm256_set1_epi32(int(base_stamp))) {}
  TW_INLINE bool taken() const {
    // Not (older than the epoch, or mine).
    const __m256i fine =
        _mm256_or_si256(_mm256_cmpgt_epi32(base, old), _mm256_cmpeq_epi32(old, mine));
    return _mm256_movemask_epi8(fine) != -1;
  }
  TW_INLINE void put(uint32_t* at) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), mine);
  }
#else
  static constexpr uint32_t kStamped = 8;
  const uint32_t* old;
  uint32_t base, first, from, shift;
  TW_INLINE Stamps(const uint32_t* at, uint32_t base_stamp, uint32_t thread, uint32_t word,
                   uint32_t log2)
      : old(at), base(base_stamp), first(thread), from(word), shift(log2) {}
  TW_INLINE uint32_t mine(uint32_t i) const { return first + ((from + i) >> shift); }
  TW_INLINE bool taken() const {
    uint32_t bad = 0;
    for (uint32_t i = 0; i < kStamped; ++i)
      bad |= uint32_t(old[i] >= base) & uint32_t(old[i] != mine(i));
    return bad != 0;
  }
  TW_INLINE void put(uint32_t* at) const {
    for (uint32_t i = 0; i < kStamped; ++i) at[i] = mine(i);
  }
#endif
};

// 32 lanes, each half-warp on 16 neighbouring elements of 1 << `kLog2` words.
template <uint32_t kLog2> const Op* shared_write_unit(TW_HANDLER_ARGS) {
  constexpr uint32_t kBytes = 4u << kLog2, kExtent = kHalf * kBytes, kWords = kHalf << kLog2;
  CtaFilter& f = *warp->cta->observer->filter;
  const LogSite& log = site_of(op).log;
  const uint32_t* a = reinterpret_cast<const uint32_t*>(frame + op->a);
  const uint32_t low = a[0] + uint32_t(op->imm), high = a[kHalf] + uint32_t(op->imm);
  const uint32_t distance = low < high ? high - low : low - high;
  const SharedRange& range = f.ranges[op->site];
  if (!f.open || ((low | high) & (kBytes - 1)) != 0 || !f.fits(range, low, kExtent) ||
      !f.fits(range, high, kExtent) || distance < kExtent || !f.room()) [[unlikely]]
    return observe_write(op, frame, warp);
  if (f.races) {
    uint32_t *to_low = f.stamps + low / 4, *to_high = f.stamps + high / 4;
    const uint32_t first = f.base + warp->index * kLanes;
    bool taken = false;
    for (uint32_t i = 0; i < kWords; i += Stamps::kStamped)
      taken = taken || Stamps(to_low + i, f.base, first, i, kLog2).taken() ||
              Stamps(to_high + i, f.base, first + kHalf, i, kLog2).taken();
    if (taken) [[unlikely]]
      return observe_write(op, frame, warp);
    for (uint32_t i = 0; i < kWords; i += Stamps::kStamped) {
      Stamps(to_low + i, f.base, first, i, kLog2).put(to_low + i);
      Stamps(to_high + i, f.base, first + kHalf, i, kLog2).put(to_high + i);
    }
    f.wrote(low < high ? low : high, (low < high ? high : low) + kExtent);
    f.add(&log, warp->active, low, high, warp->index);
  }
  if (f.written.left != 0) {
    for (uint32_t i = 0; i < kExtent; i += 64)
      f.written.set(low + i, 64), f.written.set(high + i, 64);
    if (f.passed != nullptr) f.passed->wrote();
  }
  TW_NEXT;
}

#if defined(__AVX512F__)
// Puts the lanes' stamps on `words` words each. False: another thread has written one of them in
// this epoch, perhaps of the same warp.
TW_INLINE bool stamped(CtaFilter& f, const uint32_t* address, uint32_t offset, const Warp* warp,
                       uint32_t words, uint32_t& least, uint32_t& most) {
  const __m512i base = _mm512_set1_epi32(int(f.base));
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i index[2], mine[2];
  __mmask16 active[2];
  for (uint32_t h = 0; h < 2; ++h) {
    active[h] = __mmask16(warp->active >> kHalf * h);
    const __m512i at =
        _mm512_add_epi32(_mm512_loadu_si512(address + kHalf * h), _mm512_set1_epi32(int(offset)));
    if (active[h] != 0) {
      const uint32_t low = _mm512_mask_reduce_min_epu32(active[h], at);
      const uint32_t high = _mm512_mask_reduce_max_epu32(active[h], at);
      least = low < least ? low : least, most = high > most ? high : most;
    }
    index[h] = _mm512_srli_epi32(at, 2);
    mine[h] =
        _mm512_add_epi32(lanes, _mm512_set1_epi32(int(f.base + warp->index * kLanes + kHalf * h)));
  }
  auto each = [&](auto take) {
    __mmask16 bad = 0;
    for (uint32_t w = 0; w < words; ++w)
      for (uint32_t h = 0; h < 2; ++h)
        bad |= take(active[h], _mm512_add_epi32(index[h], _mm512_set1_epi32(int(w))), mine[h]);
    return bad;
  };
  const __mmask16 taken = each([&](__mmask16 k, __m512i at, __m512i own) {
    const __m512i old = _mm512_mask_i32gather_epi32(own, k, at, f.stamps, 4);
    return __mmask16(_mm512_cmpge_epu32_mask(old, base) & _mm512_cmpneq_epi32_mask(old, own));
  });
  if (taken != 0) return false;
  each([&](__mmask16 k, __m512i at, __m512i own) {
    _mm512_mask_i32scatter_epi32(f.stamps, k, at, own, 4);
    return __mmask16(0);
  });
  return each([&](__mmask16 k, __m512i at, __m512i own) {
           const __m512i now = _mm512_mask_i32gather_epi32(own, k, at, f.stamps, 4);
           return _mm512_cmpneq_epi32_mask(now, own);
         }) == 0;
}
#endif

const Op* shared_write_lanes(TW_HANDLER_ARGS) {
  CtaFilter& f = *warp->cta->observer->filter;
  const LogSite& log = site_of(op).log;
  const uint32_t* a = reinterpret_cast<const uint32_t*>(frame + op->a);
  const uint32_t offset = uint32_t(op->imm), bytes = log.bytes;
  if (!f.open || !f.room_for_offsets() ||
      !lanes_fit(a, offset, warp->active, bytes, f.ranges[op->site])) [[unlikely]]
    return observe_write(op, frame, warp);
  if (f.races) {
    uint32_t least = ~0u, most = 0;
#if defined(__AVX512F__)
    if (bytes % 4 == 0) {
      if (!stamped(f, a, offset, warp, bytes / 4, least, most)) [[unlikely]]
        return observe_write(op, frame, warp);
    } else
#endif
      for (uint32_t left = warp->active; left != 0; left &= left - 1) {
        const uint32_t lane = uint32_t(__builtin_ctz(left)), at = a[lane] + offset;
        const uint32_t mine = f.base + warp->index * kLanes + lane;
        for (uint32_t w = 0; w < (bytes + 3) / 4; ++w) {
          uint32_t& stamp = f.stamps[at / 4 + w];
          if (stamp >= f.base && stamp != mine) [[unlikely]]
            return observe_write(op, frame, warp);
          stamp = mine;
        }
        least = at < least ? at : least, most = at > most ? at : most;
      }
    f.wrote(least, most + bytes);
    log_lanes(f, log, a, offset, warp);
  }
  if (f.written.left != 0) {
    for (uint32_t left = warp->active; left != 0; left &= left - 1)
      f.written.set(a[__builtin_ctz(left)] + offset, bytes);
    if (f.passed != nullptr) f.passed->wrote();
  }
  TW_NEXT;
}

const Op* shared_write_uniform(TW_HANDLER_ARGS) { return observe_write(op, frame, warp); }

TW_INLINE bool row_passes(CtaFilter& f, const LogSite& log, const SharedRange& range, uint32_t low,
                          uint32_t high) {
  const uint32_t reach = 15 * log.stride + 4;
  if (((low | high) & 3u) != 0 || !f.fits(range, low, reach) || !f.fits(range, high, reach))
    return false;
  if (f.written.left != 0) [[unlikely]]
    for (uint32_t m = 0; m < log.count; ++m) {
      const uint32_t distance = uint32_t(log.members[m].offset);
      if (!half_written(f.written, low + distance, log.stride, 4) ||
          !half_written(f.written, high + distance, log.stride, 4))
        return false;
    }
  return true;
}

// ---- global memory ----

TW_INLINE bool half_tagged(const CtaFilter& f, const CtaFilter::Site& s, uint64_t offset,
                           uint32_t stride, uint32_t bytes) {
  const uint32_t tag = *f.tag;
  if (stride == 0) return s.tags[offset >> shadow::kLineShift] == tag;
  if (stride <= 64) {
    const uint64_t last = (offset + (kHalf - 1) * stride + bytes - 1) >> shadow::kLineShift;
    for (uint64_t line = offset >> shadow::kLineShift; line <= last; ++line)
      if (s.tags[line] != tag) return false;
    return true;
  }
  for (uint32_t l = 0; l < kHalf; ++l)
    if (s.tags[(offset + l * stride) >> shadow::kLineShift] != tag) return false;
  return true;
}

// The access lives in a function of its own: see `ask` in observe_handlers.cpp.
[[gnu::noinline]] bool noted(const CtaFilter& f, const Op* op, const Warp* warp, uint64_t low,
                             uint64_t high, bool together) {
  const CtaFilter::Site& s = f.sites[op->site];
  const AccessSite& site = site_of(op);
  const LogSite& log = site.log;
  if (s.lines == nullptr || log.bytes < 4) return false;
#if defined(__AVX__)
  clear_upper_halves();
#endif
  return note_global(f, s, {low, high, site.group, warp->index, log.bytes, log.write, together});
}

// What is noted has not been accessed before, mostly: the data come from afar while it is noted.
TW_INLINE void fetch(const CtaFilter::Site& s, uint64_t low, uint64_t high, bool write) {
  const char* at = reinterpret_cast<const char*>(s.low + uint64_t(s.bias));
  if (write)
    __builtin_prefetch(at + low, 1), __builtin_prefetch(at + high, 1);
  else
    __builtin_prefetch(at + low), __builtin_prefetch(at + high);
}

enum class Shape { uniform, steps };

template <Shape kShape> const Op* global_read(TW_HANDLER_ARGS) {
  const CtaFilter& f = *warp->cta->observer->filter;
  const CtaFilter::Site& s = f.sites[op->site];
  const LogSite& log = site_of(op).log;
  const uint64_t* a = reinterpret_cast<const uint64_t*>(frame + op->a);
  const uint64_t offset = uint64_t(op->imm);
  const uint64_t low = a[0] + offset - s.low;
  const uint64_t high = kShape == Shape::uniform ? low : a[kHalf] + offset - s.low;
  const uint32_t stride = kShape == Shape::steps ? log.stride : 0, reach = (kHalf - 1) * stride;
  bool fine =
      low <= s.span && high <= s.span && (((low + s.low) | (high + s.low)) & (log.bytes - 1u)) == 0;
  if constexpr (kShape == Shape::steps)  // both ends: a 32-bit index may have wrapped
    fine = fine && low + reach <= s.span && high + reach <= s.span &&
           a[kHalf - 1] - a[0] == reach && a[kLanes - 1] - a[kHalf] == reach;
  if (!fine) [[unlikely]]
    return observe_read(op, frame, warp);
  if (!s.always && !(half_tagged(f, s, low, stride, log.bytes) &&
                     (kShape == Shape::uniform || half_tagged(f, s, high, stride, log.bytes)))) {
    const bool together = kShape == Shape::uniform || stride == 0;
    if (kShape == Shape::uniform ? warp->active != kFullMask : !together && stride != log.bytes)
        [[unlikely]]
      return observe_read(op, frame, warp);
    fetch(s, low, high, false);
    if (!noted(f, op, warp, low, high, together)) return observe_read(op, frame, warp);
  }
  TW_NEXT;
}

TW_INLINE bool lanes_inside(const CtaFilter::Site& s, const uint64_t* a, uint64_t offset,
                            uint32_t lanes, uint32_t bytes) {
  uint64_t bad = 0;
  if (lanes == kFullMask) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint64_t at = a[l] + offset, t = at - s.low;
      bad |= (t | (s.span - t)) >> 63 | (at & (bytes - 1));
    }
  } else {
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const uint64_t at = a[__builtin_ctz(left)] + offset, t = at - s.low;
      bad |= (t | (s.span - t)) >> 63 | (at & (bytes - 1));
    }
  }
  return bad == 0;
}

const Op* global_read_lanes(TW_HANDLER_ARGS) {
  const CtaFilter& f = *warp->cta->observer->filter;
  const CtaFilter::Site& s = f.sites[op->site];
  const uint64_t* a = reinterpret_cast<const uint64_t*>(frame + op->a);
  const uint64_t offset = uint64_t(op->imm);
  if (!lanes_inside(s, a, offset, warp->active, site_of(op).log.bytes)) [[unlikely]]
    return observe_read(op, frame, warp);
  if (!s.always) {
    const uint32_t tag = *f.tag;
    for (uint32_t left = warp->active; left != 0; left &= left - 1)
      if (s.tags[(a[__builtin_ctz(left)] + offset - s.low) >> shadow::kLineShift] != tag)
        return observe_read(op, frame, warp);
  }
  TW_NEXT;
}

// 32 lanes, each half-warp on neighbouring elements.
const Op* global_write_unit(TW_HANDLER_ARGS) {
  const CtaFilter& f = *warp->cta->observer->filter;
  const CtaFilter::Site& s = f.sites[op->site];
  const uint32_t bytes = site_of(op).log.bytes, reach = (kHalf - 1) * bytes;
  const uint64_t* a = reinterpret_cast<const uint64_t*>(frame + op->a);
  const uint64_t low = a[0] + uint64_t(op->imm) - s.low,
                 high = a[kHalf] + uint64_t(op->imm) - s.low;
  if (low > s.span || high > s.span || low + reach > s.span || high + reach > s.span ||
      (((low + s.low) | (high + s.low)) & (bytes - 1u)) != 0 || a[kHalf - 1] - a[0] != reach ||
      a[kLanes - 1] - a[kHalf] != reach) [[unlikely]]
    return observe_write(op, frame, warp);
  if (!s.always) {
    fetch(s, low, high, true);
    if (!noted(f, op, warp, low, high, false)) return observe_write(op, frame, warp);
  }
  TW_NEXT;
}

template <bool kUniform> const Op* global_write(TW_HANDLER_ARGS) {
  const CtaFilter::Site& s = warp->cta->observer->filter->sites[op->site];
  const uint64_t* a = reinterpret_cast<const uint64_t*>(frame + op->a);
  const uint32_t bytes = site_of(op).log.bytes;
  if (!s.always || !lanes_inside(s, a, uint64_t(op->imm), kUniform ? 1 : warp->active, bytes))
    return observe_write(op, frame, warp);
  TW_NEXT;
}

}  // namespace

const Op* filter_row(TW_HANDLER_ARGS) {
  CtaFilter& f = *warp->cta->observer->filter;
  const RowFilter& row = *static_cast<const RowFilter*>(op->extra);
  const uint32_t* a = reinterpret_cast<const uint32_t*>(frame + op->a);
  const uint32_t* b = reinterpret_cast<const uint32_t*>(frame + op->b);
  const SharedRange* ranges = f.row_ranges + 2 * row.index;
  if (!f.open || (f.races && f.log_end - f.log < 2) ||
      !row_passes(f, row.a, ranges[0], a[0], a[kHalf]) ||
      !row_passes(f, row.b, ranges[1], b[0], b[kHalf])) [[unlikely]]
    TW_GO(op + 2);
  if (f.races) {
    f.add(&row.a, kFullMask, a[0], a[kHalf], warp->index);
    f.add(&row.b, kFullMask, b[0], b[kHalf], warp->index);
  }
  TW_NEXT;
}

Handler filter_handler(const FilterKey& key) {
  if (key.shared) {
    if (key.store)
      return key.unit && key.bytes == 4    ? shared_write_unit<0>
             : key.unit && key.bytes == 8  ? shared_write_unit<1>
             : key.unit && key.bytes == 16 ? shared_write_unit<2>
             : key.uniform                 ? shared_write_uniform
                                           : shared_write_lanes;
    return key.uniform ? shared_read<true> : key.regular ? shared_read<false> : shared_read_lanes;
  }
  if (key.store)
    return key.unit ? global_write_unit : key.uniform ? global_write<true> : global_write<false>;
  if (key.uniform) return global_read<Shape::uniform>;
  return key.regular ? global_read<Shape::steps> : global_read_lanes;
}

}  // namespace TW_TARGET
}  // namespace tw::emu
