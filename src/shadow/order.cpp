#include "shadow/order.h"

#include <algorithm>

namespace tw::shadow {
namespace {

constexpr size_t kSearchLimit = 1 << 14;  // objects looked at for one question

bool knows(const std::vector<Peer>& list, const Moment& m) {
  for (const Peer& p : list)
    if (p.cta == m.cta &&
        (p.warp == Peer::kAllWarps
             ? m.epoch < p.epoch
             : p.warp == m.thread / 32 && ((p.lanes >> (m.thread % 32)) & 1) && m.time < p.time))
      return true;
  return false;
}

bool knows(const std::vector<Known>& list, uint32_t warp, uint32_t lane, uint32_t time) {
  for (const Known& k : list)
    if (k.warp == warp && ((k.lanes >> lane) & 1) && time < k.time) return true;
  return false;
}

}  // namespace

// ---- one CTA ----

void CtaOrder::begin(uint32_t cta, uint32_t threads) {
  cta_ = cta;
  threads_ = threads;
  epoch_ = 1;
  partial_ = false;
  fenced_epoch_ = 0;
  const size_t warps = (threads + 31) / 32;
  times_.assign(warps, 1);
  base_.reset();
  views_.clear();
  touched_.clear();
  fences_.clear();
  fenced_threads_ = 0;
  pending_.clear();
  meetings_.clear();
  mbarriers_.clear();
  converged_.assign(warps, {});
}

void CtaOrder::add(std::vector<Known>& list, Known k) {
  for (Known& old : list) {
    if (old.warp != k.warp) continue;
    if (old.time >= k.time && (k.lanes & ~old.lanes) == 0) return;
    if (old.time <= k.time && (old.lanes & ~k.lanes) == 0) {
      old = k;
      return;
    }
  }
  list.push_back(k);
}

void CtaOrder::add(std::vector<Acquired>& list, Acquired a) {
  if (a.from >= a.to) return;
  for (Acquired& old : list) {
    if (old.object != a.object || old.wide != a.wide || a.from > old.to || old.from > a.to)
      continue;
    old.from = std::min(old.from, a.from);
    old.to = std::max(old.to, a.to);
    return;
  }
  list.push_back(a);
}

void CtaOrder::add(std::vector<Peer>& list, const Peer& p) {
  for (Peer& old : list) {
    if (old.cta != p.cta) continue;
    if (old.warp == Peer::kAllWarps && p.warp != Peer::kAllWarps && p.epoch < old.epoch) return;
    if (old.warp != p.warp) continue;
    if (p.warp == Peer::kAllWarps) {
      old.epoch = std::max(old.epoch, p.epoch);
      return;
    }
    if (old.time >= p.time && (p.lanes & ~old.lanes) == 0) return;
    if (old.time <= p.time && (old.lanes & ~p.lanes) == 0) {
      old = p;
      return;
    }
  }
  list.push_back(p);
}

void CtaOrder::merge(View& to, const View& from) {
  for (const Known& k : from.local) add(to.local, k);
  for (const Acquired& a : from.remote) add(to.remote, a);
  for (const Peer& p : from.peers) add(to.peers, p);
}

View CtaOrder::hand_over(uint32_t warp, uint32_t lanes, bool fenced) {
  View out;
  // What is known of this CTA in an epoch, in terms that others understand.
  auto add_own = [&](const View* v, uint32_t epoch) {
    add(out.peers, {cta_, Peer::kAllWarps, 0, epoch, 0});
    if (v == nullptr) return;
    for (const Acquired& a : v->remote) add(out.remote, a);
    for (const Peer& p : v->peers) add(out.peers, p);
    for (const Known& k : v->local) add(out.peers, {cta_, k.warp, k.lanes, epoch, k.time});
  };
  if (!fenced) {
    add(out.peers, {cta_, warp, lanes, epoch_, ++times_[warp]});
    const View* last = nullptr;
    bool first = true;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const View* v = view(warp * 32 + uint32_t(__builtin_ctz(left))).get();
      if (first || v != last) add_own(v, epoch_);
      last = v, first = false;
    }
    return out;
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t lane = uint32_t(__builtin_ctz(left)), thread = warp * 32 + lane;
    if (fences_.empty() || fences_[thread].epoch == 0) continue;
    const Fence& f = fences_[thread];
    add(out.peers, {cta_, warp, 1u << lane, f.epoch, f.time});
    add_own(f.view.get(), f.epoch);
  }
  return out;
}

