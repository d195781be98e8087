// The one thing of version.h that has to be compiled into the library.
#include "tilewright/version.h"

namespace tilewright {
// The version the library was built as, to compare with the macros a program was built against.
int version() {
  return TILEWRIGHT_VERSION_MAJOR * 10000 + TILEWRIGHT_VERSION_MINOR * 100 +
         TILEWRIGHT_VERSION_PATCH;
}
}  // namespace tilewright
