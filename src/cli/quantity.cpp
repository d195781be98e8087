// See quantity.h. std::from_chars: no locale, no exceptions.
#include "cli/quantity.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace tw::cli {
namespace {

struct Split {
  double number = 0;
  std::string unit;  // lower case, without blanks
};

Error refuse(std::string_view text, const char* expected) {
  return Error{fmt::format("\"{}\" is not {}", text, expected), "", 0, 0};
}

bool split(std::string_view text, Split& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.number);
  if (error != std::errc() || !std::isfinite(out.number) || out.number < 0) return false;
  for (const char* c = end; c != text.data() + text.size(); ++c)
    if (*c != ' ') out.unit += static_cast<char>(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
  return true;
}

bool whole(double value) { return value == std::floor(value); }

}  // namespace

Result<uint64_t> parse_bytes(std::string_view text) {
  constexpr const char* kExpected = "a size such as 48KB or 3072";
  Split s;
  if (!split(text, s)) return refuse(text, kExpected);
  double scale = 0;
  if (s.unit.empty() || s.unit == "b") scale = 1;
  if (s.unit == "k" || s.unit == "kb" || s.unit == "kib") scale = 1024;
  if (s.unit == "m" || s.unit == "mb" || s.unit == "mib") scale = 1048576;
  if (s.unit == "g" || s.unit == "gb" || s.unit == "gib") scale = 1073741824;
  const double bytes = s.number * scale;
  if (scale == 0 || !whole(bytes) || bytes > 1099511627776.0) return refuse(text, kExpected);
  return static_cast<uint64_t>(bytes);
}

Result<uint64_t> parse_count(std::string_view text) {
  constexpr const char* kExpected = "a whole number such as 1024 or 1e9";
  Split s;
  if (!split(text, s)) return refuse(text, kExpected);
  double scale = 0;
  if (s.unit.empty()) scale = 1;
  if (s.unit == "k") scale = 1e3;
  if (s.unit == "m") scale = 1e6;
  if (s.unit == "g") scale = 1e9;
  const double value = s.number * scale;
  if (scale == 0 || !whole(value) || value > 1125899906842624.0) return refuse(text, kExpected);
  return static_cast<uint64_t>(value);
}

Result<double> parse_seconds(std::string_view text) {
  constexpr const char* kExpected = "a time such as 4ms, 3.5us or 0.004 (seconds)";
  Split s;
  if (!split(text, s)) return refuse(text, kExpected);
  double scale = 0;
  if (s.unit.empty() || s.unit == "s") scale = 1;
  if (s.unit == "ms") scale = 1e-3;
  if (s.unit == "us") scale = 1e-6;
  if (s.unit == "ns") scale = 1e-9;
  if (scale == 0 || !(s.number * scale > 0)) return refuse(text, kExpected);
  return s.number * scale;
}

Result<Extents> parse_extents(std::string_view text) {
  constexpr const char* kExpected = "a shape such as 32x32";
  Extents extents;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    if (extents.count == 3) return refuse(text, kExpected);
    uint32_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value > 0x7fffffffu) return refuse(text, kExpected);
    extents.value[extents.count++] = value;
    if (next == end) return extents;
    if (*next != 'x' && *next != 'X') return refuse(text, kExpected);
    at = next + 1;
  }
}

}  // namespace tw::cli
