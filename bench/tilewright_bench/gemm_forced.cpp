// See gemm_forced.h.
#include "gemm_forced.h"

#include <cstdio>
#include <functional>

#include "gemm/lib/elementwise.h"
#include "gemm/lib/sgemm.h"
#include "gemm/lib/wgmma_launch.h"
#include "model/gemm_model.h"

namespace tilewright::bench {
namespace {

using namespace tw::gemm;
using tw::model::GemmCandidate;
using tw::model::GemmKernel;
using tw::model::GemmTile;

using Launch = std::function<cudaError_t(const WgmmaProblem&, const WgmmaSchedule&, cudaStream_t)>;

int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Whether K in this many equal parts leaves none empty.
bool splits_evenly(int64_t blocks, int parts) {
  return div_up(blocks, div_up(blocks, parts)) == parts;
}

std::string name_of(const GemmCandidate& c, int raster) {
  char name[64];
  const std::string splits = c.splits > 1 ? "/s" + std::to_string(c.splits) : "";
  std::snprintf(name, sizeof name, "%dx%d%s/%s%d/k%d/g%d/r%d%s", c.bm, c.bn,
                c.kernel == GemmKernel::kGather   ? " gather"
                : c.kernel == GemmKernel::kFmaTma ? " TMA"
                : c.ping_pong                     ? (c.turned ? " turned turns" : " turns")
                                                  : "",
                c.shares_a ? "a" : "c", c.cluster, c.k_cluster * c.groups, raster, c.resident,
                splits.c_str());
  return name;
}

class Forced {
 public:
  Forced(const GemmCase& c, bool ragged, const GemmArguments& g, GemmBuffers buffers,
         std::vector<Candidate>* out)
      : case_(c), ragged_(ragged), arguments_(g), buffers_(buffers), out_(out) {
    const int bytes = c.type->bytes;
    problem_.m = c.m, problem_.n = c.n, problem_.k = c.k, problem_.batches = c.batches;
    problem_.element_bytes = bytes;
    problem_.output_bytes = type_info(g.type_d).bytes;
    problem_.cuda_cores = c.type->type == Type::kF32;
    problem_.a_mn = c.transpose_a, problem_.b_mn = !c.transpose_b;
    problem_.straddles_a = g.ld_a * bytes % 128 != 0;
    problem_.straddles_b = g.ld_b * bytes % 128 != 0;
    problem_.bulk_d = c.n * problem_.output_bytes % 16 == 0;
    blocks_ = div_up(c.k * bytes, 128);
  }

  std::vector<ForcedKernel> all() {
    if (problem_.cuda_cores) {
      add_cuda_cores();
      return forced_;
    }
    int count = 0;
    const WgmmaKernel* kernels = wgmma_kernels(&count);
    for (int i = 0; i < count; ++i) {
      const WgmmaKernel& kernel = kernels[i];
      if (static_cast<int>(kernel.element_a) != static_cast<int>(case_.type->type) ||
          kernel.element_a != kernel.element_b) {
        continue;
      }
      switch (kernel.kernel) {
        case GemmKernel::kGather: add_gather(kernel); break;
        case GemmKernel::kNarrow: add_narrow(kernel); break;
        default: add_tiled(kernel); add_turned(kernel);
      }
    }
    return forced_;
  }

 private:
  // `raster` 0: the model's.
  void add(const GemmCandidate& predicted, int raster, const Launch& launch) {
    WgmmaSchedule schedule;
    schedule.cluster = predicted.cluster;
    schedule.shares_a = predicted.shares_a;
    schedule.raster_group = raster > 0 ? raster : predicted.raster_group;
    schedule.k_cluster = predicted.k_cluster;
    schedule.splits = predicted.splits;
    if (predicted.kernel == GemmKernel::kNarrow) schedule.wide_rows = predicted.bm;
    schedule.programmatic = true;
    const std::string name = name_of(predicted, schedule.raster_group);
    forced_.push_back({name, predicted.total_us});
    auto run = [launch, schedule, c = case_, g = arguments_, buffers = buffers_](
                   int slot, cudaStream_t stream) {
      WgmmaProblem p{};
      p.m = int(c.m), p.n = int(c.n), p.k = int(c.k), p.batches = int(c.batches);
      p.a = {buffers.a[slot], g.ld_a, g.stride_a, c.transpose_a};
      p.b = {buffers.b[slot], g.ld_b, g.stride_b, !c.transpose_b};
      p.d = buffers.d[slot];
      p.ld_d = g.ld_d, p.stride_d = g.stride_d;
      p.output = g.type_d == Type::kF32 ? Output::kF32
                                        : (g.type_d == Type::kBf16 ? Output::kBf16 : Output::kF16);
      p.alpha = 1;
      if (schedule.splits == 1) {
        TW_CUDA(launch(p, schedule, stream));
        return;
      }
      ReduceJob job{};
      job.partial = static_cast<const float*>(buffers.workspace);
      job.splits = schedule.splits;
      job.m = c.m, job.n = c.n, job.batches = int(c.batches);
      job.alpha = 1;
      job.d = p.d, job.ld_d = p.ld_d, job.stride_d = p.stride_d, job.output = p.output;
      p.d = buffers.workspace;
      p.ld_d = c.n, p.stride_d = c.m * c.n;
      p.output = Output::kF32;
      TW_CUDA(launch(p, schedule, stream));
      TW_CUDA(launch_reduce(job, schedule.sm_count, stream));
    };
    out_->push_back({name, run, nullptr});
  }

