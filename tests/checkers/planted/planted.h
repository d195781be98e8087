// Host side of the planted programs: device arrays, and the switch between a bug and its twin. A
// kernel holds its mistake as `BUG(wrong, right)`; compiled with -DTWIN the same kernel is correct.
#pragma once

#include <cstdio>
#include <vector>

#ifdef TWIN
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

template <class T> T* device_array(size_t n, bool filled = true) {
  T* p = nullptr;
  cudaMalloc(&p, n * sizeof(T));
  std::vector<T> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = T(i * 7 % 13);
  if (filled) cudaMemcpy(p, values.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}

inline int finish() {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 3;
}
