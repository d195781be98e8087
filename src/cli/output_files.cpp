#include "cli/output_files.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace tw::cli {

namespace fs = std::filesystem;

Status check_output_files(const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [option, path] : files) {
    if (path.empty() || path == "-") continue;
    std::error_code error;
    const bool there = fs::exists(fs::symlink_status(path, error));
    // A pipe's reader would take the test for the whole output.
    if (fs::exists(path, error) && fs::is_fifo(path, error)) continue;
    if (!std::ofstream(path, std::ios::app))
      return Error{.message = option + ": cannot be written", .file = path};
    if (!there) fs::remove(path, error);
  }
  for (size_t i = 0; i < files.size(); ++i)
    for (size_t k = i + 1; k < files.size(); ++k) {
      const std::string &a = files[i].second, &b = files[k].second;
      if (a.empty() || b.empty()) continue;
      std::error_code error;
      auto place = [&](const std::string& path) {
        return fs::weakly_canonical(fs::absolute(path, error), error);
      };
      const bool same = a == b || (a != "-" && b != "-" && place(a) == place(b)) ||
                        (fs::is_regular_file(a, error) && fs::equivalent(a, b, error));
      if (!same || (fs::exists(a, error) && !fs::is_regular_file(a, error))) continue;
      return Error{
          .message = fmt::format("{} and {} name the same file", files[i].first, files[k].first),
          .file = a == "-" ? std::string() : a};
    }
  return Unit{};
}

Status write_output(const std::string& path, std::string_view text) {
  if (path.empty()) return Unit{};
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return Unit{};
  }
  if (!(std::ofstream(path, std::ios::binary) << text).flush())
    return Error{.message = "cannot be written", .file = path};
  return Unit{};
}

}  // namespace tw::cli