  void add_cuda_cores() {
    for (const GemmTile& tile : tw::model::kCudaCoreTiles) {
      for (int raster : {8, 16}) {
        if (tile.groups > 1) break;  // only in clusters
        add(predict_gemm(problem_, machine_, tile, 1, 1, 1), raster,
            [tile](const WgmmaProblem& p, const WgmmaSchedule& s, cudaStream_t stream) {
              return launch_sgemm(p, tile, s, stream);
            });
      }
      const int64_t count = div_up(case_.m, tile.bm) * div_up(case_.n, tile.bn) * case_.batches;
      for (int k_cluster = 2; k_cluster <= tw::model::kMostKCluster; ++k_cluster) {
        if (count * k_cluster <= 8 * machine_.sm_count && splits_evenly(blocks_, k_cluster))
          add(predict_gemm(problem_, machine_, tile, 1, k_cluster, 1), 8,
              [tile](const WgmmaProblem& p, const WgmmaSchedule& s, cudaStream_t stream) {
                return launch_sgemm(p, tile, s, stream);
              });
      }
    }
    if (!problem_.a_mn || !problem_.b_mn || ragged_) return;
    for (const GemmTile& tile : tw::model::kCudaCoreTmaTiles) {
      const Launch launch = [tile](const WgmmaProblem& p, const WgmmaSchedule& s,
                                   cudaStream_t stream) {
        return launch_sgemm_tma(p, tile, s, stream);
      };
      for (int raster : {4, 8, 16})
        add(predict_sgemm_tma(problem_, machine_, tile, 1), raster, launch);
      const int64_t count = div_up(case_.m, tile.bm) * div_up(case_.n, tile.bn) * case_.batches;
      for (int k_cluster = 2; k_cluster <= tw::model::kMostKCluster; ++k_cluster) {
        if (count * k_cluster <= 2 * machine_.sm_count && splits_evenly(blocks_, k_cluster))
          add(predict_sgemm_tma(problem_, machine_, tile, k_cluster), 8, launch);
      }
    }
  }

  bool has_layout(const WgmmaKernel& kernel) const {
    return kernel.a_mn == problem_.a_mn && kernel.b_mn == problem_.b_mn;
  }
  // `turned`: D^T = B^T A^T.
  static Launch launch_of(const WgmmaKernel& kernel, bool turned = false) {
    return [&kernel, turned](const WgmmaProblem& p, const WgmmaSchedule& s, cudaStream_t stream) {
      return launch_wgmma(kernel, turned ? tw::gemm::turned(p) : p, s, stream);
    };
  }
  int64_t tiles(const WgmmaKernel& kernel) const {
    return div_up(case_.m, kernel.bm) * div_up(case_.n, kernel.bn) * case_.batches;
  }

  void add_gather(const WgmmaKernel& kernel) {
    if (!has_layout(kernel) || tiles(kernel) * case_.k > 1024 * 1024) return;
    add(predict_gather(problem_, machine_, kernel.threads / 128), 0, launch_of(kernel));
  }

  void add_narrow(const WgmmaKernel& kernel) {
    if (ragged_) return;  // TMA does not take it
    for (bool turned : {false, true}) {
      const int64_t wide = turned ? case_.n : case_.m, narrow = turned ? case_.m : case_.n;
      const bool wide_mn = turned ? problem_.b_mn : problem_.a_mn,
                 narrow_mn = turned ? problem_.a_mn : problem_.b_mn;
      if (narrow > kernel.bn || kernel.a_mn != wide_mn || kernel.b_mn != narrow_mn ||
          (kernel.bn > 16 && narrow <= kernel.bn / 4)) {
        continue;
      }
      const Launch launch = launch_of(kernel, turned);
      const int64_t slots = int64_t{machine_.sm_count} * kernel.resident;
      for (int k_cluster = 1; k_cluster <= tw::model::kMostKCluster; ++k_cluster) {
        if (k_cluster > 1 &&
            (div_up(wide, kernel.bm) * k_cluster > slots || !splits_evenly(blocks_, k_cluster)))
          continue;
        GemmCandidate candidate = predict_narrow(problem_, machine_, turned, k_cluster);
        candidate.bn = kernel.bn;
        add(candidate, 1, launch);
      }
      for (const int64_t slots_used : {slots, slots / 2}) {
        const auto rows = static_cast<int>(div_up(div_up(wide, slots_used), 8) * 8);
        if (rows >= kernel.bm || wide_mn || case_.batches > 1) continue;
        GemmCandidate candidate = predict_narrow(problem_, machine_, turned, 1, rows);
        candidate.bn = kernel.bn;
        add(candidate, 1, launch);
      }
    }
  }

