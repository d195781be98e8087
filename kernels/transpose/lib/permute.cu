// permute(): the reduction (src/transpose/permute_plan.h), then a copy, a gather of runs, or
// transposes.
#include <algorithm>

#include "launch.h"
#include "tilewright/transpose.h"
#include "transpose/permute_plan.h"

namespace tilewright::detail {
namespace {

constexpr int kThreads = 256, kPerThread = 4;

// Output element v of the dense output comes from run v / run: consecutive threads write
// consecutive elements; four independent loads are in flight per thread.
template <class Item, bool kLarge>
__global__ void __launch_bounds__(kThreads)
    runs_kernel(const Item* in, Item* out, uint64_t total, Divisor run,
                const __grid_constant__ BatchDims dims) {
  wait_for_kernel_before();
  const uint64_t first = uint64_t(blockIdx.x) * (kThreads * kPerThread) + threadIdx.x;
  Item x[kPerThread];
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const uint64_t v = first + k * kThreads;
    if (v >= total) continue;
    const uint32_t which = kLarge ? uint32_t(v / run.value) : run.quotient(uint32_t(v));
    int64_t from, to;
    dims.offsets(which, from, to);
    x[k] = load<Item>(reinterpret_cast<const char*>(in) + from +
                      (v - uint64_t(which) * run.value) * sizeof(Item));
  }
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const uint64_t v = first + k * kThreads;
    if (v < total) store<Item>(out + v, x[k]);
  }
}

template <class Item>
Status run_runs(const void* in, void* out, const plan::PermutePlan& p, const BatchDims& dims,
                cudaStream_t stream) {
  const int64_t ctas = (p.total + kThreads * kPerThread - 1) / (kThreads * kPerThread);
  if (ctas > 2147483647) return {StatusCode::kUnsupported, "sizes", "more than 2^31 - 1 CTAs", 0};
  auto* kernel = p.total < (int64_t(1) << 31) ? runs_kernel<Item, false> : runs_kernel<Item, true>;
  return launch(kernel, dim3(unsigned(ctas)), kThreads, 0, stream, static_cast<const Item*>(in),
                static_cast<Item*>(out), uint64_t(p.total), Divisor(uint32_t(p.run)), dims);
}

}  // namespace
}  // namespace tilewright::detail

namespace tilewright {

Status permute(const void* in, void* out, int dims, const int64_t* sizes, const int* order,
               int element_bytes, cudaStream_t stream) noexcept {
  plan::PermutePlan p;
  const uint64_t in_address = reinterpret_cast<uint64_t>(in),
                 out_address = reinterpret_cast<uint64_t>(out);
  if (Status status =
          plan::reduce_permute(in_address, out_address, dims, sizes, order, element_bytes, p);
      !status.ok())
    return status;
  if (p.kind == plan::PermuteKind::kNothing) return {};
  if (p.kind == plan::PermuteKind::kCopy) {
    cudaError_t error = cudaMemcpyAsync(out, in, size_t(p.total) * size_t(p.element_bytes),
                                        cudaMemcpyDeviceToDevice, stream);
    return error == cudaSuccess ? Status{} : detail::launch_failed(error);
  }
  detail::BatchDims batch;
  int64_t count = 1;
  for (int i = 0; i < p.dims; ++i) count *= p.extent[i];
  if (count > 2147483647 || p.run > 2147483647)
    return {StatusCode::kUnsupported, "sizes", "more than 2^31 - 1 matrices or runs", 0};
  batch.count = p.dims;
  for (int i = 0; i < p.dims; ++i) {
    batch.extent[i] = detail::Divisor(uint32_t(p.extent[i]));
    batch.stride_in[i] = p.stride_in[i] * p.element_bytes;
    batch.stride_out[i] = p.stride_out[i] * p.element_bytes;
  }
  if (p.kind == plan::PermuteKind::kRuns) {
    switch (p.element_bytes) {
      case 1: return detail::run_runs<uint8_t>(in, out, p, batch, stream);
      case 2: return detail::run_runs<uint16_t>(in, out, p, batch, stream);
      case 4: return detail::run_runs<uint32_t>(in, out, p, batch, stream);
      case 8: return detail::run_runs<uint64_t>(in, out, p, batch, stream);
      default: return detail::run_runs<detail::Vector>(in, out, p, batch, stream);
    }
  }
  const plan::TransposeProblem problem = plan::transposes_of(p, in_address, out_address);
  const plan::TransposePlan plan = plan::choose(problem, detail::device_limits());
  return detail::run_transpose(problem, plan, batch, stream);
}

}  // namespace tilewright
