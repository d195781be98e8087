// What tools see of a running kernel: a short class of empty hooks, called once per warp
// instruction with the lanes that take part, never once per lane.
//
// A launch that no source wants is decoded without a trace of observation: no test, no call, no
// branch. One that is wanted is decoded again with an `observe` instruction in front of each memory
// access, barrier and warp operation (or at each basic block, for counts); programs are cached by
// kernel, block shape and wanted events. Alternatives were a flag that every handler tests, and
// templated handlers (one more copy of every memory handler for every instruction set).
//
// An Observer serves one host thread, so hooks need no locks. A source either takes one Observer
// for each worker and merges them when the launch has ended (counters), or asks for the CTAs of a
// launch to run one after the other (checkers, whose verdict must not depend on the number of
// threads).
//
// Tested by tests/unit/emu/observer_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "emu/device.h"
#include "emu/memory_handlers.h"
#include "emu/op.h"
#include "emu/program.h"
#include "shadow/filter.h"

namespace tw::emu {

class Cluster;

const std::string& kernel_name(const Kernel& kernel);  // mangled

// Which events a launch is decoded for.
enum ObservedEvents : uint8_t {
  kObserveAccesses = 1,  // access
  kObserveSync = 2,      // barriers, warp_sync, converge, fence, exits
  kObserveBlocks = 4,    // block_counts
  // With kObserveAccesses, for observers that only count: the loads of a fused row come as one
  // access_row, not as accesses, and the row stays fused.
  kObserveRows = 8,
  // With kObserveAccesses: accesses that Observer::filter shows to be of no interest are not
  // reported.
  kObserveFiltered = 16,
};

enum class AccessKind : uint8_t { read, write, atomic };

// What lanes do to an mbarrier object: a phase's arrivals hand over what came before them to those
// that have seen the phase complete.
// `copies`: cp.async.mbarrier.arrive, an arrival that comes when the lane's copies are complete;
// `bulk`: the bytes of the bulk copy that the lane has started last.
enum class MbarrierAction : uint8_t { init, invalidate, arrive, copies, bulk, transaction, passed };

// What decode knows of an instruction that accesses memory; lives as long as the Program.
struct AccessSite {
  uint32_t site = 0;  // index into Program::sites
  // The first such access of the same source line through the same address register: copies of an
  // unrolled loop are one to the notes of who accessed global memory.
  uint32_t group = 0;
  AccessKind kind = AccessKind::read;
  AccessSpace space = AccessSpace::global;  // as written; generic: each lane's address decides
  AddressForm form = AddressForm::lanes;    // what is known of the addresses under a full mask
  Element element = Element::b32;
  uint8_t elements = 1;
  uint8_t bytes = 4;  // of one lane, all elements
  // Reads of cp.async: the bytes of a lane's copy, which the access stands for; else 0.
  uint8_t copy_bytes = 0;
  uint8_t ordering = isa::kWeak;     // isa::Ordering; atomics without one are relaxed
  uint8_t scope = isa::kScopeNone;   // isa::Scope
  uint8_t operation = isa::kOpNone;  // isa::Operation of atomics
  bool result_used = true;           // atomics: the old value goes somewhere
  bool address_uniform = false;      // one scalar address slot
  // Not counted as an access of the instruction: of cp.async the write, which is done when its
  // thread has waited, and the reads of single bytes but the first; of bulk copies and wgmma all.
  bool async = false;
  bool bulk = false;        // of a bulk copy, piece by piece; st.async, red.async
  bool bulk_group = false;  // reads of one that ends with a group of its thread (to global memory)
  bool value_uniform =
      false;  // stores of one element: one scalar value slot; loads: scalar destination
  // Loads: which of a lane's bytes the program uses (ptx::Instruction::used_bytes).
  uint32_t used_bytes = ~0u;
  bool unused = false;  // loads: Ir::unused
  // By element, indices into Program::copied, or kNoCopy: a load's values that are only copied; a
  // store's that are such copies.
  std::array<uint32_t, 4> copied{kNoCopy, kNoCopy, kNoCopy, kNoCopy};
  shadow::LogSite log;  // stride: where the addresses are even over half-warps
};

// One warp's access, before it is carried out.
struct Access {
  const AccessSite& site;
  Cta& cta;
  Warp& warp;
  uint32_t lanes;  // that take part; never 0
  const Op& op;    // op.a: address slot, op.imm: offset, d b c e: value slots
  const char* frame;

