#include "cli/run_options.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "cli/choose_runtime.h"
#include "cli/number_range.h"
#include "cli/nvcc.h"
#include "cudart/settings.h"
#include "model/device_spec.h"

namespace tw::cli {
namespace {

namespace fs = std::filesystem;

}  // namespace

// bin/tilewright -> lib/tilewright where it is installed, lib in a build folder.
Result<std::string> library_path(const std::string& soname) {
  std::error_code error;
  const fs::path above = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  fs::path path = above / TILEWRIGHT_LIBDIR / "tilewright" / soname;
  if (!fs::exists(path, error)) path = above / "lib" / soname;
  if (!fs::exists(path, error))
    return Error{.message = "this library of Tilewright is missing; build it (make)",
                 .file = path.string()};
  const std::string text = path.string();
  if (text.find_first_of(" :") != std::string::npos)
    return Error{
        .message =
            "LD_PRELOAD cannot name a path with a space or a colon; move Tilewright elsewhere",
        .file = text};
  return text;
}

void add_run_options(CLI::App& command, RunOptions& options) {
  command
      .add_option("program", options.program,
                  "A CUDA source (.cu), compiled first, or a program made by nvcc")
      ->required();
  command.add_option("args", options.arguments, "Arguments of the program, after --");
  command
      .add_option("--gpu", options.gpu,
                  "The GPU to be: an id (`tilewright model devices` lists them) or a device file")
      ->capture_default_str();
  command.add_option("--devices", options.devices, "How many of them the program sees")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  command.add_option("--threads", options.threads, "Host threads that run CTAs; 0: all cores")
      ->check(CLI::Range(0u, 4096u))
      ->capture_default_str();
  command
      .add_option("--timeout", options.timeout,
                  "End the program after so many seconds (status 124), saying where every "
                  "unfinished CTA stands")
      ->check(number_from(1e-3, 1e9, "number of seconds"));
  command
      .add_option("--nvcc", options.nvcc_flags,
                  "Further flags for nvcc, for example --nvcc \"-O2 -DN=64\"; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  command.add_option("--device-memory", options.device_memory,
                     "Memory of the device, for example 512M or 4G; by default what the GPU has");
  command.add_flag("--fast", options.order_any,
                   "Run CTAs in parallel even where the result can depend on their order "
                   "(floating-point atomics, locks)");
}

Result<Prepared> prepare(const RunOptions& options) {
  cudart::Settings settings;
  settings.gpu = options.gpu;
  settings.devices = options.devices;
  settings.threads = options.threads;
  settings.order_any = options.order_any;
  if (!options.device_memory.empty()) {
    const Result<uint64_t> bytes = cudart::parse_bytes(options.device_memory);
    if (!bytes) return Error{.message = "--device-memory: " + bytes.error().message};
    if (*bytes == 0) return Error{.message = "--device-memory: a device has some memory"};
    settings.device_memory = *bytes;
  }
  const Result<model::DeviceSpec> spec = model::load_device_spec(options.gpu);
  if (!spec) return spec.error();

  if (options.program.empty())
    return Error{.message = "the program's name is empty: give a CUDA source or a program"};
  struct stat status{};
  if (stat(options.program.c_str(), &status) != 0)
    return Error{.message = "no such file", .file = options.program};
  std::string program = options.program;
  if (program.ends_with(".cu")) {
    CompileRequest request{
        .source = program, .flags = {}, .arch = spec->compute_major * 10 + spec->compute_minor};
    if (options.host_lines) request.flags = {"-Xcompiler", "-g1,-fno-optimize-sibling-calls"};
    for (const std::string& flags : options.nvcc_flags) {
      const Result<std::vector<std::string>> words = split_words(flags);
      if (!words) return Error{.message = "--nvcc: " + words.error().message};
      request.flags.insert(request.flags.end(), words->begin(), words->end());
    }
    Result<std::string> compiled = compile(request);
    if (!compiled) return compiled.error();
    program = *compiled;
  } else if (access(program.c_str(), X_OK) != 0) {
    return Error{.message = "this file is neither a CUDA source (.cu) nor executable",
                 .file = program};
  }
  if (program.find('/') == std::string::npos) program = "./" + program;

  const Result<cudart::ProgramFile> file = cudart::read_program_file(program);
  if (!file) return file.error();
  const Result<std::string> soname = choose_runtime(*file, program);
  if (!soname) return soname.error();
  const Result<std::string> library = library_path(*soname);
  if (!library) return library.error();

  Prepared prepared;
  prepared.arguments = {program};
  prepared.arguments.insert(prepared.arguments.end(), options.arguments.begin(),
                            options.arguments.end());
  prepared.environment = settings.to_environment();
  const char* preload = std::getenv("LD_PRELOAD");
  prepared.environment.emplace_back("LD_PRELOAD",
                                    preload && *preload ? *library + ":" + preload : *library);
  return prepared;
}

}  // namespace tw::cli
