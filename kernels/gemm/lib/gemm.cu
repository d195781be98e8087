// tilewright/gemm.h: checks the arguments and queues what gemm_plan.h says: operands moved, product,
// splits of K reduced, edges beyond whole tiles.
//
// Tested by tilewright-bench gemm --suite verify.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "common/c_status.h"
#include "gemm/lib/elementwise.h"
#include "gemm/lib/gemm_plan.h"
#include "gemm/lib/sgemm.h"
#include "gemm/lib/wgmma_launch.h"
#include "tilewright/gemm.h"
#include "tilewright/transpose.h"
#include "util/strided_lines.h"

namespace tilewright {
namespace {

using namespace tw::gemm;

Status invalid(const char* argument, const char* message) {
  return {StatusCode::kInvalidArgument, argument, message, 0};
}
Status unsupported(const char* argument, const char* message) {
  return {StatusCode::kUnsupported, argument, message, 0};
}

constexpr bool is_fp8(Type t) { return t == Type::kE4m3 || t == Type::kE5m2; }

// Bytes from the first to past the last element of `lines` x `length` at pitch ld; -1 when beyond
// 2^62.
int64_t extent(int64_t lines, int64_t length, int64_t ld, int64_t stride, int64_t batches,
               int bytes) {
  const __int128 last =
      static_cast<__int128>(lines - 1) * ld + static_cast<__int128>(batches - 1) * stride + length;
  const __int128 total = last * bytes;
  return total > (static_cast<__int128>(1) << 62) ? -1 : static_cast<int64_t>(total);
}

// The same as a set of bytes; the pitch of one line, and the stride of one batch, may be anything.
tw::StridedLines stored(const void* data, int64_t lines, int64_t length, int64_t ld, int64_t stride,
                        int64_t batches, int bytes) {
  return {reinterpret_cast<uintptr_t>(data), lines,   length * bytes,
          lines > 1 ? ld * bytes : 0,        batches, batches > 1 ? stride * bytes : 0};
}

bool known(Type t) { return static_cast<int>(t) >= 0 && t <= Type::kE5m2; }

Status check(const GemmArguments& g) {
  if (g.m < 0) return invalid("m", "the size is negative");
  if (g.n < 0) return invalid("n", "the size is negative");
  if (g.k < 0) return invalid("k", "the size is negative");
  if (g.batches < 0) return invalid("batches", "the count is negative");
  if (g.order != Order::kRowMajor && g.order != Order::kColumnMajor)
    return invalid("order", "not an Order");
  if (!known(g.type_a)) return invalid("type_a", "not a Type");
  if (!known(g.type_b)) return invalid("type_b", "not a Type");
  if (g.type_a != g.type_b && !(is_fp8(g.type_a) && is_fp8(g.type_b))) {
    return invalid("type_b", "A and B must have one type (the two fp8 types may be mixed)");
  }
  if (g.type_d != Type::kF32 && g.type_d != Type::kBf16 && g.type_d != Type::kF16) {
    return invalid("type_d", "the output is fp32, bf16 or fp16");
  }
  if (g.m == 0 || g.n == 0 || g.batches == 0) return {};
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - 1024;
  if (g.m > kMost) return unsupported("m", "sizes go to 2^31 - 1025");
  if (g.n > kMost) return unsupported("n", "sizes go to 2^31 - 1025");
  if (g.k > kMost) return unsupported("k", "sizes go to 2^31 - 1025");
  if (g.batches > (int64_t{1} << 24)) return unsupported("batches", "batches go to 2^24");
  const bool row = g.order == Order::kRowMajor;
  // Stored shapes: lines and their length.
  const int64_t a_length = row != g.transpose_a ? g.k : g.m,
                a_lines = row != g.transpose_a ? g.m : g.k;
  const int64_t b_length = row != g.transpose_b ? g.n : g.k,
                b_lines = row != g.transpose_b ? g.k : g.n;
  const int64_t d_length = row ? g.n : g.m, d_lines = row ? g.m : g.n;
  if (g.ld_d < d_length) return invalid("ld_d", "smaller than a stored line of D");
  if (g.d == nullptr) return invalid("d", "null");
  const int d_bytes = type_bytes(g.type_d);
  if (reinterpret_cast<uintptr_t>(g.d) % d_bytes != 0)
    return invalid("d", "not aligned to its element");
  if (g.batches > 1 && g.stride_d < 0) return invalid("stride_d", "the stride is negative");
  const int64_t d_extent = extent(d_lines, d_length, g.ld_d, g.stride_d, g.batches, d_bytes);
  if (d_extent < 0) return invalid("ld_d", "D reaches beyond 2^62 bytes");
  const tw::StridedLines d = stored(g.d, d_lines, d_length, g.ld_d, g.stride_d, g.batches, d_bytes);
  if (g.batches > 1 && g.stride_d < (d_lines - 1) * g.ld_d + d_length &&
      !(g.stride_d >= d_length && g.ld_d >= g.stride_d * (g.batches - 1) + d_length)) {
    return invalid("stride_d", "matrices of the batch would overlap in D");
  }
  if (g.beta != 0.0f) {
    if (g.c == nullptr) return invalid("c", "null although beta is not zero");
    if (reinterpret_cast<uintptr_t>(g.c) % d_bytes != 0)
      return invalid("c", "not aligned to its element");
    if (g.ld_c < d_length) return invalid("ld_c", "smaller than a stored line of C");
    if (g.batches > 1 && g.stride_c < 0) return invalid("stride_c", "the stride is negative");
    const int64_t c_extent = extent(d_lines, d_length, g.ld_c, g.stride_c, g.batches, d_bytes);
    if (c_extent < 0) return invalid("ld_c", "C reaches beyond 2^62 bytes");
    const bool same =
        g.c == g.d && g.ld_c == g.ld_d && (g.batches == 1 || g.stride_c == g.stride_d);
    if (!same && tw::share_bytes(
                     stored(g.c, d_lines, d_length, g.ld_c, g.stride_c, g.batches, d_bytes), d)) {
      return invalid("c", "overlaps D without being the same matrix");
    }
  }
  if (g.k == 0) return {};
  const int bytes = type_bytes(g.type_a);
  if (g.a == nullptr) return invalid("a", "null");
  if (g.b == nullptr) return invalid("b", "null");
  if (reinterpret_cast<uintptr_t>(g.a) % bytes != 0)
    return invalid("a", "not aligned to its element");
  if (reinterpret_cast<uintptr_t>(g.b) % bytes != 0)
    return invalid("b", "not aligned to its element");
  if (g.ld_a < a_length) return invalid("ld_a", "smaller than a stored line of A");
  if (g.ld_b < b_length) return invalid("ld_b", "smaller than a stored line of B");
  if (g.batches > 1 && g.stride_a < 0) return invalid("stride_a", "the stride is negative");
  if (g.batches > 1 && g.stride_b < 0) return invalid("stride_b", "the stride is negative");
  const int64_t a_extent = extent(a_lines, a_length, g.ld_a, g.stride_a, g.batches, bytes);
  const int64_t b_extent = extent(b_lines, b_length, g.ld_b, g.stride_b, g.batches, bytes);
  if (a_extent < 0) return invalid("ld_a", "A reaches beyond 2^62 bytes");
  if (b_extent < 0) return invalid("ld_b", "B reaches beyond 2^62 bytes");
  if (tw::share_bytes(stored(g.a, a_lines, a_length, g.ld_a, g.stride_a, g.batches, bytes), d))
    return invalid("d", "overlaps A");
  if (tw::share_bytes(stored(g.b, b_lines, b_length, g.ld_b, g.stride_b, g.batches, bytes), d))
    return invalid("d", "overlaps B");
  return {};
}

struct Device {
  int sm_count = 0, major = 0;
};
// Read once per device: the attributes never change.
Status read_device(Device* out) {
  constexpr int kDevices = 64;
  static std::atomic<int> cache[kDevices];  // sm_count * 256 + major; 0: not read yet
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return {StatusCode::kLaunchFailed, "", "no current device", error};
  int packed = device < kDevices ? cache[device].load(std::memory_order_relaxed) : 0;
  if (packed == 0) {
    int sms = 0, major = 0;
    error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
      error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error != cudaSuccess)
      return {StatusCode::kLaunchFailed, "", "device attributes unreadable", error};
    packed = sms * 256 + major;
    if (device < kDevices) cache[device].store(packed, std::memory_order_relaxed);
  }
  out->sm_count = packed / 256;
  out->major = packed % 256;
  return {};
}

Status launched(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  return {StatusCode::kLaunchFailed, "", what, error};
}

ReduceJob reduction(const Normal& p) {
  ReduceJob job{};
  job.m = p.m;
  job.n = p.n;
  job.batches = static_cast<int>(p.batches);
  job.alpha = p.alpha;
  job.beta = p.beta;
  job.scale_a = p.scale_a;
  job.scale_b = p.scale_b;
  job.c = p.c;
  job.ld_c = p.ld_c;
  job.stride_c = p.stride_c;
  job.d = p.d;
  job.ld_d = p.ld_d;
  job.stride_d = p.stride_d;
  job.output = output_of(p.type_d);
  return job;
}

// Where operands that the kernels cannot read as they lie go, in the workspace.
MovedPair moved_pair(const Normal& p, const Plan& plan, char* workspace) {
  auto to = [&](const Matrix& x, const Moved& moved) {
    if (moved.move == Move::kNone) return x;
    return Matrix{workspace + moved.at, moved.pitch, moved.stride, moved.mn_major};
  };
  return {p.a, p.b, to(p.a, plan.a), to(p.b, plan.b)};
}

// Brings operands there; those that are repacked while the product runs only as far as `order` says.
Status move_operands(const Normal& p, const Plan& plan, const MovedPair& pair,
                     const RepackOrder& order, const Device& device, cudaStream_t stream) {
  const int bytes = type_bytes(p.type_a);
  struct Operand {
    const Matrix &from, &to;
    Move move;
    int64_t mn;
  };
  const Operand operands[] = {{pair.from_a, pair.a, plan.a.move, p.m},
                              {pair.from_b, pair.b, plan.b.move, p.n}};
  RepackJob jobs[2];
  int count = 0;
  for (const Operand& o : operands) {
    if (o.move != Move::kRepack || order.parts > 0) continue;
    RepackJob& job = jobs[count++];
    job.source = o.from.data;
    job.destination = const_cast<void*>(o.to.data);
    job.length = o.from.mn_major ? o.mn : p.k;
    job.count = o.from.mn_major ? p.k : o.mn;
    job.source_pitch = o.from.pitch;
    job.destination_pitch = o.to.pitch;
    job.source_stride = o.from.batch_stride;
    job.destination_stride = o.to.batch_stride;
  }
  if (count > 0) {
    const Status status = launched(
        launch_repack(jobs, count, static_cast<int>(p.batches), bytes, device.sm_count, stream),
        "repacking an operand");
    if (!status) return status;
  }
  for (const Operand& o : operands) {
    if (o.move != Move::kTranspose) continue;
    const bool mn_major = o.from.mn_major;
    const Status status = transpose(o.from.data, o.from.pitch, const_cast<void*>(o.to.data),
                                    o.to.pitch, mn_major ? p.k : o.mn, mn_major ? o.mn : p.k, bytes,
                                    {p.batches, o.from.batch_stride, o.to.batch_stride}, stream);
    if (!status) return status;
  }
  if (order.parts == 0) return {};
  return launched(launch_repack_ahead(order, device.sm_count, stream),
                  "repacking the first parts of the operands");
}

// What is left of a matrix whose lines are a row of op(A), a column of op(B), or one k, from this row
// or column on.
Matrix from(const Matrix& x, int64_t mn, int bytes) {
  Matrix rest = x;
  rest.data = static_cast<const char*>(x.data) + (x.mn_major ? mn : mn * x.pitch) * bytes;
  return rest;
}

// The same where it is one line that was gathered, if it was.
Matrix edge_of(const char* line, const Matrix& x, int64_t mn, int64_t k, int bytes) {
  if (line == nullptr) return from(x, mn, bytes);
  return {line, (k + 127) / 128 * 128, 0, false};  // a pitch that tensor maps take
}

// Rows m0.. and columns n0.. of D, m x n of them.
struct Part {
  int64_t m0, n0, m, n;
};

// Queues the kernel of `choice` for a part of D, whose rows of A and columns of B `pair` has.
// `partial`: where the sums of splits of K go. `order`: what the main part moves meanwhile; the edges
// behind it wait for that and start as SMs fall idle in its last wave.
Status multiply(const Normal& p, const MovedPair& pair, const Part& part,
                const tw::model::GemmCandidate& choice, float* partial, const RepackOrder& order,
                const Device& device, cudaStream_t stream) {
  const int bytes = type_bytes(p.type_a), d_bytes = type_bytes(p.type_d);
  Normal here = p;  // D and C from the part's first element on
  const int64_t c_at = part.m0 * p.ld_c + part.n0, d_at = part.m0 * p.ld_d + part.n0;
  here.m = part.m;
  here.n = part.n;
  if (p.c != nullptr) here.c = static_cast<const char*>(p.c) + c_at * d_bytes;
  here.d = static_cast<char*>(p.d) + d_at * d_bytes;
  WgmmaProblem problem{};
  problem.m = static_cast<int>(part.m);
  problem.n = static_cast<int>(part.n);
  problem.k = static_cast<int>(p.k);
  problem.batches = static_cast<int>(p.batches);
  problem.a = pair.a;
  problem.b = pair.b;
  if (choice.k_bands_ahead > 0) {
    problem.repack = order;
  } else if (order.parts > 0 && choice.kernel == tw::model::GemmKernel::kNarrow) {
    problem.after = order.done;
    problem.after_count = order.parts;
  }
  WgmmaSchedule schedule;
  schedule.cluster = choice.cluster;
  schedule.shares_a = choice.shares_a;
  schedule.raster_group = choice.raster_group;
  schedule.splits = choice.splits;
  if (choice.kernel == tw::model::GemmKernel::kNarrow) schedule.wide_rows = choice.bm;
  schedule.k_cluster = choice.k_cluster;
  schedule.sm_count = device.sm_count;
  schedule.programmatic = true;
  if (choice.splits > 1) {
    problem.d = partial;
    problem.ld_d = part.n;
    problem.stride_d = part.m * part.n;
    problem.output = Output::kF32;
    problem.alpha = 1;
  } else {
    problem.d = here.d;
    problem.ld_d = p.ld_d;
    problem.stride_d = p.stride_d;
    problem.c = here.c;
    problem.ld_c = p.ld_c;
    problem.stride_c = p.stride_c;
    problem.output = output_of(p.type_d);
    problem.alpha = p.alpha;
    problem.beta = p.beta;
    problem.scale_a = p.scale_a;
    problem.scale_b = p.scale_b;
  }
  Status status;
  if (p.type_a == Type::kF32) {
    const tw::model::GemmTile tile{choice.bm, choice.bn, choice.resident, false, choice.groups};
    status = launched(choice.kernel == tw::model::GemmKernel::kFmaTma
                          ? launch_sgemm_tma(problem, tile, schedule, stream)
                      : choice.kernel == tw::model::GemmKernel::kFmaNarrow
                          ? launch_sgemm_narrow(problem, choice.turned, schedule, stream)
                          : launch_sgemm(problem, tile, schedule, stream),
                      "the CUDA-core kernel");
  } else {
    Element element_a = element_of(p.type_a), element_b = element_of(p.type_b);
    if (choice.turned) {  // D^T = B^T A^T, with B's rows on the wide side
      problem = turned(problem);
      std::swap(element_a, element_b);
    }
    const WgmmaKernel* kernel =
        find_wgmma_kernel(element_a, element_b, choice, problem.a.mn_major, problem.b.mn_major);
    if (kernel == nullptr) return unsupported("type_a", "no kernel of this type was built");
    status = launched(launch_wgmma(*kernel, problem, schedule, stream), "the tensor-core kernel");
  }
  if (!status || choice.splits == 1) return status;
  ReduceJob job = reduction(here);
  job.partial = partial;
  job.splits = choice.splits;
  return launched(launch_reduce(job, device.sm_count, stream), "reducing the splits of K");
}

Status run(const Normal& p, const Plan& plan, const Device& device, char* workspace,
           cudaStream_t stream) {
  const int bytes = type_bytes(p.type_a);
  const MovedPair pair = moved_pair(p, plan, workspace);
  MovedPair repacked = pair;  // a transposition is over before the product starts
  if (plan.a.move == Move::kTranspose) repacked.from_a = pair.a;
  if (plan.b.move == Move::kTranspose) repacked.from_b = pair.b;
  const int64_t m = plan.queue.m, n = plan.queue.n;
  const bool gathers = plan.gathers_edges;
  const RepackOrder order = order_repack(
      repacked, gathers ? m : p.m, gathers ? n : p.n, p.k, bytes, plan.queue.main,
      workspace + plan.at_counters, gathers && m < p.m, gathers && n < p.n, plan.queue.column_rows);
  Status status = move_operands(p, plan, pair, order, device, stream);
  if (!status) return status;
  auto* partial = reinterpret_cast<float*>(workspace + plan.at_partial);
  status = multiply(p, pair, {0, 0, m, n}, plan.queue.main, partial, order, device, stream);
  const int64_t columns = gathers ? n : p.n;  // of the edge's rows: the main part brings the corner
  if (status && m < p.m) {
    const MovedPair rows{{}, {}, edge_of(order.row, pair.a, m, p.k, bytes), pair.b};
    status = multiply(p, rows, {m, 0, p.m - m, columns}, plan.queue.rows, nullptr, order, device,
                      stream);
  }
  if (status && n < p.n && plan.queue.column_rows > 0) {
    const MovedPair rest{{}, {}, pair.a, edge_of(order.column, pair.b, n, p.k, bytes)};
    status = multiply(p, rest, {0, n, plan.queue.column_rows, p.n - n}, plan.queue.columns, nullptr,
                      order, device, stream);
  }
  return status;
}

bool is_empty(const GemmArguments& g) { return g.m == 0 || g.n == 0 || g.batches == 0 || g.k == 0; }

}  // namespace

