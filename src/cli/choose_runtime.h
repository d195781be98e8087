// How a program is to be run: which of our libraries takes the place of NVIDIA's.
//
// Tested by tests/unit/cli/choose_runtime_test.cpp.
#pragma once

#include <string>

#include "cudart/program_file.h"
#include "util/result.h"

namespace tw::cli {

// "libcudart.so.13" or "libcudart.so.12". The error says why the program cannot be run, and the
// command that rebuilds it.
Result<std::string> choose_runtime(const cudart::ProgramFile& program, const std::string& path);

}  // namespace tw::cli
