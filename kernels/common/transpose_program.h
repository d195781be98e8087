// The host side of every transpose step: `in` is M x N, `out` is N x M, both row-major.
//
// A step gives its name and a function that launches its kernel; this file runs it on aligned and
// ragged sizes and compares every bit with a transpose on the host. Elements are random bit
// patterns (floats include NaNs). `out` starts as the complement of what is expected, so an element
// that the kernel leaves out is an error.
//
// Limit: fewer than 2^31 elements.
#pragma once

#include <functional>

#include "device_array.h"
#include "options.h"
#include "test_data.h"
#include "timing.h"

namespace tw::ladder {

struct MatrixShape {
  int m, n;
};

template <class T> struct TransposeStep {
  const char* name;
  std::function<void(const T* in, T* out, MatrixShape shape)> launch;
  bool copies = false;  // out = in, not transposed: the yardstick
};

inline std::vector<MatrixShape> transpose_shapes(const Options& options) {
  if (options.one_size) return {{options.m, options.n}};
  return {{0, 0},   {0, 5},   {5, 0},     {1, 1},     {1, 45},
          {45, 1},                                                // nothing; one row, one column
          {65, 45}, {35, 25}, {31, 37},   {127, 131}, {130, 66},  // ragged, primes
          {32, 32}, {64, 96}, {256, 256}, {512, 1024}};
}

template <class T> std::vector<T> reference_transpose(const std::vector<T>& in, MatrixShape shape) {
  std::vector<T> out(in.size());
  for (int row = 0; row < shape.m; ++row)
    for (int col = 0; col < shape.n; ++col)
      out[size_t(col) * shape.m + row] = in[size_t(row) * shape.n + col];
  return out;
}

// One line of output per size. False: a result is wrong, or the size is beyond the limits.
template <class T>
bool run_transpose_size(const Options& options, const TransposeStep<T>& step, MatrixShape shape) {
  std::printf("%s M=%d N=%d ", step.name, shape.m, shape.n);
  const size_t count = size_t(shape.m) * size_t(shape.n);
  if (count >= size_t{1} << 31) {
    std::printf("FAIL: a matrix of 2^31 elements or more\n");
    return false;
  }
  const std::vector<T> host_in = random_patterns<T>(count, 1);
  const std::vector<T> expected = step.copies ? host_in : reference_transpose(host_in, shape);
  std::vector<T> complement = expected;
  auto* bytes = reinterpret_cast<unsigned char*>(complement.data());
  for (size_t i = 0; i < count * sizeof(T); ++i) bytes[i] = static_cast<unsigned char>(~bytes[i]);

  const DeviceArray<T> in(host_in);
  DeviceArray<T> out(complement);
  step.launch(in.data(), out.data(), shape);
  check_kernel();
  const std::vector<T> got = out.download();
  size_t wrong = 0, first = 0;
  for (size_t i = count; i-- > 0;) {
    if (std::memcmp(&got[i], &expected[i], sizeof(T)) == 0) continue;
    ++wrong;
    first = i;
  }
  std::printf("%s hash=%016llx", wrong == 0 ? "PASS" : "FAIL",
              static_cast<unsigned long long>(hash_of(got)));
  if (wrong != 0) std::printf(" (%zu elements differ, the first at index %zu)", wrong, first);
  if (options.time && count != 0) {
    const float ms =
        shortest_time_ms(options.repeat, [&] { step.launch(in.data(), out.data(), shape); });
    std::printf(" time=%.4f ms %.2f GB/s", ms, 2.0 * double(count) * sizeof(T) / ms * 1e-6);
  }
  std::printf("\n");
  return wrong == 0;
}

// The exit status of a step's program: 0 only if every size passed.
template <class T> int run_transpose_step(const Options& options, const TransposeStep<T>& step) {
  bool pass = true;
  for (MatrixShape shape : transpose_shapes(options))
    pass = run_transpose_size(options, step, shape) && pass;
  return pass ? 0 : 1;
}

}  // namespace tw::ladder
