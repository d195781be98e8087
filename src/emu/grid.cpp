#include "emu/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>

namespace tw::emu {
namespace {

constexpr int32_t kFuel = 1 << 13;            // backward branches before a warp yields
constexpr int32_t kFuelInterleaved = 1 << 8;  // less where warps wait for one another
// Backward branches before a warp whose registers change counts as one that gets nowhere.
constexpr uint64_t kPatience = 1 << 18;
// How often lanes of a launch are let go before its spinning warps no longer have to show it.
constexpr uint32_t kProofs = 16;
constexpr auto kSlice =
    std::chrono::milliseconds(5);  // of an interleaved run between calls of advance
constexpr uint64_t kMaxResident = 4096;
// Chosen interleavings: the next CTA is one of so many, and begins at one turn in so many.
constexpr size_t kAhead = 32;
constexpr uint32_t kStart = 2;

}  // namespace

GridRunImpl::GridRunImpl(DeviceImpl& device, const Launch& launch, const Program& program)
    : device_(device), launch_(launch) {
  ctas_ = uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
  clusters_ = ctas_ / program.cluster_ctas();
  progress_.ctas = ctas_;
  state_.program = &program;
  state_.launch = &launch_;
  state_.memory = &device.memory();
  state_.options = &device.options();
  state_.exclusive = (program.order_dependent && !device.options().order_any) ||
                     launch.cooperative || clusters_ == 1 || device.pool().size() == 1;
  state_.shared_bytes = program.static_shared_bytes + launch.dynamic_shared_bytes;
  if (program.schedule_dependent && device.options().schedule != 0)
    choices_.state = state_.schedule = uint64_t(device.options().schedule) << 32 | (launch.id + 1);
  state_.fuel = program.order_dependent ? kFuelInterleaved : kFuel;
  state_.patience = kPatience;
  state_.uniforms = {program.constants.begin(), program.constants.end()};
  auto set = [&](uint32_t slot, uint64_t value) { state_.uniforms.push_back({slot * 8, value}); };
  set(kNctaidX, launch.grid.x), set(kNctaidY, launch.grid.y), set(kNctaidZ, launch.grid.z);
  set(kGridId, launch.id), set(kSmId, 0), set(kDynamicShared, launch.dynamic_shared_bytes);
  if (launch.cooperative) {
    // Grid-wide barriers of cooperative groups keep their state in a workspace that the launch
    // provides.
    constexpr uint64_t kWorkspaceBytes = 1024;
    Result<uint64_t> workspace = device.memory().allocate(kWorkspaceBytes, AllocationKind::module,
                                                          "cooperative launch workspace");
    if (workspace.ok()) {
      workspace_ = *workspace;
      std::memset(device.memory().find(workspace_)->host, 0, kWorkspaceBytes);
      set(kEnvreg1, workspace_ >> 32), set(kEnvreg2, uint32_t(workspace_));
    }
  }
  launch_.parameters.resize(program.parameter_bytes);
  if (program.parameters_addressed) {
    // The kernel takes a parameter's address: a copy lies in device memory for the time of the
    // launch.
    Result<uint64_t> copy = device.memory().allocate(std::max<uint64_t>(program.parameter_bytes, 1),
                                                     AllocationKind::module, "kernel parameters");
    if (copy.ok()) {
      state_.parameter_address = *copy;
      std::memcpy(device.memory().find(*copy)->host, launch_.parameters.data(),
                  program.parameter_bytes);
      state_.uniforms.push_back({program.parameter_address_offset, *copy});
    }
  }
  const model::DeviceSpec& spec = device.spec();
  uint32_t threads = program.block_shape[0] * program.block_shape[1] * program.block_shape[2];
  uint64_t per_sm = std::max<uint64_t>(
      1, std::min<uint64_t>(
             spec.max_blocks_per_sm ? spec.max_blocks_per_sm : 32,
             (spec.max_threads_per_sm ? spec.max_threads_per_sm : 2048) / std::max(1u, threads)));
  resident_limit_ =
      launch.cooperative
          ? clusters_
          : std::max<uint64_t>(
                1, std::min<uint64_t>(per_sm * std::max(1u, spec.sm_count), kMaxResident) /
                       program.cluster_ctas());
}

GridRunImpl::~GridRunImpl() {
  if (workspace_ != 0) (void)device_.memory().free(workspace_);
  if (state_.parameter_address != 0) (void)device_.memory().free(state_.parameter_address);
}

void GridRunImpl::record(Worker& worker) {
  std::lock_guard lock(fault_mutex_);
  state_.stop.store(true);
  if (fault_.kind != FaultKind::none) return;
  fault_ = worker.fault;
  fault_.kernel = state_.program->function->name;
}

void GridRunImpl::begin_observation(uint32_t workers) {
  if (state_.program->observed == 0 || observing_) return;
  observing_ = true;
  for (uint32_t i = 0; i < workers; ++i)
    observers_.push_back(device_.options().observers->launch_begin(launch_, *state_.program, i));
  if (state_.program->observed & kObserveBlocks)
    block_tallies_.assign(workers, std::vector<BlockTally>(state_.program->blocks.size()));
}

void GridRunImpl::end_observation() {
  if (!observing_) return;
  observing_ = false;
  std::vector<BlockCount> sums;
  if (!block_tallies_.empty()) sums.resize(state_.program->blocks.size());
  for (const auto& tallies : block_tallies_)
    for (size_t b = 0; b < tallies.size(); ++b) {
      const BlockTally& t = tallies[b];
      sums[b].warps += t.warps, sums[b].lanes += t.warps * kLanes - t.inactive;
    }
  device_.options().observers->launch_end(launch_, *state_.program, fault_, sums);
}

void GridRunImpl::prepare(Worker& worker, uint32_t index) {
  worker.state = &state_;
  if (worker.sites.empty()) worker.sites.assign(state_.program->sites.size(), kNoCache);
  if (index < observers_.size()) worker.observer = observers_[index];
  if (index < block_tallies_.size()) worker.block_tallies = block_tallies_[index].data();
}

void GridRunImpl::run_parallel() {
  uint32_t extra = clusters_ > 1 ? device_.pool().size() - 1 : 0;
  if (state_.program->observed != 0 && device_.options().observers->one_thread()) extra = 0;
  extra = uint32_t(std::min<uint64_t>(extra, clusters_ - 1));
  begin_observation(extra + 1);
  device_.pool().run(extra, [&](uint32_t index) {
    Worker worker;
    prepare(worker, index);
    // Mostly a cluster runs to its end. Those that may wait for one another (--fast) take turns.
    const bool turns = state_.program->order_dependent;
    const uint64_t most = (resident_limit_ + extra) / (extra + 1);
    std::deque<std::unique_ptr<Cluster>> mine;
    bool more = true, ended = false;
    std::unique_ptr<Cluster> spare = std::make_unique<Cluster>(state_);
    while (!ended && !state_.stop.load(std::memory_order_relaxed)) {
      if (more && (mine.empty() || (turns && mine.size() < most))) {
        const uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
        more = number < clusters_;
        if (more) {
          if (!spare) spare = std::make_unique<Cluster>(state_);
          spare->begin(number, worker);
          std::lock_guard lock(running_mutex_);
          running_.push_back(spare.get());
          mine.push_back(std::move(spare));
        }
      }
      if (mine.empty()) break;
      Cluster& cluster = *mine.front();
      const CtaState s = cluster.run(worker);
      if (s == CtaState::yielded) {
        if (cluster.spins) cluster.let_spinning_lanes_go();
        if (cluster.lanes_wait() && cluster.stuck()) {
          const bool impatient = cluster.impatient();
          cluster.spins = cluster.let_lanes_go() && (impatient || cluster.spins);
        }
        mine.push_back(std::move(mine.front()));
        mine.pop_front();
        continue;
      }
      if (s == CtaState::faulted) record(worker);
      ended = s != CtaState::done;
      if (s == CtaState::done)
        progress_.ctas_done.fetch_add(cluster.size(), std::memory_order_relaxed);
      std::lock_guard lock(running_mutex_);
      std::erase(running_, &cluster);
      spare = std::move(mine.front());
      mine.pop_front();
    }
    std::lock_guard lock(running_mutex_);
    for (const auto& other : mine) std::erase(running_, other.get());
  });
}

// Of the next cluster to begin.
uint64_t GridRunImpl::next_number() {
  if (state_.schedule == 0) return next_.fetch_add(1);
  while (ahead_.size() < kAhead && next_.load() < clusters_) ahead_.push_back(next_.fetch_add(1));
  std::swap(ahead_.back(), ahead_[choices_.below(uint32_t(ahead_.size()))]);
  const uint64_t number = ahead_.back();
  ahead_.pop_back();
  return number;
}

GridRun::State GridRunImpl::run_interleaved() {
  begin_observation(1);
  prepare(worker_, 0);
  auto deadline = std::chrono::steady_clock::now() + kSlice;
  while (waiting() || !resident_.empty()) {
    if (state_.stop.load(std::memory_order_relaxed)) break;
    // The next cluster starts whenever there is room; those that have yielded wait their turn.
    std::unique_ptr<Cluster> cluster;
    std::unique_lock lists(running_mutex_);  // describe_unfinished reads them from another thread
    const bool room = waiting() && resident_.size() < resident_limit_;
    const bool start =
        room && (state_.schedule == 0 || resident_.empty() || choices_.below(kStart) == 0);
    if (start) {
      if (!spare_.empty()) {
        cluster = std::move(spare_.back());
        spare_.pop_back();
      } else {
        cluster = std::make_unique<Cluster>(state_);
      }
      cluster->begin(next_number(), worker_);
    } else {
      if (state_.schedule != 0)
        std::swap(resident_.front(), resident_[choices_.below(uint32_t(resident_.size()))]);
      cluster = std::move(resident_.front());
      resident_.pop_front();
    }
    running_.assign(1, cluster.get());
    lists.unlock();
    CtaState cta_state = cluster->run(worker_);
    lists.lock();
    running_.clear();
    switch (cta_state) {
      case CtaState::done:
        progress_.ctas_done.fetch_add(cluster->size(), std::memory_order_relaxed);
        spare_.push_back(std::move(cluster));
        break;
      case CtaState::yielded:
        if (cluster->lanes_wait()) state_.lanes_wait = true;
        if (state_.spins) cluster->let_spinning_lanes_go();
        if (state_.lanes_wait) {
          stuck_ = cluster->stuck() ? stuck_ + 1 : 0;
          if (stuck_ > resident_.size() && !(waiting() && resident_.size() + 1 < resident_limit_) &&
              std::all_of(resident_.begin(), resident_.end(),
                          [](const auto& other) { return other->stuck(); }))
            if (const bool impatient = cluster->impatient(); cluster->let_lanes_go())
              state_.spins = impatient || ++proofs_ >= kProofs;
        }
        resident_.push_back(std::move(cluster));
        break;
      case CtaState::waiting:
      case CtaState::faulted:
        lists.unlock();
        record(worker_);
        return State::faulted;
    }
    if (std::chrono::steady_clock::now() >= deadline)
      return waiting() || !resident_.empty() ? State::yielded : State::done;
  }
  return State::done;
}

GridRun::State GridRunImpl::advance() {
  State s = run();
  if (s != State::yielded) end_observation();
  return s;
}

GridRun::State GridRunImpl::run() {
  State s = State::done;
  if (ctas_ != 0) {
    if (state_.program->order_dependent && !device_.options().order_any)
      s = run_interleaved();
    else if (launch_.cooperative)
      s = run_interleaved();
    else
      run_parallel();
  }
  if (state_.interrupted.load()) {
    fault_.kind = FaultKind::timeout;
    fault_.kernel = state_.program->function->name;
    fault_.message = "the kernel was stopped before it had finished";
    return State::faulted;
  }
  if (fault_.kind != FaultKind::none) return State::faulted;
  return s;
}

std::string GridRunImpl::describe_unfinished() const {
  std::map<std::string, std::pair<uint64_t, std::string>> places;  // text -> warps, first block
  auto add = [&](const Cta& cta) {
    for (uint32_t w = 0; w < cta.warps.size(); ++w) {
      std::string text = cta.describe(w);
      if (text.empty()) continue;
      auto& [count, first] = places[text];
      if (count++ == 0)
        first =
            fmt::format("block ({}, {}, {}) warp {}", cta.index[0], cta.index[1], cta.index[2], w);
    }
  };
  std::lock_guard lock(running_mutex_);
  auto add_all = [&](const Cluster& cluster) {
    for (uint32_t rank = 0; rank < cluster.size(); ++rank) add(cluster.cta(rank));
  };
  for (const Cluster* cluster : running_) add_all(*cluster);
  for (const auto& cluster : resident_) add_all(*cluster);
  std::string out = fmt::format("{} of {} blocks done\n", progress_.ctas_done.load(), ctas_);
  for (const auto& [text, entry] : places)
    out += fmt::format("  {} ({} warps, first {})\n", text, entry.first, entry.second);
  return out;
}

}  // namespace tw::emu
