// synccheck, and what synchronisation tells racecheck: barriers, __syncwarp, shuffles and votes,
// fences.
#include <fmt/format.h>

#include "emu/windows.h"
#include "observe/checkers/session.h"

namespace tw::observe {

using report::Finding;
using report::Severity;

namespace {

// Lanes of a warp that are threads of the CTA.
uint32_t lanes_of(const emu::Cta& cta, const emu::Warp& warp) {
  const uint32_t begin = warp.index * emu::kLanes,
                 n = cta.threads > begin ? cta.threads - begin : 0;
  return n >= emu::kLanes ? emu::kFullMask : (1u << n) - 1;
}

bool unaligned(const std::string& instruction) {
  return instruction.find("barrier") != std::string::npos &&
         instruction.find(".aligned") == std::string::npos;
}

}  // namespace

void CheckSession::barrier_arrive(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t barrier,
                                  uint32_t threads, uint32_t lanes, bool waits) {
  CtaState& s = state(cta);
  BarrierPhase& b = s.barriers[barrier];
  const uint32_t mine = lanes_of(cta, warp), arriving = uint32_t(__builtin_popcount(lanes));
  if (options_.tools & kSynccheck) {
    const uint32_t exited = warp.exited & mine;
    if (exited != 0 && threads == 0) {
      count("barrier-divergence", Severity::error, site, 0, uint64_t(__builtin_popcount(exited)),
            [&](Finding& f) {
              f.message = "part of a warp has exited before this barrier";
              f.advice =
                  "let every thread reach the barrier: guard the work, not the thread, instead of "
                  "returning early";
              f.where =
                  thread_text(cta, warp.index * emu::kLanes + uint32_t(__builtin_ctz(exited)));
              f.sites.push_back(place(site, "barrier"));
            });
    }
    if ((mine & ~warp.exited & ~lanes) != 0)
      partial_barrier(cta, warp, site, lanes, mine & ~warp.exited & ~lanes);
    leaves_others_waiting(cta, warp, site, lanes, "wait at a barrier");
    if (b.arrived_threads != 0 && b.site != site && threads == 0 && b.required == 0) {
      count("barrier-divergence", Severity::error, std::min(site, b.site), std::max(site, b.site),
            arriving, [&](Finding& f) {
              f.message = "threads of a block meet at two different barriers";
              f.advice =
                  "let all threads of the block reach the same __syncthreads(): move it out of the "
                  "branch";
              f.where = thread_text(cta, warp.index * emu::kLanes + uint32_t(__builtin_ctz(lanes)));
              f.sites.push_back(place(b.site, "barrier"));
              f.sites.push_back(place(site, "barrier"));
            });
    }
    if (threads != 0) {
      const bool differs = b.arrived_threads != 0 && b.required != threads,
                 odd = threads % emu::kLanes != 0, many = threads > (cta.threads + 31) / 32 * 32;
      const bool over = b.arrived_threads + arriving > threads;
      if (differs || odd || many || over) {
        count(
            "invalid-sync", Severity::error, site, differs ? b.site : 0, arriving, [&](Finding& f) {
              if (differs)
                f.message = fmt::format(
                    "barrier {} is used with {} threads here and with {} in the same phase",
                    barrier, threads, b.required);
              else if (odd)
                f.message = fmt::format(
                    "barrier {} waits for {} threads, which is not a multiple of the warp size",
                    barrier, threads);
              else if (many)
                f.message = fmt::format("barrier {} waits for {} threads, but the block has {}",
                                        barrier, threads, cta.threads);
              else
                f.message = fmt::format("{} threads arrive at barrier {}, which waits for {}",
                                        b.arrived_threads + arriving, barrier, threads);
              f.advice =
                  "give the barrier the number of threads that take part in it, whole warps, the "
                  "same number everywhere";
              f.where = thread_text(cta, warp.index * emu::kLanes + uint32_t(__builtin_ctz(lanes)));
              f.sites.push_back(place(site, "barrier"));
              if (differs) f.sites.push_back(place(b.site, "barrier"));
            });
      }
    }
  }
  if (b.arrived_threads == 0) b.site = site, b.required = threads;
  b.arrived_threads += arriving;
  if (waits) b.waiting_threads += arriving;
  if (!(options_.tools & kRacecheck)) return;
  // A barrier of the whole block only ends the epoch; one with a count is told to the order, too.
  if (threads == 0) return;
  races_.settle(s.shared);
  s.shared.order.barrier_arrive(barrier, warp.index, lanes, waits);
}

void CheckSession::barrier_complete(emu::Cta& cta, uint32_t barrier) {
  CtaState& s = state(cta);
  BarrierPhase& b = s.barriers[barrier];
  if ((options_.tools & kSynccheck) && b.required == 0 && b.arrived_threads != 0) {
    for (const emu::Warp& warp : cta.warps) {
      const uint32_t mine = lanes_of(cta, warp);
      if ((mine & ~warp.exited) != 0) continue;
      count("barrier-divergence", Severity::warning, b.site, 0, 1, [&](Finding& f) {
        f.message = "whole warps of the block have exited before this barrier";
        f.advice =
            "the barrier completes without them; make sure that nobody needs what they would have "
            "done";
        f.where = thread_text(cta, warp.index * emu::kLanes);
        f.sites.push_back(place(b.site, "barrier"));
      });
    }
  }
  if (options_.tools & kRacecheck) {
    // A barrier with a count that threads have left behind orders only what they did before.
    if (b.waiting_threads >= (b.required == 0 ? cta.live : cta.threads))
      races_.barrier_all(s.shared);
    else {
      races_.settle(s.shared);
      s.shared.order.barrier_complete(barrier);
    }
  }
  b.arrived_threads = b.waiting_threads = 0;
}

void CheckSession::partial_barrier(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes,
                                   uint32_t missing) {
  if (unaligned(emu::place_of(*now_->program, site).text)) return;
  count("barrier-divergence", Severity::error, site, 0, uint64_t(__builtin_popcount(lanes)),
        [&](Finding& f) {
          f.message = fmt::format(
              "only part of a warp reaches this barrier: lanes {:#010x} are here, {:#010x} are not",
              lanes, missing);
          f.advice =
              "move __syncthreads() out of the branch, so that all threads of the block reach it "
              "together";
          f.where = thread_text(cta, warp.index * emu::kLanes + uint32_t(__builtin_ctz(lanes)));
          f.sites.push_back(place(site, "barrier"));
        });
}

// A mask that a warp operation names: who is missing, who should not be here.
void CheckSession::named_lanes(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t members,
                               uint32_t lanes, bool sync) {
  CtaState& s = state(cta);
  if (options_.tools & kSynccheck) {
    if ((lanes & ~members) != 0) {
      count("invalid-sync", Severity::error, site, 1,
            uint64_t(__builtin_popcount(lanes & ~members)), [&](Finding& f) {
              f.message = fmt::format(
                  "lanes {:#010x} execute this, but its mask {:#010x} does not name them",
                  lanes & ~members, members);
              f.advice =
                  "name every lane that takes part: compute the mask before the branch, with "
                  "__ballot_sync()";
              f.where = thread_text(
                  cta, warp.index * emu::kLanes + uint32_t(__builtin_ctz(lanes & ~members)));
              f.sites.push_back(place(site, "lanes outside of the mask"));
            });
    }
    const uint32_t gone = members & warp.exited & lanes_of(cta, warp);
    if (gone != 0 && !sync) {
      count("invalid-sync", Severity::warning, site, 2, uint64_t(__builtin_popcount(gone)),
            [&](Finding& f) {
              f.message = fmt::format("the mask {:#010x} names lanes {:#010x}, which have exited",
                                      members, gone);
              f.advice =
                  "name only lanes that are there, or let all lanes of the warp live until here";
              f.where = thread_text(cta, warp.index * emu::kLanes + uint32_t(__builtin_ctz(gone)));
              f.sites.push_back(place(site, "names exited lanes"));
            });
    }
  }
  Waiting& w = s.waiting[warp.index];
  // Threads may meet at __syncwarp()s in several places; other operations are one instruction.
  if (w.members != 0 && (w.members & lanes) != 0 && w.site != site &&
      (w.members != members || !w.sync || !sync))
    leaves_others_waiting(cta, warp, site, lanes, "execute another warp operation");
  if (w.members != members || w.sync != sync || (!sync && w.site != site))
    w = {site, members, 0, sync};
  w.arrived |= lanes;
  if ((w.members & ~(w.arrived | warp.exited)) != 0) return;
  const uint32_t together = w.arrived & w.members;
  w = {};
  if (!(options_.tools & kRacecheck)) return;
  if (__builtin_popcount(together) < 2) return;
  if (sync)
    races_.warp_sync(s.shared, warp.index, together);
  else
    races_.converge(s.shared, warp.index, together);
}

void CheckSession::leaves_others_waiting(emu::Cta& cta, emu::Warp& warp, uint32_t site,
                                         uint32_t lanes, const char* instead) {
  Waiting& w = state(cta).waiting[warp.index];
  const uint32_t missed = w.members & ~w.arrived & lanes;
  if (missed == 0 || !(options_.tools & kSynccheck)) return;
  count("invalid-sync", Severity::error, w.site, site, uint64_t(__builtin_popcount(missed)),
        [&](Finding& f) {
          f.message = fmt::format("the mask {:#010x} names lanes {:#010x}, which {} instead",
                                  w.members, missed, instead);
          f.advice =
              "name only the lanes that reach the instruction, or let all lanes that are named "
              "reach it";
          f.where = thread_text(cta, warp.index * emu::kLanes + uint32_t(__builtin_ctz(missed)));
          f.sites.push_back(place(w.site, "waits for them"));
          f.sites.push_back(place(site, "where they are"));
        });
}

void CheckSession::warp_sync(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t members,
                             uint32_t lanes) {
  named_lanes(cta, warp, site, members, lanes, true);
}
void CheckSession::converge(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t members,
                            uint32_t lanes) {
  named_lanes(cta, warp, site, members, lanes, false);
}

// Lanes that get the value of a lane that does not take part: it is undefined.
void CheckSession::shuffle(emu::Cta& cta, emu::Warp& warp, uint32_t site, const uint32_t* members,
                           uint32_t lanes, const uint8_t* source) {
  if (!(options_.tools & kSynccheck)) return;
  const uint32_t there = lanes_of(cta, warp) & ~warp.exited;
  uint32_t bad = 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t l = uint32_t(__builtin_ctz(left));
    if (!((members[l] & there) >> source[l] & 1) && source[l] != l) bad |= 1u << l;
  }
  if (bad == 0) return;
  count(
      "invalid-sync", Severity::warning, site, 2, uint64_t(__builtin_popcount(bad)),
      [&](Finding& f) {
        const uint32_t l = uint32_t(__builtin_ctz(bad)), from = source[l];
        f.message =
            fmt::format("lane {} reads the value of lane {}, which {}", l, from,
                        (members[l] >> from) & 1 ? "is not there" : "the mask does not name");
        f.advice =
            "read only lanes that take part: name them in the mask, or give the shuffle the width "
            "of the group";
        f.where = thread_text(cta, warp.index * emu::kLanes + l);
        f.sites.push_back(place(site, "undefined value"));
      });
}

