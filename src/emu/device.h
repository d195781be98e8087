// One emulated GPU: memory, loaded modules, launches. This is the whole interface that the CUDA
// runtime (src/cudart) and the C API build on. Thread-safe where a function says so.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/device_spec.h"
#include "ptx/module.h"
#include "util/result.h"

namespace tw::emu {

// ---- memory ------------------------------------------------------------------------------------

enum class AllocationKind : uint8_t {
  device,   // cudaMalloc: the host faults when it dereferences the address
  managed,  // cudaMallocManaged: the device address is also valid on the host
  host,     // cudaMallocHost / cudaHostAlloc: ordinary host memory, device address == host address
  module,   // a __device__/__constant__ variable
};

struct Allocation {
  uint64_t address = 0;  // device address
  uint64_t bytes = 0;
  AllocationKind kind = AllocationKind::device;
  uint64_t id = 0;          // increases; never reused
  std::string label;        // variable name, or empty
  uint8_t* host = nullptr;  // where the bytes lie in this process
  uint32_t device = 0;      // whose memory it is: DeviceOptions::ordinal
};

// ---- launches ----------------------------------------------------------------------------------

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

// What went wrong in a kernel, in CUDA's terms. cudart maps it to a cudaError_t.
enum class FaultKind : uint8_t {
  none,
  illegal_address,        // cudaErrorIllegalAddress 700
  misaligned_address,     // 716
  invalid_address_space,  // 717
  invalid_pc,             // 718
  illegal_instruction,    // 715 (brkpt, unsupported at run time)
  assert_failed,          // 710
  trap,                   // cudaErrorLaunchFailure 719
  deadlock,               // 719; every waiting site is in the message
  timeout,                // 702, or interrupted by the user
  unsupported,            // an instruction the engine lacks, found before the kernel started
  out_of_memory,          // 2
};

struct Fault {
  FaultKind kind = FaultKind::none;
  std::string message;  // one paragraph, ready to show
  std::string kernel;
  std::string file;  // user's source file of the site, or the PTX name
  uint32_t line = 0;
  std::string instruction;  // PTX text of the site
  uint64_t address = 0;
  std::array<uint32_t, 3> block{}, thread{};  // first lane at fault
  std::vector<uint32_t> waiting;              // deadlock: where, as indices into Program::sites
};

class Kernel;  // a function of a loaded module
class LoadedModule;

struct KernelInfo {
  std::string name;  // mangled
  std::vector<ptx::Variable> parameters;
  std::vector<uint32_t> parameter_offsets;
  uint32_t parameter_bytes = 0;
  uint64_t static_shared_bytes = 0;
  uint64_t local_bytes = 0;  // per thread
  uint64_t constant_bytes = 0;
  uint32_t registers = 0;  // estimate from the PTX (no ptxas)
  std::array<uint32_t, 3> max_ntid{}, req_ntid{}, cluster{};
  uint32_t max_cluster_rank = 0;  // 0: not given
  bool explicit_cluster = false;  // a launch must say how large clusters are
  uint32_t max_threads_per_block = 1024;
  uint32_t ptx_version = 0;  // 90
  uint32_t target = 0;       // 90
  bool allocates = false;    // it, or what it calls, calls malloc or free
  bool prints = false;       // ... printf
};

class ObserverSource;  // observer.h

struct Launch {
  const Kernel* kernel = nullptr;
  Dim3 grid, block;
  Dim3 cluster;  // {1,1,1}: none
  uint64_t dynamic_shared_bytes = 0;
  std::vector<uint8_t> parameters;  // parameter_bytes long, laid out as KernelInfo says
  bool cooperative = false;         // all CTAs are co-resident
  uint64_t stack_bytes = 8 << 10;   // a thread, for functions that may call themselves
  uint64_t id = 0;                  // launch number in the process
  uint64_t stream = 0;
};

// Progress of a running launch; read by any thread (progress bar, Ctrl-C).
struct Progress {
  std::atomic<uint64_t> ctas_done{0};
  uint64_t ctas = 0;
};

// A launched grid. `advance` runs it: kernels that cannot wait for anything outside themselves run
// to the end in one call, on the device's worker threads; kernels that poll memory come back with
// `yielded` so that other streams and the host can go on. Called by one thread at a time.
class GridRun {
 public:
  enum class State : uint8_t { yielded, done, faulted };
  virtual ~GridRun() = default;
  virtual State advance() = 0;
  virtual const Fault& fault() const = 0;
  virtual const Progress& progress() const = 0;
  // Where every unfinished CTA stands, one line per distinct place, source lines first. Any thread.
  virtual std::string describe_unfinished() const = 0;
  // Ask a running advance() to stop soon with FaultKind::timeout. Any thread, async-signal-safe.
  virtual void interrupt() = 0;
};

struct DeviceOptions {
  uint32_t ordinal = 0;       // for messages
  uint32_t threads = 0;       // host threads for CTAs; 0: all cores
  uint64_t memory_bytes = 0;  // 0: what the spec says, bounded by the host's
  std::string target;         // instruction set of the handlers ("avx2"); empty: the best there is
  // Tests: every lane starts as a path of its own, so that no full-mask handler, fused row or
  // uniform short cut runs. Slow; a second opinion on everything the decoder concludes.
  bool lanes_apart = false;
  bool order_any = false;  // --fast: order-dependent kernels run in parallel too
  // Which interleaving kernels run in whose threads order one another by memory: 0: blocks and
  // warps by number, as long as they can run; otherwise chosen at random, the same for the same
  // number.
  uint32_t schedule = 0;
  // Sink for device printf text (whole calls, in order). Called from worker threads, serialised.
  std::function<void(std::string_view)> on_printf;
  // Watches launches and memory; outlives the device. nullptr: nothing is observed.
  ObserverSource* observers = nullptr;
};

class Device {
 public:
  static Result<std::unique_ptr<Device>> create(const model::DeviceSpec& spec,
                                                DeviceOptions options);
  virtual ~Device() = default;

