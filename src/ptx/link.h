// Modules of separately compiled objects (nvcc -rdc=true) -> one module. See link.cpp for the
// rules.
#pragma once

#include <vector>

#include "ptx/module.h"
#include "util/result.h"

namespace tw::ptx {

// Precondition: at least one module. The error is a name defined twice, or declared in different
// ways, or an .extern variable that no module defines.
Result<Module> link(std::vector<Module> modules);

}  // namespace tw::ptx
