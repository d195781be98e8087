// Matrices of bf16 whose rows start on 16 bytes, as 16-byte copies and TMA want them, from matrices
// of any pitch, and tensor maps of them.
//
// A pitch that is no multiple of eight elements is made one by copying the matrix into scratch
// memory that is kept from call to call; the ladder's times include that copy. Errors print and
// exit, as everywhere in the ladder. Tested by the ladder steps that use it (gemm/14 and on).
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>
#include <memory>

#include "device_array.h"

namespace tw::ladder {

struct Pitched {
  const __nv_bfloat16* data;
  int rows, columns, pitch;  // elements
};

// `slot`: 0 for A, 1 for B; each has scratch memory of its own.
inline Pitched on_16_bytes(const __nv_bfloat16* data, int rows, int columns, int slot) {
  if (columns % 8 == 0) return {data, rows, columns, columns};
  static std::unique_ptr<DeviceArray<__nv_bfloat16>> scratch[2];
  const int pitch = (columns + 7) / 8 * 8;
  const size_t count = size_t(rows) * pitch;
  if (scratch[slot] == nullptr || scratch[slot]->size() < count) {
    scratch[slot] = std::make_unique<DeviceArray<__nv_bfloat16>>(count);
    scratch[slot]->fill_bytes(0);  // 16-byte copies read the ends of rows, too
  }
  check(cudaMemcpy2DAsync(scratch[slot]->data(), pitch * sizeof(__nv_bfloat16), data,
                          columns * sizeof(__nv_bfloat16), columns * sizeof(__nv_bfloat16), rows,
                          cudaMemcpyDeviceToDevice));
  return {scratch[slot]->data(), rows, columns, pitch};
}

// Boxes of box_columns x box_rows in the 128-byte swizzle, zeros outside the matrix. The map has
// three dimensions, as hopper.cuh's copies expect; the third is 1.
inline CUtensorMap tensor_map(const Pitched& matrix, int box_columns, int box_rows) {
  using Encode =
      CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                   const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                   CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault,
                                         &found));
  const cuuint64_t sizes[3] = {cuuint64_t(matrix.columns), cuuint64_t(matrix.rows), 1};
  const cuuint64_t pitch = cuuint64_t(matrix.pitch) * sizeof(__nv_bfloat16);
  const cuuint64_t strides[2] = {pitch, pitch};
  const cuuint32_t box[3] = {cuuint32_t(box_columns), cuuint32_t(box_rows), 1};
  const cuuint32_t steps[3] = {1, 1, 1};
  CUtensorMap map;
  const CUresult result = reinterpret_cast<Encode>(entry)(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<__nv_bfloat16*>(matrix.data), sizes,
      strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    std::fprintf(stderr, "cuTensorMapEncodeTiled: error %d\n", static_cast<int>(result));
    std::exit(3);
  }
  return map;
}

}  // namespace tw::ladder
