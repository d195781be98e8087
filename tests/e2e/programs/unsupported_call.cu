// A call that is not implemented says so once, by name.
#include <cstdio>
int main() {
  cudaArray_t a = nullptr;
  cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
  for (int i = 0; i < 2; i++) printf("%s\n", cudaGetErrorName(cudaMallocArray(&a, &d, 16, 16)));
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}
