// See block_plan.h.
#include "transpose/block_plan.h"

#include <algorithm>

namespace tilewright::plan {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Pieces of at most `most` of a dimension, as even as whole sectors of `unit` elements allow.
int piece(int64_t size, int64_t most, int64_t unit) {
  const int64_t even = ceil_div(size, ceil_div(size, most));
  return int(std::min(size, ceil_div(even, unit) * unit));
}

// Extents that make runs of up to `run_bytes`, of whole dimensions or pieces, where `order`
// (innermost first) allows.
void grow(BlockPlan& plan, const int* order, int element_bytes, int64_t run_bytes) {
  int64_t run = element_bytes;
  for (int k = 0; k < plan.dims && run <= run_bytes; ++k) {
    const int d = order[k];
    const int64_t size = plan.dim[d].size;
    const int extent =
        size * run <= run_bytes ? int(size) : piece(size, run_bytes / run, run < 32 ? 32 / run : 1);
    plan.extent[d] = std::max(plan.extent[d], extent);
    run *= size;
  }
}

int64_t stride_of(const BlockDim& dim, bool input) {
  return input ? dim.stride_in : dim.stride_out;
}

// The dimensions whose pieces lie one after the other, from the innermost.
int run_dims(const BlockPlan& plan, const int* order, bool input) {
  int64_t stride = 1;
  int k = 0;
  while (k < plan.dims && stride_of(plan.dim[order[k]], input) == stride) {
    const int d = order[k++];
    if (plan.extent[d] < plan.dim[d].size) break;
    stride *= plan.dim[d].size;
  }
  return k;
}

// Every run starts and ends, cut or not, at a multiple of `vector` elements.
bool whole_vectors(const BlockPlan& plan, const int* order, int run_dims, bool input, int vector) {
  int64_t inner = 1;
  for (int k = 0; k + 1 < run_dims; ++k) inner *= plan.dim[order[k]].size;
  for (int k = 0; k < plan.dims; ++k) {
    const int d = order[k];
    const BlockDim& dim = plan.dim[d];
    if (k >= run_dims && stride_of(dim, input) % vector != 0) return false;
    if (k == run_dims - 1 &&
        (inner * plan.extent[d] % vector != 0 || inner * dim.size % vector != 0))
      return false;
  }
  return run_dims > 0;
}

// Everything that follows from the extents.
void lay_out(BlockPlan& plan, int element_bytes, bool aligned, int sm_count) {
  const auto by_stride_out = [&](int a, int b) {
    return plan.dim[a].stride_out < plan.dim[b].stride_out;
  };
  const int innermost_out = plan.out_order[0], vector = 16 / element_bytes;
  plan.in_run_dims = run_dims(plan, plan.in_order, true);
  plan.out_run_dims = run_dims(plan, plan.out_order, false);
  // Runs of the input lie in shared memory in the output's order; runs of the output are taken in
  // the order of shared memory.
  std::sort(plan.in_order + plan.in_run_dims, plan.in_order + plan.dims, by_stride_out);
  plan.vectors = aligned && whole_vectors(plan, plan.in_order, plan.in_run_dims, true, vector) &&
                 whole_vectors(plan, plan.out_order, plan.out_run_dims, false, vector);
  const int word = std::max(1, 4 / element_bytes);  // elements on one bank
  int64_t stride = 1;
  for (int k = 0; k < plan.dims; ++k) {
    const int d = plan.in_order[k];
    if (d == innermost_out && stride % vector != 0 && k < plan.in_run_dims) plan.vectors = false;
    stride *= plan.extent[d];
  }
  plan.skew_every = plan.vectors ? vector : 1;
  plan.skew = plan.vectors ? vector : word;
  const int unit = plan.vectors ? vector : 2 * word;
  plan.in_run = plan.in_runs = plan.out_run = plan.out_runs = 1;
  stride = 1;
  for (int k = 0; k < plan.dims; ++k) {
    const int d = plan.in_order[k];
    if (k > 0 && (d == innermost_out || k == plan.in_run_dims))
      stride = ceil_div(stride, unit) * unit;
    plan.shared_stride[d] = int(stride);
    stride *= plan.extent[d];
    if (d == innermost_out)
      stride =
          ceil_div(stride + ceil_div(plan.extent[d], plan.skew_every) * plan.skew, unit) * unit;
    (k < plan.in_run_dims ? plan.in_run : plan.in_runs) *= plan.extent[d];
    (k < plan.out_run_dims ? plan.out_run : plan.out_runs) *= plan.extent[plan.out_order[k]];
  }
  std::sort(plan.out_order + plan.out_run_dims, plan.out_order + plan.dims,
            [&](int a, int b) { return plan.shared_stride[a] < plan.shared_stride[b]; });
  plan.data_elements = int(std::min<int64_t>(stride, kBlockShared));
  plan.shared_bytes = int(std::min<int64_t>(
      kBlockShared + 1, ceil_div(stride * element_bytes, 16) * 16 +
                            (int64_t(plan.in_runs) + plan.out_runs) * 16 + kBlockCornerBytes +
                            (int64_t(plan.in_run) + plan.out_run) * 2));
  // Where the tables take long to fill beside what they move, a CTA moves several blocks by them.
  // Else it moves one: the first loads of the next CTA come sooner than those behind a barrier.
  const int64_t entries = int64_t(plan.in_run) + plan.in_runs + plan.out_run + plan.out_runs;
  plan.ctas = entries * 4 < int64_t(plan.in_run) * plan.in_runs
                  ? plan.blocks
                  : std::min(plan.blocks, int64_t(sm_count) * kBlockCtas);
}

}  // namespace

BlockPlan plan_block(const BlockDim* dim, int dims, int element_bytes, bool aligned, int sm_count) {
  BlockPlan plan;
  plan.dims = dims;
  for (int d = 0; d < dims; ++d) {
    plan.dim[d] = dim[d];
    plan.in_order[d] = plan.out_order[d] = d;
  }
  std::sort(plan.in_order, plan.in_order + dims,
            [&](int a, int b) { return dim[a].stride_in < dim[b].stride_in; });
  std::sort(plan.out_order, plan.out_order + dims,
            [&](int a, int b) { return dim[a].stride_out < dim[b].stride_out; });
  // Extents and their blocks; false: more data than a block holds.
  const auto cut = [&](int64_t run_bytes) {
    std::fill(plan.extent, plan.extent + dims, 1);
    grow(plan, plan.in_order, element_bytes, run_bytes);
    grow(plan, plan.out_order, element_bytes, run_bytes);
    int64_t bytes = element_bytes;
    plan.blocks = 1;
    for (int d = 0; d < dims; ++d) {
      bytes *= plan.extent[d];
      if (plan.extent[d] < dim[d].size) plan.blocks *= ceil_div(dim[d].size, plan.extent[d]);
    }
    return bytes <= kBlockBytes;
  };
  // Runs of 128 bytes; longer ones while there are three waves of blocks.
  int64_t run_bytes = 128;
  while (cut(run_bytes * 2) && plan.blocks >= int64_t(sm_count) * kBlockCtas * 3 &&
         run_bytes < kBlockBytes)
    run_bytes *= 2;
  // Shorter ones where tables and skew do not fit beside the data: many short runs, each with its
  // entry, or many small elements.
  for (; run_bytes >= element_bytes; run_bytes /= 2) {
    if (!cut(run_bytes)) continue;
    BlockPlan whole = plan;  // laying out reorders the dimensions
    lay_out(whole, element_bytes, aligned, sm_count);
    if (whole.shared_bytes <= kBlockShared) return whole;
  }
  return {};
}

}  // namespace tilewright::plan
