// Phases: compile or check the program; run it with counting on, records going to a temporary file;
// ask ptxas about each module that ran; build the report; with --measure run the program again on
// the real GPU; write the report. The report is written whatever became of the program, whose exit
// status is ours.
#include "cli/profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>

#include "cli/check.h"
#include "cli/measure.h"
#include "cli/output_files.h"
#include "cli/ptxas.h"
#include "cli/run_options.h"
#include "cli/temporary_file.h"
#include "observe/counters/environment.h"
#include "report/profile.h"

namespace tw::cli {
namespace {

constexpr int kRefused = 2;

struct ProfileOptions {
  RunOptions run;
  std::string json, html, kernels;
  bool as_written = false, no_ptxas = false, measure = false, check = false;
};

int refuse(const Error& error) {
  fmt::print(stderr, "tilewright: {}\n", error.to_string());
  return kRefused;
}

// Machine code of every module that a launch used. A note where a module's is missing.
void ask_about_modules(const report::Records& records, const model::DeviceSpec& device,
                       report::BuildOptions& build) {
  const Result<std::string> ptxas = find_ptxas();
  if (!ptxas) {
    build.ptxas_note = "no ptxas was found";
    return;
  }
  std::set<uint64_t> programs, used;
  for (const report::LaunchRecord& l : records.launches) programs.insert(l.program);
  for (const report::ProgramRecord& p : records.programs)
    if (programs.contains(p.id)) used.insert(p.ptx);
  for (const report::ModuleRecord& m : records.modules) {
    if (!used.contains(m.id)) continue;
    Result<report::MachineCode> code = ask_ptxas(*ptxas, m.text, device);
    if (code)
      build.machine[m.id] = std::move(*code);
    else
      build.ptxas_note = code.error().to_string();
  }
}

int profile(const ProfileOptions& options) {
  if (!options.kernels.empty()) {
    try {
      const std::regex check(options.kernels);
    } catch (const std::regex_error&) {
      return refuse(Error{
          .message = fmt::format("--kernel: '{}' is no regular expression", options.kernels)});
    }
  }
  RunOptions run = options.run;
  run.host_lines = options.check;  // findings name lines of the host program, too
  Result<Prepared> prepared = prepare(run);
  if (!prepared) return refuse(prepared.error());
  const Result<model::DeviceSpec> device = model::load_device_spec(options.run.gpu);
  if (!device) return refuse(device.error());
  if (const Status s = check_output_files({{"--json", options.json}, {"--html", options.html}});
      !s.ok())
    return refuse(s.error());
  const TemporaryFile records_file;
  if (records_file.path.empty())
    return refuse(Error{.message = "no temporary file can be made; set TMPDIR"});
  const Prepared bare = *prepared;
  prepared->environment.emplace_back(counters::kProfileVariable, records_file.path);
  prepared->environment.emplace_back(counters::kKernelsVariable, options.kernels);

  const bool reports = options.json == "-";
  const Result<int> status =
      run_and_wait(prepared->arguments, prepared->environment, options.run.timeout,
                   reports ? Output::on_stderr : Output::shown);
  if (!status) return refuse(status.error());

  std::ifstream file(records_file.path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  unlink(records_file.path.c_str());  // now: a signal may end us, as it ended the program
  const Result<report::Records> records = report::read_records(text, records_file.path);
  if (!records) return refuse(records.error());
  report::BuildOptions build{.program = options.run.program,
                             .as_written = options.as_written,
                             .machine = {},
                             .ptxas_note = {}};
  if (options.no_ptxas)
    build.ptxas_note = "--no-ptxas";
  else
    ask_about_modules(*records, *device, build);
  report::Profile result = report::build_profile(*records, *device, build);
  result.arguments = options.run.arguments;
  if (options.check) {
    observe::CheckSettings settings;
    settings.kernel = options.kernels;
    Result<Checked> checked = run_checked(bare, settings, options.run.timeout, Output::dropped);
    if (!checked) return refuse(checked.error());
    result.check = std::move(checked->result);
  }
  if (options.measure) {
    const Result<Measured> measured = measure(prepared->arguments, options.run);
    result.measured_note = measured ? measured->note : measured.error().to_string();
    if (measured) report::add_measured(result, measured->launches, measured->device);
  }

  std::fflush(stdout);
  if (result.kernels.empty() && !options.kernels.empty())
    fmt::print(stderr, "tilewright: no kernel that was launched matches --kernel '{}'\n",
               options.kernels);
  else if (!reports)
    fmt::print("\n{}", report::profile_text(result));
  if (const Status s = write_output(
          options.json, options.json.empty() ? std::string() : report::profile_json(result));
      !s.ok())
    return refuse(s.error());
  if (const Status s = write_output(
          options.html, options.html.empty() ? std::string() : report::profile_html(result));
      !s.ok())
    return refuse(s.error());
  std::fflush(stdout);
  return end_like(*status);
}

}  // namespace

void add_profile_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("profile", "Run a CUDA program on the CPU and count what its kernels do");
  command->footer(
      "Examples:\n"
      "  tilewright profile gemm.cu -- 512\n"
      "  tilewright profile ./program --gpu h100 --html report.html --json report.json\n"
      "  tilewright profile gemm.cu --kernel tiled --as-written\n"
      "  tilewright profile gemm.cu --measure -- 2048      where there is a GPU\n"
      "\n"
      "docs/counters.md defines every counter. Exit status: the program's own; 2 if it cannot be "
      "run.");
  auto options = std::make_shared<ProfileOptions>();
  add_run_options(*command, options->run);
  command->add_option(
      "--json", options->json,
      "Write all counters, per launch, line and instruction, to this file; - is stdout");
  command->add_option("--html", options->html, "Write the report as one HTML page to this file");
  command->add_option("--kernel", options->kernels,
                      "Count only kernels whose name, mangled or not, holds a match of this "
                      "regular expression; where "
                      "none that was launched does, a note says so, the reports are empty, and the "
                      "exit status stays "
                      "the program's");
  command->add_flag(
      "--as-written", options->as_written,
      "Shared-memory counts of PTX as written, not of the machine code that ptxas makes of it");
  command->add_flag("--check", options->check,
                    "Run the program under the checkers as well (tilewright check), and show what "
                    "they find");
  command->add_flag("--measure", options->measure,
                    "Run the program on this machine's GPU as well, and show the time of its "
                    "kernels (CUDA events) beside the predicted one");
  command->add_flag("--no-ptxas", options->no_ptxas,
                    "Do not ask ptxas for registers and access widths: estimate them");
  command->callback([options] {
    if (const int status = profile(*options); status != 0) throw CLI::RuntimeError(status);
  });
}

}  // namespace tw::cli
