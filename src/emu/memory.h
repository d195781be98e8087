// Device memory. Device addresses lie in one window that the process has reserved without access
// rights, so that host code which dereferences one faults and can be told so; the bytes themselves
// lie elsewhere, at address + bias. Managed memory is mapped at its device address, host memory is
// used where it is: their bias is 0. With observers, the engine has a mapping of its own of managed
// memory, so that the host's can be protected.
//
// Freed ranges can be kept unused for a while (ObserverSource::keeps_freed): some bytes of addresses,
// and the last one whatever its size. They count as free, and are given out when no others are left.
//
// Tested by tests/unit/emu/memory_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "emu/device.h"
#include "util/result.h"

namespace tw::emu {

inline constexpr const char* kHeapLabel = "device malloc";  // of what device code has allocated

class MemoryMap {
 public:
  // `observers`, if any, hears of every allocation, whoever makes it.
  static Result<std::unique_ptr<MemoryMap>> create(uint64_t capacity,
                                                   ObserverSource* observers = nullptr,
                                                   uint32_t device = 0);
  ~MemoryMap();

  Result<uint64_t> allocate(uint64_t bytes, AllocationKind kind, std::string label = {});
  // Device-side malloc; an error when its heap is used up.
  Result<uint64_t> allocate_on_heap(uint64_t bytes);
  void set_heap_limit(uint64_t bytes) { heap_limit_ = bytes; }
  Status register_host(void* pointer, uint64_t bytes);
  Status free(uint64_t address);
  // Also in the memory of the peers.
  std::optional<Allocation> find(uint64_t address) const;
  void set_peer(const MemoryMap& peer, bool accessible);
  // The live allocation whose end or start is nearest, for messages.
  std::optional<Allocation> nearest(uint64_t address) const;
  bool in_window(uint64_t address) const { return address - window_ < window_bytes_; }
  uint64_t capacity() const { return capacity_; }
  uint64_t used() const;
  uint32_t device() const { return device_; }

 private:
  MemoryMap() = default;
  Result<Allocation> reserve(uint64_t bytes, AllocationKind kind, std::string label);
  void release(const Allocation& a);
  void give_hole(uint64_t start, uint64_t bytes);
  bool give_oldest_kept();  // false: there is none
  std::optional<Allocation> find_own(uint64_t address) const;

  ObserverSource* observers_ = nullptr;  // told without the lock
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Allocation> live_;  // by address
  std::map<uint64_t, uint64_t> holes_;   // free ranges of the window: address -> bytes
  // Freed ranges that are no holes yet (ObserverSource::keeps_freed), the oldest first.
  std::deque<std::pair<uint64_t, uint64_t>> kept_;
  uint64_t kept_bytes_ = 0;
  uint32_t device_ = 0;
  uint64_t window_ = 0, window_bytes_ = 0;
  uint8_t* data_ = nullptr;  // bytes of window_ + x lie at data_ + x
  uint8_t* mapped_data_ = nullptr;
  uint64_t usable_ = 0;  // of the window
  uint64_t capacity_ = 0, used_ = 0, next_id_ = 1;
  std::atomic<uint64_t> heap_limit_{uint64_t{8} << 20}, heap_used_{0};
  std::vector<const MemoryMap*> peers_;
};

}  // namespace tw::emu
