// An access on its way to the checkers: which memory each lane means.
#include <fmt/format.h>

#include "emu/windows.h"
#include "observe/checkers/session.h"

namespace tw::observe {

using emu::AccessKind;
using emu::AccessSpace;
using emu::kLanes;
using report::Finding;
using report::Severity;

namespace {

constexpr uint32_t first_lane(uint32_t lanes) { return uint32_t(__builtin_ctz(lanes)); }

// Lanes that take no part get the address of one that does, so that all 32 can be looked at alike.
void fill_idle(uint64_t* address, uint32_t lanes) {
  for (uint32_t left = ~lanes; left != 0; left &= left - 1)
    address[first_lane(left)] = address[first_lane(lanes)];
}

std::string block_of(const emu::Cta& cta) {
  return fmt::format("block ({}, {}, {})", cta.index[0], cta.index[1], cta.index[2]);
}

}  // namespace

uint32_t CheckSession::access(const emu::Access& a) {
  alignas(64) uint64_t address[kLanes];
  const uint64_t offset = uint64_t(a.op.imm);
  if (a.narrow()) {
    const auto* from = reinterpret_cast<const uint32_t*>(a.frame + a.op.a);
    if (a.site.address_uniform)
      for (uint64_t& to : address) to = uint32_t(from[0] + uint32_t(offset));
    else
      for (uint32_t l = 0; l < kLanes; ++l) address[l] = uint32_t(from[l] + uint32_t(offset));
  } else {
    const auto* from = reinterpret_cast<const uint64_t*>(a.frame + a.op.a);
    if (a.site.address_uniform)
      for (uint64_t& to : address) to = from[0] + offset;
    else
      for (uint32_t l = 0; l < kLanes; ++l) address[l] = from[l] + offset;
  }
  if (a.lanes != emu::kFullMask) fill_idle(address, a.lanes);
  uint32_t parts[3] = {0, 0, 0};  // shared, local, global
  if (a.site.space == AccessSpace::shared)
    parts[0] = a.lanes;
  else if (a.site.space == AccessSpace::local)
    parts[1] = a.lanes;
  else if (a.site.space == AccessSpace::global)
    parts[2] = a.lanes;
  else
    for (uint32_t left = a.lanes; left != 0; left &= left - 1) {
      const uint32_t l = first_lane(left);
      parts[emu::in_shared_window(address[l])  ? 0
            : emu::in_local_window(address[l]) ? 1
                                               : 2] |= 1u << l;
    }
  uint32_t kept = 0;
  for (uint32_t part = 0; part < 2; ++part) {
    if (parts[part] == 0) continue;
    if (part == 0 && a.cta.cluster.size() > 1) {
      kept |= cluster_access(a, parts[part], address);
      continue;
    }
    alignas(64) uint64_t offsets[kLanes];
    const uint64_t window = a.narrow() ? 0 : part == 0 ? emu::kSharedWindow : emu::kLocalWindow;
    for (uint32_t l = 0; l < kLanes; ++l) offsets[l] = address[l] - window;
    if (parts[part] != a.lanes) fill_idle(offsets, parts[part]);
    Resolved r{a,
               part == 0 ? AccessSpace::shared : AccessSpace::local,
               parts[part],
               offsets,
               nullptr,
               &state(a.cta),
               &state(a.cta)};
    kept |= resolved_access(r);
  }
  if (parts[2] != 0) kept |= global_access(a, parts[2], address);
  return kept;
}

// By the CTA that they mean.
uint32_t CheckSession::cluster_access(const emu::Access& a, uint32_t lanes,
                                      const uint64_t* address) {
  emu::Cluster& cluster = a.cta.cluster;
  uint32_t kept = 0;
  for (uint32_t left = lanes; left != 0;) {
    const uint32_t first = first_lane(left);
    const auto high_of = [&](uint32_t l) { return uint32_t(address[l]) & ~emu::kOwnMask; };
    const uint32_t high = high_of(first), rank = emu::rank_in(high, a.cta.rank);
    uint32_t here = 0;
    for (uint32_t rest = left; rest != 0; rest &= rest - 1)
      if (high_of(first_lane(rest)) == high) here |= rest & -rest;
    left &= ~here;
    alignas(64) uint64_t offsets[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) offsets[l] = uint32_t(address[l]) & emu::kOwnMask;
    fill_idle(offsets, here);
    // Nor do ld.shared and st.shared reach another block.
    if (rank >= cluster.size() || (high != 0 && a.narrow() && !a.site.bulk)) {
      for (uint32_t rest = here; rest != 0; rest &= rest - 1)
        memcheck_lane(a, AccessSpace::shared, first_lane(rest),
                      uint32_t(address[first_lane(rest)]));
      continue;
    }
    emu::Cta& owner = cluster.cta(rank);
    if (owner.live == 0) {
      left_too_early(
          fmt::format("{} and {}, which has exited",
                      thread_text(a.cta, a.warp.index * kLanes + first), block_of(owner)),
          a.site.site, a.site.kind);
      continue;
    }
    Resolved r{a,       AccessSpace::shared, here,          offsets,
               nullptr, &state(a.cta),       &state(owner), rank == a.cta.rank ? 0 : high};
    kept |= resolved_access(r);
  }
  return kept;
}

// A block's shared memory goes with it: what others do there must come before its end.
void CheckSession::note_remote(const Resolved& r) {
  const shadow::CtaOrder& order = r.cta->shared.order;
  const uint32_t thread = r.a.warp.index * kLanes + first_lane(r.lanes);
  const bool arrived = (r.a.warp.cluster_arrived & r.lanes) != 0;
  r.owner->remote[{r.a.site.site, order.cta(), r.a.warp.index}] = {
      order.now(thread), r.a.site.kind, r.cta->cluster->completed + arrived};
}

void CheckSession::check_remote(emu::Cta& cta) {
  CtaState& s = state(cta);
  for (const auto& [key, access] : s.remote) {
    // What has been read is there when its threads arrive, be it without a release; arrivals at
    // mbarriers are taken to be over, too.
    const bool over = access.kind == AccessKind::read || access.arrival;
    bool known = over && s.passed_phases > access.phase;
    for (uint32_t t = 0; t < cta.threads && !known; ++t)
      known = races_.order().ordered(s.shared.order, t, access.at);
    if (known) continue;
    const CtaNumber& other = numbers_[access.at.cta];
    left_too_early(
        fmt::format("{} and {}, which exits",
                    thread_text(*other.launch, other.linear, access.at.thread), block_of(cta)),
        std::get<0>(key), access.kind);
  }
  s.remote.clear();
}

void CheckSession::left_too_early(const std::string& where, uint32_t site, AccessKind kind) {
  if (!(options_.tools & (kRacecheck | kMemcheck))) return;
  count("race-shared", Severity::error, site, ~0u, 1, [&](Finding& f) {
    const char* verb = kind == AccessKind::read    ? "read"
                       : kind == AccessKind::write ? "write"
                                                   : "atomic access";
    f.message = fmt::format(
        "{} of the shared memory of another block of the cluster, which may have exited: nothing "
        "orders it before that block's end",
        verb);
    f.advice =
        "end the kernel with cluster.sync() (barrier.cluster.arrive and wait), so that every block "
        "stays until the others are done with its shared memory";
    f.where = where;
    f.sites.push_back(place(site, verb));
  });
}

uint32_t CheckSession::resolved_access(Resolved& r) {
  if (r.space != AccessSpace::global) r.lanes = memcheck_narrow(r);
  if (r.lanes == 0) return 0;
  // Local memory is a thread's own: racecheck has nothing to say.
  if ((options_.tools & kRacecheck) && r.space != AccessSpace::local) {
    racecheck(r);
    const bool copy = r.a.site.async && r.a.site.kind == emu::AccessKind::write;
    if (r.space == AccessSpace::shared && (copy || r.owner->copies.any())) async_access(r);
    if (r.space == AccessSpace::shared && r.a.cta.program.async_shared) async_reads(r);
    if (r.owner != r.cta) note_remote(r);
  }
  if (options_.tools & kInitcheck) initcheck(r);
  return r.lanes;
}

// What the handlers may pass over at this site, as long as it accesses this allocation.
void CheckSession::bind_filter(const emu::AccessSite& site) {
  const SiteState& s = now_->sites[site.site];
  shadow::CtaFilter::Site& f = now_->filters[site.site];
  f = {};
  if (now_->followed) return;  // what a stream's kernel touches is noted
  if (options_.tools & kRacecheck) {
    if (s.shadow->lines.bytes() == 0) s.shadow->lines.reset(s.shadow->allocation.bytes);
    f.tags = s.shadow->lines.tags();
    f.lines = &s.shadow->lines;
    if ((options_.tools & kInitcheck) && s.shadow->tracked) f.written = &s.shadow->written.view;
  } else if (!(options_.tools & kInitcheck) || !s.shadow->tracked ||
             s.shadow->written.left() == 0) {
    f.always = true;
  } else {
    return;
  }
  f.low = s.low;
  f.bias = int64_t(reinterpret_cast<uint64_t>(s.shadow->allocation.host) - s.low);
  f.span = s.span - site.bytes;
}

// Lanes by the allocation they fall into; nearly always all of them into the site's last one.
uint32_t CheckSession::global_access(const emu::Access& a, uint32_t lanes,
                                     const uint64_t* address) {
  SiteState& site = now_->sites[a.site.site];
  const uint32_t bytes = a.site.bytes;
  uint32_t kept = 0, left = lanes;
  while (left != 0) {
    alignas(64) uint64_t offsets[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) offsets[l] = address[l] - site.low;
    uint32_t here = 0;
    uint64_t bad = 0;
    if (left == lanes)
      for (uint32_t l = 0; l < kLanes; ++l)
        bad |= (offsets[l] | (site.span - bytes - offsets[l])) >> 63 | (address[l] & (bytes - 1));
    if (left == lanes && bad == 0 && bytes <= site.span) {
      here = lanes;
    } else {
      for (uint32_t rest = left; rest != 0; rest &= rest - 1) {
        const uint32_t l = first_lane(rest);
        if (offsets[l] < site.span && offsets[l] + bytes <= site.span &&
            (address[l] & (bytes - 1)) == 0)
          here |= 1u << l;
      }
    }
    if (here == 0) {
      const uint32_t l = first_lane(left);
      const uint8_t* at =
          (address[l] & (bytes - 1)) == 0
              ? emu::lane_pointer(&a.warp, AccessSpace::global, address[l], bytes, l)
              : nullptr;
      if (at == nullptr) {
        memcheck_lane(a, AccessSpace::global, l, address[l]);
        left &= ~(1u << l);
        continue;
      }
      site.shadow = find_shadow(address[l]);
      if (site.shadow == nullptr) {
        kept |= 1u << l;
        left &= ~(1u << l);
        continue;
      }
      site.low = site.shadow->allocation.address;
      site.span = site.shadow->allocation.bytes;
      bind_filter(a.site);
      continue;
    }
    CtaState* const mine = &state(a.cta);
    Resolved r{a, AccessSpace::global, here, offsets, site.shadow, mine, mine};
    kept |= resolved_access(r);
    left &= ~here;
  }
  if (!(options_.tools & kRacecheck) && site.shadow != nullptr) bind_filter(a.site);
  return kept;
}

}  // namespace tw::observe
