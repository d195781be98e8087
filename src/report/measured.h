// Times of launches on a real GPU, as the launch timer (src/cudart/timing) writes them, put beside
// the prediction of a profile.
//
// A launch of the profile takes the median time of the measured launches of the same kernel with
// the same grid and block: the program may launch more often on a GPU than in the engine (it can
// depend on the time), and the first launches find cold caches. A kernel has a measured time only
// if every grid it was profiled with was also measured.
//
// Tested by tests/unit/report/measured_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/profile.h"
#include "util/result.h"

namespace tw::report {

struct MeasuredLaunch {
  std::string kernel;  // mangled
  std::array<uint32_t, 3> grid{}, block{};
  double seconds = 0;
};

// Lines of `name TAB x y z TAB x y z TAB seconds`; the error names the line. A last line without
// its end (the program was killed) is left out.
Result<std::vector<MeasuredLaunch>> read_times(std::string_view text, const std::string& file);

// Sets the measured times of the profile's kernels, and speed of light against them.
void add_measured(Profile& profile, const std::vector<MeasuredLaunch>& launches,
                  const std::string& device_name);

}  // namespace tw::report
