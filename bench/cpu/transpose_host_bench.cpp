// The CPU transpose against this machine's own copy and OpenBLAS's omatcopy, with one and two
// threads, in one run; prints the JSON that bench/render_tables.py renders (kind cpu).
//   g++ -std=c++20 -O2 -Isrc -Iinclude -o transpose_host_bench
//       bench/cpu/transpose_host_bench.cpp src/transpose/*.cpp -ldl -lpthread
//   transpose_host_bench [--cpu-time] [path of an OpenBLAS shared library]
// The copy is the fastest of memcpy and a streamed copy on as many threads. Medians; candidates in
// turn. --cpu-time: processor time over threads instead of time, for a machine that others use too.
#include <dlfcn.h>
#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tilewright/transpose.h"

namespace {

void on_threads(int threads, const std::function<void(int)>& work) {
  std::vector<std::thread> pool;
  for (int t = 1; t < threads; ++t) pool.emplace_back(work, t);
  work(0);
  for (std::thread& t : pool) t.join();
}

void streamed_copy(char* out, const char* in, size_t bytes) {
  for (size_t i = 0; i + 64 <= bytes; i += 64) {
    const __m128i* p = reinterpret_cast<const __m128i*>(in + i);
    __m128i* q = reinterpret_cast<__m128i*>(out + i);
    for (int k = 0; k < 4; ++k) _mm_stream_si128(q + k, _mm_loadu_si128(p + k));
  }
  _mm_sfence();
}

double seconds(bool cpu_time) {
  timespec t;
  clock_gettime(cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

double median_seconds(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

std::string cpu_name() {
  std::ifstream f("/proc/cpuinfo");
  for (std::string line; std::getline(f, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown CPU";
}

// Row-major A (rows x cols) to B = A^T; CblasRowMajor 101, CblasTrans 112. OpenBLAS builds differ
// in symbol and integer width.
using Omatcopy32 = void (*)(int, int, int, int, float, const float*, int, float*, int);
using Omatcopy64 = void (*)(int, int, int64_t, int64_t, float, const float*, int64_t, float*,
                            int64_t);

}  // namespace

int main(int argc, char** argv) {
  Omatcopy32 omatcopy32 = nullptr;
  Omatcopy64 omatcopy64 = nullptr;
  const bool cpu_time = argc > 1 && !std::strcmp(argv[1], "--cpu-time");
  if (const char* blas = argv[cpu_time ? 2 : 1]) {
    if (void* library = dlopen(blas, RTLD_NOW)) {
      omatcopy32 = reinterpret_cast<Omatcopy32>(dlsym(library, "cblas_somatcopy"));
      omatcopy64 = reinterpret_cast<Omatcopy64>(dlsym(library, "scipy_cblas_somatcopy64_"));
    } else {
      std::fprintf(stderr, "%s\n", dlerror());
    }
  }
  std::printf(
      "{\"schema\": 1, \"machine\": \"%s, %u hardware threads; medians of 7, candidates in "
      "turn%s.\", \"cases\": [",
      cpu_name().c_str(), std::thread::hardware_concurrency(),
      cpu_time ? "; processor time over threads, others use the machine" : "");
  bool first = true;
  for (int e : {4, 8, 16, 2, 1})
    for (int64_t n : {int64_t(8192), int64_t(8191)}) {
      // 256 MiB a matrix: two of them exceed the largest caches.
      const int64_t odd = n % 2,
                    rows = (e == 16  ? 4096
                            : e == 8 ? 4096
                            : e == 1 ? 16384
                                     : 8192) -
                           odd,
                    cols = (e == 16  ? 4096
                            : e <= 2 ? 16384
                                     : 8192) -
                           odd;
      const size_t bytes = size_t(rows) * cols * e;
      char* in = static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
      char* out = static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
      uint32_t state = 1;
      for (size_t i = 0; i < bytes; ++i)
        in[i] = char((state = state * 1664525u + 1013904223u) >> 24);
      if (e == 4)
        for (size_t i = 0; i < bytes / 4; ++i) in[4 * i + 3] &= char(0xbf);  // finite, for BLAS
      std::memset(out, 1, bytes);
      uint64_t right = 0;
      for (int threads : {1, 2}) {
        std::vector<std::pair<const char*, std::function<void()>>> candidates;
        candidates.emplace_back("tilewright", [&] {
          if (!tilewright::transpose_host(in, cols, out, rows, rows, cols, e, {}, threads).ok())
            std::exit(1);
        });
        auto part = [&](int t) { return bytes / 64 * size_t(t) / size_t(threads) * 64; };
        candidates.emplace_back("memcpy", [&] {
          on_threads(threads, [&](int t) {
            std::memcpy(out + part(t), in + part(t), part(t + 1) - part(t));
          });
        });
        candidates.emplace_back("streamed", [&] {
          on_threads(threads, [&](int t) {
            streamed_copy(out + part(t), in + part(t), part(t + 1) - part(t));
          });
        });
        if (e == 4 && threads == 1 && (omatcopy32 || omatcopy64))
          candidates.emplace_back("openblas", [&] {
            if (omatcopy64)
              omatcopy64(101, 112, rows, cols, 1.0f, reinterpret_cast<float*>(in), cols,
                         reinterpret_cast<float*>(out), rows);
            else
              omatcopy32(101, 112, int(rows), int(cols), 1.0f, reinterpret_cast<float*>(in),
                         int(cols), reinterpret_cast<float*>(out), int(rows));
          });
        // Every element, before timing; on two threads the sum of what one thread was right in.
        std::memset(out, 0x5a, bytes);
        candidates[0].second();
        uint64_t sum = 0;
        for (size_t i = 0; i + 8 <= bytes; i += 8) {
          uint64_t word;
          std::memcpy(&word, out + i, 8);
          sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        }
        if (threads == 1) {
          right = sum;
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < cols; ++c)
              if (std::memcmp(out + (c * rows + r) * e, in + (r * cols + c) * e, size_t(e)) != 0) {
                std::fprintf(stderr, "wrong element %lld, %lld\n", static_cast<long long>(r),
                             static_cast<long long>(c));
                return 1;
              }
        } else if (sum != right) {
          std::fprintf(stderr, "two threads: wrong\n");
          return 1;
        }
        std::vector<std::vector<double>> taken(candidates.size());
        for (int sample = 0; sample < 7; ++sample)
          for (size_t c = 0; c < candidates.size(); ++c) {
            const double begin = seconds(cpu_time);
            candidates[c].second();
            taken[c].push_back((seconds(cpu_time) - begin) / (cpu_time ? threads : 1));
          }
        auto rate = [&](size_t c) { return 2.0 * double(bytes) / median_seconds(taken[c]) * 1e-9; };
        std::printf(
            "%s\n {\"element_bytes\": %d, \"rows\": %lld, \"cols\": %lld, \"threads\": %d, "
            "\"tilewright\": %.2f, \"copy\": %.2f",
            first ? "" : ",", e, static_cast<long long>(rows), static_cast<long long>(cols),
            threads, rate(0), std::max(rate(1), rate(2)));
        if (candidates.size() > 3) std::printf(", \"openblas\": %.2f", rate(3));
        std::printf("}");
        std::fflush(stdout);
        first = false;
      }
      std::free(in);
      std::free(out);
    }
  std::printf("\n]}\n");
  return 0;
}
