// `tilewright check`: watches every launch of a device with the four checkers.
//
//   memcheck   bounds, alignment, freed memory      memcheck.cpp
//   racecheck  over the core in src/shadow          racecheck.cpp
//   initcheck  reads of never-written bytes         initcheck.cpp
//   synccheck  barriers, warp masks, deadlock       synccheck.cpp
//
// What a handler can tell to be of no interest never comes here (shadow/filter.h). Each access is
// resolved once (space, offset, allocation) and handed from one checker to the next; lanes that
// memcheck finds at fault go no further. The CTAs of a launch run one after the other, so that
// findings do not depend on the number of threads. A finding is kept once for each kernel, kind and
// pair of sites; then only counted.
//
// Tested by tests/checkers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "emu/cluster.h"
#include "emu/observer.h"
#include "observe/checkers/host_stack.h"
#include "observe/checkers/shared_arrays.h"
#include "report/finding.h"
#include "shadow/async_copies.h"
#include "shadow/async_reads.h"
#include "shadow/races.h"
#include "shadow/streams.h"

namespace tw::observe {

enum Tools : uint8_t {
  kMemcheck = 1,
  kRacecheck = 2,
  kInitcheck = 4,
  kSynccheck = 8,
  kAllTools = 15
};

struct CheckOptions {
  uint8_t tools = kAllTools;
  uint64_t max_findings = 10000;                    // different ones
  uint32_t max_records = shadow::RecordLog::kMost;  // racecheck's, of a launch
  bool leaks = false;                               // device memory that is never freed
  bool filtered = true;  // handlers pass over what is of no interest (false: tests)
  // Whether a launch is checked; empty: all.
  std::function<bool(const std::string& kernel)> select;
  // A finding when it first occurs; called by one thread at a time. Its count is still 1.
  std::function<void(const report::Finding&)> on_finding;
  // The count of an earlier finding of the host side has changed; 0: it is none after all.
  std::function<void(const report::Finding&)> on_count;
  // What has been checked so far, with the counts, {id, count}, that have changed since the last
  // time; when a launch begins, ends, or is left out.
  std::function<void(const report::CheckSummary&,
                     const std::vector<std::pair<uint64_t, uint64_t>>&)>
      on_progress;
};

class CheckSession final : public emu::ObserverSource {
 public:
  explicit CheckSession(CheckOptions options);
  ~CheckSession() override;

  // Adds a finding of the host side (API errors, leaks).
  void add(report::Finding finding);
  report::CheckResult result() const;
  // The program is at its end, with this exit status: leaks; errors that it has seen.
  void finish(int status);

  // ---- the host side (host_calls.cpp); the thread that makes the call ----
  // A CUDA call has failed. A finding unless the program asks for the error later, or ends with a
  // status that says so.
  void call_failed(int code, const char* name, const char* text);
  // The call that fails next is a launch that the engine cannot run: no mistake of the program's.
  void launch_refused();
  // The program asks for an error: 0: this thread's last one; otherwise for the text of a code.
  void error_asked(int code);
  void invalid_free(uint64_t address, bool host);
  void host_fault(uint64_t address, bool write, uint64_t instruction);
  // Managed memory (managed_memory.cpp). Host code has touched a page of it that is protected,
  // since a kernel may still be using it; in the signal handler. False: it is no such page.
  // Otherwise the access can be repeated; once it has been, managed_access_over.
  bool managed_access(uint64_t address, bool write, uint64_t instruction);
  void managed_access_over();

  // ---- streams (stream_races.cpp): operations that nothing orders ----
  // This thread submits an operation; a kernel is known by its start on this thread until the end.
  uint64_t submitted(uint64_t stream, shadow::StreamKind kind);
  void submitted_end();
  // A copy or fill is carried out between the two, on this thread.
  void work_begin(uint64_t operation);
  void work_end(uint64_t operation, bool host_waits);
  template <class F> void streams(F f) {
    std::lock_guard lock(mutex_);
    f(stream_order_);
    drop_over();
  }

