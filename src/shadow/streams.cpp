#include "shadow/streams.h"

#include <algorithm>

namespace tw::shadow {

uint32_t StreamOrder::index(uint64_t stream, StreamKind kind) {
  const auto [it, fresh] = index_.try_emplace(stream, uint32_t(streams_.size()));
  if (fresh) streams_.push_back({kind, 0, {}});
  return it->second;
}

void StreamOrder::join(Clock& to, const Clock& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

StreamOrder::Clock StreamOrder::effective(uint32_t stream) const {
  const Stream& s = streams_[stream];
  Clock clock = s.clock;
  join(clock, host_);
  if (s.kind == StreamKind::other) return clock;
  const StreamKind related =
      s.kind == StreamKind::legacy ? StreamKind::blocking : StreamKind::legacy;
  for (const Stream& other : streams_)
    if (other.kind == related) join(clock, other.clock);
  return clock;
}

StreamOrder::Stamp StreamOrder::submit(uint64_t stream, StreamKind kind) {
  const uint32_t i = index(stream, kind);
  Stamp stamp{i, ++streams_[i].number, effective(i)};
  Clock& clock = streams_[i].clock;
  clock = stamp.before;
  if (clock.size() <= i) clock.resize(i + 1);
  clock[i] = stamp.number;
  return stamp;
}

void StreamOrder::record(const void* event, uint64_t stream, StreamKind kind) {
  events_[event] = effective(index(stream, kind));
}

void StreamOrder::wait(uint64_t stream, StreamKind kind, const void* event) {
  const uint32_t i = index(stream, kind);
  if (auto it = events_.find(event); it != events_.end()) join(streams_[i].clock, it->second);
}

void StreamOrder::host_waits(uint64_t stream, StreamKind kind) {
  join(host_, effective(index(stream, kind)));
}

void StreamOrder::host_waits_for_event(const void* event) {
  if (auto it = events_.find(event); it != events_.end()) join(host_, it->second);
}

void StreamOrder::host_waits_for_all() {
  for (const Stream& s : streams_) join(host_, s.clock);
}

void StreamOrder::host_waits_for(const Stamp& operation) {
  join(host_, operation.before);
  if (host_.size() <= operation.stream) host_.resize(operation.stream + 1);
  host_[operation.stream] = std::max(host_[operation.stream], operation.number);
}

}  // namespace tw::shadow
