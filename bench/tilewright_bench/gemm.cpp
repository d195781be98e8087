// tilewright-bench gemm: our GEMM against cuBLASLt, and against padding by hand where sizes are
// ragged.
//
// Per case: `ours` through the public API; `cublas0`..`cublas7`, the heuristic's candidates in its
// order, each with the same operands and 64 MiB of workspace; `padded` (ragged cases): pad A and B
// to a multiple of 8 by a plain kernel, cuBLASLt's first candidate, crop. After timing, `ratio` on
// `ours` is its speed over the best of cuBLASLt's, `ratio_first` over its first. `--suite tiles`
// with `--sizes` times every kernel that could run a case beside the model's prediction (aligned
// sizes only). Layouts are named by the row-major operation: "nt" = A as it is, B stored n x k.
// Results are checked on sampled rows against double before anything is timed.
#include <cublasLt.h>
#include <cuda.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include "frame.h"
#include "gemm/lib/gemm_plan.h"
#include "gemm_cases.h"
#include "gemm_forced.h"

namespace tilewright::bench {
namespace {

#define TW_LT(call)                                                                    \
  do {                                                                                 \
    const cublasStatus_t status_ = (call);                                             \
    if (status_ != CUBLAS_STATUS_SUCCESS) {                                            \
      std::fprintf(stderr, "%s:%d: %s: cuBLAS status %d\n", __FILE__, __LINE__, #call, \
                   int(status_));                                                      \
      std::exit(3);                                                                    \
    }                                                                                  \
  } while (0)

std::string layout_name(const GemmCase& c) {
  return std::string(c.transpose_a ? "t" : "n") + (c.transpose_b ? "t" : "n");
}

int sm_count() {
  int device = 0, count = 0;
  TW_CUDA(cudaGetDevice(&device));
  TW_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

constexpr size_t kWorkspaceBytes = size_t{64} << 20;

// One cuBLASLt problem: row-major D = op(A) op(B) given as the column-major D^T = op(B)^T op(A)^T.
class LtProblem {
 public:
  LtProblem(cublasLtHandle_t handle, const GemmCase& c, int64_t ld_a, int64_t ld_b, int64_t ld_d,
            Type type_d, int64_t stride_a, int64_t stride_b, int64_t stride_d,
            const float* unit_scale)
      : handle_(handle) {
    const bool tf32 = c.type->type == Type::kTf32, fp8 = c.type->bytes == 1;
    TW_LT(cublasLtMatmulDescCreate(
        &operation_, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t first = c.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = c.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(CUBLASLT_MATMUL_DESC_TRANSA, first);
    set(CUBLASLT_MATMUL_DESC_TRANSB, second);
    if (fp8) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, unit_scale);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, unit_scale);
    }
    layout(&a_, c.type->cuda, c.transpose_b ? c.k : c.n, c.transpose_b ? c.n : c.k, ld_b, c.batches,
           stride_b);
    layout(&b_, c.type->cuda, c.transpose_a ? c.m : c.k, c.transpose_a ? c.k : c.m, ld_a, c.batches,
           stride_a);
    layout(&d_, type_info(type_d).cuda, c.n, c.m, ld_d, c.batches, stride_d);
    cublasLtMatmulPreference_t preference;
    TW_LT(cublasLtMatmulPreferenceCreate(&preference));
    TW_LT(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &kWorkspaceBytes, sizeof kWorkspaceBytes));
    cublasLtMatmulHeuristicResult_t found[8];
    int count = 0;
    if (cublasLtMatmulAlgoGetHeuristic(handle, operation_, a_, b_, d_, d_, preference, 8, found,
                                       &count) == CUBLAS_STATUS_SUCCESS) {
      for (int i = 0; i < count; ++i) algorithms_.push_back(found[i].algo);
    }
    cublasLtMatmulPreferenceDestroy(preference);
  }
  ~LtProblem() {
    cublasLtMatrixLayoutDestroy(a_);
    cublasLtMatrixLayoutDestroy(b_);
    cublasLtMatrixLayoutDestroy(d_);
    cublasLtMatmulDescDestroy(operation_);
  }
  LtProblem(const LtProblem&) = delete;
  LtProblem& operator=(const LtProblem&) = delete;