// The arrivals of a phase release what came before them, a test that finds it over acquires it.
// Misuse is the engine's to find: it faults (kernel_fault).
void CheckSession::mbarrier(emu::Cta& cta, emu::Warp& warp, uint32_t site,
                            emu::MbarrierAction action, uint32_t lanes, const uint32_t* offset) {
  if (!(options_.tools & kRacecheck)) return;
  const bool copies = action == emu::MbarrierAction::copies,
             bulk = action == emu::MbarrierAction::bulk;
  const bool arrive = copies || bulk || action == emu::MbarrierAction::arrive;
  CtaState& s = state(cta);
  emu::Cluster& cluster = cta.cluster;
  const auto rank_of = [&](uint32_t address) { return emu::rank_in(address, cta.rank); };
  // Whose object it is; nullptr: nobody's, and the engine faults.
  const auto owner_of = [&](uint32_t address) -> CtaState* {
    if (rank_of(address) == cta.rank) return &s;
    if (rank_of(address) >= cluster.size() || cluster.cta(rank_of(address)).live == 0)
      return nullptr;
    return &state(cluster.cta(rank_of(address)));
  };
  if (copies || bulk)
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const uint32_t lane = uint32_t(__builtin_ctz(left)), at = offset[lane] & emu::kOwnMask;
      const uint32_t thread = cta.rank * cta.threads + warp.index * emu::kLanes + lane;
      CtaState* const owner = owner_of(offset[lane]);
      if (owner == nullptr) continue;
      if (bulk)
        owner->copies.tie_bulk(thread, at);
      else
        owner->copies.tie(thread, at);
    }
  const bool orders = arrive || action == emu::MbarrierAction::passed;
  if (s.cluster == nullptr && orders) races_.settle(s.shared);
  shadow::CtaOrder& order = s.shared.order;
  // Lanes by object; nearly always one.
  for (uint32_t left = lanes; left != 0;) {
    const uint32_t object = offset[__builtin_ctz(left)];
    uint32_t same = 0;
    for (uint32_t rest = left; rest != 0; rest &= rest - 1)
      if (offset[__builtin_ctz(rest)] == object) same |= rest & -rest;
    left &= ~same;
    CtaState* const owner = owner_of(object);
    if (owner == nullptr) continue;
    mbarrier_order(cta, warp, site, action, same, object & emu::kOwnMask, *owner);
    if (!orders) continue;
    if (!arrive) owner->copies.passed(object & emu::kOwnMask);
    if (s.cluster != nullptr) {
      const uint64_t key = uint64_t(rank_of(object)) << 32 | (object & emu::kOwnMask);
      if (arrive) {
        shadow::CtaOrder::merge(s.cluster->mbarriers[key], order.hand_over(warp.index, same));
        if (owner != &s)
          owner->remote[{site, order.cta(), warp.index}] = {
              order.now(warp.index * emu::kLanes + uint32_t(__builtin_ctz(same))),
              emu::AccessKind::atomic,
              s.cluster->completed + uint32_t((warp.cluster_arrived & same) != 0), true};
      } else if (const auto it = s.cluster->mbarriers.find(key); it != s.cluster->mbarriers.end()) {
        races_.order().receive(order, warp.index, same, it->second);
      }
    } else if (arrive) {
      order.mbarrier_arrive(object, warp.index, same);
    } else {
      order.mbarrier_passed(object, warp.index, same);
    }
  }
}

