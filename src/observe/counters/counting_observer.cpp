#include "observe/counters/counting_observer.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include "emu/cta.h"
#include "emu/device_impl.h"
#include "emu/windows.h"
#include "model/occupancy.h"
#include "ptx/printer.h"
#include "report/findings.h"

namespace tw::counters {

using emu::AccessKind;
using emu::AccessSpace;

constexpr size_t kMaxLoads = 1 << 20;  // kept for one interval between barriers

CountingObserver::CountingObserver(const SiteTable& sites, uint64_t l1_bytes)
    : sites_(sites), patterns_(sites.sites.size()), extra_(sites.sites.size()), l1_(l1_bytes) {}

namespace {
// Others that read and write (an mbarrier's) are no atomics of the machine code.
SharedAccess access_of(const emu::AccessSite& a, report::Traffic traffic) {
  return a.kind == AccessKind::read                  ? SharedAccess::kLoad
         : traffic == report::Traffic::shared_atomic ? SharedAccess::kAtomic
                                                     : SharedAccess::kStore;
}

// Of the four sectors of a line.
uint32_t count_of(uint8_t sectors) {
  return uint32_t(0x4332322132212110ull >> (sectors & 15) * 4) & 15;
}
}  // namespace

void CountingObserver::cta_begin(emu::Cta& cta) {
  look_up_l1();  // of one that faulted
  l1_.begin_cta();
  cta_ = uint32_t(cta.linear);
}

void CountingObserver::cta_end(emu::Cta&) { look_up_l1(); }

// One request of each warp in turn.
void CountingObserver::look_up_l1() {
  if (loads_.empty()) return;
  runs_.clear();
  for (uint32_t i = 0; i < loads_.size(); ++i)
    if (i == 0 || loads_[i].warp != loads_[i - 1].warp) runs_.push_back({i, i});
  const auto run_end = [&](size_t r) {
    return r + 1 < runs_.size() ? runs_[r + 1].second : uint32_t(loads_.size());
  };
  for (bool more = true; more;) {
    more = false;
    for (size_t r = 0; r < runs_.size(); ++r) {
      uint32_t& next = runs_[r].first;
      const uint32_t end = run_end(r);
      while (next < end) {
        const Load& load = loads_[next++];
        if (const uint8_t missing = l1_.load(load.line, load.sectors)) {
          // What hits was read before by this CTA.
          read_.add(load.line, missing);
          extra_[load.site].l2_sectors += count_of(missing);
          request_l2(load.line, missing, false, cta_);
        }
        if (load.last) break;
      }
      more |= next < end;
    }
  }
  loads_.clear();
}

void CountingObserver::request_l2(uint64_t line, uint8_t sectors, bool write, uint32_t cta) {
  (write ? l2_written_ : l2_read_) += count_of(sectors);
  if (sampled_line(line)) l2_.push_back({line, cta, sectors, write});
}

void CountingObserver::shared(uint32_t site, const emu::AccessSite& a, const uint32_t* address,
                              uint32_t offset, uint32_t lanes, bool regular, bool uniform) {
  patterns_[site].find<uint32_t>(PatternSpace::shared, access_of(a, sites_.sites[site].traffic),
                                 a.bytes, address, offset, lanes, regular, uniform);
}

void CountingObserver::global(uint32_t site, const emu::AccessSite& a, const uint64_t* address,
                              uint64_t offset, uint32_t lanes, bool regular, bool uniform,
                              const emu::Access& access) {
  const Pattern& p = patterns_[site].find<uint64_t>(
      a.copy_bytes != 0 ? PatternSpace::copy : PatternSpace::global,
      access_of(a, report::Traffic::none), a.copy_bytes != 0 ? a.copy_bytes : a.bytes, address,
      offset, lanes, regular, uniform);
  const uint64_t base =
      (address[uniform ? 0 : uint32_t(std::countr_zero(lanes))] + offset) / kLineBytes;
  if (a.kind == AccessKind::read) {
    const uint16_t warp = uint16_t(access.warp.index);
    const uint32_t cta = uint32_t(access.cta.linear);
    if (cta != cta_) {  // CTAs that take turns on one thread
      look_up_l1();
      cta_ = cta;
    }
    // Warp 0 after warp 7: all have reached a barrier, or had their turn.
    if (!loads_.empty() && (warp < loads_.back().warp || loads_.size() >= kMaxLoads)) look_up_l1();
    for (const LinePart& part : p.lines)
      loads_.push_back({base + uint64_t(part.line), site, warp, part.sectors, false});
    loads_.back().last = true;
    return;
  }
  const uint32_t cta = uint32_t(access.cta.linear);
  for (const LinePart& part : p.lines) {
    const uint64_t line = base + uint64_t(part.line);
    if (a.kind == AccessKind::atomic) read_.add(line, part.sectors);
    written_.add(line, part.sectors);
    extra_[site].l2_sectors += count_of(part.sectors);
    request_l2(line, part.sectors, true, cta);
  }
}

// Bulk copies go past L1, by sectors: of one that several pieces fall into, the first counts.
void CountingObserver::bulk(const emu::Access& access) {
  const bool write = access.site.kind == AccessKind::write;
  const uint64_t address = access.address(uint32_t(std::countr_zero(access.lanes)));
  constexpr uint32_t kSectorBytes = 32;
  const uint64_t sector = address / kSectorBytes * 2 + write;
  const bool further = address > std::exchange(bulk_address_, address);
  if (std::exchange(bulk_sector_, sector) == sector && further) return;
  const uint64_t line = address / kLineBytes;
  const uint8_t part = uint8_t(1u << address % kLineBytes / kSectorBytes);
  (write ? written_ : read_).add(line, part);
  ++extra_[access.site.site].l2_sectors;
  request_l2(line, part, write, uint32_t(access.cta.linear));
}

// A thread's 32-bit words of local memory lie 128 bytes apart, so that the lanes' words are
// neighbours.
void CountingObserver::local(uint32_t site, const emu::AccessSite& a, const uint64_t* offset,
                             uint32_t lanes) {
  std::vector<uint64_t> sectors;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t lane = uint32_t(std::countr_zero(left));
    for (uint64_t word = offset[lane] / 4; word <= (offset[lane] + a.bytes - 1) / 4; ++word)
      sectors.push_back((word * 128 + lane * 4) / 32);
  }
  std::sort(sectors.begin(), sectors.end());
  sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
  report::SiteCounts& c = extra_[site];
  const uint32_t active = uint32_t(std::popcount(lanes));
  ++c.requests;
  c.access_lanes += active;
  c.sectors += sectors.size();
  for (size_t i = 0; i < sectors.size(); ++i)
    if (i == 0 || sectors[i] / 4 != sectors[i - 1] / 4) ++c.lines, ++c.wavefronts[0];
  c.ideal_sectors += (active * a.bytes + 31) / 32;
}

