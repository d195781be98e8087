// Handlers of the machine rows that are not loads, stores or lane functions: control flow,
// barriers, fences, warp operations. Portable code, compiled once (machine_handlers.cpp).
#pragma once

#include "emu/memory_handlers.h"
#include "emu/op.h"
#include "isa/mods.h"
#include "ptx/module.h"

namespace tw::emu {

enum class Builtin : uint8_t {
  barrier_sync,  // a = barrier number, b = thread count (0: all)
  warp_sync,     // a = member mask
  barrier_arrive,
  barrier_red,
  barrier_red_result,
  cluster_arrive,
  cluster_wait,
  atomic,
  shuffle,
  vote,
  match,
  redux,
  active_mask,
  elect,
  is_space,
  matrix_move,      // rows of 8 x 8 matrices to fragments and back
  matrix_multiply,  // sources: the registers of A, of B, of C; the mask of all lanes
  mbarrier_init,
  mbarrier_inval,
  mbarrier_arrive,
  mbarrier_arrive_drop,
  mbarrier_expect_tx,
  mbarrier_complete_tx,
  mbarrier_wait,
  mbarrier_pending,
  wgmma_commit,
  wgmma_wait,    // imm = groups that need not be complete
  bulk_copy,     // BulkOperands (bulk.h)
  async_commit,  // this and the next four: events for the Observer, in observed programs only
  async_wait,    // imm = groups that need not be complete
  bulk_commit,
  bulk_wait,  // as async_wait
  proxy_fence,
  nanosleep,
  call_printf,
  call_assertfail,
  call_malloc,
  call_free,
  fence,
  trap,
  clock32,
  clock64,
  global_timer,  // d
  skip_unless,   // a = predicate slot: enters a guarded instruction (full or masked), see emit
  restore_mask,
  count,
};

inline constexpr uint32_t kNoSlot = 0xffffffff;
// Of matrix_multiply: four registers of A, two of B, four of C, the mask.
inline constexpr uint32_t kMostSources = 11;

// Operands of the machine rows that have more of them than an Op; Op::extra points here.
struct MachineOperands {
  // Destinations: lane slots, or masks for predicates.
  uint32_t d[4] = {kNoSlot, kNoSlot, kNoSlot, kNoSlot};
  uint32_t s[kMostSources] = {};
  uint32_t uniform = 0;  // bit i: source i is a scalar slot
  uint8_t sources = 0;
  isa::Mods mods;
  ptx::Type type = ptx::Type::none, type2 = ptx::Type::none;  // type2: matrix_multiply, of C
  AccessSpace space = AccessSpace::global;
};

// What matrix_move does (Field::operation). Rows: lane 8 i + r holds row r of matrix i in four
// words. Fragment: lane 4 r + c holds elements 2 c and 2 c + 1 of row r, of matrix i in word i;
// with Field::to, of the transposed matrix.
enum MatrixMove : uint8_t { kRowsToFragment, kFragmentToRows, kTransposeFragment };

// shfl: the lane whose value lane `l` gets for the operands b and c (manual, shfl.sync), or itself
// with `in_range` unset.
inline uint32_t shuffle_source(uint8_t operation, uint32_t l, uint32_t b, uint32_t c,
                               bool& in_range) {
  b &= 31;
  const uint32_t clamp = c & 31, segment = (c >> 8) & 31;
  const uint32_t least = l & segment, most = least | (clamp & ~segment);
  int32_t j = 0;
  switch (operation) {
    case isa::kOpUp: j = int32_t(l) - int32_t(b), in_range = j >= int32_t(most); break;
    case isa::kOpDown: j = int32_t(l + b), in_range = j <= int32_t(most); break;
    case isa::kOpBfly: j = int32_t(l ^ b), in_range = j <= int32_t(most); break;
    default: j = int32_t(least | (b & ~segment)), in_range = j <= int32_t(most); break;
  }
  return in_range ? uint32_t(j) & 31 : l;
}

// The bodies of matrix_move and matrix_multiply, for the lanes that take part
// (matrix_handlers.cpp).
void matrix_move_lanes(const MachineOperands& o, char* frame, uint32_t lanes);
void matrix_multiply_lanes(const MachineOperands& o, char* frame, uint32_t lanes);

// Atomics by operation and type; nullptr if there is no such combination. Op::a is the address
// slot, Op::imm its offset; MachineOperands::s[1], s[2] the values.
Handler atomic_handler(uint8_t operation, ptx::Type type);

// `uniform`: the destination is scalar; `full`: for the full-mask array.
Handler builtin_handler(Builtin builtin, bool full, bool uniform);

Handler warp_handler(Builtin builtin);         // warp_handlers.cpp
Handler mbarrier_handler(Builtin builtin);     // mbarrier_handlers.cpp
Handler system_call_handler(Builtin builtin);  // system_calls.cpp

Handler branch_handler(bool full, bool uniform_predicate, bool negated);  // a = predicate
Handler jump_handler(bool backward);
Handler backward_branch_handler(bool full, bool uniform_predicate, bool negated);
Handler exit_handler(bool full, bool guarded, bool uniform_predicate, bool negated);
Handler join_handler();  // masked array, at the start of a block where lanes meet
Handler end_handler();   // after the last instruction: falls off the end (an exit)

}  // namespace tw::emu
