// Which error each wrong call gives: one line a call, so that the output of a real GPU and of the
// engine can be compared as text (api_errors.expected was recorded on an NVIDIA H200, driver 580).
#include <cstdio>
#include <cstdlib>

__global__ void nothing() {}
__global__ void write(int* p, int v) { p[threadIdx.x] = v; }
__global__ void __launch_bounds__(128) bounded(int* p) { p[threadIdx.x] = 1; }
__global__ void static_shared(int* p) {
  __shared__ int s[1024];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x];
}
__global__ void dynamic_shared(int* p) {
  extern __shared__ int d[];
  d[threadIdx.x] = 1;
  p[threadIdx.x] = d[threadIdx.x];
}
__device__ int variable[4];
__constant__ int constant[4];
int not_a_symbol[4];

static void show(const char* what, cudaError_t e) {
  cudaError_t last = cudaGetLastError();
  printf("%s: %d %s, last %d\n", what, int(e), cudaGetErrorName(e), int(last));
}
#define SHOW(call) show(#call, call)
#define LAUNCH(...)                                                                 \
  do {                                                                              \
    __VA_ARGS__;                                                                    \
    cudaError_t peek = cudaPeekAtLastError(), last = cudaGetLastError();            \
    printf("%s: peek %d last %d %s, sync %d\n", #__VA_ARGS__, int(peek), int(last), \
           cudaGetErrorName(last), int(cudaDeviceSynchronize()));                   \
  } while (0)

