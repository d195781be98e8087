// A named barrier that waits for more warps than come.
//
// expect: deadlock @wait
#include "planted.h"

__global__ void waits(int* out) {
  if (threadIdx.x < BUG(32, 64)) asm volatile("bar.sync 1, 64;" ::: "memory");  // @wait
  out[threadIdx.x] = 1;
}

int main() {
  int* out = device_array<int>(64);
  waits<<<1, 64>>>(out);
  return finish() BUG(== 0, != 0);
}
