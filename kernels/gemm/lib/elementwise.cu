// See elementwise.h. All of it is bound by DRAM: 16-byte accesses, several in flight per thread.
#include <algorithm>

#include "common/hopper.cuh"
#include "gemm/lib/elementwise.h"
#include "gemm/lib/output.cuh"
#include "gemm/lib/repack_lines.cuh"

namespace tw::gemm {
namespace {

constexpr int kLeastManySplits = 8, kMostManySplits = 64;

struct RepackJobs {
  RepackJob job[2];
  int64_t tasks[2];  // runs of 2 KiB of the first job, of both
  uint32_t runs[2];  // runs a line
  int batches;       // more than the grid's y: a CTA takes every gridDim.y-th
};

// A warp moves runs of 128 chunks of 16 bytes: each lane loads aligned chunks of the source line,
// takes what it lacks from the next lane, and stores whole chunks. Only chunks that hold a byte of
// the line are read, so nothing outside the matrix's pages is touched; a line's last chunk may
// carry the next line's bytes into the padding, which TMA never reads (its maps have the true
// width).
template <int kElement>
__global__ void __launch_bounds__(256) repack_lines(const __grid_constant__ RepackJobs jobs) {
  gpu::wait_for_kernels_ahead();
  gpu::let_kernels_behind_start();
  constexpr int kInFlight = 4;
  const int lane = threadIdx.x & 31;
  const int64_t step = static_cast<int64_t>(gridDim.x) * 8;
  for (int batch = blockIdx.y; batch < jobs.batches; batch += gridDim.y) {
    for (int64_t task = static_cast<int64_t>(blockIdx.x) * 8 + (threadIdx.x >> 5);
         task < jobs.tasks[1]; task += step) {
      const bool second = task >= jobs.tasks[0];
      const RepackJob& job = jobs.job[second];
      const int64_t own = second ? task - jobs.tasks[0] : task;
      const int64_t line = own / jobs.runs[second];
      const int64_t first = (own - line * jobs.runs[second]) * (32 * kInFlight);
      const int64_t bytes = job.length * kElement;
      const char* source = static_cast<const char*>(job.source) +
                           (batch * job.source_stride + line * job.source_pitch) * kElement;
      const int shift = static_cast<int>(reinterpret_cast<uintptr_t>(source) & 15);
      const auto* aligned = reinterpret_cast<const uint4*>(source - shift);
      const int64_t readable = (bytes + shift + 15) / 16, chunks = (bytes + 15) / 16;
      auto* target = reinterpret_cast<uint4*>(
          static_cast<char*>(job.destination) +
          (batch * job.destination_stride + line * job.destination_pitch) * kElement);
      uint4 value[kInFlight], beyond[kInFlight];
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        const int64_t at = first + i * 32 + lane;
        value[i] = at < readable ? __ldg(aligned + at) : uint4{};
        beyond[i] = lane == 31 && at + 1 < readable ? __ldg(aligned + at + 1) : uint4{};
      }
      const int whole = shift >> 2, bits = (shift & 3) * 8;
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        uint32_t word[8] = {value[i].x, value[i].y, value[i].z, value[i].w};
        const uint32_t edge[4] = {beyond[i].x, beyond[i].y, beyond[i].z, beyond[i].w};
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          const uint32_t next = __shfl_down_sync(0xffffffffu, word[w], 1);
          word[4 + w] = lane == 31 ? edge[w] : next;
        }
        uint32_t out[4];
        if (whole == 0) {  // `shift` is one for the line: the warp takes one branch
#pragma unroll
          for (int w = 0; w < 4; ++w) out[w] = __funnelshift_r(word[w], word[w + 1], bits);
        } else if (whole == 1) {
#pragma unroll
          for (int w = 0; w < 4; ++w) out[w] = __funnelshift_r(word[w + 1], word[w + 2], bits);
        } else if (whole == 2) {
#pragma unroll
          for (int w = 0; w < 4; ++w) out[w] = __funnelshift_r(word[w + 2], word[w + 3], bits);
        } else {
#pragma unroll
          for (int w = 0; w < 4; ++w) out[w] = __funnelshift_r(word[w + 3], word[w + 4], bits);
        }
        const int64_t at = first + i * 32 + lane;
        if (at < chunks) target[at] = make_uint4(out[0], out[1], out[2], out[3]);
      }
    }
  }
}