// ---- clusters ----

// The barrier of a cluster of one CTA, among the CTA's mbarriers: no offset of one.
constexpr uint32_t kOwnCluster = 0x80000000;

// The barrier is open again when those who have arrived have waited: a thread does both in turn. One
// that arrives twice in a phase is the engine's to say (kernel_fault).
void CheckSession::out_of_turn(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes,
                               bool waits) {
  uint32_t& owed = state(cta).cluster_owed[warp.index];
  const uint32_t wrong = waits ? lanes & ~owed : lanes & owed & ~warp.cluster_arrived;
  owed = waits ? owed & ~lanes : owed | lanes;
  if (wrong == 0 || !(options_.tools & kSynccheck)) return;
  count("invalid-sync", Severity::error, site, 3, uint64_t(__builtin_popcount(wrong)),
        [&](Finding& f) {
          f.message = waits ? "a thread waits at the barrier of the cluster without having arrived"
                            : "a thread arrives at the barrier of the cluster again without having "
                              "waited for the phase before";
          f.advice =
              "every thread arrives once (barrier.cluster.arrive), then waits "
              "(barrier.cluster.wait), before it arrives again";
          f.where = thread_text(cta, warp.index * emu::kLanes + uint32_t(__builtin_ctz(wrong)));
          f.sites.push_back(place(site, "barrier"));
        });
}

