// A product as the library queues it: whole, or with a few rows or columns beyond whole tiles apart
// (plan_gemm of gemm_model.h).
//
// Problem: one row beyond 4096 costs a wave of tiles. Choice: predict both ways, the edges as
// products of their own; where the main part repacks while it runs they start in its last wave.
//
// Tested by tests/unit/model/gemm_model_test.cpp.
#include <algorithm>

#include "model/gemm_model.h"

namespace tw::model {
namespace {

int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Rows of a gathered column that a launch multiplies. The rows of A behind the first ones are moved
// last: the warps that move them find them in L2. (They multiply whole tiles of rows.)
int64_t rows_of_column(const GemmPlan& plan, const GemmProblem& p) {
  if (p.element_bytes != 2 || !moves_a(p) || plan.m % kNarrowWide != 0) return plan.m;
  const int64_t band = p.a_mn ? 512 : 256;
  return std::min(plan.m, div_up(plan.main.first_rows, band) * band);
}

constexpr double kLeastIdleSms = 4;  // fewer do not help the edges

// SMs without a tile in the last wave.
double idle_sms(const GemmMachine& machine, const GemmCandidate& c) {
  return (1 - c.last_wave_fill) * machine.sm_count;
}

// What the edges take behind the main part. Where that repacks, narrow kernels start as its last
// wave leaves SMs idle, and are done before it ends if they fit there.
double edges_us(const GemmProblem& p, const GemmMachine& machine, const GemmPlan& plan) {
  const GemmCandidate& main = plan.main;
  const double idle = idle_sms(machine, main);
  double behind = 0, within = 0;
  for (const GemmCandidate* edge : {&plan.rows, &plan.columns}) {
    if (edge->bm == 0) continue;
    if (main.k_bands_ahead == 0 || edge->kernel != GemmKernel::kNarrow || idle < kLeastIdleSms) {
      behind += edge->total_us;
      continue;
    }
    const int64_t side =
        edge == &plan.rows ? (gathers_edges(plan, p) ? plan.n : p.n) : plan.column_rows;
    const auto ctas = static_cast<double>(div_up(side, edge->bm) * edge->k_cluster);
    within += edge->total_us * std::max(1.0, ctas / (idle * edge->resident));
  }
  const double wave_us = main.mainloop_us / main.waves;
  const bool shared = plan.n < p.n && plan.column_rows < plan.m;
  const double tail_us = shared ? machine.edges_shared_tail_us : machine.edges_tail_us;
  if (within > 0) behind += std::max(tail_us, within - wave_us);
  return behind;
}

}  // namespace

bool gathers_edges(const GemmPlan& plan, const GemmProblem& p) {
  return plan.main.k_bands_ahead > 0 && p.m - plan.m <= 1 && p.n - plan.n <= 1;
}

GemmPlan plan_gemm(const GemmProblem& p, const GemmMachine& machine, int max_splits) {
  GemmPlan plan;
  plan.main = choose_gemm(p, machine, max_splits);
  plan.m = p.m;
  plan.n = p.n;
  plan.total_us = plan.main.total_us;
  constexpr int64_t kUnit = 128, kMostCut = 16, kLeastSide = 1024;
  auto cut = [&](int64_t size) {
    const int64_t rest = size % kUnit;
    return size > kLeastSide && rest > 0 && rest <= kMostCut ? rest : 0;
  };
  const int64_t cut_m = cut(p.m), cut_n = cut(p.n);
  for (int which = 1; which < 4; ++which) {
    const int64_t rows = (which & 1) != 0 ? cut_m : 0, columns = (which & 2) != 0 ? cut_n : 0;
    if (rows + columns == 0 || ((which & 1) != 0 && rows == 0) ||
        ((which & 2) != 0 && columns == 0))
      continue;
    GemmPlan other;
    other.m = p.m - rows;
    other.n = p.n - columns;
    GemmProblem main = p;
    main.m = other.m;
    main.n = other.n;
    other.main = choose_gemm(main, machine, max_splits);
    if (other.main.kernel == GemmKernel::kGather || other.main.kernel == GemmKernel::kNarrow ||
        other.main.kernel == GemmKernel::kFmaNarrow)
      continue;
    // The operands as the main part reads them; the workspace holds nothing for the edges.
    GemmProblem edge = p;
    edge.may_move = false;
    edge.transpose_a = edge.transpose_b = false;
    edge.on_idle_sms =
        other.main.k_bands_ahead > 0 && idle_sms(machine, other.main) >= kLeastIdleSms;
    if (needs_repack(other.main)) {
      edge.repack_a = edge.repack_b = false;
      if (p.cuda_cores) edge.a_mn = edge.b_mn = true;
    }
    // One row and one column are gathered, K elements on end.
    const bool gathers = gathers_edges(other, p);
    if (rows > 0) {
      GemmProblem row = edge;
      row.m = rows;
      if (gathers) {  // the main part brings the element where they meet
        row.a_mn = false;
        row.n = other.n;
      }
      other.rows = choose_gemm(row, machine, 1);
    }
    if (columns > 0) {
      GemmProblem column = edge;
      other.column_rows = column.m = gathers ? rows_of_column(other, p) : other.m;
      column.n = columns;
      if (gathers) column.b_mn = false;
      other.columns = choose_gemm(column, machine, 1);
    }
    other.total_us = other.main.total_us + edges_us(p, machine, other);
    // Measured at 4097 cubed: 16-bit types gain where little is predicted, tf32 loses where 4 %
    // are.
    const double worth_it = p.element_bytes == 2 || p.cuda_cores ? 0.995 : 0.95;
    if (other.total_us < worth_it * plan.total_us) plan = other;
  }
  return plan;
}

}  // namespace tw::model
