// See gemm_plan.h.
#include "gemm/lib/gemm_plan.h"

#include <algorithm>

namespace tw::gemm {

using tilewright::GemmArguments;
using tilewright::Order;

Normal normalise(const GemmArguments& g) {
  Normal p{};
  p.batches = g.batches;
  p.k = g.k;
  p.type_d = g.type_d;
  p.c = g.c;
  p.ld_c = g.ld_c;
  p.stride_c = g.stride_c;
  p.d = g.d;
  p.ld_d = g.ld_d;
  p.stride_d = g.stride_d;
  p.alpha = g.alpha;
  p.beta = g.beta;
  const Matrix a{g.a, g.ld_a, g.stride_a, false}, b{g.b, g.ld_b, g.stride_b, false};
  const bool row_major = g.order == Order::kRowMajor;
  p.m = row_major ? g.m : g.n;
  p.n = row_major ? g.n : g.m;
  p.a = row_major ? a : b;
  p.b = row_major ? b : a;
  p.type_a = row_major ? g.type_a : g.type_b;
  p.type_b = row_major ? g.type_b : g.type_a;
  p.scale_a = row_major ? g.scale_a : g.scale_b;
  p.scale_b = row_major ? g.scale_b : g.scale_a;
  p.a.mn_major = row_major ? g.transpose_a : g.transpose_b;
  p.b.mn_major = !(row_major ? g.transpose_b : g.transpose_a);
  return p;
}

namespace {

int64_t div_up(int64_t value, int64_t by) { return (value + by - 1) / by; }
int64_t round_up(int64_t value, int64_t multiple) { return div_up(value, multiple) * multiple; }

// How an operand (mn = m of A, n of B) has to lie for the kernels that read it by TMA: 16-bit types
// either way, fp32 MN-major, the others K-major (PTX ISA, wgmma).
Moved plan_move(const Matrix& x, int64_t mn, int64_t k, Type type, int64_t batches, size_t at) {
  const int bytes = type_bytes(type);
  Moved moved;
  moved.mn_major = bytes == 2 ? x.mn_major : type == Type::kF32;
  if (moved.mn_major != x.mn_major) {
    moved.move = Move::kTranspose;
  } else if (!suits_tma(x.data, x.pitch, x.batch_stride, static_cast<int>(batches), bytes)) {
    moved.move = Move::kRepack;
  } else {
    return moved;
  }
  moved.pitch = round_up(moved.mn_major ? mn : k, 128 / bytes);  // lines start on a cache line
  moved.stride = moved.pitch * (moved.mn_major ? k : mn);
  moved.at = at;
  moved.bytes = static_cast<size_t>(round_up(moved.stride * bytes * batches, 256));
  return moved;
}

// As the model sees it. `may_move`: the workspace has room for moved operands.
model::GemmProblem problem_of(const Normal& p, const Plan& plan, bool may_move) {
  const int bytes = type_bytes(p.type_a);
  const int batches = static_cast<int>(p.batches);
  model::GemmProblem problem;
  problem.m = p.m;
  problem.n = p.n;
  problem.k = p.k;
  problem.batches = p.batches;
  problem.element_bytes = bytes;
  problem.output_bytes = type_bytes(p.type_d);
  problem.cuda_cores = p.type_a == Type::kF32;
  const bool transpose_a = plan.a.move == Move::kTranspose,
             transpose_b = plan.b.move == Move::kTranspose;
  if (problem.cuda_cores) {  // the model knows what a transposition costs there
    problem.a_mn = p.a.mn_major;
    problem.b_mn = p.b.mn_major;
    problem.repack_a = !suits_tma(p.a.data, p.a.pitch, p.a.batch_stride, batches, bytes);
    problem.repack_b = !suits_tma(p.b.data, p.b.pitch, p.b.batch_stride, batches, bytes);
  } else {
    problem.a_mn = plan.a.mn_major;
    problem.b_mn = plan.b.mn_major;
    problem.repack_a = plan.a.move != Move::kNone;
    problem.repack_b = plan.b.move != Move::kNone;
    problem.transpose_a = transpose_a;
    problem.transpose_b = transpose_b;
  }
  problem.may_move = may_move;
  problem.straddles_a = !problem.repack_a && p.a.pitch * bytes % 128 != 0;
  problem.straddles_b = !problem.repack_b && p.b.pitch * bytes % 128 != 0;
  problem.plain = p.beta == 0.0f && output_of(p.type_d) == native_output(element_of(p.type_a));
  problem.bulk_d = p.n * problem.output_bytes % 16 == 0 &&
                   suits_tma(p.d, p.ld_d, p.stride_d, batches, problem.output_bytes);
  return problem;
}

// Callers multiply the same shapes again and again, and a choice takes some ten microseconds: each
// thread remembers its last ones.
model::GemmPlan remembered_plan(const model::GemmProblem& problem, int sm_count, int max_splits) {
  struct Entry {
    model::GemmProblem problem;
    int sm_count = 0, max_splits = 0;
    model::GemmPlan plan;
  };
  constexpr uint64_t kEntries = 32;
  thread_local Entry entries[kEntries];
  uint64_t hash = 0;
  for (const int64_t field : {problem.m, problem.n, problem.k, problem.batches,
                              int64_t{problem.element_bytes}, int64_t{max_splits}}) {
    hash = (hash ^ static_cast<uint64_t>(field)) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  Entry& entry = entries[hash % kEntries];
  if (entry.sm_count != sm_count || entry.max_splits != max_splits || entry.problem != problem) {
    model::GemmMachine machine;
    machine.sm_count = sm_count;
    entry = {problem, sm_count, max_splits, model::plan_gemm(problem, machine, max_splits)};
  }
  return entry.plan;
}

int64_t k_bands_of(int64_t k, int bytes) { return div_up(k * bytes, model::kRepackBand * 128); }

// Rows or columns of a band.
int64_t band_of(const Matrix& x, int bytes) { return x.mn_major ? kPartBytes / bytes : kBandLines; }

// `together`: rows or columns that tiles want at about the same time.
RepackOperand operand_of(const Matrix& from, const Matrix& to, int64_t mn, int64_t k, int bytes,
                         int64_t together) {
  RepackOperand x{};
  x.group = 1;
  if (from.data == to.data) return x;
  const int64_t band = band_of(from, bytes);
  x.source = static_cast<const char*>(from.data);
  x.destination = static_cast<char*>(const_cast<void*>(to.data));
  x.source_pitch = from.pitch * bytes;
  x.destination_pitch = to.pitch * bytes;
  x.length = (from.mn_major ? mn : k) * bytes;
  x.lines = static_cast<int>(from.mn_major ? k : mn);
  x.bands = static_cast<int>(div_up(mn, band));
  x.group = static_cast<int>(div_up(together, band));
  const int64_t lines = from.mn_major ? model::kRepackBand * 128 / bytes : band;  // of a cell
  x.parts = static_cast<int>(lines) / kBlockLines * kPartsOfBlock;
  x.mn_major = from.mn_major;
  return x;
}

int gather_tasks(int64_t elements) { return static_cast<int>(div_up(elements, kGatherElements)); }

// The elements of K behind `k`.
Gather rest_of(const Matrix& from, const Matrix& to, int64_t mn, int64_t k, int64_t rest,
               int bytes) {
  if (from.data == to.data || rest == 0) return {};
  const bool mn_major = from.mn_major;
  return {static_cast<const char*>(from.data) + (mn_major ? k * from.pitch : k) * bytes,
          static_cast<char*>(const_cast<void*>(to.data)) + (mn_major ? k * to.pitch : k) * bytes,
          from.pitch * bytes,
          to.pitch * bytes,
          static_cast<int>(mn_major ? rest : mn),
          static_cast<int>(mn_major ? mn : rest),
          gather_tasks(rest * mn)};
}

// Counters that the whole order shares, each on a cache line of its own.
constexpr int kSharedCounters = 5, kCounterPitch = 32;

// Line `at` of an operand, one row of op(A) or column of op(B): its K elements on end, gathered to
// its place in the copy, or where the operand is MN-major to `vector`.
const char* gather_line(const Matrix& from, const Matrix& to, int64_t at, int64_t k, int bytes,
                        char* vector, Gather* gather) {
  const char* source =
      static_cast<const char*>(from.data) + (from.mn_major ? at : at * from.pitch) * bytes;
  if (from.mn_major) {
    *gather = {source, vector, from.pitch * bytes, bytes, static_cast<int>(k), 1, gather_tasks(k)};
    return vector;
  }
  if (from.data == to.data) return source;
  char* place = static_cast<char*>(const_cast<void*>(to.data)) + at * to.pitch * bytes;
  *gather = {source, place, 0, 0, 1, static_cast<int>(k), gather_tasks(k)};
  return place;
}

// Parts of K in which MN-major rows of a column are multiplied: 128 lines and more each.
int64_t edge_range(int64_t k) {
  constexpr int64_t kLeast = 128, kMost = 32;
  return std::max(kLeast, round_up(div_up(k, kMost), 8));
}
int64_t edge_ranges(int64_t k) { return std::max<int64_t>(k / edge_range(k), 1); }

int64_t vector_bytes(int64_t k, int bytes) { return round_up(k * bytes, 256); }

}  // namespace

size_t repack_counter_bytes(const MovedPair& moved, int64_t m, int64_t n, int64_t k, int bytes) {
  const int64_t bands =
      div_up(m, band_of(moved.from_a, bytes)) + div_up(n, band_of(moved.from_b, bytes));
  const int64_t counters =
      kSharedCounters * kCounterPitch + bands * k_bands_of(k, bytes) + div_up(m, kEdgeStripe);
  return static_cast<size_t>(
      round_up(counters * 4, 256) + 2 * vector_bytes(k, bytes) +
      (bytes == 2 && n % 128 == 1 ? round_up(m * edge_ranges(k) * 4, 256) : 0));
}

RepackOrder order_repack(const MovedPair& moved, int64_t m, int64_t n, int64_t k, int bytes,
                         const model::GemmCandidate& product, void* counters, bool row, bool column,
                         int64_t column_rows) {
  RepackOrder order{};
  if (product.k_bands_ahead == 0) return order;
  const int64_t k_moved = model::banded_k(k, bytes), rest = k - k_moved;
  order.a = operand_of(moved.from_a, moved.a, m, k_moved, bytes, product.first_rows);
  order.b = operand_of(moved.from_b, moved.b, n, k_moved, bytes, product.first_columns);
  order.gather[0] = rest_of(moved.from_a, moved.a, m, k_moved, rest, bytes);
  order.gather[1] = rest_of(moved.from_b, moved.b, n, k_moved, rest, bytes);
  order.element_bytes = bytes;
  order.k_bands = static_cast<int>(k_bands_of(k_moved, bytes));
  order.next = static_cast<int*>(counters);
  order.done = order.next + kCounterPitch;
  order.gathered = order.done + kCounterPitch;
  order.next_gather = order.gathered + kCounterPitch;
  order.a.ready = order.next + kSharedCounters * kCounterPitch;
  order.b.ready = order.a.ready + order.a.bands * order.k_bands;
  order.joint = product.moves_jointly;
  const int bands_ahead = std::min(product.k_bands_ahead, order.k_bands);
  for (const RepackOperand* x : {&order.a, &order.b})
    order.ahead += bands_ahead * std::min(x->bands, x->group) * x->parts;
  order.parts = (order.a.bands * order.a.parts + order.b.bands * order.b.parts) * order.k_bands;
  EdgeColumn& edge = order.edge;
  edge.next = order.next_gather + kCounterPitch;
  edge.arrived = order.b.ready + order.b.bands * order.k_bands;
  char* vectors = reinterpret_cast<char*>(edge.arrived + div_up(m, kEdgeStripe));
  vectors = static_cast<char*>(counters) + round_up(vectors - static_cast<char*>(counters), 256);
  if (row) order.row = gather_line(moved.from_a, moved.a, m, k, bytes, vectors, &order.gather[2]);
  if (column) {
    order.column = gather_line(moved.from_b, moved.b, n, k, bytes, vectors + vector_bytes(k, bytes),
                               &order.gather[3]);
  }
  if (column && column_rows < m) {
    edge.matrix = static_cast<const char*>(moved.a.data);
    edge.pitch = moved.a.pitch * bytes;
    edge.first = static_cast<int>(column_rows);
    edge.end = static_cast<int>(m);
    edge.mn_major = moved.a.mn_major;
    edge.k_ranges = static_cast<int>(edge_ranges(k));
    edge.k_range = static_cast<int>(edge_range(k));
    const int64_t rows = m - column_rows;
    edge.tasks = static_cast<int>(edge.mn_major ? div_up(rows, kEdgeStripe) * edge.k_ranges
                                                : rows / kEdgeLines);
    edge.partial = reinterpret_cast<float*>(vectors + 2 * vector_bytes(k, bytes));
  }
  for (const Gather& g : order.gather) order.gathers += g.tasks;
  order.parts += order.gathers;
  return order;
}

namespace {

// What `plan` queues where at most `max_splits` parts of K are summed, and what that takes.
Plan with_splits(Plan plan, const Normal& p, const model::GemmProblem& problem, int sm_count,
                 int max_splits) {
  plan.queue = remembered_plan(problem, sm_count, max_splits);
  plan.gathers_edges = model::gathers_edges(plan.queue, problem);
  if (!model::needs_repack(plan.queue.main)) {
    plan.a = plan.b = {};
    plan.counter_bytes = 0;
  }
  plan.at_partial = plan.moved_bytes();
  if (plan.queue.main.splits > 1) {
    plan.partial_bytes = static_cast<size_t>(p.m) * p.n * p.batches * 4 * plan.queue.main.splits;
  }
  return plan;
}

}  // namespace

Plan make_plan(const Normal& p, int sm_count, size_t workspace_bytes, bool unlimited) {
  Plan plan;
  plan.a = plan_move(p.a, p.m, p.k, p.type_a, p.batches, 0);
  plan.b = plan_move(p.b, p.n, p.k, p.type_a, p.batches, plan.a.bytes);
  if (p.type_a != Type::kF32 && p.batches == 1 &&
      (plan.a.move == Move::kRepack || plan.b.move == Move::kRepack)) {
    plan.at_counters = plan.a.bytes + plan.b.bytes;
    plan.counter_bytes =
        repack_counter_bytes({p.a, p.b, {}, {}}, p.m, p.n, p.k, type_bytes(p.type_a));
  }
  const bool may_move = unlimited || workspace_bytes >= plan.moved_bytes();
  const model::GemmProblem problem = problem_of(p, plan, may_move);
  if (unlimited) return with_splits(plan, p, problem, sm_count, model::most_splits(problem));
  const auto splits_in = [&](size_t bytes) {
    return model::most_splits(problem, static_cast<int64_t>(std::min(bytes, size_t{1} << 40)));
  };
  // First as if no operand had to be moved: kernels that gather split K, too.
  const Plan whole = with_splits(plan, p, problem, sm_count, splits_in(workspace_bytes));
  if (whole.moved_bytes() + whole.partial_bytes <= workspace_bytes) return whole;
  const size_t moved = plan.moved_bytes();
  return with_splits(plan, p, problem, sm_count,
                     splits_in(workspace_bytes > moved ? workspace_bytes - moved : 0));
}

std::string describe_call(const GemmArguments& g, int sm_count) {
  const Normal p = normalise(g);
  const Plan plan = make_plan(p, sm_count, 0, true);
  model::GemmProblem shape;
  shape.m = p.m;
  shape.n = p.n;
  return model::describe(plan.queue, shape);
}

}  // namespace tw::gemm
