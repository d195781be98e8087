// Local sequence alignment (Smith-Waterman): anti-diagonals of a table in shared memory, a barrier
// between them; a block a pair.
#include <algorithm>

#include "suite.h"

constexpr int kLength = 60;

__global__ void score(const char* a, const char* b, int* best) {
  __shared__ int table[kLength + 1][kLength + 1];
  __shared__ int highest;
  const char *x = a + blockIdx.x * kLength, *y = b + blockIdx.x * kLength;
  int i = threadIdx.x;
  if (i == 0) highest = 0;
  for (int k = i; k <= kLength; k += blockDim.x) table[0][k] = table[k][0] = 0;
  for (int d = 2; d <= 2 * kLength; d++) {
    __syncthreads();
    int row = i + 1, column = d - row;
    if (row <= kLength && column >= 1 && column <= kLength) {
      int v = max(0, table[row - 1][column - 1] + (x[row - 1] == y[column - 1] ? 3 : -2));
      v = max(v, max(table[row - 1][column], table[row][column - 1]) - 2);
      table[row][column] = v;
      atomicMax(&highest, v);
    }
  }
  __syncthreads();
  if (i == 0) best[blockIdx.x] = highest;
}

int main() {
  const int pairs = 12;
  std::vector<char> a(pairs * kLength), b(pairs * kLength);
  for (int i = 0; i < pairs * kLength; i++)
    a[i] = "ACGT"[hash(i) % 4], b[i] = hash(i + 99) % 3 ? a[i] : "ACGT"[hash(i + 7) % 4];
  DeviceArray<char> da(a), db(b);
  DeviceArray<int> best(pairs);
  score<<<pairs, 64>>>(da, db, best);
  SYNC();
  std::vector<int> wanted(pairs);
  for (int p = 0; p < pairs; p++) {
    int t[kLength + 1][kLength + 1] = {};
    for (int i = 1; i <= kLength; i++)
      for (int j = 1; j <= kLength; j++) {
        t[i][j] = std::max(
            {0, t[i - 1][j - 1] + (a[p * kLength + i - 1] == b[p * kLength + j - 1] ? 3 : -2),
             t[i - 1][j] - 2, t[i][j - 1] - 2});
        wanted[p] = std::max(wanted[p], t[i][j]);
      }
  }
  expect_equal(best.host(), wanted, "best scores");
  return verdict();
}
