// Starting programs with an argument vector (no shell) and waiting for them.
// Tested by tests/unit/cli/process_test.cpp and tests/e2e.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/result.h"

namespace tw::cli {

// Runs a program to its end, its stdout going to our stderr; the wait status.
Result<int> run_to_end(const std::vector<std::string>& arguments);

using Environment = std::vector<std::pair<std::string, std::string>>;

// A program's standard output; on_stderr where ours carries a report for other programs.
enum class Output : unsigned char { shown, on_stderr, dropped };

// Replaces this process by the program. Returns only on failure.
Error replace_process(const std::vector<std::string>& arguments, const Environment& added);

// Runs the program to its end, or for at most `seconds` if that is not 0, as run_with_timeout does;
// the wait status (of an exit with cudart::kTimeoutStatus when time was over).
Result<int> run_and_wait(const std::vector<std::string>& arguments, const Environment& added,
                         double seconds, Output output = Output::shown);

// The exit status of a program that ended with this wait status; a signal that ended it ends us
// too.
int end_like(int status);

// Runs the program for at most `seconds`; when they are over, asks it where it stands
// (timeout_signal) and ends it. Returns the exit status to end with; a signal that ended the
// program ends us too.
Result<int> run_with_timeout(const std::vector<std::string>& arguments, const Environment& added,
                             double seconds);

// Runs the program, passing on what it writes to a pipe that it inherits (`write_end`, closed here
// once it has started; `read_end` stays open). Returns the wait status (of an exit with
// kTimeoutStatus when it was ended after `seconds`; 0: no limit).
Result<int> run_reading(const std::vector<std::string>& arguments, const Environment& added,
                        double seconds, int read_end, int write_end,
                        const std::function<void(std::string_view)>& on_text,
                        Output output = Output::shown);

}  // namespace tw::cli