  void add_tiled(const WgmmaKernel& kernel) {
    if (ragged_ || !has_layout(kernel)) return;
    const Launch launch = launch_of(kernel);
    const GemmTile tile{kernel.bm, kernel.bn, kernel.resident, kernel.ping_pong};
    auto predict = [&](int cluster, int k_cluster, bool shares_a = false) {
      return predict_gemm(problem_, machine_, tile, cluster, k_cluster, 1, shares_a);
    };
    const int64_t slots = int64_t{machine_.sm_count} * kernel.resident, count = tiles(kernel);
    if (case_.k >= 1024 && count <= slots && !kernel.ping_pong) {
      for (int k_cluster = 2; k_cluster <= tw::model::kMostKCluster; ++k_cluster) {
        if (count * k_cluster <= 2 * slots && splits_evenly(blocks_, k_cluster))
          add(predict(1, k_cluster), 0, launch);
      }
    }
    // K over the grid, where tiles are few.
    if (!kernel.ping_pong && 2 * count <= slots) {
      for (const int64_t want : {slots / count, slots / count / 2, slots / count / 4}) {
        const int64_t parts = std::min<int64_t>({want, blocks_ / 4, tw::model::kMaxGemmSplits});
        if (parts < 2) break;
        const auto splits = static_cast<int>(div_up(blocks_, div_up(blocks_, parts)));
        if (splits * case_.m * case_.n * case_.batches * 4 > int64_t(buffers_.workspace_bytes))
          continue;
        for (int cluster : tw::model::kGemmClusters) {
          if (cluster == 1 || case_.m > kernel.bm)
            add(predict_gemm(problem_, machine_, tile, cluster, 1, splits), 0, launch);
        }
      }
    }
    const bool small_tile =
        kernel.bm * kernel.bn < (case_.type->bytes == 1 ? 128 * 128 : 128 * 192) &&
        !kernel.ping_pong;
    if (case_.m * case_.n > 4096 * 4096 && small_tile) return;
    if (case_.m <= kernel.bm && !kernel.ping_pong) add(predict(4, 1, true), 0, launch);
    if (div_up(case_.n, kernel.bn) > 1) add(predict(2, 1, true), 0, launch);
    const bool rasters = kernel.bn >= 128 && kernel.bm == 128 && count > slots;
    for (int cluster : tw::model::kGemmClusters) {
      const GemmCandidate c = predict(cluster, 1);
      add(c, 0, launch);
      if (!rasters) continue;
      for (const int raster : {4, 8, 16, 32 / cluster}) {
        if (raster != c.raster_group) add(c, raster, launch);
      }
    }
  }

  void add_turned(const WgmmaKernel& kernel) {
    const bool stores_so = kernel.functions[static_cast<int>(Epilogue::kTurned)] != nullptr;
    if (!stores_so || ragged_ || problem_.a_mn || !problem_.b_mn || !problem_.bulk_d) return;
    const GemmTile tile{kernel.bm, kernel.bn, kernel.resident, kernel.ping_pong};
    for (int cluster : tw::model::kGemmClusters) {
      const GemmCandidate c = predict_turned(problem_, machine_, tile, cluster);
      add(c, 0, launch_of(kernel, true));
      for (const int raster : {4, 8, 16}) {
        if (raster != c.raster_group) add(c, raster, launch_of(kernel, true));
      }
    }
  }

  const GemmCase& case_;
  bool ragged_;
  const GemmArguments& arguments_;
  GemmBuffers buffers_;
  std::vector<Candidate>* out_;
  tw::model::GemmProblem problem_;
  tw::model::GemmMachine machine_;
  int64_t blocks_ = 0;
  std::vector<ForcedKernel> forced_;
};

}  // namespace

std::vector<ForcedKernel> add_forced_kernels(const GemmCase& c, bool ragged, const GemmArguments& g,
                                             GemmBuffers buffers, std::vector<Candidate>* out) {
  return Forced(c, ragged, g, buffers, out).all();
}

}  // namespace tilewright::bench
