#include "model/gemm_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tw::model {
namespace {

int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Share of the SMs that clusters of this many CTAs can hold at once: they do not tile the GPCs
// (cudaOccupancyMaxActiveClusters on an H200, one CTA of 227 KiB an SM).
constexpr double kClusterRoom[] = {0, 1, 1, 0.886, 0.909, 0.833, 0.772, 0.795, 0.909};

int64_t cluster_slots(const GemmMachine& machine, int resident, int cluster) {
  return std::max<int64_t>(
      1, static_cast<int64_t>(machine.sm_count * resident * kClusterRoom[cluster]) / cluster);
}

// Splits worth predicting for a tile: enough to fill the machine, and a few around it.
int candidate_splits(const GemmProblem& p, const GemmMachine& machine, GemmTile tile,
                     int max_splits, int* out) {
  int count = 0;
  out[count++] = 1;
  const int64_t tiles = div_up(p.m, tile.bm) * div_up(p.n, tile.bn) * p.batches;
  const int64_t blocks = div_up(p.k * p.element_bytes, 128);
  const int64_t limit =
      std::min<int64_t>({int64_t{max_splits}, int64_t{kMaxGemmSplits}, blocks / 4});
  for (int64_t want :
       {int64_t{2}, int64_t{3}, int64_t{4}, machine.sm_count / std::max<int64_t>(tiles, 1),
        2 * machine.sm_count / std::max<int64_t>(tiles, 1)}) {
    want = std::min(want, limit);
    if (want <= out[count - 1]) continue;
    // The count that is really launched: equal chunks of K.
    const int64_t chunk = div_up(blocks, want);
    const int64_t real = div_up(blocks, chunk);
    if (real > out[count - 1]) out[count++] = static_cast<int>(real);
  }
  return count;
}

// Share of DRAM's bandwidth that `ctas` CTAs draw, each with `ring` bytes of the streamed operand
// in flight; `shared` of what they read is the same for all of them and comes from L2. SMs share a
// port in pairs, and CTAs share an SM: where some have two and some have one, the pairs end last.
double dram_reach(const GemmMachine& machine, int64_t ctas, double ring, double shared,
                  double per_mb, double uneven_sms) {
  const auto count = static_cast<double>(ctas), sms = static_cast<double>(machine.sm_count);
  const double reach = std::min(1.0, 0.3 + per_mb * 1e-6 * count * ring);
  double uneven = 0;
  if (ctas > machine.sm_count) {
    uneven = uneven_sms * (std::ceil(count / sms) * sms / count - 1);
  } else if (2 * ctas > machine.sm_count) {
    uneven = machine.uneven_pairs * std::max(0.0, shared - 0.1) * (sms / count - 1);
  }
  return reach / (1 + uneven);
}

// Each CTA of a cluster that splits K reads its share of the tile from the others, as fp32.
double cluster_read_us(const GemmMachine& machine, const GemmCandidate& c) {
  return 4e-3 * c.bm * c.bn * (c.k_cluster - 1) / (c.k_cluster * machine.cluster_read_gb_s);
}

// Whether operands are repacked while the product runs, and how much of them before
// (repack_order.h): what its moving warps would not have brought when tiles want it. `slots`:
// clusters at once; c->raster_group is known.
void plan_repack(const GemmProblem& p, const GemmMachine& machine, int64_t slots,
                 GemmCandidate* c) {
  if (p.batches > 1 || c->splits > 1 || c->k_cluster > 1 || c->shares_a ||
      !repacks({c->bm, c->bn, c->resident, c->ping_pong}, p.element_bytes) ||
      !(moves_a(p) || moves_b(p)) || c->mainloop_us < machine.meanwhile_least_us) {
    return;
  }
  const int64_t unit_rows = int64_t{c->bm} * c->cluster;
  const int64_t units_m = div_up(p.m, unit_rows), units_n = div_up(p.n, c->bn);
  const int64_t rows = std::min<int64_t>(c->raster_group, units_m);
  c->first_rows = std::min(p.m, rows * unit_rows);
  c->first_columns = std::min(p.n, div_up(slots, rows) * c->bn);
  c->moves_jointly = rows * units_n < 2 * slots;
  const double k_bytes = static_cast<double>(p.k) * p.element_bytes;
  auto us_for = [&](int64_t lines_a, int64_t lines_b) {  // to move them
    const int64_t lines = (moves_a(p) ? lines_a : 0) + (moves_b(p) ? lines_b : 0);
    return static_cast<double>(lines) * k_bytes / (machine.meanwhile_gb_s * 1e3);
  };
  const double wave_us = static_cast<double>(div_up(p.k * p.element_bytes, 128)) * c->block_clocks *
                         1e-3 / machine.clock_ghz;
  // All of B is wanted by the end of the first group of rows, all of A a wave into the last one.
  auto waves_of = [&](int64_t groups) {
    return std::max(1.0, static_cast<double>(groups * rows * units_n) / static_cast<double>(slots));
  };
  const double first_us = us_for(c->first_rows, c->first_columns);
  const double late_us =
      std::max({0.0, first_us - wave_us, us_for(c->first_rows, p.n) - waves_of(1) * wave_us,
                us_for(p.m, p.n) - (waves_of((units_m - 1) / rows) + 1) * wave_us});
  const int bands = repack_bands(p);
  const double band_us = first_us / bands;
  const int ahead = static_cast<int>(std::ceil(std::min(late_us / band_us, 1.0 * bands) + 0.5));
  const bool all_at_once = (!moves_a(p) || c->first_rows == p.m) &&
                           (!moves_b(p) || c->first_columns == p.n) && ahead >= bands;
  if (all_at_once) return;
  c->k_bands_ahead = std::clamp(ahead, 1, bands);
  c->repack_wait_us = std::max(0.0, late_us - c->k_bands_ahead * band_us);
}

// What tiles and reductions cost beside the mainloop is the same for all kinds of kernel.
void add_memory_terms(const GemmProblem& p, const GemmMachine& machine, double reach,
                      GemmCandidate* c) {
  const double k_bytes = static_cast<double>(p.k) * p.element_bytes;
  const double a_bytes = static_cast<double>(p.m * p.batches) * k_bytes;
  const double b_bytes = static_cast<double>(p.n * p.batches) * k_bytes;
  const double d_elements = static_cast<double>(p.m * p.batches) * static_cast<double>(p.n);
  const double rate =
      c->kernel == GemmKernel::kNarrow && c->bn < 64 ? machine.narrow_dram_gb_s : machine.dram_gb_s;
  c->dram_us = (a_bytes + b_bytes + d_elements * p.output_bytes) / (rate * 1e3 * reach);
  if (c->splits > 1) {
    c->reduce_us = machine.reduce_us +
                   d_elements * (4.0 * c->splits + p.output_bytes) / (machine.copy_gb_s * 1e3);
  }
  if (c->kernel == GemmKernel::kFmaTma) {
    for (const bool is_a : {true, false}) {
      if (is_a ? p.a_mn && !p.repack_a : p.b_mn && !p.repack_b) continue;
      c->repack_us +=
          machine.transpose_us + 2.0 * (is_a ? a_bytes : b_bytes) / (machine.copy_gb_s * 1e3);
    }
  } else if (needs_repack(*c) && (p.repack_a || p.repack_b)) {
    const auto lines = static_cast<double>((p.repack_a ? (p.a_mn ? p.k : p.m) : 0) +
                                           (p.repack_b ? (p.b_mn ? p.k : p.n) : 0));
    const double copy_us = 2e-3 / machine.copy_gb_s;  // a byte's, read and written
    c->repack_us = machine.repack_us +
                   lines * static_cast<double>(p.batches) * machine.repack_line_us +
                   copy_us * ((p.repack_a ? a_bytes : 0) + (p.repack_b ? b_bytes : 0));
    if (c->k_bands_ahead > 0) {
      const double moved = (moves_a(p) ? a_bytes : 0) + (moves_b(p) ? b_bytes : 0);
      const auto first_lines = static_cast<double>((moves_a(p) ? c->first_rows : 0) +
                                                   (moves_b(p) ? c->first_columns : 0));
      const double first = std::min(moved, first_lines * c->k_bands_ahead * kRepackBand * 128);
      const double cost = c->cluster > 1 ? machine.meanwhile_cost_pairs : machine.meanwhile_cost;
      const double meanwhile_us =
          machine.repack_us + c->repack_wait_us +
          copy_us * (first + cost * (moved - first) + (p.transpose_a ? a_bytes : 0) +
                     (p.transpose_b ? b_bytes : 0));
      if (meanwhile_us < c->repack_us) {
        c->repack_us = meanwhile_us;
      } else {
        c->k_bands_ahead = 0;
      }
    }
  }
  const double compute = c->mainloop_us + c->epilogue_us;
  if (c->dram_us > compute) c->bound = GemmBound::kDram;
  // Loading and computing overlap, not perfectly; where one operand is only streamed, nearly.
  const bool streams = p.m <= c->bm || p.n <= c->bn;
  const double exposed = streams ? machine.exposed_streaming : machine.exposed;
  c->total_us = machine.launch_us + std::max(compute, c->dram_us) +
                exposed * std::min(compute, c->dram_us) + c->reduce_us + c->repack_us;
}

GemmCandidate predict_cuda_cores(const GemmProblem& p, const GemmMachine& machine, GemmTile tile,
                                 int k_cluster, int splits, GemmKernel kernel = GemmKernel::kFma) {
  GemmCandidate c;
  c.kernel = kernel;
  c.bm = tile.bm;
  c.bn = tile.bn;
  c.groups = tile.groups;
  c.resident = tile.resident;
  c.k_cluster = k_cluster;
  c.splits = splits;
  c.bound = GemmBound::kCudaCores;
  const int64_t units =
      div_up(p.m, tile.bm) * div_up(p.n, tile.bn) * p.batches * splits * k_cluster;
  const int resident = tile.resident;
  const int warps = tile.groups * (tile.bn == 256 ? 8 : (tile.bn == 128 ? 4 : 2));
  const int64_t slots = cluster_slots(machine, resident, k_cluster) * k_cluster;
  c.waves = div_up(units, slots);
  const int64_t last = units - (c.waves - 1) * slots;
  c.last_wave_fill = static_cast<double>(last) / static_cast<double>(slots);
  // CTAs that share an SM share its 128 lanes; few warps leave them waiting. 8 x 16 a thread load
  // less beside their multiply-adds than the 8 x 8 of the 64x64 tile.
  const bool tma = kernel == GemmKernel::kFmaTma;
  // sgemm.cu copies a K-major operand, and an MN-major one off the 16-byte grid, by elements.
  double copies = 1;
  for (const bool is_a : {true, false}) {
    if (!(is_a ? p.a_mn : p.b_mn))
      copies *= machine.cuda_core_k_major;
    else if (is_a ? p.repack_a : p.repack_b)
      copies *= machine.cuda_core_ragged;
  }
  const double best = (tma ? machine.cuda_core_tma_efficiency
                           : machine.cuda_core_efficiency * copies * (tile.bn == 64 ? 0.82 : 1.0)) *
                      (tile.groups > 1 ? machine.cuda_core_groups : 1.0);
  auto clocks_of = [&](int64_t ctas) {
    const double warps_here = static_cast<double>(ctas * warps);
    const double few = machine.cuda_core_few_warps * (1 + warps_here / 4);
    const double efficiency = tma ? best : std::min(best, few);
    return static_cast<double>(ctas) * tile.bm * tile.bn * 32.0 / 128.0 / efficiency;
  };
  c.block_clocks = clocks_of(resident) / resident;
  const int64_t blocks = div_up(div_up(p.k, 32), splits * k_cluster * tile.groups) * tile.groups;
  const double turns =
      (c.waves - 1) * clocks_of(resident) + clocks_of(div_up(last, machine.sm_count));
  const double clock_us = 1e-3 / machine.cuda_core_clock_ghz;
  c.mainloop_us = turns * static_cast<double>(blocks) * clock_us;
  c.epilogue_us = static_cast<double>(c.waves) * 1500 * clock_us;
  if (k_cluster > 1) c.epilogue_us += machine.cluster_sum_us + cluster_read_us(machine, c);
  if (tile.groups > 1) c.epilogue_us += machine.group_sum_us;
  c.raster_group = 8;
  add_memory_terms(p, machine, std::min(1.0, 1.9 * static_cast<double>(units) / machine.sm_count),
                   &c);
  return c;
}

}  // namespace

