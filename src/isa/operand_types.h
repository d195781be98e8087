// Whether the operands of an instruction are of types that it takes, after the manual's rules
// ("Type checking"): as wide as the instruction's type, and not an integer's where a float is wanted
// or the other way round; .b types agree with everything of their width. What a row's operands are
// it says in RowInfo::takes, a letter each:
//   t s   .type, .type2           T S   the same or wider (cvt, ld, st)
//   w     twice as wide as .type  u     an integer of 32 bits
//   y     the same, a literal only from 0 to 255
//   6     64 bits                 l     an integer of 64 bits
//   p     a predicate             {u}   one that may be left out
//   x v z 32 bits, for two integers or for elements of them (z: an integer's): no literal
//   U B   an integer of 32 bits, or 32 bits, or wider (cvt.pack)
//   d     what set gives: .type, of bf16 and pairs of it anything as wide
//   a     an address              i     a constant
//
// Tested by tests/unit/isa/operand_types_test.cpp: what ptxas says of the same instructions; the
// rules were compared with ptxas 13.0 over every spelling of the table and every type of register.
#pragma once

#include "isa/table.h"

namespace tw::isa {

// The error names the first operand that does not fit, and says what to do.
Status check_operand_types(const ptx::Instruction& instruction, const Match& match,
                           const ptx::Function& function, const std::string& file);

// Whether the operands of a vmad are negated as it may be: one of the product's or the sum's third,
// none with .po (manual, vmad). Empty, or what is wrong.
std::string vmad_negation(const ptx::Instruction& instruction, const Match& match);

}  // namespace tw::isa
