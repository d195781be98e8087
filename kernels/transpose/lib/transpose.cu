// transpose(): validation, the plan, and the kernels' launch. The tile bodies are in *_tile.cuh.
#include <algorithm>
#include <atomic>
#include <type_traits>

#include "block_tile.cuh"
#include "element_tile.cuh"
#include "funnel_tile.cuh"
#include "launch.h"
#include "narrow_strip.cuh"
#include "raw_tile.cuh"
#include "strip_tile.cuh"
#include "tilewright/transpose.h"
#include "vector_tile.cuh"
#include "word_tile.cuh"

namespace tilewright::detail {
namespace {

using plan::TileSize;
using plan::TransposeKernel;
using plan::TransposePlan;
using plan::TransposeProblem;

struct Launch {
  const char* in;
  char* out;
  int64_t in_row_bytes, out_row_bytes, rows, cols;
  Divisor tiles;  // CTAs of one matrix
  Divisor group;  // tile columns walked together
  uint32_t tiles_rows, tiles_cols, tile_cols;
  uint32_t first_batch;  // batches of one launch: [first_batch, first_batch + grid / tiles)
  BatchDims dims;
};

struct Place {
  const char* in;
  char* out;
  uint32_t tile;
};

// The matrix and the tile of this CTA.
__device__ __forceinline__ Place place(const Launch& a) {
  uint32_t batch = a.tiles.quotient(blockIdx.x);
  int64_t in, out;
  a.dims.offsets(a.first_batch + batch, in, out);
  return {a.in + in, a.out + out, blockIdx.x - batch * a.tiles.value};
}

// Down the rows, a group of tile columns at a time. One matrix: grid (tile rows x group, rounded up
// to whole clusters, groups). A batch: linear, whole groups (the last may reach past the matrix).
template <bool kBatched>
__device__ __forceinline__ Place walk(const Launch& a, uint32_t& tile_row, uint32_t& tile_col) {
  uint32_t x = blockIdx.x, group = blockIdx.y;
  Place at{a.in, a.out, 0};
  if constexpr (kBatched) {
    at = place(a);
    const uint32_t per_group = a.tiles_rows * a.group.value;
    group = at.tile / per_group;
    x = at.tile - group * per_group;
  }
  tile_row = a.group.quotient(x);
  tile_col = group * a.group.value + (x - tile_row * a.group.value);
  return at;
}

extern __shared__ __align__(128) char shared_bytes[];

template <class Tile, int kMinCtas, bool kBatched>
__global__ void __launch_bounds__(Tile::kThreadCount, kMinCtas)
    vector_kernel(const __grid_constant__ Launch a) {
  wait_for_kernel_before();
  uint32_t tile_row, tile_col;
  const Place at = walk<kBatched>(a, tile_row, tile_col);
  if (tile_col >= a.tiles_cols) return;
  int64_t row = int64_t(tile_row) * Tile::kRows, col = int64_t(tile_col) * Tile::kCols;
  Tile::load(threadIdx.x, shared_bytes, at.in + row * a.in_row_bytes + col * Tile::kElementBytes,
             a.in_row_bytes, a.rows - row, a.cols - col);
  __syncthreads();
  Tile::store_tile(threadIdx.x, shared_bytes,
                   at.out + col * a.out_row_bytes + row * Tile::kElementBytes, a.out_row_bytes,
                   a.rows - row, a.cols - col);
}

// [from, end), cut to multiples of 16 bytes, on its way to L2.
__device__ __forceinline__ void fetch(const char* from, const char* end) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const uint32_t bytes = uint32_t(end - from) & ~15u;
  if (bytes)
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
#endif
}

// One matrix of 16-byte elements: panels of tile rows (grid: tiles of a panel, panels), down the
// rows within one. The CTAs of kAhead tile columns share out the rows of the kAhead columns that
// follow and fetch them, so that device memory reads longer pieces than a tile is wide.
template <class Tile, int kMinCtas, int kAhead>
__global__ void __launch_bounds__(Tile::kThreadCount, kMinCtas)
    panel_kernel(const __grid_constant__ Launch a) {
  wait_for_kernel_before();
  const uint32_t tile_col = a.group.quotient(blockIdx.x);
  const uint32_t tile_row = blockIdx.y * a.group.value + blockIdx.x - tile_col * a.group.value;
  if (tile_row >= a.tiles_rows) return;
  const int64_t row = int64_t(tile_row) * Tile::kRows, col = int64_t(tile_col) * Tile::kCols;
  if constexpr (kAhead > 0) {
    constexpr int kShare = Tile::kRows / kAhead;
    const int64_t ahead = int64_t(tile_col / kAhead + 1) * kAhead * Tile::kCols;
    if (int(threadIdx.x) < kShare && ahead < a.cols) {
      const int64_t r = row + tile_col % kAhead * kShare + threadIdx.x;
      const char* from = a.in + r * a.in_row_bytes;
      if (r < a.rows)
        fetch(from + ahead * Tile::kElementBytes,
              from + min(a.cols, ahead + kAhead * Tile::kCols) * Tile::kElementBytes);
    }
  }
  Tile::load(threadIdx.x, shared_bytes, a.in + row * a.in_row_bytes + col * Tile::kElementBytes,
             a.in_row_bytes, a.rows - row, a.cols - col);
  __syncthreads();
  Tile::store_tile(threadIdx.x, shared_bytes,
                   a.out + col * a.out_row_bytes + row * Tile::kElementBytes, a.out_row_bytes,
                   a.rows - row, a.cols - col);
}

// kFew: the last tile of a tile row has the few columns past it, too.
template <class Tile, int kMinCtas, bool kFew, bool kBatched>
__global__ void __launch_bounds__(Tile::kThreadCount, kMinCtas)
    funnel_kernel(const __grid_constant__ Launch a) {
  static_assert(Tile::kFewColumns == plan::kFewColumns);
  wait_for_kernel_before();
  uint32_t tile_row, tile_col;
  const Place at = walk<kBatched>(a, tile_row, tile_col);
  if (tile_col >= a.tiles_cols || tile_row >= a.tiles_rows) return;
  const int64_t col = int64_t(tile_col) * Tile::kCols, next = col + Tile::kCols;
  const int64_t first_row = int64_t(tile_row) * Tile::kRows - Tile::kHalo;
  const typename Tile::Matrix m{at.in, a.in_row_bytes, a.rows, a.cols};
  if (!kFew && a.cols - col <= Tile::kFewColumns) {
    Tile::move_few(threadIdx.x, m, at.out, a.out_row_bytes, tile_row, col);
    return;
  }
  const bool few = kFew && tile_col + 1 == a.tiles_cols;
  Tile::load(threadIdx.x, shared_bytes, m, first_row, col);
  if (few) Tile::load_few(threadIdx.x, shared_bytes, m, at.out, a.out_row_bytes, tile_row, next);
  wait_copies();
  __syncthreads();
  typename Tile::Held held;
  Tile::gather(threadIdx.x, shared_bytes, held, m, first_row, col);
  __syncthreads();  // the columns take the rows' place
  Tile::scatter(threadIdx.x, shared_bytes, held, at.out, a.out_row_bytes, col);
  __syncthreads();
  Tile::store_tile(threadIdx.x, shared_bytes, at.out, a.out_row_bytes, tile_row, col, a.rows,
                   a.cols);
  if (few) Tile::store_few(threadIdx.x, shared_bytes, m, at.out, a.out_row_bytes, tile_row, next);
}

template <class Tile, int kMinCtas, bool kBatched>
__global__ void __launch_bounds__(Tile::kThreadCount, kMinCtas)
    raw_kernel(const __grid_constant__ Launch a) {
  wait_for_kernel_before();
  uint32_t tile_row, tile_col;
  const Place at = walk<kBatched>(a, tile_row, tile_col);
  if (tile_col >= a.tiles_cols || tile_row >= a.tiles_rows) return;
  const int64_t col = int64_t(tile_col) * a.tile_cols;
  typename Tile::Matrix m{at.in, a.in_row_bytes, a.rows, min(a.cols, col + a.tile_cols)};
  Tile::load(threadIdx.x, shared_bytes, m, int64_t(tile_row) * Tile::kRows - Tile::kHalo, col);
  __syncthreads();
  Tile::store_tile(threadIdx.x, shared_bytes, m, at.out, a.out_row_bytes, tile_row, col);
}

template <class Strip, bool kTall>
__global__ void __launch_bounds__(Strip::kThreadCount)
    narrow_kernel(const __grid_constant__ Launch a) {
  __shared__ __align__(16) char pieces[Strip::kSharedBytes];
  wait_for_kernel_before();
  const Place at = place(a);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const typename Strip::Strip s{at.in, at.out, kTall ? a.out_row_bytes : a.in_row_bytes,
                                kTall ? a.rows : a.cols};
  const int64_t index = int64_t(at.tile) * (Strip::kThreadCount / 32) + warp;
  if (index * Strip::kLong >= s.length) return;  // no barrier: warps are on their own
  char* piece = pieces + warp * Strip::kWarpBytes;
  Strip::template fill<kTall>(lane, piece, s, index);
  meet_lanes();
  Strip::template drain<kTall>(lane, piece, s, index);
}

template <int kElement>
__global__ void __launch_bounds__(plan::kStripThreads)
    tall_kernel(const __grid_constant__ Launch a, int log_rows) {
  using Tile = TallStrip<kElement, plan::kStripThreads>;
  wait_for_kernel_before();
  Place at = place(a);
  typename Tile::Strip s{at.in, at.out, a.out_row_bytes, a.rows, int(a.cols), log_rows};
  Tile::load(threadIdx.x, shared_bytes, s, at.tile);
  __syncthreads();
  Tile::store_tile(threadIdx.x, shared_bytes, s, at.tile);
}

template <int kElement>
__global__ void __launch_bounds__(plan::kStripThreads)
    wide_kernel(const __grid_constant__ Launch a, int log_cols) {
  using Tile = WideStrip<kElement, plan::kStripThreads>;
  wait_for_kernel_before();
  Place at = place(a);
  typename Tile::Strip s{at.in, at.out, a.in_row_bytes, a.cols, int(a.rows), log_cols};
  Tile::load(threadIdx.x, shared_bytes, s, at.tile);
  __syncthreads();
  Tile::store_tile(threadIdx.x, shared_bytes, s, at.tile);
}

template <int kElement>
__global__ void __launch_bounds__(plan::kStripThreads)
    packed_kernel(const char* in, char* out, int64_t count, int rows, int cols, int per_tile,
                  int64_t first_tile) {
  using Tile = PackedBatch<kElement, plan::kStripThreads>;
  wait_for_kernel_before();
  typename Tile::Pack p{in, out, count, rows, cols, per_tile};
  Tile::load(threadIdx.x, shared_bytes, p, first_tile + blockIdx.x);
  __syncthreads();
  Tile::store_tile(threadIdx.x, shared_bytes, p, first_tile + blockIdx.x);
}

template <int kElement, bool kVectors>
__global__ void __launch_bounds__(plan::kBlockThreads, plan::kBlockCtas)
    block_kernel(const char* in, char* out, uint32_t blocks, const __grid_constant__ BlockShape s) {
  using Tile = BlockTile<kElement, kVectors, plan::kBlockThreads>;
  const typename Tile::Tables t = Tile::tables(s, shared_bytes);
  const int thread = int(threadIdx.x);
  int turn = 0;
  Tile::find_corner(thread, s, t.corner[0], blockIdx.x);
  Tile::fill_places(thread, s, t);
  __syncthreads();
  Tile::fill_runs(thread, s, t, t.corner[0]);
  wait_for_kernel_before();
  for (uint32_t block = blockIdx.x;; block += gridDim.x) {
    __syncthreads();
    Tile::load(thread, s, t, t.corner[turn], in);
    const bool last = block + gridDim.x >= blocks;
    if (!last) Tile::find_corner(thread, s, t.corner[turn ^ 1], block + gridDim.x);
    __syncthreads();
    Tile::store(thread, s, t, t.corner[turn], out);
    if (last) break;
    if (!t.corner[0].whole || !t.corner[1].whole) {
      __syncthreads();
      Tile::fill_runs(thread, s, t, t.corner[turn ^ 1]);
    }
    turn ^= 1;
  }
}

// The plain tile for grids of a few tiles, which are bound by the latency of one: as little as
// possible between launch and load. Elements at multiples of their size.
template <class Item>
__global__ void __launch_bounds__(256) plain_kernel(const Item* in, Item* out, int64_t rows,
                                                    int64_t cols, int64_t ld_in, int64_t ld_out) {
  constexpr int kTile = plan::kElementTile, kRowsAtOnce = 8;
  __shared__ Item tile[kTile][kTile + 1];
  wait_for_kernel_before();
  int64_t row = int64_t(blockIdx.y) * kTile + threadIdx.y,
          col = int64_t(blockIdx.x) * kTile + threadIdx.x;
#pragma unroll
  for (int k = 0; k < kTile; k += kRowsAtOnce)
    if (row + k < rows && col < cols)
      tile[threadIdx.y + k][threadIdx.x] = in[(row + k) * ld_in + col];
  __syncthreads();
  row = int64_t(blockIdx.y) * kTile + threadIdx.x;
  col = int64_t(blockIdx.x) * kTile + threadIdx.y;
#pragma unroll
  for (int k = 0; k < kTile; k += kRowsAtOnce)
    if (row < rows && col + k < cols)
      out[(col + k) * ld_out + row] = tile[threadIdx.x][threadIdx.y + k];
}

constexpr int64_t kMaxGrid = 2147483647;

// Launches over all matrices, in pieces where the grid's limit asks for it.
template <class Kernel, class... More>
Status launch_all(Kernel kernel, Launch a, int64_t tiles, int64_t batch, int threads, int shared,
                  cudaStream_t stream, More... more) {
  if (tiles > kMaxGrid || batch > kMaxGrid)
    return {StatusCode::kUnsupported, batch > kMaxGrid ? "batch.count" : "rows",
            "more than 2^31 - 1 tiles", 0};
  const int64_t per_launch = kMaxGrid / tiles;
  for (int64_t first = 0; first < batch; first += per_launch) {
    a.first_batch = uint32_t(first);
    const int64_t count = std::min(per_launch, batch - first);
    if (Status s =
            launch(kernel, dim3(unsigned(tiles * count)), threads, shared, stream, a, more...);
        !s.ok())
      return s;
  }
  return {};
}

// A tile kernel over one matrix (two-dimensional grid) or a batch (linear grid).
template <class One, class Many>
Status launch_tiles(One one, Many many, Launch a, const TransposePlan& plan, int64_t batch,
                    int threads, int shared, cudaStream_t stream) {
  const int64_t groups = (plan.tiles_cols + plan.column_group - 1) / plan.column_group;
  const int64_t across = plan.tiles_rows * plan.column_group;
  const int64_t in_clusters = (across + plan.cluster - 1) / plan.cluster * plan.cluster;
  if (batch == 1 && groups <= 65535 && in_clusters <= kMaxGrid)
    return launch_clusters(plan.cluster, plan.balanced, one,
                           dim3(unsigned(in_clusters), unsigned(groups)), threads, shared, stream,
                           a);
  if (across * groups > kMaxGrid)
    return {StatusCode::kUnsupported, "rows", "more than 2^31 - 1 tiles", 0};
  a.tiles = Divisor(uint32_t(across * groups));
  return launch_all(many, a, across * groups, batch, threads, shared, stream);
}

template <int kElement, int kWidth>
Status run_narrow(const TransposeProblem& p, const TransposePlan& plan, const Launch& a,
                  cudaStream_t stream) {
  using Strip = NarrowStrip<kElement, kWidth, plan::kNarrowWarps>;
  auto* kernel =
      plan.tile_rows > plan.tile_cols ? narrow_kernel<Strip, true> : narrow_kernel<Strip, false>;
  return launch_all(kernel, a, plan.tiles, p.batch, plan.threads, 0, stream);
}

template <class Tile, int kMinCtas>
Status run_vector(const TransposeProblem& p, const TransposePlan& plan, const Launch& a,
                  cudaStream_t stream) {
  return launch_tiles(vector_kernel<Tile, kMinCtas, false>, vector_kernel<Tile, kMinCtas, true>, a,
                      plan, p.batch, Tile::kThreadCount, Tile::kSharedBytes, stream);
}

template <int kElement, plan::TileConfig kConfig, Cache kCache = Cache::kDefault>
Status run_vector_config(const TransposeProblem& p, const TransposePlan& plan, Launch a,
                         cudaStream_t stream) {
  using Tile = VectorTile<kElement, kConfig.rows, kConfig.cols, kConfig.threads, kCache, kCache,
                          kConfig.row_lanes>;
  if constexpr (kElement == 16) {
    if (plan.panel_rows) {  // the plan has panels where they fit a grid
      const int64_t panels = (plan.tiles_rows + plan.panel_rows - 1) / plan.panel_rows;
      a.group = Divisor(uint32_t(plan.panel_rows));
      auto* kernel = panel_kernel<Tile, kConfig.min_ctas, 0>;
      switch (plan.fetched_columns) {
        case 1: kernel = panel_kernel<Tile, kConfig.min_ctas, 1>; break;
        case 2: kernel = panel_kernel<Tile, kConfig.min_ctas, 2>; break;
        case plan::kFetchedInPanels:
          kernel = panel_kernel<Tile, kConfig.min_ctas, plan::kFetchedInPanels>;
          break;
        default: break;
      }
      return launch(kernel, dim3(unsigned(plan.panel_rows * plan.tiles_cols), unsigned(panels)),
                    Tile::kThreadCount, Tile::kSharedBytes, stream, a);
    }
  }
  return run_vector<Tile, kConfig.min_ctas>(p, plan, a, stream);
}

template <int kElement, plan::TileConfig kConfig, bool kFew = false>
Status run_funnel(const TransposeProblem& p, const TransposePlan& plan, const Launch& a,
                  cudaStream_t stream) {
  using Tile = FunnelTile<kElement, kConfig.rows, kConfig.cols, kConfig.threads, 32, 128,
                          Copy::kAsyncCached, kConfig.batch>;
  return launch_tiles(funnel_kernel<Tile, kConfig.min_ctas, kFew, false>,
                      funnel_kernel<Tile, kConfig.min_ctas, kFew, true>, a, plan, p.batch,
                      kConfig.threads, Tile::kSharedBytes + (kFew ? Tile::kFewBytes : 0), stream);
}

// The matrix's two dimensions and those of the batch as one array.
template <int kElement>
Status run_block(const TransposeProblem& p, const BatchDims& dims, const Launch& a,
                 cudaStream_t stream) {
  plan::BlockDim all[plan::kBlockDims];
  int n = 0;
  for (int d = 0; d < dims.count; ++d)
    if (dims.extent[d].value > 1)
      all[n++] = {dims.extent[d].value, dims.stride_in[d] / kElement,
                  dims.stride_out[d] / kElement};
  if (p.rows > 1) all[n++] = {p.rows, p.ld_in, 1};
  if (p.cols > 1) all[n++] = {p.cols, 1, p.ld_out};
  const bool aligned = (p.in_address | p.out_address) % 16 == 0;
  const plan::BlockPlan block =
      plan::plan_block(all, n, kElement, aligned, device_limits().sm_count);
  if (block.dims == 0) return {StatusCode::kUnsupported, "rows", "no block fits", 0};
  if (block.blocks > kMaxGrid)
    return {StatusCode::kUnsupported, "rows", "more than 2^31 - 1 blocks", 0};
  auto* kernel = block.vectors ? block_kernel<kElement, true> : block_kernel<kElement, false>;
  return launch(kernel, dim3(unsigned(block.ctas)), plan::kBlockThreads, block.shared_bytes, stream,
                a.in, a.out, uint32_t(block.blocks), BlockShape(block, kElement));
}

template <int kElement>
Status run(const TransposeProblem& p, const TransposePlan& plan, const BatchDims& dims,
           cudaStream_t stream) {
  constexpr int i = plan::size_index(kElement);
  // Streaming accesses cost 4 % on large squares of 4 and 8 bytes, and gain a little on small ones.
  constexpr Cache kSmallCache = kElement >= 4 ? Cache::kStreaming : Cache::kDefault;
  Launch a{};
  a.in = reinterpret_cast<const char*>(p.in_address);
  a.out = reinterpret_cast<char*>(p.out_address);
  a.in_row_bytes = p.ld_in * kElement;
  a.out_row_bytes = p.ld_out * kElement;
  a.rows = p.rows;
  a.cols = p.cols;
  a.dims = dims;
  if (plan.tiles > kMaxGrid && !plan.per_tile)
    return {StatusCode::kUnsupported, "rows", "more than 2^31 - 1 tiles", 0};
  a.tiles =
      Divisor(uint32_t(plan.per_tile || plan.kernel == TransposeKernel::kBlock ? 1 : plan.tiles));
  a.tiles_rows = uint32_t(plan.tiles_rows);
  a.tiles_cols = uint32_t(plan.tiles_cols);
  a.tile_cols = uint32_t(plan.tile_cols);
  a.group = Divisor(uint32_t(plan.column_group));
  switch (plan.kernel) {
    case TransposeKernel::kVector:
      if (plan.tile == TileSize::kSmall)
        return run_vector_config<kElement, plan::kSmallVectorTiles[i], kSmallCache>(p, plan, a,
                                                                                    stream);
      if constexpr (kElement < 4) {
        if (plan.tile == TileSize::kLarge)
          return run_vector_config<kElement, plan::kLargeVectorTiles[i]>(p, plan, a, stream);
      }
      return run_vector_config<kElement, plan::kVectorTiles[i]>(p, plan, a, stream);
    case TransposeKernel::kFunnel:
      if constexpr (kElement == 1) {
        if (plan.few_beside) return run_funnel<1, plan::kFunnelTiles[0], true>(p, plan, a, stream);
        if (plan.tile == TileSize::kLarge)
          return run_funnel<1, plan::kManyFunnelTiles>(p, plan, a, stream);
      }
      if constexpr (kElement == 2) {
        if (plan.few_beside) return run_funnel<2, plan::kSmallFunnelTile, true>(p, plan, a, stream);
        if (plan.tile == TileSize::kSmall)
          return run_funnel<2, plan::kSmallFunnelTile>(p, plan, a, stream);
      }
      if constexpr (kElement < 4)
        return run_funnel<kElement, plan::kFunnelTiles[i]>(p, plan, a, stream);
      break;
    case TransposeKernel::kRaw:
      if constexpr (kElement >= 4) {
        constexpr plan::RawConfig c = plan::kRawTiles[i - 2];
        using Tile = RawTile<kElement, c.row_vectors, c.out_bytes, c.threads, c.align, 128,
                             Copy::kAsyncCached, Cache::kDefault, Cache::kDefault, c.batch>;
        return launch_tiles(raw_kernel<Tile, c.min_ctas, false>, raw_kernel<Tile, c.min_ctas, true>,
                            a, plan, p.batch, c.threads, Tile::kSharedBytes, stream);
      }
      break;
    case TransposeKernel::kNarrow:
      if constexpr (kElement < 16) {
        switch (plan.tile_rows < plan.tile_cols ? plan.tile_rows : plan.tile_cols) {
          case 2: return run_narrow<kElement, 2>(p, plan, a, stream);
          case 3: return run_narrow<kElement, 3>(p, plan, a, stream);
          case 4: return run_narrow<kElement, 4>(p, plan, a, stream);
          case 5: return run_narrow<kElement, 5>(p, plan, a, stream);
          case 6: return run_narrow<kElement, 6>(p, plan, a, stream);
          case 7: return run_narrow<kElement, 7>(p, plan, a, stream);
          case 8: return run_narrow<kElement, 8>(p, plan, a, stream);
          default: break;
        }
      }
      break;
    case TransposeKernel::kTall:
      return launch_all(
          tall_kernel<kElement>, a, plan.tiles, p.batch, plan.threads,
          TallStrip<kElement, plan::kStripThreads>::shared_bytes(plan.log_long, int(p.cols)),
          stream, plan.log_long);
    case TransposeKernel::kWide:
      return launch_all(
          wide_kernel<kElement>, a, plan.tiles, p.batch, plan.threads,
          WideStrip<kElement, plan::kStripThreads>::shared_bytes(plan.log_long, int(p.rows)),
          stream, plan.log_long);
    case TransposeKernel::kPacked: {
      const int shared = PackedBatch<kElement, plan::kStripThreads>::shared_bytes(
          plan.per_tile, int(p.rows), int(p.cols));
      for (int64_t first = 0; first < plan.tiles; first += kMaxGrid)
        if (Status s = launch(packed_kernel<kElement>,
                              dim3(unsigned(std::min(kMaxGrid, plan.tiles - first))), plan.threads,
                              shared, stream, a.in, a.out, p.batch, int(p.rows), int(p.cols),
                              plan.per_tile, first);
            !s.ok())
          return s;
      return {};
    }
    case TransposeKernel::kBlock: return run_block<kElement>(p, dims, a, stream);
    case TransposeKernel::kWord:
      if constexpr (kElement == 1) {
        constexpr plan::TileConfig c = plan::kWordTile;
        using Tile = WordTile<kElement, c.rows, c.cols, c.threads>;
        return run_vector<Tile, 1>(p, plan, a, stream);
      }
      break;
    case TransposeKernel::kElement: {
      if constexpr (kElement >= 8) {
        if (plan.in_pieces) {
          using Tile = ElementTile<kElement, 256, 4>;
          return run_vector<Tile, 1>(p, plan, a, stream);
        }
      }
      if (p.batch == 1 && !plan.in_pieces && plan.tiles_rows <= 65535) {
        using Item = std::conditional_t<kElement == 16, uint4, typename Unsigned<kElement>::Type>;
        return launch(plain_kernel<Item>,
                      dim3(unsigned(plan.tiles_cols), unsigned(plan.tiles_rows)), dim3(32, 8), 0,
                      stream, reinterpret_cast<const Item*>(a.in), reinterpret_cast<Item*>(a.out),
                      p.rows, p.cols, p.ld_in, p.ld_out);
      }
      using Tile = ElementTile<kElement, 256, kElement>;
      return run_vector<Tile, 1>(p, plan, a, stream);
    }
    case TransposeKernel::kNothing:
    case TransposeKernel::kCopy: break;
  }
  return {StatusCode::kUnsupported, "", "no kernel for this plan", 0};
}

}  // namespace

