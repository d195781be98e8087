#include "observe/checkers/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "emu/memory.h"

namespace tw::observe {

using report::Finding;
using report::Severity;

namespace {

constexpr size_t kMostFreed = 4096;  // allocations remembered after they were freed, the latest

}  // namespace

// ---- findings ----

CheckSession::CheckSession(CheckOptions options)
    : options_(std::move(options)),
      races_([this](const shadow::Race& r) { on_race(r); }, options_.max_records) {
  for (auto [bit, name] : {std::pair{kMemcheck, "memcheck"},
                           {kRacecheck, "racecheck"},
                           {kInitcheck, "initcheck"},
                           {kSynccheck, "synccheck"}})
    if (options_.tools & bit) summary_.tools.push_back(name);
}

CheckSession::~CheckSession() = default;

bool CheckSession::by_the_host(const emu::Allocation& a) { return a.label.empty(); }

report::FindingSite CheckSession::place(const emu::Program& program, uint32_t site,
                                        const char* role) {
  emu::SitePlace p = emu::place_of(program, site);
  return {std::move(p.file), p.line, std::move(p.text), role};
}

std::string CheckSession::thread_text(const LaunchState& launch, uint64_t linear,
                                      uint32_t thread) const {
  const emu::Dim3& g = launch.launch.grid;
  const auto& b = launch.program->block_shape;
  return fmt::format("block ({}, {}, {}) thread ({}, {}, {})", linear % g.x, linear / g.x % g.y,
                     linear / g.x / g.y, thread % b[0], thread / b[0] % b[1], thread / b[0] / b[1]);
}

std::string CheckSession::thread_text(const emu::Cta& cta, uint32_t thread) const {
  return thread_text(*now_, cta.linear, thread);
}

void CheckSession::count(const char* kind, Severity severity, uint32_t site, uint32_t site2,
                         uint64_t times, const std::function<void(Finding&)>& make) {
  uint64_t quick = (uint64_t(site) << 32 | site2) * 0x9e3779b97f4a7c15ull;
  for (const char* p = kind; *p != 0; ++p) quick = (quick ^ uint8_t(*p)) * 0x100000001b3ull;
  quick = quick * 4 + uint64_t(severity);
  if (auto it = now_->quick.find(quick); it != now_->quick.end()) {
    if (it->second < findings_.size()) findings_[it->second].count += times;
    return;
  }
  Finding f;
  f.kind = kind;
  f.severity = severity;
  f.kernel = now_->program->function->name;
  f.count = times;
  make(f);
  // Sites are source lines where the program says so: an unrolled loop is one site.
  auto line_of = [&](size_t i) {
    return i >= f.sites.size() || f.sites[i].host
               ? std::string()
               : fmt::format("{}:{}", f.sites[i].file, f.sites[i].line);
  };
  std::string a = line_of(0), b = line_of(1);
  if (f.kind.starts_with("race") && b < a) std::swap(a, b);  // whichever came first
  if (now_->launched) f.sites.push_back(host_site(*now_->launched, "launched"));
  std::erase_if(f.sites, [](const report::FindingSite& s) { return s.host && s.stack.empty(); });
  const Key key{f.kernel + "\n" + f.kind, a + "\n" + b, severity};
  auto [it, fresh] = keys_.try_emplace(key, findings_.size());
  if (!fresh) {
    now_->quick[quick] = it->second;
    if (it->second < findings_.size()) findings_[it->second].count += times;
    return;
  }
  if (findings_.size() >= options_.max_findings) {
    it->second = ~size_t{0};
    now_->quick[quick] = ~size_t{0};
    ++summary_.dropped;
    return;
  }
  now_->quick[quick] = it->second;
  f.id = findings_.size();
  findings_.push_back(std::move(f));
  if (options_.on_finding) options_.on_finding(findings_.back());
}

void CheckSession::add(Finding finding) {
  std::lock_guard lock(mutex_);
  for (Finding& f : findings_)
    if (f.kind == finding.kind && f.message == finding.message && f.sites == finding.sites) {
      f.count += finding.count;
      return;
    }
  if (findings_.size() >= options_.max_findings) {
    ++summary_.dropped;
    return;
  }
  finding.id = findings_.size();
  findings_.push_back(std::move(finding));
  if (options_.on_finding) options_.on_finding(findings_.back());
}

report::CheckResult CheckSession::result() const {
  std::lock_guard lock(mutex_);
  report::CheckResult r{findings_, summary_};
  std::erase_if(r.findings, [](const Finding& f) { return f.count == 0; });
  r.checked.kernels = kernels_.size();
  return r;
}

void CheckSession::tell_progress() {
  if (!options_.on_progress) return;
  std::vector<std::pair<uint64_t, uint64_t>> counts;
  for (size_t i = 0; i < findings_.size(); ++i) {
    if (i == told_.size()) told_.push_back(1);
    if (findings_[i].count == told_[i]) continue;
    told_[i] = findings_[i].count;
    counts.emplace_back(i, findings_[i].count);
  }
  report::CheckSummary checked = summary_;
  checked.kernels = kernels_.size();
  options_.on_progress(checked, counts);
}

// ---- launches ----

uint8_t CheckSession::wanted(const emu::Launch& launch) {
  if (options_.select && !options_.select(emu::kernel_name(*launch.kernel))) {
    std::lock_guard lock(mutex_);
    if (const auto operation = this_submission()) submitted_.erase(operation->number);
    ++summary_.unchecked_launches;
    tell_progress();
    return 0;
  }
  HostStackPtr stack = host_stack();
  std::lock_guard lock(mutex_);
  const std::shared_ptr<StreamOperation> operation = this_submission();
  if (operation) keep_managed_from_host(launch, *operation);
  launches_[launch.id] = {std::move(stack), operation};
  return emu::kObserveAccesses | emu::kObserveSync |
         (options_.filtered ? emu::kObserveFiltered : 0);
}

class CheckSession::Bound final : public emu::Observer {
 public:
  Bound(CheckSession& session, std::shared_ptr<LaunchState> state)
      : session_(session), state_(std::move(state)) {}
  Bound(CheckSession& session, const emu::Launch& launch, const emu::Program& program)
      : session_(session), state_(std::make_shared<LaunchState>()) {
    state_->key = &launch;
    state_->launch = launch;
    state_->program = &program;
    state_->sites.resize(program.sites.size());
    state_->filters.resize(program.sites.size());
  }
  const std::shared_ptr<LaunchState>& state() const { return state_; }
  CheckSession& enter() {
    session_.now_ = state_.get();
    return session_;
  }

