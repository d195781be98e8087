// The command `tilewright`. Phases: declare the sub-commands, parse, run the one that was named.
// After parsing, exactly one sub-command has run (CLI11 calls its callback). Exit status: 0, 2 for
// a command line that makes no sense; a sub-command chooses its own by throwing CLI::RuntimeError.
#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/bench.h"
#include "cli/check.h"
#include "cli/explain.h"
#include "cli/model.h"
#include "cli/profile.h"
#include "cli/ptx.h"
#include "cli/run.h"

namespace {

// A caller may have closed stdin, stdout or stderr: the next file opened would take its number, and
// what is printed would land in it.
void open_standard_streams() {
  for (int file = 0; file <= 2; file++)
    if (fcntl(file, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) return;
}

// The sub-command that was named, of sub-commands of sub-commands too.
const CLI::App& deepest(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app : deepest(*named.front());
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : path_of(*app.get_parent()) + " " + app.get_name();
}

// Output that did not reach its file (a full disk) is no success.
int flushed(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  fmt::print(stderr, "tilewright: stdout cannot be written\n");
  return status == 0 ? 1 : status;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  CLI::App app{
      "Run, check and profile CUDA programs without a GPU, and calculate what bounds them."};
  app.name("tilewright");
  app.set_version_flag("--version", "tilewright " TILEWRIGHT_VERSION);
  app.require_subcommand(1);

  tw::cli::add_run_command(app);
  tw::cli::add_check_command(app);
  tw::cli::add_profile_command(app);
  tw::cli::add_ptx_command(app);
  tw::cli::add_model_command(app);
  tw::cli::add_explain_command(app);
  tw::cli::add_bench_command(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& e) {
    return flushed(e.get_exit_code());
  } catch (const CLI::ExtrasError& e) {
    fmt::print(stderr,
               "tilewright: {}\nOptions of tilewright stand before --, the program's arguments "
               "after it; an unknown option is taken for such an argument. --help lists the "
               "options.\n",
               e.what());
    return 2;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0 && app.get_subcommands().empty() && argc > 1 && argv[1][0] != '-') {
      fmt::print(stderr, "tilewright: no sub-command '{}'; tilewright --help lists them\n",
                 argv[1]);
      return 2;
    }
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    const CLI::App& named = deepest(app);
    fmt::print(stderr, "tilewright: {}\n", e.what());
    const std::string footer = named.get_footer();
    if (dynamic_cast<const CLI::RequiredError*>(&e) != nullptr && footer.starts_with("Example"))
      fmt::print(stderr, "{}\n", footer.substr(0, footer.find("\n\n")));
    fmt::print(stderr, "{} --help lists the options.\n", path_of(named));
    return 2;
  }
  return flushed(0);
}