GemmCandidate predict_sgemm_tma(const GemmProblem& p, const GemmMachine& machine, GemmTile tile,
                                int k_cluster) {
  return predict_cuda_cores(p, machine, tile, k_cluster, 1, GemmKernel::kFmaTma);
}

namespace {

// Whether kernels that read by TMA cannot run: operands would have to be moved, and there is no
// room.
bool lacks_room(const GemmProblem& p) {
  return !p.cuda_cores && !p.may_move && (p.repack_a || p.repack_b);
}

// CTAs that may share K of this tile: all tiles fit one wave, and every CTA has a part of K.
template <class Visit>
void for_each_k_cluster(const GemmProblem& p, const GemmMachine& machine, GemmTile tile,
                        Visit visit) {
  const int64_t tiles = div_up(p.m, tile.bm) * div_up(p.n, tile.bn) * p.batches;
  const int64_t blocks = div_up(p.k * p.element_bytes, 128);
  for (int k_cluster = 2; k_cluster <= kMostKCluster; ++k_cluster) {
    if (tiles > cluster_slots(machine, tile.resident, k_cluster) || blocks < 4 * k_cluster) break;
    // Larger clusters put several of their CTAs on an SM and leave others empty (512 cubed in fp32:
    // 18.4 us with four CTAs of 64x64, 16.1 with three).
    if (p.cuda_cores && tile.resident > 1 && k_cluster > 3) break;
    if (div_up(blocks, div_up(blocks, k_cluster)) == k_cluster) visit(k_cluster);
  }
}

template <class Visit>
void for_each_candidate(const GemmProblem& p, const GemmMachine& machine, GemmTile tile,
                        int max_splits, Visit visit) {
  if (lacks_room(p)) return;
  // 64x192 fills one wave where wider tiles leave SMs empty. Over eleven waves (4097 cubed,
  // repacked) it took 1.6 times its prediction, for a reason not known.
  const int64_t tiles = div_up(p.m, tile.bm) * div_up(p.n, tile.bn) * p.batches;
  if (tile.bm == 64 && tile.bn == 192 && tiles > machine.sm_count) return;
  int splits[8];
  const int count = candidate_splits(p, machine, tile, max_splits, splits);
  if (tile.ping_pong) {  // no partial sums, no other output than the operands' own
    if (!p.plain) return;
    for (int cluster : kGemmClusters) {
      if (div_up(p.m, tile.bm) >= cluster) visit(predict_gemm(p, machine, tile, cluster, 1, 1));
    }
    return;
  }
  for (int cluster : kGemmClusters) {
    if (cluster > 1 && (p.cuda_cores || div_up(p.m, tile.bm) < cluster)) continue;
    if (tile.groups > 1) continue;  // only in clusters
    for (int i = 0; i < count; ++i) visit(predict_gemm(p, machine, tile, cluster, 1, splits[i]));
  }
  auto visit_k_clusters = [&] {
    for_each_k_cluster(p, machine, tile, [&](int k_cluster) {
      visit(predict_gemm(p, machine, tile, 1, k_cluster, 1));
    });
  };
  if (p.cuda_cores) return visit_k_clusters();
  if (p.m <= tile.bm) {
    for (int cluster : kSharingAClusters) {
      if (div_up(p.n, tile.bn) < cluster) break;
      for (int i = 0; i < count; ++i)
        visit(predict_gemm(p, machine, tile, cluster, 1, splits[i], true));
    }
  }
  // 64x256 with K over two CTAs took a third longer than predicted, for a reason not known.
  if (tile.bm == 64 && tile.bn == 256) return;
  visit_k_clusters();
}

// Tiles that store D turned, where those of D itself lack a width.
template <class Visit> void for_each_turned_tile(const GemmProblem& p, Visit visit) {
  constexpr int64_t kLeastK = 1024;  // shorter products were not measured
  if (p.k < kLeastK) return;
  if (p.cuda_cores || p.a_mn || !p.b_mn || !p.plain || !p.bulk_d || lacks_room(p)) return;
  for (const GemmTile& tile : kGemmTiles) {
    if (stores_turned(tile, p.element_bytes)) visit(tile);
  }
}

template <class Visit>
void for_each_turned(const GemmProblem& p, const GemmMachine& machine, GemmTile tile, Visit visit) {
  for (int cluster : kGemmClusters) {
    if (div_up(p.n, tile.bm) >= cluster) visit(predict_turned(p, machine, tile, cluster));
  }
}

// Narrow kernels, if a side is narrow enough.
template <class Visit>
void for_each_narrow(const GemmProblem& p, const GemmMachine& machine, Visit visit) {
  if (p.cuda_cores || lacks_room(p) || p.batches > 65535) return;
  const int64_t blocks = div_up(p.k * p.element_bytes, 128);
  // A cluster finds few idle SMs side by side (4097 cubed: 207 us, with K over two CTAs 214).
  const int most_ranks = p.on_idle_sms ? 1 : kMostKCluster;
  for (const bool turned : {true, false}) {
    if ((turned ? p.m : p.n) > kNarrowWidths[2]) continue;
    const int64_t tiles = div_up(turned ? p.n : p.m, kNarrowWide) * p.batches;
    for (int k_cluster = 1; k_cluster <= most_ranks; ++k_cluster) {
      if (k_cluster > 1 &&
          (tiles > cluster_slots(machine, kNarrowResident, k_cluster) || blocks < 4 * k_cluster)) {
        break;
      }
      if (div_up(blocks, div_up(blocks, k_cluster)) != k_cluster) continue;
      visit(predict_narrow(p, machine, turned, k_cluster));
    }
    // Fewer rows, where SMs would be left without a CTA, or some with two and others with one.
    // MN-major rows come in panels of 64.
    if (p.batches > 1 || (turned ? p.b_mn : p.a_mn)) continue;
    for (const int each : {1, kNarrowResident}) {
      const int64_t slots = int64_t{machine.sm_count} * each;
      if (tiles <= slots - machine.sm_count || tiles >= slots || 2 * tiles < slots) continue;
      const int64_t rows = div_up(div_up(turned ? p.n : p.m, slots), 8) * 8;
      visit(predict_narrow(p, machine, turned, 1, static_cast<int>(rows)));
    }
  }
}

// The gathering kernel stands in for repacking; above these sizes it is never the faster one.
template <class Visit>
void for_each_gather(const GemmProblem& p, const GemmMachine& machine, int max_splits,
                     Visit visit) {
  constexpr int64_t kMostK = 4096, kMostSide = int64_t{1} << 20;
  if (p.cuda_cores || p.transpose_a || p.transpose_b || !(p.repack_a || p.repack_b)) return;
  if (p.k > kMostK || p.m > kMostSide || p.n > kMostSide) return;
  for (int groups : kGatherGroups) {
    if (p.element_bytes == 1 && groups > 2) continue;
    int splits[8];
    const int count = candidate_splits(p, machine, {64, 64}, max_splits, splits);
    for (int i = 0; i < count; ++i) visit(predict_gather(p, machine, groups, splits[i]));
  }
}

template <class Visit>
void for_each_fma_tma(const GemmProblem& p, const GemmMachine& machine, Visit visit) {
  const bool as_it_lies = p.a_mn && p.b_mn && !p.repack_a && !p.repack_b;
  if (!p.cuda_cores || !(p.may_move || as_it_lies)) return;
  for (const GemmTile& tile : kCudaCoreTmaTiles) {
    visit(predict_sgemm_tma(p, machine, tile, 1));
    if (tile.groups == 1) continue;
    for_each_k_cluster(p, machine, tile, [&](int k_cluster) {
      visit(predict_sgemm_tma(p, machine, tile, k_cluster));
    });
  }
}

template <class Visit>
void for_each_sgemm_narrow(const GemmProblem& p, const GemmMachine& machine, Visit visit) {
  if (!p.cuda_cores) return;
  const int64_t blocks = div_up(p.k, 32);
  for (const bool turned : {true, false}) {
    if ((turned ? p.m : p.n) > kFmaNarrowMost || !(turned ? p.b_mn : p.a_mn)) continue;
    const int64_t tiles = div_up(turned ? p.n : p.m, kFmaNarrowWide) * p.batches;
    for (int k_cluster = 1; k_cluster <= kMostKCluster; ++k_cluster) {
      if (k_cluster > 1 && tiles > cluster_slots(machine, kFmaNarrowResident, k_cluster)) break;
      if (div_up(blocks, div_up(blocks, k_cluster)) == k_cluster)
        visit(predict_sgemm_narrow(p, machine, turned, k_cluster));
    }
  }
}

template <class Visit> void for_each_tile(const GemmProblem& p, Visit visit) {
  if (p.cuda_cores) {
    for (const GemmTile& tile : kCudaCoreTiles) visit(tile);
  } else {
    for (const GemmTile& tile : kGemmTiles) {
      if (has_gemm_tile(tile, p.element_bytes, p.b_mn)) visit(tile);
    }
  }
}

}  // namespace

