#include "emu/cta.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "emu/cluster.h"
#include "emu/observer.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "emu/memory.h"

namespace tw::emu {
namespace {

// The handlers leave the upper halves of vector registers dirty; other code should not pay for
// that.
#if defined(__x86_64__)
[[gnu::target("avx")]] void clear_vector_state() { _mm256_zeroupper(); }
bool has_avx() {
  static const bool yes = __builtin_cpu_supports("avx");
  return yes;
}
#endif

void execute(Warp& warp) {
  const Op* op = warp.pc;
  char* frame = warp.frame;
#if TW_TAIL_CALLS
  if (op != nullptr) op->run(op, frame, &warp);
#else
  while (op != nullptr) op = op->run(op, frame, &warp);
#endif
#if defined(__x86_64__)
  if (has_avx()) clear_vector_state();
#endif
}

uint32_t lane_value(LaneInit what, uint32_t lane, uint32_t thread,
                    const std::array<uint32_t, 3>& shape) {
  switch (what) {
    case LaneInit::tid_x: return thread % shape[0];
    case LaneInit::tid_y: return thread / shape[0] % shape[1];
    case LaneInit::tid_z: return thread / shape[0] / shape[1];
    case LaneInit::lane_id: return lane;
    case LaneInit::lanemask_eq: return 1u << lane;
    case LaneInit::lanemask_lt: return (1u << lane) - 1;
    case LaneInit::lanemask_le: return (1u << lane) | ((1u << lane) - 1);
    case LaneInit::lanemask_gt: return ~((1u << lane) | ((1u << lane) - 1));
    case LaneInit::lanemask_ge: return ~((1u << lane) - 1);
  }
  return 0;
}

}  // namespace

uint32_t Choices::below(uint32_t n) {  // splitmix64
  uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return uint32_t((z ^ (z >> 31)) >> 32) % n;
}

void AlignedFree::operator()(char* p) const { std::free(p); }

AlignedBytes aligned_bytes(size_t bytes) {
  size_t rounded = (bytes + 127) / 64 * 64;
  char* p = static_cast<char*>(std::aligned_alloc(64, rounded));
  if (p == nullptr) throw std::bad_alloc();
  std::memset(p, 0, rounded);
  return AlignedBytes(p);
}

Cta::Cta(LaunchState& launch_state, Cluster& of, uint32_t number)
    : state(launch_state), cluster(of), rank(number), program(*launch_state.program) {
  const auto& shape = program.block_shape;
  threads = shape[0] * shape[1] * shape[2];
  uint32_t count = (threads + kLanes - 1) / kLanes;
  warps.resize(count);
  notes.resize(count);
  frames = aligned_bytes(size_t(program.frame_bytes) * count);
  shared_bytes = state.shared_bytes;
  shared = aligned_bytes(shared_bytes);
  local_bytes = program.local_bytes + (program.has_subroutines ? state.launch->stack_bytes : 0);
  local = aligned_bytes(local_bytes * count * kLanes);
  for (uint32_t w = 0; w < count; ++w) {
    Warp& warp = warps[w];
    warp.frame = frames.get() + size_t(program.frame_bytes) * w;
    warp.cta = this;
    warp.index = w;
    warp.shared = reinterpret_cast<uint8_t*>(shared.get());
    warp.shared_bytes = uint32_t(shared_bytes);
    for (auto [offset, value] : state.uniforms) std::memcpy(warp.frame + offset, &value, 8);
    std::memcpy(warp.frame + program.parameter_offset, state.launch->parameters.data(),
                program.parameter_bytes);
    uint64_t index64 = w;
    std::memcpy(warp.frame + kWarpId * 8, &index64, 8);
    for (const LaneInitSlot& slot : program.lane_inits) {
      uint32_t* to = reinterpret_cast<uint32_t*>(warp.frame + slot.offset);
      for (uint32_t l = 0; l < (slot.uniform ? 1 : kLanes); ++l)
        to[l] = lane_value(slot.what, l, w * kLanes + l, shape);
    }
  }
}

void Cta::begin(const std::array<uint32_t, 3>& place, Worker& worker) {
  const Dim3& grid = state.launch->grid;
  index = place;
  linear = index[0] + uint64_t(grid.x) * (index[1] + uint64_t(grid.y) * index[2]);
  live = threads;
  choices_.state = state.schedule + linear;
  observer = worker.observer;
  barriers.fill({});
  std::fill(notes.begin(), notes.end(), WarpNotes{});
  lanes_wait_ = spins = false;
  if (shared_bytes != 0) std::memset(shared.get(), 0, shared_bytes);
  for (uint32_t w = 0; w < warps.size(); ++w) {
    Warp& warp = warps[w];
    uint32_t lanes = std::min(kLanes, threads - w * kLanes);
    warp.active = lanes == kLanes ? kFullMask : (1u << lanes) - 1;
    warp.exited = ~warp.active;
    warp.join = -1;
    warp.state = WarpState::ready;
    warp.split = false;
    warp.path_count = 0;
    warp.cluster_arrived = 0;
    got_on(warp);
    warp.worker = &worker;
    warp.sites = worker.sites.data();
    for (Join& j : warp.joins) j.live = false;
    warp.pc = block_code(warp, 0, warp.active);
    for (uint32_t i = 0; i < 3; ++i)
      *reinterpret_cast<uint64_t*>(warp.frame + 8 * (kCtaidX + i)) = index[i];
    if (state.options->lanes_apart) {
      warp.split = true;
      for (uint32_t lane = lanes; lane-- > 1;) {
        warp.active = 1u << lane;
        park(warp, block_code(warp, 0, warp.active), PathState::ready);
      }
      warp.active = 1;
      warp.pc = block_code(warp, 0, 1);
    }
  }
  if (observer != nullptr) observer->cta_begin(*this);
}

CtaState Cta::run(Worker& worker) {
  constexpr uint32_t kTurn = 4;       // one warp in so many ends the CTA's turn
  constexpr uint32_t kSweeps = 4096;  // over the warps, in a turn
  const uint32_t count = uint32_t(warps.size());
  uint32_t sweeps = 0;
  only_failed_waits = true;
  for (;;) {
    bool progress = false, alive = false, yielded = false;
    const uint32_t first = state.schedule != 0 ? choices_.below(count) : 0;
    for (uint32_t w = 0; w < count; ++w) {
      Warp& warp = warps[first + w < count ? first + w : first + w - count];
      if (warp.state == WarpState::done) continue;
      alive = true;
      if (warp.state == WarpState::yielded) {
        yielded = true;
        continue;
      }
      if (warp.state != WarpState::ready) continue;
      progress = true;
      warp.worker = &worker;
      warp.sites = worker.sites.data();
      warp.fuel = state.fuel;
      if (state.schedule != 0) warp.fuel = int32_t(1 + choices_.below(uint32_t(state.fuel)));
      warp.fuel_given = warp.fuel;
      if (warp.pc == nullptr) {
        warp.pc = next_path(warp);
        if (warp.pc == nullptr) continue;
      }
      notes[warp.index].failed_wait = kNoSite;
      execute(warp);
      if (warp.state != WarpState::yielded || notes[warp.index].failed_wait == kNoSite)
        only_failed_waits = false;
      if (warp.state == WarpState::faulted) return CtaState::faulted;
      if (warp.state == WarpState::yielded) {
        yielded = true;
        rotate(warp);
        note_yield(warp, uint64_t(warp.fuel_given - warp.fuel));
      } else if (warp.state == WarpState::done) {
        warp.pc = nullptr;
      }
      if (state.schedule != 0 && choices_.below(kTurn) == 0) return CtaState::yielded;
    }
    if (!alive) {
      if (observer != nullptr) observer->cta_end(*this);
      return CtaState::done;
    }
    // A loop with a barrier may wait for another CTA: its turn ends, too.
    if (progress && ++sweeps < kSweeps) continue;
    if (!progress && !yielded) {
      if (waits_for_cluster()) return CtaState::waiting;
      // Lanes of a warp wait for others of it that stand at a barrier: on a GPU they would not.
      if (go_on_past_joins()) continue;
      cluster.fault_deadlock(worker);
      return CtaState::faulted;
    }
    for (Warp& warp : warps)
      if (warp.state == WarpState::yielded) warp.state = WarpState::ready;
    return CtaState::yielded;
  }
}

bool Cta::can_run() const {
  return std::any_of(warps.begin(), warps.end(), [](const Warp& w) {
    return w.state == WarpState::ready || w.state == WarpState::yielded;
  });
}

bool Cta::go_on_past_joins() {
  bool any = false;
  for (Warp& warp : warps) any = go_on_past_join(warp, false) || any;
  return any;
}

// Another CTA may release them.
bool Cta::waits_for_cluster() const {
  if (cluster.size() == 1) return false;
  for (const Warp& warp : warps) {
    if (warp.state != WarpState::barrier) continue;
    if (warp.path_count == 0 && warp.barrier == kClusterBarrier) return true;
    for (uint32_t i = 0; i < warp.path_count; ++i)
      if (warp.paths[i].state == PathState::barrier && warp.paths[i].barrier == kClusterBarrier)
        return true;
  }
  return false;
}

// ---- lanes that may have to be let go ----

namespace {
// Can run, or could if it had not used up its turn.
bool runs(const Warp& warp) {
  return warp.state == WarpState::ready || warp.state == WarpState::yielded;
}
}  // namespace

void Cta::got_on(const Warp& warp) { notes[warp.index].spinning = {}; }

void Cta::note_yield(const Warp& warp, uint64_t fuel) {
  if (!lanes_wait_)  // also of warps at a barrier: this one may wait for what they would do
    lanes_wait_ = std::any_of(warps.begin(), warps.end(),
                              [](const Warp& w) { return tw::emu::lanes_wait(w); });
  if (!lanes_wait_ && !state.lanes_wait) return;
  Spinning& s = notes[warp.index].spinning;
  s.fuel += fuel;
  const uint64_t now = hash_state(warp);
  ++s.since;
  if (s.until != 0 && now == s.state) {
    s.repeated += s.since;
    s.round = s.since;
    s.since = 0;
    return;
  }
  if (s.round != 0 && s.since >= s.round) s.round = s.repeated = 0;  // it has left the round
  if (s.since < s.until) return;
  s.state = now;
  s.until = std::max(1u, s.until * 2);
  s.since = s.round = s.repeated = 0;
}

bool Cta::repeats(const Warp& warp) const {
  constexpr uint32_t kRepeats = 8;
  const Spinning& s = notes[warp.index].spinning;
  return s.repeated >= std::max(kRepeats, 2 * s.round);
}

bool Cta::stuck() const {
  for (const Warp& warp : warps)
    if (runs(warp) && !repeats(warp) && notes[warp.index].spinning.fuel < state.patience)
      return false;
  return true;
}

bool Cta::impatient() const {
  for (const Warp& warp : warps)
    if (runs(warp) && !repeats(warp)) return true;
  return false;
}

bool Cta::let_lanes_go() {
  bool any = false;
  for (Warp& warp : warps) {
    if (runs(warp) ? let_spinning_go(warp) : go_on_past_join(warp, true)) got_on(warp), any = true;
  }
  return any;
}

void Cta::let_spinning_lanes_go() {
  for (Warp& warp : warps)
    if (runs(warp) && let_spinning_go(warp)) got_on(warp);
}

bool Cta::arrive(uint32_t id, uint32_t required, uint32_t count) {
  Barrier& b = barriers[id];
  b.arrived += count;
  b.required = required;
  uint32_t wanted = required == 0 ? live : required;
  if (b.arrived < wanted) return false;
  release(id);
  return true;
}

void Cta::release(uint32_t id) {
  if (observer != nullptr) observer->barrier_complete(*this, id);
  Barrier& b = barriers[id];
  b.arrived = 0;
  b.last_ones = b.ones, b.last_zeros = b.zeros;
  b.ones = b.zeros = 0;
  release_from(id);
}

void Cta::release_from(uint32_t id) {
  for (Warp& warp : warps) {
    if (warp.state == WarpState::barrier && warp.path_count == 0 && warp.barrier == id) {
      warp.state = WarpState::ready;
      got_on(warp);
      continue;
    }
    for (uint32_t i = 0; i < warp.path_count; ++i) {
      Path& path = warp.paths[i];
      if (path.state != PathState::barrier || path.barrier != id) continue;
      path.state = PathState::ready;
      got_on(warp);
      if (warp.state == WarpState::barrier) {
        warp.state = WarpState::ready;
        warp.pc = nullptr;  // run() picks a path
      }
    }
  }
}

void Cta::lanes_exit(Warp& warp, uint32_t lanes) {
  live -= count_lanes(lanes);
  cluster.lanes_exit(warp, lanes);
  if (live == 0) return;
  for (uint32_t id = 0; id < kBarriers; ++id)
    if (barriers[id].arrived != 0 && barriers[id].required == 0 && barriers[id].arrived >= live)
      release(id);
}

std::string Cta::describe(uint32_t w) const {
  const Warp& warp = warps[w];
  std::string text;
  // Another thread may be running the CTA: what is read here can be out of date, but must be an Op.
  auto inside = [&](const std::vector<Op>& ops, const Op* pc) {
    return pc >= ops.data() && pc < ops.data() + ops.size();
  };
  auto add = [&](const Op* pc, uint32_t mask, const char* what) {
    if (!inside(program.full, pc) && !inside(program.masked, pc)) return;
    SitePlace place = place_of(program, pc->site);
    if (!text.empty()) text += "; ";
    text += fmt::format("{}:{}: {} ({}, lanes {:#010x})", place.file, place.line, place.text, what,
                        mask);
  };
  if (warp.state == WarpState::barrier && warp.path_count == 0)
    add(warp.pc - 1, warp.active, "waits at barrier");
  else if (warp.state != WarpState::done)
    add(warp.pc, warp.active, "running");
  for (uint32_t i = 0; i < std::min(warp.path_count, kMaxPaths); ++i) {
    const Path& p = warp.paths[i];
    add(p.state == PathState::ready ? p.pc : p.pc - 1, p.mask,
        p.state == PathState::barrier     ? "waits at barrier"
        : p.state == PathState::warp_sync ? "waits for lanes of its warp"
                                          : "ready");
  }
  return text;
}

void Cta::add_waiting(Fault& f, std::set<std::string>& places) const {
  std::set<uint32_t> sites(f.waiting.begin(), f.waiting.end());
  for (uint32_t w = 0; w < warps.size(); ++w) {
    const Warp& warp = warps[w];
    if (warp.state == WarpState::done) continue;
    if (runs(warp) && notes[w].failed_wait == kNoSite) continue;
    if (runs(warp)) {
      const SitePlace place = place_of(program, notes[w].failed_wait);
      places.insert(
          fmt::format("{}:{}: {} (fails again and again)", place.file, place.line, place.text));
      sites.insert(notes[w].failed_wait);
      continue;
    }
    places.insert(describe(w));
    if (warp.path_count == 0) sites.insert((warp.pc - 1)->site);
    for (uint32_t i = 0; i < warp.path_count; ++i)
      if (warp.paths[i].state != PathState::ready) sites.insert((warp.paths[i].pc - 1)->site);
  }
  f.waiting.assign(sites.begin(), sites.end());
}

}  // namespace tw::emu