void CountingObserver::generic(const emu::Access& access) {
  uint64_t address[32] = {};
  uint32_t narrow[32] = {};
  uint64_t offset[32] = {};
  uint32_t in_shared = 0, in_local = 0;
  for (uint32_t left = access.lanes; left != 0; left &= left - 1) {
    const uint32_t lane = uint32_t(std::countr_zero(left));
    address[lane] = access.address(lane);
    if (emu::in_shared_window(address[lane]))
      in_shared |= 1u << lane, narrow[lane] = uint32_t(address[lane] - emu::kSharedWindow);
    else if (emu::in_local_window(address[lane]))
      in_local |= 1u << lane, offset[lane] = address[lane] - emu::kLocalWindow;
  }
  const uint32_t site = access.site.site, in_global = access.lanes & ~in_shared & ~in_local;
  if (in_shared != 0)
    shared(sites_.generic_shared[site] ? sites_.generic_shared[site] : site, access.site, narrow, 0,
           in_shared, false, false);
  if (in_local != 0)
    local(sites_.generic_local[site] ? sites_.generic_local[site] : site, access.site, offset,
          in_local);
  if (in_global != 0) global(site, access.site, address, 0, in_global, false, false, access);
}

uint32_t CountingObserver::access(const emu::Access& access) {
  const emu::AccessSite& a = access.site;
  if (a.bulk && a.space == AccessSpace::global) bulk(access);
  if (a.async) return access.lanes;
  const bool regular = access.lanes == emu::kFullMask && a.form != emu::AddressForm::lanes;
  switch (a.space) {
    case AccessSpace::shared:
      shared(a.site, a, reinterpret_cast<const uint32_t*>(access.frame + access.op.a),
             uint32_t(access.op.imm), access.lanes, regular, a.address_uniform);
      break;
    case AccessSpace::global:
      global(a.site, a, reinterpret_cast<const uint64_t*>(access.frame + access.op.a),
             uint64_t(access.op.imm), access.lanes, regular, a.address_uniform, access);
      break;
    case AccessSpace::local: {
      uint64_t offset[32] = {};
      for (uint32_t left = access.lanes; left != 0; left &= left - 1) {
        const uint32_t lane = uint32_t(std::countr_zero(left));
        offset[lane] = access.address(lane);
      }
      local(a.site, a, offset, access.lanes);
      break;
    }
    default: generic(access);
  }
  return access.lanes;
}

