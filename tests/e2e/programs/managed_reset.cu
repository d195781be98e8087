// A __managed__ variable of two devices: it stays while one of them still uses it, whichever is
// reset, and starts anew once both have been.
#include <cstdio>
#include <cstdlib>

#include "check.h"

__managed__ int both = 40;
__device__ int own = 0;

__global__ void count() { both += 1, own += 1; }

void count_on(int device) {
  CHECK(cudaSetDevice(device));
  count<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  int mine = 0;
  CHECK(cudaMemcpyFromSymbol(&mine, own, sizeof mine));
  printf("device %d: both %d, own %d\n", device, both, mine);
}

void reset(int device) {
  CHECK(cudaSetDevice(device));
  CHECK(cudaDeviceReset());
  printf("device %d is reset\n", device);
}

int main() {
  count_on(0);
  count_on(1);
  reset(0);
  printf("the host: both %d\n", both);
  count_on(1);
  count_on(0);
  reset(1);
  count_on(1);
  count_on(0);
  reset(0);
  reset(1);
  count_on(1);
  count_on(0);
}
