// The rules: what is refused and by which name, which kernel a shape takes, how a permutation
// reduces.
#include "transpose/transpose_plan.h"

#include <gtest/gtest.h>

#include <vector>

#include "transpose/permute_plan.h"

namespace tilewright::plan {
namespace {

TransposeProblem problem(int e, int64_t rows, int64_t cols) {
  TransposeProblem p;
  p.element_bytes = e;
  p.rows = rows;
  p.cols = cols;
  p.ld_in = cols;
  p.ld_out = rows;
  p.in_address = 0x10000;
  p.out_address = uint64_t(1) << 50;
  return p;
}

TEST(TransposeValidate, NamesTheArgument) {
  auto refused = [](auto change) {
    TransposeProblem p = problem(4, 100, 200);
    change(p);
    return std::string(validate(p).argument);
  };
  EXPECT_TRUE(validate(problem(4, 100, 200)).ok());
  EXPECT_EQ(refused([](auto& p) { p.element_bytes = 3; }), "element_bytes");
  EXPECT_EQ(refused([](auto& p) { p.rows = -1; }), "rows");
  EXPECT_EQ(refused([](auto& p) { p.cols = -1; }), "cols");
  EXPECT_EQ(refused([](auto& p) { p.ld_in = 199; }), "ld_in");
  EXPECT_EQ(refused([](auto& p) { p.ld_out = 99; }), "ld_out");
  EXPECT_EQ(refused([](auto& p) { p.in_address = 0; }), "in");
  EXPECT_EQ(refused([](auto& p) { p.out_address = 0; }), "out");
  EXPECT_EQ(refused([](auto& p) { p.in_address += 2; }), "in");
  EXPECT_EQ(refused([](auto& p) { p.out_address = p.in_address + 40; }), "out");
  EXPECT_EQ(refused([](auto& p) { p.ld_in = int64_t(1) << 61; }), "ld_in");
  EXPECT_EQ(refused([](auto& p) { p.batch = -1; }), "batch.count");
  EXPECT_EQ(refused([](auto& p) { p.batch = 2, p.stride_in = 20000, p.stride_out = 10; }),
            "batch.stride_out");
}

TEST(TransposeValidate, TheRowsOfOneElementMayBeAnyPitchApart) {
  TransposeProblem p = problem(16, 1, 1);
  p.ld_in = p.ld_out = int64_t(1) << 60;  // 2^64 bytes
  EXPECT_TRUE(validate(p).ok());
  p.out_address = p.in_address;
  EXPECT_STREQ(validate(p).argument, "out");
}

TEST(TransposeValidate, ZeroSizesNeedNoPointers) {
  TransposeProblem p = problem(4, 0, 5);
  p.in_address = p.out_address = 0;
  EXPECT_TRUE(validate(p).ok());
}

TEST(TransposeValidate, OneSharedByteIsAnOverlap) {
  TransposeProblem p = problem(4, 100, 200);  // 80 000 bytes on both sides
  p.out_address = p.in_address + 80000;
  EXPECT_TRUE(validate(p).ok());
  p.out_address -= 4;
  EXPECT_STREQ(validate(p).argument, "out");
  p.out_address = p.in_address;
  EXPECT_STREQ(validate(p).argument, "out");
  p.out_address = 0x1000000;
  p.in_address = p.out_address + 80000;
  EXPECT_TRUE(validate(p).ok());
  p.in_address -= 4;
  EXPECT_STREQ(validate(p).argument, "out");
}

TEST(TransposeValidate, GapsOfOneMayHoldNothingOfTheOther) {
  // Rows of 8 elements, 24 apart, in both; out begins in in's gap and its rows still fit there.
  TransposeProblem p = problem(4, 8, 8);
  p.ld_in = p.ld_out = 24;
  p.out_address = p.in_address + 12 * 4;
  EXPECT_TRUE(validate(p).ok());
  p.out_address = p.in_address + 17 * 4;  // the row's last element lies on in's next row
  EXPECT_STREQ(validate(p).argument, "out");
}

TEST(TransposeValidate, ReachingBeyondTheAddressSpaceIsRefused) {
  TransposeProblem p = problem(1, 1000, 1000);
  p.in_address = UINT64_MAX - 1000;
  EXPECT_STREQ(validate(p).argument, "in");
  p = problem(1, 1000, 1000);
  p.out_address = UINT64_MAX - 1000;
  EXPECT_STREQ(validate(p).argument, "out");
}

TEST(TransposeValidate, WindowsSideBySideDoNotOverlap) {
  TransposeProblem p = problem(4, 64, 64);
  p.ld_in = p.ld_out = 128;
  p.out_address = p.in_address + 64 * 4;
  EXPECT_TRUE(validate(p).ok());
  p.out_address -= 4;
  EXPECT_STREQ(validate(p).argument, "out");
}

TEST(TransposeValidate, InterleavedBatchIsFine) {
  TransposeProblem p = problem(4, 64, 64);
  p.batch = 3;
  p.stride_in = 4096;
  p.stride_out = 64;
  p.ld_out = 192;
  EXPECT_TRUE(validate(p).ok());
  p.ld_out = 191;
  EXPECT_STREQ(validate(p).argument, "batch.stride_out");
}

TEST(TransposeChoice, FollowsShapeAndAlignment) {
  const DeviceLimits h200{132};
  auto kernel = [&](const TransposeProblem& p) { return choose(p, h200).kernel; };
  EXPECT_EQ(kernel(problem(4, 0, 7)), TransposeKernel::kNothing);
  EXPECT_EQ(kernel(problem(4, 1, 7)), TransposeKernel::kCopy);
  EXPECT_EQ(kernel(problem(4, 8192, 8192)), TransposeKernel::kVector);
  EXPECT_EQ(choose(problem(4, 8192, 8192), h200).tile, TileSize::kRegular);
  EXPECT_EQ(choose(problem(4, 1000, 1000), h200).tile, TileSize::kSmall);
  EXPECT_EQ(choose(problem(1, 8192, 8192), h200).tile, TileSize::kRegular);
  EXPECT_EQ(choose(problem(1, 16384, 16384), h200).tile, TileSize::kLarge);
  EXPECT_EQ(kernel(problem(4, 512, 512)), TransposeKernel::kElement);  // 256 squares on 132 SMs
  EXPECT_EQ(kernel(problem(1, 511, 511)), TransposeKernel::kElement);  // 12 tiles on 132 SMs
  EXPECT_EQ(kernel(problem(4, 8191, 8191)), TransposeKernel::kRaw);
  EXPECT_EQ(kernel(problem(16, 8192, 8192)), TransposeKernel::kVector);
  EXPECT_EQ(kernel(problem(16, 8191, 8191)), TransposeKernel::kRaw);  // half sectors
  EXPECT_EQ(kernel(problem(1, 8191, 8191)), TransposeKernel::kFunnel);
  EXPECT_EQ(choose(problem(1, 8191, 8191), h200).tile, TileSize::kLarge);  // 41 tiles an SM
  EXPECT_EQ(choose(problem(1, 4095, 4095), h200).tile, TileSize::kRegular);
  EXPECT_EQ(choose(problem(2, 1501, 1501), h200).tile, TileSize::kSmall);   // a wave and a bit
  EXPECT_EQ(choose(problem(2, 100003, 257), h200).tile, TileSize::kSmall);  // narrow
  EXPECT_EQ(kernel(problem(4, 1 << 20, 3)), TransposeKernel::kNarrow);
  EXPECT_EQ(kernel(problem(4, 3, 1 << 20)), TransposeKernel::kNarrow);
  EXPECT_EQ(kernel(problem(4, (1 << 20) + 1, 3)), TransposeKernel::kTall);  // rows not on 16 bytes
  EXPECT_EQ(kernel(problem(4, 3, (1 << 20) + 1)), TransposeKernel::kWide);
  EXPECT_EQ(kernel(problem(16, 1 << 20, 3)), TransposeKernel::kTall);  // elements are vectors
  EXPECT_EQ(kernel(problem(1, 128, 128)), TransposeKernel::kElement);  // no strip, though 128 bytes
  EXPECT_EQ(kernel(problem(1, 1000, 1000)), TransposeKernel::kWord);
  EXPECT_EQ(kernel(problem(1, 1001, 1001)), TransposeKernel::kElement);
  TransposeProblem p = problem(4, 16, 16);
  p.batch = 100000;
  p.stride_in = p.stride_out = 256;
  EXPECT_EQ(kernel(p), TransposeKernel::kPacked);
  p = problem(2, 64, 64);
  p.batch = 100000;
  p.stride_in = p.stride_out = 4096;
  EXPECT_EQ(kernel(p), TransposeKernel::kVector);
  EXPECT_EQ(choose(p, h200).tile, TileSize::kSmall);  // half of a regular tile
  p = problem(1, 128, 128);
  p.batch = 100000;
  p.stride_in = p.stride_out = 16384;
  EXPECT_EQ(choose(p, h200).tile, TileSize::kRegular);  // half of a large tile
  p = problem(4, 8, 8);
  p.batch = 100000;
  p.batch_dims = 2;
  p.stride_in = p.stride_out = 64;
  EXPECT_EQ(kernel(p), TransposeKernel::kBlock);
  p = problem(16, 100, 100);
  p.in_address += 8;
  EXPECT_EQ(kernel(p), TransposeKernel::kElement);
}

TEST(TransposeChoice, CopiesOnlyBatchesThatOneCopyTakes) {
  auto copies = [](int64_t stride_in, int64_t stride_out) {
    TransposeProblem p = problem(4, 1, 8);
    p.ld_out = 1;
    p.batch = 4;
    p.stride_in = stride_in;
    p.stride_out = stride_out;
    EXPECT_TRUE(validate(p).ok());
    return choose(p, {132}).kernel == TransposeKernel::kCopy;
  };
  EXPECT_TRUE(copies(8, 8));
  EXPECT_TRUE(copies(9, 12));
  EXPECT_FALSE(copies(0, 8));  // one row for all outputs
  EXPECT_FALSE(copies(7, 8));
  EXPECT_TRUE(copies((int64_t(1) << 29) - 1, 8));
  EXPECT_FALSE(copies(int64_t(1) << 29, 8));
}

TEST(TransposeChoice, FewColumnsOfNarrowMatricesGoWithTheTileBesideThem) {
  const DeviceLimits h200{132};
  auto plan = [&](int e, int64_t rows, int64_t cols) {
    return choose(problem(e, rows, cols), h200);
  };
  EXPECT_TRUE(plan(1, 100003, 257).few_beside);
  EXPECT_EQ(plan(1, 100003, 257).tiles_cols, 2);
  EXPECT_EQ(plan(1, 100003, 264).tiles_cols, 2);
  EXPECT_FALSE(plan(1, 100003, 265).few_beside);  // nine are a tile
  EXPECT_EQ(plan(1, 100003, 265).tiles_cols, 3);
  EXPECT_FALSE(plan(1, 8190, 4097).few_beside);
  EXPECT_EQ(plan(2, 100003, 131).tiles_cols, 2);
  EXPECT_EQ(plan(2, 100003, 257).tiles_cols, 5);
  EXPECT_EQ(plan(4, 100003, 257).tiles_cols, 5);  // dealt out evenly
  TransposeProblem narrow = problem(1, 100003, 8);
  narrow.ld_in = 9;
  EXPECT_EQ(choose(narrow, h200).kernel, TransposeKernel::kFunnel);
  EXPECT_FALSE(choose(narrow, h200).few_beside);
  EXPECT_EQ(choose(narrow, h200).tiles_cols, 1);
}

TEST(TransposeChoice, WideRowsOf16BytesAreWalkedInPanels) {
  const DeviceLimits h200{132};
  EXPECT_EQ(choose(problem(16, 8192, 8192), h200).panel_rows, kPanelRows);
  EXPECT_EQ(choose(problem(16, 8192, 8192), h200).fetched_columns, kFetchedInPanels);
  TransposePlan whole = choose(problem(16, 4096, 4096), h200);
  EXPECT_EQ(whole.panel_rows, whole.tiles_rows);  // one panel, its next columns fetched
  EXPECT_EQ(whole.fetched_columns, 2);
  EXPECT_EQ(choose(problem(16, 8192, 4096), h200).fetched_columns, 1);   // of twice the rows
  EXPECT_EQ(choose(problem(16, 32768, 2048), h200).fetched_columns, 0);  // they would be evicted
  TransposePlan off = choose(problem(16, 8192, 8208), h200);  // not a multiple of 128 KiB
  EXPECT_EQ(off.panel_rows, off.tiles_rows);
  EXPECT_EQ(off.fetched_columns, 1);
  EXPECT_EQ(choose(problem(8, 16384, 16384), h200).panel_rows, 0);
  TransposeProblem batch = problem(16, 1024, 8192);
  batch.batch = 8;
  batch.stride_in = batch.stride_out = 1024 * 8192;
  EXPECT_EQ(choose(batch, h200).panel_rows, 0);
  EXPECT_NE(explain(problem(16, 8192, 8192), h200).find("panels of 32 tile rows"),
            std::string::npos);
  // More panels than a grid has rows: none, and the explanation says so.
  const TransposeProblem many = problem(16, int64_t(1) << 27, 8192);
  EXPECT_EQ(choose(many, h200).panel_rows, 0);
  EXPECT_EQ(explain(many, h200).find("panels"), std::string::npos);
  EXPECT_EQ(explain(many, h200).find("fetched into L2"), std::string::npos);
}

TEST(TransposeChoice, NeighbouringRaggedTilesShareAHalfOfL2) {
  const DeviceLimits h200{132};
  auto plan = [&](int e, int64_t rows, int64_t cols) {
    return choose(problem(e, rows, cols), h200);
  };
  EXPECT_EQ(plan(1, 8191, 8191).cluster, 4);  // two beside two
  EXPECT_EQ(plan(1, 8191, 8191).column_group, 2);
  EXPECT_TRUE(plan(1, 8191, 8191).balanced);
  EXPECT_EQ(plan(1, 4095, 4095).cluster, 2);  // side by side: four columns walked together
  EXPECT_EQ(plan(1, 4095, 4095).column_group, 4);
  EXPECT_FALSE(plan(1, 4095, 4095).balanced);
  EXPECT_EQ(plan(1, 100003, 257).cluster, 2);  // both tile columns
  EXPECT_EQ(plan(1, 100003, 1000).cluster, 1);
  EXPECT_EQ(plan(1, 100003, 131).cluster, 1);  // one tile column
  EXPECT_EQ(plan(2, 8191, 8191).cluster, kMostInCluster);
  EXPECT_EQ(plan(2, 8191, 8191).column_group, kMostInCluster);
  EXPECT_EQ(plan(2, 8191, 8191).tile, TileSize::kSmall);
  EXPECT_EQ(plan(2, 100003, 257).cluster, 5);
  EXPECT_FALSE(plan(2, 100003, 257).balanced);
  EXPECT_TRUE(plan(2, 200003, 131).balanced);     // two tile columns
  EXPECT_EQ(plan(2, 8191, 543).column_group, 5);  // nine tile columns are five and four
  EXPECT_EQ(plan(2, 1501, 1501).cluster, 1);      // 336 tiles on 132 SMs
  EXPECT_EQ(plan(2, 200, 40001).cluster, 1);      // two tile rows
  EXPECT_EQ(plan(4, 8191, 8191).cluster, 2);
  EXPECT_EQ(plan(4, 8191, 8191).column_group, 2);
  EXPECT_EQ(plan(4, 100003, 257).cluster, 5);
  EXPECT_EQ(plan(4, 1003, 257).cluster, 1);
  EXPECT_EQ(plan(8, 8191, 8191).cluster, 2);  // one below the other
  EXPECT_EQ(plan(8, 8191, 8191).column_group, 1);
  EXPECT_EQ(plan(8, 1501, 1501).cluster, 1);
  EXPECT_EQ(plan(16, 8191, 8191).cluster, 1);
  EXPECT_EQ(plan(4, 8192, 8192).cluster, 1);  // aligned tiles share nothing
  EXPECT_NE(explain(problem(2, 8191, 8191), h200).find("clusters of 8 CTAs"), std::string::npos);
  TransposeProblem batch = problem(2, 4095, 4095);
  batch.batch = 4;
  batch.stride_in = batch.stride_out = 4095 * 4095;
  EXPECT_EQ(choose(batch, h200).cluster, 1);
  EXPECT_EQ(choose(batch, h200).tile, TileSize::kRegular);
  const DeviceLimits older{108, false, false};
  EXPECT_EQ(choose(problem(2, 8191, 8191), older).cluster, 1);
  EXPECT_EQ(choose(problem(2, 8191, 8191), older).tile, TileSize::kRegular);
  EXPECT_EQ(explain(problem(2, 8191, 8191), older).find("clusters"), std::string::npos);
}

TEST(TransposeChoice, LargeTilesOfHalvesFrom24AnSm) {
  const DeviceLimits h200{132};
  EXPECT_EQ(choose(problem(2, 8192, 8192), h200).tile, TileSize::kLarge);
  EXPECT_EQ(choose(problem(2, 4096, 8192), h200).tile, TileSize::kRegular);
}

TEST(TransposeChoice, TilesCoverTheMatrix) {
  const DeviceLimits h200{132};
  for (int e : {1, 2, 4, 8, 16})
    for (int64_t rows : {2, 31, 1000, 8191})
      for (int64_t cols : {2, 33, 4096, 100003}) {
        const TransposePlan plan = choose(problem(e, rows, cols), h200);
        EXPECT_GE(plan.tiles_rows * plan.tile_rows, rows);
        EXPECT_GE(plan.tiles_cols * plan.tile_cols + (plan.few_beside ? kFewColumns : 0), cols);
        EXPECT_EQ(plan.tiles, plan.tiles_rows * plan.tiles_cols);
      }
}

TEST(TransposeChoice, ExplainGivesAReasonForEachCandidate) {
  const std::string text = explain(problem(4, 8191, 8191), {132});
  EXPECT_NE(text.find("vector tile: no, a row does not start on 16 bytes"), std::string::npos)
      << text;
  EXPECT_NE(text.find("raw tile: taken"), std::string::npos) << text;
  EXPECT_NE(explain(problem(3, 8, 8), {132}).find("refused: element_bytes"), std::string::npos);
}

PermutePlan reduced(std::vector<int64_t> sizes, std::vector<int> order, int e) {
  PermutePlan plan;
  EXPECT_TRUE(
      reduce_permute(256, uint64_t(1) << 60, int(sizes.size()), sizes.data(), order.data(), e, plan)
          .ok());
  return plan;
}

TEST(PermuteReduction, CopyRunsAndTransposes) {
  EXPECT_EQ(reduced({4, 1, 5}, {1, 0, 2}, 4).kind, PermuteKind::kCopy);
  PermutePlan p =
      reduced({8, 128, 12, 64}, {0, 2, 1, 3}, 2);  // attention: runs of 64 halves = 8 vectors
  EXPECT_EQ(p.kind, PermuteKind::kRuns);
  EXPECT_EQ(p.element_bytes, 16);
  EXPECT_EQ(p.run, 8);
  p = reduced({8, 3, 224, 224}, {0, 2, 3, 1}, 4);  // NCHW to NHWC
  EXPECT_EQ(p.kind, PermuteKind::kTranspose);
  EXPECT_EQ(p.rows, 3);
  EXPECT_EQ(p.cols, 224 * 224);
  EXPECT_EQ(p.dims, 1);
  p = reduced({10, 20, 4}, {1, 0, 2}, 4);  // the last dimension becomes the element
  EXPECT_EQ(p.kind, PermuteKind::kTranspose);
  EXPECT_EQ(p.element_bytes, 16);
  EXPECT_EQ(p.rows, 10);
  EXPECT_EQ(p.cols, 20);
}

TEST(PermuteReduction, RunsAtOddAddressesMoveInPieces) {
  const int64_t sizes[] = {3, 5, 7};
  const int order[] = {1, 0, 2};
  PermutePlan p;
  ASSERT_TRUE(reduce_permute(0x1004, uint64_t(1) << 40, 3, sizes, order, 16, p).ok());
  EXPECT_EQ(p.kind, PermuteKind::kRuns);
  EXPECT_EQ(p.element_bytes, 4);
  EXPECT_EQ(p.run, 7 * 4);
  EXPECT_EQ(p.total, 3 * 5 * 7 * 4);
  EXPECT_EQ(p.stride_in[0], 7 * 4);      // dimension 1
  EXPECT_EQ(p.stride_in[1], 5 * 7 * 4);  // dimension 0
  EXPECT_EQ(p.stride_out[0], 3 * 7 * 4);
  ASSERT_TRUE(reduce_permute(0x1008, uint64_t(1) << 40, 3, sizes, order, 16, p).ok());
  EXPECT_EQ(p.element_bytes, 8);
  EXPECT_EQ(p.run, 7 * 2);
}

TEST(PermuteReduction, RefusesByName) {
  const int64_t sizes[] = {2, 3};
  const int twice[] = {0, 0}, good[] = {1, 0};
  PermutePlan plan;
  EXPECT_STREQ(reduce_permute(256, 4096, 2, sizes, twice, 4, plan).argument, "order");
  EXPECT_STREQ(reduce_permute(256, 4096, 9, sizes, good, 4, plan).argument, "dims");
  EXPECT_STREQ(reduce_permute(256, 260, 2, sizes, good, 4, plan).argument, "out");
  EXPECT_STREQ(reduce_permute(0, 260, 2, sizes, good, 4, plan).argument, "in");
}

}  // namespace
}  // namespace tilewright::plan
