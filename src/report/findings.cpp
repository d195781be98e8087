#include "report/findings.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>

#include "report/kinds.h"

namespace tw::report {
namespace {

struct Colors {
  const char *bold = "", *red = "", *magenta = "", *cyan = "", *green = "", *reset = "";
};
constexpr Colors kPlain{};
constexpr Colors kTerminal{"\033[1m",    "\033[1;31m", "\033[1;35m",
                           "\033[1;36m", "\033[1;32m", "\033[0m"};

const char* color_of(Severity s, const Colors& c) {
  return s == Severity::error ? c.red : s == Severity::warning ? c.magenta : c.cyan;
}

// One site: where, its source line with the first word marked to the end, what it does there.
void add_site(std::string& out, const FindingSite& site, const FindingsTextOptions& options,
              const Colors& c) {
  std::optional<std::string> text;
  if (options.source && site.line != 0) text = options.source(site.file, site.line);
  if (!text) {
    out += fmt::format("      {}:{}: {}: {}\n", site.file, site.line, site.role, site.instruction);
    return;
  }
  std::string shown;
  for (char ch : *text) shown += ch == '\t' ? std::string(4, ' ') : std::string(1, ch);
  while (!shown.empty() && (shown.back() == ' ' || shown.back() == '\r')) shown.pop_back();
  const size_t first = std::min(shown.find_first_not_of(' '), shown.size());
  // The mark ends where a comment begins.
  size_t last = std::min(shown.find("//", first), shown.size());
  while (last > first + 1 && shown[last - 1] == ' ') --last;
  const std::string number = std::to_string(site.line);
  const std::string margin(std::max<size_t>(number.size(), 5), ' ');
  out += fmt::format("{} --> {}:{}\n", std::string(margin.size() - 1, ' '), site.file, site.line);
  out += fmt::format("{:>{}} | {}\n", number, margin.size(), shown);
  out += fmt::format("{} | {}{}{}{} {}{}\n", margin, std::string(first, ' '), c.green, "^",
                     std::string(last > first + 1 ? last - first - 1 : 0, '~'), site.role, c.reset);
}

// Says where memory or a launch comes from; not where something goes wrong.
bool is_aside(const FindingSite& s) {
  return s.host && (s.role == "launched" || s.role == "allocated" || s.role == "freed");
}

std::string frame_text(const HostFrame& f) {
  if (f.line == 0) return fmt::format("{} ({})", f.function, f.file);
  return f.function.empty() ? fmt::format("{}:{}", f.file, f.line)
                            : fmt::format("{}:{} ({})", f.file, f.line, f.function);
}

// "= allocated: prog.cu:12 (make), from prog.cu:40 (main)"; without `all`, only what lies above the
// site, which has been shown.
void add_calls(std::string& out, const FindingSite& site, bool all) {
  size_t i = 0;
  if (!all)
    while (i < site.stack.size() && site.stack[i].line == 0) ++i;
  if (!all) ++i;
  if (i >= site.stack.size()) return;
  out += fmt::format("      = {}: ", all ? site.role : "called from");
  for (size_t first = i; i < site.stack.size(); ++i)
    out += (i == first ? "" : ", from ") + frame_text(site.stack[i]);
  out += '\n';
}

bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] != '*' && pattern[p] == text[t])))
      ++p, ++t;
    else if (p < pattern.size() && pattern[p] == '*')
      star = p++, mark = t;
    else if (star != std::string_view::npos)
      p = star + 1, t = ++mark;
    else
      return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string site_text(const FindingSite& s) {
  const size_t slash = s.file.rfind('/');
  return fmt::format("{}:{}", slash == std::string::npos ? s.file : s.file.substr(slash + 1),
                     s.line);
}

}  // namespace

std::string_view severity_word(Severity s) {
  return s == Severity::error ? "error" : s == Severity::warning ? "warning" : "note";
}

std::string_view tool_of(std::string_view kind) {
  for (const FindingKind& k : finding_kinds())
    if (k.name == kind) return k.tool;
  return "memcheck";
}

std::string demangle(const std::string& name) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return text && status == 0 ? text.get() : name;
}

std::function<std::optional<std::string>(const std::string&, uint32_t)> source_from_files() {
  auto files = std::make_shared<std::map<std::string, std::vector<std::string>>>();
  return [files](const std::string& name, uint32_t line) -> std::optional<std::string> {
    auto [it, fresh] = files->try_emplace(name);
    if (fresh) {
      std::ifstream in(name);
      for (std::string text; std::getline(in, text);) it->second.push_back(text);
    }
    if (line == 0 || line > it->second.size()) return std::nullopt;
    return it->second[line - 1];
  };
}

std::string checked_line(const CheckResult& result) {
  const CheckSummary& s = result.checked;
  std::string tools;
  for (const std::string& t : s.tools) tools += (tools.empty() ? "" : ", ") + t;
  uint64_t number[3] = {};
  for (const Finding& f : result.findings) ++number[size_t(f.severity)];
  auto plural = [](uint64_t n, const char* one, const char* many) {
    return fmt::format("{} {}", n, n == 1 ? one : many);
  };
  std::string found;
  for (auto [severity, one, many] : {std::tuple{Severity::error, "error", "errors"},
                                     {Severity::warning, "warning", "warnings"},
                                     {Severity::note, "note", "notes"}})
    if (number[size_t(severity)] != 0)
      found += (found.empty() ? "" : ", ") + plural(number[size_t(severity)], one, many);
  std::string line =
      fmt::format("checked {} of {} with {}{}: {}", plural(s.launches, "launch", "launches"),
                  plural(s.kernels, "kernel", "kernels"), tools.empty() ? "no tool" : tools,
                  s.schedules == 1 ? "" : fmt::format(" in {} schedules", s.schedules),
                  found.empty() ? "no findings" : found);
  if (s.unchecked_launches != 0)
    line += fmt::format("; {} not checked", plural(s.unchecked_launches, "launch", "launches"));
  if (s.refused_launches != 0)
    line += fmt::format("; {} could not run", plural(s.refused_launches, "launch", "launches"));
  if (s.cut_launches != 0)
    line += fmt::format("; {} not to the end, for want of room",
                        plural(s.cut_launches, "launch", "launches"));
  if (s.dropped != 0) line += fmt::format("; {} more beyond --max-findings", s.dropped);
  return line;
}

