// Graphs made node by node.
#include <algorithm>
#include <cstring>

#include "cudart/copy.h"
#include "cudart/graph_calls.h"
#include "cudart/graph_handles.h"
#include "cudart/launch.h"

namespace tw::cudart {

GraphTable& GraphTable::get() {
  static GraphTable* table = new GraphTable;
  return *table;
}

std::shared_ptr<Graph> find_graph(cudaGraph_t handle) {
  GraphTable& table = GraphTable::get();
  const std::lock_guard lock(table.mutex);
  const auto place = table.graphs.find(handle);
  return place == table.graphs.end() ? nullptr : place->second;
}

std::shared_ptr<GraphExec> find_exec(cudaGraphExec_t handle) {
  GraphTable& table = GraphTable::get();
  const std::lock_guard lock(table.mutex);
  const auto place = table.execs.find(handle);
  return place == table.execs.end() ? nullptr : place->second;
}

cudaGraph_t add_graph(std::shared_ptr<Graph> graph) {
  GraphTable& table = GraphTable::get();
  const std::lock_guard lock(table.mutex);
  const auto handle = reinterpret_cast<cudaGraph_t>(graph.get());
  table.graphs[handle] = std::move(graph);
  return handle;
}

// The attributes of a node, its clusters and cooperation, stay.
cudaError_t set_kernel(Context& context, const cudaKernelNodeParams* p, Command& command) {
  if (p == nullptr || p->extra != nullptr) return cudaErrorInvalidValue;
  LaunchRequest request;
  request.function = p->func;
  request.grid = p->gridDim;
  request.block = p->blockDim;
  request.dynamic_shared_bytes = p->sharedMemBytes;
  request.node = true;
  request.cooperative = command.launch.cooperative;
  request.clustered = command.clustered;
  const emu::Dim3& cluster = command.launch.cluster;
  if (request.clustered) request.cluster = dim3(cluster.x, cluster.y, cluster.z);
  return prepare_launch(context, request, p->kernelParams, command);
}

cudaError_t set_linear_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            Command& command) {
  bool pageable = false;
  command.kind = Command::Kind::work;
  return prepare_copy({to, bytes, bytes}, {from, bytes, bytes}, {bytes}, kind, command.work,
                      pageable);
}

cudaError_t set_copy(const cudaMemcpy3DParms* p, Command& command) {
  if (p == nullptr) return cudaErrorInvalidValue;
  if (p->srcArray != nullptr || p->dstArray != nullptr) return cudaErrorNotSupported;
  const auto side = [](const cudaPitchedPtr& pointer, const cudaPos& pos) {
    Side result{nullptr, pointer.pitch, pointer.pitch * pointer.ysize};
    if (pointer.ptr)
      result.address =
          static_cast<uint8_t*>(pointer.ptr) + pos.x + pos.y * result.pitch + pos.z * result.slice;
    return result;
  };
  bool pageable = false;
  command.kind = Command::Kind::work;
  return prepare_copy(side(p->dstPtr, p->dstPos), side(p->srcPtr, p->srcPos),
                      {p->extent.width, p->extent.height, p->extent.depth}, p->kind, command.work,
                      pageable);
}