  // ---- ObserverSource ----
  uint8_t wanted(const emu::Launch& launch) override;
  bool keeps_freed() const override { return (options_.tools & kMemcheck) != 0; }
  emu::Observer* launch_begin(const emu::Launch& launch, const emu::Program& program,
                              uint32_t worker) override;
  void launch_end(const emu::Launch& launch, const emu::Program& program, const emu::Fault& fault,
                  std::span<const emu::BlockCount> counts) override;
  void allocated(const emu::Allocation& a) override;
  void freed(const emu::Allocation& a) override;
  void host_access(uint64_t address, uint64_t bytes, bool write) override;

 private:
  class Values;
  class Bound;  // the Observer of one launch: names the launch, then calls the session
  // Hooks of the launch that runs.
  void cta_begin(emu::Cta& cta);
  void cta_end(emu::Cta& cta);
  uint32_t access(const emu::Access& a);
  void barrier_arrive(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t barrier,
                      uint32_t threads, uint32_t lanes, bool waits);
  void barrier_complete(emu::Cta& cta, uint32_t barrier);
  void warp_sync(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t members, uint32_t lanes);
  void converge(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t members, uint32_t lanes);
  void shuffle(emu::Cta& cta, emu::Warp& warp, uint32_t site, const uint32_t* members,
               uint32_t lanes, const uint8_t* source);
  void mbarrier(emu::Cta& cta, emu::Warp& warp, uint32_t site, emu::MbarrierAction action,
                uint32_t lanes, const uint32_t* offset);
  void cluster_arrive(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes, bool release);
  void cluster_complete(emu::Cluster& cluster);
  void cluster_wait(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes, bool passed);
  void out_of_turn(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes, bool waits);
  void wgmma_commit(emu::Cta& cta, emu::Warp& warp, uint32_t lanes);
  void wgmma_wait(emu::Cta& cta, emu::Warp& warp, uint32_t lanes, uint32_t keep);
  void fence(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint8_t ordering, uint8_t scope,
             uint32_t lanes);
  void invalid_free(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lane, uint64_t address);
  void async_commit(emu::Cta& cta, emu::Warp& warp, uint32_t lanes);
  void async_wait(emu::Cta& cta, emu::Warp& warp, uint32_t lanes, uint32_t keep);
  void bulk_commit(emu::Cta& cta, emu::Warp& warp, uint32_t lanes);
  void bulk_wait(emu::Cta& cta, emu::Warp& warp, uint32_t lanes, uint32_t keep);
  void proxy_fence(emu::Cta& cta, emu::Warp& warp, uint32_t lanes);
  void exit(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes);

  // Which bytes of some memory have been written.
  class Written {
   public:
    void reset(uint64_t size);
    uint64_t left() const { return view.left; }
    shadow::WrittenView view;

