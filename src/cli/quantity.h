// Numbers with units on the command line: 38KB, 1e9, 4ms. Errors say what was expected.
//
// Tested by tests/unit/cli/quantity_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "util/result.h"

namespace tw::cli {

// "38KB", "38k", "38912", "1.5 MB", "0": powers of 1024, as CUDA counts memory sizes on the chip.
// At most 2^40 bytes, and a whole number of them.
Result<uint64_t> parse_bytes(std::string_view text);
// "1024", "1e9", "1M" (10^6): a whole number up to 2^50.
Result<uint64_t> parse_count(std::string_view text);
// "4ms", "3.5us", "120ns", "2s", "0.004": more than 0.
Result<double> parse_seconds(std::string_view text);
// "32x32" or "128x64x8": at most three whole numbers, each below 2^31. One number stands alone.
struct Extents {
  uint32_t value[3] = {0, 0, 0};
  int count = 0;
};
Result<Extents> parse_extents(std::string_view text);

}  // namespace tw::cli
