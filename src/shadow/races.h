// The race detector's core: two accesses to the same byte, at least one of them a write, not both
// strong enough for one another, and not ordered (order.h). Knows no engine types.
//
// A cell stands for four bytes (one, once something smaller is accessed) and names the last two
// writers and two readers that matter; global memory has them only where lines.h cannot do without.
// Accesses are numbered: a record holds what the lanes of one warp instruction have in common, a
// cell's entry is record * 32 + lane. Records of an earlier epoch (shared memory) or launch (global
// memory) have smaller numbers, so "long ago, ordered" is one comparison, and nothing is cleared in
// between.
//
// Shared memory: while only whole-CTA barriers have ordered the threads of an epoch, its accesses
// are logged (filter.h), and looked at by this detector only if some of them may conflict. Reads
// are looked at when the epoch ends: the verdict then does not depend on which came first. Global
// memory: once threads of two CTAs have read a cell, any writer of this launch races with one of
// them, and further readers need no note (until somebody acquires: Order::generation).
//
// Tested by tests/unit/shadow/races_test.cpp, filter_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "shadow/filter.h"
#include "shadow/lines.h"
#include "shadow/order.h"

namespace tw::shadow {

enum class AccessType : uint8_t { read, write, atomic };

struct Record {
  uint32_t cta, epoch, time, site;
  uint16_t warp;
  AccessType type;
  bool strong, wide;  // wide: scope .gpu or more
  bool operator==(const Record&) const = default;
};

// The cells of the shared memory of a CTA.
class Cells {
 public:
  void reset(uint64_t bytes);
  void forget();  // all entries
  uint64_t bytes() const { return bytes_; }
  uint32_t shift() const { return shift_; }
  void split(uint32_t access_bytes, uint64_t offset);  // makes cells small enough for an access
  Cell* at(uint64_t offset) { return &cells_[offset >> shift_]; }

 private:
  struct Free {
    void operator()(Cell* p) const;
  };
  uint64_t bytes_ = 0;
  uint32_t shift_ = 2;
  std::unique_ptr<Cell[], Free> cells_;
};

class RecordLog {
 public:
  static constexpr uint32_t kMost = 1u << 24;  // entries of a Line are record * 128 + lanes
  explicit RecordLog(uint32_t most = kMost) : most_(most) {}
  uint32_t add(const Record& r) {
    items_.push_back(r);
    return base_ + uint32_t(items_.size()) - 1;
  }
  // The same record again, if a warp repeats itself.
  uint32_t add_once(const Record& r) {
    uint32_t& recent = recent_[(r.site * 5 + r.warp) % kRecent];
    if (recent >= base_ && items_[recent - base_] == r) return recent;
    return recent = add(r);
  }
  const Record& operator[](uint32_t number) const { return items_[number - base_]; }
  uint32_t first() const { return base_; }
  uint32_t next() const { return base_ + uint32_t(items_.size()); }
  // Everything so far is long ago. False: numbers have run out, and all cells must be forgotten.
  bool restart() {
    base_ += uint32_t(items_.size());
    items_.clear();
    for (uint32_t& r : recent_) r = 0;
    if (base_ < most_ / 2) return true;
    base_ = 1;
    return false;
  }
  bool full() const { return next() >= most_; }

 private:
  static constexpr uint32_t kRecent = 64;
  uint32_t most_;
  uint32_t base_ = 1;
  uint32_t recent_[kRecent] = {};
  std::vector<Record> items_;
};

struct Race {
  Record first, second;  // in the order in which they were seen
  uint32_t first_thread = 0, second_thread = 0;
  uint64_t offset = 0;     // of the cell, in its range
  bool converged = false;  // the pair is ordered by shfl, vote, ... only
  bool unchanged = false;  // the later write stores what is there already
};
using RaceSink = std::function<void(const Race&)>;

// What a store stores; asked only when there is a race.
class StoreValues {
 public:
  virtual ~StoreValues() = default;
  virtual bool unchanged(uint32_t lane) const = 0;             // the bytes are there already
  virtual bool same(uint32_t lane, uint32_t other) const = 0;  // as another lane of the instruction
};

// One warp instruction.
struct WarpAccess {
  uint32_t warp = 0, lanes = 0, site = 0;
  uint32_t bytes = 4;  // of one lane
  AccessType type = AccessType::read;
  bool strong = false, wide = false;
  const uint64_t* offsets = nullptr;  // by lane, in the range of the cells
  uint32_t time = kNow;               // of the warp's clock
  static constexpr uint32_t kNow = ~0u;
  const StoreValues* values = nullptr;  // stores
  // Offset 0 as a synchronisation object of Order.
  uint64_t objects = kNoObjects;
  static constexpr uint64_t kNoObjects = ~0ull;
};

class Races {
 public:
  // `most`: records of a launch's accesses to global memory.
  explicit Races(RaceSink sink, uint32_t most = RecordLog::kMost)
      : sink_(std::move(sink)), records_(most) {}
  Order& order() { return order_; }

