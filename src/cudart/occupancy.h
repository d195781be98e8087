// How many CTAs of a kernel are resident on one SM, by the limits of the device.
// Tested by tests/unit/cudart/api_test.cpp.
#pragma once

#include "emu/device.h"

namespace tw::cudart {

// 0 if not even one fits. Registers are the engine's estimate from the PTX.
uint32_t blocks_per_sm(const model::DeviceSpec& spec, const emu::KernelInfo& info, uint64_t threads,
                       uint64_t dynamic_shared_bytes);

}  // namespace tw::cudart
