// See wgmma_instances.h. TW_ELEMENT and TW_LAYOUT come from the build.
#include <array>
#include <type_traits>

#include "gemm/lib/wgmma_instances.h"
#include "gemm/lib/wgmma_kernel.cuh"

namespace tw::gemm {
namespace {

constexpr Element kElement = Element::TW_ELEMENT;
constexpr bool kAMn = TW_LAYOUT >= 2, kBMn = TW_LAYOUT % 2 == 1;
using T = std::conditional_t<kElement == Element::kBf16, __nv_bfloat16,
                             std::conditional_t<kElement == Element::kF16, __half, Tf32>>;

// More than 48 KiB of shared memory must be asked for once per kernel; static initialisation would run
// before a device is chosen, so the row is filled at first use.
template <int BM, int BN>
WgmmaKernel row() {
  using Tile = WgmmaTile<T, BM, BN, kAMn, kBMn>;
  const auto function = reinterpret_cast<const void*>(&wgmma_gemm<Tile>);
  cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes);
  return {function, kElement, kElement, BM, BN, Tile::kStages, Tile::kThreads, Tile::kSharedBytes, kAMn, kBMn};
}

}  // namespace

template <>
InstanceRows wgmma_rows<kElement, TW_LAYOUT>() {
  static const std::array rows = {row<128, 256>(), row<128, 192>(), row<128, 128>(), row<64, 256>(),
                                  row<64, 128>(), row<64, 64>()};
  return {rows.data(), static_cast<int>(rows.size())};
}

}  // namespace tw::gemm
