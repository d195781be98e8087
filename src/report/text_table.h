// A table for the terminal: columns as wide as their widest cell, two blanks between, text to the
// left and numbers to the right, no trailing blanks. Every sub-command prints through it, so that
// all screens look alike.
//
// Tested by tests/unit/report/text_table_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tw::report {

class TextTable {
 public:
  // One character per column: 'l' or 'r'.
  explicit TextTable(std::string alignment) : alignment_(std::move(alignment)) {}

  // Missing cells are empty; cells beyond the columns are dropped.
  void add_row(std::vector<std::string> cells);
  // Each line ends with a newline and starts with `indent` blanks.
  std::string to_string(std::size_t indent = 2) const;

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

// 1536 -> "1.5 KB", 2048 -> "2 KB", 100 -> "100 B": powers of 1024, as CUDA counts shared memory.
std::string binary_bytes(uint64_t bytes);
// 8589934592 -> "8.59 GB": powers of 1000, as traffic and bandwidth are counted.
std::string decimal_bytes(double bytes);
// 0.0036 -> "3.60 ms".
std::string duration(double seconds);
// 0.625 -> "62.5 %", 1 -> "100 %".
std::string percent(double fraction);
// 3050417 -> "3.05 M": powers of 1000; as it is below 10 000.
std::string short_count(double value);
// Three significant digits without an exponent for everyday sizes: 26.8, 0.84, 1340.
std::string three_digits(double value);

}  // namespace tw::report
