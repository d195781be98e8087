// One CTA in flight: its warps, their frames, shared and local memory, barriers. CTAs are the unit
// of host parallelism; a CTA object is reused for the next CTA of the same launch.
//
// Tested by tests/unit/emu.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "emu/device.h"
#include "emu/op.h"
#include "emu/program.h"

namespace tw::emu {

class Cluster;
class MemoryMap;
class Observer;

inline constexpr uint32_t kBarriers = 16;
inline constexpr uint32_t kClusterBarrier = kBarriers;  // Warp::barrier of those that wait there

struct Barrier {
  uint32_t arrived = 0;   // threads
  uint32_t required = 0;  // threads; 0: every thread of the CTA that has not exited
  // bar.red: over the threads that have arrived, and of the last completed phase.
  uint32_t ones = 0, zeros = 0, last_ones = 0, last_zeros = 0;
};

// Choices of an interleaving, by a seed.
struct Choices {
  uint64_t state = 0;
  uint32_t below(uint32_t n);
};

// What stays the same for all CTAs of a launch.
struct LaunchState {
  const Program* program = nullptr;
  const Launch* launch = nullptr;
  MemoryMap* memory = nullptr;
  const DeviceOptions* options = nullptr;
  bool exclusive = false;  // CTAs run one at a time: atomics below scope .sys need no host atomics
  std::vector<std::pair<uint32_t, uint64_t>>
      uniforms;               // offset -> value: constants, grid size, ...
  uint64_t shared_bytes = 0;  // static and dynamic
  uint64_t parameter_address = 0;
  int32_t fuel = 0;  // backward branches before a warp yields
  // Lanes of some warp wait for others that spin: from then on warps note their states.
  bool lanes_wait = false;
  uint64_t patience = 0;  // backward branches before a warp counts as one that gets nowhere
  // Interleaved launches in which lanes had to be let go: from then on they are at once.
  bool spins = false;
  uint64_t schedule = 0;  // seed of the interleaving; 0: by number
  std::mutex printf_mutex;
  std::atomic<bool> stop{false};
  std::atomic<bool> interrupted{false};
};

// What a worker counts of a basic block: mostly all lanes are active, which costs one addition.
struct BlockTally {
  uint64_t warps = 0;
  uint64_t inactive = 0;  // lanes of these warps that did not take part
};

// A host thread that runs CTAs.
struct Worker {
  LaunchState* state = nullptr;
  Observer* observer = nullptr;         // observed launches only
  BlockTally* block_tallies = nullptr;  // by block; kObserveBlocks
  std::vector<SiteCache> sites;
  Fault fault;
};

// Of a warp, while lanes may have to be let go (paths.cpp).
struct Spinning {
  // Brent's cycle detection: each state is compared with one kept from earlier; which one is kept
  // changes after one, two, four, ... yields.
  uint64_t state = 0;             // hashed
  uint32_t since = 0, until = 0;  // yields since it was taken, and until the next is
  uint32_t round = 0;             // its length in yields, where it has come again
  uint32_t repeated = 0;          // yields in a row that belong to rounds seen whole
  uint64_t fuel = 0;              // used since it got on for certain
};

struct WarpNotes {
  Spinning spinning;
  uint32_t wgmma_groups = 0;  // closed so far
  uint32_t wgmma_turns = 0;   // waited for the other warps of the warpgroup, at this wait
  // The site of a wait for an mbarrier that has failed in the warp's last turn, or kNoSite.
  uint32_t failed_wait = kNoSite;
};

// waiting: no warp can run, and some wait for other CTAs of the cluster.
enum class CtaState : uint8_t { yielded, done, faulted, waiting };

struct AlignedFree {
  void operator()(char* p) const;
};
using AlignedBytes = std::unique_ptr<char[], AlignedFree>;
AlignedBytes aligned_bytes(size_t bytes);

struct Cta {
  Cta(LaunchState& state, Cluster& cluster, uint32_t rank);

  void begin(const std::array<uint32_t, 3>& place, Worker& worker);  // %ctaid
  CtaState run(Worker& worker);               // until it ends, faults, or every warp has yielded
  std::string describe(uint32_t warp) const;  // where a warp stands
  // After a run that yielded: no warp gets on by itself.
  bool stuck() const;
  bool impatient() const;  // some of them for having run so long only
  // Lanes that wait at joins for those go on without them, in every warp that has such.
  bool let_lanes_go();           // false: there are none
  void let_spinning_lanes_go();  // of warps that run
  bool lanes_wait() const { return lanes_wait_; }

  // Called by handlers.
  bool arrive(uint32_t barrier, uint32_t required,
              uint32_t threads);  // true: the barrier is complete, all are released
  void contribute(uint32_t barrier, uint32_t ones, uint32_t zeros) {
    barriers[barrier].ones += ones, barriers[barrier].zeros += zeros;
  }
  void lanes_exit(Warp& warp, uint32_t lanes);
  // Called by the cluster.
  bool can_run() const;                 // some warp
  bool go_on_past_joins();              // of warps at a barrier; false: there is nothing to let go
  void release_from(uint32_t barrier);  // all that wait there
  void add_waiting(Fault& fault, std::set<std::string>& places) const;

  LaunchState& state;
  Cluster& cluster;
  const uint32_t rank;  // in the cluster
  const Program& program;
  bool spins = false;  // as LaunchState::spins, of a CTA that runs by itself
  std::array<uint32_t, 3> index{};
  uint64_t linear = 0;
  Observer* observer = nullptr;
  uint32_t threads = 0, live = 0;  // threads; those that have not exited
  std::vector<Warp> warps;
  AlignedBytes frames, shared, local;
  uint64_t shared_bytes = 0, local_bytes = 0;  // local: a thread
  std::array<Barrier, kBarriers> barriers{};
  std::vector<WarpNotes> notes;  // by warp
  // In the last run nothing happened but waits for mbarriers that failed.
  bool only_failed_waits = false;

 private:
  Choices choices_;
  bool lanes_wait_ = false;  // as LaunchState::lanes_wait, here
  void note_yield(const Warp& warp, uint64_t fuel);
  void got_on(const Warp& warp);
  bool repeats(const Warp& warp) const;
  void release(uint32_t barrier);
  bool waits_for_cluster() const;
};

// ---- paths (paths.cpp) ----

// Parks the running path and goes on with another; nullptr if none can run (the warp's state says
// why).
const Op* next_path(Warp& warp);
// The running path has ended by exit: completes joins that waited only for its lanes.
const Op* path_ended(Warp& warp);
const Op* diverge(const Op* op, Warp& warp, uint32_t taken);
void park(Warp& warp, const Op* pc, PathState path_state);
// After the fuel has run out: lets another path of the warp run if there is one.
void rotate(Warp& warp);
// Lanes wait at a join, and what they do when let go may be what the others spin for.
bool lanes_wait(const Warp& warp);
// They go on without the others; false if there are none.
bool let_spinning_go(Warp& warp);
// Everything that a warp's next steps depend on, besides memory that others share with it.
uint64_t hash_state(const Warp& warp);
// Nothing else can run: lanes that wait at a join for lanes at a barrier go on. False if there are
// none. `spinning`: some other warp spins; then only lanes whose doings may end that.
bool go_on_past_join(Warp& warp, bool spinning);
// Code of a block for a mask.
const Op* block_code(const Warp& warp, uint32_t block, uint32_t mask);

}  // namespace tw::emu
