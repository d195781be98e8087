// `tilewright check`: run a program and report what its kernels do wrong.
//
// Tested by tests/checkers.
#pragma once

#include "cli/process.h"
#include "cli/run_options.h"
#include "observe/checkers/attach.h"
#include "report/finding.h"

namespace CLI {
class App;
}

namespace tw::cli {

struct Checked {
  report::CheckResult result;
  int status = 0;         // the program's exit status, 128 + the signal that ended it
  int signal = 0;         // which ended it
  bool started = false;   // it made a CUDA call
  bool complete = false;  // and came to its end: exit handlers have run
};
// Runs the program with the checkers. The error: it cannot be started.
Result<Checked> run_checked(const Prepared& prepared, observe::CheckSettings settings,
                            double timeout, Output output);

// Ends in CLI::RuntimeError with the program's own exit status when nothing was found, otherwise
// with that of --error-exitcode; 2 if the program cannot be run.
void add_check_command(CLI::App& app);

}  // namespace tw::cli
