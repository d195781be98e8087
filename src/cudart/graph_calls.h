// The graph calls whose parameters differ between the two ABIs (CUDA 13 added edge data). abi/*.cpp
// give them their symbols. `edges`: an array of cudaGraphEdgeData (8 bytes each); all zero is the
// plain dependency.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cudart/cuda_api.h"

namespace tw::cudart {

inline constexpr size_t kEdgeBytes = 8;  // sizeof(cudaGraphEdgeData)
// Whether these are plain dependencies.
inline bool plain_edges(const void* edges, size_t count) {
  for (size_t i = 0; edges != nullptr && i < count * kEdgeBytes; i++)
    if (static_cast<const uint8_t*>(edges)[i] != 0) return false;
  return true;
}

cudaError_t graph_add_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                   const cudaGraphNode_t* to, const void* edges, size_t count);
cudaError_t graph_remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                      const cudaGraphNode_t* to, size_t count);
cudaError_t graph_edges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, void* edges,
                        size_t* count);
cudaError_t graph_node_dependencies(cudaGraphNode_t node, cudaGraphNode_t* out, void* edges,
                                    size_t* count);
cudaError_t graph_node_dependents(cudaGraphNode_t node, cudaGraphNode_t* out, void* edges,
                                  size_t* count);
cudaError_t graph_add_node(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                           const void* edges, size_t count, cudaGraphNodeParams* p);
cudaError_t stream_update_dependencies(cudaStream_t stream, const cudaGraphNode_t* nodes,
                                       const void* edges, size_t count, unsigned flags);
cudaError_t stream_capture_info(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                unsigned long long* id, cudaGraph_t* graph,
                                const cudaGraphNode_t** nodes, const void** edges, size_t* count);

}  // namespace tw::cudart
