// A __managed__ variable that the second device loads first: what the runtime says of it, and that
// it is nobody's to free.
#include <cstdio>

#include "check.h"

__managed__ int both = 40;

__global__ void count() { both += 1; }

void show(const char* when) {
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, &both));
  printf("%s: %s, the host's address %s\n", when,
         attributes.type == cudaMemoryTypeManaged ? "managed"
         : attributes.type == cudaMemoryTypeHost  ? "host"
                                                  : "something else",
         attributes.hostPointer == &both ? "is the same" : "differs");
}

int main() {
  for (const int device : {1, 0}) {
    CHECK(cudaSetDevice(device));
    count<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    printf("device %d: %d\n", device, both);
    show(device == 1 ? "one device" : "both devices");
  }
  printf("cudaFree: %s\n", cudaGetErrorName(cudaFree(&both)));
  printf("cudaFreeHost: %s\n", cudaGetErrorName(cudaFreeHost(&both)));
  (void)cudaGetLastError();
  count<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  printf("after that: %d\n", both);
}
