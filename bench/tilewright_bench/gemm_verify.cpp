// tilewright-bench gemm --suite verify: results of the library on shapes chosen to break it.
//
// Every element of D is compared with double; D is poisoned first and everything outside it (row
// padding, gaps between batches, 64 elements either side) must keep its poison. Covered: every tile
// x cluster x layout directly; through the API: types, outputs, orders, transposes, offsets of 0..7
// elements, leading dimensions, beta (with NaN in C when beta is 0), splits, batches, k = 0, zero
// sizes, one row or column; refusals; the same bits over repeated runs and two streams.
#include <cuda_bf16.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "frame.h"
#include "gemm/lib/sgemm.h"
#include "gemm/lib/wgmma_launch.h"
#include "gemm_cases.h"

namespace tilewright::bench {
namespace {

constexpr int64_t kMargin = 64;  // elements of poison either side of D

struct Shape {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  Order order = Order::kRowMajor;
  Type type = Type::kBf16, type_d = Type::kBf16;
  int64_t offset = 0, pad = 0, batches = 1;
  float alpha = 1, beta = 0;
  bool alias_c = false;
};

std::string describe(const Shape& s) {
  char text[200];
  std::snprintf(
      text, sizeof text,
      "%s->%s %c%c %s %lldx%lldx%lld offset %lld pad %lld batches %lld alpha %g beta %g%s",
      type_info(s.type).name, type_info(s.type_d).name, s.transpose_a ? 't' : 'n',
      s.transpose_b ? 't' : 'n', s.order == Order::kRowMajor ? "row" : "column",
      static_cast<long long>(s.m), static_cast<long long>(s.n), static_cast<long long>(s.k),
      static_cast<long long>(s.offset), static_cast<long long>(s.pad),
      static_cast<long long>(s.batches), s.alpha, s.beta, s.alias_c ? " in place" : "");
  return text;
}

class DeviceBytes {
 public:
  explicit DeviceBytes(size_t bytes) : bytes_(bytes) {
    TW_CUDA(cudaMalloc(&data_, std::max<size_t>(bytes, 256)));
  }
  ~DeviceBytes() { cudaFree(data_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  char* data() const { return static_cast<char*>(data_); }
  size_t size() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

// Stored lines x length of an operand under order and transpose.
void stored(const Shape& s, bool is_a, int64_t* lines, int64_t* length) {
  const int64_t rows = is_a ? s.m : s.k, columns = is_a ? s.k : s.n;
  const bool transposed = is_a ? s.transpose_a : s.transpose_b;
  const bool row_major = (s.order == Order::kRowMajor) != transposed;
  *lines = row_major ? rows : columns;
  *length = row_major ? columns : rows;
}

// Runs one shape; the returned text says what is wrong, empty when nothing is.
// `launch` may replace the API call (to force a tile); null uses gemm().
std::string run_shape(const Shape& s,
                      const std::function<cudaError_t(const GemmArguments&)>& launch = nullptr) {
  const int bytes = type_info(s.type).bytes, d_bytes = type_info(s.type_d).bytes;
  int64_t a_lines, a_length, b_lines, b_length;
  stored(s, true, &a_lines, &a_length);
  stored(s, false, &b_lines, &b_length);
  const bool row = s.order == Order::kRowMajor;
  const int64_t d_lines = row ? s.m : s.n, d_length = row ? s.n : s.m;
  GemmArguments g;
  g.m = s.m;
  g.n = s.n;
  g.k = s.k;
  g.order = s.order;
  g.transpose_a = s.transpose_a;
  g.transpose_b = s.transpose_b;
  g.type_a = g.type_b = s.type;
  g.type_d = s.type_d;
  g.alpha = s.alpha;
  g.beta = s.beta;
  g.batches = s.batches;
  g.ld_a = a_length + s.pad;
  g.ld_b = b_length + s.pad;
  g.ld_d = d_length + s.pad;
  g.ld_c = s.alias_c ? g.ld_d : d_length + 2 * s.pad;
  g.stride_a = a_lines * g.ld_a + s.offset;
  g.stride_b = b_lines * g.ld_b + s.offset;
  g.stride_d = d_lines * g.ld_d + s.offset;
  g.stride_c = s.alias_c ? g.stride_d : d_lines * g.ld_c;
  const int64_t a_count = g.stride_a * s.batches + kMargin,
                b_count = g.stride_b * s.batches + kMargin;
  const int64_t d_count = g.stride_d * s.batches + 2 * kMargin,
                c_count = g.stride_c * s.batches + 2 * kMargin;
  DeviceBytes a(a_count * bytes), b(b_count * bytes), c(c_count * d_bytes), d(d_count * d_bytes);
  fill_uniform(a.data(), a_count, s.type, 11);
  fill_uniform(b.data(), b_count, s.type, 12);
  // beta == 0 must not read C: then it holds NaN (all bits set).
  if (s.beta == 0) {
    TW_CUDA(cudaMemset(c.data(), 0xff, c.size()));
  } else {
    fill_uniform(c.data(), c_count, s.type_d, 13);
  }
  TW_CUDA(cudaMemset(d.data(), 0xff, d.size()));
  const int64_t d_at = kMargin + s.offset;
  std::vector<char> host_c(c.size());
  TW_CUDA(cudaMemcpy(host_c.data(), c.data(), c.size(), cudaMemcpyDeviceToHost));
  if (s.alias_c && s.beta != 0) {
    // C is D: only its elements are filled, the rest keeps its poison.
    for (int64_t z = 0; z < s.batches; ++z) {
      TW_CUDA(cudaMemcpy2D(d.data() + (d_at + z * g.stride_d) * d_bytes, g.ld_d * d_bytes,
                           c.data() + (kMargin + z * g.stride_c) * d_bytes, g.ld_c * d_bytes,
                           d_length * d_bytes, d_lines, cudaMemcpyDeviceToDevice));
    }
  }
  g.a = a.data() + s.offset * bytes;
  g.b = b.data() + s.offset * bytes;
  g.d = d.data() + d_at * d_bytes;
  g.c = s.alias_c ? g.d : c.data() + kMargin * d_bytes;
  if (launch) {
    const cudaError_t error = launch(g);
    if (error != cudaSuccess) return std::string("launch: ") + cudaGetErrorString(error);
  } else {
    GemmWorkspace need;
    Status status = gemm_workspace(g, &need);
    if (!status) return std::string("workspace query: ") + status.argument + ": " + status.message;
    DeviceBytes workspace(need.recommended);
    TW_CUDA(cudaMemset(workspace.data(), 0xff, std::max<size_t>(need.recommended, 1)));
    status = gemm(g, workspace.data(), need.recommended, nullptr);
    if (!status) return std::string(status.argument) + ": " + status.message;
    TW_CUDA(cudaDeviceSynchronize());
  }
  TW_CUDA(cudaDeviceSynchronize());
  std::vector<char> got(d.size());
  TW_CUDA(cudaMemcpy(got.data(), d.data(), d.size(), cudaMemcpyDeviceToHost));
  std::vector<char> written(d_count, 0);
  int64_t wrong = 0, first_row = -1, first_column = -1;
  double first_got = 0, first_want = 0;
  std::vector<int64_t> rows(d_lines);
  for (int64_t i = 0; i < d_lines; ++i) rows[i] = i;
  DeviceBytes reference(size_t(d_lines) * d_length * sizeof(double));
  std::vector<double> want(size_t(d_lines) * d_length);
  const double unit =
      s.type_d == Type::kBf16 ? 1.0 / 256 : (s.type_d == Type::kF16 ? 1.0 / 2048 : 1.0 / (1 << 22));
  const double per_term = s.type == Type::kTf32 ? 2e-3 : (bytes == 1 ? 3e-4 : 1e-6);
  for (int64_t z = 0; z < s.batches; ++z) {
    // Row-major of the stored lines: for column-major, D^T = op(B)^T op(A)^T.
    GemmArguments r = g;
    if (!row) {
      std::swap(r.m, r.n);
      std::swap(r.a, r.b);
      std::swap(r.ld_a, r.ld_b);
      std::swap(r.stride_a, r.stride_b);
      std::swap(r.transpose_a, r.transpose_b);
    }
    r.a = static_cast<const char*>(r.a) + z * r.stride_a * bytes;
    r.b = static_cast<const char*>(r.b) + z * r.stride_b * bytes;
    std::fill(want.begin(), want.end(), 0.0);
    if (s.k > 0) {
      reference_rows(r, rows, reinterpret_cast<double*>(reference.data()));
      TW_CUDA(cudaMemcpy(want.data(), reference.data(), want.size() * sizeof(double),
                         cudaMemcpyDeviceToHost));
    }
    for (int64_t i = 0; i < d_lines; ++i) {
      for (int64_t j = 0; j < d_length; ++j) {
        const int64_t at = d_at + z * g.stride_d + i * g.ld_d + j;
        written[at] = 1;
        double value = s.alpha * want[i * d_length + j];
        if (s.beta != 0) {
          value += s.beta *
                   host_value(host_c.data(), kMargin + z * g.stride_c + i * g.ld_c + j, s.type_d);
        }
        const double out = host_value(got.data(), at, s.type_d);
        const double tolerance = unit * std::fabs(value) + per_term * std::sqrt(double(s.k)) * 4 +
                                 1e-7 * double(s.k) + 1e-6;
        if (!(std::fabs(out - value) <= tolerance)) {
          if (wrong++ == 0) {
            first_row = i;
            first_column = j;
            first_got = out;
            first_want = value;
          }
        }
      }
    }
  }
  int64_t stray = 0;
  for (int64_t i = 0; i < d_count; ++i) {
    if (written[i]) continue;
    for (int byte = 0; byte < d_bytes; ++byte) {
      if (static_cast<unsigned char>(got[i * d_bytes + byte]) != 0xff) {
        ++stray;
        break;
      }
    }
  }
  if (wrong == 0 && stray == 0) return "";
  char text[200];
  std::snprintf(text, sizeof text,
                "%lld wrong (first at line %lld, element %lld: %g, not %g), %lld stray writes",
                static_cast<long long>(wrong), static_cast<long long>(first_row),
                static_cast<long long>(first_column), first_got, first_want,
                static_cast<long long>(stray));
  return text;
}

class Log {
 public:
  Log(std::vector<Case>& cases, const Options& options) : cases_(cases), options_(options) {}
  void add(const std::string& group, const std::string& name, const std::string& problem) {
    if (cases_.empty() || cases_.back().name != group) {
      cases_.emplace_back();
      cases_.back().name = group;
      std::printf("%s\n", group.c_str());
    }
    ++count_;
    if (!problem.empty()) ++failures_;
    if (!problem.empty()) std::printf("  WRONG %s: %s\n", name.c_str(), problem.c_str());
    std::fflush(stdout);
    Outcome outcome;
    outcome.name = name;
    outcome.error = problem;
    outcome.checked = true;
    cases_.back().outcomes.push_back(outcome);
  }
  bool wants(const std::string& group) const { return selected(options_, group); }
  void summary() const { std::printf("%d checks, %d failures\n", count_, failures_); }

 private:
  std::vector<Case>& cases_;
  const Options& options_;
  int count_ = 0, failures_ = 0;
};

// The arguments as the kernels take them (row-major).
tw::gemm::WgmmaProblem kernel_problem(const GemmArguments& g) {
  tw::gemm::WgmmaProblem p{};
  p.m = int(g.m), p.n = int(g.n), p.k = int(g.k);
  p.batches = int(g.batches);
  p.a = {g.a, g.ld_a, g.stride_a, g.transpose_a};
  p.b = {g.b, g.ld_b, g.stride_b, !g.transpose_b};
  p.d = g.d;
  p.ld_d = g.ld_d, p.stride_d = g.stride_d;
  p.output = g.type_d == Type::kF32    ? tw::gemm::Output::kF32
             : g.type_d == Type::kBf16 ? tw::gemm::Output::kBf16
                                       : tw::gemm::Output::kF16;
  p.alpha = g.alpha;
  return p;
}

// --types
bool wants_type(const Options& options, Type type) {
  return options.types.empty() || std::find(options.types.begin(), options.types.end(),
                                            type_info(type).name) != options.types.end();
}

// A kernel for products with one narrow side: D as it is and turned, K whole and split, ragged and
// not.
void verify_narrow(Log& log, const tw::gemm::WgmmaKernel& kernel, bool small) {
  for (bool turned : {false, true}) {
    for (int k_cluster : {1, 2, 3, 8}) {
      for (int ragged = 0; ragged < 2; ++ragged) {
        if (small && (!ragged || k_cluster % 2 == 0)) continue;
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
        std::snprintf(name, sizeof name, "%s narrow %d%s cluster %d %s", type_info(s.type).name,
                      kernel.bn, turned ? " turned" : "", k_cluster, describe(s).c_str());
        log.add("tiles", name, run_shape(s, [&](const GemmArguments& g) {
                  tw::gemm::WgmmaProblem p = kernel_problem(g);
                  p.m = int(wide);
                  p.n = int(narrow);
                  if (turned) std::swap(p.a, p.b);
                  p.transposed = turned;
                  tw::gemm::WgmmaSchedule schedule;
                  schedule.k_cluster = k_cluster;
                  return tw::gemm::launch_wgmma(kernel, p, schedule, nullptr);
                }));
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
      log.add("tiles", name, run_shape(s, [&](const GemmArguments& g) {
                return tw::gemm::launch_wgmma(kernel, kernel_problem(g), {}, nullptr);
              }));
    }
  }
}

// Every instance, forced: the model would leave most of them out on small shapes.
void verify_tiles(Log& log, const Options& options, bool small = false) {
  int count = 0;
  const tw::gemm::WgmmaKernel* all = tw::gemm::wgmma_kernels(&count);
  for (int i = 0; i < count; ++i) {
    const tw::gemm::WgmmaKernel& kernel = all[i];
    if (kernel.element_a != kernel.element_b) continue;
    if (!wants_type(options, static_cast<Type>(static_cast<int>(kernel.element_a)))) continue;
    if (small && kernel.element_a == tw::gemm::Element::kF16) continue;  // as bf16
    if (kernel.kernel == tw::model::GemmKernel::kGather) {
      verify_gather(log, kernel, small);
      continue;
    }
    if (kernel.kernel == tw::model::GemmKernel::kNarrow) {
      verify_narrow(log, kernel, small);
      continue;
    }
    for (int cluster : {1, 2, -2, -3, -4, -8}) {  // negative: that many CTAs share a tile's K
      for (int ragged = 0; ragged < 2; ++ragged) {
        Shape s;
        s.m = ragged ? 523 : 520;
        s.n = ragged ? 777 : 776;
        s.k = 336;
        if (small) {  // one launch a kernel and kind of cluster
          if (!ragged || cluster < -2) continue;
          s.m = 149, s.n = 267, s.k = 208;
        }
        if (cluster < 0)
          s.m = s.n = ragged ? 61 : 64,
          s.k = 4080;  // one tile a cluster, one wave, a part of K for each CTA
        s.type = static_cast<Type>(static_cast<int>(kernel.element_a));
        s.type_d = ragged
                       ? (cluster == 2 || cluster == -4 ? Type::kF32
                                                        : (cluster == 1 ? Type::kBf16 : Type::kF16))
                       : Type::kBf16;
        s.transpose_a = kernel.a_mn;
        s.transpose_b = !kernel.b_mn;
        s.pad = 0;
        // A and B need a multiple of 16 bytes; only D's pitch is ragged here.
        const int64_t unit = 16 / type_info(s.type).bytes;
        if (kernel.a_mn) s.m = (s.m + unit - 1) / unit * unit;
        if (kernel.b_mn) s.n = (s.n + unit - 1) / unit * unit;
        if (ragged) s.pad = unit;  // keeps A and B aligned
        char name[240];
        std::snprintf(name, sizeof name, "%s %dx%d resident %d cluster %d %s",
                      type_info(s.type).name, kernel.bm, kernel.bn, kernel.resident, cluster,
                      describe(s).c_str());
        if (cluster < 0 && type_info(s.type).bytes == 4) s.k = 2040;
        if (cluster < 0 && type_info(s.type).bytes == 1) s.k = 8176;
        const std::string problem = run_shape(s, [&](const GemmArguments& g) {
          tw::gemm::WgmmaSchedule schedule;
          schedule.cluster = std::max(cluster, 1);
          schedule.k_cluster = std::max(-cluster, 1);
          schedule.raster_group = 3;
          if (cluster == 2) schedule.sm_count = 4;  // several tiles a CTA
          return tw::gemm::launch_wgmma(kernel, kernel_problem(g), schedule, nullptr);
        });
        log.add("tiles", name, problem);
      }
    }
  }
}

// The CUDA-core kernel: every tile and layout, pitches and addresses odd and even, with and without
// splits.
void verify_sgemm(Log& log) {
  for (const tw::gemm::SgemmTileShape& tile : tw::gemm::kSgemmTiles) {
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
        char name[240];
        std::snprintf(name, sizeof name, "f32 %dx%d %s", tile.bm, tile.bn, describe(s).c_str());
        log.add("sgemm", name, run_shape(s, [&](const GemmArguments& g) {
                  tw::gemm::WgmmaSchedule schedule;
                  schedule.raster_group = 2;
                  return tw::gemm::launch_sgemm(kernel_problem(g), tile, schedule, nullptr);
                }));
      }
    }
  }
}

void verify_api(Log& log, const Options& options) {
  std::vector<Type> types = {Type::kBf16, Type::kF16,  Type::kTf32,
                             Type::kF32,  Type::kE4m3, Type::kE5m2};
  for (Type type : types) {
    if (!wants_type(options, type)) continue;
    const Type native = type == Type::kTf32 || type == Type::kF32
                            ? Type::kF32
                            : (type == Type::kF16 ? Type::kF16 : Type::kBf16);
    const std::string group = std::string("api ") + type_info(type).name;
    auto check = [&](Shape s) {
      s.type = type;
      log.add(group, describe(s), run_shape(s));
    };
    for (int layout = 0; layout < 4; ++layout) {
      Shape s;
      s.transpose_a = layout & 1;
      s.transpose_b = layout >> 1;
      s.type_d = native;
      s.m = 264, s.n = 520, s.k = 392;
      check(s);
      s.order = Order::kColumnMajor;
      check(s);
      s.m = 261, s.n = 517, s.k = 391;
      s.alpha = 1.5f, s.beta = 0.5f;
      check(s);
      s.order = Order::kRowMajor;
      s.alias_c = true;
      check(s);
      s.alias_c = false;
      s.offset = 3, s.pad = 5;
      check(s);
      s.m = 130, s.n = 66, s.k = 4099, s.offset = 0, s.beta = 0;
      check(s);
      s.m = 67, s.n = 131, s.k = 65, s.batches = 3, s.pad = 1;
      check(s);
    }
    for (int64_t offset = 0; offset < 8; ++offset) {
      Shape s;
      s.m = 129, s.n = 200, s.k = 72, s.offset = offset, s.pad = 8 - offset % 8, s.type_d = native;
      check(s);
      s.transpose_b = true;
      check(s);
    }
    for (Type out : {Type::kF32, Type::kBf16, Type::kF16}) {
      Shape s;
      s.m = 199, s.n = 301, s.k = 100, s.type_d = out, s.beta = 2, s.alpha = -1;
      check(s);
    }
    const int64_t edge[][3] = {{1, 1, 1},      {1, 300, 77}, {300, 1, 77}, {77, 300, 1},
                               {1, 4096, 512}, {7, 9, 11},   {64, 64, 64}, {65, 65, 65},
                               {128, 257, 16}, {0, 5, 5},    {5, 0, 5},    {33, 35, 0}};
    for (const auto& e : edge) {
      Shape s;
      s.m = e[0], s.n = e[1], s.k = e[2], s.type_d = native;
      check(s);
      s.beta = 1;
      check(s);
    }
  }
}

void verify_refusals(Log& log) {
  DeviceBytes buffer(1 << 20);
  auto base = [&] {
    GemmArguments g;
    g.m = 64, g.n = 64, g.k = 64;
    g.ld_a = g.ld_b = g.ld_c = g.ld_d = 64;
    g.a = buffer.data();
    g.b = buffer.data() + 65536;
    g.c = buffer.data() + 131072;
    g.d = buffer.data() + 196608;
    return g;
  };
  auto expect = [&](const char* name, const char* argument, const GemmArguments& g) {
    const Status status = gemm(g, nullptr, 0, nullptr);
    std::string problem;
    if (status.ok())
      problem = "accepted";
    else if (std::strcmp(status.argument, argument) != 0)
      problem = std::string("named ") + status.argument;
    log.add("refusals", name, problem);
  };
  GemmArguments g = base();
  g.m = -1;
  expect("negative m", "m", g);
  g = base(), g.k = -5;
  expect("negative k", "k", g);
  g = base(), g.ld_a = 63;
  expect("short ld_a", "ld_a", g);
  g = base(), g.ld_b = 1;
  expect("short ld_b", "ld_b", g);
  g = base(), g.ld_d = 63;
  expect("short ld_d", "ld_d", g);
  g = base(), g.a = nullptr;
  expect("null a", "a", g);
  g = base(), g.d = nullptr;
  expect("null d", "d", g);
  g = base(), g.c = nullptr, g.beta = 1;
  expect("null c with beta", "c", g);
  g = base(), g.a = buffer.data() + 1;
  expect("a off its element", "a", g);
  g = base(), g.d = buffer.data() + 128;
  expect("d over a", "d", g);
  g = base(), g.beta = 1, g.c = buffer.data() + 196608 + 128;
  expect("c partly over d", "c", g);
  g = base(), g.type_b = Type::kF16;
  expect("mixed types", "type_b", g);
  g = base(), g.type_d = Type::kE4m3;
  expect("fp8 output", "type_d", g);
  // Short products are gathered from where they lie; this one is repacked.
  g = base(), g.m = g.n = 8, g.k = 5000, g.transpose_b = true, g.ld_a = 5001, g.ld_b = 5000;
  expect("no workspace for a ragged pitch", "workspace_bytes", g);
}

// The same bits from 100 runs, and from two streams at once.
void verify_determinism(Log& log) {
  const Shape shapes[] = {{500, 700, 900}, {64, 512, 8192, false, true}, {513, 511, 129, true}};
  for (const Shape& s : shapes) {
    GemmArguments g;
    g.m = s.m, g.n = s.n, g.k = s.k;
    g.transpose_a = s.transpose_a, g.transpose_b = s.transpose_b;
    g.ld_a = s.transpose_a ? s.m : s.k, g.ld_b = s.transpose_b ? s.k : s.n, g.ld_d = s.n;
    DeviceBytes a(s.m * s.k * 2), b(s.k * s.n * 2), d0(s.m * s.n * 2), d1(s.m * s.n * 2);
    fill_uniform(a.data(), s.m * s.k, Type::kBf16, 1);
    fill_uniform(b.data(), s.k * s.n, Type::kBf16, 2);
    g.a = a.data(), g.b = b.data(), g.d = d0.data();
    GemmWorkspace need;
    std::string problem;
    if (!gemm_workspace(g, &need)) problem = "workspace query failed";
    DeviceBytes w0(need.recommended), w1(need.recommended);
    cudaStream_t stream[2];
    for (cudaStream_t& x : stream) TW_CUDA(cudaStreamCreateWithFlags(&x, cudaStreamNonBlocking));
    TW_CUDA(cudaDeviceSynchronize());
    std::vector<char> first(s.m * s.n * 2), now(first.size());
    for (int run = 0; run < 100 && problem.empty(); ++run) {
      GemmArguments h = g;
      h.d = d1.data();
      if (!gemm(g, w0.data(), w0.size(), stream[0]) || !gemm(h, w1.data(), w1.size(), stream[1]))
        problem = "refused";
      TW_CUDA(cudaDeviceSynchronize());
      for (const DeviceBytes* d : {&d0, &d1}) {
        TW_CUDA(cudaMemcpy(now.data(), d->data(), now.size(), cudaMemcpyDeviceToHost));
        if (run == 0 && d == &d0) first = now;
        if (now != first) problem = "bits differ in run " + std::to_string(run);
      }
    }
    for (cudaStream_t x : stream) TW_CUDA(cudaStreamDestroy(x));
    log.add("determinism", describe(s), problem);
  }
}

// ---- What callers get wrong, and what sizes get wrong (--suite faults)

std::vector<char> run_and_fetch(const GemmArguments& g, size_t d_bytes, std::string* problem,
                                cudaStream_t stream = nullptr) {
  GemmWorkspace need;
  if (!gemm_workspace(g, &need)) *problem = "workspace query failed";
  DeviceBytes workspace(need.recommended);
  const Status status = gemm(g, workspace.data(), need.recommended, stream);
  if (!status) *problem = std::string(status.argument) + ": " + status.message;
  TW_CUDA(cudaDeviceSynchronize());
  std::vector<char> out(d_bytes);
  TW_CUDA(cudaMemcpy(out.data(), g.d, d_bytes, cudaMemcpyDeviceToHost));
  return out;
}

// Row-major, packed.
GemmArguments packed(int64_t m, int64_t n, int64_t k, Type type, Type type_d) {
  GemmArguments g;
  g.m = m, g.n = n, g.k = k;
  g.type_a = g.type_b = type;
  g.type_d = type_d;
  g.ld_a = k, g.ld_b = n, g.ld_d = g.ld_c = n;
  return g;
}

// m * n beyond 2^31: a few rows against double, the last one included.
void verify_large(Log& log, int64_t m, int64_t n, int64_t k, Type type) {
  const TypeInfo& info = type_info(type);
  const Type type_d = type == Type::kF32 ? Type::kF32 : Type::kBf16;
  const int d_bytes = type_info(type_d).bytes;
  GemmArguments g = packed(m, n, k, type, type_d);
  DeviceBytes a(m * k * info.bytes), b(k * n * info.bytes), d(size_t(m) * n * d_bytes);
  fill_uniform(a.data(), m * k, type, 1);
  fill_uniform(b.data(), k * n, type, 2);
  TW_CUDA(cudaMemset(d.data(), 0xff, d.size()));
  g.a = a.data(), g.b = b.data(), g.d = d.data();
  std::string problem;
  GemmWorkspace need;
  if (!gemm_workspace(g, &need)) problem = "workspace query failed";
  DeviceBytes workspace(need.recommended);
  const Status status = gemm(g, workspace.data(), need.recommended, nullptr);
  if (!status) problem = std::string(status.argument) + ": " + status.message;
  TW_CUDA(cudaDeviceSynchronize());
  const std::vector<int64_t> rows = {0, m / 2, m - 129, m - 1};
  DeviceBytes reference(rows.size() * n * sizeof(double));
  reference_rows(g, rows, reinterpret_cast<double*>(reference.data()));
  std::vector<double> want(rows.size() * n);
  TW_CUDA(cudaMemcpy(want.data(), reference.data(), want.size() * sizeof(double),
                     cudaMemcpyDeviceToHost));
  std::vector<char> got(n * d_bytes);
  for (size_t i = 0; i < rows.size() && problem.empty(); ++i) {
    TW_CUDA(cudaMemcpy(got.data(), d.data() + rows[i] * n * d_bytes, got.size(),
                       cudaMemcpyDeviceToHost));
    for (int64_t j = 0; j < n && problem.empty(); ++j) {
      const double w = want[i * n + j], v = host_value(got.data(), j, type_d);
      const double sums = info.bytes == 1 ? 3e-4 * std::sqrt(double(k)) : 1e-4;  // fp8: 14 bits
      if (!(std::fabs(v - w) <= std::fabs(w) / 128 + sums))
        problem = "row " + std::to_string(rows[i]) + ", column " + std::to_string(j) + ": " +
                  std::to_string(v) + ", not " + std::to_string(w);
    }
  }
  char name[120];
  std::snprintf(name, sizeof name, "%s %lldx%lldx%lld", info.name, static_cast<long long>(m),
                static_cast<long long>(n), static_cast<long long>(k));
  log.add("faults: m * n beyond 2^31", name, problem);
}

// NaN and infinity in one element of A reach their row of D, and no other.
void verify_special_values(Log& log, Type type, float value, const char* what) {
  const int64_t m = 131, n = 77, k = 203;
  GemmArguments g = packed(m, n, k, type, Type::kF32);
  const int bytes = type_info(type).bytes;
  DeviceBytes a(m * k * bytes), b(k * n * bytes), d(m * n * 4);
  fill_uniform(a.data(), m * k, type, 1);
  fill_uniform(b.data(), k * n, type, 2);
  const int64_t row = 70, column = 201;
  const __nv_bfloat16 half = __float2bfloat16(value);
  const void* bits = bytes == 4 ? static_cast<const void*>(&value) : &half;
  TW_CUDA(cudaMemcpy(a.data() + (row * k + column) * bytes, bits, bytes, cudaMemcpyHostToDevice));
  g.a = a.data(), g.b = b.data(), g.d = d.data();
  std::string problem;
  const std::vector<char> got = run_and_fetch(g, d.size(), &problem);
  for (int64_t i = 0; i < m && problem.empty(); ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const bool finite = std::isfinite(host_value(got.data(), i * n + j, Type::kF32));
      if (finite == (i == row))
        problem = "element " + std::to_string(i) + ", " + std::to_string(j) + " is " +
                  (finite ? "finite" : "not finite");
    }
  }
  log.add("faults: values", std::string(type_info(type).name) + " " + what, problem);
}

void verify_faults(Log& log) {
  // Every element offset of every operand alone, and leading dimensions larger than needed.
  for (Type type : {Type::kBf16, Type::kTf32, Type::kF32, Type::kE4m3}) {
    for (int64_t offset = 0; offset < 16; ++offset) {
      Shape s;
      s.m = 69, s.n = 75, s.k = 83, s.type = type;
      s.type_d = type == Type::kTf32 || type == Type::kF32 ? Type::kF32 : Type::kBf16;
      s.offset = offset;
      s.pad = offset * 7 % 19;
      log.add("faults: offsets and leading dimensions", describe(s), run_shape(s));
      s.transpose_b = true;
      s.order = Order::kColumnMajor;
      log.add("faults: offsets and leading dimensions", describe(s), run_shape(s));
    }
  }
  // One row, one column, nothing at all; C with NaN and beta 0 is part of every run_shape.
  for (Type type : {Type::kBf16, Type::kF32, Type::kE5m2}) {
    const int64_t shapes[][3] = {{1, 999, 333}, {999, 1, 333}, {1, 1, 4097}, {0, 9, 9},
                                 {9, 0, 9},     {9, 9, 0},     {0, 0, 0},    {64, 1, 64}};
    for (const auto& e : shapes) {
      for (const float beta : {0.0f, 1.5f}) {
        Shape s;
        s.m = e[0], s.n = e[1], s.k = e[2], s.type = type, s.beta = beta;
        s.type_d = type == Type::kF32 ? Type::kF32 : Type::kBf16;
        log.add("faults: thin and empty", describe(s), run_shape(s));
      }
    }
  }
  verify_special_values(log, Type::kBf16, NAN, "NaN");
  verify_special_values(log, Type::kBf16, INFINITY, "infinity");
  verify_special_values(log, Type::kF32, NAN, "NaN");
  verify_special_values(log, Type::kF32, INFINITY, "infinity");
  verify_special_values(log, Type::kTf32, NAN, "NaN");
  verify_special_values(log, Type::kTf32, INFINITY, "infinity");
  // Pointers off their element are refused by name, at every byte.
  DeviceBytes buffer(1 << 20);
  for (int byte = 1; byte < 16; ++byte) {
    for (int which = 0; which < 3; ++which) {
      GemmArguments g = packed(64, 64, 64, Type::kF32, Type::kF32);
      const char* base = buffer.data();
      g.a = base + (which == 0 ? byte : 0);
      g.b = base + 65536 + (which == 1 ? byte : 0);
      g.d = buffer.data() + 131072 + (which == 2 ? byte : 0);
      const Status status = gemm(g, nullptr, 0, nullptr);
      const char* name[] = {"a", "b", "d"};
      std::string problem;
      if (byte % 4 == 0 ? !status : (status.ok() || std::strcmp(status.argument, name[which]) != 0))
        problem = status.ok() ? "accepted" : std::string("refused, naming ") + status.argument;
      log.add("faults: bytes", std::string(name[which]) + " + " + std::to_string(byte), problem);
    }
  }
  TW_CUDA(cudaDeviceSynchronize());
  // D over C by one row: refused; D over A: refused; D and C the same matrix: part of verify.
  for (const int rows : {1, 63}) {
    GemmArguments g = packed(64, 64, 64, Type::kF32, Type::kF32);
    g.beta = 1;
    g.a = buffer.data(), g.b = buffer.data() + 65536, g.d = buffer.data() + 131072;
    g.c = buffer.data() + 131072 + rows * 256;
    Status status = gemm(g, nullptr, 0, nullptr);
    log.add("faults: overlap", "C " + std::to_string(rows) + " rows into D",
            !status.ok() && !std::strcmp(status.argument, "c") ? "" : "not refused as c");
    g.c = buffer.data() + 262144;
    g.d = buffer.data() + (64 - rows) * 256;
    status = gemm(g, nullptr, 0, nullptr);
    log.add("faults: overlap", "D " + std::to_string(rows) + " rows into A",
            !status.ok() && !std::strcmp(status.argument, "d") ? "" : "not refused as d");
  }
  verify_large(log, 65600, 32768, 64, Type::kBf16);
  verify_large(log, 65539, 32773, 37, Type::kBf16);
  verify_large(log, 65539, 32773, 37, Type::kF32);
  verify_large(log, 65539, 32773, 40, Type::kE4m3);
}

// A launch or two of every kernel at small ragged sizes, for compute-sanitizer (--suite sanitize).
void verify_small(Log& log, const Options& options) {
  for (Type type : {Type::kBf16, Type::kTf32, Type::kE4m3, Type::kF32}) {
    for (int layout = 0; layout < 4; ++layout) {
      Shape s;
      s.transpose_a = layout & 1;
      s.transpose_b = layout >> 1;
      s.type = type;
      s.type_d = type == Type::kTf32 || type == Type::kF32 ? Type::kF32 : Type::kBf16;
      s.m = 133, s.n = 131, s.k = 67;
      log.add("api", describe(s), run_shape(s));
      s.m = 5, s.n = 261, s.k = 1029;  // the narrow kernel, K in parts
      log.add("api", describe(s), run_shape(s));
    }
    Shape s;
    s.type = type;
    s.type_d = type == Type::kTf32 || type == Type::kF32 ? Type::kF32 : Type::kBf16;
    s.m = 72, s.n = 136, s.k = 8200, s.beta = 1;  // parts of K
    log.add("api", describe(s), run_shape(s));
  }
  verify_sgemm(log);
  verify_tiles(log, options, true);
}

}  // namespace

void verify_gemm(const Options& options, std::vector<Case>& cases) {
  Log log(cases, options);
  if (options.suite == "faults") {
    verify_faults(log);
    log.summary();
    return;
  }
  if (options.suite == "sanitize") {
    verify_small(log, options);
    log.summary();
    return;
  }
  if (log.wants("refusals")) verify_refusals(log);
  if (log.wants("tiles")) verify_tiles(log, options);
  if (log.wants("sgemm")) verify_sgemm(log);
  if (log.wants("api")) verify_api(log, options);
  if (log.wants("determinism")) verify_determinism(log);
  log.summary();
}

}  // namespace tilewright::bench
