// A graph captured from two streams that fork and join, launched many times; an update of it by
// capturing again with other parameters.
#include "suite.h"

__global__ void multiply_add(float* p, int n, float a, float b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * a + b;
}
__global__ void combine(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += a[i] - b[i];
}

const int n = 1000;

cudaGraph_t capture(cudaStream_t s, cudaStream_t t, float* a, float* b, float* out, float factor) {
  cudaEvent_t fork, join;
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemsetAsync(b, 0, n * sizeof(float), s));
  CHECK(cudaEventRecord(fork, s));
  CHECK(cudaStreamWaitEvent(t, fork));
  multiply_add<<<4, 256, 0, s>>>(a, n, factor, 1);
  multiply_add<<<4, 256, 0, t>>>(b, n, 1, 2);
  CHECK(cudaEventRecord(join, t));
  CHECK(cudaStreamWaitEvent(s, join));
  combine<<<4, 256, 0, s>>>(a, b, out, n);
  CHECK(cudaStreamEndCapture(s, &graph));
  return graph;
}

int main() {
  std::vector<float> h = random_floats(n), wanted(n);
  DeviceArray<float> a(h), b(n), out(n);
  cudaStream_t s, t;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaStreamCreate(&t));
  cudaGraph_t graph = capture(s, t, a, b, out, 0.5f);
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  expect(nodes == 4, "nodes");
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int k = 0; k < 20; k++) CHECK(cudaGraphLaunch(exec, s));
  cudaGraph_t other = capture(s, t, a, b, out, 0.25f);
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, other, &info));
  for (int k = 0; k < 20; k++) CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  for (int k = 0; k < 40; k++)
    for (int i = 0; i < n; i++) h[i] = h[i] * (k < 20 ? 0.5f : 0.25f) + 1, wanted[i] += h[i] - 2;
  expect_near(out.host(), wanted, 1e-5, "forty launches");
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(other));
  return verdict();
}
