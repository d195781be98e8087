#include "cli/nvcc.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "cli/content_hash.h"
#include "cli/process.h"

namespace tw::cli {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text;
  std::error_code error;
  text.resize(fs::file_size(path, error));
  if (error) return std::nullopt;
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(file.gcount()));
  return text;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

fs::path command_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

// A toolkit's update changes nvcc's size or time; its version number is not asked for, which would
// take a process.
std::string identity_of(const std::string& nvcc) {
  struct stat status{};
  stat(nvcc.c_str(), &status);
  return fmt::format("{} {} {}.{}", nvcc, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

Result<fs::path> cache_folder() {
  std::vector<fs::path> candidates;
  if (const std::string given = variable("TILEWRIGHT_CACHE"); !given.empty()) {
    candidates.push_back(given);
  } else if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) {
    candidates.push_back(fs::path(xdg) / "tilewright");
  } else {
    const fs::path build = command_folder().parent_path();
    std::error_code error;
    if (fs::exists(build / "CMakeCache.txt", error)) candidates.push_back(build / "cache");
    if (const std::string home = variable("HOME"); !home.empty())
      candidates.push_back(fs::path(home) / ".cache" / "tilewright");
  }
  for (const fs::path& folder : candidates) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (access(folder.c_str(), W_OK | X_OK) == 0) return folder;
  }
  if (candidates.empty())
    return Error{.message =
                     "no folder for compiled programs: HOME is not set; set TILEWRIGHT_CACHE"};
  return Error{.message = fmt::format(
                   "no folder for compiled programs: {} cannot be written; set TILEWRIGHT_CACHE",
                   candidates.back().string())};
}

// Manifest: the program's name, then a line "hash path" for each file that nvcc read.
bool up_to_date(const fs::path& manifest, const fs::path& folder, std::string& program) {
  std::ifstream file(manifest);
  std::string line;
  if (!file || !std::getline(file, line)) return false;
  const std::string name = line;
  while (std::getline(file, line)) {
    if (line.size() < 34 || line[32] != ' ') return false;
    const std::optional<std::string> text = read_file(line.substr(33));
    if (!text || content_hash(*text) != std::string_view(line).substr(0, 32)) return false;
  }
  program = (folder / name).string();
  return access(program.c_str(), X_OK) == 0;
}

void mark_used(const fs::path& manifest, const fs::path& program) {
  std::error_code ignored;  // a cache that others own works as well
  for (const fs::path& path : {manifest, program})
    fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
}

// Removes what has not been used for long, by the manifests: the folder may hold the user's files,
// too.
void remove_unused(const fs::path& folder) {
  constexpr auto kLong = std::chrono::hours(24 * 30);
  std::error_code error;
  const auto unused = [&](const fs::path& path) {
    const auto time = fs::last_write_time(path, error);
    return !error && time < fs::file_time_type::clock::now() - kLong;
  };
  std::vector<fs::path> manifests;
  // By hand: others may change the folder meanwhile, and the loop of a range throws then.
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() == ".manifest" && path.stem().string().size() == 32 && unused(path))
      manifests.push_back(path);
    error.clear();
  }
  for (const fs::path& manifest : manifests) {
    std::ifstream file(manifest);
    std::string name;
    std::getline(file, name);
    if (!name.empty() && name.find('/') == std::string::npos && unused(folder / name))
      fs::remove(folder / name, error);
    fs::remove(manifest, error);
  }
}

