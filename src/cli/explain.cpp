#include "cli/explain.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/number_range.h"
#include "model/gemm_model.h"
#include "transpose/permute_plan.h"
#include "transpose/transpose_plan.h"

namespace tw::cli {
namespace {

struct GemmOptions {
  int64_t m = 0, n = 0, k = 0, batches = 1;
  std::string type = "bf16", layout = "nt";
  bool packed = false;
  int max_splits = 0;  // as many as the library's own workspace has room for
};

struct TypeRow {
  int input_bytes, output_bytes;
  bool cuda_cores;
};
const std::map<std::string, TypeRow> kTypes = {{"f32", {4, 4, true}},   {"tf32", {4, 4, false}},
                                               {"bf16", {2, 2, false}}, {"f16", {2, 2, false}},
                                               {"e4m3", {1, 2, false}}, {"e5m2", {1, 2, false}}};

// An operand has more bytes than a GPU, and counts of tiles more than the model's integers hold.
bool too_large(const GemmOptions& o, const TypeRow& type) {
  constexpr double kMostBytes = 1e12;
  const auto bytes = [&](int64_t rows, int64_t columns, int element) {
    return double(rows) * double(columns) * double(o.batches) * element;
  };
  return std::max({bytes(o.m, o.k, type.input_bytes), bytes(o.k, o.n, type.input_bytes),
                   bytes(o.m, o.n, type.output_bytes)}) > kMostBytes;
}

void explain(const GemmOptions& o) {
  const TypeRow& type = kTypes.at(o.type);
  if (too_large(o, type)) {
    std::fputs("tilewright explain gemm: A, B or D has more than 10^12 bytes\n", stderr);
    throw CLI::RuntimeError(2);
  }
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
  // Why an operand cannot be read as it lies; empty: it can.
  const auto reason = [&](bool mn_major, int64_t length) -> const char* {
    if (!either && mn_major) return "this type's tensor-core instruction lacks its layout";
    const bool ragged = length * type.input_bytes % 16 != 0;
    return ragged && !o.packed ? "bulk copies want a pitch that is a multiple of 16 bytes" : "";
  };
  const char* why_a = reason(a_mn, a_mn ? o.m : o.k);
  const char* why_b = reason(b_mn, b_mn ? o.n : o.k);
  p.a_mn = a_mn && either;
  p.b_mn = b_mn && either;
  p.transpose_a = !either && a_mn;
  p.transpose_b = !either && b_mn;
  p.repack_a = *why_a != 0;
  p.repack_b = *why_b != 0;
  const auto straddles = [&](int64_t length) { return length * type.input_bytes % 128 != 0; };
  p.straddles_a = !o.packed && !p.repack_a && straddles(a_mn ? o.m : o.k);
  p.straddles_b = !o.packed && !p.repack_b && straddles(b_mn ? o.n : o.k);
  p.bulk_d = o.n * type.output_bytes % 16 == 0;
  const int max_splits = o.max_splits > 0 ? o.max_splits : model::most_splits(p);
  std::fputs(model::explain_gemm(p, model::GemmMachine{}, max_splits).c_str(), stdout);
  const char* by = type.cuda_cores ? "the kernel that bulk copies feed" : "most kernels";
  if (p.repack_a) std::printf("A is not read as it lies by %s: %s\n", by, why_a);
  if (p.repack_b) std::printf("B is not read as it lies by %s: %s\n", by, why_b);
}

// Addresses far apart, so that nothing overlaps; offsets are bytes past a boundary of 256.
constexpr uint64_t kInAddress = 1 << 16, kOutAddress = uint64_t{1} << 62;

struct TransposeOptions {
  tilewright::plan::TransposeProblem problem;
  tilewright::plan::DeviceLimits device;
  uint64_t in_offset = 0, out_offset = 0;
};

void explain(TransposeOptions o) {
  auto& p = o.problem;
  if (p.ld_in == 0) p.ld_in = p.cols;
  if (p.ld_out == 0) p.ld_out = p.rows;
  // What reaches beyond 2^63 is refused below, however far.
  const auto product = [](int64_t a, int64_t b) {
    int64_t result = 0;
    return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<int64_t>::max() : result;
  };
  if (p.stride_in == 0) p.stride_in = product(p.rows, p.ld_in);
  if (p.stride_out == 0) p.stride_out = product(p.cols, p.ld_out);
  p.in_address = kInAddress + o.in_offset;
  p.out_address = kOutAddress + o.out_offset;
  if (tilewright::Status status = tilewright::plan::validate(p); !status.ok()) {
    std::fprintf(stderr, "tilewright explain transpose: %s %s\n", status.argument, status.message);
    throw CLI::RuntimeError(2);
  }
  std::fputs(tilewright::plan::explain(p, o.device).c_str(), stdout);
}

struct PermuteOptions {
  std::vector<int64_t> sizes;
  std::vector<int> order;
  int element_bytes = 4;
};

void explain(const PermuteOptions& o) {
  if (o.sizes.size() != o.order.size()) {
    std::fputs("tilewright explain permute: --sizes and --order differ in length\n", stderr);
    throw CLI::RuntimeError(2);
  }
  tilewright::plan::PermutePlan plan;
  const int dims = int(o.sizes.size());
  if (tilewright::Status status = tilewright::plan::reduce_permute(
          kInAddress, kOutAddress, dims, o.sizes.data(), o.order.data(), o.element_bytes, plan);
      !status.ok()) {
    std::fprintf(stderr, "tilewright explain permute: %s %s\n", status.argument, status.message);
    throw CLI::RuntimeError(2);
  }
  std::fputs(tilewright::plan::explain_permute(dims, o.sizes.data(), o.order.data(),
                                               o.element_bytes, tilewright::plan::DeviceLimits{})
                 .c_str(),
             stdout);
}

void add_transpose(CLI::App& explain_command) {
  CLI::App* command = explain_command.add_subcommand(
      "transpose", "Out of place: the kernel and its tiles, and why not the others");
  auto o = std::make_shared<TransposeOptions>();
  auto& p = o->problem;
  const auto size = number_from(0);
  command->add_option("--rows", p.rows, "Rows of the input")->required()->check(size);
  command->add_option("--cols", p.cols, "Columns of the input")->required()->check(size);
  command->add_option("--element-bytes", p.element_bytes, "1, 2, 4, 8 or 16 (default 4)")
      ->check(CLI::IsMember({1, 2, 4, 8, 16}));
  command->add_option("--ld-in", p.ld_in, "Elements from row to row (default: no gaps)");
  command->add_option("--ld-out", p.ld_out, "The same of the output");
  command->add_option("--batch", p.batch, "Matrices of one shape")->check(size);
  command->add_option("--stride-in", p.stride_in, "Elements from matrix to matrix");
  command->add_option("--stride-out", p.stride_out, "The same of the output");
  command->add_option("--offset-in", o->in_offset, "Bytes of the input past a boundary of 256");
  command->add_option("--offset-out", o->out_offset, "The same of the output");
  command->add_option("--sms", o->device.sm_count, "Multiprocessors (default 132, an H200)")
      ->check(CLI::Range(1, 1 << 20));
  command->footer(
      "Examples:\n"
      "  tilewright explain transpose --rows 4096 --cols 1000\n"
      "  tilewright explain transpose --rows 8191 --cols 8191 --element-bytes 2 --batch 4");
  command->callback([o] { explain(*o); });
}

void add_permute(CLI::App& explain_command) {
  CLI::App* command = explain_command.add_subcommand(
      "permute", "What a permutation comes down to: a copy, runs, or transposes");
  auto o = std::make_shared<PermuteOptions>();
  command->add_option("--sizes", o->sizes, "Sizes of the input, the last contiguous: 32,3,512,512")
      ->required()
      ->delimiter(',')
      ->check(number_from(0));
  command->add_option("--order", o->order, "Input dimension of each output dimension: 0,2,3,1")
      ->required()
      ->delimiter(',');
  command->add_option("--element-bytes", o->element_bytes, "1, 2, 4, 8 or 16 (default 4)")
      ->check(CLI::IsMember({1, 2, 4, 8, 16}));
  command->footer(
      "Examples:\n"
      "  tilewright explain permute --sizes 32,3,512,512 --order 0,2,3,1     NCHW to NHWC\n"
      "  tilewright explain permute --sizes 8,16,1024,64 --order 0,2,1,3 --element-bytes 2");
  command->callback([o] { explain(*o); });
}

}  // namespace

void add_explain_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("explain", "Which GPU kernel the library takes, and why; needs no GPU");
  command->require_subcommand(1);
  add_transpose(*command);
  add_permute(*command);
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
                   "Splits of K that the workspace has room for (a workspace as recommended)")
      ->check(CLI::Range(1, model::kMaxGemmSplits));
  gemm->footer(
      "Examples:\n"
      "  tilewright explain gemm --m 4096 --n 4096 --k 4096 --type bf16\n"
      "  tilewright explain gemm --m 64 --n 4096 --k 4096 --type f32 --layout nt");
  gemm->callback([options] { explain(*options); });
}

}  // namespace tw::cli
