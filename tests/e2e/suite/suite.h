// What the programs of this folder share: checked calls, arrays on the device, inputs from a hash
// and comparisons with the host's result that print one line each. `verdict` is main's exit status.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                \
  do {                                                             \
    cudaError_t error_ = (call);                                   \
    if (error_ != cudaSuccess) {                                   \
      printf("line %d: %s\n", __LINE__, cudaGetErrorName(error_)); \
      exit(1);                                                     \
    }                                                              \
  } while (0)

// Every launch is followed by this: errors of the launch and of the run.
#define SYNC()                      \
  do {                              \
    CHECK(cudaGetLastError());      \
    CHECK(cudaDeviceSynchronize()); \
  } while (0)

__host__ __device__ inline unsigned hash(unsigned x) {
  x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
  return x ^ x >> 16;
}

template <class T> struct DeviceArray {
  explicit DeviceArray(size_t count) : n(count) {
    CHECK(cudaMalloc(&data, n * sizeof(T)));
    CHECK(cudaMemset(data, 0, n * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& from) : DeviceArray(from.size()) { *this = from; }
  DeviceArray(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data); }
  void operator=(const std::vector<T>& from) {
    CHECK(cudaMemcpy(data, from.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> host() const {
    std::vector<T> to(n);
    CHECK(cudaMemcpy(to.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
  }
  operator T*() const { return data; }
  T* data = nullptr;
  size_t n;
};

inline int failures = 0;
inline int verdict() { return failures ? 1 : 0; }

inline void expect(bool right, const char* what) {
  printf("%s: %s\n", what, right ? "right" : "WRONG");
  failures += !right;
}

template <class T>
void expect_equal(const std::vector<T>& got, const std::vector<T>& wanted, const char* what) {
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < wanted.size(); i++)
    if (i >= got.size() || !(got[i] == wanted[i])) {
      if (wrong++ == 0) first = i;
    }
  if (wrong)
    printf("%s: %zu of %zu differ, first at %zu: %g instead of %g\n", what, wrong, wanted.size(),
           first, double(got[first]), double(wanted[first]));
  expect(wrong == 0 && got.size() == wanted.size(), what);
}

// Within `tolerance` of the wanted value, relative to its size where that is above one.
template <class T>
void expect_near(const std::vector<T>& got, const std::vector<T>& wanted, double tolerance,
                 const char* what) {
  double worst = 0;
  for (size_t i = 0; i < wanted.size(); i++) {
    double difference = std::fabs(double(got[i]) - double(wanted[i])) /
                        std::fmax(1.0, std::fabs(double(wanted[i])));
    if (!(difference <= worst)) worst = difference;
  }
  if (!(worst <= tolerance)) printf("%s: off by %g\n", what, worst);
  expect(worst <= tolerance, what);
}

inline std::vector<unsigned> random_words(size_t n, unsigned seed = 1) {
  std::vector<unsigned> v(n);
  for (size_t i = 0; i < n; i++) v[i] = hash(unsigned(i) * 0x9e3779b9u + seed);
  return v;
}
// In [-1, 1), multiples of 2^-16: sums of some thousands are exact in float.
inline std::vector<float> random_floats(size_t n, unsigned seed = 1) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; i++)
    v[i] = float(int(hash(unsigned(i) * 0x9e3779b9u + seed) >> 15) - 65536) / 65536;
  return v;
}
