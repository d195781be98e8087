// The device that bench/engine, bench/profile and bench/check run bench/kernels/engine.cu on, and
// how each of its kernels is launched: one place, so that bare, counted and checked runs are the
// same launches.
#pragma once

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <sstream>
#include <string>

#include "emu/device.h"
#include "emu/program.h"
#include "ptx/parser.h"

namespace tw::bench {

[[noreturn]] inline void fail(const std::string& message) {
  fmt::print(stderr, "bench: {}\n", message);
  std::exit(1);
}

template <class T> T must(Result<T> result) {
  if (!result.ok()) fail(result.error().to_string());
  return std::move(*result);
}

// The PTX that the build made; TILEWRIGHT_BENCH_PTX in the environment names another file.
inline std::string ptx_text() {
  const char* path = std::getenv("TILEWRIGHT_BENCH_PTX");
  std::ifstream file(path ? path : TILEWRIGHT_BENCH_PTX);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline uint32_t next_random(uint32_t& s) { return s = s * 1664525u + 1013904223u; }

// Multiples of 1/512 in [-1, 1): products of them are exact.
inline void fill(float* to, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; ++i) to[i] = float((next_random(seed) >> 9) & 1023) / 512.0f - 1.0f;
}

struct BenchDevice {
  std::unique_ptr<emu::Device> device;
  emu::LoadedModule* module = nullptr;

  // `observers`: none for a bare run; they must outlive this object.
  explicit BenchDevice(uint32_t threads, emu::ObserverSource* observers = nullptr) {
    emu::DeviceOptions options;
    options.threads = threads;
    options.memory_bytes = uint64_t{4} << 30;
    options.observers = observers;
    device = must(emu::Device::create(must(model::load_device_spec("h200")), options));
    module = must(device->load(must(ptx::parse(ptx_text(), "engine.ptx"))));
  }

  uint64_t floats(size_t count) {
    return must(device->allocate(count * 4, emu::AllocationKind::device));
  }
  float* host(uint64_t address, size_t count) const {
    return reinterpret_cast<float*>(device->host_pointer(address, count * 4));
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
    auto started = must(device->start(launch));
    emu::GridRun::State state;
    do state = started->advance();
    while (state == emu::GridRun::State::yielded);
    if (state == emu::GridRun::State::faulted) fail(started->fault().message);
  }

  // One of the six: `kernel` on arrays of n x n floats (div: n ints, written to c).
  void launch(const std::string& kernel, uint32_t n, uint64_t a, uint64_t b, uint64_t c) {
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
    else if (kernel == "div")
      run("divergent", {(n + 255) / 256, 1, 1}, {256, 1, 1}, {c}, {i});
    else
      fail(fmt::format("no kernel {}", kernel));
  }
};

// `main`: the report says which instruction set ran (bench/record asks).
inline int run_benchmarks(int argc, char** argv) {
  benchmark::AddCustomContext("instruction_set", emu::host_target().name);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace tw::bench
