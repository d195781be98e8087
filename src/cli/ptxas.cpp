#include "cli/ptxas.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "cli/nvcc.h"

extern char** environ;

namespace tw::cli {
namespace {

namespace fs = std::filesystem;

// A folder of our own that goes when we are done.
struct Folder {
  fs::path path;
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
};

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "sm_90a": the module's own where it asks for more than the device has, or for its special
// features.
std::string architecture(const std::string& ptx, const model::DeviceSpec& device) {
  const uint32_t mine = device.compute_major * 10 + device.compute_minor;
  const size_t at = ptx.find(".target sm_");
  if (at != std::string::npos) {
    const size_t begin = at + 8, end = ptx.find_first_of(", \n\r\t", begin);
    const std::string theirs = ptx.substr(begin, end - begin);
    const uint32_t number = uint32_t(std::strtoul(theirs.c_str() + 3, nullptr, 10));
    if (number > mine || (number == mine && !theirs.empty() && theirs.back() == 'a')) return theirs;
  }
  return fmt::format("sm_{}", mine);
}

// Exit status; standard output and error go to `log`.
Result<int> run_logged(const std::vector<std::string>& arguments, const fs::path& log) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return Error{.message = fmt::format("cannot be started: {}", strerror(error)),
                 .file = arguments[0]};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<std::string> find_ptxas() {
  const Result<std::string> nvcc = find_nvcc();
  if (!nvcc) return nvcc.error();
  // nvcc may be a link or a wrapper: ptxas lies beside either end of it.
  std::error_code error;
  for (const fs::path& folder :
       {fs::path(*nvcc).parent_path(), fs::canonical(*nvcc, error).parent_path()}) {
    const std::string path = (folder / "ptxas").string();
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return Error{.message = "no ptxas beside it", .file = *nvcc};
}

Result<report::MachineCode> ask_ptxas(const std::string& ptxas, const std::string& ptx,
                                      const model::DeviceSpec& device) {
  std::error_code error;
  std::string pattern = (fs::temp_directory_path(error) / "tilewright-XXXXXX").string();
  if (error || mkdtemp(pattern.data()) == nullptr)
    return Error{.message = "no temporary folder can be made", .file = pattern};
  const Folder folder{pattern};
  const fs::path source = folder.path / "module.ptx", cubin = folder.path / "module.cubin",
                 log = folder.path / "log";
  if (!(std::ofstream(source) << ptx).flush())
    return Error{.message = "cannot be written", .file = source.string()};
  const Result<int> status = run_logged({ptxas, "-arch=" + architecture(ptx, device), "-lineinfo",
                                         "-v", "-o", cubin.string(), source.string()},
                                        log);
  if (!status) return status.error();
  const std::string text = read_text(log);
  if (*status != 0)
    return Error{.message =
                     fmt::format("ptxas refused the PTX: {}", text.substr(0, text.find('\n')))};
  report::MachineCode code;
  code.resources = sass::parse_ptxas_report(text);
  const std::string image = read_text(cubin);
  Result<std::vector<sass::KernelCode>> kernels = sass::read_cubin(
      {reinterpret_cast<const uint8_t*>(image.data()), image.size()}, "module.cubin");
  if (!kernels) return kernels.error();
  code.code = std::move(*kernels);
  return code;
}

}  // namespace tw::cli