// Removes what it names when it goes out of scope.
struct Temporary {
  fs::path path;
  ~Temporary() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

bool names_architecture(const std::vector<std::string>& flags) {
  for (const std::string& flag : flags)
    for (const char* option :
         {"-arch", "--gpu-architecture", "-gencode", "--generate-code", "-code", "--gpu-code"})
      if (flag.starts_with(option)) return true;
  return false;
}

// -arch=sm_90a as -arch=compute_90a -code=compute_90a: of the short form nvcc 13.0 makes PTX for
// compute_90 as well, and stops where that lacks an instruction.
std::vector<std::string> spell_out_architecture(std::vector<std::string> flags) {
  const auto names = [](const std::string& flag, std::string_view a, std::string_view b) {
    return flag.starts_with(a) || flag.starts_with(b);
  };
  for (const std::string& flag : flags)
    if (names(flag, "-code", "--gpu-code")) return flags;
  for (std::string& flag : flags) {
    if (!names(flag, "-arch=", "--gpu-architecture=")) continue;
    const std::string target = flag.substr(flag.find('=') + 1);  // lto_...: nvcc's own to refuse
    if (!names(target, "sm_", "compute_")) continue;
    const std::string name = target.substr(target.find('_') + 1);
    if (name.empty() || (name.back() != 'a' && name.back() != 'f')) continue;
    flag = "-arch=compute_" + name;
    flags.push_back("-code=compute_" + name);
    break;
  }
  return flags;
}

}  // namespace

Result<std::string> find_nvcc() {
  if (const std::string given = variable("TILEWRIGHT_NVCC"); !given.empty()) {
    if (access(given.c_str(), X_OK) == 0) return given;
    return Error{.message =
                     fmt::format("TILEWRIGHT_NVCC is '{}', which cannot be executed", given)};
  }
  std::vector<std::string> candidates;
  std::istringstream path(variable("PATH"));
  for (std::string folder; std::getline(path, folder, ':');)
    candidates.push_back((folder.empty() ? "." : folder) + "/nvcc");
  candidates.push_back("/usr/local/cuda/bin/nvcc");
  candidates.push_back((command_folder().parent_path().parent_path() / "nvcc/bin/nvcc")
                           .string());  // build/<preset>/bin -> build/nvcc
  for (const std::string& candidate : candidates)
    if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate;
  return Error{.message =
                   "no nvcc found in $TILEWRIGHT_NVCC, $PATH, /usr/local/cuda/bin or the build "
                   "tree; run scripts/setup, or run a compiled program"};
}

Result<std::vector<std::string>> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;  // a word has begun
  char quote = 0;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else if (c == '\\' && quote == '"' && i + 1 < text.size() &&
               (text[i + 1] == '"' || text[i + 1] == '\\'))
        word += text[++i];
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      inside = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (inside) words.push_back(word);
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote != 0) return Error{.message = fmt::format("a quote is not closed in: {}", text)};
  if (inside) words.push_back(word);
  return words;
}

std::vector<std::string> parse_dependencies(const std::string& rule) {
  std::vector<std::string> paths;
  size_t at = rule.find(": ");
  if (at == std::string::npos) return paths;
  std::string path;
  const auto take = [&] {
    if (!path.empty()) paths.push_back(path);
    path.clear();
  };
  for (at += 2; at < rule.size(); at++) {
    const char c = rule[at];
    if (c == '\\' && at + 1 < rule.size()) {
      const char next = rule[at + 1];
      if (next == '\n') {
        take();
        at++;
      } else if (next == ' ' || next == '\\' || next == '#') {
        path += next;
        at++;
      } else {
        path += c;
      }
    } else if (c == '$' && at + 1 < rule.size() && rule[at + 1] == '$') {
      path += c;
      at++;
    } else if (c == ' ' || c == '\n' || c == '\t') {
      take();
      if (c == '\n') break;
    } else {
      path += c;
    }
  }
  take();
  return paths;
}

// Whether a source has the word: without it, what the linker says of crt1.o helps nobody.
bool names_main(const std::string& source) {
  const auto in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (size_t at = 0; (at = source.find("main", at)) != std::string::npos; at += 4)
    if ((at == 0 || !in_word(source[at - 1])) &&
        (at + 4 == source.size() || !in_word(source[at + 4])))
      return true;
  return false;
}

