// memcheck: bounds, alignment, freed memory.
#include <fmt/format.h>
#include <sys/mman.h>

#include "emu/memory.h"
#include "emu/windows.h"
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

// Whether the process has a page there.
bool mapped(uint64_t address) {
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(address / 4096 * 4096), 1, &resident) == 0;
}

// Device memory may begin right behind memory of the program: an index just below an array is one.
bool beside_allocation(const emu::MemoryMap& memory, uint64_t address) {
  constexpr uint64_t kNear = 1 << 20;
  const std::optional<emu::Allocation> a = memory.nearest(address);
  return a && a->address - kNear <= address && address < a->address + a->bytes + kNear;
}

// Where something lies that begins so many bytes behind the end of something else.
std::string past_end(uint64_t bytes) {
  return bytes == 0 ? "just past the end" : fmt::format("{} bytes past the end", bytes);
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
  const SharedBounds* array =
      r.space == AccessSpace::shared && now_->arrays != nullptr && (options_.tools & kMemcheck)
          ? &(*now_->arrays)[r.a.site.site]
          : nullptr;
  if (bad == 0 && bytes <= limit && (array == nullptr || array->array.empty())) return r.lanes;
  uint32_t good = 0;
  if (array != nullptr && !array->array.empty()) {
    for (uint32_t left = r.lanes; left != 0; left &= left - 1) {
      const uint32_t l = uint32_t(__builtin_ctz(left));
      if (r.address[l] >= array->low && r.address[l] + bytes <= array->high) continue;
      if (r.address[l] + bytes > limit || (r.address[l] & (bytes - 1)) != 0) continue;  // below
      memcheck_array(r.a, *array, l, r.address[l]);
      r.lanes &= ~(1u << l);
    }
  }
  for (uint32_t left = r.lanes; left != 0; left &= left - 1) {
    const uint32_t l = uint32_t(__builtin_ctz(left));
    if (r.address[l] + bytes <= limit && (r.address[l] & (bytes - 1)) == 0)
      good |= 1u << l;
    else
      memcheck_lane(r.a, r.space, l, r.address[l] | r.high);
  }
  return good;
}