   private:
    struct Free {
      void operator()(uint64_t* p) const;
    };
    std::unique_ptr<uint64_t[], Free> bits_;  // of much memory, pages only where they are touched
    uint64_t bytes_ = 0;
  };
  static bool all_written(const shadow::WrittenView& v, uint64_t offset, uint64_t count);
  static void set_written(shadow::WrittenView& v, uint64_t offset, uint64_t count);
  // Of one allocation of device memory.
  struct Shadow {
    emu::Allocation allocation;
    HostStackPtr allocated;
    std::string kernel;   // device-side malloc: the kernel that called it, if it ran alone
    shadow::Lines lines;  // empty until the first access under racecheck
    Written written;
    // Several devices know it: those that do not own it reach it by the host's pages.
    bool shared = false;
    bool kept_from_host = false;  // managed: its pages are protected
    uint32_t host_faults = 0;     // since they are
    bool tracked =
        false;  // initcheck: only memory that nobody but device code and the runtime can write
  };
  struct Freed {
    emu::Allocation allocation;
    HostStackPtr allocated, freed;
    uint64_t number = 0;  // increases
  };
  // Lanes waiting in a warp for others they have named.
  struct Waiting {
    uint32_t site = 0, members = 0, arrived = 0;
    bool sync = false;
  };
  struct BarrierPhase {
    uint32_t arrived_threads = 0, waiting_threads = 0, required = 0, site = 0;
  };
  // Bytes that nobody has written, of a value that a warp's lanes copy (emu::CopiedValue).
  struct CarriedUnwritten {
    uint32_t lanes = 0;               // that have such bytes
    uint32_t alone = 0;               // of those: no other byte of the larger copy is written
    uint8_t bytes[emu::kLanes] = {};  // a bit each
    uint64_t from[emu::kLanes] = {};  // address
  };
  // What the CTAs of a cluster have in common. `arriving`, `passed`: handed over at its barrier, in
  // this phase and in the last complete one.
  struct ClusterState {
    uint64_t number = ~0ull;
    shadow::View arriving, passed;
    uint32_t completed = 0;                                // phases
    std::unordered_map<uint64_t, shadow::View> mbarriers;  // by rank and offset
  };
  // The last access of a warp of another CTA at a site.
  struct RemoteAccess {
    shadow::Moment at;
    emu::AccessKind kind = emu::AccessKind::read;
    uint32_t phase = 0;    // of the cluster's barrier, at which its lanes arrive next
    bool arrival = false;  // at an mbarrier
  };
  // When and where, and which threads of the cluster are known to come after.
  struct InitialisedMbarrier {
    shadow::Moment at;
    uint32_t site = 0;
    std::vector<bool> known;
  };
  struct CtaState {
    shadow::Races::Shared shared;
    // In a cluster of several CTAs; shared memory then has lines, as global memory does.
    ClusterState* cluster = nullptr;
    uint32_t passed_phases = 0;  // of its barrier, by some thread
    shadow::Lines lines;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, RemoteAccess>
        remote;                                              // by site, CTA and warp
    std::unordered_map<uint64_t, CarriedUnwritten> carried;  // by warp and Program::copied
    shadow::PassedReads passed;
    shadow::AsyncCopies copies;
    shadow::AsyncReads reads;
    std::unordered_map<uint32_t, InitialisedMbarrier> initialised;  // by offset
    Written shared_written, local_written;  // the view of shared memory is shared.filter.written
    std::vector<Waiting> waiting;           // by warp (one at a time is what matters)
    std::vector<uint32_t> cluster_owed;     // by warp: lanes that have yet to wait for the cluster
    BarrierPhase barriers[emu::kBarriers];
    uint32_t exited = 0;                      // threads
    uint32_t number = 0;                      // index into numbers_
    std::unique_ptr<emu::Observer> observer;  // with this CTA's filter
  };
  struct SiteState {
    uint64_t low = 1, span = 0;  // where accesses fell last time
    Shadow* shadow = nullptr;
  };
  // What an operation of a stream did to one allocation, at one place.
  struct Touched {
    uint64_t allocation = 0;  // its address; 0: freed since
    uint32_t site = 0;
    emu::AccessKind kind = emu::AccessKind::read;
    bool strong = false;
    uint64_t low = 0, high = 0;  // offsets; without bits: all of them
    std::vector<uint64_t> bits;  // kernels: which bytes
    bool overlaps(const Touched& other, uint64_t& offset) const;
  };
  static constexpr uint64_t kMaxAllocation = 256 << 20;     // larger ones are not followed
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // of bits, for all operations
  struct LaunchState;
  // Kept until the host has waited for it.
  struct StreamOperation {
    uint64_t number = 0;
    shadow::StreamOrder::Stamp stamp;
    HostStackPtr where;
    std::shared_ptr<LaunchState> launch;  // kernels, once they run
    std::vector<Touched> touched;
    std::vector<uint64_t> managed;  // addresses of managed allocations that the kernel gets
    std::vector<uint64_t> beside;   // ran at the same time: their order is the Order's business
    uint64_t bytes = 0;             // of the bits
  };
  // A launch that runs, or has run while another goes on.
  struct LaunchState {
    const emu::Launch* key = nullptr;  // the engine's object; gone when the launch is over
    emu::Launch launch;
    HostStackPtr launched;
    std::shared_ptr<StreamOperation> operation;
    bool followed = false;  // several streams are in use: the operation notes all that is touched
    std::vector<uint32_t> touched;  // by site: the last index into operation->touched
    const emu::Program* program = nullptr;
    std::vector<SiteState> sites;
    std::vector<shadow::CtaFilter::Site> filters;         // the same for the handlers
    const std::vector<SharedBounds>* arrays = nullptr;    // by site; nullptr: none known
    std::vector<shadow::SharedRange> ranges, row_ranges;  // for the handlers
    std::unordered_map<uint64_t, size_t>
        quick;  // findings by kind, sites and severity, without strings
    std::unordered_map<uint64_t, bool> of_cub;  // pairs of sites: ordered_by_cub
    void set_ranges(bool by_array);
    void forget_sites() {
      sites.assign(sites.size(), {});
      filters.assign(filters.size(), {});
    }
  };
  // Lanes of one access that lie in one space.
  struct Resolved {
    const emu::Access& a;
    emu::AccessSpace space;
    uint32_t lanes;
    const uint64_t* address;  // offsets into the memory of the CTA, the thread, or the allocation
    Shadow* shadow;           // global: all of `lanes` lie in it
    CtaState* cta;
    CtaState* owner;    // of the shared memory
    uint32_t high = 0;  // what the address of another CTA's has above the offset
  };

