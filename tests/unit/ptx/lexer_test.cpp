#include "ptx/lexer.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

namespace tw::ptx {
namespace {

std::vector<std::string> words(std::string_view text) {
  Lexer lexer(text);
  std::vector<std::string> result;
  for (Token t = lexer.next(); t.kind != TokenKind::end; t = lexer.next())
    result.emplace_back(t.text);
  return result;
}

TEST(Lexer, Tokens) {
  EXPECT_EQ(words("foo $L__BB0_1 %r1 _ .reg .L2::128B"),
            (std::vector<std::string>{"foo", "$L__BB0_1", "%r1", "_", "reg", "L2::128B"}));
  EXPECT_EQ(words("a<<2>=b!=c&&d|e"),
            (std::vector<std::string>{"a", "<<", "2", ">=", "b", "!=", "c", "&&", "d", "|", "e"}));
  EXPECT_EQ(words("0x1eU 1.5e-3 1e+4 .5 0f3F800000 0b101"),
            (std::vector<std::string>{"0x1eU", "1.5e-3", "1e+4", ".5", "0f3F800000", "0b101"}));
  EXPECT_EQ(words("0x1e+4"), (std::vector<std::string>{"0x1e", "+", "4"}));
}

TEST(Lexer, PlacesCountBytesFromOne) {
  Lexer lexer("a\n\tbc // x\n/* 1\n2 */ d");
  EXPECT_EQ(lexer.next().line, 1u);
  const Token bc = lexer.next();
  EXPECT_EQ(bc.line, 2u);
  EXPECT_EQ(bc.column, 2u);
  const Token d = lexer.next();
  EXPECT_EQ(d.line, 4u);
  EXPECT_EQ(d.column, 6u);
  EXPECT_EQ(lexer.next().kind, TokenKind::end);
  EXPECT_EQ(lexer.next().kind, TokenKind::end);
}

TEST(Lexer, Invalid) {
  for (std::string_view text :
       {"/* never ends", "\"never ends", "\"never\nends\"", "\x01", "\xc3\xa4", ".", "/*", "\""}) {
    Lexer lexer(text);
    EXPECT_EQ(lexer.next().kind, TokenKind::invalid) << text;
    EXPECT_FALSE(lexer.problem().empty());
  }
}

TEST(Lexer, StringsKeepEscapes) {
  Lexer lexer(R"("a\"b" c)");
  const Token t = lexer.next();
  EXPECT_EQ(t.kind, TokenKind::string);
  EXPECT_EQ(t.text, R"(a\"b)");
  EXPECT_EQ(lexer.next().text, "c");
}

TEST(Lexer, Modifiers) {
  Lexer lexer("cp.async.bulk.shared::cluster.L2::128B [x]");
  EXPECT_EQ(lexer.next().text, "cp");
  for (std::string_view m : {"async", "bulk", "shared::cluster", "L2::128B", ""})
    EXPECT_EQ(lexer.modifier(), m);
  EXPECT_TRUE(lexer.next().is('['));
}

TEST(Lexer, LabelColon) {
  Lexer one("a : b"), two("a::b"), none("a");
  one.next();
  two.next();
  none.next();
  EXPECT_TRUE(one.at_label_colon());
  EXPECT_FALSE(two.at_label_colon());
  EXPECT_FALSE(none.at_label_colon());
}

TEST(Lexer, SkipsBraces) {
  Lexer lexer(".section .x { .b8 1 // }\n /* } */ \"}\" } next");
  lexer.next();
  EXPECT_TRUE(lexer.skip_braced());
  const Token t = lexer.next();
  EXPECT_EQ(t.text, "next");
  EXPECT_EQ(t.line, 2u);
  EXPECT_FALSE(lexer.skip_braced());
}

Literal literal(std::string_view text) {
  Literal l;
  EXPECT_TRUE(parse_literal(text, l)) << text;
  return l;
}

TEST(Literals, Integers) {
  EXPECT_EQ(literal("42").bits, 42u);
  EXPECT_EQ(literal("0").bits, 0u);
  EXPECT_EQ(literal("0U").bits, 0u);
  EXPECT_EQ(literal("017").bits, 15u);
  EXPECT_EQ(literal("0x1F").bits, 31u);
  EXPECT_EQ(literal("0X1fU").bits, 31u);
  EXPECT_EQ(literal("0b101").bits, 5u);
  EXPECT_EQ(literal("0B11U").bits, 3u);
  EXPECT_EQ(literal("18446744073709551615").bits, ~0ull);
  EXPECT_TRUE(literal("0xFF").hexadecimal);
}

TEST(Literals, FloatingPoint) {
  EXPECT_EQ(literal("0f3F800000").kind, Literal::Kind::float32);
  EXPECT_EQ(literal("0f3F800000").bits, 0x3f800000u);
  EXPECT_EQ(literal("0D3ff0000000000000").kind, Literal::Kind::float64);
  EXPECT_EQ(literal("1.5").bits, std::bit_cast<uint64_t>(1.5));
  EXPECT_EQ(literal(".25").bits, std::bit_cast<uint64_t>(0.25));
  EXPECT_EQ(literal("1e-3").bits, std::bit_cast<uint64_t>(1e-3));
  EXPECT_EQ(literal("2.").bits, std::bit_cast<uint64_t>(2.0));
}

TEST(Literals, Malformed) {
  Literal l;
  for (std::string_view text :
       {"18446744073709551616", "0x", "0x1g", "089", "0b2", "0f3F8000", "0d3ff0", "12a", "1.5.2",
        "1e", "1e999", "0fZZZZZZZZ", "0x10000000000000000", "0UU", "0f3F80000U"})
    EXPECT_FALSE(parse_literal(text, l)) << text;
}

}  // namespace
}  // namespace tw::ptx