  int algorithms() const { return int(algorithms_.size()); }
  cublasStatus_t run(int algorithm, const void* a, const void* b, void* d, void* workspace,
                     cudaStream_t stream) const {
    const float one = 1, zero = 0;
    return cublasLtMatmul(handle_, operation_, &one, b, a_, a, b_, &zero, d, d_, d, d_,
                          &algorithms_[algorithm], workspace, kWorkspaceBytes, stream);
  }

 private:
  template <class T> void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    TW_LT(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value));
  }
  static void layout(cublasLtMatrixLayout_t* out, cudaDataType type, int64_t rows, int64_t columns,
                     int64_t ld, int64_t batches, int64_t stride) {
    TW_LT(cublasLtMatrixLayoutCreate(out, type, rows, columns, ld));
    if (batches > 1) {
      const int32_t count = int32_t(batches);
      TW_LT(cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                             sizeof count));
      TW_LT(cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                             &stride, sizeof stride));
    }
  }
  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;
};

// Names of the kernels that a launch queues, in order: cuBLASLt's say tile, stages and cluster.
std::string queued_kernels(const Candidate& candidate) {
  cudaStream_t stream;
  cudaGraph_t graph;
  TW_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  TW_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  candidate.launch(0, stream);
  TW_CUDA(cudaStreamEndCapture(stream, &graph));
  size_t count = 0;
  TW_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  TW_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  std::string names;
  for (const cudaGraphNode_t node : nodes) {
    CUDA_KERNEL_NODE_PARAMS p{};
    const char* name = nullptr;
    if (cuGraphKernelNodeGetParams(node, &p) != CUDA_SUCCESS) continue;  // a memset, say
    const CUresult found =
        p.func != nullptr ? cuFuncGetName(&name, p.func) : cuKernelGetName(&name, p.kern);
    if (found == CUDA_SUCCESS) names += (names.empty() ? "" : "; ") + std::string(name);
  }
  TW_CUDA(cudaGraphDestroy(graph));
  TW_CUDA(cudaStreamDestroy(stream));
  return names;
}

// ||D - reference|| / ||reference|| over sampled rows of batch 0.
double row_error(const GemmArguments& g, std::string* problem) {
  std::vector<int64_t> rows;
  for (int64_t r : {int64_t{0}, g.m / 3, g.m / 2 + 1, g.m - 1}) {
    if (r >= 0 && r < g.m && (rows.empty() || rows.back() != r)) rows.push_back(r);
  }
  double* reference = nullptr;
  TW_CUDA(cudaMalloc(&reference, rows.size() * g.n * sizeof(double)));
  reference_rows(g, rows, reference);
  std::vector<double> want(rows.size() * g.n);
  TW_CUDA(cudaMemcpy(want.data(), reference, want.size() * sizeof(double), cudaMemcpyDeviceToHost));
  TW_CUDA(cudaFree(reference));
  const int bytes = type_info(g.type_d).bytes;
  std::vector<char> got(size_t(g.n) * bytes);
  double error = 0, norm = 0, worst = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    TW_CUDA(cudaMemcpy(got.data(), static_cast<const char*>(g.d) + rows[i] * g.ld_d * bytes,
                       got.size(), cudaMemcpyDeviceToHost));
    for (int64_t j = 0; j < g.n; ++j) {
      const double r = want[i * g.n + j], e = host_value(got.data(), j, g.type_d) - r;
      error += e * e;
      norm += r * r;
      if (!(std::fabs(e) <= worst)) worst = std::fabs(e);
    }
  }
  const double relative = std::sqrt(error / std::max(norm, 1e-300));
  const double tolerance = g.type_d == Type::kBf16 || g.type_d == Type::kF16 ? 5e-3
                           : g.type_a == Type::kF32                          ? 1e-5
                                                                             : 2e-3;
  if (!(relative < tolerance)) {
    char text[96];
    std::snprintf(text, sizeof text, "relative error %.3g, worst %.3g", relative, worst);
    *problem = text;
  }
  return relative;
}

