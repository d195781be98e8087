// Order against sets of events: each thread of the oracle has the set of all accesses that come
// before what it does now, each release a copy of one. Random programs of every operation that
// orders threads.
#include "shadow/order.h"

#include <gtest/gtest.h>

#include <bitset>
#include <map>
#include <random>

namespace tw::shadow {
namespace {

constexpr uint32_t kCtas = 3, kThreads = 34, kEvents = 512;
using Events = std::bitset<kEvents>;

// What comes before something: accesses of its own CTA, and what others have released to it.
struct Past {
  Events own, got;
  Events all() const { return own | got; }
  void add(const Past& p) { own |= p.own, got |= p.got; }
};

struct Oracle {
  struct Fence {
    bool set = false, wide = false;
    uint32_t epoch = 0, wide_epoch = 0;
    Past past;
  };
  struct Release {
    uint32_t cta;
    bool wide;
    Events events;
  };
  struct Read {
    std::vector<Release> seen;
    bool wide;
  };
  struct Cta {
    uint32_t epoch = 1, fenced_epoch = 0;
    Events accesses, fenced, base;
    std::vector<Past> threads = std::vector<Past>(kThreads);
    std::vector<Fence> fences = std::vector<Fence>(kThreads);
    std::vector<std::vector<Read>> reads = std::vector<std::vector<Read>>(kThreads);
    std::map<uint32_t, Past> mbarriers;
  };
  Cta ctas[kCtas];
  std::map<uint64_t, std::vector<Release>> objects;