void CheckSession::cluster_arrive(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes,
                                  bool release) {
  leaves_others_waiting(cta, warp, site, lanes, "arrive at the cluster's barrier");
  out_of_turn(cta, warp, site, lanes, false);
  if (!(options_.tools & kRacecheck)) return;
  CtaState& s = state(cta);
  if (s.cluster != nullptr) {
    shadow::CtaOrder::merge(s.cluster->arriving,
                            s.shared.order.hand_over(warp.index, lanes, !release));
  } else {
    races_.settle(s.shared);
    s.shared.order.mbarrier_arrive(kOwnCluster, warp.index, lanes);
  }
}

void CheckSession::cluster_complete(emu::Cluster& cluster) {
  CtaState& s = state(cluster.cta(0));
  if (s.cluster == nullptr) return;
  s.cluster->passed = std::move(s.cluster->arriving);
  s.cluster->arriving = {};
  ++s.cluster->completed;
}

void CheckSession::cluster_wait(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes,
                                bool passed) {
  if (!passed) {
    leaves_others_waiting(cta, warp, site, lanes, "wait at the cluster's barrier");
    out_of_turn(cta, warp, site, lanes, true);
    return;
  }
  if (!(options_.tools & kRacecheck)) return;
  CtaState& s = state(cta);
  if (s.cluster != nullptr) {
    races_.order().receive(s.shared.order, warp.index, lanes, s.cluster->passed);
    s.passed_phases = s.cluster->completed;
  } else {
    races_.settle(s.shared);
    s.shared.order.mbarrier_passed(kOwnCluster, warp.index, lanes);
  }
}

void CheckSession::fence(emu::Cta& cta, emu::Warp& warp, uint32_t, uint8_t, uint8_t scope,
                         uint32_t lanes) {
  if (!(options_.tools & kRacecheck) || scope == isa::kScopeNone) return;
  CtaState& s = state(cta);
  races_.settle(s.shared);
  races_.order().fence(s.shared.order, warp.index, lanes, scope >= isa::kScopeCluster);
}

void CheckSession::exit(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes) {
  leaves_others_waiting(cta, warp, site, lanes, "exit");
  CtaState& s = state(cta);
  s.exited += uint32_t(__builtin_popcount(lanes));
  // Those that wait for these lanes go on without them.
  Waiting& w = s.waiting[warp.index];
  if (w.members != 0 && (w.members & ~(w.arrived | warp.exited | lanes)) == 0) {
    const uint32_t together = w.arrived & w.members;
    const bool sync = w.sync;
    w = {};
    if ((options_.tools & kRacecheck) && __builtin_popcount(together) >= 2) {
      if (sync)
        races_.warp_sync(s.shared, warp.index, together);
      else
        races_.converge(s.shared, warp.index, together);
    }
  }
}

}  // namespace tw::observe
