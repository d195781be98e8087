// Copies and fills: one description for linear, 2D and 3D ones.
//
// Which sides must be device memory for which `kind`: as observed on an H200. The side that the
// kind calls "device" must be memory that CUDA knows (device, managed or page-locked); the side
// that it calls "host" may be anything, for addresses are unified. Every byte must lie inside one
// allocation. Tested by tests/unit/cudart/api_test.cpp and tests/e2e/programs/api_errors.cu.
#pragma once

#include "cudart/runtime.h"

namespace tw::cudart {

struct Side {
  const void* address = nullptr;
  size_t pitch = 0;  // bytes from row to row
  size_t slice = 0;  // bytes from plane to plane
};

struct Extent {
  size_t width = 0;   // bytes
  size_t height = 1;  // rows
  size_t depth = 1;   // planes
};

// Whether the call returns before the copy is done.
enum class Waiting : uint8_t { synchronous, asynchronous };

cudaError_t copy(Side to, Side from, Extent extent, cudaMemcpyKind kind, Stream& stream,
                 Waiting waiting);
cudaError_t fill(Side to, int value, Extent extent, Stream& stream, Waiting waiting);

// The address of `bytes` bytes at `offset` in a variable.
cudaError_t symbol_address(Context& context, const void* symbol, size_t bytes, size_t offset,
                           void*& address);
// cudaMemcpyBatchAsync; CUDA 12 also tells which copy failed.
cudaError_t copy_batch(void* const* to, const void* const* from, const size_t* bytes, size_t count,
                       const cudaMemcpyAttributes* attributes, const size_t* first,
                       size_t attribute_count, size_t* failed, cudaStream_t stream);

// Checks the arguments and gives the work itself (for graph nodes). `pageable`: one side is
// ordinary host memory.
cudaError_t prepare_copy(Side to, Side from, Extent extent, cudaMemcpyKind kind,
                         std::function<cudaError_t()>& work, bool& pageable);
cudaError_t prepare_fill(Side to, int value, unsigned element_bytes, Extent extent,
                         std::function<cudaError_t()>& work);

}  // namespace tw::cudart
