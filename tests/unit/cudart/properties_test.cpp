#include "cudart/properties.h"

#include <gtest/gtest.h>

#include "cudart/cuda_api.h"

namespace tw::cudart {
namespace {

// Our layout against the toolkit's own struct, whichever toolkit this is.
#if CUDART_VERSION >= 13000
using Mine = Properties13;
#else
using Mine = Properties12;
#endif
#define SAME_PLACE(field) static_assert(offsetof(Mine, field) == offsetof(cudaDeviceProp, field))
SAME_PLACE(uuid);
SAME_PLACE(totalGlobalMem);
SAME_PLACE(maxThreadsDim);
SAME_PLACE(multiProcessorCount);
SAME_PLACE(maxTexture3DAlt);
SAME_PLACE(maxSurfaceCubemapLayered);
SAME_PLACE(surfaceAlignment);
SAME_PLACE(l2CacheSize);
SAME_PLACE(sharedMemPerMultiprocessor);
SAME_PLACE(cooperativeLaunch);
SAME_PLACE(sharedMemPerBlockOptin);
SAME_PLACE(reservedSharedMemPerBlock);
SAME_PLACE(clusterLaunch);
SAME_PLACE(unifiedFunctionPointers);
static_assert(sizeof(Mine) == sizeof(cudaDeviceProp));

// Places in the CUDA 12.9 struct, computed by hand from driver_types.h: name 256, uuid 16, luid 8,
// mask 4, padding 4.
static_assert(offsetof(Properties12, totalGlobalMem) == 288);
static_assert(offsetof(Properties12, clockRate) == 348);
static_assert(offsetof(Properties12, multiProcessorCount) == 388);

TEST(Properties, TheNumbersOfAnH200) {
  const auto spec = model::load_device_spec("h200");
  ASSERT_TRUE(spec.ok()) << spec.error().to_string();
  Properties13 p;
  fill_properties(p, *spec, 0, spec->memory_bytes);
  EXPECT_STREQ(p.name, "NVIDIA H200");
  EXPECT_EQ(p.multiProcessorCount, 132);
  EXPECT_EQ(p.sharedMemPerBlock, 49152u);
  EXPECT_EQ(p.sharedMemPerBlockOptin, 232448u);
  EXPECT_EQ(p.sharedMemPerMultiprocessor, 233472u);
  EXPECT_EQ(p.reservedSharedMemPerBlock, 1024u);
  EXPECT_EQ(p.l2CacheSize, 62914560);
  EXPECT_EQ(p.persistingL2CacheMaxSize, 39321600);
  EXPECT_EQ(p.maxGridSize[1], 65535);
  EXPECT_EQ(p.maxBlocksPerMultiProcessor, 32);
  Properties12 q;
  fill_properties(q, *spec, 0, spec->memory_bytes);
  EXPECT_EQ(q.multiProcessorCount, 132);
  EXPECT_GT(q.clockRate, 1000000);
}

}  // namespace
}  // namespace tw::cudart
