// Device behind the interface of device.h.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "emu/cta.h"
#include "emu/device.h"
#include "emu/memory.h"

namespace tw::emu {

class LoadedModule {
 public:
  ptx::Module module;
  SymbolAddresses symbols;
  std::vector<std::unique_ptr<Kernel>> kernels;
};

class Kernel {
 public:
  LoadedModule* loaded = nullptr;
  const ptx::Function* function = nullptr;
  KernelInfo info;
  std::mutex mutex;  // guards programs
  // By block shape, cluster shape and observed events.
  std::map<std::tuple<std::array<uint32_t, 3>, std::array<uint32_t, 3>, uint8_t>,
           std::unique_ptr<Program>>
      programs;
};

// Host threads that run CTAs; created once, woken for a launch.
class WorkerPool {
 public:
  explicit WorkerPool(uint32_t threads);
  ~WorkerPool();
  uint32_t size() const { return uint32_t(threads_.size()) + 1; }
  // Runs body(worker) on the caller (worker 0) and on `extra` pool threads; returns when all have.
  void run(uint32_t extra, const std::function<void(uint32_t)>& body);

 private:
  void loop(uint32_t index);
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(uint32_t)>* body_ = nullptr;
  uint64_t generation_ = 0;
  uint32_t wanted_ = 0, running_ = 0;
  bool stopping_ = false;
};

class DeviceImpl final : public Device {
 public:
  DeviceImpl(const model::DeviceSpec& spec, DeviceOptions options,
             std::unique_ptr<MemoryMap> memory, const Target* target);

  const model::DeviceSpec& spec() const override { return spec_; }
  Result<uint64_t> allocate(uint64_t bytes, AllocationKind kind) override;
  Status register_host(void* pointer, uint64_t bytes) override {
    return memory_->register_host(pointer, bytes);
  }
  Status free(uint64_t address) override;
  void host_access(uint64_t address, uint64_t bytes, bool write) override;
  std::optional<Allocation> find(uint64_t address) const override { return memory_->find(address); }
  uint8_t* host_pointer(uint64_t address, uint64_t bytes) const override;
  bool in_device_window(uint64_t host_address) const override {
    return memory_->in_window(host_address);
  }
  uint64_t memory_total() const override { return memory_->capacity(); }
  uint64_t memory_free() const override {
    return memory_->capacity() - std::min(memory_->capacity(), memory_->used());
  }
  void set_peer(Device& peer, bool accessible) override;
  void set_heap_limit(uint64_t bytes) override { memory_->set_heap_limit(bytes); }
  using Device::load;
  Result<LoadedModule*> load(ptx::Module module,
                             const std::map<std::string, void*>& managed) override;
  void unload(LoadedModule* module) override;
  const Kernel* find_kernel(const LoadedModule& module, std::string_view name) const override;
  std::optional<Allocation> find_variable(const LoadedModule& module,
                                          std::string_view name) const override;
  const KernelInfo& info(const Kernel& kernel) const override { return kernel.info; }
  Result<std::unique_ptr<GridRun>> start(const Launch& launch) override;

  MemoryMap& memory() { return *memory_; }
  WorkerPool& pool() { return pool_; }
  const DeviceOptions& options() const { return options_; }

 private:
  Result<const Program*> program_for(const Launch& launch, uint8_t observed);

  const Target* target_;
  model::DeviceSpec spec_;
  DeviceOptions options_;
  std::unique_ptr<MemoryMap> memory_;
  WorkerPool pool_;
  mutable std::mutex modules_mutex_;
  std::vector<std::unique_ptr<LoadedModule>> modules_;
};

}  // namespace tw::emu
