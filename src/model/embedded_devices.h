// The texts of devices/*.json as CMake compiled them in (src/model/CMakeLists.txt): no path is
// needed at run time, and a binary carries the numbers it was tested with.
//
// Tested by tests/unit/model/device_spec_test.cpp.
#pragma once

#include <cstddef>

namespace tw::model {

struct EmbeddedDevice {
  const char* file;  // "devices/h200.json"
  const char* text;
};

extern const EmbeddedDevice kEmbeddedDevices[];
extern const std::size_t kEmbeddedDeviceCount;

}  // namespace tw::model
