// What the memory levels deliver at best, how long one access takes, and what a launch costs: the
// measured ceilings and latencies in devices/*.json.
//
// Bandwidth: each kernel only reads, 16 bytes a lane, conflict-free and coalesced, a buffer that
// fits the level (DRAM: sixteen times L2; L2: a share of it, swept by all SMs from different starts
// and past L1 with ld.global.cg; L1: 64 KB; shared memory: 64 KB a CTA). Figure = bytes asked for /
// shortest time of several runs.
//
// The buffers hold zeros, and every address includes a value loaded before. So no load can be
// removed, merged with another or moved out of its loop (an earlier version summed values at fixed
// addresses, and ptxas read them once). The 64 resident warps of an SM hide that dependence.
//
// Lines: clocks that a request of 4 bytes a lane takes by the number of 128-byte lines it touches,
// all in L1. Stores into L2: coalesced, and a line for each lane.
//
// Latency: one thread follows a chain of pointers, in clocks of the SM.
// Launch: time between two events around an empty kernel, median.
//
// Build and run:  nvcc -arch=sm_90 -O3 -o level_ceilings level_ceilings.cu && ./level_ceilings
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                         \
  do {                                                                                      \
    const cudaError_t status_ = (call);                                                     \
    if (status_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

constexpr int kThreads = 1024;
constexpr int kUnroll = 4;
constexpr int kElements = kUnroll * kThreads;  // 64 KB: what a CTA reads at a time
constexpr int kSmallBytes = kElements * 16;

__device__ __forceinline__ uint4 load_cg(const uint4* p) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}
__device__ __forceinline__ uint4 load_ca(const uint4* p) {
  uint4 v;
  asm volatile("ld.global.ca.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}
__device__ __forceinline__ uint4 load_shared(unsigned at) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(at));
  return v;
}

// Everything that was loaded; 0, which the compiler cannot know.
__device__ __forceinline__ unsigned all_of(const uint4 (&v)[kUnroll]) {
  unsigned all = 0;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) all |= v[u].x | v[u].y | v[u].z | v[u].w;
  return all;
}

// count: 16-byte elements, a multiple of kUnroll * kThreads.
__global__ void __launch_bounds__(kThreads)
    read_past_l1(const uint4* data, size_t count, int sweeps, unsigned* out) {
  constexpr size_t kStep = kElements;
  const size_t start = count / kStep * blockIdx.x / gridDim.x * kStep;
  unsigned zero = 0;
  for (int s = 0; s < sweeps; ++s)
    for (size_t i = 0; i < count; i += kStep) {
      size_t at = start + i;
      if (at >= count) at -= count;
      const uint4* from = data + at + threadIdx.x + zero;
      uint4 v[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) v[u] = load_cg(from + u * kThreads);
      zero = all_of(v);
    }
  if (zero != 0) *out = zero;
}

// Each element once, by one CTA.
__global__ void __launch_bounds__(kThreads)
    read_once(const uint4* data, size_t count, unsigned* out) {
  constexpr size_t kStep = kElements;
  unsigned zero = 0;
  for (size_t i = blockIdx.x * kStep; i < count; i += gridDim.x * kStep) {
    const uint4* from = data + i + threadIdx.x + zero;
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) v[u] = load_cg(from + u * kThreads);
    zero = all_of(v);
  }
  if (zero != 0) *out = zero;
}

__global__ void __launch_bounds__(kThreads) read_l1(const uint4* data, int sweeps, unsigned* out) {
  unsigned zero = 0;
  for (int s = 0; s < sweeps; ++s) {
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) v[u] = load_ca(data + u * kThreads + threadIdx.x + zero);
    zero = all_of(v);
  }
  if (zero != 0) *out = zero;
}

__global__ void __launch_bounds__(kThreads) read_shared(int sweeps, unsigned* out) {
  extern __shared__ uint4 buffer[];
  const unsigned nothing = *out;  // 0
  for (int i = threadIdx.x; i < kElements; i += kThreads)
    buffer[i] = make_uint4(nothing, nothing, nothing, nothing);
  __syncthreads();
  const auto base = static_cast<unsigned>(__cvta_generic_to_shared(buffer));
  unsigned zero = 0;
  for (int s = 0; s < sweeps; ++s) {
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      v[u] = load_shared(base + (u * kThreads + threadIdx.x) * 16 + zero);
    zero = all_of(v);
  }
  if (zero != 0) *out = zero;
}

