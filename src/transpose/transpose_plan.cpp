// See transpose_plan.h. Figures quoted in the reasons come from bench/results/transpose-*.json.
#include "transpose/transpose_plan.h"

#include <algorithm>

#include "transpose/block_plan.h"
#include "util/strided_lines.h"

namespace tilewright::plan {
namespace {

constexpr int kSector = 32;
constexpr int64_t kMaxGridX = 2147483647, kMaxGridY = 65535;  // CUDA's, in CTAs
constexpr int64_t kMaxPitch = 2147483647;                     // CUDA's, of copies, in bytes
constexpr int64_t kSmallBytes = 32768;  // a matrix that several CTAs of an SM can hold at once

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

Status invalid(const char* argument, const char* message) {
  return {StatusCode::kInvalidArgument, argument, message, 0};
}

// The bytes from the first to past the last element of `count` matrices of rows x cols. False:
// beyond 2^63.
bool extent(int64_t rows, int64_t cols, int64_t ld, int64_t count, int64_t stride, int element,
            int64_t& bytes) {
  int64_t a = 0, b = 0, sum = 0;
  if (__builtin_mul_overflow(rows - 1, ld, &a) || __builtin_mul_overflow(count - 1, stride, &b) ||
      __builtin_add_overflow(a, b, &sum) || __builtin_add_overflow(sum, cols, &sum))
    return false;
  return !__builtin_mul_overflow(sum, int64_t(element), &bytes);
}

int log2_floor(int64_t n) {
  int log = 0;
  while (n >>= 1) ++log;
  return log;
}

bool aligned_to(const TransposeProblem& p, int bytes) {
  const uint64_t mask = uint64_t(bytes) - 1;
  auto misfit = [&](int64_t elements) {
    return uint64_t(elements) * uint64_t(p.element_bytes) & mask;
  };
  return !((p.in_address | p.out_address) & mask) && !(p.rows > 1 && misfit(p.ld_in)) &&
         !(p.cols > 1 && misfit(p.ld_out)) &&
         !(p.batch > 1 && (misfit(p.stride_in) || misfit(p.stride_out)));
}

void tile_by(TransposePlan& plan, const TransposeProblem& p, int rows, int cols, int threads,
             int halo) {
  plan.tile_rows = rows;
  plan.tile_cols = cols;
  plan.threads = threads;
  plan.tiles_rows = ceil_div(p.rows + (halo ? halo - 1 : 0), rows);
  plan.tiles_cols = ceil_div(p.cols, cols);
  plan.tiles = plan.tiles_rows * plan.tiles_cols;
}

// Collects reasons for explain; choose passes none, and the texts cost nothing.
struct Notes {
  std::string* text;
  void rejected(TransposeKernel kernel, const char* reason) const {
    if (text) *text += "  " + std::string(to_string(kernel)) + ": no, " + reason + "\n";
  }
  void taken(TransposeKernel kernel, const char* reason) const {
    if (text) *text += "  " + std::string(to_string(kernel)) + ": taken, " + reason + "\n";
  }
};

// The vectors of a narrow strip: its stream is dense; the rows of the other side start on 16 bytes.
bool narrow_aligned(const TransposeProblem& p, bool tall) {
  const int64_t pitch = tall ? p.ld_out : p.ld_in;
  auto misfit = [&](int64_t elements) { return elements * p.element_bytes % 16 != 0; };
  return (p.in_address | p.out_address) % 16 == 0 && !misfit(pitch) &&
         (tall ? p.cols : p.rows) > 1 &&
         !(p.batch > 1 && (misfit(p.stride_in) || misfit(p.stride_out)));
}

// The candidates in the order in which they are asked; each says whether it takes the problem.
struct Choice {
  const TransposeProblem& p;
  const DeviceLimits& device;
  const Notes& notes;
  TransposePlan plan{};

