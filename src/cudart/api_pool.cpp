// Stream-ordered allocation. Memory is taken at the call and given back in stream order; a pool is
// bookkeeping only (attributes, usage), for every allocation comes from the device directly.
#include <algorithm>
#include <atomic>

#include "cudart/api.h"
#include "cudart/graph_memory.h"
#include "cudart/host_observer.h"

using namespace tw::cudart;

namespace {

struct Pool {
  int ordinal = 0;
  bool is_default = false;
  std::atomic<uint64_t> threshold{0}, used{0}, used_high{0};
  int reuse_event = 1, reuse_opportunistic = 1, reuse_internal = 1;
};

struct Pools {
  std::mutex mutex;
  std::vector<std::unique_ptr<Pool>> pools;                              // every pool there is
  std::vector<Pool*> by_default, current;                                // by device
  std::unordered_map<uint64_t, std::pair<Pool*, uint64_t>> allocations;  // address -> pool, bytes

  static Pools& get() {
    static Pools* pools = new Pools;
    return *pools;
  }
  Pool* default_pool(int ordinal) {
    while (by_default.size() <= size_t(ordinal)) {
      pools.push_back(std::make_unique<Pool>());
      pools.back()->ordinal = int(by_default.size());
      pools.back()->is_default = true;
      by_default.push_back(pools.back().get());
      current.push_back(pools.back().get());
    }
    return by_default[size_t(ordinal)];
  }
  Pool* find(cudaMemPool_t handle) {
    for (const auto& pool : pools)
      if (reinterpret_cast<cudaMemPool_t>(pool.get()) == handle) return pool.get();
    return nullptr;
  }
};

cudaMemPool_t handle_of(Pool* pool) { return reinterpret_cast<cudaMemPool_t>(pool); }

cudaError_t allocate(void** pointer, size_t bytes, cudaMemPool_t handle,
                     cudaStream_t stream_handle) {
  return with_stream(stream_handle, [&](Context& context, Stream& stream) -> cudaError_t {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    *pointer = nullptr;
    if (bytes == 0) return cudaErrorInvalidValue;
    if (stream.capture) return capture_allocation(stream, context, bytes, pointer);
    Pools& pools = Pools::get();
    const std::lock_guard lock(pools.mutex);
    pools.default_pool(context.ordinal);
    Pool* pool = handle ? pools.find(handle) : pools.current[size_t(context.ordinal)];
    if (pool == nullptr) return cudaErrorInvalidValue;
    const tw::Result<uint64_t> address =
        context.device().allocate(bytes, tw::emu::AllocationKind::device);
    if (!address) return cudaErrorMemoryAllocation;
    {
      const std::lock_guard context_lock(context.mutex);
      context.live.insert(*address);
    }
    pools.allocations[*address] = {pool, bytes};
    pool->used += bytes;
    pool->used_high = std::max<uint64_t>(pool->used_high, pool->used);
    *pointer = reinterpret_cast<void*>(*address);
    return cudaSuccess;
  });
}

// body(Pools&, Pool&)
template <class Body> cudaError_t with_pool(cudaMemPool_t handle, Body&& body) {
  return with_context([&](Context&) -> cudaError_t {
    Pools& pools = Pools::get();
    const std::lock_guard lock(pools.mutex);
    Pool* pool = pools.find(handle);
    return pool ? body(pools, *pool) : cudaErrorInvalidValue;
  });
}

}  // namespace

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t s) {
  return allocate(pointer, bytes, nullptr, s);
}
TW_CUDA_EXPORT cudaError_t cudaMallocAsync_ptsz(void** pointer, size_t bytes, cudaStream_t s) {
  return allocate(pointer, bytes, nullptr, per_thread(s));
}
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t s) {
  return allocate(pointer, bytes, pool, s);
}
TW_CUDA_EXPORT cudaError_t cudaMallocFromPoolAsync_ptsz(void** pointer, size_t bytes,
                                                        cudaMemPool_t pool, cudaStream_t s) {
  return allocate(pointer, bytes, pool, per_thread(s));
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  return with_stream(handle, [&](Context&, Stream& stream) -> cudaError_t {
    if (pointer == nullptr) return cudaSuccess;
    if (const std::shared_ptr<GraphMemory> memory = GraphMemory::at(pointer)) {
      if (stream.capture) return capture_free(stream, memory);
      if (!memory->in_use) return cudaErrorInvalidValue;
      memory->in_use = false;
      return cudaSuccess;
    }
    const std::optional<Located> located = locate(pointer);
    const uint64_t address = reinterpret_cast<uint64_t>(pointer);
    if (!located || located->allocation.address != address ||
        located->allocation.kind != tw::emu::AllocationKind::device) {
      if (HostObserver* observer = host_observer()) observer->invalid_free(address, false);
      return cudaErrorInvalidValue;
    }
    {
      Pools& pools = Pools::get();
      const std::lock_guard lock(pools.mutex);
      if (const auto place = pools.allocations.find(address); place != pools.allocations.end()) {
        place->second.first->used -= place->second.second;
        pools.allocations.erase(place);
      }
    }
    Context* const owner = located->context;
    return submit(stream, {.work = [=] {
                    const std::lock_guard lock(owner->mutex);
                    owner->live.erase(address);
                    return owner->device().free(address) ? cudaSuccess : cudaErrorInvalidValue;
                  }});
  });
}
TW_CUDA_EXPORT cudaError_t cudaFreeAsync_ptsz(void* pointer, cudaStream_t s) {
  return cudaFreeAsync(pointer, per_thread(s));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* out, int device) {
  return with_context([&](Context&) -> cudaError_t {
    if (out == nullptr) return cudaErrorInvalidValue;
    if (device < 0 || device >= Runtime::get().device_count()) return cudaErrorInvalidDevice;
    const std::lock_guard lock(Pools::get().mutex);
    *out = handle_of(Pools::get().default_pool(device));
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* out, int device) {
  return with_context([&](Context&) -> cudaError_t {
    if (out == nullptr) return cudaErrorInvalidValue;
    if (device < 0 || device >= Runtime::get().device_count()) return cudaErrorInvalidDevice;
    const std::lock_guard lock(Pools::get().mutex);
    Pools::get().default_pool(device);
    *out = handle_of(Pools::get().current[size_t(device)]);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
  return with_pool(handle, [&](Pools& pools, Pool& pool) -> cudaError_t {
    if (device < 0 || device >= Runtime::get().device_count()) return cudaErrorInvalidDevice;
    pools.default_pool(device);
    pools.current[size_t(device)] = &pool;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* out, const cudaMemPoolProps* properties) {
  return with_context([&](Context&) -> cudaError_t {
    if (out == nullptr || properties == nullptr ||
        properties->allocType != cudaMemAllocationTypePinned)
      return cudaErrorInvalidValue;
    if (properties->handleTypes != cudaMemHandleTypeNone ||
        properties->location.type != cudaMemLocationTypeDevice)
      return cudaErrorNotSupported;
    Pools& pools = Pools::get();
    const std::lock_guard lock(pools.mutex);
    pools.pools.push_back(std::make_unique<Pool>());
    pools.pools.back()->ordinal = properties->location.id;
    *out = handle_of(pools.pools.back().get());
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  return with_pool(handle, [&](Pools& pools, Pool& pool) -> cudaError_t {
    if (pool.is_default) return cudaErrorInvalidValue;
    for (size_t i = 0; i < pools.current.size(); i++)
      if (pools.current[i] == &pool) pools.current[i] = pools.by_default[i];
    for (auto& [address, owner] : pools.allocations)
      if (owner.first == &pool) owner.first = pools.default_pool(pool.ordinal);
    std::erase_if(pools.pools, [&](const auto& p) { return p.get() == &pool; });
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t) {
  return with_pool(handle, [](Pools&, Pool&) { return cudaSuccess; });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return with_pool(handle, [&](Pools&, Pool& pool) -> cudaError_t {
    if (value == nullptr) return cudaErrorInvalidValue;
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies:
        pool.reuse_event = *static_cast<int*>(value);
        return cudaSuccess;
      case cudaMemPoolReuseAllowOpportunistic:
        pool.reuse_opportunistic = *static_cast<int*>(value);
        return cudaSuccess;
      case cudaMemPoolReuseAllowInternalDependencies:
        pool.reuse_internal = *static_cast<int*>(value);
        return cudaSuccess;
      case cudaMemPoolAttrReleaseThreshold:
        pool.threshold = *static_cast<uint64_t*>(value);
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh: pool.used_high = pool.used.load(); return cudaSuccess;
      default: return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return with_pool(handle, [&](Pools&, Pool& pool) -> cudaError_t {
    if (value == nullptr) return cudaErrorInvalidValue;
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies:
        *static_cast<int*>(value) = pool.reuse_event;
        return cudaSuccess;
      case cudaMemPoolReuseAllowOpportunistic:
        *static_cast<int*>(value) = pool.reuse_opportunistic;
        return cudaSuccess;
      case cudaMemPoolReuseAllowInternalDependencies:
        *static_cast<int*>(value) = pool.reuse_internal;
        return cudaSuccess;
      case cudaMemPoolAttrReleaseThreshold:
        *static_cast<uint64_t*>(value) = pool.threshold;
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemCurrent:
      case cudaMemPoolAttrUsedMemCurrent:
        *static_cast<uint64_t*>(value) = pool.used;
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh:
        *static_cast<uint64_t*>(value) = pool.used_high;
        return cudaSuccess;
      default: return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc*, size_t) {
  return with_pool(handle, [](Pools&, Pool&) { return cudaSuccess; });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle,
                                 cudaMemLocation* location) {
  return with_pool(handle, [&](Pools&, Pool& pool) -> cudaError_t {
    if (flags == nullptr || location == nullptr) return cudaErrorInvalidValue;
    *flags =
        location->id == pool.ordinal ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
    return cudaSuccess;
  });
}
