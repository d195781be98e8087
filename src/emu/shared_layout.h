// Where the __shared__ variables of a kernel lie in its CTA's shared memory: those of the module
// that it (or what it calls) names, then its own and those of the functions that it reaches, then
// the dynamic part.
//
// Tested by tests/unit/emu (shared memory of kernels) and tests/checkers (memory_shared.cu).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ptx/module.h"

namespace tw::emu {

struct SharedArray {
  const ptx::Variable* variable = nullptr;  // of static size
  uint64_t offset = 0;
};

struct SharedLayout {
  std::vector<uint64_t> module, kernel;  // offsets by Module::variables and Function::variables
  std::unordered_map<const ptx::Variable*, uint64_t> functions;  // device functions' own
  std::vector<SharedArray> arrays;                               // in the order of their offsets
  uint64_t reserved = 0;      // the system's part, at the beginning
  uint64_t static_bytes = 0;  // up to the dynamic part if there is one
  uint64_t dynamic = 0;       // offset of the dynamic part
};

SharedLayout shared_layout(const ptx::Module& module, const ptx::Function& kernel);

}  // namespace tw::emu
