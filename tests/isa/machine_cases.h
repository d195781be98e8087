// PTX programs for the rows that look beyond one lane: memory, atomics, warp operations, barriers,
// control flow; and for the forms of video instructions and lop3 whose operands select parts or
// predicates. The kernel is written out here (Case::body), since each needs its own surroundings.
// Values that the hardware leaves open (who arrives first, clocks) take no part in the results.
#pragma once

#include <vector>

#include "cases.h"

namespace tw::isa_test {

std::vector<Case> machine_cases();

}  // namespace tw::isa_test
