// What checking costs: the six kernels of bench/engine under the checkers of `tilewright check`, on
// one host thread. The kernels are clean: a finding, or a result that differs from the bare run,
// ends the benchmark.
//
//   check --benchmark_filter='^tiled/1024'          all four checkers together
//   check --benchmark_filter='^racecheck/tiled'     one of them
//   check --benchmark_filter='^bare/'               nothing observed, for comparison
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "bench_device.h"
#include "observe/checkers/session.h"

namespace {

using namespace tw;
using bench::BenchDevice, bench::fail;

struct Run {
  std::unique_ptr<observe::CheckSession> session;  // none: bare
  std::optional<BenchDevice> device;
  size_t elements;
  uint64_t a = 0, b = 0, c = 0;

  Run(uint8_t tools, size_t count) : elements(count) {
    if (tools != 0) {
      observe::CheckOptions check;
      check.tools = tools;
      session = std::make_unique<observe::CheckSession>(std::move(check));
    }
    device.emplace(1, session.get());
    for (uint64_t* p : {&a, &b, &c}) *p = device->floats(count);
    uint32_t seed = 0;
    for (uint64_t p : {a, b}) {  // c is written by the kernels only
      bench::fill(device->host(p, count), count, ++seed);
      device->device->host_access(p, count * 4, true);
    }
    std::memset(device->host(c, count), 0, count * 4);
  }
  void launch(const std::string& kernel, uint32_t n) { device->launch(kernel, n, a, b, c); }
  const float* result() const { return device->host(c, elements); }
};

void check(benchmark::State& state, uint8_t tools, const std::string& kernel) {
  const uint32_t n = uint32_t(state.range(0));
  const size_t elements = kernel == "div" ? n : size_t(n) * n;
  Run checked(tools, elements);
  checked.launch(kernel, n);
  if (tools != 0) {
    Run bare(0, elements);
    bare.launch(kernel, n);
    if (std::memcmp(bare.result(), checked.result(), elements * 4) != 0)
      fail(fmt::format("{}/{}: the checked run gives another result", kernel, n));
  }
  for (auto _ : state) checked.launch(kernel, n);
  if (!checked.session) return;
  const report::CheckResult result = checked.session->result();
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
  return bench::run_benchmarks(argc, argv);
}
