#include "ptx/lexer.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace tw::ptx {
namespace {

enum : uint8_t { kWord = 1, kDigit = 2, kStart = 4, kHex = 8 };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> c{};
  for (int i = '0'; i <= '9'; ++i) c[i] = kWord | kDigit | kHex;
  for (int i = 'a'; i <= 'z'; ++i) c[i] = kWord | kStart;
  for (int i = 'A'; i <= 'Z'; ++i) c[i] = kWord | kStart;
  for (int i = 'a'; i <= 'f'; ++i) c[i] |= kHex;
  for (int i = 'A'; i <= 'F'; ++i) c[i] |= kHex;
  c['_'] = c['$'] = kWord | kStart;
  c['%'] = kStart;
  return c;
}
constexpr std::array<uint8_t, 256> kClasses = make_classes();

bool has(char c, uint8_t mask) { return (kClasses[static_cast<unsigned char>(c)] & mask) != 0; }

// A word that may contain "::", as directives and modifiers do.
const char* scan_qualified(const char* p, const char* end) {
  while (p < end) {
    if (has(*p, kWord)) {
      ++p;
    } else if (*p == ':' && p + 2 < end && p[1] == ':' && has(p[2], kWord)) {
      p += 3;
    } else {
      break;
    }
  }
  return p;
}

}  // namespace

Lexer::Lexer(std::string_view text)
    : at_(text.data()), end_(text.data() + text.size()), line_start_(text.data()) {}

Token Lexer::make(TokenKind kind, const char* begin, const char* end) const {
  return Token{kind, std::string_view(begin, static_cast<size_t>(end - begin)), line_,
               static_cast<uint32_t>(begin - line_start_) + 1};
}

Token Lexer::bad(const char* begin, const char* end, std::string_view problem) {
  problem_ = problem;
  return make(TokenKind::invalid, begin, end);
}

bool Lexer::skip_blank() {
  const char* p = at_;
  while (p < end_) {
    const char c = *p;
    if (c == '\n') {
      ++line_;
      line_start_ = ++p;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++p;
    } else if (c == '/' && p + 1 < end_ && p[1] == '/') {
      const void* newline = std::memchr(p, '\n', static_cast<size_t>(end_ - p));
      p = newline ? static_cast<const char*>(newline) : end_;
    } else if (c == '/' && p + 1 < end_ && p[1] == '*') {
      // The comment's own place is where an unterminated one is reported.
      const char* start = p;
      const uint32_t line = line_;
      const char* line_start = line_start_;
      p += 2;
      for (;;) {
        if (p + 1 >= end_) {
          at_ = start;
          line_ = line;
          line_start_ = line_start;
          return false;
        }
        if (*p == '*' && p[1] == '/') break;
        if (*p == '\n') {
          ++line_;
          line_start_ = p + 1;
        }
        ++p;
      }
      p += 2;
    } else {
      break;
    }
  }
  at_ = p;
  return true;
}

