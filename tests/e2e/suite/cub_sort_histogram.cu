// CUB's device-wide radix sort of pairs and histogram.
#include <algorithm>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <numeric>

#include "suite.h"

int main() {
  const int n = 12000;
  std::vector<unsigned> h = random_words(n);
  for (unsigned& k : h) k %= 100000;
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  DeviceArray<unsigned> keys(h), sorted(n);
  DeviceArray<int> values(order), sorted_values(n), bins(10);
  size_t bytes = 0;
  CHECK(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys.data, sorted.data, values.data,
                                        sorted_values.data, n));
  {
    DeviceArray<char> storage(bytes);
    CHECK(cub::DeviceRadixSort::SortPairs(storage.data, bytes, keys.data, sorted.data, values.data,
                                          sorted_values.data, n));
    SYNC();
  }
  std::vector<int> counts(10);
  for (unsigned k : h) counts[k / 10000]++;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return h[a] < h[b]; });
  expect_equal(sorted_values.host(), order, "order");
  CHECK(cub::DeviceHistogram::HistogramEven(nullptr, bytes, keys.data, bins.data, 11, 0u, 100000u,
                                            n));
  {
    DeviceArray<char> storage(bytes);
    CHECK(cub::DeviceHistogram::HistogramEven(storage.data, bytes, keys.data, bins.data, 11, 0u,
                                              100000u, n));
    SYNC();
  }
  std::sort(h.begin(), h.end());
  expect_equal(sorted.host(), h, "keys");
  expect_equal(bins.host(), counts, "histogram");
  return verdict();
}
