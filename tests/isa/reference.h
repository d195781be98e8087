// A second opinion for instruction results: slow, written apart from src/isa, with exact integer
// arithmetic for everything that rounds. Covers what is simple to state; the H200's own results
// (expected_h200.bin) cover the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cases.h"

namespace tw::isa_test {

struct Expected {
  uint64_t bits = 0;     // what the kernel stores
  bool any_nan = false;  // any NaN of the result's type will do
  double bound = 0;      // > 0: |result - bits (as a number)| <= bound instead of equality
};

// The result for one tuple; nullopt where the reference has no opinion.
std::optional<Expected> reference(const Case& c, const uint64_t* operands);

// True if a result agrees with what is expected.
bool agrees(const Case& c, const Expected& expected, uint64_t got);

// A float type's value (NaN and infinities as such).
double number(ptx::Type type, uint64_t bits);

}  // namespace tw::isa_test
