// Where the host program made a CUDA call: its return addresses, taken at every allocation, free,
// copy and launch (a few microseconds), turned into functions and source lines only when a finding
// shows them. Lines come from the DWARF of the program by libdw (`tilewright check prog.cu`
// compiles with it; otherwise nvcc -g or -Xcompiler -g1); without it the function and the program's
// name remain.
//
// Left out: our own frames, nvcc's launch stubs, inline functions of CUDA's and the C++ library's
// headers, and what lies above main. Debug information in separate files is not looked for, so that
// nothing is fetched over a network.
//
// Tested by tests/checkers (host_memory.cu, host_calls.cu).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "report/finding.h"

namespace tw::observe {

struct HostStack {
  std::vector<uint64_t> calls;  // return addresses in the program, innermost first
  const char* function = "";    // the function of this library that was called: "cudaMalloc"
};
using HostStackPtr = std::shared_ptr<const HostStack>;

// Of the calling thread. Inside of a signal handler, `fault` is the address of the instruction.
HostStackPtr host_stack(uint64_t fault = 0);

// A site of the host program: file and line of the innermost call that has them, and the calls
// above it.
report::FindingSite host_site(const HostStack& stack, const char* role);

}  // namespace tw::observe
