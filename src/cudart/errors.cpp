#include "cudart/errors.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "cudart/host_observer.h"

namespace tw::cudart {
namespace {

struct ErrorRow {
  int code;
  const char* name;
  const char* text;
};
constexpr ErrorRow kErrors[] = {
#include "cudart/errors.inc"
};

const ErrorRow* find(cudaError_t error) {
  const auto* row = std::lower_bound(std::begin(kErrors), std::end(kErrors), int(error),
                                     [](const ErrorRow& a, int code) { return a.code < code; });
  return row != std::end(kErrors) && row->code == int(error) ? row : nullptr;
}

}  // namespace

const char* error_name(cudaError_t error) {
  const ErrorRow* row = find(error);
  return row ? row->name : "unrecognized error code";
}

const char* error_text(cudaError_t error) {
  const ErrorRow* row = find(error);
  return row ? row->text : "unrecognized error code";
}

cudaError_t error_of_fault(emu::FaultKind kind) {
  switch (kind) {
    case emu::FaultKind::none: return cudaSuccess;
    case emu::FaultKind::illegal_address: return cudaErrorIllegalAddress;
    case emu::FaultKind::misaligned_address: return cudaErrorMisalignedAddress;
    case emu::FaultKind::invalid_address_space: return cudaErrorInvalidAddressSpace;
    case emu::FaultKind::invalid_pc: return cudaErrorInvalidPc;
    case emu::FaultKind::illegal_instruction: return cudaErrorIllegalInstruction;
    case emu::FaultKind::assert_failed: return cudaErrorAssert;
    case emu::FaultKind::trap: return cudaErrorLaunchFailure;
    case emu::FaultKind::deadlock: return cudaErrorLaunchFailure;
    case emu::FaultKind::timeout: return cudaErrorLaunchTimeout;
    case emu::FaultKind::unsupported: return cudaErrorNotSupported;
    case emu::FaultKind::out_of_memory: return cudaErrorMemoryAllocation;
  }
  return cudaErrorUnknown;
}

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

namespace {
struct Reason {  // nothing to destroy: calls come also when the program ends
  cudaError_t error;
  char text[200];
};
thread_local Reason reason{};
}  // namespace

cudaError_t because(cudaError_t error, const std::string& text) {
  reason.error = error;
  reason.text[text.copy(reason.text, sizeof reason.text - 1)] = 0;
  return error;
}
void forget_reason() { reason.error = cudaSuccess; }

cudaError_t note(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) [[unlikely]] {
    last_error() = error;
    // What a faulted kernel leaves behind comes back from every later call: it is told once, with
    // the kernel.
    const bool left_by_kernel =
        error == cudaErrorIllegalAddress || error == cudaErrorLaunchTimeout ||
        error == cudaErrorAssert ||
        (error >= cudaErrorHardwareStackError && error <= cudaErrorLaunchFailure);
    if (HostObserver* observer = host_observer(); observer != nullptr && !left_by_kernel) {
      std::string text = error_text(error);
      if (reason.error == error) text += std::string(": ") + reason.text;
      observer->call_failed(int(error), error_name(error), text.c_str());
    }
    forget_reason();
  }
  return error;
}

namespace {
std::atomic<HostObserver*> the_host_observer{nullptr};
}

HostObserver* host_observer() { return the_host_observer.load(std::memory_order_acquire); }
void set_host_observer(HostObserver* observer) {
  the_host_observer.store(observer, std::memory_order_release);
}

}  // namespace tw::cudart