Status gemm_workspace(const GemmArguments& g, GemmWorkspace* bytes) noexcept {
  if (bytes == nullptr) return invalid("bytes", "null");
  *bytes = {};
  Status status = check(g);
  if (!status || is_empty(g)) return status;
  Device device;
  status = read_device(&device);
  if (!status) return status;
  const Plan plan = make_plan(normalise(g), device.sm_count, 0, true);
  bytes->recommended = plan.moved_bytes() + plan.partial_bytes;
  // fp32 has kernels that read operands as they lie.
  bytes->minimum = g.type_a == Type::kF32 ? 0 : plan.moved_bytes();
  return {};
}

Status gemm(const GemmArguments& g, void* workspace, size_t workspace_bytes,
            cudaStream_t stream) noexcept {
  Status status = check(g);
  if (!status || g.m == 0 || g.n == 0 || g.batches == 0) return status;
  const Normal p = normalise(g);
  Device device;
  status = read_device(&device);
  if (!status) return status;
  if (p.k == 0) return launched(launch_reduce(reduction(p), device.sm_count, stream), "scaling C");
  if (device.major != 9) return unsupported("", "the kernels need compute capability 9.0 (Hopper)");
  const Plan plan = make_plan(p, device.sm_count, workspace_bytes, false);
  if (plan.moved_bytes() + plan.partial_bytes > workspace_bytes) {
    return {StatusCode::kWorkspaceTooSmall, "workspace_bytes",
            "smaller than gemm_workspace's minimum", 0};
  }
  if (plan.moved_bytes() + plan.partial_bytes > 0) {
    if (workspace == nullptr) return invalid("workspace", "null");
    if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
      return invalid("workspace", "not 256-byte aligned");
  }
  return run(p, plan, device, static_cast<char*>(workspace), stream);
}

