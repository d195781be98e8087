// memcheck: bounds, alignment, freed memory.
#include <fmt/format.h>

#include "emu/memory.h"
#include "observe/checkers/session.h"

namespace tw::observe {

using emu::AccessKind;
using emu::AccessSpace;
using report::Finding;
using report::Severity;

namespace {

std::string name_of(const emu::Allocation& a) {
  if (!a.label.empty()) return fmt::format("'{}' ({} bytes at {:#x})", a.label, a.bytes, a.address);
  return fmt::format("the allocation of {} bytes at {:#x}", a.bytes, a.address);
}

const char* verb(AccessKind k) {
  return k == AccessKind::read ? "read" : k == AccessKind::write ? "write" : "atomic access";
}

}  // namespace

uint32_t CheckSession::memcheck_narrow(Resolved& r) {
  const uint32_t bytes = r.a.site.bytes;
  const uint64_t limit =
      r.space == AccessSpace::shared ? r.a.cta.shared_bytes : r.a.cta.local_bytes;
  uint64_t bad = 0;
  for (uint32_t l = 0; l < emu::kLanes; ++l)
    bad |= (r.address[l] & (bytes - 1)) | (limit - bytes - r.address[l]) >> 63;
  if (bad == 0 && bytes <= limit) return r.lanes;
  uint32_t good = 0;
  for (uint32_t left = r.lanes; left != 0; left &= left - 1) {
    const uint32_t l = uint32_t(__builtin_ctz(left));
    if (r.address[l] + bytes <= limit && (r.address[l] & (bytes - 1)) == 0)
      good |= 1u << l;
    else
      memcheck_lane(r.a, r.space, l, r.address[l]);
  }
  return good;
}

void CheckSession::memcheck_lane(const emu::Access& a, AccessSpace space, uint32_t lane,
                                 uint64_t address) {
  if (!(options_.tools & kMemcheck)) return;
  const uint32_t bytes = a.site.bytes, site = a.site.site;
  const uint32_t thread = a.warp.index * emu::kLanes + lane;
  auto fill = [&](Finding& f) {
    f.where = fmt::format("{}, address {:#x}", thread_text(a.cta, thread), address);
    f.sites.push_back(place(site, verb(a.site.kind)));
  };
  if ((address & (bytes - 1)) != 0) {
    count("misaligned", Severity::error, site, 0, 1, [&](Finding& f) {
      f.message =
          fmt::format("misaligned {} of {} bytes at {:#x}", verb(a.site.kind), bytes, address);
      f.advice =
          fmt::format("make the address a multiple of {}, or access smaller elements", bytes);
      fill(f);
    });
    return;
  }
  if (space == AccessSpace::shared || space == AccessSpace::local) {
    const bool shared = space == AccessSpace::shared;
    count(shared ? "oob-shared" : "oob-local", Severity::error, site, 0, 1, [&](Finding& f) {
      const uint64_t limit = shared ? a.cta.shared_bytes : a.cta.local_bytes;
      const int64_t past = int64_t(int32_t(uint32_t(address))) < 0
                               ? int64_t(int32_t(uint32_t(address)))
                               : int64_t(address - limit);
      f.message =
          past < 0
              ? fmt::format("{} of {} bytes {} bytes before the start of {} memory",
                            verb(a.site.kind), bytes, -past, shared ? "shared" : "local")
              : fmt::format("{} of {} bytes at offset {}, {} bytes past the end of {} memory",
                            verb(a.site.kind), bytes, address, past, shared ? "shared" : "local");
      if (shared) {
        const uint64_t dynamic = now_->launch.dynamic_shared_bytes;
        f.allocation = fmt::format("the block has {} bytes of shared memory: {} static, {} dynamic",
                                   limit, limit - dynamic, dynamic);
        f.advice = dynamic != 0 ? "correct the index, or give the launch as much dynamic shared "
                                  "memory as the kernel uses"
                                : "correct the index, or make the array larger";
      } else {
        f.allocation = fmt::format("the thread has {} bytes of local memory", limit);
        f.advice = "correct the index, or make the array larger";
      }
      fill(f);
    });
    return;
  }
  // Freed memory?
  std::lock_guard lock(mutex_);
  auto it = freed_.upper_bound(address);
  if (it != freed_.begin()) {
    const emu::Allocation& old = std::prev(it)->second;
    if (address - old.address < old.bytes && !a.cta.state.memory->find(address)) {
      count("use-after-free", Severity::error, site, 0, 1, [&](Finding& f) {
        f.message =
            fmt::format("{} of {} bytes in memory that has been freed", verb(a.site.kind), bytes);
        f.allocation = fmt::format("{} bytes into {}", address - old.address, name_of(old));
        f.advice = "free the memory after the last kernel that uses it";
        fill(f);
      });
      return;
    }
  }
  count("oob-global", Severity::error, site, 0, 1, [&](Finding& f) {
    std::optional<emu::Allocation> near = a.cta.state.memory->nearest(address);
    const char* where = "outside of every allocation";
    std::string text;
    if (near) {
      if (address < near->address)
        text = fmt::format("{} bytes before {}", near->address - address, name_of(*near));
      else if (address >= near->address + near->bytes)
        text = fmt::format("{} bytes past the end of {}", address - (near->address + near->bytes),
                           name_of(*near));
      else
        text = fmt::format("its last {} bytes reach past the end of {}",
                           address + bytes - (near->address + near->bytes), name_of(*near));
    }
    f.message =
        fmt::format("{} of {} bytes {}", verb(a.site.kind), bytes, text.empty() ? where : text);
    f.allocation = text.empty() ? "there is no allocation" : name_of(*near);
    f.advice = "guard the access with the bounds of this array, or correct the index";
    fill(f);
  });
}

}  // namespace tw::observe
