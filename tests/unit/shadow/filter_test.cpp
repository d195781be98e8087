// Random accesses through the detector, with its log, lines and tags, against an oracle that keeps
// everything any thread has ever done to a byte.
#include "shadow/filter.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "shadow/races.h"

namespace tw::shadow {
namespace {

struct Done {
  uint32_t cta, thread, epoch, site;
  AccessType type;
  bool strong;
};

// (site, CTA, thread) of both, whichever came first; and where.
using Pair = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;
Pair pair_of(uint32_t site1, uint32_t cta1, uint32_t thread1, uint32_t site2, uint32_t cta2,
             uint32_t thread2) {
  if (std::tie(site1, cta1, thread1) > std::tie(site2, cta2, thread2))
    std::swap(site1, site2), std::swap(cta1, cta2), std::swap(thread1, thread2);
  return {site1, cta1, thread1, site2, cta2, thread2};
}

class Oracle {
 public:
  explicit Oracle(uint64_t bytes) : history_(bytes) {}
  void access(uint32_t cta, uint32_t epoch, const WarpAccess& a) {
    for (uint32_t left = a.lanes; left != 0; left &= left - 1) {
      const uint32_t lane = uint32_t(__builtin_ctz(left));
      const Done now{cta, a.warp * 32 + lane, epoch, a.site, a.type, a.strong};
      for (uint64_t b = a.offsets[lane]; b < a.offsets[lane] + a.bytes; ++b) {
        for (const Done& d : history_[b]) {
          if (d.cta == now.cta && (d.thread == now.thread || d.epoch < now.epoch)) continue;
          if (d.type == AccessType::read && now.type == AccessType::read) continue;
          if (d.strong && now.strong) continue;
          racing.insert(b);
          pairs.insert(pair_of(d.site, d.cta, d.thread, now.site, now.cta, now.thread));
        }
        history_[b].push_back(now);
      }
    }
  }
  std::set<uint64_t> racing;  // bytes
  std::set<Pair> pairs;

 private:
  std::vector<std::vector<Done>> history_;
};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t below(uint32_t n) { return uint32_t(engine_() % n); }
  bool one_in(uint32_t n) { return below(n) == 0; }

  // The patterns of real kernels, aligned or not; and some of no kernel.
  void pattern(WarpAccess& a, uint64_t* offsets, uint64_t bytes) {
    static constexpr uint32_t kSizes[] = {4, 4, 4, 4, 8, 16, 1, 2};
    a.bytes = kSizes[below(subwords ? 8 : 6)];
    a.lanes = one_in(4) ? uint32_t(engine_()) | 1u : 0xffffffffu;
    const uint32_t slots = uint32_t(bytes) / a.bytes;
    const uint32_t base = one_in(2) ? below(slots) : below(slots) / 16 * 16;
    const uint32_t kind = below(5), step = below(4);
    for (uint32_t l = 0; l < 32; ++l) {
      const uint32_t slot = kind <= 1   ? base + l
                            : kind == 2 ? base + l / 16 * step
                            : kind == 3 ? base + l % 16 + l / 16 * step * 16
                                        : below(slots);
      offsets[l] = uint64_t(slot % slots) * a.bytes;
    }
    a.offsets = offsets;
  }
  AccessType type(uint32_t one_write_in) {
    return !one_in(one_write_in) ? AccessType::read
           : one_in(8)           ? AccessType::atomic
                                 : AccessType::write;
  }
  bool subwords = true;

