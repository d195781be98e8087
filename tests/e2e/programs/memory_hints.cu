// What managed memory was advised can be read; batched copies and prefetches; attributes of streams; a copy
// in three dimensions between devices.
#include <cstring>

#include "check.h"

static int range_int(cudaMemRangeAttribute attribute, const void* p, size_t n) {
  int value = -9;
  CHECK(cudaMemRangeGetAttribute(&value, 4, attribute, p, n));
  return value;
}
#if CUDART_VERSION >= 13000
static cudaMemLocation place(int device) {
  cudaMemLocation l = {};
  l.type = device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  l.id = device < 0 ? 0 : device;
  return l;
}
#else
static int place(int device) { return device; }
#endif

int main() {
  const size_t kBytes = 4 << 20;
  char* p;
  CHECK(cudaMallocManaged(&p, kBytes));
  printf("fresh: %d %d %d\n", range_int(cudaMemRangeAttributeReadMostly, p, kBytes),
         range_int(cudaMemRangeAttributePreferredLocation, p, kBytes),
         range_int(cudaMemRangeAttributeLastPrefetchLocation, p, kBytes));
  CHECK(cudaMemAdvise(p, kBytes, cudaMemAdviseSetReadMostly, place(0)));
  CHECK(cudaMemAdvise(p, kBytes / 2, cudaMemAdviseSetPreferredLocation, place(-1)));
  CHECK(cudaMemAdvise(p, kBytes, cudaMemAdviseSetAccessedBy, place(0)));
  int by[2] = {};
  CHECK(cudaMemRangeGetAttribute(by, 8, cudaMemRangeAttributeAccessedBy, p, kBytes));
  printf("advised: %d, half %d, all %d, by %d %d\n",
         range_int(cudaMemRangeAttributeReadMostly, p, kBytes),
         range_int(cudaMemRangeAttributePreferredLocation, p, kBytes / 2),
         range_int(cudaMemRangeAttributePreferredLocation, p, kBytes), by[0], by[1]);
  CHECK(cudaMemAdvise(p, kBytes, cudaMemAdviseUnsetReadMostly, place(0)));
  printf("taken back: %d\n", range_int(cudaMemRangeAttributeReadMostly, p, kBytes));

  cudaStream_t s, t;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaStreamCreate(&t));
  char *a, *b, h[64] = "one", g[64] = "two", out[64];
  CHECK(cudaMalloc(&a, 64));
  CHECK(cudaMalloc(&b, 64));
  void* to[2] = {a, b};
  void* from[2] = {h, g};
  size_t sizes[2] = {64, 64}, first[1] = {0};
  cudaMemcpyAttributes attributes[1] = {};
  attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
#if CUDART_VERSION >= 13000
  CHECK(cudaMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, s));
#else
  size_t failed = 0;
  CHECK(cudaMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, &failed, s));
#endif
  CHECK(cudaMemcpyAsync(out, b, 64, cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  printf("batch: %s\n", out);

  cudaStreamAttrValue value = {}, copy = {};
  value.syncPolicy = cudaSyncPolicyYield;
  CHECK(cudaStreamSetAttribute(s, cudaStreamAttributeSynchronizationPolicy, &value));
  CHECK(cudaStreamCopyAttributes(t, s));
  CHECK(cudaStreamGetAttribute(t, cudaStreamAttributeSynchronizationPolicy, &copy));
  printf("policy: %d\n", int(copy.syncPolicy) == int(cudaSyncPolicyYield));

  cudaMemcpy3DPeerParms parms = {};
  parms.srcPtr = make_cudaPitchedPtr(b, 8, 8, 8);
  parms.dstPtr = make_cudaPitchedPtr(a, 8, 8, 8);
  parms.extent = make_cudaExtent(8, 8, 1);
  CHECK(cudaMemcpy3DPeer(&parms));
  CHECK(cudaMemcpy(out, a, 64, cudaMemcpyDeviceToHost));
  printf("three dimensions: %s\n", out);
  return 0;
}
