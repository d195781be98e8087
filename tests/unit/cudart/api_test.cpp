// The runtime API against the test double: the same sequence of calls as in a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "cudart/cuda_api.h"
#include "cudart/settings.h"
#include "device_double.h"

extern "C" char __cudaInitModule(void** handle);

namespace tw::test {
namespace {

using testing::HasSubstr;

class Api : public testing::Test {
 protected:
  void SetUp() override { reset_device(); }
  void TearDown() override { reset_device(); }

  static uint32_t* device_words(size_t count) {
    void* p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, count * 4), cudaSuccess);
    EXPECT_EQ(cudaMemset(p, 0, count * 4), cudaSuccess);
    return static_cast<uint32_t*>(p);
  }
  static cudaError_t fill(uint32_t* p, uint32_t value, uint32_t count,
                          cudaStream_t stream = nullptr) {
    void* arguments[] = {&p, &value, &count};
    return cudaLaunchKernel(&stub_fill, dim3(1), dim3(32), arguments, 0, stream);
  }
  static cudaError_t poll(uint32_t* flag, cudaStream_t stream) {
    void* arguments[] = {&flag};
    return cudaLaunchKernel(&stub_poll, dim3(1), dim3(32), arguments, 0, stream);
  }
  static uint32_t read(const uint32_t* p) {
    uint32_t value = 0;
    EXPECT_EQ(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }
};

TEST_F(Api, CopiesInEveryDirectionAndRefusesTheRest) {
  uint32_t host[64], back[64] = {};
  for (uint32_t i = 0; i < 64; i++) host[i] = i * 3;
  uint32_t *a = device_words(64), *b = device_words(64);
  EXPECT_EQ(cudaMemcpy(a, host, 256, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(b, a, 256, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(back, b, 256, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(0, memcmp(host, back, 256));
  // As on an H200 (tests/e2e/programs/api_errors.cu).
  EXPECT_EQ(cudaMemcpy(a, host, 260, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host, host + 8, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(a, b, 16, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(a, host, 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(a, host, 16, cudaMemcpyKind(7)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy(nullptr, host, 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(nullptr, host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Api, PitchedCopiesTouchTheirRectangleOnly) {
  void* p = nullptr;
  size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&p, &pitch, 100, 10), cudaSuccess);
  EXPECT_EQ(pitch, 512u);
  ASSERT_EQ(cudaMemset(p, 0xee, pitch * 10), cudaSuccess);
  uint8_t host[10][20];
  memset(host, 7, sizeof host);
  ASSERT_EQ(cudaMemcpy2D(p, pitch, host, 20, 20, 10, cudaMemcpyHostToDevice), cudaSuccess);
  std::vector<uint8_t> all(pitch * 10);
  ASSERT_EQ(cudaMemcpy(all.data(), p, all.size(), cudaMemcpyDeviceToHost), cudaSuccess);
  for (size_t y = 0; y < 10; y++)
    for (size_t x = 0; x < pitch; x++) ASSERT_EQ(all[y * pitch + x], x < 20 ? 7 : 0xee);
  EXPECT_EQ(cudaMemcpy2D(p, 16, host, 20, 20, 10, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpy2D(p, pitch, host, 20, 20, 11, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset2D(p, pitch, 9, 20, 10), cudaSuccess);
  uint8_t one = 0;
  EXPECT_EQ(cudaMemcpy(&one, static_cast<char*>(p) + 9 * pitch + 19, 1, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(one, 9);
}

TEST_F(Api, ThreeDimensionalCopy) {
  cudaPitchedPtr p{};
  ASSERT_EQ(cudaMalloc3D(&p, cudaExtent{64, 4, 3}), cudaSuccess);
  uint8_t host[3][4][64], back[3][4][64] = {};
  for (int i = 0; i < int(sizeof host); i++) (&host[0][0][0])[i] = uint8_t(i * 7);
  cudaMemcpy3DParms parms{};
  parms.srcPtr = {host, 64, 64, 4};
  parms.dstPtr = p;
  parms.extent = {64, 4, 3};
  parms.kind = cudaMemcpyHostToDevice;
  ASSERT_EQ(cudaMemcpy3D(&parms), cudaSuccess);
  std::swap(parms.srcPtr, parms.dstPtr);
  parms.dstPtr.ptr = back;
  parms.kind = cudaMemcpyDeviceToHost;
  ASSERT_EQ(cudaMemcpy3D(&parms), cudaSuccess);
  EXPECT_EQ(0, memcmp(host, back, sizeof host));
}

TEST_F(Api, AllocationErrors) {
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, 0), cudaSuccess);
  EXPECT_EQ(p, nullptr);
  EXPECT_EQ(cudaMalloc(nullptr, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc(&p, size_t(1) << 50), cudaErrorMemoryAllocation);
  int local = 0;
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFree(&local), cudaErrorInvalidValue);
  ASSERT_EQ(cudaMalloc(&p, 64), cudaSuccess);
  EXPECT_EQ(cudaFree(static_cast<char*>(p) + 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(p), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(p, 0, 64), cudaErrorInvalidValue);
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 64), cudaSuccess);
  EXPECT_EQ(cudaFree(pinned), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(Api, PointerAttributesAndRegisteredMemory) {
  std::vector<char> host(256);
  cudaPointerAttributes a{};
  ASSERT_EQ(cudaPointerGetAttributes(&a, host.data()), cudaSuccess);
  EXPECT_EQ(a.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(a.device, -2);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaErrorHostMemoryNotRegistered);
  ASSERT_EQ(cudaHostRegister(host.data(), host.size(), 0), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(host.data(), host.size(), 0), cudaErrorHostMemoryAlreadyRegistered);
  void* device = nullptr;
  EXPECT_EQ(cudaHostGetDevicePointer(&device, host.data(), 0), cudaSuccess);
  EXPECT_EQ(device, host.data());
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
  void* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 64, cudaMemAttachGlobal), cudaSuccess);
  ASSERT_EQ(cudaPointerGetAttributes(&a, managed), cudaSuccess);
  EXPECT_EQ(a.type, cudaMemoryTypeManaged);
  EXPECT_EQ(a.hostPointer, managed);
}

TEST_F(Api, SymbolsAndManagedVariables) {
  unsigned char bytes[64];
  ASSERT_EQ(cudaMemcpyFromSymbol(bytes, &shadow_table, 64, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(bytes[2], 3);
  const int value = 77;
  EXPECT_EQ(cudaMemcpyToSymbol(&shadow_constant, &value, 4, 12, cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(cudaMemcpyToSymbol(&shadow_constant, bytes, 8, 12, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(&value, bytes, 8, 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaMemcpyFromSymbol(bytes, &shadow_table, 4, 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidMemcpyDirection);
  size_t n = 0;
  EXPECT_EQ(cudaGetSymbolSize(&n, &shadow_table), cudaSuccess);
  EXPECT_EQ(n, 64u);
  ASSERT_NE(managed_slot, nullptr);  // set when the module was loaded
  EXPECT_EQ(*static_cast<int*>(managed_slot), 5);
}

TEST_F(Api, LaunchLimits) {
  uint32_t* p = device_words(32);
  void* arguments[] = {&p};
  const auto shared = [&](dim3 grid, dim3 block, size_t bytes) {
    return cudaLaunchKernel(&stub_shared, grid, block, arguments, bytes, nullptr);
  };
  EXPECT_EQ(shared(dim3(1), dim3(32), 44 * 1024), cudaSuccess);
  EXPECT_EQ(shared(dim3(1), dim3(32), 44 * 1024 + 1), cudaErrorInvalidValue);
  EXPECT_EQ(shared(dim3(0), dim3(32), 0), cudaErrorInvalidValue);
  EXPECT_EQ(shared(dim3(1), dim3(1025), 0), cudaErrorInvalidValue);
  EXPECT_EQ(shared(dim3(1), dim3(1, 1, 65), 0), cudaErrorInvalidValue);
  EXPECT_EQ(shared(dim3(1, 65536), dim3(1), 0), cudaErrorInvalidValue);
  EXPECT_EQ(
      cudaFuncSetAttribute(&stub_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 223 * 1024),
      cudaSuccess);
  EXPECT_EQ(shared(dim3(1), dim3(32), 223 * 1024), cudaSuccess);
  EXPECT_EQ(
      cudaFuncSetAttribute(&stub_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024),
      cudaErrorInvalidValue);
  EXPECT_EQ(cudaLaunchKernel(&stub_bounded, dim3(1), dim3(128), arguments, 0, nullptr),
            cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(&stub_bounded, dim3(1), dim3(129), arguments, 0, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(&p, dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidResourceHandle);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaLaunchKernel(&stub_missing, dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(&stub_unsupported, dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorNotSupported);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("no kernel 'not_in_the_ptx'"));
  EXPECT_THAT(said, HasSubstr("x.ptx:7: kernel cannot run: no such instruction"));
}

TEST_F(Api, StreamsRunInOrderAndTheDefaultStreamWaitsForThem) {
  uint32_t* p = device_words(1);
  cudaStream_t s = nullptr;
  ASSERT_EQ(cudaStreamCreate(&s), cudaSuccess);
  for (uint32_t i = 1; i <= 100; i++)
    ASSERT_EQ(fill(p, i, 1, i % 2 ? s : nullptr), cudaSuccess);  // blocking stream: total order
  EXPECT_EQ(read(p), 100u);
  ASSERT_EQ(cudaStreamDestroy(s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
}

TEST_F(Api, ANonBlockingStreamRunsBesideAPollingKernel) {
  uint32_t* flag = nullptr;
  ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&flag), 4, cudaMemAttachGlobal),
            cudaSuccess);
  *flag = 0;
  uint32_t* p = device_words(1);
  cudaStream_t a = nullptr, b = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(poll(flag, a), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(a), cudaErrorNotReady);
  ASSERT_EQ(fill(p, 9, 1, b), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(b), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(a), cudaErrorNotReady);
  ASSERT_EQ(fill(flag, 1, 1, b), cudaSuccess);  // one kernel releases the other
  EXPECT_EQ(cudaStreamSynchronize(a), cudaSuccess);
  EXPECT_EQ(read(p), 9u);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}

TEST_F(Api, AnEventOrdersTwoStreams) {
  uint32_t* flag = nullptr;
  ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&flag), 4, cudaMemAttachGlobal),
            cudaSuccess);
  *flag = 0;
  uint32_t* p = device_words(1);
  cudaStream_t a = nullptr, b = nullptr;
  cudaEvent_t e = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&e), cudaSuccess);
  ASSERT_EQ(poll(flag, a), cudaSuccess);
  ASSERT_EQ(fill(p, 1, 1, a), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(e, a), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b, e, 0), cudaSuccess);
  ASSERT_EQ(fill(p, 2, 1, b), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(e), cudaErrorNotReady);
  float ms = 0;
  EXPECT_EQ(cudaEventElapsedTime(&ms, e, e), cudaErrorNotReady);
  *flag = 1;  // the host releases the kernel
  EXPECT_EQ(cudaStreamSynchronize(b), cudaSuccess);
  EXPECT_EQ(read(p), 2u);
  EXPECT_EQ(cudaEventQuery(e), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(e), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(e), cudaErrorInvalidResourceHandle);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}

TEST_F(Api, ElapsedTimeIsTheHostsClock) {
  cudaEvent_t a = nullptr, b = nullptr;
  ASSERT_EQ(cudaEventCreate(&a), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&b), cudaSuccess);
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, a, b), cudaErrorInvalidResourceHandle);  // never recorded
  ASSERT_EQ(cudaEventRecord(a, nullptr), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(nullptr, [](void*) { usleep(30000); }, nullptr), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(b, nullptr), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(b), cudaSuccess);
  ASSERT_EQ(cudaEventElapsedTime(&ms, a, b), cudaSuccess);
  EXPECT_GE(ms, 29.f);
  EXPECT_LT(ms, 3000.f);
  cudaEventDestroy(a);
  cudaEventDestroy(b);
}

TEST_F(Api, HostFunctionsRunInStreamOrder) {
  uint32_t* p = device_words(1);
  static std::atomic<uint32_t> seen;
  int value = 42;
  seen = 0;
  ASSERT_EQ(fill(p, 5, 1), cudaSuccess);
  ASSERT_EQ(cudaStreamAddCallback(
                nullptr,
                [](cudaStream_t, cudaError_t status, void* data) {
                  seen = status == cudaSuccess ? *static_cast<int*>(data) : 0;
                },
                &value, 0),
            cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(seen, 42u);
}

TEST_F(Api, AFaultIsStickyUntilReset) {
  testing::internal::CaptureStderr();
  ASSERT_EQ(cudaLaunchKernel(&stub_crash, dim3(1), dim3(1), nullptr, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("k.cu:3: error: store out of bounds [cudaErrorIllegalAddress]"));
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, 16), cudaErrorIllegalAddress);
  cudaStream_t s = nullptr;
  EXPECT_EQ(cudaStreamCreate(&s), cudaErrorIllegalAddress);
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&p, 16), cudaSuccess);
}

TEST_F(Api, WorkAfterAFaultIsDroppedAndNobodyHangs) {
  uint32_t* flag = device_words(1);
  cudaStream_t s = nullptr;
  cudaEvent_t e = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&e), cudaSuccess);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 10; i++) fill(flag, 1, 1, s);
  cudaLaunchKernel(&stub_crash, dim3(1), dim3(1), nullptr, 0, s);
  for (int i = 0; i < 10; i++) fill(flag, 1, 1, s);
  cudaEventRecord(e, s);
  cudaEventSynchronize(e);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
  testing::internal::GetCapturedStderr();
}

TEST_F(Api, DeviceQueries) {
  int count = 0, value = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT_EQ(value, 132);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
            cudaSuccess);
  EXPECT_EQ(value, 232448);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDeviceAttr(9999), 0), cudaErrorInvalidValue);
  int blocks = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &stub_fill, 256, 0),
            cudaSuccess);
  EXPECT_EQ(blocks, 8);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &stub_shared, 32, 20000),
            cudaSuccess);
  EXPECT_EQ(blocks, 9);  // as on an H200
  cudaFuncAttributes a{};
  EXPECT_EQ(cudaFuncGetAttributes(&a, &stub_bounded), cudaSuccess);
  EXPECT_EQ(a.maxThreadsPerBlock, 128);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
  EXPECT_STREQ(cudaGetErrorString(cudaError_t(9999)), "unrecognized error code");
}

