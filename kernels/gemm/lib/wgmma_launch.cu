// See wgmma_launch.h.
#include <algorithm>
#include <utility>

#include "gemm/lib/tensor_map.h"
#include "gemm/lib/wgmma_launch.h"
#include "model/gemm_model.h"

namespace tw::gemm {
namespace {

using model::GemmKernel;

static_assert(model::kMostKCluster == kMostRanks, "the sum reads all CTAs of a cluster");

int div_up(int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); }

Source source_of(const Matrix& x, int mn, int k, int bytes) {
  return {static_cast<const char*>(x.data), x.pitch * bytes, x.batch_stride * bytes,
          x.mn_major ? k : mn, (x.mn_major ? mn : k) * bytes};
}

// The kernel that does no more than this launch needs: what is not there need not be fetched.
const void* function_for(const WgmmaKernel& kernel, const WgmmaParams& p, bool shared_k) {
  auto of = [&](Epilogue e) { return kernel.functions[static_cast<int>(e)]; };
  const bool plain = p.beta == 0.0f && p.output == native_output(kernel.element_a);
  if (shared_k && kernel.kernel != GemmKernel::kNarrow)
    return of(plain ? Epilogue::kPlainSum : Epilogue::kGeneralSum);
  if (p.repack.parts > 0) {
    return of(plain && p.store == Store::kElements ? Epilogue::kRepackElements
                                                   : Epilogue::kRepackGeneral);
  }
  if (p.transposed && kernel.kernel != GemmKernel::kNarrow) {
    return plain && p.store == Store::kBulk ? of(Epilogue::kTurned) : nullptr;
  }
  const void* special = !plain                      ? nullptr
                        : p.store == Store::kBulk   ? of(Epilogue::kBulk)
                        : p.store == Store::kVector ? of(Epilogue::kVector)
                                                    : of(Epilogue::kElements);
  return special != nullptr ? special : of(Epilogue::kGeneral);
}

// Sizes, raster, scalars: all but the tensor maps and the way to store.
WgmmaParams params_of(const WgmmaKernel& kernel, const WgmmaProblem& problem,
                      const WgmmaSchedule& schedule) {
  const int along_m = schedule.shares_a ? 1 : schedule.cluster;
  const int along_n = schedule.shares_a ? schedule.cluster : 1;
  const bool shared_k = schedule.k_cluster > 1;
  WgmmaParams p{};
  p.m = problem.m;
  p.n = problem.n;
  p.k = problem.k;
  p.k_blocks = div_up(problem.k, 128 / element_bytes(kernel.element_a));
  p.k_cluster = schedule.k_cluster;
  p.k_blocks_per_split = div_up(p.k_blocks, shared_k ? schedule.k_cluster : schedule.splits);
  p.splits = shared_k ? schedule.k_cluster : div_up(p.k_blocks, p.k_blocks_per_split);
  p.batches = problem.batches;
  p.wide_rows = schedule.wide_rows;
  const int rows = kernel.kernel == GemmKernel::kNarrow ? schedule.wide_rows : kernel.bm;
  p.units_m = div_up(problem.m, static_cast<int64_t>(rows) * along_m);
  p.units_n = div_up(problem.n, static_cast<int64_t>(kernel.bn) * along_n);
  // Measured, and not understood: rows a multiple of 16 KiB apart make the narrow kernel 0.3 to
  // 1.5 % slower where all its CTAs start at the same k, others 1 to 4 % faster.
  constexpr int64_t kApartPitch = 16384;
  p.starts_apart = kernel.kernel == GemmKernel::kNarrow
                       ? !problem.a.mn_major &&
                             problem.a.pitch * element_bytes(kernel.element_a) % kApartPitch == 0
                       : schedule.shares_a && schedule.cluster == 2 && p.units_m == 1;
  const int last_bytes =
      problem.k % (128 / element_bytes(kernel.element_a)) * element_bytes(kernel.element_a);
  p.last_block_short = !p.starts_apart && p.splits == 1 && last_bytes > 0 && last_bytes <= 32;
  p.raster_group = schedule.raster_group;
  p.cluster = schedule.cluster;
  p.shares_a = schedule.shares_a;
  p.alpha = problem.alpha;
  p.beta = problem.beta;
  p.scale_a = problem.scale_a;
  p.scale_b = problem.scale_b;
  p.c = problem.c;
  p.ld_c = problem.ld_c;
  p.stride_c = problem.stride_c;
  p.output = problem.output;
  p.transposed = problem.transposed;
  p.repack = problem.repack;
  p.after = problem.after;
  p.after_count = problem.after_count;
  p.d_data = problem.d;
  p.ld_d = problem.ld_d;
  p.stride_d = problem.stride_d;
  return p;
}

// How the kernel reads A and B; false when the driver refuses a map.
bool set_operands(const WgmmaKernel& kernel, const WgmmaProblem& problem,
                  const WgmmaSchedule& schedule, WgmmaParams* p) {
  const Element element = kernel.element_a;
  const int bytes = element_bytes(element), bk = 128 / bytes;
  if (kernel.kernel == GemmKernel::kGather) {
    p->a_source = source_of(problem.a, problem.m, problem.k, bytes);
    p->b_source = source_of(problem.b, problem.n, problem.k, bytes);
    return true;
  }
  // Of a shared operand each CTA of the cluster loads a part of the lines.
  const int a_parts = schedule.shares_a ? schedule.cluster : 1;
  const int b_parts = schedule.shares_a ? 1 : schedule.cluster;
  const int a_rows = kernel.kernel == GemmKernel::kNarrow ? p->wide_rows : kernel.bm;
  return encode_operand(&p->a, problem.a, problem.m, problem.k, problem.batches, element,
                        (problem.a.mn_major ? bk : a_rows) / a_parts) &&
         encode_operand(&p->b, problem.b, problem.n, problem.k, problem.batches, element,
                        (problem.b.mn_major ? bk : copied_lines(kernel.bn)) / b_parts,
                        problem.b.mn_major && kernel.bn == 32 ? 64 : 128);
}

// How D leaves; false when the driver refuses a map. `one_tile`: no CTA has a second one.
bool set_store(const WgmmaKernel& kernel, const WgmmaProblem& problem, bool one_tile,
               WgmmaParams* p) {
  const bool shared_k = p->k_cluster > 1;
  const int bytes = output_bytes(problem.output);
  const int matrices = problem.batches * (shared_k ? 1 : p->splits);
  // A bulk store clips at 16 bytes, not at the element (seen on the H200: a width of 131 floats at
  // a pitch of 132 wrote column 131), so the width counts too.
  const int lines = problem.transposed ? problem.n : problem.m,
            length = problem.transposed ? problem.m : problem.n;
  const bool whole = !shared_k && kernel.kernel != GemmKernel::kNarrow &&
                     int64_t{length} * bytes % 16 == 0 &&
                     suits_tma(problem.d, problem.ld_d, problem.stride_d, matrices, bytes);
  // Measured: with one tile a CTA and up to 128 columns the warps' own stores end sooner; wider tiles
  // and ping-pong have no kernel for it.
  const bool soon = p->repack.parts == 0 &&
                    kernel.functions[static_cast<int>(Epilogue::kVector)] != nullptr &&
                    (kernel.kernel == GemmKernel::kGather || one_tile);
  p->store = !whole ? Store::kElements : (soon ? Store::kVector : Store::kBulk);
  if (p->store != Store::kBulk) return true;
  const Element out = problem.output == Output::kF32    ? Element::kF32
                      : problem.output == Output::kBf16 ? Element::kBf16
                                                        : Element::kF16;
  const Lines d{problem.d, length, lines, problem.ld_d, problem.stride_d, matrices, out};
  const int warp_rows = problem.transposed ? turned_rows(kernel.bn) : 16;
  return encode_lines(&p->d, d, 128 / bytes, warp_rows);
}

}  // namespace

