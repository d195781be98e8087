// Findings in every form: for the terminal, as JSON (docs/checkers/json.md), as SARIF 2.1.0 for
// code hosts, as lines on the pipe from the checked program, and the suppressions that leave some
// of them out.
//
// Tested by tests/unit/report/findings_test.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/finding.h"
#include "util/result.h"

namespace tw::report {

// ---- terminal ----

struct FindingsTextOptions {
  bool color = false;
  // One line of a source file, without its end; nullopt: not to be had. Empty: no excerpts.
  std::function<std::optional<std::string>(const std::string& file, uint32_t line)> source;
};
// The findings, most severe first, then the line that says what was checked.
std::string findings_text(const CheckResult& result, const FindingsTextOptions& options);
// "checked 3 launches of 2 kernels with memcheck, racecheck: no findings"
std::string checked_line(const CheckResult& result);
// Reads source lines from the files named, keeping each file's text.
std::function<std::optional<std::string>(const std::string&, uint32_t)> source_from_files();

// ---- files ----

inline constexpr int kFindingsSchema = 2;  // rises when a key changes its meaning or goes
std::string findings_json(const CheckResult& result);
// `folder`: the absolute path that files are named relative to, as far as they lie in it.
std::string findings_sarif(const CheckResult& result, std::string_view tool_version,
                           const std::string& folder);

// ---- pipe: one JSON object a record, in lines that a pipe takes whole ----
//
// Several processes may write to one pipe. A line is the process, a space (the record's last line) or
// a plus, and a piece of the record; each is written at once, and is no longer than PIPE_BUF.

std::string finding_line(const Finding& finding);
// How often a finding has been seen; 0: it is none after all (an error that the program asked for).
std::string count_line(uint64_t id, uint64_t count);
// What a process sends when it begins. One that has become another program (exec) begins once more.
std::string start_line(const CheckSummary& checked);
// What has been checked so far and counts, as {id, count}, that have changed: after every launch, so
// that nothing but leaks is lost however the program ends.
std::string progress_line(const CheckSummary& checked,
                          const std::vector<std::pair<uint64_t, uint64_t>>& counts);
// The same with all counts, at the end of the program.
std::string summary_line(const CheckResult& result);

// Puts the lines of one or more processes together.
class FindingsReader {
 public:
  void read(std::string_view text);  // any part of the stream
  CheckResult result() const;
  bool started() const { return !processes_.empty(); }
  bool complete() const;  // some process has begun, and all that have came to their end

 private:
  struct Process {
    uint64_t pid = 0;
    std::vector<size_t> findings{};
    std::string record{};    // so far
    CheckSummary checked{};  // so far
    bool ended = false;      // or another program since
  };
  void line(std::string_view text);
  void record(size_t process);
  std::string rest_;
  std::vector<Finding> findings_;
  std::vector<Process> processes_;  // that of a number which comes again: the last one
};

// Adds what another run of the same program has found, in another interleaving, and the first has
// not.
void add_schedule(CheckResult& all, const CheckResult& other);

// ---- suppressions ----

// One rule a line: `kind kernel site`, each a pattern with * and ?; site is file:line, the file by
// its end.
// `#` starts a comment.
struct Suppression {
  std::string kind, kernel, site;
  uint32_t line = 0;  // of the file
  bool used = false;  // some finding was left out by it
};
Result<std::vector<Suppression>> parse_suppressions(std::string_view text, const std::string& file);
bool suppressed(const Finding& finding, std::vector<Suppression>& rules);  // marks those used
std::string suppression_for(const Finding& finding);

std::string demangle(const std::string& name);

}  // namespace tw::report
