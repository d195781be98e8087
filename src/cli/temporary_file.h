// A file that lives as long as its object.
#pragma once

#include <string>

namespace tw::cli {

struct TemporaryFile {
  std::string path;  // empty: none could be made
  TemporaryFile();
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
};

}  // namespace tw::cli