  bool narrow() const {
    return site.space == AccessSpace::shared || site.space == AccessSpace::local;
  }
  // Shared and local memory: an offset; otherwise a generic address.
  uint64_t address(uint32_t lane) const {
    uint32_t slot = site.address_uniform ? 0 : lane;
    if (narrow())
      return uint32_t(reinterpret_cast<const uint32_t*>(frame + op.a)[slot] + uint32_t(op.imm));
    return reinterpret_cast<const uint64_t*>(frame + op.a)[slot] + uint64_t(op.imm);
  }
  // Stores: the lane's value of one element, zero-extended.
  uint64_t value(uint32_t element, uint32_t lane) const;
};

// Shared-memory loads of one width at constant distances from one address, under a full mask.
struct AccessRow {
  uint32_t index = 0;  // of the rows of a Program
  uint8_t bytes = 4;   // of one lane
  struct Member {
    uint32_t site = 0;
    int32_t offset = 0;
  };
  std::vector<Member> members;
};

// What is logged of a fused row of shared loads, two addresses a term.
struct RowFilter {
  shadow::LogSite a, b;
  std::vector<shadow::LogSite::Member> members_a, members_b;
  uint32_t index = 0;  // of Program::rows
};

// A basic block's executions: by warps, and by their lanes.
struct BlockCount {
  uint64_t warps = 0, lanes = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;
  shadow::CtaFilter* filter = nullptr;  // kObserveFiltered: of the CTA whose observer this is
  virtual void cta_begin(Cta&) {}       // may put another Observer in Cta::observer, for this CTA
  virtual void cta_end(Cta&) {}         // every thread has exited (not called after a fault)

  // Returns the lanes whose access is carried out; the others read 0 and write nothing. The engine
  // faults on an access outside of every allocation, so an observer that wants the run to go on
  // leaves such lanes out.
  virtual uint32_t access(const Access& a) { return a.lanes; }

