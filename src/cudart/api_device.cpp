// Device queries, limits, flags, peers. cudaGetDeviceProperties itself is in abi/: its struct
// differs.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "cudart/api.h"
#include "cudart/properties.h"

using namespace tw::cudart;

namespace {

struct AttributeRow {
  int attribute;
  size_t offset;  // of the int in Properties12
};
#define TW_FIELD(field) offsetof(Properties12, field)
#define TW_FIELD_AT(field, i) (offsetof(Properties12, field) + (i) * sizeof(int))
// Attributes that are int fields of cudaDeviceProp.
constexpr AttributeRow kAttributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, TW_FIELD(maxThreadsPerBlock)},
    {cudaDevAttrMaxBlockDimX, TW_FIELD_AT(maxThreadsDim, 0)},
    {cudaDevAttrMaxBlockDimY, TW_FIELD_AT(maxThreadsDim, 1)},
    {cudaDevAttrMaxBlockDimZ, TW_FIELD_AT(maxThreadsDim, 2)},
    {cudaDevAttrMaxGridDimX, TW_FIELD_AT(maxGridSize, 0)},
    {cudaDevAttrMaxGridDimY, TW_FIELD_AT(maxGridSize, 1)},
    {cudaDevAttrMaxGridDimZ, TW_FIELD_AT(maxGridSize, 2)},
    {cudaDevAttrWarpSize, TW_FIELD(warpSize)},
    {cudaDevAttrMaxRegistersPerBlock, TW_FIELD(regsPerBlock)},
    {cudaDevAttrClockRate, TW_FIELD(clockRate)},
    {cudaDevAttrGpuOverlap, TW_FIELD(deviceOverlap)},
    {cudaDevAttrMultiProcessorCount, TW_FIELD(multiProcessorCount)},
    {cudaDevAttrKernelExecTimeout, TW_FIELD(kernelExecTimeoutEnabled)},
    {cudaDevAttrIntegrated, TW_FIELD(integrated)},
    {cudaDevAttrCanMapHostMemory, TW_FIELD(canMapHostMemory)},
    {cudaDevAttrComputeMode, TW_FIELD(computeMode)},
    {cudaDevAttrMaxTexture1DWidth, TW_FIELD(maxTexture1D)},
    {cudaDevAttrMaxTexture2DWidth, TW_FIELD_AT(maxTexture2D, 0)},
    {cudaDevAttrMaxTexture2DHeight, TW_FIELD_AT(maxTexture2D, 1)},
    {cudaDevAttrMaxTexture3DWidth, TW_FIELD_AT(maxTexture3D, 0)},
    {cudaDevAttrMaxTexture3DHeight, TW_FIELD_AT(maxTexture3D, 1)},
    {cudaDevAttrMaxTexture3DDepth, TW_FIELD_AT(maxTexture3D, 2)},
    {cudaDevAttrMaxTexture2DLayeredWidth, TW_FIELD_AT(maxTexture2DLayered, 0)},
    {cudaDevAttrMaxTexture2DLayeredHeight, TW_FIELD_AT(maxTexture2DLayered, 1)},
    {cudaDevAttrMaxTexture2DLayeredLayers, TW_FIELD_AT(maxTexture2DLayered, 2)},
    {cudaDevAttrConcurrentKernels, TW_FIELD(concurrentKernels)},
    {cudaDevAttrEccEnabled, TW_FIELD(ECCEnabled)},
    {cudaDevAttrPciBusId, TW_FIELD(pciBusID)},
    {cudaDevAttrPciDeviceId, TW_FIELD(pciDeviceID)},
    {cudaDevAttrPciDomainId, TW_FIELD(pciDomainID)},
    {cudaDevAttrTccDriver, TW_FIELD(tccDriver)},
    {cudaDevAttrMemoryClockRate, TW_FIELD(memoryClockRate)},
    {cudaDevAttrGlobalMemoryBusWidth, TW_FIELD(memoryBusWidth)},
    {cudaDevAttrL2CacheSize, TW_FIELD(l2CacheSize)},
    {cudaDevAttrMaxThreadsPerMultiProcessor, TW_FIELD(maxThreadsPerMultiProcessor)},
    {cudaDevAttrAsyncEngineCount, TW_FIELD(asyncEngineCount)},
    {cudaDevAttrUnifiedAddressing, TW_FIELD(unifiedAddressing)},
    {cudaDevAttrMaxTexture1DLayeredWidth, TW_FIELD_AT(maxTexture1DLayered, 0)},
    {cudaDevAttrMaxTexture1DLayeredLayers, TW_FIELD_AT(maxTexture1DLayered, 1)},
    {cudaDevAttrMaxTexture2DGatherWidth, TW_FIELD_AT(maxTexture2DGather, 0)},
    {cudaDevAttrMaxTexture2DGatherHeight, TW_FIELD_AT(maxTexture2DGather, 1)},
    {cudaDevAttrMaxTexture3DWidthAlt, TW_FIELD_AT(maxTexture3DAlt, 0)},
    {cudaDevAttrMaxTexture3DHeightAlt, TW_FIELD_AT(maxTexture3DAlt, 1)},
    {cudaDevAttrMaxTexture3DDepthAlt, TW_FIELD_AT(maxTexture3DAlt, 2)},
    {cudaDevAttrMaxTextureCubemapWidth, TW_FIELD(maxTextureCubemap)},
    {cudaDevAttrMaxTextureCubemapLayeredWidth, TW_FIELD_AT(maxTextureCubemapLayered, 0)},
    {cudaDevAttrMaxTextureCubemapLayeredLayers, TW_FIELD_AT(maxTextureCubemapLayered, 1)},
    {cudaDevAttrMaxSurface1DWidth, TW_FIELD(maxSurface1D)},
    {cudaDevAttrMaxSurface2DWidth, TW_FIELD_AT(maxSurface2D, 0)},
    {cudaDevAttrMaxSurface2DHeight, TW_FIELD_AT(maxSurface2D, 1)},
    {cudaDevAttrMaxSurface3DWidth, TW_FIELD_AT(maxSurface3D, 0)},
    {cudaDevAttrMaxSurface3DHeight, TW_FIELD_AT(maxSurface3D, 1)},
    {cudaDevAttrMaxSurface3DDepth, TW_FIELD_AT(maxSurface3D, 2)},
    {cudaDevAttrMaxSurface1DLayeredWidth, TW_FIELD_AT(maxSurface1DLayered, 0)},
    {cudaDevAttrMaxSurface1DLayeredLayers, TW_FIELD_AT(maxSurface1DLayered, 1)},
    {cudaDevAttrMaxSurface2DLayeredWidth, TW_FIELD_AT(maxSurface2DLayered, 0)},
    {cudaDevAttrMaxSurface2DLayeredHeight, TW_FIELD_AT(maxSurface2DLayered, 1)},
    {cudaDevAttrMaxSurface2DLayeredLayers, TW_FIELD_AT(maxSurface2DLayered, 2)},
    {cudaDevAttrMaxSurfaceCubemapWidth, TW_FIELD(maxSurfaceCubemap)},
    {cudaDevAttrMaxSurfaceCubemapLayeredWidth, TW_FIELD_AT(maxSurfaceCubemapLayered, 0)},
    {cudaDevAttrMaxSurfaceCubemapLayeredLayers, TW_FIELD_AT(maxSurfaceCubemapLayered, 1)},
    {cudaDevAttrMaxTexture1DLinearWidth, TW_FIELD(maxTexture1DLinear)},
    {cudaDevAttrMaxTexture2DLinearWidth, TW_FIELD_AT(maxTexture2DLinear, 0)},
    {cudaDevAttrMaxTexture2DLinearHeight, TW_FIELD_AT(maxTexture2DLinear, 1)},
    {cudaDevAttrMaxTexture2DLinearPitch, TW_FIELD_AT(maxTexture2DLinear, 2)},
    {cudaDevAttrMaxTexture2DMipmappedWidth, TW_FIELD_AT(maxTexture2DMipmap, 0)},
    {cudaDevAttrMaxTexture2DMipmappedHeight, TW_FIELD_AT(maxTexture2DMipmap, 1)},
    {cudaDevAttrComputeCapabilityMajor, TW_FIELD(major)},
    {cudaDevAttrComputeCapabilityMinor, TW_FIELD(minor)},
    {cudaDevAttrMaxTexture1DMipmappedWidth, TW_FIELD(maxTexture1DMipmap)},
    {cudaDevAttrStreamPrioritiesSupported, TW_FIELD(streamPrioritiesSupported)},
    {cudaDevAttrGlobalL1CacheSupported, TW_FIELD(globalL1CacheSupported)},
    {cudaDevAttrLocalL1CacheSupported, TW_FIELD(localL1CacheSupported)},
    {cudaDevAttrMaxRegistersPerMultiprocessor, TW_FIELD(regsPerMultiprocessor)},
    {cudaDevAttrManagedMemory, TW_FIELD(managedMemory)},
    {cudaDevAttrIsMultiGpuBoard, TW_FIELD(isMultiGpuBoard)},
    {cudaDevAttrMultiGpuBoardGroupID, TW_FIELD(multiGpuBoardGroupID)},
    {cudaDevAttrHostNativeAtomicSupported, TW_FIELD(hostNativeAtomicSupported)},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, TW_FIELD(singleToDoublePrecisionPerfRatio)},
    {cudaDevAttrPageableMemoryAccess, TW_FIELD(pageableMemoryAccess)},
    {cudaDevAttrConcurrentManagedAccess, TW_FIELD(concurrentManagedAccess)},
    {cudaDevAttrComputePreemptionSupported, TW_FIELD(computePreemptionSupported)},
    {cudaDevAttrCanUseHostPointerForRegisteredMem, TW_FIELD(canUseHostPointerForRegisteredMem)},
    {cudaDevAttrCooperativeLaunch, TW_FIELD(cooperativeLaunch)},
    {96 /* cudaDevAttrCooperativeMultiDeviceLaunch, CUDA 12 */,
     TW_FIELD(cooperativeMultiDeviceLaunch)},
    {cudaDevAttrHostRegisterSupported, TW_FIELD(hostRegisterSupported)},
    {cudaDevAttrPageableMemoryAccessUsesHostPageTables,
     TW_FIELD(pageableMemoryAccessUsesHostPageTables)},
    {cudaDevAttrDirectManagedMemAccessFromHost, TW_FIELD(directManagedMemAccessFromHost)},
    {cudaDevAttrMaxBlocksPerMultiprocessor, TW_FIELD(maxBlocksPerMultiProcessor)},
    {cudaDevAttrMaxPersistingL2CacheSize, TW_FIELD(persistingL2CacheMaxSize)},
    {cudaDevAttrMaxAccessPolicyWindowSize, TW_FIELD(accessPolicyMaxWindowSize)},
    {cudaDevAttrSparseCudaArraySupported, TW_FIELD(sparseCudaArraySupported)},
    {cudaDevAttrHostRegisterReadOnlySupported, TW_FIELD(hostRegisterReadOnlySupported)},
    {cudaDevAttrTimelineSemaphoreInteropSupported, TW_FIELD(timelineSemaphoreInteropSupported)},
    {cudaDevAttrMemoryPoolsSupported, TW_FIELD(memoryPoolsSupported)},
    {cudaDevAttrGPUDirectRDMASupported, TW_FIELD(gpuDirectRDMASupported)},
    {cudaDevAttrClusterLaunch, TW_FIELD(clusterLaunch)},
    {cudaDevAttrDeferredMappingCudaArraySupported, TW_FIELD(deferredMappingCudaArraySupported)},
    {cudaDevAttrIpcEventSupport, TW_FIELD(ipcEventSupported)},
};
#undef TW_FIELD
#undef TW_FIELD_AT

