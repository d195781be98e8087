// `tilewright check`: run a program and report what its kernels do wrong.
//
// Tested by tests/checkers.
#pragma once

namespace CLI {
class App;
}

namespace tw::cli {

// Ends in CLI::RuntimeError with the program's own exit status when nothing was found, otherwise
// with that of --error-exitcode; 2 if the program cannot be run.
void add_check_command(CLI::App& app);

}  // namespace tw::cli
