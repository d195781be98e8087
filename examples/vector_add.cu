// Vector add, c[i] = a[i] + b[i]: the smallest complete CUDA program.
//
// What it shows: one thread per element, a guard for the last CTA, and why no kernel like this is
// limited by arithmetic: 12 bytes move for one addition, 0.083 FLOP/byte.
// Expect:  n=65536
//   requests_ld            4096
//   sectors_ld             16384
//   sectors_per_request_ld 4
//   requests_st            2048
//   sectors_st             8192
//   sectors_per_request_st 4
//
// Usage: vector_add [--n COUNT] [--no-time] [--repeat COUNT]
#include "../kernels/common/device_array.h"
#include "../kernels/common/options.h"
#include "../kernels/common/test_data.h"
#include "../kernels/common/timing.h"

using namespace tw::ladder;

constexpr int kBlock = 256;

__global__ void vector_add(const float* __restrict__ a, const float* __restrict__ b,
                           float* __restrict__ c, int n) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

void launch(const float* a, const float* b, float* c, int n) {
  if (n == 0) return;  // a grid of no blocks is an invalid configuration
  vector_add<<<ceil_div(n, kBlock), kBlock>>>(a, b, c, n);
}

bool run_size(const Options& options, int n) {
  const auto host_a = random_floats(n, Numbers::kReals, 1);
  const auto host_b = random_floats(n, Numbers::kReals, 2);
  const DeviceArray<float> a(host_a), b(host_b);
  DeviceArray<float> c(n);
  c.fill_bytes(0xff);
  launch(a.data(), b.data(), c.data(), n);
  check_kernel();
  const auto host_c = c.download();
  int wrong = 0;
  // One addition is rounded once. A double holds enough bits (53 >= 2 * 24 + 2) that rounding its
  // sum to float gives the same: every bit must agree.
  for (int i = 0; i < n; ++i)
    wrong += !(host_c[i] == static_cast<float>(double{host_a[i]} + double{host_b[i]}));
  std::printf("vector_add N=%d %s hash=%016llx", n, wrong == 0 ? "PASS" : "FAIL",
              static_cast<unsigned long long>(hash_of(host_c)));
  if (wrong != 0) std::printf(" (%d elements differ)", wrong);
  if (options.time && n != 0) {
    const float ms =
        shortest_time_ms(options.repeat, [&] { launch(a.data(), b.data(), c.data(), n); });
    std::printf(" time=%.4f ms %.2f GB/s", ms, 12.0 * n / ms * 1e-6);
  }
  std::printf("\n");
  return wrong == 0;
}

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "n");
  if (options.one_size) return run_size(options, options.n) ? 0 : 1;
  bool pass = true;
  for (int n : {0, 1, 31, 32, 33, 255, 256, 257, 1009, 65536, 1000003})
    pass = run_size(options, n) && pass;
  return pass ? 0 : 1;
}
