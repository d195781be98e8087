// How ptxas turned the shared-memory accesses of a kernel into machine instructions: for each PTX
// instruction, how many requests of which width stand for one execution of it.
//
// With the cubin (sass/cubin.h) the widths are read. An instruction without a machine instruction
// has been joined to a neighbour, which is wider: the neighbour then counts for both. Where a loop
// was unrolled by ptxas, one instruction stands for several iterations; which of several copies ran
// is not known, so that the shares are estimates. Without it, neighbours are joined as ptxas does:
// same address register, same basic block, no barrier or store between, offsets side by side, and
// every address seen at run time aligned to the joined width (what ptxas can prove is less: an
// estimate).
//
// Shared atomics have one width. Which of them the hardware adds up before it writes (lanes with one
// word then share it) is read from the cubin, or taken from what ptxas does: increments by one whose
// result nothing reads.
//
// Tested by tests/unit/report/profile_build_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ptx/module.h"
#include "report/record.h"
#include "sass/cubin.h"

namespace tw::report {

struct WidthRule {
  // An execution, of 1, 2, 4 times the written width; of atomics: each lane by itself, added up.
  std::array<double, 3> requests = {1, 0, 0};
  bool estimated = false;
};

// By ProgramRecord::sites; other sites keep the rule "as written". `code`: nullptr if there is no
// cubin. `counts`: sums over the launches (for the alignment seen).
std::vector<WidthRule> shared_width_rules(const ProgramRecord& program,
                                          const std::vector<SiteCounts>& counts,
                                          const ptx::Function& kernel,
                                          const sass::KernelCode* code);

// How many copies ptxas made of each PTX instruction's basic block, as far as it shows: a loop that
// it unrolled holds every instruction several times, of which one runs. Loads, stores and
// multiply-adds are one machine instruction each, so the fewest of any in a block say how often.
std::vector<double> block_copies(const ProgramRecord& program, const ptx::Function& kernel,
                                 const sass::KernelCode& code);

// The basic block of each instruction: changes at labels and after jumps.
std::vector<uint32_t> basic_blocks(const ptx::Function& function);

}  // namespace tw::report
