// Phases: compile or check the program; set the environment; become the program. With a timeout,
// stay as its parent.
#include "cli/run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/run_options.h"

namespace tw::cli {
namespace {

constexpr int kRefused = 2;

int run(const RunOptions& options) {
  const Result<Prepared> prepared = prepare(options);
  if (!prepared) {
    fmt::print(stderr, "tilewright: {}\n", prepared.error().to_string());
    return kRefused;
  }
  if (options.timeout > 0) {
    const Result<int> status =
        run_with_timeout(prepared->arguments, prepared->environment, options.timeout);
    if (status) return *status;
    fmt::print(stderr, "tilewright: {}\n", status.error().to_string());
    return kRefused;
  }
  fmt::print(stderr, "tilewright: {}\n",
             replace_process(prepared->arguments, prepared->environment).to_string());
  return kRefused;
}

}  // namespace

void add_run_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Run a CUDA program on the CPU");
  command->footer(
      "Examples:\n"
      "  tilewright run vector_add.cu                      compile with nvcc (cached), run\n"
      "  tilewright run gemm.cu --nvcc \"-O3 -DTILE=32\" -- 512 512\n"
      "  tilewright run ./program --gpu a100 --timeout 60 -- --size 1000\n"
      "\n"
      "Options may stand before or after the program's name; what follows -- is the program's.\n"
      "A program is taken as nvcc made it: it must hold PTX (nvcc's default; or -gencode "
      "arch=compute_90,code=compute_90)\n"
      "and, unless linked with -cudart shared, must not be stripped.\n"
      "Exit status: the program's own; 2 if it, or a kernel that it asks nothing about, cannot be "
      "run; 124 after --timeout, 130 after "
      "Ctrl-C.");
  auto options = std::make_shared<RunOptions>();
  add_run_options(*command, *options);
  command->callback([options] {
    if (const int status = run(*options); status != 0) throw CLI::RuntimeError(status);
  });
}

}  // namespace tw::cli
