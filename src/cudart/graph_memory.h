// Memory that belongs to a graph (allocation and free nodes, cudaMallocAsync in a captured stream).
//
// On a GPU the graph owns an address range, and memory lies behind it from the allocation node to
// the free node. Here the memory is there as long as a graph or an executable graph knows of it,
// and the nodes do nothing when they run; what a program can see of the difference is only how much
// memory is in use. That a graph may not be launched again before its memory was freed is kept.
//
// Tested by tests/e2e/programs/graph_memory.cu.
#pragma once

#include <cstdint>
#include <memory>

#include "cudart/cuda_api.h"

namespace tw::cudart {

class Context;

class GraphMemory {
 public:
  // Takes `bytes` of the device's memory; nullptr if there is not enough.
  static std::shared_ptr<GraphMemory> allocate(Context& context, uint64_t bytes);
  // The graph memory that begins at an address; nullptr if none does.
  static std::shared_ptr<GraphMemory> at(const void* address);
  ~GraphMemory();

  void* address() const { return reinterpret_cast<void*>(address_); }
  uint64_t bytes() const { return bytes_; }
  bool in_use = false;  // a launch has allocated it and nothing has freed it since

 private:
  GraphMemory() = default;
  Context* context_ = nullptr;
  uint64_t address_ = 0, bytes_ = 0;
};

// cudaMallocAsync and cudaFreeAsync in a stream that is being captured.
cudaError_t capture_allocation(struct Stream& stream, Context& context, uint64_t bytes,
                               void** pointer);
cudaError_t capture_free(struct Stream& stream, std::shared_ptr<GraphMemory> memory);

}  // namespace tw::cudart
