// The choice of a GEMM kernel in words: see gemm_model.h.
//
// Tested by tests/unit/model/gemm_model_test.cpp.
#include <cstdio>

#include "model/gemm_model.h"

namespace tw::model {
namespace {

std::string name_of(const GemmCandidate& c) {
  const bool narrow = c.kernel == GemmKernel::kNarrow || c.kernel == GemmKernel::kFmaNarrow;
  const char* kind = narrow                            ? (c.turned ? " turned" : " narrow")
                     : c.kernel == GemmKernel::kGather ? " gather"
                     : c.kernel == GemmKernel::kFmaTma ? " TMA"
                     : c.ping_pong                     ? (c.turned ? " turned turns" : " turns")
                     : c.kernel == GemmKernel::kTiled && c.resident > 1 ? " pair"
                                                                        : "";
  return std::to_string(c.bm) + "x" + std::to_string(c.bn) + kind;
}

std::string cluster_of(const GemmCandidate& c) {
  if (c.cluster == 1) return "1";
  const bool shares_a = c.turned ? !c.shares_a : c.shares_a;
  return std::to_string(c.cluster) + (shares_a ? " (A)" : " (B)");
}

// "", or " count what".
std::string part(const char* what, int count) {
  return count > 1 ? std::string(" ") + what + std::to_string(count) : "";
}

constexpr const char* kColumns =
    "cluster: CTAs that share an operand by multicast; k-cluster: CTAs that share K of a tile;\n"
    "groups: groups of warps that share K of a tile; splits: parts of K summed by a second "
    "kernel;\n"
    "fill: SMs with a tile in the last wave;\n"
    "clocks/block: 128 bytes of K of one tile; main: waves x K blocks; epi: storing D, where "
    "nothing hides it;\n"
    "dram: all bytes at the rate that the CTAs draw; launch: start, first bytes and what does not "
    "overlap;\n"
    "other: repacking and the second kernel; total: launch + the longer of main + epi and dram + "
    "other.\n"
    "turns: two warpgroups with tiles of their own; pair: two CTAs an SM; turned: columns of D on "
    "the 64\nrows of WGMMA; narrow: its long side there; gather: reads any pitch without "
    "repacking; TMA: fp32\nfed by bulk copies.\n";

// Why a candidate lost to the chosen one.
const char* reason_of(const GemmCandidate& c, const GemmCandidate& chosen) {
  const double more = c.total_us - chosen.total_us;
  if (c.dram_us > c.mainloop_us + c.epilogue_us) return "too few SMs draw on DRAM";
  if (c.last_wave_fill < 0.75 * chosen.last_wave_fill) return "its last wave leaves SMs empty";
  if (c.repack_us > chosen.repack_us + 0.5 * more) return "it needs A or B repacked first";
  if (c.reduce_us > chosen.reduce_us + 0.5 * more) return "its splits cost a larger reduction";
  if (c.bound == GemmBound::kSharedMemory && chosen.bound == GemmBound::kTensorCores)
    return "shared memory, not the tensor cores, would bound it";
  if (c.bound == GemmBound::kL2) return "it fetches more from L2 for the same work";
  return "more clocks per K block for its work";
}

std::string repack_line(const GemmProblem& p, const GemmCandidate& chosen) {
  if (chosen.kernel == GemmKernel::kFmaTma) {
    const bool a = !p.a_mn || p.repack_a, b = !p.b_mn || p.repack_b;
    if (!a && !b) return "";
    char line[160];
    std::snprintf(line, sizeof line,
                  "%s transposed or repacked into workspace first: %.1f us, at copy speed\n",
                  a ? (b ? "A and B" : "A") : "B", chosen.repack_us);
    return line;
  }
  if (!p.repack_a && !p.repack_b) return "";
  const std::string which = p.repack_a ? (p.repack_b ? "A and B" : "A") : "B";
  if (!needs_repack(chosen)) return "not repacked: this kernel reads " + which + " as they lie\n";
  char line[240];
  if (chosen.k_bands_ahead > 0) {
    std::snprintf(line, sizeof line,
                  "%s repacked into workspace: %d of %d bands of K of the first %lld rows and %lld "
                  "columns first, the rest while the product runs: %.1f us are not hidden\n",
                  which.c_str(), chosen.k_bands_ahead, repack_bands(p),
                  static_cast<long long>(chosen.first_rows),
                  static_cast<long long>(chosen.first_columns), chosen.repack_us);
  } else {
    std::snprintf(line, sizeof line, "%s repacked into workspace first: %.1f us, at copy speed\n",
                  which.c_str(), chosen.repack_us);
  }
  return line;
}

}  // namespace

std::string describe(const GemmCandidate& c) {
  std::string text = name_of(c);
  if (c.cluster > 1) text += " cluster " + cluster_of(c);
  text += part("k-cluster ", c.k_cluster) + part("groups ", c.groups) + part("splits ", c.splits);
  if (c.k_bands_ahead > 0) text += " repacking from band " + std::to_string(c.k_bands_ahead);
  return text;
}

std::string describe(const GemmPlan& plan, const GemmProblem& p) {
  std::string text = describe(plan.main);
  if (plan.m < p.m)
    text += "; last " + std::to_string(p.m - plan.m) + " of m: " + describe(plan.rows);
  if (plan.n < p.n)
    text += "; last " + std::to_string(p.n - plan.n) + " of n: " + describe(plan.columns);
  if (plan.n < p.n && plan.column_rows < plan.m)
    text += ", from row " + std::to_string(plan.column_rows) + " on by the warps that repack";
  return text;
}

const char* to_string(GemmBound bound) {
  switch (bound) {
    case GemmBound::kCudaCores: return "CUDA cores";
    case GemmBound::kTensorCores: return "tensor cores";
    case GemmBound::kSharedMemory: return "shared memory";
    case GemmBound::kL2: return "L2";
    case GemmBound::kLatency: return "latency";
    case GemmBound::kDram: return "DRAM";
  }
  return "";
}

std::string explain_gemm(const GemmProblem& p, const GemmMachine& machine, int max_splits) {
  const std::vector<GemmCandidate> candidates = gemm_candidates(p, machine, max_splits);
  const double work = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) *
                      static_cast<double>(p.k) * static_cast<double>(p.batches);
  char line[320];
  std::snprintf(line, sizeof line, "GEMM %lld x %lld x %lld, batches %lld, %d-byte operands\n",
                static_cast<long long>(p.m), static_cast<long long>(p.n),
                static_cast<long long>(p.k), static_cast<long long>(p.batches), p.element_bytes);
  std::string text = line;
  std::snprintf(line, sizeof line, "%-20s %7s %9s %6s %5s %5s %12s %8s %7s %8s %9s %8s %9s %8s\n",
                "tile", "cluster", "k-cluster", "splits", "waves", "fill", "clocks/block",
                "main us", "epi us", "dram us", "launch us", "other us", "total us", "TFLOP/s");
  text += line;
  for (const GemmCandidate& c : candidates) {
    const double other = c.reduce_us + c.repack_us;
    const double longer =
        c.mainloop_us + c.epilogue_us > c.dram_us ? c.mainloop_us + c.epilogue_us : c.dram_us;
    std::snprintf(
        line, sizeof line,
        "%-20s %7s %9d %6d %5lld %4.0f%% %12.0f %8.1f %7.1f %8.1f %9.1f %8.1f %9.1f %8.1f\n",
        (name_of(c) + part("groups ", c.groups)).c_str(), cluster_of(c).c_str(), c.k_cluster,
        c.splits, static_cast<long long>(c.waves), 100 * c.last_wave_fill, c.block_clocks,
        c.mainloop_us, c.epilogue_us, c.dram_us, c.total_us - longer - other, other, c.total_us,
        work / c.total_us * 1e-6);
    text += line;
  }
  const GemmCandidate& chosen = candidates.front();
  std::snprintf(line, sizeof line,
                "chosen: %s, cluster %s, K over %d CTAs and %d split(s), bound by %s\n",
                name_of(chosen).c_str(), cluster_of(chosen).c_str(), chosen.k_cluster,
                chosen.splits, to_string(chosen.bound));
  text += line + repack_line(p, chosen);
  const GemmPlan plan = plan_gemm(p, machine, max_splits);
  if (plan.m < p.m || plan.n < p.n) {
    std::snprintf(line, sizeof line, "with its edges apart: %.1f us\n", plan.total_us);
    text += line;
  }
  text += "queued: " + describe(plan, p) + "\n";
  for (size_t i = 1; i < candidates.size(); ++i) {
    const GemmCandidate& c = candidates[i];
    std::snprintf(line, sizeof line, "rejected %s: %.1f us more: %s\n", describe(c).c_str(),
                  c.total_us - chosen.total_us, reason_of(c, chosen));
    text += line;
  }
  return text + kColumns;
}

}  // namespace tw::model