void run_case(const GemmCase& c, const Options& options, cublasLtHandle_t handle, void* workspace,
              const float* unit_scale, std::vector<Case>& cases) {
  const int bytes = c.type->bytes;
  const Type type_d = bytes == 2 ? c.type->type : (bytes == 4 ? Type::kF32 : Type::kBf16);
  const int d_bytes = type_info(type_d).bytes;
  GemmArguments g;
  g.m = c.m;
  g.n = c.n;
  g.k = c.k;
  g.batches = c.batches;
  g.transpose_a = c.transpose_a;
  g.transpose_b = c.transpose_b;
  g.type_a = g.type_b = c.type->type;
  g.type_d = type_d;
  g.ld_a = c.transpose_a ? c.m : c.k;
  g.ld_b = c.transpose_b ? c.k : c.n;
  g.ld_d = c.n;
  g.stride_a = c.m * c.k;
  g.stride_b = c.k * c.n;
  g.stride_d = c.m * c.n;
  const size_t a_bytes = size_t(c.m) * c.k * bytes * c.batches,
               b_bytes = size_t(c.k) * c.n * bytes * c.batches,
               out_bytes = size_t(c.m) * c.n * d_bytes * c.batches,
               all = a_bytes + b_bytes + out_bytes;
  RotatingBuffers a(a_bytes, all), b(b_bytes, all), d(out_bytes, all);
  for (int i = 0; i < a.count(); ++i)
    fill_uniform(a[i], c.m * c.k * c.batches, c.type->type, 2 * i + 1);
  for (int i = 0; i < b.count(); ++i)
    fill_uniform(b[i], c.k * c.n * c.batches, c.type->type, 2 * i + 2);
  d.fill(0xff);
  g.a = a[0];
  g.b = b[0];
  g.d = d[0];
  GemmWorkspace need;
  const Status sized = gemm_workspace(g, &need);
  void* own = workspace;  // the workspace every candidate has, unless repacking wants more
  if (need.recommended > kWorkspaceBytes) TW_CUDA(cudaMalloc(&own, need.recommended));
  const size_t own_bytes = std::max(need.recommended, kWorkspaceBytes);

  Case out;
  char name[128];
  std::snprintf(name, sizeof name, "%s %s %lldx%lldx%lld%s%s%s", c.type->name,
                layout_name(c).c_str(), static_cast<long long>(c.m), static_cast<long long>(c.n),
                static_cast<long long>(c.k), c.batches > 1 ? " b" : "",
                c.batches > 1 ? std::to_string(c.batches).c_str() : "", c.note);
  out.name = name;
  out.unit = "TFLOP/s";
  out.work = 2.0 * double(c.m) * double(c.n) * double(c.k) * double(c.batches);
  out.fields = {
      {"type", c.type->name},     {"layout", layout_name(c)},
      {"m", std::to_string(c.m)}, {"n", std::to_string(c.n)},
      {"k", std::to_string(c.k)}, {"batches", std::to_string(c.batches)},
      {"suite", options.suite},   {"kernels", sized ? tw::gemm::describe_call(g, sm_count()) : ""}};
  auto run_ours = [&](int slot, cudaStream_t stream) {
    GemmArguments here = g;
    here.a = a[slot];
    here.b = b[slot];
    here.d = d[slot];
    const Status status = gemm(here, own, own_bytes, stream);
    if (!status) {
      std::fprintf(stderr, "%s: %s: %s (CUDA error %d)\n", name, status.argument, status.message,
                   status.cuda_error);
      std::exit(3);
    }
  };
  double our_error = 0, cublas_error = 0;
  std::vector<Candidate> candidates;
  if (sized) {
    candidates.push_back({"ours", run_ours, [&] {
                            std::string problem;
                            TW_CUDA(cudaMemset(d[0], 0xff, out_bytes));
                            run_ours(0, nullptr);
                            TW_CUDA(cudaDeviceSynchronize());
                            our_error = row_error(g, &problem);
                            return problem;
                          }});
  }
  LtProblem lt(handle, c, g.ld_a, g.ld_b, g.ld_d, type_d, g.stride_a, g.stride_b, g.stride_d,
               unit_scale);
  for (int i = 0; i < lt.algorithms(); ++i) {
    candidates.push_back({"cublas" + std::to_string(i),
                          [&, i](int slot, cudaStream_t stream) {
                            lt.run(i, a[slot], b[slot], d[slot], workspace, stream);
                          },
                          [&, i] {
                            std::string problem;
                            TW_CUDA(cudaMemset(d[0], 0xff, out_bytes));
                            const cublasStatus_t status =
                                lt.run(i, a[0], b[0], d[0], workspace, nullptr);
                            if (status != CUBLAS_STATUS_SUCCESS)
                              return "cuBLAS status " + std::to_string(int(status));
                            TW_CUDA(cudaDeviceSynchronize());
                            const double e = row_error(g, &problem);
                            if (i == 0) cublas_error = e;
                            return problem;
                          }});
  }
  // Padding by hand: sizes to a multiple of 8 (16 for one-byte elements, which cuBLAS wants).
  const int64_t unit = bytes == 1 ? 16 : 8;
  const bool ragged =
      (g.ld_a * bytes) % 16 != 0 || (g.ld_b * bytes) % 16 != 0 || (g.ld_d * d_bytes) % 16 != 0;
  std::unique_ptr<LtProblem> padded;
  void *pad_a = nullptr, *pad_b = nullptr, *pad_d = nullptr;
  if (ragged && c.batches == 1) {
    GemmCase p = c;
    p.m = (c.m + unit - 1) / unit * unit;
    p.n = (c.n + unit - 1) / unit * unit;
    p.k = (c.k + unit - 1) / unit * unit;
    const int64_t ld_a = p.transpose_a ? p.m : p.k, ld_b = p.transpose_b ? p.k : p.n;
    padded = std::make_unique<LtProblem>(handle, p, ld_a, ld_b, p.n, type_d, 0, 0, 0, unit_scale);
    if (padded->algorithms() > 0) {
      TW_CUDA(cudaMalloc(&pad_a, size_t(p.m) * p.k * bytes));
      TW_CUDA(cudaMalloc(&pad_b, size_t(p.k) * p.n * bytes));
      TW_CUDA(cudaMalloc(&pad_d, size_t(p.m) * p.n * d_bytes));
      candidates.push_back({"padded",
                            [&, p, ld_a, ld_b](int slot, cudaStream_t stream) {
                              pad(a[slot], c.transpose_a ? c.k : c.m, c.transpose_a ? c.m : c.k,
                                  g.ld_a, pad_a, c.transpose_a ? p.k : p.m, ld_a, bytes, stream);
                              pad(b[slot], c.transpose_b ? c.n : c.k, c.transpose_b ? c.k : c.n,
                                  g.ld_b, pad_b, c.transpose_b ? p.n : p.k, ld_b, bytes, stream);
                              padded->run(0, pad_a, pad_b, pad_d, workspace, stream);
                              pad(pad_d, c.m, c.n, p.n, d[slot], c.m, c.n, d_bytes, stream);
                            },
                            nullptr});
    }
  }
  std::vector<ForcedKernel> forced;
  if (options.suite == "tiles") {
    const bool moved = (g.ld_a * bytes) % 16 != 0 || (g.ld_b * bytes) % 16 != 0;
    forced = add_forced_kernels(c, moved, g, {a, b, d, workspace, kWorkspaceBytes}, &candidates);
  }
  measure(out, candidates, options);
  double ours = 0, best = 0, first = 0;
  for (const Outcome& o : out.outcomes) {
    if (o.name == "ours") ours = o.rate;
    if (o.name.rfind("cublas", 0) == 0) best = std::max(best, o.rate);
    if (o.name == "cublas0") first = o.rate;
  }
  for (Outcome& o : out.outcomes) {
    for (const Candidate& candidate : candidates) {
      if (candidate.name == o.name && o.error.empty() && o.name.rfind("cublas", 0) == 0)
        o.kernels = queued_kernels(candidate);
    }
    if (o.name == "ours") {
      o.more["relative_error"] = our_error;
      if (best > 0) o.more["ratio"] = ours / best;
      if (first > 0) o.more["ratio_first"] = ours / first;
    }
    if (o.name == "cublas0") o.more["relative_error"] = cublas_error;
    for (const ForcedKernel& f : forced) {
      if (f.name == o.name) o.more["predicted_us"] = f.predicted_us;
    }
  }
  print_case(out);
  if (ours > 0 && best > 0) {
    std::printf("    ratio to cuBLAS's best %.3f, to its first %.3f; error %.3g (cuBLAS %.3g)\n",
                ours / best, ours / first, our_error, cublas_error);
    std::fflush(stdout);
  }
  cases.push_back(out);
  if (own != workspace) TW_CUDA(cudaFree(own));
  TW_CUDA(cudaFree(pad_a));
  TW_CUDA(cudaFree(pad_b));
  TW_CUDA(cudaFree(pad_d));
}