int repack_bands(const GemmProblem& p) {
  return static_cast<int>(
      div_up(banded_k(p.k, p.element_bytes) * p.element_bytes, kRepackBand * 128));
}

bool needs_repack(const GemmCandidate& c) {
  return c.kernel != GemmKernel::kGather && c.kernel != GemmKernel::kFma &&
         c.kernel != GemmKernel::kFmaNarrow;
}

GemmCandidate predict_gemm(const GemmProblem& p, const GemmMachine& machine, GemmTile tile,
                           int cluster, int k_cluster, int splits, bool shares_a) {
  if (p.cuda_cores) return predict_cuda_cores(p, machine, tile, k_cluster, splits);
  GemmCandidate c;
  c.bm = tile.bm;
  c.bn = tile.bn;
  c.ping_pong = tile.ping_pong;
  c.cluster = cluster;
  c.shares_a = shares_a;
  c.k_cluster = k_cluster;
  c.splits = splits;
  const int64_t tiles_m = div_up(p.m, tile.bm), tiles_n = div_up(p.n, tile.bn);
  const int64_t units_m = shares_a ? tiles_m : div_up(tiles_m, cluster);
  const int64_t units_n = shares_a ? div_up(tiles_n, cluster) : tiles_n;
  const int64_t units = units_m * units_n * p.batches * splits;
  c.resident = tile.resident;
  const int64_t slots = cluster_slots(machine, tile.resident, cluster * k_cluster);
  c.waves = div_up(units, slots);
  c.last_wave_fill =
      static_cast<double>(units - (c.waves - 1) * slots) / static_cast<double>(slots);

  const double warpgroups = tile.bm / 64.0;
  // Narrower tiles move more bytes per operation; under a power limit that costs clock.
  const double ideal = tile.bm * tile.bn / 32.0;
  const double narrow = std::max(0, 160 - tile.bn);
  // A product that heats the card to its power limit.
  const double operations = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) *
                            static_cast<double>(p.k) * static_cast<double>(p.batches);
  const double warm = operations * p.element_bytes > 6e11 ? machine.warm_cooperative : 1;
  constexpr int kManyWaves = 6;
  const bool pairs_gain = tiles_m == 2 || (tile.bn >= 160 && c.waves >= kManyWaves);
  const double alone = cluster == 1 && pairs_gain ? machine.ping_pong_alone : 1;
  const double sets = p.element_bytes == 1 && tile.bn > 128 ? machine.one_set : 1;
  const double tensor =
      tile.ping_pong
          ? ideal /
                (machine.ping_pong_efficiency * (1 - machine.ping_pong_narrow * narrow * narrow)) *
                alone
          : ideal / machine.tensor_efficiency * (1 + 0.02 * (256 - tile.bn) / 64.0) * warm * sets;
  // Ping-pong kernels reach the tensor cores' rate in spite of it.
  const double shared =
      tile.ping_pong ? 0 : warpgroups * (64 + tile.bn) + 0.9 * (tile.bm + tile.bn);
  // A box's line that does not start on 128 bytes lies in two of L2's.
  const double a_lines = static_cast<double>(tile.bm) / (shares_a ? cluster : 1);
  const int64_t b_rows =
      p.b_mn && tile.bn > 32 ? div_up(tile.bn, 64) * 64 : tile.bn;  // panels of 64 columns
  const double b_lines = static_cast<double>(b_rows) / (shares_a ? 1 : cluster);
  constexpr double kStraddles = 1.6;
  const double fetched =
      (a_lines * (p.straddles_a ? kStraddles : 1) + b_lines * (p.straddles_b ? kStraddles : 1)) *
      128;
  const double busy = std::min(1.0, static_cast<double>(units) / static_cast<double>(slots));
  constexpr int64_t kLongRowBytes = 12288;
  const double l2_rate = !tile.ping_pong                         ? machine.l2_bytes_per_clock
                         : c.waves < 3                           ? machine.ping_pong_l2_few_waves
                         : p.k * p.element_bytes > kLongRowBytes ? machine.ping_pong_l2_long_rows
                                                                 : machine.ping_pong_l2;
  const double l2 = fetched / (l2_rate / std::max(busy, 0.5));
  // Panels of 32 columns have lines of 64 bytes.
  const bool half_lines = p.b_mn && tile.bn == 32 && !shares_a;
  const double lone = warpgroups >= 2                              ? 0
                      : units_m == 1 && splits == 1 && !half_lines ? machine.lone_one_row_clocks
                                                                   : machine.lone_warpgroup_clocks;
  // CTAs that share an SM take turns with all of it but the latency.
  const auto sharing = static_cast<double>(
      std::min<int64_t>(tile.resident, div_up(units * cluster * k_cluster, machine.sm_count)));
  c.block_clocks = std::max({tensor * sharing, shared * sharing, l2 * sharing, lone});
  c.bound = c.block_clocks == tensor * sharing   ? GemmBound::kTensorCores
            : c.block_clocks == shared * sharing ? GemmBound::kSharedMemory
            : c.block_clocks == l2 * sharing     ? GemmBound::kL2
                                                 : GemmBound::kLatency;
  // Boxes that reach outside the matrix take longer than those inside: with one tile along a side,
  // every box does.
  const int64_t rest_m = tiles_m * tile.bm - p.m, rest_n = tiles_n * tile.bn - p.n;
  const int64_t outside = (tiles_m == 1 ? rest_m : 0) + (tiles_n == 1 ? rest_n : 0);
  c.block_clocks += machine.outside_row_clocks * static_cast<double>(outside);
  // Elsewhere the tiles at the edges do, and what their CTAs take longer no empty SM makes good
  // where the last wave is full.
  const double edge_clocks = c.last_wave_fill * machine.outside_row_clocks *
                             static_cast<double>(rest_m + rest_n - outside);

  const int64_t blocks = div_up(div_up(p.k * p.element_bytes, 128), splits * k_cluster);
  const double clock_us = 1e-3 / machine.clock_ghz;
  c.mainloop_us = static_cast<double>(blocks) * (c.waves * c.block_clocks + edge_clocks) * clock_us;
  if (cluster > 1) {
    c.mainloop_us += (shares_a || units_m > 1 ? 1 : 0.5) * machine.cluster_start_us;
  }
  const double staged = splits > 1 ? 4 : p.output_bytes;
  // In ping-pong only the last tile's is not hidden.
  c.epilogue_us = (tile.ping_pong ? 1 : c.waves) * (500 + tile.bn * staged * 1.4) * clock_us;

  // With one wave all of D leaves at once, behind the sums: what tiles of more than 128 x 128 take
  // longer (2048 cubed: 128x256 25.4 us, two tiles of 128x128 in turns 24.8; of a ragged D, 2047
  // cubed, 36 and 38).
  if (c.waves == 1 && p.output_bytes == 2 && splits == 1 && k_cluster == 1 && !p.repack_a &&
      !p.repack_b) {
    const double beyond = std::max(0, tile.bm * tile.bn - 128 * 128) * 2.0;
    c.epilogue_us += beyond / machine.drain_bytes_per_clock * clock_us;
  }

  // Walk tiles so that those in flight form a square of operand bytes: g tiles of bm by w/g of bn.
  const double in_flight =
      std::min<double>(static_cast<double>(slots), static_cast<double>(units_m * units_n));
  const double square = std::sqrt(in_flight * tile.bn / (static_cast<double>(tile.bm) * cluster));
  c.raster_group = static_cast<int>(std::clamp<double>(std::lround(square), 1, 64));
  // Over many waves the CTAs drift apart, most of all in ping-pong; fewer rows of tiles at a time
  // keep them near each other (16384 cubed in ping-pong: 0.89 of the time in bf16, 0.76 in tf32).
  constexpr int64_t kVeryLongRowBytes = 24576;
  const int few_rows = p.k * p.element_bytes > kLongRowBytes ? 4 : 8;
  if (cluster == 1 ? tile.ping_pong || c.waves >= kManyWaves
                   : tile.ping_pong && p.k * p.element_bytes > kVeryLongRowBytes)
    c.raster_group = std::min(c.raster_group, few_rows);
  // In groups of equal size, of some rows more if need be: a last one of few rows shares less
  // (4096x28672x4096 in pairs, 16 rows of them: 1437 us in groups of seven, 1400 of eight).
  const auto groups = std::max<int64_t>(
      1, std::lround(static_cast<double>(units_m) / static_cast<double>(c.raster_group)));
  c.raster_group = static_cast<int>(std::min<int64_t>(div_up(units_m, groups), 64));
  plan_repack(p, machine, slots, &c);

  // The ring holds what 227 KiB leave beside the staging of D.
  const double ring = 2.0e5 / tile.resident;
  const bool streams_b = tiles_m == 1;  // each row of B, or of A, is read once
  const double streamed = streams_b ? tile.bn : tile.bm;
  const double rows = tile.bm + tile.bn, fetched_rows = a_lines + b_lines;
  const int64_t ctas = units * cluster * k_cluster;
  double reach =
      dram_reach(machine, ctas, ring * streamed / rows,
                 tiles_m == 1 || tiles_n == 1 ? 1 - std::min(1.0, streamed / fetched_rows) : 0,
                 machine.dram_reach_per_mb,
                 tile.resident > 1 || p.batches > 1 ? machine.uneven_sms
                 : shares_a                         ? machine.uneven_turns_sharing
                                                    : machine.uneven_turns);
  // The CTAs of a cluster fill pairs of SMs, which share a port, while other pairs stay empty.
  if (shares_a && ctas < machine.sm_count)
    reach /= 1 + machine.packed_sharing * (machine.sm_count / static_cast<double>(ctas) - 1);
  add_memory_terms(p, machine, reach, &c);
  if (k_cluster > 1) {  // nothing hides the sum
    const double sum_us = machine.cluster_sum_us + cluster_read_us(machine, c);
    c.epilogue_us += sum_us;
    c.total_us += sum_us;
  }
  return c;
}