// Each request touches kLines lines, all of which are in L1.
template <int kLines>
__global__ void __launch_bounds__(kThreads)
    read_lines(const char* data, int sweeps, unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  unsigned zero = 0;
  for (int s = 0; s < sweeps; ++s) {
    unsigned v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      asm volatile("ld.global.ca.u32 %0, [%1];"
                   : "=r"(v[u])
                   : "l"(data + (lane / (32 / kLines) + u * kLines) * 128 + lane * 4 + zero));
    zero = v[0] | v[1] | v[2] | v[3];
  }
  if (zero != 0) *out = zero;
}

// Stores of 4 bytes a lane to `lines` lines, which fit L2. Scattered: a lane a line, as a naive
// transpose writes. Otherwise the lanes of a warp share one line.
template <bool kScattered>
__global__ void __launch_bounds__(kThreads)
    write_l2(unsigned* data, unsigned line_bits, int sweeps) {
  const unsigned threads = gridDim.x * kThreads;
  unsigned at = blockIdx.x * kThreads + threadIdx.x;
  for (int s = 0; s < sweeps; ++s, at += threads) {
    const unsigned i = at & ((32u << line_bits) - 1);
    const unsigned word = kScattered ? (i & ((1u << line_bits) - 1)) * 32 + (i >> line_bits) : i;
    asm volatile("st.global.u32 [%0], %1;" ::"l"(data + word), "r"(0) : "memory");
  }
}

// chain[i] is the index after i. The clocks of `steps` steps after as many to fill the caches.
template <bool kPastL1>
__global__ void follow(const unsigned* chain, int steps, long long* clocks) {
  unsigned at = 0;
  const auto step = [&] {
    if (kPastL1)
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(chain + at));
    else
      asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(at) : "l"(chain + at));
  };
  for (int i = 0; i < steps; ++i) step();
  const long long begin = clock64();
  for (int i = 0; i < steps; ++i) step();
  clocks[0] = clock64() - begin;
  clocks[1] = at;
}

__global__ void follow_shared(int steps, long long* clocks) {
  __shared__ unsigned chain[256];
  for (int i = 0; i < 256; ++i) chain[i] = (i + 33) % 256 * 4;
  unsigned at = 0;
  const auto base = static_cast<unsigned>(__cvta_generic_to_shared(chain));
  const long long begin = clock64();
  for (int i = 0; i < steps; ++i)
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(at) : "r"(base + at));
  clocks[0] = clock64() - begin;
  clocks[1] = at;
}

__global__ void empty() {}