  // Lanes of a warp reach a CTA barrier. `threads`: how many the barrier waits for, 0: all that
  // have not exited. `waits`: false for bar.arrive.
  virtual void barrier_arrive(Cta&, Warp&, uint32_t /*site*/, uint32_t /*barrier*/,
                              uint32_t /*threads*/, uint32_t /*lanes*/, bool /*waits*/) {}
  // The barrier is complete: everyone who waits goes on. Comes after the arrival that completes it.
  virtual void barrier_complete(Cta&, uint32_t /*barrier*/) {}
  // Lanes arrive at the barrier of their cluster; `release`: and hand over what they have done.
  virtual void cluster_arrive(Cta&, Warp&, uint32_t /*site*/, uint32_t /*lanes*/,
                              bool /*release*/) {}
  // A warp closes a group of wgmma; has waited for all groups of its warpgroup but the last `keep`.
  virtual void wgmma_commit(Cta&, Warp&, uint32_t /*lanes*/) {}
  virtual void wgmma_wait(Cta&, Warp&, uint32_t /*lanes*/, uint32_t /*keep*/) {}
  // All have, and go on. Comes after the arrival that completes it.
  virtual void cluster_complete(Cluster&) {}
  // Lanes reach the wait for it; `passed`: have passed it.
  virtual void cluster_wait(Cta&, Warp&, uint32_t /*site*/, uint32_t /*lanes*/, bool /*passed*/) {}
  // Lanes reach __syncwarp(members).
  virtual void warp_sync(Cta&, Warp&, uint32_t /*site*/, uint32_t /*members*/, uint32_t /*lanes*/) {
  }
  // Lanes reach a shfl, vote, match, redux, ... that names `members`.
  virtual void converge(Cta&, Warp&, uint32_t /*site*/, uint32_t /*members*/, uint32_t /*lanes*/) {}
  // Lanes are about to read the values of other lanes (after `converge`, for the same lanes).
  // `source`: the lane that each reads, its own where the source is out of range.
  virtual void shuffle(Cta&, Warp&, uint32_t /*site*/, const uint32_t* /*members*/,
                       uint32_t /*lanes*/, const uint8_t* /*source*/) {}
  // Before the action; `passed`: after a test of the phase, with the lanes for which it is over.
  // `offset`: of each lane's object in shared memory.
  virtual void mbarrier(Cta&, Warp&, uint32_t /*site*/, MbarrierAction, uint32_t /*lanes*/,
                        const uint32_t* /*offset*/) {}
  virtual void fence(Cta&, Warp&, uint32_t /*site*/, uint8_t /*ordering*/, uint8_t /*scope*/,
                     uint32_t /*lanes*/) {}
  // free() in device code of what its malloc() has not given out, or no longer: nothing is freed.
  virtual void invalid_free(Cta&, Warp&, uint32_t /*site*/, uint32_t /*lane*/,
                            uint64_t /*address*/) {}
  // cp.async: lanes close the group of the copies they have started since the last one; wait for
  // all of their groups but the last `keep`.
  virtual void async_commit(Cta&, Warp&, uint32_t /*lanes*/) {}
  virtual void async_wait(Cta&, Warp&, uint32_t /*lanes*/, uint32_t /*keep*/) {}
  // The same of bulk copies from shared to global memory; the wait is for them to have read.
  virtual void bulk_commit(Cta&, Warp&, uint32_t /*lanes*/) {}
  virtual void bulk_wait(Cta&, Warp&, uint32_t /*lanes*/, uint32_t /*keep*/) {}
  // fence.proxy.async, of shared memory or all.
  virtual void proxy_fence(Cta&, Warp&, uint32_t /*lanes*/) {}
  virtual void exit(Cta&, Warp&, uint32_t /*site*/, uint32_t /*lanes*/) {}

  // `address`: of the 32 lanes, to which each member adds its offset; regular over each half-warp
  // (equal, or consecutive elements). Only with kObserveRows.
  virtual void access_row(const AccessRow&, const uint32_t* /*address*/) {}
};

// Gives out the Observers of launches. Called by the thread that starts and ends the launch.
class ObserverSource {
 public:
  virtual ~ObserverSource() = default;
  // ObservedEvents; 0: the launch runs unobserved.
  virtual uint8_t wanted(const Launch&) = 0;
  // True: the CTAs run one after the other, on one thread (one Observer).
  virtual bool one_thread() const { return true; }
  // True: freed addresses are not given out again as long as there is room, so that uses of them show.
  virtual bool keeps_freed() const { return false; }
  // The Observer of one worker; lives until launch_end. Called before the workers start.
  virtual Observer* launch_begin(const Launch&, const Program&, uint32_t worker) = 0;
  // `block_counts`: summed over the workers, by Program::blocks; empty unless kObserveBlocks.
  virtual void launch_end(const Launch&, const Program&, const Fault&,
                          std::span<const BlockCount> /*block_counts*/) {}

  // Memory, as the host sees it. Any thread.
  virtual void allocated(const Allocation&) {}
  virtual void freed(const Allocation&) {}
  // A copy, memset or initialisation by the runtime (Device::host_access).
  virtual void host_access(uint64_t /*address*/, uint64_t /*bytes*/, bool /*write*/) {}
};

}  // namespace tw::emu
