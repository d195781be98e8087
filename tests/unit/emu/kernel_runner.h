// Runs PTX text on the engine: for tests that look at one instruction or one property at a time.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "emu/device.h"
#include "model/device_spec.h"
#include "ptx/parser.h"

namespace tw::emu {

class KernelRunner {
 public:
  explicit KernelRunner(uint32_t threads = 1, uint32_t schedule = 0) {
    DeviceOptions options;
    options.threads = threads;
    options.schedule = schedule;
    options.memory_bytes = 256 << 20;
    options.on_printf = [this](std::string_view text) { printed += text; };
    model::DeviceSpec spec = *model::load_device_spec("h200");
    device = std::move(Device::create(spec, options)).value();
  }

  // Loads a module: `body` is wrapped into a kernel `k` with parameters out (u64) and in (u64),
  // unless it holds a .entry of its own.
  Status load(const std::string& body) {
    std::string text = ".version 8.5\n.target sm_90a\n.address_size 64\n";
    if (body.find(".entry") != std::string::npos)
      text += body;
    else
      text += ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n" + body + "\n}\n";
    Result<ptx::Module> module = ptx::parse(text, "test.ptx");
    if (!module.ok()) return module.error();
    Result<LoadedModule*> loaded = device->load(std::move(*module));
    if (!loaded.ok()) return loaded.error();
    loaded_ = *loaded;
    return Unit{};
  }

  // Launches kernel `k`; returns its fault (kind none: it ran to the end).
  Fault run(Dim3 grid, Dim3 block, std::vector<uint64_t> parameters, uint64_t dynamic_shared = 0,
            bool cooperative = false, Dim3 cluster = {1, 1, 1}) {
    Launch launch;
    launch.kernel = device->find_kernel(*loaded_, "k");
    launch.grid = grid, launch.block = block;
    launch.dynamic_shared_bytes = dynamic_shared;
    launch.cooperative = cooperative;
    launch.cluster = cluster;
    launch.parameters.resize(parameters.size() * 8);
    std::memcpy(launch.parameters.data(), parameters.data(), launch.parameters.size());
    Result<std::unique_ptr<GridRun>> started = device->start(launch);
    if (!started.ok()) {
      Fault f;
      f.kind = FaultKind::unsupported;
      f.message = started.error().to_string();
      return f;
    }
    GridRun::State state;
    do state = (*started)->advance();
    while (state == GridRun::State::yielded);
    return (*started)->fault();
  }

  template <class T> uint64_t buffer(const std::vector<T>& values) {
    uint64_t address = *device->allocate(values.size() * sizeof(T), AllocationKind::device);
    std::memcpy(device->host_pointer(address, values.size() * sizeof(T)), values.data(),
                values.size() * sizeof(T));
    return address;
  }
  template <class T> std::vector<T> read(uint64_t address, size_t count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), device->host_pointer(address, count * sizeof(T)), count * sizeof(T));
    return values;
  }

  // The common case: one warp (or block), each thread writes out[tid] (32-bit).
  std::vector<uint32_t> words(const std::string& body, uint32_t threads = 32,
                              std::vector<uint32_t> in = std::vector<uint32_t>(1024)) {
    Status s = load(body);
    EXPECT_TRUE(s.ok()) << (s.ok() ? "" : s.error().to_string());
    if (!s.ok()) return {};
    uint64_t out = buffer(std::vector<uint32_t>(1024)), source = buffer(in);
    Fault f = run({1, 1, 1}, {threads, 1, 1}, {out, source});
    EXPECT_EQ(f.kind, FaultKind::none) << f.message;
    return read<uint32_t>(out, threads);
  }

  std::unique_ptr<Device> device;
  std::string printed;

 private:
  LoadedModule* loaded_ = nullptr;
};

// PTX that stores `%value` (32-bit) at out[tid]; `%tid32`, `%out` are set up by kPrologue.
inline const std::string kPrologue = R"(
  .reg .b32 %tid32, %value, %r<64>;
  .reg .b64 %out, %in, %at, %rd<32>;
  .reg .pred %p<32>;
  .reg .f32 %f<32>;
  mov.u32 %tid32, %tid.x;
  ld.param.u64 %out, [out];
  ld.param.u64 %in, [in];
  mul.wide.u32 %at, %tid32, 4;
  add.s64 %out, %out, %at;
)";
inline const std::string kEpilogue = R"(
  st.global.u32 [%out], %value;
  ret;
)";

}  // namespace tw::emu
