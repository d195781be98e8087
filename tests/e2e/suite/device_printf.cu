// printf from the device: every conversion, one line a thread in order, a format without arguments.
#include "suite.h"

__global__ void formats() {
  printf("%d %i %u %x %X %o|%5d|%-5d|%05d|%+d\n", -1, 2, 3u, 255, 255, 8, 42, 42, 42, 42);
  printf("%ld %llu %llx %hd\n", -5L, 1ull << 40, ~0ull, short(-7));
  printf("%f %.3f %e %g %10.2f|%s|%c|%%\n", 1.5, double(1.0f / 3), 12345.678, 1e-5, 3.14159, "text",
         'c');
  printf("no arguments\n");
}
__global__ void threads() {
  if (threadIdx.x % 8 == 3) printf("block %d thread %d\n", blockIdx.x, threadIdx.x);
}

int main() {
  formats<<<1, 1>>>();
  SYNC();
  fflush(stdout);
  for (int b = 0; b < 2; b++) threads<<<1, 32>>>();
  SYNC();
  fflush(stdout);
  return verdict();
}