  virtual const model::DeviceSpec& spec() const = 0;

  // -- memory (thread-safe) --
  // `bytes` > 0. Device and managed addresses are aligned to 256 bytes at least.
  virtual Result<uint64_t> allocate(uint64_t bytes, AllocationKind kind) = 0;
  // Registers existing host memory (cudaHostRegister); its device address is its host address.
  virtual Status register_host(void* pointer, uint64_t bytes) = 0;
  // Error: not the start of a live allocation of one of these kinds.
  virtual Status free(uint64_t address) = 0;
  // The allocation that contains the address; nullopt if none.
  virtual std::optional<Allocation> find(uint64_t address) const = 0;
  // Host pointer to device bytes [address, address+bytes), all inside one allocation; nullptr if
  // not.
  virtual uint8_t* host_pointer(uint64_t address, uint64_t bytes) const = 0;
  // True if the host address lies in the window reserved for device addresses (a SIGSEGV handler
  // asks).
  virtual bool in_device_window(uint64_t host_address) const = 0;
  // Tells the observers of a copy, memset or initialisation that the host makes through
  // host_pointer.
  virtual void host_access(uint64_t /*address*/, uint64_t /*bytes*/, bool /*write*/) {}
  // Whether kernels of this device may access the memory of another (one made by the same backend).
  virtual void set_peer(Device& /*peer*/, bool /*accessible*/) {}
  // How much device-side malloc may give out; 8 MiB at first.
  virtual void set_heap_limit(uint64_t /*bytes*/) {}
  virtual uint64_t memory_total() const = 0;
  virtual uint64_t memory_free() const = 0;

  // -- modules (thread-safe) --
  // Verifies and lays out a parsed module; variables are allocated and initialised, except the
  // managed ones that another device has placed: their host addresses by name.
  virtual Result<LoadedModule*> load(ptx::Module module,
                                     const std::map<std::string, void*>& managed) = 0;
  Result<LoadedModule*> load(ptx::Module module) { return load(std::move(module), {}); }
  // Managed variables that lie in this device's memory stay: other devices may use them.
  virtual void unload(LoadedModule* module) = 0;
  // nullptr if the module has no such kernel / variable.
  virtual const Kernel* find_kernel(const LoadedModule& module, std::string_view name) const = 0;
  virtual std::optional<Allocation> find_variable(const LoadedModule& module,
                                                  std::string_view name) const = 0;
  virtual const KernelInfo& info(const Kernel& kernel) const = 0;

  // -- launches --
  // Checks and decodes. The launch limits (threads, grid, shared memory) have been checked by the
  // caller against the spec; the error here is an unsupported instruction (Fault kind
  // `unsupported`).
  virtual Result<std::unique_ptr<GridRun>> start(const Launch& launch) = 0;
};

}  // namespace tw::emu
