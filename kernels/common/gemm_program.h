// The host side of every GEMM step: C = A * B, A is M x K, B is K x N, C is M x N, row-major fp32.
//
// A step gives its name and a function that launches its kernel; this file runs it on aligned and
// ragged sizes and compares with a double-precision reference, on two data sets (test_data.h):
//   integers  every bit must be right; the hash of C is printed, so that machines can be compared;
//   reals     |error| <= gamma * sum_k |a||b|, gamma = K*u / (1 - K*u), u = 2^-24: the bound for a
//             dot product summed in any order (Higham, Accuracy and Stability of Numerical
//             Algorithms, 2nd ed., section 3.1), plus that of the double-precision reference.
// C starts as NaN, so an element that the kernel leaves out is an error.
// Steps on the tensor cores take bf16 (`launch_bf16`): A and B are rounded first, and the reference
// multiplies what was rounded; products are exact in fp32, and for their sums u = 2^-22, because
// the tensor cores cut off where fp32 rounds.
//
// Limits: sizes whose reference would take more than 2^28 multiplications are compared on evenly
// spaced rows only (the number of rows is printed); no matrix of 2^31 elements or more.
#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "device_array.h"
#include "options.h"
#include "test_data.h"
#include "timing.h"

namespace tw::ladder {

struct GemmShape {
  int m, n, k;
};

struct GemmStep {
  const char* name;
  std::function<void(const float* a, const float* b, float* c, GemmShape shape)> launch;
  int multiple_of = 1;  // sizes that are no multiple of this are left out
  std::function<void(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, GemmShape shape)>
      launch_bf16 = nullptr;  // instead of `launch`
};

struct Comparison {
  bool pass = true;
  double max_error = 0;
  char first_wrong[160] = "";  // the first wrong element, in words
};

// Which rows are compared: all of them, or evenly spaced ones, the last row included.
inline int compared_rows(GemmShape shape) {
  const double per_row = static_cast<double>(shape.n) * shape.k;
  const double rows = per_row == 0 ? shape.m : 0x1p28 / per_row;
  return rows >= shape.m ? shape.m : rows < 2 ? 2 : static_cast<int>(rows);
}

inline Comparison compare_gemm(const std::vector<float>& a, const std::vector<float>& b,
                               const std::vector<float>& c, GemmShape shape, Numbers numbers,
                               double u) {
  const double gamma = shape.k * u / (1 - shape.k * u) + shape.k * 0x1p-52;
  const int rows = compared_rows(shape);
  std::vector<double> sum(shape.n), magnitude(shape.n);
  Comparison result;
  for (int i = 0; i < rows; ++i) {
    const int row = rows == shape.m ? i : static_cast<int>(int64_t{i} * (shape.m - 1) / (rows - 1));
    std::fill(sum.begin(), sum.end(), 0.0);
    std::fill(magnitude.begin(), magnitude.end(), 0.0);
    for (int k = 0; k < shape.k; ++k) {
      const double left = a[size_t(row) * shape.k + k];
      const float* right = &b[size_t(k) * shape.n];
      for (int col = 0; col < shape.n; ++col) {
        const double product = left * right[col];
        sum[col] += product;
        magnitude[col] += std::fabs(product);
      }
    }
    for (int col = 0; col < shape.n; ++col) {
      const float got = c[size_t(row) * shape.n + col];
      const double error = std::fabs(got - sum[col]);
      const double allowed = numbers == Numbers::kIntegers ? 0 : gamma * magnitude[col];
      if (error > result.max_error) result.max_error = error;
      if (error <= allowed) continue;  // false for NaN
      if (result.pass)
        std::snprintf(result.first_wrong, sizeof result.first_wrong,
                      " C[%d][%d] is %.9g, should be %.17g, allowed error %.3g;", row, col, got,
                      sum[col], allowed);
      result.pass = false;
    }
  }
  return result;
}

// Rounds `values` to bf16, in place and as a copy.
inline std::vector<__nv_bfloat16> rounded(std::vector<float>& values) {
  std::vector<__nv_bfloat16> out(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    out[i] = __float2bfloat16(values[i]);
    values[i] = __bfloat162float(out[i]);
  }
  return out;
}

inline std::vector<GemmShape> gemm_shapes(const Options& options) {
  if (options.one_size) return {{options.m, options.n, options.k}};
  return {{0, 0, 0},    {0, 7, 5},    {7, 0, 5},      {7, 5, 0},  // nothing to do; C = 0 for K = 0
          {1, 1, 1},    {1, 65, 45},  {65, 1, 45},                // one row, one column
          {35, 25, 45}, {65, 45, 33}, {31, 37, 41},   {127, 131, 113},  // ragged, primes
          {16, 16, 16}, {32, 64, 96}, {128, 64, 256}, {256, 256, 256}};
}

// One line of output per size. False: a result is wrong, or the size is beyond the limits.
inline bool run_gemm_size(const Options& options, const GemmStep& step, GemmShape shape) {
  const auto elements = [](int rows, int cols) { return size_t(rows) * size_t(cols); };
  std::printf("%s M=%d N=%d K=%d ", step.name, shape.m, shape.n, shape.k);
  if (shape.m % step.multiple_of || shape.n % step.multiple_of || shape.k % step.multiple_of) {
    std::printf("left out: whole tiles of %d only\n", step.multiple_of);
    return !options.one_size;
  }
  constexpr size_t kLimit = size_t{1} << 31;
  if (elements(shape.m, shape.k) >= kLimit || elements(shape.k, shape.n) >= kLimit ||
      elements(shape.m, shape.n) >= kLimit) {
    std::printf("FAIL: a matrix of 2^31 elements or more\n");
    return false;
  }
  if (shape.k >= (1 << 24) / (kLargestInteger * kLargestInteger)) {
    std::printf("FAIL: K is too large for exact sums of integers in fp32\n");
    return false;
  }
  bool pass = true;
  const bool bf16 = step.launch_bf16 != nullptr;
  DeviceArray<float> c(elements(shape.m, shape.n));
  for (Numbers numbers : {Numbers::kIntegers, Numbers::kReals}) {
    auto host_a = random_floats(elements(shape.m, shape.k), numbers, 1);
    auto host_b = random_floats(elements(shape.k, shape.n), numbers, 2);
    const DeviceArray<__nv_bfloat16> a16(bf16 ? rounded(host_a) : std::vector<__nv_bfloat16>());
    const DeviceArray<__nv_bfloat16> b16(bf16 ? rounded(host_b) : std::vector<__nv_bfloat16>());
    const DeviceArray<float> a(bf16 ? std::vector<float>() : host_a),
        b(bf16 ? std::vector<float>() : host_b);
    const auto launch = [&] {
      if (bf16) {
        step.launch_bf16(a16.data(), b16.data(), c.data(), shape);
      } else {
        step.launch(a.data(), b.data(), c.data(), shape);
      }
    };
    c.fill_bytes(0xff);
    launch();
    check_kernel();
    const auto host_c = c.download();
    const Comparison comparison =
        compare_gemm(host_a, host_b, host_c, shape, numbers, bf16 ? 0x1p-22 : 0x1p-24);
    pass = pass && comparison.pass;
    if (numbers == Numbers::kIntegers) {
      std::printf("integers %s%s hash=%016llx", comparison.pass ? "PASS" : "FAIL",
                  comparison.first_wrong, static_cast<unsigned long long>(hash_of(host_c)));
      continue;
    }
    std::printf(" reals %s%s", comparison.pass ? "PASS" : "FAIL", comparison.first_wrong);
    if (compared_rows(shape) != shape.m)
      std::printf(" (%d of %d rows compared)", compared_rows(shape), shape.m);
    const double flop = 2.0 * shape.m * shape.n * shape.k;
    if (options.time && flop != 0) {
      const float ms = shortest_time_ms(options.repeat, launch);
      std::printf(" max_error=%.2e time=%.4f ms %.2f GFLOP/s", comparison.max_error, ms,
                  flop / ms * 1e-6);
    }
  }
  std::printf("\n");
  return pass;
}

// The exit status of a step's program: 0 only if every size passed.
inline int run_gemm_step(const Options& options, const GemmStep& step) {
  bool pass = true;
  for (GemmShape shape : gemm_shapes(options)) pass = run_gemm_size(options, step, shape) && pass;
  return pass ? 0 : 1;
}

}  // namespace tw::ladder
