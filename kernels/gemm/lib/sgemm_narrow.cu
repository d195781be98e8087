// fp32 products with up to four rows or columns, on the CUDA cores: bound by reading the wide
// operand once.
//
// Problem: a tile of 64 x 64 for one column multiplies 63 that nobody wants, and its copies of single
// elements keep too little in flight: the column that 4097 has beyond 4096 took 87 us, where reading
// the operand takes some 20 at the rate of DRAM. Choice: a line of the wide operand is one k (MN-major:
// any pitch and address), so a warp loads 128 neighbours of it straight into registers, eight k at
// once, and multiplies them by values of the narrow operand that are the same for all lanes. The warps
// of a CTA and the CTAs of a cluster share K; sums are added in a fixed order (deterministic).
//
// Limits: a K-major wide operand is left to sgemm.cu. Tested by tilewright-bench gemm --suite verify.
#include "common/hopper.cuh"
#include "gemm/lib/sgemm.h"
#include "gemm/lib/sgemm_common.cuh"

namespace tw::gemm {
namespace {

using namespace tw::gpu;

constexpr int kWide = model::kFmaNarrowWide, kWarps = 8, kThreads = kWarps * 32;
constexpr int kEach = kWide / 32;  // of the wide operand, a lane
constexpr int kInFlight = 8;       // k whose loads a warp has in flight

struct SgemmNarrowParams {
  const float *wide, *narrow;
  int64_t wide_k, wide_batch;                   // steps of the wide operand; its other one is 1
  int64_t narrow_k, narrow_line, narrow_batch;  // of the narrow one: a k, a row or column further
  int wide_count, narrow_count;
  bool turned;  // the narrow side is m
  SgemmGrid grid;
};

template <int kNarrow>
__global__ void __launch_bounds__(kThreads, model::kFmaNarrowResident)
    sgemm_narrow(const __grid_constant__ SgemmNarrowParams p) {
  __shared__ __align__(16) float part[kWarps][kNarrow][kWide];
  __shared__ __align__(16) float total[kNarrow][kWide];
  wait_for_kernels_ahead();
  let_kernels_behind_start();
  const int ranks = p.grid.k_cluster;
  const int index = static_cast<int>(blockIdx.x) / ranks;
  const int rank = static_cast<int>(blockIdx.x) - index * ranks;
  const TileAt at = tile_at(p.grid, index);
  const int warp = static_cast<int>(threadIdx.x) >> 5, lane = static_cast<int>(threadIdx.x) & 31;
  const int w0 = (p.turned ? at.n : at.m) * kWide;
  const int k_end = min((rank + 1) * p.grid.k_per_split, p.grid.k);
  int k = rank * p.grid.k_per_split + warp;
  // What lies outside is read where it exists, and not stored.
  const float *wide[kEach], *narrow[kNarrow];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    wide[i] =
        p.wide + at.batch * p.wide_batch + k * p.wide_k + min(w0 + lane + 32 * i, p.wide_count - 1);
  }
#pragma unroll
  for (int j = 0; j < kNarrow; ++j) {
    narrow[j] = p.narrow + at.batch * p.narrow_batch + k * p.narrow_k +
                min(j, p.narrow_count - 1) * p.narrow_line;
  }
  float sum[kNarrow][kEach] = {};
  auto step = [&]<int kCount>() {
    float w[kCount][kEach], x[kCount][kNarrow];
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) w[u][i] = __ldg(wide[i] + u * kWarps * p.wide_k);
#pragma unroll
      for (int j = 0; j < kNarrow; ++j) x[u][j] = __ldg(narrow[j] + u * kWarps * p.narrow_k);
    }
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
#pragma unroll
      for (int j = 0; j < kNarrow; ++j) {
#pragma unroll
        for (int i = 0; i < kEach; ++i) sum[j][i] = fmaf(w[u][i], x[u][j], sum[j][i]);
      }
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) wide[i] += kCount * kWarps * p.wide_k;
#pragma unroll
    for (int j = 0; j < kNarrow; ++j) narrow[j] += kCount * kWarps * p.narrow_k;
    k += kCount * kWarps;
  };
#pragma unroll 1
  while (k + (kInFlight - 1) * kWarps < k_end) step.template operator()<kInFlight>();
#pragma unroll 1
  while (k < k_end) step.template operator()<1>();
#pragma unroll
  for (int j = 0; j < kNarrow; ++j) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) part[warp][j][lane + 32 * i] = sum[j][i];
  }
  __syncthreads();
  for (int o = static_cast<int>(threadIdx.x); o < kNarrow * kWide; o += kThreads) {
    float all = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) all += part[w][o / kWide][o % kWide];
    total[o / kWide][o % kWide] = all;
  }
  if (ranks > 1) {
    cluster_sync();
  } else {
    __syncthreads();
  }
  const SgemmStore store(p.grid, at);
  const int quad = static_cast<int>(threadIdx.x);
  if (rank == 0 && quad < kNarrow * kWide / 4) {
    const uint32_t address = shared_address(total) + quad * 16;
    float4 all = {};
    for (int r = 0; r < ranks; ++r) {
      const float4 v = ranks > 1 ? load_remote_v4(address, r) : load_shared_f4(address);
      all = {all.x + v.x, all.y + v.y, all.z + v.z, all.w + v.w};
    }
    const float value[4] = {all.x, all.y, all.z, all.w};
    const int j = quad * 4 / kWide, w = w0 + quad * 4 % kWide;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (j < p.narrow_count && w + e < p.wide_count)
        store.one(p.turned ? j : w + e, p.turned ? w + e : j, p.grid.alpha * value[e]);
    }
  }
  if (ranks > 1) cluster_sync_relaxed();  // no CTA leaves while its peers may read from it
}

}  // namespace

cudaError_t launch_sgemm_narrow(const WgmmaProblem& problem, bool turned,
                                const WgmmaSchedule& schedule, cudaStream_t stream) {
  const Matrix& wide = turned ? problem.b : problem.a;
  const Matrix& narrow = turned ? problem.a : problem.b;
  SgemmNarrowParams p{};
  p.wide_count = turned ? problem.n : problem.m;
  p.narrow_count = turned ? problem.m : problem.n;
  if (!wide.mn_major || p.narrow_count > model::kFmaNarrowMost || schedule.splits > 1)
    return cudaErrorInvalidConfiguration;
  p.wide = static_cast<const float*>(wide.data);
  p.wide_k = wide.pitch;
  p.wide_batch = wide.batch_stride;
  p.narrow = static_cast<const float*>(narrow.data);
  p.narrow_k = narrow.mn_major ? narrow.pitch : 1;
  p.narrow_line = narrow.mn_major ? 1 : narrow.pitch;
  p.narrow_batch = narrow.batch_stride;
  p.turned = turned;
  constexpr int kMost = model::kFmaNarrowMost;
  p.grid = sgemm_grid(problem, schedule, turned ? kMost : kWide, turned ? kWide : kMost);
  SgemmLaunch launch;
  if (!launch.configure(p.grid, kThreads, 0, schedule, stream))
    return cudaErrorInvalidConfiguration;
  static_assert(kMost == 4, "the widths that are built");
  const void* kernel = p.narrow_count == 1   ? reinterpret_cast<const void*>(&sgemm_narrow<1>)
                       : p.narrow_count == 2 ? reinterpret_cast<const void*>(&sgemm_narrow<2>)
                                             : reinterpret_cast<const void*>(&sgemm_narrow<4>);
  void* arguments[] = {&p};
  return cudaLaunchKernelExC(&launch.config, kernel, arguments);
}

}  // namespace tw::gemm