  void cta_begin(emu::Cta& cta) override {
    session_.numbers_.push_back({state_, cta.linear});
    enter().cta_begin(cta);
    CtaState& s = session_.state(cta);
    if (!s.observer) {
      s.observer = std::make_unique<Bound>(session_, state_);
    }
    s.observer->filter = &s.shared.filter;
    cta.observer = s.observer.get();
  }
  void cta_end(emu::Cta& cta) override { enter().cta_end(cta); }
  uint32_t access(const emu::Access& a) override { return enter().access(a); }
  void barrier_arrive(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t barrier,
                      uint32_t threads, uint32_t lanes, bool waits) override {
    enter().barrier_arrive(cta, warp, site, barrier, threads, lanes, waits);
  }
  void barrier_complete(emu::Cta& cta, uint32_t barrier) override {
    enter().barrier_complete(cta, barrier);
  }
  void warp_sync(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t members,
                 uint32_t lanes) override {
    enter().warp_sync(cta, warp, site, members, lanes);
  }
  void converge(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t members,
                uint32_t lanes) override {
    enter().converge(cta, warp, site, members, lanes);
  }
  void shuffle(emu::Cta& cta, emu::Warp& warp, uint32_t site, const uint32_t* members,
               uint32_t lanes, const uint8_t* source) override {
    enter().shuffle(cta, warp, site, members, lanes, source);
  }
  void mbarrier(emu::Cta& cta, emu::Warp& warp, uint32_t site, emu::MbarrierAction action,
                uint32_t lanes, const uint32_t* offset) override {
    enter().mbarrier(cta, warp, site, action, lanes, offset);
  }
  void fence(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint8_t ordering, uint8_t scope,
             uint32_t lanes) override {
    enter().fence(cta, warp, site, ordering, scope, lanes);
  }
  void cluster_arrive(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes,
                      bool release) override {
    enter().cluster_arrive(cta, warp, site, lanes, release);
  }
  void cluster_complete(emu::Cluster& cluster) override { enter().cluster_complete(cluster); }
  void cluster_wait(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes,
                    bool passed) override {
    enter().cluster_wait(cta, warp, site, lanes, passed);
  }
  void wgmma_commit(emu::Cta& cta, emu::Warp& warp, uint32_t lanes) override {
    enter().wgmma_commit(cta, warp, lanes);
  }
  void wgmma_wait(emu::Cta& cta, emu::Warp& warp, uint32_t lanes, uint32_t keep) override {
    enter().wgmma_wait(cta, warp, lanes, keep);
  }
  void async_commit(emu::Cta& cta, emu::Warp& warp, uint32_t lanes) override {
    enter().async_commit(cta, warp, lanes);
  }
  void invalid_free(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lane,
                    uint64_t address) override {
    enter().invalid_free(cta, warp, site, lane, address);
  }
  void async_wait(emu::Cta& cta, emu::Warp& warp, uint32_t lanes, uint32_t keep) override {
    enter().async_wait(cta, warp, lanes, keep);
  }
  void bulk_commit(emu::Cta& cta, emu::Warp& warp, uint32_t lanes) override {
    enter().bulk_commit(cta, warp, lanes);
  }
  void bulk_wait(emu::Cta& cta, emu::Warp& warp, uint32_t lanes, uint32_t keep) override {
    enter().bulk_wait(cta, warp, lanes, keep);
  }
  void proxy_fence(emu::Cta& cta, emu::Warp& warp, uint32_t lanes) override {
    enter().proxy_fence(cta, warp, lanes);
  }
  void exit(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes) override {
    enter().exit(cta, warp, site, lanes);
  }

