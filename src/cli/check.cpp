// Phases: compile or check the program; start it with the checkers' settings and a pipe; gather
// findings while it runs; leave out what is suppressed; write text, JSON and SARIF; choose the exit
// status.
#include "cli/check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>

#include "cli/number_range.h"
#include "cli/output_files.h"
#include "cli/process.h"
#include "cli/run_options.h"
#include "cudart/watch.h"
#include "observe/checkers/attach.h"
#include "report/findings.h"

namespace tw::cli {
namespace {

constexpr int kRefused = 2;

struct CheckCommand {
  RunOptions run;
  std::string tools = "all", kernel, json, sarif, suppressions, color = "auto", leak_check = "no";
  uint64_t launch_skip = 0, launch_count = 0, max_findings = 10000;
  uint32_t schedules = 1;
  int error_exitcode = 1;
  bool print_suppressions = false;
};

Error refuse(std::string message, std::string file = {}) {
  return Error{.message = std::move(message), .file = std::move(file)};
}

Result<std::vector<report::Suppression>> read_suppressions(const std::string& path) {
  if (path.empty()) return std::vector<report::Suppression>{};
  std::error_code error;
  std::ifstream in(path);
  if (!in || std::filesystem::is_directory(path, error)) return refuse("cannot be read", path);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  return report::parse_suppressions(text, path);
}

// Why the program's exit handlers did not run, and what that means.
std::string early_end(const Checked& checked, const observe::CheckSettings& settings) {
  if (!checked.started) return "the program made no CUDA call: nothing was checked";
  const std::string how =
      checked.signal != 0
          ? fmt::format("was ended by signal {} ({})", checked.signal, strsignal(checked.signal))
      : checked.status == cudart::kTimeoutStatus   ? "did not come to its end in time"
      : checked.status == cudart::kInterruptStatus ? "was interrupted"
                                                   : "ended at once (_exit, quick_exit)";
  return fmt::format("the program {}: what its kernels did up to there has been checked{}", how,
                     settings.leaks ? ", but nothing was said about leaks" : "");
}

// What the options left out, if that is all that there was; otherwise nothing.
std::string nothing_checked(const CheckCommand& command, const report::CheckSummary& checked) {
  if (checked.launches != 0 || checked.unchecked_launches == 0) return {};
  if (command.launch_skip == 0)
    return fmt::format("nothing was checked: no kernel that was launched matches --kernel '{}'",
                       command.kernel);
  return fmt::format("nothing was checked: all {} launches are left out by --launch-skip {}{}",
                     checked.unchecked_launches, command.launch_skip,
                     command.kernel.empty() ? "" : " and --kernel '" + command.kernel + "'");
}

Result<int> check(const CheckCommand& command) {
  observe::CheckSettings settings;
  Result<uint8_t> tools = observe::parse_tools(command.tools);
  if (!tools) return refuse("--tool: " + tools.error().message);
  settings.tools = *tools;
  settings.kernel = command.kernel;
  try {
    (void)std::regex(command.kernel, std::regex::ECMAScript);
  } catch (const std::regex_error& e) {
    return refuse(fmt::format("--kernel '{}': {}", command.kernel, e.what()));
  }
  settings.launch_skip = command.launch_skip;
  if (command.launch_count != 0) settings.launch_count = command.launch_count;
  settings.max_findings = command.max_findings;
  settings.leaks = command.leak_check == "full";
  Result<std::vector<report::Suppression>> rules = read_suppressions(command.suppressions);
  if (!rules) return rules.error();
  if (command.print_suppressions && (command.json == "-" || command.sarif == "-"))
    return refuse("--print-suppressions and a report cannot both go to stdout");
  if (const Status s = check_output_files({{"--json", command.json}, {"--sarif", command.sarif}});
      !s.ok())
    return s.error();
  RunOptions run = command.run;
  run.host_lines = true;
  const Result<Prepared> prepared = prepare(run);
  if (!prepared) return prepared.error();
  const bool reports = command.print_suppressions || command.json == "-" || command.sarif == "-";
  Result<Checked> checked = run_checked(*prepared, settings, command.run.timeout,
                                        reports ? Output::on_stderr : Output::shown);
  if (!checked) return checked.error();
  report::CheckResult& result = checked->result;
  result.program = command.run.program;
  for (uint32_t schedule = 1; schedule < command.schedules; ++schedule) {
    Prepared again = *prepared;
    again.environment.emplace_back("TILEWRIGHT_SCHEDULE", std::to_string(schedule));
    Result<Checked> other = run_checked(again, settings, command.run.timeout, Output::dropped);
    if (!other) return other.error();
    report::add_schedule(result, other->result);
    if (other->status != 0)
      fmt::print(stderr, "tilewright: schedule {} ended with status {}\n", schedule + 1,
                 other->status);
    if (checked->status == 0) checked->status = other->status, checked->signal = other->signal;
    checked->complete = checked->complete && other->complete;
  }
  const size_t all = result.findings.size();
  std::erase_if(result.findings,
                [&](const report::Finding& f) { return report::suppressed(f, *rules); });
  const size_t left_out = all - result.findings.size();
  std::fflush(stdout);
  if (command.print_suppressions) {
    for (const report::Finding& f : result.findings) fmt::print("{}\n", report::suppression_for(f));
  } else {
    report::FindingsTextOptions options;
    options.color =
        command.color == "always" ||
        (command.color == "auto" && isatty(STDERR_FILENO) && std::getenv("NO_COLOR") == nullptr);
    options.source = report::source_from_files();
    fmt::print(stderr, "{}", report::findings_text(result, options));
  }
  if (left_out != 0) fmt::print(stderr, "tilewright: {} suppressed\n", left_out);
  for (const report::Suppression& r : *rules)
    if (!r.used)
      fmt::print(stderr, "tilewright: {}:{}: '{} {} {}' suppressed nothing\n", command.suppressions,
                 r.line, r.kind, r.kernel, r.site);
  if (!checked->complete) fmt::print(stderr, "tilewright: {}\n", early_end(*checked, settings));
  const std::string filtered = nothing_checked(command, result.checked);
  if (!filtered.empty()) fmt::print(stderr, "tilewright: {}\n", filtered);
  if (!command.json.empty())
    if (const Status r = write_output(command.json, report::findings_json(result)); !r)
      return r.error();
  if (!command.sarif.empty())
    if (const Status r = write_output(
            command.sarif,
            report::findings_sarif(result, TILEWRIGHT_VERSION, std::filesystem::current_path()));
        !r)
      return r.error();
  const bool found = std::any_of(result.findings.begin(), result.findings.end(), report::counts);
  if (found) return command.error_exitcode;
  return checked->status == 0 && !filtered.empty() ? kRefused : checked->status;
}

}  // namespace

Result<Checked> run_checked(const Prepared& prepared, observe::CheckSettings settings,
                            double timeout, Output output) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return refuse("cannot make a pipe");
  // A high number: programs that close what they inherit mostly stop at the first few dozen.
  const int write_end = fcntl(ends[1], F_DUPFD, 250);
  close(ends[1]);
  if (write_end < 0) return refuse("cannot make a pipe");
  settings.pipe = write_end;
  Environment environment = prepared.environment;
  for (auto& variable : settings.to_environment()) environment.push_back(std::move(variable));
  report::FindingsReader reader;
  const Result<int> status = run_reading(
      prepared.arguments, environment, timeout, ends[0], write_end,
      [&](std::string_view text) { reader.read(text); }, output);
  close(ends[0]);
  if (!status) return status.error();
  const int signal = WIFSIGNALED(*status) ? WTERMSIG(*status) : 0;
  Checked checked{.result = reader.result(),
                  .status = signal != 0 ? 128 + signal : WEXITSTATUS(*status),
                  .signal = signal,
                  .started = reader.started(),
                  .complete = reader.complete()};
  if (checked.result.checked.tools.empty())
    checked.result.checked.tools = observe::tool_names(settings.tools);
  return checked;
}

