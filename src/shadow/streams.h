// Which operations of a program's streams are ordered, whatever order they happen to run in: the
// order in a stream, events, the default stream and the blocking ones, and what the host has waited
// for before it submits more. A clock counts, for each stream, the operations known to be over.
//
// Several host threads count as one: what one of them has waited for, all know. That can hide a
// missing order, but invents none. All calls are made in the order in which the host makes them.
//
// Tested by tests/unit/shadow/streams_test.cpp.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tw::shadow {

enum class StreamKind : uint8_t {
  legacy,    // the default stream: waits for the blocking ones, and they for it
  blocking,  // cudaStreamCreate
  other      // cudaStreamNonBlocking
};

class StreamOrder {
 public:
  using Clock = std::vector<uint32_t>;
  // An operation: the `number`th of its stream, after everything in `before`.
  struct Stamp {
    uint32_t stream = 0, number = 0;
    Clock before;
  };

  Stamp submit(uint64_t stream, StreamKind kind);
  // cudaEventRecord, cudaStreamWaitEvent; `event`: one execution of a record.
  void record(const void* event, uint64_t stream, StreamKind kind);
  void wait(uint64_t stream, StreamKind kind, const void* event);
  // The host has waited.
  void host_waits(uint64_t stream, StreamKind kind);
  void host_waits_for_event(const void* event);
  void host_waits_for_all();
  void host_waits_for(const Stamp& operation);

  static bool ordered(const Stamp& first, const Stamp& second) {
    return first.stream < second.before.size() && second.before[first.stream] >= first.number;
  }
  // Everything that is still to be submitted comes after it.
  bool over(const Stamp& s) const { return s.stream < host_.size() && host_[s.stream] >= s.number; }

 private:
  struct Stream {
    StreamKind kind = StreamKind::other;
    uint32_t number = 0;
    Clock clock;  // its own operations included
  };
  uint32_t index(uint64_t stream, StreamKind kind);
  Clock effective(uint32_t stream) const;  // what an operation submitted now would come after
  static void join(Clock& to, const Clock& from);

  std::unordered_map<uint64_t, uint32_t> index_;
  std::vector<Stream> streams_;
  std::unordered_map<const void*, Clock> events_;
  Clock host_;
};

}  // namespace tw::shadow
