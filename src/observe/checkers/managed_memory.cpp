// racecheck between kernels and the host, on managed memory: the host must not touch what a kernel
// writes before it has waited for it.
//
// From the launch on, until the host has waited, the host's pages of managed memory whose address the
// kernel gets as a parameter are protected (the engine has another mapping of them, emu/memory.cpp).
// An access of the host then ends in the signal handler, which notes its exact address, lets this one
// instruction through and protects the page again. When the kernel is over, the notes of racecheck
// say which bytes it has written and read.
//
// A kernel that makes strong accesses to managed memory may talk to the host by them: nothing is
// said about such. Pointers that lie in memory, and __managed__ variables, are not seen; nor what
// system calls do to the memory (they fail on protected pages).
//
// Tested by tests/checkers (managed.cu).
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "observe/checkers/session.h"

namespace tw::observe {

using emu::AccessKind;
using report::Finding;

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint32_t kMostFaults = 1 << 14;  // of an allocation; then its pages are given back

// Pages that the instruction of this thread which goes on has been let into.
thread_local uint64_t opened[4];
thread_local uint32_t opened_count = 0;

void protect(uint64_t address, uint64_t bytes, int protection) {
  mprotect(reinterpret_cast<void*>(address), (bytes + kPage - 1) / kPage * kPage, protection);
}

}  // namespace

CheckSession::Shadow* CheckSession::shadow_of(uint64_t allocation) {
  const auto it = shadows_.find(allocation);
  return it == shadows_.end() ? nullptr : it->second.get();
}

void CheckSession::keep_managed_from_host(const emu::Launch& launch, StreamOperation& operation) {
  for (size_t at = 0; at + 8 <= launch.parameters.size(); at += 8) {
    uint64_t value = 0;
    std::memcpy(&value, &launch.parameters[at], 8);
    auto it = shadows_.upper_bound(value);
    if (it == shadows_.begin()) continue;
    Shadow& s = *std::prev(it)->second;
    const emu::Allocation& a = s.allocation;
    if (value - a.address >= a.bytes || a.kind != emu::AllocationKind::managed ||
        reinterpret_cast<uint64_t>(a.host) == a.address || s.shared || a.bytes > kMaxAllocation)
      continue;
    if (std::count(operation.managed.begin(), operation.managed.end(), a.address) == 0)
      operation.managed.push_back(a.address);
    if (s.kept_from_host) continue;
    s.kept_from_host = true;
    s.host_faults = 0;
    protect(a.address, a.bytes, PROT_NONE);
  }
}

void CheckSession::give_back(Shadow& s) {
  if (!s.kept_from_host) return;
  s.kept_from_host = false;
  protect(s.allocation.address, s.allocation.bytes, PROT_READ | PROT_WRITE);
}

void CheckSession::give_managed_back() {
  auto in_use = [&](uint64_t allocation) {
    auto gets = [&](const auto& o) {
      return std::count(o->managed.begin(), o->managed.end(), allocation) != 0 &&
             !stream_order_.over(o->stamp);
    };
    return std::any_of(done_.begin(), done_.end(), gets) ||
           std::any_of(submitted_.begin(), submitted_.end(),
                       [&](const auto& s) { return gets(s.second); });
  };
  for (const auto& [address, s] : shadows_)
    if (s->kept_from_host && !in_use(address)) give_back(*s);
}

bool CheckSession::managed_access(uint64_t address, bool write, uint64_t instruction) {
  const HostStackPtr stack = host_stack(instruction);
  std::lock_guard lock(mutex_);
  auto it = shadows_.upper_bound(address);
  if (it == shadows_.begin()) return false;
  Shadow& s = *std::prev(it)->second;
  const emu::Allocation& a = s.allocation;
  if (address - a.address >= (a.bytes + kPage - 1) / kPage * kPage || !s.kept_from_host)
    return false;
  if (++s.host_faults > kMostFaults || opened_count == std::size(opened)) {
    give_back(s);
    return true;
  }
  const uint64_t page = address / kPage * kPage;
  protect(page, kPage, PROT_READ | PROT_WRITE);
  opened[opened_count++] = page;
  if (address - a.address >= a.bytes) return true;
  HostAccess host{a.address, address - a.address, write, stack, {}};
  // A host function in a stream comes after what its operation comes after.
  const std::shared_ptr<StreamOperation> me = this_work();
  auto gets = [&](const StreamOperation& o) {
    return std::count(o.managed.begin(), o.managed.end(), a.address) != 0 &&
           !stream_order_.over(o.stamp) &&
           !(me && shadow::StreamOrder::ordered(o.stamp, me->stamp));
  };
  for (const auto& o : done_)
    if (gets(*o)) report_host(host, *o);
  for (const auto& [number, o] : submitted_)
    if (gets(*o)) host.operations.push_back(number);
  if (!host.operations.empty()) host_accesses_.push_back(std::move(host));
  return true;
}

