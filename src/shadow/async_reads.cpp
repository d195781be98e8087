#include "shadow/async_reads.h"

#include <algorithm>

namespace tw::shadow {

constexpr uint32_t kWarps = 4, kLanes = 32;  // of a warpgroup, of a warp

void AsyncReads::reset(uint64_t shared_bytes, uint32_t threads) {
  const uint32_t warps = (threads + kLanes - 1) / kLanes;
  commits_.assign(warps, 0);
  warpgroups_.assign((warps + kWarps - 1) / kWarps, {});
  products_.clear();
  threads_.clear();
  copies_.clear();
  copying_ = 0;
  writes_.assign((shared_bytes + 3) / 4, {});
  fenced_.assign(threads, 0);
  fences_ = 1;
  latest_ = latest_epoch_ = latest_partial_ = 0;
}

size_t AsyncReads::last_word(uint64_t offset, uint32_t bytes) const {
  return std::min<size_t>((offset + bytes + 3) / 4, words());
}

void AsyncReads::product(uint32_t warp, uint32_t site, uint64_t offset, uint32_t bytes) {
  if (products_.empty()) products_.resize(words() * warpgroups_.size());
  const uint32_t warpgroup = warp / kWarps, group = commits_[warp] + 1;
  warpgroups_[warpgroup].read = std::max(warpgroups_[warpgroup].read, group);
  const size_t end = last_word(offset, bytes);
  for (size_t word = offset / 4; word < end; ++word) {
    Entry& e = products_[word * warpgroups_.size() + warpgroup];
    if (group >= e.group) e = {group, site, 0};  // another warp may be a group ahead
  }
}

void AsyncReads::product_commit(uint32_t warp) {
  if (warp < commits_.size()) ++commits_[warp];
}

void AsyncReads::product_wait(uint32_t warp, uint32_t keep) {
  if (warp >= commits_.size() || commits_[warp] < keep) return;
  Reader& r = warpgroups_[warp / kWarps];
  r.over = std::max(r.over, commits_[warp] - keep);
}

void AsyncReads::copy(uint32_t thread, uint32_t site, uint64_t offset, uint32_t bytes) {
  if (copies_.empty()) {
    copies_.resize(words());
    threads_.assign(fenced_.size(), {1, 0, 0});
  }
  Reader& r = threads_[thread];
  if (r.read <= r.over) ++copying_;
  r.read = r.group;
  const size_t end = last_word(offset, bytes);
  for (size_t word = offset / 4; word < end; ++word) copies_[word] = {r.group, site, thread};
}

void AsyncReads::copy_commit(uint32_t thread) {
  if (thread < threads_.size()) ++threads_[thread].group;
}

void AsyncReads::copy_wait(uint32_t thread, uint32_t keep) {
  if (thread >= threads_.size() || threads_[thread].group <= keep) return;
  Reader& r = threads_[thread];
  const bool before = r.read > r.over;
  r.over = std::max(r.over, r.group - 1 - keep);
  if (before && r.read <= r.over) --copying_;
}

bool AsyncReads::pending_copy(Pending* found) const {
  if (copying_ == 0) return false;
  for (const Entry& e : copies_) {
    if (e.group == 0 || e.group <= threads_[e.thread].over) continue;
    *found = {e.thread, e.site, false};
    return true;
  }
  return false;
}

bool AsyncReads::pending(uint64_t offset, uint32_t bytes, Pending* found) const {
  const size_t end = last_word(offset, bytes), groups = warpgroups_.size();
  for (uint32_t g = 0; g < groups && !products_.empty(); ++g) {
    const Reader& r = warpgroups_[g];
    if (r.read <= r.over) continue;
    for (size_t word = offset / 4; word < end; ++word) {
      const Entry& e = products_[word * groups + g];
      if (e.group <= r.over) continue;
      *found = {g * kWarps * kLanes, e.site, true};
      return true;
    }
  }
  if (copying_ == 0) return false;
  for (size_t word = offset / 4; word < end; ++word) {
    const Entry& e = copies_[word];
    if (e.group == 0 || e.group <= threads_[e.thread].over) continue;
    *found = {e.thread, e.site, false};
    return true;
  }
  return false;
}

void AsyncReads::write(uint32_t thread, uint32_t site, uint64_t offset, uint32_t bytes,
                       uint32_t epoch) {
  const size_t end = last_word(offset, bytes);
  for (size_t word = offset / 4; word < end; ++word) writes_[word] = {thread, site, epoch, fences_};
}

void AsyncReads::overwritten(uint64_t offset, uint32_t bytes) {
  const size_t end = last_word(offset, bytes);
  for (size_t word = offset / 4; word < end; ++word) writes_[word].fences = 0;
}

void AsyncReads::fence(uint32_t thread, uint32_t epoch, bool partial) {
  if (thread >= fenced_.size()) return;
  fenced_[thread] = latest_ = ++fences_;
  latest_epoch_ = epoch;
  if (partial) latest_partial_ = fences_;
}

const AsyncReads::Write* AsyncReads::unfenced(uint64_t offset, uint32_t bytes) const {
  const size_t end = last_word(offset, bytes);
  for (size_t word = offset / 4; word < end; ++word) {
    const Write& w = writes_[word];
    if (w.fences == 0 || fenced_[w.thread] > w.fences || latest_partial_ > w.fences ||
        (latest_ > w.fences && latest_epoch_ > w.epoch))
      continue;
    return &w;
  }
  return nullptr;
}

}  // namespace tw::shadow
