#include "shadow/order.h"

namespace tw::shadow {
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
  fenced_mark_ = {};
  pending_.clear();
  meetings_.clear();
  mbarriers_.clear();
  converged_.assign(warps, {});
}

void CtaOrder::merge(View& to, const View& from) {
  for (const Known& k : from.local) add_known(to.local, k);
  to.released.join(from.released);
}

Clock CtaOrder::mark(uint32_t epoch, Known own, const View* view) const {
  std::vector<Known> lanes;
  if (view != nullptr) lanes = view->local;
  add_known(lanes, own);
  return Clock(cta_, epoch, std::move(lanes));
}

View CtaOrder::hand_over(uint32_t warp, uint32_t lanes, bool fenced) {
  View out;
  if (!fenced) {
    const uint32_t time = ++times_[warp];
    const View* last = nullptr;
    bool first = true;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const View* v = view(warp * 32 + uint32_t(__builtin_ctz(left))).get();
      if (!first && v == last) continue;
      out.released.join(mark(epoch_, {warp, lanes, time}, v));
      if (v != nullptr) out.released.join(v->released);
      last = v, first = false;
    }
    return out;
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t lane = uint32_t(__builtin_ctz(left)), thread = warp * 32 + lane;
    if (fences_.empty() || fences_[thread].epoch == 0) continue;
    const Fence& f = fences_[thread];
    out.released.join(mark(f.epoch, {warp, 1u << lane, f.time}, f.view.get()));
    if (f.view) out.released.join(f.view->released);
  }
  return out;
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
    if (base_) all.released = base_->released;
    const View* last = nullptr;
    for (uint32_t t : touched_) {
      if (views_[t].get() != last) all.released.join(views_[t]->released);
      last = views_[t].get();
    }
    for (uint32_t t : touched_) views_[t].reset();
    touched_.clear();
    base_ = all.released.empty() ? nullptr : std::make_shared<const View>(std::move(all));
  }
  ++epoch_;
  partial_ = false;
  if (fenced_threads_ >= threads_) fenced_epoch_ = epoch_, fenced_mark_ = {};
  fenced_threads_ = 0;
  meetings_.clear();
  mbarriers_.clear();
}

void CtaOrder::barrier_arrive(uint32_t barrier, uint32_t warp, uint32_t lanes, bool waits) {
  Meeting& m = meetings_[barrier];
  add_known(m.here, {warp, lanes, ++times_[warp]});
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
  for (const Known& k : m.here) add_known(m.view.local, k);
  auto v = std::make_shared<const View>(std::move(m.view));
  for (uint32_t thread : m.waiting) set_view(thread, v);
}

void CtaOrder::mbarrier_arrive(uint32_t object, uint32_t warp, uint32_t lanes) {
  View& to = mbarriers_[object];
  add_known(to.local, {warp, lanes, ++times_[warp]});
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
  add_known(all.local, {warp, lanes, ++times_[warp]});
  auto v = std::make_shared<const View>(std::move(all));
  for (uint32_t left = lanes; left != 0; left &= left - 1)
    set_view(warp * 32 + uint32_t(__builtin_ctz(left)), v);
}

void CtaOrder::converge(uint32_t warp, uint32_t lanes) {
  add_known(converged_[warp], {warp, lanes, ++times_[warp]});
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
  joins_ = {};
  tick(), tick();
}

