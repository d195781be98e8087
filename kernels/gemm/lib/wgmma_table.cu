// Joins the instance rows of all object files into one table (see wgmma_instances.h).
#include <vector>

#include "gemm/lib/wgmma_instances.h"

namespace tw::gemm {

const WgmmaKernel* wgmma_kernels(int* count) {
  static const std::vector<WgmmaKernel> table = [] {
    std::vector<WgmmaKernel> all;
    auto add = [&](InstanceRows rows) { all.insert(all.end(), rows.rows, rows.rows + rows.count); };
    add(wgmma_rows<Element::kBf16, Element::kBf16, 0>());
    add(wgmma_rows<Element::kBf16, Element::kBf16, 1>());
    add(wgmma_rows<Element::kBf16, Element::kBf16, 2>());
    add(wgmma_rows<Element::kBf16, Element::kBf16, 3>());
    add(wgmma_rows<Element::kF16, Element::kF16, 0>());
    add(wgmma_rows<Element::kF16, Element::kF16, 1>());
    add(wgmma_rows<Element::kF16, Element::kF16, 2>());
    add(wgmma_rows<Element::kF16, Element::kF16, 3>());
    add(wgmma_rows<Element::kTf32, Element::kTf32, 0>());
    add(wgmma_rows<Element::kE4m3, Element::kE4m3, 0>());
    add(wgmma_rows<Element::kE4m3, Element::kE5m2, 0>());
    add(wgmma_rows<Element::kE5m2, Element::kE4m3, 0>());
    add(wgmma_rows<Element::kE5m2, Element::kE5m2, 0>());
    return all;
  }();
  *count = static_cast<int>(table.size());
  return table.data();
}

}  // namespace tw::gemm
