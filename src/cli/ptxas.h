// Asks ptxas what it makes of a module's PTX: registers, spills, and the machine code of each
// instruction.
//
// Tested by tests/counters.
#pragma once

#include <string>

#include "model/device_spec.h"
#include "report/profile.h"
#include "util/result.h"

namespace tw::cli {

// Beside the nvcc that `find_nvcc` finds.
Result<std::string> find_ptxas();

// Compiles for the device. The error says why ptxas refused, with its first line.
Result<report::MachineCode> ask_ptxas(const std::string& ptxas, const std::string& ptx,
                                      const model::DeviceSpec& device);

}  // namespace tw::cli