Token Lexer::next() {
  if (!skip_blank()) {
    Token t = bad(at_, at_ + 2, "comment without an end: add */");
    at_ = end_;
    return t;
  }
  if (at_ == end_) return make(TokenKind::end, at_, at_);
  const char* begin = at_;
  const char c = *begin;
  if (has(c, kStart)) {
    const char* p = begin + 1;
    while (p < end_ && has(*p, kWord)) ++p;
    at_ = p;
    const bool lone = c == '%' && p == begin + 1;  // the operator of constant expressions
    return make(lone ? TokenKind::punctuator : TokenKind::identifier, begin, p);
  }
  if (has(c, kDigit)) return number(begin);
  if (c == '.') {
    if (begin + 1 < end_ && has(begin[1], kDigit)) return number(begin);
    const char* p = scan_qualified(begin + 1, end_);
    if (p > begin + 1) {
      at_ = p;
      Token t = make(TokenKind::directive, begin, p);
      t.text.remove_prefix(1);
      return t;
    }
    at_ = begin + 1;
    return bad(begin, at_, "a '.' needs a name behind it");
  }
  if (c == '"') {
    const char* p = begin + 1;
    while (p < end_ && *p != '"' && *p != '\n')
      p += (*p == '\\' && p + 1 < end_ && p[1] != '\n') ? 2 : 1;
    if (p >= end_ || *p != '"') {
      at_ = end_;
      return bad(begin, begin + 1, "string without an end: add \" on the same line");
    }
    at_ = p + 1;
    Token t = make(TokenKind::string, begin, p);
    t.text.remove_prefix(1);
    return t;
  }
  if (c > ' ' && c < 127) {
    size_t length = 1;
    if (begin + 1 < end_) {
      const std::string_view two(begin, 2);
      for (std::string_view operation : {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"})
        if (two == operation) length = 2;
    }
    at_ = begin + length;
    return make(TokenKind::punctuator, begin, at_);
  }
  at_ = begin + 1;
  return bad(begin, at_, "character that no PTX text contains; is this a binary file?");
}

Token Lexer::number(const char* begin) {
  // 0x.., 0f.., 0d.. have no exponent sign; a decimal may ("1.5e-3").
  const bool prefixed = *begin == '0' && begin + 1 < end_ && has(begin[1], kStart) &&
                        begin[1] != 'e' && begin[1] != 'E';
  const char* p = begin;
  while (p < end_) {
    if (has(*p, kWord) || *p == '.') {
      ++p;
    } else if ((*p == '+' || *p == '-') && !prefixed && p > begin &&
               (p[-1] == 'e' || p[-1] == 'E')) {
      ++p;
    } else {
      break;
    }
  }
  at_ = p;
  return make(TokenKind::number, begin, p);
}

std::string_view Lexer::modifier() {
  if (at_ == end_ || *at_ != '.') return {};
  const char* begin = at_ + 1;
  const char* p = scan_qualified(begin, end_);
  if (p == begin) return {};
  at_ = p;
  return std::string_view(begin, static_cast<size_t>(p - begin));
}

bool Lexer::at_label_colon() {
  if (!skip_blank()) return false;
  return at_ < end_ && *at_ == ':' && !(at_ + 1 < end_ && at_[1] == ':');
}

bool Lexer::skip_braced() {
  for (;;) {
    if (!skip_blank() || at_ == end_) return false;
    const char c = *at_++;
    if (c == '}') return true;
    if (c == '"') {
      while (at_ < end_ && *at_ != '"' && *at_ != '\n') ++at_;
      if (at_ < end_ && *at_ == '"') ++at_;
      continue;
    }
    while (at_ < end_ && *at_ > '/' && *at_ != '}') ++at_;
  }
}

void Lexer::skip_line() {
  const void* newline = std::memchr(at_, '\n', static_cast<size_t>(end_ - at_));
  at_ = newline ? static_cast<const char*>(newline) : end_;
}

namespace {

bool parse_digits(std::string_view text, int base, uint64_t& bits) {
  if (!text.empty() && (text.back() == 'U' || text.back() == 'u')) text.remove_suffix(1);
  const char* end = text.data() + text.size();
  auto [p, error] = std::from_chars(text.data(), end, bits, base);
  return error == std::errc() && p == end && !text.empty();
}

}  // namespace

bool parse_literal(std::string_view text, Literal& literal) {
  literal = Literal{};
  if (text.size() > 2 && text[0] == '0') {
    const char c = text[1];
    const std::string_view digits = text.substr(2);
    if (c == 'x' || c == 'X') {
      literal.hexadecimal = true;
      return parse_digits(digits, 16, literal.bits);
    }
    if (c == 'b' || c == 'B') return parse_digits(digits, 2, literal.bits);
    if (c == 'f' || c == 'F' || c == 'd' || c == 'D') {
      const bool single = c == 'f' || c == 'F';
      literal.kind = single ? Literal::Kind::float32 : Literal::Kind::float64;
      if (digits.size() != (single ? 8u : 16u)) return false;
      for (char d : digits)
        if (!has(d, kHex)) return false;
      return parse_digits(digits, 16, literal.bits);
    }
  }
  if (text.find_first_of(".eE") != std::string_view::npos) {
    // from_chars reads a decimal exactly and without regard to the locale. Out of range is refused.
    literal.kind = Literal::Kind::float64;
    double value = 0;
    const char* end = text.data() + text.size();
    auto [p, error] = std::from_chars(text.data(), end, value, std::chars_format::general);
    literal.bits = std::bit_cast<uint64_t>(value);
    return error == std::errc() && p == end;
  }
  if (text.size() > 1 && text[0] == '0' && text != "0U" && text != "0u")
    return parse_digits(text.substr(1), 8, literal.bits);
  return parse_digits(text, 10, literal.bits);
}

}  // namespace tw::ptx
