// See permute_plan.h.
#include "transpose/permute_plan.h"

#include "transpose/block_plan.h"

namespace tilewright::plan {
namespace {

Status invalid(const char* argument, const char* message) {
  return {StatusCode::kInvalidArgument, argument, message, 0};
}

struct Dim {
  int64_t size, in, out;  // strides in elements
};

std::string explain_block(const PermutePlan& p, const DeviceLimits& device) {
  BlockDim dim[kBlockDims];
  int n = 0;
  for (int i = 0; i < p.dims; ++i) dim[n++] = {p.extent[i], p.stride_in[i], p.stride_out[i]};
  dim[n++] = {p.cols, 1, p.ld_out};
  dim[n++] = {p.rows, p.ld_in, 1};
  const BlockPlan block = plan_block(dim, n, p.element_bytes, true, device.sm_count);
  std::string text = "  a block: ";
  for (int i = 0; i < n; ++i) text += (i ? " x " : "") + std::to_string(block.extent[i]);
  return text + " of the dimensions, runs of " + std::to_string(block.in_run * p.element_bytes) +
         " bytes in, " + std::to_string(block.out_run * p.element_bytes) + " bytes out; " +
         std::to_string(block.blocks) + " of them, " + std::to_string(block.ctas) + " CTAs of " +
         std::to_string(kBlockThreads) + " threads\n";
}

}  // namespace

Status reduce_permute(uint64_t in, uint64_t out, int dims, const int64_t* sizes, const int* order,
                      int element_bytes, PermutePlan& plan) {
  plan = PermutePlan{};
  const int e = element_bytes;
  if (e != 1 && e != 2 && e != 4 && e != 8 && e != 16)
    return invalid("element_bytes", "must be 1, 2, 4, 8 or 16");
  if (dims < 1 || dims > kMaxDims) return invalid("dims", "must be 1 to 8");
  if (!sizes) return invalid("sizes", "is null");
  if (!order) return invalid("order", "is null");
  unsigned seen = 0;
  for (int i = 0; i < dims; ++i) {
    if (order[i] < 0 || order[i] >= dims || (seen >> order[i] & 1))
      return invalid("order", "is not a permutation of the dimensions");
    seen |= 1u << order[i];
    if (sizes[i] < 0) return invalid("sizes", "has a negative size");
  }
  bool empty = false;
  for (int i = 0; i < dims; ++i) empty |= sizes[i] == 0;
  if (empty) return {};
  int64_t total = 1, bytes = 0;
  for (int i = 0; i < dims; ++i)
    if (__builtin_mul_overflow(total, sizes[i], &total))
      return invalid("sizes", "the array is larger than 2^63 bytes");
  if (__builtin_mul_overflow(total, int64_t(e), &bytes))
    return invalid("sizes", "the array is larger than 2^63 bytes");
  if (!in) return invalid("in", "is null");
  if (!out) return invalid("out", "is null");
  if (in % uint64_t(e < 4 ? e : 4))
    return invalid("in", "is not aligned to its element (8- and 16-byte elements: to 4 bytes)");
  if (out % uint64_t(e < 4 ? e : 4))
    return invalid("out", "is not aligned to its element (8- and 16-byte elements: to 4 bytes)");
  if (in < out + uint64_t(bytes) && out < in + uint64_t(bytes))
    return invalid("out", "overlaps in");

  // Dimensions in output order, sizes of 1 dropped, merged with the one before where both arrays
  // allow.
  int64_t stride_in[kMaxDims];
  int64_t stride = 1;
  for (int i = dims - 1; i >= 0; --i) stride_in[i] = stride, stride *= sizes[i];
  Dim d[kMaxDims];
  int n = 0;
  for (int i = 0; i < dims; ++i) {
    const int64_t size = sizes[order[i]], from = stride_in[order[i]];
    if (size == 1) continue;
    if (n > 0 && d[n - 1].in == from * size) {
      d[n - 1].size *= size;
      d[n - 1].in = from;
    } else {
      d[n++] = {size, from, 0};
    }
  }
  stride = 1;
  for (int i = n - 1; i >= 0; --i) d[i].out = stride, stride *= d[i].size;

  plan.element_bytes = e;
  plan.total = total;
  if (n <= 1) {
    plan.kind = PermuteKind::kCopy;
    return {};
  }

  if (d[n - 1].in == 1) {
    // The last dimension stays last. Addresses that are no multiples of the element: in pieces.
    int item = e;
    while ((in | out) % uint64_t(item) != 0) item /= 2;
    const int pieces = e / item;
    d[n - 1].size *= pieces;
    for (int i = 0; i < n - 1; ++i) d[i].in *= pieces, d[i].out *= pieces;
    plan.total *= pieces;
    // Else widen the element.
    int wide = item;
    while (wide < 16 && d[n - 1].size * item % (wide * 2) == 0 &&
           (in | out) % uint64_t(wide * 2) == 0)
      wide *= 2;
    const int factor = wide / item;
    d[n - 1].size /= factor;
    for (int i = 0; i < n - 1; ++i) d[i].in /= factor, d[i].out /= factor;
    plan.element_bytes = wide;
    plan.total /= factor;
    if (d[n - 1].size > 1) {
      plan.kind = PermuteKind::kRuns;
      plan.run = d[n - 1].size;
      for (int i = 0; i < n - 1; ++i) {
        plan.extent[i] = d[i].size;
        plan.stride_in[i] = d[i].in;
        plan.stride_out[i] = d[i].out;
      }
      plan.dims = n - 1;
      return {};
    }
    --n;
  }

  // The last input dimension and the last output dimension span the matrix.
  int col = 0;
  while (d[col].in != 1) ++col;
  plan.kind = PermuteKind::kTranspose;
  plan.rows = d[n - 1].size;
  plan.cols = d[col].size;
  plan.ld_in = d[n - 1].in;
  plan.ld_out = d[col].out;
  for (int i = 0; i < n - 1; ++i) {
    if (i == col) continue;
    plan.extent[plan.dims] = d[i].size;
    plan.stride_in[plan.dims] = d[i].in;
    plan.stride_out[plan.dims] = d[i].out;
    ++plan.dims;
  }
  return {};
}

TransposeProblem transposes_of(const PermutePlan& plan, uint64_t in, uint64_t out) {
  TransposeProblem problem;
  problem.element_bytes = plan.element_bytes;
  problem.rows = plan.rows;
  problem.cols = plan.cols;
  problem.ld_in = plan.ld_in;
  problem.ld_out = plan.ld_out;
  problem.batch_dims = plan.dims;
  for (int i = 0; i < plan.dims; ++i) {
    problem.batch *= plan.extent[i];
    problem.stride_in |= plan.stride_in[i];
    problem.stride_out |= plan.stride_out[i];
  }
  problem.in_address = in;
  problem.out_address = out;
  return problem;
}

std::string explain_permute(int dims, const int64_t* sizes, const int* order, int element_bytes,
                            const DeviceLimits& device) {
  constexpr uint64_t kIn = 256, kOut = uint64_t(1) << 62;
  PermutePlan p;
  if (Status status = reduce_permute(kIn, kOut, dims, sizes, order, element_bytes, p); !status.ok())
    return std::string("refused: ") + status.argument + " " + status.message + "\n";
  std::string text;
  switch (p.kind) {
    case PermuteKind::kNothing: return "nothing: a size is zero\n";
    case PermuteKind::kCopy: return "copy: the bytes keep their order\n";
    case PermuteKind::kRuns:
      text = "runs of " + std::to_string(p.run) + " elements of " +
             std::to_string(p.element_bytes) + " bytes";
      break;
    case PermuteKind::kTranspose:
      text = "transpose " + std::to_string(p.rows) + " x " + std::to_string(p.cols) + " of " +
             std::to_string(p.element_bytes) + " bytes, ld_in " + std::to_string(p.ld_in) +
             ", ld_out " + std::to_string(p.ld_out);
      break;
  }
  for (int i = 0; i < p.dims; ++i) text += (i ? " x " : ", batch ") + std::to_string(p.extent[i]);
  text += "\n";
  if (p.kind == PermuteKind::kTranspose) {
    const TransposeProblem problem = transposes_of(p, kIn, kOut);
    text += explain(problem, device);
    if (choose(problem, device).kernel == TransposeKernel::kBlock) text += explain_block(p, device);
  }
  return text;
}

}  // namespace tilewright::plan