// Moves the parts that come before the product, a few lines a warp so that all of them are in
// flight at once, and sets the counters: whatever the workspace held, the product finds what is
// there.
template <int kElement>
__global__ void __launch_bounds__(256) repack_ahead(const __grid_constant__ RepackOrder o) {
  using Mover = LineMover<kElement, LineMover<kElement, 1>::kGroup>;
  gpu::wait_for_kernels_ahead();
  gpu::let_kernels_behind_start();
  const int step = static_cast<int>(gridDim.x) * 8;
  for (int i = static_cast<int>(blockIdx.x) * 8 + (static_cast<int>(threadIdx.x) >> 5);
       i < o.ahead * Mover::kGroups; i += step) {
    const RepackPart part = part_at(o, i / Mover::kGroups);
    const RepackOperand& x = part.of_b ? o.b : o.a;
    const PartPlace place = place_of(x, part);
    if (place.line >= x.lines) continue;
    Mover lines(x, place, i % Mover::kGroups, 1, static_cast<int>(threadIdx.x) & 31);
    lines.start();
    lines.finish();
  }
  const int thread = static_cast<int>(blockIdx.x * 256 + threadIdx.x);
  if (thread == 0) {
    *o.next = *o.done = o.ahead;
    *o.next_gather = *o.gathered = *o.edge.next = 0;
  }
  for (int i = thread; o.edge.mn_major && i * kEdgeStripe < o.edge.end - o.edge.first;
       i += step * 32) {
    o.edge.arrived[i] = 0;
  }
  const int parts = min(o.a.bands, o.a.group) * o.a.parts + min(o.b.bands, o.b.group) * o.b.parts;
  const int k_bands_ahead = o.ahead / parts;
  for (const RepackOperand* x : {&o.a, &o.b}) {
    for (int i = thread; i < x->bands * o.k_bands; i += step * 32) {
      const int k_band = i / x->bands, band = i - k_band * x->bands;
      x->ready[i] = band < x->group && k_band < k_bands_ahead ? x->parts : 0;
    }
  }
}

__device__ __forceinline__ float scaled_alpha(const ReduceJob& job) {
  float alpha = job.alpha;
  if (job.scale_a != nullptr) alpha *= *job.scale_a;
  if (job.scale_b != nullptr) alpha *= *job.scale_b;
  return alpha;
}

// Writes the element of D whose partial results have this sum.
__device__ __forceinline__ void finish(const ReduceJob& job, float alpha, int batch, int64_t row,
                                       int64_t column, float sum) {
  float v = alpha * sum;
  if (job.beta != 0.0f) {
    v += job.beta * read_output(job.c, batch * job.stride_c + row * job.ld_c + column, job.output);
  }
  write_output(job.d, batch * job.stride_d + row * job.ld_d + column, job.output, v);
}

__device__ __forceinline__ float4 plus(float4 a, float4 b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

// Many splits of few elements: the warps of a CTA share the splits of 32 pieces of four elements,
// so that eight times as many loads are in flight. n is a multiple of 4.
__global__ void __launch_bounds__(256) reduce_many_splits(const __grid_constant__ ReduceJob job) {
  gpu::wait_for_kernels_ahead();
  gpu::let_kernels_behind_start();
  constexpr int kWarps = 8, kInFlight = 8;
  static_assert(kMostManySplits <= kWarps * kInFlight, "one round of loads");
  __shared__ float4 part[kWarps][32];
  const int64_t plane = job.m * job.n, i = blockIdx.x * 32ll + (threadIdx.x & 31);
  const int warp = threadIdx.x >> 5, batch = blockIdx.y;
  const float* partial = job.partial + static_cast<int64_t>(batch) * job.splits * plane;
  float4 v[kInFlight] = {};
#pragma unroll
  for (int j = 0; j < kInFlight; ++j) {
    const int s = warp + j * kWarps;
    if (s < job.splits && 4 * i < plane)
      v[j] = *reinterpret_cast<const float4*>(partial + s * plane + 4 * i);
  }
  float4 sum = v[0];
#pragma unroll
  for (int j = 1; j < kInFlight; ++j) sum = plus(sum, v[j]);
  part[warp][threadIdx.x & 31] = sum;
  __syncthreads();
  if (warp != 0 || 4 * i >= plane) return;
#pragma unroll
  for (int w = 1; w < kWarps; ++w) sum = plus(sum, part[w][threadIdx.x]);
  const int64_t row = 4 * i / job.n, column = 4 * i - row * job.n;
  const float alpha = scaled_alpha(job);
  finish(job, alpha, batch, row, column, sum.x);
  finish(job, alpha, batch, row, column + 1, sum.y);
  finish(job, alpha, batch, row, column + 2, sum.z);
  finish(job, alpha, batch, row, column + 3, sum.w);
}

__global__ void __launch_bounds__(256) reduce_splits(const __grid_constant__ ReduceJob job) {
  gpu::wait_for_kernels_ahead();
  gpu::let_kernels_behind_start();
  const int64_t plane = job.m * job.n;
  const float alpha = scaled_alpha(job);
  const bool vector = job.n % 4 == 0;
  const int64_t step = static_cast<int64_t>(gridDim.x) * 256,
                first = blockIdx.x * 256ll + threadIdx.x;
  for (int batch = blockIdx.y; batch < job.batches; batch += gridDim.y) {
    const float* partial = job.partial + static_cast<int64_t>(batch) * job.splits * plane;
    if (job.splits > 0 && vector) {
      for (int64_t i = first; i < plane / 4; i += step) {
        // Their latency is what the loads of a sum take: eight are in flight.
        constexpr int kInFlight = 8;
        float4 sum = {};
        for (int s = 0; s < job.splits; s += kInFlight) {
          float4 v[kInFlight];
#pragma unroll
          for (int j = 0; j < kInFlight; ++j) {
            if (s + j < job.splits)
              v[j] = *reinterpret_cast<const float4*>(partial + (s + j) * plane + 4 * i);
          }
#pragma unroll
          for (int j = 0; j < kInFlight; ++j) {
            if (s + j >= job.splits) break;
            sum = plus(sum, v[j]);
          }
        }
        const int64_t row = 4 * i / job.n, column = 4 * i - row * job.n;
        finish(job, alpha, batch, row, column, sum.x);
        finish(job, alpha, batch, row, column + 1, sum.y);
        finish(job, alpha, batch, row, column + 2, sum.z);
        finish(job, alpha, batch, row, column + 3, sum.w);
      }
      continue;
    }
    for (int64_t i = first; i < plane; i += step) {
      const int64_t row = i / job.n;
      float sum = 0;
#pragma unroll 4
      for (int s = 0; s < job.splits; ++s) sum += partial[s * plane + i];
      if (job.splits == 0) {
        const int64_t column = i - row * job.n;
        const float v =
            job.beta != 0.0f
                ? job.beta *
                      read_output(job.c, batch * job.stride_c + row * job.ld_c + column, job.output)
                : 0.0f;
        write_output(job.d, batch * job.stride_d + row * job.ld_d + column, job.output, v);
      } else {
        finish(job, alpha, batch, row, i - row * job.n, sum);
      }
    }
  }
}

// CTAs of 256 threads for `work` items of which one CTA takes `each` at a time.
unsigned blocks_for(int64_t work, int each, int sm_count) {
  constexpr int kBlocksPerSm = 16;  // two full waves
  return static_cast<unsigned>(
      std::clamp<int64_t>((work + each - 1) / each, 1, int64_t{sm_count} * kBlocksPerSm));
}

// A launch of 256 threads a block that may start before the kernel ahead has ended.
cudaError_t launch_behind(const void* kernel, dim3 grid, void** arguments, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(256);
  config.stream = stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelExC(&config, kernel, arguments);
}

}  // namespace

