// What the `tilewright` command tells the runtime library inside the program it starts. Environment
// variables, because the program is not ours: they survive exec, and child processes inherit them.
// One list for both sides; the command writes them (to_environment), the library reads them.
//
// Tested by tests/unit/cudart/api_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "util/result.h"

namespace tw::cudart {

struct Settings {
  std::string gpu = "h200";    // TILEWRIGHT_GPU: an id or the path of a device file
  uint32_t devices = 1;        // TILEWRIGHT_DEVICE_COUNT: how many of them the program sees
  uint32_t threads = 0;        // TILEWRIGHT_THREADS: host threads for CTAs; 0: all cores
  uint64_t device_memory = 0;  // TILEWRIGHT_DEVICE_MEMORY: bytes; 0: what the GPU has
  bool order_any =
      false;  // TILEWRIGHT_ORDER=any (--fast): order-dependent kernels run in parallel too
  uint32_t schedule = 0;  // TILEWRIGHT_SCHEDULE: which interleaving (emu::DeviceOptions)

  // Reads the variables; the error names the variable and what it may hold.
  static Result<Settings> from_environment();
  // Only what differs from the defaults.
  std::vector<std::pair<std::string, std::string>> to_environment() const;
};

// "512M", "4G", "1073741824", "16GiB" -> bytes.
Result<uint64_t> parse_bytes(const std::string& text);

}  // namespace tw::cudart
