// What the tests of src/ptx share: parsing of snippets, with the round trip always checked.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ptx/parser.h"
#include "ptx/printer.h"

namespace tw::ptx {

inline constexpr std::string_view kHead =
    ".version 9.0\n.target sm_90\n.address_size 64\n";  // three lines

// Parses kHead + text; a failure fails the test. print-then-parse must be the identity.
inline Module parsed(std::string_view text) {
  Result<Module> m = parse(std::string(kHead) + std::string(text), "t.ptx");
  EXPECT_TRUE(m.ok()) << m.error().to_string() << "\n" << text;
  if (!m.ok()) return {};
  const std::string printed = print(*m);
  Result<Module> again = parse(printed, "printed.ptx");
  EXPECT_TRUE(again.ok()) << again.error().to_string() << "\n" << printed;
  if (again.ok()) {
    EXPECT_EQ(*again, *m) << printed;
    EXPECT_EQ(print(*again), printed);
  }
  return std::move(*m);
}

// The module of one function "f" with this body.
inline Module body(std::string_view text) {
  return parsed(".func f()\n{\n" + std::string(text) + "\n}\n");
}

// "line:column: message" of the error; lines counted from the first one behind kHead.
inline std::string error_of(std::string_view text) {
  Result<Module> m = parse(std::string(kHead) + std::string(text), "t.ptx");
  if (m.ok()) return "no error";
  const Error& e = m.error();
  EXPECT_EQ(e.file, "t.ptx");
  return std::to_string(static_cast<int>(e.line) - 3) + ":" + std::to_string(e.column) + ": " +
         e.message;
}

// The instructions as printed, one a line.
inline std::string listing(const Module& m, const Function& f) {
  std::string text;
  for (const Instruction& i : f.instructions) text += print(m, f, i) + "\n";
  return text;
}

}  // namespace tw::ptx
