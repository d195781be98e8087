// How `tilewright profile` tells the runtime library inside the program to count:
// TILEWRIGHT_PROFILE names the file that records are appended to, TILEWRIGHT_PROFILE_KERNELS (a
// regular expression) which kernels. Each record is written at once, whole, so child processes may
// share the file.
//
// Tested by tests/counters.
#pragma once

#include "emu/observer.h"
#include "model/device_spec.h"
#include "util/result.h"

namespace tw::counters {

inline constexpr const char* kProfileVariable = "TILEWRIGHT_PROFILE";
inline constexpr const char* kKernelsVariable = "TILEWRIGHT_PROFILE_KERNELS";

// The source for the device `ordinal` to be created, for as long as the process lives; nullptr where nothing is
// to be counted. The error: the file cannot be opened, or the expression is none.
Result<emu::ObserverSource*> source_from_environment(const model::DeviceSpec& device,
                                                     uint32_t ordinal);

}  // namespace tw::counters
