// Executable graphs and the capture of streams.
#include <algorithm>

#include "cudart/graph_calls.h"
#include "cudart/graph_handles.h"
#include "cudart/launch.h"

namespace tw::cudart {
namespace {

bool reaches(const std::vector<GraphNode*>& from, const GraphNode* node) {
  return std::any_of(from.begin(), from.end(),
                     [&](const GraphNode* n) { return n == node || reaches(n->needs, node); });
}

}  // namespace

// What a node may lack until the graph becomes executable.
cudaError_t check_step(Context& context, const GraphExec::Step& step) {
  if (step.type != cudaGraphNodeTypeKernel || step.command.clustered) return cudaSuccess;
  KernelState* state = nullptr;
  const cudaError_t error = find_kernel(context, step.command.function, state);
  return error == cudaSuccess && must_say_cluster(*state) ? cudaErrorInvalidClusterSize : error;
}

namespace {

cudaError_t instantiate(Context& context, cudaGraphExec_t* out, cudaGraph_t handle,
                        unsigned long long flags) {
  const std::shared_ptr<Graph> graph = find_graph(handle);
  if (!graph || out == nullptr) return cudaErrorInvalidValue;
  constexpr unsigned long long kKnown = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                        cudaGraphInstantiateFlagUpload |
                                        cudaGraphInstantiateFlagUseNodePriority;
  if (flags & ~kKnown)
    return flags & cudaGraphInstantiateFlagDeviceLaunch ? cudaErrorNotSupported
                                                        : cudaErrorInvalidValue;
  auto exec = std::make_shared<GraphExec>();
  exec->flags = flags;
  if (!exec->build(*graph)) return cudaErrorInvalidValue;
  for (const GraphExec::Step& step : exec->steps)
    if (const cudaError_t error = check_step(context, step); error != cudaSuccess) return error;
  GraphTable& table = GraphTable::get();
  const std::lock_guard lock(table.mutex);
  *out = reinterpret_cast<cudaGraphExec_t>(exec.get());
  table.execs[*out] = std::move(exec);
  return cudaSuccess;
}

// Marks the graph's memory as a launch leaves it; false if that of the last launch was not freed.
bool allocate_memory(const GraphExec& exec) {
  const bool frees_itself = exec.flags & cudaGraphInstantiateFlagAutoFreeOnLaunch;
  for (const GraphExec::Step& step : exec.steps)
    if (step.type == cudaGraphNodeTypeMemAlloc && step.memory->in_use && !frees_itself)
      return false;
  for (const GraphExec::Step& step : exec.steps)
    if (step.memory) step.memory->in_use = step.type == cudaGraphNodeTypeMemAlloc;
  return true;
}

cudaError_t end_capture(Stream& stream, cudaGraph_t* out) {
  if (!stream.capture) return cudaErrorIllegalState;
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture->origin != &stream) return cudaErrorStreamCaptureUnmatched;
  cudaError_t error = capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
  for (Stream* joined : capture->joined) {
    for (const GraphNode* leaf : joined->leaves)
      if (!reaches(stream.leaves, leaf) && error == cudaSuccess)
        error = cudaErrorStreamCaptureUnjoined;
    joined->capture = nullptr;
    joined->leaves.clear();
  }
  stream.capture = nullptr;
  stream.leaves.clear();
  if (out) *out = error == cudaSuccess ? add_graph(capture->graph) : nullptr;
  return error;
}

// Nodes of the capture's graph, none twice. Programmatic dependencies are refused.
cudaError_t read_nodes(const Graph& graph, const cudaGraphNode_t* nodes, const void* edges,
                       size_t count, std::vector<GraphNode*>& read) {
  if (count != 0 && nodes == nullptr) return cudaErrorInvalidValue;
  if (!plain_edges(edges, count)) return cudaErrorNotSupported;
  for (size_t i = 0; i < count; i++) {
    GraphNode* node = node_of(nodes[i]);
    if (node == nullptr || node->graph != &graph) return cudaErrorInvalidValue;
    if (std::find(read.begin(), read.end(), node) == read.end()) read.push_back(node);
  }
  return cudaSuccess;
}

cudaError_t begin_capture(Stream& stream, std::shared_ptr<Graph> graph,
                          std::vector<GraphNode*> leaves) {
  if (stream.legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream.capture) return cudaErrorIllegalState;
  static std::atomic<uint64_t> next{1};
  stream.capture = std::make_shared<Capture>();
  stream.capture->graph = std::move(graph);
  stream.capture->origin = &stream;
  stream.capture->id = next++;
  stream.leaves = std::move(leaves);
  return cudaSuccess;
}

}  // namespace

