// Handles of graphs and executable graphs: addresses of live objects, checked before use.
#pragma once

#include "cudart/api.h"
#include "cudart/graph.h"

namespace tw::cudart {

struct GraphTable {
  std::mutex mutex;
  std::unordered_map<const void*, std::shared_ptr<Graph>> graphs;
  std::unordered_map<const void*, std::shared_ptr<GraphExec>> execs;
  static GraphTable& get();
};

std::shared_ptr<Graph> find_graph(cudaGraph_t handle);
std::shared_ptr<GraphExec> find_exec(cudaGraphExec_t handle);
cudaGraph_t add_graph(std::shared_ptr<Graph> graph);
inline GraphNode* node_of(cudaGraphNode_t handle) { return reinterpret_cast<GraphNode*>(handle); }
inline cudaGraphNode_t handle_of(const GraphNode* node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<GraphNode*>(node));
}

// Fills a node's command from the program's parameters.
cudaError_t set_kernel(Context& context, const cudaKernelNodeParams* p, Command& command);
cudaError_t set_copy(const cudaMemcpy3DParms* p, Command& command);
cudaError_t set_fill(const cudaMemsetParams* p, Command& command);
cudaError_t set_host(const cudaHostNodeParams* p, Command& command);
cudaError_t set_linear_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            Command& command);

}  // namespace tw::cudart
