// An empty file for another program to write to; it lives as long as its object.
//
// Tested by tests/counters.
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