namespace {

GemmArguments from_c(const tw_gemm_arguments& c) {
  GemmArguments g;
  g.m = c.m;
  g.n = c.n;
  g.k = c.k;
  g.order = static_cast<Order>(c.order);
  g.transpose_a = c.transpose_a != 0;
  g.transpose_b = c.transpose_b != 0;
  g.type_a = static_cast<Type>(c.type_a);
  g.type_b = static_cast<Type>(c.type_b);
  g.type_d = static_cast<Type>(c.type_d);
  g.alpha = c.alpha;
  g.beta = c.beta;
  g.a = c.a;
  g.ld_a = c.ld_a;
  g.stride_a = c.stride_a;
  g.b = c.b;
  g.ld_b = c.ld_b;
  g.stride_b = c.stride_b;
  g.c = c.c;
  g.ld_c = c.ld_c;
  g.stride_c = c.stride_c;
  g.d = c.d;
  g.ld_d = c.ld_d;
  g.stride_d = c.stride_d;
  g.batches = c.batches == 0 ? 1 : c.batches;
  g.scale_a = c.scale_a;
  g.scale_b = c.scale_b;
  return g;
}

int to_c(const Status& status, const char** argument) {
  if (argument != nullptr) *argument = status.argument;
  return tw::to_c(status);
}

}  // namespace
}  // namespace tilewright

extern "C" int tw_gemm_workspace(const tw_gemm_arguments* arguments, size_t* recommended,
                                 size_t* minimum, const char** argument) {
  using namespace tilewright;
  if (arguments == nullptr)
    return to_c({StatusCode::kInvalidArgument, "arguments", "null", 0}, argument);
  GemmWorkspace bytes;
  const Status status = gemm_workspace(from_c(*arguments), &bytes);
  if (recommended != nullptr) *recommended = bytes.recommended;
  if (minimum != nullptr) *minimum = bytes.minimum;
  return to_c(status, argument);
}

extern "C" int tw_gemm(const tw_gemm_arguments* arguments, void* workspace, size_t workspace_bytes,
                       cudaStream_t stream, const char** argument) {
  using namespace tilewright;
  if (arguments == nullptr)
    return to_c({StatusCode::kInvalidArgument, "arguments", "null", 0}, argument);
  return to_c(gemm(from_c(*arguments), workspace, workspace_bytes, stream), argument);
}
