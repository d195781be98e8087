// What counting costs: the tiled GEMM and its neighbours bare and with the counters of `tilewright
// profile`, in processor time of one host thread. The two runs of a pair must give the same result.
// Goal: at most 2.5 times the bare engine on the tiled GEMM (`slowdown` of tiled).
//
//   profile --benchmark_filter=tiled
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "bench_device.h"
#include "observe/counters/counting_observer.h"

namespace {

using namespace tw;
using bench::BenchDevice, bench::fail;

// Of the process, which has one busy thread: other programs on the machine do not count.
double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// A device with the three matrices of a kernel.
struct Run {
  BenchDevice device;
  size_t elements;
  uint64_t a, b, c;

  Run(size_t count, emu::ObserverSource* observers)
      : device(1, observers),
        elements(count),
        a(device.floats(count)),
        b(device.floats(count)),
        c(device.floats(count)) {
    bench::fill(device.host(a, count), count, 1);
    bench::fill(device.host(b, count), count, 2);
    std::memset(device.host(c, count), 0, count * 4);
  }
  double launch(const std::string& kernel, uint32_t n) {
    const double begin = cpu_seconds();
    device.launch(kernel, n, a, b, c);
    return cpu_seconds() - begin;
  }
  const float* result() const { return device.host(c, elements); }
};

// Bare and counted take turns, so that both see the same state of the machine; the shortest of each
// counts.
void slowdown(benchmark::State& state, const char* kernel) {
  const uint32_t n = uint32_t(state.range(0));
  const size_t elements = size_t(n) * n;
  size_t records = 0;
  counters::CountingSource source(bench::must(model::load_device_spec("h200")),
                                  [&](const std::string&) { ++records; });
  Run bare(elements, nullptr), counted(elements, &source);
  bare.launch(kernel, n);
  counted.launch(kernel, n);
  if (std::memcmp(bare.result(), counted.result(), elements * 4) != 0)
    fail(fmt::format("{}: the counted run gives another result", kernel));
  if (records == 0) fail("nothing was counted");
  double shortest_bare = 1e9, shortest_counted = 1e9;
  for (auto _ : state) {
    shortest_bare = std::min(shortest_bare, bare.launch(kernel, n));
    const double t = counted.launch(kernel, n);
    shortest_counted = std::min(shortest_counted, t);
    state.SetIterationTime(t);
  }
  state.counters["bare_ms"] = shortest_bare * 1e3;
  state.counters["counted_ms"] = shortest_counted * 1e3;
  state.counters["slowdown"] = shortest_counted / shortest_bare;
}

}  // namespace

#define TW_RUN ->Arg(512)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(7)
BENCHMARK_CAPTURE(slowdown, tiled, "tiled")->Name("tiled") TW_RUN;
BENCHMARK_CAPTURE(slowdown, naive16, "naive16")->Name("naive16") TW_RUN;
BENCHMARK_CAPTURE(slowdown, sgemm, "sgemm")->Name("sgemm") TW_RUN;
BENCHMARK_CAPTURE(slowdown, transpose, "transpose")->Name("transpose") TW_RUN;

int main(int argc, char** argv) { return tw::bench::run_benchmarks(argc, argv); }
