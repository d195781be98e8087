// `tilewright model occupancy|roofline|banks|traffic|devices`: the calculators, no program needed.
//
// Tested by tests/unit/cli/model_test.cpp.
#pragma once

namespace CLI {
class App;
}

namespace tw::cli {

// Adds the sub-command to `app`. When it runs, it prints to standard output; a refusal goes to
// standard error and ends in CLI::RuntimeError with status 2.
void add_model_command(CLI::App& app);

}  // namespace tw::cli
