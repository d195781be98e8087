// The C interface of tilewright.h over emu::Device, the checkers and the counters. Nothing throws
// across it, nothing prints.
//
// Tested by tests/capi/engine_c.c.
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emu/device.h"
#include "model/device_spec.h"
#include "observe/checkers/session.h"
#include "observe/counters/counting_observer.h"
#include "ptx/parser.h"
#include "report/findings.h"
#include "report/profile.h"
#include "report/record.h"
#include "tilewright/tilewright.h"

namespace {

using namespace tw;

thread_local std::string creation_error;

}  // namespace

struct tw_engine {
  model::DeviceSpec spec;
  std::unique_ptr<observe::CheckSession> session;
  std::unique_ptr<counters::CountingSource> counting;
  std::unique_ptr<emu::Device> device;  // goes before those that watch it
  std::vector<emu::LoadedModule*> modules;
  std::string records, error, text;
  uint64_t launches = 0;
  report::CheckResult findings;
  std::vector<std::vector<tw_site>> sites;
};

namespace {

int fail(tw_engine* engine, int code, std::string text) {
  (engine != nullptr ? engine->error : creation_error) = std::move(text);
  return code;
}

// body() -> int; what C++ throws becomes a code.
template <class Body> int guarded(tw_engine* engine, Body&& body) {
  if (engine == nullptr)
    return fail(engine, TW_ENGINE_INVALID_ARGUMENT, "the engine is a null pointer");
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(engine, TW_ENGINE_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return fail(engine, TW_ENGINE_UNSUPPORTED, e.what());
  }
}

std::string limits(const model::DeviceSpec& spec, const emu::KernelInfo& info,
                   const emu::Launch& launch) {
  const uint32_t g[3] = {launch.grid.x, launch.grid.y, launch.grid.z},
                 b[3] = {launch.block.x, launch.block.y, launch.block.z};
  for (int i = 0; i < 3; ++i)
    if (g[i] == 0 || b[i] == 0 || g[i] > spec.max_grid_dim[i] || b[i] > spec.max_block_dim[i])
      return "the grid or the block has a size that this GPU does not take";
  if (uint64_t(b[0]) * b[1] * b[2] >
      std::min(spec.max_threads_per_block, info.max_threads_per_block))
    return "the block has more threads than this GPU or the kernel takes";
  if (info.static_shared_bytes + launch.dynamic_shared_bytes > spec.shared_per_block_optin)
    return "the block needs more shared memory than this GPU has";
  return "";
}

}  // namespace

int tw_engine_create(const char* gpu, int mode, tw_engine** out) {
  if (gpu == nullptr || out == nullptr)
    return fail(nullptr, TW_ENGINE_INVALID_ARGUMENT, "a null pointer");
  *out = nullptr;
  if (mode < TW_ENGINE_RUN || mode > TW_ENGINE_COUNT)
    return fail(nullptr, TW_ENGINE_INVALID_ARGUMENT, "no such mode");
  try {
    auto engine = std::make_unique<tw_engine>();
    Result<model::DeviceSpec> spec = model::load_device_spec(gpu);
    if (!spec) return fail(nullptr, TW_ENGINE_INVALID_ARGUMENT, spec.error().to_string());
    engine->spec = *spec;
    emu::DeviceOptions options;
    options.on_printf = [](std::string_view) {};
    if (mode == TW_ENGINE_CHECK) {
      engine->session = std::make_unique<observe::CheckSession>(observe::CheckOptions{});
      options.observers = engine->session.get();
    } else if (mode == TW_ENGINE_COUNT) {
      engine->counting = std::make_unique<counters::CountingSource>(
          *spec, [e = engine.get()](const std::string& line) { e->records += line; });
      options.observers = engine->counting.get();
    }
    Result<std::unique_ptr<emu::Device>> device = emu::Device::create(*spec, std::move(options));
    if (!device) return fail(nullptr, TW_ENGINE_OUT_OF_MEMORY, device.error().to_string());
    engine->device = std::move(*device);
    *out = engine.release();
    return TW_ENGINE_OK;
  } catch (const std::exception& e) {
    return fail(nullptr, TW_ENGINE_OUT_OF_MEMORY, e.what());
  }
}