  int element() const { return p.element_bytes; }
  int64_t matrix_bytes() const { return p.rows * p.cols * element(); }
  int64_t tiles_of(const TileConfig& config) const {
    return ceil_div(p.rows, config.rows) * ceil_div(p.cols, config.cols) * p.batch;
  }
  // The matrix is at least that share of the tiles that cover it.
  bool fills(const TileConfig& config, int percent) const {
    const int64_t covered =
        ceil_div(p.rows, config.rows) * config.rows * ceil_div(p.cols, config.cols) * config.cols;
    return p.rows * p.cols >= covered / 100 * percent;
  }
  bool packed_batch() const {
    return p.ld_in == p.cols && p.ld_out == p.rows && p.batch > 1 && p.batch_dims == 1 &&
           p.stride_in == p.rows * p.cols && p.stride_out == p.rows * p.cols;
  }

  bool nothing() {
    if (p.rows != 0 && p.cols != 0 && p.batch != 0) return false;
    notes.taken(TransposeKernel::kNothing, "a size is zero");
    return true;
  }

  // A copy moves all matrices: packed, or as the lines of two dimensions, whose pitches are at
  // least their length and at most 2^31 - 1 bytes (cudaMemcpy2D).
  bool one_copy() const {
    if (p.batch == 1 || packed_batch()) return true;
    auto is_pitch = [&](int64_t stride) {
      return stride >= p.rows * p.cols && stride <= kMaxPitch / element();
    };
    return is_pitch(p.stride_in) && is_pitch(p.stride_out);
  }

  bool copy() {
    const bool in_order = (p.rows == 1 && (p.ld_out == 1 || p.cols == 1)) ||
                          (p.cols == 1 && (p.ld_in == 1 || p.rows == 1));
    if (in_order && one_copy()) {
      notes.taken(TransposeKernel::kCopy,
                  "one row or one column, dense on both sides: the bytes keep their order");
      plan.kernel = TransposeKernel::kCopy;
      return true;
    }
    notes.rejected(TransposeKernel::kCopy,
                   in_order ? "matrices of the batch overlap, or lie 2^31 bytes and more apart"
                            : "the order of the elements changes");
    return false;
  }

  bool pieces() {
    if ((p.in_address | p.out_address) % uint64_t(element()) == 0) return false;
    notes.taken(TransposeKernel::kElement,
                "a pointer is not a multiple of the element: elements move in pieces");
    plan.kernel = TransposeKernel::kElement;
    plan.in_pieces = true;
    tile_by(plan, p, kElementTile, kElementTile, 256, 0);
    return true;
  }

  bool packed() {
    const TileConfig tile = kVectorTiles[size_index(element())];
    if (!packed_batch()) {
      notes.rejected(TransposeKernel::kPacked, "not a batch of matrices back to back");
      return false;
    }
    // Below 4 bytes the packed batch moves element by element.
    const TileConfig small = kSmallVectorTiles[size_index(element())];
    const bool small_fits =
        element() < 4 && p.rows >= small.rows && p.cols >= small.cols && aligned_to(p, 16);
    if (matrix_bytes() > kStripBytes / 2 || small_fits ||
        (p.rows * 2 > tile.rows && p.cols * 2 > tile.cols)) {
      notes.rejected(TransposeKernel::kPacked, "a matrix fills a tile of its own");
      return false;
    }
    notes.taken(TransposeKernel::kPacked,
                "many matrices smaller than a tile: one stream in, one stream out");
    plan.kernel = TransposeKernel::kPacked;
    plan.per_tile = int(std::max<int64_t>(1, kStripBytes / matrix_bytes()));
    // Enough tiles for the device before full tiles.
    plan.per_tile =
        int(std::clamp<int64_t>(ceil_div(p.batch, int64_t(device.sm_count) * 4), 1, plan.per_tile));
    plan.threads = kStripThreads;
    plan.tiles = ceil_div(p.batch, plan.per_tile);
    return true;
  }