GemmCandidate predict_turned(const GemmProblem& p, const GemmMachine& machine, GemmTile tile,
                             int cluster) {
  GemmProblem turned = p;
  std::swap(turned.m, turned.n);
  std::swap(turned.repack_a, turned.repack_b);
  std::swap(turned.straddles_a, turned.straddles_b);
  turned.a_mn = p.b_mn;
  turned.b_mn = p.a_mn;
  GemmCandidate c = predict_gemm(turned, machine, tile, cluster, 1, 1);
  c.turned = true;
  return c;
}

GemmCandidate predict_narrow(const GemmProblem& p, const GemmMachine& machine, bool turned,
                             int k_cluster, int rows) {
  GemmCandidate c;
  const int64_t wide = turned ? p.n : p.m, narrow = turned ? p.m : p.n;
  c.kernel = GemmKernel::kNarrow;
  c.resident = kNarrowResident;
  c.turned = turned;
  c.bm = rows;
  c.bn = 64;
  // A line of an MN-major operand is 64 elements at least.
  if (!(turned ? p.a_mn : p.b_mn)) c.bn = narrow <= 16 ? 16 : (narrow <= 32 ? 32 : 64);
  c.k_cluster = k_cluster;
  const int64_t clusters = div_up(wide, c.bm) * p.batches;
  const int64_t slots = cluster_slots(machine, c.resident, k_cluster);
  c.waves = div_up(clusters, slots);
  c.last_wave_fill =
      static_cast<double>(clusters - (c.waves - 1) * slots) / static_cast<double>(slots);
  const double sharing = std::clamp(static_cast<double>(clusters * k_cluster) / machine.sm_count,
                                    1.0, 1.0 * c.resident);
  const double tensor = 2.0 * c.bn / machine.tensor_efficiency;
  const double shared = 2.0 * (64 + c.bn) + 0.9 * (rows + c.bn);
  c.block_clocks = std::max({tensor * sharing, shared * sharing, machine.lone_warpgroup_clocks});
  c.bound = c.block_clocks > machine.lone_warpgroup_clocks ? GemmBound::kSharedMemory
                                                           : GemmBound::kLatency;
  const int64_t blocks = div_up(div_up(p.k * p.element_bytes, 128), k_cluster);
  const double clock_us = 1e-3 / machine.clock_ghz;
  c.mainloop_us = static_cast<double>(c.waves * blocks) * c.block_clocks * clock_us;
  // The ring of a CTA, of which the wide operand's lines are bound for DRAM.
  const int64_t stages = narrow_stages(c.bn);
  const int64_t ctas = std::min(clusters, slots) * k_cluster;
  const double ring = static_cast<double>(std::min(stages, blocks) * c.bm * 128);
  double reach = dram_reach(machine, ctas, ring, static_cast<double>(c.bn) / (c.bm + c.bn),
                            machine.narrow_reach_per_mb, machine.uneven_sms);
  if (ctas < machine.sm_count)
    reach /= 1 + machine.empty_sms * (machine.sm_count / static_cast<double>(ctas) - 1);
  // Clusters of four and more put two of their CTAs on an SM while others stay empty.
  if (k_cluster >= 4 && ctas <= machine.sm_count) reach /= 1 + machine.packed_clusters;
  add_memory_terms(p, machine, reach, &c);
  c.epilogue_us = machine.narrow_store_us;
  if (k_cluster > 1) c.epilogue_us += machine.narrow_sum_us + cluster_read_us(machine, c);
  c.total_us += c.epilogue_us;
  return c;
}

