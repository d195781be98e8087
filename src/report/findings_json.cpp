// Findings as JSON, as SARIF and as lines on the pipe (see findings.h).
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <climits>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "report/findings.h"
#include "report/kinds.h"

namespace tw::report {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Finding& f) {
  Json sites = Json::array();
  for (const FindingSite& s : f.sites) {
    Json site = {{"file", s.file},
                 {"line", s.line},
                 {"role", s.role},
                 {s.host ? "call" : "ptx", s.instruction}};
    if (s.host) {
      Json stack = Json::array();
      for (const HostFrame& h : s.stack)
        stack.push_back({{"file", h.file}, {"line", h.line}, {"function", h.function}});
      site["stack"] = stack;
    }
    sites.push_back(std::move(site));
  }
  return {{"id", f.id},
          {"kind", f.kind},
          {"tool", tool_of(f.kind)},
          {"severity", severity_word(f.severity)},
          {"kernel", demangle(f.kernel)},
          {"mangled", f.kernel},
          {"message", f.message},
          {"advice", f.advice},
          {"first", f.where},
          {"allocation", f.allocation},
          {"count", f.count},
          {"sites", sites}};
}

Json json_of(const CheckSummary& s) {
  return {{"kernels", s.kernels},
          {"launches", s.launches},
          {"unchecked_launches", s.unchecked_launches},
          {"refused_launches", s.refused_launches},
          {"cut_launches", s.cut_launches},
          {"dropped", s.dropped},
          {"schedules", s.schedules},
          {"tools", s.tools}};
}

std::string dump(const Json& j, int indent) {
  return j.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Of one record.
std::string lines_of(const Json& j) {
  constexpr size_t kPiece = PIPE_BUF - 32;  // less the process, the mark and the line's end
  const std::string text = dump(j, -1);
  std::string out;
  for (size_t at = 0; at < text.size(); at += kPiece)
    out += fmt::format("{}{}{}\n", getpid(), at + kPiece < text.size() ? '+' : ' ',
                       std::string_view(text).substr(at, kPiece));
  return out;
}

Finding finding_of(const Json& j) {
  Finding f;
  f.id = j.value("id", uint64_t{0});
  f.kind = j.value("kind", "");
  const std::string severity = j.value("severity", "error");
  f.severity = severity == "error"     ? Severity::error
               : severity == "warning" ? Severity::warning
                                       : Severity::note;
  f.kernel = j.value("mangled", "");
  f.message = j.value("message", "");
  f.advice = j.value("advice", "");
  f.where = j.value("first", "");
  f.allocation = j.value("allocation", "");
  f.count = j.value("count", uint64_t{1});
  for (const Json& s : j.value("sites", Json::array())) {
    const bool host = s.contains("stack");
    FindingSite site{s.value("file", ""), s.value("line", 0u), s.value(host ? "call" : "ptx", ""),
                     s.value("role", ""), host};
    for (const Json& h : s.value("stack", Json::array()))
      site.stack.push_back({h.value("file", ""), h.value("line", 0u), h.value("function", "")});
    f.sites.push_back(std::move(site));
  }
  return f;
}

}  // namespace

std::string findings_json(const CheckResult& result) {
  Json findings = Json::array();
  for (const Finding& f : result.findings) findings.push_back(json_of(f));
  return dump({{"schema", kFindingsSchema},
               {"command", "check"},
               {"program", result.program},
               {"checked", json_of(result.checked)},
               {"findings", findings}},
              2) +
         "\n";
}

namespace {

// As SARIF wants it: relative to a folder that has a name, or absolute.
Json artifact(const std::string& file, const std::string& folder) {
  namespace fs = std::filesystem;
  const fs::path path = fs::path(file).lexically_normal();
  auto uri = [](const std::string& text) {
    std::string out;
    for (const unsigned char c : text)
      out += std::isalnum(c) || std::strchr("-._~/+@", c) != nullptr ? std::string(1, char(c))
                                                                     : fmt::format("%{:02X}", c);
    return out;
  };
  const fs::path inside = path.is_relative() ? path : path.lexically_relative(folder);
  if (!inside.empty() && *inside.begin() != "..")
    return {{"uri", uri(inside.string())}, {"uriBaseId", "SRCROOT"}};
  const fs::path absolute = path.is_relative() ? (folder / path).lexically_normal() : path;
  return {{"uri", "file://" + uri(absolute.string())}};
}

Json text_of(std::string_view text) { return {{"text", text}}; }

Json sarif_rules() {
  Json rules = Json::array();
  for (const FindingKind& k : finding_kinds())
    rules.push_back({{"id", k.name},
                     {"name", k.name},
                     {"shortDescription", text_of(k.brief)},
                     {"fullDescription", text_of(k.meaning)},
                     {"help", text_of(fmt::format("{} More: docs/checkers/{}.md", k.help, k.tool))},
                     {"properties", {{"tags", Json::array({k.tool, "cuda"})}}}});
  return rules;
}

}  // namespace

