// Bulk copies (cp.async.bulk, cp.async.bulk.tensor) between global and shared memory.
#pragma once

#include "emu/machine_handlers.h"
#include "emu/observer.h"

namespace tw::emu {

// Operands of Builtin::bulk_copy. s[0]: the address in shared memory; s[1]: the address in global
// memory, or of the tensor map; s[2]: the size; of a tensor, its coordinates from s[2] on. d[0],
// into shared memory: the bytes that the copy counts for its mbarrier. Field::vec: the rank of the
// tensor, 0 without one; Field::to: 1 from shared to global memory; Field::part: 1 from the CTA's
// own shared memory, whose generic address is s[1], to another's; Field::noinc: the last source is
// not 0 where the bytes have been read for another CTA, which counts once.
struct BulkOperands : MachineOperands {
  bool observed = false;  // the observer wants accesses: they are told piece by piece
  AccessSite shared;      // of 16 bytes
  AccessSite source;      // the same, where shared memory is read for shared memory
  AccessSite global[5];   // of 1, 2, 4, 8 and 16 bytes: a tensor may end within a piece
};

Handler bulk_handler();

}  // namespace tw::emu
