#include "emu/device_impl.h"

#include <fmt/format.h>

#include <cstring>

#include "emu/grid.h"
#include "emu/observer.h"
#include "emu/windows.h"
#include "ptx/printer.h"

namespace tw::emu {

Result<std::unique_ptr<Device>> Device::create(const model::DeviceSpec& spec,
                                               DeviceOptions options) {
  uint64_t bytes = options.memory_bytes != 0 ? options.memory_bytes
                   : spec.memory_bytes != 0  ? spec.memory_bytes
                                             : uint64_t{16} << 30;
  Result<std::unique_ptr<MemoryMap>> memory =
      MemoryMap::create(bytes, options.observers, options.ordinal);
  if (!memory.ok()) return memory.error();
  const Target* target = &host_target();
  if (!options.target.empty()) {
    target = nullptr;
    for (const Target* t : supported_targets())
      if (options.target == t->name) target = t;
    if (target == nullptr)
      return Error{
          fmt::format("instruction set '{}' is not built in or not supported by this processor",
                      options.target)};
  }
  if (options.threads == 0) options.threads = std::max(1u, std::thread::hardware_concurrency());
  return std::unique_ptr<Device>(
      new DeviceImpl(spec, std::move(options), std::move(*memory), target));
}

DeviceImpl::DeviceImpl(const model::DeviceSpec& spec, DeviceOptions options,
                       std::unique_ptr<MemoryMap> memory, const Target* target)
    : target_(target),
      spec_(spec),
      options_(std::move(options)),
      memory_(std::move(memory)),
      pool_(options_.threads) {}

Result<uint64_t> DeviceImpl::allocate(uint64_t bytes, AllocationKind kind) {
  return memory_->allocate(bytes, kind);
}

Status DeviceImpl::free(uint64_t address) { return memory_->free(address); }

void DeviceImpl::host_access(uint64_t address, uint64_t bytes, bool write) {
  if (options_.observers != nullptr) options_.observers->host_access(address, bytes, write);
}

void DeviceImpl::set_peer(Device& peer, bool accessible) {
  memory_->set_peer(*static_cast<DeviceImpl&>(peer).memory_, accessible);
}

uint8_t* DeviceImpl::host_pointer(uint64_t address, uint64_t bytes) const {
  std::optional<Allocation> a = memory_->find(address);
  if (!a || bytes > a->bytes || address - a->address > a->bytes - bytes) return nullptr;
  return a->host + (address - a->address);
}

Result<LoadedModule*> DeviceImpl::load(ptx::Module module,
                                       const std::map<std::string, void*>& managed) {
  auto loaded = std::make_unique<LoadedModule>();
  loaded->module = std::move(module);
  const ptx::Module& m = loaded->module;
  loaded->symbols.variables.assign(m.variables.size(), 0);
  for (size_t i = 0; i < m.variables.size(); ++i) {
    const ptx::Variable& v = m.variables[i];
    if (v.space != ptx::Space::global && v.space != ptx::Space::constant) continue;
    if (v.linkage == ptx::Linkage::external) continue;
    if (const auto shared = managed.find(v.name); v.managed && shared != managed.end()) {
      const auto address = reinterpret_cast<uint64_t>(shared->second);
      loaded->symbols.variables[i] = address;
      // It may lie in this device's memory, from an earlier load.
      if (Status s = memory_->register_host(shared->second, v.bytes); !s.ok())
        if (const auto a = memory_->find(address); !a || a->address != address) return s.error();
      continue;
    }
    Result<uint64_t> address =
        memory_->allocate(std::max<uint64_t>(v.bytes, 1),
                          v.managed ? AllocationKind::managed : AllocationKind::module, v.name);
    if (!address.ok()) return address.error();
    loaded->symbols.variables[i] = *address;
    uint8_t* host = memory_->find(*address)->host;
    std::memset(host, 0, v.bytes);
    if (!v.initial.empty())
      std::memcpy(host, v.initial.data(), std::min<size_t>(v.initial.size(), v.bytes));
  }
  for (size_t i = 0; i < m.variables.size(); ++i) {
    const ptx::Variable& v = m.variables[i];
    for (const ptx::Relocation& r : v.relocations) {
      if (loaded->symbols.variables[i] == 0) continue;
      bool function = r.symbol.kind == ptx::SymbolRef::Kind::function;
      uint64_t address =
          function ? function_address(r.symbol.index) : loaded->symbols.variables[r.symbol.index];
      uint64_t value = (address + uint64_t(r.addend)) >> (8 * r.byte_shift);
      if (uint64_t(r.offset) + r.bytes > v.bytes || r.bytes > 8)
        return Error{fmt::format("an initialiser of '{}' lies outside the variable", v.name),
                     m.name, v.line};
      std::memcpy(memory_->find(loaded->symbols.variables[i])->host + r.offset, &value, r.bytes);
    }
  }
  for (const ptx::Function& f : m.functions) {
    if (!f.entry || !f.has_body) continue;
    auto kernel = std::make_unique<Kernel>();
    kernel->loaded = loaded.get();
    kernel->function = &f;
    KernelInfo& info = kernel->info;
    info.name = f.name;
    info.parameters = f.parameters;
    uint32_t at = 0;
    for (const ptx::Variable& p : f.parameters) {
      at = (at + p.alignment - 1) / std::max(1u, p.alignment) * std::max(1u, p.alignment);
      info.parameter_offsets.push_back(at);
      at += uint32_t(p.bytes);
    }
    info.parameter_bytes = at;
    uint64_t shared = 0, local = 0;
    auto add = [](uint64_t& total, const ptx::Variable& v) {
      uint64_t alignment = std::max(1u, v.alignment);
      total = (total + alignment - 1) / alignment * alignment + v.bytes;
    };
    const Reachable reachable = reachable_from(m, f);
    for (size_t i = 0; i < m.variables.size(); ++i) {
      const ptx::Variable& v = m.variables[i];
      if (v.space == ptx::Space::shared && reachable.variables[i])
        add(shared, v);
      else if (v.space == ptx::Space::constant)
        info.constant_bytes += v.bytes;
    }
    for (const ptx::Variable& v : f.variables) {
      if (v.space == ptx::Space::shared)
        add(shared, v);
      else if (v.space == ptx::Space::local)
        add(local, v);
    }
    for (const ptx::Function* callee : reachable.functions) {
      for (const ptx::Variable& v : callee->variables)
        if (v.space == ptx::Space::shared) add(shared, v);
      info.allocates |= !callee->has_body && (callee->name == "malloc" || callee->name == "free");
      info.prints |= !callee->has_body && callee->name == "vprintf";
    }
    info.static_shared_bytes = shared;
    info.local_bytes = local;
    info.registers = 32;
    info.max_ntid = f.max_ntid, info.req_ntid = f.req_ntid, info.cluster = f.cluster;
    info.max_cluster_rank = f.max_cluster_rank, info.explicit_cluster = f.explicit_cluster;
    uint32_t bound = f.max_ntid[0] != 0
                         ? f.max_ntid[0] * std::max(1u, f.max_ntid[1]) * std::max(1u, f.max_ntid[2])
                         : spec_.max_threads_per_block;
    info.max_threads_per_block = std::min(bound, spec_.max_threads_per_block);
    info.ptx_version = m.version;
    info.target = m.target;
    loaded->kernels.push_back(std::move(kernel));
  }
  LoadedModule* result = loaded.get();
  std::lock_guard lock(modules_mutex_);
  modules_.push_back(std::move(loaded));
  return result;
}

void DeviceImpl::unload(LoadedModule* module) {
  std::lock_guard lock(modules_mutex_);
  for (size_t i = 0; i < module->symbols.variables.size(); ++i) {
    const uint64_t address = module->symbols.variables[i];
    if (address == 0) continue;
    const std::optional<Allocation> a = memory_->find(address);
    if (module->module.variables[i].managed && a && a->kind == AllocationKind::managed) continue;
    (void)memory_->free(address);
  }
  std::erase_if(modules_,
                [&](const std::unique_ptr<LoadedModule>& m) { return m.get() == module; });
}

const Kernel* DeviceImpl::find_kernel(const LoadedModule& module, std::string_view name) const {
  for (const auto& k : module.kernels)
    if (k->info.name == name) return k.get();
  return nullptr;
}

std::optional<Allocation> DeviceImpl::find_variable(const LoadedModule& module,
                                                    std::string_view name) const {
  for (size_t i = 0; i < module.module.variables.size(); ++i)
    if (module.module.variables[i].name == name && module.symbols.variables[i] != 0)
      return memory_->find(module.symbols.variables[i]);
  return std::nullopt;
}

Result<const Program*> DeviceImpl::program_for(const Launch& launch, uint8_t observed) {
  Kernel& k = const_cast<Kernel&>(*launch.kernel);
  std::lock_guard lock(k.mutex);
  DecodeOptions options;
  options.block_shape = {launch.block.x, launch.block.y, launch.block.z};
  options.cluster = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
  const auto key = std::tuple(options.block_shape, options.cluster, observed);
  auto it = k.programs.find(key);
  if (it != k.programs.end()) return it->second.get();
  options.observed = observed;
  Result<std::unique_ptr<Program>> program =
      decode(k.loaded->module, *k.function, k.loaded->symbols, options, *target_);
  if (!program.ok()) return program.error();
  return (k.programs[key] = std::move(*program)).get();
}

Result<std::unique_ptr<GridRun>> DeviceImpl::start(const Launch& launch) {
  const Dim3 &grid = launch.grid, &cluster = launch.cluster;
  if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0 || grid.x % cluster.x != 0 ||
      grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
    return Error{fmt::format("a grid of {}x{}x{} blocks is no multiple of clusters of {}x{}x{}",
                             grid.x, grid.y, grid.z, cluster.x, cluster.y, cluster.z)};
  if (const uint64_t plane = uint64_t(cluster.x) * cluster.y;
      plane > Cluster::kMostCtas || plane * cluster.z > Cluster::kMostCtas)
    return Error{fmt::format("clusters of {}x{}x{} blocks, where at most {} blocks are allowed",
                             cluster.x, cluster.y, cluster.z, Cluster::kMostCtas)};
  Result<const Program*> program = program_for(
      launch, options_.observers != nullptr ? options_.observers->wanted(launch) : uint8_t{0});
  if (!program.ok()) return program.error();
  return std::unique_ptr<GridRun>(new GridRunImpl(*this, launch, **program));
}

const std::string& kernel_name(const Kernel& kernel) { return kernel.info.name; }

namespace {

bool in_toolkit(const ptx::Module& module, const ptx::SourceLocation& l) {
  if (l.line == 0 || l.file >= module.files.size()) return true;
  const std::string& file = module.files[l.file];
  return file.find("/include/") != std::string::npos &&
         (file.find("/cuda") != std::string::npos || file.find("/targets/") != std::string::npos ||
          file.find("/bin/../") != std::string::npos || file.find("/nvidia/") != std::string::npos);
}

// The innermost line of the user's; without one, the innermost of all; null where there is none.
const ptx::SourceLocation* source_location(const Program& program, uint32_t site) {
  const ptx::SourceLocation* innermost = nullptr;
  for (; site != kNoSite; site = program.sites[site].call) {
    const std::vector<ptx::SourceLocation>& locations = program.sites[site].function->locations;
    const ptx::Instruction& in =
        program.sites[site].function->instructions[program.sites[site].instruction];
    for (uint32_t at = in.location; at != ptx::kNone; at = locations[at].inlined_at) {
      const ptx::SourceLocation& l = locations[at];
      if (!in_toolkit(*program.module, l)) return &l;
      if (innermost == nullptr && l.line != 0 && l.file < program.module->files.size())
        innermost = &l;
    }
  }
  return innermost;
}

}  // namespace

SitePlace place_of(const Program& program, uint32_t site) {
  SitePlace place;
  if (site >= program.sites.size()) return place;
  const Site& s = program.sites[site];
  if (s.instruction >= s.function->instructions.size()) return place;
  const ptx::Instruction& in = s.function->instructions[s.instruction];
  if (const ptx::SourceLocation* l = source_location(program, site)) {
    place.file = program.module->files[l->file];
    place.line = l->line;
    place.source = true;
  } else {
    place.file = program.module->name;
    place.line = in.line;
  }
  place.text = ptx::print(*program.module, *s.function, in);
  return place;
}

}  // namespace tw::emu
