#include "cli/choose_runtime.h"

#include <fmt/format.h>

namespace tw::cli {
namespace {

// Libraries of NVIDIA's that a program may need and that we do not replace.
constexpr const char* kOtherLibraries[] = {
    "libcublas", "libcufft",  "libcusolver",  "libcusparse", "libcurand",   "libcudnn",
    "libnccl",   "libnvrtc",  "libnvjpeg",    "libnpp",      "libcutensor", "libcuda.",
    "libnvml",   "libnvidia", "libnvJitLink", "libcufile",   "libnvgraph",  "libcupti"};

std::string rebuild(const std::string& path) {
  return fmt::format("rebuild it with\n    nvcc -cudart shared -o {} ...", path);
}

}  // namespace

Result<std::string> choose_runtime(const cudart::ProgramFile& program, const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return Error{.message = why + ": " + rebuild(path), .file = path};
  };
  std::string runtime, other_runtime;
  for (const std::string& name : program.needed) {
    for (const char* other : kOtherLibraries)
      if (name.starts_with(other))
        return Error{
            .message = fmt::format("this program needs {}, which Tilewright does not replace; only "
                                   "programs that use the CUDA runtime alone can be run",
                                   name),
            .file = path};
    if (name == "libcudart.so.12" || name == "libcudart.so.13")
      runtime = name;
    else if (name.starts_with("libcudart"))
      other_runtime = name;
  }
  if (!program.dynamic && (program.device_code || !program.runtime_entries.empty()))
    return refuse(
        "this program is linked without the dynamic loader (-static), so that no library "
        "can be put in front of it");
  if (program.static_abi != 0) return fmt::format("libcudart.so.{}", program.static_abi);
  if (!runtime.empty()) return runtime;
  if (!other_runtime.empty())
    return refuse(
        fmt::format("this program was built for {}; CUDA 12 or 13 is needed", other_runtime));
  if (!program.runtime_entries.empty())
    return refuse("the static CUDA runtime in this program is neither that of CUDA 12 nor of 13");
  if (program.device_code && !program.has_symbols)
    return refuse(
        "this program is linked with the static CUDA runtime and stripped, so that the runtime's "
        "calls cannot be found and taken over");
  if (program.device_code)
    return refuse("this program holds device code, but no CUDA runtime is found in it");
  return Error{.message =
                   "this program does not use the CUDA runtime: it needs no libcudart.so, and "
                   "holds no static "
                   "one",
               .file = path};
}

}  // namespace tw::cli
