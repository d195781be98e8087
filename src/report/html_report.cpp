// See html_report.h. The page is written here as HTML; only plots need the script, which reads its
// numbers from a JSON element, so that the tables are there without JavaScript.
#include "report/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "report/assets.h"
#include "report/text_table.h"
#include "shadow/banks.h"

namespace tw::report {
namespace {

using nlohmann::ordered_json;

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\0': out += "&#65533;"; break;
      default: out += c;
    }
  }
  // Round trip through JSON's own replacement of invalid UTF-8: one rule for the whole page.
  const std::string quoted =
      ordered_json(out).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return ordered_json::parse(quoted).get<std::string>();
}

// JSON inside <script>: nothing in it may end the element or open a comment.
std::string embed(const ordered_json& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', false, ordered_json::error_handler_t::replace))
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

// 1234567 -> "1 234 567".
std::string count(double value) {
  const std::string digits = fmt::format("{:.0f}", value);
  std::string grouped;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0 && digits[i - 1] != '-') grouped += ' ';
    grouped += digits[i];
  }
  return grouped;
}

std::string value_text(const Metric& m) {
  return m.value == static_cast<double>(static_cast<int64_t>(m.value)) ? count(m.value)
                                                                       : three_digits(m.value);
}

// A cell with what a kernel or line does, and the ideal in brackets; empty where it does neither.
std::string beside(double actual, double ideal) {
  if (actual == 0 && ideal == 0) return "<td></td>";
  return fmt::format("<td class=\"n{}\" title=\"{} ({})\">{} ({})</td>",
                     actual > ideal ? " excess" : "", count(actual), count(ideal),
                     short_count(actual), short_count(ideal));
}

double flop_per_byte(const KernelReport& k, std::string_view level) {
  for (const auto& i : k.intensities)
    if (i.level == level) return i.flop_per_byte;
  return 0;
}

std::string number_cell(double value) {
  return fmt::format("<td class=\"n\">{}</td>", value > 0 ? three_digits(value) : "-");
}

// What it comes down to stands next to the name, where a narrow screen shows it.
std::string summary(const ProfileReport& report) {
  const bool measured = !report.measured_on.empty();
  std::string html =
      "<table class=\"summary\"><thead><tr><th>Kernel</th><th class=\"n\">Predicted</th>";
  if (measured) html += "<th class=\"n\">Measured</th>";
  html +=
      "<th>Bound</th><th class=\"n\">Occupancy</th><th class=\"n\">TFLOP/s</th>"
      "<th class=\"n\">FLOP/B</th><th class=\"n\">Sectors (ideal)</th>"
      "<th class=\"n\">Wavefronts (ideal)</th><th class=\"n\">Launches</th><th>Grid</th>"
      "<th>Block</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    const KernelReport& k = report.kernels[i];
    html += fmt::format("<tr><td><a href=\"#kernel-{}\">{}</a></td><td class=\"n\">{}</td>", i,
                        escape(k.name), duration(k.predicted_seconds));
    if (measured)
      html += fmt::format("<td class=\"n\">{}</td>",
                          k.measured_seconds > 0 ? duration(k.measured_seconds) : "-");
    html += fmt::format("<td>{}</td><td class=\"n\">{}</td>", escape(k.prediction.bound),
                        percent(k.occupancy.fraction()));
    html += number_cell(k.tflops) + number_cell(flop_per_byte(k, "DRAM")) +
            beside(k.sectors, k.ideal_sectors) + beside(k.wavefronts, k.ideal_wavefronts);
    html += fmt::format(
        "<td class=\"n\">{}</td><td class=\"grid\">{}</td><td class=\"shape\">{}</td></tr>\n",
        k.launches, escape(k.grid), escape(k.block));
  }
  return html + "</tbody></table>\n";
}

