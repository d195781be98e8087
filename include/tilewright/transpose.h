// Transposes and permutations at the speed of a copy, on a GPU (device pointers) and on the CPU
// (host pointers).
//
// All matrices are row-major. Sizes, leading dimensions and strides are 64-bit and count
// *elements*; an element is 1, 2, 4, 8 or 16 bytes, moved as they are. A call on a stream
// allocates nothing, waits for nothing, may be captured into a graph and may be made from any
// thread; work is queued on `stream` (nullptr: the default stream) of the current device. From
// compute capability 9.0 on a kernel may start while the one before it on the stream ends; it
// waits for that end before it touches memory. Zero sizes are valid and do nothing. Errors are
// values (status.h): kInvalidArgument names the parameter and touches nothing.
//
// Tested by tests/unit/transpose/transpose_plan_test.cpp (rules),
// tests/unit/transpose/transpose_tile_test.cpp (index arithmetic) and `tilewright-bench transpose
// --suite verify` (GPU, every element).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/status.h"

typedef struct CUstream_st* cudaStream_t;  // as in the CUDA headers, which this one does not need

namespace tilewright {

// `count` matrices of one shape; matrix b starts at in + b * stride_in and out + b * stride_out.
struct Batch {
  int64_t count = 1;
  int64_t stride_in = 0, stride_out = 0;
};

// out[c][r] = in[r][c] for r < rows, c < cols. ld_in >= cols, ld_out >= rows.
// Errors: a negative size; a leading dimension below the row length; a null pointer; an element
// size that is none of the five; in and out overlapping from first to last byte (use
// transpose_in_place), but for windows side by side in rows of one pitch (of a batch, too, whose
// strides are whole rows or whose matrices share rows); output matrices of a batch neither apart
// from one another nor side by side in common rows; extents beyond 2^63 bytes; a pointer not
// aligned to its element (8- and 16-byte elements: to 4 bytes). Input matrices of a batch may
// overlap, or be one (stride 0).
Status transpose(const void* in, int64_t ld_in, void* out, int64_t ld_out, int64_t rows,
                 int64_t cols, int element_bytes, const Batch& batch = {},
                 cudaStream_t stream = nullptr) noexcept;

// The same on one buffer. Square: any ld >= cols, no workspace. Rectangular: the buffer holds the
// matrix without gaps before (rows x cols, ld == cols) and after (cols x rows), and needs a device
// workspace of at least transpose_in_place_workspace bytes. Data and workspace are aligned to the
// element.
Status transpose_in_place(void* data, int64_t ld, int64_t rows, int64_t cols, int element_bytes,
                          void* workspace, size_t workspace_bytes,
                          cudaStream_t stream = nullptr) noexcept;
// 0 for square matrices and for arguments transpose_in_place refuses.
size_t transpose_in_place_workspace(int64_t rows, int64_t cols, int element_bytes) noexcept;

constexpr int kMaxPermuteDims = 8;
// General permutation of a dense array: `sizes[dims]`, last dimension contiguous; dimension i of
// the output is dimension order[i] of the input (as PyTorch's permute(order).contiguous()). Errors:
// dims outside [1, 8], order not a permutation, in and out overlapping, and those of transpose.
Status permute(const void* in, void* out, int dims, const int64_t* sizes, const int* order,
               int element_bytes, cudaStream_t stream = nullptr) noexcept;

// Host pointers. `threads`: 0 takes the number of hardware threads; small matrices use fewer.
Status transpose_host(const void* in, int64_t ld_in, void* out, int64_t ld_out, int64_t rows,
                      int64_t cols, int element_bytes, const Batch& batch = {},
                      int threads = 0) noexcept;

}  // namespace tilewright
