// See text_table.h.
#include "report/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tw::report {

namespace {

// Terminal columns, for text whose non-ASCII characters are one column wide.
std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string scaled(double value, double base, const char* const* units, int count) {
  int unit = 0;
  while (unit + 1 < count && std::fabs(value) >= base) {
    value /= base;
    ++unit;
  }
  if (std::fabs(value) >= base) return fmt::format("{:.3g} {}", value, units[unit]);
  return unit == 0 ? fmt::format("{:.0f} {}", value, units[0])
                   : fmt::format("{:.2f} {}", value, units[unit]);
}

}  // namespace

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(alignment_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::to_string(std::size_t indent) const {
  std::vector<std::size_t> widths(alignment_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], columns_of(row[i]));
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - columns_of(row[i]), ' ');
      if (i != 0) line += "  ";
      line += alignment_[i] == 'r' ? blanks + row[i] : row[i] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string binary_bytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  const bool kilo = bytes < 1024 * 1024;
  const double value = static_cast<double>(bytes) / (kilo ? 1024.0 : 1048576.0);
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text + (kilo ? " KB" : " MB");
}

std::string decimal_bytes(double bytes) {
  static const char* const kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
  return scaled(bytes, 1000, kUnits, 9);
}

std::string duration(double seconds) {
  if (seconds >= 1e6) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  if (seconds >= 1e-6) return fmt::format("{:.2f} us", seconds * 1e6);
  return fmt::format("{:.1f} ns", seconds * 1e9);
}

std::string percent(double fraction) {
  std::string text = fmt::format("{:.1f}", fraction * 100);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text + " %";
}

std::string three_digits(double value) {
  const double size = std::fabs(value);
  if (size == 0) return "0";
  if (size >= 1e7 || size < 1e-3) return fmt::format("{:.3g}", value);
  if (size >= 100) return fmt::format("{:.0f}", value);
  if (size >= 10) return fmt::format("{:.1f}", value);
  if (size >= 0.1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string short_count(double value) {
  if (value < 1e4) return fmt::format("{:.0f}", value);
  const char* units[] = {"", " k", " M", " G", " T"};
  size_t i = 0;
  while (value >= 1000 && i < 4) value /= 1000, ++i;
  return three_digits(value) + units[i];
}

}  // namespace tw::report
