// PTX programs for the lane rows of the instruction table: one kernel a spelling, over the input
// values of values.h. The same kernels run on the engine (isa_test.cpp) and on a GPU (tests/gpu).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/table.h"

namespace tw::isa_test {

struct Case {
  isa::RowId row = 0;
  isa::Match match;
  std::string name;         // the spelling; "lop3.b32 0x96" where an immediate makes the case
  std::string instruction;  // with operands: "add.f32 %d, %a0, %a1"
  std::vector<std::string> operands;  // value types of the sources (values.h)
  std::string result;                 // value type of the result ("pred": 0/1, "carry": d + carry)
  uint8_t result_bytes = 4;           // stored width: 1, 2, 4, 8
  uint64_t seed = 0;
  std::string body, module_scope;  // a kernel written out: machine_cases.h
};

enum class Mode { plain, guarded, uniform };

// Every lane row, its spellings chosen so that every pair of words (and types) occurs; then
// machine_cases().
std::vector<Case> all_cases();
// Whether only GPUs newer than the H200 have it: no expectations then.
bool newer_than_h200(const Case& c);
// A kernel `name`(out, in): thread t computes tuple t. guarded: only odd threads execute the
// instruction, the others keep 0. uniform: CTA i, all lanes alike, computes tuple i.
std::string kernel_text(const Case& c, const std::string& name, Mode mode);
// Changes whenever the results could.
uint64_t case_key(const Case& c);
std::string module_header(bool newest);

}  // namespace tw::isa_test
