#include "shadow/async_copies.h"

#include <algorithm>

namespace tw::shadow {

void AsyncCopies::reset(uint64_t shared_bytes, uint32_t threads) {
  words_.assign((shared_bytes + 3) / 4, 0);
  copies_.clear();
  unused_.clear();
  threads_.assign(threads, {});
  pending_ = 0;
}

const AsyncCopies::Copy* AsyncCopies::find(uint64_t offset, uint32_t bytes) const {
  const uint64_t end = std::min<uint64_t>((offset + bytes + 3) / 4, words_.size());
  for (uint64_t word = offset / 4; word < end; ++word)
    if (words_[word] != 0) return &copies_[words_[word] - 1];
  return nullptr;
}

void AsyncCopies::begin(uint32_t thread, uint32_t site, uint64_t offset, uint32_t bytes) {
  uint32_t index = uint32_t(copies_.size());
  if (unused_.empty()) {
    copies_.emplace_back();
  } else {
    index = unused_.back();
    unused_.pop_back();
  }
  copies_[index] = {thread, site, uint32_t(offset), bytes, threads_[thread].group};
  const uint64_t end = std::min<uint64_t>((offset + bytes) / 4, words_.size());
  for (uint64_t word = offset / 4; word < end; ++word) words_[word] = index + 1;
  threads_[thread].started.push_back(index);
  ++pending_;
}

void AsyncCopies::wait(uint32_t thread, uint64_t keep) {
  Thread& t = threads_[thread];
  while (!t.started.empty()) {
    const uint32_t index = t.started.front();
    const Copy& c = copies_[index];
    if (c.group + keep >= t.group) break;
    for (uint32_t word = c.offset / 4; word < (c.offset + c.bytes) / 4; ++word)
      if (word < words_.size() && words_[word] == index + 1) words_[word] = 0;
    unused_.push_back(index);
    t.started.pop_front();
    --pending_;
  }
}

}  // namespace tw::shadow
