// tilewright-bench needs the CUDA toolkit and a GPU, the command needs neither: they are two
// programs, and this one only finds the other. It lies beside the command when both are installed,
// and in build/cuda when both are built in one tree.
//
// Tested by tests/e2e/bench_command.sh.
#include "cli/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/process.h"

namespace tw::cli {
namespace {

namespace fs = std::filesystem;

std::string find_bench() {
  if (const char* given = std::getenv("TILEWRIGHT_BENCH_PROGRAM")) return given;
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  // build/release/bin/tilewright and build/cuda/bin/tilewright-bench
  for (const fs::path& candidate :
       {folder / "tilewright-bench",
        folder.parent_path().parent_path() / "cuda/bin/tilewright-bench"})
    if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
  return "";
}

void run_bench(const std::vector<std::string>& arguments) {
  const std::string program = find_bench();
  if (program.empty()) {
    const bool help =
        arguments.empty() || std::ranges::find(arguments, "--help") != arguments.end();
    if (help)
      fmt::print(
          "tilewright bench transpose|gemm|gemm-steps|ceilings [options]: measures the GPU "
          "library\n"
          "on the GPU at hand. The program behind it, tilewright-bench, lists its options "
          "itself.\n");
    fmt::print(
        help ? stdout : stderr,
        "tilewright: tilewright-bench has not been built; on a machine with the CUDA toolkit:\n"
        "    cmake --preset cuda && cmake --build --preset cuda -j\n"
        "  or name it in TILEWRIGHT_BENCH_PROGRAM\n");
    throw CLI::RuntimeError(help && !arguments.empty() ? 0 : 2);
  }
  std::vector<std::string> command{program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const Error error = replace_process(command, {});
  fmt::print(stderr, "tilewright: {}\n", error.to_string());
  throw CLI::RuntimeError(2);
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "bench", "Measure the GPU library on the GPU at hand: transpose, gemm, ceilings");
  command->set_help_flag();  // tilewright-bench has its own
  command->prefix_command();
  command->callback([command] { run_bench(command->remaining()); });
}

}  // namespace tw::cli