plan::DeviceLimits device_limits() {
  constexpr int kDevices = 64;
  static std::atomic<int> known[kDevices];  // twice the SMs, and one where launches may overlap
  int device = 0;
  plan::DeviceLimits limits;
  limits.clusters = false;
  if (cudaGetDevice(&device) != cudaSuccess || device >= kDevices) return limits;
  int found = known[device].load(std::memory_order_relaxed);
  if (found == 0) {
    int sms = 0, major = 0;
    if (cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess)
      return limits;
    // Code for an older architecture runs on a new device, too, but does not wait (launch.h).
    cudaFuncAttributes code{};
    const bool waits = major >= 9 &&
                       cudaFuncGetAttributes(&code, plain_kernel<uint32_t>) == cudaSuccess &&
                       code.ptxVersion >= 90;
    found = sms * 2 + waits;
    known[device].store(found, std::memory_order_relaxed);
  }
  limits.sm_count = found / 2;
  limits.overlapped_launches = limits.clusters = found % 2 != 0;
  return limits;
}

Status run_transpose(const TransposeProblem& p, const TransposePlan& plan, const BatchDims& dims,
                     cudaStream_t stream) {
  switch (p.element_bytes) {
    case 1: return run<1>(p, plan, dims, stream);
    case 2: return run<2>(p, plan, dims, stream);
    case 4: return run<4>(p, plan, dims, stream);
    case 8: return run<8>(p, plan, dims, stream);
    default: return run<16>(p, plan, dims, stream);
  }
}

}  // namespace tilewright::detail

