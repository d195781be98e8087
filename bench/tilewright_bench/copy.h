// The copy every transpose is held against: cudaMemcpyAsync and our own kernel; the faster of the
// two counts, so that a slow reference cannot flatter us.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace tilewright::bench {

// Copies `bytes` bytes; pointers aligned to 16. A thread moves four 16-byte vectors, independent of
// one another.
void copy_kernel(void* out, const void* in, size_t bytes, cudaStream_t stream);

}  // namespace tilewright::bench
