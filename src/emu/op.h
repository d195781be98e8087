// The state that instruction handlers touch, and the decoded instruction itself. Everything a
// handler needs is reachable from its three arguments; nothing of a warp's state lives on the C++
// stack between instructions, so a warp can stop at any instruction and go on later.
//
// A warp's frame is one block of bytes, addressed by the offsets in an Op:
//   [uniform area]  8 bytes a slot: constants, kernel parameters, special registers, warp-uniform
//                   registers, predicates (a 32-bit lane mask)
//   [lane area]     32 lanes a slot: 64, 128 or 256 bytes for 16-, 32- and 64-bit registers
//
// Tested by tests/unit/emu.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/mods.h"

// Handlers chain by tail calls in optimised builds. Where the compiler does not guarantee them
// (-O0, sanitizers) each handler returns the next instruction to a loop instead. Same source for
// both.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(TW_NO_TAIL_CALLS)
#define TW_TAIL_CALLS 1
#else
#define TW_TAIL_CALLS 0
#endif

namespace tw::emu {

inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kFullMask = 0xffffffffu;

// Lanes of a mask. Mostly it is full, and a baseline x86-64 counts bits in a function of libgcc.
inline uint32_t count_lanes(uint32_t mask) {
  return mask == kFullMask ? 32 : uint32_t(__builtin_popcount(mask));
}

struct Op;
struct Warp;
struct Cta;
struct Worker;

using Handler = const Op* (*)(const Op* op, char* frame, Warp* warp);

enum OpFlags : uint32_t {
  kUniformA = 1,
  kUniformB = 2,
  kUniformC = 4,
  kUniformE = 8,  // that source is a scalar slot
  kUniformD = 16,
  kNegated = 32,  // branch on the complement of the predicate
  kSharedSpace = 64,
  kBackward = 128,  // branch that uses up fuel
};

struct alignas(64) Op {
  Handler run = nullptr;
  uint32_t d = 0, a = 0, b = 0, c = 0, e = 0;  // byte offsets into the frame
  uint32_t site = 0;                           // index into Program::sites
  int64_t imm = 0;                             // address offset, immediate
  const Op* target = nullptr;                  // where a taken branch goes
  const void* extra = nullptr;                 // isa::Mods*, vector-operand tables, ...
  uint32_t flags = 0;
  uint32_t block = 0;  // branches: the block where the lanes meet again (kNoBlock: none)
};
static_assert(sizeof(Op) == 64, "one cache line an instruction");

inline constexpr uint32_t kNoBlock = 0xffffffff;

#if TW_TAIL_CALLS
#define TW_GO(next_op)                           \
  do {                                           \
    const ::tw::emu::Op* tw_next_ = (next_op);   \
    return tw_next_->run(tw_next_, frame, warp); \
  } while (0)
#else
#define TW_GO(next_op) return (next_op)
#endif
#define TW_NEXT TW_GO(op + 1)
#define TW_HANDLER_ARGS                                                   \
  [[maybe_unused]] const ::tw::emu::Op *op, [[maybe_unused]] char *frame, \
      [[maybe_unused]] ::tw::emu::Warp *warp

// Where a site's accesses fell last time: bounds and bias of one allocation. Device address + bias
// is the host address.
struct SiteCache {
  uint64_t low = 0;
  uint64_t span = 0;  // bytes
  intptr_t bias = 0;
};
// Holds no address that a program may have.
inline constexpr SiteCache kNoCache{uint64_t{1} << 63, 0, 0};

enum class WarpState : uint8_t {
  ready,    // can run
  barrier,  // every path waits at a CTA barrier
  done,     // all lanes have exited
  yielded,  // used up its fuel
  faulted,
};

// Lanes that left a divergent branch meet again at `block`.
struct Join {
  uint32_t block = kNoBlock;
  uint32_t expected = 0;  // lanes that will come, less those that exit or are let go
  uint32_t arrived = 0;
  int32_t parent = -1;
  bool live = false;
};

enum class PathState : uint8_t { ready, barrier, warp_sync };

// A set of lanes that share a program counter. The running path lives in Warp itself.
struct Path {
  const Op* pc = nullptr;
  uint32_t mask = 0;
  int32_t join = -1;
  PathState state = PathState::ready;
  uint32_t barrier = 0;          // which barrier (PathState::barrier)
  uint32_t sync_mask = 0;        // lanes waited for (PathState::warp_sync)
  uint64_t* uniforms = nullptr;  // private copy of the uniform area, once the warp has split
};

inline constexpr uint32_t kMaxPaths = 32;
inline constexpr uint32_t kMaxJoins = 64;

struct Warp {
  uint32_t active = 0;     // lanes of the running path
  uint32_t exited = 0;     // lanes that have ended (or never were)
  int32_t fuel = 0;        // backward branches left before the warp yields
  int32_t fuel_given = 0;  // at the beginning of its turn, less what it has given back
  int32_t join = -1;       // the running path's innermost join
  WarpState state = WarpState::ready;
  bool split = false;      // paths run the same convergent code apart: each has its own uniforms
  const Op* pc = nullptr;  // where to go on
  char* frame = nullptr;
  Cta* cta = nullptr;
  Worker* worker = nullptr;
  SiteCache* sites = nullptr;  // the worker's, indexed by Op::site
  uint8_t* shared = nullptr;   // the CTA's shared memory
  uint32_t shared_bytes = 0;
  uint32_t index = 0;          // in the CTA
  uint32_t barrier = 0;        // which one the only path waits at (state barrier, no parked paths)
  uint32_t saved_mask = 0;     // lanes outside a guarded instruction
  uint32_t observed_mask = 0;  // lanes outside an access that the observer has cut
  uint32_t path_count = 0;     // parked paths
  uint32_t cluster_arrived = 0;  // lanes that have arrived in this phase of the cluster's barrier
  Path paths[kMaxPaths];
  Join joins[kMaxJoins];
};

}  // namespace tw::emu