 private:
  CheckSession& session_;
  std::shared_ptr<LaunchState> state_;
};

void CheckSession::LaunchState::set_ranges(bool by_array) {
  const int64_t bytes = int64_t(program->static_shared_bytes + launch.dynamic_shared_bytes);
  ranges.assign(program->sites.size(), {0, bytes});
  if (by_array && arrays != nullptr)
    for (size_t i = 0; i < ranges.size(); ++i)
      if (const SharedBounds& b = (*arrays)[i]; !b.array.empty()) ranges[i] = {b.low, b.high};
  row_ranges.clear();
  for (const emu::RowFilter* row : program->rows)
    for (const auto* members : {&row->members_a, &row->members_b}) {
      shadow::SharedRange all{INT64_MIN, INT64_MAX};
      for (const shadow::LogSite::Member& m : *members) {
        all.low = std::max(all.low, ranges[m.site].low - m.offset);
        all.high = std::min(all.high, ranges[m.site].high - m.offset);
      }
      row_ranges.push_back(all);
    }
}

emu::Observer* CheckSession::launch_begin(const emu::Launch& launch, const emu::Program& program,
                                          uint32_t) {
  std::lock_guard lock(mutex_);
  ++summary_.launches;
  kernels_.insert(program.function->name);
  tell_progress();
  running_.push_back(std::make_unique<Bound>(*this, launch, program));
  // Not by address: cudaDeviceReset takes programs away, and others come where they were.
  const auto& shape = program.block_shape;
  auto [arrays, fresh] = arrays_.try_emplace(fmt::format("{} {} {}x{}x{} {}", program.module->name,
                                                         program.function->name, shape[0], shape[1],
                                                         shape[2], program.sites.size()));
  if (fresh) arrays->second = shared_bounds(program);
  if (!arrays->second.empty()) running_.back()->state()->arrays = &arrays->second;
  running_.back()->state()->set_ranges((options_.tools & kMemcheck) != 0);
  if (auto it = launches_.find(launch.id); it != launches_.end()) {
    LaunchState& state = *running_.back()->state();
    state.launched = std::move(it->second.stack);
    const std::shared_ptr<StreamOperation>& operation = it->second.operation;
    state.followed = several_streams_ && operation;
    if (operation && !state.followed && operation->managed.empty()) {
      submitted_.erase(operation->number);
    } else if (operation) {
      state.operation = std::move(it->second.operation);
      state.operation->launch = running_.back()->state();
      state.operation->where = state.launched;
      state.touched.assign(program.sites.size(), 0);
      for (const auto& other : running_)
        if (const auto& o = other->state()->operation; o && o != state.operation) {
          o->beside.push_back(state.operation->number);
          state.operation->beside.push_back(o->number);
        }
    }
    launches_.erase(it);
  }
  return running_.back().get();
}

void CheckSession::launch_end(const emu::Launch& launch, const emu::Program&,
                              const emu::Fault& fault, std::span<const emu::BlockCount>) {
  std::lock_guard lock(mutex_);
  auto it = std::find_if(running_.begin(), running_.end(),
                         [&](const auto& b) { return b->state()->key == &launch; });
  if (it == running_.end()) return;
  const std::shared_ptr<LaunchState> state = (*it)->state();
  now_ = state.get();
  kernel_fault(fault);
  if (fault.kind == emu::FaultKind::deadlock && (options_.tools & kSynccheck)) {
    count("deadlock", Severity::error, 0, 1, 1, [&](Finding& f) {
      // Between "deadlock: ", which the kind says, and the places, which follow as sites.
      const size_t begin = fault.message.find(": ") + 2;
      f.message = fault.message.substr(begin, fault.message.find(':', begin) - begin);
      f.advice =
          "every thread that has not exited must reach the barrier, and every lane that a mask "
          "names must reach the same instruction";
      const emu::Dim3& g = launch.grid;
      f.where = thread_text(
          *now_, fault.block[0] + uint64_t(g.x) * (fault.block[1] + uint64_t(g.y) * fault.block[2]),
          0);
      for (const uint32_t site : fault.waiting) {
        report::FindingSite at = place(site, "waits");
        const bool named = std::any_of(f.sites.begin(), f.sites.end(), [&](const auto& other) {
          return other.file == at.file && other.line == at.line;
        });
        if (!named) f.sites.push_back(std::move(at));
      }
      if (std::any_of(f.sites.begin(), f.sites.end(), [](const auto& at) {
            return at.instruction.find("mbarrier.") != std::string::npos;
          }))
        f.advice =
            "a phase of an mbarrier is over when as many arrivals as mbarrier.init says, and the "
            "bytes that expect_tx announced, have come: compare both, and the parity that is "
            "waited for, in each round";
    });
  }
  for (auto c = ctas_.begin(); c != ctas_.end();) {
    if (numbers_[c->second->number].launch != state) {
      ++c;
      continue;
    }
    if (options_.tools & kRacecheck) races_.barrier_all(c->second->shared);
    c = ctas_.erase(c);
  }
  std::erase_if(clusters_, [&](const auto& c) {
    return std::none_of(ctas_.begin(), ctas_.end(),
                        [&](const auto& s) { return s.second->cluster == c.second.get(); });
  });
  if (races_.left_out()) cut_short();
  running_.erase(it);
  last_cta_ = nullptr;
  now_ = nullptr;
  if (state->operation) {
    if (!state->followed) note_managed(*state);
    operation_done(state->operation);
  }
  // Whatever starts after this launch comes after all it did; what runs beside it does not.
  if (running_.empty()) {
    numbers_.clear();
    if (!races_.launch_end())
      for (auto& [address, s] : shadows_)
        if (s->lines.bytes() != 0) s->lines.forget();
  } else {
    for (uint32_t n = 0; n < numbers_.size(); ++n)
      if (numbers_[n].launch == state) races_.retire(n);
  }
  tell_progress();
}

void CheckSession::cut_short() {
  ++summary_.cut_launches;
  count("incomplete-check", Severity::note, 0, 3, 1, [&](Finding& f) {
    f.message =
        "racecheck has no room for more records of accesses: what came after in this launch was "
        "not looked at";
    f.advice = "check a smaller problem, or this kernel alone (--kernel)";
  });
}

void CheckSession::cta_begin(emu::Cta& cta) {
  std::unique_ptr<CtaState>& s = ctas_[&cta];
  if (!s) s = std::make_unique<CtaState>();
  s->number = uint32_t(numbers_.size() - 1);
  const uint64_t bytes = cta.shared_bytes;
  shadow::CtaFilter& filter = s->shared.filter;
  filter.open = true;
  filter.bytes = uint32_t(bytes);
  if (options_.tools & kRacecheck) races_.shared_begin(s->shared, s->number, cta.threads, bytes);
  if (options_.tools & kInitcheck) {
    s->shared_written.reset(bytes);
    s->local_written.reset(cta.local_bytes * cta.warps.size() * emu::kLanes);
    filter.written = s->shared_written.view;
    s->passed.wrote();
    filter.passed = &s->passed;
  }
  filter.sites = now_->filters.data();
  filter.tag = &races_.order().generation();
  filter.detector = &races_;
  filter.order = &s->shared.order;
  filter.ranges = now_->ranges.data();
  filter.row_ranges = now_->row_ranges.data();
  s->carried.clear();
  s->cluster = nullptr;
  s->passed_phases = 0;
  s->remote.clear();
  if (cta.cluster.size() > 1) {
    std::unique_ptr<ClusterState>& c = clusters_[&cta.cluster];
    if (!c) c = std::make_unique<ClusterState>();
    if (c->number != cta.cluster.number()) {
      *c = {};
      c->number = cta.cluster.number();
    }
    s->cluster = c.get();
    filter.open = false;
    if (options_.tools & kRacecheck) s->lines.reset(bytes);
  }
  s->waiting.assign(cta.warps.size(), {});
  s->cluster_owed.assign(cta.warps.size(), 0);
  s->initialised.clear();
  const bool async = cta.program.async_shared && (options_.tools & kRacecheck);
  if (async) {
    s->copies.reset(cta.shared_bytes, cta.threads * cta.cluster.size());
    s->reads.reset(cta.shared_bytes, cta.threads);
  } else {
    if (s->copies.any()) s->copies.clear();
    if (s->reads.in_use()) s->reads = {};
  }
  for (BarrierPhase& b : s->barriers) b = {};
  s->exited = 0;
}

void CheckSession::cta_end(emu::Cta& cta) {
  if (!(options_.tools & kRacecheck)) return;
  check_remote(cta);
  if (cta.program.async_shared) copies_at_end(cta);
  races_.barrier_all(state(cta).shared);
}

// ---- memory ----

void CheckSession::allocated(const emu::Allocation& a) {
  HostStackPtr stack = by_the_host(a) ? host_stack() : nullptr;
  std::lock_guard lock(mutex_);
  if (const auto it = shadows_.find(a.address); it != shadows_.end()) {
    it->second->shared = true;
    give_back(*it->second);
    return;
  }
  auto s = std::make_unique<Shadow>();
  s->allocation = a;
  s->allocated = std::move(stack);
  if (a.label == emu::kHeapLabel && running_.size() == 1) {
    s->kernel = running_.front()->state()->program->function->name;
    s->allocated = running_.front()->state()->launched;
  }
  s->tracked = a.kind == emu::AllocationKind::device;
  if (s->tracked && (options_.tools & kInitcheck)) s->written.reset(a.bytes);
  shadows_[a.address] = std::move(s);
  // What lay here before is no longer freed memory.
  auto it = freed_.lower_bound(a.address);
  if (it != freed_.begin() &&
      std::prev(it)->first + std::prev(it)->second.allocation.bytes > a.address)
    --it;
  while (it != freed_.end() && it->first < a.address + a.bytes) {
    freed_by_age_.erase(it->second.number);
    it = freed_.erase(it);
  }
}

// Memory that an operation of this thread frees (cudaFreeAsync): as if it wrote all of it. What
// kernels that are still to run do with it is memcheck's business.
void CheckSession::free_in_stream(const emu::Allocation& a) {
  const std::shared_ptr<StreamOperation> operation = this_work();
  if (!operation || !several_streams_) return;
  StreamOperation frees;
  frees.number = operation->number;
  frees.stamp = operation->stamp;
  frees.where = operation->where;
  frees.touched.push_back({a.address, 0, emu::AccessKind::write, false, 0, a.bytes, {}});
  for (const auto& other : done_) report_pairs(*other, frees);
  for (const auto& b : running_)
    if (b->state()->operation) report_pairs(*b->state()->operation, frees);
}

void CheckSession::freed(const emu::Allocation& a) {
  HostStackPtr stack = by_the_host(a) ? host_stack() : nullptr;
  std::lock_guard lock(mutex_);
  const auto shadow = shadows_.find(a.address);
  // A device no longer knows managed memory that another owns.
  if (shadow != shadows_.end() && shadow->second->allocation.kind != a.kind) return;
  if (const auto operation = this_work()) {
    if (operation->where) stack = operation->where;
    free_in_stream(a);
  }
  Freed& f = freed_[a.address];
  freed_by_age_.erase(f.number);
  f = {a, nullptr, std::move(stack), ++next_freed_};
  freed_by_age_[f.number] = a.address;
  if (shadow != shadows_.end()) {
    f.allocated = std::move(shadow->second->allocated);
    shadows_.erase(shadow);
  }
  if (freed_.size() > kMostFreed) {
    freed_.erase(freed_by_age_.begin()->second);
    freed_by_age_.erase(freed_by_age_.begin());
  }
  for (auto& o : done_)
    for (Touched& t : o->touched)
      if (t.allocation == a.address) t = {};
  for (auto& b : running_)
    if (b->state()->operation)
      for (Touched& t : b->state()->operation->touched)
        if (t.allocation == a.address) t = {};
  for (auto& b : running_) b->state()->forget_sites();
}

void CheckSession::host_access(uint64_t address, uint64_t bytes, bool write) {
  std::lock_guard lock(mutex_);
  auto it = shadows_.upper_bound(address);
  if (it == shadows_.begin()) return;
  Shadow& s = *std::prev(it)->second;
  const uint64_t offset = address - s.allocation.address;
  if (offset >= s.allocation.bytes) return;
  if (const auto& operation = this_work(); operation && several_streams_)
    operation->touched.push_back({s.allocation.address,
                                  0,
                                  write ? emu::AccessKind::write : emu::AccessKind::read,
                                  false,
                                  offset,
                                  std::min(offset + bytes, s.allocation.bytes),
                                  {}});
  if (!s.tracked || !(options_.tools & kInitcheck)) return;
  if (write) set_written(s.written.view, offset, std::min(bytes, s.allocation.bytes - offset));
}

CheckSession::Shadow* CheckSession::find_shadow(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto it = shadows_.upper_bound(address);
  if (it != shadows_.begin()) {
    Shadow* s = std::prev(it)->second.get();
    if (address - s->allocation.address < s->allocation.bytes) return s;
  }
  return nullptr;
}

}  // namespace tw::observe
