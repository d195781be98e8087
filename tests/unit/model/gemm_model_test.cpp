// The choice of GEMM kernels: predictions against times measured on an H200, and the rules that
// must hold for every shape.
#include "model/gemm_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tw::model {
namespace {

GemmProblem problem(int64_t m, int64_t n, int64_t k) {
  GemmProblem p;
  p.m = m;
  p.n = n;
  p.k = k;
  return p;
}

struct Measured {
  int64_t m, n, k;
  GemmTile tile;
  int cluster;
  double microseconds;
};

// tilewright-bench gemm --suite tiles, bf16, nt, on an H200 with the card under its power limit
// (31 sizes, 60 kernels each; bench/results/gemm-tiles-bf16-h200.json holds a later run of fewer).
constexpr Measured kMeasured[] = {
    {1024, 1024, 1024, {64, 128, 1, false}, 1, 5.8},
    {1024, 1024, 1024, {128, 128, 1, false}, 1, 8.2},
    {1024, 1024, 1024, {128, 96, 1, true}, 1, 7.5},
    {2048, 2048, 2048, {128, 256, 1, false}, 1, 24.8},
    {2048, 2048, 2048, {128, 192, 1, false}, 1, 34.5},
    {2048, 2048, 2048, {128, 128, 1, false}, 1, 25.3},
    {2048, 2048, 2048, {128, 128, 1, true}, 1, 24.6},
    {2048, 2048, 2048, {128, 176, 1, true}, 1, 31.2},
    {4096, 4096, 4096, {128, 256, 1, false}, 1, 204.7},
    {4096, 4096, 4096, {128, 192, 1, false}, 1, 233.0},
    {4096, 4096, 4096, {128, 128, 1, false}, 1, 209.8},
    {4096, 4096, 4096, {64, 256, 1, false}, 1, 214.0},
    {4096, 4096, 4096, {128, 128, 1, true}, 1, 199.2},
    {4096, 4096, 4096, {128, 176, 1, true}, 2, 205.5},
    {4096, 4096, 4096, {128, 96, 1, true}, 2, 229.0},
    {8192, 8192, 8192, {128, 256, 1, false}, 1, 1653.8},
    {8192, 8192, 8192, {128, 176, 1, true}, 1, 1622.1},
    {8192, 8192, 8192, {128, 128, 1, true}, 2, 1637.8},
    {1024, 28672, 4096, {128, 160, 1, true}, 1, 344.9},
    {64, 4096, 4096, {64, 64, 1, false}, 1, 12.4},
    {256, 10240, 8192, {128, 160, 1, true}, 1, 61.0},
};

TEST(GemmModel, PredictsMeasuredTimesWithinFifteenPercent) {
  for (const Measured& m : kMeasured) {
    const double predicted =
        predict_gemm(problem(m.m, m.n, m.k), GemmMachine{}, m.tile, m.cluster, 1, 1).total_us;
    EXPECT_NEAR(predicted / m.microseconds, 1.0, 0.15)
        << m.m << "x" << m.n << "x" << m.k << " tile " << m.tile.bm << "x" << m.tile.bn;
  }
}

TEST(GemmModel, RanksTilesAsMeasured) {
  // The fastest measured tile of a shape is at most 3 % from the tile the model would take.
  for (const int64_t size : {1024, 2048, 4096, 8192}) {
    const GemmCandidate choice = choose_gemm(problem(size, size, size), GemmMachine{}, 1);
    double best = 1e300, chosen = 1e300;
    for (const Measured& m : kMeasured) {
      if (m.m != size || m.n != size) continue;
      best = std::min(best, m.microseconds);
      if (m.tile.bm == choice.bm && m.tile.bn == choice.bn &&
          m.tile.ping_pong == choice.ping_pong) {
        chosen = m.microseconds;
      }
    }
    EXPECT_LE(chosen, 1.03 * best) << size << ": took " << choice.bm << "x" << choice.bn;
  }
}

TEST(GemmModel, CountsWavesAndTheLastOne) {
  const GemmCandidate c =
      predict_gemm(problem(4096, 4096, 4096), GemmMachine{}, {128, 256}, 1, 1, 1);
  EXPECT_EQ(c.waves, 4);  // 32 * 16 tiles on 132 SMs
  EXPECT_DOUBLE_EQ(c.last_wave_fill, (512 - 3 * 132) / 132.0);
}

TEST(GemmModel, BlockClocksByHand) {
  const GemmMachine machine;
  // 128x256: 1024 clocks of tensor work at the machine's efficiency; shared memory 640 + 0.9 * 384.
  const GemmCandidate large = predict_gemm(problem(8192, 8192, 8192), machine, {128, 256}, 1, 1, 1);
  EXPECT_NEAR(large.block_clocks, 1024 / machine.tensor_efficiency, 1e-9);
  EXPECT_EQ(large.bound, GemmBound::kTensorCores);
  const GemmCandidate square =
      predict_gemm(problem(8192, 8192, 8192), machine, {128, 128}, 1, 1, 1);
  EXPECT_GE(square.block_clocks, 2 * (64 + 128) + 0.9 * 256);
}

TEST(GemmModel, PingPongStoresOnlyTheOperandsOwnType) {
  // 1024x11008 in tiles of 128x112 fills six waves exactly; 128x256 leaves two fifths of a third.
  GemmProblem p = problem(1024, 11008, 4096);
  EXPECT_TRUE(choose_gemm(p, GemmMachine{}, 1).ping_pong);
  p.plain = false;  // beta, or another type of D
  EXPECT_FALSE(choose_gemm(p, GemmMachine{}, 1).ping_pong);
}

TEST(GemmModel, FewRowsShareA) {
  // Measured: 64x11008x4096 took 25.8 us with four CTAs sharing A, 27.1 with none.
  const GemmCandidate few = choose_gemm(problem(64, 11008, 4096), GemmMachine{}, 1);
  EXPECT_TRUE(few.shares_a);
  EXPECT_GT(few.cluster, 1);
  EXPECT_FALSE(choose_gemm(problem(4096, 4096, 4096), GemmMachine{}, 1).shares_a);
}

TEST(GemmModel, SplitsLongKOnFewTiles) {
  const GemmCandidate c = choose_gemm(problem(128, 128, 65536), GemmMachine{}, 64);
  EXPECT_GT(c.splits * c.k_cluster, 8);
  // Without workspace only a cluster may split.
  EXPECT_EQ(choose_gemm(problem(128, 128, 65536), GemmMachine{}, 1).splits, 1);
}

TEST(GemmModel, EveryChoiceCanBeLaunched) {
  const GemmMachine machine;
  for (const int64_t m : {1, 7, 64, 65, 500, 4096, 100000}) {
    for (const int64_t n : {1, 63, 256, 1000, 8192}) {
      for (const int64_t k : {1, 64, 100, 4096, 70000}) {
        for (const int bytes : {1, 2, 4}) {
          for (const bool cuda_cores : {false, true}) {
            if (cuda_cores && bytes != 4) continue;
            for (const int most : {1, 3, 64}) {
              GemmProblem p = problem(m, n, k);
              p.element_bytes = bytes;
              p.cuda_cores = cuda_cores;
              const GemmCandidate c = choose_gemm(p, machine, most);
              const int64_t blocks = (k * bytes + 127) / 128;
              ASSERT_GT(c.bm, 0);
              ASSERT_TRUE(std::isfinite(c.total_us));
              ASSERT_GE(c.splits, 1);
              ASSERT_LE(c.splits, most);
              ASSERT_LE(c.splits * c.k_cluster, blocks);
              // What the launch will count: equal chunks, none empty.
              const int64_t parts = int64_t{c.splits} * c.k_cluster;
              const int64_t chunk = (blocks + parts - 1) / parts;
              ASSERT_EQ((blocks + chunk - 1) / chunk, parts);
              if (c.k_cluster > 1) {
                ASSERT_EQ(c.cluster, 1);
                const int64_t tiles = c.kernel == GemmKernel::kNarrow
                                          ? ((c.turned ? n : m) + c.bm - 1) / c.bm
                                          : (m + c.bm - 1) / c.bm * ((n + c.bn - 1) / c.bn);
                ASSERT_LE(tiles * c.k_cluster, machine.sm_count * c.resident);
              }
              if (bytes == 1) {
                ASSERT_LE(c.bn, 192);
              }
              if (c.kernel == GemmKernel::kNarrow) {
                ASSERT_LE(c.turned ? m : n, c.bn);
              }
              ASSERT_GE(c.raster_group, 1);
            }
          }
        }
      }
    }
  }
}

TEST(GemmModel, FewRowsTakeTheNarrowKernel) {
  // Measured: 1x11008x4096 bf16 took 24.5 us with it, 32.0 with the fastest ordinary tile.
  const GemmCandidate few = choose_gemm(problem(1, 11008, 4096), GemmMachine{}, 64);
  EXPECT_EQ(few.kernel, GemmKernel::kNarrow);
  EXPECT_TRUE(few.turned);
  EXPECT_EQ(few.bn, 16);
  EXPECT_NEAR(few.total_us / 24.5, 1.0, 0.15);
  const GemmCandidate columns = choose_gemm(problem(8192, 16, 8192), GemmMachine{}, 64);
  EXPECT_EQ(columns.kernel, GemmKernel::kNarrow);
  EXPECT_FALSE(columns.turned);
  // The twins: nothing is narrow; and an MN-major narrow operand needs the 64-wide kernel, which is
  // chosen for few tiles, with K split over a cluster.
  EXPECT_EQ(choose_gemm(problem(256, 11008, 4096), GemmMachine{}, 64).kernel, GemmKernel::kTiled);
  GemmProblem across = problem(16, 8192, 8192);
  across.a_mn = true;
  EXPECT_EQ(predict_narrow(across, GemmMachine{}, true, 1).bn, 64);
  const GemmCandidate tiled = choose_gemm(across, GemmMachine{}, 64);
  EXPECT_EQ(tiled.kernel, GemmKernel::kTiled);
  EXPECT_EQ(tiled.bm, 64);
  EXPECT_EQ(tiled.bn, 64);
  across.a_mn = false;
  EXPECT_EQ(choose_gemm(across, GemmMachine{}, 64).kernel, GemmKernel::kNarrow);
  GemmProblem short_across = problem(16, 2048, 4096);
  short_across.a_mn = true;
  const GemmCandidate split = choose_gemm(short_across, GemmMachine{}, 64);
  EXPECT_EQ(split.kernel, GemmKernel::kNarrow);
  EXPECT_TRUE(split.turned);
  EXPECT_EQ(split.bn, 64);
  EXPECT_GT(split.k_cluster, 1);
}

TEST(GemmModel, SmallRaggedProductsAreGathered) {
  // Measured: 63x63x63 in 512 batches took 7.9 us gathered and 43.9 repacked; 4095 cubed must not be.
  GemmProblem batch = problem(63, 63, 63);
  batch.batches = 512;
  batch.repack_a = batch.repack_b = true;
  const GemmCandidate c = choose_gemm(batch, GemmMachine{}, 1);
  EXPECT_EQ(c.kernel, GemmKernel::kGather);
  EXPECT_EQ(c.groups, 1);
  EXPECT_EQ(c.repack_us, 0);
  GemmProblem large = problem(4095, 4095, 4095);
  large.repack_a = large.repack_b = true;
  EXPECT_EQ(choose_gemm(large, GemmMachine{}, 1).kernel, GemmKernel::kTiled);
  // Nothing to repack, or an operand that has to be transposed: not gathered.
  batch.transposed = true;
  EXPECT_EQ(choose_gemm(batch, GemmMachine{}, 1).kernel, GemmKernel::kTiled);
  EXPECT_NE(choose_gemm(problem(64, 64, 64), GemmMachine{}, 1).kernel, GemmKernel::kGather);
}

TEST(GemmModel, ExplainsEveryTile) {
  const std::string text = explain_gemm(problem(4096, 4096, 4096), GemmMachine{}, 64);
  EXPECT_NE(text.find("chosen: 128x256"), std::string::npos) << text;
  EXPECT_NE(text.find("rejected 64x64"), std::string::npos);
  // Of more than one wave of 64x192 nothing is said: it is no candidate.
  EXPECT_EQ(text.find("64x192"), std::string::npos);
  EXPECT_NE(text.find("clocks/block: "), std::string::npos);  // what the columns mean
  EXPECT_EQ(text.find("repacked into"), std::string::npos);
  GemmProblem ragged = problem(4095, 4095, 4095);
  ragged.repack_a = ragged.repack_b = true;
  EXPECT_NE(explain_gemm(ragged, GemmMachine{}, 64).find("A and B repacked into workspace first"),
            std::string::npos);
  const std::string one_wave = explain_gemm(problem(1024, 1024, 1024), GemmMachine{}, 64);
  for (const GemmTile& tile : kGemmTiles) {
    const std::string name = std::to_string(tile.bm) + "x" + std::to_string(tile.bn);
    EXPECT_NE(one_wave.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace tw::model
