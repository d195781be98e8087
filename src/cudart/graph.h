// Graphs: explicit nodes and capture of streams.
//
// A graph is a list of nodes, each a Command and the nodes it depends on. Instantiation copies it
// in a topological order; a launch puts the commands into the stream one after the other. That
// keeps every dependency; what it gives up is that independent branches could run at the same time,
// which changes no result unless kernels of different branches wait for one another.
//
// Capture: a stream in capture mode turns commands into nodes that depend on its `leaves`. An event
// recorded there remembers the leaves; a stream that waits for it joins the capture.
// Tested by tests/unit/cudart/api_test.cpp and tests/e2e/programs/graphs.cu.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "cudart/graph_memory.h"
#include "cudart/scheduler.h"

namespace tw::cudart {

struct Graph;

// cudaUserObjectCreate: something of the program that is destroyed with the last reference to it.
struct UserObject {
  void* pointer = nullptr;
  cudaHostFn_t destroy = nullptr;
  std::atomic<unsigned> references{0};
  static void release(UserObject* object, unsigned count);
};
// What a graph holds of it; an executable graph shares that of the graph it was made from.
using UserReferences = std::vector<std::shared_ptr<UserObject>>;

struct GraphNode {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  Graph* graph = nullptr;
  Command command;  // without work: an empty node
  std::vector<GraphNode*> needs;
  std::shared_ptr<Graph> child;         // a child graph
  std::shared_ptr<GraphMemory> memory;  // allocated or freed by this node
  // What the program gave, for the Get calls.
  cudaHostNodeParams host{};
  cudaMemsetParams fill{};
  cudaMemcpy3DParms copy{};
  std::vector<void*> arguments;  // kernel: pointers into command.launch.parameters, made on demand
  std::map<int, cudaLaunchAttributeValue> attributes{};  // kernel
  const GraphNode* cloned_from = nullptr;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  UserReferences references;

  GraphNode* add(cudaGraphNodeType type, std::vector<GraphNode*> needs);
  // Every node after those it needs, otherwise in the order of creation; empty if there is a cycle.
  std::vector<GraphNode*> order() const;
  // A deep copy; `copies` maps nodes to their copies.
  std::shared_ptr<Graph> clone(
      std::vector<std::pair<const GraphNode*, GraphNode*>>* copies = nullptr) const;
};

// An executable graph: the nodes in the order of execution, child graphs laid out in place.
struct GraphExec {
  struct Step {
    const GraphNode* origin = nullptr;  // the node of the graph it was made from
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    Command command;
    bool enabled = true;
    std::shared_ptr<GraphMemory> memory{};
  };
  std::vector<Step> steps;
  unsigned long long flags = 0;
  UserReferences references;

  // False if the graph has a cycle.
  bool build(const Graph& graph);
  Step* find(const GraphNode* node);
};

struct Capture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Stream* origin = nullptr;
  std::vector<Stream*> joined;  // other streams in the capture
  uint64_t id = 0;
  bool invalid = false;
};

// For a stream that is being captured.
cudaError_t capture_command(Stream& stream, const Command& command);
cudaError_t capture_record(Stream& stream, Event& event);
cudaError_t capture_wait(Stream& stream, Event& event);
cudaError_t invalidate_capture(Stream& stream);  // a call that capture does not allow

}  // namespace tw::cudart