GemmCandidate predict_sgemm_narrow(const GemmProblem& p, const GemmMachine& machine, bool turned,
                                   int k_cluster) {
  GemmCandidate c;
  c.kernel = GemmKernel::kFmaNarrow;
  c.turned = turned;
  c.bm = turned ? kFmaNarrowMost : kFmaNarrowWide;
  c.bn = turned ? kFmaNarrowWide : kFmaNarrowMost;
  c.resident = kFmaNarrowResident;
  c.k_cluster = k_cluster;
  const int64_t clusters = div_up(turned ? p.n : p.m, kFmaNarrowWide) * p.batches;
  const int64_t slots = cluster_slots(machine, c.resident, k_cluster);
  c.waves = div_up(clusters, slots);
  c.last_wave_fill =
      static_cast<double>(clusters - (c.waves - 1) * slots) / static_cast<double>(slots);
  c.bound = GemmBound::kLatency;
  const int64_t blocks = div_up(div_up(p.k, 32), k_cluster);
  c.block_clocks = machine.fma_narrow_round_us / 2 * machine.cuda_core_clock_ghz * 1e3;
  c.mainloop_us = static_cast<double>(c.waves * blocks) * machine.fma_narrow_round_us / 2;
  c.epilogue_us = machine.narrow_store_us;
  if (k_cluster > 1) c.epilogue_us += machine.cluster_sum_us;
  constexpr double kInFlight = 64 * kFmaNarrowWide * 4;  // bytes of a CTA's loads
  add_memory_terms(p, machine,
                   dram_reach(machine, std::min(clusters, slots) * k_cluster, kInFlight, 0,
                              machine.narrow_reach_per_mb, machine.uneven_sms),
                   &c);
  return c;
}

