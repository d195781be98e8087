// The CUDA math library (math.cu, compiled to PTX by nvcc) on the engine against long double,
// within the maximum errors that the CUDA C++ Programming Guide states for each function
// ("Mathematical Functions", tables of maximum ulp errors: distances from the correctly rounded
// result).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "emu/device.h"
#include "model/device_spec.h"
#include "ptx/parser.h"

namespace tw::isa_test {
namespace {

constexpr uint32_t kValues = 512;

struct Function {
  const char* name;
  long double (*exact)(long double);
  double float_ulps, double_ulps;
};
const Function kFunctions[] = {
    {"sin", [](long double a) { return std::sin(a); }, 2, 2},
    {"cos", [](long double a) { return std::cos(a); }, 2, 2},
    {"tan", [](long double a) { return std::tan(a); }, 4, 2},
    {"exp", [](long double a) { return std::exp(a); }, 2, 1},
    {"exp2", [](long double a) { return std::exp2(a); }, 2, 1},
    {"expm1", [](long double a) { return std::expm1(a); }, 1, 1},
    {"log", [](long double a) { return std::log(std::fabs(a)); }, 1, 1},
    {"log2", [](long double a) { return std::log2(std::fabs(a)); }, 1, 1},
    {"log1p", [](long double a) { return std::log1p(std::fabs(a)); }, 1, 1},
    {"pow", [](long double a) { return std::pow(std::fabs(a), 2.5L); }, 4, 2},
    {"lgamma", [](long double a) { return std::lgamma(std::fabs(a)); }, 6, 4},
    {"erf", [](long double a) { return std::erf(a); }, 2, 2},
    {"cbrt", [](long double a) { return std::cbrt(a); }, 1, 1},
    {"tanh", [](long double a) { return std::tanh(a); }, 2, 2},
    {"atan", [](long double a) { return std::atan(a); }, 2, 2},
    {"rsqrt", [](long double a) { return 1 / std::sqrt(std::fabs(a)); }, 2, 1},
    {"round", [](long double a) { return std::round(a); }, 0, 0},
    {"reciprocal", [](long double a) { return 1 / a; }, 0, 1},  // long double rounds twice
};

class Library {
 public:
  Library() {
    emu::DeviceOptions options;
    options.threads = 1;
    options.memory_bytes = 64 << 20;
    device_ = std::move(emu::Device::create(*model::load_device_spec("h200"), options)).value();
    std::ifstream file(TILEWRIGHT_MATH_PTX);
    std::stringstream text;
    text << file.rdbuf();
    Result<ptx::Module> parsed = ptx::parse(text.str(), "math.ptx");
    EXPECT_TRUE(parsed.ok()) << parsed.error().to_string();
    Result<emu::LoadedModule*> loaded = device_->load(std::move(*parsed));
    EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
    module_ = *loaded;
    in_ = *device_->allocate(kValues * 8, emu::AllocationKind::device);
    out_ = *device_->allocate(kValues * 8, emu::AllocationKind::device);
  }

  template <class T> void check(const Function& f, const char* type, double bound) {
    auto* x = reinterpret_cast<T*>(device_->host_pointer(in_, kValues * 8));
    auto* y = reinterpret_cast<T*>(device_->host_pointer(out_, kValues * 8));
    for (uint32_t i = 0; i < kValues; ++i)
      x[i] = T((double(i) - 255.3) * 0.157 * (i % 7 == 0 ? 1e-3 : 1));
    emu::Launch launch;
    std::string name = fmt::format("{}_{}", type, f.name);
    launch.kernel = device_->find_kernel(*module_, name);
    ASSERT_NE(launch.kernel, nullptr) << name;
    launch.grid = {1, 1, 1}, launch.block = {kValues, 1, 1};
    launch.parameters.resize(16);
    std::memcpy(launch.parameters.data(), &out_, 8);
    std::memcpy(launch.parameters.data() + 8, &in_, 8);
    Result<std::unique_ptr<emu::GridRun>> run = device_->start(launch);
    ASSERT_TRUE(run.ok()) << run.error().to_string();
    emu::GridRun::State state;
    do state = (*run)->advance();
    while (state == emu::GridRun::State::yielded);
    ASSERT_EQ(state, emu::GridRun::State::done) << (*run)->fault().message;
    double worst = 0;
    T at = 0;
    for (uint32_t i = 0; i < kValues; ++i) {
      long double exact = f.exact(x[i]);
      if (exact == 0) {
        EXPECT_EQ(y[i], T(0)) << name;
        continue;
      }
      long double unit = std::ldexp(1.0L, std::ilogb(exact) - (sizeof(T) == 4 ? 23 : 52));
      double error = double(std::fabs((long double)y[i] - (long double)T(exact)) / unit);
      if (!(error <= worst)) worst = error, at = x[i];
    }
    EXPECT_LE(worst, bound + 1e-6) << name << "(" << at << ")";
  }

 private:
  std::unique_ptr<emu::Device> device_;
  emu::LoadedModule* module_ = nullptr;
  uint64_t in_ = 0, out_ = 0;
};

TEST(Math, FunctionsKeepTheirStatedErrors) {
  Library library;
  for (const Function& f : kFunctions) {
    library.check<float>(f, "float", f.float_ulps);
    library.check<double>(f, "double", f.double_ulps);
  }
}

}  // namespace
}  // namespace tw::isa_test
