// Runs when the library is loaded, before the program's constructors. In the libraries alone: in a
// test program that links the core it would find its own functions.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cudart/diagnose.h"
#include "cudart/refused_launch.h"
#include "cudart/runtime.h"
#include "cudart/static_runtime.h"
#include "cudart/watch.h"

namespace tw::cudart {
namespace {

constexpr int kRefused = 2;  // as the command exits for a program that it cannot run

[[gnu::constructor]] void take_over() {
  end_with_parent();
  watch_exit_status();
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&take_over), &self) == 0) return;
  void* library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  const Result<int> count = take_over_static_runtime(library, abi_version() / 1000);
  dlclose(library);  // stays loaded: the loader put it here
  if (count) return;
  complain(fmt::format("{}; rebuild the program with\n    nvcc -cudart shared ...",
                       count.error().message));
  _exit(kRefused);
}

}  // namespace
}  // namespace tw::cudart