cudaError_t stream_capture_info(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                unsigned long long* id, cudaGraph_t* graph,
                                const cudaGraphNode_t** nodes, const void** edges, size_t* count) {
  return with_stream(handle, [&](Context&, Stream& stream) -> cudaError_t {
    if (status == nullptr) return cudaErrorInvalidValue;
    *status = !stream.capture           ? cudaStreamCaptureStatusNone
              : stream.capture->invalid ? cudaStreamCaptureStatusInvalidated
                                        : cudaStreamCaptureStatusActive;
    if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
    if (id) *id = stream.capture->id;
    if (graph) *graph = add_graph(stream.capture->graph);
    if (nodes) *nodes = reinterpret_cast<const cudaGraphNode_t*>(stream.leaves.data());
    if (edges) *edges = nullptr;
    if (count) *count = stream.leaves.size();
    return cudaSuccess;
  });
}

cudaError_t stream_update_dependencies(cudaStream_t handle, const cudaGraphNode_t* nodes,
                                       const void* edges, size_t count, unsigned flags) {
  return with_stream(handle, [&](Context&, Stream& stream) -> cudaError_t {
    if (!stream.capture) return cudaErrorIllegalState;
    if (flags != cudaStreamAddCaptureDependencies && flags != cudaStreamSetCaptureDependencies)
      return cudaErrorInvalidValue;
    std::vector<GraphNode*> leaves;
    if (flags == cudaStreamAddCaptureDependencies) leaves = stream.leaves;
    if (const cudaError_t error = read_nodes(*stream.capture->graph, nodes, edges, count, leaves);
        error != cudaSuccess)
      return error;
    stream.leaves = std::move(leaves);
    return cudaSuccess;
  });
}

}  // namespace tw::cudart