std::vector<GemmCase> suite_cases(const std::string& suite,
                                  const std::vector<const TypeInfo*>& types) {
  std::vector<GemmCase> out;
  auto add = [&](int64_t m, int64_t n, int64_t k, const TypeInfo* t, const char* layout,
                 int64_t batches = 1, const char* note = "") {
    out.push_back({m, n, k, t, layout[0] == 't', layout[1] == 't', batches, note});
  };
  for (const TypeInfo* t : types) {
    const bool sixteen = t->bytes == 2;
    const std::vector<const char*> layouts = sixteen
                                                 ? std::vector<const char*>{"nt", "nn", "tn", "tt"}
                                             : t->bytes == 1 ? std::vector<const char*>{"nt"}
                                                             : std::vector<const char*>{"nt", "nn"};
    const std::vector<int64_t> squares =
        t->type == Type::kF32 ? std::vector<int64_t>{1024, 2048, 4096, 8192}
                              : std::vector<int64_t>{1024, 2048, 3072, 4096, 6144, 8192, 16384};
    if (suite == "squares") {
      for (int64_t s : squares) {
        for (const char* l : layouts) add(s, s, s, t, l);
      }
    } else if (suite == "ragged") {
      for (const char* l : layouts) {
        if (t->type == Type::kF32) {
          for (int64_t s : {1000, 4095, 4097}) add(s, s, s, t, l);
          continue;
        }
        for (int64_t s : {1000, 2047, 4095, 4097, 8190, 8191}) add(s, s, s, t, l);
        add(4096, 4095, 4093, t, l);
        add(4095, 4096, 4096, t, l);
      }
    } else if (suite == "llm") {
      // Projections of public models (n, k): Llama-2-7B (4096, 11008), Llama-3-8B (4096, 14336,
      // 6144 of qkv), Llama-3-70B (8192, 28672, 10240 of qkv). Weights stored n x k, as nn.Linear
      // does: "nt".
      const int64_t shapes[][2] = {{11008, 4096}, {4096, 11008}, {6144, 4096}, {28672, 4096},
                                   {4096, 14336}, {10240, 8192}, {8192, 28672}};
      for (const auto& s : shapes) {
        for (int64_t m : {1, 16, 64, 256, 1024, 4096, 8192}) add(m, s[0], s[1], t, "nt");
      }
    } else if (suite == "skinny") {
      add(64, 4096, 4096, t, "nt");
      add(64, 4096, 4096, t, "nn");
      add(16, 8192, 8192, t, "nt");
      add(16, 8192, 8192, t, "nn");
      add(1, 8192, 8192, t, "nt");
      add(4096, 4096, 64, t, "nt");
      add(4096, 4096, 64, t, "nn");
      add(128, 128, 65536, t, "nt");
      add(8192, 16, 8192, t, "nt");
      add(8192, 64, 4096, t, "tn");
      add(33, 4097, 4097, t, "nn");
      add(4095, 17, 4095, t, "nn");
    } else if (suite == "small") {
      for (int64_t s : {64, 128, 256, 384, 512, 768}) add(s, s, s, t, "nn");
      for (int64_t s : {65, 127, 255, 500}) add(s, s, s, t, "nn");
    } else if (suite == "batched") {
      add(128, 128, 128, t, "nn", 256);
      add(256, 256, 256, t, "nt", 128);
      add(512, 512, 64, t, "nt", 96);  // attention scores: 96 heads
      add(512, 64, 512, t, "nn", 96);
      add(63, 63, 63, t, "nn", 512);
      add(1024, 1024, 1024, t, "nn", 16);
    }
  }
  return out;
}

}  // namespace