// A row of loads at constant distances from one address is one pattern; what its members cost
// follows from it, and is worked out when the pattern is dropped.
void CountingObserver::access_row(const emu::AccessRow& row, const uint32_t* address) {
  if (row.index >= rows_.size()) rows_.resize(row.index + 1);
  Row& r = rows_[row.index];
  if (r.patterns.crowded()) spread(row, r.patterns);
  r.row = &row;
  r.patterns.find<uint32_t>(PatternSpace::shared, SharedAccess::kLoad, row.bytes, address, 0,
                            emu::kFullMask, true, false);
}

void CountingObserver::spread(const emu::AccessRow& row, PatternTable& patterns) {
  for (const auto& p : patterns.take())
    for (const emu::AccessRow::Member& m : row.members) {
      uint32_t address[32];
      for (uint32_t lane = 0; lane < 32; ++lane)
        address[lane] = uint32_t(p->low + p->distance[lane]);
      patterns_[m.site]
          .find<uint32_t>(PatternSpace::shared, SharedAccess::kLoad, row.bytes, address,
                          uint32_t(m.offset), emu::kFullMask, true, false)
          .count += p->count - 1;
    }
}

void CountingObserver::spread_rows() {
  for (Row& r : rows_)
    if (r.row != nullptr) spread(*r.row, r.patterns);
}

// ---- the source ----

namespace {
// Several devices and processes write to one file.
uint64_t unique_id() {
  static std::atomic<uint32_t> next{0};
  return uint64_t(getpid()) << 32 | next++;
}
}  // namespace

struct CountingSource::Known {
  uint64_t id = 0;
  SiteTable sites;
};

struct CountingSource::Running {
  std::vector<std::unique_ptr<CountingObserver>> observers;
};

CountingSource::CountingSource(const model::DeviceSpec& device, Sink sink,
                               std::optional<std::regex> kernels, uint32_t ordinal)
    : device_(device), sink_(std::move(sink)), kernels_(std::move(kernels)), ordinal_(ordinal) {}
CountingSource::~CountingSource() = default;

uint8_t CountingSource::wanted(const emu::Launch& launch) {
  const std::string& name = launch.kernel->function->name;
  if (kernels_ && !std::regex_search(name, *kernels_) &&
      !std::regex_search(report::demangle(name), *kernels_))
    return 0;
  return emu::kObserveAccesses | emu::kObserveBlocks | emu::kObserveRows;
}

CountingSource::Known& CountingSource::known(const emu::Program& program) {
  std::unique_ptr<Known>& k = programs_[&program];
  if (k) return *k;
  k = std::make_unique<Known>();
  k->id = unique_id();
  k->sites = describe_sites(program);
  const auto [module, fresh] = modules_.try_emplace(program.module, unique_id());
  if (fresh)
    sink_(report::to_line(report::ModuleRecord{module->second, ptx::print(*program.module)}));
  report::ProgramRecord r;
  r.id = k->id;
  r.ptx = module->second;
  r.kernel = program.function->name;
  r.device = ordinal_;
  r.block = program.block_shape;
  r.static_shared_bytes = program.static_shared_bytes;
  r.local_bytes = program.local_bytes;
  r.registers = program.registers;
  r.sites = k->sites.sites;
  sink_(report::to_line(r));
  return *k;
}

