// Graph nodes by their general parameters (cudaGraphAddNode and its kin), nodes that copy to and from
// symbols, record and wait nodes, attributes of kernel nodes, clones, the picture of a graph, and user
// objects.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cudart/copy.h"
#include "cudart/graph_calls.h"
#include "cudart/graph_handles.h"
#include "cudart/launch.h"

namespace tw::cudart {
namespace {

cudaKernelNodeParams kernel_parameters(const cudaKernelNodeParamsV2& p) {
  cudaKernelNodeParams kernel{};
  kernel.func = p.func;
  kernel.gridDim = p.gridDim;
  kernel.blockDim = p.blockDim;
  kernel.sharedMemBytes = p.sharedMemBytes;
  kernel.kernelParams = p.kernelParams;
  kernel.extra = p.extra;
  return kernel;
}
cudaMemsetParams fill_parameters(const cudaMemsetParamsV2& p) {
  cudaMemsetParams fill{};
  fill.dst = p.dst;
  fill.pitch = p.pitch;
  fill.value = p.value;
  fill.elementSize = p.elementSize;
  fill.width = p.width;
  fill.height = p.height;
  return fill;
}
cudaHostNodeParams host_parameters(const cudaHostNodeParamsV2& p) {
  cudaHostNodeParams host{};
  host.fn = p.fn;
  host.userData = p.userData;
  return host;
}

// Copies between a variable and memory.
cudaError_t symbol_copy(Context& context, const void* symbol, bool to_symbol, const void* other,
                        size_t bytes, size_t offset, cudaMemcpyKind kind, Command& command) {
  const cudaMemcpyKind wrong = to_symbol ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
  if (kind == wrong || kind == cudaMemcpyHostToHost) return cudaErrorInvalidMemcpyDirection;
  void* address = nullptr;
  if (const cudaError_t error = symbol_address(context, symbol, bytes, offset, address);
      error != cudaSuccess)
    return error;
  return to_symbol ? set_linear_copy(address, other, bytes, kind, command)
                   : set_linear_copy(const_cast<void*>(other), address, bytes, kind, command);
}
cudaError_t add_symbol_node(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                            size_t count, const void* symbol, bool to_symbol, const void* other,
                            size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return with_context([&](Context& context) -> cudaError_t {
    Command command;
    if (const cudaError_t error =
            symbol_copy(context, symbol, to_symbol, other, bytes, offset, kind, command);
        error != cudaSuccess)
      return error;
    const cudaError_t error = cudaGraphAddEmptyNode(out, graph, needs, count);
    if (error != cudaSuccess) return error;
    node_of(*out)->type = cudaGraphNodeTypeMemcpy;
    node_of(*out)->command = std::move(command);
    return cudaSuccess;
  });
}

cudaError_t event_of(cudaGraphNode_t handle, cudaGraphNodeType type, cudaEvent_t* out) {
  return with_node(handle, type, [&](Context&, GraphNode& node) {
    return out ? (*out = reinterpret_cast<cudaEvent_t>(node.command.event.get()), cudaSuccess)
               : cudaErrorInvalidValue;
  });
}
cudaError_t set_event(cudaEvent_t event, Command& command) {
  const std::shared_ptr<Event> found = Runtime::get().event(event);
  if (!found) return cudaErrorInvalidValue;
  command.event = found;
  return cudaSuccess;
}
cudaError_t set_node_event(cudaGraphNode_t handle, cudaGraphNodeType type, cudaEvent_t event) {
  return with_node(handle, type,
                   [&](Context&, GraphNode& node) { return set_event(event, node.command); });
}
cudaError_t set_step_event(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeType type,
                           cudaEvent_t event) {
  return with_step(exec, node, type,
                   [&](Context&, GraphExec::Step& step) { return set_event(event, step.command); });
}

const char* name_of(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeKernel: return "kernel";
    case cudaGraphNodeTypeMemcpy: return "memcpy";
    case cudaGraphNodeTypeMemset: return "memset";
    case cudaGraphNodeTypeHost: return "host";
    case cudaGraphNodeTypeGraph: return "graph";
    case cudaGraphNodeTypeWaitEvent: return "wait event";
    case cudaGraphNodeTypeEventRecord: return "record event";
    case cudaGraphNodeTypeMemAlloc: return "allocate";
    case cudaGraphNodeTypeMemFree: return "free";
    default: return "empty";
  }
}

}  // namespace

