// A captured graph with a fork and a join, launched several times; an explicit one, updated.
#include <cstdio>
#include <cstdlib>

#include "check.h"

__global__ void add(int* p, int value) { p[threadIdx.x] += value; }

int main() {
  int *p, h[64];
  CHECK(cudaMalloc(&p, 256));
  CHECK(cudaMemset(p, 0, 256));
  cudaStream_t s, t;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaStreamCreate(&t));
  cudaEvent_t fork, join;
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  add<<<1, 32, 0, s>>>(p, 1);
  CHECK(cudaEventRecord(fork, s));
  CHECK(cudaStreamWaitEvent(t, fork, 0));
  add<<<1, 32, 0, t>>>(p + 32, 5);
  CHECK(cudaEventRecord(join, t));
  CHECK(cudaStreamWaitEvent(s, join, 0));
  add<<<1, 64, 0, s>>>(p, 10);
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(s, &graph));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 4; i++) CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaMemcpy(h, p, 256, cudaMemcpyDeviceToHost));
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  printf("captured: %zu nodes, %d %d\n", nodes, h[0], h[63]);

  cudaGraph_t made;
  CHECK(cudaGraphCreate(&made, 0));
  int value = 3;
  void* arguments[] = {&p, &value};
  cudaKernelNodeParams k = {};
  k.func = (void*)add;
  k.gridDim = dim3(1);
  k.blockDim = dim3(64);
  k.kernelParams = arguments;
  cudaMemsetParams m = {};
  m.dst = p;
  m.elementSize = 4;
  m.width = 64;
  m.height = 1;
  m.value = 100;
  cudaGraphNode_t set, run, get;
  CHECK(cudaGraphAddMemsetNode(&set, made, nullptr, 0, &m));
  CHECK(cudaGraphAddKernelNode(&run, made, &set, 1, &k));
  CHECK(cudaGraphAddMemcpyNode1D(&get, made, &run, 1, h, p, 256, cudaMemcpyDeviceToHost));
  cudaGraphExec_t second;
  CHECK(cudaGraphInstantiate(&second, made, 0));
  CHECK(cudaGraphLaunch(second, 0));
  CHECK(cudaDeviceSynchronize());
  printf("explicit: %d\n", h[5]);
  value = 20;
  CHECK(cudaGraphExecKernelNodeSetParams(second, run, &k));
  CHECK(cudaGraphLaunch(second, 0));
  CHECK(cudaDeviceSynchronize());
  printf("updated: %d\n", h[5]);
  return 0;
}