std::string findings_sarif(const CheckResult& result, std::string_view tool_version,
                           const std::string& folder) {
  Json results = Json::array(), rules = sarif_rules();
  for (const Finding& f : result.findings) {
    auto place = [&](const std::string& file, uint32_t line, const std::string& text) {
      Json l = {{"physicalLocation", {{"artifactLocation", artifact(file, folder)}}},
                {"message", text_of(text)}};
      if (line != 0) l["physicalLocation"]["region"] = {{"startLine", line}};
      return l;
    };
    auto location = [&](const FindingSite& s) { return place(s.file, s.line, s.role); };
    Json r = {{"ruleId", f.kind},
              {"level", severity_word(f.severity)},
              {"message", text_of(f.message + ". " + f.advice + ".")},
              {"occurrenceCount", std::max<uint64_t>(1, f.count)}};
    for (size_t i = 0; i < rules.size(); ++i)
      if (rules[i]["id"] == f.kind) r["ruleIndex"] = i;
    Json locations = Json::array(), related = Json::array();
    if (!f.sites.empty()) locations.push_back(location(f.sites[0]));
    if (!f.kernel.empty() && !locations.empty())
      locations[0]["logicalLocations"] = Json::array({{{"fullyQualifiedName", demangle(f.kernel)},
                                                       {"decoratedName", f.kernel},
                                                       {"kind", "function"}}});
    for (size_t i = 1; i < f.sites.size(); ++i) related.push_back(location(f.sites[i]));
    r["locations"] = locations;
    if (!related.empty()) r["relatedLocations"] = related;
    Json stacks = Json::array();
    for (const FindingSite& s : f.sites) {
      if (s.stack.empty()) continue;
      Json frames = Json::array();
      for (const HostFrame& h : s.stack)
        frames.push_back({{"location", place(h.file, h.line, h.function)}});
      stacks.push_back({{"message", text_of(s.role)}, {"frames", frames}});
    }
    if (!stacks.empty()) r["stacks"] = stacks;
    results.push_back(r);
  }
  const Json driver = {{"name", "tilewright"}, {"version", tool_version}, {"rules", rules}};
  Json run;
  run["tool"]["driver"] = driver;
  Json root = artifact(folder + "/", "/nowhere");
  root["description"] = text_of("where `tilewright check` was started");
  run["originalUriBaseIds"]["SRCROOT"] = root;
  run["results"] = results;
  Json sarif;
  sarif["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  sarif["version"] = "2.1.0";
  sarif["runs"] = Json::array({run});
  return dump(sarif, 2) + "\n";
}

std::string finding_line(const Finding& finding) {
  return lines_of({{"finding", json_of(finding)}});
}

std::string count_line(uint64_t id, uint64_t count) {
  return lines_of({{"counts", Json::array({Json::array({id, count})})}});
}

std::string start_line(const CheckSummary& checked) {
  return lines_of({{"start", true}, {"checked", json_of(checked)}});
}

std::string progress_line(const CheckSummary& checked,
                          const std::vector<std::pair<uint64_t, uint64_t>>& counts) {
  return lines_of({{"counts", counts}, {"checked", json_of(checked)}});
}

std::string summary_line(const CheckResult& result) {
  Json counts = Json::array();
  for (const Finding& f : result.findings) counts.push_back({f.id, f.count});
  return lines_of({{"counts", counts}, {"checked", json_of(result.checked)}, {"end", true}});
}

void FindingsReader::read(std::string_view text) {
  rest_ += text;
  size_t at = 0;
  for (size_t end; (end = rest_.find('\n', at)) != std::string::npos; at = end + 1)
    line(std::string_view(rest_).substr(at, end - at));
  rest_.erase(0, at);
}

void FindingsReader::line(std::string_view text) {
  uint64_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  const size_t digits = size_t(end - text.data());
  if (error != std::errc() || digits == text.size()) return;
  const char mark = text[digits];
  if (mark != ' ' && mark != '+') return;
  size_t process = processes_.size();
  while (process-- > 0 && processes_[process].pid != pid) {
  }
  if (process >= processes_.size()) {
    process = processes_.size();
    processes_.push_back({.pid = pid});
  }
  processes_[process].record += text.substr(digits + 1);
  if (mark == '+') return;
  record(process);
}

// The program may have written to the pipe by itself: what is not ours is passed over.
void FindingsReader::record(size_t at) try {
  const Json j = Json::parse(std::exchange(processes_[at].record, {}), nullptr, false);
  if (j.is_discarded() || !j.is_object()) return;
  if (j.contains("start") &&
      (!processes_[at].findings.empty() || !processes_[at].checked.tools.empty())) {
    processes_[at].ended = true;
    const uint64_t pid = processes_[at].pid;
    at = processes_.size();
    processes_.push_back({.pid = pid});
  }
  Process& process = processes_[at];
  if (j.contains("finding")) {
    Finding f = finding_of(j["finding"]);
    f.id = findings_.size();
    process.findings.push_back(findings_.size());
    findings_.push_back(std::move(f));
  }
  if (j.contains("counts"))
    for (const Json& c : j["counts"]) {
      const size_t id = c.at(0).get<size_t>();
      const uint64_t count = c.at(1).get<uint64_t>();
      if (id < process.findings.size()) findings_[process.findings[id]].count = count;
    }
  if (j.contains("checked")) {
    const Json& c = j["checked"];
    CheckSummary s;
    s.kernels = c.value("kernels", uint64_t{0});
    s.launches = c.value("launches", uint64_t{0});
    s.unchecked_launches = c.value("unchecked_launches", uint64_t{0});
    s.refused_launches = c.value("refused_launches", uint64_t{0});
    s.cut_launches = c.value("cut_launches", uint64_t{0});
    s.dropped = c.value("dropped", uint64_t{0});
    s.tools = c.value("tools", std::vector<std::string>{});
    process.checked = std::move(s);
  }
  if (j.contains("end")) process.ended = true;
} catch (const Json::exception&) {
}

bool FindingsReader::complete() const {
  size_t begun = 0, ended = 0;
  for (const Process& p : processes_)
    if (!p.checked.tools.empty()) ++begun, ended += p.ended;  // else a child made by fork
  return begun != 0 && begun == ended;
}

// What several processes have found is one finding: the first of its kind and sites in the one, the
// first in the other, and so on.
CheckResult FindingsReader::result() const {
  CheckResult r;
  std::map<std::string, size_t> known;
  std::vector<std::map<std::string, size_t>> seen(processes_.size());
  std::vector<size_t> process(findings_.size());
  for (size_t p = 0; p < processes_.size(); ++p)
    for (const size_t id : processes_[p].findings) process[id] = p;
  for (size_t i = 0; i < findings_.size(); ++i) {
    const Finding& f = findings_[i];
    if (f.count == 0) continue;
    std::string key = fmt::format("{}\n{}\n{}", f.kind, int(f.severity), f.kernel);
    for (const FindingSite& s : f.sites) key += fmt::format("\n{}:{} {}", s.file, s.line, s.role);
    key += fmt::format("\n{}", ++seen[process[i]][key]);
    const auto [it, fresh] = known.try_emplace(key, r.findings.size());
    if (fresh) {
      r.findings.push_back(f);
      r.findings.back().id = r.findings.size() - 1;
    } else {
      r.findings[it->second].count += f.count;
    }
  }
  for (const Process& p : processes_) {
    CheckSummary& all = r.checked;
    all.kernels += p.checked.kernels, all.launches += p.checked.launches;
    all.unchecked_launches += p.checked.unchecked_launches;
    all.refused_launches += p.checked.refused_launches;
    all.cut_launches += p.checked.cut_launches, all.dropped += p.checked.dropped;
    if (!p.checked.tools.empty()) all.tools = p.checked.tools;
  }
  return r;
}

}  // namespace tw::report
