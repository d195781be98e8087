// A graph built node by node: memset, copy, kernels, a host node, a child graph; parameters of a
// kernel node changed in the instantiated graph.
#include "suite.h"

__global__ void fill(int* p, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += value + i;
}
__global__ void twice(int* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= 2;
}

int main() {
  int n = 777, value = 3, calls = 0;
  DeviceArray<int> d(n);
  std::vector<int> got(n), wanted(n);
  cudaGraph_t graph, child;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&child, 0));
  cudaGraphNode_t clear, kernel, inner, both, copy, host;

  cudaMemsetParams set{};
  set.dst = d.data, set.elementSize = 4, set.width = size_t(n), set.height = 1, set.value = 10;
  CHECK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &set));

  int* p = d;
  void* arguments[] = {&p, &n, &value};
  cudaKernelNodeParams k{};
  k.func = (void*)fill, k.gridDim = dim3((n + 127) / 128), k.blockDim = dim3(128),
  k.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&kernel, graph, &clear, 1, &k));

  void* inner_arguments[] = {&p, &n};
  cudaKernelNodeParams t = k;
  t.func = (void*)twice, t.kernelParams = inner_arguments;
  CHECK(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &t));
  CHECK(cudaGraphAddChildGraphNode(&both, graph, &kernel, 1, child));
  CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &both, 1, got.data(), p, n * sizeof(int),
                                 cudaMemcpyDeviceToHost));
  cudaHostNodeParams h{};
  h.fn = [](void* count) { ++*static_cast<int*>(count); }, h.userData = &calls;
  CHECK(cudaGraphAddHostNode(&host, graph, &copy, 1, &h));

  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  value = 1000;  // arguments were copied when the node was made
  CHECK(cudaGraphLaunch(exec, 0));
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < n; i++) wanted[i] = 2 * (10 + 3 + i);
  expect_equal(got, wanted, "first launch");
  CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &k));
  CHECK(cudaGraphLaunch(exec, 0));
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < n; i++) wanted[i] = 2 * (10 + 1000 + i);
  expect_equal(got, wanted, "other parameters");
  expect(calls == 2, "host node");
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  return verdict();
}
