// An access on its way to the checkers: which memory each lane means.
#include "emu/windows.h"
#include "observe/checkers/session.h"

namespace tw::observe {

using emu::AccessSpace;
using emu::kLanes;

namespace {

constexpr uint32_t first_lane(uint32_t lanes) { return uint32_t(__builtin_ctz(lanes)); }

// Lanes that take no part get the address of one that does, so that all 32 can be looked at alike.
void fill_idle(uint64_t* address, uint32_t lanes) {
  for (uint32_t left = ~lanes; left != 0; left &= left - 1)
    address[first_lane(left)] = address[first_lane(lanes)];
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
    alignas(64) uint64_t offsets[kLanes];
    const uint64_t window = a.narrow() ? 0 : part == 0 ? emu::kSharedWindow : emu::kLocalWindow;
    for (uint32_t l = 0; l < kLanes; ++l) offsets[l] = address[l] - window;
    if (parts[part] != a.lanes) fill_idle(offsets, parts[part]);
    Resolved r{a,           part == 0 ? AccessSpace::shared : AccessSpace::local,
               parts[part], offsets,
               nullptr,     &state(a.cta)};
    kept |= resolved_access(r);
  }
  if (parts[2] != 0) kept |= global_access(a, parts[2], address);
  return kept;
}

uint32_t CheckSession::resolved_access(Resolved& r) {
  if (r.space != AccessSpace::global) r.lanes = memcheck_narrow(r);
  if (r.lanes == 0) return 0;
  // Local memory is a thread's own: racecheck has nothing to say.
  if ((options_.tools & kRacecheck) && r.space != AccessSpace::local) {
    racecheck(r);
    const bool copy = r.a.site.async && r.a.site.kind == emu::AccessKind::write;
    if (r.space == AccessSpace::shared && (copy || r.cta->copies.any())) async_access(r);
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
    Resolved r{a, AccessSpace::global, here, offsets, site.shadow, &state(a.cta)};
    kept |= resolved_access(r);
    left &= ~here;
  }
  if (!(options_.tools & kRacecheck) && site.shadow != nullptr) bind_filter(a.site);
  return kept;
}

}  // namespace tw::observe
