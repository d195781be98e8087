// Module -> PTX text, normalised: parse(print(m)) == m for every m that parse returned.
#pragma once

#include <string>

#include "ptx/module.h"

namespace tw::ptx {

std::string print(const Module& module);
std::string print(const Module& module, const Function& function,
                  const Instruction& instruction);  // one line, no newline

}  // namespace tw::ptx
