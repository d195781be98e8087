// `tilewright profile --measure`: runs the program a second time, on the real GPU of this machine,
// with the launch timer (src/cudart/timing) loaded in front of NVIDIA's runtime.
//
// Tested by tests/counters/check_measure.py, with and without a GPU.
#pragma once

#include <string>
#include <vector>

#include "cli/run_options.h"
#include "report/measured.h"
#include "util/result.h"

namespace tw::cli {

struct Measured {
  std::string device;  // "NVIDIA H200"
  std::vector<report::MeasuredLaunch> launches;
  std::string note;  // the program's end, if it failed
};

// `arguments`: the program and its arguments. Its standard output is dropped: it was there before,
// from the engine's run. The error says why nothing was measured: no driver, no GPU, no runtime
// library, nothing launched.
Result<Measured> measure(const std::vector<std::string>& arguments, const RunOptions& options);

}  // namespace tw::cli
