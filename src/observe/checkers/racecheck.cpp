// racecheck: feeds accesses and synchronisation to the core in src/shadow and words what it finds.
#include <fmt/format.h>

#include <cstring>

#include "observe/checkers/session.h"

namespace tw::observe {

using emu::AccessKind;
using emu::AccessSpace;
using report::Finding;
using report::Severity;

class CheckSession::Values final : public shadow::StoreValues {
 public:
  explicit Values(const Resolved& r) : r_(r) {}
  bool unchanged(uint32_t lane) const override {
    const emu::AccessSite& site = r_.a.site;
    const uint64_t base = r_.space == AccessSpace::global ? r_.shadow->allocation.address : r_.high;
    const uint8_t* at =
        emu::lane_pointer(&r_.a.warp, r_.space, r_.address[lane] + base, site.bytes, lane);
    if (at == nullptr) return false;
    const uint32_t bytes = site.bytes / site.elements;
    for (uint32_t e = 0; e < site.elements; ++e) {
      uint64_t there = 0;
      std::memcpy(&there, at + e * bytes, bytes);
      if (there != r_.a.value(e, lane)) return false;
    }
    return true;
  }
  bool same(uint32_t lane, uint32_t other) const override {
    if (r_.address[lane] != r_.address[other]) return false;
    for (uint32_t e = 0; e < r_.a.site.elements; ++e)
      if (r_.a.value(e, lane) != r_.a.value(e, other)) return false;
    return true;
  }

