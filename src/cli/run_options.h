// The options of every sub-command that runs a program (run, check, profile), and the
// steps they share: settings, compiling, checking the program file, choosing the library.
//
// Tested by tests/e2e, tests/checkers and tests/counters, through those sub-commands.
#pragma once

#include <string>
#include <vector>

#include "cli/process.h"
#include "util/result.h"

namespace CLI {
class App;
}

namespace tw::cli {

struct RunOptions {
  std::string program;                 // .cu or ELF
  std::vector<std::string> arguments;  // the program's
  std::string gpu = "h200";
  uint32_t devices = 1;
  uint32_t threads = 0;
  double timeout = 0;                   // seconds; 0: none
  std::vector<std::string> nvcc_flags;  // each may hold several words
  std::string device_memory;
  bool order_any = false;
  bool host_lines = false;  // compile with line numbers of the host code
};

void add_run_options(CLI::App& command, RunOptions& options);

struct Prepared {
  std::vector<std::string> arguments;  // program and its arguments
  Environment environment;
};
// Everything up to the start of the program.
Result<Prepared> prepare(const RunOptions& options);

// One of our own libraries, which lie beside the command, as LD_PRELOAD can name it.
Result<std::string> library_path(const std::string& soname);

}  // namespace tw::cli
