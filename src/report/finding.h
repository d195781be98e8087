// What a checker has to say: the one vocabulary of terminal, JSON and SARIF output, and of the pipe
// from the checked program to the command. Plain data.
//
// Tested by tests/unit/report/findings_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tw::report {

enum class Severity : uint8_t { note, warning, error };

// A call on the host's stack.
struct HostFrame {
  std::string file;  // the program or library when it holds no line numbers
  uint32_t line = 0;
  std::string function;

  bool operator==(const HostFrame&) const = default;
};

struct FindingSite {
  std::string file;  // the user's source, or the PTX when it was compiled without -lineinfo
  uint32_t line = 0;
  std::string instruction;  // PTX text; on the host the function called
  std::string role;         // "write", "read", "barrier", "allocated", "freed", "launched", ...
  bool host = false;        // in the host program: says whence, not what
  std::vector<HostFrame> stack{};  // host: innermost first

  bool operator==(const FindingSite&) const = default;
};

struct Finding {
  uint64_t id = 0;   // in the order of first occurrence
  std::string kind;  // kinds.h
  Severity severity = Severity::error;
  std::string kernel;      // mangled; empty: the host program
  std::string message;     // one sentence: what happened
  std::string advice;      // one sentence: what to change
  std::string where;       // the first occurrence: block, threads, address
  std::string allocation;  // what the address belongs to
  std::vector<FindingSite> sites;
  uint64_t count = 1;  // lanes, over the whole run
};

struct CheckSummary {
  uint64_t kernels = 0, launches = 0, unchecked_launches = 0;
  uint64_t cut_launches = 0;  // not checked to their end
  std::vector<std::string> tools;
  uint64_t dropped = 0;           // findings beyond --max-findings
  uint64_t schedules = 1;         // interleavings that the program has run in
  uint64_t refused_launches = 0;  // that the engine cannot run
};

struct CheckResult {
  std::vector<Finding> findings;
  CheckSummary checked;
  std::string program{};  // as the user named it
};

std::string_view severity_word(Severity s);
std::string_view tool_of(std::string_view kind);  // memcheck, racecheck, initcheck, synccheck
// The exit status is the program's own if nothing counts.
inline bool counts(const Finding& f) { return f.severity != Severity::note; }

}  // namespace tw::report