void tw_engine_destroy(tw_engine* engine) { delete engine; }

const char* tw_engine_error(const tw_engine* engine) {
  return (engine != nullptr ? engine->error : creation_error).c_str();
}

int tw_engine_load(tw_engine* engine, const char* ptx, const char* name) {
  return guarded(engine, [&]() -> int {
    if (ptx == nullptr)
      return fail(engine, TW_ENGINE_INVALID_ARGUMENT, "the PTX is a null pointer");
    Result<ptx::Module> module = ptx::parse(ptx, name != nullptr ? name : "module.ptx");
    if (!module) return fail(engine, TW_ENGINE_UNSUPPORTED, module.error().to_string());
    Result<emu::LoadedModule*> loaded = engine->device->load(std::move(*module));
    if (!loaded) return fail(engine, TW_ENGINE_UNSUPPORTED, loaded.error().to_string());
    engine->modules.push_back(*loaded);
    return TW_ENGINE_OK;
  });
}

int tw_engine_allocate(tw_engine* engine, size_t bytes, uint64_t* address) {
  return guarded(engine, [&]() -> int {
    if (address == nullptr || bytes == 0)
      return fail(engine, TW_ENGINE_INVALID_ARGUMENT, "no bytes, or nowhere to put the address");
    Result<uint64_t> at = engine->device->allocate(bytes, emu::AllocationKind::device);
    if (!at) return fail(engine, TW_ENGINE_OUT_OF_MEMORY, at.error().to_string());
    *address = *at;
    return TW_ENGINE_OK;
  });
}

int tw_engine_free(tw_engine* engine, uint64_t address) {
  return guarded(engine, [&]() -> int {
    const Status s = engine->device->free(address);
    return s.ok() ? int(TW_ENGINE_OK)
                  : fail(engine, TW_ENGINE_INVALID_ARGUMENT, s.error().to_string());
  });
}

int tw_engine_write(tw_engine* engine, uint64_t address, const void* from, size_t bytes) {
  return guarded(engine, [&]() -> int {
    uint8_t* to = from != nullptr ? engine->device->host_pointer(address, bytes) : nullptr;
    if (to == nullptr)
      return fail(engine, TW_ENGINE_INVALID_ARGUMENT, "the bytes do not lie in one allocation");
    std::memcpy(to, from, bytes);
    engine->device->host_access(address, bytes, true);
    return TW_ENGINE_OK;
  });
}

int tw_engine_read(tw_engine* engine, void* to, uint64_t address, size_t bytes) {
  return guarded(engine, [&]() -> int {
    const uint8_t* from = to != nullptr ? engine->device->host_pointer(address, bytes) : nullptr;
    if (from == nullptr)
      return fail(engine, TW_ENGINE_INVALID_ARGUMENT, "the bytes do not lie in one allocation");
    std::memcpy(to, from, bytes);
    engine->device->host_access(address, bytes, false);
    return TW_ENGINE_OK;
  });
}

