// Constant memory: initialised tables, structures, pointers to other symbols, indices that differ
// in a warp, copies to and from symbols, addresses of symbols.
#include "suite.h"

struct Rule {
  int factor;
  float bias;
  const int* table;
};
__device__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__constant__ int squares[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};
__constant__ Rule rules[2] = {{3, 0.5f, primes}, {-1, 2.25f, primes + 4}};
__constant__ char text[] = "constant memory";
__constant__ double later[4];

__global__ void read(float* out, char* letters) {
  int t = threadIdx.x;
  const Rule& r = rules[t / 16];
  out[t] = r.factor * squares[t % 16] + r.bias + r.table[t % 4] + float(later[t % 4]);
  if (t < int(sizeof text)) letters[t] = text[t];
}

int main() {
  double values[4] = {0.5, 1000, -3, 8};
  CHECK(cudaMemcpyToSymbol(later, values, sizeof(double), 0));
  CHECK(cudaMemcpyToSymbol(later, values + 1, 3 * sizeof(double), sizeof(double)));
  DeviceArray<float> out(32);
  DeviceArray<char> letters(16);
  read<<<1, 32>>>(out, letters);
  SYNC();
  std::vector<float> wanted(32);
  const int p[8] = {2, 3, 5, 7, 11, 13, 17, 19};
  for (int t = 0; t < 32; t++)
    wanted[t] = (t < 16 ? 3 : -1) * (t % 16) * (t % 16) + (t < 16 ? 0.5f : 2.25f) +
                p[t / 16 * 4 + t % 4] + float(values[t % 4]);
  expect_equal(out.host(), wanted, "tables");
  printf("%s\n", letters.host().data());
  double back[4];
  CHECK(cudaMemcpyFromSymbol(back, later, sizeof back));
  expect(back[0] == 0.5 && back[1] == 1000 && back[3] == 8, "copied back");
  void* address;
  size_t size;
  CHECK(cudaGetSymbolAddress(&address, primes));
  CHECK(cudaGetSymbolSize(&size, primes));
  int eleven;
  CHECK(cudaMemcpy(&eleven, static_cast<int*>(address) + 4, sizeof(int), cudaMemcpyDeviceToHost));
  expect(size == 32 && eleven == 11, "a symbol's address and size");
  return verdict();
}
