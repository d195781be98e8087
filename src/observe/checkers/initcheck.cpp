// initcheck: reads of bytes that nobody has written, exact to the byte. Memory whose writes can be
// missed (managed and host memory, module variables) is taken as written.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "observe/checkers/session.h"

namespace tw::observe {

using emu::AccessKind;
using emu::AccessSpace;
using report::Finding;
using report::Severity;

namespace {

constexpr uint64_t kKeep = 1 << 20;  // bytes: less is cleared, more is asked of the system anew

}  // namespace

void CheckSession::Written::Free::operator()(uint64_t* p) const { std::free(p); }

void CheckSession::Written::reset(uint64_t size) {
  const uint64_t words = size / 64 + 2;
  if (bits_ && size == bytes_ && size <= kKeep) {
    std::memset(bits_.get(), 0, words * 8);
  } else {
    bits_.reset(static_cast<uint64_t*>(std::calloc(words, 8)));
    if (!bits_) throw std::bad_alloc();
  }
  bytes_ = size;
  view = {bits_.get(), size};
}

bool CheckSession::all_written(const shadow::WrittenView& v, uint64_t offset, uint64_t count) {
  for (; count > 64; offset += 64, count -= 64)
    if (!v.all(offset, 64)) return false;
  return v.all(offset, uint32_t(count));
}

void CheckSession::set_written(shadow::WrittenView& v, uint64_t offset, uint64_t count) {
  for (; count > 64 && v.left != 0; offset += 64, count -= 64) v.set(offset, 64);
  if (v.left != 0) v.set(offset, uint32_t(count));
}

namespace {

const char* kind_of(AccessSpace space) {
  return space == AccessSpace::shared  ? "uninit-shared"
         : space == AccessSpace::local ? "uninit-local"
                                       : "uninit-global";
}

const char* name_of(AccessSpace space) {
  return space == AccessSpace::shared ? "shared" : space == AccessSpace::local ? "local" : "global";
}

// Whether unwritten bytes of a value that is only copied may be padding: this shares its aligned
// eight bytes with a member of its struct, which has been written and is copied along.
bool padding(const shadow::WrittenView& written, uint64_t load, const emu::CopiedValue& v) {
  const uint64_t at = load + v.offset, begin = at / 8 * 8;
  const uint64_t low =
      std::max(begin, v.low < 0 && at < uint64_t(-int64_t{v.low}) ? 0 : at + v.low);
  const uint64_t high = std::min(begin + 8, at + v.high);
  const uint32_t count = uint32_t(high - low);
  return written.missing(low, count) != (1u << count) - 1;
}

constexpr uint32_t first_bytes(uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }

}  // namespace

void CheckSession::uninitialised(const Resolved& r, AccessSpace space, uint32_t site,
                                 uint32_t bytes, uint32_t lanes, const uint64_t* address) {
  count(kind_of(space), Severity::error, site, 0, uint64_t(__builtin_popcount(lanes)),
        [&](Finding& f) {
          const uint32_t l = uint32_t(__builtin_ctz(lanes));
          const bool global = space == AccessSpace::global;
          f.message = fmt::format("read of {} bytes of {} memory that were never written", bytes,
                                  name_of(space));
          f.where =
              fmt::format("{}, {} {:#x}", thread_text(r.a.cta, r.a.warp.index * emu::kLanes + l),
                          global ? "offset" : "address", address[l]);
          if (global) {
            f.allocation =
                fmt::format("{} bytes into the allocation of {} bytes at {:#x}", address[l],
                            r.shadow->allocation.bytes, r.shadow->allocation.address);
            f.advice = "initialise it with cudaMemcpy, cudaMemset or a kernel before this one";
          } else if (space == AccessSpace::shared) {
            f.advice =
                r.owner != r.cta
                    ? "it is of another block of the cluster: a thread has to write it before the "
                      "cluster.sync() or mbarrier that precedes this read"
                    : "a thread of the block has to write it, zero outside of the data, before the "
                      "barrier that precedes this read";
          } else {
            f.advice = "initialise the variable or every element of the array";
          }
          f.sites.push_back(place(site, "read"));
          if (global && r.shadow->allocated)
            f.sites.push_back(host_site(*r.shadow->allocated, "allocated"));
        });
}

// A load from local memory of what is only stored elsewhere: whether its bytes have been written is
// asked where it is stored.
void CheckSession::load_copies(const Resolved& r, const shadow::WrittenView& written,
                               uint64_t base) {
  const uint64_t stride = r.a.cta.local_bytes;
  for (uint32_t j = 0; j < r.a.site.elements; ++j) {
    const uint32_t value = r.a.site.copied[j];
    const emu::CopiedValue& v = now_->program->copied[value];
    const uint64_t key = uint64_t(r.a.warp.index) << 32 | value;
    const auto known = r.cta->carried.find(key);
    CarriedUnwritten c = known == r.cta->carried.end() ? CarriedUnwritten{} : known->second;
    const uint32_t before = c.lanes;
    c.lanes &= ~r.lanes, c.alone &= ~r.lanes;
    for (uint32_t left = written.left == 0 ? 0 : r.lanes; left != 0; left &= left - 1) {
      const uint32_t l = uint32_t(__builtin_ctz(left));
      const uint64_t thread = base + stride * l, at = r.address[l] + v.offset;
      const uint32_t missing = written.missing(thread + at, v.bytes);
      if (missing == 0) continue;
      c.lanes |= 1u << l;
      c.bytes[l] = uint8_t(missing);
      c.from[l] = at;
      if ((missing & (r.a.site.used_bytes >> v.offset)) == 0) continue;
      // The larger copy, as far as it is local memory.
      const uint64_t low = v.low < 0 && at < uint64_t(-int64_t{v.low}) ? 0 : at + v.low;
      const uint64_t high = std::min<uint64_t>(at + v.high, stride);
      bool part = false;
      for (uint64_t i = low; i < high && !part; i += 32) {
        const uint32_t count = uint32_t(std::min<uint64_t>(32, high - i));
        part = written.missing(thread + i, count) != first_bytes(count);
      }
      if (!part) c.alone |= 1u << l;
    }
    if (c.lanes != 0)
      r.cta->carried[key] = c;
    else if (before != 0)
      r.cta->carried.erase(key);
  }
}

// A store of such values. In local memory what was not written stays so; elsewhere it counts as
// written, and was read.
void CheckSession::store_copies(const Resolved& r, shadow::WrittenView* local, uint64_t base) {
  for (uint32_t j = 0; j < r.a.site.elements; ++j) {
    const uint32_t value = r.a.site.copied[j];
    if (value == emu::kNoCopy) continue;
    const auto known = r.cta->carried.find(uint64_t(r.a.warp.index) << 32 | value);
    if (known == r.cta->carried.end()) continue;
    const CarriedUnwritten& c = known->second;
    const emu::CopiedValue& v = now_->program->copied[value];
    if (local == nullptr) {
      if (const uint32_t lanes = c.alone & r.lanes; lanes != 0)
        uninitialised(r, AccessSpace::local, v.site, v.bytes, lanes, c.from);
      continue;
    }
    for (uint32_t left = c.lanes & r.lanes; left != 0; left &= left - 1) {
      const uint32_t l = uint32_t(__builtin_ctz(left));
      local->unset(base + r.a.cta.local_bytes * l + r.address[l] + j * v.bytes, c.bytes[l]);
    }
  }
}

void CheckSession::initcheck(Resolved& r) {
  const emu::AccessSite& site = r.a.site;
  const bool is_local = r.space == AccessSpace::local;
  shadow::WrittenView* written = nullptr;
  uint64_t stride = 0;  // local memory: bytes of a thread
  if (r.space == AccessSpace::shared)
    written = &r.owner->shared.filter.written;
  else if (is_local)
    written = &r.cta->local_written.view, stride = r.a.cta.local_bytes;
  else if (r.shadow->tracked)
    written = &r.shadow->written.view;
  const uint64_t base = stride * r.a.warp.index * emu::kLanes;
  const bool stores_copies = site.kind == AccessKind::write && !r.cta->carried.empty();
  const bool loads_copies = site.kind == AccessKind::read && site.copied[0] != emu::kNoCopy;
  if (stores_copies && !is_local) store_copies(r, nullptr, 0);
  if (is_local && site.unused) return;
  if (loads_copies && is_local) return load_copies(r, *written, base);
  if (loads_copies)  // these lanes hold other values now
    for (uint32_t j = 0; j < site.elements && !r.cta->carried.empty(); ++j)
      if (const auto c = r.cta->carried.find(uint64_t(r.a.warp.index) << 32 | site.copied[j]);
          c != r.cta->carried.end())
        c->second.lanes &= ~r.lanes, c->second.alone &= ~r.lanes;
  if (written == nullptr || (written->left == 0 && !stores_copies)) return;
  const uint32_t bytes = site.bytes;
  auto place_of_lane = [&](uint32_t l) { return base + stride * l + r.address[l]; };
  // Neighbouring lanes mostly access neighbouring bytes: one range.
  auto ranges = [&](auto&& take) {
    uint64_t begin = 0, end = 0;
    for (uint32_t left = r.lanes; left != 0; left &= left - 1) {
      const uint64_t at = place_of_lane(uint32_t(__builtin_ctz(left)));
      if (at == end && end != begin) {
        end += bytes;
        continue;
      }
      if (end != begin) take(begin, end - begin);
      begin = at, end = at + bytes;
    }
    take(begin, end - begin);
  };
  if (site.kind != AccessKind::write && written->left != 0) {
    bool all = true;
    ranges([&](uint64_t at, uint64_t count) { all = all && all_written(*written, at, count); });
    uint32_t bad = 0;
    for (uint32_t left = all ? 0 : r.lanes; left != 0; left &= left - 1) {
      const uint32_t l = uint32_t(__builtin_ctz(left));
      uint32_t missing = written->missing(place_of_lane(l), bytes) & site.used_bytes;
      const uint32_t element = bytes / site.elements;
      for (uint32_t j = 0; loads_copies && missing != 0 && j < site.elements; ++j)
        if (padding(*written, place_of_lane(l), now_->program->copied[site.copied[j]]))
          missing &= ~(first_bytes(element) << j * element);
      if (missing != 0) bad |= 1u << l;
    }
    if (bad != 0) uninitialised(r, r.space, site.site, bytes, bad, r.address);
  }
  if (site.kind != AccessKind::read) {
    if (r.space == AccessSpace::shared) r.owner->passed.wrote();
    if (written->left != 0)
      ranges([&](uint64_t at, uint64_t count) { set_written(*written, at, count); });
    if (stores_copies && is_local) store_copies(r, written, base);
  }
}

}  // namespace tw::observe
