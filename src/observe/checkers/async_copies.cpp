// racecheck of asynchronous copies: the engine has carried a copy out when it starts
// (emu/lower_async.cpp); here its bytes are nobody's until its thread has waited. Order among
// threads is racecheck.cpp's: there a copy is a write at its start.
#include <fmt/format.h>

#include "observe/checkers/session.h"

namespace tw::observe {

using emu::AccessKind;
using report::Finding;
using report::Severity;

void CheckSession::async_access(const Resolved& r) {
  shadow::AsyncCopies& copies = r.owner->copies;
  const emu::AccessSite& site = r.a.site;
  const bool is_copy = site.async && site.kind == AccessKind::write;
  for (uint32_t left = r.lanes; left != 0; left &= left - 1) {
    const uint32_t lane = uint32_t(__builtin_ctz(left));
    // Those of a cluster one after the other, by rank.
    const uint32_t ranks = r.a.cta.rank * r.a.cta.threads,
                   thread = ranks + r.a.warp.index * emu::kLanes + lane;
    const shadow::AsyncCopies::Copy* found = copies.find(r.address[lane], site.bytes);
    if (found != nullptr) {
      const shadow::AsyncCopies::Copy copy = *found;
      count("race-shared", Severity::error, copy.site, site.site, 1, [&](Finding& f) {
        const bool own = copy.thread == thread;
        const char* what = is_copy                          ? "write after write: a copy to"
                           : site.kind == AccessKind::write ? "write after write: a write to"
                           : site.kind == AccessKind::read  ? "read after write: a read of"
                                                            : "an atomic access to";
        f.message = fmt::format(
            "{} bytes that an asynchronous copy may still be writing: {} has not waited for it",
            what, own ? "the thread" : "the thread that started it");
        f.advice =
            copy.bulk ? "wait for the phase of the copy's mbarrier (mbarrier.try_wait, "
                        "cuda::barrier::wait), in every thread that uses the bytes"
            : own ? "wait for the copy's group before (cp.async.wait_group, __pipeline_wait_prior, "
                    "cooperative_groups::wait)"
                  : "the thread that starts a copy waits for its group (cp.async.wait_group, "
                    "__pipeline_wait_prior); then __syncthreads() makes it known to the others";
        f.where = fmt::format("{} and {}, shared address {:#x}",
                              thread_text(r.a.cta.cluster.cta(copy.thread / r.a.cta.threads),
                                          copy.thread % r.a.cta.threads),
                              thread_text(r.a.cta, thread - ranks), r.address[lane]);
        f.sites.push_back(place(copy.site, "asynchronous copy"));
        f.sites.push_back(place(site.site, is_copy                          ? "asynchronous copy"
                                           : site.kind == AccessKind::write ? "write"
                                           : site.kind == AccessKind::read  ? "read"
                                                                            : "atomic access"));
      });
    }
    if (is_copy) copies.begin(thread, site.site, r.address[lane], site.bytes, site.bulk);
  }
}

void CheckSession::async_commit(emu::Cta& cta, emu::Warp& warp, uint32_t lanes) {
  for (; lanes != 0; lanes &= lanes - 1)
    state(cta).copies.commit(cta.rank * cta.threads + warp.index * emu::kLanes +
                             uint32_t(__builtin_ctz(lanes)));
}

void CheckSession::async_wait(emu::Cta& cta, emu::Warp& warp, uint32_t lanes, uint32_t keep) {
  for (; lanes != 0; lanes &= lanes - 1)
    state(cta).copies.wait(
        cta.rank * cta.threads + warp.index * emu::kLanes + uint32_t(__builtin_ctz(lanes)), keep);
}

}  // namespace tw::observe
