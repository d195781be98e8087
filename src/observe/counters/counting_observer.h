// The counters of `tilewright profile`: an Observer for each worker, and the source that merges
// them at the end of a launch and hands a record to its sink.
//
// Executions of instructions come from the engine's block counts (no event an instruction);
// accesses are events, counted by pattern (request_pattern.h); caches are modelled on the sectors
// (cache_model.h). All sums are exact but for the cache models, and do not depend on the number of
// workers.
//
// Tested by tests/unit/observe/counting_test.cpp, tests/ladder, tests/gpu/ncu_compare.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <string>
#include <vector>

#include "emu/observer.h"
#include "model/device_spec.h"
#include "observe/counters/cache_model.h"
#include "observe/counters/request_pattern.h"
#include "observe/counters/site_table.h"
#include "report/record.h"

namespace tw::counters {

class CountingObserver final : public emu::Observer {
 public:
  CountingObserver(const SiteTable& sites, uint64_t l1_bytes);

  void cta_begin(emu::Cta& cta) override;
  void cta_end(emu::Cta& cta) override;
  uint32_t access(const emu::Access& access) override;
  void access_row(const emu::AccessRow& row, const uint32_t* address) override;

 private:
  friend class CountingSource;
  void shared(uint32_t site, const emu::AccessSite& a, const uint32_t* address, uint32_t offset,
              uint32_t lanes, bool regular, bool uniform);
  void global(uint32_t site, const emu::AccessSite& a, const uint64_t* address, uint64_t offset,
              uint32_t lanes, bool regular, bool uniform, const emu::Access& access);
  void local(uint32_t site, const emu::AccessSite& a, const uint64_t* offset, uint32_t lanes);
  void generic(const emu::Access& access);
  void bulk(const emu::Access& access);
  void spread(const emu::AccessRow& row, PatternTable& patterns);
  void spread_rows();
  void request_l2(uint64_t line, uint8_t sectors, bool write, uint32_t cta);
  void look_up_l1();

  const SiteTable& sites_;
  std::vector<PatternTable> patterns_;  // by site
  struct Row {
    const emu::AccessRow* row = nullptr;
    PatternTable patterns;  // of the row's address
  };
  std::vector<Row> rows_;  // by AccessRow::index
  std::vector<report::SiteCounts>
      extra_;  // what the patterns do not hold: L2 sectors, local memory
  Footprint read_, written_;
  L1Model l1_;
  // Loads of the CTA that have not gone through L1 yet: its warps run one after the other up to a
  // barrier, but share L1 side by side.
  struct Load {
    uint64_t line;
    uint32_t site;
    uint16_t warp;
    uint8_t sectors;
    bool last;  // of its request
  };
  std::vector<Load> loads_;
  std::vector<std::pair<uint32_t, uint32_t>> runs_;  // of one warp, in loads_
  uint32_t cta_ = 0;
  uint64_t bulk_address_ = 0;
  uint64_t bulk_sector_ = ~uint64_t(0);  // the last one counted of bulk copies, and whether written
  std::vector<L2Request> l2_;
  uint64_t l2_read_ = 0, l2_written_ = 0;
};

class CountingSource final : public emu::ObserverSource {
 public:
  // `sink`: receives whole lines (record.h), one at a time. `kernels`: only kernels whose name it
  // finds; nullopt: all. `ordinal`: of the device, for the records.
  using Sink = std::function<void(const std::string& line)>;
  CountingSource(const model::DeviceSpec& device, Sink sink,
                 std::optional<std::regex> kernels = std::nullopt, uint32_t ordinal = 0);
  ~CountingSource() override;

  uint8_t wanted(const emu::Launch& launch) override;
  bool one_thread() const override { return false; }
  emu::Observer* launch_begin(const emu::Launch& launch, const emu::Program& program,
                              uint32_t worker) override;
  void launch_end(const emu::Launch& launch, const emu::Program& program, const emu::Fault& fault,
                  std::span<const emu::BlockCount> blocks) override;

 private:
  struct Known;    // a program that has been described to the sink
  struct Running;  // a launch's observers
  Known& known(const emu::Program& program);

  model::DeviceSpec device_;
  Sink sink_;
  std::optional<std::regex> kernels_;
  uint32_t ordinal_;
  std::mutex mutex_;
  std::map<const ptx::Module*, uint64_t> modules_;
  std::map<const emu::Program*, std::unique_ptr<Known>> programs_;
  std::map<const emu::Launch*, std::unique_ptr<Running>> running_;
};

}  // namespace tw::counters
