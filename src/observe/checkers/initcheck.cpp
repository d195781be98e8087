// initcheck: reads of bytes that nobody has written, exact to the byte. Memory whose writes can be
// missed (managed and host memory, module variables) is taken as written.
#include <fmt/format.h>

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

void CheckSession::initcheck(Resolved& r) {
  shadow::WrittenView* written = nullptr;
  uint64_t stride = 0;  // local memory: bytes of a thread
  if (r.space == AccessSpace::shared)
    written = &r.cta->shared.filter.written;
  else if (r.space == AccessSpace::local)
    written = &r.cta->local_written.view, stride = r.a.cta.local_bytes;
  else if (r.shadow->tracked)
    written = &r.shadow->written.view;
  if (written == nullptr || written->left == 0) return;
  const uint32_t bytes = r.a.site.bytes;
  const uint64_t base = stride * r.a.warp.index * emu::kLanes;
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
  if (r.a.site.kind != AccessKind::write) {
    bool all = true;
    ranges([&](uint64_t at, uint64_t count) { all = all && all_written(*written, at, count); });
    uint32_t bad = 0;
    for (uint32_t left = all ? 0 : r.lanes; left != 0; left &= left - 1) {
      const uint32_t l = uint32_t(__builtin_ctz(left));
      if (!written->all(place_of_lane(l), bytes)) bad |= 1u << l;
    }
    if (bad != 0) {
      const char* kind = r.space == AccessSpace::shared  ? "uninit-shared"
                         : r.space == AccessSpace::local ? "uninit-local"
                                                         : "uninit-global";
      count(kind, Severity::error, r.a.site.site, 0, uint64_t(__builtin_popcount(bad)),
            [&](Finding& f) {
              const uint32_t l = uint32_t(__builtin_ctz(bad));
              const char* what = r.space == AccessSpace::shared  ? "shared"
                                 : r.space == AccessSpace::local ? "local"
                                                                 : "global";
              f.message =
                  fmt::format("read of {} bytes of {} memory that were never written", bytes, what);
              f.where = fmt::format(
                  "{}, {} {:#x}", thread_text(r.a.cta, r.a.warp.index * emu::kLanes + l),
                  r.space == AccessSpace::global ? "offset" : "address", r.address[l]);
              if (r.space == AccessSpace::global) {
                f.allocation =
                    fmt::format("{} bytes into the allocation of {} bytes at {:#x}", r.address[l],
                                r.shadow->allocation.bytes, r.shadow->allocation.address);
                f.advice = "initialise it with cudaMemcpy, cudaMemset or a kernel before this one";
              } else if (r.space == AccessSpace::shared) {
                f.advice =
                    "a thread of the block has to write it, zero outside of the data, before the "
                    "barrier that precedes this read";
              } else {
                f.advice = "initialise the variable or every element of the array";
              }
              f.sites.push_back(place(r.a.site.site, "read"));
              if (r.space == AccessSpace::global && r.shadow->allocated)
                f.sites.push_back(host_site(*r.shadow->allocated, "allocated"));
            });
    }
  }
  if (r.a.site.kind != AccessKind::read)
    ranges([&](uint64_t at, uint64_t count) { set_written(*written, at, count); });
}

}  // namespace tw::observe
