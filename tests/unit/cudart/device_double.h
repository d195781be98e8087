// A test double of emu::Device: memory is real, a launch runs a host function that the test gives.
//
// Device addresses are made up (they start at kBase), so that a test that mixes up the two kinds of
// pointers crashes. Kernels are those of the loaded PTX; what one does is looked up by its name.
#pragma once

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "emu/device.h"

namespace tw::emu {
class Kernel {
 public:
  KernelInfo info;
};
class LoadedModule {
 public:
  ptx::Module module;
  std::map<std::string, Kernel> kernels;
  std::map<std::string, Allocation> variables;
};
}  // namespace tw::emu

namespace tw::test {

class DeviceDouble;

// What a kernel does; called by every advance(). Returns the state of the grid.
struct Call {
  DeviceDouble& device;
  const emu::Launch& launch;
  emu::Fault& fault;
  int step;  // 0 at the first advance
  template <class T> T argument(size_t index) const;
};
using Behaviour = std::function<emu::GridRun::State(Call&)>;

// By kernel name; a kernel without one does nothing.
std::map<std::string, Behaviour>& behaviours();

class DeviceDouble : public emu::Device {
 public:
  static constexpr uint64_t kBase = 0x6000'0000'0000;

  DeviceDouble(model::DeviceSpec spec, emu::DeviceOptions options)
      : spec_(std::move(spec)), options_(std::move(options)) {}
  const model::DeviceSpec& spec() const override { return spec_; }

  Result<uint64_t> allocate(uint64_t bytes, emu::AllocationKind kind) override {
    const std::lock_guard lock(mutex_);
    if (bytes > spec_.memory_bytes - used_) return Error{.message = "out of memory"};
    return place(bytes, kind, "").address;
  }
  Status register_host(void* pointer, uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    allocations_[reinterpret_cast<uint64_t>(pointer)] = {
        reinterpret_cast<uint64_t>(pointer), bytes, emu::AllocationKind::host, next_id_++, "",
        static_cast<uint8_t*>(pointer)};
    foreign_.insert({reinterpret_cast<uint64_t>(pointer), true});
    return Unit{};
  }
  Status free(uint64_t address) override {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(address);
    if (found == allocations_.end()) return Error{.message = "not an allocation"};
    if (!foreign_.erase(address)) {
      std::free(found->second.host);
      used_ -= found->second.bytes;
    }
    allocations_.erase(found);
    return Unit{};
  }
  std::optional<emu::Allocation> find(uint64_t address) const override {
    const std::lock_guard lock(mutex_);
    auto after = allocations_.upper_bound(address);
    if (after == allocations_.begin()) return std::nullopt;
    const emu::Allocation& candidate = std::prev(after)->second;
    if (address - candidate.address >= candidate.bytes) return std::nullopt;
    return candidate;
  }
  uint8_t* host_pointer(uint64_t address, uint64_t bytes) const override {
    const auto found = find(address);
    if (!found || bytes > found->bytes - (address - found->address)) return nullptr;
    return found->host + (address - found->address);
  }
  bool in_device_window(uint64_t address) const override {
    return address >= kBase && address < kBase + (uint64_t(1) << 40);
  }
  uint64_t memory_total() const override { return spec_.memory_bytes; }
  uint64_t memory_free() const override { return spec_.memory_bytes - used_; }

