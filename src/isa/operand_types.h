// Whether the registers of an instruction are of types that it takes, after the manual's rules
// ("Type checking"): as wide as the instruction's type, and not an integer's where a float is wanted
// or the other way round; .b types agree with everything of their width. Looked at are instructions
// whose operands all have one type; ld, st and cvt have rules of their own and take wider registers.
//
// Tested by tests/unit/isa/operand_types_test.cpp: what ptxas says of the same instructions.
#pragma once

#include "isa/table.h"

namespace tw::isa {

// The error names the first register that does not fit.
Status check_operand_types(const ptx::Instruction& instruction, const Match& match,
                           const ptx::Function& function, const std::string& file);

}  // namespace tw::isa
