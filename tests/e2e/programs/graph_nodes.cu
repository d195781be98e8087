// Graphs by general node parameters; symbols, events, attributes, clones, child graphs that change, user
// objects, capture into a graph that there is.
#include <unistd.h>

#include "check.h"

__device__ int factor;
__global__ void scale(int* p) { p[threadIdx.x] *= factor; }
__global__ void add(int* p, int value) { p[threadIdx.x] += value; }

static volatile int destroyed = 0;  // by a thread of CUDA's, some time
static void destroy(void* p) { destroyed = *static_cast<int*>(p); }
static int calls = 0;
static void host(void* p) { calls += *static_cast<int*>(p); }

static cudaGraphNodeParams kernel(void* function, void** arguments) {
  cudaGraphNodeParams p = {};
  p.type = cudaGraphNodeTypeKernel;
  p.kernel.func = function;
  p.kernel.gridDim = dim3(1);
  p.kernel.blockDim = dim3(32);
  p.kernel.kernelParams = arguments;
  return p;
}

int main() {
  int *p, h[32], five = 5, back = 0;
  CHECK(cudaMalloc(&p, 128));
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  cudaEvent_t first, second;
  CHECK(cudaEventCreate(&first));
  CHECK(cudaEventCreate(&second));

  // fill -> factor = 5 -> scale -> record -> back = factor -> host function
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t fill, to, run, record, from, call;
  cudaGraphNodeParams m = {};
  m.type = cudaGraphNodeTypeMemset;
  m.memset.dst = p;
  m.memset.elementSize = 4;
  m.memset.width = 32;
  m.memset.height = 1;
  m.memset.value = 3;
#if CUDART_VERSION >= 13000
#define ADD(node, needs, n, params) cudaGraphAddNode(node, graph, needs, nullptr, n, params)
#else
#define ADD(node, needs, n, params) cudaGraphAddNode(node, graph, needs, n, params)
#endif
  CHECK(ADD(&fill, nullptr, 0, &m));
  CHECK(cudaGraphAddMemcpyNodeToSymbol(&to, graph, &fill, 1, factor, &five, 4, 0,
                                       cudaMemcpyHostToDevice));
  void* arguments[] = {&p};
  cudaGraphNodeParams k = kernel((void*)scale, arguments);
  CHECK(ADD(&run, &to, 1, &k));
  cudaGraphNodeParams r = {};
  r.type = cudaGraphNodeTypeEventRecord;
  r.eventRecord.event = first;
  CHECK(ADD(&record, &run, 1, &r));
  CHECK(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &record, 1, &back, factor, 4, 0,
                                         cudaMemcpyDeviceToHost));
  int one = 1, ten = 10;
  cudaGraphNodeParams c = {};
  c.type = cudaGraphNodeTypeHost;
  c.host.fn = host;
  c.host.userData = &one;
  CHECK(ADD(&call, &from, 1, &c));

  cudaEvent_t event;
  CHECK(cudaGraphEventRecordNodeGetEvent(record, &event));
  printf("event: %s\n", event == first ? "the first" : "another");
  CHECK(cudaGraphEventRecordNodeSetEvent(record, second));
  CHECK(cudaGraphEventRecordNodeGetEvent(record, &event));
  printf("event: %s\n", event == second ? "the second" : "another");

  cudaLaunchAttributeValue value = {};
  value.cooperative = 1;
  CHECK(cudaGraphKernelNodeSetAttribute(run, cudaLaunchAttributeCooperative, &value));
  value.cooperative = 0;
  CHECK(cudaGraphKernelNodeGetAttribute(run, cudaLaunchAttributeCooperative, &value));
  printf("cooperative: %d\n", value.cooperative);

  static int weight = 7;
  cudaUserObject_t object;
  CHECK(cudaUserObjectCreate(&object, &weight, destroy, 1, cudaUserObjectNoDestructorSync));
  CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));

  cudaGraph_t clone;
  CHECK(cudaGraphClone(&clone, graph));
  cudaGraphNode_t twin;
  CHECK(cudaGraphNodeFindInClone(&twin, run, clone));
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(twin, &type));
  printf("twin: %s, %s\n", twin != run ? "another node" : "the same",
         type == cudaGraphNodeTypeKernel ? "a kernel" : "no kernel");
  printf("not in the clone: %s\n", cudaGetErrorName(cudaGraphNodeFindInClone(&twin, twin, clone)));

  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaMemcpy(h, p, 128, cudaMemcpyDeviceToHost));
  printf("scaled: %d, factor %d, calls %d\n", h[9], back, calls);
  CHECK(cudaEventSynchronize(second));

  // The executable graph changes: another fill, another kernel, another function.
  m.memset.value = 4;
  CHECK(cudaGraphExecNodeSetParams(exec, fill, &m));
  int hundred = 100;
  void* two[] = {&p, &hundred};
  cudaGraphNodeParams other = kernel((void*)add, two);
  CHECK(cudaGraphExecNodeSetParams(exec, run, &other));
  c.host.userData = &ten;
  CHECK(cudaGraphExecNodeSetParams(exec, call, &c));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaMemcpy(h, p, 128, cudaMemcpyDeviceToHost));
  printf("changed: %d, calls %d\n", h[9], calls);

  CHECK(cudaGraphDestroy(clone));
  CHECK(cudaGraphDestroy(graph));
  printf("destroyed: %d\n", destroyed);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaStreamSynchronize(s));
  for (int i = 0; i < 1000 && destroyed == 0; i++) usleep(10000);
  printf("destroyed: %d\n", destroyed);

  // A child graph whose parameters change; what is captured goes behind it.
  cudaGraph_t child, parent;
  CHECK(cudaGraphCreate(&child, 0));
  cudaKernelNodeParams old = {};
  old.func = (void*)add;
  old.gridDim = dim3(1);
  old.blockDim = dim3(32);
  old.kernelParams = two;
  cudaGraphNode_t inner, outer;
  CHECK(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &old));
  CHECK(cudaGraphCreate(&parent, 0));
  CHECK(cudaGraphAddChildGraphNode(&outer, parent, nullptr, 0, child));
  CHECK(cudaStreamBeginCaptureToGraph(s, parent, &outer, nullptr, 1, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemcpyAsync(h, p, 128, cudaMemcpyDeviceToHost, s));
  cudaGraph_t same;
  CHECK(cudaStreamEndCapture(s, &same));
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(parent, nullptr, &nodes));
  printf("captured into %s: %zu nodes\n", same == parent ? "the parent" : "another", nodes);
  CHECK(cudaGraphInstantiate(&exec, parent, 0));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  printf("child: %d\n", h[31]);
  hundred = 1000;
  CHECK(cudaGraphKernelNodeSetParams(inner, &old));
  CHECK(cudaGraphExecChildGraphNodeSetParams(exec, outer, child));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  printf("child changed: %d\n", h[31]);
  return 0;
}
