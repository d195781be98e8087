// Shared memory of a CTA as the asynchronous proxy reads it: products of WGMMA and bulk copies out
// of shared memory. Two questions:
//
//   pending   bytes that a product or copy may still be reading, since nobody has waited for it:
//             whoever writes them now races with it, whatever barriers lie between
//   unfenced  bytes that a thread has written (through the generic proxy) with no
//             fence.proxy.async behind the write: the asynchronous proxy may read what was there
//             before
//
// A product is its warpgroup's: it is over when a warp of the warpgroup has waited for its group.
// A copy is its thread's. Nothing is cleared when one ends: a word names the last group that read
// it, and ends are counted.
//
// A fence stands behind a write if the writer executed it, or another thread that came after the
// write. Of "came after" only this is looked at: a barrier of the whole CTA between the two, or
// anything that orders part of the threads (then it is taken to be right).
// Limits: of two copies that read one word only the later counts; copies from block to block of a
// cluster are never pending; what other blocks write is taken to be fenced; fences are not followed
// to the reader; only shared memory.
//
// Tested by tests/unit/shadow/async_reads_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tw::shadow {

class AsyncReads {
 public:
  struct Pending {
    uint32_t thread = 0;  // the copy's; the first of the product's warpgroup
    uint32_t site = 0;
    bool product = false;
  };
  struct Write {
    uint32_t thread = 0;
    uint32_t site = 0;
    uint32_t epoch = 0;   // of the CTA: barriers of all its threads
    uint32_t fences = 0;  // executed before it; 0: no write
  };

  void reset(uint64_t shared_bytes, uint32_t threads);
  bool in_use() const { return !writes_.empty(); }  // since a reset

  // ---- pending ----
  void product(uint32_t warp, uint32_t site, uint64_t offset, uint32_t bytes);
  void product_commit(uint32_t warp);
  // All groups of the warp but the last `keep` are complete.
  void product_wait(uint32_t warp, uint32_t keep);
  void copy(uint32_t thread, uint32_t site, uint64_t offset, uint32_t bytes);
  void copy_commit(uint32_t thread);
  void copy_wait(uint32_t thread, uint32_t keep);
  // True: *found is a copy that is not over.
  bool pending_copy(Pending* found) const;
  // True: *found reads one of these bytes.
  bool pending(uint64_t offset, uint32_t bytes, Pending* found) const;

  // ---- unfenced ----
  void write(uint32_t thread, uint32_t site, uint64_t offset, uint32_t bytes, uint32_t epoch);
  // The asynchronous proxy writes: what threads wrote there before is gone.
  void overwritten(uint64_t offset, uint32_t bytes);
  // `partial`: something has ordered part of the threads in this epoch.
  void fence(uint32_t thread, uint32_t epoch, bool partial);
  // The first write of these bytes without a fence behind it, or nullptr.
  const Write* unfenced(uint64_t offset, uint32_t bytes) const;

 private:
  struct Reader {
    uint32_t group = 0;  // that is open, from 1 on
    uint32_t over = 0;   // groups up to this one
    uint32_t read = 0;   // the last group that read anything
  };
  struct Entry {
    uint32_t group = 0;  // 0: none
    uint32_t site = 0;
    uint32_t thread = 0;  // copies
  };
  size_t words() const { return writes_.size(); }
  size_t last_word(uint64_t offset, uint32_t bytes) const;

  std::vector<uint32_t> commits_;   // by warp: closed groups of products
  std::vector<Reader> warpgroups_;  // their `group` is not used
  std::vector<Entry> products_;     // by word and warpgroup; empty until the first
  std::vector<Reader> threads_;     // empty until the first copy
  std::vector<Entry> copies_;       // by word; the same
  uint32_t copying_ = 0;            // threads with a copy that is not over
  std::vector<Write> writes_;       // by word
  std::vector<uint32_t> fenced_;    // by thread: the number of its last fence
  uint32_t fences_ = 1;             // numbers given out
  uint32_t latest_ = 0, latest_epoch_ = 0, latest_partial_ = 0;
};

}  // namespace tw::shadow