  CtaState& state(emu::Cta& cta) {
    if (&cta != last_cta_) last_cta_ = &cta, last_state_ = ctas_.at(&cta).get();
    return *last_state_;
  }
  uint32_t resolved_access(Resolved& r);
  // Lanes that access shared memory where a cluster has several CTAs.
  uint32_t cluster_access(const emu::Access& a, uint32_t lanes, const uint64_t* address);
  void note_remote(const Resolved& r);
  void left_too_early(const std::string& where, uint32_t site, emu::AccessKind kind);
  void check_remote(emu::Cta& cta);  // at its end
  void bind_filter(const emu::AccessSite& site);
  uint32_t global_access(const emu::Access& a, uint32_t lanes, const uint64_t* address);
  // By cudaMalloc and the like; variables, the device heap and the engine's own have a name.
  static bool by_the_host(const emu::Allocation& a);
  Shadow* find_shadow(uint64_t address);

  // Each returns the lanes without fault.
  uint32_t memcheck_narrow(Resolved& r);
  void memcheck_array(const emu::Access& a, const SharedBounds& array, uint32_t lane,
                      uint64_t address);
  void memcheck_lane(const emu::Access& a, emu::AccessSpace space, uint32_t lane, uint64_t address);
  void racecheck(Resolved& r);
  void async_access(const Resolved& r);
  void async_reads(const Resolved& r);
  void copies_at_end(emu::Cta& cta);
  void mbarrier_order(emu::Cta& cta, emu::Warp& warp, uint32_t site, emu::MbarrierAction action,
                      uint32_t lanes, uint32_t object, CtaState& owner);
  void initcheck(Resolved& r);
  void load_copies(const Resolved& r, const shadow::WrittenView& written, uint64_t base);
  void store_copies(const Resolved& r, shadow::WrittenView* local, uint64_t base);
  void uninitialised(const Resolved& r, emu::AccessSpace space, uint32_t site, uint32_t bytes,
                     uint32_t lanes, const uint64_t* address);
  void on_race(const shadow::Race& race);

  void partial_barrier(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes,
                       uint32_t missing);
  void named_lanes(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t members, uint32_t lanes,
                   bool sync);
  void leaves_others_waiting(emu::Cta& cta, emu::Warp& warp, uint32_t site, uint32_t lanes,
                             const char* instead);