// An access that was written for one array of the block and falls into another.
void CheckSession::memcheck_array(const emu::Access& a, const SharedBounds& array, uint32_t lane,
                                  uint64_t address) {
  const uint32_t bytes = a.site.bytes, site = a.site.site;
  count("oob-shared", Severity::error, site, 1, 1, [&](Finding& f) {
    const std::string& name = array.array;
    const std::string where =
        address < array.low     ? fmt::format("{} bytes before '{}'", array.low - address, name)
        : address >= array.high ? fmt::format("{} of '{}'", past_end(address - array.high), name)
                                : fmt::format("across the end of '{}'", name);
    f.message = fmt::format("{} of {} bytes {}, in the shared memory of another variable",
                            verb(a.site.kind), bytes, where);
    f.allocation = fmt::format("'{}' has {} bytes at {:#x} of the block's shared memory", name,
                               array.high - array.low, array.low);
    f.advice = "correct the index, or make the array larger";
    f.where = fmt::format("{}, address {:#x}",
                          thread_text(a.cta, a.warp.index * emu::kLanes + lane), address);
    f.sites.push_back(place(site, verb(a.site.kind)));
  });
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
    if (shared && address > emu::kOwnMask && a.cta.cluster.size() > 1) {
      count("oob-shared", Severity::error, site, 2, 1, [&](Finding& f) {
        f.message = fmt::format("{} of {} bytes of the shared memory of another block: {}",
                                verb(a.site.kind), bytes, a.cta.cluster.why_not_shared(address));
        f.advice =
            "correct the index, or the rank: they begin at 0 and end below cluster.num_blocks()";
        fill(f);
      });
      return;
    }
    count(shared ? "oob-shared" : "oob-local", Severity::error, site, 0, 1, [&](Finding& f) {
      const uint64_t limit = shared ? a.cta.shared_bytes : a.cta.local_bytes;
      const int64_t past = int64_t(int32_t(uint32_t(address))) < 0
                               ? int64_t(int32_t(uint32_t(address)))
                               : int64_t(address - limit);
      f.message =
          address < limit
              ? fmt::format(
                    "{} of {} bytes at offset {}, the last {} of them past the end of {} memory",
                    verb(a.site.kind), bytes, address, address + bytes - limit,
                    shared ? "shared" : "local")
          : past < 0
              ? fmt::format("{} of {} bytes {} bytes before the start of {} memory",
                            verb(a.site.kind), bytes, -past, shared ? "shared" : "local")
              : fmt::format("{} of {} bytes at offset {}, {} of {} memory", verb(a.site.kind),
                            bytes, address, past_end(uint64_t(past)), shared ? "shared" : "local");
      if (shared) {
        const uint64_t dynamic = now_->launch.dynamic_shared_bytes;
        f.allocation = fmt::format("the block has {} bytes of shared memory: {} static, {} dynamic",
                                   limit, limit - dynamic, dynamic);
        f.advice = dynamic != 0 ? "correct the index, or give the launch as much dynamic shared "
                                  "memory as the kernel uses"
                                : "correct the index, or make the array larger";
      } else {
        const bool stack = now_->program->has_subroutines;
        f.allocation = fmt::format("the thread has {} bytes of local memory{}", limit,
                                   stack ? ", the stack of its recursive calls included" : "");
        f.advice = stack ? "end the recursion earlier, or give threads more stack: "
                           "cudaDeviceSetLimit(cudaLimitStackSize, ...)"
                         : "correct the index, or make the array larger";
      }
      fill(f);
    });
    return;
  }
  // Freed memory?
  std::lock_guard lock(mutex_);
  const Freed* old = freed_at(address);
  if (old != nullptr && !a.cta.state.memory->find(address)) {
    count("use-after-free", Severity::error, site, 0, 1, [&](Finding& f) {
      f.message =
          fmt::format("{} of {} bytes in memory that has been freed", verb(a.site.kind), bytes);
      f.allocation = fmt::format("{} bytes into {}", address - old->allocation.address,
                                 name_of(old->allocation));
      f.advice = "free the memory after the last kernel that uses it";
      fill(f);
      if (old->freed) f.sites.push_back(host_site(*old->freed, "freed"));
      if (old->allocated) f.sites.push_back(host_site(*old->allocated, "allocated"));
    });
    return;
  }
  // Of another device?
  const Shadow* foreign = find_shadow(address);
  const uint32_t here = a.cta.state.memory->device();
  if (foreign != nullptr && foreign->allocation.device != here) {
    const emu::Allocation& m = foreign->allocation;
    count("oob-global", Severity::error, site, 1, 1, [&](Finding& f) {
      f.message = fmt::format(
          "{} of {} bytes of the memory of device {} by a kernel on device {}, which has no access "
          "to it",
          verb(a.site.kind), bytes, m.device, here);
      f.allocation =
          fmt::format("{} bytes into {} of device {}", address - m.address, name_of(m), m.device);
      f.advice = fmt::format(
          "call cudaDeviceEnablePeerAccess({}, 0) after cudaSetDevice({}), or copy the data with "
          "cudaMemcpyPeer",
          m.device, here);
      fill(f);
      if (foreign->allocated) f.sites.push_back(host_site(*foreign->allocated, "allocated"));
    });
    return;
  }
  if (!a.cta.state.memory->in_window(address) && !a.cta.state.memory->find(address) &&
      mapped(address) && !beside_allocation(*a.cta.state.memory, address)) {
    count("host-access", Severity::error, site, 0, 1, [&](Finding& f) {
      f.message = fmt::format("{} of {} bytes of ordinary host memory by a kernel",
                              verb(a.site.kind), bytes);
      f.allocation = fmt::format(
          "{:#x} is memory of the program itself: its stack, heap or "
          "variables",
          address);
      f.advice =
          "give the kernel a pointer from cudaMalloc, cudaMallocManaged or cudaMallocHost, and "
          "copy the data";
      fill(f);
    });
    return;
  }
  constexpr uint64_t kNullPage = 1 << 16;  // also elements of an array that is not there
  if (address < kNullPage) {
    count("oob-global", Severity::error, site, 2, 1, [&](Finding& f) {
      f.message = fmt::format("{} of {} bytes through a null pointer", verb(a.site.kind), bytes);
      f.allocation = "there is no allocation";
      f.advice =
          "look for where the pointer is set: an allocation that failed, a copy that is missing, "
          "an "
          "argument that was forgotten";
      fill(f);
    });
    return;
  }
  count("oob-global", Severity::error, site, 0, 1, [&](Finding& f) {
    std::optional<emu::Allocation> near = a.cta.state.memory->nearest(address);
    const char* where = "outside of every allocation";
    std::string text;
    if (near) {
      if (address < near->address)
        text = fmt::format("{} bytes before {}", near->address - address, name_of(*near));
      else if (address >= near->address + near->bytes)
        text = fmt::format("{} of {}", past_end(address - (near->address + near->bytes)),
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
    if (near) add_allocated(f, near->address);
  });
}

}  // namespace tw::observe
