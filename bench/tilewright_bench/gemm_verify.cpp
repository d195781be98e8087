// tilewright-bench gemm --suite verify: results of the library on shapes chosen to break it.
//
// Every element of D is compared with double; D is poisoned first and everything outside it (row
// padding, gaps between batches, 64 elements either side) must keep its poison. Covered: every tile
// x cluster x layout directly; through the API: types, outputs, orders, transposes, offsets of 0..7
// elements, leading dimensions, beta (with NaN in C when beta is 0), splits, batches, k = 0, zero
// sizes, one row or column; refusals; the same bits over repeated runs and two streams.
#include "gemm_verify.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

namespace tilewright::bench {
namespace {

constexpr int64_t kMargin = 64;  // elements of poison either side of D

// Stored lines x length of an operand under order and transpose.
void stored(const Shape& s, bool is_a, int64_t* lines, int64_t* length) {
  const int64_t rows = is_a ? s.m : s.k, columns = is_a ? s.k : s.n;
  const bool transposed = is_a ? s.transpose_a : s.transpose_b;
  const bool row_major = (s.order == Order::kRowMajor) != transposed;
  *lines = row_major ? rows : columns;
  *length = row_major ? columns : rows;
}

}  // namespace

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

std::string run_shape(const Shape& s,
                      const std::function<cudaError_t(const GemmArguments&)>& launch) {
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

void Log::add(const std::string& group, const std::string& name, const std::string& problem) {
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

void Log::check(const std::string& group, const std::string& name,
                const std::function<std::string()>& run) {
  const bool by_group = options_.suite != "sanitize" && selected(options_, group);
  if (by_group || selected(options_, name)) add(group, name, run());
}

void Log::summary() const { std::printf("%d checks, %d failures\n", count_, failures_); }

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

bool wants_type(const Options& options, Type type) {
  return options.types.empty() || std::find(options.types.begin(), options.types.end(),
                                            type_info(type).name) != options.types.end();
}

namespace {

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
    if (type == Type::kF32) {  // large enough for operands to be transposed or repacked
      for (int layout = 0; layout < 4; ++layout) {
        Shape s;
        s.type_d = native;
        s.transpose_a = layout & 1;
        s.transpose_b = layout >> 1;
        s.m = 2043, s.n = 2037, s.k = 1021, s.offset = layout, s.pad = layout % 2;
        check(s);
        s.m = 2048, s.n = 2048, s.k = 1024, s.offset = s.pad = 0, s.beta = 0.5f, s.alpha = 2;
        check(s);
      }
    }
    if (type == Type::kF32 || type == Type::kTf32) {  // a row and a column beyond whole tiles
      for (const int64_t size : {1153, 2049, 2177}) {
        Shape s;
        s.type_d = native;
        s.m = size, s.n = size, s.k = type == Type::kF32 ? 67 : 1001;
        check(s);
        s.transpose_a = true;
        s.offset = 1, s.alpha = 2, s.beta = 0.5f;
        check(s);
        s.order = Order::kColumnMajor;
        s.alias_c = true;
        check(s);
      }
    }
    if (type != Type::kF32) {  // large enough to be repacked while the product runs; edges apart
      for (int layout = 0; layout < 4; ++layout) {
        Shape s;
        s.type_d = native;
        s.transpose_a = layout & 1;
        s.transpose_b = layout >> 1;
        s.m = 2047, s.n = 2039, s.k = 2051, s.offset = layout;
        check(s);
        s.m = 2049, s.n = 2177, s.pad = 1, s.beta = layout % 2 ? 0.5f : 0.0f;
        check(s);
      }
    }
    if (type == Type::kBf16 || type == Type::kF16) {  // tiles that store D turned
      Shape s;
      s.type_d = native;
      s.m = 1541, s.n = 1544, s.k = 1544, s.pad = 8;
      check(s);
      s.order = Order::kColumnMajor;
      std::swap(s.m, s.n);
      check(s);
    }
    // So long that it repacks while it runs; a row, a column and a few k beyond tiles and bands.
    for (int layout = 0; type != Type::kF32 && layout < 4; ++layout) {
      constexpr int64_t kRest[] = {1, 3, 8, 41};
      Shape s;
      s.type_d = native;
      s.transpose_a = layout & 1;
      s.transpose_b = layout >> 1;
      s.m = 2305, s.n = 3073;
      s.k = (type == Type::kE4m3 || type == Type::kE5m2 ? 9216 : 4608) + kRest[layout];
      s.offset = layout;
      check(s);
      s.order = Order::kColumnMajor;
      check(s);
      s.alpha = 1.5f, s.beta = 0.5f, s.pad = 1;
      check(s);
      s.order = Order::kRowMajor, s.m = 2303;
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

// The same bits from 100 runs, and from two streams at once; the last one repacks while it runs,
// with its edges on idle SMs.
void verify_determinism(Log& log) {
  const Shape shapes[] = {{500, 700, 900},    {64, 512, 8192, false, true},   {513, 511, 129, true},
                          {2047, 2561, 2049}, {4097, 2049, 1025, true, true}, {4097, 4097, 4097}};
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
    const int runs = s.m * s.n > 10'000'000 ? 20 : 100;
    for (int run = 0; run < runs && problem.empty(); ++run) {
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

// A launch or two of every kernel at small ragged sizes, for compute-sanitizer (--suite sanitize).
void verify_small(Log& log, const Options& options) {
  auto api = [&](const Shape& s) { log.check("api", describe(s), [&] { return run_shape(s); }); };
  for (Type type : {Type::kBf16, Type::kTf32, Type::kE4m3, Type::kF32}) {
    if (!wants_type(options, type)) continue;
    for (int layout = 0; layout < 4; ++layout) {
      Shape s;
      s.transpose_a = layout & 1;
      s.transpose_b = layout >> 1;
      s.type = type;
      s.type_d = type == Type::kTf32 || type == Type::kF32 ? Type::kF32 : Type::kBf16;
      s.m = 133, s.n = 131, s.k = 67;
      api(s);
      s.m = 5, s.n = 261, s.k = 1029;  // the narrow kernel, K in parts
      api(s);
    }
    Shape s;
    s.type = type;
    s.type_d = type == Type::kTf32 || type == Type::kF32 ? Type::kF32 : Type::kBf16;
    s.m = 72, s.n = 136, s.k = 8200, s.beta = 1;  // parts of K
    api(s);
  }
  if (wants_type(options, Type::kF32)) verify_sgemm(log);
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
  const bool one_group = log.wants("refusals") || log.wants("tiles") || log.wants("sgemm") ||
                         log.wants("api") || log.wants("determinism");
  if (log.wants("refusals")) verify_refusals(log);
  if (log.wants("tiles") || !one_group) verify_tiles(log, options);  // --only names some of them
  if (log.wants("sgemm")) verify_sgemm(log);
  if (log.wants("api")) verify_api(log, options);
  if (log.wants("determinism")) verify_determinism(log);
  log.summary();
}

}  // namespace tilewright::bench
