// What counting costs: the tiled GEMM and its neighbours bare and with the counters of `tilewright
// profile`, in processor time of one host thread. The two runs of a pair must give the same result.
// Goal: at most 2.5 times the bare engine on the tiled GEMM (`slowdown` of tiled).
//
//   profile --benchmark_filter=tiled
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <time.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "emu/device.h"
#include "emu/program.h"
#include "observe/counters/counting_observer.h"
#include "ptx/parser.h"

namespace {

using namespace tw;

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "bench/profile: {}\n", message);
  std::exit(1);
}

// Of the process, which has one busy thread: other programs on the machine do not count.
double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

struct Bench {
  std::unique_ptr<counters::CountingSource> source;
  size_t records = 0;
  std::unique_ptr<emu::Device> device;
  emu::LoadedModule* module = nullptr;
  uint64_t a = 0, b = 0, c = 0;

  Bench(bool counted, size_t elements) {
    auto spec = model::load_device_spec("h200");
    if (!spec.ok()) fail(spec.error().to_string());
    emu::DeviceOptions options;
    options.threads = 1;
    options.memory_bytes = uint64_t{4} << 30;
    if (counted) {
      source = std::make_unique<counters::CountingSource>(
          *spec, [this](const std::string&) { ++records; });
      options.observers = source.get();
    }
    auto created = emu::Device::create(*spec, options);
    if (!created.ok()) fail(created.error().to_string());
    device = std::move(*created);
    std::ifstream file(TILEWRIGHT_BENCH_PTX);
    std::stringstream text;
    text << file.rdbuf();
    auto parsed = ptx::parse(text.str(), "engine.ptx");
    if (!parsed.ok()) fail(parsed.error().to_string());
    auto loaded = device->load(std::move(*parsed));
    if (!loaded.ok()) fail(loaded.error().to_string());
    module = *loaded;
    uint32_t seed = 1;
    for (uint64_t* p : {&a, &b, &c}) {
      auto address = device->allocate(elements * 4, emu::AllocationKind::device);
      if (!address.ok()) fail(address.error().to_string());
      *p = *address;
      for (size_t i = 0; i < elements; ++i)
        host(*p)[i] = float((seed = seed * 1664525u + 1013904223u) >> 22) / 512.0f - 1.0f;
    }
  }
  float* host(uint64_t address) {
    return reinterpret_cast<float*>(device->host_pointer(address, 4));
  }

  double run(const char* kernel, emu::Dim3 grid, emu::Dim3 block,
             std::initializer_list<uint64_t> pointers, std::initializer_list<int32_t> ints) {
    emu::Launch launch;
    launch.kernel = device->find_kernel(*module, kernel);
    if (launch.kernel == nullptr) fail(fmt::format("no kernel {}", kernel));
    launch.grid = grid, launch.block = block;
    for (uint64_t p : pointers)
      launch.parameters.insert(launch.parameters.end(), reinterpret_cast<uint8_t*>(&p),
                               reinterpret_cast<uint8_t*>(&p) + 8);
    for (int32_t i : ints)
      launch.parameters.insert(launch.parameters.end(), reinterpret_cast<uint8_t*>(&i),
                               reinterpret_cast<uint8_t*>(&i) + 4);
    const double begin = cpu_seconds();
    auto started = device->start(launch);
    if (!started.ok()) fail(started.error().to_string());
    emu::GridRun::State state;
    do state = (*started)->advance();
    while (state == emu::GridRun::State::yielded);
    if (state == emu::GridRun::State::faulted) fail((*started)->fault().message);
    return cpu_seconds() - begin;
  }

  double launch(const std::string& kernel, uint32_t n) {
    const int32_t i = int32_t(n);
    if (kernel == "tiled")
      return run("tiled", {(n + 15) / 16, (n + 15) / 16, 1}, {16, 16, 1}, {a, b, c}, {i, i, i});
    if (kernel == "naive")
      return run("naive", {(n + 15) / 16, (n + 15) / 16, 1}, {16, 16, 1}, {a, b, c}, {i, i, i});
    if (kernel == "sgemm")
      return run("sgemm", {n / 128, n / 128, 1}, {256, 1, 1}, {a, b, c}, {i, i, i});
    return run("transpose", {(n + 31) / 32, (n + 31) / 32, 1}, {32, 8, 1}, {a, c}, {i, i});
  }
};

// Bare and counted take turns, so that both see the same state of the machine; the shortest of each
// counts.
void slowdown(benchmark::State& state, const char* kernel) {
  const uint32_t n = uint32_t(state.range(0));
  const size_t elements = size_t(n) * n;
  Bench bare(false, elements), counted(true, elements);
  bare.launch(kernel, n);
  counted.launch(kernel, n);
  if (std::memcmp(bare.host(bare.c), counted.host(counted.c), elements * 4) != 0)
    fail(fmt::format("{}: the counted run gives another result", kernel));
  if (counted.records == 0) fail("nothing was counted");
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
BENCHMARK_CAPTURE(slowdown, naive, "naive")->Name("naive") TW_RUN;
BENCHMARK_CAPTURE(slowdown, sgemm, "sgemm")->Name("sgemm") TW_RUN;
BENCHMARK_CAPTURE(slowdown, transpose, "transpose")->Name("transpose") TW_RUN;

BENCHMARK_MAIN();
