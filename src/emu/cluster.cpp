#include "emu/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "emu/observer.h"
#include "emu/windows.h"

namespace tw::emu {

Cluster::Cluster(LaunchState& state) : state_(state), first_(state, *this, 0) {
  const uint32_t count = state.program->cluster_ctas();
  for (uint32_t rank = 1; rank < count; ++rank)
    others_.push_back(std::make_unique<Cta>(state, *this, rank));
}

void Cluster::begin(uint64_t number, Worker& worker) {
  const Dim3& grid = state_.launch->grid;
  const std::array<uint32_t, 3>& shape = state_.program->cluster;
  const uint32_t columns = grid.x / shape[0], rows = grid.y / shape[1];
  const std::array<uint32_t, 3> at = {uint32_t(number % columns) * shape[0],
                                      uint32_t(number / columns % rows) * shape[1],
                                      uint32_t(number / columns / rows) * shape[2]};
  number_ = number;
  choices_.state = ~state_.schedule + number;
  spins = false;
  live_ = size() * first_.threads;
  arrived_ = in_vain_ = 0;
  ended_ = 0;
  for (uint32_t rank = 0; rank < size(); ++rank)
    cta(rank).begin({at[0] + rank % shape[0], at[1] + rank / shape[0] % shape[1],
                     at[2] + rank / shape[0] / shape[1]},
                    worker);
}

CtaState Cluster::run(Worker& worker) {
  if (size() == 1) {
    const CtaState state = first_.run(worker);
    if (state != CtaState::yielded || !waits_in_vain()) return state;
    fault_deadlock(worker);
    return CtaState::faulted;
  }
  for (;;) {
    const uint32_t first = state_.schedule != 0 ? choices_.below(size()) : 0;
    for (uint32_t i = 0; i < size(); ++i) {
      const uint32_t rank = (first + i) % size();
      if (ended(rank)) continue;
      switch (cta(rank).run(worker)) {
        case CtaState::done: ended_ |= 1u << rank; break;
        case CtaState::faulted: return CtaState::faulted;
        case CtaState::yielded:
        case CtaState::waiting: break;
      }
    }
    if (ended_ == (1ull << size()) - 1) return CtaState::done;
    bool some = false;  // of those whose threads have exited, one may still have to end
    for (uint32_t rank = 0; rank < size(); ++rank)
      some = some || (!ended(rank) && (cta(rank).can_run() || cta(rank).live == 0));
    if (some) {
      if (!waits_in_vain()) return CtaState::yielded;
      fault_deadlock(worker);
      return CtaState::faulted;
    }
    bool again = false;
    for (uint32_t rank = 0; rank < size(); ++rank) again = cta(rank).go_on_past_joins() || again;
    if (again) continue;
    fault_deadlock(worker);
    return CtaState::faulted;
  }
}

// All warps that can run wait for mbarriers, turn after turn, and their registers stay as they are:
// nobody is left to arrive. Not where a loop may ask memory in turn, which another block may write.
bool Cluster::waits_in_vain() {
  if (state_.program->order_dependent) return false;
  constexpr uint32_t kTurns = 256, kCompared = 8;
  for (uint32_t rank = 0; rank < size(); ++rank)
    if (!ended(rank) && !cta(rank).only_failed_waits) {
      in_vain_ = 0;
      return false;
    }
  if (++in_vain_ < kTurns) return false;
  uint64_t state = 0;
  for (uint32_t rank = 0; rank < size(); ++rank)
    for (const Warp& warp : cta(rank).warps)
      if (warp.state == WarpState::ready || warp.state == WarpState::yielded)
        state = state * 0x9e3779b97f4a7c15ull + hash_state(warp);
  if (in_vain_ > kTurns && state != in_vain_state_) in_vain_ = 0;
  in_vain_state_ = state;
  return in_vain_ >= kTurns + kCompared;
}

uint8_t* Cluster::shared(uint64_t address, uint32_t bytes) {
  const uint32_t rank = rank_in(address, size());
  const uint64_t offset = address & kOwnMask;
  if (size() == 1 || rank >= size()) return nullptr;  // without a cluster no address has a rank
  Cta& owner = cta(rank);
  if (owner.live == 0 || offset + bytes > owner.shared_bytes) return nullptr;
  return reinterpret_cast<uint8_t*>(owner.shared.get()) + offset;
}

std::string Cluster::why_not_shared(uint64_t address) const {
  const uint32_t rank = rank_in(address, size());
  if (rank >= size())
    return fmt::format("it names block {} of the cluster, which has {}", rank, size());
  if (cta(rank).live == 0)
    return fmt::format(
        "it is offset {:#x} of block {} of the cluster, which has exited: a block must "
        "stay until the others are done with its shared memory (cluster.sync() at the "
        "end of the kernel)",
        address & kOwnMask, rank);
  return fmt::format(
      "it is offset {:#x} of block {} of the cluster, which has {} bytes of shared memory",
      address & kOwnMask, rank, cta(rank).shared_bytes);
}

// ---- lanes that may have to be let go ----

bool Cluster::stuck() const {
  return !any([](const Cta& cta) { return !cta.stuck(); });
}

bool Cluster::impatient() const {
  return any([](const Cta& cta) { return cta.impatient(); });
}

bool Cluster::let_lanes_go() {
  bool some = false;
  for (uint32_t rank = 0; rank < size(); ++rank) some = cta(rank).let_lanes_go() || some;
  return some;
}

void Cluster::let_spinning_lanes_go() {
  for (uint32_t rank = 0; rank < size(); ++rank) cta(rank).let_spinning_lanes_go();
}

bool Cluster::lanes_wait() const {
  return any([](const Cta& cta) { return cta.lanes_wait(); });
}

// ---- barrier.cluster ----

bool Cluster::arrive(Warp& warp, uint32_t lanes) {
  if ((warp.cluster_arrived & lanes) != 0) return false;
  warp.cluster_arrived |= lanes;
  arrived_ += count_lanes(lanes);
  if (arrived_ == live_) complete();
  return true;
}

void Cluster::lanes_exit(Warp& warp, uint32_t lanes) {
  live_ -= count_lanes(lanes);
  if (arrived_ == 0) return;
  arrived_ -= uint32_t(__builtin_popcount(warp.cluster_arrived & lanes));
  warp.cluster_arrived &= ~lanes;
  if (arrived_ != 0 && arrived_ == live_) complete();
}

void Cluster::complete() {
  if (Observer* observer = first_.observer; observer != nullptr) observer->cluster_complete(*this);
  arrived_ = 0;
  for (uint32_t rank = 0; rank < size(); ++rank) {
    for (Warp& warp : cta(rank).warps) warp.cluster_arrived = 0;
    cta(rank).release_from(kClusterBarrier);
  }
}

void Cluster::fault_deadlock(Worker& worker) {
  Fault& f = worker.fault;
  f.kind = FaultKind::deadlock;
  std::set<std::string> places;
  bool others_run = size() == 1;
  for (uint32_t rank = size(); rank-- > 0;) {
    if (cta(rank).live == 0) continue;
    if (cta(rank).can_run() && !cta(rank).only_failed_waits) {
      others_run = true;
      continue;
    }
    f.block = cta(rank).index;
    cta(rank).add_waiting(f, places);
  }
  f.message = fmt::format(
      "deadlock: every thread of the {} that has not exited waits, and nothing can release them:",
      others_run ? "block" : "cluster");
  for (const std::string& p : places) f.message += "\n  " + p;
}

}  // namespace tw::emu
