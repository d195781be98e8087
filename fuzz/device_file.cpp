// Any bytes as a device file: a DeviceSpec or an error that names the file, never a crash.
// Tested by: make fuzz; the seeds are the files of devices/.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/device_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto spec = tw::model::parse_device_spec(text, "fuzz.json");
  if (!spec && spec.error().file != "fuzz.json") std::abort();
  return 0;
}