// Attributes whose field is a size_t, or that have none.
bool wide_attribute(int attribute, const Properties12& p, int& value) {
  switch (attribute) {
    case cudaDevAttrMaxSharedMemoryPerBlock: value = int(p.sharedMemPerBlock); return true;
    case cudaDevAttrTotalConstantMemory: value = int(p.totalConstMem); return true;
    case cudaDevAttrMaxPitch: value = int(p.memPitch); return true;
    case cudaDevAttrTextureAlignment: value = int(p.textureAlignment); return true;
    case cudaDevAttrTexturePitchAlignment: value = int(p.texturePitchAlignment); return true;
    case cudaDevAttrSurfaceAlignment: value = int(p.surfaceAlignment); return true;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      value = int(p.sharedMemPerMultiprocessor);
      return true;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      value = int(p.sharedMemPerBlockOptin);
      return true;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      value = int(p.reservedSharedMemPerBlock);
      return true;
    case cudaDevAttrCanFlushRemoteWrites:
    case cudaDevAttrGPUDirectRDMAFlushWritesOptions:
    case cudaDevAttrGPUDirectRDMAWritesOrdering:
    case cudaDevAttrMemoryPoolSupportedHandleTypes: value = 0; return true;
    case cudaDevAttrMemSyncDomainCount: value = p.clusterLaunch ? 4 : 1; return true;
    case cudaDevAttrNumaConfig: value = 0; return true;
    case cudaDevAttrNumaId: value = -1; return true;
    default: return false;
  }
}

