#include "cli/measure.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/nvcc.h"
#include "cli/process.h"
#include "cli/temporary_file.h"

namespace tw::cli {
namespace {

namespace fs = std::filesystem;

// The name of the first GPU, asked of the driver; this process links no part of CUDA.
Result<std::string> gpu_name() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr)
    return Error{.message = "no GPU here: NVIDIA's driver (libcuda.so.1) is not installed"};
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  const auto name = reinterpret_cast<int (*)(char*, int, int)>(dlsym(driver, "cuDeviceGetName"));
  if (init == nullptr || count == nullptr || name == nullptr)
    return Error{.message = "libcuda.so.1 lacks cuInit: it is not NVIDIA's driver"};
  constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE
  const int status = init(0);
  int devices = 0;
  if (status == kNoDevice || (status == 0 && (count(&devices) != 0 || devices == 0)))
    return Error{.message = "no GPU here: the driver finds none"};
  if (status != 0)
    return Error{.message = fmt::format("the driver does not start (cuInit gives {})", status)};
  char text[256] = "";
  if (name(text, sizeof text, 0) != 0) return std::string("GPU");
  return std::string(text);
}

// Where NVIDIA's libcudart is, for programs that were compiled here: beside the nvcc that compiled
// them. After what the user has set.
std::string library_folders() {
  const char* set = std::getenv("LD_LIBRARY_PATH");
  std::string folders = set != nullptr ? set : "";
  const Result<std::string> nvcc = find_nvcc();
  if (!nvcc) return folders;
  const fs::path toolkit = fs::path(*nvcc).parent_path().parent_path();
  for (const char* folder : {"lib64", "lib"}) {
    std::error_code error;
    if (!fs::is_directory(toolkit / folder, error)) continue;
    if (!folders.empty()) folders += ':';
    folders += (toolkit / folder).string();
  }
  return folders;
}

}  // namespace

Result<Measured> measure(const std::vector<std::string>& arguments, const RunOptions& options) {
  Measured result;
  const Result<std::string> device = gpu_name();
  if (!device) return device.error();
  result.device = *device;
  const Result<std::string> timer = library_path("liblaunch_timer.so");
  if (!timer) return timer.error();
  const TemporaryFile times;
  if (times.path.empty()) return Error{.message = "no temporary file can be made; set TMPDIR"};
  const char* preload = std::getenv("LD_PRELOAD");
  Environment environment = {{"TILEWRIGHT_TIMES", times.path},
                             {"LD_PRELOAD", preload && *preload ? *timer + ":" + preload : *timer}};
  if (const std::string folders = library_folders(); !folders.empty())
    environment.emplace_back("LD_LIBRARY_PATH", folders);
  const Result<int> status = run_and_wait(arguments, environment, options.timeout, Output::dropped);
  if (!status) return status.error();
  std::ifstream file(times.path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Result<std::vector<report::MeasuredLaunch>> launches = report::read_times(text, times.path);
  if (!launches) return launches.error();
  result.launches = std::move(*launches);
  const std::string end =
      WIFSIGNALED(*status)
          ? fmt::format("ended by signal {}", WTERMSIG(*status))
          : fmt::format("ended with status {}", WIFEXITED(*status) ? WEXITSTATUS(*status) : -1);
  const bool failed = !WIFEXITED(*status) || WEXITSTATUS(*status) != 0;
  if (result.launches.empty())
    return Error{.message = fmt::format(
                     "the program {} on the {}, and no launch was timed (only programs linked with "
                     "-cudart shared can be)",
                     end, *device)};
  if (failed) result.note = fmt::format("on the {} the program {}", *device, end);
  return result;
}

}  // namespace tw::cli
