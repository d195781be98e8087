// What only the CUDA 13 library has: calls whose parameters or structs differ from CUDA 12.
//
// They are defined under their symbol names through asm labels and with types of their own, so that
// it does not matter which toolkit's header the build finds.
#include "cudart/api.h"
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
