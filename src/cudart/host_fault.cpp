#include "cudart/host_fault.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>

#include "cudart/host_observer.h"
#include "cudart/runtime.h"

namespace tw::cudart {
namespace {

// The program's own handlers of a signal, in the order in which they were put in place.
struct Handlers {
  static constexpr uint32_t kMost = 8;
  struct sigaction own[kMost];
  std::atomic<uint32_t> count = 0;

  void add(const struct sigaction& a) {
    const uint32_t n = count.load(std::memory_order_relaxed);
    // One that is installed again and again is one.
    if (n > 0 && own[n - 1].sa_flags == a.sa_flags && own[n - 1].sa_sigaction == a.sa_sigaction)
      return;
    own[n < kMost ? n : kMost - 1] = a;
    if (n < kMost) count.store(n + 1, std::memory_order_release);
  }
};
Handlers segv_handlers, trap_handlers;
std::mutex handlers_mutex;
#if defined(__x86_64__)
constexpr greg_t kTrapFlag = 1 << 8;
#endif

// A handler that was put over ours may call ours in turn, with the same context: then the one before
// it is meant. The context's link, which signals do not use, says how often that has happened.
ucontext_t nested[Handlers::kMost];
uint32_t depth_of(const void* machine_context) {
  const ucontext_t* link = static_cast<const ucontext_t*>(machine_context)->uc_link;
  for (uint32_t d = 0; d < Handlers::kMost; ++d)
    if (link == &nested[d]) return d + 1;
  return 0;
}

// Calls the program's own handler, if it has one; true where it ignores the signal, too.
bool passed_on(const Handlers& handlers, int number, siginfo_t* info, void* machine_context) {
  const uint32_t depth = depth_of(machine_context);
  const uint32_t count = handlers.count.load(std::memory_order_acquire);
  if (depth >= count) return false;
  struct Link {
    ucontext_t*& link;
    ucontext_t* const before = link;
    ~Link() { link = before; }
  } marked{static_cast<ucontext_t*>(machine_context)->uc_link};
  marked.link = &nested[depth];
  const struct sigaction& own = handlers.own[count - 1 - depth];
  if (own.sa_flags & SA_SIGINFO) {
    if (own.sa_sigaction == nullptr) return false;
    own.sa_sigaction(number, info, machine_context);
    return true;
  }
  if (own.sa_handler == SIG_DFL) return false;
  if (own.sa_handler == SIG_IGN) return number != SIGSEGV;  // the access would be repeated for ever
  own.sa_handler(number);
  return true;
}

// Whether an access of host code goes on: to managed memory that is protected while kernels use it.
// It is repeated as a single step, after which the pages are protected again.
bool goes_on([[maybe_unused]] const void* address, [[maybe_unused]] void* machine_context) {
#if defined(__x86_64__)
  HostObserver* observer = host_observer();
  if (observer == nullptr) return false;
  auto& registers = static_cast<ucontext_t*>(machine_context)->uc_mcontext.gregs;
  if (!observer->managed_access(reinterpret_cast<uint64_t>(address), (registers[REG_ERR] & 2) != 0,
                                uint64_t(registers[REG_RIP])))
    return false;
  registers[REG_EFL] |= kTrapFlag;
  return true;
#else
  return false;
#endif
}

void on_trap(int number, siginfo_t* info, void* machine_context) {
#if defined(__x86_64__)
  auto& registers = static_cast<ucontext_t*>(machine_context)->uc_mcontext.gregs;
  // In a virtual machine an interrupt at the same time can lose the bit that tells the kernel of a
  // single step: then it says TRAP_BRKPT, once in some 300,000 steps on a busy core. (int3 is
  // SI_KERNEL.)
  const bool step = info->si_code == TRAP_TRACE || info->si_code == TRAP_BRKPT;
  if (step && (registers[REG_EFL] & kTrapFlag) != 0) {
    registers[REG_EFL] &= ~kTrapFlag;
    host_observer()->managed_access_over();
    return;
  }
#endif
  if (!passed_on(trap_handlers, number, info, machine_context)) {
    signal(SIGTRAP, SIG_DFL);
    raise(SIGTRAP);
  }
}

void on_segv(int number, siginfo_t* info, void* machine_context) {
  // The process is about to end, and the fault came from the program's code, not from within a call
  // of ours: looking at the tables and formatting into a buffer is safe enough here.
  if (info->si_code > 0 && in_device_window(info->si_addr) && depth_of(machine_context) == 0) {
    if (goes_on(info->si_addr, machine_context)) return;
    char text[400];
    const auto located = locate(info->si_addr);
    if (located) {
      snprintf(text, sizeof text,
               "tilewright: error: host code dereferenced the device pointer %p (%llu bytes into a "
               "device allocation of %llu bytes%s%s)\n"
               "  copy the data with cudaMemcpy, or allocate it with cudaMallocManaged or "
               "cudaMallocHost\n",
               info->si_addr,
               (unsigned long long)(reinterpret_cast<uint64_t>(info->si_addr) -
                                    located->allocation.address),
               (unsigned long long)located->allocation.bytes,
               located->allocation.label.empty() ? "" : ", variable ",
               located->allocation.label.c_str());
    } else {
      snprintf(text, sizeof text,
               "tilewright: error: host code dereferenced the device address %p, where no "
               "allocation is (freed, or out of bounds)\n",
               info->si_addr);
    }
    if (HostObserver* observer = host_observer()) {
      bool writes = false;
      uint64_t instruction = 0;
#if defined(__x86_64__)
      const auto& registers = static_cast<ucontext_t*>(machine_context)->uc_mcontext.gregs;
      writes = (registers[REG_ERR] & 2) != 0;
      instruction = uint64_t(registers[REG_RIP]);
#endif
      observer->host_fault(reinterpret_cast<uint64_t>(info->si_addr), writes, instruction);
    } else {
      const ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
      (void)ignored;
    }
  }
  if (passed_on(segv_handlers, number, info, machine_context)) return;
  signal(SIGSEGV, SIG_DFL);  // the access is repeated on return, and ends the process
}

}  // namespace

namespace {

// Puts `ours` in front of whatever handles the signal now.
void put_first(int number, void (*ours)(int, siginfo_t*, void*), Handlers& handlers) {
  std::lock_guard lock(handlers_mutex);
  struct sigaction now = {};
  sigaction(number, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == ours) return;
  handlers.add(now);
  struct sigaction action = {};
  action.sa_sigaction = ours;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

void install_host_fault_handler() {
  put_first(SIGSEGV, on_segv, segv_handlers);
  if (host_observer() != nullptr) put_first(SIGTRAP, on_trap, trap_handlers);
}

}  // namespace tw::cudart
