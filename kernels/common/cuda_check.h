// Every CUDA call of the ladder goes through check(): a failing call ends the program with the
// place of the call, the name of the error and its text.
//
// The place comes from compiler built-ins used as default arguments and not from
// std::source_location, so that plain `nvcc file.cu` (C++17 by default) builds every step.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace tw::ladder {

inline void check(cudaError_t status, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (status == cudaSuccess) return;
  std::fflush(stdout);
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, cudaGetErrorName(status),
               cudaGetErrorString(status));
  std::exit(1);
}

// After a launch: the launch itself (bad configuration), then the run (illegal access, ...).
inline void check_kernel(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  check(cudaGetLastError(), file, line);
  check(cudaDeviceSynchronize(), file, line);
}

constexpr int ceil_div(int a, int b) { return a / b + (a % b != 0); }

}  // namespace tw::ladder
