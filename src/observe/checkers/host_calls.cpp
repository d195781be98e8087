// memcheck's host side: CUDA calls whose errors nobody asks for, frees of what cannot be freed,
// leaks, host code that touches device memory, kernels that end with a fault.
//
// Whether a program looks at a returned error cannot be seen. What can: that it asks for its last
// error or for the text of the code, and that it ends with a status other than 0. An error of
// which neither happens is taken as ignored: an error for a launch, whose result <<<>>> throws
// away, a warning for other calls. It is a finding at once, so that nothing is lost if the program
// dies of it, and is taken back when the program asks.
#include <fmt/format.h>

#include <algorithm>

#include "emu/memory.h"
#include "observe/checkers/session.h"

namespace tw::observe {

using report::Finding;
using report::Severity;

namespace {

thread_local bool told = false;  // the failing call has a finding of its own already

std::string bytes_at(const emu::Allocation& a) {
  return fmt::format("the allocation of {} bytes at {:#x}", a.bytes, a.address);
}

}  // namespace

void CheckSession::add_allocated(Finding& f, uint64_t address) const {
  if (auto it = shadows_.find(address); it != shadows_.end() && it->second->allocated)
    f.sites.push_back(host_site(*it->second->allocated, "allocated"));
}

const CheckSession::Freed* CheckSession::freed_at(uint64_t address) const {
  auto it = freed_.upper_bound(address);
  if (it == freed_.begin()) return nullptr;
  const Freed& old = std::prev(it)->second;
  return address - old.allocation.address < old.allocation.bytes ? &old : nullptr;
}

void CheckSession::recount(uint64_t finding, int64_t by) {
  Finding& f = findings_[finding];
  f.count = uint64_t(int64_t(f.count) + by);
  if (options_.on_count) options_.on_count(f);
}

void CheckSession::call_failed(int code, const char* name, const char* text) {
  if (std::exchange(told, false) || !(options_.tools & kMemcheck)) return;
  const HostStackPtr stack = host_stack();
  std::lock_guard lock(mutex_);
  auto [it, fresh] = failed_calls_.try_emplace({name, stack->calls}, findings_.size());
  if (!fresh) {
    if (it->second >= findings_.size()) return;
    recount(it->second, 1);
  } else {
    Finding f;
    f.kind = "api-error";
    f.sites.push_back(host_site(*stack, "call"));
    std::string function = f.sites.back().instruction;
    if (!function.starts_with("cuda")) function = "a CUDA call";
    if (function == "cudaGetKernel") {  // of a launch's stub: the launch fails, too
      it->second = ~uint64_t{0};
      return;
    }
    const bool launch = function.starts_with("cudaLaunch");
    f.severity = launch ? Severity::error : Severity::warning;
    f.message = launch
                    ? fmt::format(
                          "this launch failed, the kernel did not run, and nobody asked "
                          "why: {} ({})",
                          name, text)
                    : fmt::format("{} failed, and nobody asked why: {} ({})", function, name, text);
    f.advice = launch ? "ask for cudaGetLastError() after every launch"
                      : "compare the result with cudaSuccess, and stop or say so";
    if (f.sites.back().stack.empty()) f.sites.clear();
    const size_t before = findings_.size();
    add(std::move(f));
    if (findings_.size() == before) it->second = ~uint64_t{0};  // beyond the limit, or known
  }
  if (it->second < findings_.size())
    unasked_.push_back({it->second, code, std::this_thread::get_id()});
}

void CheckSession::launch_refused() {
  told = true;
  std::lock_guard lock(mutex_);
  ++summary_.refused_launches;
  tell_progress();
}

void CheckSession::error_asked(int code) {
  std::lock_guard lock(mutex_);
  const std::thread::id me = std::this_thread::get_id();
  std::erase_if(unasked_, [&](const Unasked& u) {
    if (code == 0 ? u.thread != me : u.code != code) return false;
    recount(u.finding, -1);
    return true;
  });
}

void CheckSession::invalid_free(uint64_t address, bool host) {
  if (!(options_.tools & kMemcheck)) return;
  told = true;
  const HostStackPtr stack = host_stack();
  std::lock_guard lock(mutex_);
  Finding f;
  f.kind = "invalid-free";
  f.sites.push_back(host_site(*stack, "free"));
  const std::string call = f.sites.back().instruction;
  auto live = shadows_.upper_bound(address);
  const Shadow* inside = nullptr;
  if (live != shadows_.begin() &&
      address - std::prev(live)->first < std::prev(live)->second->allocation.bytes)
    inside = std::prev(live)->second.get();
  const Freed* old = freed_at(address);
  if (inside != nullptr && inside->allocation.address != address) {
    f.message = fmt::format("{} of an address {} bytes into an allocation", call,
                            address - inside->allocation.address);
    f.advice = "free the address that the allocation returned";
    f.allocation = bytes_at(inside->allocation);
  } else if (inside != nullptr) {
    f.message =
        fmt::format("{} of memory that was not allocated by {}", call,
                    host ? "cudaMallocHost or cudaHostAlloc" : "cudaMalloc or cudaMallocManaged");
    f.advice = host ? "free device memory with cudaFree" : "free host memory with cudaFreeHost";
    f.allocation = bytes_at(inside->allocation);
  } else if (old != nullptr) {
    f.message = fmt::format("{} of memory that has been freed already", call);
    f.advice = "free memory once: set the pointer to nullptr after it";
    f.allocation = bytes_at(old->allocation);
    if (old->freed) f.sites.push_back(host_site(*old->freed, "freed"));
  } else {
    f.message = fmt::format("{} of an address that is no allocation", call);
    f.advice = "free what a CUDA call has allocated, with the call that belongs to it";
    f.allocation = fmt::format("the address is {:#x}", address);
  }
  if (inside != nullptr && inside->allocated)
    f.sites.push_back(host_site(*inside->allocated, "allocated"));
  if (inside == nullptr && old != nullptr && old->allocated)
    f.sites.push_back(host_site(*old->allocated, "allocated"));
  add(std::move(f));
}

void CheckSession::host_fault(uint64_t address, bool write, uint64_t instruction) {
  if (!(options_.tools & kMemcheck)) return;
  const HostStackPtr stack = host_stack(instruction);
  std::lock_guard lock(mutex_);
  Finding f;
  f.kind = "host-access";
  f.sites.push_back(host_site(*stack, write ? "write" : "read"));
  auto live = shadows_.upper_bound(address);
  const Freed* old = freed_at(address);
  if (live != shadows_.begin() &&
      address - std::prev(live)->first < std::prev(live)->second->allocation.bytes) {
    const Shadow& s = *std::prev(live)->second;
    f.message = fmt::format("host code {} device memory", write ? "writes" : "reads");
    f.allocation =
        fmt::format("{} bytes into {}", address - s.allocation.address, bytes_at(s.allocation));
    if (s.allocated) f.sites.push_back(host_site(*s.allocated, "allocated"));
  } else if (old != nullptr) {
    f.message = fmt::format("host code {} memory that has been freed", write ? "writes" : "reads");
    f.allocation = fmt::format("{} bytes into {}", address - old->allocation.address,
                               bytes_at(old->allocation));
    if (old->freed) f.sites.push_back(host_site(*old->freed, "freed"));
    if (old->allocated) f.sites.push_back(host_site(*old->allocated, "allocated"));
  } else {
    f.message = fmt::format("host code {} the device address {:#x}, where no allocation is",
                            write ? "writes" : "reads", address);
  }
  f.advice =
      "copy the data with cudaMemcpy, or allocate it with cudaMallocManaged or cudaMallocHost";
  add(std::move(f));
}

void CheckSession::invalid_free(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lane,
                                uint64_t address) {
  if (!(options_.tools & kMemcheck)) return;
  const std::optional<emu::Allocation> a = cta.state.memory->find(address);
  count("invalid-free", Severity::error, site, 0, 1, [&](Finding& f) {
    f.message =
        !a ? "free() of memory that has been freed already, or was never allocated"
        : a->label == emu::kHeapLabel
            ? fmt::format("free() of an address {} bytes into an allocation", address - a->address)
            : "free() in device code of memory that the host allocated";
    if (a) f.allocation = bytes_at(*a);
    f.advice = "free once what malloc() or new of device code returned; the host frees its own";
    f.where = fmt::format("{}, address {:#x}", thread_text(cta, warp.index * emu::kLanes + lane),
                          address);
    f.sites.push_back(place(site, "freed"));
  });
}

// What ends a kernel without a finding of its own.
void CheckSession::kernel_fault(const emu::Fault& fault) {
  const bool of_cluster = fault.message.starts_with("barrier.cluster misuse");
  const bool misuse = fault.kind == emu::FaultKind::trap &&
                      (of_cluster || fault.message.starts_with("mbarrier misuse"));
  // memcheck keeps lanes at fault from their accesses: what faults all the same is a bulk copy, a
  // tensor map or an mbarrier.
  const bool misaligned = fault.kind == emu::FaultKind::misaligned_address;
  const bool other =
      misaligned || fault.kind == emu::FaultKind::illegal_address ||
      fault.kind == emu::FaultKind::invalid_address_space || fault.kind == emu::FaultKind::trap ||
      fault.kind == emu::FaultKind::assert_failed ||
      fault.kind == emu::FaultKind::illegal_instruction || fault.kind == emu::FaultKind::invalid_pc;
  if (misuse ? !(options_.tools & kSynccheck) : !(other && (options_.tools & kMemcheck))) return;
  count(misuse       ? "invalid-sync"
        : misaligned ? "misaligned"
                     : "kernel-fault",
        Severity::error, 0, 2, 1, [&](Finding& f) {
          f.message = fault.message;
          f.advice =
              of_cluster ? "every thread arrives once, then waits, before it arrives again"
              : misuse ? "initialise the mbarrier with the number of arrivals of a phase, and let "
                         "exactly so many come, with the bytes that were announced"
              : fault.file.find("cooperative_groups") != std::string::npos &&
                      !now_->launch.cooperative
                  ? "groups of the whole grid want a cooperative launch: "
                    "cudaLaunchCooperativeKernel"
                  : "the kernel ends here, and every later CUDA call fails: look at what it "
                    "complains of";
          const emu::Dim3& g = now_->launch.grid;
          const auto& b = now_->program->block_shape;
          f.where = thread_text(
              *now_,
              fault.block[0] + uint64_t(g.x) * (fault.block[1] + uint64_t(g.y) * fault.block[2]),
              fault.thread[0] + b[0] * (fault.thread[1] + b[1] * fault.thread[2]));
          f.sites.push_back({fault.file, fault.line, fault.instruction, "fault"});
        });
}

void CheckSession::finish(int status) {
  std::lock_guard lock(mutex_);
  // A program that ends with an error has noticed that something failed.
  if (status != 0) {
    for (const Unasked& u : unasked_) recount(u.finding, -1);
    unasked_.clear();
  }
  if (!options_.leaks || !(options_.tools & kMemcheck)) return;
  // Allocations of one place are one leak.
  struct Leak {
    uint64_t number = 0, bytes = 0;
    const Shadow* first = nullptr;
  };
  std::map<std::pair<std::string, std::vector<uint64_t>>, Leak> leaks;
  for (const auto& [address, s] : shadows_) {
    const bool by_device = s->allocation.label == emu::kHeapLabel;
    if (!by_the_host(s->allocation) && !by_device) continue;
    Leak& l = leaks[{by_device ? "device " + s->kernel : "",
                     s->allocated ? s->allocated->calls : std::vector<uint64_t>{}}];
    ++l.number;
    l.bytes += s->allocation.bytes;
    if (l.first == nullptr || s->allocation.id < l.first->allocation.id) l.first = s.get();
  }
  std::vector<Leak> order;
  for (const auto& [stack, l] : leaks) order.push_back(l);
  std::sort(order.begin(), order.end(), [](const Leak& a, const Leak& b) {
    return a.first->allocation.id < b.first->allocation.id;
  });
  for (const Leak& l : order) {
    Finding f;
    f.kind = "leak";
    f.severity = Severity::warning;
    f.message = l.number == 1
                    ? fmt::format("{} bytes were never freed", l.bytes)
                    : fmt::format("{} bytes in {} allocations were never freed", l.bytes, l.number);
    f.allocation = (l.number == 1 ? "" : "the first: ") + bytes_at(l.first->allocation);
    const bool host = l.first->allocation.kind == emu::AllocationKind::host;
    const bool by_device = l.first->allocation.label == emu::kHeapLabel;
    if (by_device) {
      f.kernel = l.first->kernel;
      f.message += ", of device-side malloc or new";
    }
    f.advice = by_device ? "free it with free or delete, in device code"
               : host    ? "free it with cudaFreeHost"
                         : "free it with cudaFree";
    f.count = l.number;
    if (l.first->allocated) {
      f.sites.push_back(host_site(*l.first->allocated, by_device ? "launched" : "allocated"));
      if (f.sites.back().stack.empty()) f.sites.clear();
    }
    add(std::move(f));
  }
}

}  // namespace tw::observe