int run_gemm(const Options& options, std::vector<Case>& cases) {
  if (options.suite == "verify" || options.suite == "faults" || options.suite == "sanitize") {
    verify_gemm(options, cases);
    return 0;
  }
  std::vector<const TypeInfo*> types;
  for (const std::string& t :
       options.types.empty() ? std::vector<std::string>{"bf16"} : options.types) {
    const TypeInfo* type = find_type(t);
    if (!type) {
      std::fprintf(stderr, "unknown type %s (f32 tf32 bf16 f16 e4m3 e5m2)\n", t.c_str());
      return 2;
    }
    types.push_back(type);
  }
  std::vector<GemmCase> list;
  // N, MxN (k = n), MxNxK, MxNxKxBATCHES, each with an optional :layout
  if (!options.sizes.empty()) {
    for (const std::string& text : options.sizes) {
      const size_t colon = text.find(':');
      const std::string layout = colon == std::string::npos ? "nn" : text.substr(colon + 1);
      if (layout.size() != 2 || layout.find_first_not_of("nt") != std::string::npos) {
        std::fprintf(stderr, "--sizes: %s: a layout is nn, nt, tn or tt\n", text.c_str());
        return 2;
      }
      std::vector<int64_t> v = parse_size(text.substr(0, colon), 4);
      if (v.empty()) return 2;
      while (v.size() < 3) v.push_back(v.back());
      v.resize(4, 1);
      for (const TypeInfo* t : types)
        list.push_back({v[0], v[1], v[2], t, layout[0] == 't', layout[1] == 't', v[3], ""});
    }
  } else {
    list = suite_cases(options.suite.empty() ? "squares" : options.suite, types);
  }
  if (list.empty()) {
    std::fprintf(
        stderr,
        "unknown suite %s (squares ragged llm skinny small batched tiles verify faults sanitize)\n",
        options.suite.c_str());
    return 2;
  }
  cublasLtHandle_t handle;
  TW_LT(cublasLtCreate(&handle));
  void* workspace = nullptr;
  float* unit_scale = nullptr;
  TW_CUDA(cudaMalloc(&workspace, kWorkspaceBytes));
  TW_CUDA(cudaMalloc(&unit_scale, sizeof(float)));
  const float one = 1;
  TW_CUDA(cudaMemcpy(unit_scale, &one, sizeof one, cudaMemcpyHostToDevice));
  double log_sum = 0, worst = 1e9;
  int counted = 0;
  for (const GemmCase& c : list) {
    if (out_of_time(options)) {
      std::printf("out of time: %zu of %zu cases measured\n", cases.size(), list.size());
      break;
    }
    run_case(c, options, handle, workspace, unit_scale, cases);
    for (const Outcome& o : cases.back().outcomes) {
      const auto ratio = o.more.find("ratio");
      if (ratio == o.more.end()) continue;
      log_sum += std::log(ratio->second);
      worst = std::min(worst, ratio->second);
      ++counted;
    }
  }
  if (counted > 0) {
    std::printf("%d cases: ratio to cuBLAS's best, geometric mean %.3f, worst %.3f\n", counted,
                std::exp(log_sum / counted), worst);
  }
  cublasLtDestroy(handle);
  TW_CUDA(cudaFree(workspace));
  TW_CUDA(cudaFree(unit_scale));
  return 0;
}

}  // namespace tilewright::bench
