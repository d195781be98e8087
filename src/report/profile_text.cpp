// A profile on one screen: the verdict, kernels by time, the lines of the longest one, its
// resources.
#include <fmt/format.h>

#include <algorithm>

#include "report/findings.h"
#include "report/profile.h"
#include "report/text_table.h"

namespace tw::report {
namespace {

constexpr size_t kMaxKernels = 8;  // one screen
constexpr size_t kMaxLines = 6;
constexpr size_t kMaxFindings = 3;

std::string beside(double actual, double ideal) {
  return actual == 0 ? "-" : fmt::format("{} ({})", short_count(actual), short_count(ideal));
}

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string cut(const std::string& text, size_t width) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  const std::string trimmed = text.substr(begin);
  return trimmed.size() <= width ? trimmed : trimmed.substr(0, width - 3) + "...";
}

}  // namespace

std::string profile_text(const Profile& profile) {
  if (profile.kernels.empty()) return "No kernel has run.\n";
  std::vector<const KernelProfile*> kernels;
  for (const KernelProfile& k : profile.kernels) kernels.push_back(&k);
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto* a, const auto* b) {
    return a->predicted_seconds > b->predicted_seconds;
  });
  const KernelProfile& first = *kernels.front();
  std::string out = first.verdict + "\n\n";

  const bool measured = std::any_of(kernels.begin(), kernels.end(),
                                    [](const auto* k) { return k->measured_seconds > 0; });
  TextTable table(measured ? "lrrrrrrrrl" : "lrrrrrrl");
  std::vector<std::string> head = {"kernel", "launches", measured ? "predicted" : "time"};
  if (measured) head.insert(head.end(), {"with launch", "measured"});
  head.insert(head.end(),
              {"occupancy", "FLOP/B", "sectors (ideal)", "wavefronts (ideal)", "bound"});
  table.add_row(head);
  for (size_t i = 0; i < kernels.size() && i < kMaxKernels; ++i) {
    const KernelProfile& k = *kernels[i];
    double intensity = 0;
    for (const LevelTraffic& t : k.traffic)
      if (t.level == "DRAM") intensity = t.intensity;
    const double wavefronts = k.total.shared_wavefronts();
    std::vector<std::string> row = {profile.devices
                                        ? fmt::format("{} (device {})", cut(k.name, 17), k.device)
                                        : cut(k.name, 28),
                                    fmt::format("{}", k.launches), duration(k.predicted_seconds)};
    if (measured)
      row.insert(row.end(), {duration(k.predicted_seconds + k.launch_seconds),
                             k.measured_seconds > 0 ? duration(k.measured_seconds) : "-"});
    row.insert(
        row.end(),
        {percent(k.occupancy.fraction()), intensity > 0 ? three_digits(intensity) : "-",
         beside(k.total.ld_sectors + k.total.st_sectors, k.total.ld_ideal + k.total.st_ideal),
         beside(wavefronts, wavefronts - k.total.excess_wavefronts()), k.prediction.bound});
    table.add_row(row);
  }
  out += table.to_string();
  if (kernels.size() > kMaxKernels)
    out += fmt::format("  and {} more (--json, --html)\n", kernels.size() - kMaxKernels);

  std::vector<const LineProfile*> lines;
  for (const LineProfile& l : first.lines)
    if (l.line != 0) lines.push_back(&l);
  std::stable_sort(lines.begin(), lines.end(), [](const auto* a, const auto* b) {
    return a->counters.warps > b->counters.warps;
  });
  if (!lines.empty()) {
    out += fmt::format("\nLines of {} by instructions:\n", first.name);
    TextTable source("lrrrrl");
    source.add_row({"line", "instructions", "lanes", "sectors (ideal)", "wavefronts (ideal)", ""});
    for (size_t i = 0; i < lines.size() && i < kMaxLines; ++i) {
      const Counters& c = lines[i]->counters;
      const double wavefronts = c.shared_wavefronts();
      source.add_row(
          {fmt::format("{}:{}", base_name(lines[i]->file), lines[i]->line), short_count(c.warps),
           c.warps > 0 ? fmt::format("{:.1f}", c.lanes / c.warps) : "-",
           beside(c.ld_sectors + c.st_sectors, c.ld_ideal + c.st_ideal),
           beside(wavefronts, wavefronts - c.excess_wavefronts()), cut(lines[i]->source, 48)});
    }
    out += source.to_string();
  }

  out += fmt::format("\n{}: {} registers{}, {} of shared memory a block, limited by ", first.name,
                     first.registers, first.resources_estimated ? " (estimated)" : "",
                     binary_bytes(first.static_shared_bytes + first.dynamic_shared_bytes));
  for (size_t i = 0; i < first.occupancy.limiters.size(); ++i)
    out += (i ? ", " : "") + std::string(model::limiter_name(first.occupancy.limiters[i]));
  if (first.spill_store_bytes + first.spill_load_bytes != 0)
    out += fmt::format("; ptxas spills {} a thread",
                       binary_bytes(first.spill_store_bytes + first.spill_load_bytes));
  out += ".\n";
  if (profile.as_written)
    out +=
        "Shared-memory counts are those of PTX as written (--as-written), not of the machine "
        "code.\n";
  else if (!profile.ptxas_note.empty())
    out +=
        fmt::format("Registers and shared-memory widths are estimated: {}.\n", profile.ptxas_note);
  if (!profile.measured_note.empty())
    out += fmt::format("{}: {}.\n", measured ? "Measured" : "Not measured", profile.measured_note);
  if (profile.check) {
    out += checked_line(*profile.check) + "\n";
    size_t shown = 0;
    for (const Finding& f : profile.check->findings) {
      if (shown++ == kMaxFindings) {
        out += fmt::format("  and {} more (tilewright check shows all, with their source)\n",
                           profile.check->findings.size() - kMaxFindings);
        break;
      }
      const std::string place =
          f.sites.empty() ? std::string()
                          : fmt::format(" {}:{}", base_name(f.sites[0].file), f.sites[0].line);
      out += fmt::format("  {}: {}{}: {}\n", severity_word(f.severity), f.kind, place, f.message);
    }
  }
  for (const LaunchProfile& l : profile.launches)
    if (l.faulted) {
      out += "A kernel ended with a fault; its counts are incomplete.\n";
      break;
    }
  return out;
}

}  // namespace tw::report
