// What the runtime library says on stderr: kernel faults in the manner of a compiler's diagnostic,
// and refusals that a program would otherwise see as a bare error number. The library prints only
// through these functions; each text goes out in one write, so that threads do not mix.
//
// Tested by tests/e2e (tests/e2e/CMakeLists.txt lists the messages that programs must get).
#pragma once

#include <string>
#include <string_view>

#include "cudart/cuda_api.h"
#include "emu/device.h"
#include "util/result.h"

namespace tw::cudart {

// Writes "tilewright: <text>\n" to stderr.
void complain(std::string_view text);
// The same, once in the process for each `key`.
void complain_once(std::string_view key, std::string_view text);

// "file:line: what: message"
std::string fmt_error(std::string_view what, const Error& error);

// "void add(float*, int)" from a mangled name; the name itself if it is not mangled.
std::string demangled(const std::string& name);

// Several lines: message, source place and instruction, block and thread, kernel.
std::string fault_text(const emu::Fault& fault, cudaError_t error);

}  // namespace tw::cudart
