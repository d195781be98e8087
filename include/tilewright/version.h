// Semantic version of the GPU library, for C (tw_version() is in transpose_c.h) and C++. The C and
// C++ interfaces keep source compatibility within a major version (0.x: within a minor version).
#pragma once

#define TILEWRIGHT_VERSION_MAJOR 0
#define TILEWRIGHT_VERSION_MINOR 1
#define TILEWRIGHT_VERSION_PATCH 0

#ifdef __cplusplus
namespace tilewright {
// The version of the library that is linked: major * 10000 + minor * 100 + patch.
int version();
}  // namespace tilewright
#endif