cudaError_t set_fill(const cudaMemsetParams* p, Command& command) {
  if (p == nullptr || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
    return cudaErrorInvalidValue;
  command.kind = Command::Kind::work;
  const size_t bytes = p->width * p->elementSize;
  return prepare_fill({p->dst, p->height > 1 ? p->pitch : bytes, 0}, int(p->value), p->elementSize,
                      {bytes, std::max<size_t>(1, p->height)}, command.work);
}

cudaError_t set_host(const cudaHostNodeParams* p, Command& command) {
  if (p == nullptr || p->fn == nullptr) return cudaErrorInvalidValue;
  command.kind = Command::Kind::host_function;
  command.work = [function = p->fn, data = p->userData] {
    function(data);
    return cudaSuccess;
  };
  return cudaSuccess;
}

namespace {

// Adds a node whose command `fill` makes: fill(Context&, GraphNode&).
template <class Fill>
cudaError_t add_node(cudaGraphNode_t* out, cudaGraph_t handle, const cudaGraphNode_t* needs,
                     size_t count, cudaGraphNodeType type, Fill&& fill) {
  return with_context([&](Context& context) -> cudaError_t {
    const std::shared_ptr<Graph> graph = find_graph(handle);
    if (!graph || out == nullptr || (count != 0 && needs == nullptr)) return cudaErrorInvalidValue;
    GraphNode draft;
    if (const cudaError_t error = fill(context, draft); error != cudaSuccess) return error;
    std::vector<GraphNode*> needed;
    for (size_t i = 0; i < count; i++) {
      GraphNode* node = node_of(needs[i]);
      if (node == nullptr || node->graph != graph.get()) return cudaErrorInvalidValue;
      if (std::find(needed.begin(), needed.end(), node) != needed.end())
        return cudaErrorInvalidValue;
      needed.push_back(node);
    }
    GraphNode* node = graph->add(type, {});
    draft.type = type;
    draft.graph = graph.get();
    draft.needs = std::move(needed);
    *node = std::move(draft);
    *out = handle_of(node);
    return cudaSuccess;
  });
}

bool depends(const GraphNode* from, const GraphNode* on) {
  if (from == on) return true;
  return std::any_of(from->needs.begin(), from->needs.end(),
                     [&](const GraphNode* n) { return depends(n, on); });
}

// Copies `nodes` into the caller's array as CUDA does: no array asks for the number only.
void give_nodes(const std::vector<const GraphNode*>& nodes, cudaGraphNode_t* out, size_t* count) {
  if (out != nullptr) {
    for (size_t i = 0; i < *count; i++) out[i] = i < nodes.size() ? handle_of(nodes[i]) : nullptr;
    *count = std::min(*count, nodes.size());
  } else {
    *count = nodes.size();
  }
}

}  // namespace

cudaError_t graph_add_dependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                   const cudaGraphNode_t* to, const void* edges, size_t count) {
  return guarded([&]() -> cudaError_t {
    const std::shared_ptr<Graph> graph = find_graph(handle);
    if (!graph || (count != 0 && (from == nullptr || to == nullptr))) return cudaErrorInvalidValue;
    if (!plain_edges(edges, count)) return cudaErrorNotSupported;  // programmatic dependencies
    for (size_t i = 0; i < count; i++) {
      GraphNode *a = node_of(from[i]), *b = node_of(to[i]);
      if (a == nullptr || b == nullptr || a->graph != graph.get() || b->graph != graph.get() ||
          depends(a, b))
        return cudaErrorInvalidValue;
      if (std::find(b->needs.begin(), b->needs.end(), a) != b->needs.end())
        return cudaErrorInvalidValue;
      b->needs.push_back(a);
    }
    return cudaSuccess;
  });
}

cudaError_t graph_remove_dependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                      const cudaGraphNode_t* to, size_t count) {
  return guarded([&]() -> cudaError_t {
    if (!find_graph(handle)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++)
      if (std::erase(node_of(to[i])->needs, node_of(from[i])) == 0) return cudaErrorInvalidValue;
    return cudaSuccess;
  });
}

cudaError_t graph_edges(cudaGraph_t handle, cudaGraphNode_t* from, cudaGraphNode_t* to, void* edges,
                        size_t* count) {
  return guarded([&]() -> cudaError_t {
    const std::shared_ptr<Graph> graph = find_graph(handle);
    if (!graph || count == nullptr || (from == nullptr) != (to == nullptr))
      return cudaErrorInvalidValue;
    size_t n = 0;
    for (const auto& node : graph->nodes)
      for (const GraphNode* needed : node->needs) {
        if (from != nullptr && n < *count) {
          from[n] = handle_of(needed);
          to[n] = handle_of(node.get());
          if (edges) std::memset(static_cast<char*>(edges) + n * kEdgeBytes, 0, kEdgeBytes);
        }
        n++;
      }
    *count = from == nullptr ? n : std::min(n, *count);
    return cudaSuccess;
  });
}