int tw_engine_launch(tw_engine* engine, const char* name, const uint32_t grid[3],
                     const uint32_t block[3], size_t dynamic_shared_bytes,
                     const void* const* arguments, size_t argument_count) {
  return guarded(engine, [&]() -> int {
    if (name == nullptr || grid == nullptr || block == nullptr ||
        (arguments == nullptr && argument_count != 0))
      return fail(engine, TW_ENGINE_INVALID_ARGUMENT, "a null pointer");
    const emu::Kernel* kernel = nullptr;
    for (emu::LoadedModule* module : engine->modules)
      if (kernel == nullptr) kernel = engine->device->find_kernel(*module, name);
    if (kernel == nullptr)
      return fail(engine, TW_ENGINE_INVALID_ARGUMENT, std::string("no kernel '") + name + "'");
    const emu::KernelInfo& info = engine->device->info(*kernel);
    if (argument_count != info.parameters.size())
      return fail(engine, TW_ENGINE_INVALID_ARGUMENT,
                  std::string(name) + " takes " + std::to_string(info.parameters.size()) +
                      " arguments, not " + std::to_string(argument_count));
    emu::Launch launch;
    launch.kernel = kernel;
    launch.grid = {grid[0], grid[1], grid[2]};
    launch.block = {block[0], block[1], block[2]};
    launch.cluster = {1, 1, 1};
    if (info.cluster[0] != 0) launch.cluster = {info.cluster[0], info.cluster[1], info.cluster[2]};
    launch.dynamic_shared_bytes = dynamic_shared_bytes;
    launch.id = ++engine->launches;
    if (std::string wrong = limits(engine->spec, info, launch); !wrong.empty())
      return fail(engine, TW_ENGINE_INVALID_ARGUMENT, std::move(wrong));
    launch.parameters.assign(info.parameter_bytes, 0);
    for (size_t i = 0; i < argument_count; ++i) {
      if (arguments[i] == nullptr)
        return fail(engine, TW_ENGINE_INVALID_ARGUMENT, "an argument is a null pointer");
      std::memcpy(launch.parameters.data() + info.parameter_offsets[i], arguments[i],
                  info.parameters[i].bytes);
    }
    Result<std::unique_ptr<emu::GridRun>> run = engine->device->start(launch);
    if (!run) return fail(engine, TW_ENGINE_UNSUPPORTED, run.error().to_string());
    emu::GridRun::State state = emu::GridRun::State::yielded;
    while (state == emu::GridRun::State::yielded) state = (*run)->advance();
    if (state == emu::GridRun::State::faulted)
      return fail(engine, TW_ENGINE_KERNEL_FAULT, (*run)->fault().message);
    return TW_ENGINE_OK;
  });
}

size_t tw_engine_finding_count(tw_engine* engine) {
  if (engine == nullptr || engine->session == nullptr) return 0;
  engine->findings = engine->session->result();
  engine->sites.clear();
  for (const report::Finding& f : engine->findings.findings) {
    std::vector<tw_site>& sites = engine->sites.emplace_back();
    for (const report::FindingSite& s : f.sites)
      if (!s.host) sites.push_back({s.file.c_str(), s.line, s.instruction.c_str(), s.role.c_str()});
  }
  return engine->findings.findings.size();
}

int tw_engine_finding(tw_engine* engine, size_t index, tw_finding* finding) {
  return guarded(engine, [&]() -> int {
    if (finding == nullptr || index >= engine->findings.findings.size())
      return fail(engine, TW_ENGINE_INVALID_ARGUMENT, "no such finding");
    const report::Finding& f = engine->findings.findings[index];
    const std::vector<tw_site>& sites = engine->sites[index];
    *finding = {f.kind.c_str(),   report::severity_word(f.severity).data(),
                f.kernel.c_str(), f.message.c_str(),
                f.advice.c_str(), f.count,
                sites.data(),     sites.size()};
    return TW_ENGINE_OK;
  });
}

const char* tw_engine_findings_json(tw_engine* engine) {
  if (engine == nullptr) return "";
  engine->text = engine->session ? report::findings_json(engine->session->result()) : "";
  return engine->text.c_str();
}

const char* tw_engine_counters_json(tw_engine* engine) {
  if (engine == nullptr) return "";
  engine->text.clear();
  if (engine->counting == nullptr) return "";
  const Result<report::Records> records = report::read_records(engine->records, "the counters");
  if (!records) {
    engine->error = records.error().to_string();
    return "";
  }
  report::BuildOptions options;
  options.program = "tw_engine";
  options.as_written = true;
  engine->text = report::profile_json(report::build_profile(*records, engine->spec, options));
  return engine->text.c_str();
}
