// One launch while it runs: CTAs over the workers, observation, faults, preemption.
//
// Tested by tests/unit/emu/engine_test.cpp.
#pragma once

#include <deque>

#include "emu/cluster.h"
#include "emu/device_impl.h"
#include "emu/observer.h"

namespace tw::emu {

// A launched grid, cluster by cluster: CTA by CTA where there are no clusters. Kernels whose
// results cannot depend on the order of CTAs run them on all workers, each taking the next number;
// the others run on one thread in one fixed interleaving.
class GridRunImpl final : public GridRun {
 public:
  GridRunImpl(DeviceImpl& device, const Launch& launch, const Program& program);
  ~GridRunImpl() override;
  State advance() override;
  const Fault& fault() const override { return fault_; }
  const Progress& progress() const override { return progress_; }
  std::string describe_unfinished() const override;
  void interrupt() override {
    state_.interrupted.store(true);
    state_.stop.store(true);
  }

 private:
  State run();
  void run_parallel();
  void begin_observation(uint32_t workers);
  void end_observation();
  void prepare(Worker& worker, uint32_t index);
  State run_interleaved();
  bool waiting() const { return next_.load() < clusters_ || !ahead_.empty(); }  // clusters to begin
  uint64_t next_number();
  void record(Worker& worker);

  DeviceImpl& device_;
  Launch launch_;
  LaunchState state_;
  uint64_t ctas_ = 0, clusters_ = 0;
  uint64_t workspace_ = 0;       // of a cooperative launch
  uint64_t resident_limit_ = 1;  // clusters
  std::atomic<uint64_t> next_{0};
  std::mutex fault_mutex_;
  Fault fault_;
  Progress progress_;
  // Interleaved runs.
  Worker worker_;
  std::vector<Observer*> observers_;                    // by worker; observed launches only
  std::vector<std::vector<BlockTally>> block_tallies_;  // by worker
  bool observing_ = false;
  Choices choices_;
  std::vector<uint64_t> ahead_;  // chosen interleavings: numbers of clusters that may be next
  std::deque<std::unique_ptr<Cluster>> resident_;
  uint64_t stuck_ = 0;   // how many turns in a row ended with a cluster that gets nowhere
  uint32_t proofs_ = 0;  // how often lanes have been let go
  std::vector<std::unique_ptr<Cluster>> spare_;
  mutable std::mutex running_mutex_;
  std::vector<const Cluster*> running_;  // those that a thread runs, or that take turns on one
};

}  // namespace tw::emu
