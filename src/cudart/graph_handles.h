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

// body(Context&, GraphNode&) for a node of one type.
template <class Body>
cudaError_t with_node(cudaGraphNode_t handle, cudaGraphNodeType type, Body&& body) {
  return with_context([&](Context& context) -> cudaError_t {
    GraphNode* node = node_of(handle);
    if (node == nullptr || node->type != type) return cudaErrorInvalidValue;
    return body(context, *node);
  });
}
// body(Context&, Step&): the step of a node, of one type.
template <class Body>
cudaError_t with_step(cudaGraphExec_t handle, cudaGraphNode_t node, cudaGraphNodeType type,
                      Body&& body) {
  return with_context([&](Context& context) -> cudaError_t {
    const std::shared_ptr<GraphExec> exec = find_exec(handle);
    GraphExec::Step* step = exec ? exec->find(node_of(node)) : nullptr;
    if (step == nullptr || step->type != type) return cudaErrorInvalidValue;
    return body(context, *step);
  });
}

// What a node may lack until the graph becomes executable (api_graph_exec.cpp).
cudaError_t check_step(Context& context, const GraphExec::Step& step);

// Fills a node's command from the program's parameters.
cudaError_t set_kernel(Context& context, const cudaKernelNodeParams* p, Command& command);
cudaError_t set_copy(const cudaMemcpy3DParms* p, Command& command);
cudaError_t set_fill(const cudaMemsetParams* p, Command& command);
cudaError_t set_host(const cudaHostNodeParams* p, Command& command);
cudaError_t set_linear_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            Command& command);

}  // namespace tw::cudart
