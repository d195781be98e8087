// The memory spaces of CUDA, one small kernel each, every result compared with the host.
//
//   space     declared as                    seen by       lives as long as  in PTX
//   register  a scalar in a kernel           one thread    the thread        %r, %f
//   local     an array indexed at run time   one thread    the thread        ld.local, st.local
//   shared    __shared__                     one CTA       the CTA           ld.shared, st.shared
//   constant  __constant__, 64 KiB in all    every thread  the program       ld.const
//   global    __device__, cudaMalloc         every thread  the program       ld.global, st.global
//
// Local memory is not "near": it lies in device memory like global memory, and is only private. An
// array stays in registers when every index is known at compile time; here none is.
//
// Usage: memory_spaces [--no-time]   (it prints no times; the option is that of the other programs)
#include "../kernels/common/device_array.h"
#include "../kernels/common/options.h"
#include "../kernels/common/test_data.h"

using namespace tw::ladder;

constexpr int kBlock = 128;
constexpr int kBlocks = 3;
constexpr int kThreads = kBlock * kBlocks;
constexpr int kTerms = 6;

__constant__ unsigned coefficients[kTerms];     // of a polynomial modulo 2^32
__device__ unsigned sum_of_launches[kThreads];  // zero when the program starts

// Registers: Collatz steps until 1. All state is three scalars.
__global__ void count_in_registers(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  unsigned value = in[i] % 1000 + 1, steps = 0;
  for (; value != 1; ++steps) value = value % 2 == 0 ? value / 2 : 3 * value + 1;
  out[i] = steps;
}

// Local: how often the most frequent decimal digit occurs. The digit is an index known only at run
// time.
__global__ void count_in_local(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  unsigned occurrences[10] = {};
  for (unsigned rest = in[i]; rest != 0; rest /= 10) ++occurrences[rest % 10];
  unsigned most = 0;
  for (int digit = 0; digit < 10; ++digit)
    if (occurrences[digit] > most) most = occurrences[digit];
  out[i] = most;
}

// Shared: each thread hands its element to the thread opposite it in the CTA.
__global__ void reverse_in_shared(const unsigned* in, unsigned* out) {
  __shared__ unsigned elements[kBlock];
  const int i = blockIdx.x * kBlock + threadIdx.x;
  elements[threadIdx.x] = in[i];
  __syncthreads();
  out[i] = elements[kBlock - 1 - threadIdx.x];
}

// Constant: all lanes read the same coefficient at the same time, the pattern this space is made
// for.
__global__ void evaluate_with_constants(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  unsigned sum = 0;
  for (int term = 0; term < kTerms; ++term) sum = sum * in[i] + coefficients[term];
  out[i] = sum;
}

// Global: a __device__ array keeps its values from one launch to the next.
__global__ void accumulate_in_global(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  sum_of_launches[i] += in[i];
  out[i] = sum_of_launches[i];
}

using Kernel = void (*)(const unsigned* in, unsigned* out);

template <class Reference>
bool run(const char* space, Kernel kernel, int launches, const Reference& reference) {
  const std::vector<unsigned> host_in = random_patterns<unsigned>(kThreads, 1);
  const DeviceArray<unsigned> in(host_in);
  DeviceArray<unsigned> out(kThreads);
  for (int i = 0; i < launches; ++i) kernel<<<kBlocks, kBlock>>>(in.data(), out.data());
  check_kernel();
  const std::vector<unsigned> got = out.download();
  int wrong = 0;
  for (int i = 0; i < kThreads; ++i) wrong += got[i] != reference(host_in, i);
  std::printf("%-8s %s out[0]=%u hash=%016llx\n", space, wrong == 0 ? "PASS" : "FAIL", got[0],
              static_cast<unsigned long long>(hash_of(got)));
  return wrong == 0;
}

int main(int argc, char** argv) {
  parse_options(argc, argv, "");
  using Elements = std::vector<unsigned>;
  const unsigned host_coefficients[kTerms] = {7, 1, 8, 2, 8, 1};
  check(cudaMemcpyToSymbol(coefficients, host_coefficients, sizeof host_coefficients));
  bool pass = run("register", count_in_registers, 1, [](const Elements& in, int i) {
    unsigned steps = 0;
    for (unsigned value = in[i] % 1000 + 1; value != 1; ++steps)
      value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    return steps;
  });
  pass &= run("local", count_in_local, 1, [](const Elements& in, int i) {
    unsigned most = 0;
    for (unsigned digit = 0; digit < 10; ++digit) {
      unsigned count = 0;
      for (unsigned rest = in[i]; rest != 0; rest /= 10) count += rest % 10 == digit;
      if (count > most) most = count;
    }
    return most;
  });
  pass &= run("shared", reverse_in_shared, 1, [](const Elements& in, int i) {
    return in[i / kBlock * kBlock + kBlock - 1 - i % kBlock];
  });
  pass &= run("constant", evaluate_with_constants, 1, [&](const Elements& in, int i) {
    unsigned sum = 0;
    for (unsigned coefficient : host_coefficients) sum = sum * in[i] + coefficient;
    return sum;
  });
  pass &=
      run("global", accumulate_in_global, 3, [](const Elements& in, int i) { return 3 * in[i]; });
  // The same array read by the host through its symbol, after all launches.
  Elements seen(kThreads), expected = random_patterns<unsigned>(kThreads, 1);
  for (unsigned& element : expected) element *= 3;
  check(cudaMemcpyFromSymbol(seen.data(), sum_of_launches, kThreads * sizeof(unsigned)));
  std::printf("symbol   %s hash=%016llx\n", seen == expected ? "PASS" : "FAIL",
              static_cast<unsigned long long>(hash_of(seen)));
  return pass && seen == expected ? 0 : 1;
}
