// See wgmma_instances.h. TW_ELEMENT_A, TW_ELEMENT_B, TW_LAYOUT and TW_PART come from the build.
#include <iterator>
#include <utility>
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
const void* prepared(const void* function, int shared_bytes) {
  cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  return function;
}

template <class Tile, Epilogue kEpilogue> const void* tiled() {
  return prepared(reinterpret_cast<const void*>(&wgmma_gemm<Tile, kEpilogue>), Tile::kSharedBytes);
}

template <class Tile> WgmmaKernel facts(GemmKernel kind, int bm, int bn, int stages) {
  WgmmaKernel k{};
  k.element_a = kElementA;
  k.element_b = kElementB;
  k.bm = bm;
  k.bn = bn;
  k.stages = stages;
  k.threads = Tile::kThreads;
  k.shared_bytes = Tile::kSharedBytes;
  k.a_mn = kAMn;
  k.b_mn = kBMn;
  k.resident = Tile::kResident;
  k.kernel = kind;
  return k;
}

template <int BM, int BN, int kResident = 1, bool kPingPong = false> WgmmaKernel row() {
  using Tile = WgmmaTile<ElementType<kElementA>::Type, ElementType<kElementB>::Type, BM, BN, kAMn,
                         kBMn, kResident, kPingPong>;
  static_assert(model::is_gemm_tile(BM, BN, kResident, kPingPong), "the model would not know it");
  WgmmaKernel k = facts<Tile>(GemmKernel::kTiled, BM, BN, Tile::kStages);
  k.ping_pong = kPingPong;
  k.functions[static_cast<int>(Epilogue::kBulk)] = tiled<Tile, Epilogue::kBulk>();
  k.functions[static_cast<int>(Epilogue::kElements)] = tiled<Tile, Epilogue::kElements>();
  if constexpr (!kPingPong) {
    // Wider tiles never store this way (see launch_wgmma).
    if constexpr (BN <= 128)
      k.functions[static_cast<int>(Epilogue::kVector)] = tiled<Tile, Epilogue::kVector>();
    k.functions[static_cast<int>(Epilogue::kGeneral)] = tiled<Tile, Epilogue::kGeneral>();
    k.functions[static_cast<int>(Epilogue::kPlainSum)] = tiled<Tile, Epilogue::kPlainSum>();
    k.functions[static_cast<int>(Epilogue::kGeneralSum)] = tiled<Tile, Epilogue::kGeneralSum>();
  }
  if constexpr (kAMn && !kBMn &&
                model::stores_turned({BM, BN, kResident, kPingPong}, element_bytes(kElementA)))
    k.functions[static_cast<int>(Epilogue::kTurned)] = tiled<Tile, Epilogue::kTurned>();
  if constexpr (model::repacks({BM, BN, kResident, kPingPong}, element_bytes(kElementA))) {
    // A product that is worth it is long: the general kernel stores what fits bulk copies, too.
    constexpr Epilogue kElements = Epilogue::kRepackElements, kOther = Epilogue::kRepackGeneral;
    k.functions[static_cast<int>(kElements)] = tiled<Tile, kElements>();
    k.functions[static_cast<int>(kOther)] = tiled<Tile, kOther>();
    k.repack_threads = Warpgroups<Tile, kOther>::kThreads;
  }
  return k;
}

template <int BX> WgmmaKernel narrow_row() {
  using Tile =
      NarrowTile<ElementType<kElementA>::Type, ElementType<kElementB>::Type, BX, kAMn, kBMn>;
  static_assert(Tile::BW == model::kNarrowWide && Tile::kResident == model::kNarrowResident &&
                    Tile::kStages == model::narrow_stages(BX),
                "the model predicts this kernel");
  WgmmaKernel k = facts<Tile>(GemmKernel::kNarrow, Tile::BW, BX, Tile::kStages);
  k.functions[static_cast<int>(Epilogue::kElements)] =
      prepared(reinterpret_cast<const void*>(&narrow_gemm<Tile, true>), Tile::kSharedBytes);
  k.functions[static_cast<int>(Epilogue::kGeneral)] =
      prepared(reinterpret_cast<const void*>(&narrow_gemm<Tile, false>), Tile::kSharedBytes);
  return k;
}

template <int kGroups> WgmmaKernel gather_row() {
  using Tile =
      GatherTile<ElementType<kElementA>::Type, ElementType<kElementB>::Type, kAMn, kBMn, kGroups>;
  static_assert(Tile::kResident == model::gather_resident(kGroups, element_bytes(kElementA)),
                "the model predicts this kernel");
  WgmmaKernel k = facts<Tile>(GemmKernel::kGather, Tile::BM, Tile::BN, 1);
  auto with = [&](Epilogue e, const void* function) {
    k.functions[static_cast<int>(e)] = prepared(function, Tile::kSharedBytes);
  };
  with(Epilogue::kGeneral, reinterpret_cast<const void*>(&gather_gemm<Tile, Epilogue::kGeneral>));
  with(Epilogue::kVector, reinterpret_cast<const void*>(&gather_gemm<Tile, Epilogue::kVector>));
  with(Epilogue::kElements, reinterpret_cast<const void*>(&gather_gemm<Tile, Epilogue::kElements>));
  return k;
}

// Appends the row of a tile, if this type and layout have it.
template <model::GemmTile t> void add_tile(std::vector<WgmmaKernel>* all) {
  if constexpr (model::has_gemm_tile(t, element_bytes(kElementA), kBMn))
    all->push_back(row<t.bm, t.bn, t.resident, t.ping_pong>());
}
// Every kInstanceParts-th tile.
template <int... i>
void add_tiles(std::vector<WgmmaKernel>* all, std::integer_sequence<int, i...>) {
  (add_tile<model::kGemmTiles[TW_PART + kInstanceParts * i]>(all), ...);
}

}  // namespace

template <> InstanceRows wgmma_rows<kElementA, kElementB, TW_LAYOUT, TW_PART>() {
  static const std::vector<WgmmaKernel> rows = [] {
    std::vector<WgmmaKernel> all;
    constexpr int kTiles = static_cast<int>(std::size(model::kGemmTiles));
    constexpr int kHere = (kTiles - TW_PART + kInstanceParts - 1) / kInstanceParts;
    add_tiles(&all, std::make_integer_sequence<int, kHere>{});
    if constexpr (TW_PART == 0) {
      all.push_back(narrow_row<64>());
      if constexpr (!kBMn) {
        all.push_back(narrow_row<32>());
        all.push_back(narrow_row<16>());
      }
      all.push_back(gather_row<1>());
      all.push_back(gather_row<2>());
      if constexpr (element_bytes(kElementA) > 1) all.push_back(gather_row<4>());
    }
    return all;
  }();
  return {rows.data(), static_cast<int>(rows.size())};
}

}  // namespace tw::gemm