  // ---- global memory ----
  // False: all Lines must be forgotten.
  bool launch_end();
  // Whether records have run out, so that accesses were left out, since the last question.
  bool left_out() { return std::exchange(left_out_, false); }
  // What the accesses since the last launch_end have done to this memory, as far as it is noted.
  void each_noted(Lines& lines,
                  const std::function<void(uint64_t offset, uint32_t bytes, const Record&)>& take);
  // What this CTA did is over for everyone who is still to come (its kernel has ended).
  void retire(uint32_t cta) { order_.retire(cta); }
  // `written`: of the same memory; nullptr: nobody asks what is initialised.
  void access_global(Lines& lines, const CtaOrder& c, const WarpAccess& a,
                     const WrittenView* written = nullptr);
  // False: access_global has to look at it.
  bool note_global(const CtaFilter::Site& s, const CtaOrder& c, const NotedAccess& n);

  // ---- shared memory of one CTA ----
  struct Shared {
    Cells cells;
    RecordLog records;
    CtaOrder order;
    // Reads of this epoch that are only noted.
    struct Noted {
      uint32_t site, lanes, offsets, watermark, time;
      uint16_t warp;
      uint8_t bytes;
      bool strong;
    };
    std::vector<Noted> noted;
    std::vector<uint32_t> offsets;                   // kLanes for each entry of noted
    uint64_t written_low = ~0ull, written_high = 0;  // this epoch
    // What may be logged before the above is needed.
    CtaFilter filter;
    std::vector<Logged> log;
    std::vector<uint32_t> log_offsets, stamps;
  };
  void shared_begin(Shared& s, uint32_t cta, uint32_t threads, uint64_t bytes);
  // `what`: the access's LogSite, for the log; it lives until the CTA ends.
  void access_shared(Shared& s, const WarpAccess& a, const LogSite* what = nullptr);
  // Looks at the reads that are only noted. Before any event that orders part of the threads.
  void settle(Shared& s);
  void warp_sync(Shared& s, uint32_t warp, uint32_t lanes) {  // complete
    settle(s);
    s.order.warp_sync(warp, lanes);
  }
  void converge(Shared& s, uint32_t warp, uint32_t lanes);  // shfl, vote, ...: complete
  void barrier_all(Shared& s);                              // the epoch ends

 private:
  struct Context;
  void check(Context& x, const WarpAccess& a, uint32_t lane, Cell* cells, uint32_t shift);
  void report(Context& x, const WarpAccess& a, uint32_t lane, uint32_t entry, uint64_t offset,
              AccessType type);
  // Lines of global memory (races_global.cpp).
  bool begin_access();
  bool note_line(Context& x, Lines& lines, uint64_t number, const WarpAccess& a, uint32_t lanes,
                 uint32_t words, const WrittenView* written);
  bool unwritten(Context& x, Lines& lines, uint64_t offset, uint32_t bytes);
  void line_cells(Context& x, Lines& lines, const WarpAccess& a, uint32_t lanes,
                  const WrittenView* written);
  void tag(Lines& lines, uint64_t number, const WrittenView* written);
  // The log of an epoch (races_shared.cpp).
  bool log_access(Shared& s, const WarpAccess& a, const LogSite& what);
  static bool conflicts(const Shared& s);
  static bool compact(Shared& s);
  void play(Shared& s);  // the log is given to the detector, which takes over
  void open(Shared& s);
  void access_cells(Shared& s, const WarpAccess& a);
  void settle_noted(Shared& s);

  RaceSink sink_;
  Order order_;
  RecordLog records_;
  uint32_t generation_ = 0, generation_first_ = 0;
  uint32_t launch_ = 1;  // Lines: below this launch's generations
  bool left_out_ = false;
};

}  // namespace tw::shadow
