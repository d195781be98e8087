// Programs into which NVIDIA's runtime is linked statically, as nvcc does by default: their calls
// of cudaMalloc, __cudaRegisterFatBinary and so on never reach the dynamic loader. While the
// program is not stripped its symbol table still says where these functions begin, so a jump to
// ours is written over the first bytes of each.
//
// When: from the constructor of our preloaded library, that is before the program's own
// constructors register its fat binaries. The code page is made writable for the write alone; there
// is one thread. Not a debugger's breakpoint table nor a relocation, since the calls inside the
// program are direct. Limits: x86-64 and AArch64 (the latter never tried on hardware); the program
// file only, no static runtime inside a shared library.
//
// Tested by tests/e2e/static_runtime.sh.
#pragma once

#include <string>

#include "util/result.h"

namespace tw::cudart {

// Redirects the functions of a static runtime in this process's program, if it has one of
// `abi` (12, 13), to those of the same name in `library`, a handle of dlopen. The number of
// functions; 0 for a program without a static runtime.
Result<int> take_over_static_runtime(void* library, int abi);

}  // namespace tw::cudart
