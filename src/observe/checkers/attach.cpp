#include "observe/checkers/attach.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <regex>

#include "report/findings.h"

namespace tw::observe {
namespace {

constexpr std::pair<Tools, const char*> kToolNames[] = {{kMemcheck, "memcheck"},
                                                        {kRacecheck, "racecheck"},
                                                        {kInitcheck, "initcheck"},
                                                        {kSynccheck, "synccheck"}};

// Line by line: a pipe takes a line whole, whoever else writes to it.
void write_all(int to, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const size_t end = text.find('\n', done) + 1;
    const ssize_t n = write(to, text.data() + done, end - done);
    if (n <= 0) return;  // the command is gone
    done += size_t(n);
  }
}

struct Attached {
  CheckSettings settings;
  std::unique_ptr<CheckSession> session;
  pid_t process = 0;
  int status = 0;  // of the program
};
Attached* attached = nullptr;  // never destroyed: kernels may run until the very end

// After every exit handler and destructor of the program, which may free memory.
[[gnu::destructor]] void at_end() {
  if (attached == nullptr || attached->process != getpid()) return;  // a child made by fork
  attached->session->finish(attached->status);
  if (attached->settings.pipe >= 0)
    write_all(attached->settings.pipe, report::summary_line(attached->session->result()));
}

}  // namespace

Result<uint8_t> parse_tools(const std::string& text) {
  uint8_t tools = 0;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word == "all") {
      tools |= kAllTools;
      continue;
    }
    uint8_t bit = 0;
    for (auto [tool, name] : kToolNames)
      if (word == name) bit = tool;
    if (bit == 0)
      return Error{
          .message = fmt::format(
              "'{}' is no tool: memcheck, racecheck, initcheck, synccheck or all is expected",
              word)};
    tools |= bit;
  }
  return tools;
}

std::vector<std::string> tool_names(uint8_t tools) {
  std::vector<std::string> names;
  for (auto [tool, name] : kToolNames)
    if (tools & tool) names.push_back(name);
  return names;
}

bool CheckSettings::wanted() { return std::getenv("TILEWRIGHT_CHECK") != nullptr; }

Result<CheckSettings> CheckSettings::from_environment() {
  CheckSettings s;
  auto get = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  Result<uint8_t> tools = parse_tools(get("TILEWRIGHT_CHECK"));
  if (!tools.ok()) return tools.error();
  s.tools = *tools;
  s.kernel = get("TILEWRIGHT_CHECK_KERNEL");
  s.leaks = get("TILEWRIGHT_CHECK_LEAKS") == "1";
  uint64_t pipe = ~uint64_t{0};
  for (auto [name, to] :
       {std::pair<const char*, uint64_t*>{"TILEWRIGHT_CHECK_SKIP", &s.launch_skip},
        {"TILEWRIGHT_CHECK_COUNT", &s.launch_count},
        {"TILEWRIGHT_CHECK_LIMIT", &s.max_findings},
        {"TILEWRIGHT_CHECK_PIPE", &pipe}}) {
    const std::string text = get(name);
    if (text.empty()) continue;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *to);
    if (error != std::errc() || end != text.data() + text.size())
      return Error{.message = fmt::format("{}='{}': a whole number is expected", name, text)};
  }
  s.pipe = pipe > 1 << 20 ? -1 : int(pipe);
  return s;
}

std::vector<std::pair<std::string, std::string>> CheckSettings::to_environment() const {
  std::string names;
  for (const std::string& name : tool_names(tools))
    names.append(names.empty() ? "" : ",").append(name);
  std::vector<std::pair<std::string, std::string>> out{
      {"TILEWRIGHT_CHECK", names}, {"TILEWRIGHT_CHECK_PIPE", std::to_string(pipe)}};
  const CheckSettings usual;
  if (!kernel.empty()) out.emplace_back("TILEWRIGHT_CHECK_KERNEL", kernel);
  if (launch_skip != usual.launch_skip)
    out.emplace_back("TILEWRIGHT_CHECK_SKIP", std::to_string(launch_skip));
  if (launch_count != usual.launch_count)
    out.emplace_back("TILEWRIGHT_CHECK_COUNT", std::to_string(launch_count));
  if (max_findings != usual.max_findings)
    out.emplace_back("TILEWRIGHT_CHECK_LIMIT", std::to_string(max_findings));
  if (leaks) out.emplace_back("TILEWRIGHT_CHECK_LEAKS", "1");
  return out;
}

Result<CheckSession*> attached_session() {
  if (!CheckSettings::wanted()) return static_cast<CheckSession*>(nullptr);
  if (attached != nullptr) return attached->session.get();
  Result<CheckSettings> settings = CheckSettings::from_environment();
  if (!settings.ok()) return settings.error();
  CheckOptions options;
  options.tools = settings->tools;
  options.max_findings = settings->max_findings;
  options.leaks = settings->leaks;
  auto state = std::make_shared<std::pair<std::regex, uint64_t>>();
  if (!settings->kernel.empty()) {
    try {
      state->first = std::regex(settings->kernel, std::regex::ECMAScript);
    } catch (const std::regex_error& e) {
      return Error{.message =
                       fmt::format("TILEWRIGHT_CHECK_KERNEL='{}': {}", settings->kernel, e.what())};
    }
  }
  options.select = [s = *settings, state](const std::string& kernel) {
    if (!s.kernel.empty() && !std::regex_search(kernel, state->first) &&
        !std::regex_search(report::demangle(kernel), state->first))
      return false;
    const uint64_t number = state->second++;
    return number >= s.launch_skip && number - s.launch_skip < s.launch_count;
  };
  const int pipe = settings->pipe;
  options.on_finding = [pipe](const report::Finding& f) {
    if (pipe >= 0) write_all(pipe, report::finding_line(f));
  };
  options.on_count = [pipe](const report::Finding& f) {
    if (pipe >= 0) write_all(pipe, report::count_line(f.id, f.count));
  };
  options.on_progress = [pipe](const report::CheckSummary& checked, const auto& counts) {
    if (pipe >= 0 && attached->process == getpid())
      write_all(pipe, report::progress_line(checked, counts));
  };
  attached = new Attached{*settings, std::make_unique<CheckSession>(std::move(options)), getpid()};
  if (pipe >= 0) write_all(pipe, report::start_line(attached->session->result().checked));
  on_exit([](int status, void*) { attached->status = status; }, nullptr);
  return attached->session.get();
}

}  // namespace tw::observe
