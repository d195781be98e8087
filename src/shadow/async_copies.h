// Asynchronous copies (cp.async, cp.async.bulk) of a CTA that nobody has waited for: which bytes of
// shared memory they may still be writing.
//
// A copy belongs to the thread that started it and to the group that the thread closes next; it is
// over when that thread has waited for the group, or when somebody has passed an mbarrier that the
// thread has tied its copies to. Until then nobody may touch its bytes, not even the thread itself,
// and not another copy: copies are not ordered among themselves. The pieces of a bulk copy belong to
// no group: they end with their own mbarrier. Copies are of whole words (4, 8 or
// 16 bytes, aligned), so a word has at most one that matters.
// Limit: phases of an mbarrier are not told apart; who has passed one ends all copies tied so far.
//
// Tested by tests/unit/shadow/async_copies_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tw::shadow {

class AsyncCopies {
 public:
  struct Copy {
    uint32_t thread = 0;
    uint32_t site = 0;
    uint32_t offset = 0, bytes = 0;
    uint64_t group = 0;    // of its thread
    uint32_t holders = 1;  // lists below that name it; it is used again when none does
    bool bulk = false;
    bool over = false;
  };

  void reset(uint64_t shared_bytes, uint32_t threads);
  void clear() { reset(0, 0); }  // of a CTA without such copies: costs nothing
  bool any() const { return pending_ != 0; }
  // A bulk copy that is not over, or nullptr.
  const Copy* pending_bulk() const;
  // A pending copy that writes one of these bytes, or nullptr.
  const Copy* find(uint64_t offset, uint32_t bytes) const;

  void begin(uint32_t thread, uint32_t site, uint64_t offset, uint32_t bytes, bool bulk = false);
  void commit(uint32_t thread) {
    if (thread < threads_.size()) ++threads_[thread].group;
  }
  // All groups of the thread but the last `keep` are complete; those not closed are not.
  void wait(uint32_t thread, uint64_t keep);
  // All that the thread has started, closed groups or not, ends with the mbarrier at `offset`.
  void tie(uint32_t thread, uint32_t offset);
  // The same of the pieces of one bulk copy: what the thread has started since it last did this.
  void tie_bulk(uint32_t thread, uint32_t offset);
  void passed(uint32_t offset);  // somebody has seen a phase of it complete

 private:
  struct Thread {
    uint64_t group = 0;             // that the next copy joins
    std::vector<uint32_t> started;  // indices into copies_, from `first` on
    size_t first = 0;
    std::vector<uint32_t> pieces;  // of a bulk copy that has not been tied yet
  };
  void end(uint32_t index);
  void let_go(uint32_t index) {
    if (--copies_[index].holders == 0) unused_.push_back(index);
  }
  std::vector<uint32_t> words_;  // index into copies_, plus 1; 0: none
  std::vector<Copy> copies_;
  std::vector<uint32_t> unused_;  // of copies_
  std::vector<Thread> threads_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> tied_;  // mbarrier -> copies
  uint64_t pending_ = 0;
};

}  // namespace tw::shadow