 private:
  const Resolved& r_;
};

void CheckSession::racecheck(Resolved& r) {
  const emu::AccessSite& site = r.a.site;
  const bool shared = r.space == AccessSpace::shared;
  if (!shared && now_->followed) touch(r);
  shadow::WarpAccess w;
  w.warp = r.a.warp.index;
  w.lanes = r.lanes;
  const bool lines = !shared || r.owner->cluster != nullptr;
  w.site = lines ? site.group : site.site;
  w.bytes = site.bytes;
  w.type = site.kind == AccessKind::read    ? shadow::AccessType::read
           : site.kind == AccessKind::write ? shadow::AccessType::write
                                            : shadow::AccessType::atomic;
  w.strong = site.ordering != isa::kWeak;
  w.wide = site.ordering == isa::kVolatile || site.scope >= isa::kScopeCluster;
  w.offsets = r.address;
  const Values values(r);
  if (site.kind == AccessKind::write) w.values = &values;

  shadow::CtaOrder& order = r.cta->shared.order;
  w.objects = shared ? (uint64_t(r.owner->shared.order.cta()) << 32) | 1ull << 63
                     : r.shadow->allocation.address;
  if (w.strong) {
    const bool acquire = site.ordering == isa::kAcquire || site.ordering == isa::kAcqRel ||
                         site.ordering == isa::kSc;
    const bool release = site.ordering == isa::kRelease || site.ordering == isa::kAcqRel ||
                         site.ordering == isa::kSc;
    // What this access acquires counts for it already.
    if (acquire && site.kind != AccessKind::write) races_.settle(r.cta->shared);
    for (uint32_t left = r.lanes; left != 0; left &= left - 1) {
      const uint32_t lane = uint32_t(__builtin_ctz(left)),
                     thread = r.a.warp.index * emu::kLanes + lane;
      const uint64_t object = w.objects + r.address[lane];
      if (site.kind != AccessKind::write)
        races_.order().strong_read(order, thread, object, acquire, w.wide, w.bytes);
      if (site.kind != AccessKind::read)
        races_.order().strong_write(order, thread, object, release, w.wide,
                                    site.kind == AccessKind::atomic, w.bytes);
    }
  }
  racing_ = &r;
  racing_shared_ = shared;
  if (shared && lines) {
    races_.access_global(r.owner->lines, order, w);
  } else if (shared) {
    races_.access_shared(r.cta->shared, w, &site.log);
  } else {
    if (r.shadow->lines.bytes() == 0) r.shadow->lines.reset(r.shadow->allocation.bytes);
    races_.access_global(
        r.shadow->lines, order, w,
        r.shadow->tracked && (options_.tools & kInitcheck) ? &r.shadow->written.view : nullptr);
  }
  racing_ = nullptr;
}

// CUB's compactions may work in place: a block overwrites what another one has read, and knows so
// from a flag of that block which depends on what it read. No release says so, but nothing else can
// happen, and users of the library can do nothing about it.
bool CheckSession::ordered_by_cub(uint32_t read, uint32_t write) {
  const auto [known, fresh] = now_->of_cub.try_emplace(uint64_t(read) << 32 | write, false);
  if (fresh) {
    const std::string from = place(read, "").file, to = place(write, "").file;
    const auto within = [](const std::string& file, const char* folder) {
      return file.find(folder) != std::string::npos;
    };
    known->second =
        within(from, "/cub/") && (within(to, "/cub/") || within(to, "/thrust/system/cuda/"));
  }
  return known->second;
}

void CheckSession::on_race(const shadow::Race& race) {
  const bool shared = racing_ == nullptr || racing_shared_;
  const CtaNumber &first = numbers_[race.first.cta], &second = numbers_[race.second.cta];
  const bool kernels = first.launch != second.launch;
  const bool first_writes = race.first.type != shadow::AccessType::read,
             second_writes = race.second.type != shadow::AccessType::read;
  const char* hazard = first_writes && second_writes ? "write after write"
                       : first_writes                ? "read after write"
                                                     : "write after read";
  const bool warp = race.first.cta == race.second.cta && race.first.warp == race.second.warp;
  const bool block = race.first.cta == race.second.cta;
  const bool scoped = race.first.strong && race.second.strong;  // strong, but not for one another
  const bool by_cub = !shared && !block && !kernels && !first_writes && second_writes &&
                      ordered_by_cub(race.first.site, race.second.site);
  Severity severity = race.unchanged || by_cub ? Severity::note
                      : race.converged         ? Severity::warning
                                               : Severity::error;
  // The pair is the same whichever came first.
  uint32_t a = race.first.site, b = race.second.site;
  if (a > b) std::swap(a, b);
  count(shared ? "race-shared" : "race-global", severity, a, b, 1, [&](Finding& f) {
    auto word = [](const shadow::Record& r) {
      return r.type == shadow::AccessType::atomic  ? "atomic access"
             : r.type == shadow::AccessType::write ? "write"
                                                   : "read";
    };
    f.message =
        fmt::format("{}: two {} access the same {} memory without an order between them", hazard,
                    kernels  ? "kernels that run at the same time"
                    : warp   ? "threads of a warp"
                    : block  ? "warps of a block"
                    : shared ? "blocks of a cluster"
                             : "blocks",
                    shared ? "shared" : "global");
    if (race.unchanged) f.message += "; the write stores the value that is there already";
    if (by_cub) f.message += "; both are CUB's, which orders them by what is read";
    if (scoped)
      f.message += "; both are strong, but their scope does not cover the other block";
    else if (race.first.type == shadow::AccessType::atomic ||
             race.second.type == shadow::AccessType::atomic)
      f.message += "; one is atomic, the other is not";
    if (race.converged) {
      f.message += "; a shuffle or vote lies between them, which does not order memory";
      f.advice = "put __syncwarp() between the two accesses";
    } else if (scoped) {
      f.advice =
          "use device scope: atomicAdd instead of atomicAdd_block, __threadfence() instead of "
          "__threadfence_block()";
    } else if (kernels) {
      f.advice =
          "put both kernels into one stream, or let one stream wait for an event of the other";
    } else if (warp && race.first.site == race.second.site && race.first.time == race.second.time) {
      f.advice =
          "lanes write one place in the same instruction: let one of them write, or use an atomic "
          "operation";
    } else if (warp) {
      f.advice =
          now_->launch.block.x * now_->launch.block.y * now_->launch.block.z > emu::kLanes
              ? "put __syncthreads() between the two accesses, or __syncwarp() if only lanes of "
                "one warp share this data"
              : "put __syncwarp() between the two accesses: lanes of a warp do not run in lockstep";
    } else if (block) {
      f.advice = "put __syncthreads() between the two accesses";
    } else if (shared) {
      f.advice =
          "put cluster.sync() between the two accesses (barrier.cluster.arrive and wait), or an "
          "mbarrier "
          "at which the one arrives, with mapa, and for which the other waits";
    } else {
      f.advice =
          "blocks are ordered by the end of the kernel, by grid.sync(), or by a flag released with "
          "device scope and acquired by the reader";
    }
    f.where = fmt::format("{} and {}, {} {:#x}",
                          thread_text(*first.launch, first.linear, race.first_thread),
                          thread_text(*second.launch, second.linear, race.second_thread),
                          shared ? "shared address" : "offset", race.offset);
    if (!shared && racing_ != nullptr) {
      const emu::Allocation& m = racing_->shadow->allocation;
      f.allocation = m.label.empty()
                         ? fmt::format("the allocation of {} bytes at {:#x}", m.bytes, m.address)
                         : fmt::format("'{}'", m.label);
    }
    f.sites.push_back(place(*first.launch->program, race.first.site, word(race.first)));
    f.sites.push_back(place(*second.launch->program, race.second.site, word(race.second)));
    if (!shared && racing_ != nullptr && racing_->shadow->allocated)
      f.sites.push_back(host_site(*racing_->shadow->allocated, "allocated"));
    if (kernels && first.launch->launched)
      f.sites.push_back(host_site(*first.launch->launched, "launched"));
  });
}

}  // namespace tw::observe
