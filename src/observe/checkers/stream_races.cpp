// racecheck between the operations of streams: kernels, copies and fills that nothing orders
// (shadow/streams.h), whatever order they happened to run in.
//
// Once a program uses a stream other than the default one, each operation notes which bytes it
// touched (kernels: a bit for each byte, for each instruction and allocation), until the host has
// waited for it. An operation that has finished is compared with those before it that are not
// ordered with it. Kernels that ran at the same time are left to the order of accesses
// (racecheck.cpp), and pairs that talk to one another by strong accesses are taken as ordered by
// them.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "observe/checkers/session.h"

namespace tw::observe {

using emu::AccessKind;
using report::Finding;

namespace {

thread_local uint64_t submission = 0, work = 0;  // operations of this thread

const char* word(AccessKind k) {
  return k == AccessKind::read ? "read" : k == AccessKind::write ? "write" : "atomic access";
}

}  // namespace

bool CheckSession::Touched::overlaps(const Touched& other, uint64_t& offset) const {
  const uint64_t from = std::max(low, other.low), to = std::min(high, other.high);
  if (from >= to) return false;
  if (bits.empty() && other.bits.empty()) {
    offset = from;
    return true;
  }
  for (uint64_t w = from / 64; w <= (to - 1) / 64; ++w) {
    uint64_t both = (bits.empty() ? ~0ull : bits[w]) & (other.bits.empty() ? ~0ull : other.bits[w]);
    if (w == from / 64) both &= ~0ull << (from % 64);
    if (w == (to - 1) / 64 && to % 64 != 0) both &= (1ull << (to % 64)) - 1;
    if (both == 0) continue;
    offset = w * 64 + uint64_t(__builtin_ctzll(both));
    return true;
  }
  return false;
}

uint64_t CheckSession::submitted(uint64_t stream, shadow::StreamKind kind) {
  if (!(options_.tools & kRacecheck)) return 0;
  std::lock_guard lock(mutex_);
  several_streams_ = several_streams_ || kind != shadow::StreamKind::legacy;
  auto operation = std::make_shared<StreamOperation>();
  operation->number = next_operation_++;
  operation->stamp = stream_order_.submit(stream, kind);
  if (several_streams_) operation->where = host_stack();
  submission = operation->number;
  submitted_[operation->number] = operation;
  return operation->number;
}

void CheckSession::submitted_end() { submission = 0; }

std::shared_ptr<CheckSession::StreamOperation> CheckSession::this_submission() const {
  auto it = submission == 0 ? submitted_.end() : submitted_.find(submission);
  return it == submitted_.end() ? nullptr : it->second;
}

std::shared_ptr<CheckSession::StreamOperation> CheckSession::this_work() const {
  auto it = work == 0 ? submitted_.end() : submitted_.find(work);
  return it == submitted_.end() ? nullptr : it->second;
}

void CheckSession::work_begin(uint64_t operation) { work = operation; }

void CheckSession::work_end(uint64_t number, bool host_waits) {
  work = 0;
  std::lock_guard lock(mutex_);
  auto it = submitted_.find(number);
  if (it == submitted_.end()) return;
  const std::shared_ptr<StreamOperation> operation = it->second;
  operation_done(operation);
  if (!host_waits) return;
  stream_order_.host_waits_for(operation->stamp);
  drop_over();
}

void CheckSession::touch(const Resolved& r) {
  StreamOperation& operation = *now_->operation;
  const emu::Allocation& a = r.shadow->allocation;
  const emu::AccessSite& site = r.a.site;
  uint32_t& last = now_->touched[site.site];
  auto fits = [&](const Touched& t) { return t.allocation == a.address && t.site == site.site; };
  if (last >= operation.touched.size() || !fits(operation.touched[last])) {
    const auto it = std::find_if(operation.touched.begin(), operation.touched.end(), fits);
    last = uint32_t(it - operation.touched.begin());
    if (it == operation.touched.end()) {
      if (a.bytes > kMaxAllocation || operation.bytes > kMaxBytes) return;
      Touched t{a.address, site.site, site.kind, site.ordering != isa::kWeak, a.bytes, 0, {}};
      t.bits.resize(a.bytes / 64 + 1);
      operation.bytes += t.bits.size() * 8;
      operation.touched.push_back(std::move(t));
    }
  }
  Touched& t = operation.touched[last];
  for (uint32_t left = r.lanes; left != 0; left &= left - 1) {
    const uint64_t at = r.address[__builtin_ctz(left)];
    t.low = std::min(t.low, at);
    t.high = std::max<uint64_t>(t.high, at + site.bytes);
    // Aligned, at most 16 bytes: within a word.
    t.bits[at / 64] |= ((1ull << site.bytes) - 1) << (at % 64);
  }
}

// Nothing that is still to finish, or to be submitted, can be unordered with it.
bool CheckSession::settled(const StreamOperation& o) const {
  if (!stream_order_.over(o.stamp)) return false;
  return std::none_of(submitted_.begin(), submitted_.end(), [&](const auto& s) {
    return !shadow::StreamOrder::ordered(o.stamp, s.second->stamp) &&
           !shadow::StreamOrder::ordered(s.second->stamp, o.stamp);
  });
}

void CheckSession::drop_over() {
  std::erase_if(done_, [&](const auto& o) { return settled(*o); });
  give_managed_back();
}

void CheckSession::operation_done(const std::shared_ptr<StreamOperation>& operation) {
  submitted_.erase(operation->number);
  for (HostAccess& host : host_accesses_)
    if (std::erase(host.operations, operation->number) != 0) report_host(host, *operation);
  std::erase_if(host_accesses_, [](const HostAccess& h) { return h.operations.empty(); });
  if ((!several_streams_ && operation->managed.empty()) || operation->touched.empty()) return;
  uint64_t bytes = operation->bytes;
  for (const auto& other : done_) {
    bytes += other->bytes;
    report_pairs(*other, *operation);
  }
  if (settled(*operation)) return;
  done_.push_back(operation);
  while (bytes > kMaxBytes && done_.size() > 1) {
    bytes -= done_.front()->bytes;
    done_.erase(done_.begin());
  }
}

// What two operations have done to the same bytes, unless something orders them.
void CheckSession::report_pairs(const StreamOperation& first, const StreamOperation& second) {
  if (std::count(second.beside.begin(), second.beside.end(), first.number) != 0 ||
      shadow::StreamOrder::ordered(first.stamp, second.stamp) ||
      shadow::StreamOrder::ordered(second.stamp, first.stamp))
    return;
  struct Pair {
    const Touched *a, *b;
    uint64_t offset;
  };
  std::vector<Pair> pairs;
  bool talk = false;
  for (const Touched& a : first.touched)
    for (const Touched& b : second.touched) {
      uint64_t offset = 0;
      if (a.allocation != b.allocation || a.allocation == 0 ||
          (a.kind == AccessKind::read && b.kind == AccessKind::read) || !a.overlaps(b, offset))
        continue;
      if (a.strong && b.strong)
        talk = true;
      else
        pairs.push_back({&a, &b, offset});
    }
  if (talk) return;
  // Once for each pair of lines: an unrolled loop has several instructions of one.
  const auto line_of = [](const StreamOperation& o, const Touched& t) {
    if (!o.launch) return std::pair<std::string, uint32_t>();
    const emu::SitePlace at = emu::place_of(*o.launch->program, t.site);
    return std::pair(at.file, at.line);
  };
  using Line = std::pair<std::string, uint32_t>;
  std::set<std::tuple<Line, AccessKind, Line, AccessKind>> seen;
  for (const Pair& p : pairs)
    if (seen.insert({line_of(first, *p.a), p.a->kind, line_of(second, *p.b), p.b->kind}).second)
      report_pair(first, *p.a, second, *p.b, p.offset);
}

void CheckSession::report_pair(const StreamOperation& first, const Touched& a,
                               const StreamOperation& second, const Touched& b, uint64_t offset) {
  Finding f;
  f.kind = "race-global";
  std::vector<report::FindingSite> aside;
  std::string names[2];
  int n = 0;
  for (auto [operation, touched] : {std::pair{&first, &a}, {&second, &b}}) {
    if (operation->launch) {
      f.kernel = operation->launch->program->function->name;
      names[n] = "a kernel";
      f.sites.push_back(place(*operation->launch->program, touched->site, word(touched->kind)));
      if (operation->where) aside.push_back(host_site(*operation->where, "launched"));
    } else {
      report::FindingSite site;
      if (operation->where) site = host_site(*operation->where, "");
      names[n] = site.instruction.empty() ? "a copy" : site.instruction;
      site.role = names[n];
      site.host = true;
      f.sites.push_back(std::move(site));
    }
    ++n;
  }
  const bool a_writes = a.kind != AccessKind::read, b_writes = b.kind != AccessKind::read;
  f.message =
      fmt::format("{}: {} and {} access the same global memory in streams that nothing orders",
                  a_writes && b_writes ? "write after write"
                  : a_writes           ? "read after write"
                                       : "write after read",
                  names[0], names[1]);
  f.advice =
      "let one stream wait for an event of the other (cudaStreamWaitEvent), wait on the host in "
      "between, or put both into one stream";
  if (const Shadow* s = shadow_of(a.allocation)) {
    f.allocation = fmt::format("offset {:#x} of the allocation of {} bytes at {:#x}", offset,
                               s->allocation.bytes, a.allocation);
    if (s->allocated) aside.push_back(host_site(*s->allocated, "allocated"));
  }
  for (report::FindingSite& s : aside)
    if (!s.stack.empty()) f.sites.push_back(std::move(s));
  add(std::move(f));
}

}  // namespace tw::observe