std::string findings_text(const CheckResult& result, const FindingsTextOptions& options) {
  const Colors& c = options.color ? kTerminal : kPlain;
  std::vector<const Finding*> order;
  for (const Finding& f : result.findings) order.push_back(&f);
  std::stable_sort(order.begin(), order.end(),
                   [](const Finding* a, const Finding* b) { return a->severity > b->severity; });
  std::string out;
  bool without_lines = false, without_host_lines = false;
  for (const Finding* f : order) {
    out += fmt::format("{}{}: {}{}: {}{}\n", color_of(f->severity, c), severity_word(f->severity),
                       f->kind, c.reset, c.bold, f->message);
    out += c.reset;
    for (const FindingSite& s : f->sites) {
      if (is_aside(s) && !f->kernel.empty()) continue;
      add_site(out, s, options, c);
      without_lines = without_lines || s.file.ends_with(".ptx");
      without_host_lines = without_host_lines || (s.host && s.line == 0);
    }
    if (!f->kernel.empty()) out += fmt::format("      = kernel: {}\n", demangle(f->kernel));
    if (!f->where.empty()) out += fmt::format("      = first: {}\n", f->where);
    if (!f->allocation.empty()) out += fmt::format("      = memory: {}\n", f->allocation);
    for (const FindingSite& s : f->sites)
      if (s.host) add_calls(out, s, is_aside(s) && !f->kernel.empty());
    if (f->count > 1) out += fmt::format("      = seen {} times\n", f->count);
    if (!f->advice.empty()) out += fmt::format("      = help: {}\n", f->advice);
    out += '\n';
  }
  if (without_lines || without_host_lines) {
    const char* flags = !without_lines ? "-g" : !without_host_lines ? "-lineinfo" : "-g -lineinfo";
    out += fmt::format(
        "note: the program holds no source lines of its {}. Compile it again with `nvcc {}` "
        "(CMake: "
        "-DCMAKE_CUDA_FLAGS=\"{}\"), or give `tilewright check` the .cu file: it compiles with "
        "both\n",
        without_lines ? (without_host_lines ? "kernels and host code" : "kernels") : "host code",
        flags, flags);
  }
  return out + "tilewright: " + checked_line(result) + "\n";
}

void add_schedule(CheckResult& all, const CheckResult& other) {
  ++all.checked.schedules;
  all.checked.dropped = std::max(all.checked.dropped, other.checked.dropped);
  all.checked.cut_launches = std::max(all.checked.cut_launches, other.checked.cut_launches);
  auto same_places = [](const Finding& a, const Finding& b) {
    return std::equal(a.sites.begin(), a.sites.end(), b.sites.begin(), b.sites.end(),
                      [](const FindingSite& x, const FindingSite& y) {
                        return x.file == y.file && x.line == y.line;
                      });
  };
  for (const Finding& f : other.findings) {
    const bool known = std::any_of(all.findings.begin(), all.findings.end(), [&](const Finding& g) {
      return g.kind == f.kind && g.severity == f.severity && g.kernel == f.kernel &&
             same_places(f, g);
    });
    if (known) continue;
    all.findings.push_back(f);
    all.findings.back().id = all.findings.size() - 1;
  }
}

Result<std::vector<Suppression>> parse_suppressions(std::string_view text,
                                                    const std::string& file) {
  std::vector<Suppression> rules;
  uint32_t number = 0;
  while (!text.empty()) {
    ++number;
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line = line.substr(0, line.find('#'));
    std::vector<std::string> words;
    for (size_t at = 0; at < line.size();) {
      const size_t begin = line.find_first_not_of(" \t\r", at);
      if (begin == std::string_view::npos) break;
      const size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
      words.emplace_back(line.substr(begin, end - begin));
      at = end;
    }
    if (words.empty()) continue;
    if (words.size() != 3)
      return Error{
          "a suppression is 'kind kernel site', for example: race-shared *gemm* kernel.cu:12", file,
          number};
    rules.push_back({words[0], words[1], words[2], number});
  }
  return rules;
}

bool suppressed(const Finding& f, std::vector<Suppression>& rules) {
  bool any = false;
  for (Suppression& r : rules) {
    if (!matches(r.kind, f.kind)) continue;
    if (!matches(r.kernel, f.kernel.empty() ? "-" : f.kernel)) continue;
    if (r.site == "*" || std::any_of(f.sites.begin(), f.sites.end(), [&](const FindingSite& s) {
          return matches(r.site, site_text(s)) ||
                 matches("*/" + r.site, fmt::format("{}:{}", s.file, s.line));
        }))
      r.used = any = true;
  }
  return any;
}

std::string suppression_for(const Finding& f) {
  return fmt::format("{} {} {}", f.kind, f.kernel.empty() ? "-" : f.kernel,
                     f.sites.empty() ? "*" : site_text(f.sites[0]));
}

}  // namespace tw::report