  bool block() {
    if (p.batch > 1 && !packed_batch() && matrix_bytes() <= kSmallBytes &&
        !fills(kVectorTiles[size_index(element())], 60)) {
      notes.taken(
          TransposeKernel::kBlock,
          "many matrices that would leave a tile mostly empty: a block spans several dimensions");
      plan.kernel = TransposeKernel::kBlock;
      plan.threads = kBlockThreads;
      return true;
    }
    notes.rejected(TransposeKernel::kBlock,
                   p.batch > 1 ? "a matrix fills most of a tile, or none" : "one matrix");
    return false;
  }

  // One side is short, and that side's stream has no gaps.
  bool strip() {
    const int e = element();
    const bool tall = p.ld_in == p.cols && p.cols * e <= 128 && p.rows >= 4 * p.cols;
    const bool wide = p.ld_out == p.rows && p.rows * e <= 128 && p.cols >= 4 * p.rows;
    if (!tall && !wide) {
      notes.rejected(TransposeKernel::kTall,
                     "rows are longer than 128 bytes or a quarter of the height, or have gaps");
      notes.rejected(
          TransposeKernel::kWide,
          "output rows are longer than 128 bytes or a quarter of the height, or have gaps");
      return false;
    }
    const int64_t short_side = tall ? p.cols : p.rows, long_side = tall ? p.rows : p.cols;
    plan.threads = kStripThreads;
    if (e < 16 && short_side <= kNarrowest && narrow_aligned(p, tall)) {
      plan.kernel = TransposeKernel::kNarrow;
      notes.taken(plan.kernel,
                  "two to eight columns or rows, vectors aligned: transposed in registers");
      plan.threads = kNarrowWarps * 32;
      const int long_tile = kNarrowWarps * 32 * (16 / e);
      plan.tile_rows = tall ? long_tile : int(p.rows);
      plan.tile_cols = tall ? int(p.cols) : long_tile;
      plan.tiles_rows = ceil_div(p.rows, plan.tile_rows);
      plan.tiles_cols = ceil_div(p.cols, plan.tile_cols);
      plan.tiles = plan.tiles_rows * plan.tiles_cols;
      return true;
    }
    notes.rejected(TransposeKernel::kNarrow,
                   short_side > kNarrowest ? "more than eight columns or rows"
                   : e == 16               ? "elements are vectors themselves"
                                           : "a row or a matrix does not start on 16 bytes");
    // The long side of a tile: whole 128-byte lines, kStripBytes of data, at least four tiles an SM
    // if there are that many.
    const int log_line = log2_floor(128 / e);
    int log_long = std::max(log_line, log2_floor(kStripBytes / (short_side * e)));
    while (log_long > log_line &&
           ceil_div(long_side, int64_t(1) << log_long) * p.batch < int64_t(device.sm_count) * 4)
      --log_long;
    plan.kernel = tall ? TransposeKernel::kTall : TransposeKernel::kWide;
    notes.taken(
        plan.kernel,
        tall ? "rows of at most 128 bytes that lie one after the other: the input is a stream"
             : "output rows of at most 128 bytes that lie one after the other: the output is a "
               "stream");
    plan.log_long = log_long;
    plan.tile_rows = tall ? 1 << log_long : int(p.rows);
    plan.tile_cols = tall ? int(p.cols) : 1 << log_long;
    plan.tiles_rows = tall ? ceil_div(p.rows + kSector / e - 1, int64_t(1) << log_long) : 1;
    plan.tiles_cols = tall ? 1 : ceil_div(p.cols, int64_t(1) << log_long);
    plan.tiles = plan.tiles_rows * plan.tiles_cols;
    return true;
  }

