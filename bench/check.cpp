// What checking costs: the six kernels of bench/engine under the checkers of `tilewright check`, on
// one host thread. The kernels are clean: a finding, or a result that differs from the bare run,
// ends the benchmark.
//
//   check --benchmark_filter='^tiled/1024'          all four checkers together
//   check --benchmark_filter='^racecheck/tiled'     one of them
//   check --benchmark_filter='^bare/'               nothing observed, for comparison
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "emu/device.h"
#include "emu/program.h"
#include "observe/checkers/session.h"
#include "ptx/parser.h"

namespace {

using namespace tw;

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "bench/check: {}\n", message);
  std::exit(1);
}

struct Bench {
  std::unique_ptr<observe::CheckSession> session;  // none: bare
  std::unique_ptr<emu::Device> device;
  emu::LoadedModule* module = nullptr;
  uint64_t a = 0, b = 0, c = 0;
  size_t elements = 0;

  Bench(uint8_t tools, size_t count) : elements(count) {
    auto spec = model::load_device_spec("h200");
    if (!spec.ok()) fail(spec.error().to_string());
    emu::DeviceOptions options;
    options.threads = 1;
    options.memory_bytes = uint64_t{4} << 30;
    if (tools != 0) {
      observe::CheckOptions check;
      check.tools = tools;
      session = std::make_unique<observe::CheckSession>(std::move(check));
      options.observers = session.get();
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
      if (p == &c) break;  // written by the kernels only
      for (size_t i = 0; i < elements; ++i)
        host(*p)[i] = float((seed = seed * 1664525u + 1013904223u) >> 22) / 512.0f - 1.0f;
      device->host_access(*p, elements * 4, true);
    }
    std::memset(host(c), 0, elements * 4);
  }
  float* host(uint64_t address) const {
    return reinterpret_cast<float*>(device->host_pointer(address, 4));
  }

  void run(const char* kernel, emu::Dim3 grid, emu::Dim3 block,
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
    auto started = device->start(launch);
    if (!started.ok()) fail(started.error().to_string());
    emu::GridRun::State state;
    do state = (*started)->advance();
    while (state == emu::GridRun::State::yielded);
    if (state == emu::GridRun::State::faulted) fail((*started)->fault().message);
  }

  void launch(const std::string& kernel, uint32_t n) {
    const int32_t i = int32_t(n);
    const uint32_t t = (n + 15) / 16;
    if (kernel == "tiled")
      run("tiled", {t, t, 1}, {16, 16, 1}, {a, b, c}, {i, i, i});
    else if (kernel == "naive16")
      run("naive", {t, t, 1}, {16, 16, 1}, {a, b, c}, {i, i, i});
    else if (kernel == "naive32")
      run("naive", {(n + 31) / 32, (n + 7) / 8, 1}, {32, 8, 1}, {a, b, c}, {i, i, i});
    else if (kernel == "sgemm")
      run("sgemm", {n / 128, n / 128, 1}, {256, 1, 1}, {a, b, c}, {i, i, i});
    else if (kernel == "transpose")
      run("transpose", {(n + 31) / 32, (n + 31) / 32, 1}, {32, 8, 1}, {a, c}, {i, i});
    else
      run("divergent", {(n + 255) / 256, 1, 1}, {256, 1, 1}, {c}, {i});
  }
};

void check(benchmark::State& state, uint8_t tools, const std::string& kernel) {
  const uint32_t n = uint32_t(state.range(0));
  const size_t elements = kernel == "div" ? n : size_t(n) * n;
  Bench bench(tools, elements);
  bench.launch(kernel, n);
  if (tools != 0) {
    Bench bare(0, elements);
    bare.launch(kernel, n);
    if (std::memcmp(bare.host(bare.c), bench.host(bench.c), elements * 4) != 0)
      fail(fmt::format("{}/{}: the checked run gives another result", kernel, n));
  }
  for (auto _ : state) bench.launch(kernel, n);
  if (!bench.session) return;
  const report::CheckResult result = bench.session->result();
  if (result.checked.launches < 2) fail("nothing was checked");
  for (const report::Finding& f : result.findings)
    if (kernel != "div" || f.kind != "barrier-divergence")  // whose lanes leave before the barrier
      fail(fmt::format("{}: {}", kernel, f.message));
}

}  // namespace

int main(int argc, char** argv) {
  const std::pair<const char*, uint8_t> tools[] = {{"", observe::kAllTools},
                                                   {"memcheck/", observe::kMemcheck},
                                                   {"racecheck/", observe::kRacecheck},
                                                   {"initcheck/", observe::kInitcheck},
                                                   {"synccheck/", observe::kSynccheck},
                                                   {"bare/", 0}};
  for (auto [prefix, bits] : tools)
    for (const char* kernel : {"tiled", "naive16", "naive32", "sgemm", "transpose", "div"}) {
      auto* b = benchmark::RegisterBenchmark(
          (prefix + std::string(kernel)).c_str(),
          [bits, kernel](benchmark::State& s) { check(s, bits, kernel); });
      b->Unit(benchmark::kMillisecond);
      if (std::string(kernel) == "div")
        b->Arg(1 << 18)->Arg(1 << 20);
      else
        b->Arg(512)->Arg(1024)->Arg(2048)->Arg(4096);
    }
  benchmark::AddCustomContext("instruction_set", emu::host_target().name);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