namespace {

// What shared memory leaves to L1, shared by the CTAs that an SM holds at once.
uint64_t l1_share(const model::DeviceSpec& device, const emu::Launch& launch,
                  const emu::Program& program, uint64_t& ctas_per_wave) {
  model::BlockResources block;
  block.threads = launch.block.x * launch.block.y * launch.block.z;
  block.registers_per_thread = std::min(program.registers, device.max_registers_per_thread);
  block.shared_bytes = program.static_shared_bytes + launch.dynamic_shared_bytes;
  const uint64_t per_sm = std::max(1u, model::occupancy(device, block).blocks_per_sm);
  const uint64_t sms = std::max(1u, device.sm_count);
  ctas_per_wave = per_sm * sms;
  const uint64_t ctas = uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
  const uint64_t resident = std::clamp<uint64_t>((ctas + sms - 1) / sms, 1, per_sm);
  const uint64_t shared =
      std::min(device.l1_bytes, resident * (block.shared_bytes + device.shared_reserved_per_block));
  return std::max<uint64_t>(kLineBytes * 4, (device.l1_bytes - shared) / resident);
}

}  // namespace

emu::Observer* CountingSource::launch_begin(const emu::Launch& launch, const emu::Program& program,
                                            uint32_t) {
  std::lock_guard lock(mutex_);
  const Known& k = known(program);
  std::unique_ptr<Running>& running = running_[&launch];
  if (!running) running = std::make_unique<Running>();
  uint64_t ctas_per_wave = 0;
  running->observers.push_back(std::make_unique<CountingObserver>(
      k.sites, l1_share(device_, launch, program, ctas_per_wave)));
  return running->observers.back().get();
}

void CountingSource::launch_end(const emu::Launch& launch, const emu::Program& program,
                                const emu::Fault& fault, std::span<const emu::BlockCount> blocks) {
  std::lock_guard lock(mutex_);
  const Known& k = known(program);
  std::unique_ptr<Running> running = std::move(running_[&launch]);
  running_.erase(&launch);
  if (!running) return;

  report::LaunchRecord r;
  r.program = k.id;
  r.id = launch.id;
  r.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
  r.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  r.faulted = fault.kind != emu::FaultKind::none;
  r.sites.resize(k.sites.sites.size());
  for (size_t b = 0; b < blocks.size() && b < program.blocks.size(); ++b)
    for (uint32_t site : program.blocks[b].sites) {
      r.sites[site].warps += blocks[b].warps;
      r.sites[site].lanes += blocks[b].lanes;
    }
  Footprint read, written;
  std::vector<L2Request> requests;
  for (const auto& o : running->observers) {
    o->spread_rows();
    o->look_up_l1();
    for (uint32_t s = 0; s < r.sites.size(); ++s) {
      o->patterns_[s].fold();
      const report::SiteCounts* parts[2] = {&o->patterns_[s].totals(), &o->extra_[s]};
      report::SiteCounts& sum = r.sites[s];
      for (const report::SiteCounts* c : parts) {
        sum.requests += c->requests, sum.access_lanes += c->access_lanes;
        sum.sectors += c->sectors, sum.ideal_sectors += c->ideal_sectors,
            sum.l2_sectors += c->l2_sectors, sum.lines += c->lines;
        for (size_t i = 0; i < 3; ++i)
          sum.wavefronts[i] += c->wavefronts[i], sum.groups[i] += c->groups[i];
        sum.address_bits |= c->address_bits;
      }
      report::BankExample example = o->patterns_[s].example();
      if (example.wavefronts == 0) continue;
      example.site = s;
      const auto same = std::find_if(r.examples.begin(), r.examples.end(),
                                     [&](const report::BankExample& e) { return e.site == s; });
      if (same == r.examples.end())
        r.examples.push_back(example);
      else if (worse(example, *same))
        *same = example;
    }
    read.merge(o->read_);
    written.merge(o->written_);
    requests.insert(requests.end(), o->l2_.begin(), o->l2_.end());
    r.l2_read_sectors += o->l2_read_, r.l2_written_sectors += o->l2_written_;
  }
  r.read_sectors = read.sectors();
  r.written_sectors = written.sectors();
  const uint64_t touched = Footprint::sectors_of_union(read, written) * 32;
  if (touched <= device_.l2_bytes || device_.l2_bytes == 0) {
    r.dram_read_sectors = r.read_sectors;
  } else {
    uint64_t ctas_per_wave = 1;
    l1_share(device_, launch, program, ctas_per_wave);
    const DramSectors dram = model_l2(std::move(requests), device_.l2_bytes, ctas_per_wave,
                                      r.l2_read_sectors, r.l2_written_sectors);
    r.dram_read_sectors = std::max(dram.read, r.read_sectors);
    r.dram_written_sectors = dram.written;
  }
  sink_(report::to_line(r));
}

}  // namespace tw::counters
