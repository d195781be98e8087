// See wgmma_launch.h.
#include <algorithm>

#include "gemm/lib/tensor_map.h"
#include "gemm/lib/wgmma_launch.h"

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
  const void* special = !plain                      ? nullptr
                        : p.store == Store::kBulk   ? of(Epilogue::kBulk)
                        : p.store == Store::kVector ? of(Epilogue::kVector)
                                                    : of(Epilogue::kElements);
  return special != nullptr ? special : of(Epilogue::kGeneral);
}

}  // namespace

bool suits_tma(const void* data, int64_t pitch, int64_t batch_stride, int batches,
               int element_size) {
  return (reinterpret_cast<uintptr_t>(data) & 15) == 0 && pitch * element_size % 16 == 0 &&
         (batches == 1 || batch_stride * element_size % 16 == 0);
}

cudaError_t launch_wgmma(const WgmmaKernel& kernel, const WgmmaProblem& problem,
                         const WgmmaSchedule& schedule, cudaStream_t stream) {
  const int bk = 128 / element_bytes(kernel.element_a);
  const int cluster = schedule.cluster;
  if (cluster != 1 && cluster != 2 && cluster != 4) return cudaErrorInvalidValue;
  const int along_m = schedule.shares_a ? 1 : cluster, along_n = schedule.shares_a ? cluster : 1;
  WgmmaParams p{};
  p.m = problem.m;
  p.n = problem.n;
  p.k_blocks = div_up(problem.k, bk);
  p.k_cluster = schedule.k_cluster;
  const bool shared_k = schedule.k_cluster > 1;
  p.k_blocks_per_split = div_up(p.k_blocks, shared_k ? schedule.k_cluster : schedule.splits);
  p.splits = shared_k ? schedule.k_cluster : div_up(p.k_blocks, p.k_blocks_per_split);
  // Every CTA of a cluster must have a part of K.
  if (shared_k && div_up(p.k_blocks, p.k_blocks_per_split) != schedule.k_cluster)
    return cudaErrorInvalidValue;
  p.batches = problem.batches;
  p.units_m = div_up(problem.m, static_cast<int64_t>(kernel.bm) * along_m);
  p.units_n = div_up(problem.n, static_cast<int64_t>(kernel.bn) * along_n);
  p.raster_group = schedule.raster_group;
  p.cluster = cluster;
  p.shares_a = schedule.shares_a;
  p.alpha = problem.alpha;
  p.beta = problem.beta;
  p.scale_a = problem.scale_a;
  p.scale_b = problem.scale_b;
  p.c = problem.c;
  p.ld_c = problem.ld_c;
  p.stride_c = problem.stride_c;
  p.output = problem.output;
  const Element out = problem.output == Output::kF32    ? Element::kF32
                      : problem.output == Output::kBf16 ? Element::kBf16
                                                        : Element::kF16;
  const Lines d{problem.d,    problem.n,        problem.m,
                problem.ld_d, problem.stride_d, problem.batches * (shared_k ? 1 : p.splits),
                out};
  const int columns = 128 / element_bytes(out);
  const Element element = kernel.element_a;
  p.transposed = problem.transposed;
  p.d_data = problem.d;
  p.ld_d = problem.ld_d;
  p.stride_d = problem.stride_d;
  const bool gather = kernel.kernel == GemmKernel::kGather;
  const bool narrow = kernel.kernel == GemmKernel::kNarrow;
  bool ok = true;
  if (gather) {
    p.a_source = source_of(problem.a, problem.m, problem.k, element_bytes(element));
    p.b_source = source_of(problem.b, problem.n, problem.k, element_bytes(element));
  } else {
    ok = encode_operand(&p.a, problem.a, problem.m, problem.k, problem.batches, element,
                        (problem.a.mn_major ? bk : kernel.bm) / along_n) &&
         encode_operand(&p.b, problem.b, problem.n, problem.k, problem.batches, element,
                        (problem.b.mn_major ? bk : kernel.bn) / along_m);
  }
  const int64_t units = int64_t{p.units_m} * p.units_n * p.batches * p.splits;
  const int slots = schedule.sm_count * kernel.resident;
  // A bulk store clips at 16 bytes, not at the element (seen on the H200: a width of 131 floats at
  // a pitch of 132 wrote column 131), so the width counts too.
  const bool whole =
      !shared_k && !narrow && problem.n * output_bytes(problem.output) % 16 == 0 &&
      suits_tma(problem.d, problem.ld_d, problem.stride_d, d.batches, output_bytes(problem.output));
  // Measured: with one tile a CTA and up to 128 columns the warps' own stores end sooner; wider tiles
  // and ping-pong have no kernel for it.
  const bool soon = kernel.functions[static_cast<int>(Epilogue::kVector)] != nullptr &&
                    (gather || units * cluster <= slots);
  p.store = !whole ? Store::kElements : (soon ? Store::kVector : Store::kBulk);
  if (p.store == Store::kBulk) ok = ok && encode_lines(&p.d, d, columns, 64);
  if (!ok) return cudaErrorInvalidValue;
  const void* function = function_for(kernel, p, shared_k);
  if (function == nullptr) return cudaErrorInvalidConfiguration;

  if (units > (int64_t{1} << 30)) return cudaErrorInvalidConfiguration;
  cudaLaunchConfig_t config{};
  if (narrow && (problem.n > kernel.bn || problem.batches > 65535))
    return cudaErrorInvalidConfiguration;
  config.gridDim =
      narrow
          ? dim3(static_cast<unsigned>(p.units_m * schedule.k_cluster), 1, problem.batches)
          : dim3(static_cast<unsigned>(
                shared_k || gather ? units : std::min<int64_t>(units, slots / cluster) * cluster));
  config.blockDim = dim3(kernel.threads);
  config.dynamicSmemBytes = kernel.shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute attributes[2];
  config.attrs = attributes;
  if (cluster > 1 || shared_k) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs].val.clusterDim.x = shared_k ? schedule.k_cluster : cluster;
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
        k.bm == candidate.bm && k.bn == candidate.bn && k.resident == candidate.resident &&
        k.a_mn == a_mn && k.b_mn == b_mn && k.ping_pong == candidate.ping_pong &&
        (k.kernel != GemmKernel::kGather || k.threads == 128 * candidate.groups)) {
      return &k;
    }
  }
  return nullptr;
}

}  // namespace tw::gemm
