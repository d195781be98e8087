// tilewright-bench gemm --suite tiles: every kernel that could run a case, launched past the
// library's choice, beside the model's prediction.
#pragma once

#include <string>
#include <vector>

#include "frame.h"
#include "gemm_cases.h"

namespace tilewright::bench {

struct GemmCase {
  int64_t m, n, k;
  const TypeInfo* type;
  bool transpose_a, transpose_b;
  int64_t batches = 1;
  const char* note = "";
};

struct ForcedKernel {
  std::string name;
  double predicted_us;
};

struct GemmBuffers {
  const RotatingBuffers &a, &b, &d;
  void* workspace;  // sums of K split over the grid
  size_t workspace_bytes;
};

// Appends a candidate for every tile, cluster and (for one split) raster; the buffers outlive them.
std::vector<ForcedKernel> add_forced_kernels(const GemmCase& c, bool ragged, const GemmArguments& g,
                                             GemmBuffers buffers, std::vector<Candidate>* out);

}  // namespace tilewright::bench
