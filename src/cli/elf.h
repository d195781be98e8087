// What `tilewright run` has to know of a program file before it starts it, read from its ELF
// headers: which shared libraries it needs and whether it holds device code. A bounded reader of
// our own: 64-bit little-endian ELF only, every offset checked; a damaged file gives an Error.
//
// Tested by tests/unit/cli/elf_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "util/result.h"

namespace tw::cli {

struct ProgramFile {
  std::vector<std::string> needed;  // DT_NEEDED, in order
  bool dynamic = false;             // has a dynamic section
  bool device_code = false;         // has a section .nv_fatbin or __nv_relfatbin
  bool has_symbols = false;         // has a symbol table (not stripped)
};

Result<ProgramFile> read_program(std::span<const uint8_t> image, const std::string& path);
Result<ProgramFile> read_program_file(const std::string& path);

// How a program is to be run: which of our libraries takes the place of NVIDIA's
// ("libcudart.so.13"). The error says why it cannot be, and the command that rebuilds it.
Result<std::string> choose_runtime(const ProgramFile& program, const std::string& path);

}  // namespace tw::cli