WgmmaProblem turned(WgmmaProblem problem) {
  std::swap(problem.a, problem.b);
  std::swap(problem.m, problem.n);
  problem.transposed = true;
  return problem;
}

bool suits_tma(const void* data, int64_t pitch, int64_t batch_stride, int batches,
               int element_size) {
  return (reinterpret_cast<uintptr_t>(data) & 15) == 0 && pitch * element_size % 16 == 0 &&
         (batches == 1 || batch_stride * element_size % 16 == 0);
}

cudaError_t launch_wgmma(const WgmmaKernel& kernel, const WgmmaProblem& problem,
                         const WgmmaSchedule& schedule, cudaStream_t stream) {
  const int cluster = schedule.cluster;
  const bool shared_k = schedule.k_cluster > 1, narrow = kernel.kernel == GemmKernel::kNarrow;
  if (cluster != 1 && cluster != 2 && cluster != 4) return cudaErrorInvalidValue;
  WgmmaParams p = params_of(kernel, problem, schedule);
  // Every CTA of a cluster must have a part of K.
  if (shared_k && div_up(p.k_blocks, p.k_blocks_per_split) != schedule.k_cluster)
    return cudaErrorInvalidValue;
  if (narrow && (problem.n > kernel.bn || problem.batches > 65535 || schedule.wide_rows % 8 != 0 ||
                 schedule.wide_rows < 8 || schedule.wide_rows > kernel.bm))
    return cudaErrorInvalidConfiguration;
  if (p.repack.parts > 0 && (problem.batches != 1 || p.splits != 1)) {
    return cudaErrorInvalidConfiguration;
  }
  const int64_t units = int64_t{p.units_m} * p.units_n * p.batches * p.splits;
  if (units > (int64_t{1} << 30)) return cudaErrorInvalidConfiguration;
  const int slots = schedule.sm_count * kernel.resident;
  if (!set_operands(kernel, problem, schedule, &p) ||
      !set_store(kernel, problem, units * cluster <= slots, &p)) {
    return cudaErrorInvalidValue;
  }
  const void* function = function_for(kernel, p, shared_k);
  if (function == nullptr) return cudaErrorInvalidConfiguration;

  cudaLaunchConfig_t config{};
  if (narrow) {
    config.gridDim = dim3(static_cast<unsigned>(p.units_m * schedule.k_cluster), 1,
                          static_cast<unsigned>(problem.batches));
  } else if (shared_k || kernel.kernel == GemmKernel::kGather) {  // a CTA for each unit
    config.gridDim = dim3(static_cast<unsigned>(units));
  } else {  // persistent
    config.gridDim =
        dim3(static_cast<unsigned>(std::min<int64_t>(units, slots / cluster) * cluster));
  }
  config.blockDim =
      dim3(static_cast<unsigned>(p.repack.parts > 0 ? kernel.repack_threads : kernel.threads));
  config.dynamicSmemBytes = static_cast<size_t>(kernel.shared_bytes);
  config.stream = stream;
  cudaLaunchAttribute attributes[2];
  config.attrs = attributes;
  if (cluster > 1 || shared_k) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs].val.clusterDim.x =
        static_cast<unsigned>(shared_k ? schedule.k_cluster : cluster);
    attributes[config.numAttrs].val.clusterDim.y = 1;
    attributes[config.numAttrs++].val.clusterDim.z = 1;
  }
  if (schedule.programmatic) {
    attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  void* arguments[] = {&p};
  return cudaLaunchKernelExC(&config, function, arguments);
}

const WgmmaKernel* find_wgmma_kernel(Element element_a, Element element_b,
                                     const model::GemmCandidate& candidate, bool a_mn, bool b_mn) {
  int count = 0;
  const WgmmaKernel* all = wgmma_kernels(&count);
  for (int i = 0; i < count; ++i) {
    const WgmmaKernel& k = all[i];
    if (k.element_a == element_a && k.element_b == element_b && k.kernel == candidate.kernel &&
        (k.kernel == GemmKernel::kNarrow || k.bm == candidate.bm) && k.bn == candidate.bn &&
        k.resident == candidate.resident && k.a_mn == a_mn && k.b_mn == b_mn &&
        k.ping_pong == candidate.ping_pong &&
        (k.kernel != GemmKernel::kGather || k.threads == 128 * candidate.groups)) {
      return &k;
    }
  }
  return nullptr;
}

}  // namespace tw::gemm
