// Semantic version of the GPU library. The C and C++ interfaces keep source compatibility within a
// major version (0.x: within a minor version).
#pragma once

#define TILEWRIGHT_VERSION_MAJOR 0
#define TILEWRIGHT_VERSION_MINOR 1
#define TILEWRIGHT_VERSION_PATCH 0

namespace tilewright {
// The version of the library that is linked: major * 10000 + minor * 100 + patch.
int version();
}  // namespace tilewright