TEST_F(Api, PoolMemoryIsFreedInStreamOrder) {
  cudaStream_t s = nullptr;
  ASSERT_EQ(cudaStreamCreate(&s), cudaSuccess);
  void* p = nullptr;
  ASSERT_EQ(cudaMallocAsync(&p, 64, s), cudaSuccess);
  ASSERT_EQ(fill(static_cast<uint32_t*>(p), 3, 16, s), cudaSuccess);
  uint32_t back[16] = {};
  ASSERT_EQ(cudaMemcpyAsync(back, p, 64, cudaMemcpyDeviceToHost, s), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(p, s), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(back[15], 3u);
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
  cudaStreamDestroy(s);
}

TEST_F(Api, ACapturedGraphRunsAgainAndAgain) {
  uint32_t* p = device_words(4);
  cudaStream_t s = nullptr, t = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
  ASSERT_EQ(cudaStreamCreate(&s), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&t), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&fork), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&join), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(fill(p, 1, 4, s), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(fork, s), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(t, fork, 0), cudaSuccess);
  ASSERT_EQ(fill(p, 2, 2, t), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(join, t), cudaSuccess);
  ASSERT_EQ(fill(p + 2, 3, 1, s), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(s, join, 0), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  EXPECT_EQ(read(p), 0u);  // nothing ran yet
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(cudaMemset(p, 0, 16), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(exec, s), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
    EXPECT_EQ(read(p), 2u);
    EXPECT_EQ(read(p + 1), 2u);
    EXPECT_EQ(read(p + 2), 3u);
    EXPECT_EQ(read(p + 3), 1u);
  }
  size_t nodes = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 3u);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(Api, CaptureRefusesWhatItCannotRecord) {
  cudaStream_t s = nullptr;
  ASSERT_EQ(cudaStreamCreate(&s), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed),
            cudaErrorStreamCaptureUnsupported);
  cudaStreamDestroy(s);
}