namespace tilewright {

Status transpose(const void* in, int64_t ld_in, void* out, int64_t ld_out, int64_t rows,
                 int64_t cols, int element_bytes, const Batch& batch,
                 cudaStream_t stream) noexcept {
  plan::TransposeProblem p;
  p.element_bytes = element_bytes;
  p.rows = rows;
  p.cols = cols;
  p.ld_in = ld_in;
  p.ld_out = ld_out;
  p.batch = batch.count;
  p.stride_in = batch.stride_in;
  p.stride_out = batch.stride_out;
  p.in_address = reinterpret_cast<uint64_t>(in);
  p.out_address = reinterpret_cast<uint64_t>(out);
  if (Status status = plan::validate(p); !status.ok()) return status;
  const plan::TransposePlan plan = plan::choose(p, detail::device_limits());
  if (plan.kernel == plan::TransposeKernel::kNothing) return {};
  if (plan.kernel == plan::TransposeKernel::kCopy) {
    const size_t bytes = size_t(rows * cols) * size_t(element_bytes);
    const bool dense =
        batch.count == 1 || (batch.stride_in == rows * cols && batch.stride_out == rows * cols);
    cudaError_t error =
        dense ? cudaMemcpyAsync(out, in, bytes * size_t(batch.count), cudaMemcpyDeviceToDevice,
                                stream)
              : cudaMemcpy2DAsync(out, size_t(batch.stride_out) * size_t(element_bytes), in,
                                  size_t(batch.stride_in) * size_t(element_bytes), bytes,
                                  size_t(batch.count), cudaMemcpyDeviceToDevice, stream);
    return error == cudaSuccess ? Status{} : detail::launch_failed(error);
  }
  detail::BatchDims dims;
  if (batch.count > 1 && plan.kernel != plan::TransposeKernel::kPacked) {
    if (batch.count > 2147483647)
      return {StatusCode::kUnsupported, "batch.count", "more than 2^31 - 1 matrices", 0};
    dims.count = 1;
    dims.extent[0] = detail::Divisor(uint32_t(batch.count));
    dims.stride_in[0] = batch.stride_in * element_bytes;
    dims.stride_out[0] = batch.stride_out * element_bytes;
  }
  return detail::run_transpose(p, plan, dims, stream);
}

}  // namespace tilewright