void Order::receive(CtaOrder& c, uint32_t warp, uint32_t lanes, const View& from) {
  // Lanes that knew the same before know the same after.
  ViewPtr before, after;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t thread = warp * 32 + uint32_t(__builtin_ctz(left));
    if (!after || c.view(thread) != before) {
      before = c.view(thread);
      View v = before ? *before : View{};
      for (const Acquired& a : from.remote) CtaOrder::add(v.remote, a);
      for (const Peer& p : from.peers) {
        if (p.cta != c.cta_)
          CtaOrder::add(v.peers, p);
        else if (p.warp != Peer::kAllWarps && p.epoch == c.epoch_)
          CtaOrder::add(v.local, {p.warp, p.lanes, p.time});
      }
      after = std::make_shared<const View>(std::move(v));
    }
    c.set_view(thread, after);
  }
  tick();
}

void CtaOrder::set_view(uint32_t thread, ViewPtr v) {
  if (views_.empty()) views_.resize((threads_ + 31) / 32 * 32);
  if (!views_[thread]) touched_.push_back(thread);
  views_[thread] = std::move(v);
  partial_ = true;
}

void CtaOrder::barrier_all() {
  if (!touched_.empty()) {
    View all;
    if (base_) all.remote = base_->remote, all.peers = base_->peers;
    const View* last = nullptr;
    for (uint32_t t : touched_) {
      if (views_[t].get() != last) {
        for (const Acquired& a : views_[t]->remote) add(all.remote, a);
        for (const Peer& p : views_[t]->peers) add(all.peers, p);
      }
      last = views_[t].get();
    }
    for (uint32_t t : touched_) views_[t].reset();
    touched_.clear();
    base_ = all.remote.empty() && all.peers.empty() ? nullptr
                                                    : std::make_shared<const View>(std::move(all));
  }
  ++epoch_;
  partial_ = false;
  if (fenced_threads_ >= threads_) fenced_epoch_ = epoch_;
  fenced_threads_ = 0;
  meetings_.clear();
  mbarriers_.clear();
}

void CtaOrder::barrier_arrive(uint32_t barrier, uint32_t warp, uint32_t lanes, bool waits) {
  Meeting& m = meetings_[barrier];
  add(m.here, {warp, lanes, ++times_[warp]});
  const View* last = nullptr;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t thread = warp * 32 + uint32_t(__builtin_ctz(left));
    if (waits) m.waiting.push_back(thread);
    const View* v = view(thread).get();
    if (v != nullptr && v != last) merge(m.view, *v);
    last = v;
  }
}

void CtaOrder::barrier_complete(uint32_t barrier) {
  auto it = meetings_.find(barrier);
  if (it == meetings_.end()) return;
  Meeting m = std::move(it->second);
  meetings_.erase(it);
  for (const Known& k : m.here) add(m.view.local, k);
  auto v = std::make_shared<const View>(std::move(m.view));
  for (uint32_t thread : m.waiting) set_view(thread, v);
}

void CtaOrder::mbarrier_arrive(uint32_t object, uint32_t warp, uint32_t lanes) {
  View& to = mbarriers_[object];
  add(to.local, {warp, lanes, ++times_[warp]});
  const View* last = nullptr;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const View* v = view(warp * 32 + uint32_t(__builtin_ctz(left))).get();
    if (v != nullptr && v != last) merge(to, *v);
    last = v;
  }
}

void CtaOrder::mbarrier_passed(uint32_t object, uint32_t warp, uint32_t lanes) {
  const auto it = mbarriers_.find(object);
  if (it == mbarriers_.end()) return;
  // Lanes that knew the same before know the same after.
  ViewPtr before, after;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t thread = warp * 32 + uint32_t(__builtin_ctz(left));
    if (!after || view(thread) != before) {
      before = view(thread);
      View v = before ? *before : View{};
      merge(v, it->second);
      after = std::make_shared<const View>(std::move(v));
    }
    set_view(thread, after);
  }
}

void CtaOrder::warp_sync(uint32_t warp, uint32_t lanes) {
  View all;
  const View* last = nullptr;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const View* v = view(warp * 32 + uint32_t(__builtin_ctz(left))).get();
    if (v != nullptr && v != last) merge(all, *v);
    last = v;
  }
  add(all.local, {warp, lanes, ++times_[warp]});
  auto v = std::make_shared<const View>(std::move(all));
  for (uint32_t left = lanes; left != 0; left &= left - 1)
    set_view(warp * 32 + uint32_t(__builtin_ctz(left)), v);
}

