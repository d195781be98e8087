// Handlers of the `observe` instructions that decode puts in front of what an observer wants to
// see. Portable code, compiled once.
#pragma once

#include "emu/machine_handlers.h"
#include "emu/observer.h"
#include "emu/op.h"

namespace tw::emu {

#if defined(__x86_64__)
// Handlers leave the upper halves of vector registers dirty, which makes every SSE instruction of
// an observer slow. They keep nothing in vector registers between instructions. Needs AVX.
TW_INLINE void clear_upper_halves() {
  asm volatile("vzeroupper" ::
                   : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                     "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
#endif

// Each copies the operands of the instruction that follows it; Op::extra = AccessSite*.
Handler observe_access_handler(AccessKind kind);
// After an atomic: puts back the lanes that the observer has left out.
// The same for loads and stores, for filters to go on with.
const Op* observe_read(const Op* op, char* frame, Warp* warp);
const Op* observe_write(const Op* op, char* frame, Warp* warp);
Handler observe_end_handler();
Handler observe_barrier_handler(bool waits);  // a = barrier number, b = thread count
Handler observe_cluster_arrive_handler();     // d = 1: releases
Handler observe_cluster_wait_handler(bool passed);
Handler observe_wgmma_handler(bool waits);              // imm, after a wait: groups that it left
Handler observe_warp_sync_handler();                    // a = member mask
Handler observe_converge_handler();                     // a = member mask
Handler observe_shuffle_handler();                      // a = member mask, extra = MachineOperands*
MbarrierAction action_of(Builtin builtin, bool async);  // of mbarrier_init to _complete_tx
Handler observe_mbarrier_handler(MbarrierAction action);  // a = offset slot, imm; d = predicate
Handler observe_fence_handler();                          // d = ordering, e = scope
Handler observe_exit_handler(bool guarded);               // a = guard, kNegated
Handler observe_row_handler();                            // a = address slot, extra = AccessRow*
Handler observe_async_handler(Builtin event);             // async_commit to proxy_fence
Handler count_block_handler();                            // imm = block

}  // namespace tw::emu
