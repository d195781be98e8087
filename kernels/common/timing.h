// Time of a launch between two CUDA events, in milliseconds: the shortest of `repeat` launches.
// The caller has run the kernel once before (for the check), so no first-launch cost is measured.
#pragma once

#include "cuda_check.h"

namespace tw::ladder {

template <class Launch> float shortest_time_ms(int repeat, const Launch& launch) {
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&stop));
  float shortest = 0;
  for (int i = 0; i < repeat; ++i) {
    check(cudaEventRecord(start));
    launch();
    check(cudaEventRecord(stop));
    check(cudaEventSynchronize(stop));
    float time = 0;
    check(cudaEventElapsedTime(&time, start, stop));
    if (i == 0 || time < shortest) shortest = time;
  }
  check(cudaEventDestroy(start));
  check(cudaEventDestroy(stop));
  return shortest;
}

}  // namespace tw::ladder
