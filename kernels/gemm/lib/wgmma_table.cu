// Joins the instance rows of all object files into one table (see wgmma_instances.h).
#include <vector>

#include "gemm/lib/wgmma_instances.h"

namespace tw::gemm {

const WgmmaKernel* wgmma_kernels(int* count) {
  static const std::vector<WgmmaKernel> table = [] {
    std::vector<WgmmaKernel> all;
    auto add = [&](InstanceRows rows) { all.insert(all.end(), rows.rows, rows.rows + rows.count); };
    auto both = [&]<Element a, Element b, int layout>() {
      static_assert(kInstanceParts == 2);
      add(wgmma_rows<a, b, layout, 0>());
      add(wgmma_rows<a, b, layout, 1>());
    };
    auto four = [&]<Element e>() {
      both.template operator()<e, e, 0>();
      both.template operator()<e, e, 1>();
      both.template operator()<e, e, 2>();
      both.template operator()<e, e, 3>();
    };
    four.operator()<Element::kBf16>();
    four.operator()<Element::kF16>();
    both.operator()<Element::kTf32, Element::kTf32, 0>();
    both.operator()<Element::kE4m3, Element::kE4m3, 0>();
    both.operator()<Element::kE4m3, Element::kE5m2, 0>();
    both.operator()<Element::kE5m2, Element::kE4m3, 0>();
    both.operator()<Element::kE5m2, Element::kE5m2, 0>();
    return all;
  }();
  *count = static_cast<int>(table.size());
  return table.data();
}

}  // namespace tw::gemm