TEST_F(Api, AnExplicitGraphFollowsItsEdges) {
  uint32_t* p = device_words(1);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  uint32_t value = 8, count = 1, host = 0;
  void* arguments[] = {&p, &value, &count};
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<char*>(&stub_fill);
  kernel.gridDim = kernel.blockDim = dim3(1);
  kernel.kernelParams = arguments;
  cudaGraphNode_t set = nullptr, get = nullptr, clear = nullptr;
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&get, graph, nullptr, 0, &host, p, 4, cudaMemcpyDeviceToHost),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddKernelNode(&set, graph, nullptr, 0, &kernel), cudaSuccess);
  cudaMemsetParams fill_params{};
  fill_params.dst = p;
  fill_params.elementSize = 4;
  fill_params.width = 1;
  fill_params.height = 1;
  fill_params.value = 0x01020304;
  ASSERT_EQ(cudaGraphAddMemsetNode(&clear, graph, &get, 1, &fill_params), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  value = 21;
  ASSERT_EQ(cudaGraphExecKernelNodeSetParams(exec, set, &kernel), cudaSuccess);
  cudaKernelNodeParams given{};
  ASSERT_EQ(cudaGraphKernelNodeGetParams(set, &given), cudaSuccess);
  EXPECT_EQ(*static_cast<uint32_t*>(given.kernelParams[1]), 8u);
  EXPECT_EQ(given.func, kernel.func);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaErrorInvalidValue);
}