cudaError_t graph_node_dependencies(cudaGraphNode_t handle, cudaGraphNode_t* out, void* edges,
                                    size_t* count) {
  return guarded([&]() -> cudaError_t {
    if (handle == nullptr || count == nullptr) return cudaErrorInvalidValue;
    const GraphNode* node = node_of(handle);
    if (edges) std::memset(edges, 0, *count * kEdgeBytes);
    give_nodes({node->needs.begin(), node->needs.end()}, out, count);
    return cudaSuccess;
  });
}

cudaError_t graph_node_dependents(cudaGraphNode_t handle, cudaGraphNode_t* out, void* edges,
                                  size_t* count) {
  return guarded([&]() -> cudaError_t {
    if (handle == nullptr || count == nullptr) return cudaErrorInvalidValue;
    GraphNode* node = node_of(handle);
    std::vector<const GraphNode*> dependents;
    for (const auto& other : node->graph->nodes)
      if (std::find(other->needs.begin(), other->needs.end(), node) != other->needs.end())
        dependents.push_back(other.get());
    if (edges) std::memset(edges, 0, *count * kEdgeBytes);
    give_nodes(dependents, out, count);
    return cudaSuccess;
  });
}

}  // namespace tw::cudart

using namespace tw::cudart;

cudaError_t cudaGraphCreate(cudaGraph_t* out, unsigned flags) {
  return guarded([&]() -> cudaError_t {
    if (out == nullptr || flags != 0) return cudaErrorInvalidValue;
    *out = add_graph(std::make_shared<Graph>());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return guarded([&]() -> cudaError_t {
    GraphTable& table = GraphTable::get();
    const std::lock_guard lock(table.mutex);
    return table.graphs.erase(handle) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphClone(cudaGraph_t* out, cudaGraph_t original) {
  return guarded([&]() -> cudaError_t {
    const std::shared_ptr<Graph> graph = find_graph(original);
    if (!graph || out == nullptr) return cudaErrorInvalidValue;
    *out = add_graph(graph->clone());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                  const cudaGraphNode_t* needs, size_t count) {
  return add_node(out, graph, needs, count, cudaGraphNodeTypeEmpty, [](Context&, GraphNode& node) {
    node.command.work = [] { return cudaSuccess; };
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                   const cudaGraphNode_t* needs, size_t count,
                                   const cudaKernelNodeParams* p) {
  return add_node(
      out, graph, needs, count, cudaGraphNodeTypeKernel,
      [&](Context& context, GraphNode& node) { return set_kernel(context, p, node.command); });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                   const cudaGraphNode_t* needs, size_t count,
                                   const cudaMemcpy3DParms* p) {
  return add_node(out, graph, needs, count, cudaGraphNodeTypeMemcpy,
                  [&](Context&, GraphNode& node) {
                    if (p) node.copy = *p;
                    return set_copy(p, node.command);
                  });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* out, cudaGraph_t graph,
                                     const cudaGraphNode_t* needs, size_t count, void* to,
                                     const void* from, size_t bytes, cudaMemcpyKind kind) {
  return add_node(out, graph, needs, count, cudaGraphNodeTypeMemcpy,
                  [&](Context&, GraphNode& node) {
                    return set_linear_copy(to, from, bytes, kind, node.command);
                  });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                   const cudaGraphNode_t* needs, size_t count,
                                   const cudaMemsetParams* p) {
  return add_node(out, graph, needs, count, cudaGraphNodeTypeMemset,
                  [&](Context&, GraphNode& node) {
                    if (p) node.fill = *p;
                    return set_fill(p, node.command);
                  });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                 const cudaGraphNode_t* needs, size_t count,
                                 const cudaHostNodeParams* p) {
  return add_node(out, graph, needs, count, cudaGraphNodeTypeHost, [&](Context&, GraphNode& node) {
    if (p) node.host = *p;
    return set_host(p, node.command);
  });
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                        const cudaGraphNode_t* needs, size_t count,
                                        cudaEvent_t event) {
  return add_node(out, graph, needs, count, cudaGraphNodeTypeEventRecord,
                  [&](Context&, GraphNode& node) {
                    node.command.kind = Command::Kind::record;
                    node.command.event = Runtime::get().event(event);
                    return node.command.event ? cudaSuccess : cudaErrorInvalidValue;
                  });
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                      const cudaGraphNode_t* needs, size_t count,
                                      cudaEvent_t event) {
  return add_node(out, graph, needs, count, cudaGraphNodeTypeWaitEvent,
                  [&](Context&, GraphNode& node) {
                    node.command.kind = Command::Kind::wait;
                    node.command.event = Runtime::get().event(event);
                    return node.command.event ? cudaSuccess : cudaErrorInvalidValue;
                  });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                       const cudaGraphNode_t* needs, size_t count,
                                       cudaGraph_t child) {
  return add_node(out, graph, needs, count, cudaGraphNodeTypeGraph, [&](Context&, GraphNode& node) {
    const std::shared_ptr<Graph> inner = find_graph(child);
    if (!inner) return cudaErrorInvalidValue;
    node.child = inner->clone();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                     const cudaGraphNode_t* needs, size_t count,
                                     cudaMemAllocNodeParams* p) {
  return add_node(out, graph, needs, count, cudaGraphNodeTypeMemAlloc,
                  [&](Context& context, GraphNode& node) -> cudaError_t {
                    if (p == nullptr || p->bytesize == 0 ||
                        p->poolProps.allocType != cudaMemAllocationTypePinned ||
                        p->poolProps.handleTypes != cudaMemHandleTypeNone ||
                        p->poolProps.location.type != cudaMemLocationTypeDevice)
                      return cudaErrorInvalidValue;
                    if (p->poolProps.location.id != context.ordinal) return cudaErrorNotSupported;
                    node.memory = GraphMemory::allocate(context, p->bytesize);
                    if (!node.memory) return cudaErrorMemoryAllocation;
                    p->dptr = node.memory->address();
                    node.command.work = [] { return cudaSuccess; };
                    return cudaSuccess;
                  });
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                    const cudaGraphNode_t* needs, size_t count, void* pointer) {
  return add_node(out, graph, needs, count, cudaGraphNodeTypeMemFree,
                  [&](Context&, GraphNode& node) -> cudaError_t {
                    node.memory = GraphMemory::at(pointer);
                    if (!node.memory) return cudaErrorInvalidValue;
                    node.command.work = [] { return cudaSuccess; };
                    return cudaSuccess;
                  });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle) {
  return guarded([&]() -> cudaError_t {
    GraphNode* node = node_of(handle);
    if (node == nullptr) return cudaErrorInvalidValue;
    for (const auto& other : node->graph->nodes) std::erase(other->needs, node);
    std::erase_if(node->graph->nodes, [&](const auto& n) { return n.get() == node; });
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  return guarded([&] {
    return handle && type ? (*type = node_of(handle)->type, cudaSuccess) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* out, size_t* count) {
  return guarded([&]() -> cudaError_t {
    const std::shared_ptr<Graph> graph = find_graph(handle);
    if (!graph || count == nullptr) return cudaErrorInvalidValue;
    std::vector<const GraphNode*> nodes;
    for (const auto& node : graph->nodes) nodes.push_back(node.get());
    give_nodes(nodes, out, count);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t handle, cudaGraphNode_t* out, size_t* count) {
  return guarded([&]() -> cudaError_t {
    const std::shared_ptr<Graph> graph = find_graph(handle);
    if (!graph || count == nullptr) return cudaErrorInvalidValue;
    std::vector<const GraphNode*> nodes;
    for (const auto& node : graph->nodes)
      if (node->needs.empty()) nodes.push_back(node.get());
    give_nodes(nodes, out, count);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t handle, cudaKernelNodeParams* p) {
  return with_node(handle, cudaGraphNodeTypeKernel,
                   [&](Context& context, GraphNode& node) -> cudaError_t {
                     if (p == nullptr) return cudaErrorInvalidValue;
                     const tw::emu::Launch& launch = node.command.launch;
                     const tw::emu::KernelInfo& info = context.device().info(*launch.kernel);
                     node.arguments.clear();
                     for (const uint32_t offset : info.parameter_offsets)
                       node.arguments.push_back(node.command.launch.parameters.data() + offset);
                     *p = {};
                     p->func = const_cast<void*>(node.command.function);
                     p->gridDim = dim3(launch.grid.x, launch.grid.y, launch.grid.z);
                     p->blockDim = dim3(launch.block.x, launch.block.y, launch.block.z);
                     p->sharedMemBytes = unsigned(launch.dynamic_shared_bytes);
                     p->kernelParams = node.arguments.data();
                     return cudaSuccess;
                   });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t handle, const cudaKernelNodeParams* p) {
  return with_node(handle, cudaGraphNodeTypeKernel, [&](Context& context, GraphNode& node) {
    return set_kernel(context, p, node.command);
  });
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t handle, cudaMemcpy3DParms* p) {
  return with_node(handle, cudaGraphNodeTypeMemcpy, [&](Context&, GraphNode& node) {
    return p ? (*p = node.copy, cudaSuccess) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t handle, const cudaMemcpy3DParms* p) {
  return with_node(handle, cudaGraphNodeTypeMemcpy, [&](Context&, GraphNode& node) {
    if (p) node.copy = *p;
    return set_copy(p, node.command);
  });
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t handle, void* to, const void* from,
                                           size_t bytes, cudaMemcpyKind kind) {
  return with_node(handle, cudaGraphNodeTypeMemcpy, [&](Context&, GraphNode& node) {
    return set_linear_copy(to, from, bytes, kind, node.command);
  });
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t handle, cudaMemsetParams* p) {
  return with_node(handle, cudaGraphNodeTypeMemset, [&](Context&, GraphNode& node) {
    return p ? (*p = node.fill, cudaSuccess) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t handle, const cudaMemsetParams* p) {
  return with_node(handle, cudaGraphNodeTypeMemset, [&](Context&, GraphNode& node) {
    if (p) node.fill = *p;
    return set_fill(p, node.command);
  });
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t handle, cudaHostNodeParams* p) {
  return with_node(handle, cudaGraphNodeTypeHost, [&](Context&, GraphNode& node) {
    return p ? (*p = node.host, cudaSuccess) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t handle, const cudaHostNodeParams* p) {
  return with_node(handle, cudaGraphNodeTypeHost, [&](Context&, GraphNode& node) {
    if (p) node.host = *p;
    return set_host(p, node.command);
  });
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t handle, cudaGraph_t* out) {
  return with_node(handle, cudaGraphNodeTypeGraph, [&](Context&, GraphNode& node) {
    return out ? (*out = add_graph(node.child), cudaSuccess) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t handle, cudaMemAllocNodeParams* p) {
  return with_node(handle, cudaGraphNodeTypeMemAlloc,
                   [&](Context& context, GraphNode& node) -> cudaError_t {
                     if (p == nullptr) return cudaErrorInvalidValue;
                     *p = {};
                     p->poolProps.allocType = cudaMemAllocationTypePinned;
                     p->poolProps.location.type = cudaMemLocationTypeDevice;
                     p->poolProps.location.id = context.ordinal;
                     p->bytesize = node.memory->bytes();
                     p->dptr = node.memory->address();
                     return cudaSuccess;
                   });
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t handle, void* out) {
  return with_node(handle, cudaGraphNodeTypeMemFree, [&](Context&, GraphNode& node) -> cudaError_t {
    if (out == nullptr) return cudaErrorInvalidValue;
    *static_cast<void**>(out) = node.memory->address();
    return cudaSuccess;
  });
}
