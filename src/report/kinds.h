// The kinds of findings: what each is called, which tool finds it, what it means. SARIF's rules are
// made of this table; docs/checkers has the long form.
//
// Tested by tests/unit/report/findings_test.cpp.
#pragma once

#include <span>
#include <string_view>

namespace tw::report {

struct FindingKind {
  std::string_view name;     // "oob-global"
  std::string_view tool;     // "memcheck"
  std::string_view brief;    // a title
  std::string_view meaning;  // when it is reported
  std::string_view help;     // what to change
};

std::span<const FindingKind> finding_kinds();

}  // namespace tw::report
