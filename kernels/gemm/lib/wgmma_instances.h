// The rows of the instance table that one object file contributes (wgmma_instances.cu is compiled
// once for every element type, pair of layouts and part of the tiles, so that the compilations run
// side by side).
//
// Tested by tilewright-bench gemm --suite verify.
#pragma once

#include "gemm/lib/wgmma_launch.h"

namespace tw::gemm {

struct InstanceRows {
  const WgmmaKernel* rows;
  int count;
};

// 0: A and B K-major; 1: A K-major, B MN-major; 2: A MN-major, B K-major; 3: both MN-major.
// A part has every other tile of model::kGemmTiles; part 0 the narrow and gathering kernels, too.
constexpr int kInstanceParts = 2;
template <Element element_a, Element element_b, int layout, int part> InstanceRows wgmma_rows();

}  // namespace tw::gemm