// The plot, what is not in it, and the numbers of its roofs.
std::string roofline(const ProfileReport& report) {
  std::string html =
      "<section><h2>Roofline</h2>\n<ul class=\"legend\" id=\"legend\"></ul>\n<div class=\"plot "
      "wide\"><canvas id=\"roofline\" role=\"img\" aria-label=\"Roofline: TFLOP/s over FLOP per "
      "byte\"></canvas></div>\n";
  std::string without;
  for (const KernelReport& k : report.kernels)
    if (k.tflops == 0) without += (without.empty() ? "" : ", ") + escape(k.name);
  if (!without.empty())
    html += "<p class=\"note\">Without floating-point operations, so not in the plot: " + without +
            ".</p>\n";
  html +=
      "<details><summary>Roofs</summary><table><thead><tr><th>Roof</th>"
      "<th class=\"n\">Height</th><th>Basis</th></tr></thead><tbody>\n";
  for (const auto& l : report.levels)
    html += fmt::format("<tr><td>{}</td><td class=\"n\">{} GB/s</td><td>{}</td></tr>\n",
                        escape(l.level), count(l.gb_per_s), escape(l.basis));
  for (const auto& p : report.pipes)
    html += fmt::format("<tr><td>{}</td><td class=\"n\">{} TFLOP/s</td><td>{}</td></tr>\n",
                        escape(p.pipe), three_digits(p.tflops), escape(p.basis));
  return html + "</tbody></table></details></section>\n";
}

std::string bounds(const KernelReport& k) {
  std::string html =
      "<table><caption>Speed of light</caption><thead><tr><th>Unit</th><th class=\"n\">Time at "
      "full rate</th>"
      "<th>Share of the kernel's time</th></tr></thead><tbody>\n";
  for (const model::Bound& b : k.prediction.bounds) {
    const double share = std::clamp(b.speed_of_light, 0.0, 1.0);
    html += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td><span class=\"bar\" "
        "style=\"--share:{:.4f}\"></span> {}</td></tr>\n",
        escape(b.unit), duration(b.seconds), share, percent(b.speed_of_light));
  }
  return html + "</tbody></table>\n";
}

std::string limits(const KernelReport& k) {
  auto row = [](const char* name, uint32_t limit) {
    return fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td></tr>\n", name,
        limit == model::kNoLimit ? std::string("no limit") : fmt::format("{}", limit));
  };
  const model::Occupancy& o = k.occupancy;
  return "<table><caption>Occupancy " + percent(o.fraction()) +
         "</caption><thead><tr><th>Limit</th><th class=\"n\">Blocks per "
         "SM</th></tr></thead><tbody>\n" +
         row("warps", o.limit_warps) + row("registers", o.limit_registers) +
         row("shared memory", o.limit_shared) + row("blocks", o.limit_blocks) +
         row("barriers", o.limit_barriers) + "</tbody></table>\n";
}

std::string metrics(const KernelReport& k) {
  if (k.metrics.empty()) return {};
  std::string html =
      "<details open><summary>Counters</summary><table><thead><tr><th>Counter</th><th "
      "class=\"n\">Value</th>"
      "<th>Nsight Compute name</th></tr></thead><tbody>\n";
  for (const Metric& m : k.metrics)
    html += fmt::format("<tr><td>{}</td><td class=\"n\">{}{}{}</td><td><code>{}</code></td></tr>\n",
                        escape(m.label), value_text(m),
                        m.unit.empty() ? "" : fmt::format(" {}", escape(m.unit)),
                        m.estimated ? " <em>(estimated)</em>" : "", escape(m.name));
  return html + "</tbody></table></details>\n";
}

std::string source(const SourceFile& file) {
  double hottest = 0;
  for (const SourceLine& l : file.lines) hottest = std::max(hottest, l.instructions);
  std::string html = fmt::format(
      "<details open><summary>{}</summary><table class=\"source\"><thead><tr><th "
      "class=\"n\">Line</th><th>Source</th>"
      "<th class=\"n\">Thread instructions</th><th class=\"n\">Active lanes</th><th "
      "class=\"n\">Sectors (ideal)</th>"
      "<th class=\"n\">Wavefronts (ideal)</th></tr></thead><tbody>\n",
      escape(file.path));
  for (const SourceLine& l : file.lines) {
    html += fmt::format(
        "<tr style=\"--heat:{:.4f}\"><td class=\"n\">{}</td><td><code>{}</code></td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td>",
        hottest > 0 ? l.instructions / hottest : 0, l.number, escape(l.text),
        l.instructions > 0 ? short_count(l.instructions) : "",
        l.active_lanes > 0 ? fmt::format("{:.1f}", l.active_lanes) : "");
    html +=
        beside(l.sectors, l.ideal_sectors) + beside(l.wavefronts, l.ideal_wavefronts) + "</tr>\n";
  }
  return html + "</tbody></table></details>\n";
}