 private:
  std::mt19937 engine_;
};

// Each reported pair must be one of the oracle's; each byte at which the oracle sees a race must
// lie in a cell that was reported.
struct Verdict {
  std::set<Pair> pairs;
  std::set<uint64_t> cells;
  RaceSink sink() {
    return [this](const Race& r) {
      pairs.insert(pair_of(r.first.site, r.first.cta, r.first_thread, r.second.site, r.second.cta,
                           r.second_thread));
      cells.insert(r.offset);
    };
  }
  void compare(const Oracle& oracle, uint32_t seed) const {
    for (const Pair& p : pairs)
      ASSERT_TRUE(oracle.pairs.count(p)) << "seed " << seed << ": no race between sites "
                                         << std::get<0>(p) << " and " << std::get<3>(p);
    for (uint64_t b : oracle.racing)
      ASSERT_TRUE(cells.count(b) || cells.count(b & ~1ull) || cells.count(b & ~3ull))
          << "seed " << seed << ": a race at byte " << b << " is missed";
  }
};

TEST(Filter, SharedMemoryAgreesWithTheOracle) {
  uint32_t clean = 0, racing = 0;
  for (uint32_t seed = 1; seed <= 500; ++seed) {
    constexpr uint64_t kBytes = 1024;
    Random random(seed);
    random.subwords = seed % 3 == 0;
    Verdict verdict;
    Races races(verdict.sink());
    Oracle oracle(kBytes);
    Races::Shared s;
    races.shared_begin(s, 0, 96, kBytes);
    std::vector<std::unique_ptr<LogSite>> sites;
    uint32_t epoch = 1;
    const uint32_t writes = 1 + random.below(6), barriers = 2 + random.below(8);
    for (uint32_t i = 0; i < 40; ++i) {
      if (random.one_in(barriers)) {
        races.barrier_all(s);
        ++epoch;
      }
      if (random.one_in(20)) races.settle(s);  // something that might order part of the threads
      uint64_t offsets[32];
      WarpAccess a;
      random.pattern(a, offsets, kBytes);
      a.warp = random.below(3);
      a.type = random.type(writes);
      if (seed % 2 == 0) {  // no race: threads write words of their own, others read them later
        a.type = epoch % 2 != 0 ? AccessType::write : AccessType::read;
        if (a.type == AccessType::write) {
          a.bytes = 4;
          for (uint32_t l = 0; l < 32; ++l) offsets[l] = (a.warp * 32 + l) * 4;
        }
      }
      a.strong = a.type == AccessType::atomic;
      a.site = i;
      sites.push_back(std::make_unique<LogSite>());
      sites.back()->site = i, sites.back()->bytes = uint8_t(a.bytes);
      sites.back()->write = a.type == AccessType::write;
      races.access_shared(s, a, random.one_in(30) ? nullptr : sites.back().get());
      oracle.access(0, epoch, a);
    }
    races.barrier_all(s);
    ++(oracle.racing.empty() ? clean : racing);
    verdict.compare(oracle, seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(clean, 100u);  // both kinds have occurred
  EXPECT_GT(racing, 100u);
}

// Whether the handlers would ask for a note first.
bool half_warps(const WarpAccess& a, NotedAccess& n) {
  if (a.lanes != ~0u || a.bytes < 4 || a.type == AccessType::atomic) return false;
  n = {a.offsets[0], a.offsets[16], a.site, a.warp, uint8_t(a.bytes), a.type == AccessType::write,
       false};
  bool steps = true, together = a.type == AccessType::read;
  for (uint32_t l = 0; l < 32; ++l) {
    const uint64_t first = l < 16 ? n.low : n.high;
    steps = steps && a.offsets[l] == first + l % 16 * a.bytes;
    together = together && a.offsets[l] == first;
  }
  n.together = together;
  return steps || together;
}

TEST(Filter, GlobalMemoryAgreesWithTheOracle) {
  uint32_t clean = 0, racing = 0, passed = 0, noted = 0;
  for (uint32_t seed = 1; seed <= 500; ++seed) {
    constexpr uint64_t kBytes = 1000;  // the last line is not whole
    Random random(seed);
    random.subwords = seed % 3 == 0;
    Verdict verdict;
    Races races(verdict.sink());
    Lines lines;
    lines.reset(kBytes);
    for (uint32_t launch = 0; launch < 3; ++launch) {  // what an earlier one did is long ago
      verdict = {};
      Oracle oracle(kBytes);
      constexpr uint32_t kCtas = 4;
      std::vector<Races::Shared> ctas(kCtas);
      uint32_t epochs[kCtas];
      for (uint32_t c = 0; c < kCtas; ++c) races.shared_begin(ctas[c], c, 96, 0), epochs[c] = 1;
      const uint32_t writes = 1 + random.below(20);
      const uint32_t ranges = random.below(3);  // CTAs mostly keep to memory of their own
      for (uint32_t i = 0; i < 60; ++i) {
        const uint32_t c = random.below(kCtas);
        if (random.one_in(6)) {
          races.barrier_all(ctas[c]);
          ++epochs[c];
        }
        uint64_t offsets[32];
        WarpAccess a;
        random.pattern(a, offsets, ranges == 0 ? kBytes : 240);
        if (ranges != 0)
          for (uint64_t& o : offsets) o += c * 256 > 760 - 16 ? 736 : c * 240;
        a.warp = random.below(3);
        a.type = random.type(writes);
        if (seed % 2 == 0) {  // no race: what is read is not what is written
          if (a.type == AccessType::read) {
            for (uint64_t& o : offsets) o %= 480;
          } else {
            a.type = AccessType::write, a.warp = 0, a.bytes = 4;
            for (uint32_t l = 0; l < 32; ++l) offsets[l] = 480 + (c * 32 + l) * 4;
          }
        }
        a.strong = a.wide = a.type == AccessType::atomic;
        a.site = random.one_in(2) ? i : i % 3 + 100 * uint32_t(a.type) + 1000 * a.bytes;
        oracle.access(c, epochs[c], a);
        // As the memory handlers do.
        bool tagged = a.type == AccessType::read;
        for (uint32_t l = 0; l < 32; ++l)
          if ((a.lanes >> l) & 1)
            tagged = tagged && lines.tags()[offsets[l] >> kLineShift] == races.order().generation();
        passed += tagged;
        if (tagged) continue;
        NotedAccess note;
        CtaFilter::Site site;
        site.lines = &lines;
        if (half_warps(a, note) && races.note_global(site, ctas[c].order, note))
          ++noted;
        else
          races.access_global(lines, ctas[c].order, a);
      }
      ++(oracle.racing.empty() ? clean : racing);
      verdict.compare(oracle, seed);
      if (HasFatalFailure()) return;
      ASSERT_TRUE(races.launch_end());
    }
  }
  EXPECT_GT(clean, 100u);
  EXPECT_GT(racing, 100u);
  EXPECT_GT(passed, 100u);  // reads of tagged lines
  EXPECT_GT(noted, 1000u);
}

TEST(Filter, WrittenBytesAreExact) {
  std::vector<uint64_t> bits(6);
  WrittenView v{bits.data(), 256};
  std::set<uint64_t> written;
  Random random(7);
  for (uint32_t i = 0; i < 400; ++i) {
    const uint64_t at = random.below(192);
    const uint32_t count = 1 + random.below(64);
    bool all = true;
    for (uint64_t b = at; b < at + count; ++b) all = all && written.count(b);
    EXPECT_EQ(v.all(at, count), all);
    if (!random.one_in(4)) continue;
    const uint32_t some = 1 + random.below(8);
    v.set(at, some);
    for (uint64_t b = at; b < at + some; ++b) written.insert(b);
    EXPECT_EQ(v.left, 256 - written.size());
  }
}

// A long loop of loads between two barriers: the log stays bounded, and the race at its end shows.
TEST(Filter, LongLogsAreBounded) {
  Verdict verdict;
  Races races(verdict.sink());
  Races::Shared s;
  races.shared_begin(s, 0, 64, 4096);
  LogSite read, write;
  read.site = 1, write.site = 2, write.write = true;
  uint64_t offsets[32];
  WarpAccess a;
  a.offsets = offsets, a.lanes = ~0u;
  for (uint32_t i = 0; i < 200000; ++i) {
    for (uint32_t l = 0; l < 32; ++l) offsets[l] = (i % 64 + l) * 4;
    a.site = 1;
    races.access_shared(s, a, &read);
  }
  EXPECT_LE(s.log.size(), size_t{1} << 14);
  EXPECT_TRUE(s.filter.open);  // they repeat themselves
  a.warp = 1, a.site = 2, a.type = AccessType::write;
  races.access_shared(s, a, &write);
  races.barrier_all(s);
  EXPECT_FALSE(verdict.pairs.empty());
}

}  // namespace
}  // namespace tw::shadow