  using Device::load;
  Result<emu::LoadedModule*> load(ptx::Module module,
                                  const std::map<std::string, void*>&) override {
    auto loaded = std::make_unique<emu::LoadedModule>();
    const std::lock_guard lock(mutex_);
    for (const ptx::Function& function : module.functions) {
      if (!function.entry) continue;
      emu::Kernel& kernel = loaded->kernels[function.name];
      kernel.info.name = function.name;
      kernel.info.parameters = function.parameters;
      for (const ptx::Variable& p : function.parameters) {
        const uint32_t align = p.alignment;
        kernel.info.parameter_bytes = (kernel.info.parameter_bytes + align - 1) / align * align;
        kernel.info.parameter_offsets.push_back(kernel.info.parameter_bytes);
        kernel.info.parameter_bytes += uint32_t(p.bytes);
      }
      for (const ptx::Variable& v : function.variables)
        if (v.space == ptx::Space::shared) kernel.info.static_shared_bytes += v.bytes;
      kernel.info.max_ntid = function.max_ntid;
      kernel.info.target = module.target;
      kernel.info.ptx_version = module.version;
    }
    for (const ptx::Variable& v : module.variables) {
      if (v.space == ptx::Space::shared || v.bytes == 0) continue;
      emu::Allocation& a = loaded->variables[v.name] = place(
          v.bytes, v.managed ? emu::AllocationKind::managed : emu::AllocationKind::module, v.name);
      if (!v.initial.empty()) std::memcpy(a.host, v.initial.data(), v.bytes);
    }
    modules_.push_back(std::move(loaded));
    return modules_.back().get();
  }
  void unload(emu::LoadedModule*) override {}
  const emu::Kernel* find_kernel(const emu::LoadedModule& module,
                                 std::string_view name) const override {
    const auto found = module.kernels.find(std::string(name));
    return found == module.kernels.end() ? nullptr : &found->second;
  }
  std::optional<emu::Allocation> find_variable(const emu::LoadedModule& module,
                                               std::string_view name) const override {
    const auto found = module.variables.find(std::string(name));
    if (found == module.variables.end()) return std::nullopt;
    return found->second;
  }
  const emu::KernelInfo& info(const emu::Kernel& kernel) const override { return kernel.info; }

  Result<std::unique_ptr<emu::GridRun>> start(const emu::Launch& launch) override {
    if (launch.kernel->info.name == "unsupported")
      return Error{.message = "no such instruction", .file = "x.ptx", .line = 7};
    return std::unique_ptr<emu::GridRun>(new Run(*this, launch));
  }

 private:
  class Run : public emu::GridRun {
   public:
    Run(DeviceDouble& device, const emu::Launch& launch) : device_(device), launch_(launch) {
      progress_.ctas = uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
    }
    State advance() override {
      if (interrupted_) {
        fault_.kind = emu::FaultKind::timeout;
        return State::faulted;
      }
      const auto found = behaviours().find(launch_.kernel->info.name);
      if (found == behaviours().end()) return State::done;
      Call call{device_, launch_, fault_, step_++};
      return found->second(call);
    }
    const emu::Fault& fault() const override { return fault_; }
    const emu::Progress& progress() const override { return progress_; }
    std::string describe_unfinished() const override { return "CTA (0,0,0): somewhere\n"; }
    void interrupt() override { interrupted_ = true; }

   private:
    DeviceDouble& device_;
    emu::Launch launch_;
    emu::Fault fault_;
    emu::Progress progress_;
    std::atomic<bool> interrupted_{false};
    int step_ = 0;
  };

  emu::Allocation place(uint64_t bytes, emu::AllocationKind kind, std::string label) {
    emu::Allocation a;
    a.bytes = bytes;
    a.kind = kind;
    a.id = next_id_++;
    a.label = std::move(label);
    a.host = static_cast<uint8_t*>(std::calloc(1, bytes));
    if (kind == emu::AllocationKind::host || kind == emu::AllocationKind::managed) {
      a.address = reinterpret_cast<uint64_t>(a.host);
    } else {
      a.address = next_address_;
      next_address_ += (bytes + 511) / 256 * 256;
    }
    used_ += bytes;
    return allocations_[a.address] = a;
  }

  model::DeviceSpec spec_;
  emu::DeviceOptions options_;
  mutable std::mutex mutex_;
  std::map<uint64_t, emu::Allocation> allocations_;
  std::map<uint64_t, bool> foreign_;
  std::vector<std::unique_ptr<emu::LoadedModule>> modules_;
  uint64_t next_address_ = kBase, next_id_ = 1, used_ = 0;
};

template <class T> T Call::argument(size_t index) const {
  T value;
  std::memcpy(&value, launch.parameters.data() + launch.kernel->info.parameter_offsets[index],
              sizeof value);
  return value;
}

// The program's side: stubs whose addresses stand for the kernels of kernels.ptx, and shadows of
// its variables.
extern const char stub_fill, stub_poll, stub_crash, stub_shared, stub_bounded, stub_unsupported,
    stub_missing;
extern char shadow_table, shadow_constant;
extern void* managed_slot;

// Ends every test with a fresh context.
void reset_device();

}  // namespace tw::test