// Seconds of each run, sorted.
template <class Launch> std::vector<double> seconds_of(int runs, Launch launch) {
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  std::vector<double> seconds;
  for (int run = 0; run < runs + 2; ++run) {
    CHECK(cudaEventRecord(start));
    launch();
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    if (run >= 2) seconds.push_back(ms * 1e-3);
  }
  CHECK(cudaGetLastError());
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

int main() {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  const int sms = p.multiProcessorCount;
  unsigned* out = nullptr;
  uint4* data = nullptr;
  long long* clocks = nullptr;
  CHECK(cudaMalloc(&out, 4));
  CHECK(cudaMalloc(&clocks, 16));
  CHECK(cudaMemset(out, 0, 4));
  const size_t l2 = static_cast<size_t>(p.l2CacheSize), large = l2 * 16;
  CHECK(cudaMalloc(&data, large + (size_t{1} << 20)));
  CHECK(cudaMemset(data, 0, large + (size_t{1} << 20)));
  int clock_khz = 0;
  CHECK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0));
  std::printf("# %s, %d SMs, L2 %zu bytes, highest SM clock %d kHz\n", p.name, sms, l2, clock_khz);
  std::printf("bandwidth\tGB/s\tbytes_per_clock_per_sm_at_the_highest_clock\n");
  auto print = [&](const char* level, double moved, double seconds) {
    std::printf("%s\t%.0f\t%.1f\n", level, moved / seconds * 1e-9,
                moved / seconds / sms / (clock_khz * 1e3));
  };
  constexpr size_t kStep = kElements;
  const size_t all = large / 16 / kStep * kStep;
  print("dram_read", 16.0 * all,
        seconds_of(10, [&] { read_once<<<sms * 2, kThreads>>>(data, all, out); })[0]);
  print("dram_copy", 16.0 * all, seconds_of(10, [&] {
          CHECK(cudaMemcpyAsync(data, data + all / 2, all * 8, cudaMemcpyDeviceToDevice));
        })[0]);
  CHECK(cudaMemset(data, 0, large));
  for (int share : {16, 8, 4, 2}) {  // of L2
    const size_t count = l2 / share / 16 / kStep * kStep;
    const int sweeps = 64;
    char name[32];
    std::snprintf(name, sizeof name, "l2_1/%d", share);
    print(name, 16.0 * count * sweeps * sms * 2,
          seconds_of(5, [&] { read_past_l1<<<sms * 2, kThreads>>>(data, count, sweeps, out); })[0]);
  }
  const int sweeps = 8000;
  const double moved = 16.0 * kUnroll * kThreads * sweeps * sms * 2;
  print("l1", moved, seconds_of(5, [&] { read_l1<<<sms * 2, kThreads>>>(data, sweeps, out); })[0]);
  CHECK(
      cudaFuncSetAttribute(read_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, kSmallBytes));
  print("shared", moved,
        seconds_of(5, [&] { read_shared<<<sms * 2, kThreads, kSmallBytes>>>(sweeps, out); })[0]);

  std::printf("lines of a request, L1 hits\tclocks a request\n");
  const auto lines = [&](int count, auto kernel) {
    const double seconds = seconds_of(5, [&] {
      kernel<<<sms * 2, kThreads>>>(reinterpret_cast<const char*>(data), sweeps, out);
    })[0];
    std::printf("%d\t%.2f\n", count,
                seconds * clock_khz * 1e3 / (2.0 * kThreads / 32 * kUnroll * sweeps));
  };
  lines(1, read_lines<1>);
  lines(2, read_lines<2>);
  lines(4, read_lines<4>);
  lines(8, read_lines<8>);
  lines(16, read_lines<16>);
  lines(32, read_lines<32>);

  std::printf("stores into L2\t10^9 lines/s\tGB/s\n");
  unsigned buffer = 0;  // a quarter of L2 at most, in lines: log2
  while ((size_t{256} << buffer) <= l2 / 4) ++buffer;
  const double stores = double(sms) * 2 * kThreads * 512;
  double seconds = seconds_of(5, [&] {
    write_l2<true><<<sms * 2, kThreads>>>(reinterpret_cast<unsigned*>(data), buffer, 512);
  })[0];
  std::printf("scattered\t%.1f\t%.0f\n", stores / seconds * 1e-9, stores * 4 / seconds * 1e-9);
  seconds = seconds_of(5, [&] {
    write_l2<false><<<sms * 2, kThreads>>>(reinterpret_cast<unsigned*>(data), buffer, 512);
  })[0];
  std::printf("coalesced\t%.1f\t%.0f\n", stores / 32 / seconds * 1e-9, stores * 4 / seconds * 1e-9);

  std::printf("latency\tclocks\n");
  const int steps = 4096;
  long long result[2];
  auto latency = [&](const char* level, auto launch) {
    launch();
    launch();
    CHECK(cudaMemcpy(result, clocks, sizeof result, cudaMemcpyDeviceToHost));
    std::printf("%s\t%.1f\n", level, double(result[0]) / steps);
  };
  auto chain = [&](size_t bytes, size_t stride) {  // steps of `stride` round `bytes`
    std::vector<unsigned> host(bytes / 4);
    for (size_t i = 0; i < host.size(); ++i)
      host[i] = static_cast<unsigned>((i + stride / 4) % host.size());
    CHECK(cudaMemcpy(data, host.data(), bytes, cudaMemcpyHostToDevice));
  };
  latency("shared", [&] { follow_shared<<<1, 1>>>(steps, clocks); });
  chain(16384, 132);
  latency("l1", [&] { follow<false><<<1, 1>>>(reinterpret_cast<unsigned*>(data), steps, clocks); });
  chain(size_t{1} << 20, 4096 + 32);
  latency("l2", [&] { follow<true><<<1, 1>>>(reinterpret_cast<unsigned*>(data), steps, clocks); });
  // Every step a line that is not in L2, which was last filled with others.
  chain(size_t{64} << 20, 4096 + 128);
  latency("dram", [&] {
    CHECK(cudaMemsetAsync(reinterpret_cast<char*>(data) + large / 2, 0, large / 2));
    follow<true><<<1, 1>>>(reinterpret_cast<unsigned*>(data), steps, clocks);
  });
  const auto launches = seconds_of(200, [&] { empty<<<1, 32>>>(); });
  const auto wide = seconds_of(200, [&] { empty<<<sms * 16, 256>>>(); });
  std::printf("launch\tmicroseconds\nempty_1x32\t%.2f\nempty_%dx256\t%.2f\n",
              launches[launches.size() / 2] * 1e6, sms * 16, wide[wide.size() / 2] * 1e6);
  return 0;
}
