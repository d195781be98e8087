// Thrust: transform, reduce, scan and sort over device vectors.
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <algorithm>

#include "suite.h"

struct Square {
  __host__ __device__ int operator()(int v) const { return v * v; }
};

int main() {
  const int n = 10000;
  std::vector<int> h(n), got(n), squares(n), prefix(n);
  for (int i = 0; i < n; i++)
    h[i] = int(hash(i) % 401) - 200, squares[i] = h[i] * h[i],
    prefix[i] = squares[i] + (i ? prefix[i - 1] : 0);
  thrust::device_vector<int> v(h.begin(), h.end()), w(n);
  thrust::transform(v.begin(), v.end(), w.begin(), Square{});
  thrust::copy(w.begin(), w.end(), got.begin());
  expect_equal(got, squares, "transform");
  expect(thrust::reduce(w.begin(), w.end()) == prefix[n - 1], "reduce");
  thrust::inclusive_scan(w.begin(), w.end(), w.begin());
  thrust::copy(w.begin(), w.end(), got.begin());
  expect_equal(got, prefix, "inclusive scan");
  thrust::sort(v.begin(), v.end());
  thrust::copy(v.begin(), v.end(), got.begin());
  std::sort(h.begin(), h.end());
  expect_equal(got, h, "sort");
  return verdict();
}
