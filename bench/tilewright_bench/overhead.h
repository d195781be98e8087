// Host time of a call (suite `overhead` of tilewright-bench transpose).
#pragma once

#include <vector>

#include "frame.h"

namespace tilewright::bench {

void run_overhead(const Options& options, std::vector<Case>& cases);

}  // namespace tilewright::bench
