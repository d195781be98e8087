#include "cudart/graph.h"

#include <algorithm>
#include <unordered_map>

namespace tw::cudart {
namespace {

cudaGraphNodeType type_of(Command::Kind kind) {
  switch (kind) {
    case Command::Kind::kernel: return cudaGraphNodeTypeKernel;
    case Command::Kind::host_function: return cudaGraphNodeTypeHost;
    case Command::Kind::record: return cudaGraphNodeTypeEventRecord;
    case Command::Kind::wait: return cudaGraphNodeTypeWaitEvent;
    case Command::Kind::work: return cudaGraphNodeTypeMemcpy;
  }
  return cudaGraphNodeTypeEmpty;
}

}  // namespace

void UserObject::release(UserObject* object, unsigned count) {
  if (object->references.fetch_sub(count) != count) return;
  object->destroy(object->pointer);
  delete object;
}

GraphNode* Graph::add(cudaGraphNodeType type, std::vector<GraphNode*> needs) {
  auto node = std::make_unique<GraphNode>();
  node->type = type;
  node->graph = this;
  node->needs = std::move(needs);
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

std::vector<GraphNode*> Graph::order() const {
  std::unordered_map<const GraphNode*, size_t> missing;  // how many needed nodes are not placed yet
  std::unordered_map<const GraphNode*, std::vector<GraphNode*>> dependents;
  for (const auto& node : nodes) {
    missing[node.get()] = node->needs.size();
    for (const GraphNode* needed : node->needs) dependents[needed].push_back(node.get());
  }
  std::vector<GraphNode*> placed;
  for (const auto& node : nodes)
    if (node->needs.empty()) placed.push_back(node.get());
  for (size_t i = 0; i < placed.size(); i++)
    for (GraphNode* dependent : dependents[placed[i]])
      if (--missing[dependent] == 0) placed.push_back(dependent);
  if (placed.size() != nodes.size()) placed.clear();
  return placed;
}

std::shared_ptr<Graph> Graph::clone(
    std::vector<std::pair<const GraphNode*, GraphNode*>>* copies) const {
  auto result = std::make_shared<Graph>();
  result->references = references;
  std::unordered_map<const GraphNode*, GraphNode*> copy_of;
  for (const auto& node : nodes) {
    result->nodes.push_back(std::make_unique<GraphNode>(*node));
    GraphNode* copy = result->nodes.back().get();
    copy->graph = result.get();
    copy->cloned_from = node.get();
    if (node->child) copy->child = node->child->clone();
    copy_of[node.get()] = copy;
    if (copies) copies->emplace_back(node.get(), copy);
  }
  for (const auto& node : result->nodes)
    for (GraphNode*& needed : node->needs) needed = copy_of[needed];
  return result;
}

bool GraphExec::build(const Graph& graph) {
  const std::vector<GraphNode*> ordered = graph.order();
  if (ordered.size() != graph.nodes.size()) return false;
  references.insert(references.end(), graph.references.begin(), graph.references.end());
  for (const GraphNode* node : ordered) {
    if (node->child) {
      if (!build(*node->child)) return false;
    } else {
      steps.push_back({node, node->type, node->command, true, node->memory});
    }
  }
  return true;
}

GraphExec::Step* GraphExec::find(const GraphNode* node) {
  for (Step& step : steps)
    if (step.origin == node) return &step;
  return nullptr;
}

cudaError_t capture_command(Stream& stream, const Command& command) {
  Capture& capture = *stream.capture;
  if (capture.invalid) return cudaErrorStreamCaptureInvalidated;
  GraphNode* node = capture.graph->add(type_of(command.kind), stream.leaves);
  node->command = command;
  stream.leaves = {node};
  return cudaSuccess;
}

cudaError_t capture_record(Stream& stream, Event& event) {
  if (stream.capture->invalid) return cudaErrorStreamCaptureInvalidated;
  event.capture = stream.capture;
  event.nodes = stream.leaves;
  return cudaSuccess;
}

cudaError_t capture_wait(Stream& stream, Event& event) {
  if (!event.capture || event.capture->invalid ||
      (stream.capture && stream.capture != event.capture)) {
    if (stream.capture) {
      stream.capture->invalid = true;
      return cudaErrorStreamCaptureIsolation;
    }
    return event.capture ? cudaErrorCapturedEvent : cudaSuccess;
  }
  if (!stream.capture) {
    if (stream.legacy) return cudaErrorStreamCaptureImplicit;
    stream.capture = event.capture;
    stream.leaves.clear();
    event.capture->joined.push_back(&stream);
  }
  for (GraphNode* node : event.nodes)
    if (std::find(stream.leaves.begin(), stream.leaves.end(), node) == stream.leaves.end())
      stream.leaves.push_back(node);
  return cudaSuccess;
}

cudaError_t invalidate_capture(Stream& stream) {
  stream.capture->invalid = true;
  return cudaErrorStreamCaptureUnsupported;
}

}  // namespace tw::cudart
