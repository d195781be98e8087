// Matrix products on a Hopper GPU, aligned or not:  D = alpha * op(A) * op(B) + beta * C.
//
// op(A) is m x k, op(B) is k x n, C and D are m x n; all are row-major, or all column-major
// (`order`), with leading dimensions and batch strides in elements. Any leading dimension and any
// address aligned to the element is valid. Products accumulate in fp32. Inputs: fp32 (CUDA cores),
// tf32 (fp32 in memory, multiplied by the tensor cores at tf32 precision), bf16, fp16, fp8 (e4m3,
// e5m2, with scales). C and D are of one type: fp32, bf16 or fp16. beta == 0 never reads C; k == 0
// gives beta * C; NaN and infinity propagate; the same call on the same arguments gives the same
// bits.
//
// A call queues work on `stream` (nullptr: the default stream) of the current device, allocates
// nothing, waits for nothing, may be captured into a graph and may be made from any thread.
// Workspace is the caller's: as much as gemm_workspace says, 256-byte aligned, used by one call at
// a time; it overlaps no operand (nothing checks that). D shares no byte with A or B, nor with C
// unless it is C; between their first and last byte it may lie in windows of columns beside theirs,
// in rows of one pitch (bytes). Where rows of A or B start anywhere, they are read in words of 16
// bytes on the 16-byte grid, so up to 14 bytes before the first and behind the last element; memory
// checkers may name those. Errors are values (status.h) that name the argument, and touch nothing.
//
// Tested by tilewright-bench gemm --suite verify (GPU), tests/unit/model/gemm_model_test.cpp (choice
// of kernel) and tests/e2e/gemm_library.sh (some kernels without a GPU).
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include "tilewright/status.h"
#endif

typedef struct CUstream_st* cudaStream_t;  // as in the CUDA headers, which this one does not need

// ---- C interface --------------------------------------------------------------------------------

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TW_TYPE_F32 = 0,
  TW_TYPE_TF32 = 1,
  TW_TYPE_BF16 = 2,
  TW_TYPE_F16 = 3,
  TW_TYPE_E4M3 = 4,
  TW_TYPE_E5M2 = 5
};
enum { TW_ROW_MAJOR = 0, TW_COLUMN_MAJOR = 1 };

// Zero-initialise, then set what is needed; batches 0 means 1.
typedef struct tw_gemm_arguments {
  int64_t m, n, k;
  int order;                     // TW_ROW_MAJOR, TW_COLUMN_MAJOR
  int transpose_a, transpose_b;  // nonzero: op transposes
  int type_a, type_b;            // TW_TYPE_*: the same, except that the two fp8 types may be mixed
  int type_d;                    // TW_TYPE_F32, _BF16 or _F16; of C and D
  float alpha, beta;
  const void* a;
  int64_t ld_a, stride_a;
  const void* b;
  int64_t ld_b, stride_b;
  const void* c;  // may equal d (then ld_c == ld_d); otherwise shares no byte with it
  int64_t ld_c, stride_c;
  void* d;
  int64_t ld_d, stride_d;
  int64_t batches;
  const float* scale_a;  // device scalars that multiply A and B (fp8), or null
  const float* scale_b;
} tw_gemm_arguments;

// 0 or a code of tw_status_code (transpose_c.h); tw_last_error() of that header then describes the
// failure. `argument` (may be null) receives the static name of the wrong one, "" where none is.
// `recommended` lets the kernel of choice run; `minimum` is enough for some kernel (no split of K).
int tw_gemm_workspace(const tw_gemm_arguments* arguments, size_t* recommended, size_t* minimum,
                      const char** argument);
int tw_gemm(const tw_gemm_arguments* arguments, void* workspace, size_t workspace_bytes,
            cudaStream_t stream, const char** argument);

#ifdef __cplusplus
}  // extern "C"

// ---- C++ interface ------------------------------------------------------------------------------

namespace tilewright {

enum class Type : int { kF32, kTf32, kBf16, kF16, kE4m3, kE5m2 };
enum class Order : int { kRowMajor, kColumnMajor };

// The fields are those of tw_gemm_arguments.
struct GemmArguments {
  int64_t m = 0, n = 0, k = 0;
  Order order = Order::kRowMajor;
  bool transpose_a = false, transpose_b = false;
  Type type_a = Type::kBf16, type_b = Type::kBf16, type_d = Type::kBf16;
  float alpha = 1, beta = 0;
  const void* a = nullptr;
  int64_t ld_a = 0, stride_a = 0;
  const void* b = nullptr;
  int64_t ld_b = 0, stride_b = 0;
  const void* c = nullptr;
  int64_t ld_c = 0, stride_c = 0;
  void* d = nullptr;
  int64_t ld_d = 0, stride_d = 0;
  int64_t batches = 1;
  const float* scale_a = nullptr;
  const float* scale_b = nullptr;
};

struct GemmWorkspace {
  size_t recommended = 0;  // bytes for the kernel of choice
  size_t minimum = 0;      // bytes with which no call is refused for want of workspace
};

// Pointers count: their alignment decides whether an operand must be repacked.
Status gemm_workspace(const GemmArguments& arguments, GemmWorkspace* bytes) noexcept;
Status gemm(const GemmArguments& arguments, void* workspace, size_t workspace_bytes,
            cudaStream_t stream = nullptr) noexcept;

}  // namespace tilewright
#endif