cudaError_t graph_add_node(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                           const void* edges, size_t count, cudaGraphNodeParams* p) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  if (!plain_edges(edges, count)) return note(cudaErrorNotSupported);  // programmatic dependencies
  switch (p->type) {
    case cudaGraphNodeTypeKernel: {
      const cudaKernelNodeParams kernel = kernel_parameters(p->kernel);
      return cudaGraphAddKernelNode(out, graph, needs, count, &kernel);
    }
    case cudaGraphNodeTypeMemcpy:
      return cudaGraphAddMemcpyNode(out, graph, needs, count, &p->memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
      const cudaMemsetParams fill = fill_parameters(p->memset);
      return cudaGraphAddMemsetNode(out, graph, needs, count, &fill);
    }
    case cudaGraphNodeTypeHost: {
      const cudaHostNodeParams host = host_parameters(p->host);
      return cudaGraphAddHostNode(out, graph, needs, count, &host);
    }
    case cudaGraphNodeTypeGraph:
      return cudaGraphAddChildGraphNode(out, graph, needs, count, p->graph.graph);
    case cudaGraphNodeTypeEmpty: return cudaGraphAddEmptyNode(out, graph, needs, count);
    case cudaGraphNodeTypeWaitEvent:
      return cudaGraphAddEventWaitNode(out, graph, needs, count, p->eventWait.event);
    case cudaGraphNodeTypeEventRecord:
      return cudaGraphAddEventRecordNode(out, graph, needs, count, p->eventRecord.event);
    case cudaGraphNodeTypeMemAlloc: {
      cudaMemAllocNodeParams allocation{};
      allocation.poolProps = p->alloc.poolProps;
      allocation.accessDescs = p->alloc.accessDescs;
      allocation.accessDescCount = p->alloc.accessDescCount;
      allocation.bytesize = p->alloc.bytesize;
      const cudaError_t error = cudaGraphAddMemAllocNode(out, graph, needs, count, &allocation);
      p->alloc.dptr = allocation.dptr;
      return error;
    }
    case cudaGraphNodeTypeMemFree:
      return cudaGraphAddMemFreeNode(out, graph, needs, count, p->free.dptr);
    default: return note(cudaErrorNotSupported);  // semaphores of other APIs, conditional nodes
  }
}

}  // namespace tw::cudart

using namespace tw::cudart;

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* p) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  switch (p->type) {
    case cudaGraphNodeTypeKernel: {
      const cudaKernelNodeParams kernel = kernel_parameters(p->kernel);
      return cudaGraphKernelNodeSetParams(node, &kernel);
    }
    case cudaGraphNodeTypeMemcpy: return cudaGraphMemcpyNodeSetParams(node, &p->memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
      const cudaMemsetParams fill = fill_parameters(p->memset);
      return cudaGraphMemsetNodeSetParams(node, &fill);
    }
    case cudaGraphNodeTypeHost: {
      const cudaHostNodeParams host = host_parameters(p->host);
      return cudaGraphHostNodeSetParams(node, &host);
    }
    case cudaGraphNodeTypeWaitEvent:
      return cudaGraphEventWaitNodeSetEvent(node, p->eventWait.event);
    case cudaGraphNodeTypeEventRecord:
      return cudaGraphEventRecordNodeSetEvent(node, p->eventRecord.event);
    default: return note(cudaErrorNotSupported);
  }
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                       cudaGraphNodeParams* p) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  switch (p->type) {
    case cudaGraphNodeTypeKernel: {
      const cudaKernelNodeParams kernel = kernel_parameters(p->kernel);
      return cudaGraphExecKernelNodeSetParams(exec, node, &kernel);
    }
    case cudaGraphNodeTypeMemcpy:
      return cudaGraphExecMemcpyNodeSetParams(exec, node, &p->memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
      const cudaMemsetParams fill = fill_parameters(p->memset);
      return cudaGraphExecMemsetNodeSetParams(exec, node, &fill);
    }
    case cudaGraphNodeTypeHost: {
      const cudaHostNodeParams host = host_parameters(p->host);
      return cudaGraphExecHostNodeSetParams(exec, node, &host);
    }
    case cudaGraphNodeTypeGraph:
      return cudaGraphExecChildGraphNodeSetParams(exec, node, p->graph.graph);
    case cudaGraphNodeTypeWaitEvent:
      return cudaGraphExecEventWaitNodeSetEvent(exec, node, p->eventWait.event);
    case cudaGraphNodeTypeEventRecord:
      return cudaGraphExecEventRecordNodeSetEvent(exec, node, p->eventRecord.event);
    default: return note(cudaErrorNotSupported);
  }
}

