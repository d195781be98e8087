#include "cudart/properties.h"

#include <cstdio>
#include <cstring>

namespace tw::cudart {
namespace {

template <class P>
void fill_common(P& p, const model::DeviceSpec& spec, int ordinal, uint64_t memory_bytes) {
  p = {};
  std::snprintf(p.name, sizeof p.name, "%s", spec.name.c_str());
  std::snprintf(p.uuid.bytes, sizeof p.uuid.bytes, "tilewright-%d", ordinal);
  p.totalGlobalMem = memory_bytes;
  p.sharedMemPerBlock = spec.shared_per_block;
  p.regsPerBlock = int(spec.registers_per_block);
  p.warpSize = 32;
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = int(spec.max_threads_per_block);
  for (int i = 0; i < 3; i++) {
    p.maxThreadsDim[i] = int(spec.max_block_dim[i]);
    p.maxGridSize[i] = int(spec.max_grid_dim[i]);
  }
  p.totalConstMem = spec.constant_bytes;
  p.major = int(spec.compute_major);
  p.minor = int(spec.compute_minor);
  p.textureAlignment = 512;
  p.texturePitchAlignment = 32;
  p.multiProcessorCount = int(spec.sm_count);
  p.canMapHostMemory = 1;
  const auto set = [](int* to, std::initializer_list<int> values) {
    for (const int value : values) *to++ = value;
  };
  p.maxTexture1D = 131072;
  p.maxTexture1DMipmap = 32768;
  set(p.maxTexture2D, {131072, 65536});
  set(p.maxTexture2DMipmap, {32768, 32768});
  set(p.maxTexture2DLinear, {131072, 65000, 2097120});
  set(p.maxTexture2DGather, {32768, 32768});
  set(p.maxTexture3D, {16384, 16384, 16384});
  set(p.maxTexture3DAlt, {8192, 8192, 32768});
  p.maxTextureCubemap = 32768;
  set(p.maxTexture1DLayered, {32768, 2048});
  set(p.maxTexture2DLayered, {32768, 32768, 2048});
  set(p.maxTextureCubemapLayered, {32768, 2046});
  p.maxSurface1D = 32768;
  set(p.maxSurface2D, {131072, 65536});
  set(p.maxSurface3D, {16384, 16384, 16384});
  set(p.maxSurface1DLayered, {32768, 2048});
  set(p.maxSurface2DLayered, {32768, 32768, 2048});
  p.maxSurfaceCubemap = 32768;
  set(p.maxSurfaceCubemapLayered, {32768, 2046});
  p.surfaceAlignment = 512;
  p.concurrentKernels = 1;
  p.ECCEnabled = 1;
  p.pciDeviceID = ordinal;
  p.asyncEngineCount = int(spec.copy_engines);
  p.unifiedAddressing = 1;
  p.memoryBusWidth = int(spec.memory_bus_bits);
  p.l2CacheSize = int(spec.l2_bytes);
  p.persistingL2CacheMaxSize = int(spec.l2_bytes / 8 * 5);  // an H200: 39321600 of 62914560
  p.maxThreadsPerMultiProcessor = int(spec.max_threads_per_sm);
  p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = 1;
  p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = spec.shared_per_sm;
  p.regsPerMultiprocessor = int(spec.registers_per_sm);
  p.managedMemory = 1;
  p.concurrentManagedAccess = 1;
  p.computePreemptionSupported = 1;
  p.canUseHostPointerForRegisteredMem = 1;
  p.cooperativeLaunch = 1;
  p.sharedMemPerBlockOptin = spec.shared_per_block_optin;
  p.maxBlocksPerMultiProcessor = int(spec.max_blocks_per_sm);
  p.accessPolicyMaxWindowSize = 134217728;
  p.reservedSharedMemPerBlock = spec.shared_reserved_per_block;
  p.hostRegisterSupported = 1;
  p.memoryPoolsSupported = 1;
  p.clusterLaunch = spec.max_cluster_size > 0;
}

}  // namespace

void fill_properties(Properties12& p, const model::DeviceSpec& spec, int ordinal,
                     uint64_t memory_bytes) {
  fill_common(p, spec, ordinal, memory_bytes);
  p.clockRate = int(spec.clock_mhz * 1000);
  p.deviceOverlap = 1;
  p.maxTexture1DLinear = 268435456;
  p.memoryClockRate = int(spec.memory_clock_mhz * 1000);
  p.singleToDoublePrecisionPerfRatio =
      spec.fp64_tflops > 0 ? int(spec.fp32_tflops / spec.fp64_tflops + 0.5) : 0;
}

void fill_properties(Properties13& p, const model::DeviceSpec& spec, int ordinal,
                     uint64_t memory_bytes) {
  fill_common(p, spec, ordinal, memory_bytes);
  p.deviceNumaId = -1;
}

}  // namespace tw::cudart