using namespace tw::cudart;

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph,
                                 unsigned long long flags) {
  return with_context([&](Context& context) { return instantiate(context, out, graph, flags); });
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* out, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(out, graph, flags);
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* out, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* p) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  const cudaError_t error = cudaGraphInstantiate(out, graph, p->flags);
  p->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  p->errNode_out = nullptr;
  return error;
}
TW_CUDA_EXPORT cudaError_t cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t* out,
                                                               cudaGraph_t graph,
                                                               cudaGraphInstantiateParams* p) {
  return cudaGraphInstantiateWithParams(out, graph, p);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return guarded([&]() -> cudaError_t {
    GraphTable& table = GraphTable::get();
    const std::lock_guard lock(table.mutex);
    return table.execs.erase(handle) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t handle, unsigned long long* flags) {
  return guarded([&]() -> cudaError_t {
    const std::shared_ptr<GraphExec> exec = find_exec(handle);
    if (!exec || flags == nullptr) return cudaErrorInvalidValue;
    *flags = exec->flags;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return with_stream(stream_handle, [&](Context&, Stream& stream) -> cudaError_t {
    const std::shared_ptr<GraphExec> exec = find_exec(handle);
    if (!exec) return cudaErrorInvalidValue;
    if (!allocate_memory(*exec)) return cudaErrorInvalidValue;
    for (const GraphExec::Step& step : exec->steps)
      if (step.enabled)
        if (const cudaError_t error = submit(stream, step.command); error != cudaSuccess)
          return error;
    if (exec->references.empty()) return cudaSuccess;
    return submit(stream, {.work = [kept = exec->references] { return cudaSuccess; }});
  });
}
TW_CUDA_EXPORT cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t s) {
  return cudaGraphLaunch(exec, per_thread(s));
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t s) {
  return with_stream(s, [&](Context&, Stream&) {
    return find_exec(handle) ? cudaSuccess : cudaErrorInvalidValue;
  });
}
TW_CUDA_EXPORT cudaError_t cudaGraphUpload_ptsz(cudaGraphExec_t exec, cudaStream_t s) {
  return cudaGraphUpload(exec, per_thread(s));
}

// The new graph must have the same nodes in the same order; only their parameters may differ.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph_handle,
                                cudaGraphExecUpdateResultInfo* info) {
  return with_context([&](Context& context) -> cudaError_t {
    const std::shared_ptr<GraphExec> exec = find_exec(handle);
    const std::shared_ptr<Graph> graph = find_graph(graph_handle);
    if (!exec || !graph || info == nullptr) return cudaErrorInvalidValue;
    *info = {};
    GraphExec update;
    if (!update.build(*graph)) return cudaErrorInvalidValue;
    const auto refuse = [&](cudaGraphExecUpdateResult reason, const GraphNode* node) {
      info->result = reason;
      info->errorNode = handle_of(node);
      return cudaErrorGraphExecUpdateFailure;
    };
    if (update.steps.size() != exec->steps.size())
      return refuse(cudaGraphExecUpdateErrorTopologyChanged, nullptr);
    for (size_t i = 0; i < update.steps.size(); i++)
      if (update.steps[i].type != exec->steps[i].type)
        return refuse(cudaGraphExecUpdateErrorNodeTypeChanged, update.steps[i].origin);
    for (const GraphExec::Step& step : update.steps)
      if (check_step(context, step) != cudaSuccess)
        return refuse(cudaGraphExecUpdateErrorParametersChanged, step.origin);
    for (size_t i = 0; i < update.steps.size(); i++)
      exec->steps[i].command = update.steps[i].command;
    info->result = cudaGraphExecUpdateSuccess;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* p) {
  return with_step(exec, node, cudaGraphNodeTypeKernel,
                   [&](Context& context, GraphExec::Step& step) {
                     GraphExec::Step changed = step;
                     cudaError_t error = set_kernel(context, p, changed.command);
                     if (error == cudaSuccess) error = check_step(context, changed);
                     if (error == cudaSuccess) step = std::move(changed);
                     return error;
                   });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* p) {
  return with_step(exec, node, cudaGraphNodeTypeMemcpy,
                   [&](Context&, GraphExec::Step& step) { return set_copy(p, step.command); });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                               const void* from, size_t bytes,
                                               cudaMemcpyKind kind) {
  return with_step(exec, node, cudaGraphNodeTypeMemcpy, [&](Context&, GraphExec::Step& step) {
    return set_linear_copy(to, from, bytes, kind, step.command);
  });
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* p) {
  return with_step(exec, node, cudaGraphNodeTypeMemset,
                   [&](Context&, GraphExec::Step& step) { return set_fill(p, step.command); });
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* p) {
  return with_step(exec, node, cudaGraphNodeTypeHost,
                   [&](Context&, GraphExec::Step& step) { return set_host(p, step.command); });
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t handle, cudaGraphNode_t node,
                                    unsigned enabled) {
  return guarded([&]() -> cudaError_t {
    const std::shared_ptr<GraphExec> exec = find_exec(handle);
    GraphExec::Step* step = exec ? exec->find(node_of(node)) : nullptr;
    if (step == nullptr) return cudaErrorInvalidValue;
    step->enabled = enabled != 0;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t handle, cudaGraphNode_t node,
                                    unsigned* enabled) {
  return guarded([&]() -> cudaError_t {
    const std::shared_ptr<GraphExec> exec = find_exec(handle);
    const GraphExec::Step* step = exec ? exec->find(node_of(node)) : nullptr;
    if (step == nullptr || enabled == nullptr) return cudaErrorInvalidValue;
    *enabled = step->enabled;
    return cudaSuccess;
  });
}

// ---- capture ------------------------------------------------------------------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
  return with_stream(handle, [](Context&, Stream& stream) {
    return begin_capture(stream, std::make_shared<Graph>(), {});
  });
}
TW_CUDA_EXPORT cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t s, cudaStreamCaptureMode mode) {
  return cudaStreamBeginCapture(per_thread(s), mode);
}

// What is captured goes into a graph that there is, after the nodes named.
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph_handle,
                                          const cudaGraphNode_t* needs,
                                          const cudaGraphEdgeData* edges, size_t count,
                                          cudaStreamCaptureMode) {
  return with_stream(handle, [&](Context&, Stream& stream) -> cudaError_t {
    const std::shared_ptr<Graph> graph = find_graph(graph_handle);
    if (!graph) return cudaErrorInvalidValue;
    std::vector<GraphNode*> leaves;
    if (const cudaError_t error = read_nodes(*graph, needs, edges, count, leaves);
        error != cudaSuccess)
      return error;
    return begin_capture(stream, graph, std::move(leaves));
  });
}
TW_CUDA_EXPORT cudaError_t cudaStreamBeginCaptureToGraph_ptsz(cudaStream_t s, cudaGraph_t graph,
                                                              const cudaGraphNode_t* needs,
                                                              const cudaGraphEdgeData* edges,
                                                              size_t count,
                                                              cudaStreamCaptureMode mode) {
  return cudaStreamBeginCaptureToGraph(per_thread(s), graph, needs, edges, count, mode);
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return with_stream(handle, [&](Context&, Stream& stream) { return end_capture(stream, graph); });
}
TW_CUDA_EXPORT cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t s, cudaGraph_t* graph) {
  return cudaStreamEndCapture(per_thread(s), graph);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return stream_capture_info(handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}
TW_CUDA_EXPORT cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t s,
                                                      cudaStreamCaptureStatus* status) {
  return cudaStreamIsCapturing(per_thread(s), status);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return guarded([&]() -> cudaError_t {
    thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
    if (mode == nullptr) return cudaErrorInvalidValue;
    std::swap(current, *mode);
    return cudaSuccess;
  });
}
