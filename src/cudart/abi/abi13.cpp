// What only the CUDA 13 library has: calls whose parameters or structs differ from CUDA 12.
//
// They are defined under their symbol names through asm labels and with types of their own, so that
// it does not matter which toolkit's header the build finds.
#include "cudart/api.h"
#include "cudart/copy.h"
#include "cudart/graph_calls.h"
#include "cudart/memory_advice.h"
#include "cudart/properties.h"

#define TW_SYMBOL(name) __asm__(name) __attribute__((visibility("default")))

namespace tw::cudart {

int abi_version() { return 13000; }

#if CUDART_VERSION >= 13000
static_assert(sizeof(cudaDeviceProp) == sizeof(Properties13));
#endif

extern "C" {

cudaError_t get_device_properties(Properties13* properties, int device)
    TW_SYMBOL("cudaGetDeviceProperties");
cudaError_t get_device_properties(Properties13* properties, int device) {
  return query_properties(properties, device);
}

cudaError_t choose_device(int* device, const Properties13*) TW_SYMBOL("cudaChooseDevice");
cudaError_t choose_device(int* device, const Properties13*) {
  return guarded([&] { return device ? (*device = 0, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t mem_advise(const void* p, size_t n, cudaMemoryAdvise advice, cudaMemLocation location)
    TW_SYMBOL("cudaMemAdvise");
cudaError_t mem_advise(const void* p, size_t n, cudaMemoryAdvise advice, cudaMemLocation location) {
  return advise(p, n, advice,
                location.type == cudaMemLocationTypeDevice ? location.id : cudaCpuDeviceId);
}

cudaError_t mem_prefetch(const void* p, size_t n, cudaMemLocation location, unsigned flags,
                         cudaStream_t s) TW_SYMBOL("cudaMemPrefetchAsync");
cudaError_t mem_prefetch(const void* p, size_t n, cudaMemLocation location, unsigned flags,
                         cudaStream_t s) {
  return prefetch(p, n, location.type == cudaMemLocationTypeDevice ? location.id : cudaCpuDeviceId,
                  flags, s);
}
cudaError_t mem_prefetch_ptsz(const void* p, size_t n, cudaMemLocation location, unsigned flags,
                              cudaStream_t s) TW_SYMBOL("cudaMemPrefetchAsync_ptsz");
cudaError_t mem_prefetch_ptsz(const void* p, size_t n, cudaMemLocation location, unsigned flags,
                              cudaStream_t s) {
  return mem_prefetch(p, n, location, flags, per_thread(s));
}

cudaError_t add_dependencies(cudaGraph_t g, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                             const void* edges, size_t n) TW_SYMBOL("cudaGraphAddDependencies");
cudaError_t add_dependencies(cudaGraph_t g, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                             const void* edges, size_t n) {
  return graph_add_dependencies(g, from, to, edges, n);
}
cudaError_t remove_dependencies(cudaGraph_t g, const cudaGraphNode_t* from,
                                const cudaGraphNode_t* to, const void* edges, size_t n)
    TW_SYMBOL("cudaGraphRemoveDependencies");
cudaError_t remove_dependencies(cudaGraph_t g, const cudaGraphNode_t* from,
                                const cudaGraphNode_t* to, const void*, size_t n) {
  return graph_remove_dependencies(g, from, to, n);
}
cudaError_t get_edges(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to, void* edges,
                      size_t* n) TW_SYMBOL("cudaGraphGetEdges");
cudaError_t get_edges(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to, void* edges,
                      size_t* n) {
  return graph_edges(g, from, to, edges, n);
}
cudaError_t get_dependencies(cudaGraphNode_t node, cudaGraphNode_t* out, void* edges, size_t* n)
    TW_SYMBOL("cudaGraphNodeGetDependencies");
cudaError_t get_dependencies(cudaGraphNode_t node, cudaGraphNode_t* out, void* edges, size_t* n) {
  return graph_node_dependencies(node, out, edges, n);
}
cudaError_t get_dependents(cudaGraphNode_t node, cudaGraphNode_t* out, void* edges, size_t* n)
    TW_SYMBOL("cudaGraphNodeGetDependentNodes");
cudaError_t get_dependents(cudaGraphNode_t node, cudaGraphNode_t* out, void* edges, size_t* n) {
  return graph_node_dependents(node, out, edges, n);
}

cudaError_t add_node(cudaGraphNode_t* out, cudaGraph_t g, const cudaGraphNode_t* needs,
                     const void* edges, size_t n, cudaGraphNodeParams* p)
    TW_SYMBOL("cudaGraphAddNode");
cudaError_t add_node(cudaGraphNode_t* out, cudaGraph_t g, const cudaGraphNode_t* needs,
                     const void* edges, size_t n, cudaGraphNodeParams* p) {
  return graph_add_node(out, g, needs, edges, n, p);
}
cudaError_t update_dependencies(cudaStream_t s, cudaGraphNode_t* nodes, const void* edges, size_t n,
                                unsigned flags) TW_SYMBOL("cudaStreamUpdateCaptureDependencies");
cudaError_t update_dependencies(cudaStream_t s, cudaGraphNode_t* nodes, const void* edges, size_t n,
                                unsigned flags) {
  return stream_update_dependencies(s, nodes, edges, n, flags);
}
cudaError_t update_dependencies_ptsz(cudaStream_t s, cudaGraphNode_t* nodes, const void* edges,
                                     size_t n, unsigned flags)
    TW_SYMBOL("cudaStreamUpdateCaptureDependencies_ptsz");
cudaError_t update_dependencies_ptsz(cudaStream_t s, cudaGraphNode_t* nodes, const void* edges,
                                     size_t n, unsigned flags) {
  return stream_update_dependencies(per_thread(s), nodes, edges, n, flags);
}

cudaError_t memcpy_batch(void* const* to, const void* const* from, const size_t* bytes, size_t n,
                         cudaMemcpyAttributes* attributes, size_t* first, size_t m, cudaStream_t s)
    TW_SYMBOL("cudaMemcpyBatchAsync");
cudaError_t memcpy_batch(void* const* to, const void* const* from, const size_t* bytes, size_t n,
                         cudaMemcpyAttributes* attributes, size_t* first, size_t m,
                         cudaStream_t s) {
  return copy_batch(to, from, bytes, n, attributes, first, m, nullptr, s);
}
cudaError_t memcpy_batch_ptsz(void* const* to, const void* const* from, const size_t* bytes,
                              size_t n, cudaMemcpyAttributes* attributes, size_t* first, size_t m,
                              cudaStream_t s) TW_SYMBOL("cudaMemcpyBatchAsync_ptsz");
cudaError_t memcpy_batch_ptsz(void* const* to, const void* const* from, const size_t* bytes,
                              size_t n, cudaMemcpyAttributes* attributes, size_t* first, size_t m,
                              cudaStream_t s) {
  return copy_batch(to, from, bytes, n, attributes, first, m, nullptr, per_thread(s));
}
cudaError_t prefetch_batch(void** p, size_t* bytes, size_t n, cudaMemLocation* locations,
                           size_t* first, size_t m, unsigned long long flags, cudaStream_t s)
    TW_SYMBOL("cudaMemPrefetchBatchAsync");
cudaError_t prefetch_batch(void** p, size_t* bytes, size_t n, cudaMemLocation* locations,
                           size_t* first, size_t m, unsigned long long flags, cudaStream_t s) {
  if (p == nullptr || bytes == nullptr || n == 0 || locations == nullptr || first == nullptr ||
      m == 0 || m > n || first[0] != 0 || flags != 0)
    return note(cudaErrorInvalidValue);
  for (size_t i = 0, at = 0; i < n; i++) {
    while (at + 1 < m && first[at + 1] <= i) at++;
    if (const cudaError_t error = mem_prefetch(p[i], bytes[i], locations[at], 0, s);
        error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}
cudaError_t prefetch_batch_ptsz(void** p, size_t* bytes, size_t n, cudaMemLocation* locations,
                                size_t* first, size_t m, unsigned long long flags, cudaStream_t s)
    TW_SYMBOL("cudaMemPrefetchBatchAsync_ptsz");
cudaError_t prefetch_batch_ptsz(void** p, size_t* bytes, size_t n, cudaMemLocation* locations,
                                size_t* first, size_t m, unsigned long long flags, cudaStream_t s) {
  return prefetch_batch(p, bytes, n, locations, first, m, flags, per_thread(s));
}

// Pools by location; here they are devices'.
cudaError_t pool_device(const cudaMemLocation* location, cudaMemAllocationType type, int& device) {
  if (location == nullptr || type != cudaMemAllocationTypePinned) return cudaErrorInvalidValue;
  if (location->type != cudaMemLocationTypeDevice) return cudaErrorNotSupported;
  device = location->id;
  return cudaSuccess;
}
cudaError_t default_pool(cudaMemPool_t* out, cudaMemLocation* location, cudaMemAllocationType type)
    TW_SYMBOL("cudaMemGetDefaultMemPool");
cudaError_t default_pool(cudaMemPool_t* out, cudaMemLocation* location,
                         cudaMemAllocationType type) {
  int device = 0;
  const cudaError_t error = pool_device(location, type, device);
  return error == cudaSuccess ? cudaDeviceGetDefaultMemPool(out, device) : note(error);
}
cudaError_t get_pool(cudaMemPool_t* out, cudaMemLocation* location, cudaMemAllocationType type)
    TW_SYMBOL("cudaMemGetMemPool");
cudaError_t get_pool(cudaMemPool_t* out, cudaMemLocation* location, cudaMemAllocationType type) {
  int device = 0;
  const cudaError_t error = pool_device(location, type, device);
  return error == cudaSuccess ? cudaDeviceGetMemPool(out, device) : note(error);
}
cudaError_t set_pool(cudaMemLocation* location, cudaMemAllocationType type, cudaMemPool_t pool)
    TW_SYMBOL("cudaMemSetMemPool");
cudaError_t set_pool(cudaMemLocation* location, cudaMemAllocationType type, cudaMemPool_t pool) {
  int device = 0;
  const cudaError_t error = pool_device(location, type, device);
  return error == cudaSuccess ? cudaDeviceSetMemPool(device, pool) : note(error);
}

cudaError_t capture_info(cudaStream_t s, cudaStreamCaptureStatus* status, unsigned long long* id,
                         cudaGraph_t* graph, const cudaGraphNode_t** nodes, const void** edges,
                         size_t* n) TW_SYMBOL("cudaStreamGetCaptureInfo");
cudaError_t capture_info(cudaStream_t s, cudaStreamCaptureStatus* status, unsigned long long* id,
                         cudaGraph_t* graph, const cudaGraphNode_t** nodes, const void** edges,
                         size_t* n) {
  return stream_capture_info(s, status, id, graph, nodes, edges, n);
}
cudaError_t capture_info_ptsz(cudaStream_t s, cudaStreamCaptureStatus* status,
                              unsigned long long* id, cudaGraph_t* graph,
                              const cudaGraphNode_t** nodes, const void** edges, size_t* n)
    TW_SYMBOL("cudaStreamGetCaptureInfo_ptsz");
cudaError_t capture_info_ptsz(cudaStream_t s, cudaStreamCaptureStatus* status,
                              unsigned long long* id, cudaGraph_t* graph,
                              const cudaGraphNode_t** nodes, const void** edges, size_t* n) {
  return stream_capture_info(per_thread(s), status, id, graph, nodes, edges, n);
}

}  // extern "C"
}  // namespace tw::cudart
