// Any bytes as PTX: the parser must answer with a Module or an error, never crash or hang, and what
// it accepts must survive printing: parse(print(m)) == m. The printer is the parser's second
// opinion. Limits: inputs over 64 KiB are skipped, since they only slow the search down. Tested by:
// make fuzz; seeds in fuzz/seeds/ptx_parse. Reaches more with -dict=fuzz/ptx_parse.dict.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ptx/parser.h"
#include "ptx/printer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 64 * 1024) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto module = tw::ptx::parse(text, "fuzz.ptx");
  if (!module) return 0;
  const std::string printed = tw::ptx::print(*module);
  const auto again = tw::ptx::parse(printed, "fuzz.ptx");
  if (!again || !(*again == *module)) {
    std::fprintf(stderr, "printing and parsing again gives %s:\n%s\n",
                 again ? "another module" : again.error().message.c_str(), printed.c_str());
    std::abort();
  }
  return 0;
}
