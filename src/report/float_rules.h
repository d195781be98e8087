// Which floating-point machine instructions stand for one execution of a PTX instruction: what Nsight
// Compute's op counters count.
//
// Problem: PTX says `mul, add` and `div.rn.f32`; ptxas makes one FFMA of the first two, and five
// FFMA beside a MUFU of the third. Choice: with the cubin (sass/cubin.h) the machine instructions of
// each PTX instruction are counted. Where a loop was unrolled each stands there several times, of
// which one runs: a plain operation counts once; an expansion is divided by its MUFUs, of which each
// execution runs one (two for a pair of halves), or else by the copies of its block. Instructions
// that run for some operands only (denormals, the slow path of a quotient) are left out and the rule
// is marked estimated. Without a cubin a plain operation counts as itself, and everything is
// estimated.
//
// Tested by tests/unit/report/float_rules_test.cpp, tests/counters/check_programs.py.
#pragma once

#include <array>
#include <vector>

#include "ptx/module.h"
#include "report/record.h"
#include "sass/cubin.h"

namespace tw::report {

struct FloatRule {
  std::array<double, sass::kFloatOps.size()> operations{};  // of one execution, by kFloatOps
  bool estimated = false;

  double fp32() const { return operations[0] + operations[1] + operations[2]; }
  double fp64() const { return operations[3] + operations[4] + operations[5]; }
};

// By ProgramRecord::sites. `kernel`, `code`: nullptr where they are not known.
std::vector<FloatRule> float_rules(const ProgramRecord& program, const ptx::Function* kernel,
                                   const sass::KernelCode* code);

}  // namespace tw::report
