// CUB's device-wide sum, scan and selection.
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "suite.h"

struct IsOdd {
  __host__ __device__ bool operator()(int v) const { return v & 1; }
};

template <class Call> void with_storage(Call call) {
  size_t bytes = 0;
  CHECK(call(nullptr, bytes));
  DeviceArray<char> storage(bytes ? bytes : 1);
  CHECK(call(storage.data, bytes));
  SYNC();
}

int main() {
  const int n = 30000;
  std::vector<int> h(n), prefix(n), odd;
  int sum = 0;
  for (int i = 0; i < n; i++) {
    h[i] = int(hash(i) % 1000) - 400, prefix[i] = sum += h[i];
    if (h[i] & 1) odd.push_back(h[i]);
  }
  DeviceArray<int> in(h), out(n), total(1), count(1);
  with_storage([&](void* p, size_t& bytes) {
    return cub::DeviceReduce::Sum(p, bytes, in.data, total.data, n);
  });
  expect_equal(total.host(), {sum}, "sum");
  with_storage([&](void* p, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(p, bytes, in.data, out.data, n);
  });
  expect_equal(out.host(), prefix, "inclusive sum");
  with_storage([&](void* p, size_t& bytes) {
    return cub::DeviceSelect::If(p, bytes, in.data, out.data, count.data, n, IsOdd{});
  });
  expect_equal(count.host(), {int(odd.size())}, "number selected");
  std::vector<int> got = out.host();
  got.resize(odd.size());
  expect_equal(got, odd, "selected");
  return verdict();
}
