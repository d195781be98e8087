#include "cli/temporary_file.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace tw::cli {

TemporaryFile::TemporaryFile() {
  std::error_code error;
  path = (std::filesystem::temp_directory_path(error) / "tilewright-profile-XXXXXX").string();
  const int file = error ? -1 : mkstemp(path.data());
  if (file >= 0)
    close(file);
  else
    path.clear();
}

TemporaryFile::~TemporaryFile() {
  if (!path.empty()) unlink(path.c_str());
}

}  // namespace tw::cli