  // Grids of a few tiles are bound by the latency of one, so that the tile of fewest instructions
  // wins. `squares`: of 32 x 32 elements. The limits are from sizes of 128 to 2048 on an H200.
  bool few_tiles() {
    const int e = element();
    const int64_t squares = ceil_div(p.rows, 32) * ceil_div(p.cols, 32) * p.batch;
    const bool vectors = aligned_to(p, 16), words = e == 1 && aligned_to(p, 4);
    const bool few = squares <= device.sm_count * 2, some = squares <= device.sm_count * 8;
    const bool plain = e == 8               ? some
                       : e == 16 && vectors ? some && !few
                       : vectors || words   ? few
                                            : some;
    if (plain) {
      notes.taken(TransposeKernel::kElement,
                  "a small grid, bound by the latency of a tile: 32 x 32 elements each");
      plan.kernel = TransposeKernel::kElement;
      tile_by(plan, p, kElementTile, kElementTile, 256, 0);
      return true;
    }
    if (words && squares <= device.sm_count * 16) {
      notes.taken(TransposeKernel::kWord, "a few tiles an SM: words on both sides, small tiles");
      plan.kernel = TransposeKernel::kWord;
      tile_by(plan, p, kWordTile.rows, kWordTile.cols, kWordTile.threads, 0);
      return true;
    }
    notes.rejected(TransposeKernel::kElement, "not a grid of a few tiles");
    return false;
  }

  // Large matrices: one of the three tiles.
  void tile() {
    const int e = element();
    // Elements of 16 bytes are vectors wherever they start: whole sectors decide.
    if (aligned_to(p, e == 16 ? kSector : 16)) {
      vector_tile();
      return;
    }
    notes.rejected(TransposeKernel::kVector, e == 16 ? "a row does not start on a sector"
                                                     : "a row does not start on 16 bytes");
    if (e < 4) {
      notes.rejected(TransposeKernel::kRaw,
                     "elements narrower than 4 bytes are transposed in registers");
      funnel_tile();
      return;
    }
    plan.kernel = TransposeKernel::kRaw;
    notes.taken(plan.kernel,
                "aligned vectors to shared memory as they are, output rows cut at their sectors");
    const RawConfig config = kRawTiles[size_index(e) - 2];
    // Columns are dealt out evenly: 257 of them are five tiles of 52, not four of 60 and one of 17.
    const int most = (config.row_vectors - (e < 16)) * (16 / e);
    const int even = int(ceil_div(p.cols, ceil_div(p.cols, most)));
    tile_by(plan, p, config.out_bytes / e, even, config.threads, config.align / e);
    // What two tiles ask for twice: side by side the sectors between them, one below the other the
    // rows above the lower one. Clusters of 4-byte tiles lie side by side, of 8-byte tiles below.
    plan.column_group = ragged_group(1);
    if (e == 4 && wide() && cluster_of(2, 2)) plan.column_group = 2;
    if (e == 8 && wide()) cluster_of(2, 16);
    if (e < 16 && plan.tiles_cols <= kMostInCluster) side_by_side();
  }

  void vector_tile() {
    const int e = element(), size = size_index(e);
    plan.kernel = TransposeKernel::kVector;
    const int64_t full_device = int64_t(device.sm_count) * (e == 16 ? 16 : e == 8 ? 8 : 4);
    if (e < 4 && tiles_of(kLargeVectorTiles[size]) >= int64_t(device.sm_count) * 24 &&
        fills(kLargeVectorTiles[size], 90)) {
      plan.tile = TileSize::kLarge;
      notes.taken(plan.kernel, "every row starts on 16 bytes, and there are dozens of tiles an SM");
    } else if (tiles_of(kVectorTiles[size]) < full_device ||
               (!fills(kVectorTiles[size], 60) && fills(kSmallVectorTiles[size], 60))) {
      plan.tile = TileSize::kSmall;
      notes.taken(plan.kernel,
                  "every row starts on 16 bytes; small tiles, or the device or the tiles would not "
                  "be full");
    } else {
      notes.taken(plan.kernel, "every row starts on 16 bytes: vectors on both sides");
    }
    const TileConfig config = plan.tile == TileSize::kLarge   ? kLargeVectorTiles[size]
                              : plan.tile == TileSize::kSmall ? kSmallVectorTiles[size]
                                                              : kVectorTiles[size];
    tile_by(plan, p, config.rows, config.cols, config.threads, 0);
    // Walked down whole columns, rows a multiple of 128 KiB apart reach 0.93 of the copy, in panels
    // 0.96; others reach 0.98 and in panels 0.96.
    if (e == 16 && plan.tile == TileSize::kRegular && p.batch == 1) {
      const bool panels = p.ld_in * e % kPanelPitch == 0;
      const int64_t rows =
          panels ? std::min<int64_t>(kPanelRows, plan.tiles_rows) : plan.tiles_rows;
      if (ceil_div(plan.tiles_rows, rows) <= kMaxGridY && plan.tiles_cols <= kMaxGridX / rows) {
        plan.panel_rows = rows;
        plan.fetched_columns = panels                      ? kFetchedInPanels
                               : p.rows <= kTwoFetchedRows ? 2
                               : p.rows <= kFetchedRows    ? 1
                                                           : 0;
      }
    }
  }

