// A profile in the terms of the HTML report: labels for its counters, source files with the lines
// between those that count, lanes and words of the bank map.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "report/findings.h"
#include "report/html_report.h"
#include "report/profile.h"

namespace tw::report {
namespace {

constexpr uint32_t kContext = 3;  // source lines shown around each that counts
constexpr size_t kMaxBankMaps = 4;

struct Label {
  const char *name, *label, *unit;
};
constexpr Label kLabels[] = {
    {"smsp__inst_executed.sum", "Warp instructions (machine code)", ""},
    {"tilewright__ptx_inst_executed.sum", "Warp instructions (PTX)", ""},
    {"tilewright__ptx_thread_inst_executed.sum", "Thread instructions (PTX)", ""},
    {"tilewright__flops.sum", "Floating-point operations", "FLOP"},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "FFMA thread instructions", ""},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "FADD thread instructions", ""},
    {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "FMUL thread instructions", ""},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "Global load requests", ""},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "Global load sectors", ""},
    {"tilewright__ideal_sectors_global_ld.sum", "Global load sectors, ideal", ""},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "Global store requests", ""},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "Global store sectors", ""},
    {"tilewright__ideal_sectors_global_st.sum", "Global store sectors, ideal", ""},
    {"smsp__sass_inst_executed_op_shared_ld.sum", "Shared load requests", ""},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "Shared load wavefronts", ""},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "Shared load bank conflicts", ""},
    {"smsp__sass_inst_executed_op_shared_st.sum", "Shared store requests", ""},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "Shared store wavefronts", ""},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "Shared store bank conflicts", ""},
    {"tilewright__atomic_requests_global.sum", "Global atomic requests", ""},
    {"tilewright__atomic_requests_shared.sum", "Shared atomic requests", ""},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum", "Shared atomic wavefronts", ""},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum", "Shared atomic bank conflicts",
     ""},
    {"tilewright__local_sectors.sum", "Local memory sectors", ""},
    {"tilewright__barrier_arrivals.sum", "Warps at a barrier", ""},
    {"l1tex__data_pipe_lsu_wavefronts.sum", "L1 and shared-memory wavefronts", ""},
    {"l1tex__m_xbar2l1tex_read_sectors.sum", "Sectors from L2 to L1", ""},
    {"lts__t_sectors_srcunit_tex_op_write.sum", "Sectors written to L2", ""},
    {"dram__bytes_read.sum", "DRAM bytes read", "B"},
    {"dram__bytes_write.sum", "DRAM bytes written", "B"},
    {"tilewright__compulsory_bytes_read.sum", "Distinct bytes read", "B"},
    {"tilewright__compulsory_bytes_written.sum", "Distinct bytes written", "B"},
    {"launch__registers_per_thread", "Registers per thread", ""},
    {"launch__shared_mem_per_block_static", "Shared memory per block, static", "B"},
    {"launch__shared_mem_per_block_dynamic", "Shared memory per block, dynamic", "B"},
    {"launch__shared_mem_per_block", "Shared memory per block, with the system's share", "B"},
};

std::string shape(const std::array<uint32_t, 3>& s) {
  return fmt::format("{} x {} x {}", s[0], s[1], s[2]);
}
std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::vector<SourceFile> sources_of(const KernelProfile& k) {
  std::map<std::string, std::map<uint32_t, const LineProfile*>> files;
  for (const LineProfile& l : k.lines)
    if (l.line != 0) files[l.file][l.line] = &l;
  std::vector<SourceFile> result;
  for (const auto& [path, counted] : files) {
    std::vector<std::string> text(1);
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) text.push_back(line);
    SourceFile file{path, {}};
    uint32_t next = 1;
    for (const auto& [number, profile] : counted) {
      const uint32_t end = text.size() > 1
                               ? std::min<uint32_t>(number + kContext, uint32_t(text.size() - 1))
                               : number;
      for (uint32_t n = std::max(next, number > kContext && text.size() > 1 ? number - kContext
                                       : text.size() > 1                    ? 1
                                                                            : number);
           n <= end; ++n) {
        SourceLine line;
        line.number = n;
        line.text = n < text.size() ? text[n] : std::string();
        if (const auto found = counted.find(n); found != counted.end()) {
          const Counters& c = found->second->counters;
          line.instructions = c.lanes;
          line.active_lanes = c.warps > 0 ? c.lanes / c.warps : 0;
          line.sectors = c.ld_sectors + c.st_sectors, line.ideal_sectors = c.ld_ideal + c.st_ideal;
          line.wavefronts = c.shared_wavefronts(),
          line.ideal_wavefronts = line.wavefronts - c.excess_wavefronts();
        }
        file.lines.push_back(std::move(line));
        next = n + 1;
      }
    }
    result.push_back(std::move(file));
  }
  return result;
}

FindingSummary summary_of(const Finding& f) {
  std::string place;
  for (const FindingSite& s : f.sites) {
    if (!place.empty()) place += ", ";
    place += fmt::format("{}:{} ({})", base_name(s.file), s.line, s.role);
  }
  return {std::string(severity_word(f.severity)), f.kind, place, f.message, f.advice};
}

