// The arithmetic of three teaching texts on tiling (notes on chapter 5 of "Programming Massively
// Parallel Processors", a lesson on tiled transpose, a lesson on tiled GEMM), recomputed. Where a
// text and the hardware differ, both figures are pinned, with the reason.
#include <gtest/gtest.h>

#include <cmath>

#include "model/bank_map.h"
#include "model/occupancy.h"
#include "model/roofline.h"
#include "model/traffic.h"

namespace tw::model {
namespace {

using shadow::SharedAccess;

DeviceSpec h100() {
  auto spec = load_device_spec("h100");
  EXPECT_TRUE(spec.ok()) << spec.error().to_string();
  return *spec;
}
PipeRoof fp32() { return pipe_roofs(h100(), Basis::kDatasheet).front(); }
MemoryRoof dram() { return memory_roofs(h100(), Basis::kDatasheet).front(); }

double rounded(double value, int digits) {
  const double scale = std::pow(10, digits);
  return std::round(value * scale) / scale;
}

// --- Roofline ------------------------------------------------------------------------------------

TEST(SeedArithmetic, H100RidgeIs20) {
  EXPECT_EQ(fp32().pipe, "FP32");
  EXPECT_DOUBLE_EQ(fp32().tflops, 66.9);
  EXPECT_DOUBLE_EQ(dram().gb_per_s, 3350);
  EXPECT_EQ(rounded(ridge(fp32(), dram()), 1), 20.0);
}

TEST(SeedArithmetic, VectorAdd) {
  auto t = vector_add_traffic(1'000'000'000, 4);
  ASSERT_TRUE(t.ok());
  EXPECT_DOUBLE_EQ(t->bytes, 12e9);
  EXPECT_EQ(rounded(t->intensity, 3), 0.083);
  EXPECT_LT(t->intensity, ridge(fp32(), dram()));
  const double gb_per_s = t->bytes / 4e-3 * 1e-9;
  EXPECT_DOUBLE_EQ(gb_per_s, 3000);
  EXPECT_EQ(std::round(gb_per_s / dram().gb_per_s * 100), 90);
  EXPECT_EQ(rounded(t->bytes / (dram().gb_per_s * 1e9) * 1e3, 1), 3.6);  // ms at best
}

TEST(SeedArithmetic, NaiveGemmIntensity) {
  for (uint64_t n : {64u, 1000u, 1024u}) EXPECT_DOUBLE_EQ(gemm_traffic({n, n, n})->intensity, 0.25);
  EXPECT_EQ(rounded(attainable_tflops(fp32(), dram(), 0.25), 2), 0.84);
  EXPECT_LT(attainable_tflops(fp32(), dram(), 0.25) / fp32().tflops, 0.02);  // "not even 2 %"
}

TEST(SeedArithmetic, TileOfTGivesAQuarterOfT) {
  for (uint32_t tile : {2u, 4u, 8u, 16u, 32u, 64u}) {
    auto t = gemm_traffic({1024, 1024, 1024, 4, tile, tile, tile});
    EXPECT_DOUBLE_EQ(t->intensity, tile / 4.0);
    EXPECT_DOUBLE_EQ(t->reuse, tile);
  }
  EXPECT_EQ(rounded(attainable_tflops(fp32(), dram(), 8), 1), 26.8);  // T = 32
  EXPECT_LT(8, ridge(fp32(), dram()));                                // still memory-bound
}

TEST(SeedArithmetic, Gemm1024) {
  auto naive = gemm_traffic({1024, 1024, 1024});
  EXPECT_EQ(rounded(naive->flops * 1e-9, 3), 2.147);
  EXPECT_DOUBLE_EQ(naive->read_elements, 2.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(rounded(naive->read_bytes * 1e-9, 2), 8.59);
  auto tiled = gemm_traffic({1024, 1024, 1024, 4, 16, 16, 16});
  EXPECT_EQ(tiled->blocks, 4096u);
  EXPECT_EQ(tiled->steps, 64u);
  EXPECT_DOUBLE_EQ(tiled->elements_per_step, 512);
  EXPECT_DOUBLE_EQ(tiled->read_elements, 4096.0 * 64 * 512);
  EXPECT_EQ(rounded(tiled->read_elements * 1e-8, 2), 1.34);
  EXPECT_EQ(rounded(tiled->read_bytes * 1e-6, 2), 536.87);
  EXPECT_DOUBLE_EQ(naive->read_bytes / tiled->read_bytes, 16);
  EXPECT_DOUBLE_EQ(1 - tiled->read_bytes / naive->read_bytes, 0.9375);
  EXPECT_DOUBLE_EQ(tiled->intensity, 4);
}

TEST(SeedArithmetic, TwoByTwoTileHalvesAndThirtyTwoGivesA32nd) {
  EXPECT_DOUBLE_EQ(gemm_traffic({4, 4, 4, 4, 2, 2, 2})->reuse, 2);
  auto t = gemm_traffic({1024, 1024, 1024, 4, 32, 32, 32});
  EXPECT_DOUBLE_EQ(t->read_elements, 2.0 * 1024 * 1024 * 1024 / 32);
}

// --- Occupancy -----------------------------------------------------------------------------------

TEST(SeedArithmetic, SharedMemoryPerThread) {
  const DeviceSpec gpu = h100();
  EXPECT_EQ(gpu.shared_per_sm / gpu.max_threads_per_sm, 114u);  // for full occupancy
  for (uint32_t tile : {16u, 32u}) {
    auto t = gemm_traffic({1024, 1024, 1024, 4, tile, tile, tile});
    EXPECT_DOUBLE_EQ(t->shared_bytes / (tile * tile), 8);
    EXPECT_DOUBLE_EQ(t->shared_bytes, tile == 16 ? 2048 : 8192);
  }
  EXPECT_EQ(gpu.constant_bytes, 65536u);
}

// The text: 38 KB / 256 threads = 152 B per thread, 228 KB / 152 B = 1536 threads, 75 %.
// The hardware: the system takes 1 KB of each resident block, so a block costs 39 KB, five
// fit, 62.5 % (cudaOccupancyMaxActiveBlocksPerMultiprocessor agrees).
TEST(SeedArithmetic, ThirtyEightKilobytesAnd256Threads) {
  DeviceSpec gpu = h100();
  const BlockResources block{256, 32, 38 * 1024};
  EXPECT_EQ(block.shared_bytes / block.threads, 152u);
  EXPECT_EQ(occupancy(gpu, block).blocks_per_sm, 5u);
  EXPECT_DOUBLE_EQ(occupancy(gpu, block).fraction(), 0.625);
  gpu.shared_reserved_per_block = 0;  // what the text assumes
  EXPECT_EQ(occupancy(gpu, block).blocks_per_sm, 6u);
  EXPECT_EQ(occupancy(gpu, block).warps_per_sm * 32, 1536u);
  EXPECT_DOUBLE_EQ(occupancy(gpu, block).fraction(), 0.75);
}

TEST(SeedArithmetic, Tile16Against32) {
  const DeviceSpec gpu = h100();
  const Occupancy t16 = occupancy(gpu, {256, 32, 2048});
  EXPECT_EQ(t16.blocks_per_sm, 8u);
  EXPECT_DOUBLE_EQ(t16.fraction(), 1);
  EXPECT_EQ(occupancy(gpu, {1024, 32, 8192}).blocks_per_sm, 2u);
  for (uint32_t registers : {33u, 40u, 64u}) {
    const Occupancy t32 = occupancy(gpu, {1024, registers, 8192});
    EXPECT_EQ(t32.blocks_per_sm, 1u) << registers;
    EXPECT_DOUBLE_EQ(t32.fraction(), 0.5) << registers;
  }
  EXPECT_EQ(gpu.max_threads_per_block, 1024u);
}

// --- Transpose and banks -------------------------------------------------------------------------

TEST(SeedArithmetic, NaiveTransposeWritesAtAnEighth) {
  auto naive = transpose_traffic({1024, 1024, 4, false, 0});
  EXPECT_DOUBLE_EQ(naive->write_sectors_per_request, 32);  // 32 scattered writes
  EXPECT_DOUBLE_EQ(naive->write_efficiency, 0.125);
  EXPECT_DOUBLE_EQ(naive->read_efficiency, 1);
  auto tiled = transpose_traffic({1024, 1024, 4, true, 1});
  EXPECT_DOUBLE_EQ(tiled->write_efficiency, 1);
  EXPECT_DOUBLE_EQ(tiled->read_efficiency, 1);
}

TEST(SeedArithmetic, ColumnOfTile) {
  SharedArray tile;  // float tile[32][32]
  BankMap map = map_banks(tile, Walk::kColumn, 0, SharedAccess::kLoad);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(map.lanes[lane].address / 4 % 32, 0u);
  EXPECT_EQ(map.ways, 32u);
  tile.pad = 1;  // float tile[32][33]
  map = map_banks(tile, Walk::kColumn, 0, SharedAccess::kLoad);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(map.lanes[lane].address / 4 % 32, lane);
  EXPECT_EQ(map.count.conflicts(), 0u);
  SharedArray plain;
  EXPECT_EQ(tile.bytes() - plain.bytes(), 128u);  // what the padding costs
}

TEST(SeedArithmetic, XorSwizzleNeedsNoPadding) {
  SharedArray tile;
  tile.xor_swizzle = true;
  EXPECT_EQ(tile.bytes(), 4096u);
  for (Walk walk : {Walk::kColumn, Walk::kRow})
    for (SharedAccess access : {SharedAccess::kLoad, SharedAccess::kStore})
      EXPECT_EQ(survey_banks(tile, walk, access).worst.count.conflicts(), 0u);
}

// The text: `+1` half makes neighbours share a word and can cause a 2-way conflict, `+2` rotates
// the banks cleanly. The hardware: sharing a word is a broadcast, not a conflict. With +1 (33
// halves, 16.5 words a row) even columns are conflict-free and odd ones are 2-way, as two lanes
// then want different words of one bank. With +2 (17 words a row) every column is conflict-free.
// Without padding a column is 16-way: rows are 16 words apart, so all lanes meet in two banks.
TEST(SeedArithmetic, HalfWithPadding) {
  SharedArray tile;
  tile.element_bytes = 2;
  EXPECT_EQ(survey_banks(tile, Walk::kColumn, SharedAccess::kLoad).worst.ways, 16u);
  tile.pad = 1;
  for (uint32_t column = 0; column < 32; ++column)
    EXPECT_EQ(map_banks(tile, Walk::kColumn, column, SharedAccess::kLoad).ways, column % 2 + 1)
        << column;
  tile.pad = 2;
  EXPECT_EQ(survey_banks(tile, Walk::kColumn, SharedAccess::kLoad).worst.ways, 1u);
  // half2 with +1: every other row starts in the middle of a word, and the access faults.
  tile.pad = 1;
  tile.vector = 2;
  EXPECT_EQ(map_banks(tile, Walk::kColumn, 0, SharedAccess::kLoad).misaligned_lanes, 0xaaaaaaaau);
  tile.pad = 2;
  EXPECT_EQ(survey_banks(tile, Walk::kColumn, SharedAccess::kLoad).worst.ways, 1u);
  EXPECT_EQ(survey_banks(tile, Walk::kColumn, SharedAccess::kLoad).misaligned_positions, 0u);
}

// The text: float4 with scalar `+1` padding conflicts heavily. By bank arithmetic it does, 4-way in
// each of four groups; on the hardware it does not come to that, as three rows in four are no
// longer 16-byte aligned and the access faults. Padding by a whole float4 has neither problem.
TEST(SeedArithmetic, Float4WithScalarPadding) {
  SharedArray tile;
  tile.vector = 4;
  tile.pad = 1;
  const BankMap map = map_banks(tile, Walk::kColumn, 0, SharedAccess::kLoad);
  EXPECT_EQ(map.ways, 4u);
  EXPECT_EQ(map.count.wavefronts, 16u);
  EXPECT_EQ(map.count.conflicts(), 12u);
  EXPECT_EQ(map.misaligned_lanes, 0xeeeeeeeeu);
  tile.pad = 4;
  const BankSurvey aligned = survey_banks(tile, Walk::kColumn, SharedAccess::kLoad);
  EXPECT_EQ(aligned.worst.count.conflicts(), 0u);
  EXPECT_EQ(aligned.misaligned_positions, 0u);
  tile.pad = 0;
  tile.xor_swizzle = true;
  EXPECT_EQ(survey_banks(tile, Walk::kColumn, SharedAccess::kLoad).worst.count.conflicts(), 0u);
}

}  // namespace
}  // namespace tw::model
