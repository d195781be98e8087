// What the checkers want to know of the host's side: calls that fail and who asks for the error,
// frees of what cannot be freed, faults of host code on device addresses. Null unless the program
// runs under `tilewright check`.
//
// An interface of its own so that the core does not depend on the checkers: abi/backend.cpp
// connects the two. Tested by tests/checkers (host_calls.cu, host_memory.cu).
#pragma once

#include <cstdint>

namespace tw::cudart {

class HostObserver {
 public:
  virtual ~HostObserver() = default;
  // A call of this thread fails.
  virtual void call_failed(int code, const char* name, const char* text) = 0;
  // The call of this thread that is about to fail is a launch that the engine cannot run.
  virtual void launch_refused() = 0;
  // The program asks for an error: 0, this thread's last one; otherwise what a code means.
  virtual void error_asked(int code) = 0;
  // cudaFree (host: cudaFreeHost) of an address that it cannot free.
  virtual void invalid_free(uint64_t address, bool host) = 0;
  // Host code touches a device address; in the signal handler.
  virtual void host_fault(uint64_t address, bool write, uint64_t instruction) = 0;

  // The same for managed memory that a kernel may still be using: true if the access can be repeated;
  // once it has been, managed_access_over.
  virtual bool managed_access(uint64_t address, bool write, uint64_t instruction) = 0;
  virtual void managed_access_over() = 0;

  // ---- streams: what orders their operations (shadow/streams.h) ----
  enum class StreamKind : uint8_t { legacy, blocking, other };
  // An operation is submitted by this thread; returns its number. Kernels are known by it from
  // their `start` on this thread, until `submitted_end`.
  virtual uint64_t submitted(uint64_t stream, StreamKind kind) = 0;
  virtual void submitted_end() = 0;
  // The operation (a copy, a fill) is carried out between the two, on the calling thread.
  // `host_waits`: the host goes on only after it.
  virtual void work_begin(uint64_t operation) = 0;
  virtual void work_end(uint64_t operation, bool host_waits) = 0;
  virtual void recorded(const void* event, uint64_t stream, StreamKind kind) = 0;
  virtual void stream_waits(uint64_t stream, StreamKind kind, const void* event) = 0;
  virtual void host_waited(uint64_t stream, StreamKind kind) = 0;
  virtual void host_waited_for(const void* event) = 0;
  virtual void host_waited_for_all() = 0;
};

HostObserver* host_observer();
void set_host_observer(HostObserver* observer);

}  // namespace tw::cudart
