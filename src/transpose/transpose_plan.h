// Which kernel a transpose takes, and why: a rule over shape, alignment and device, with no
// autotuning run. Plain C++ on purpose: the GPU library calls `choose` on every call (tens of
// nanoseconds, no allocation), and `tilewright explain transpose` prints `explain` on a machine
// without a GPU.
//
// The tile shapes below are the ones compiled; kernels are instantiated from these tables.
//
// Tested by tests/unit/transpose/transpose_plan_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/status.h"

namespace tilewright::plan {

struct TransposeProblem {
  int element_bytes = 4;
  int64_t rows = 0, cols = 0, ld_in = 0, ld_out = 0;  // elements
  int64_t batch = 1, stride_in = 0, stride_out = 0;   // elements
  uint64_t in_address = 0, out_address = 0;           // only their alignment matters to the choice
  // More than one: the strides are the bitwise or of those of several dimensions, good for
  // alignment only.
  int batch_dims = 1;
};

enum class TransposeKernel {
  kNothing,
  kCopy,
  kVector,
  kRaw,
  kFunnel,
  kNarrow,
  kTall,
  kWide,
  kPacked,
  kBlock,
  kWord,
  kElement
};
const char* to_string(TransposeKernel kernel);

struct TileConfig {
  int rows, cols, threads, min_ctas;  // min_ctas: the occupancy the register budget is cut for
  int row_lanes = 8;                  // vector tiles: lanes of a warp that read one row
  int batch = 4;                      // funnel tiles: vectors a thread asks for at once
};
constexpr int kSizes = 5;  // element sizes 1, 2, 4, 8, 16, in this order
constexpr int size_index(int element_bytes) {
  return element_bytes == 1   ? 0
         : element_bytes == 2 ? 1
         : element_bytes == 4 ? 2
         : element_bytes == 8 ? 3
                              : 4;
}

// Aligned matrices (vector_tile.cuh): 16-byte accesses on both sides.
constexpr TileConfig kVectorTiles[kSizes] = {{128, 128, 256, 1},
                                             {64, 128, 256, 1, 16},
                                             {64, 64, 256, 5, 16},
                                             {32, 32, 256, 1, 16},
                                             {32, 16, 256, 1, 16}};
// Large matrices of 1- and 2-byte elements.
constexpr TileConfig kLargeVectorTiles[2] = {{128, 256, 512, 1, 16}, {128, 128, 512, 1, 16}};
// The same for grids that would not fill the device with the tiles above.
constexpr TileConfig kSmallVectorTiles[kSizes] = {
    {128, 128, 256, 1}, {64, 64, 256, 1}, {32, 32, 128, 1}, {16, 16, 64, 1}, {16, 16, 128, 1}};
// Any alignment, 1 and 2 bytes (funnel_tile.cuh); rows are the ones loaded.
constexpr TileConfig kFunnelTiles[2] = {{128, 128, 256, 5}, {128, 128, 256, 4}};
// 2 bytes: the tile in clusters, for few tiles or for few columns.
constexpr TileConfig kSmallFunnelTile = {128, 64, 256, 6, 8, 5};
// 1 byte, many tiles: a CTA an SM more.
constexpr TileConfig kManyFunnelTiles = {128, 128, 256, 6};
// So many columns past whole funnel tiles go with the last of them, in narrow matrices.
constexpr int kFewColumns = 8;
// Any alignment, 4 to 16 bytes (raw_tile.cuh).
struct RawConfig {
  int row_vectors, out_bytes, threads, min_ctas, align, batch;
};
constexpr RawConfig kRawTiles[3] = {
    {16, 512, 256, 3, 32, 9}, {32, 512, 256, 3, 32, 5}, {32, 512, 256, 3, 32, 4}};
// Elements of 16 bytes (panel_kernel in transpose.cu): tile columns that follow are fetched into L2,
// two of up to kTwoFetchedRows rows, one of up to kFetchedRows: more would be evicted before they are
// read. On pitches that are multiples of kPanelPitch bytes tiles are walked in panels of kPanelRows
// tile rows, and kFetchedInPanels columns are fetched.
constexpr int kFetchedInPanels = 8, kPanelRows = 32;
constexpr int64_t kPanelPitch = 131072, kTwoFetchedRows = 4096, kFetchedRows = 16384;
// Strips of 2 to kNarrowest columns or rows whose vectors are aligned (narrow_strip.cuh).
constexpr int kNarrowest = 8, kNarrowWarps = 8;
// Small grids of 1-byte elements on 4 bytes (word_tile.cuh).
constexpr TileConfig kWordTile = {64, 64, 256, 1};
constexpr int kStripThreads = 256;
constexpr int kStripBytes =
    16384;  // what a strip or a pack of small matrices aims at in shared memory
constexpr int kElementTile = 32;  // element_tile.cuh: 32 x 32, any alignment; grids of a few tiles

// The most CTAs of a cluster that every device with clusters can start.
constexpr int kMostInCluster = 8;

enum class TileSize { kSmall, kRegular, kLarge };

struct TransposePlan {
  TransposeKernel kernel = TransposeKernel::kNothing;
  TileSize tile = TileSize::kRegular;  // kVector, kFunnel: which of the tables above
  bool few_beside = false;             // kFunnel: the last tile has the few columns past it, too
  bool in_pieces = false;              // kElement: pointers are no multiples of the element
  int tile_rows = 0, tile_cols = 0;    // elements a tile advances by
  int threads = 0;
  int shared_bytes = 0;                    // dynamic; 0: the kernel's own
  int64_t tiles_rows = 0, tiles_cols = 0;  // of one matrix
  int64_t tiles = 0;                       // of one matrix (kPacked: of the batch)
  int column_group = 1;                    // tile columns walked together
  int cluster = 1;                         // kRaw, kFunnel: CTAs of a cluster
  bool balanced = false;                   // its CTAs go to the SMs with the most room
  int64_t panel_rows = 0;                  // 16-byte kVector: tile rows walked together
  int fetched_columns = 0;                 // 16-byte kVector: tile columns fetched into L2
  int log_long = 0;                        // kTall, kWide: log2 of the tile's long side
  int per_tile = 0;                        // kPacked: matrices in a tile
};

struct DeviceLimits {
  int sm_count = 132;
  bool overlapped_launches = false;  // a kernel may start before the one before it has ended
  bool clusters = true;              // CTAs can be started together on one GPC
};

// Arguments as transpose.h documents them. `in` and `out` are the problem's addresses.
Status validate(const TransposeProblem& problem);

// Precondition: validate(problem).ok().
TransposePlan choose(const TransposeProblem& problem, const DeviceLimits& device);

// The choice in words, one line a candidate: taken, or the reason it was not.
std::string explain(const TransposeProblem& problem, const DeviceLimits& device);

}  // namespace tilewright::plan