void add_check_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "check",
      "Run a CUDA program and find memory errors, races, uninitialised reads and misused barriers");
  command->footer(
      "Examples:\n"
      "  tilewright check gemm.cu -- 512 512\n"
      "  tilewright check ./program --tool racecheck --kernel 'gemm.*' --launch-count 3\n"
      "  tilewright check gemm.cu --json findings.json --sarif findings.sarif\n"
      "  tilewright check gemm.cu --print-suppressions > known.txt; tilewright check gemm.cu "
      "--suppressions known.txt\n"
      "\n"
      "Suppressions: a line each, 'kind kernel site', patterns with * and ?: the kernel by its "
      "mangled name (- is the host program), the site as file:line; # begins a comment. For "
      "example "
      "'race-shared *gemm* gemm.cu:23'. --print-suppressions writes such lines. More in "
      "docs/checkers/README.md.\n"
      "\n"
      "Findings go to stderr; notes do not change the exit status.\n"
      "Exit status: the program's own when nothing was found, otherwise --error-exitcode; 2 if it, "
      "or "
      "a kernel that it asks nothing about, cannot be run, or if the options left nothing to "
      "check.");
  auto options = std::make_shared<CheckCommand>();
  add_run_options(*command, options->run);
  command
      ->add_option("--tool", options->tools,
                   "memcheck, racecheck, initcheck, synccheck, several by comma, or all")
      ->capture_default_str();
  command->add_option(
      "--kernel", options->kernel,
      "Check only kernels whose name (mangled or not) holds a match of this regular expression");
  command
      ->add_option("--launch-skip", options->launch_skip,
                   "Leave the first launches of these kernels unchecked")
      ->check(number_from(0));
  command
      ->add_option("--launch-count", options->launch_count,
                   "Check so many launches at most; 0: all")
      ->check(number_from(0));
  command
      ->add_option("--schedules", options->schedules,
                   "Run the program so often, each time in another interleaving of threads that "
                   "order one another by memory; only the first run's output is shown")
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  command
      ->add_option("--max-findings", options->max_findings,
                   "Keep so many different findings at most")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}))
      ->capture_default_str();
  command
      ->add_option("--error-exitcode", options->error_exitcode,
                   "Exit status when something was found")
      ->check(CLI::Range(0, 255))
      ->capture_default_str();
  command
      ->add_option("--leak-check", options->leak_check,
                   "full: device memory that is never freed is a finding")
      ->check(CLI::IsMember({"no", "full"}))
      ->capture_default_str();
  command->add_option("--json", options->json, "Write the findings as JSON; - is stdout");
  command->add_option("--sarif", options->sarif, "Write the findings as SARIF 2.1.0; - is stdout");
  command->add_option("--suppressions", options->suppressions,
                      "Leave out what this file names (the format is below)");
  command->add_flag("--print-suppressions", options->print_suppressions,
                    "Print the suppressions of all findings instead of the findings");
  command->add_option("--color", options->color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  command->callback([options] {
    const Result<int> status = check(*options);
    if (!status) {
      fmt::print(stderr, "tilewright: {}\n", status.error().to_string());
      throw CLI::RuntimeError(kRefused);
    }
    if (*status != 0) throw CLI::RuntimeError(*status);
  });
}

}  // namespace tw::cli
