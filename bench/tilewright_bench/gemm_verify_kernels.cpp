// tilewright-bench gemm --suite verify: every kernel launched past the library's choice.
#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "gemm/lib/elementwise.h"
#include "gemm/lib/gemm_plan.h"
#include "gemm/lib/sgemm.h"
#include "gemm_verify.h"

namespace tilewright::bench {
namespace {

// A kernel for products with one narrow side: D as it is and turned, K whole and split, ragged and
// not.
void verify_narrow(Log& log, const tw::gemm::WgmmaKernel& kernel, bool small) {
  for (bool turned : {false, true}) {
    for (int k_cluster : {1, 2, 3, 8}) {
      for (int ragged = 0; ragged < 2; ++ragged) {
        if (small && (!ragged || k_cluster % 2 == 0)) continue;
        const bool all_rows = small ? k_cluster == 1 : k_cluster == 1 || ragged;
        const int wide_rows = all_rows ? kernel.bm : (k_cluster == 2 ? 72 : 112);
        const int bytes = tw::gemm::element_bytes(kernel.element_a);
        const int64_t unit = 16 / bytes, wide = kernel.a_mn ? 208 : 203;
        const int64_t narrow = kernel.bn - (ragged == 0 ? 0 : (kernel.b_mn ? unit : 3));
        Shape s;
        s.m = turned ? narrow : wide;
        s.n = turned ? wide : narrow;
        s.k = 128 / bytes * 24 - (ragged ? unit : 0);
        s.type = static_cast<Type>(static_cast<int>(kernel.element_a));
        s.type_d = ragged ? Type::kF32 : (k_cluster == 2 ? Type::kF16 : Type::kBf16);
        s.transpose_a = turned ? kernel.b_mn : kernel.a_mn;
        s.transpose_b = !(turned ? kernel.a_mn : kernel.b_mn);
        char name[240];
        std::snprintf(name, sizeof name, "%s narrow %dx%d%s cluster %d %s", type_info(s.type).name,
                      wide_rows, kernel.bn, turned ? " turned" : "", k_cluster,
                      describe(s).c_str());
        log.check("tiles", name, [&] {
          return run_shape(s, [&](const GemmArguments& g) {
            tw::gemm::WgmmaProblem p = kernel_problem(g);
            p.m = int(wide);
            p.n = int(narrow);
            if (turned) std::swap(p.a, p.b);
            p.transposed = turned;
            tw::gemm::WgmmaSchedule schedule;
            schedule.k_cluster = k_cluster;
            schedule.wide_rows = wide_rows;
            return tw::gemm::launch_wgmma(kernel, p, schedule, nullptr);
          });
        });
      }
    }
  }
}

// The kernel without TMA: odd pitches and addresses, batches, more and fewer K blocks than
// warpgroups, sizes below a chunk.
void verify_gather(Log& log, const tw::gemm::WgmmaKernel& kernel, bool small) {
  const int64_t shapes[][3] = {{131, 77, 203}, {64, 128, 512}, {3, 5, 2}, {65, 67, 1029}};
  for (const auto& shape : shapes) {
    for (int64_t offset : {0, 1, 3, 8}) {
      if (small && (shape[2] != 203 || offset != 1)) continue;
      Shape s;
      s.m = shape[0], s.n = shape[1], s.k = shape[2];
      s.type = static_cast<Type>(static_cast<int>(kernel.element_a));
      s.type_d = offset == 0 ? Type::kBf16 : (offset == 1 ? Type::kF32 : Type::kF16);
      s.transpose_a = kernel.a_mn;
      s.transpose_b = !kernel.b_mn;
      s.offset = offset;
      s.pad = offset == 3 ? 5 : 0;
      s.batches = offset == 8 ? 3 : 1;
      const std::string name = std::string(type_info(s.type).name) + " gather " +
                               std::to_string(kernel.threads / 128) + " " + describe(s);
      log.check("tiles", name, [&] {
        return run_shape(s, [&](const GemmArguments& g) {
          return tw::gemm::launch_wgmma(kernel, kernel_problem(g), {}, nullptr);
        });
      });
    }
  }
}

// The same with K split over the grid: partial sums in a workspace, reduced by a second kernel.
void verify_gather_splits(Log& log, const tw::gemm::WgmmaKernel& kernel, bool small) {
  for (const int64_t k : {1029, 5000}) {
    if (small && k != 1029) continue;
    Shape s;
    s.m = 67, s.n = 131, s.k = k;
    s.type = static_cast<Type>(static_cast<int>(kernel.element_a));
    s.type_d = Type::kF32;
    s.transpose_a = kernel.a_mn;
    s.transpose_b = !kernel.b_mn;
    s.offset = 1;
    s.batches = 2;
    s.alpha = 0.5f;
    const int splits = k == 1029 ? 2 : 3;
    const std::string name = std::string(type_info(s.type).name) + " gather " +
                             std::to_string(kernel.threads / 128) + " splits " +
                             std::to_string(splits) + " " + describe(s);
    log.check("tiles", name, [&] {
      DeviceBytes partial(s.m * s.n * s.batches * splits * sizeof(float));
      return run_shape(s, [&](const GemmArguments& g) {
        tw::gemm::WgmmaProblem p = kernel_problem(g);
        tw::gemm::ReduceJob job{};
        job.partial = reinterpret_cast<const float*>(partial.data());
        job.splits = splits;
        job.m = g.m, job.n = g.n, job.batches = int(g.batches);
        job.alpha = g.alpha;
        job.d = p.d, job.ld_d = p.ld_d, job.stride_d = p.stride_d;
        job.output = p.output;
        p.d = partial.data();
        p.ld_d = g.n, p.stride_d = g.m * g.n;
        p.output = tw::gemm::Output::kF32;
        p.alpha = 1;
        tw::gemm::WgmmaSchedule schedule;
        schedule.splits = splits;
        const cudaError_t error = tw::gemm::launch_wgmma(kernel, p, schedule, nullptr);
        return error != cudaSuccess ? error : tw::gemm::launch_reduce(job, 132, nullptr);
      });
    });
  }
}

constexpr int kSharesA = 10;

// An ordinary or ping-pong tile, launched with this cluster.
void verify_tile(Log& log, const tw::gemm::WgmmaKernel& kernel, int cluster, bool ragged,
                 bool native, bool small) {
  const int bytes = tw::gemm::element_bytes(kernel.element_a);
  Shape s;
  s.m = ragged ? 523 : 520;
  s.n = ragged ? 777 : 776;
  s.k = 336;
  if (small) {  // two launches a kernel and kind of cluster
    if (!ragged || cluster < -2 || cluster > kSharesA + 2) return;
    s.m = 149, s.n = 267, s.k = 208;
  }
  if (cluster < 0) {  // one tile a cluster, one wave, a part of K for each CTA
    s.m = s.n = ragged ? 61 : 64;
    s.k = 8176 / bytes;
  }
  s.type = static_cast<Type>(static_cast<int>(kernel.element_a));
  const Type own = kernel.element_a == tw::gemm::Element::kTf32  ? Type::kF32
                   : kernel.element_a == tw::gemm::Element::kF16 ? Type::kF16
                                                                 : Type::kBf16;
  const Type other = own == Type::kF32 ? (cluster == 1 ? Type::kBf16 : Type::kF16) : Type::kF32;
  s.type_d = native ? own : other;
  s.transpose_a = kernel.a_mn;
  s.transpose_b = !kernel.b_mn;
  // A and B need a multiple of 16 bytes; only D's width and pitch are ragged here.
  const int64_t unit = 16 / bytes;
  if (kernel.a_mn) s.m = (s.m + unit - 1) / unit * unit;
  if (kernel.b_mn) s.n = (s.n + unit - 1) / unit * unit;
  if (ragged) s.pad = unit;  // keeps A and B aligned
  if (ragged && kernel.b_mn && bytes == 2 && s.n % 8 == 0) s.alpha = 0.5f;
  char name[240];
  std::snprintf(name, sizeof name, "%s %dx%d%s resident %d cluster %d %s", type_info(s.type).name,
                kernel.bm, kernel.bn, kernel.ping_pong ? " turns" : "", kernel.resident, cluster,
                describe(s).c_str());
  log.check("tiles", name, [&] {
    return run_shape(s, [&](const GemmArguments& g) {
      tw::gemm::WgmmaSchedule schedule;
      schedule.shares_a = cluster >= kSharesA;
      schedule.cluster = std::max(schedule.shares_a ? cluster - kSharesA : cluster, 1);
      schedule.k_cluster = std::max(-cluster, 1);
      schedule.raster_group = 3;
      if (cluster >= 2 || kernel.ping_pong) schedule.sm_count = 4;  // several tiles a CTA
      return tw::gemm::launch_wgmma(kernel, kernel_problem(g), schedule, nullptr);
    });
  });
}

// D^T = B^T A^T, stored turned: D and its pitch in multiples of 16 bytes, whole tiles and parts of
// them, one tile and many, batches.
void verify_turned(Log& log, const tw::gemm::WgmmaKernel& kernel, bool small) {
  const int64_t shapes[][3] = {{520, 776, 336}, {517, 1032, 328}, {9, 2000, 72}, {2100, 8, 1000}};
  for (const auto& shape : shapes) {
    for (int cluster : {1, 2, kSharesA + 2}) {
      if (small && (shape[0] != 9 || cluster > 2)) continue;
      Shape s;
      s.m = shape[0], s.n = shape[1], s.k = shape[2];
      s.type = s.type_d = static_cast<Type>(static_cast<int>(kernel.element_a));
      s.pad = s.m % 2 != 0 ? 8 : 0;
      s.batches = s.m == 9 ? 3 : 1;
      s.alpha = s.m == 2100 ? 0.5f : 1.0f;
      char name[240];
      std::snprintf(name, sizeof name, "%s %dx%d turned turns cluster %d %s",
                    type_info(s.type).name, kernel.bm, kernel.bn, cluster, describe(s).c_str());
      log.check("tiles", name, [&] {
        return run_shape(s, [&](const GemmArguments& g) {
          const tw::gemm::WgmmaProblem p = tw::gemm::turned(kernel_problem(g));
          tw::gemm::WgmmaSchedule schedule;
          schedule.shares_a = cluster >= kSharesA;
          schedule.cluster = schedule.shares_a ? cluster - kSharesA : cluster;
          schedule.raster_group = 3;
          schedule.sm_count = s.m == 517 ? 132 : 4;  // one tile a CTA; several
          return tw::gemm::launch_wgmma(kernel, p, schedule, nullptr);
        });
      });
    }
  }
}

// The row and the column of D behind a product that gathers them, but for the column's rows from
// `column_rows` on: by narrow kernels.
cudaError_t launch_edges(const tw::gemm::WgmmaKernel& kernel, const tw::gemm::WgmmaProblem& product,
                         int column_rows, tw::gemm::WgmmaSchedule schedule) {
  schedule.cluster = 1;
  tw::model::GemmCandidate narrow;
  narrow.kernel = tw::model::GemmKernel::kNarrow;
  narrow.bn = tw::model::kNarrowWidths[0];
  narrow.resident = tw::model::kNarrowResident;
  const int64_t d_bytes = tw::gemm::output_bytes(product.output);
  auto launch = [&](bool row, const tw::gemm::Matrix& wide, int count, const char* line,
                    int64_t d_at, int64_t c_at) {
    const tw::gemm::WgmmaKernel* found =
        row ? tw::gemm::find_wgmma_kernel(kernel.element_b, kernel.element_a, narrow, wide.mn_major,
                                          false)
            : tw::gemm::find_wgmma_kernel(kernel.element_a, kernel.element_b, narrow, wide.mn_major,
                                          false);
    if (found == nullptr) return cudaErrorInvalidValue;
    tw::gemm::WgmmaProblem p = product;
    p.repack = {};
    p.after = product.repack.done;
    p.after_count = product.repack.parts;
    p.a = wide;
    p.b = {line, (product.k + 127) / 128 * 128, 0, false};
    p.m = count;
    p.n = 1;
    p.transposed = row;
    p.d = static_cast<char*>(product.d) + d_at * d_bytes;
    if (product.c != nullptr) p.c = static_cast<const char*>(product.c) + c_at * d_bytes;
    return tw::gemm::launch_wgmma(*found, p, schedule, nullptr);
  };
  const cudaError_t error = launch(true, product.b, product.n, product.repack.row,
                                   product.m * product.ld_d, product.m * product.ld_c);
  if (error != cudaSuccess) return error;
  return launch(false, product.a, column_rows, product.repack.column, product.n, product.n);
}

// The same while the kernel itself repacks both operands, or one of them (repack_order.h): odd
// pitches, small groups so that every kind of part occurs, more and fewer bands of K ahead.
void verify_repacking(Log& log, const tw::gemm::WgmmaKernel& kernel, int cluster, bool native,
                      bool small) {
  const int bytes = tw::gemm::element_bytes(kernel.element_a);
  const int64_t k_band = tw::model::kRepackBand * 128 / bytes;
  for (int which = 1; which < 4; ++which) {  // of A and B, those that are moved
    for (int variant : {0, 1, 2}) {
      // Both ways to store D, and edges; with pairs of CTAs one.
      if (small && (which != 3 || (cluster == 2 && variant > 0))) continue;
      const int bands_ahead = variant == 1 ? 2 : 1;
      const bool edges = variant == 2;  // a row and a column beyond whole tiles
      Shape s;
      s.m = small ? 389 : 1163;
      s.n = small ? 523 : 1301;
      s.k = k_band * (small ? 1 : 2) + (variant == 2 ? 1 : 67);
      s.type = static_cast<Type>(static_cast<int>(kernel.element_a));
      s.type_d = !native                                        ? Type::kF32
                 : kernel.element_a == tw::gemm::Element::kTf32 ? Type::kF32
                 : kernel.element_a == tw::gemm::Element::kF16  ? Type::kF16
                                                                : Type::kBf16;
      if (bands_ahead == 2) s.n = small ? 520 : 1304;  // D by bulk copies
      if (edges) s.m = small ? 257 : 1153, s.n = small ? 385 : 1281;
      s.transpose_a = kernel.a_mn;
      s.transpose_b = !kernel.b_mn;
      s.offset = variant + 1;
      char name[240];
      std::snprintf(name, sizeof name, "%s %dx%d%s repacks %d ahead %d cluster %d%s %s",
                    type_info(s.type).name, kernel.bm, kernel.bn, kernel.ping_pong ? " turns" : "",
                    which, bands_ahead, cluster, edges ? " edges" : "", describe(s).c_str());
      log.check("tiles", name, [&] {
        DeviceBytes storage[2] = {DeviceBytes((s.m + 1024) * (s.k + 1024) * bytes),
                                  DeviceBytes((s.n + 1024) * (s.k + 1024) * bytes)};
        return run_shape(s, [&](const GemmArguments& g) {
          tw::gemm::WgmmaProblem p = kernel_problem(g);
          tw::gemm::MovedPair moved{p.a, p.b, p.a, p.b};
          auto place = [&](const tw::gemm::Matrix& x, int64_t mn, char* to) {
            const int64_t pitch = ((x.mn_major ? mn : g.k) * bytes + 127) / 128 * 128 / bytes;
            return tw::gemm::Matrix{to, pitch, 0, x.mn_major};
          };
          moved.a = place(p.a, g.m, storage[0].data());
          moved.b = place(p.b, g.n, storage[1].data());
          const auto counter_bytes = tw::gemm::repack_counter_bytes(moved, g.m, g.n, g.k, bytes);
          DeviceBytes counters(counter_bytes);
          TW_CUDA(cudaMemset(counters.data(), 0xff, counter_bytes));
          // What is not to be moved meanwhile is moved before.
          for (const bool is_a : {true, false}) {
            if ((which & (is_a ? 1 : 2)) != 0) continue;
            const tw::gemm::Matrix &from = is_a ? p.a : p.b, &to = is_a ? moved.a : moved.b;
            const int64_t mn = is_a ? g.m : g.n;
            TW_CUDA(cudaMemcpy2D(const_cast<void*>(to.data), to.pitch * bytes, from.data,
                                 from.pitch * bytes, (from.mn_major ? mn : g.k) * bytes,
                                 from.mn_major ? g.k : mn, cudaMemcpyDeviceToDevice));
            (is_a ? moved.from_a : moved.from_b) = to;
          }
          p.a = moved.a;
          p.b = moved.b;
          tw::model::GemmCandidate product;
          product.k_bands_ahead = bands_ahead;
          product.first_rows = 300;
          product.first_columns = 600;
          p.m -= edges;
          p.n -= edges;
          const int column_rows = bytes == 2 ? 128 : p.m;
          p.repack = tw::gemm::order_repack(moved, p.m, p.n, g.k, bytes, product, counters.data(),
                                            edges, edges, column_rows);
          tw::gemm::WgmmaSchedule schedule;
          schedule.cluster = cluster;
          schedule.raster_group = 2;
          schedule.sm_count = small ? 4 : 16;
          schedule.programmatic = true;
          cudaError_t error = tw::gemm::launch_repack_ahead(p.repack, 132, nullptr);
          if (error == cudaSuccess) error = tw::gemm::launch_wgmma(kernel, p, schedule, nullptr);
          if (edges && error == cudaSuccess) error = launch_edges(kernel, p, column_rows, schedule);
          // The counters go with this call.
          return error != cudaSuccess ? error : cudaDeviceSynchronize();
        });
      });
    }
  }
}

// Every part of every operand comes once, the first groups' bands of K in order before the rest.
void verify_repack_order(Log& log) {
  for (int i = 0; i < 512; ++i) {
    tw::gemm::RepackOrder order{};
    const int bands[] = {0, 1, 7, 16}, groups[] = {1, 3, 8, 20};
    order.a.bands = bands[i % 4], order.a.group = groups[i / 4 % 4];
    order.b.bands = bands[i / 16 % 4], order.b.group = groups[i / 64 % 4];
    order.a.parts = 8, order.b.parts = 16;
    order.joint = i / 256 != 0;
    order.k_bands = 3;
    order.parts = (order.a.bands * 8 + order.b.bands * 16) * order.k_bands;
    const int first =
        std::min(order.a.bands, order.a.group) * 8 + std::min(order.b.bands, order.b.group) * 16;
    std::string problem;
    std::set<std::tuple<bool, int, int, int>> seen;
    for (int at = 0; at < order.parts; ++at) {
      const tw::gemm::RepackPart part = tw::gemm::part_at(order, at);
      const tw::gemm::RepackOperand& x = part.of_b ? order.b : order.a;
      if (part.band >= x.bands || part.k_band >= order.k_bands || part.part >= x.parts ||
          !seen.emplace(part.of_b, part.k_band, part.band, part.part).second ||
          (at < first * order.k_bands) != (part.band < x.group) ||
          (at < first * order.k_bands && part.k_band != at / first)) {
        problem = "part " + std::to_string(at);
      }
    }
    log.add("repack order", std::to_string(i), problem);
  }
}

}  // namespace

void verify_tiles(Log& log, const Options& options, bool small) {
  if (!small) verify_repack_order(log);
  int count = 0;
  const tw::gemm::WgmmaKernel* all = tw::gemm::wgmma_kernels(&count);
  for (int i = 0; i < count; ++i) {
    const tw::gemm::WgmmaKernel& kernel = all[i];
    if (kernel.element_a != kernel.element_b) continue;
    if (!wants_type(options, static_cast<Type>(static_cast<int>(kernel.element_a)))) continue;
    if (small && kernel.element_a == tw::gemm::Element::kF16) continue;  // as bf16
    if (kernel.kernel == tw::model::GemmKernel::kGather) {
      verify_gather(log, kernel, small);
      verify_gather_splits(log, kernel, small);
      continue;
    }
    if (kernel.kernel == tw::model::GemmKernel::kNarrow) {
      verify_narrow(log, kernel, small);
      continue;
    }
    if (kernel.repack_threads > 0) {
      for (int cluster : {1, 2}) {
        for (const bool native : {true, false})
          verify_repacking(log, kernel, cluster, native, small);
      }
    }
    if (kernel.functions[static_cast<int>(tw::gemm::Epilogue::kTurned)] != nullptr)
      verify_turned(log, kernel, small);
    // Negative: that many CTAs share a tile's K. From kSharesA on: they share A, not B.
    for (int cluster : {1, 2, kSharesA + 2, kSharesA + 4, -2, -3, -4, -8}) {
      if (cluster < 0 && kernel.ping_pong) continue;
      // D's width and pitch on the 16-byte grid or off it, of the operands' own type or another:
      // what decides which epilogue stores it.
      for (int ragged = 0; ragged < 2; ++ragged) {
        for (const bool native : {true, false}) {
          if (!native && kernel.ping_pong) continue;
          verify_tile(log, kernel, cluster, ragged != 0, native, small);
        }
      }
    }
  }
}

// The CUDA-core kernels: every tile and layout, pitches and addresses odd and even.
void verify_sgemm(Log& log) {
  auto check = [&](const char* name, const Shape& s, auto launch, int k_cluster = 1) {
    log.check("sgemm", std::string("f32 ") + name + " " + describe(s), [&] {
      return run_shape(s, [&](const GemmArguments& g) {
        tw::gemm::WgmmaSchedule schedule;
        schedule.raster_group = 2;
        schedule.k_cluster = k_cluster;
        return launch(kernel_problem(g), schedule);
      });
    });
  };
  for (const tw::model::GemmTile& tile : tw::model::kCudaCoreTiles) {
    for (int layout = 0; layout < 4; ++layout) {
      for (int ragged = 0; ragged < 3; ++ragged) {
        Shape s;
        s.m = ragged == 1 ? 271 : 384;
        s.n = ragged == 1 ? 389 : 512;
        s.k = ragged == 1 ? 67 : 96;
        s.offset = ragged == 2 ? 1 : 0;
        s.type = s.type_d = Type::kF32;
        s.transpose_a = layout & 1;
        s.transpose_b = layout >> 1;
        const std::string name = std::to_string(tile.bm) + "x" + std::to_string(tile.bn) +
                                 (tile.groups > 1 ? " groups " + std::to_string(tile.groups) : "");
        const auto launch = [&](const tw::gemm::WgmmaProblem& p,
                                const tw::gemm::WgmmaSchedule& schedule) {
          return tw::gemm::launch_sgemm(p, tile, schedule, nullptr);
        };
        if (tile.groups == 1) check(name.c_str(), s, launch);
        // K over the CTAs of a cluster.
        s.k = ragged == 1 ? 263 : 512;
        s.type_d = ragged == 2 ? Type::kBf16 : Type::kF32;
        s.batches = ragged == 2 ? 2 : 1;
        for (const int ranks : {2, 3, 4, 8}) {
          check((name + " k-cluster " + std::to_string(ranks)).c_str(), s, launch, ranks);
        }
      }
    }
  }
  // Up to four columns or rows: K in parts, any pitch and address, beta.
  for (const bool turned : {false, true}) {
    for (const int narrow : {1, 2, 3, 4}) {
      for (const int ranks : {1, 3, 8}) {
        Shape s;
        const int64_t wide = narrow == 2 ? 128 : 331;
        s.m = turned ? narrow : wide;
        s.n = turned ? wide : narrow;
        s.k = ranks == 1 ? 45 : 1003;
        s.offset = narrow == 3 ? 1 : 0;
        s.batches = narrow == 4 ? 2 : 1;
        s.type = Type::kF32;
        s.type_d = narrow == 2 ? Type::kBf16 : Type::kF32;
        s.transpose_a = !turned || narrow == 1;
        s.transpose_b = !turned && narrow == 3;
        s.alpha = narrow == 1 ? 0.5f : 1.0f;
        check(("narrow k-cluster " + std::to_string(ranks)).c_str(), s,
              [&](const tw::gemm::WgmmaProblem& p, const tw::gemm::WgmmaSchedule& schedule) {
                return tw::gemm::launch_sgemm_narrow(p, turned, schedule, nullptr);
              },
              ranks);
      }
    }
  }
  for (const int64_t k : {8, 36, 160, 1000}) {
    for (const Type out : {Type::kF32, Type::kBf16}) {
      Shape s;
      s.m = k == 160 ? 384 : 268;  // operands suit TMA
      s.n = k == 160 ? 512 : 388;
      s.k = k;
      s.pad = k == 36 ? 4 : 0;
      s.type = Type::kF32;
      s.type_d = out;
      s.transpose_a = true;
      s.alpha = k == 8 ? 0.5f : 1.0f;
      for (const tw::model::GemmTile& tile : tw::model::kCudaCoreTmaTiles) {
        for (const int ranks : {1, 2, 4}) {
          if (tile.groups == 1 && ranks > 1) continue;
          const std::string name =
              "TMA 128x" + std::to_string(tile.bn) + " k-cluster " + std::to_string(ranks);
          check(
              name.c_str(), s,
              [&](const tw::gemm::WgmmaProblem& p, const tw::gemm::WgmmaSchedule& schedule) {
                return tw::gemm::launch_sgemm_tma(p, tile, schedule, nullptr);
              },
              ranks);
        }
      }
    }
  }
}

}  // namespace tilewright::bench
