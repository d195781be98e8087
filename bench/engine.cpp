// Speed of the engine: the prototype's six kernels, bounds checked as always, one host thread
// unless the name says otherwise. Each kernel's result is verified before it is timed.
// `items_per_second` is lane-instructions a second, counted in PTX instructions that the kernel's
// loops execute per lane.
//
//   engine --benchmark_filter=tiled/512
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "emu/device.h"
#include "emu/program.h"
#include "ptx/parser.h"

namespace {

using namespace tw;

std::string ptx_text() {
  const char* path = std::getenv("TILEWRIGHT_BENCH_PTX");
  std::ifstream file(path ? path : TILEWRIGHT_BENCH_PTX);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "bench/engine: {}\n", message);
  std::exit(1);
}

struct Bench {
  std::unique_ptr<emu::Device> device;
  emu::LoadedModule* module = nullptr;

  explicit Bench(uint32_t threads) {
    auto spec = model::load_device_spec("h200");
    if (!spec.ok()) fail(spec.error().to_string());
    emu::DeviceOptions options;
    options.threads = threads;
    options.memory_bytes = uint64_t{4} << 30;
    auto created = emu::Device::create(*spec, options);
    if (!created.ok()) fail(created.error().to_string());
    device = std::move(*created);
    auto parsed = ptx::parse(ptx_text(), "engine.ptx");
    if (!parsed.ok()) fail(parsed.error().to_string());
    auto loaded = device->load(std::move(*parsed));
    if (!loaded.ok()) fail(loaded.error().to_string());
    module = *loaded;
  }

  uint64_t floats(size_t count) {
    auto address = device->allocate(count * 4, emu::AllocationKind::device);
    if (!address.ok()) fail(address.error().to_string());
    return *address;
  }
  float* host(uint64_t address, size_t count) {
    return reinterpret_cast<float*>(device->host_pointer(address, count * 4));
  }

  void run(const char* kernel, emu::Dim3 grid, emu::Dim3 block,
           std::initializer_list<uint64_t> pointers, std::initializer_list<int32_t> ints) {
    emu::Launch launch;
    launch.kernel = device->find_kernel(*module, kernel);
    if (launch.kernel == nullptr) fail(fmt::format("no kernel {}", kernel));
    launch.grid = grid;
    launch.block = block;
    for (uint64_t p : pointers)
      launch.parameters.insert(launch.parameters.end(), reinterpret_cast<uint8_t*>(&p),
                               reinterpret_cast<uint8_t*>(&p) + 8);
    for (int32_t i : ints)
      launch.parameters.insert(launch.parameters.end(), reinterpret_cast<uint8_t*>(&i),
                               reinterpret_cast<uint8_t*>(&i) + 4);
    auto started = device->start(launch);
    if (!started.ok()) fail(started.error().to_string());
    emu::GridRun::State state;
    do state = (*started)->advance();
    while (state == emu::GridRun::State::yielded);
    if (state == emu::GridRun::State::faulted) fail((*started)->fault().message);
  }
};

uint32_t next_random(uint32_t& s) { return s = s * 1664525u + 1013904223u; }

void fill(float* to, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; ++i) to[i] = float((next_random(seed) >> 9) & 1023) / 512.0f - 1.0f;
}

enum class Kind { tiled, naive16, naive32, sgemm };