Result<std::string> compile(const CompileRequest& request) {
  const Result<std::string> nvcc = find_nvcc();
  if (!nvcc) return nvcc.error();
  std::error_code error;
  const fs::path source = fs::canonical(request.source, error);
  if (error) return Error{.message = "no such file", .file = request.source};
  if (!fs::is_regular_file(source, error))
    return Error{.message = "this is no regular file", .file = request.source};
  if (access(source.c_str(), R_OK) != 0)
    return Error{.message = "cannot be read", .file = request.source};
  // nvcc hands the path to a shell in double quotes: there, these would be run or replaced.
  if (source.string().find_first_of("$`\"\\\n") != std::string::npos)
    return Error{.message =
                     "nvcc cannot compile a file whose path holds one of $ ` \" \\ or a line "
                     "break: rename it",
                 .file = source.string()};
  const Result<fs::path> folder = cache_folder();
  if (!folder) return folder.error();

  std::vector<std::string> options;
  if (!names_architecture(request.flags))
    options.push_back(fmt::format("-arch=compute_{}", request.arch));
  options.insert(options.end(), {"-cudart", "shared"});
  const bool debug = std::ranges::any_of(request.flags, [](const std::string& flag) {
    return flag == "-G" || flag == "--device-debug";
  });
  if (!debug) options.push_back("-lineinfo");  // -G has the lines already, and nvcc warns of both
  const std::vector<std::string> flags = spell_out_architecture(request.flags);
  options.insert(options.end(), flags.begin(), flags.end());

  // The environment variables are those that nvcc and the host compiler read.
  std::string key =
      identity_of(*nvcc) + '\0' + source.string() + '\0' + fs::current_path(error).string();
  for (const std::string& option : options) key += '\0' + option;
  for (const char* name : {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH",
                           "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"})
    key += '\0' + variable(name);
  const std::string id = content_hash(key);
  const fs::path manifest = *folder / (id + ".manifest");
  std::string program;
  if (up_to_date(manifest, *folder, program)) {
    mark_used(manifest, program);
    return program;
  }
  remove_unused(*folder);

  const std::string unique = fmt::format("{}.{}.tmp", id, getpid());
  const Temporary output{*folder / (unique + ".program")}, rule{*folder / (unique + ".d")},
      draft{*folder / (unique + ".manifest")};
  std::vector<std::string> command = {*nvcc};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(),
                 {"-MD", "-MF", rule.path.string(), "-o", output.path.string(), source.string()});
  const Result<int> status = run_to_end(command);
  if (!status) return status.error();
  if (*status != 0)
    return Error{.message = names_main(read_file(source.string()).value_or("main"))
                                ? "nvcc could not compile this file"
                                : "nvcc could not compile this file; it has no main function",
                 .file = request.source};

  const std::optional<std::string> text = read_file(rule.path.string()),
                                   made = read_file(output.path.string());
  if (!text || !made) return Error{.message = "nvcc wrote no program", .file = request.source};
  const std::string name =
      fmt::format("{}-{}", source.stem().string(), content_hash(*made).substr(0, 16));
  {
    std::ofstream file(draft.path);
    file << name << '\n';
    for (const std::string& dependency : parse_dependencies(*text)) {
      const fs::path path = fs::absolute(dependency, error);
      const std::optional<std::string> content = read_file(path.string());
      if (!content)
        return Error{
            .message = fmt::format("{} vanished while the program was compiled", path.string()),
            .file = request.source};
      file << content_hash(*content) << ' ' << path.string() << '\n';
    }
    if (!file.flush())
      return Error{.message = "cannot be written (is the disk full?)", .file = draft.path.string()};
  }
  fs::rename(output.path, *folder / name, error);
  if (!error) fs::rename(draft.path, manifest, error);
  if (error)
    return Error{.message = "cannot be written: " + error.message(),
                 .file = (*folder / name).string()};
  return (*folder / name).string();
}

}  // namespace tw::cli