int main() {
  int* d = nullptr;
  int h[256] = {};
  SHOW(cudaMalloc(&d, 1024));
  int* q = d;
  SHOW(cudaMalloc(&q, 0));
  printf("null %d\n", q == nullptr);
  SHOW(cudaMalloc((void**)nullptr, 16));
  SHOW(cudaMalloc(&q, size_t(1) << 50));
  SHOW(cudaMallocManaged(&q, 0));
  SHOW(cudaMallocHost(&q, 0));
  SHOW(cudaHostAlloc(&q, 16, 0x1000));

  LAUNCH(nothing<<<0, 32>>>());
  LAUNCH(nothing<<<1, 0>>>());
  LAUNCH(nothing<<<1, 1025>>>());
  LAUNCH(nothing<<<1, dim3(1, 1, 65)>>>());
  LAUNCH(nothing<<<1, dim3(1, 1025, 1)>>>());
  LAUNCH(nothing<<<dim3(1, 65536), 1>>>());
  LAUNCH(nothing<<<dim3(1, 1, 65536), 1>>>());
  LAUNCH(nothing<<<dim3(0x80000000u), 1>>>());
  LAUNCH(nothing<<<1, 32, 48 * 1024>>>());
  LAUNCH(nothing<<<1, 32, 48 * 1024 + 1>>>());
  LAUNCH(static_shared<<<1, 32, 44 * 1024>>>(d));
  LAUNCH(static_shared<<<1, 32, 44 * 1024 + 1>>>(d));
  LAUNCH(dynamic_shared<<<1, 32, 64 * 1024>>>(d));
  SHOW(
      cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  LAUNCH(dynamic_shared<<<1, 32, 64 * 1024>>>(d));
  LAUNCH(dynamic_shared<<<1, 32, 64 * 1024 + 1>>>(d));
  SHOW(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize,
                            228 * 1024));
  SHOW(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize,
                            227 * 1024));
  SHOW(
      cudaFuncSetAttribute(static_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
  SHOW(cudaFuncSetAttribute((const void*)h, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
  LAUNCH(bounded<<<1, 128>>>(d));
  LAUNCH(bounded<<<1, 129>>>(d));
  SHOW(cudaLaunchKernel((const void*)nullptr, dim3(1), dim3(1), nullptr, 0, 0));
  SHOW(cudaLaunchKernel((const void*)h, dim3(1), dim3(1), nullptr, 0, 0));

  SHOW(cudaMemcpy(d, h, 1024, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(d, h, 1028, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(h, d, 1028, cudaMemcpyDeviceToHost));
  SHOW(cudaMemcpy(h, d, 1028, cudaMemcpyDefault));
  SHOW(cudaMemcpy(h, d + 255, 4, cudaMemcpyDeviceToHost));
  SHOW(cudaMemcpy(h, d + 255, 8, cudaMemcpyDeviceToHost));
  SHOW(cudaMemcpy(h, h + 128, 16, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(h, h + 128, 16, cudaMemcpyDeviceToHost));
  SHOW(cudaMemcpy(d, d + 128, 16, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(d, d + 128, 16, cudaMemcpyDeviceToHost));
  SHOW(cudaMemcpy(d, h, 16, cudaMemcpyDeviceToHost));
  SHOW(cudaMemcpy(h, d, 16, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(d, h, 16, cudaMemcpyDeviceToDevice));
  SHOW(cudaMemcpy(d, h, 16, (cudaMemcpyKind)7));
  SHOW(cudaMemcpy(d, h, 0, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(nullptr, h, 0, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(nullptr, h, 16, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy(d, nullptr, 16, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpyAsync(d, h, 2000, cudaMemcpyHostToDevice, 0));
  SHOW(cudaMemcpy2D(d, 16, h, 32, 32, 4, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy2D(d, 32, h, 32, 32, 32, cudaMemcpyHostToDevice));
  SHOW(cudaMemcpy2D(d, 32, h, 32, 32, 33, cudaMemcpyHostToDevice));
  SHOW(cudaMemset(d, 1, 1024));
  SHOW(cudaMemset(d, 1, 1025));
  SHOW(cudaMemset(nullptr, 1, 4));
  SHOW(cudaMemset(nullptr, 1, 0));
  SHOW(cudaMemset2D(d, 16, 0, 32, 4));
  SHOW(cudaMemcpyToSymbol(variable, h, 16));
  SHOW(cudaMemcpyToSymbol(variable, h, 20));
  SHOW(cudaMemcpyToSymbol(variable, h, 4, 12));
  SHOW(cudaMemcpyToSymbol(variable, h, 8, 12));
  SHOW(cudaMemcpyToSymbol(constant, h, 16));
  SHOW(cudaMemcpyToSymbol(not_a_symbol, h, 16));
  SHOW(cudaMemcpyFromSymbol(h, not_a_symbol, 16));
  SHOW(cudaMemcpyFromSymbol(h, variable, 16, 0, cudaMemcpyHostToDevice));
  void* p = nullptr;
  size_t bytes = 0;
  SHOW(cudaGetSymbolAddress(&p, variable));
  SHOW(cudaGetSymbolAddress(&p, not_a_symbol));
  SHOW(cudaGetSymbolSize(&bytes, variable));
  SHOW(cudaGetSymbolSize(&bytes, not_a_symbol));

  SHOW(cudaFree(nullptr));
  SHOW(cudaFree(d + 1));
  SHOW(cudaFree(h));
  SHOW(cudaFreeHost(nullptr));
  SHOW(cudaFreeHost(h));
  SHOW(cudaFreeHost(d));
  int* pinned = nullptr;
  SHOW(cudaMallocHost(&pinned, 64));
  SHOW(cudaFree(pinned));
  SHOW(cudaFreeHost(pinned));
  SHOW(cudaHostUnregister(h));
  int* tmp = nullptr;
  SHOW(cudaMalloc(&tmp, 64));
  SHOW(cudaFree(tmp));
  SHOW(cudaFree(tmp));
  SHOW(cudaMemset(tmp, 0, 64));

  SHOW(cudaSetDevice(99));
  SHOW(cudaSetDevice(-1));
  SHOW(cudaSetDevice(0));
  cudaDeviceProp prop;
  SHOW(cudaGetDeviceProperties(&prop, 99));
  int value = 0;
  SHOW(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99));
  SHOW(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0));
  SHOW(cudaGetDevice(nullptr));
  SHOW(cudaGetDeviceCount(nullptr));
  SHOW(cudaDeviceCanAccessPeer(&value, 0, 0));
  SHOW(cudaDeviceEnablePeerAccess(0, 0));
  SHOW(cudaDeviceSetLimit((cudaLimit)99, 1));
  SHOW(cudaDeviceGetLimit(&bytes, (cudaLimit)99));

  cudaEvent_t a, b;
  SHOW(cudaEventCreate(&a));
  SHOW(cudaEventCreateWithFlags(&b, cudaEventDisableTiming));
  float ms = 0;
  SHOW(cudaEventElapsedTime(&ms, a, a));
  SHOW(cudaEventRecord(a, 0));
  SHOW(cudaEventRecord(b, 0));
  SHOW(cudaEventSynchronize(b));
  SHOW(cudaEventElapsedTime(&ms, a, b));
  SHOW(cudaEventElapsedTime(&ms, a, a));
  SHOW(cudaEventCreateWithFlags(&b, 0x1000));
  cudaEvent_t never;
  SHOW(cudaEventCreate(&never));
  SHOW(cudaEventQuery(never));
  SHOW(cudaEventSynchronize(never));
  SHOW(cudaStreamWaitEvent(0, never, 0));
  SHOW(cudaEventDestroy(never));
  SHOW(cudaEventDestroy(nullptr));
  SHOW(cudaStreamDestroy(nullptr));
  SHOW(cudaStreamSynchronize(nullptr));
  SHOW(cudaStreamQuery(nullptr));
  cudaStream_t s;
  SHOW(cudaStreamCreateWithFlags(&s, 0x10));
  SHOW(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, -100));
  int priority = 0;
  unsigned flags = 0;
  SHOW(cudaStreamGetPriority(s, &priority));
  SHOW(cudaStreamGetFlags(s, &flags));
  printf("priority %d flags %u\n", priority, flags);
  int low = 0, high = 0;
  SHOW(cudaDeviceGetStreamPriorityRange(&low, &high));
  printf("range %d %d\n", low, high);
  SHOW(cudaStreamDestroy(s));

  cudaFuncAttributes fa;
  SHOW(cudaFuncGetAttributes(&fa, static_shared));
  printf("shared %zu const %zu local %zu threads %d ptx %d binary %d maxdyn %d\n",
         fa.sharedSizeBytes, fa.constSizeBytes, fa.localSizeBytes, fa.maxThreadsPerBlock,
         fa.ptxVersion, fa.binaryVersion, fa.maxDynamicSharedSizeBytes);
  SHOW(cudaFuncGetAttributes(&fa, bounded));
  printf("threads %d\n", fa.maxThreadsPerBlock);
  SHOW(cudaFuncGetAttributes(&fa, (const void*)h));
  int blocks = 0;
  SHOW(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 256, 0));
  printf("blocks %d\n", blocks);
  SHOW(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, static_shared, 32, 20000));
  printf("blocks %d\n", blocks);
  SHOW(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 2048, 0));
  SHOW(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 0, 0));

  cudaPointerAttributes pa;
  SHOW(cudaPointerGetAttributes(&pa, d + 3));
  printf("type %d device %d same %d host %d\n", int(pa.type), pa.device, pa.devicePointer == d + 3,
         pa.hostPointer != nullptr);
  SHOW(cudaPointerGetAttributes(&pa, h));
  printf("type %d device %d dev %d host %d\n", int(pa.type), pa.device, pa.devicePointer != nullptr,
         pa.hostPointer != nullptr);
  SHOW(cudaMallocHost(&pinned, 64));
  SHOW(cudaPointerGetAttributes(&pa, pinned));
  printf("type %d device %d same %d host %d\n", int(pa.type), pa.device, pa.devicePointer == pinned,
         pa.hostPointer == pinned);
  int* managed = nullptr;
  SHOW(cudaMallocManaged(&managed, 64));
  SHOW(cudaPointerGetAttributes(&pa, managed));
  printf("type %d device %d same %d host %d\n", int(pa.type), pa.device,
         pa.devicePointer == managed, pa.hostPointer == managed);
  SHOW(cudaHostGetDevicePointer((void**)&q, h, 0));
  SHOW(cudaGetLastError());
  printf("%s|%s|%s\n", cudaGetErrorName((cudaError_t)9999), cudaGetErrorString((cudaError_t)9999),
         cudaGetErrorString(cudaErrorInvalidValue));

  // A kernel fault is sticky: every later call gives it, and cudaGetLastError does not clear it.
  write<<<1, 32>>>((int*)16, 1);
  printf("after fault: sync %d\n", int(cudaDeviceSynchronize()));
  for (int i = 0; i < 2; i++) {
    int pk = cudaPeekAtLastError();
    int lg = cudaGetLastError();
    printf("peek %d get %d\n", pk, lg);
  }
  SHOW(cudaMalloc(&q, 16));
  SHOW(cudaMemcpy(h, d, 16, cudaMemcpyDeviceToHost));
  SHOW(cudaStreamSynchronize(0));
  SHOW(cudaFree(d));
  SHOW(cudaStreamCreate(&s));
  SHOW(cudaEventCreate(&a));
  SHOW(cudaEventQuery(b));
  SHOW(cudaGetDevice(&value));
  SHOW(cudaSetDevice(0));
  SHOW(cudaGetDeviceCount(&value));
  SHOW(cudaMallocHost(&pinned, 64));
  LAUNCH(nothing<<<1, 1>>>());
  LAUNCH(nothing<<<1, 2000>>>());
  return 0;
}
