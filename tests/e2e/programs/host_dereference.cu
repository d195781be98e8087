// Host code that reads through a device pointer.
#include <cstdio>
int main() {
  int* d;
  cudaMalloc(&d, 64);
  printf("before\n");
  fflush(stdout);
  printf("%d\n", d[4]);
  return 0;
}