  // Adds the place where the memory was allocated, if it is known.
  void add_allocated(report::Finding& f, uint64_t address) const;
  std::shared_ptr<StreamOperation> this_submission() const;  // of this thread; nullptr: none
  std::shared_ptr<StreamOperation> this_work() const;
  void touch(const Resolved& r);
  void operation_done(const std::shared_ptr<StreamOperation>& operation);
  void report_pairs(const StreamOperation& first, const StreamOperation& second);
  void free_in_stream(const emu::Allocation& a);
  void report_pair(const StreamOperation& first, const Touched& a, const StreamOperation& second,
                   const Touched& b, uint64_t offset);
  bool settled(const StreamOperation& o) const;
  void keep_managed_from_host(const emu::Launch& launch, StreamOperation& operation);
  static void give_back(Shadow& s);
  void give_managed_back();
  void note_managed(LaunchState& state);
  struct HostAccess;
  void report_host(const HostAccess& host, const StreamOperation& operation);
  Shadow* shadow_of(uint64_t allocation);
  void drop_over();
  void kernel_fault(const emu::Fault& fault);
  void cut_short();
  void tell_progress();
  void recount(uint64_t finding, int64_t by);
  const Freed* freed_at(uint64_t address) const;

  // Counts a finding; `make` fills in the text when it is the first.
  void count(const char* kind, report::Severity severity, uint32_t site, uint32_t site2,
             uint64_t times, const std::function<void(report::Finding&)>& make);
  bool ordered_by_cub(uint32_t read, uint32_t write);
  report::FindingSite place(uint32_t site, const char* role) const {
    return place(*now_->program, site, role);
  }
  static report::FindingSite place(const emu::Program& program, uint32_t site, const char* role);
  std::string thread_text(const emu::Cta& cta, uint32_t thread) const;
  std::string thread_text(const LaunchState& launch, uint64_t linear, uint32_t thread) const;

  CheckOptions options_;
  mutable std::recursive_mutex mutex_;  // host-side events against launches
  shadow::Races races_;
  std::unordered_map<const emu::Cta*, std::unique_ptr<CtaState>> ctas_;
  std::unordered_map<emu::Cluster*, std::unique_ptr<ClusterState>> clusters_;
  const emu::Cta* last_cta_ = nullptr;  // of `state`
  CtaState* last_state_ = nullptr;
  std::map<uint64_t, std::unique_ptr<Shadow>> shadows_;  // by address
  std::map<uint64_t, Freed> freed_;                      // by address; what lay there last
  std::map<uint64_t, uint64_t> freed_by_age_;            // Freed::number -> address
  uint64_t next_freed_ = 0;
  struct Submitted {
    HostStackPtr stack;
    std::shared_ptr<StreamOperation> operation;
  };
  std::unordered_map<uint64_t, Submitted> launches_;  // by launch id, until it starts
  shadow::StreamOrder stream_order_;
  bool several_streams_ = false;
  std::unordered_map<uint64_t, std::shared_ptr<StreamOperation>> submitted_;  // not finished
  std::vector<std::shared_ptr<StreamOperation>> done_;  // finished; the host has not waited for it
  uint64_t next_operation_ = 1;
  // Of the host, to managed memory that kernels get which it has not waited for.
  struct HostAccess {
    uint64_t allocation = 0, offset = 0;
    bool write = false;
    HostStackPtr where;
    std::vector<uint64_t> operations;  // that have not finished
  };
  std::vector<HostAccess> host_accesses_;
  // Errors of a thread that nobody has asked for yet.
  struct Unasked {
    uint64_t finding;
    int code;
    std::thread::id thread;
  };
  std::vector<Unasked> unasked_;
  std::map<std::pair<std::string, std::vector<uint64_t>>, uint64_t>
      failed_calls_;  // finding by error and stack
  std::vector<std::unique_ptr<Bound>> running_;
  std::map<std::string, std::vector<SharedBounds>> arrays_;  // by kernel, see launch_begin
  LaunchState* now_ = nullptr;                               // whose hook runs
  // CTAs are numbered through while any launch runs.
  struct CtaNumber {
    std::shared_ptr<LaunchState> launch;
    uint64_t linear;
  };
  std::vector<CtaNumber> numbers_;
  // While on_race runs: the access at hand.
  const Resolved* racing_ = nullptr;
  bool racing_shared_ = false;

  using Key = std::tuple<std::string, std::string, report::Severity>;  // kernel and kind, sites
  std::map<Key, size_t> keys_;
  std::vector<report::Finding> findings_;
  std::vector<uint64_t> told_;  // counts of findings that on_progress knows
  std::set<std::string> kernels_;
  report::CheckSummary summary_;
};

}  // namespace tw::observe
