// The cases written out, as machine_cases.cpp, matrix_cases.cpp and video_cases.cpp make them.
#pragma once

#include <string>
#include <vector>

#include "cases.h"
#include "isa/table.h"
#include "values.h"

namespace tw::isa_test {

using Words = std::vector<std::string>;

class Cases {
 public:
  // `instruction` names the case and its row. The body finds the operands in %a0 ... (as wide as
  // their types), whole words in %w0 ..., the thread in %t, an odd thread's predicate in %odd; it
  // leaves the result in %r. @K is the kernel's name, for what must be declared outside it.
  void add(const std::string& instruction, const Words& operands, const std::string& body,
           const std::string& module_scope = "") {
    Case c;
    c.row = row_of(instruction);
    c.name = instruction;
    c.instruction = instruction;
    c.operands = operands;
    c.result = "b32";
    c.result_bytes = 4;
    // 64 bits become 32, which keeps the file of expectations small.
    c.body = body + "shr.u64 %k, %r, 32;\nxor.b64 %r, %r, %k;\nand.b64 %r, %r, 0xffffffff;\n";
    c.module_scope = module_scope;
    c.seed = hash_of(instruction);
    cases_.push_back(std::move(c));
  }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  // The row that a spelling (up to the first blank) belongs to.
  static isa::RowId row_of(const std::string& instruction) {
    ptx::Instruction in;
    const std::string spelling = instruction.substr(0, instruction.find(' '));
    size_t at = spelling.find('.');
    in.opcode = spelling.substr(0, at);
    while (at != std::string::npos) {
      const size_t next = spelling.find('.', at + 1);
      in.modifiers.push_back(spelling.substr(at + 1, next - at - 1));
      at = next;
    }
    const Result<isa::Match> match = isa::match(in, "case");
    return match.ok() ? match->row : isa::RowId(0);
  }
  std::vector<Case> cases_;
};

void video_cases(Cases& cases);
void matrix_cases(Cases& cases);

}  // namespace tw::isa_test
