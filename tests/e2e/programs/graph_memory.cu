// Memory that belongs to graphs: explicit allocation and free nodes, cudaMallocAsync in a captured
// stream, memory that outlives a launch, and what a launch refuses.
#include <cstdio>
#include <cstdlib>

#include "check.h"

constexpr int kCount = 256;

__global__ void fill(int* p, int value) { p[threadIdx.x] = value + int(threadIdx.x); }
__global__ void sum(const int* p, int* out) { atomicAdd(out, p[threadIdx.x]); }

int read_back(const int* p) {
  int h = 0;
  CHECK(cudaMemcpy(&h, p, sizeof h, cudaMemcpyDeviceToHost));
  return h;
}

unsigned long long used() {
  unsigned long long bytes = 0;
  CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &bytes));
  return bytes;
}

void explicit_nodes(int* out) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams wanted = {};
  wanted.poolProps.allocType = cudaMemAllocationTypePinned;
  wanted.poolProps.location.type = cudaMemLocationTypeDevice;
  wanted.bytesize = kCount * sizeof(int);
  cudaGraphNode_t allocation, filled, summed, freed;
  CHECK(cudaGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &wanted));
  int value = 1;
  void* fill_arguments[] = {&wanted.dptr, &value};
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(fill);
  kernel.gridDim = 1, kernel.blockDim = kCount;
  kernel.kernelParams = fill_arguments;
  CHECK(cudaGraphAddKernelNode(&filled, graph, &allocation, 1, &kernel));
  void* sum_arguments[] = {&wanted.dptr, &out};
  kernel.func = reinterpret_cast<void*>(sum);
  kernel.kernelParams = sum_arguments;
  CHECK(cudaGraphAddKernelNode(&summed, graph, &filled, 1, &kernel));
  CHECK(cudaGraphAddMemFreeNode(&freed, graph, &summed, 1, wanted.dptr));
  cudaMemAllocNodeParams got = {};
  void* address = nullptr;
  CHECK(cudaGraphMemAllocNodeGetParams(allocation, &got));
  CHECK(cudaGraphMemFreeNodeGetParams(freed, &address));
  printf("nodes agree: %d\n",
         got.dptr == wanted.dptr && address == wanted.dptr && got.bytesize == wanted.bytesize);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaMemset(out, 0, sizeof(int)));
  for (int i = 0; i < 3; i++) CHECK(cudaGraphLaunch(exec, nullptr));
  printf("explicit: %d\n", read_back(out));
  CHECK(cudaGraphExecDestroy(exec));
}

void captured(int* out) {
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  int* p;
  CHECK(cudaMallocAsync(&p, kCount * sizeof(int), s));
  fill<<<1, kCount, 0, s>>>(p, 2);
  sum<<<1, kCount, 0, s>>>(p, out);
  CHECK(cudaFreeAsync(p, s));
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(s, &graph));
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaMemset(out, 0, sizeof(int)));
  for (int i = 0; i < 2; i++) CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  printf("captured: %zu nodes, %d\n", nodes, read_back(out));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(s));
}

// Allocated by the graph, used after it, freed by the program.
void outlives(int* out) {
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  int* p;
  CHECK(cudaMallocAsync(&p, kCount * sizeof(int), s));
  fill<<<1, kCount, 0, s>>>(p, 3);
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(s, &graph));
  cudaGraphExec_t exec, frees_itself;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaMemsetAsync(out, 0, sizeof(int), s));
  sum<<<1, kCount, 0, s>>>(p, out);
  CHECK(cudaStreamSynchronize(s));
  printf("outlives: %d\n", read_back(out));
  printf("again before the free: %s\n", cudaGetErrorName(cudaGraphLaunch(exec, s)));
  (void)cudaGetLastError();
  CHECK(cudaFreeAsync(p, s));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaFree(p));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphInstantiate(&frees_itself, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  for (int i = 0; i < 2; i++) CHECK(cudaGraphLaunch(frees_itself, s));
  CHECK(cudaStreamSynchronize(s));
  printf("in use: %llu bytes\n", used());
  CHECK(cudaGraphExecDestroy(frees_itself));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(s));
}

int main() {
  int* out;
  CHECK(cudaMalloc(&out, sizeof(int)));
  explicit_nodes(out);
  captured(out);
  outlives(out);
  CHECK(cudaDeviceGraphMemTrim(0));
  cudaGraph_t graph;
  cudaGraphNode_t node;
  CHECK(cudaGraphCreate(&graph, 0));
  printf("free of other memory: %s\n",
         cudaGetErrorName(cudaGraphAddMemFreeNode(&node, graph, nullptr, 0, out)));
  CHECK(cudaGraphDestroy(graph));
  printf("left: %llu bytes\n", used());
}