// The child graph of a node is laid out in the executable graph: its steps, in the same order, take the
// commands of the new one, which must have the same nodes.
cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t handle,
                                                 cudaGraphNode_t node_handle, cudaGraph_t child) {
  return with_node(node_handle, cudaGraphNodeTypeGraph,
                   [&](Context& context, GraphNode& node) -> cudaError_t {
                     const std::shared_ptr<GraphExec> exec = find_exec(handle);
                     const std::shared_ptr<Graph> graph = find_graph(child);
                     GraphExec was, update;
                     if (!exec || !graph || !was.build(*node.child) || !update.build(*graph))
                       return cudaErrorInvalidValue;
                     if (was.steps.size() != update.steps.size())
                       return cudaErrorGraphExecUpdateFailure;
                     for (size_t i = 0; i < was.steps.size(); i++)
                       if (was.steps[i].type != update.steps[i].type ||
                           exec->find(was.steps[i].origin) == nullptr)
                         return cudaErrorGraphExecUpdateFailure;
                     for (const GraphExec::Step& step : update.steps)
                       if (check_step(context, step) != cudaSuccess)
                         return cudaErrorGraphExecUpdateFailure;
                     for (size_t i = 0; i < was.steps.size(); i++)
                       exec->find(was.steps[i].origin)->command = update.steps[i].command;
                     return cudaSuccess;
                   });
}

// ---- symbols ----

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* out, cudaGraph_t graph,
                                           const cudaGraphNode_t* needs, size_t count,
                                           const void* symbol, const void* from, size_t bytes,
                                           size_t offset, cudaMemcpyKind kind) {
  return add_symbol_node(out, graph, needs, count, symbol, true, from, bytes, offset, kind);
}
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* out, cudaGraph_t graph,
                                             const cudaGraphNode_t* needs, size_t count, void* to,
                                             const void* symbol, size_t bytes, size_t offset,
                                             cudaMemcpyKind kind) {
  return add_symbol_node(out, graph, needs, count, symbol, false, to, bytes, offset, kind);
}
cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t handle, const void* symbol,
                                                 const void* from, size_t bytes, size_t offset,
                                                 cudaMemcpyKind kind) {
  return with_node(handle, cudaGraphNodeTypeMemcpy, [&](Context& context, GraphNode& node) {
    return symbol_copy(context, symbol, true, from, bytes, offset, kind, node.command);
  });
}
cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t handle, void* to,
                                                   const void* symbol, size_t bytes, size_t offset,
                                                   cudaMemcpyKind kind) {
  return with_node(handle, cudaGraphNodeTypeMemcpy, [&](Context& context, GraphNode& node) {
    return symbol_copy(context, symbol, false, to, bytes, offset, kind, node.command);
  });
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                     const void* symbol, const void* from,
                                                     size_t bytes, size_t offset,
                                                     cudaMemcpyKind kind) {
  return with_step(
      exec, node, cudaGraphNodeTypeMemcpy, [&](Context& context, GraphExec::Step& step) {
        return symbol_copy(context, symbol, true, from, bytes, offset, kind, step.command);
      });
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                       void* to, const void* symbol, size_t bytes,
                                                       size_t offset, cudaMemcpyKind kind) {
  return with_step(
      exec, node, cudaGraphNodeTypeMemcpy, [&](Context& context, GraphExec::Step& step) {
        return symbol_copy(context, symbol, false, to, bytes, offset, kind, step.command);
      });
}

