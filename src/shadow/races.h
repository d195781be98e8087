// The race detector's core: two accesses to the same byte, at least one of them a write, not both
// strong enough for one another, and not ordered (order.h). Knows no engine types.
//
// A cell stands for four bytes (one, once something smaller is accessed) and names the last two
// writers and two readers that matter. Accesses are numbered: a record holds what the lanes of one
// warp instruction have in common, a cell's entry is record * 32 + lane. Records of an earlier
// epoch (shared memory) or launch (global memory) have smaller numbers, so "long ago, ordered" is
// one comparison, and nothing is cleared in between.
//
// Shared memory: while only whole-CTA barriers have ordered the threads of an epoch, its reads are
// merely logged, and looked at when the epoch ends: not at all if nothing was written, and only
// where they overlap the written range otherwise. The verdict then does not depend on which came
// first. Global memory: once threads of two CTAs have read a cell, any writer of this launch races
// with one of them, and further readers need no note (until somebody acquires: Order::generation).
//
// Tested by tests/unit/shadow/races_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "shadow/order.h"

namespace tw::shadow {

enum class AccessType : uint8_t { read, write, atomic };

struct Record {
  uint32_t cta, epoch, time, site;
  uint16_t warp;
  AccessType type;
  bool strong, wide;  // wide: scope .gpu or more
};

struct Cell {
  uint32_t write[2] = {0, 0}, read[2] = {0, 0};
};  // record * 32 + lane; 0: none

// The cells of one range of bytes.
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
  uint32_t add(const Record& r) {
    items_.push_back(r);
    return base_ + uint32_t(items_.size()) - 1;
  }
  const Record& operator[](uint32_t number) const { return items_[number - base_]; }
  uint32_t first() const { return base_; }
  uint32_t next() const { return base_ + uint32_t(items_.size()); }
  // Everything so far is long ago. False: numbers have run out, and all cells must be forgotten.
  bool restart() {
    base_ += uint32_t(items_.size());
    items_.clear();
    if (base_ < kLast / 2) return true;
    base_ = 1;
    return false;
  }
  bool full() const { return next() >= kLast; }

 private:
  static constexpr uint32_t kLast = 1u << 27;
  uint32_t base_ = 1;
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
  const uint64_t* offsets = nullptr;    // by lane, in the range of the cells
  const StoreValues* values = nullptr;  // stores
};

class Races {
 public:
  explicit Races(RaceSink sink) : sink_(std::move(sink)) {}
  Order& order() { return order_; }

  // ---- global memory ----
  void launch_begin() {}
  // False: every Cells of global memory must be forgotten.
  bool launch_end();
  void access_global(Cells& cells, const CtaOrder& c, const WarpAccess& a);

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
  };
  void shared_begin(Shared& s, uint32_t cta, uint32_t threads, uint64_t bytes);
  void access_shared(Shared& s, const WarpAccess& a);
  void settle(
      Shared& s);  // looks at the noted reads; before any event that orders part of the threads
  void barrier_all(Shared& s);  // the epoch ends

 private:
  struct Context;
  void check(Context& x, const WarpAccess& a, uint32_t lane);
  void report(Context& x, const WarpAccess& a, uint32_t lane, uint32_t entry, uint64_t offset,
              AccessType type);

  RaceSink sink_;
  Order order_;
  RecordLog records_;
  uint32_t generation_ = 0, generation_first_ = 0;
};

}  // namespace tw::shadow
