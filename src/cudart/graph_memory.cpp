#include "cudart/graph_memory.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "cudart/graph_handles.h"

namespace tw::cudart {
namespace {

struct Usage {
  uint64_t used = 0, most = 0;
};

struct Table {
  std::mutex mutex;
  std::unordered_map<const void*, std::weak_ptr<GraphMemory>> by_address;
  std::map<int, Usage> usage;  // by device

  static Table& get() {
    static Table* table = new Table;  // never destroyed: graphs may live until exit
    return *table;
  }
};

}  // namespace

std::shared_ptr<GraphMemory> GraphMemory::allocate(Context& context, uint64_t bytes) {
  const Result<uint64_t> address = context.device().allocate(bytes, emu::AllocationKind::device);
  if (!address) return nullptr;
  const std::shared_ptr<GraphMemory> memory(new GraphMemory);
  memory->context_ = &context;
  memory->address_ = *address;
  memory->bytes_ = bytes;
  Table& table = Table::get();
  const std::lock_guard lock(table.mutex);
  table.by_address[memory->address()] = memory;
  Usage& usage = table.usage[context.ordinal];
  usage.used += bytes;
  usage.most = std::max(usage.most, usage.used);
  return memory;
}

std::shared_ptr<GraphMemory> GraphMemory::at(const void* address) {
  Table& table = Table::get();
  const std::lock_guard lock(table.mutex);
  const auto place = table.by_address.find(address);
  return place == table.by_address.end() ? nullptr : place->second.lock();
}

GraphMemory::~GraphMemory() {
  Table& table = Table::get();
  {
    const std::lock_guard lock(table.mutex);
    table.by_address.erase(address());
    table.usage[context_->ordinal].used -= bytes_;
  }
  Runtime::get().scheduler.wait(*context_);
  (void)context_->device().free(address_).ok();
}

cudaError_t capture_allocation(Stream& stream, Context& context, uint64_t bytes, void** pointer) {
  Capture& capture = *stream.capture;
  if (capture.invalid) return cudaErrorStreamCaptureInvalidated;
  std::shared_ptr<GraphMemory> memory = GraphMemory::allocate(context, bytes);
  if (!memory) return cudaErrorMemoryAllocation;
  *pointer = memory->address();
  GraphNode* node = capture.graph->add(cudaGraphNodeTypeMemAlloc, stream.leaves);
  node->command.work = [] { return cudaSuccess; };
  node->memory = std::move(memory);
  stream.leaves = {node};
  return cudaSuccess;
}

cudaError_t capture_free(Stream& stream, std::shared_ptr<GraphMemory> memory) {
  Capture& capture = *stream.capture;
  if (capture.invalid) return cudaErrorStreamCaptureInvalidated;
  GraphNode* node = capture.graph->add(cudaGraphNodeTypeMemFree, stream.leaves);
  node->command.work = [] { return cudaSuccess; };
  node->memory = std::move(memory);
  stream.leaves = {node};
  return cudaSuccess;
}

}  // namespace tw::cudart

using namespace tw::cudart;

// The attributes of a device's graph memory.
namespace {
template <class Body> cudaError_t with_usage(int device, Body&& body) {
  return with_context([&](Context&) -> cudaError_t {
    if (device < 0 || device >= Runtime::get().device_count()) return cudaErrorInvalidDevice;
    Table& table = Table::get();
    const std::lock_guard lock(table.mutex);
    return body(table.usage[device]);
  });
}
}  // namespace

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                           void* value) {
  return with_usage(device, [&](const Usage& usage) -> cudaError_t {
    if (value == nullptr) return cudaErrorInvalidValue;
    switch (attribute) {
      case cudaGraphMemAttrUsedMemCurrent:
      case cudaGraphMemAttrReservedMemCurrent:
        *static_cast<uint64_t*>(value) = usage.used;
        return cudaSuccess;
      case cudaGraphMemAttrUsedMemHigh:
      case cudaGraphMemAttrReservedMemHigh:
        *static_cast<uint64_t*>(value) = usage.most;
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

// Only the high-water marks can be set, and only to zero, which makes them start again.
cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                           void* value) {
  return with_usage(device, [&](Usage& usage) -> cudaError_t {
    if (value == nullptr || *static_cast<uint64_t*>(value) != 0) return cudaErrorInvalidValue;
    if (attribute != cudaGraphMemAttrUsedMemHigh && attribute != cudaGraphMemAttrReservedMemHigh)
      return cudaErrorInvalidValue;
    usage.most = usage.used;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  return with_usage(device, [](const Usage&) { return cudaSuccess; });
}
