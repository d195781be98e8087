// The host side of the planted programs: device arrays, and the cases of a program. A kernel holds
// its mistake as `BUG(wrong, right)`. check_case.py compiles each file twice into one program, in
// the namespaces `bug` and `twin` (PLANTED, BUG), and runs the one or the other: the same lines,
// with the mistake and without.
#pragma once

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <vector>

template <class T> T* device_array(size_t n, bool filled = true) {
  T* p = nullptr;
  cudaMalloc(&p, n * sizeof(T));
  std::vector<T> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = T(i * 7 % 13);
  if (filled) cudaMemcpy(p, values.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}

struct Case {
  const char* name;
  void (*run)();
};

// `only`: nullptr, a name, or "-,a,b,": all but these.
inline bool chosen(const char* only, const char* name) {
  if (only == nullptr || only[0] != '-') return only == nullptr || std::strcmp(only, name) == 0;
  char word[64];
  std::snprintf(word, sizeof word, ",%s,", name);
  return std::strstr(only, word) == nullptr;
}

// The cases that are chosen. A kernel that faults ends its own case only.
inline int run_cases(std::initializer_list<Case> cases, const char* only) {
  int number = 0;
  for (const Case& c : cases) {
    if (!chosen(only, c.name)) continue;
    ++number;
    c.run();
    const cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) {
      std::printf("%s: %s\n", c.name, cudaGetErrorString(error));
      cudaDeviceReset();
    }
  }
  return number == 0 ? 2 : 0;
}
