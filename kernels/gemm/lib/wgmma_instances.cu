// See wgmma_instances.h. TW_ELEMENT_A, TW_ELEMENT_B and TW_LAYOUT come from the build.
#include <vector>

#include "gemm/lib/gather_kernel.cuh"
#include "gemm/lib/narrow_kernel.cuh"
#include "gemm/lib/wgmma_instances.h"
#include "gemm/lib/wgmma_kernel.cuh"

namespace tw::gemm {
namespace {

using model::GemmKernel;

template <Element element> struct ElementType;
template <> struct ElementType<Element::kTf32> {
  using Type = gpu::Tf32;
};
template <> struct ElementType<Element::kBf16> {
  using Type = __nv_bfloat16;
};
template <> struct ElementType<Element::kF16> {
  using Type = __half;
};
template <> struct ElementType<Element::kE4m3> {
  using Type = __nv_fp8_e4m3;
};
template <> struct ElementType<Element::kE5m2> {
  using Type = __nv_fp8_e5m2;
};

constexpr Element kElementA = Element::TW_ELEMENT_A, kElementB = Element::TW_ELEMENT_B;
constexpr bool kAMn = TW_LAYOUT >= 2, kBMn = TW_LAYOUT % 2 == 1;

// More than 48 KiB of shared memory must be asked for once per kernel; a row is made at first use,
// when a device has been chosen.
template <int BM, int BN, int kResident = 1> WgmmaKernel row() {
  using Tile = WgmmaTile<ElementType<kElementA>::Type, ElementType<kElementB>::Type, BM, BN, kAMn,
                         kBMn, kResident>;
  const auto function = reinterpret_cast<const void*>(&wgmma_gemm<Tile>);
  cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes);
  return {function,       kElementA,          kElementB, BM,   BN,        Tile::kStages,
          Tile::kThreads, Tile::kSharedBytes, kAMn,      kBMn, kResident, GemmKernel::kTiled};
}

template <int BX> WgmmaKernel narrow_row() {
  using Tile =
      NarrowTile<ElementType<kElementA>::Type, ElementType<kElementB>::Type, BX, kAMn, kBMn>;
  const auto function = reinterpret_cast<const void*>(&narrow_gemm<Tile>);
  cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes);
  return {function, kElementA,     kElementB,       Tile::BW,
          BX,       Tile::kStages, Tile::kThreads,  Tile::kSharedBytes,
          kAMn,     kBMn,          Tile::kResident, GemmKernel::kNarrow};
}

template <int kGroups> WgmmaKernel gather_row() {
  using Tile =
      GatherTile<ElementType<kElementA>::Type, ElementType<kElementB>::Type, kAMn, kBMn, kGroups>;
  const auto function = reinterpret_cast<const void*>(&gather_gemm<Tile>);
  cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes);
  return {function, kElementA, kElementB,       Tile::BM,
          Tile::BN, 1,         Tile::kThreads,  Tile::kSharedBytes,
          kAMn,     kBMn,      Tile::kResident, GemmKernel::kGather};
}

}  // namespace

template <> InstanceRows wgmma_rows<kElementA, kElementB, TW_LAYOUT>() {
  static const std::vector<WgmmaKernel> rows = [] {
    std::vector<WgmmaKernel> all;
    if constexpr (element_bytes(kElementA) == 1) {
      all = {row<128, 192>(), row<128, 128>(), row<64, 128>(), row<64, 64>(), row<64, 64, 2>()};
    } else {
      all = {row<128, 256>(), row<128, 192>(), row<128, 128>(), row<64, 256>(),
             row<64, 192>(),  row<64, 128>(),  row<64, 64>(),   row<64, 64, 2>()};
    }
    all.push_back(narrow_row<64>());
    if constexpr (!kBMn) {
      all.push_back(narrow_row<32>());
      all.push_back(narrow_row<16>());
    }
    all.push_back(gather_row<1>());
    all.push_back(gather_row<2>());
    if constexpr (element_bytes(kElementA) > 1) all.push_back(gather_row<4>());
    return all;
  }();
  return {rows.data(), static_cast<int>(rows.size())};
}

}  // namespace tw::gemm
