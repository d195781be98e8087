// Tokens of PTX text.
//
// One pass over the text, one token of look-ahead (held by the parser), tokens are views into the
// text: nothing is copied. An opcode with its modifiers ("ld.global.L2::128B.f32") is read piece by
// piece through `modifier()`, because only the parser knows that it stands where an opcode may.
//
// Limits: columns count bytes (a tab is one).
// Tested by tests/unit/ptx/lexer_test.cpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace tw::ptx {

enum class TokenKind : uint8_t {
  end,
  identifier,  // foo, $L__BB0_1, %r1, _
  directive,   // .reg, .b32, .L2::128B: text without the dot
  number,      // 42, 0xffU, 1.5e-3, 0f3F800000: decoded by parse_literal
  string,      // text without the quotes, escapes left as they are
  punctuator,  // one character; << >> <= >= == != && || as two
  invalid,     // text is what is wrong, Lexer::problem() says why
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  uint32_t line = 0;
  uint32_t column = 0;

  bool is(char c) const {
    return kind == TokenKind::punctuator && text.size() == 1 && text[0] == c;
  }
  bool is(std::string_view s) const { return kind == TokenKind::punctuator && text == s; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text);

  Token next();

  // Reads ".name" standing directly behind the last token; the view is "name". Empty: none there.
  std::string_view modifier();
  // Is the next character (after white space and comments) a single ':', that is, not "::"?
  bool at_label_colon();

  // What is wrong with the last invalid token.
  std::string_view problem() const { return problem_; }

  // Skips to just behind the next '}' that is neither in a comment nor in a string, starting after
  // the last token. False: there is none.
  bool skip_braced();
  // Skips the rest of the line.
  void skip_line();

 private:
  bool skip_blank();  // false: unterminated comment
  Token make(TokenKind kind, const char* begin, const char* end) const;
  Token bad(const char* begin, const char* end, std::string_view problem);
  Token number(const char* begin);

  const char* at_;
  const char* end_;
  const char* line_start_;
  uint32_t line_ = 1;
  std::string_view problem_;
};

struct Literal {
  enum class Kind : uint8_t { integer, float32, float64 };
  Kind kind = Kind::integer;
  uint64_t bits = 0;
  bool hexadecimal = false;  // 0x form: masks of initialisers, 0xFF00(sym)
};

// Decodes a number token. False: malformed or wider than 64 bits.
bool parse_literal(std::string_view text, Literal& literal);

}  // namespace tw::ptx