void gemm(benchmark::State& state, Kind kind, uint32_t threads) {
  const int n = int(state.range(0));
  const size_t count = size_t(n) * n;
  Bench bench(threads);
  uint64_t a = bench.floats(count), b = bench.floats(count), c = bench.floats(count);
  fill(bench.host(a, count), count, 1);
  fill(bench.host(b, count), count, 2);
  auto launch = [&] {
    uint32_t t = uint32_t(n);
    switch (kind) {
      case Kind::tiled:
        bench.run("tiled", {(t + 15) / 16, (t + 15) / 16, 1}, {16, 16, 1}, {a, b, c}, {n, n, n});
        break;
      case Kind::naive16:
        bench.run("naive", {(t + 15) / 16, (t + 15) / 16, 1}, {16, 16, 1}, {a, b, c}, {n, n, n});
        break;
      case Kind::naive32:
        bench.run("naive", {(t + 31) / 32, (t + 7) / 8, 1}, {32, 8, 1}, {a, b, c}, {n, n, n});
        break;
      case Kind::sgemm:
        bench.run("sgemm", {t / 128, t / 128, 1}, {256, 1, 1}, {a, b, c}, {n, n, n});
        break;
    }
  };
  launch();
  const float *ha = bench.host(a, count), *hb = bench.host(b, count), *hc = bench.host(c, count);
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
  double each = kind == Kind::tiled ? 3 + 30.0 / 16 : kind == Kind::sgemm ? 64 + 4 + 33.0 / 8 : 5.5;
  double lanes = kind == Kind::sgemm ? double(count) / 64 : double(count);
  state.counters["lane_instructions/s"] =
      benchmark::Counter(lanes * n * each, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * double(count) * n, benchmark::Counter::kIsIterationInvariantRate);
}

void transpose(benchmark::State& state) {
  const int n = int(state.range(0));
  const size_t count = size_t(n) * n;
  Bench bench(1);
  uint64_t in = bench.floats(count), out = bench.floats(count);
  fill(bench.host(in, count), count, 1);
  uint32_t tiles = uint32_t(n + 31) / 32;
  auto launch = [&] { bench.run("transpose", {tiles, tiles, 1}, {32, 8, 1}, {in, out}, {n, n}); };
  launch();
  const float *hi = bench.host(in, count), *ho = bench.host(out, count);
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
  Bench bench(1);
  uint64_t out = bench.floats(size_t(n));
  uint32_t blocks = uint32_t(n + 255) / 256;
  auto launch = [&] { bench.run("divergent", {blocks, 1, 1}, {256, 1, 1}, {out}, {n}); };
  launch();
  const int* h = reinterpret_cast<const int*>(bench.host(out, size_t(n)));
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
  Bench bench(1);
  uint64_t out = bench.floats(1);
  for (auto _ : state) bench.run("empty", {1, 1, 1}, {32, 1, 1}, {out}, {});
}

// Decoding, per PTX instruction of the largest kernel.
void decode(benchmark::State& state) {
  auto parsed = ptx::parse(ptx_text(), "engine.ptx");
  if (!parsed.ok()) fail(parsed.error().to_string());
  const ptx::Function* f = parsed->find_function("sgemm");
  emu::SymbolAddresses symbols;
  symbols.variables.resize(parsed->variables.size());
  emu::DecodeOptions options;
  options.block_shape = {256, 1, 1};
  for (auto _ : state) {
    auto program = emu::decode(*parsed, *f, symbols, options, emu::host_target());
    if (!program.ok()) fail(program.error().to_string());
    benchmark::DoNotOptimize(program->get());
  }
  state.counters["s/instruction"] = benchmark::Counter(
      double(f->instructions.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

#define TW_SIZES ->Arg(512)->Arg(1024)->Unit(benchmark::kMillisecond)
BENCHMARK_CAPTURE(gemm, tiled, Kind::tiled, 1)->Name("tiled") TW_SIZES;
BENCHMARK_CAPTURE(gemm, naive16, Kind::naive16, 1)->Name("naive16") TW_SIZES;
BENCHMARK_CAPTURE(gemm, naive32, Kind::naive32, 1)->Name("naive32") TW_SIZES;
BENCHMARK_CAPTURE(gemm, sgemm, Kind::sgemm, 1)->Name("sgemm") TW_SIZES;
BENCHMARK(transpose)->Name("transpose") TW_SIZES;
BENCHMARK(divergent)->Name("div")->Arg(1 << 18)->Arg(1 << 20)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gemm, tiled_two_threads, Kind::tiled, 2)
    ->Name("tiled_2threads")
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(launches)->Unit(benchmark::kMicrosecond);
BENCHMARK(decode)->Unit(benchmark::kMicrosecond);

int main(int argc, char** argv) {
  benchmark::AddCustomContext("instruction_set", tw::emu::host_target().name);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