// ---- events ----

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* out) {
  return event_of(node, cudaGraphNodeTypeEventRecord, out);
}
cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* out) {
  return event_of(node, cudaGraphNodeTypeWaitEvent, out);
}
cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return set_node_event(node, cudaGraphNodeTypeEventRecord, event);
}
cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return set_node_event(node, cudaGraphNodeTypeWaitEvent, event);
}
cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 cudaEvent_t event) {
  return set_step_event(exec, node, cudaGraphNodeTypeEventRecord, event);
}
cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                               cudaEvent_t event) {
  return set_step_event(exec, node, cudaGraphNodeTypeWaitEvent, event);
}

// ---- attributes of kernel nodes: the cluster and cooperation count, the others are hints ----

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t handle, cudaLaunchAttributeID id,
                                            const cudaLaunchAttributeValue* value) {
  return with_node(
      handle, cudaGraphNodeTypeKernel, [&](Context& context, GraphNode& node) -> cudaError_t {
        if (value == nullptr) return cudaErrorInvalidValue;
        tw::emu::Launch& launch = node.command.launch;
        if (id == cudaLaunchAttributeCooperative) {
          launch.cooperative = value->cooperative != 0;
        } else if (id == cudaLaunchAttributeClusterDimension) {
          const auto& c = value->clusterDim;
          KernelState* state = nullptr;
          std::string why;
          if (const cudaError_t error = find_kernel(context, node.command.function, state);
              error != cudaSuccess)
            return error;
          if (check_cluster(context.spec(), *state, dim3(c.x, c.y, c.z), why) != cudaSuccess)
            return cudaErrorInvalidValue;
          launch.cluster = {c.x, c.y, c.z};
          node.command.clustered = true;
        }
        node.attributes[int(id)] = *value;
        return cudaSuccess;
      });
}
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t handle, cudaLaunchAttributeID id,
                                            cudaLaunchAttributeValue* value) {
  return with_node(handle, cudaGraphNodeTypeKernel, [&](Context&, GraphNode& node) -> cudaError_t {
    if (value == nullptr) return cudaErrorInvalidValue;
    const auto place = node.attributes.find(int(id));
    if (place != node.attributes.end()) {
      *value = place->second;
      return cudaSuccess;
    }
    std::memset(value, 0, sizeof *value);
    const tw::emu::Launch& launch = node.command.launch;
    if (id == cudaLaunchAttributeCooperative) value->cooperative = launch.cooperative;
    if (id == cudaLaunchAttributeClusterDimension && node.command.clustered) {
      value->clusterDim.x = launch.cluster.x;
      value->clusterDim.y = launch.cluster.y;
      value->clusterDim.z = launch.cluster.z;
    }
    return cudaSuccess;
  });
}
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  return with_node(to, cudaGraphNodeTypeKernel, [&](Context&, GraphNode& node) -> cudaError_t {
    const GraphNode* source = node_of(from);
    if (source == nullptr || source->type != cudaGraphNodeTypeKernel) return cudaErrorInvalidValue;
    node.attributes = source->attributes;
    node.command.launch.cooperative = source->command.launch.cooperative;
    node.command.launch.cluster = source->command.launch.cluster;
    node.command.clustered = source->command.clustered;
    return cudaSuccess;
  });
}

// ---- clones, pictures ----

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* out, cudaGraphNode_t original,
                                     cudaGraph_t clone) {
  return guarded([&]() -> cudaError_t {
    const std::shared_ptr<Graph> graph = find_graph(clone);
    if (!graph || out == nullptr || original == nullptr) return cudaErrorInvalidValue;
    for (const auto& node : graph->nodes)
      if (node->cloned_from == node_of(original)) {
        *out = handle_of(node.get());
        return cudaSuccess;
      }
    return cudaErrorInvalidValue;
  });
}

