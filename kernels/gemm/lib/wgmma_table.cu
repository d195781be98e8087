// Joins the instance rows of all object files into one table (see wgmma_instances.h).
#include <vector>

#include "gemm/lib/wgmma_instances.h"

namespace tw::gemm {

const WgmmaKernel* wgmma_kernels(int* count) {
  static const std::vector<WgmmaKernel> table = [] {
    std::vector<WgmmaKernel> all;
    auto add = [&](InstanceRows rows) { all.insert(all.end(), rows.rows, rows.rows + rows.count); };
    add(wgmma_rows<Element::kBf16, 0>());
    add(wgmma_rows<Element::kBf16, 1>());
    add(wgmma_rows<Element::kBf16, 2>());
    add(wgmma_rows<Element::kBf16, 3>());
    return all;
  }();
  *count = static_cast<int>(table.size());
  return table.data();
}

}  // namespace tw::gemm