GemmCandidate predict_gather(const GemmProblem& p, const GemmMachine& machine, int groups,
                             int splits) {
  GemmCandidate c;
  c.kernel = GemmKernel::kGather;
  c.bm = c.bn = 64;
  c.groups = groups;
  c.splits = splits;
  c.resident = gather_resident(groups, p.element_bytes);
  const int64_t ctas = div_up(p.m, c.bm) * div_up(p.n, c.bn) * p.batches * splits;
  const int64_t slots = int64_t{machine.sm_count} * c.resident;
  c.waves = div_up(ctas, slots);
  c.last_wave_fill = static_cast<double>(ctas - (c.waves - 1) * slots) / static_cast<double>(slots);
  const int64_t warpgroups = std::min<int64_t>(c.resident, div_up(ctas, machine.sm_count)) * groups;
  const int64_t blocks = div_up(div_up(div_up(p.k * p.element_bytes, 128), splits), groups);
  const double block_us =
      machine.gather_block_us + machine.gather_warpgroup_us * static_cast<double>(warpgroups);
  c.block_clocks = block_us * machine.clock_ghz * 1e3;
  c.bound = GemmBound::kLatency;
  c.mainloop_us = static_cast<double>(c.waves * blocks) * block_us;
  add_memory_terms(p, machine, 1, &c);
  // Nothing is in flight beyond one K block: what DRAM takes comes on top.
  c.total_us = machine.gather_launch_us + c.mainloop_us + c.dram_us + c.reduce_us;
  return c;
}