void CheckSession::managed_access_over() {
  std::lock_guard lock(mutex_);
  for (; opened_count != 0; --opened_count) {
    const uint64_t page = opened[opened_count - 1];
    auto it = shadows_.upper_bound(page);
    if (it == shadows_.begin()) continue;
    const Shadow& s = *std::prev(it)->second;
    if (s.kept_from_host && page - s.allocation.address < s.allocation.bytes)
      protect(page, kPage, PROT_NONE);
  }
}

// What a kernel has done to the managed memory that it got, from the detector's notes.
void CheckSession::note_managed(LaunchState& state) {
  StreamOperation& operation = *state.operation;
  for (uint64_t address : operation.managed) {
    Shadow* s = shadow_of(address);
    if (s == nullptr || s->lines.bytes() == 0) continue;
    std::map<std::pair<uint32_t, AccessKind>, Touched> by_site;
    races_.each_noted(s->lines, [&](uint64_t offset, uint32_t bytes, const shadow::Record& r) {
      if (numbers_[r.cta].launch.get() != &state) return;
      const AccessKind kind = r.type == shadow::AccessType::read    ? AccessKind::read
                              : r.type == shadow::AccessType::write ? AccessKind::write
                                                                    : AccessKind::atomic;
      const bool known = by_site.contains({r.site, kind});
      if (!known && operation.bytes > kMaxBytes) return;
      Touched& t = by_site[{r.site, kind}];
      if (!known) {
        t = {address, r.site, kind, false, offset, offset, {}};
        t.bits.resize(s->allocation.bytes / 64 + 2);
        operation.bytes += t.bits.size() * 8;
      }
      t.strong = t.strong || r.strong;
      t.low = std::min(t.low, offset), t.high = std::max(t.high, offset + bytes);
      for (uint64_t b = offset; b < offset + bytes; ++b) t.bits[b / 64] |= 1ull << b % 64;
    });
    for (auto& [site, t] : by_site) operation.touched.push_back(std::move(t));
  }
}

void CheckSession::report_host(const HostAccess& host, const StreamOperation& operation) {
  for (const Touched& t : operation.touched)
    if (t.strong) return;
  const Touched there{host.allocation, 0, AccessKind::read, false, host.offset,
                      host.offset + 1, {}};
  for (const Touched& t : operation.touched) {
    uint64_t offset = 0;
    const bool kernel_writes = t.kind != AccessKind::read;
    if (t.allocation != host.allocation || !(kernel_writes || host.write) ||
        !t.overlaps(there, offset))
      continue;
    Finding f;
    f.kind = "race-global";
    f.kernel = operation.launch->program->function->name;
    f.message = fmt::format(
        "the host {} managed memory that a kernel {}, and has not waited for the kernel",
        host.write ? "writes" : "reads", kernel_writes ? "writes" : "reads");
    f.advice =
        "call cudaDeviceSynchronize(), or wait for the kernel's stream, before the host touches "
        "the "
        "memory";
    f.sites.push_back(place(*operation.launch->program, t.site, kernel_writes ? "write" : "read"));
    f.sites.push_back(host_site(*host.where, host.write ? "write" : "read"));
    if (operation.where) f.sites.push_back(host_site(*operation.where, "launched"));
    if (const Shadow* s = shadow_of(host.allocation)) {
      f.allocation = fmt::format("offset {:#x} of the allocation of {} bytes at {:#x}", host.offset,
                                 s->allocation.bytes, s->allocation.address);
      if (s->allocated) f.sites.push_back(host_site(*s->allocated, "allocated"));
    }
    add(std::move(f));
    return;
  }
}

}  // namespace tw::observe
