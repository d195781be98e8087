// Which accesses of a launch are ordered: happens-before, independent of the schedule that was
// picked.
//
// Program order, CTA barriers (all threads, or those that take part), __syncwarp, and
// release-acquire through strong accesses and fences, each with its scope. Lanes of a warp are not
// ordered by lockstep.
//
// Full vector clocks for a million threads are out of reach, and hardly ever needed: almost every
// kernel orders its threads by barriers of the whole CTA. So time in a CTA is counted in epochs
// (such barriers); within an epoch each warp has a clock that ticks at whatever may hand its past
// to others, and a thread holds a View of what it knows beyond that: lanes of its CTA up to a tick,
// and of other CTAs a Clock (clock.h), a vector clock that shares what clocks have in common. Each
// synchronisation object keeps the clock of what has been released to it since its last write
// without a read; an acquire joins it to the thread's. A question is then a look-up, and what was
// overwritten is dropped.
//
// Causality order is more than that in one point (PTX ISA, memory consistency model): a strong
// write that a read has observed, directly or through a chain of read-modify-writes, each pair
// morally strong, comes before whatever comes after that read. No release and no acquire is needed,
// and nothing but the write itself is ordered: the block that has drawn the last ticket of a
// counter may reset it by a plain store. Each object remembers who has read it since its last write
// (Chain).
//
// Within a cluster threads of several CTAs meet: at barrier.cluster and at mbarriers that CTAs
// share. There a View is handed over whole (hand_over, receive), what a CTA's threads know of one
// another included.
//
// Limits: scope .cluster counts as .gpu; one order for all addresses (no proxies).
// Tested by tests/unit/shadow/order_test.cpp (against sets of events), races_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "shadow/clock.h"

namespace tw::shadow {

// What a thread knows: of its own CTA in this epoch, and all that has been released to it.
struct View {
  std::vector<Known> local;
  Clock released;
};
using ViewPtr = std::shared_ptr<const View>;

class Order;

// The clocks of one CTA.
class CtaOrder {
 public:
  void begin(uint32_t cta, uint32_t threads);
  Moment now(uint32_t thread) const { return {cta_, thread, epoch_, times_[thread / 32]}; }
  uint32_t epoch() const { return epoch_; }
  uint32_t time(uint32_t warp) const { return times_[warp]; }
  uint32_t cta() const { return cta_; }
  uint32_t threads() const { return threads_; }
  // True while nothing but whole-CTA barriers and program order has ordered threads in this epoch.
  bool plain() const { return !partial_; }
  // True while no thread knows of what other CTAs have done.
  bool isolated() const { return !base_ && touched_.empty(); }
  const uint32_t* times() const { return times_.data(); }

  void barrier_all();  // every live thread has waited
  void barrier_arrive(uint32_t barrier, uint32_t warp, uint32_t lanes,
                      bool waits);  // a barrier of some threads
  void barrier_complete(uint32_t barrier);
  // An mbarrier object: arrivals hand over what came before them to lanes that have seen a phase
  // complete. Phases are not told apart: a lane knows of all arrivals so far.
  void mbarrier_arrive(uint32_t object, uint32_t warp, uint32_t lanes);
  void mbarrier_passed(uint32_t object, uint32_t warp, uint32_t lanes);
  void warp_sync(uint32_t warp, uint32_t lanes);  // complete
  void converge(uint32_t warp, uint32_t lanes);   // shfl, vote, ...: complete
  // What lanes know, for threads of other CTAs of the cluster, too: all up to now; `fenced`: up to
  // each one's last fence.
  View hand_over(uint32_t warp, uint32_t lanes, bool fenced = false);
  static void merge(View& to, const View& from);
  // Lanes `a` and `b` of a warp have converged since `time`.
  bool converged(uint32_t warp, uint32_t a, uint32_t b, uint32_t time) const;

 private:
  friend class Order;
  struct Fence {
    uint32_t epoch = 0, time = 0;
    uint32_t wide_epoch = 0;  // of the last wide one
    bool wide = false;
    ViewPtr view;
    Clock mark;  // of the CTA: what lies before the fence; made when it is first released
  };
  // What strong reads have seen that a fence would turn into acquires: one of scope .gpu or more,
  // and a narrower one.
  struct Pending {
    Clock wide, own_past, own_mark;
    Clock held;      // of what the thread knew: all is in `wide`; or empty
    uint64_t state;  // Released::state
    bool read_wide;
  };
  struct Meeting {
    std::vector<Known> here;
    std::vector<uint32_t> waiting;
    View view;
  };

  const ViewPtr& view(uint32_t thread) const {
    return !views_.empty() && views_[thread] ? views_[thread] : base_;
  }
  void set_view(uint32_t thread, ViewPtr v);
  // What a thread hands over of its own CTA: `lanes` of a warp up to `time` of `epoch`, and what
  // is known by `view`.
  Clock mark(uint32_t epoch, Known own, const View* view) const;

