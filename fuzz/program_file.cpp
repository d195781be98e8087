// Program files: read_program never crashes on a damaged one, and names an ABI only with a static
// runtime's functions. Seeds (fuzz/seeds/program_file): small ELF
// files, one with a static runtime's symbols.
#include "cudart/program_file.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto program = tw::cudart::read_program({data, size}, "fuzz");
  if (!program) return 0;
  if (program->static_abi != 0 && program->runtime_entries.empty()) std::abort();
  return 0;
}
