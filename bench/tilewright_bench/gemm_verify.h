// The parts of tilewright-bench gemm --suite verify, faults, sanitize: one shape run and compared
// with double, and the log of checks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frame.h"
#include "gemm/lib/wgmma_launch.h"
#include "gemm_cases.h"

namespace tilewright::bench {

struct Shape {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  Order order = Order::kRowMajor;
  Type type = Type::kBf16, type_d = Type::kBf16;
  int64_t offset = 0, pad = 0, batches = 1;
  float alpha = 1, beta = 0;
  bool alias_c = false;
};

std::string describe(const Shape& s);

class DeviceBytes {
 public:
  explicit DeviceBytes(size_t bytes) : bytes_(bytes) {
    TW_CUDA(cudaMalloc(&data_, std::max<size_t>(bytes, 256)));
  }
  ~DeviceBytes() { cudaFree(data_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  char* data() const { return static_cast<char*>(data_); }
  size_t size() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

// Runs one shape; the returned text says what is wrong, empty when nothing is.
// `launch` may replace the API call (to force a tile); null uses gemm().
std::string run_shape(const Shape& s,
                      const std::function<cudaError_t(const GemmArguments&)>& launch = nullptr);

class Log {
 public:
  Log(std::vector<Case>& cases, const Options& options) : cases_(cases), options_(options) {}
  void add(const std::string& group, const std::string& name, const std::string& problem);
  // The same for a check that --only leaves out where it names neither the check nor (but for
  // --suite sanitize) its group.
  void check(const std::string& group, const std::string& name,
             const std::function<std::string()>& run);
  bool wants(const std::string& group) const { return selected(options_, group); }
  void summary() const;

 private:
  std::vector<Case>& cases_;
  const Options& options_;
  int count_ = 0, failures_ = 0;
};

// The arguments as the kernels take them (row-major).
tw::gemm::WgmmaProblem kernel_problem(const GemmArguments& g);

// --types
bool wants_type(const Options& options, Type type);

// Every instance, forced: the model would leave most of them out on small shapes. `small`: a launch
// or two of each, for compute-sanitizer.
void verify_tiles(Log& log, const Options& options, bool small = false);
void verify_sgemm(Log& log);
// What callers get wrong, and what sizes get wrong.
void verify_faults(Log& log);

}  // namespace tilewright::bench
