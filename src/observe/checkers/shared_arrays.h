// Which __shared__ array an access was written for: PTX keeps the arrays of a CTA apart as symbols,
// so an address that was computed from one array's symbol must stay in that array, although the
// next one lies right behind it.
//
// For each instruction that accesses memory: the one symbol that its address comes from, over all
// definitions of the registers involved, whatever the control flow. Wherever two symbols may meet
// (a select, a difference, masks and ors of addresses, calls) nothing is claimed, and nothing about
// dynamic shared memory, or about pointers that have been in memory: no false alarms, at the price
// of missing some.
//
// Tested by tests/checkers (memory_shared.cu, silent/idioms.cu).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/program.h"

namespace tw::observe {

struct SharedBounds {
  uint32_t low = 0, high = ~uint32_t{0};  // offsets; high: past the end
  std::string array;                      // its name; empty: not known
};

// By site of the program; empty when no access is known to belong to one array.
std::vector<SharedBounds> shared_bounds(const emu::Program& program);

}  // namespace tw::observe