// 32 columns, one per bank; each word a cell with the lanes that want it, stacked where they meet.
std::string bank_map(const BankAccess& access) {
  std::map<uint32_t, std::map<uint32_t, std::vector<uint32_t>>> banks;  // bank, word, lanes
  for (const auto& l : access.lanes) banks[l.word % shadow::kBanks][l.word].push_back(l.lane);
  std::size_t rows = 0;
  for (const auto& [bank, words] : banks) rows = std::max(rows, words.size());
  std::string html = fmt::format(
      "<figure><figcaption>{}: {} wavefront{}, {} at best</figcaption><table "
      "class=\"banks\"><thead><tr>",
      escape(access.title), access.wavefronts, access.wavefronts == 1 ? "" : "s",
      access.ideal_wavefronts);
  for (uint32_t bank = 0; bank < shadow::kBanks; ++bank) html += fmt::format("<th>{}</th>", bank);
  html += "</tr></thead><tbody>\n";
  for (std::size_t row = 0; row < rows; ++row) {
    html += "<tr>";
    for (uint32_t bank = 0; bank < shadow::kBanks; ++bank) {
      const auto words = banks.find(bank);
      if (words == banks.end() || words->second.size() <= row) {
        html += "<td></td>";
        continue;
      }
      const auto& [word, lanes] =
          *std::next(words->second.begin(), static_cast<std::ptrdiff_t>(row));
      std::string names;
      for (const uint32_t lane : lanes) names += (names.empty() ? "" : ", ") + std::to_string(lane);
      html += fmt::format(
          "<td class=\"{}\" title=\"bank {}, word {}: lanes {}\">{}</td>",
          words->second.size() > 1 || (access.each_lane && lanes.size() > 1) ? "conflict" : "free",
          bank, word, names, lanes.size() == 1 ? names : fmt::format("{}+", lanes.front()));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></figure>\n";
}

// Those with conflicts are shown; the others are there to be opened.
std::string bank_maps(const KernelReport& k) {
  std::string conflicts, free;
  std::size_t without = 0;
  for (const BankAccess& access : k.bank_accesses) {
    const bool conflict = access.wavefronts > access.ideal_wavefronts;
    (conflict ? conflicts : free) += bank_map(access);
    without += !conflict;
  }
  if (k.bank_accesses.empty()) return {};
  std::string html = fmt::format(
      "<details{}><summary>Shared-memory banks{}</summary><p class=\"note\">A column a bank, a "
      "cell a word with the lane that wants it (and + for more). A bank serves one word a "
      "wavefront: cells below one another are conflicts; so are the lanes of one cell in an atomic "
      "whose old value is used.</p>\n",
      conflicts.empty() ? "" : " open", conflicts.empty() ? ", without conflicts" : "");
  html += conflicts;
  if (!conflicts.empty() && without != 0)
    html += fmt::format("<details><summary>{} without conflicts</summary>{}</details>\n", without,
                        free);
  else
    html += free;
  return html + "</details>\n";
}

std::string findings(const std::vector<FindingSummary>& list) {
  if (list.empty()) return {};
  std::string html =
      "<table><caption>Findings</caption><thead><tr><th>Severity</th><th>Kind</th><th>Place</"
      "th><th>What</th></tr></thead><tbody>\n";
  for (const FindingSummary& f : list)
    html += fmt::format(
        "<tr class=\"{}\"><td>{}</td><td>{}</td><td><code>{}</code></td><td>{}{}</td></tr>\n",
        f.severity == "error" ? "error" : "warning", escape(f.severity), escape(f.kind),
        escape(f.place), escape(f.text),
        f.advice.empty() ? std::string() : "<br><em>" + escape(f.advice) + "</em>");
  return html + "</tbody></table>\n";
}

ordered_json curve(const std::vector<model::WhatIf>& rows) {
  ordered_json points = ordered_json::array();
  for (const model::WhatIf& row : rows)
    points.push_back({{"x", row.value}, {"y", row.fraction * 100}});
  return points;
}

ordered_json data(const ProfileReport& report) {
  ordered_json json{{"levels", ordered_json::array()},
                    {"pipes", ordered_json::array()},
                    {"kernels", ordered_json::array()}};
  for (const auto& level : report.levels)
    json["levels"].push_back({{"name", level.level}, {"gbs", level.gb_per_s}});
  std::set<std::string> used;
  for (const auto& k : report.kernels) used.insert(k.pipe);
  for (const auto& pipe : report.pipes)
    if (used.contains(pipe.pipe))
      json["pipes"].push_back({{"name", pipe.pipe}, {"tflops", pipe.tflops}});
  for (const auto& k : report.kernels) {
    ordered_json points = ordered_json::array();
    for (const auto& i : k.intensities)
      if (i.flop_per_byte > 0 && k.tflops > 0)
        points.push_back({{"level", i.level}, {"x", i.flop_per_byte}, {"y", k.tflops}});
    json["kernels"].push_back({{"name", k.name},
                               {"points", std::move(points)},
                               {"curves",
                                {{"threads", curve(k.by_threads)},
                                 {"registers", curve(k.by_registers)},
                                 {"shared", curve(k.by_shared)}}},
                               {"now",
                                {{"threads", k.resources.threads},
                                 {"registers", k.resources.registers_per_thread},
                                 {"shared", k.resources.shared_bytes}}}});
  }
  return json;
}

}  // namespace

std::string html_report(const ProfileReport& report) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}</title>\n<style>\n{}</style></head>\n"
      "<body data-errors=\"\" data-points=\"0\" data-roofs=\"0\">\n<header><h1>{}</h1><p>{}. "
      "<code>{}</code></p></header>\n<main>\n",
      escape(report.title), kReportCss, escape(report.title), escape(report.device),
      escape(report.command_line));
  if (!report.verdict.empty()) html += "<p class=\"verdict\">" + escape(report.verdict) + "</p>\n";
  html += "<section><h2>Kernels</h2>\n" + summary(report) + "</section>\n";
  if (!report.checked.empty())
    html += "<section><h2>Findings</h2>\n<p>" + escape(report.checked) + "</p>\n" +
            findings(report.findings) + "</section>\n";
  html += roofline(report);
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    const KernelReport& k = report.kernels[i];
    html += fmt::format(
        "<section class=\"kernel\" id=\"kernel-{}\"><h2>{}</h2>\n<p class=\"verdict\">{}</p>\n<div "
        "class=\"columns\">\n",
        i, escape(k.name), escape(k.verdict));
    html += bounds(k) + limits(k) + "</div>\n<div class=\"columns\">\n";
    for (const char* resource : {"threads", "registers", "shared"})
      html += fmt::format(
          "<div class=\"plot\"><canvas id=\"{}-{}\" role=\"img\" aria-label=\"Occupancy over "
          "{}\"></canvas></div>\n",
          resource, i, resource);
    html += "</div>\n" + findings(k.findings);
    for (const SourceFile& file : k.sources) html += source(file);
    html += bank_maps(k);
    html += metrics(k) + "</section>\n";
  }
  html += fmt::format("</main>\n<footer>Tilewright {}</footer>\n", escape(report.version));
  html += "<script type=\"application/json\" id=\"data\">" + embed(data(report)) +
          "</script>\n<script>";
  html += kChartJs;
  html += "</script>\n<script>\n";
  html += kReportJs;
  html += "</script>\n</body></html>\n";
  return html;
}

}  // namespace tw::report
