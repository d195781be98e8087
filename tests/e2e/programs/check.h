// A call that fails ends the program and says where.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                        \
  do {                                                                     \
    const cudaError_t error_ = (call);                                     \
    if (error_ != cudaSuccess) {                                           \
      printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorName(error_)); \
      exit(1);                                                             \
    }                                                                      \
  } while (0)
