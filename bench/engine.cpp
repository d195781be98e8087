// Speed of the engine: the prototype's six kernels, bounds checked as always, one host thread
// unless the name says otherwise. Each kernel's result is verified before it is timed.
// `items_per_second` is lane-instructions a second, counted in PTX instructions that the kernel's
// loops execute per lane.
//
//   engine --benchmark_filter=tiled/512
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "bench_device.h"

namespace {

using namespace tw;
using bench::BenchDevice, bench::fail, bench::fill, bench::next_random;

void gemm(benchmark::State& state, const std::string& kernel, uint32_t threads) {
  const int n = int(state.range(0));
  const size_t count = size_t(n) * n;
  BenchDevice device(threads);
  uint64_t a = device.floats(count), b = device.floats(count), c = device.floats(count);
  fill(device.host(a, count), count, 1);
  fill(device.host(b, count), count, 2);
  auto launch = [&] { device.launch(kernel, uint32_t(n), a, b, c); };
  launch();
  const float *ha = device.host(a, count), *hb = device.host(b, count), *hc = device.host(c, count);
  uint32_t s = 7;
  for (int q = 0; q < 300; ++q) {
    int i = int(next_random(s) >> 8) % n, j = int(next_random(s) >> 8) % n;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum = std::fma(ha[size_t(i) * n + k], hb[size_t(k) * n + j], sum);
    if (sum != hc[size_t(i) * n + j])
      fail(fmt::format("wrong result at ({}, {}): {} instead of {}", i, j, hc[size_t(i) * n + j],
                       sum));
  }
  for (auto _ : state) launch();
  // PTX instructions a lane executes for each step of k (tiled: 3 and a share of the 34 around 16
  // steps).
  double each = kernel == "tiled" ? 3 + 30.0 / 16 : kernel == "sgemm" ? 64 + 4 + 33.0 / 8 : 5.5;
  double lanes = kernel == "sgemm" ? double(count) / 64 : double(count);
  state.counters["lane_instructions/s"] =
      benchmark::Counter(lanes * n * each, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * double(count) * n, benchmark::Counter::kIsIterationInvariantRate);
}

void transpose(benchmark::State& state) {
  const int n = int(state.range(0));
  const size_t count = size_t(n) * n;
  BenchDevice device(1);
  uint64_t in = device.floats(count), out = device.floats(count);
  fill(device.host(in, count), count, 1);
  auto launch = [&] { device.launch("transpose", uint32_t(n), in, 0, out); };
  launch();
  const float *hi = device.host(in, count), *ho = device.host(out, count);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      if (ho[size_t(j) * n + i] != hi[size_t(i) * n + j])
        fail(fmt::format("wrong transpose at ({}, {})", i, j));
  for (auto _ : state) launch();
  state.counters["bytes/s"] =
      benchmark::Counter(8.0 * double(count), benchmark::Counter::kIsIterationInvariantRate);
}

int collatz(int g) {
  int v = g, i = 0;
  while (v != 1 && i < 200) {
    v = v & 1 ? int(3u * uint32_t(v) + 1) : v >> 1;
    ++i;
    if (v < 0) break;
  }
  return i;
}

void divergent(benchmark::State& state) {
  const int n = int(state.range(0));
  BenchDevice device(1);
  uint64_t out = device.floats(size_t(n));
  auto launch = [&] { device.launch("div", uint32_t(n), 0, 0, out); };
  launch();
  const int* h = reinterpret_cast<const int*>(device.host(out, size_t(n)));
  for (int g = 0; g < n; ++g) {
    int t = g % 256, want;
    if (t >= 224) continue;  // never written
    if ((t & 31) == 5 && g > 1000)
      want = -1;
    else
      want = collatz(g) * 1000 + (t % 32 == 4 ? 0 : collatz(g - t + (t + 1) % 224));
    if (h[g] != want) fail(fmt::format("divergent: element {} is {}, not {}", g, h[g], want));
  }
  for (auto _ : state) launch();
}

// Host-side cost of a launch: checks, program look-up, one CTA of one warp.
void launches(benchmark::State& state) {
  BenchDevice device(1);
  uint64_t out = device.floats(1);
  for (auto _ : state) device.run("empty", {1, 1, 1}, {32, 1, 1}, {out}, {});
}

// Decoding, per PTX instruction of the largest kernel.
void decode(benchmark::State& state) {
  const ptx::Module parsed = bench::must(ptx::parse(bench::ptx_text(), "engine.ptx"));
  const ptx::Function* f = parsed.find_function("sgemm");
  emu::SymbolAddresses symbols;
  symbols.variables.resize(parsed.variables.size());
  emu::DecodeOptions options;
  options.block_shape = {256, 1, 1};
  for (auto _ : state) {
    auto program = emu::decode(parsed, *f, symbols, options, emu::host_target());
    if (!program.ok()) fail(program.error().to_string());
    benchmark::DoNotOptimize(program->get());
  }
  state.counters["s/instruction"] = benchmark::Counter(
      double(f->instructions.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

#define TW_SIZES ->Arg(512)->Arg(1024)->Unit(benchmark::kMillisecond)
BENCHMARK_CAPTURE(gemm, tiled, "tiled", 1)->Name("tiled") TW_SIZES;
BENCHMARK_CAPTURE(gemm, naive16, "naive16", 1)->Name("naive16") TW_SIZES;
BENCHMARK_CAPTURE(gemm, naive32, "naive32", 1)->Name("naive32") TW_SIZES;
BENCHMARK_CAPTURE(gemm, sgemm, "sgemm", 1)->Name("sgemm") TW_SIZES;
BENCHMARK(transpose)->Name("transpose") TW_SIZES;
BENCHMARK(divergent)->Name("div")->Arg(1 << 18)->Arg(1 << 20)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gemm, tiled_two_threads, "tiled", 2)
    ->Name("tiled_2threads")
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(launches)->Unit(benchmark::kMicrosecond);
BENCHMARK(decode)->Unit(benchmark::kMicrosecond);

int main(int argc, char** argv) { return tw::bench::run_benchmarks(argc, argv); }
