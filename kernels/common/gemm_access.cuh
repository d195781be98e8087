// Four neighbours of a row at once, from and to matrices of any pitch: one 16-byte access where the
// pitch keeps rows aligned, single elements elsewhere, nothing outside the matrix.
//
// Tested by the ladder steps that use it (gemm/09 and on).
#pragma once

#include <cuda_runtime.h>

namespace tw::ladder {

// Four elements of a row from `column` on; zeros outside. `aligned`: the pitch is a multiple of 4.
__device__ inline float4 load_four(const float* matrix, int row, int column, int rows, int columns,
                                   bool aligned) {
  const float* from = matrix + size_t(row) * columns + column;
  if (row < rows && aligned && column < columns) return *reinterpret_cast<const float4*>(from);
  float4 v{};
  if (row >= rows) return v;
  if (column + 0 < columns) v.x = from[0];
  if (column + 1 < columns) v.y = from[1];
  if (column + 2 < columns) v.z = from[2];
  if (column + 3 < columns) v.w = from[3];
  return v;
}

__device__ inline void store_four(float* matrix, int row, int column, int rows, int columns,
                                  bool aligned, float4 v) {
  if (row >= rows) return;
  float* to = matrix + size_t(row) * columns + column;
  if (aligned && column < columns) {
    *reinterpret_cast<float4*>(to) = v;
    return;
  }
  if (column + 0 < columns) to[0] = v.x;
  if (column + 1 < columns) to[1] = v.y;
  if (column + 2 < columns) to[2] = v.z;
  if (column + 3 < columns) to[3] = v.w;
}

}  // namespace tw::ladder
