// PTX text -> Module. See parser.cpp for what is accepted.
#pragma once

#include <string>
#include <string_view>

#include "ptx/module.h"
#include "util/result.h"

namespace tw::ptx {

// Parses one module. `name` (a path) is used in errors. Never crashes on hostile input: nesting,
// register counts (`%r<N>`) and array sizes are bounded, and an error carries name, line and
// column.
Result<Module> parse(std::string_view text, std::string name);

}  // namespace tw::ptx
