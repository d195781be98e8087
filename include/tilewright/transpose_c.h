/* The C interface of transpose.h: same meaning, same argument names. Every function returns 0 or a
 * code of tw_status_code; tw_last_error() then describes the last failure of the calling thread, here
 * or in the C functions of gemm.h.
 *
 * Tested by examples/link_library/link_c.c. */
#pragma once
#ifndef TILEWRIGHT_TRANSPOSE_C_H
#define TILEWRIGHT_TRANSPOSE_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

enum tw_status_code {
  TW_OK = 0,
  TW_INVALID_ARGUMENT = 1,
  TW_UNSUPPORTED = 2,
  TW_WORKSPACE_TOO_SMALL = 3,
  TW_LAUNCH_FAILED = 4
};

struct tw_error {
  int code;             /* of tw_status_code */
  const char* argument; /* the argument's name, or "" */
  const char* message;  /* one sentence; static storage */
  int cuda_error;       /* cudaError_t of a failed launch, or 0 */
};

/* The last failure in this thread; code 0 when there was none. */
struct tw_error tw_last_error(void);

int tw_transpose(const void* in, int64_t ld_in, void* out, int64_t ld_out, int64_t rows,
                 int64_t cols, int element_bytes, int64_t batch_count, int64_t batch_stride_in,
                 int64_t batch_stride_out, struct CUstream_st* stream);
int tw_transpose_in_place(void* data, int64_t ld, int64_t rows, int64_t cols, int element_bytes,
                          void* workspace, size_t workspace_bytes, struct CUstream_st* stream);
size_t tw_transpose_in_place_workspace(int64_t rows, int64_t cols, int element_bytes);
int tw_permute(const void* in, void* out, int dims, const int64_t* sizes, const int* order,
               int element_bytes, struct CUstream_st* stream);
int tw_transpose_host(const void* in, int64_t ld_in, void* out, int64_t ld_out, int64_t rows,
                      int64_t cols, int element_bytes, int threads);
/* major * 10000 + minor * 100 + patch */
int tw_version(void);

#ifdef __cplusplus
}
#endif
#endif
