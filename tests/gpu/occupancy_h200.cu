// What a real GPU answers to cudaOccupancyMaxActiveBlocksPerMultiprocessor, as a table: the
// expectations of tests/unit/model/occupancy_h200_test.cpp (tests/data/occupancy-h200.tsv).
//
// Problem: no kernel can be written with a given register count. Choice: a family of kernels that
// keep N values alive, with launch bounds that let ptxas go up to 255 registers, and the count read
// back with cudaFuncGetAttributes. The sweep is kernels x threads x dynamic shared memory (about
// 4900 rows). The lines that start with '#' are the device's own properties: they check
// devices/h200.json.
//
// Build and run:  nvcc -arch=sm_90 -O3 -o occupancy_h200 occupancy_h200.cu && ./occupancy_h200 >
// occupancy-h200.tsv
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                         \
  do {                                                                                      \
    const cudaError_t status_ = (call);                                                     \
    if (status_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

// All Live values are read before the first is written back, and each depends on another, so none
// can leave its register early.
template <int Live, int StaticShared, int MaxThreads>
__global__ void __launch_bounds__(MaxThreads) hold(float* data, int rounds) {
  extern __shared__ float dynamic[];
  float value[Live];
#pragma unroll
  for (int i = 0; i < Live; ++i) value[i] = data[i * 1024 + threadIdx.x];
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int i = 0; i < Live; ++i) value[i] = value[i] * value[(i + 7) % Live] + 1.0f;
  }
  if constexpr (StaticShared > 0) {
    __shared__ float fixed[StaticShared / 4];
    fixed[threadIdx.x % (StaticShared / 4)] = value[0];
    __syncthreads();
    value[0] += fixed[(threadIdx.x + 1) % (StaticShared / 4)];
  }
  if (rounds < 0) value[0] += dynamic[threadIdx.x];
#pragma unroll
  for (int i = 0; i < Live; ++i) data[i * 1024 + threadIdx.x] = value[i];
}

using Kernel = void (*)(float*, int);

void sweep(const char* name, Kernel kernel, const cudaDeviceProp& prop) {
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, kernel));
  const int most = static_cast<int>(prop.sharedMemPerBlockOptin - attributes.sharedSizeBytes);
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  const int threads[] = {1,   32,  33,  64,  96,  128, 160, 192, 256,
                         288, 320, 384, 512, 544, 640, 768, 992, 1024};
  const int shared[] = {0,     1,     1024,  3072,  5120,  8192,   11264,  16384,  24576,
                        32768, 38912, 49152, 57344, 75776, 100000, 115712, 166000, most};
  for (int t : threads)
    for (int s : shared) {
      if (s > most) continue;
      int blocks = -1;
      const cudaError_t status =
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, t, s);
      if (status != cudaSuccess) {
        (void)cudaGetLastError();
        blocks = -1;
      }
      std::printf("%s\t%d\t%zu\t%d\t%d\t%d\t%d\n", name, attributes.numRegs,
                  attributes.sharedSizeBytes, attributes.maxThreadsPerBlock, t, s, blocks);
    }
}

int main() {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  int driver = 0, runtime = 0, clock = 0, memory_clock = 0;
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  CHECK(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0));
  CHECK(cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, 0));
  std::printf("# name %s\n# driver %d runtime %d\n# compute %d.%d\n# sm_count %d\n", p.name, driver,
              runtime, p.major, p.minor, p.multiProcessorCount);
  std::printf("# max_threads_per_block %d max_threads_per_sm %d max_blocks_per_sm %d\n",
              p.maxThreadsPerBlock, p.maxThreadsPerMultiProcessor, p.maxBlocksPerMultiProcessor);
  std::printf("# registers_per_block %d registers_per_sm %d\n", p.regsPerBlock,
              p.regsPerMultiprocessor);
  std::printf(
      "# shared_per_block %zu shared_per_block_optin %zu shared_per_sm %zu "
      "shared_reserved_per_block %zu\n",
      p.sharedMemPerBlock, p.sharedMemPerBlockOptin, p.sharedMemPerMultiprocessor,
      p.reservedSharedMemPerBlock);
  std::printf(
      "# l2_bytes %d memory_bytes %zu memory_bus_bits %d copy_engines %d constant_bytes %zu\n",
      p.l2CacheSize, p.totalGlobalMem, p.memoryBusWidth, p.asyncEngineCount, p.totalConstMem);
  std::printf("# clock_khz %d memory_clock_khz %d\n", clock, memory_clock);
  std::printf("kernel\tregisters\tstatic_shared\tmax_threads\tthreads\tdynamic_shared\tblocks\n");
#define SWEEP(live, fixed, bound) \
  sweep("hold_" #live "_" #fixed "_" #bound, hold<live, fixed, bound>, p)
  SWEEP(1, 0, 1024);
  SWEEP(8, 0, 1024);
  SWEEP(16, 0, 1024);
  SWEEP(24, 0, 1024);
  SWEEP(32, 0, 1024);
  SWEEP(40, 0, 1024);
  SWEEP(48, 4096, 1024);
  SWEEP(56, 0, 512);
  SWEEP(72, 0, 512);
  SWEEP(88, 0, 512);
  SWEEP(104, 1000, 512);
  SWEEP(128, 0, 256);
  SWEEP(152, 0, 256);
  SWEEP(176, 0, 256);
  SWEEP(208, 0, 256);
  SWEEP(236, 0, 256);
  return 0;
}
