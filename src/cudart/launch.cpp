#include "cudart/launch.h"

#include <fmt/format.h>

#include <cstring>

#include "cudart/api.h"
#include "cudart/diagnose.h"
#include "cudart/occupancy.h"
#include "cudart/refused_launch.h"
#include "emu/cluster.h"

namespace tw::cudart {
namespace {

cudaError_t bad_configuration() {
  return abi_version() >= 13000 ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;
}

// `why`: what is wrong, for a person.
cudaError_t check_shape(const model::DeviceSpec& spec, const emu::KernelInfo& info,
                        const dim3& grid, const dim3& block, std::string& why) {
  const uint32_t g[3] = {grid.x, grid.y, grid.z}, b[3] = {block.x, block.y, block.z};
  for (int i = 0; i < 3; i++) {
    const auto check = [&](const char* what, uint32_t size, uint64_t most) {
      if (size == 0)
        why = fmt::format("{}.{} is 0", what, "xyz"[i]);
      else if (size > most)
        why = fmt::format("{}.{} is {}, at most {} is possible", what, "xyz"[i], size, most);
      return why.empty();
    };
    if (!check("the grid's size", g[i], spec.max_grid_dim[i]) ||
        !check("the block's size", b[i], spec.max_block_dim[i]))
      return bad_configuration();
  }
  const uint64_t threads = uint64_t(b[0]) * b[1] * b[2];
  const auto too_many = [&](uint64_t most, const char* reason) {
    why = fmt::format("a block of {} threads, at most {} are possible{}", threads, most, reason);
  };
  if (threads > spec.max_threads_per_block) {
    too_many(spec.max_threads_per_block, "");
    return bad_configuration();
  }
  const uint64_t bound =
      uint64_t(info.max_ntid[0]) * std::max(1u, info.max_ntid[1]) * std::max(1u, info.max_ntid[2]);
  if (bound != 0 && threads > bound) {
    too_many(bound, " (the kernel's __launch_bounds__)");
    return cudaErrorInvalidValue;
  }
  if (info.req_ntid[0] != 0 &&
      (b[0] != info.req_ntid[0] || b[1] != std::max(1u, info.req_ntid[1]) ||
       b[2] != std::max(1u, info.req_ntid[2]))) {
    why = "the block's size is not the one that the kernel requires (__block_size__)";
    return cudaErrorInvalidValue;
  }
  if (threads > info.max_threads_per_block) {
    too_many(info.max_threads_per_block, " (registers)");
    return cudaErrorLaunchOutOfResources;
  }
  return cudaSuccess;
}

// The program sees an error number, which many never ask for: nothing runs and nobody knows why.
cudaError_t refuse(const emu::KernelInfo& info, cudaError_t error, const std::string& why) {
  const std::string text = fmt::format("error: kernel '{}' is not launched: {} [{}]",
                                       demangled(info.name), why, error_name(error));
  complain_once(text, text);
  return error;
}

// cudaLimitStackSize counts what the hardware's compiler puts on a thread's stack. The engine keeps
// more there (every live register, in 8 bytes), so a thread gets eight times as much, and beyond
// 64 KiB what was asked for.
uint64_t stack_bytes(Context& context) {
  const std::lock_guard lock(context.mutex);
  const auto place = context.limits.find(cudaLimitStackSize);
  const uint64_t limit = place == context.limits.end() ? 1024 : place->second;
  return std::max(limit, std::min<uint64_t>(8 * limit, 64 << 10));
}

}  // namespace

cudaError_t find_kernel(Context& context, const void* function, KernelState*& state) {
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;
  const Function* registered = Runtime::get().registry.function(function);
  if (registered == nullptr) return cudaErrorInvalidResourceHandle;
  return context.kernel(*registered, state);
}

dim3 own_cluster(const KernelState& state) {
  const auto& required = state.cluster;
  if (required[0] > 0)
    return dim3(unsigned(required[0]), unsigned(required[1]), unsigned(required[2]));
  const auto& given = state.info->cluster;
  return given[0] == 0 ? dim3(1, 1, 1) : dim3(given[0], given[1], given[2]);
}

bool must_say_cluster(const KernelState& state) {
  return state.info->explicit_cluster && state.info->cluster[0] == 0 && state.cluster[0] == 0;
}

uint32_t largest_cluster(const model::DeviceSpec& spec, const KernelState& state) {
  const uint32_t most = state.large_clusters && spec.max_cluster_size != 0 ? emu::Cluster::kMostCtas
                                                                           : spec.max_cluster_size;
  const uint32_t declared = state.info->max_cluster_rank;
  return declared == 0 ? most : std::min(most, declared);
}

cudaError_t check_cluster(const model::DeviceSpec& spec, const KernelState& state, dim3 cluster,
                          std::string& why) {
  const auto& required = state.cluster;
  const bool declared = state.info->cluster[0] != 0;
  const bool some = required[0] > 0 || required[1] > 0 || required[2] > 0;
  if (some && (required[0] == 0 || required[1] == 0 || required[2] == 0)) {
    why =
        "of cudaFuncAttributeRequiredClusterWidth, Height and Depth some have been set: all must "
        "be, "
        "or none";
    return cudaErrorInvalidClusterSize;
  }
  const dim3 own = own_cluster(state);
  if ((declared || some) && (cluster.x != own.x || cluster.y != own.y || cluster.z != own.z)) {
    why = fmt::format("clusters of {}x{}x{} blocks, where {} {}x{}x{}", cluster.x, cluster.y,
                      cluster.z,
                      some ? "cudaFuncAttributeRequiredClusterWidth, Height and Depth say"
                           : "it is declared with __cluster_dims__() of",
                      own.x, own.y, own.z);
    return cudaErrorInvalidClusterSize;
  }
  // Products of three sizes may wrap: those of two do not.
  const uint64_t plane = uint64_t(cluster.x) * cluster.y;
  const uint32_t most = largest_cluster(spec, state);
  if (plane == 1 && cluster.z == 1) return cudaSuccess;
  if (plane == 0 || cluster.z == 0 || plane > most || plane * cluster.z > most) {
    why = fmt::format("clusters of {}x{}x{} blocks, at most {} are allowed{}", cluster.x, cluster.y,
                      cluster.z, most,
                      most == spec.max_cluster_size && most != 0
                          ? " unless cudaFuncSetAttribute("
                            "cudaFuncAttributeNonPortableClusterSizeAllowed) asks for more"
                          : "");
    return cudaErrorInvalidClusterSize;
  }
  return cudaSuccess;
}

namespace {
// For a launch: a kernel of which the program holds no PTX that can run here is refused.
cudaError_t kernel_to_launch(Context& context, const void* function, KernelState*& state) {
  const cudaError_t error = find_kernel(context, function, state);
  if (error != cudaSuccess && function != nullptr &&
      Runtime::get().registry.function(function) != nullptr)
    launch_was_refused();
  return error;
}
}  // namespace

cudaError_t prepare_launch(Context& context, const LaunchRequest& request, void** arguments,
                           Command& command) {
  KernelState* state = nullptr;
  if (const cudaError_t error = kernel_to_launch(context, request.function, state);
      error != cudaSuccess)
    return error;
  const emu::KernelInfo& info = *state->info;
  const model::DeviceSpec& spec = context.spec();
  std::string why;
  if (const cudaError_t error = check_shape(spec, info, request.grid, request.block, why);
      error != cudaSuccess)
    return refuse(info, error, why);
  if (request.dynamic_shared_bytes > state->max_dynamic_shared)
    return refuse(info, cudaErrorInvalidValue,
                  fmt::format("{} bytes of dynamic shared memory, at most {} are allowed unless "
                              "cudaFuncSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize) "
                              "asks for more",
                              request.dynamic_shared_bytes, state->max_dynamic_shared));

  dim3 cluster = request.cluster;
  if (cluster.x == 1 && cluster.y == 1 && cluster.z == 1) {
    cluster = own_cluster(*state);
    if (must_say_cluster(*state) && !request.clustered && !request.node)
      return refuse(info, cudaErrorInvalidClusterSize,
                    "it is declared with __cluster_dims__(): a launch must say how large its "
                    "clusters are");
  }
  if (const cudaError_t error = check_cluster(spec, *state, cluster, why); error != cudaSuccess)
    return refuse(info, error, why);
  if (request.grid.x % cluster.x || request.grid.y % cluster.y || request.grid.z % cluster.z)
    return refuse(info, cudaErrorInvalidClusterSize,
                  fmt::format("its grid of {}x{}x{} blocks is no multiple of its clusters of "
                              "{}x{}x{}",
                              request.grid.x, request.grid.y, request.grid.z, cluster.x, cluster.y,
                              cluster.z));
  if (request.cooperative) {
    const uint64_t threads = uint64_t(request.block.x) * request.block.y * request.block.z;
    const uint64_t resident =
        uint64_t(blocks_per_sm(spec, info, threads, request.dynamic_shared_bytes)) * spec.sm_count;
    if (uint64_t(request.grid.x) * request.grid.y * request.grid.z > resident)
      return cudaErrorCooperativeLaunchTooLarge;
  }

  {
    const std::lock_guard lock(context.mutex);
    if (info.allocates) context.fixed_limits.insert(cudaLimitMallocHeapSize);
    if (info.prints) context.fixed_limits.insert(cudaLimitPrintfFifoSize);
  }
  command.kind = Command::Kind::kernel;
  command.function = request.function;
  command.clustered = request.clustered;
  command.launch.kernel = state->kernel;
  command.launch.grid = {request.grid.x, request.grid.y, request.grid.z};
  command.launch.block = {request.block.x, request.block.y, request.block.z};
  command.launch.cluster = {cluster.x, cluster.y, cluster.z};
  command.launch.dynamic_shared_bytes = request.dynamic_shared_bytes;
  command.launch.cooperative = request.cooperative;
  command.launch.stack_bytes = stack_bytes(context);
  command.launch.parameters.assign(info.parameter_bytes, 0);
  if (!info.parameters.empty() && arguments == nullptr) return cudaErrorInvalidValue;
  for (size_t i = 0; i < info.parameters.size(); i++)
    std::memcpy(command.launch.parameters.data() + info.parameter_offsets[i], arguments[i],
                info.parameters[i].bytes);
  return cudaSuccess;
}

cudaError_t launch(const LaunchRequest& request, void** arguments) {
  const struct Over {
    ~Over() { launch_is_over(); }
  } over;
  return with_stream(request.stream, [&](Context& context, Stream& stream) {
    Command command;
    if (const cudaError_t error = prepare_launch(context, request, arguments, command);
        error != cudaSuccess)
      return error;
    return submit(stream, command);
  });
}

}  // namespace tw::cudart

