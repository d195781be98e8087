// The state behind the CUDA runtime API: the registry of device code, one Context for each device
// the program uses, the scheduler that executes their work, and the tables of stream and event
// handles.
//
// Everything is created at first use, so that a program that only links the library starts at once,
// and nothing is ever destroyed: programs call CUDA from static destructors. `at_exit` ends the
// threads.
//
// Tested by tests/unit/cudart (the API against a test double of emu::Device).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cudart/cuda_api.h"
#include "cudart/registry.h"
#include "cudart/scheduler.h"
#include "cudart/settings.h"
#include "emu/device.h"

namespace tw::cudart {

inline constexpr uint64_t kDefaultHeapBytes = 8388608;  // cudaLimitMallocHeapSize

// What a Context knows about a registered kernel.
struct KernelState {
  const emu::Kernel* kernel = nullptr;
  const emu::KernelInfo* info = nullptr;
  uint64_t max_dynamic_shared =
      0;  // cudaFuncAttributeMaxDynamicSharedMemorySize, or what fits without asking
  int carveout = -1;
  bool large_clusters = false;      // cudaFuncAttributeNonPortableClusterSizeAllowed
  std::array<int, 3> cluster = {};  // cudaFuncAttributeRequiredClusterWidth, ...
};

// One emulated GPU as the runtime sees it (a primary context).
class Context {
 public:
  Context(int ordinal, std::unique_ptr<emu::Device> device);

  const int ordinal;
  emu::Device& device() { return *device_; }
  const model::DeviceSpec& spec() const { return device_->spec(); }
  Stream& default_stream() { return *legacy_; }

  // The kernel of a registered function, loading its module at first use.
  cudaError_t kernel(const Function& function, KernelState*& state);
  cudaError_t variable(const Variable& variable, emu::Allocation& allocation);
  // Loads the module of a fat binary; managed variables get their addresses.
  cudaError_t load(Binary& binary);

  Result<std::unique_ptr<emu::GridRun>> start(const emu::Launch& launch);
  std::string kernel_name(const emu::Kernel& kernel) const { return device_->info(kernel).name; }

  // The error that every later call returns: a kernel faulted.
  cudaError_t sticky() const { return sticky_.load(std::memory_order_acquire); }
  void fail(const emu::Fault& fault);  // says so on stderr
  void fail(cudaError_t error);
  void reset();  // cudaDeviceReset: drops work, frees memory, forgets modules

  std::mutex mutex;                                   // the fields below
  std::unordered_set<uint64_t> live;                  // addresses that cudaDeviceReset frees
  std::unordered_set<void*> registered;               // cudaHostRegister
  std::unordered_map<uint64_t, unsigned> host_flags;  // cudaHostAlloc
  std::unordered_map<int, size_t> limits;             // cudaDeviceSetLimit
  std::unordered_set<int> fixed_limits;               // of what launched kernels use: they stay
  unsigned flags = 0;
  std::set<int> peers;  // cudaDeviceEnablePeerAccess

 private:
  struct Module {
    cudaError_t error = cudaSuccess;
    emu::LoadedModule* module = nullptr;
  };
  Module& module_of(Binary& binary);
  void unload(Binary& binary, const Module& module);

  std::unique_ptr<emu::Device> device_;
  std::shared_ptr<Stream> legacy_;
  std::atomic<cudaError_t> sticky_{cudaSuccess};
  std::recursive_mutex load_mutex_;
  std::unordered_map<Binary*, Module> modules_;
  std::unordered_map<const Function*, KernelState> kernels_;
  std::mutex start_mutex_;
};

class Runtime {
 public:
  static Runtime& get();

  Registry registry;
  Scheduler scheduler;
  std::mutex managed_mutex;  // Variable::managed_at and managed_by, Binary::loads of all

  // The GPU that the settings name; the same for every ordinal.
  cudaError_t spec(const model::DeviceSpec*& spec);
  int device_count();                                   // 0 when the settings are wrong
  cudaError_t context(int ordinal, Context*& context);  // created at first use
  cudaError_t current(Context*& context);
  std::vector<Context*> contexts();  // those that exist
  int& current_ordinal();            // of the calling thread

  // Host and managed memory is every device's: what `owner` allocated or registered is made known
  // to the others, those that exist and those to come.
  void share(const Context& owner, void* pointer, uint64_t bytes);
  void unshare(void* pointer);
  std::optional<int> owner_of_shared(const void* pointer);

  // Handles. cudaStreamLegacy, cudaStreamPerThread and 0 are streams of the current device.
  cudaStream_t add(std::shared_ptr<Stream> stream);
  std::shared_ptr<Stream> stream(cudaStream_t handle, Context& current);  // nullptr: no such handle
  bool remove(cudaStream_t handle, std::shared_ptr<Stream>& stream);
  cudaEvent_t add(std::shared_ptr<Event> event);
  std::shared_ptr<Event> event(cudaEvent_t handle);
  bool remove(cudaEvent_t handle);

  // True in a child made by fork after a device was created: CUDA does not work there.
  bool forked() const { return forked_.load(std::memory_order_relaxed); }
  void at_exit();

 private:
  Runtime();
  cudaError_t load_settings();  // mutex_ is held
  std::mutex mutex_;
  bool settings_read_ = false;
  cudaError_t settings_error_ = cudaSuccess;
  Settings settings_;
  model::DeviceSpec spec_;
  std::vector<std::unique_ptr<Context>> contexts_;  // by ordinal; nullptr: not used yet
  struct Shared {
    int owner = 0;
    uint64_t bytes = 0;
  };
  std::unordered_map<void*, Shared> shared_;
  std::atomic<bool> forked_{false}, used_{false};
  std::mutex handle_mutex_;
  std::unordered_map<const void*, std::shared_ptr<Stream>> streams_;
  std::unordered_map<const void*, std::shared_ptr<Event>> events_;
};

// The allocation that contains an address, on whichever device; nullopt: ordinary host memory.
struct Located {
  emu::Allocation allocation;
  Context* context = nullptr;
};
std::optional<Located> locate(const void* address);
bool in_device_window(const void* address);

// Provided by whoever links this library: abi/backend.cpp (the engine) or a test double.
Result<model::DeviceSpec> backend_spec(const std::string& gpu);
Result<std::unique_ptr<emu::Device>> backend_create(const model::DeviceSpec& spec,
                                                    emu::DeviceOptions options);
// The CUDA version whose ABI and error codes are spoken: 13000 or 12090. Defined by abi/abi13.cpp,
// abi/abi12.cpp.
int abi_version();

}  // namespace tw::cudart
