// The checkers inside a program that `tilewright check` has started: settings come by environment
// variables (they survive exec), findings leave through a pipe, each at its first occurrence, so
// that nothing is lost if the program is killed.
//
//   TILEWRIGHT_CHECK          tools, by comma: memcheck,racecheck,initcheck,synccheck
//   TILEWRIGHT_CHECK_PIPE     descriptor to write to
//   TILEWRIGHT_CHECK_KERNEL   regular expression: only kernels whose name holds a match
//   TILEWRIGHT_CHECK_SKIP     launches left unchecked at first
//   TILEWRIGHT_CHECK_COUNT    launches checked at most
//   TILEWRIGHT_CHECK_LIMIT    different findings kept at most
//   TILEWRIGHT_CHECK_LEAKS    1: device memory that is never freed is a finding
//
// Tested by tests/checkers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "observe/checkers/session.h"
#include "util/result.h"

namespace tw::observe {

struct CheckSettings {
  uint8_t tools = kAllTools;
  int pipe = -1;
  std::string kernel;
  uint64_t launch_skip = 0, launch_count = ~uint64_t{0}, max_findings = 10000;
  bool leaks = false;

  // Whether the variables ask for checkers at all.
  static bool wanted();
  static Result<CheckSettings> from_environment();
  std::vector<std::pair<std::string, std::string>> to_environment() const;
};

// "memcheck,racecheck" or "all" -> Tools.
Result<uint8_t> parse_tools(const std::string& text);

std::vector<std::string> tool_names(uint8_t tools);

// The session of this process, made at the first call; its summary is written at exit. nullptr: not
// wanted.
Result<CheckSession*> attached_session();

}  // namespace tw::observe
