#include "shadow/async_copies.h"

#include <algorithm>
#include <utility>

namespace tw::shadow {

void AsyncCopies::reset(uint64_t shared_bytes, uint32_t threads) {
  words_.assign((shared_bytes + 3) / 4, 0);
  copies_.clear();
  unused_.clear();
  for (Thread& t : threads_) t.group = 0, t.started.clear(), t.first = 0, t.pieces.clear();
  threads_.resize(threads);
  tied_.clear();
  pending_ = 0;
}

const AsyncCopies::Copy* AsyncCopies::pending_bulk() const {
  if (pending_ == 0) return nullptr;
  for (const Copy& c : copies_)
    if (c.bulk && !c.over) return &c;
  return nullptr;
}

const AsyncCopies::Copy* AsyncCopies::find(uint64_t offset, uint32_t bytes) const {
  const uint64_t end = std::min<uint64_t>((offset + bytes + 3) / 4, words_.size());
  for (uint64_t word = offset / 4; word < end; ++word)
    if (words_[word] != 0) return &copies_[words_[word] - 1];
  return nullptr;
}

void AsyncCopies::begin(uint32_t thread, uint32_t site, uint64_t offset, uint32_t bytes,
                        bool bulk) {
  uint32_t index = uint32_t(copies_.size());
  if (unused_.empty()) {
    copies_.emplace_back();
  } else {
    index = unused_.back();
    unused_.pop_back();
  }
  copies_[index] = {thread, site, uint32_t(offset), bytes, threads_[thread].group, 1, bulk, false};
  const uint64_t end = std::min<uint64_t>((offset + bytes) / 4, words_.size());
  for (uint64_t word = offset / 4; word < end; ++word) words_[word] = index + 1;
  (bulk ? threads_[thread].pieces : threads_[thread].started).push_back(index);
  ++pending_;
}

void AsyncCopies::end(uint32_t index) {
  Copy& c = copies_[index];
  if (c.over) return;
  for (uint32_t word = c.offset / 4; word < (c.offset + c.bytes) / 4; ++word)
    if (word < words_.size() && words_[word] == index + 1) words_[word] = 0;
  c.over = true;
  --pending_;
}

void AsyncCopies::wait(uint32_t thread, uint64_t keep) {
  if (thread >= threads_.size()) return;
  Thread& t = threads_[thread];
  while (t.first != t.started.size()) {
    const uint32_t index = t.started[t.first];
    if (copies_[index].group + keep >= t.group) return;
    end(index);
    let_go(index);
    ++t.first;
  }
  t.started.clear();
  t.first = 0;
}

void AsyncCopies::tie(uint32_t thread, uint32_t offset) {
  if (thread >= threads_.size()) return;
  Thread& t = threads_[thread];
  std::vector<uint32_t>& tied = tied_[offset];
  std::vector<uint32_t> left;  // what has ended otherwise is let go here
  for (size_t i = t.first; i != t.started.size(); ++i) {
    const uint32_t index = t.started[i];
    if (copies_[index].over) {
      let_go(index);
      continue;
    }
    ++copies_[index].holders;
    tied.push_back(index);
    left.push_back(index);
  }
  t.started = std::move(left);
  t.first = 0;
}

void AsyncCopies::tie_bulk(uint32_t thread, uint32_t offset) {
  if (thread >= threads_.size() || threads_[thread].pieces.empty()) return;
  std::vector<uint32_t>& tied = tied_[offset];
  std::vector<uint32_t>& pieces = threads_[thread].pieces;
  tied.insert(tied.end(), pieces.begin(), pieces.end());  // as holders in the list's place
  pieces.clear();
}

void AsyncCopies::passed(uint32_t offset) {
  const auto found = tied_.find(offset);
  if (found == tied_.end()) return;
  for (const uint32_t index : found->second) end(index), let_go(index);
  tied_.erase(found);
}

}  // namespace tw::shadow