uint32_t Order::find(uint64_t object) {
  auto [it, fresh] = index_.try_emplace(object, uint32_t(objects_.size()));
  if (fresh) objects_.emplace_back();
  return it->second;
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
    objects_[o].released = {};
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

void Order::release(Released& to, uint32_t cta, const View* past, const Clock& mark, bool wide) {
  static const Clock nothing;
  const Clock& known = past != nullptr ? past->released : nothing;
  to.state = ++states_;
  Released::Own& own = to.own[cta];
  own.past.join(known);
  own.mark.join(mark);
  if (!wide) {
    own.narrow = to.narrow = true;
    return;
  }
  if (!to.knows_all(known)) {
    to.wide.join(known);
    to.holds[to.next++ % to.holds.size()] = known;
  }
  to.wide.join(mark);
  if (to.line == 0) to.line = ++lines_;
  to.wide.number(to.line, ++to.version);
}

void Order::write_released(CtaOrder& c, uint32_t thread, uint32_t o, bool releases, bool wide) {
  Released& to = objects_[o].released;
  const uint32_t warp = thread / 32, lane = 1u << thread % 32;
  if (releases) {
    const View* v = c.view(thread).get();
    release(to, c.cta_, v, c.mark(c.epoch_, {warp, lane, ++c.times_[warp]}, v), wide);
    return;
  }
  CtaOrder::Fence* f =
      c.fences_.empty() || c.fences_[thread].epoch == 0 ? nullptr : &c.fences_[thread];
  if (c.fenced_epoch_ != 0 && (f == nullptr || f->epoch < c.fenced_epoch_)) {
    if (c.fenced_mark_.empty()) c.fenced_mark_ = Clock(c.cta_, c.fenced_epoch_, {});
    release(to, c.cta_, c.base_.get(), c.fenced_mark_, wide);
  } else if (f != nullptr) {
    if (f->mark.empty()) f->mark = c.mark(f->epoch, {warp, lane, f->time}, f->view.get());
    release(to, c.cta_, f->view.get(), f->mark, wide && f->wide);
  }
}

void Order::strong_read(CtaOrder& c, uint32_t thread, uint64_t object, bool acquires, bool wide,
                        uint32_t bytes) {
  constexpr size_t kReaders = 8;  // of one write; of more, the last ones
  constexpr size_t kPending = 8;  // apart; more are joined
  const uint32_t o = find(object);
  Chain& chain = objects_[o].chain;
  chain.mixed = chain.mixed || (chain.bytes != 0 && chain.bytes != bytes);
  auto& readers = objects_[o].readers;
  std::erase_if(readers, [&](const Reader& r) {
    return r.at.cta == c.cta_ && r.at.thread == thread && r.wide == wide;
  });
  if (readers.size() >= kReaders) readers.erase(readers.begin());
  readers.push_back({c.now(thread), wide});
  const Released& from = objects_[o].released;
  if (from.own.empty()) return;
  if (!acquires && !c.pending_.empty())
    for (const CtaOrder::Pending& p : c.pending_[thread])
      if (p.state == from.state && p.read_wide == wide) return;  // a poll that sees nothing new
  CtaOrder::Pending seen;
  seen.state = from.state;
  seen.read_wide = wide;
  if (wide) seen.wide = from.wide;
  if (from.narrow || !wide || !acquires) {
    if (const auto it = from.own.find(c.cta_); it != from.own.end()) {
      seen.own_past = it->second.past, seen.own_mark = it->second.mark;
      if (wide && it->second.narrow) seen.wide.join(seen.own_past), seen.wide.join(seen.own_mark);
    }
  }
  if (const ViewPtr& have = c.view(thread); wide && have && from.knows_all(have->released))
    seen.held = have->released;
  if (acquires) {
    if (wide) {
      acquire(c, thread, seen.wide, seen.held);
    } else {
      acquire(c, thread, seen.own_past);
      acquire(c, thread, seen.own_mark);
    }
    return;
  }
  if (c.pending_.empty()) c.pending_.resize((c.threads_ + 31) / 32 * 32);
  auto& pending = c.pending_[thread];
  if (pending.size() < kPending) {
    pending.push_back(std::move(seen));
    return;
  }
  for (CtaOrder::Pending& p : pending) {
    if (p.read_wide != wide) continue;
    p.wide = joined(p.wide, seen.wide);
    if (p.held.empty()) p.held = seen.held;
    p.state = seen.state;
    p.own_past.join(seen.own_past);
    p.own_mark.join(seen.own_mark);
    return;
  }
  pending.push_back(std::move(seen));
}

const Clock& Order::joined(const Clock& a, const Clock& b) {
  Join& j = joins_[(a.identity() / 16 * 31 + b.identity() / 16) % joins_.size()];
  if (j.result.empty() || !j.a.same(a) || !j.b.same(b)) {
    j.a = a, j.b = b, j.result = a;
    j.result.join(b);
  }
  return j.result;
}

ViewPtr Order::with(const ViewPtr& have, const Clock& what, const Clock& held) {
  static const Clock nothing;
  const Clock& known = have ? have->released : nothing;
  if (what.empty() || known.same(what)) return have;
  const Clock& both = known.empty() || known.same(held) ? what : joined(known, what);
  if (both.same(known)) return have;
  auto more = std::make_shared<View>();
  if (have) more->local = have->local;
  more->released = both;
  return more;
}

void Order::acquire(CtaOrder& c, uint32_t thread, const Clock& what, const Clock& held) {
  const ViewPtr& have = c.view(thread);
  ViewPtr more = with(have, what, held);
  if (more == have) return;
  c.set_view(thread, std::move(more));
  tick();
}

void Order::receive(CtaOrder& c, uint32_t warp, uint32_t lanes, const View& from) {
  ViewPtr before, after;  // lanes that knew the same before know the same after
  bool first = true;
  for (uint32_t left = lanes; left != 0; left &= left - 1, first = false) {
    const uint32_t thread = warp * 32 + uint32_t(__builtin_ctz(left));
    if (const ViewPtr& have = c.view(thread); first || have != before) {
      before = have;
      after = with(have, from.released);
    }
    if (after == before) continue;
    c.set_view(thread, after);
    tick();
  }
}

void Order::fence(CtaOrder& c, uint32_t warp, uint32_t lanes, bool wide) {
  if (c.fences_.empty()) c.fences_.resize((c.threads_ + 31) / 32 * 32);
  const uint32_t time = ++c.times_[warp];
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t thread = warp * 32 + uint32_t(__builtin_ctz(left));
    if (!c.pending_.empty()) {
      for (const CtaOrder::Pending& p : c.pending_[thread]) {
        if (wide && p.read_wide) {
          acquire(c, thread, p.wide, p.held);
        } else {
          acquire(c, thread, p.own_past);
          acquire(c, thread, p.own_mark);
        }
      }
      c.pending_[thread].clear();
    }
    CtaOrder::Fence& f = c.fences_[thread];
    if (wide && f.wide_epoch != c.epoch_) ++c.fenced_threads_;
    f = {c.epoch_, time, wide ? c.epoch_ : f.wide_epoch, wide, c.view(thread), {}};
  }
}

bool Order::ordered(const CtaOrder& c, uint32_t thread, const Moment& m) const {
  if (m.cta == c.cta_ && (m.thread == thread || m.epoch < c.epoch_)) return true;
  if (retired(m.cta)) return true;
  const ViewPtr& mine = c.view(thread);
  if (!mine) return false;
  if (m.cta == c.cta_ && knows(mine->local, m.thread / 32, m.thread % 32, m.time)) return true;
  return mine->released.knows(m);
}

}  // namespace tw::shadow
