// `tilewright profile`: counters, bank conflicts, occupancy, roofline of every kernel a program
// launches.
//
// Tested by tests/counters and tests/unit/report.
#pragma once

namespace CLI {
class App;
}

namespace tw::cli {

// Ends in CLI::RuntimeError with the program's exit status if that is not 0, or 2 if it cannot be
// run or a file cannot be written.
void add_profile_command(CLI::App& app);

}  // namespace tw::cli
