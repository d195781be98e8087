// What every function of the C interface returns: the code, and what tw_last_error() says from then on.
//
// Tested by examples/link_library/link_c.c.
#pragma once

#include "tilewright/status.h"

namespace tw {

// Keeps a failure as the calling thread's last one.
int to_c(const tilewright::Status& status);

}  // namespace tw
