// Handlers of the machine rows that are not loads, stores or lane functions: control flow, barriers,
// fences, warp operations. Portable code, compiled once (machine_handlers.cpp).
#pragma once

#include "emu/op.h"

namespace tw::emu {

enum class Builtin : uint8_t {
  barrier_sync,   // a = barrier number, b = thread count (0: all)
  warp_sync,      // a = member mask
  fence,
  trap,
  clock32, clock64, global_timer,  // d
  skip_unless,    // a = predicate slot: enters a guarded instruction (full or masked), see emit
  restore_mask,
  count,
};

// `uniform`: the destination is scalar; `full`: for the full-mask array.
Handler builtin_handler(Builtin builtin, bool full, bool uniform);

Handler branch_handler(bool full, bool uniform_predicate, bool negated);  // a = predicate
Handler jump_handler(bool backward);
Handler backward_branch_handler(bool full, bool uniform_predicate, bool negated);
Handler exit_handler(bool full, bool guarded, bool uniform_predicate, bool negated);
Handler join_handler();      // masked array, at the start of a block where lanes meet
Handler end_handler();       // after the last instruction: falls off the end (an exit)

}  // namespace tw::emu
