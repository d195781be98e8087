// racecheck of what the asynchronous proxy reads in shared memory (products of WGMMA, bulk copies out
// of it), and of mbarriers that are used before they are known to be initialised. The engine has
// carried a product or copy out when it starts; here its bytes may not be written until it has been
// waited for, and what threads have written there needs a fence.proxy.async. Order among threads is
// racecheck.cpp's: there a product or copy is a read at its start.
#include <fmt/format.h>

#include "emu/windows.h"
#include "observe/checkers/session.h"

namespace tw::observe {

using emu::AccessKind;
using report::Finding;
using report::Severity;

void CheckSession::async_reads(const Resolved& r) {
  shadow::AsyncReads& reads = r.owner->reads;
  const emu::AccessSite& site = r.a.site;
  const bool reads_async = site.async && site.kind == AccessKind::read,
             product = reads_async && !site.bulk, own = r.owner == r.cta;
  const uint32_t epoch = r.owner->shared.order.epoch();
  for (uint32_t left = r.lanes; left != 0; left &= left - 1) {
    const uint32_t lane = uint32_t(__builtin_ctz(left)),
                   thread = r.a.warp.index * emu::kLanes + lane;
    const uint64_t offset = r.address[lane];
    if (site.kind != AccessKind::read) {
      shadow::AsyncReads::Pending found;
      if (reads.pending(offset, site.bytes, &found))
        count("race-shared", Severity::error, found.site, site.site, 1, [&](Finding& f) {
          f.message = fmt::format(
              "write after read: {} bytes that {} may still be reading: {} waited for it",
              site.async ? "a copy to" : "a write to",
              found.product ? "a product of wgmma" : "a bulk copy to global memory",
              found.product ? "no warp of its warpgroup has"
                            : "the thread that started it has not");
          f.advice =
              found.product
                  ? "wait for the product's group first (wgmma.wait_group), in every warp of the "
                    "warpgroup, and let those who write know by a barrier or an mbarrier"
                  : "let the thread that started the copy wait for its group "
                    "(cp.async.bulk.wait_group.read), and let those who write know by a barrier";
          f.where = fmt::format(
              "{} and {}, shared address {:#x}",
              thread_text(r.a.cta.cluster.cta(emu::rank_in(r.high, r.a.cta.rank)), found.thread),
              thread_text(r.a.cta, thread), offset);
          f.sites.push_back(place(found.site, found.product ? "product" : "bulk copy"));
          f.sites.push_back(place(site.site, site.async ? "asynchronous copy" : "write"));
        });
      // Copies of cp.async write as their thread does, bulk copies as the asynchronous proxy.
      if (site.bulk || !own)
        reads.overwritten(offset, site.bytes);
      else
        reads.write(thread, site.site, offset, site.bytes, epoch);
    } else if (reads_async && own) {
      if (const shadow::AsyncReads::Write* w = reads.unfenced(offset, site.bytes); w != nullptr)
        count("proxy-fence", Severity::error, w->site, site.site, 1, [&](Finding& f) {
          f.message = fmt::format(
              "{} reads shared memory that a thread has written, without a fence.proxy.async "
              "between the two",
              product ? "a product of wgmma" : "a bulk copy");
          f.advice =
              "put fence.proxy.async.shared::cta (cuda::ptx::fence_proxy_async) behind the write, "
              "in the thread that writes, before the barrier that lets the other go on";
          f.where = fmt::format("{} and {}, shared address {:#x}", thread_text(r.a.cta, w->thread),
                                thread_text(r.a.cta, thread), offset);
          f.sites.push_back(place(w->site, "write"));
          f.sites.push_back(place(site.site, product ? "product" : "bulk copy"));
        });
      if (product)
        reads.product(r.a.warp.index, site.site, offset, site.bytes);
      else if (site.bulk_group)
        reads.copy(thread, site.site, offset, site.bytes);
    }
  }
}

// A block's shared memory goes with it: bulk copies from there or to there must be over.
void CheckSession::copies_at_end(emu::Cta& cta) {
  CtaState& s = state(cta);
  shadow::AsyncReads::Pending read;
  const bool out = s.reads.pending_copy(&read);
  const shadow::AsyncCopies::Copy* const in = s.copies.pending_bulk();
  const auto name = [&](uint32_t site, const emu::Cta& starter, uint32_t thread, bool reads) {
    count("race-shared", Severity::error, site, ~0u, 1, [&](Finding& f) {
      f.message = fmt::format("the block ends while a bulk copy may still be {} its shared memory",
                              reads ? "reading" : "writing");
      f.advice = reads ? "let the thread that started the copy wait for its group at the end "
                         "(cp.async.bulk.wait_group.read 0)"
                       : "wait for the phase of the copy's mbarrier before the end, or start no "
                         "copy that nobody uses";
      f.where = thread_text(starter, thread);
      f.sites.push_back(place(site, "bulk copy"));
    });
  };
  if (out) name(read.site, cta, read.thread, true);
  if (in != nullptr)
    name(in->site, cta.cluster.cta(in->thread / cta.threads), in->thread % cta.threads, false);
}

// A group is complete when the whole warpgroup has done its part.
void CheckSession::wgmma_commit(emu::Cta& cta, emu::Warp& warp, uint32_t lanes) {
  if (!(options_.tools & kRacecheck)) return;
  CtaState& s = state(cta);
  if (s.cluster == nullptr) races_.settle(s.shared);
  s.shared.order.mbarrier_arrive(~(warp.index / 4), warp.index, lanes);  // no mbarrier's offset
  s.reads.product_commit(warp.index);
}

void CheckSession::wgmma_wait(emu::Cta& cta, emu::Warp& warp, uint32_t lanes, uint32_t keep) {
  if (!(options_.tools & kRacecheck)) return;
  CtaState& s = state(cta);
  if (s.cluster == nullptr) races_.settle(s.shared);
  s.shared.order.mbarrier_passed(~(warp.index / 4), warp.index, lanes);
  s.reads.product_wait(warp.index, keep);
}

void CheckSession::bulk_commit(emu::Cta& cta, emu::Warp& warp, uint32_t lanes) {
  if (!(options_.tools & kRacecheck)) return;
  for (; lanes != 0; lanes &= lanes - 1)
    state(cta).reads.copy_commit(warp.index * emu::kLanes + uint32_t(__builtin_ctz(lanes)));
}

void CheckSession::bulk_wait(emu::Cta& cta, emu::Warp& warp, uint32_t lanes, uint32_t keep) {
  if (!(options_.tools & kRacecheck)) return;
  for (; lanes != 0; lanes &= lanes - 1)
    state(cta).reads.copy_wait(warp.index * emu::kLanes + uint32_t(__builtin_ctz(lanes)), keep);
}

void CheckSession::proxy_fence(emu::Cta& cta, emu::Warp& warp, uint32_t lanes) {
  if (!(options_.tools & kRacecheck)) return;
  CtaState& s = state(cta);
  const shadow::CtaOrder& order = s.shared.order;
  for (; lanes != 0; lanes &= lanes - 1)
    s.reads.fence(warp.index * emu::kLanes + uint32_t(__builtin_ctz(lanes)), order.epoch(),
                  !order.plain());
}

// Lanes use an mbarrier of `owner`: its initialisation must come before.
void CheckSession::mbarrier_order(emu::Cta& cta, emu::Warp& warp, uint32_t site,
                                  emu::MbarrierAction action, uint32_t lanes, uint32_t object,
                                  CtaState& owner) {
  const shadow::CtaOrder& order = state(cta).shared.order;
  if (action == emu::MbarrierAction::init) {
    const uint32_t thread = warp.index * emu::kLanes + uint32_t(__builtin_ctz(lanes));
    owner.initialised[object] = {order.now(thread), site,
                                 std::vector<bool>(cta.threads * cta.cluster.size())};
    return;
  }
  const auto found = owner.initialised.find(object);
  if (found == owner.initialised.end()) return;
  InitialisedMbarrier& m = found->second;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t thread = warp.index * emu::kLanes + uint32_t(__builtin_ctz(left));
    std::vector<bool>::reference known = m.known[cta.rank * cta.threads + thread];
    if (known) continue;
    known = true;  // or named
    if (races_.order().ordered(order, thread, m.at)) continue;
    count("race-shared", Severity::error, m.site, site, 1, [&](Finding& f) {
      f.message =
          "an mbarrier is used by a thread that nothing orders after its initialisation: it may "
          "come first";
      f.advice =
          cta.cluster.size() > 1
              ? "put a barrier between the two: __syncthreads() in the block, cluster.sync() "
                "(after fence.mbarrier_init) for the other blocks of the cluster"
              : "put __syncthreads() between the two";
      const CtaNumber& first = numbers_[m.at.cta];
      f.where = fmt::format("{} and {}, shared address {:#x}",
                            thread_text(*first.launch, first.linear, m.at.thread),
                            thread_text(cta, thread), object);
      f.sites.push_back(place(m.site, "initialisation"));
      f.sites.push_back(place(site, "use"));
    });
  }
}

}  // namespace tw::observe
