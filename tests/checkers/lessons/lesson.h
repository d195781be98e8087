// The host side of the lesson programs: small matrices of integers, one launch, the result compared
// only where the kernel is right (a hazard's result may depend on the order of execution).
//
// A program's exit status is 0 unless a CUDA call fails or, for the twins without the hazard, the
// result is wrong. What a checker must find is in the comments of each file (README.md).
#pragma once

#include <cstdio>
#include <vector>

#include "../../../kernels/common/device_array.h"
#include "../../../kernels/common/test_data.h"

namespace lesson {

using tw::ladder::ceil_div;

enum class Result { kMustBeRight, kNotCompared };

struct GemmShape {
  int m, n, k;
};

// C = A * B, row-major; `launch` gets device pointers.
template <class Launch> int run_gemm(GemmShape shape, Result result, const Launch& launch) {
  using namespace tw::ladder;
  const auto a = random_floats(size_t(shape.m) * shape.k, Numbers::kIntegers, 1);
  const auto b = random_floats(size_t(shape.k) * shape.n, Numbers::kIntegers, 2);
  const DeviceArray<float> device_a(a), device_b(b);
  DeviceArray<float> device_c(size_t(shape.m) * shape.n);
  device_c.fill_bytes(0);
  launch(device_a.data(), device_b.data(), device_c.data());
  check_kernel();
  const auto c = device_c.download();
  if (result == Result::kNotCompared) return 0;
  for (int row = 0; row < shape.m; ++row)
    for (int col = 0; col < shape.n; ++col) {
      float sum = 0;
      for (int i = 0; i < shape.k; ++i) sum += a[row * shape.k + i] * b[i * shape.n + col];
      if (c[row * shape.n + col] == sum) continue;
      std::printf("C[%d][%d] is wrong\n", row, col);
      return 1;
    }
  return 0;
}

// out (n x m) = in (m x n) transposed, row-major; `launch` gets device pointers.
template <class Launch> int run_transpose(int m, int n, Result result, const Launch& launch) {
  using namespace tw::ladder;
  const auto in = random_floats(size_t(m) * n, Numbers::kIntegers, 1);
  const DeviceArray<float> device_in(in);
  DeviceArray<float> device_out(size_t(m) * n);
  device_out.fill_bytes(0);
  launch(device_in.data(), device_out.data());
  check_kernel();
  const auto out = device_out.download();
  if (result == Result::kNotCompared) return 0;
  for (int row = 0; row < m; ++row)
    for (int col = 0; col < n; ++col)
      if (out[col * m + row] != in[row * n + col]) {
        std::printf("out[%d][%d] is wrong\n", col, row);
        return 1;
      }
  return 0;
}

}  // namespace lesson