TEST_F(Api, ManyThreadsLaunchAtOnce) {
  uint32_t* p = device_words(8);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 8; i++)
    threads.emplace_back([=] {
      for (uint32_t n = 1; n <= 200; n++)
        ASSERT_EQ(fill(p + i, n, 1, cudaStreamPerThread), cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
    });
  for (std::thread& t : threads) t.join();
  for (uint32_t i = 0; i < 8; i++) EXPECT_EQ(read(p + i), 200u);
}

TEST_F(Api, AForkedChildGetsAnError) {
  device_words(1);
  const pid_t child = fork();
  if (child == 0) {
    void* p = nullptr;
    _exit(cudaMalloc(&p, 4) == cudaErrorInitializationError ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Settings, SizesAndErrors) {
  EXPECT_EQ(*cudart::parse_bytes("512M"), uint64_t(512) << 20);
  EXPECT_EQ(*cudart::parse_bytes("4GiB"), uint64_t(4) << 30);
  EXPECT_EQ(*cudart::parse_bytes("123"), 123u);
  for (const char* bad : {"", "G", "-1", "1.5G", "4X", "99999999999999999999", "99999999999T"})
    EXPECT_FALSE(cudart::parse_bytes(bad).ok()) << bad;
}

TEST(Settings, EnvironmentRoundTrip) {
  cudart::Settings s;
  s.gpu = "a100";
  s.threads = 3;
  s.device_memory = 1 << 20;
  s.order_any = true;
  for (const auto& [name, value] : s.to_environment()) setenv(name.c_str(), value.c_str(), 1);
  const auto back = cudart::Settings::from_environment();
  setenv("TILEWRIGHT_THREADS", "many", 1);
  const auto bad = cudart::Settings::from_environment();
  for (const auto& [name, value] : s.to_environment()) unsetenv(name.c_str());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->gpu, "a100");
  EXPECT_EQ(back->threads, 3u);
  EXPECT_EQ(back->device_memory, 1u << 20);
  EXPECT_TRUE(back->order_any);
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.error().message, HasSubstr("TILEWRIGHT_THREADS='many'"));
}

}  // namespace
}  // namespace tw::test