  uint32_t cta_ = 0, threads_ = 0, epoch_ = 1;
  bool partial_ = false;
  uint32_t fenced_epoch_ = 0;  // every thread has passed a wide fence and then a barrier: accesses
                               // of earlier epochs are fenced
  std::vector<uint32_t> times_;                // by warp; never go back
  ViewPtr base_;                               // what all threads know of other CTAs
  std::vector<ViewPtr> views_;                 // by thread; empty until one knows more than base_
  std::vector<uint32_t> touched_;              // threads that have a view of their own
  std::vector<Fence> fences_;                  // by thread; empty until the first fence
  uint32_t fenced_threads_ = 0;                // with a wide fence in this epoch
  Clock fenced_mark_;                          // what they lie before, when first released
  std::vector<std::vector<Pending>> pending_;  // by thread
  std::unordered_map<uint32_t, Meeting> meetings_;
  std::unordered_map<uint32_t, View> mbarriers_;  // by object; of this epoch
  std::vector<std::vector<Known>> converged_;     // by warp: lanes that have met, and when
};

// Synchronisation objects (addresses of strong accesses) of a launch.
class Order {
 public:
  void clear();
  // A strong access to an object. `wide`: scope .gpu or more. `release`, `acquire`: the access's
  // own ordering; without them, fences before a write and after a read do the same.
  // A read-modify-write is a read and then a write.
  void strong_write(CtaOrder& c, uint32_t thread, uint64_t object, bool release, bool wide,
                    bool read_modify_write, uint32_t bytes = 4);
  void strong_read(CtaOrder& c, uint32_t thread, uint64_t object, bool acquire, bool wide,
                   uint32_t bytes = 4);
  void fence(CtaOrder& c, uint32_t warp, uint32_t lanes, bool wide);

  // Lanes learn what others have handed over.
  void receive(CtaOrder& c, uint32_t warp, uint32_t lanes, const View& from);

  // Whether what happened at `m` comes before what `thread` of `c` does now.
  bool ordered(const CtaOrder& c, uint32_t thread, const Moment& m) const;
  bool has(uint64_t object) const { return index_.contains(object); }
  // Whether the strong write to the object at `m`, one of all so far, has been observed by
  // something that comes before what `thread` of `c` does now.
  bool observed(const CtaOrder& c, uint32_t thread, uint64_t object, const Moment& m,
                bool read_modify_write) const;
  // What this CTA did is over for everyone who is still to come (its kernel has ended).
  void retire(uint32_t cta) {
    if (cta >= retired_.size()) retired_.resize(cta + 1);
    retired_[cta] = true;
    tick();
  }
  bool retired(uint32_t cta) const { return cta < retired_.size() && retired_[cta]; }
  // Ticks with every acquire that may have ordered CTAs, and twice with every end of a launch. 0
  // and 1 are never a generation.
  const uint32_t& generation() const { return generation_; }
  static constexpr uint32_t kLastGeneration = 0x7fffffff;  // the clock stands still
  void restart_generations() { generation_ = 2; }

 private:
  // The strong writes that a read of the object observes now: those since the last one that was no
  // read-modify-write.
  struct Chain {
    uint32_t cta = 0;   // of all of them, if `one_cta`
    uint8_t bytes = 0;  // of each; 0: none yet
    bool one_cta = true, wide = true;
    bool mixed = false;                              // sizes differ: they do not overlap completely
    bool started = false;                            // by a write, at `first`
    bool modified = false, modified_before = false;  // by read-modify-writes since, and before
    Moment first;
  };
  struct Reader {
    Moment at;
    bool wide;
  };
  // By strong writes since the last one that was no read-modify-write.
  struct Released {
    // Of one CTA, for its own threads: they need no scope .gpu.
    struct Own {
      Clock past, mark;     // what its threads knew of others, and what they did
      bool narrow = false;  // some of it has not gone to `wide`
    };
    Clock wide;
    std::unordered_map<uint32_t, Own> own;
    bool narrow = false;  // of any CTA
    // What threads knew when they released and `wide` therefore holds, the latest ones.
    std::array<Clock, 4> holds;
    uint32_t next = 0;               // of `holds`
    uint32_t line = 0, version = 0;  // of `wide`
    uint64_t state = 0;              // another number after each release, whatever the object
    bool knows_all(const Clock& c) const {
      for (const Clock& h : holds)
        if (h.same(c)) return true;
      return c.empty();
    }
  };
  struct Object {
    Chain chain;
    std::vector<Reader> readers;  // since the last write; it, if that was a read-modify-write
    Released released;
  };
  uint32_t find(uint64_t object);
  void release(Released& to, uint32_t cta, const View* past, const Clock& mark, bool wide);
  // What a thread that knows `have` knows with `what`: `have` if it did before. `held`: known to be
  // part of `what`.
  ViewPtr with(const ViewPtr& have, const Clock& what, const Clock& held = {});
  void acquire(CtaOrder& c, uint32_t thread, const Clock& what, const Clock& held = {});
  void write_released(CtaOrder& c, uint32_t thread, uint32_t object, bool release, bool wide);
  static void add_to(Chain& chain, uint32_t cta, bool wide, uint32_t bytes);
  const Clock& joined(const Clock& a, const Clock& b);

  std::unordered_map<uint64_t, uint32_t> index_;
  std::vector<Object> objects_;
  // Threads of one CTA, and CTAs that wait at one counter, join the same clocks again and again.
  struct Join {
    Clock a, b, result;
  };
  std::array<Join, 256> joins_;
  uint32_t lines_ = 0;   // of clocks
  uint64_t states_ = 0;  // of what objects hold
  void tick() { generation_ += generation_ != kLastGeneration; }
  uint32_t generation_ = 2;
  std::vector<bool> retired_;
};

}  // namespace tw::shadow
