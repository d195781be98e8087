// Blocks of several dimensions: the plan's promises, and the tile run on the host, thread by
// thread, against the definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#pragma GCC diagnostic ignored "-Wunknown-pragmas"  // unroll is nvcc's
#include "../../../kernels/transpose/lib/block_tile.cuh"
#include "transpose/permute_plan.h"
#include "transpose/transpose_plan.h"

namespace tilewright::detail {
namespace {

using plan::BlockDim;
using plan::BlockPlan;

// Dimensions in output order of a dense array permuted by `order`.
std::vector<BlockDim> permuted(const std::vector<int64_t>& sizes, const std::vector<int>& order) {
  std::vector<int64_t> stride(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i-- > 0;) stride[i] = stride[i + 1] * sizes[i + 1];
  std::vector<BlockDim> dims;
  for (int d : order) dims.push_back({sizes[size_t(d)], stride[size_t(d)], 1});
  for (size_t i = dims.size() - 1; i-- > 0;)
    dims[i].stride_out = dims[i + 1].stride_out * dims[i + 1].size;
  return dims;
}

template <int kElement, bool kVectors> void expect_permuted_by(const std::vector<BlockDim>& dims) {
  SCOPED_TRACE(testing::Message() << "elements of " << kElement << " bytes, vectors " << kVectors);
  using Tile = BlockTile<kElement, kVectors, plan::kBlockThreads>;
  const BlockPlan block = plan::plan_block(dims.data(), int(dims.size()), kElement, kVectors, 132);
  ASSERT_EQ(block.dims, int(dims.size()));
  if (block.vectors != kVectors) return;
  ASSERT_LE(block.shared_bytes, plan::kBlockShared);
  int64_t in_elements = 1, out_elements = 1, total = 1;
  for (const BlockDim& d : dims) {
    in_elements += (d.size - 1) * d.stride_in;
    out_elements += (d.size - 1) * d.stride_out;
    total *= d.size;
  }
  std::mt19937 random(3);
  std::vector<char> in(size_t(in_elements * kElement)), out(size_t(out_elements * kElement), 0x5a),
      want = out;
  for (char& c : in) c = char(random());
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i, from = 0, to = 0;
    for (const BlockDim& d : dims) {
      from += rest % d.size * d.stride_in;
      to += rest % d.size * d.stride_out;
      rest /= d.size;
    }
    std::copy_n(in.begin() + from * kElement, kElement, want.begin() + to * kElement);
  }
  const BlockShape s(block, kElement);
  std::vector<Vector> shared(size_t(block.shared_bytes + 15) / 16);
  // Three CTAs, as the kernel runs each.
  const auto each = [](auto step) {
    for (int thread = 0; thread < plan::kBlockThreads; ++thread) step(thread);
  };
  const typename Tile::Tables t = Tile::tables(s, reinterpret_cast<char*>(shared.data()));
  ASSERT_LE(reinterpret_cast<char*>(t.out_place + s.out_run),
            reinterpret_cast<char*>(shared.data()) + block.shared_bytes);
  for (int64_t cta = 0; cta < std::min<int64_t>(3, block.blocks); ++cta) {
    typename Tile::Corner *here = t.corner, *next = here + 1;
    each([&](int i) { Tile::find_corner(i, s, *here, uint32_t(cta)); });
    each([&](int i) { Tile::fill_places(i, s, t); });
    each([&](int i) { Tile::fill_runs(i, s, t, *here); });
    for (int64_t b = cta;;) {
      each([&](int i) { Tile::load(i, s, t, *here, in.data()); });
      each([&](int i) { Tile::find_corner(i, s, *next, uint32_t(b + 3)); });
      each([&](int i) { Tile::store(i, s, t, *here, out.data()); });
      if ((b += 3) >= block.blocks) break;
      if (!here->whole || !next->whole) each([&](int i) { Tile::fill_runs(i, s, t, *next); });
      std::swap(here, next);
    }
  }
  ASSERT_TRUE(out == want);
}

template <int kElement> void expect_permuted(const std::vector<BlockDim>& dims) {
  expect_permuted_by<kElement, false>(dims);
  if (kElement < 16) expect_permuted_by<kElement, true>(dims);
}

void expect_permuted_all(const std::vector<BlockDim>& dims) {
  expect_permuted<1>(dims);
  expect_permuted<2>(dims);
  expect_permuted<4>(dims);
  expect_permuted<8>(dims);
  expect_permuted<16>(dims);
}

TEST(TransposeBlock, PermutationsOfSmallDimensions) {
  expect_permuted_all(permuted({8, 8, 8, 8}, {3, 2, 1, 0}));
  expect_permuted_all(permuted({3, 5, 7, 2, 6}, {4, 1, 3, 0, 2}));
  expect_permuted_all(permuted({4, 3, 7, 16, 7, 16}, {0, 2, 4, 3, 5, 1}));  // patches
  expect_permuted_all(permuted({2, 3, 2, 3, 2, 3, 2, 3}, {7, 6, 5, 4, 3, 2, 1, 0}));
  expect_permuted_all(permuted({37, 11, 41}, {2, 1, 0}));
  expect_permuted_all(permuted({130, 3, 67}, {1, 2, 0}));
}

TEST(TransposeBlock, PiecesThatDoNotDivideADimension) {
  for (int64_t n : {17, 31, 33, 65})
    for (int64_t m : {5, 19, 130}) expect_permuted_all(permuted({n, 3, m}, {2, 1, 0}));
}

TEST(TransposeBlock, MatricesAtStrides) {
  // 50 matrices of 7 x 5, rows and matrices apart on both sides.
  expect_permuted_all({{50, 120, 90}, {5, 1, 11}, {7, 9, 1}});
  // Side by side in common rows of the output; the same input matrix for all.
  expect_permuted_all({{6, 40, 7}, {5, 1, 60}, {7, 5, 1}});
  expect_permuted_all({{6, 0, 40}, {5, 1, 7}, {7, 5, 1}});
}

TEST(TransposeBlock, RunsAreLongOnBothSides) {
  const auto run_bytes = [](const std::vector<BlockDim>& dims, int element) {
    const BlockPlan p = plan::plan_block(dims.data(), int(dims.size()), element, true, 132);
    return std::min(p.in_run, p.out_run) * element;
  };
  EXPECT_GE(run_bytes(permuted({8, 8, 8, 8, 8, 8, 8, 8}, {7, 6, 5, 4, 3, 2, 1, 0}), 4), 256);
  EXPECT_GE(run_bytes(permuted({16, 16, 16, 16, 16, 16}, {5, 1, 3, 0, 4, 2}), 4), 512);
  EXPECT_GE(run_bytes(permuted({80, 80, 80, 80}, {3, 2, 1, 0}), 4), 320);
  EXPECT_GE(run_bytes(permuted({64, 3, 14, 16, 14, 16}, {0, 2, 4, 3, 5, 1}), 4), 512);
}

TEST(TransposeBlock, BlocksWithLargeTablesShareThem) {
  const auto plan_of = [](const std::vector<BlockDim>& dims) {
    return plan::plan_block(dims.data(), int(dims.size()), 4, true, 132);
  };
  const BlockPlan patches = plan_of(permuted({64, 3, 14, 16, 14, 16}, {0, 2, 4, 3, 5, 1}));
  EXPECT_EQ(patches.ctas, 132 * plan::kBlockCtas);
  EXPECT_GT(patches.blocks, patches.ctas);
  const BlockPlan reversed = plan_of(permuted({80, 80, 80, 80}, {3, 2, 1, 0}));
  EXPECT_EQ(reversed.ctas, reversed.blocks);
}

TEST(TransposeBlock, VectorsWhereEveryRunIsWhole) {
  const auto vectors = [](const std::vector<BlockDim>& dims, int element) {
    return plan::plan_block(dims.data(), int(dims.size()), element, true, 132).vectors;
  };
  EXPECT_TRUE(vectors(permuted({8, 8, 8, 8}, {3, 2, 1, 0}), 4));
  EXPECT_TRUE(vectors(permuted({64, 3, 14, 16, 14, 16}, {0, 2, 4, 3, 5, 1}), 4));
  EXPECT_FALSE(vectors(permuted({81, 81, 81}, {2, 1, 0}), 4));
  EXPECT_FALSE(vectors({{50, 120, 90}, {5, 1, 11}, {7, 9, 1}}, 4));
}

// The dimensions of one batch dimension and the matrix, in run_block's order.
std::vector<BlockDim> dims_of(const plan::TransposeProblem& p) {
  std::vector<BlockDim> dims = {{p.batch, p.stride_in, p.stride_out}};
  if (p.rows > 1) dims.push_back({p.rows, p.ld_in, 1});
  if (p.cols > 1) dims.push_back({p.cols, 1, p.ld_out});
  return dims;
}

bool takes_block(const plan::TransposeProblem& p) {
  return plan::choose(p, {}).kernel == plan::TransposeKernel::kBlock;
}

void expect_fits(const std::vector<BlockDim>& dims, int element, bool aligned) {
  const BlockPlan block = plan::plan_block(dims.data(), int(dims.size()), element, aligned,
                                           plan::DeviceLimits{}.sm_count);
  ASSERT_EQ(block.dims, int(dims.size()));
  ASSERT_GT(block.shared_bytes, 0);
  ASSERT_LE(block.shared_bytes, plan::kBlockShared);
}

TEST(TransposeBlock, RunsWithGapsOfSingleBytesFit) {
  // Each input run is a row of three bytes: whole columns would need 5376 table entries.
  plan::TransposeProblem p;
  p.element_bytes = 1;
  p.rows = 128;
  p.cols = 3;
  p.ld_in = 168;
  p.ld_out = 128;
  p.batch = 42;
  p.stride_in = 4;
  p.stride_out = 384;
  p.in_address = 0x10000;
  p.out_address = uint64_t(1) << 50;
  ASSERT_TRUE(plan::validate(p).ok());
  ASSERT_TRUE(takes_block(p));
  expect_permuted_all(dims_of(p));
}

TEST(TransposeBlock, EveryBlockOfATransposeFits) {
  std::mt19937 random(5);
  const auto upto = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  int blocks = 0;
  for (int i = 0; i < 40000; ++i) {
    plan::TransposeProblem p;
    p.element_bytes = 1 << upto(5);
    p.rows = 1 + upto(upto(2) ? 8 : 300);
    p.cols = 1 + upto(upto(2) ? 8 : 300);
    p.batch = 2 + upto(upto(2) ? 100 : 20000);
    const bool beside_in = upto(2), beside_out = upto(2);
    const int64_t gap = upto(2) ? upto(8) : 0, in = p.cols + gap, out = p.rows + upto(2) * upto(8);
    p.ld_in = beside_in ? in * p.batch : in;
    p.stride_in = beside_in ? in : in * p.rows + gap;
    p.ld_out = beside_out ? out * p.batch : out;
    p.stride_out = beside_out ? out : out * p.cols;
    p.in_address = 0x10000 + uint64_t(upto(2) * 4);
    p.out_address = uint64_t(1) << 50;
    ASSERT_TRUE(plan::validate(p).ok());
    if (!takes_block(p)) continue;
    ++blocks;
    SCOPED_TRACE(plan::explain(p, {}));
    expect_fits(dims_of(p), p.element_bytes, p.in_address % 16 == 0);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(blocks, 1000);
}

TEST(TransposeBlock, EveryBlockOfAPermutationFits) {
  constexpr uint64_t kIn = 0x10000, kOut = uint64_t(1) << 60;
  std::mt19937 random(7);
  int blocks = 0;
  for (int i = 0; i < 20000; ++i) {
    const int n = 3 + int(random() % 6);
    int64_t sizes[8];
    int order[8];
    for (int d = 0; d < n; ++d)
      sizes[d] = 2 + int64_t(random() % (random() % 2 ? 4 : 64)), order[d] = d;
    std::shuffle(order, order + n, random);
    plan::PermutePlan p;
    ASSERT_TRUE(plan::reduce_permute(kIn, kOut, n, sizes, order, 1 << random() % 5, p).ok());
    if (p.kind != plan::PermuteKind::kTranspose || !takes_block(plan::transposes_of(p, kIn, kOut)))
      continue;
    ++blocks;
    std::vector<BlockDim> dims;
    for (int d = 0; d < p.dims; ++d) dims.push_back({p.extent[d], p.stride_in[d], p.stride_out[d]});
    dims.push_back({p.rows, p.ld_in, 1});
    dims.push_back({p.cols, 1, p.ld_out});
    expect_fits(dims, p.element_bytes, true);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(blocks, 1000);
}

// Wavefronts of the store's reads from shared memory beyond one an instruction.
int excess_wavefronts(const std::vector<BlockDim>& dims) {
  using Tile = BlockTile<4, true, plan::kBlockThreads>;
  const BlockPlan block = plan::plan_block(dims.data(), int(dims.size()), 4, true, 132);
  const BlockShape s(block, 4);
  std::vector<Vector> shared(size_t(block.shared_bytes + 15) / 16);
  const typename Tile::Tables t = Tile::tables(s, reinterpret_cast<char*>(shared.data()));
  Tile::find_corner(0, s, *t.corner, 0);
  for (int i = 0; i < plan::kBlockThreads; ++i) {
    Tile::fill_places(i, s, t);
    Tile::fill_runs(i, s, t, *t.corner);
  }
  int excess = 0;
  for (int run = 0; run + 4 <= block.out_runs; run += 4)
    for (int p = 0; p + 32 <= block.out_run; p += 32)
      for (int e = 0; e < 4; ++e) {
        int on_bank[32] = {};
        for (int lane = 0; lane < 32; ++lane)
          ++on_bank[(t.out_runs[run + lane / 8].shared + t.out_place[p + lane % 8 * 4 + e]) % 32];
        excess += *std::max_element(on_bank, on_bank + 32) - 1;
      }
  return excess;
}

TEST(TransposeBlock, NoBankConflicts) {
  EXPECT_EQ(excess_wavefronts(permuted({8, 8, 8, 8, 8, 8, 8, 8}, {7, 6, 5, 4, 3, 2, 1, 0})), 0);
  EXPECT_EQ(excess_wavefronts(permuted({16, 16, 16, 16, 16, 16}, {5, 1, 3, 0, 4, 2})), 0);
  EXPECT_EQ(excess_wavefronts(permuted({80, 80, 80, 80}, {3, 2, 1, 0})), 0);
  EXPECT_EQ(excess_wavefronts(permuted({384, 384, 384}, {2, 1, 0})), 0);
}

}  // namespace
}  // namespace tilewright::detail