  static void acquire(Past& to, uint32_t cta, const std::vector<Release>& seen, bool wide) {
    for (const Release& r : seen)
      if (r.cta == cta || (wide && r.wide)) to.got |= r.events;
  }
  void write(uint32_t c, uint32_t t, uint64_t object, bool release, bool wide, bool modifies) {
    std::vector<Release>& log = objects[object];
    if (!modifies) log.clear();
    Cta& cta = ctas[c];
    const Fence& f = cta.fences[t];
    if (release)
      log.push_back({c, wide, cta.threads[t].all()});
    else if (cta.fenced_epoch != 0 && (!f.set || f.epoch < cta.fenced_epoch))
      log.push_back({c, wide, cta.fenced | cta.base});
    else if (f.set)
      log.push_back({c, wide && f.wide, f.past.all()});
  }
  void read(uint32_t c, uint32_t t, uint64_t object, bool acquires, bool wide) {
    if (acquires)
      acquire(ctas[c].threads[t], c, objects[object], wide);
    else
      ctas[c].reads[t].push_back({objects[object], wide});
  }
  void fence(uint32_t c, uint32_t t, bool wide) {
    Cta& cta = ctas[c];
    for (const Read& r : cta.reads[t]) acquire(cta.threads[t], c, r.seen, wide && r.wide);
    cta.reads[t].clear();
    Fence& f = cta.fences[t];
    f = {true, wide, cta.epoch, wide ? cta.epoch : f.wide_epoch, cta.threads[t]};
  }
  void barrier_all(uint32_t c) {
    Cta& cta = ctas[c];
    Past met;
    bool fenced = true;
    for (uint32_t t = 0; t < kThreads; ++t) {
      met.got |= cta.threads[t].got;
      fenced = fenced && cta.fences[t].wide_epoch == cta.epoch;
    }
    met.own = cta.accesses;
    for (Past& p : cta.threads) p = met;
    cta.base = met.got;
    cta.mbarriers.clear();
    ++cta.epoch;
    if (fenced) cta.fenced_epoch = cta.epoch, cta.fenced = cta.accesses;
  }
};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t below(uint32_t n) { return uint32_t(engine_() % n); }
  bool one_in(uint32_t n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

// One random program; the questions that were asked, and those answered by yes.
void compare(uint32_t seed, uint32_t& asked, uint32_t& yes) {
  SCOPED_TRACE(seed);
  Random random(seed);
  Order order;
  Oracle oracle;
  CtaOrder ctas[kCtas];
  // CTAs with numbers far apart stand in different parts of a clock's tree.
  const uint32_t apart = random.one_in(2) ? 1 : random.one_in(2) ? 31 : 40000;
  for (uint32_t c = 0; c < kCtas; ++c) ctas[c].begin(c * apart, kThreads);
  const uint32_t objects = 1 + random.below(5), weight_of_fences = 1 + random.below(4);
  const bool mostly_wide = random.one_in(2), clusters = random.one_in(2);
  std::vector<Moment> events;
  std::vector<std::pair<View, Events>> handed(2);
  auto wide = [&] { return mostly_wide ? !random.one_in(8) : random.one_in(2); };
  while (events.size() < kEvents) {
    const uint32_t c = random.below(kCtas), warp = random.below(2);
    const uint32_t lane = random.below(random.one_in(2) ? 2 : warp == 0 ? 3 : 2);
    const uint32_t t = warp * 32 + lane;
    const uint32_t everyone = warp == 0 ? ~0u : 3u;
    const uint32_t lanes = random.one_in(2) ? everyone : random.one_in(2) ? 3u : 1u << lane;
    CtaOrder& cta = ctas[c];
    Oracle::Cta& of = oracle.ctas[c];
    auto each = [&](auto&& action) {
      for (uint32_t left = lanes; left != 0; left &= left - 1)
        action(warp * 32 + uint32_t(__builtin_ctz(left)));
    };
    auto met = [&] {
      Past all;
      each([&](uint32_t thread) { all.add(of.threads[thread]); });
      return all;
    };
    const uint64_t object = 100 + 4 * random.below(objects);
    switch (const uint32_t what = random.below(16 + weight_of_fences); what) {
      case 0:
      case 1: {
        const bool releases = random.one_in(3), is_wide = wide(), modifies = !random.one_in(4);
        if (modifies) {
          order.strong_read(cta, t, object, false, is_wide);
          oracle.read(c, t, object, false, is_wide);
        }
        order.strong_write(cta, t, object, releases, is_wide, modifies);
        oracle.write(c, t, object, releases, is_wide, modifies);
        break;
      }
      case 2:
      case 3: {
        const bool acquires = random.one_in(2), is_wide = wide();
        order.strong_read(cta, t, object, acquires, is_wide);
        oracle.read(c, t, object, acquires, is_wide);
        break;
      }
      case 4:
        if (random.one_in(3)) {
          cta.barrier_all();
          oracle.barrier_all(c);
        }
        break;
      case 5: {
        cta.warp_sync(warp, lanes);
        const Past all = met();
        each([&](uint32_t thread) { of.threads[thread].add(all); });
        break;
      }
      case 6: {  // a barrier of some: these wait, the other warp's first lane arrives
        Past all = met();
        all.add(of.threads[(1 - warp) * 32]);
        cta.barrier_arrive(1, warp, lanes, true);
        cta.barrier_arrive(1, 1 - warp, 1, false);
        cta.barrier_complete(1);
        each([&](uint32_t thread) { of.threads[thread].add(all); });
        break;
      }
      case 7:
        cta.mbarrier_arrive(uint32_t(object), warp, lanes);
        of.mbarriers[uint32_t(object)].add(met());
        break;
      case 8:
        cta.mbarrier_passed(uint32_t(object), warp, lanes);
        each([&](uint32_t thread) { of.threads[thread].add(of.mbarriers[uint32_t(object)]); });
        break;
      case 9: {
        if (!clusters) break;
        auto& [view, known] = handed[random.below(2)];
        const bool fenced = random.one_in(3);
        CtaOrder::merge(view, cta.hand_over(warp, lanes, fenced));
        each([&](uint32_t thread) {
          known |= fenced ? of.fences[thread].past.all() : of.threads[thread].all();
        });
        break;
      }
      case 10: {
        if (!clusters) break;
        const auto& [view, known] = handed[random.below(2)];
        order.receive(cta, warp, lanes, view);
        const Events& got = known;
        each([&](uint32_t thread) { of.threads[thread].got |= got; });
        break;
      }
      case 11:
      case 12:
      case 13:
      case 14:
      case 15: {
        const size_t e = events.size();
        events.push_back(cta.now(t));
        of.accesses.set(e);
        of.threads[t].own.set(e);
        break;
      }
      default: {
        const bool is_wide = wide();
        order.fence(cta, warp, lanes, is_wide);
        each([&](uint32_t thread) { oracle.fence(c, thread, is_wide); });
        if (random.one_in(4)) {
          order.fence(cta, 1 - warp, warp == 1 ? ~0u : 3u, is_wide);
          for (uint32_t l = 0; l < (warp == 1 ? 32u : 2u); ++l)
            oracle.fence(c, (1 - warp) * 32 + l, is_wide);
        }
      }
    }
    if (events.empty()) continue;
    for (uint32_t k = 0; k < 4; ++k) {
      const size_t e =
          k < 2 ? events.size() - 1 - random.below(uint32_t(std::min<size_t>(events.size(), 16)))
                : random.below(uint32_t(events.size()));
      const bool before = of.threads[t].all().test(e);
      ASSERT_EQ(order.ordered(cta, t, events[e]), before)
          << "event " << e << " of CTA " << events[e].cta << " for thread " << t << " of CTA "
          << cta.cta();
      ++asked, yes += before;
    }
  }
}

TEST(Order, IsWhatSetsOfEventsSay) {
  uint32_t asked = 0, yes = 0;
  for (uint32_t seed = 0; seed < 400 && !HasFatalFailure(); ++seed) compare(seed, asked, yes);
  EXPECT_GT(yes, asked / 10);
  EXPECT_LT(yes, asked - asked / 10);
}

}  // namespace
}  // namespace tw::shadow