cudaError_t launch_repack(const RepackJob* job, int jobs, int batches, int element_size,
                          int sm_count, cudaStream_t stream) {
  RepackJobs lines{};
  lines.batches = batches;
  int64_t tasks = 0;
  for (int i = 0; i < jobs; ++i) {
    lines.job[i] = job[i];
    // Readable chunks may be one more than stored ones.
    lines.runs[i] = static_cast<uint32_t>(((job[i].length * element_size + 15) / 16 + 127) / 128);
    tasks += lines.runs[i] * job[i].count;
    lines.tasks[i] = tasks;
  }
  lines.tasks[1] = tasks;
  const dim3 grid(blocks_for(tasks, 8, sm_count), std::min(batches, 65535));
  const void* kernel = element_size == 4   ? reinterpret_cast<const void*>(&repack_lines<4>)
                       : element_size == 2 ? reinterpret_cast<const void*>(&repack_lines<2>)
                                           : reinterpret_cast<const void*>(&repack_lines<1>);
  void* arguments[] = {&lines};
  return launch_behind(kernel, grid, arguments, stream);
}

cudaError_t launch_repack_ahead(const RepackOrder& order, int sm_count, cudaStream_t stream) {
  auto launch = [&]<int kElement>() {
    const int64_t pieces = int64_t{order.ahead} * LineMover<kElement, 1>::kGroups;
    void* arguments[] = {const_cast<RepackOrder*>(&order)};
    return launch_behind(reinterpret_cast<const void*>(&repack_ahead<kElement>),
                         dim3(blocks_for(pieces, 8, sm_count)), arguments, stream);
  };
  return order.element_bytes == 1   ? launch.operator()<1>()
         : order.element_bytes == 2 ? launch.operator()<2>()
                                    : launch.operator()<4>();
}

cudaError_t launch_reduce(const ReduceJob& job, int sm_count, cudaStream_t stream) {
  const int64_t plane = job.m * job.n;
  if (job.splits >= kLeastManySplits && job.splits <= kMostManySplits && job.n % 4 == 0 &&
      job.batches <= 65535 && plane <= int64_t{4} * 256 * sm_count) {
    const dim3 grid(static_cast<unsigned>((plane / 4 + 31) / 32), job.batches);
    void* arguments[] = {const_cast<ReduceJob*>(&job)};
    return launch_behind(reinterpret_cast<const void*>(&reduce_many_splits), grid, arguments,
                         stream);
  }
  const dim3 grid(blocks_for(job.splits > 0 && job.n % 4 == 0 ? plane / 4 : plane, 256, sm_count),
                  std::min(job.batches, 65535));
  void* arguments[] = {const_cast<ReduceJob*>(&job)};
  return launch_behind(reinterpret_cast<const void*>(&reduce_splits), grid, arguments, stream);
}

}  // namespace tw::gemm