bool valid_ordinal(int device) { return device >= 0 && device < Runtime::get().device_count(); }

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  return guarded([&]() -> cudaError_t {
    if (count == nullptr) return cudaErrorInvalidValue;
    *count = Runtime::get().device_count();
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return guarded([&]() -> cudaError_t {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = Runtime::get().current_ordinal();
    return cudaSuccess;
  });
}

// CUDA 12 and later create the context here.
cudaError_t cudaSetDevice(int device) {
  return guarded([&]() -> cudaError_t {
    Context* context = nullptr;
    if (const cudaError_t error = Runtime::get().context(device, context); error != cudaSuccess)
      return error;
    Runtime::get().current_ordinal() = device;
    return cudaSuccess;
  });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return guarded([&]() -> cudaError_t {
    Context* context = nullptr;
    return Runtime::get().context(device, context);
  });
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  return guarded([&]() -> cudaError_t {
    for (int i = 0; i < count; i++)
      if (!valid_ordinal(devices[i])) return cudaErrorInvalidDevice;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return guarded([&]() -> cudaError_t {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (!valid_ordinal(device)) return cudaErrorInvalidDevice;
    const tw::model::DeviceSpec* spec = nullptr;
    if (const cudaError_t error = Runtime::get().spec(spec); error != cudaSuccess) return error;
    Properties12 properties;
    fill_properties(properties, *spec, device, spec->memory_bytes);
    if (wide_attribute(int(attribute), properties, *value)) return cudaSuccess;
    for (const AttributeRow& row : kAttributes)
      if (row.attribute == int(attribute)) {
        std::memcpy(value, reinterpret_cast<const char*>(&properties) + row.offset, sizeof *value);
        return cudaSuccess;
      }
    return cudaErrorInvalidValue;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return with_context([](Context& context) {
    Runtime::get().scheduler.wait(context);
    return context.sticky();
  });
}

cudaError_t cudaDeviceReset() {
  return guarded([]() -> cudaError_t {
    Context* context = nullptr;
    if (const cudaError_t error = Runtime::get().current(context); error != cudaSuccess)
      return error;
    context->reset();
    return cudaSuccess;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return with_context([&](Context& context) -> cudaError_t {
    if (flags & ~unsigned(cudaDeviceMask)) return cudaErrorInvalidValue;
    const std::lock_guard lock(context.mutex);
    context.flags = flags;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return with_context([&](Context& context) -> cudaError_t {
    if (flags == nullptr) return cudaErrorInvalidValue;
    const std::lock_guard lock(context.mutex);
    *flags = context.flags | cudaDeviceMapHost;
    return cudaSuccess;
  });
}

namespace {

// What an H200 reports before anything is set.
bool default_limit(const Context& context, int limit, size_t& value) {
  switch (limit) {
    case cudaLimitStackSize: value = 1024; return true;
    case cudaLimitPrintfFifoSize: value = 8650752; return true;
    case cudaLimitMallocHeapSize: value = kDefaultHeapBytes; return true;
    case cudaLimitDevRuntimeSyncDepth: return false;
    case cudaLimitDevRuntimePendingLaunchCount: value = 2048; return true;
    case cudaLimitMaxL2FetchGranularity: value = 64; return true;
    case cudaLimitPersistingL2CacheSize: value = context.spec().l2_bytes / 16 * 3; return true;
    default: return false;
  }
}

}  // namespace

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return with_context([&](Context& context) -> cudaError_t {
    if (value == nullptr || !default_limit(context, limit, *value)) return cudaErrorInvalidValue;
    const std::lock_guard lock(context.mutex);
    if (const auto place = context.limits.find(limit); place != context.limits.end())
      *value = place->second;
    return cudaSuccess;
  });
}

// The stack's is taken by launches (launch.cpp); the engine's printf buffer grows as needed. The
// heap's and printf's are settled by the first launch of a kernel that uses them.
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return with_context([&](Context& context) -> cudaError_t {
    size_t ignored = 0;
    if (!default_limit(context, limit, ignored)) return cudaErrorInvalidValue;
    const std::lock_guard lock(context.mutex);
    if (context.fixed_limits.count(limit)) return cudaErrorInvalidValue;
    context.limits[limit] = value;
    if (limit == cudaLimitMallocHeapSize) context.device().set_heap_limit(value);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return with_context([](Context&) { return cudaSuccess; });
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return with_context([&](Context&) {
    return config ? (*config = cudaFuncCachePreferNone, cudaSuccess) : cudaErrorInvalidValue;
  });
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return with_context([&](Context&) {
    return config ? (*config = cudaSharedMemBankSizeFourByte, cudaSuccess) : cudaErrorInvalidValue;
  });
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return with_context([](Context&) { return cudaSuccess; });
}
cudaError_t cudaFuncSetSharedMemConfig(const void*, cudaSharedMemConfig) {
  return with_context([](Context&) { return cudaSuccess; });
}
cudaError_t cudaCtxResetPersistingL2Cache() {
  return with_context([](Context&) { return cudaSuccess; });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return with_context([&](Context&) -> cudaError_t {
    if (least) *least = 0;
    if (greatest) *greatest = -5;  // as on an H200
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return guarded([&]() -> cudaError_t {
    if (text == nullptr || length < 13) return cudaErrorInvalidValue;
    if (!valid_ordinal(device)) return cudaErrorInvalidDevice;
    std::snprintf(text, size_t(length), "0000:00:%02X.0", device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return guarded([&]() -> cudaError_t {
    unsigned domain = 0, bus = 0, number = 0;
    if (device == nullptr || text == nullptr) return cudaErrorInvalidValue;
    if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &number) != 3 || domain != 0 || bus != 0 ||
        !valid_ordinal(int(number)))
      return cudaErrorInvalidDevice;
    *device = int(number);
    return cudaSuccess;
  });
}

// ---- peers: all devices are in one process and alike, so each can reach every other ------------

namespace {

// cudaSuccess: two different devices.
cudaError_t check_peers(int device, int peer) {
  if (!valid_ordinal(device) || !valid_ordinal(peer)) return cudaErrorInvalidDevice;
  return device == peer ? cudaErrorPeerAccessUnsupported : cudaSuccess;
}

}  // namespace

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return guarded([&]() -> cudaError_t {
    if (can == nullptr) return cudaErrorInvalidValue;
    const cudaError_t error = check_peers(device, peer);
    if (error == cudaErrorInvalidDevice) return error;
    *can = error == cudaSuccess;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return with_context([&](Context& context) -> cudaError_t {
    if (flags != 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = check_peers(context.ordinal, peer); error != cudaSuccess)
      return error;
    Context* other = nullptr;
    if (const cudaError_t error = Runtime::get().context(peer, other); error != cudaSuccess)
      return error;
    const std::lock_guard lock(context.mutex);
    if (!context.peers.insert(peer).second) return cudaErrorPeerAccessAlreadyEnabled;
    context.device().set_peer(other->device(), true);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return with_context([&](Context& context) -> cudaError_t {
    if (!valid_ordinal(peer)) return cudaErrorInvalidDevice;
    const std::lock_guard lock(context.mutex);
    if (context.peers.erase(peer) == 0) return cudaErrorPeerAccessNotEnabled;
    Context* other = nullptr;
    if (const cudaError_t error = Runtime::get().context(peer, other); error != cudaSuccess)
      return error;
    context.device().set_peer(other->device(), false);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device,
                                      int peer) {
  return guarded([&]() -> cudaError_t {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (check_peers(device, peer) != cudaSuccess) return cudaErrorInvalidDevice;
    switch (attribute) {
      case cudaDevP2PAttrPerformanceRank:
      case cudaDevP2PAttrCudaArrayAccessSupported: *value = 0; return cudaSuccess;
      case cudaDevP2PAttrAccessSupported:
      case cudaDevP2PAttrNativeAtomicSupported: *value = 1; return cudaSuccess;
      default: return cudaErrorInvalidValue;
    }
  });
}
