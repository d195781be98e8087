// Clusters of kernels that are nodes of graphs: what the program says by attributes, by
// __cluster_dims__ and by cudaFuncSetAttribute, and what it changes. Expected values by hand.
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

// How many blocks the cluster has, and the number of the next one in it.
__device__ void report(int* out) {
  __shared__ int mine;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned ranks = cluster.num_blocks();
  if (threadIdx.x == 0) mine = blockIdx.x;
  cluster.sync();
  const int next = *cluster.map_shared_rank(&mine, (cluster.block_rank() + 1) % ranks);
  cluster.sync();
  if (threadIdx.x == 0) out[blockIdx.x] = int(ranks) * 100 + next;
}
__global__ void plain(int* out) { report(out); }
__global__ void other(int* out) { report(out + 1); }
__global__ void __cluster_dims__(2, 1, 1) pairs(int* out) { report(out); }
// .explicitcluster: each launch says how large.
__global__ void __cluster_dims__() must_say(int* out) { report(out); }

static int *device, host[9];
static cudaStream_t stream;

static void show(const char* what) {
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  printf("%s:", what);
  for (int i = 0; i < 9; i++) printf(" %d", host[i]);
  printf("\n");
  cudaMemset(device, 0, sizeof host);
}
static void launch(cudaGraphExec_t exec, const char* what) {
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  show(what);
}
static cudaKernelNodeParams node_of(const void* function, int blocks) {
  static void* arguments[] = {&device};
  cudaKernelNodeParams p = {};
  p.func = const_cast<void*>(function);
  p.gridDim = dim3(blocks);
  p.blockDim = dim3(32);
  p.kernelParams = arguments;
  return p;
}
static cudaLaunchAttributeValue cluster_of(unsigned x) {
  cudaLaunchAttributeValue v = {};
  v.clusterDim.x = x;
  v.clusterDim.y = v.clusterDim.z = 1;
  return v;
}
static void show_cluster(cudaGraphNode_t node, const char* what) {
  cudaLaunchAttributeValue v = cluster_of(9);
  CHECK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeClusterDimension, &v));
  printf("%s: %u %u %u\n", what, v.clusterDim.x, v.clusterDim.y, v.clusterDim.z);
}

int main() {
  CHECK(cudaMalloc(&device, sizeof host));
  CHECK(cudaMemset(device, 0, sizeof host));
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t node, copy;

  // An attribute stays when parameters change, in the graph and in what was made of it.
  CHECK(cudaGraphCreate(&graph, 0));
  cudaKernelNodeParams p = node_of((const void*)plain, 8);
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &p));
  cudaLaunchAttributeValue v = cluster_of(4);
  CHECK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeClusterDimension, &v));
  p = node_of((const void*)plain, 4);
  CHECK(cudaGraphKernelNodeSetParams(node, &p));
  show_cluster(node, "attribute");
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  launch(exec, "four");
  p = node_of((const void*)other, 8);
  CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &p));
  launch(exec, "another kernel");
  p = node_of((const void*)other, 6);
  printf("six blocks: %s\n", cudaGetErrorName(cudaGraphExecKernelNodeSetParams(exec, node, &p)));
  CHECK(cudaGraphExecDestroy(exec));
  v = cluster_of(9);
  printf("nine: %s\n", cudaGetErrorName(cudaGraphKernelNodeSetAttribute(
                           node, cudaLaunchAttributeClusterDimension, &v)));
  // x * y * z is 2^64.
  v.clusterDim.x = v.clusterDim.y = 1u << 31;
  v.clusterDim.z = 4;
  printf("wraps: %s\n", cudaGetErrorName(cudaGraphKernelNodeSetAttribute(
                            node, cudaLaunchAttributeClusterDimension, &v)));
  p = node_of((const void*)plain, 4);
  CHECK(cudaGraphAddKernelNode(&copy, graph, &node, 1, &p));
  CHECK(cudaGraphKernelNodeCopyAttributes(copy, node));
  show_cluster(copy, "copied");
  CHECK(cudaGraphDestroy(graph));

  // A captured launch.
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(6);
  config.blockDim = dim3(32);
  config.stream = stream;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val = cluster_of(3);
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, plain, device));
  CHECK(cudaStreamEndCapture(stream, &graph));
  size_t count = 1;
  CHECK(cudaGraphGetNodes(graph, &node, &count));
  show_cluster(node, "captured");
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  launch(exec, "three");
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));

  // Kernels that say it themselves, and one that leaves it to the launch.
  CHECK(cudaGraphCreate(&graph, 0));
  p = node_of((const void*)pairs, 6);
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &p));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  launch(exec, "pairs");
  CHECK(cudaGraphExecDestroy(exec));
  v = cluster_of(3);
  printf("pairs by threes: %s\n", cudaGetErrorName(cudaGraphKernelNodeSetAttribute(
                                      node, cudaLaunchAttributeClusterDimension, &v)));
  CHECK(cudaGraphDestroyNode(node));
  p = node_of((const void*)must_say, 6);
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &p));
  printf("not said: %s\n", cudaGetErrorName(cudaGraphInstantiate(&exec, graph, 0)));
  CHECK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeClusterDimension, &v));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  launch(exec, "said");
  CHECK(cudaGraphExecDestroy(exec));
  // Nor does an executable graph take it unsaid later.
  cudaGraph_t silent;
  CHECK(cudaGraphCreate(&silent, 0));
  p = node_of((const void*)plain, 6);
  CHECK(cudaGraphAddKernelNode(&copy, silent, nullptr, 0, &p));
  CHECK(cudaGraphInstantiate(&exec, silent, 0));
  p = node_of((const void*)must_say, 6);
  printf("not said later: %s\n",
         cudaGetErrorName(cudaGraphExecKernelNodeSetParams(exec, copy, &p)));
  CHECK(cudaGraphKernelNodeSetParams(copy, &p));
  cudaGraphExecUpdateResultInfo info;
  const cudaError_t updated = cudaGraphExecUpdate(exec, silent, &info);
  printf("nor by an update: %s, reason %d\n", cudaGetErrorName(updated), int(info.result));
  launch(exec, "as it was");
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(silent));
  CHECK(cudaGraphDestroy(graph));

  // Attributes of the function: all three, or none.
  printf("declared: %s\n",
         cudaGetErrorName(cudaFuncSetAttribute(pairs, cudaFuncAttributeRequiredClusterWidth, 2)));
  CHECK(cudaFuncSetAttribute(plain, cudaFuncAttributeRequiredClusterHeight, 1));
  plain<<<4, 32>>>(device);
  printf("height only: %s\n", cudaGetErrorName(cudaGetLastError()));
  CHECK(cudaFuncSetAttribute(plain, cudaFuncAttributeRequiredClusterDepth, 1));
  CHECK(cudaFuncSetAttribute(plain, cudaFuncAttributeRequiredClusterWidth, 2));
  plain<<<4, 32>>>(device);
  CHECK(cudaDeviceSynchronize());
  show("required");
  printf("required, by threes: %s\n", cudaGetErrorName(cudaLaunchKernelEx(&config, plain, device)));
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, plain));
  printf("attributes: %d %d %d\n", attributes.requiredClusterWidth,
         attributes.requiredClusterHeight, attributes.requiredClusterDepth);
  return 0;
}
