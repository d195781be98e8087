// Reduces a permutation of up to eight dimensions to what the kernels do: a copy, a gather of
// contiguous runs, or a batch of matrix transposes. Plain C++, no allocation: runs on every call of
// permute().
//
// Steps: drop dimensions of size 1; merge dimensions that stay neighbours; if the last dimension
// stays last, take as much of it into the element as 16 bytes hold; what is left decides.
//
// Tested by tests/unit/transpose/transpose_plan_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/status.h"
#include "transpose/transpose_plan.h"

namespace tilewright::plan {

constexpr int kMaxDims = 8;

enum class PermuteKind { kNothing, kCopy, kRuns, kTranspose };

// Sizes and strides in elements of `element_bytes`, which may be wider than the caller's; of runs,
// also narrower (addresses are multiples of it).
struct PermutePlan {
  PermuteKind kind = PermuteKind::kNothing;
  int element_bytes = 0;
  int64_t total = 0;                                  // elements
  int64_t run = 0;                                    // kRuns: length of a run
  int64_t rows = 0, cols = 0, ld_in = 0, ld_out = 0;  // kTranspose
  int dims = 0;  // batch: dimensions around the run or the matrix, outermost first
  int64_t extent[kMaxDims] = {}, stride_in[kMaxDims] = {}, stride_out[kMaxDims] = {};
};

// Arguments as permute() of transpose.h; addresses are looked at for alignment and overlap only.
Status reduce_permute(uint64_t in, uint64_t out, int dims, const int64_t* sizes, const int* order,
                      int element_bytes, PermutePlan& plan);

// The transposes that a plan of kind kTranspose asks for: the problem that choose() and explain()
// take. Strides are or-ed together: good for alignment only. `count`: how many.
TransposeProblem transposes_of(const PermutePlan& plan, uint64_t in, uint64_t out);

// The reduction in words, and the choice of the transposes' kernel.
std::string explain_permute(int dims, const int64_t* sizes, const int* order, int element_bytes,
                            const DeviceLimits& device);

}  // namespace tilewright::plan
