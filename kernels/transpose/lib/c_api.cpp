// The C interface: forwards to the C++ one and keeps the last failure of each thread.
#include "common/c_status.h"
#include "tilewright/status.h"
#include "tilewright/transpose.h"
#include "tilewright/transpose_c.h"
#include "tilewright/version.h"

namespace {

thread_local tw_error last_error = {TW_OK, "", "", 0};

}  // namespace

namespace tw {

int to_c(const tilewright::Status& status) {
  if (!status.ok())
    last_error = {int(status.code), status.argument, status.message, status.cuda_error};
  return int(status.code);
}

}  // namespace tw

using tw::to_c;

extern "C" {

tw_error tw_last_error(void) { return last_error; }

int tw_transpose(const void* in, int64_t ld_in, void* out, int64_t ld_out, int64_t rows,
                 int64_t cols, int element_bytes, int64_t batch_count, int64_t batch_stride_in,
                 int64_t batch_stride_out, CUstream_st* stream) {
  return to_c(tilewright::transpose(in, ld_in, out, ld_out, rows, cols, element_bytes,
                                    {batch_count, batch_stride_in, batch_stride_out}, stream));
}

int tw_transpose_in_place(void* data, int64_t ld, int64_t rows, int64_t cols, int element_bytes,
                          void* workspace, size_t workspace_bytes, CUstream_st* stream) {
  return to_c(tilewright::transpose_in_place(data, ld, rows, cols, element_bytes, workspace,
                                             workspace_bytes, stream));
}

size_t tw_transpose_in_place_workspace(int64_t rows, int64_t cols, int element_bytes) {
  return tilewright::transpose_in_place_workspace(rows, cols, element_bytes);
}

int tw_permute(const void* in, void* out, int dims, const int64_t* sizes, const int* order,
               int element_bytes, CUstream_st* stream) {
  return to_c(tilewright::permute(in, out, dims, sizes, order, element_bytes, stream));
}

int tw_transpose_host(const void* in, int64_t ld_in, void* out, int64_t ld_out, int64_t rows,
                      int64_t cols, int element_bytes, int threads) {
  return to_c(
      tilewright::transpose_host(in, ld_in, out, ld_out, rows, cols, element_bytes, {}, threads));
}

int tw_version(void) { return tilewright::version(); }

}  // extern "C"
