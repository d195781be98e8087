// Results of a real GPU for the instruction tests: runs the kernels of isa_programs.inc (embedded
// PTX, made by tests/isa/isa_programs.cpp) through the CUDA driver and writes what they computed.
//
//   isa_expectations OUT.bin        needs libcuda.so.1 (found at run time) and nothing else
//
// One module a row; where the driver refuses one, its kernels are tried one by one, and those
// refused are recorded as such. Read by tests/isa/isa_test.cpp (tests/isa/expected_h200.bin).
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "expectations.h"
#include "values.h"

namespace {

using namespace tw::isa_test;

struct Program {
  unsigned row;
  uint64_t key, seed;
  unsigned result_bytes;
  const char* operands;
  const char* name;
  const char* ptx;
};
const Program kPrograms[] = {
#include "isa_programs.inc"
};
constexpr size_t kCount = sizeof(kPrograms) / sizeof(kPrograms[0]);

// The driver's entry points, by their names in libcuda.
struct Driver {
  using Pointer = unsigned long long;
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*set_current)(void*) = nullptr;
  int (*load)(void**, const void*, unsigned, int*, void**) = nullptr;
  int (*unload)(void*) = nullptr;
  int (*function)(void**, void*, const char*) = nullptr;
  int (*allocate)(Pointer*, size_t) = nullptr;
  int (*to_device)(Pointer, const void*, size_t) = nullptr;
  int (*to_host)(void*, Pointer, size_t) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**) = nullptr;
  int (*synchronize)() = nullptr;

  bool open() {
    void* lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) return std::fprintf(stderr, "isa_expectations: %s\n", dlerror()), false;
    bool good = true;
    auto get = [&](auto& f, const char* name) {
      f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(dlsym(lib, name));
      if (!f) std::fprintf(stderr, "isa_expectations: libcuda has no %s\n", name), good = false;
    };
    get(init, "cuInit"), get(version, "cuDriverGetVersion"), get(device, "cuDeviceGet"),
        get(device_name, "cuDeviceGetName");
    get(retain, "cuDevicePrimaryCtxRetain"), get(set_current, "cuCtxSetCurrent"),
        get(load, "cuModuleLoadDataEx"), get(unload, "cuModuleUnload");
    get(function, "cuModuleGetFunction"), get(allocate, "cuMemAlloc_v2"),
        get(to_device, "cuMemcpyHtoD_v2"), get(to_host, "cuMemcpyDtoH_v2");
    get(launch, "cuLaunchKernel"), get(synchronize, "cuCtxSynchronize");
    return good;
  }
};

class Worker {
 public:
  Worker(Driver& d, void* context, GpuResults* results) : d_(d), results_(results) {
    check(d_.set_current(context), "cuCtxSetCurrent");
    check(d_.allocate(&in_, kTuples * 8 * 8), "cuMemAlloc");
    check(d_.allocate(&out_, kTuples * 8), "cuMemAlloc");
  }
  // Programs [from, to), all of one row.
  void row(size_t from, size_t to) {
    if (module(from, to)) return;
    for (size_t i = from; i < to; ++i)
      if (!module(i, i + 1)) std::fprintf(stderr, "refused: %s: %s\n", kPrograms[i].name, log_);
  }

 private:
  static void check(int status, const char* what) {
    if (status == 0) return;
    std::fprintf(stderr, "isa_expectations: %s gave error %d\n", what, status);
    std::exit(1);
  }
  bool module(size_t from, size_t to) {
    std::string text = ".version 8.6\n.target sm_90\n.address_size 64\n";
    for (size_t i = from; i < to; ++i) text += kPrograms[i].ptx;
    int options[] = {5, 6};  // CU_JIT_ERROR_LOG_BUFFER, its size
    void* values[] = {log_, reinterpret_cast<void*>(sizeof(log_))};
    log_[0] = 0;
    void* loaded = nullptr;
    if (d_.load(&loaded, text.c_str(), 2, options, values) != 0) return false;
    for (size_t i = from; i < to; ++i) run(loaded, i);
    d_.unload(loaded);
    return true;
  }
  void run(void* loaded, size_t i) {
    const Program& p = kPrograms[i];
    std::vector<std::string> operands;
    for (const char* at = p.operands; *at;) {
      const char* end = std::strchr(at, ',');
      operands.emplace_back(at, end ? size_t(end - at) : std::strlen(at));
      at = end ? end + 1 : at + std::strlen(at);
    }
    std::vector<uint64_t> in = input_values(operands, p.seed), out(kTuples);
    void* function = nullptr;
    std::string entry = p.ptx;
    entry = entry.substr(entry.find(".visible .entry") + 15);
    entry = entry.substr(entry.find_first_not_of(' '));
    entry = entry.substr(0, entry.find('('));
    check(d_.function(&function, loaded, entry.c_str()), "cuModuleGetFunction");
    check(d_.to_device(in_, in.data(), in.size() * 8), "cuMemcpyHtoD");
    void* arguments[] = {&out_, &in_};
    check(d_.launch(function, 1, 1, 1, kTuples, 1, 1, 0, nullptr, arguments, nullptr), p.name);
    check(d_.synchronize(), p.name);
    check(d_.to_host(out.data(), out_, kTuples * 8), "cuMemcpyDtoH");
    results_[i] = {true, uint8_t(p.result_bytes), std::move(out)};
  }
  Driver& d_;
  GpuResults* results_;
  Driver::Pointer in_ = 0, out_ = 0;
  char log_[4096] = {};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: isa_expectations OUT.bin\n"), 2;
  Driver d;
  if (!d.open() || d.init(0) != 0)
    return std::fprintf(stderr, "isa_expectations: no CUDA driver\n"), 1;
  int version = 0, device = 0;
  char name[64] = {};
  void* context = nullptr;
  if (d.version(&version) || d.device(&device, 0) || d.device_name(name, 64, device) ||
      d.retain(&context, device))
    return std::fprintf(stderr, "isa_expectations: no device\n"), 1;

  std::vector<GpuResults> results(kCount);
  std::vector<std::pair<size_t, size_t>> rows;
  for (size_t i = 0; i < kCount;) {
    size_t j = i;
    while (j < kCount && kPrograms[j].row == kPrograms[i].row && j - i < 32) ++j;
    rows.push_back({i, j});
    i = j;
  }
  std::atomic<size_t> next{0};
  std::vector<std::thread> workers;
  for (int w = 0; w < 8; ++w)
    workers.emplace_back([&] {
      Worker worker(d, context, results.data());
      for (size_t r; (r = next++) < rows.size();) worker.row(rows[r].first, rows[r].second);
    });
  for (std::thread& t : workers) t.join();

  Expectations e;
  e.driver = uint32_t(version), e.device = name;
  std::vector<uint64_t> order;
  size_t ran = 0;
  for (size_t i = 0; i < kCount; ++i) {
    ran += results[i].ran;
    results[i].result_bytes = uint8_t(kPrograms[i].result_bytes);
    if (e.cases.emplace(kPrograms[i].key, std::move(results[i])).second)
      order.push_back(kPrograms[i].key);
  }
  if (!write_expectations(argv[1], e, order))
    return std::fprintf(stderr, "isa_expectations: cannot write %s\n", argv[1]), 1;
  std::printf("%s, driver %d: %zu of %zu cases ran\n", name, version, ran, kCount);
}
