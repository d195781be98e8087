// Records -> report. Phases, each with what holds after it:
//   sums      counts of each program summed over its launches
//   rules     for every shared-memory site, the requests that its machine code makes
//   counters  per instruction, line and kernel; metrics per launch
//   model     occupancy, traffic by level, predicted time and bound
//   verdict   the sentence
#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "ptx/parser.h"
#include "report/float_rules.h"
#include "report/profile.h"
#include "report/shared_widths.h"
#include "report/text_table.h"
#include "shadow/banks.h"

namespace tw::report {
namespace {

constexpr double kSector = 32;

Counters counters_of(const SiteInfo& s, const SiteCounts& c, const WidthRule& rule) {
  Counters out;
  out.warps = double(c.warps), out.lanes = double(c.lanes);
  const double flops = double(c.lanes) * s.flops;
  if (s.flops != 0)
    (s.pipe == "fp64" || s.pipe == "tensor_fp64" ? out.flops_fp64
     : s.pipe == "fp16"                          ? out.flops_fp16
     : s.pipe == "tensor_tf32"                   ? out.tensor_tf32
     : s.pipe == "tensor_fp16"                   ? out.tensor_fp16
     : s.pipe == "tensor_bf16"                   ? out.tensor_bf16
     : s.pipe == "tensor_fp8"                    ? out.tensor_fp8
                                                 : out.flops_fp32) = flops;
  const double requests = double(c.requests), bytes = double(c.access_lanes) * s.width;
  double shared_requests = 0, wavefronts = 0, groups = 0;
  for (size_t i = 0; i < 3; ++i) {
    shared_requests += requests * rule.requests[i];
    wavefronts += double(c.wavefronts[i]) * rule.requests[i];
    groups += double(c.groups[i]) * rule.requests[i];
  }
  switch (s.traffic) {
    case Traffic::global_load:
      out.ld_requests = requests, out.ld_sectors = double(c.sectors),
      out.ld_ideal = double(c.ideal_sectors), out.ld_bytes = bytes,
      out.ld_l2_sectors = double(c.l2_sectors);
      break;
    case Traffic::global_store:
      out.st_requests = requests, out.st_sectors = double(c.sectors),
      out.st_ideal = double(c.ideal_sectors), out.st_bytes = bytes;
      break;
    case Traffic::shared_load:
      out.shared_ld_requests = shared_requests, out.shared_ld_wavefronts = wavefronts,
      out.shared_ld_conflicts = wavefronts - groups;
      if (s.text.starts_with("ldmatrix"))
        out.ldmatrix_requests = shared_requests, out.ldmatrix_wavefronts = wavefronts;
      break;
    case Traffic::shared_store:
      out.shared_st_requests = shared_requests, out.shared_st_wavefronts = wavefronts,
      out.shared_st_conflicts = wavefronts - groups;
      break;
    case Traffic::local_load:
    case Traffic::local_store:
      out.local_requests = requests, out.local_sectors = double(c.sectors);
      break;
    case Traffic::atomic:
      out.atomic_requests = requests, out.atomic_sectors = double(c.sectors);
      break;
    case Traffic::shared_atomic:
      out.shared_atomic_requests = requests, out.shared_atomic_wavefronts = wavefronts,
      out.shared_atomic_conflicts = wavefronts - groups;
      break;
    case Traffic::none: break;
  }
  const bool in_shared = s.traffic == Traffic::shared_load || s.traffic == Traffic::shared_store ||
                         s.traffic == Traffic::shared_atomic;
  if (!in_shared) out.l1_wavefronts = double(c.wavefronts[0]);
  if (s.traffic == Traffic::global_store || s.traffic == Traffic::local_store ||
      s.traffic == Traffic::atomic)
    out.st_lines = double(c.lines);
  if (s.barrier) out.barriers = double(c.warps);
  return out;
}

uint64_t count_of(const std::array<uint32_t, 3>& grid) {
  return uint64_t(grid[0]) * grid[1] * grid[2];
}

// What a program's machine code is, as far as known.
struct Code {
  std::vector<WidthRule> rules;
  std::vector<double>
      sass;  // machine instructions that run for one execution of a site; empty: not known
  std::vector<FloatRule> floats;
  const sass::KernelCode* code = nullptr;
  const sass::KernelResources* resources = nullptr;
};

// Machine instructions that run for one execution of each site.
std::vector<double> sass_per_execution(const ProgramRecord& p,
                                       const std::vector<SiteCounts>& counts,
                                       const ptx::Function& kernel, const sass::KernelCode& code) {
  const std::vector<uint32_t> blocks = basic_blocks(kernel);
  const std::vector<double> copies = block_copies(p, kernel, code);
  std::vector<double> result(p.sites.size(), 1);
  std::map<uint32_t, size_t> first_site;  // of each block
  std::vector<bool> has_site(kernel.instructions.size(), false);
  for (size_t i = 0; i < p.sites.size(); ++i) {
    const SiteInfo& s = p.sites[i];
    if (s.function != kernel.name || s.instruction >= code.sass_of_ptx.size() || s.category.empty())
      continue;
    result[i] = double(code.sass_of_ptx[s.instruction]) / copies[s.instruction];
    if (counts[i].warps == 0) continue;  // folded away, or never reached
    has_site[s.instruction] = true;
    first_site.try_emplace(blocks[s.instruction], i);
  }
  // Instructions that the engine folds away (parameters, constants) run with their block; machine
  // instructions that stand for none run once.
  uint32_t traced = 0;
  for (uint32_t i = 0; i < code.sass_of_ptx.size(); ++i) {
    traced += code.sass_of_ptx[i];
    const auto site = first_site.find(blocks[i]);
    if (!has_site[i] && site != first_site.end())
      result[site->second] += double(code.sass_of_ptx[i]) / copies[i];
  }
  if (!first_site.empty() && code.instructions > traced)
    result[first_site.begin()->second] += code.instructions - traced;
  return result;
}

using FloatCounts = std::array<double, sass::kFloatOps.size()>;

std::string float_metric(size_t op) {
  return fmt::format("smsp__sass_thread_inst_executed_op_{}_pred_on.sum", sass::kFloatOps[op]);
}

// Which counters an estimated rule touches: its own, and those of 32 bits and of its precision,
// since what runs for some operands only is not known.
void mark_estimated(const SiteInfo& s, const FloatRule& rule, std::set<std::string>& metrics) {
  for (size_t i = 0; i < rule.operations.size(); ++i)
    if (i < 3 || rule.operations[i] != 0 || (i < 6 && s.text.find(".f64") != std::string::npos) ||
        (i >= 6 && s.text.find("f16") != std::string::npos))
      metrics.insert(float_metric(i));
}

Metrics metrics_of(const ProgramRecord& p, const LaunchRecord& l, const Counters& c,
                   const FloatCounts& ops, const std::map<std::string, double>& tensor,
                   uint32_t registers, const model::Occupancy& occupancy, double sass_warps,
                   double sass_lanes) {
  Metrics m;
  m["launch__block_size"] = double(p.block[0]) * p.block[1] * p.block[2];
  m["launch__grid_size"] = double(l.grid[0]) * l.grid[1] * l.grid[2];
  m["launch__registers_per_thread"] = registers;
  m["launch__shared_mem_per_block_static"] = double(p.static_shared_bytes);
  m["launch__shared_mem_per_block_dynamic"] = double(l.dynamic_shared_bytes);
  m["launch__occupancy_limit_blocks"] = occupancy.limit_blocks;
  m["launch__occupancy_limit_warps"] = occupancy.limit_warps;
  m["launch__occupancy_limit_registers"] = occupancy.limit_registers;
  m["launch__occupancy_limit_shared_mem"] = occupancy.limit_shared;
  m["sm__maximum_warps_per_active_cycle_pct"] = 100 * occupancy.fraction();
  m["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] = c.ld_requests;
  m["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"] = c.st_requests;
  m["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] = c.ld_sectors;
  m["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] = c.st_sectors;
  m["smsp__sass_inst_executed_op_shared_ld.sum"] = c.shared_ld_requests - c.ldmatrix_requests;
  m["smsp__sass_inst_executed_op_ldsm.sum"] = c.ldmatrix_requests;
  m["smsp__sass_inst_executed_op_shared_st.sum"] = c.shared_st_requests;
  m["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"] = c.shared_ld_wavefronts;
  m["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"] = c.shared_st_wavefronts;
  m["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"] =
      c.shared_ld_wavefronts - c.ldmatrix_wavefronts;
  m["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum"] = c.ldmatrix_wavefronts;
  m["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"] = c.shared_st_wavefronts;
  m["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"] = c.shared_ld_conflicts;
  m["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"] = c.shared_st_conflicts;
  for (size_t i = 0; i < ops.size(); ++i) m[float_metric(i)] = ops[i];
  for (const auto& [path, flops] : tensor)
    m[fmt::format("sm__ops_path_tensor_{}.sum", path)] = flops;
  m["l1tex__m_xbar2l1tex_read_sectors.sum"] = double(l.l2_read_sectors);
  m["lts__t_sectors_srcunit_tex_op_write.sum"] = double(l.l2_written_sectors);
  m["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"] = c.shared_atomic_wavefronts;
  m["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum"] = c.shared_atomic_conflicts;
  m["l1tex__data_pipe_lsu_wavefronts.sum"] = c.shared_wavefronts() + c.l1_wavefronts;
  m["dram__bytes_read.sum"] = double(l.dram_read_sectors) * kSector;
  m["dram__bytes_write.sum"] = double(l.dram_written_sectors) * kSector;
  if (sass_warps > 0) {
    m["smsp__inst_executed.sum"] = sass_warps;
    m["smsp__thread_inst_executed.sum"] = sass_lanes;
  }
  m["tilewright__ptx_inst_executed.sum"] = c.warps;
  m["tilewright__ptx_thread_inst_executed.sum"] = c.lanes;
  m["tilewright__ideal_sectors_global_ld.sum"] = c.ld_ideal;
  m["tilewright__ideal_sectors_global_st.sum"] = c.st_ideal;
  m["tilewright__compulsory_bytes_read.sum"] = double(l.read_sectors) * kSector;
  m["tilewright__compulsory_bytes_written.sum"] = double(l.written_sectors) * kSector;
  m["tilewright__requested_bytes_global_ld.sum"] = c.ld_bytes;
  m["tilewright__requested_bytes_global_st.sum"] = c.st_bytes;
  m["tilewright__flops.sum"] = c.flops();
  m["tilewright__barrier_arrivals.sum"] = c.barriers;
  m["tilewright__local_sectors.sum"] = c.local_sectors;
  m["tilewright__atomic_requests_global.sum"] = c.atomic_requests;
  m["tilewright__atomic_requests_shared.sum"] = c.shared_atomic_requests;
  return m;
}

// The line that causes most of what the bounding unit does, and its share.
std::pair<const LineProfile*, double> culprit(const KernelProfile& k) {
  const std::string& unit = k.prediction.bound;
  const auto cost = [&](const Counters& c) {
    if (unit.find("shared") != std::string::npos) return c.shared_wavefronts();
    if (unit.find("DRAM") != std::string::npos || unit.find("L2") != std::string::npos)
      return c.ld_l2_sectors + c.st_sectors + c.atomic_sectors;
    if (unit.find("L1") != std::string::npos) return c.ld_sectors + c.st_sectors + c.local_sectors;
    if (unit.find("FP") != std::string::npos || unit.find("tensor") != std::string::npos)
      return c.flops();
    return c.warps;
  };
  const LineProfile* most = nullptr;
  for (const LineProfile& l : k.lines)
    if (l.line != 0 && (most == nullptr || cost(l.counters) > cost(most->counters))) most = &l;
  const double all = cost(k.total);
  if (most == nullptr || all == 0) return {nullptr, 0};
  return {most, cost(most->counters) / all};
}

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string verdict_of(const KernelProfile& k, const std::string& title,
                       const model::DeviceSpec& device) {
  if (k.prediction.bound.empty())
    return fmt::format("{} did no work that the model can time.", title);
  std::string text = fmt::format("{} is bound by {} on the {}: at best {}", title,
                                 k.prediction.bound, device.name, duration(k.predicted_seconds));
  if (k.launches > 1) text += fmt::format(" for its {} launches", k.launches);
  if (k.total.flops() > 0)
    text += fmt::format(", {} TFLOP/s", three_digits(k.total.flops() / k.predicted_seconds / 1e12));
  const auto [line, share] = culprit(k);
  if (line != nullptr)
    text += fmt::format("; line {}:{} causes {} of it", base_name(line->file), line->line,
                        percent(share));
  text += ".";
  if (k.launch_seconds > k.predicted_seconds)
    text += fmt::format(" {} more: {}.", k.launches == 1 ? "Its launch costs" : "Its launches cost",
                        duration(k.launch_seconds));
  if (k.total.excess_wavefronts() > 0.02 * k.total.shared_wavefronts())
    text += fmt::format(" {} of its shared-memory wavefronts are bank conflicts{}.",
                        percent(k.total.excess_wavefronts() / k.total.shared_wavefronts()),
                        2 * k.total.shared_atomic_conflicts > k.total.excess_wavefronts()
                            ? " of atomics (estimated)"
                            : "");
  if (k.total.excess_sectors() > 0.02 * (k.total.ld_sectors + k.total.st_sectors))
    text +=
        fmt::format(" {} of its global sectors are more than coalesced accesses would need.",
                    percent(k.total.excess_sectors() / (k.total.ld_sectors + k.total.st_sectors)));
  return text;
}

// Text of source lines; files that cannot be read give none.
class Sources {
 public:
  std::string line(const std::string& file, uint32_t number) {
    auto [it, fresh] = files_.try_emplace(file);
    if (fresh) {
      std::ifstream in(file);
      for (std::string text; std::getline(in, text);) it->second.push_back(text);
    }
    return number >= 1 && number <= it->second.size() ? it->second[number - 1] : std::string();
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace

Counters& Counters::operator+=(const Counters& o) {
  warps += o.warps, lanes += o.lanes;
  flops_fp32 += o.flops_fp32, flops_fp64 += o.flops_fp64, flops_fp16 += o.flops_fp16;
  tensor_tf32 += o.tensor_tf32, tensor_fp16 += o.tensor_fp16, tensor_bf16 += o.tensor_bf16,
      tensor_fp8 += o.tensor_fp8;
  ldmatrix_requests += o.ldmatrix_requests, ldmatrix_wavefronts += o.ldmatrix_wavefronts;
  l1_wavefronts += o.l1_wavefronts, st_lines += o.st_lines;
  ld_requests += o.ld_requests, ld_sectors += o.ld_sectors, ld_ideal += o.ld_ideal,
      ld_bytes += o.ld_bytes, ld_l2_sectors += o.ld_l2_sectors;
  st_requests += o.st_requests, st_sectors += o.st_sectors, st_ideal += o.st_ideal,
      st_bytes += o.st_bytes;
  shared_ld_requests += o.shared_ld_requests, shared_ld_wavefronts += o.shared_ld_wavefronts,
      shared_ld_conflicts += o.shared_ld_conflicts;
  shared_st_requests += o.shared_st_requests, shared_st_wavefronts += o.shared_st_wavefronts,
      shared_st_conflicts += o.shared_st_conflicts;
  local_requests += o.local_requests, local_sectors += o.local_sectors;
  atomic_requests += o.atomic_requests, atomic_sectors += o.atomic_sectors,
      shared_atomic_requests += o.shared_atomic_requests,
      shared_atomic_wavefronts += o.shared_atomic_wavefronts,
      shared_atomic_conflicts += o.shared_atomic_conflicts;
  barriers += o.barriers;
  return *this;
}

std::string readable_kernel(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  std::string name = status == 0 && text ? text.get() : mangled;
  // Drop the parameters: the last ')' closes them; the return type stands before a template's name.
  if (name.ends_with(")")) {
    int depth = 0;
    for (size_t i = name.size(); i-- > 0;) {
      if (name[i] == ')') ++depth;
      if (name[i] == '(' && --depth == 0) {
        name.resize(i);
        break;
      }
    }
  }
  if (name.starts_with("void ")) name.erase(0, 5);
  for (size_t at; (at = name.find("(int)")) != std::string::npos;)
    name.erase(at, 5);  // gemm<(int)16>
  return name;
}

std::string grid_text(const KernelProfile& k) {
  const std::string largest = fmt::format("{} x {} x {}", k.grid[0], k.grid[1], k.grid[2]);
  return k.grids > 1 ? fmt::format("{} grids, largest {}", k.grids, largest) : largest;
}

std::string kernel_title(const Profile& profile, const KernelProfile& k) {
  return profile.devices ? fmt::format("{} (device {})", k.name, k.device) : k.name;
}

Profile build_profile(const Records& records, const model::DeviceSpec& device,
                      const BuildOptions& options) {
  Profile report;
  report.program = options.program;
  report.device = device;
  report.as_written = options.as_written;
  report.ptxas_note = options.ptxas_note;

  // sums
  std::map<uint64_t, size_t> program_at;
  for (size_t i = 0; i < records.programs.size(); ++i) program_at[records.programs[i].id] = i;
  std::vector<std::vector<SiteCounts>> sums(records.programs.size());
  for (size_t i = 0; i < records.programs.size(); ++i)
    sums[i].resize(records.programs[i].sites.size());
  std::vector<const LaunchRecord*> launches;
  for (const LaunchRecord& l : records.launches) {
    const auto at = program_at.find(l.program);
    if (at == program_at.end() || l.sites.size() != sums[at->second].size())
      continue;  // its program's record was lost
    launches.push_back(&l);
    for (size_t s = 0; s < l.sites.size(); ++s) {
      SiteCounts& sum = sums[at->second][s];
      const SiteCounts& c = l.sites[s];
      sum.warps += c.warps, sum.lanes += c.lanes, sum.requests += c.requests,
          sum.access_lanes += c.access_lanes;
      sum.sectors += c.sectors, sum.ideal_sectors += c.ideal_sectors,
          sum.l2_sectors += c.l2_sectors, sum.lines += c.lines, sum.address_bits |= c.address_bits;
      for (size_t i = 0; i < 3; ++i)
        sum.wavefronts[i] += c.wavefronts[i], sum.groups[i] += c.groups[i];
    }
  }

  // Records come as launches end; ids rise as they start, in each process.
  std::stable_sort(launches.begin(), launches.end(),
                   [](const LaunchRecord* x, const LaunchRecord* y) {
                     return std::pair(x->program >> 32, x->id) < std::pair(y->program >> 32, y->id);
                   });

  // rules
  std::map<uint64_t, std::unique_ptr<ptx::Module>> modules;
  for (const ModuleRecord& m : records.modules)
    if (Result<ptx::Module> parsed = ptx::parse(m.text, "module"))
      modules[m.id] = std::make_unique<ptx::Module>(std::move(*parsed));
  std::vector<Code> codes(records.programs.size());
  for (size_t i = 0; i < records.programs.size(); ++i) {
    const ProgramRecord& p = records.programs[i];
    Code& code = codes[i];
    code.rules.resize(p.sites.size());
    const auto machine = options.machine.find(p.ptx);
    if (machine != options.machine.end()) {
      for (const auto& k : machine->second.code)
        if (k.name == p.kernel) code.code = &k;
      for (const auto& r : machine->second.resources)
        if (r.name == p.kernel) code.resources = &r;
    }
    const auto module = modules.find(p.ptx);
    const ptx::Function* kernel =
        module == modules.end() ? nullptr : module->second->find_function(p.kernel);
    code.floats = float_rules(p, kernel, code.code);
    if (kernel == nullptr) continue;
    if (!options.as_written) code.rules = shared_width_rules(p, sums[i], *kernel, code.code);
    if (code.code != nullptr && code.code->sass_of_ptx.size() == kernel->instructions.size())
      code.sass = sass_per_execution(p, sums[i], *kernel, *code.code);
  }

  // counters per instruction, line and kernel
  Sources sources;
  std::vector<size_t> kernel_at(records.programs.size(), ~size_t(0));
  std::vector<model::KernelWork> work(records.programs.size());
  for (const LaunchRecord* l : launches) {
    const size_t i = program_at[l->program];
    if (kernel_at[i] != ~size_t(0)) continue;
    const ProgramRecord& p = records.programs[i];
    const Code& code = codes[i];
    kernel_at[i] = report.kernels.size();
    KernelProfile k;
    k.mangled = p.kernel;
    k.name = readable_kernel(p.kernel);
    k.block = p.block, k.device = p.device;
    report.devices = report.devices || p.device != 0;
    k.static_shared_bytes = p.static_shared_bytes;
    k.registers = p.registers;
    if (code.resources != nullptr) {
      k.registers = code.resources->registers;
      k.resources_estimated = false;
      k.spill_load_bytes = code.resources->spill_load_bytes,
      k.spill_store_bytes = code.resources->spill_store_bytes;
      k.stack_bytes = code.resources->stack_bytes;
    }
    std::map<std::pair<std::string, uint32_t>, Counters> lines;
    for (size_t s = 0; s < p.sites.size(); ++s) {
      const SiteInfo& info = p.sites[s];
      const SiteCounts& c = sums[i][s];
      if (c.warps == 0 && c.requests == 0) continue;
      InstructionProfile in;
      in.text = info.text, in.file = info.file, in.line = info.line;
      in.counters = counters_of(info, c, code.rules[s]);
      in.estimated = code.rules[s].estimated || info.traffic == Traffic::shared_atomic;
      if (code.rules[s].estimated) k.shared_estimated = true;
      if (code.code != nullptr && info.function == p.kernel &&
          info.instruction < code.code->sass_of_ptx.size())
        in.sass = code.code->sass_of_ptx[info.instruction];
      k.total += in.counters;
      lines[{info.file, info.line}] += in.counters;
      if (!info.pipe.empty())
        k.warps_by_pipe[info.pipe] += double(c.warps),
            k.lanes_by_pipe[info.pipe] += double(c.lanes);
      if (!info.category.empty()) k.warps_by_category[info.category] += double(c.warps);
      if (code.floats[s].estimated && c.lanes != 0)
        mark_estimated(info, code.floats[s], report.estimated_metrics);
      if (!code.sass.empty()) k.sass_warps += double(c.warps) * code.sass[s];
      // Work of the pipes; instructions that ptxas removed cost nothing.
      const double runs =
          code.sass.empty() ? (info.category == "move" ? 0 : 1) : std::min(1.0, code.sass[s]);
      if (info.pipe == "alu") work[i].int32_instructions += double(c.lanes) * runs;
      if (info.pipe == "xu") {
        work[i].sfu_instructions += double(c.lanes) * runs;
        work[i].fp32_instructions += double(c.lanes) * code.floats[s].fp32();
        work[i].fp64_instructions += double(c.lanes) * code.floats[s].fp64();
      }
      if (info.pipe == "fma") work[i].fp32_instructions += double(c.lanes);
      if (info.pipe == "fp64") work[i].fp64_instructions += double(c.lanes);
      if (info.pipe == "fp16")
        work[i].fp16_instructions +=
            double(c.lanes) * std::max(1u, info.flops / (info.op.ends_with("fma") ? 2u : 1u));
      k.instructions.push_back(std::move(in));
    }
    for (auto& [place, counters] : lines)
      k.lines.push_back(
          {place.first, place.second, sources.line(place.first, place.second), counters});
    report.kernels.push_back(std::move(k));
  }

  // metrics per launch, and what a launch adds to its kernel
  std::vector<std::vector<model::Prediction>> predictions(report.kernels.size());
  std::vector<std::set<std::array<uint32_t, 3>>> grids(report.kernels.size());
  for (const LaunchRecord* l : launches) {
    const size_t i = program_at[l->program];
    const ProgramRecord& p = records.programs[i];
    KernelProfile& k = report.kernels[kernel_at[i]];
    Counters total;
    FloatCounts ops{};
    std::map<std::string, double> tensor;  // FLOP by the word of Nsight Compute's path counters
    double sass_warps = 0, sass_lanes = 0;
    for (size_t s = 0; s < l->sites.size(); ++s) {
      total += counters_of(p.sites[s], l->sites[s], codes[i].rules[s]);
      for (size_t op = 0; op < ops.size(); ++op)
        ops[op] += double(l->sites[s].lanes) * codes[i].floats[s].operations[op];
      if (const SiteInfo& site = p.sites[s]; site.pipe.starts_with("tensor_"))
        tensor[site.op] += double(l->sites[s].lanes) * site.flops;
      if (codes[i].sass.empty()) continue;
      sass_warps += double(l->sites[s].warps) * codes[i].sass[s],
          sass_lanes += double(l->sites[s].lanes) * codes[i].sass[s];
    }
    model::BlockResources block;
    block.threads = p.block[0] * p.block[1] * p.block[2];
    block.registers_per_thread = k.registers;
    block.shared_bytes = p.static_shared_bytes + l->dynamic_shared_bytes;
    const model::Occupancy occupancy = model::occupancy(device, block);
    const uint64_t blocks = count_of(l->grid);
    if (k.launches == 0 || blocks > count_of(k.grid))
      k.grid = l->grid, k.dynamic_shared_bytes = l->dynamic_shared_bytes, k.occupancy = occupancy;
    grids[kernel_at[i]].insert(l->grid);

    LaunchProfile out;
    out.device = p.device;
    out.id = l->id, out.kernel = kernel_at[i], out.grid = l->grid, out.block = p.block;
    out.dynamic_shared_bytes = l->dynamic_shared_bytes, out.faulted = l->faulted;
    out.metrics =
        metrics_of(p, *l, total, ops, tensor, k.registers, occupancy, sass_warps, sass_lanes);
    out.metrics["launch__shared_mem_per_block"] =
        double(p.static_shared_bytes + l->dynamic_shared_bytes + device.shared_reserved_per_block);
    report.launches.push_back(std::move(out));
    ++k.launches;
    k.blocks += blocks;

    model::KernelWork launch_work;
    const double share = k.total.warps > 0 ? total.warps / k.total.warps : 0;
    launch_work.fp32_instructions = work[i].fp32_instructions * share,
    launch_work.fp64_instructions = work[i].fp64_instructions * share;
    launch_work.fp16_instructions = work[i].fp16_instructions * share,
    launch_work.int32_instructions = work[i].int32_instructions * share;
    launch_work.tf32_tensor_flops = total.tensor_tf32;
    launch_work.fp16_tensor_flops = total.tensor_fp16;
    launch_work.bf16_tensor_flops = total.tensor_bf16;
    launch_work.fp8_tensor_flops = total.tensor_fp8;
    launch_work.sfu_instructions = work[i].sfu_instructions * share;
    launch_work.warp_instructions = sass_warps > 0 ? sass_warps : total.warps;
    // Launches follow one another: what one leaves dirty in a full L2, the next one writes back.
    const bool fits = (l->read_sectors + l->written_sectors) * kSector <= double(device.l2_bytes);
    const uint64_t written =
        fits ? l->dram_written_sectors : std::max(l->dram_written_sectors, l->written_sectors);
    launch_work.dram_bytes = double(l->dram_read_sectors + written) * kSector;
    launch_work.l2_bytes = double(l->l2_read_sectors + l->l2_written_sectors) * kSector;
    const double l1_bytes = (total.ld_sectors + total.st_sectors + total.local_sectors) * kSector;
    launch_work.l1_wavefronts = total.l1_wavefronts;
    launch_work.l2_written_lines = total.st_lines;
    launch_work.shared_wavefronts = total.shared_wavefronts();
    predictions[kernel_at[i]].push_back(
        model::predict(device, model::Basis::kMeasured, launch_work,
                       {blocks, std::max(1u, occupancy.blocks_per_sm)}));

    const auto level = [&](const char* name, double bytes) {
      for (LevelTraffic& t : k.traffic)
        if (t.level == name) {
          t.bytes += bytes;
          return;
        }
      k.traffic.push_back({name, bytes, 0});
    };
    level("requested", total.ld_bytes + total.st_bytes);
    level("L1", l1_bytes);
    level("shared", launch_work.shared_wavefronts * 128);
    level("L2", launch_work.l2_bytes);
    level("DRAM", double(l->dram_read_sectors + l->dram_written_sectors) * kSector);
    level("compulsory", double(l->read_sectors + l->written_sectors) * kSector);

    for (const BankExample& e : l->examples) {
      if (e.site >= p.sites.size()) continue;
      const SiteInfo& s = p.sites[e.site];
      const auto same = std::find_if(k.banks.begin(), k.banks.end(), [&](const BankMap& b) {
        return b.text == s.text && b.line == s.line && b.file == s.file;
      });
      BankMap map{.file = s.file,
                  .text = s.text,
                  .line = s.line,
                  .width = s.width,
                  .wavefronts = e.wavefronts,
                  .groups = e.groups,
                  .mask = e.mask,
                  .store = s.traffic == Traffic::shared_store,
                  .atomic = s.traffic == Traffic::shared_atomic,
                  .address = e.address};
      map.each_lane = map.atomic && codes[i].rules[e.site].requests[0] == 1;
      if (map.atomic && !map.each_lane) {  // lanes are added up
        const shadow::BankCount count = shadow::count_banks(map.address.data(), map.mask, map.width,
                                                            shadow::SharedAccess::kStore);
        map.wavefronts = count.wavefronts, map.groups = count.groups;
      }
      if (same == k.banks.end())
        k.banks.push_back(map);
      else if (map.wavefronts - map.groups > same->wavefronts - same->groups)
        *same = map;
    }
  }

  for (size_t i = 0; i < report.kernels.size(); ++i) {
    KernelProfile& k = report.kernels[i];
    k.prediction = model::in_sequence(predictions[i]);
    k.predicted_seconds = k.prediction.seconds, k.launch_seconds = k.prediction.launch_seconds;
    k.grids = grids[i].size();
    for (LevelTraffic& t : k.traffic) t.intensity = t.bytes > 0 ? k.total.flops() / t.bytes : 0;
    std::stable_sort(k.banks.begin(), k.banks.end(), [](const BankMap& a, const BankMap& b) {
      return a.wavefronts - a.groups > b.wavefronts - b.groups;
    });
    k.verdict = verdict_of(k, kernel_title(report, k), device);
    if (k.resources_estimated)
      report.estimated_metrics.insert({"launch__registers_per_thread",
                                       "launch__occupancy_limit_registers",
                                       "sm__maximum_warps_per_active_cycle_pct"});
    if (k.shared_estimated)
      report.estimated_metrics.insert(
          {"smsp__sass_inst_executed_op_shared_ld.sum", "smsp__sass_inst_executed_op_shared_st.sum",
           "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
           "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
           "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
           "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"});
  }
  report.estimated_metrics.insert(
      {"l1tex__m_xbar2l1tex_read_sectors.sum", "lts__t_sectors_srcunit_tex_op_write.sum",
       "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
       "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
       "l1tex__data_pipe_lsu_wavefronts.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
       "smsp__inst_executed.sum", "smsp__thread_inst_executed.sum",
       "launch__occupancy_limit_shared_mem"});
  return report;
}

}  // namespace tw::report
