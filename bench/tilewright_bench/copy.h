// The copy every transpose is held against: cudaMemcpyAsync and our own kernel; the faster of the
// two counts, so that a slow reference cannot flatter us.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace tilewright::bench {

// Copies `bytes` bytes; pointers aligned to 16; one vector a thread. `overlapped`: may start while the
// kernel before it on the stream still runs, and waits for its end (compute capability 9.0).
void copy_kernel(void* out, const void* in, size_t bytes, cudaStream_t stream,
                 bool overlapped = false);

}  // namespace tilewright::bench
