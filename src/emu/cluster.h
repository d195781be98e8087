// The CTAs of a cluster in flight: begun together, run in turns by one host thread, since they may
// wait for one another and reach into one another's shared memory. A launch without clusters has
// clusters of one CTA, which costs it nothing. Like a CTA, the object is used again for another
// cluster of the launch.
//
// Alternatives: CTAs of a cluster on several host threads (their shared memory would need the host's
// atomics, and results would depend on the schedule), and all CTAs of a launch on one thread, as for
// kernels whose outcome depends on the order of CTAs. As it is, clusters spread over the host's cores.
//
// Tested by tests/unit/emu/cluster_test.cpp and tests/e2e/programs/cluster.cu.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "emu/cta.h"

namespace tw::emu {

class Cluster {
 public:
  static constexpr uint32_t kMostCtas =
      16;  // what SM 9.0 takes at most (CUDA C++ Programming Guide)

  explicit Cluster(LaunchState& state);

  void begin(uint64_t number, Worker& worker);  // of the clusters of the grid
  CtaState run(Worker& worker);                 // a turn for each CTA; never `waiting`

  uint32_t size() const { return 1 + uint32_t(others_.size()); }
  Cta& cta(uint32_t rank) { return rank == 0 ? first_ : *others_[rank - 1]; }
  const Cta& cta(uint32_t rank) const { return rank == 0 ? first_ : *others_[rank - 1]; }
  uint64_t number() const { return number_; }
  // The host's address of `bytes` of shared memory at an address with a rank in it (windows.h);
  // nullptr if there is no such CTA, it has exited, or it has less memory.
  uint8_t* shared(uint64_t address, uint32_t bytes);
  // What an address without such memory means, for messages.
  std::string why_not_shared(uint64_t address) const;

  // As of Cta, of all that have not ended.
  bool stuck() const;
  bool impatient() const;
  bool let_lanes_go();
  void let_spinning_lanes_go();
  bool lanes_wait() const;
  bool spins = false;

  // barrier.cluster: lanes arrive; false: one of them has already, in this phase. A lane that waits
  // goes on when it is no longer in Warp::cluster_arrived.
  bool arrive(Warp& warp, uint32_t lanes);
  void lanes_exit(Warp& warp, uint32_t lanes);
  void fault_deadlock(Worker& worker);

 private:
  bool ended(uint32_t rank) const { return (ended_ >> rank) & 1; }
  template <class F> bool any(F f) const {
    for (uint32_t rank = 0; rank < size(); ++rank)
      if (f(cta(rank))) return true;
    return false;
  }
  void complete();
  bool waits_in_vain();

  LaunchState& state_;
  Cta first_;                                 // of rank 0: the only one, mostly
  std::vector<std::unique_ptr<Cta>> others_;  // by rank
  uint32_t ended_ = 0;                        // ranks, a bit each
  uint64_t number_ = 0;
  uint32_t live_ = 0;     // threads that have not exited
  uint32_t arrived_ = 0;  // of those, in this phase of the barrier
  Choices choices_;
  // Turns in a row in which nothing happened but waits for mbarriers that failed, and what the
  // warps' registers were then.
  uint32_t in_vain_ = 0;
  uint64_t in_vain_state_ = 0;
};

}  // namespace tw::emu
