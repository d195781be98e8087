// The GEMM kernels that the library has: what model and kernels both state, once. Without the
// model's constants, so that fitting those compiles no kernel anew.
//
// Tested by tests/unit/model/gemm_model_test.cpp; kernels/gemm/lib/wgmma_instances.cu asserts it.
#pragma once

#include <cstdint>

namespace tw::model {

// The library's kernels, by the file under kernels/gemm/lib.
enum class GemmKernel {
  kTiled,      // wgmma_kernel.cuh
  kNarrow,     // narrow_kernel.cuh: bm rows of the wide operand, all of the narrow one
  kGather,     // gather_kernel.cuh: any address and pitch, no repacking
  kFma,        // sgemm.cu: CUDA cores, any address and pitch
  kFmaTma,     // sgemm_tma.cu: CUDA cores, MN-major operands that suit TMA: others are transposed
  kFmaNarrow,  // sgemm_narrow.cu: CUDA cores, up to four columns or rows, the wide operand MN-major
};

// Shapes that have a kernel, largest first.
struct GemmTile {
  int bm, bn;
  int resident = 1;
  bool ping_pong = false;
  int groups = 1;  // of a CTA's warps that share K of its tile (CUDA cores)
};
// clang-format off
constexpr GemmTile kGemmTiles[] = {
    {128, 256}, {128, 192}, {128, 168}, {128, 128},
    {64, 256}, {64, 192}, {64, 128}, {64, 96}, {64, 80}, {64, 64}, {64, 48}, {64, 32}, {64, 64, 2},
    {128, 176, 1, true}, {128, 168, 1, true}, {128, 160, 1, true}, {128, 128, 1, true}, {128, 112, 1, true}, {128, 96, 1, true}};
// clang-format on
// Which of them a type and layout have.
constexpr bool has_gemm_tile(GemmTile t, int element_bytes, bool b_mn) {
  // An MN-major B comes in panels of 64 columns, or one of 32: others would be fetched for nothing
  // (128x176 on 8192 cubed, nn: 0.93 of cuBLASLt, nt: 0.99).
  if (b_mn && t.bn % 64 != 0 && t.bn != 32) return false;
  // fp8 keeps two sets of accumulators (promotion); up to 128 columns three, which is faster.
  if (element_bytes == 1)
    return !t.ping_pong && ((t.bn % 32 == 0 && t.bn <= 128) || (t.bm == 128 && t.bn == 192));
  return true;
}
// Which of them have kernels that store D turned (turned_store.cuh): where A is K-major and B
// MN-major, D^T = B^T A^T has the widths that D has not.
constexpr bool stores_turned(GemmTile t, int element_bytes) {
  return t.ping_pong && t.bn % 64 != 0 && element_bytes == 2;
}
// Which of them have kernels that repack operands while they run: those that large products take.
// (Ping-pong does not: when two warps moved, 8191 cubed took as long in 128x176 as in 128x256.)
constexpr bool repacks(GemmTile t, int element_bytes) {
  if (t.bm != 128 || t.ping_pong) return false;
  return element_bytes == 1 ? t.bn == 128 || t.bn == 192 : t.bn == 256;
}
// Narrow side of the kernels for products with one narrow side.
constexpr int kNarrowWidths[] = {16, 32, 64};
constexpr int kNarrowWide = 128;
constexpr int kNarrowResident = 2;
// Stages of its ring: 228 KiB an SM, of which each CTA has 1 KiB reserved and 256 bytes of
// barriers.
constexpr int narrow_stages(int bn) {
  return (233472 / kNarrowResident - 1280) / ((kNarrowWide + bn) * 128);
}
constexpr int kGatherGroups[] = {1, 2, 4};
// CTAs of the gathering kernel that an SM's registers hold.
constexpr int gather_resident(int groups, int element_bytes) {
  return groups > 1 ? 1 : (element_bytes == 1 ? 3 : 4);
}
constexpr bool is_gemm_tile(int bm, int bn, int resident, bool ping_pong) {
  for (const GemmTile& t : kGemmTiles) {
    if (t.bm == bm && t.bn == bn && t.resident == resident && t.ping_pong == ping_pong) return true;
  }
  return false;
}
constexpr GemmTile kCudaCoreTiles[] = {
    {128, 256}, {128, 128, 2}, {128, 128, 1, false, 2}, {64, 64, 4}};
constexpr GemmTile kCudaCoreTmaTiles[] = {{128, 256}, {128, 128, 1, false, 2}};
// sgemm_narrow.cu: rows or columns of D on its narrow side, on the wide one a CTA; CTAs an SM
// holds.
constexpr int kFmaNarrowMost = 4, kFmaNarrowWide = 128, kFmaNarrowResident = 2;
constexpr int kGemmClusters[] = {1, 2};
constexpr int kSharingAClusters[] = {2, 4};
constexpr int kMostKCluster = 8;
constexpr int kMaxGemmSplits = 64;
// K blocks (128 bytes of K each) that are repacked together while the product runs
// (repack_order.h).
constexpr int kRepackBand = 8;
// Of K, what is repacked by bands: a rest of up to 16 bytes behind the last one is not.
constexpr int64_t banded_k(int64_t k, int element_bytes) {
  constexpr int64_t kBand = kRepackBand * 128, kShort = 16;
  const int64_t rest = k * element_bytes % kBand;
  return k * element_bytes > kBand && rest <= kShort ? k - rest / element_bytes : k;
}

}  // namespace tw::model
