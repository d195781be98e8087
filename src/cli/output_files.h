// Files that a command writes when the program has ended: looked at before it starts, so that a long
// run is not for nothing.
//
// Tested by tests/checkers/options.py and tests/unit/cli/output_files_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/result.h"

namespace tw::cli {

// Options and the paths they give: empty is none, - is stdout. The error: a file that cannot be
// written, or one named twice.
Status check_output_files(const std::vector<std::pair<std::string, std::string>>& files);

// Does nothing for an empty path.
Status write_output(const std::string& path, std::string_view text);

}  // namespace tw::cli
