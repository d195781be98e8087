// Context: modules and kernels of one device, and its error state.
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <map>

#include "cudart/diagnose.h"
#include "cudart/errors.h"
#include "cudart/fatbin.h"
#include "cudart/runtime.h"
#include "ptx/link.h"
#include "ptx/parser.h"

namespace tw::cudart {
namespace {

// How many bytes can be read at `address`: up to the end of the loaded segment that holds it. A fat
// binary's own length field is only believed within that.
uint64_t readable_bytes(const void* address) {
  struct Query {
    uint64_t address, bytes;
  } query{reinterpret_cast<uint64_t>(address), 0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& q = *static_cast<Query*>(data);
        for (int i = 0; i < info->dlpi_phnum; i++) {
          const auto& segment = info->dlpi_phdr[i];
          const uint64_t start = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && q.address >= start &&
              q.address < start + segment.p_memsz) {
            q.bytes = start + segment.p_memsz - q.address;
            return 1;
          }
        }
        return 0;
      },
      &query);
  return query.bytes;
}

std::string list_entries(const std::vector<FatbinEntry>& entries) {
  std::string text;
  for (const FatbinEntry& entry : entries)
    text += fmt::format("{}{} {}_{}", text.empty() ? "" : ", ",
                        entry.kind == FatbinEntry::Kind::ptx ? "PTX" : "machine code",
                        entry.kind == FatbinEntry::Kind::ptx ? "compute" : "sm", entry.arch);
  return text.empty() ? "nothing" : text;
}

bool holds_ptx(const uint8_t* container, uint32_t arch) {
  const uint64_t readable = container ? readable_bytes(container) : 0;
  if (readable < 16) return false;
  const Result<std::vector<FatbinEntry>> entries = parse_fatbin({container, size_t(readable)});
  return entries && choose_ptx(*entries, arch) != nullptr;
}

// The PTX text for an architecture.
cudaError_t extract_ptx(const uint8_t* container, uint32_t arch, std::string& text,
                        std::string& name) {
  const uint64_t readable = container ? readable_bytes(container) : 0;
  if (readable < 16) {
    complain_once("fatbin",
                  "a registered fat binary is no fat binary (bad magic number or address)");
    return cudaErrorInvalidKernelImage;
  }
  const Result<std::vector<FatbinEntry>> entries = parse_fatbin({container, size_t(readable)});
  if (!entries) {
    complain(entries.error().to_string());
    return cudaErrorInvalidKernelImage;
  }
  const FatbinEntry* entry = choose_ptx(*entries, arch);
  if (entry == nullptr) {
    complain_once(
        "no PTX",
        fmt::format("this program holds no PTX that sm_{} can run; it holds: {}. Rebuild it with "
                    "PTX inside:\n"
                    "    nvcc -cudart shared -gencode arch=compute_{},code=compute_{} ...",
                    arch, list_entries(*entries), arch, arch));
    return cudaErrorNoKernelImageForDevice;
  }
  Result<std::string> ptx = fatbin_text(*entry);
  if (!ptx) {
    complain(ptx.error().to_string());
    return cudaErrorInvalidKernelImage;
  }
  text = std::move(*ptx);
  name = entry->source_name.empty() ? "embedded.ptx" : entry->source_name + ".ptx";
  return cudaSuccess;
}

}  // namespace

Context::Context(int device_ordinal, std::unique_ptr<emu::Device> device)
    : ordinal(device_ordinal), device_(std::move(device)) {
  legacy_ = Runtime::get().scheduler.create_stream(*this, cudaStreamDefault, 0, true);
}

Context::Module& Context::module_of(Binary& binary) {
  const auto [place, is_new] = modules_.try_emplace(&binary);
  Module& module = place->second;
  if (!is_new) return module;
  const uint32_t arch = spec().compute_major * 10 + spec().compute_minor;
  // One container, or those of the objects of separate compilation. Of those, libcudadevrt may hold
  // machine code only: what the kernels need of it the engine provides, or refuses by name.
  std::vector<const uint8_t*> containers = binary.objects;
  if (containers.empty()) containers.push_back(binary.container);
  const bool library = !binary.text.empty();
  if (const auto with_ptx = std::stable_partition(
          containers.begin(), containers.end(),
          [&](const uint8_t* container) { return holds_ptx(container, arch); });
      with_ptx != containers.begin())
    containers.erase(with_ptx, containers.end());
  std::vector<ptx::Module> objects;
  for (const uint8_t* container : containers) {
    std::string text, name;
    if (library)
      text = binary.text, name = "library.ptx";
    else
      module.error = extract_ptx(container, arch, text, name);
    if (module.error != cudaSuccess) return module;
    Result<ptx::Module> parsed = ptx::parse(text, name);
    if (!parsed) {
      complain(parsed.error().to_string());
      module.error = cudaErrorInvalidPtx;
      return module;
    }
    objects.push_back(std::move(*parsed));
  }
  Result<ptx::Module> linked = ptx::link(std::move(objects));
  if (!linked) {
    complain(linked.error().to_string());
    module.error = cudaErrorInvalidPtx;
    return module;
  }
  // A managed variable lies where the first device that loads the module has put it.
  const std::lock_guard lock(Runtime::get().managed_mutex);
  std::map<std::string, void*> managed;
  for (const auto& variable : binary.variables)
    if (variable->managed_at != nullptr) managed[variable->name] = variable->managed_at;
  Result<emu::LoadedModule*> loaded = device_->load(std::move(*linked), managed);
  if (!loaded) {
    complain(loaded.error().to_string());
    module.error = cudaErrorInvalidPtx;
    return module;
  }
  module.module = *loaded;
  binary.loads++;
  for (const auto& variable : binary.variables) {
    if (variable->managed_slot == nullptr || variable->managed_at != nullptr) continue;
    if (const std::optional<emu::Allocation> allocation =
            device_->find_variable(*module.module, variable->name)) {
      *variable->managed_slot = variable->managed_at = reinterpret_cast<void*>(allocation->address);
      variable->managed_by = this;
    }
  }
  return module;
}

