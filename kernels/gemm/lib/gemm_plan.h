// What a GEMM call comes down to: the problem in row-major order, the operands that have to be moved into
// the workspace, the kernels that the model takes (src/model/gemm_model.h), and where in the workspace
// things lie. Nothing here launches anything.
//
// Column-major is row-major of the transposed product: D^T = op(B)^T op(A)^T, so A and B change
// places. Tested by tilewright-bench gemm --suite verify.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gemm/lib/wgmma_launch.h"
#include "model/gemm_model.h"
#include "tilewright/gemm.h"

namespace tw::gemm {

using tilewright::Type;

constexpr int type_bytes(Type t) {
  return t == Type::kF32 || t == Type::kTf32 ? 4 : (t == Type::kBf16 || t == Type::kF16 ? 2 : 1);
}
constexpr Element element_of(Type t) { return static_cast<Element>(static_cast<int>(t)); }
static_assert(static_cast<int>(Type::kE5m2) == static_cast<int>(Element::kE5m2),
              "the enums count alike");
constexpr Output output_of(Type t) {
  return t == Type::kF32 ? Output::kF32 : (t == Type::kBf16 ? Output::kBf16 : Output::kF16);
}

// Row-major: D (m x n) = op(A) op(B). `mn_major` of A: stored k x m; of B: stored k x n.
struct Normal {
  int64_t m, n, k, batches;
  Type type_a, type_b, type_d;
  Matrix a, b;
  const void* c;
  int64_t ld_c, stride_c;
  void* d;
  int64_t ld_d, stride_d;
  float alpha, beta;
  const float *scale_a, *scale_b;
};

Normal normalise(const tilewright::GemmArguments& g);

// Whether an operand is copied into the workspace before it is read, and how it lies there.
enum class Move { kNone, kRepack, kTranspose };
struct Moved {
  Move move = Move::kNone;
  bool mn_major = false;
  int64_t pitch = 0, stride = 0;  // elements
  size_t at = 0, bytes = 0;       // in the workspace
};

// What will be queued, and where in the workspace.
struct Plan {
  model::GemmPlan queue;
  Moved a, b;
  bool gathers_edges = false;  // model::gathers_edges
  // Counters for operands that are moved while the product runs, whether it does so or not.
  size_t at_counters = 0, counter_bytes = 0;
  size_t at_partial = 0, partial_bytes = 0;  // sums of the main part's splits of K
  size_t moved_bytes() const { return a.bytes + b.bytes + counter_bytes; }
};
// `unlimited`: as if the workspace had room for everything.
Plan make_plan(const Normal& p, int sm_count, size_t workspace_bytes, bool unlimited);

// Operands as they lie, and as the kernels read them; the same data: not moved.
struct MovedPair {
  Matrix from_a, from_b, a, b;
};
// What is moved while `product` runs, and when (repack_order.h); parts 0: nothing. k_bands_ahead of
// the product says how much of first_rows and first_columns comes before it. `row`, `column`: one
// row and one column beyond m and n are gathered; other launches multiply them, but for the column's
// rows from `column_rows` on.
RepackOrder order_repack(const MovedPair& moved, int64_t m, int64_t n, int64_t k, int bytes,
                         const model::GemmCandidate& product, void* counters, bool row = false,
                         bool column = false, int64_t column_rows = int64_t{1} << 40);
// Room for its counters, whatever is moved, and for a row and a column.
size_t repack_counter_bytes(const MovedPair& moved, int64_t m, int64_t n, int64_t k, int bytes);

// The kernels that a call with a large enough workspace queues, in one line.
std::string describe_call(const tilewright::GemmArguments& g, int sm_count);

}  // namespace tw::gemm