using namespace tw::cudart;

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
  return launch({.function = function,
                 .grid = grid,
                 .block = block,
                 .dynamic_shared_bytes = shared_bytes,
                 .stream = stream},
                arguments);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                        void** arguments, size_t shared_bytes,
                                        cudaStream_t stream) {
  return launch({.function = function,
                 .grid = grid,
                 .block = block,
                 .dynamic_shared_bytes = shared_bytes,
                 .stream = stream,
                 .cooperative = true},
                arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  if (config == nullptr) return note(cudaErrorInvalidValue);
  LaunchRequest request{.function = function,
                        .grid = config->gridDim,
                        .block = config->blockDim,
                        .dynamic_shared_bytes = config->dynamicSmemBytes,
                        .stream = config->stream};
  for (unsigned i = 0; i < config->numAttrs; i++) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    switch (attribute.id) {
      case cudaLaunchAttributeCooperative:
        request.cooperative = attribute.val.cooperative != 0;
        break;
      case cudaLaunchAttributeClusterDimension:
        request.cluster = dim3(attribute.val.clusterDim.x, attribute.val.clusterDim.y,
                               attribute.val.clusterDim.z);
        request.clustered = true;
        break;
      // Hints and orderings that a stream-ordered execution fulfils in any case.
      case cudaLaunchAttributeIgnore:
      case cudaLaunchAttributeAccessPolicyWindow:
      case cudaLaunchAttributeSynchronizationPolicy:
      case cudaLaunchAttributeClusterSchedulingPolicyPreference:
      case cudaLaunchAttributeProgrammaticStreamSerialization:
      case cudaLaunchAttributePriority:
      case cudaLaunchAttributeMemSyncDomain:
      case cudaLaunchAttributeMemSyncDomainMap:
      case cudaLaunchAttributePreferredSharedMemoryCarveout: break;
      default:
        complain_once("launch attribute " + std::to_string(int(attribute.id)),
                      "cudaLaunchKernelExC: launch attribute " + std::to_string(int(attribute.id)) +
                          " is not supported");
        return note(cudaErrorNotSupported);
    }
  }
  return launch(request, arguments);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return with_context([&](Context& context) -> cudaError_t {
    KernelState* state = nullptr;
    if (const cudaError_t error = find_kernel(context, function, state); error != cudaSuccess)
      return error;
    switch (attribute) {
      case cudaFuncAttributeMaxDynamicSharedMemorySize:
        if (value < 0 || uint64_t(value) + state->info->static_shared_bytes >
                             context.spec().shared_per_block_optin)
          return cudaErrorInvalidValue;
        state->max_dynamic_shared = uint64_t(value);
        return cudaSuccess;
      case cudaFuncAttributePreferredSharedMemoryCarveout:
        if (value < -1 || value > 100) return cudaErrorInvalidValue;
        state->carveout = value;
        return cudaSuccess;
      case cudaFuncAttributeNonPortableClusterSizeAllowed:
        state->large_clusters = value != 0;
        return cudaSuccess;
      case cudaFuncAttributeRequiredClusterWidth:
      case cudaFuncAttributeRequiredClusterHeight:
      case cudaFuncAttributeRequiredClusterDepth:
        if (state->info->cluster[0] != 0) return cudaErrorNotPermitted;
        if (value < 0) return cudaErrorInvalidValue;
        state->cluster[size_t(attribute - cudaFuncAttributeRequiredClusterWidth)] = value;
        return cudaSuccess;
      case cudaFuncAttributeClusterSchedulingPolicyPreference: return cudaSuccess;
      default: return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return with_context([&](Context& context) -> cudaError_t {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    KernelState* state = nullptr;
    if (const cudaError_t error = find_kernel(context, function, state); error != cudaSuccess)
      return error;
    const tw::emu::KernelInfo& info = *state->info;
    *attributes = {};
    attributes->sharedSizeBytes = info.static_shared_bytes;
    attributes->constSizeBytes = info.constant_bytes;
    attributes->localSizeBytes = info.local_bytes;
    const uint32_t bound =
        info.max_ntid[0] * std::max(1u, info.max_ntid[1]) * std::max(1u, info.max_ntid[2]);
    attributes->maxThreadsPerBlock =
        int(bound ? std::min(bound, info.max_threads_per_block) : info.max_threads_per_block);
    attributes->numRegs = int(info.registers);
    attributes->ptxVersion = int(info.target);  // "PTX virtual architecture", major * 10 + minor
    attributes->binaryVersion =
        int(context.spec().compute_major * 10 + context.spec().compute_minor);
    attributes->maxDynamicSharedSizeBytes = int(state->max_dynamic_shared);
    attributes->preferredShmemCarveout = state->carveout;
    attributes->clusterDimMustBeSet = info.explicit_cluster;
    for (size_t i = 0; i < 3; ++i) {
      const int own = info.cluster[0] != 0 ? int(info.cluster[i]) : state->cluster[i];
      (i == 0   ? attributes->requiredClusterWidth
       : i == 1 ? attributes->requiredClusterHeight
                : attributes->requiredClusterDepth) = own;
    }
    attributes->nonPortableClusterSizeAllowed = state->large_clusters;
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return with_context([&](Context& context) {
    KernelState* state = nullptr;
    return find_kernel(context, function, state);
  });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return with_context([&](Context& context) -> cudaError_t {
    if (name == nullptr) return cudaErrorInvalidValue;
    KernelState* state = nullptr;
    if (const cudaError_t error = find_kernel(context, function, state); error != cudaSuccess)
      return error;
    *name = state->info->name.c_str();
    return cudaSuccess;
  });
}

cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset,
                                 size_t* bytes) {
  return with_context([&](Context& context) -> cudaError_t {
    KernelState* state = nullptr;
    if (const cudaError_t error = find_kernel(context, function, state); error != cudaSuccess)
      return error;
    if (offset == nullptr || index >= state->info->parameters.size()) return cudaErrorInvalidValue;
    *offset = state->info->parameter_offsets[index];
    if (bytes) *bytes = state->info->parameters[index].bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* out, const void* symbol) {
  return guarded([&]() -> cudaError_t {
    Function* function = symbol ? Runtime::get().registry.function(symbol) : nullptr;
    if (out == nullptr || function == nullptr) return cudaErrorInvalidDeviceFunction;
    *out = reinterpret_cast<cudaFunction_t>(function);
    return cudaSuccess;
  });
}

cudaError_t cudaGetKernel(cudaKernel_t* out, const void* symbol) {
  return guarded([&]() -> cudaError_t {
    Function* function = symbol ? Runtime::get().registry.function(symbol) : nullptr;
    if (out == nullptr || function == nullptr) return cudaErrorInvalidDeviceFunction;
    *out = reinterpret_cast<cudaKernel_t>(function);
    return cudaSuccess;
  });
}

TW_CUDA_EXPORT cudaError_t cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block,
                                                 void** arguments, size_t shared_bytes,
                                                 cudaStream_t s) {
  return cudaLaunchKernel(function, grid, block, arguments, shared_bytes, per_thread(s));
}
TW_CUDA_EXPORT cudaError_t cudaLaunchCooperativeKernel_ptsz(const void* function, dim3 grid,
                                                            dim3 block, void** arguments,
                                                            size_t shared_bytes, cudaStream_t s) {
  return cudaLaunchCooperativeKernel(function, grid, block, arguments, shared_bytes, per_thread(s));
}
TW_CUDA_EXPORT cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config,
                                                    const void* function, void** arguments) {
  if (config == nullptr) return note(cudaErrorInvalidValue);
  cudaLaunchConfig_t mine = *config;
  mine.stream = per_thread(mine.stream);
  return cudaLaunchKernelExC(&mine, function, arguments);
}