void Context::unload(Binary& binary, const Module& module) {
  if (module.module == nullptr) return;
  device_->unload(module.module);
  const std::lock_guard lock(Runtime::get().managed_mutex);
  if (--binary.loads != 0) return;
  for (const auto& variable : binary.variables) {
    if (variable->managed_at == nullptr) continue;
    (void)variable->managed_by->device()
        .free(reinterpret_cast<uint64_t>(variable->managed_at))
        .ok();
    *variable->managed_slot = variable->managed_at = nullptr;
    variable->managed_by = nullptr;
  }
}

cudaError_t Context::load(Binary& binary) {
  const std::lock_guard lock(load_mutex_);
  return module_of(binary).error;
}

cudaError_t Context::kernel(const Function& function, KernelState*& state) {
  const std::lock_guard lock(load_mutex_);
  const auto [place, is_new] = kernels_.try_emplace(&function);
  state = &place->second;
  if (state->kernel != nullptr) return cudaSuccess;
  const Module& module = module_of(*function.binary);
  if (module.error != cudaSuccess) return module.error;
  state->kernel = device_->find_kernel(*module.module, function.name);
  if (state->kernel == nullptr) {
    complain_once(function.name,
                  fmt::format("the program's PTX has no kernel '{}'", demangled(function.name)));
    return cudaErrorInvalidDeviceFunction;
  }
  state->info = &device_->info(*state->kernel);
  const uint64_t fixed = state->info->static_shared_bytes;
  state->max_dynamic_shared = spec().shared_per_block > fixed ? spec().shared_per_block - fixed : 0;
  return cudaSuccess;
}

cudaError_t Context::variable(const Variable& variable, emu::Allocation& allocation) {
  const std::lock_guard lock(load_mutex_);
  const Module& module = module_of(*variable.binary);
  if (module.error != cudaSuccess) return module.error;
  const std::optional<emu::Allocation> found =
      device_->find_variable(*module.module, variable.name);
  if (!found) return cudaErrorInvalidSymbol;
  allocation = *found;
  return cudaSuccess;
}

Result<std::unique_ptr<emu::GridRun>> Context::start(const emu::Launch& launch) {
  const std::lock_guard lock(start_mutex_);
  return device_->start(launch);
}

void Context::fail(const emu::Fault& fault) {
  cudaError_t expected = cudaSuccess;
  const cudaError_t error = error_of_fault(fault.kind);
  if (!sticky_.compare_exchange_strong(expected, error)) return;  // only the first is told
  if (fault.kind != emu::FaultKind::timeout) complain(fault_text(fault, error));
}

void Context::fail(cudaError_t error) {
  cudaError_t expected = cudaSuccess;
  sticky_.compare_exchange_strong(expected, error);
}

void Context::reset() {
  Scheduler& scheduler = Runtime::get().scheduler;
  scheduler.drop(*this);
  {
    const std::lock_guard lock(load_mutex_);
    for (const auto& [binary, module] : modules_) unload(*binary, module);
    modules_.clear();
    kernels_.clear();
  }
  const std::lock_guard lock(mutex);
  for (const uint64_t address : live) {
    Runtime::get().unshare(reinterpret_cast<void*>(address));
    (void)device_->free(address).ok();
  }
  for (void* pointer : registered) {
    Runtime::get().unshare(pointer);
    (void)device_->free(reinterpret_cast<uint64_t>(pointer)).ok();
  }
  live.clear();
  registered.clear();
  host_flags.clear();
  limits.clear();
  fixed_limits.clear();
  device_->set_heap_limit(kDefaultHeapBytes);
  flags = 0;
  for (const int peer : peers)
    if (Context* other = nullptr; Runtime::get().context(peer, other) == cudaSuccess)
      device_->set_peer(other->device(), false);
  peers.clear();
  sticky_ = cudaSuccess;
}

}  // namespace tw::cudart