  void funnel_tile() {
    const int e = element(), size = size_index(e);
    plan.kernel = TransposeKernel::kFunnel;
    notes.taken(plan.kernel, "words shifted by a funnel, output rows cut at their sectors");
    auto tiles = [&](const TileConfig& config) {
      tile_by(plan, p, config.rows - kSector / e, config.cols, config.threads, kSector / e);
    };
    // CTAs of their own for a few columns past one to three whole tiles (2 bytes: one or two) would
    // be a quarter to half of all. Past more tiles they cost less than the code that moves those
    // columns along costs every tile (1 to 2 points of the copy).
    auto few_beside = [&](int most) {
      const int64_t past = p.cols % plan.tile_cols, whole = p.cols / plan.tile_cols;
      if (past == 0 || past > kFewColumns || whole == 0 || whole > most || p.batch > 1) return;
      plan.few_beside = true;
      plan.tiles = plan.tiles_rows * --plan.tiles_cols;
    };
    if (e == 2) {
      // A cluster is a group: tile columns dealt out evenly to groups of at most eight.
      plan.tile = TileSize::kSmall;
      tiles(kSmallFunnelTile);
      few_beside(2);
      const int64_t groups = ceil_div(plan.tiles_cols, kMostInCluster);
      const int group = int(ceil_div(plan.tiles_cols, groups));
      if (cluster_of(group, 4)) {
        plan.column_group = group;
        plan.balanced = group <= 2;
        return;
      }
      // Few waves of large tiles end with a device half empty; a narrow matrix is better off with
      // the tile that wastes fewer columns.
      const TileConfig large = kFunnelTiles[size];
      const bool narrow = p.cols < 4 * large.cols;
      const bool few = tiles_of(large) < int64_t(device.sm_count) * large.min_ctas * 3;
      plan.tile = few || narrow ? TileSize::kSmall : TileSize::kRegular;
    }
    if (plan.tile == TileSize::kRegular) tiles(kFunnelTiles[size]);
    if (e == 1) few_beside(3);
    plan.column_group = ragged_group(e == 1 ? 4 : 2);
    if (e == 2) return;
    if (plan.tiles_cols <= 3) {
      side_by_side();
    } else if (plan.tiles_cols > 9 && cluster_of(4, 16)) {  // two beside two
      plan.column_group = 2;
      plan.balanced = true;
      plan.tile = TileSize::kLarge;  // the same, a CTA an SM more
    } else if (wide()) {
      cluster_of(2, 4);
    }
  }

  // All tiles of a narrow matrix's tile row as a cluster.
  void side_by_side() {
    if (plan.tiles_cols > 1 && cluster_of(int(plan.tiles_cols), 4)) {
      plan.column_group = int(plan.tiles_cols);
      plan.balanced = true;
    }
  }

  // CTAs that follow one another in the walk, started on one GPC and so beside one half of L2: the
  // sectors that two of them ask for cross to that half once. The kernels do not know of clusters.
  // Few tiles or tile rows and batches of small matrices lose up to 10 points of the copy.
  bool cluster_of(int ctas, int tiles_an_sm) {
    const bool pays = device.clusters && p.batch == 1 && plan.tiles_rows >= 8 &&
                      plan.tiles >= int64_t(device.sm_count) * tiles_an_sm;
    if (pays) plan.cluster = ctas;
    return pays;
  }

