// Limits of numbers on the command line. CLI11's own say them with up to 309 digits.
//
// Tested by tests/unit/cli/model_test.cpp, tests/e2e/refusals.sh.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <string>

namespace tw::cli {

namespace detail {
inline bool read_number(const std::string& text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}
}  // namespace detail

inline constexpr double kNoNumberLimit = std::numeric_limits<double>::max();

// From `low` to `high`, both included; no infinity, no NaN. `what`: "seconds".
inline CLI::Validator number_from(double low, double high = kNoNumberLimit,
                                  const std::string& what = "number") {
  return CLI::Validator(
      [low, high, what](const std::string& text) {
        double value = 0;
        if (detail::read_number(text, value) && value >= low && value <= high) return std::string();
        return high == kNoNumberLimit
                   ? fmt::format("{} is no {} from {:g} up", text, what, low)
                   : fmt::format("{} is no {} from {:g} to {:g}", text, what, low, high);
      },
      high == kNoNumberLimit ? fmt::format("{:g} or more", low)
                             : fmt::format("{:g} to {:g}", low, high));
}

inline CLI::Validator positive_number() {
  return CLI::Validator(
      [](const std::string& text) {
        double value = 0;
        if (detail::read_number(text, value) && value > 0 && value <= kNoNumberLimit)
          return std::string();
        return fmt::format("{} is no number above 0", text);
      },
      "above 0");
}

}  // namespace tw::cli
