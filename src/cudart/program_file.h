// What has to be known of a program file before it starts, read from its ELF headers: which shared
// libraries it needs, whether it holds device code, and, when NVIDIA's runtime is linked into it,
// where that runtime's functions lie. A bounded reader of our own: 64-bit little-endian ELF only,
// every offset checked; a damaged file gives an Error.
//
// Used on both sides: the command chooses our library by it (cli/choose_runtime.h), and that
// library, once inside the program, finds the calls that it takes over (static_runtime.h).
// Tested by tests/unit/cudart/program_file_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "util/result.h"

namespace tw::cudart {

// A function of the program whose name is one of the runtime's (cuda*, __cuda*).
struct RuntimeEntry {
  std::string name;
  uint64_t address = 0;  // as linked: the load address of a PIE is still to be added
  uint64_t room = 0;     // bytes up to the next function, or to the end of the segment
};

struct ProgramFile {
  std::vector<std::string> needed;            // DT_NEEDED, in order
  bool dynamic = false;                       // started by the dynamic loader
  bool device_code = false;                   // has a section .nv_fatbin or __nv_relfatbin
  bool has_symbols = false;                   // has a symbol table (not stripped)
  std::vector<RuntimeEntry> runtime_entries;  // empty unless the runtime is linked statically
  int static_abi = 0;                         // of that runtime: 12, 13; 0: none, or another one
};

Result<ProgramFile> read_program(std::span<const uint8_t> image, const std::string& path);
Result<ProgramFile> read_program_file(const std::string& path);

}  // namespace tw::cudart
