// `tilewright run`: just run it, no GPU needed.
//
// Tested by tests/e2e.
#pragma once

namespace CLI {
class App;
}

namespace tw::cli {

// When the sub-command runs, it becomes the program (its exit status, output and signals are the
// program's own), or prints a refusal and ends in CLI::RuntimeError with status 2.
void add_run_command(CLI::App& app);

}  // namespace tw::cli