// In Graphviz's language: a node each, with its kind and a kernel's name, and the dependencies.
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t handle, const char* path, unsigned) {
  return with_context([&](Context& context) -> cudaError_t {
    const std::shared_ptr<Graph> graph = find_graph(handle);
    if (!graph || path == nullptr) return cudaErrorInvalidValue;
    std::string text = "digraph dot {\n";
    std::unordered_map<const GraphNode*, size_t> number;
    for (const auto& node : graph->nodes) {
      const size_t n = number.size();
      number[node.get()] = n;
      std::string label = name_of(node->type);
      if (node->type == cudaGraphNodeTypeKernel)
        label += "\\n" + context.kernel_name(*node->command.launch.kernel);
      text += fmt::format("\"node_{}\" [shape=\"octagon\" label=\"{} {}\"];\n", n, n, label);
    }
    for (const auto& node : graph->nodes)
      for (const GraphNode* needed : node->needs)
        text += fmt::format("\"node_{}\" -> \"node_{}\";\n", number[needed], number[node.get()]);
    text += "}\n";
    FILE* file = std::fopen(path, "w");
    if (file == nullptr) return cudaErrorOperatingSystem;
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return std::fclose(file) == 0 && written ? cudaSuccess : cudaErrorOperatingSystem;
  });
}

// ---- user objects ----

cudaError_t cudaUserObjectCreate(cudaUserObject_t* out, void* pointer, cudaHostFn_t destroy,
                                 unsigned references, unsigned flags) {
  return guarded([&]() -> cudaError_t {
    if (out == nullptr || destroy == nullptr || references == 0 ||
        flags != cudaUserObjectNoDestructorSync)
      return cudaErrorInvalidValue;
    auto* object = new UserObject;
    object->pointer = pointer;
    object->destroy = destroy;
    object->references = references;
    *out = reinterpret_cast<cudaUserObject_t>(object);
    return cudaSuccess;
  });
}
cudaError_t cudaUserObjectRetain(cudaUserObject_t handle, unsigned count) {
  return guarded([&]() -> cudaError_t {
    auto* object = reinterpret_cast<UserObject*>(handle);
    if (object == nullptr || count == 0) return cudaErrorInvalidValue;
    object->references += count;
    return cudaSuccess;
  });
}
cudaError_t cudaUserObjectRelease(cudaUserObject_t handle, unsigned count) {
  return guarded([&]() -> cudaError_t {
    auto* object = reinterpret_cast<UserObject*>(handle);
    if (object == nullptr || count == 0) return cudaErrorInvalidValue;
    UserObject::release(object, count);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph_handle, cudaUserObject_t handle,
                                      unsigned count, unsigned flags) {
  return guarded([&]() -> cudaError_t {
    const std::shared_ptr<Graph> graph = find_graph(graph_handle);
    auto* object = reinterpret_cast<UserObject*>(handle);
    if (!graph || object == nullptr || count == 0 || (flags & ~unsigned(cudaGraphUserObjectMove)))
      return cudaErrorInvalidValue;
    if (flags != cudaGraphUserObjectMove) object->references += count;
    for (unsigned i = 0; i < count; i++)
      graph->references.emplace_back(object, [](UserObject* o) { UserObject::release(o, 1); });
    return cudaSuccess;
  });
}
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph_handle, cudaUserObject_t handle,
                                       unsigned count) {
  return guarded([&]() -> cudaError_t {
    const std::shared_ptr<Graph> graph = find_graph(graph_handle);
    const auto* object = reinterpret_cast<UserObject*>(handle);
    if (!graph || object == nullptr || count == 0) return cudaErrorInvalidValue;
    const auto held = std::count_if(graph->references.begin(), graph->references.end(),
                                    [&](const auto& r) { return r.get() == object; });
    if (size_t(held) < count) return cudaErrorInvalidValue;
    for (unsigned i = 0; i < count; i++)
      graph->references.erase(std::find_if(graph->references.begin(), graph->references.end(),
                                           [&](const auto& r) { return r.get() == object; }));
    return cudaSuccess;
  });
}
