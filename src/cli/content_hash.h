// A 128-bit hash of bytes, for the cache of compiled programs: quick (several GB/s), not for
// secrets. Two lanes of multiply-and-fold over 16-byte blocks.
//
// Tested by tests/unit/cli/nvcc_test.cpp and tests/e2e/refusals.sh (the cache).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tw::cli {

std::string content_hash(std::string_view bytes);  // 32 hexadecimal digits

}  // namespace tw::cli