void CtaOrder::converge(uint32_t warp, uint32_t lanes) {
  add(converged_[warp], {warp, lanes, ++times_[warp]});
}

bool CtaOrder::converged(uint32_t warp, uint32_t a, uint32_t b, uint32_t time) const {
  const uint32_t both = 1u << a | 1u << b;
  for (const Known& k : converged_[warp])
    if ((both & ~k.lanes) == 0 && time < k.time) return true;
  return false;
}

// ---- all CTAs ----

void Order::clear() {
  index_.clear();
  objects_.clear();
  retired_.clear();
  tick(), tick();
}

uint32_t Order::find(uint64_t object) {
  auto [it, fresh] = index_.try_emplace(object, uint32_t(objects_.size()));
  if (fresh) objects_.emplace_back();
  return it->second;
}

void Order::append(uint32_t object, Entry e) {
  Object& o = objects_[object];
  const uint32_t at = uint32_t(o.log.size());
  o.by_cta[e.at.cta].push_back(at);
  if (e.view && !(e.view->remote.empty() && e.view->peers.empty())) o.chained.push_back(at);
  o.log.push_back(std::move(e));
}

void Order::add_to(Chain& chain, uint32_t cta, bool wide, uint32_t bytes) {
  chain.mixed = chain.mixed || (chain.bytes != 0 && chain.bytes != bytes);
  if (chain.bytes == 0) chain.cta = cta;
  chain.bytes = uint8_t(bytes);
  chain.one_cta = chain.one_cta && chain.cta == cta;
  chain.wide = chain.wide && wide;
}

bool Order::observed(const CtaOrder& c, uint32_t thread, uint64_t object, const Moment& m,
                     bool read_modify_write) const {
  const auto it = index_.find(object);
  if (it == index_.end()) return false;
  const Chain& chain = objects_[it->second].chain;
  if (chain.mixed) return false;
  // Of the chain, or before its start?
  if (read_modify_write
          ? chain.started && chain.modified_before
          : !chain.started || m.cta != chain.first.cta || m.thread != chain.first.thread ||
                m.epoch != chain.first.epoch || m.time != chain.first.time)
    return false;
  for (const Reader& r : objects_[it->second].readers) {
    const bool strong = (chain.wide && r.wide) || (chain.one_cta && r.at.cta == chain.cta);
    if (strong && ordered(c, thread, r.at)) return true;
  }
  return false;
}

void Order::strong_write(CtaOrder& c, uint32_t thread, uint64_t object, bool release, bool wide,
                         bool read_modify_write, uint32_t bytes) {
  const uint32_t o = find(object);
  Chain& chain = objects_[o].chain;
  objects_[o].readers.clear();
  if (!read_modify_write) {
    objects_[o].base = uint32_t(objects_[o].log.size());
    const bool modified = chain.modified || chain.modified_before;
    chain = Chain{};
    chain.started = true;
    chain.modified_before = modified;
  }
  chain.modified = chain.modified || read_modify_write;
  add_to(chain, c.cta_, wide, bytes);
  write_released(c, thread, o, release, wide);
  if (read_modify_write)
    objects_[o].readers.push_back({c.now(thread), wide});
  else
    objects_[o].chain.first = c.now(thread);
}

void Order::write_released(CtaOrder& c, uint32_t thread, uint32_t o, bool release, bool wide) {
  if (release) {
    const uint32_t time = ++c.times_[thread / 32];
    append(o, {{c.cta_, thread, c.epoch_, time}, wide, c.view(thread)});
    return;
  }
  const CtaOrder::Fence* f =
      c.fences_.empty() || c.fences_[thread].epoch == 0 ? nullptr : &c.fences_[thread];
  if (c.fenced_epoch_ != 0 && (f == nullptr || f->epoch < c.fenced_epoch_))
    append(o, {{c.cta_, thread, c.fenced_epoch_, 0}, wide, c.base_});
  else if (f != nullptr)
    append(o, {{c.cta_, thread, f->epoch, f->time}, wide && f->wide, f->view});
}

