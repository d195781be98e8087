// What `ptxas -v` says of each kernel: registers, spills, shared memory, barriers.
//
// Tested by tests/unit/sass/ptxas_report_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tw::sass {

struct KernelResources {
  std::string name;  // mangled
  uint32_t registers = 0, barriers = 0;
  uint64_t stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;  // a thread
  uint64_t shared_bytes = 0;                                              // static, a block
};

// Kernels in the order of the text; lines that say something else are skipped.
std::vector<KernelResources> parse_ptxas_report(std::string_view text);

}  // namespace tw::sass
