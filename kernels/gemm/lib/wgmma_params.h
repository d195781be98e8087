// What the host hands to the WGMMA kernel: tensor maps, raster, scalars. Passed by value as a
// __grid_constant__ parameter, so that a call allocates nothing and can be captured in a graph.
//
// Tested by tilewright-bench gemm --suite verify.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "gemm/lib/repack_order.h"

namespace tw::gemm {

// Lines of B that a tile copies: half of them are whole atoms of the swizzle (eight lines), so that
// two CTAs can share them.
constexpr int copied_lines(int bn) { return (bn + 15) / 16 * 16; }
// Rows of D in a bulk copy of a turned tile (turned_store.cuh): whole atoms, which divide the tile.
constexpr int turned_rows(int bn) { return bn % 16 == 0 ? 16 : 8; }

enum class Output : int { kF32 = 0, kBf16 = 1, kF16 = 2 };

// How D leaves shared memory. Bulk copies leave the warps free for the next tile; a CTA with one
// tile is done sooner when its warps store 16 bytes a lane; both need multiples of 16 bytes.
enum class Store : int { kBulk, kVector, kElements };

// What a kernel does with its sums. The first four store D in the operands' own type
// (`native_output`) and never read C; kTurned stores as kBulk does, but n x m. kGeneral does
// anything else. k...Sum: the same where the CTAs of a cluster share K. (The narrow kernel, which
// has one way to store, has kElements and kGeneral.) kRepack...: the kernel has warps that repack
// operands while it runs (repack_order.h).
enum class Epilogue : int {
  kBulk,
  kVector,
  kElements,
  kTurned,
  kGeneral,
  kPlainSum,
  kGeneralSum,
  kRepackElements,
  kRepackGeneral
};
constexpr int kEpilogues = 9;
template <Epilogue e> constexpr bool kRepacks = e >= Epilogue::kRepackElements;
// How a kernel stores D, whether it repacks, or turns it, or not.
template <Epilogue e>
constexpr Epilogue kStoresAs = e == Epilogue::kTurned           ? Epilogue::kBulk
                               : e == Epilogue::kRepackElements ? Epilogue::kElements
                               : e == Epilogue::kRepackGeneral  ? Epilogue::kGeneral
                                                                : e;
template <Epilogue e>
constexpr bool kIsClusterSum = e == Epilogue::kPlainSum || e == Epilogue::kGeneralSum;

// CTAs of a cluster that splits K, at most.
constexpr int kMostRanks = 8;

// An operand as lines of bytes, for the kernel that reads it without TMA.
struct Source {
  const char* data;
  int64_t pitch, stride;  // from line to line, from one matrix of a batch to the next
  int lines, length;
};

struct WgmmaParams {
  CUtensorMap a, b, d;
  int m, n, k;
  int k_blocks;            // ceil(k / elements in 128 bytes)
  int k_blocks_per_split;  // every split but the last has this many
  bool last_block_short;   // one instruction's K holds all of the last block (32 bytes)
  int splits;  // 1: no split; else k_cluster, or D holds `splits` partial results per batch
  int batches;
  int units_m, units_n;  // tiles along M and N, in clusters where those lie along that side
  int raster_group;      // units along M walked before the next along N
  int cluster;           // CTAs that share an operand: 1, 2 or 4
  bool shares_a;         // they lie along N and share A; else along M, and share B
  bool starts_apart;     // each tile starts at another k
  int k_cluster;  // > 1: this many CTAs of a cluster each take a split of one tile (cluster is 1)
  float alpha, beta;
  const float* scale_a;  // fp8: device scalars, or null
  const float* scale_b;
  const void* c;           // read only if beta != 0; of the output's type
  int64_t ld_c, stride_c;  // elements
  void* d_data;
  Store store;
  int64_t ld_d, stride_d;
  Output output;
  bool transposed;            // D is n x m: narrow_kernel.cuh, Epilogue::kTurned
  int wide_rows;              // narrow_kernel.cuh only: of the wide operand, a CTA
  Source a_source, b_source;  // gather_kernel.cuh only
  RepackOrder repack;         // operands that are moved meanwhile; parts 0: none
  const int* after;           // narrow_kernel.cuh only: see WgmmaProblem
  int after_count;
};

}  // namespace tw::gemm