void Order::strong_read(CtaOrder& c, uint32_t thread, uint64_t object, bool acquires, bool wide,
                        uint32_t bytes) {
  constexpr size_t kReaders = 8;  // of one write; of more, the last ones
  const uint32_t o = find(object);
  Chain& chain = objects_[o].chain;
  chain.mixed = chain.mixed || (chain.bytes != 0 && chain.bytes != bytes);
  auto& readers = objects_[o].readers;
  std::erase_if(readers, [&](const Reader& r) {
    return r.at.cta == c.cta_ && r.at.thread == thread && r.wide == wide;
  });
  if (readers.size() >= kReaders) readers.erase(readers.begin());
  readers.push_back({c.now(thread), wide});
  const Acquired a{o, objects_[o].base, uint32_t(objects_[o].log.size()), wide};
  if (a.from >= a.to) return;
  if (acquires) {
    acquire(c, thread, a);
    return;
  }
  if (c.pending_.empty()) c.pending_.resize((c.threads_ + 31) / 32 * 32);
  for (CtaOrder::Pending& p : c.pending_[thread]) {
    if (p.object != a.object || p.wide != wide || a.from > p.to) continue;
    p.to = a.to;
    return;
  }
  c.pending_[thread].push_back({a.object, a.from, a.to, wide});
}

void Order::acquire(CtaOrder& c, uint32_t thread, Acquired a) {
  const ViewPtr& have = c.view(thread);
  if (have)
    for (const Acquired& old : have->remote)
      if (old.object == a.object && old.wide == a.wide && old.from <= a.from && a.to <= old.to)
        return;
  View v = have ? *have : View{};
  CtaOrder::add(v.remote, a);
  c.set_view(thread, std::make_shared<const View>(std::move(v)));
  tick();
}

void Order::fence(CtaOrder& c, uint32_t warp, uint32_t lanes, bool wide) {
  if (c.fences_.empty()) c.fences_.resize((c.threads_ + 31) / 32 * 32);
  const uint32_t time = ++c.times_[warp];
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t thread = warp * 32 + uint32_t(__builtin_ctz(left));
    if (!c.pending_.empty()) {
      for (const CtaOrder::Pending& p : c.pending_[thread])
        acquire(c, thread, {p.object, p.from, p.to, p.wide && wide});
      c.pending_[thread].clear();
    }
    CtaOrder::Fence& f = c.fences_[thread];
    if (wide && !(f.epoch == c.epoch_ && f.wide)) ++c.fenced_threads_;
    f = {c.epoch_, time, wide, c.view(thread)};
  }
}

bool Order::covers(const Entry& e, const Moment& m) {
  if (e.at.cta != m.cta) return false;
  if (m.epoch != e.at.epoch) return m.epoch < e.at.epoch;
  if (m.thread == e.at.thread && m.time < e.at.time) return true;
  return e.view && knows(e.view->local, m.thread / 32, m.thread % 32, m.time);
}

bool Order::ordered(const CtaOrder& c, uint32_t thread, const Moment& m) const {
  if (m.cta == c.cta_ && (m.thread == thread || m.epoch < c.epoch_)) return true;
  if (retired(m.cta)) return true;
  const ViewPtr& mine = c.view(thread);
  if (!mine) return false;
  if (m.cta == c.cta_ && knows(mine->local, m.thread / 32, m.thread % 32, m.time)) return true;
  if (!mine->peers.empty() && knows(mine->peers, m)) return true;
  // What was released to this thread: directly, then through what the releasing threads had
  // acquired.
  std::vector<std::pair<const Acquired*, uint32_t>> work;  // with the CTA that acquired
  std::vector<Acquired> seen;
  for (const Acquired& a : mine->remote) work.push_back({&a, c.cta_});
  for (size_t i = 0; i < work.size() && i < kSearchLimit; ++i) {
    const auto [a, by] = work[i];
    bool known = false;
    for (const Acquired& s : seen)
      known = known ||
              (s.object == a->object && s.wide == a->wide && s.from <= a->from && a->to <= s.to);
    if (known) continue;
    seen.push_back(*a);
    const Object& o = objects_[a->object];
    if (auto it = o.by_cta.find(m.cta); it != o.by_cta.end()) {
      const std::vector<uint32_t>& at = it->second;
      auto end = std::lower_bound(at.begin(), at.end(), a->to);
      for (uint32_t steps = 0; end != at.begin() && steps < 64; ++steps) {
        --end;
        if (*end < a->from) break;
        const Entry& e = o.log[*end];
        if ((e.at.cta == by || (a->wide && e.wide)) && covers(e, m)) return true;
      }
    }
    for (uint32_t at : o.chained) {
      if (at < a->from || at >= a->to) continue;
      const Entry& e = o.log[at];
      if (e.at.cta != by && !(a->wide && e.wide)) continue;
      if (knows(e.view->peers, m)) return true;
      for (const Acquired& next : e.view->remote) work.push_back({&next, e.at.cta});
      if (work.size() > kSearchLimit) break;
    }
  }
  return false;
}

}  // namespace tw::shadow
