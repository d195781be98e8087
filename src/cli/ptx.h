// `tilewright ptx FILE`: parse, verify and pretty-print PTX.
//
// Tested by tests/e2e/refusals.sh.
#pragma once

namespace CLI {
class App;
}

namespace tw::cli {

// Prints the module to standard output, findings to standard error. Status 1: it does not parse or
// uses an instruction that the engine lacks.
void add_ptx_command(CLI::App& app);

}  // namespace tw::cli
