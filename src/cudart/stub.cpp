// What a call that is not implemented does: says so once, by name, and returns
// cudaErrorNotSupported. The stubs that call this are generated from api.txt; they take no part in
// NVIDIA's declarations, for a function that reads no argument can be called with any. Tested by
// tests/e2e (unsupported_call.cu).
#include "cudart/api.h"
#include "cudart/diagnose.h"

namespace tw::cudart {

int not_supported(const char* call, const char* reason);

int not_supported(const char* call, const char* reason) {
  complain_once(call, std::string(call) + " is not supported" +
                          (*reason ? std::string(": ") + reason : std::string()) +
                          " (cudaErrorNotSupported)");
  return int(note(cudaErrorNotSupported));
}

}  // namespace tw::cudart
