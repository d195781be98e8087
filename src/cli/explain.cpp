#include "cli/explain.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "model/gemm_model.h"

namespace tw::cli {
namespace {

struct GemmOptions {
  int64_t m = 0, n = 0, k = 0, batches = 1;
  std::string type = "bf16", layout = "nt";
  bool packed = false;
  int max_splits = model::kMaxGemmSplits;
};

struct TypeRow {
  int input_bytes, output_bytes;
  bool cuda_cores;
};
const std::map<std::string, TypeRow> kTypes = {{"f32", {4, 4, true}},   {"tf32", {4, 4, false}},
                                               {"bf16", {2, 2, false}}, {"f16", {2, 2, false}},
                                               {"e4m3", {1, 2, false}}, {"e5m2", {1, 2, false}}};

void explain(const GemmOptions& o) {
  const TypeRow& type = kTypes.at(o.type);
  model::GemmProblem p;
  p.m = o.m;
  p.n = o.n;
  p.k = o.k;
  p.batches = o.batches;
  p.element_bytes = type.input_bytes;
  p.output_bytes = type.output_bytes;
  p.cuda_cores = type.cuda_cores;
  // Without leading dimensions of their own, lines are as long as the pitch. `t` of A and `n` of B
  // are MN-major, which only 16-bit types and the CUDA cores take as they are.
  const bool a_mn = o.layout[0] == 't', b_mn = o.layout[1] == 'n';
  const bool either = type.input_bytes == 2 || type.cuda_cores;
  const auto ragged = [&](int64_t length) { return length * type.input_bytes % 16 != 0; };
  p.repack_a = (!either && a_mn) || (!o.packed && ragged(a_mn ? o.m : o.k));
  p.repack_b = (!either && b_mn) || (!o.packed && ragged(b_mn ? o.n : o.k));
  std::fputs(model::explain_gemm(p, model::GemmMachine{}, o.max_splits).c_str(), stdout);
  if (p.repack_a || p.repack_b) {
    std::printf(
        "repacked into workspace first: %s%s (a pitch that is no multiple of 16 bytes, or a "
        "layout\n"
        "that this type's tensor-core instruction lacks)\n",
        p.repack_a ? "A" : "", p.repack_b ? (p.repack_a ? ", B" : "B") : "");
  }
}

}  // namespace

void add_explain_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("explain", "Which GPU kernel the library takes, and why; needs no GPU");
  command->require_subcommand(1);
  CLI::App* gemm =
      command->add_subcommand("gemm", "D = A * B: predicted times of all kernels (H200)");
  auto options = std::make_shared<GemmOptions>();
  const auto size = CLI::Range(int64_t{1}, int64_t{2147482623});
  gemm->add_option("--m", options->m, "Rows of D")->required()->check(size);
  gemm->add_option("--n", options->n, "Columns of D")->required()->check(size);
  gemm->add_option("--k", options->k, "Terms of a sum")->required()->check(size);
  gemm->add_option("--batches", options->batches, "Matrices of one shape")
      ->check(CLI::Range(int64_t{1}, int64_t{16777216}));
  gemm->add_option("--type", options->type, "f32, tf32, bf16, f16, e4m3 or e5m2")
      ->check(CLI::IsMember({"f32", "tf32", "bf16", "f16", "e4m3", "e5m2"}));
  gemm->add_option("--layout", options->layout,
                   "Row-major operations: nn, nt (B stored n x k), tn, tt")
      ->check(CLI::IsMember({"nn", "nt", "tn", "tt"}));
  gemm->add_flag("--aligned", options->packed, "Leading dimensions are rounded up to 16 bytes");
  gemm->add_option("--max-splits", options->max_splits,
                   "Splits of K that the workspace has room for")
      ->check(CLI::Range(1, model::kMaxGemmSplits));
  gemm->callback([options] { explain(*options); });
}

}  // namespace tw::cli