  // Tiles are walked down the rows: CTAs that run together then write neighbouring pieces of the
  // same output rows, which is what device memory rewards (2 to 4 % over any walk that favours the
  // input). Ragged rows share memory lines with the tile beside: a few columns of tiles together,
  // or all of a narrow matrix.
  int ragged_group(int if_wide) const {
    return wide() ? if_wide : plan.tiles_cols <= 9 ? int(plan.tiles_cols) : 8;
  }
  bool wide() const { return plan.tiles_cols > 16; }
};

TransposePlan decide(const TransposeProblem& p, const DeviceLimits& device, const Notes& notes) {
  Choice choice{p, device, notes};
  if (choice.nothing() || choice.copy() || choice.pieces() || choice.packed() || choice.block() ||
      choice.strip() || choice.few_tiles())
    return choice.plan;
  choice.tile();
  return choice.plan;
}

}  // namespace

const char* to_string(TransposeKernel kernel) {
  switch (kernel) {
    case TransposeKernel::kNothing: return "nothing";
    case TransposeKernel::kCopy: return "copy";
    case TransposeKernel::kVector: return "vector tile";
    case TransposeKernel::kRaw: return "raw tile";
    case TransposeKernel::kFunnel: return "funnel tile";
    case TransposeKernel::kNarrow: return "narrow strip";
    case TransposeKernel::kTall: return "tall strip";
    case TransposeKernel::kWide: return "wide strip";
    case TransposeKernel::kPacked: return "packed batch";
    case TransposeKernel::kBlock: return "block";
    case TransposeKernel::kWord: return "word tile";
    case TransposeKernel::kElement: return "element tile";
  }
  return "?";
}

Status validate(const TransposeProblem& p) {
  const int e = p.element_bytes;
  if (e != 1 && e != 2 && e != 4 && e != 8 && e != 16)
    return invalid("element_bytes", "must be 1, 2, 4, 8 or 16");
  if (p.rows < 0) return invalid("rows", "is negative");
  if (p.cols < 0) return invalid("cols", "is negative");
  if (p.batch < 0) return invalid("batch.count", "is negative");
  if (p.rows == 0 || p.cols == 0 || p.batch == 0) return {};
  if (p.ld_in < p.cols) return invalid("ld_in", "is less than cols");
  if (p.ld_out < p.rows) return invalid("ld_out", "is less than rows");
  if (p.in_address == 0) return invalid("in", "is null");
  if (p.out_address == 0) return invalid("out", "is null");
  const uint64_t align = uint64_t(std::min(e, 4));
  if (p.in_address % align)
    return invalid("in", "is not aligned to its element (8- and 16-byte elements: to 4 bytes)");
  if (p.out_address % align)
    return invalid("out", "is not aligned to its element (8- and 16-byte elements: to 4 bytes)");
  if (p.batch > 1 && p.stride_in < 0) return invalid("batch.stride_in", "is negative");
  if (p.batch > 1 && p.stride_out < 0) return invalid("batch.stride_out", "is negative");
  const int64_t stride_in = p.batch > 1 ? p.stride_in : 0,
                stride_out = p.batch > 1 ? p.stride_out : 0;
  int64_t in_bytes = 0, out_bytes = 0, one_out = 0;
  if (!extent(p.rows, p.cols, p.ld_in, p.batch, stride_in, e, in_bytes))
    return invalid("ld_in", "the input reaches beyond 2^63 bytes");
  if (!extent(p.cols, p.rows, p.ld_out, p.batch, stride_out, e, out_bytes))
    return invalid("ld_out", "the output reaches beyond 2^63 bytes");
  if (p.batch > 1) {
    // Output matrices apart from one another, or side by side in common rows.
    if (!extent(p.cols, p.rows, p.ld_out, 1, 0, 1, one_out))
      return invalid("ld_out", "the output reaches beyond 2^63 bytes");
    const bool apart = stride_out >= one_out;
    const bool beside = stride_out >= p.rows && p.batch - 1 <= (p.ld_out - p.rows) / stride_out;
    if (!apart && !beside)
      return invalid("batch.stride_out", "output matrices of the batch share elements");
  }
  const uint64_t in_end = p.in_address + uint64_t(in_bytes),
                 out_end = p.out_address + uint64_t(out_bytes);
  if (in_end < p.in_address) return invalid("in", "the input reaches beyond the address space");
  if (out_end < p.out_address) return invalid("out", "the output reaches beyond the address space");
  // Windows side by side in rows of one pitch may lie in each other's range. Neither extent holds the
  // pitch of a single line: it may be anything.
  const tw::StridedLines in{p.in_address, p.rows,       p.cols * e, p.rows > 1 ? p.ld_in * e : 0,
                            p.batch,      stride_in * e};
  const tw::StridedLines out{
      p.out_address, p.cols, p.rows * e, p.cols > 1 ? p.ld_out * e : 0, p.batch, stride_out * e};
  if (tw::share_bytes(in, out)) return invalid("out", "overlaps in; use transpose_in_place");
  return {};
}

TransposePlan choose(const TransposeProblem& problem, const DeviceLimits& device) {
  return decide(problem, device, Notes{nullptr});
}

std::string explain(const TransposeProblem& p, const DeviceLimits& device) {
  std::string text = "transpose " + std::to_string(p.rows) + " x " + std::to_string(p.cols) + ", " +
                     std::to_string(p.element_bytes) + "-byte elements, ld_in " +
                     std::to_string(p.ld_in) + ", ld_out " + std::to_string(p.ld_out) +
                     (p.batch == 1 ? "" : ", batch of " + std::to_string(p.batch)) + "\n";
  // The strides of several dimensions are or-ed together: nothing to validate.
  if (Status status = p.batch_dims > 1 ? Status{} : validate(p); !status.ok())
    return text + "  refused: " + status.argument + " " + status.message + "\n";
  const TransposePlan plan = decide(p, device, Notes{&text});
  if (plan.tiles) {
    text += "  tiles: ";
    if (plan.per_tile)
      text += std::to_string(plan.per_tile) + " matrices each";
    else
      text += std::to_string(plan.tile_rows) + " x " + std::to_string(plan.tile_cols) + ", " +
              std::to_string(plan.tiles_rows) + " down, " + std::to_string(plan.tiles_cols) +
              " across";
    const int64_t ctas = plan.tiles * (plan.per_tile ? 1 : p.batch);
    text += "; " + std::to_string(ctas) + " CTAs of " + std::to_string(plan.threads) +
            " threads on " + std::to_string(device.sm_count) + " SMs\n";
  }
  if (plan.few_beside) text += "  the few columns past the last tile go with it\n";
  const bool panels = plan.panel_rows && plan.panel_rows < plan.tiles_rows;
  if (plan.kernel == TransposeKernel::kVector || plan.kernel == TransposeKernel::kRaw ||
      plan.kernel == TransposeKernel::kFunnel)
    text += "  order: down the rows, " + std::to_string(plan.column_group) +
            " tile column(s) at a time" +
            (panels ? ", in panels of " + std::to_string(plan.panel_rows) + " tile rows" : "") +
            ", so that CTAs running together write neighbouring bytes\n";
  if (plan.cluster > 1)
    text += "  clusters of " + std::to_string(plan.cluster) +
            " CTAs, so that neighbouring tiles are read through the same half of L2" +
            (plan.balanced ? "; on the SMs with the most room\n" : "\n");
  if (plan.fetched_columns)
    text += "  the next " + std::to_string(plan.fetched_columns) +
            " tile columns are fetched into L2\n";
  // The output ends before 2^63.
  const uint64_t bytes =
      2 * uint64_t(p.rows) * uint64_t(p.cols) * uint64_t(p.element_bytes) * uint64_t(p.batch);
  text += "  bytes moved at least: " + std::to_string(bytes) +
          " (each element read once and written once)\n";
  return text;
}

}  // namespace tilewright::plan