GemmCandidate choose_gemm(const GemmProblem& p, const GemmMachine& machine, int max_splits) {
  GemmCandidate best;
  best.total_us = 1e300;
  auto consider = [&](const GemmCandidate& c) {
    if (c.total_us < best.total_us) best = c;
  };
  for_each_narrow(p, machine, consider);
  if (p.on_idle_sms) return best;  // others would wait for the end of the product ahead
  for_each_tile(p,
                [&](GemmTile tile) { for_each_candidate(p, machine, tile, max_splits, consider); });
  for_each_turned_tile(p, [&](GemmTile tile) { for_each_turned(p, machine, tile, consider); });
  for_each_gather(p, machine, max_splits, consider);
  for_each_fma_tma(p, machine, consider);
  for_each_sgemm_narrow(p, machine, consider);
  return best;
}

int most_splits(const GemmProblem& p, int64_t workspace_bytes) {
  constexpr int64_t kMostBytes = int64_t{64} << 20;
  const double one =
      4.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.batches);
  const double room = static_cast<double>(std::min(workspace_bytes, kMostBytes)) / one;
  return static_cast<int>(std::clamp(room, 1.0, static_cast<double>(kMaxGemmSplits)));
}

std::vector<GemmCandidate> gemm_candidates(const GemmProblem& p, const GemmMachine& machine,
                                           int max_splits) {
  std::vector<GemmCandidate> candidates;
  GemmCandidate best;
  auto keep_best = [&](const GemmCandidate& c) {
    if (c.total_us < best.total_us) best = c;
  };
  auto start = [&] {
    best = {};
    best.total_us = 1e300;
  };
  auto finish = [&] {
    if (best.bm > 0) candidates.push_back(best);
  };
  for_each_tile(p, [&](GemmTile tile) {
    start();
    for_each_candidate(p, machine, tile, max_splits, keep_best);
    finish();
  });
  for_each_turned_tile(p, [&](GemmTile tile) {
    start();
    for_each_turned(p, machine, tile, keep_best);
    finish();
  });
  start();
  for_each_narrow(p, machine, keep_best);
  finish();
  start();
  for_each_gather(p, machine, max_splits, keep_best);
  finish();
  start();
  for_each_fma_tma(p, machine, keep_best);
  finish();
  start();
  for_each_sgemm_narrow(p, machine, keep_best);
  finish();
  std::sort(candidates.begin(), candidates.end(),
            [](const GemmCandidate& a, const GemmCandidate& b) { return a.total_us < b.total_us; });
  return candidates;
}

}  // namespace tw::model
