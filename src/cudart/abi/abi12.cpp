// What only the CUDA 12 library has. See abi13.cpp.
#include "cudart/api.h"
#include "cudart/copy.h"
#include "cudart/graph_calls.h"
#include "cudart/memory_advice.h"
#include "cudart/properties.h"

#define TW_SYMBOL(name) __asm__(name) __attribute__((visibility("default")))

namespace tw::cudart {

int abi_version() { return 12090; }

extern "C" {

cudaError_t get_device_properties(Properties12* properties, int device)
    TW_SYMBOL("cudaGetDeviceProperties_v2");
cudaError_t get_device_properties(Properties12* properties, int device) {
  return query_properties(properties, device);
}

cudaError_t choose_device(int* device, const Properties12*) TW_SYMBOL("cudaChooseDevice");
cudaError_t choose_device(int* device, const Properties12*) {
  return guarded([&] { return device ? (*device = 0, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t elapsed_time_v2(float* ms, cudaEvent_t a, cudaEvent_t b)
    TW_SYMBOL("cudaEventElapsedTime_v2");
cudaError_t elapsed_time_v2(float* ms, cudaEvent_t a, cudaEvent_t b) {
  return cudaEventElapsedTime(ms, a, b);
}

cudaError_t mem_advise(const void* p, size_t n, cudaMemoryAdvise advice, int device)
    TW_SYMBOL("cudaMemAdvise");
cudaError_t mem_advise(const void* p, size_t n, cudaMemoryAdvise advice, int device) {
  return advise(p, n, advice, device);
}
cudaError_t mem_advise_v2(const void* p, size_t n, cudaMemoryAdvise advice,
                          cudaMemLocation location) TW_SYMBOL("cudaMemAdvise_v2");
cudaError_t mem_advise_v2(const void* p, size_t n, cudaMemoryAdvise advice,
                          cudaMemLocation location) {
  return advise(p, n, advice,
                location.type == cudaMemLocationTypeDevice ? location.id : cudaCpuDeviceId);
}
cudaError_t mem_prefetch(const void* p, size_t n, int device, cudaStream_t s)
    TW_SYMBOL("cudaMemPrefetchAsync");
cudaError_t mem_prefetch(const void* p, size_t n, int device, cudaStream_t s) {
  return prefetch(p, n, device, 0, s);
}
cudaError_t mem_prefetch_ptsz(const void* p, size_t n, int device, cudaStream_t s)
    TW_SYMBOL("cudaMemPrefetchAsync_ptsz");
cudaError_t mem_prefetch_ptsz(const void* p, size_t n, int device, cudaStream_t s) {
  return prefetch(p, n, device, 0, per_thread(s));
}
cudaError_t mem_prefetch_v2(const void* p, size_t n, cudaMemLocation location, unsigned flags,
                            cudaStream_t s) TW_SYMBOL("cudaMemPrefetchAsync_v2");
cudaError_t mem_prefetch_v2(const void* p, size_t n, cudaMemLocation location, unsigned flags,
                            cudaStream_t s) {
  return prefetch(p, n, location.type == cudaMemLocationTypeDevice ? location.id : cudaCpuDeviceId,
                  flags, s);
}

// Calls of old that CUDA 13 dropped.
cudaError_t thread_synchronize() TW_SYMBOL("cudaThreadSynchronize");
cudaError_t thread_synchronize() { return cudaDeviceSynchronize(); }
cudaError_t thread_exit() TW_SYMBOL("cudaThreadExit");
cudaError_t thread_exit() { return cudaDeviceReset(); }
cudaError_t thread_get_limit(size_t* value, cudaLimit limit) TW_SYMBOL("cudaThreadGetLimit");
cudaError_t thread_get_limit(size_t* value, cudaLimit limit) {
  return cudaDeviceGetLimit(value, limit);
}
cudaError_t thread_set_limit(cudaLimit limit, size_t value) TW_SYMBOL("cudaThreadSetLimit");
cudaError_t thread_set_limit(cudaLimit limit, size_t value) {
  return cudaDeviceSetLimit(limit, value);
}
cudaError_t thread_get_cache_config(cudaFuncCache* config) TW_SYMBOL("cudaThreadGetCacheConfig");
cudaError_t thread_get_cache_config(cudaFuncCache* config) {
  return cudaDeviceGetCacheConfig(config);
}
cudaError_t thread_set_cache_config(cudaFuncCache config) TW_SYMBOL("cudaThreadSetCacheConfig");
cudaError_t thread_set_cache_config(cudaFuncCache config) {
  return cudaDeviceSetCacheConfig(config);
}

cudaError_t add_dependencies(cudaGraph_t g, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                             size_t n) TW_SYMBOL("cudaGraphAddDependencies");
cudaError_t add_dependencies(cudaGraph_t g, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                             size_t n) {
  return graph_add_dependencies(g, from, to, nullptr, n);
}
cudaError_t add_dependencies_v2(cudaGraph_t g, const cudaGraphNode_t* from,
                                const cudaGraphNode_t* to, const void* edges, size_t n)
    TW_SYMBOL("cudaGraphAddDependencies_v2");
cudaError_t add_dependencies_v2(cudaGraph_t g, const cudaGraphNode_t* from,
                                const cudaGraphNode_t* to, const void* edges, size_t n) {
  return graph_add_dependencies(g, from, to, edges, n);
}
cudaError_t remove_dependencies(cudaGraph_t g, const cudaGraphNode_t* from,
                                const cudaGraphNode_t* to, size_t n)
    TW_SYMBOL("cudaGraphRemoveDependencies");
cudaError_t remove_dependencies(cudaGraph_t g, const cudaGraphNode_t* from,
                                const cudaGraphNode_t* to, size_t n) {
  return graph_remove_dependencies(g, from, to, n);
}
cudaError_t remove_dependencies_v2(cudaGraph_t g, const cudaGraphNode_t* from,
                                   const cudaGraphNode_t* to, const void* edges, size_t n)
    TW_SYMBOL("cudaGraphRemoveDependencies_v2");
cudaError_t remove_dependencies_v2(cudaGraph_t g, const cudaGraphNode_t* from,
                                   const cudaGraphNode_t* to, const void*, size_t n) {
  return graph_remove_dependencies(g, from, to, n);
}
cudaError_t get_edges(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* n)
    TW_SYMBOL("cudaGraphGetEdges");
cudaError_t get_edges(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* n) {
  return graph_edges(g, from, to, nullptr, n);
}
cudaError_t get_edges_v2(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to, void* edges,
                         size_t* n) TW_SYMBOL("cudaGraphGetEdges_v2");
cudaError_t get_edges_v2(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to, void* edges,
                         size_t* n) {
  return graph_edges(g, from, to, edges, n);
}
cudaError_t get_dependencies(cudaGraphNode_t node, cudaGraphNode_t* out, size_t* n)
    TW_SYMBOL("cudaGraphNodeGetDependencies");
cudaError_t get_dependencies(cudaGraphNode_t node, cudaGraphNode_t* out, size_t* n) {
  return graph_node_dependencies(node, out, nullptr, n);
}
cudaError_t get_dependencies_v2(cudaGraphNode_t node, cudaGraphNode_t* out, void* edges, size_t* n)
    TW_SYMBOL("cudaGraphNodeGetDependencies_v2");
cudaError_t get_dependencies_v2(cudaGraphNode_t node, cudaGraphNode_t* out, void* edges,
                                size_t* n) {
  return graph_node_dependencies(node, out, edges, n);
}
cudaError_t get_dependents(cudaGraphNode_t node, cudaGraphNode_t* out, size_t* n)
    TW_SYMBOL("cudaGraphNodeGetDependentNodes");
cudaError_t get_dependents(cudaGraphNode_t node, cudaGraphNode_t* out, size_t* n) {
  return graph_node_dependents(node, out, nullptr, n);
}
cudaError_t get_dependents_v2(cudaGraphNode_t node, cudaGraphNode_t* out, void* edges, size_t* n)
    TW_SYMBOL("cudaGraphNodeGetDependentNodes_v2");
cudaError_t get_dependents_v2(cudaGraphNode_t node, cudaGraphNode_t* out, void* edges, size_t* n) {
  return graph_node_dependents(node, out, edges, n);
}

cudaError_t add_node(cudaGraphNode_t* out, cudaGraph_t g, const cudaGraphNode_t* needs, size_t n,
                     cudaGraphNodeParams* p) TW_SYMBOL("cudaGraphAddNode");
cudaError_t add_node(cudaGraphNode_t* out, cudaGraph_t g, const cudaGraphNode_t* needs, size_t n,
                     cudaGraphNodeParams* p) {
  return graph_add_node(out, g, needs, nullptr, n, p);
}
cudaError_t add_node_v2(cudaGraphNode_t* out, cudaGraph_t g, const cudaGraphNode_t* needs,
                        const void* edges, size_t n, cudaGraphNodeParams* p)
    TW_SYMBOL("cudaGraphAddNode_v2");
cudaError_t add_node_v2(cudaGraphNode_t* out, cudaGraph_t g, const cudaGraphNode_t* needs,
                        const void* edges, size_t n, cudaGraphNodeParams* p) {
  return graph_add_node(out, g, needs, edges, n, p);
}
cudaError_t update_dependencies(cudaStream_t s, cudaGraphNode_t* nodes, size_t n, unsigned flags)
    TW_SYMBOL("cudaStreamUpdateCaptureDependencies");
cudaError_t update_dependencies(cudaStream_t s, cudaGraphNode_t* nodes, size_t n, unsigned flags) {
  return stream_update_dependencies(s, nodes, nullptr, n, flags);
}
cudaError_t update_dependencies_ptsz(cudaStream_t s, cudaGraphNode_t* nodes, size_t n,
                                     unsigned flags)
    TW_SYMBOL("cudaStreamUpdateCaptureDependencies_ptsz");
cudaError_t update_dependencies_ptsz(cudaStream_t s, cudaGraphNode_t* nodes, size_t n,
                                     unsigned flags) {
  return stream_update_dependencies(per_thread(s), nodes, nullptr, n, flags);
}
cudaError_t update_dependencies_v2(cudaStream_t s, cudaGraphNode_t* nodes, const void* edges,
                                   size_t n, unsigned flags)
    TW_SYMBOL("cudaStreamUpdateCaptureDependencies_v2");
cudaError_t update_dependencies_v2(cudaStream_t s, cudaGraphNode_t* nodes, const void* edges,
                                   size_t n, unsigned flags) {
  return stream_update_dependencies(s, nodes, edges, n, flags);
}
cudaError_t update_dependencies_v2_ptsz(cudaStream_t s, cudaGraphNode_t* nodes, const void* edges,
                                        size_t n, unsigned flags)
    TW_SYMBOL("cudaStreamUpdateCaptureDependencies_v2_ptsz");
cudaError_t update_dependencies_v2_ptsz(cudaStream_t s, cudaGraphNode_t* nodes, const void* edges,
                                        size_t n, unsigned flags) {
  return stream_update_dependencies(per_thread(s), nodes, edges, n, flags);
}

cudaError_t memcpy_batch(void** to, void** from, size_t* bytes, size_t n,
                         cudaMemcpyAttributes* attributes, size_t* first, size_t m, size_t* failed,
                         cudaStream_t s) TW_SYMBOL("cudaMemcpyBatchAsync");
cudaError_t memcpy_batch(void** to, void** from, size_t* bytes, size_t n,
                         cudaMemcpyAttributes* attributes, size_t* first, size_t m, size_t* failed,
                         cudaStream_t s) {
  return copy_batch(to, from, bytes, n, attributes, first, m, failed, s);
}
cudaError_t memcpy_batch_ptsz(void** to, void** from, size_t* bytes, size_t n,
                              cudaMemcpyAttributes* attributes, size_t* first, size_t m,
                              size_t* failed, cudaStream_t s)
    TW_SYMBOL("cudaMemcpyBatchAsync_ptsz");
cudaError_t memcpy_batch_ptsz(void** to, void** from, size_t* bytes, size_t n,
                              cudaMemcpyAttributes* attributes, size_t* first, size_t m,
                              size_t* failed, cudaStream_t s) {
  return copy_batch(to, from, bytes, n, attributes, first, m, failed, per_thread(s));
}

cudaError_t capture_info(cudaStream_t s, cudaStreamCaptureStatus* status, unsigned long long* id)
    TW_SYMBOL("cudaStreamGetCaptureInfo");
cudaError_t capture_info(cudaStream_t s, cudaStreamCaptureStatus* status, unsigned long long* id) {
  return stream_capture_info(s, status, id, nullptr, nullptr, nullptr, nullptr);
}
cudaError_t capture_info_ptsz(cudaStream_t s, cudaStreamCaptureStatus* status,
                              unsigned long long* id) TW_SYMBOL("cudaStreamGetCaptureInfo_ptsz");
cudaError_t capture_info_ptsz(cudaStream_t s, cudaStreamCaptureStatus* status,
                              unsigned long long* id) {
  return stream_capture_info(per_thread(s), status, id, nullptr, nullptr, nullptr, nullptr);
}
cudaError_t capture_info_v2(cudaStream_t s, cudaStreamCaptureStatus* status, unsigned long long* id,
                            cudaGraph_t* graph, const cudaGraphNode_t** nodes, size_t* n)
    TW_SYMBOL("cudaStreamGetCaptureInfo_v2");
cudaError_t capture_info_v2(cudaStream_t s, cudaStreamCaptureStatus* status, unsigned long long* id,
                            cudaGraph_t* graph, const cudaGraphNode_t** nodes, size_t* n) {
  return stream_capture_info(s, status, id, graph, nodes, nullptr, n);
}
cudaError_t capture_info_v3(cudaStream_t s, cudaStreamCaptureStatus* status, unsigned long long* id,
                            cudaGraph_t* graph, const cudaGraphNode_t** nodes, const void** edges,
                            size_t* n) TW_SYMBOL("cudaStreamGetCaptureInfo_v3");
cudaError_t capture_info_v3(cudaStream_t s, cudaStreamCaptureStatus* status, unsigned long long* id,
                            cudaGraph_t* graph, const cudaGraphNode_t** nodes, const void** edges,
                            size_t* n) {
  return stream_capture_info(s, status, id, graph, nodes, edges, n);
}

cudaError_t mem_prefetch_v2_ptsz(const void* p, size_t n, cudaMemLocation location, unsigned flags,
                                 cudaStream_t s) TW_SYMBOL("cudaMemPrefetchAsync_v2_ptsz");
cudaError_t mem_prefetch_v2_ptsz(const void* p, size_t n, cudaMemLocation location, unsigned flags,
                                 cudaStream_t s) {
  return mem_prefetch_v2(p, n, location, flags, per_thread(s));
}
cudaError_t capture_info_v2_ptsz(cudaStream_t s, cudaStreamCaptureStatus* status,
                                 unsigned long long* id, cudaGraph_t* graph,
                                 const cudaGraphNode_t** nodes, size_t* n)
    TW_SYMBOL("cudaStreamGetCaptureInfo_v2_ptsz");
cudaError_t capture_info_v2_ptsz(cudaStream_t s, cudaStreamCaptureStatus* status,
                                 unsigned long long* id, cudaGraph_t* graph,
                                 const cudaGraphNode_t** nodes, size_t* n) {
  return stream_capture_info(per_thread(s), status, id, graph, nodes, nullptr, n);
}
cudaError_t capture_info_v3_ptsz(cudaStream_t s, cudaStreamCaptureStatus* status,
                                 unsigned long long* id, cudaGraph_t* graph,
                                 const cudaGraphNode_t** nodes, const void** edges, size_t* n)
    TW_SYMBOL("cudaStreamGetCaptureInfo_v3_ptsz");
cudaError_t capture_info_v3_ptsz(cudaStream_t s, cudaStreamCaptureStatus* status,
                                 unsigned long long* id, cudaGraph_t* graph,
                                 const cudaGraphNode_t** nodes, const void** edges, size_t* n) {
  return stream_capture_info(per_thread(s), status, id, graph, nodes, edges, n);
}

}  // extern "C"
}  // namespace tw::cudart