// The roof's pipe with the most FLOP.
const char* main_pipe(const Counters& c) {
  const std::pair<double, const char*> pipes[] = {
      {c.flops_fp32, "FP32"},         {c.flops_fp64, "FP64"},
      {c.flops_fp16, "FP16"},         {c.tensor_tf32, "TF32 tensor"},
      {c.tensor_fp16, "FP16 tensor"}, {c.tensor_bf16, "BF16 tensor"},
      {c.tensor_fp8, "FP8 tensor"}};
  return std::max_element(std::begin(pipes), std::end(pipes),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

KernelReport page_of(const Profile& profile, size_t index) {
  const KernelProfile& k = profile.kernels[index];
  KernelReport r;
  r.name = kernel_title(profile, k), r.grid = grid_text(k), r.block = shape(k.block);
  r.verdict = k.verdict;
  r.pipe = main_pipe(k.total);
  r.launches = k.launches;
  r.sectors = k.total.ld_sectors + k.total.st_sectors;
  r.ideal_sectors = k.total.ld_ideal + k.total.st_ideal;
  r.wavefronts = k.total.shared_wavefronts();
  r.ideal_wavefronts = r.wavefronts - k.total.excess_wavefronts();
  r.predicted_seconds = k.predicted_seconds, r.measured_seconds = k.measured_seconds;
  r.seconds = k.measured_seconds > 0 ? k.measured_seconds : k.predicted_seconds;
  r.tflops = r.seconds > 0 ? k.total.flops() / r.seconds * 1e-12 : 0;
  for (const LevelTraffic& t : k.traffic)
    if (t.level == "DRAM" || t.level == "L2" || t.level == "L1" || t.level == "shared")
      r.intensities.push_back({t.level, t.intensity});
  r.prediction = k.prediction;
  r.resources.threads = k.block[0] * k.block[1] * k.block[2];
  r.resources.registers_per_thread = k.registers;
  r.resources.shared_bytes = k.static_shared_bytes + k.dynamic_shared_bytes;
  r.occupancy = k.occupancy;
  r.by_threads = model::vary_threads(profile.device, r.resources);
  r.by_registers = model::vary_registers(profile.device, r.resources);
  r.by_shared = model::vary_shared(profile.device, r.resources);
  Metrics sums;
  for (const LaunchProfile& l : profile.launches)
    if (l.kernel == index)
      for (const auto& [name, value] : l.metrics)
        sums[name] =
            name.starts_with("launch__") ? std::max(sums[name], value) : sums[name] + value;
  for (const Label& l : kLabels)
    if (const auto found = sums.find(l.name);
        found != sums.end() &&
        (found->second != 0 || std::string_view(l.name).starts_with("launch__")))
      r.metrics.push_back(
          {l.name, l.label, found->second, l.unit, profile.estimated_metrics.contains(l.name)});
  r.sources = sources_of(k);
  if (profile.check)
    for (const Finding& f : profile.check->findings)
      if (f.kernel == k.mangled) r.findings.push_back(summary_of(f));
  for (size_t i = 0; i < k.banks.size() && i < kMaxBankMaps; ++i) {
    const BankMap& b = k.banks[i];
    BankAccess access{fmt::format("{}:{}, {} of {} bytes", base_name(b.file), b.line,
                                  b.atomic  ? "atomic"
                                  : b.store ? "store"
                                            : "load",
                                  b.width),
                      {},
                      b.wavefronts,
                      b.groups,
                      b.each_lane};
    for (uint32_t lane = 0; lane < 32; ++lane) {
      if ((b.mask >> lane & 1) == 0) continue;
      for (uint32_t word = b.address[lane] / 4;
           word <= (b.address[lane] + std::max(1u, b.width) - 1) / 4; ++word)
        access.lanes.push_back({lane, word});
    }
    r.bank_accesses.push_back(std::move(access));
  }
  return r;
}

}  // namespace

std::string profile_html(const Profile& profile) {
  ProfileReport page;
  page.title = base_name(profile.program);
  page.device = profile.device.name;
  page.command_line = "tilewright profile " + profile.program;
  if (!profile.arguments.empty()) page.command_line += " --";
  for (const std::string& argument : profile.arguments) page.command_line += " " + argument;
  page.version = TILEWRIGHT_VERSION;
  page.measured_on = profile.measured_device;
  if (profile.check) {
    page.checked = checked_line(*profile.check);
    std::set<std::string> shown;
    for (const KernelProfile& k : profile.kernels) shown.insert(k.mangled);
    for (const Finding& f : profile.check->findings)
      if (!shown.contains(f.kernel)) page.findings.push_back(summary_of(f));
  }
  page.levels = model::memory_roofs(profile.device, model::Basis::kMeasured);
  page.pipes = model::pipe_roofs(profile.device, model::Basis::kMeasured);
  std::vector<size_t> order(profile.kernels.size());  // the longest first, as in the text
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return profile.kernels[a].predicted_seconds > profile.kernels[b].predicted_seconds;
  });
  for (const size_t i : order) page.kernels.push_back(page_of(profile, i));
  if (!page.kernels.empty()) page.verdict = page.kernels.front().verdict;
  return html_report(page);
}

}  // namespace tw::report
