// Operands and constant expressions. Recursion is bounded by kMaxOperandDepth and
// kMaxExpressionDepth.
#include <fmt/format.h>

#include <bit>

#include "ptx/parser_state.h"

namespace tw::ptx {
namespace {

// Binding strength of a binary operator in a constant expression, as in C; 0: none.
int strength(const Token& token) {
  if (token.kind != TokenKind::punctuator) return 0;
  const std::string_view t = token.text;
  if (t.size() == 1) switch (t[0]) {
      case '*':
      case '/':
      case '%': return 10;
      case '+':
      case '-': return 9;
      case '<':
      case '>': return 7;
      case '&': return 5;
      case '^': return 4;
      case '|': return 3;
      default: return 0;
    }
  if (t == "<<" || t == ">>") return 8;
  if (t == "<=" || t == ">=") return 7;
  if (t == "==" || t == "!=") return 6;
  if (t == "&&") return 2;
  return t == "||" ? 1 : 0;
}

bool is_selector(std::string_view text) {  // r.b0, r.h1 of the video instructions
  if (text.size() < 2 || text.size() > 5 || (text[0] != 'b' && text[0] != 'h')) return false;
  for (char c : text.substr(1))
    if (c < '0' || c > '7') return false;
  return true;
}

}  // namespace

bool Parser::operand(Operand& result, uint32_t nesting) {
  if (nesting > kMaxOperandDepth)
    return fail(token_, "brackets nested too deeply in an operand: take them apart");
  switch (token_.kind) {
    case TokenKind::identifier: {
      if (!operand_name(result)) return false;
      if (!token_.is('|')) return true;
      if (result.kind != Operand::Kind::reg && result.kind != Operand::Kind::sink)
        return unexpected("',' or ';'");
      advance();
      Operand pair;
      pair.kind = Operand::Kind::pair;
      pair.elements.resize(2);
      pair.elements[0] = std::move(result);
      Operand& second = pair.elements[1];
      if (token_.kind != TokenKind::identifier) return unexpected("a register after '|'");
      const Token name = token_;
      if (!operand_name(second)) return false;
      if (second.kind != Operand::Kind::reg && second.kind != Operand::Kind::sink)
        return fail(name,
                    fmt::format("'{}' is not a register: '|' joins two registers", name.text));
      result = std::move(pair);
      return true;
    }
    case TokenKind::punctuator:
      if (token_.is('{')) return vector_operand(result, nesting + 1);
      if (token_.is('[')) return address_operand(result, nesting + 1);
      if (token_.is('!')) {  // before a name: a negated predicate; before a number: the operator
        Lexer ahead = lexer_;
        if (ahead.next().kind != TokenKind::identifier) break;
        const Token mark = token_;
        advance();
        if (!operand_name(result)) return false;
        if (result.kind != Operand::Kind::reg)
          return fail(mark, "'!' needs a predicate register behind it");
        result.negated = true;
        return true;
      }
      if (token_.is('-')) {  // before a register: an operand of vmad
        Lexer ahead = lexer_;
        if (ahead.next().kind != TokenKind::identifier) break;
        const Token mark = token_;
        advance();
        if (!operand_name(result)) return false;
        if (result.kind != Operand::Kind::reg) return fail(mark, "'-' needs a register behind it");
        result.minus = true;
        return true;
      }
      break;
    default: break;
  }
  Constant value;
  if (!constant(value)) return false;
  result.kind = value.kind == Literal::Kind::integer   ? Operand::Kind::integer
                : value.kind == Literal::Kind::float32 ? Operand::Kind::float32
                                                       : Operand::Kind::float64;
  result.bits = value.bits;
  return true;
}

// A register, special register, variable or function, with what may follow it: .x, +4.
bool Parser::operand_name(Operand& result) {
  const Token name = token_;
  advance();
  if (name.text == "_") {
    result.kind = Operand::Kind::sink;
    return true;
  }
  const uint32_t n = id(name.text);
  Local* meaning = local(n);
  if (meaning == nullptr) {
    NameFacts& f = facts_[n];
    if (f.special) {
      result.kind = Operand::Kind::special;
      result.name = name.text;
      if (token_.kind == TokenKind::directive) {
        if (token_.text.size() != 1 ||
            std::string_view("xyzw").find(token_.text[0]) == std::string_view::npos)
          return unexpected(".x, .y, .z or .w");
        result.name += '.';
        result.name += token_.text;
        advance();
      }
      return true;
    }
    if (f.module_symbol.index == kNone) {
      return fail(name,
                  name.text[0] == '%'
                      ? fmt::format("register '{}' is not declared: add a .reg for it", name.text)
                      : fmt::format("'{}' is not declared: declare it before its use", name.text));
    }
    f.module_use_in = function_number_;
    result.kind = Operand::Kind::symbol;
    result.symbol = f.module_symbol;
  } else {
    switch (meaning->kind) {
      case Local::Kind::declared: {
        const uint32_t number = new_register(n, meaning->type, meaning->depth);
        meaning = &facts_[n].local;  // new_register may have moved the facts
        meaning->kind = Local::Kind::reg;
        meaning->index = number;
        [[fallthrough]];
      }
      case Local::Kind::reg:
        result.kind = Operand::Kind::reg;
        result.reg = meaning->index;
        if (token_.kind == TokenKind::directive) {
          if (!is_selector(token_.text)) return unexpected("',' or ';'");
          result.name = token_.text;
          advance();
        }
        return true;
      case Local::Kind::vector: {
        VectorRegister& vector = vectors_[meaning->index];
        const uint32_t at_depth = meaning->depth;
        if (token_.kind == TokenKind::directive) {
          const size_t i = token_.text.size() == 1 ? std::string_view("xyzw").find(token_.text[0])
                                                   : std::string_view::npos;
          const size_t color = token_.text.size() == 1
                                   ? std::string_view("rgba").find(token_.text[0])
                                   : std::string_view::npos;
          const size_t which = i != std::string_view::npos ? i : color;
          if (which >= vector.width)
            return fail(token_, fmt::format("'{}' has no component '.{}'", name.text, token_.text));
          advance();
          result.kind = Operand::Kind::reg;
          result.reg = component(vector, n, at_depth, static_cast<uint32_t>(which));
          return true;
        }
        result.kind = Operand::Kind::vector;
        result.elements.resize(vector.width);
        for (uint32_t i = 0; i < vector.width; ++i) {
          result.elements[i].kind = Operand::Kind::reg;
          result.elements[i].reg = component(vector, n, at_depth, i);
        }
        return true;
      }
      case Local::Kind::variable:
      case Local::Kind::parameter:
      case Local::Kind::return_parameter:
        result.kind = Operand::Kind::symbol;
        result.symbol.kind =
            meaning->kind == Local::Kind::variable    ? SymbolRef::Kind::function_variable
            : meaning->kind == Local::Kind::parameter ? SymbolRef::Kind::parameter
                                                      : SymbolRef::Kind::return_parameter;
        result.symbol.index = meaning->index;
        break;
      case Local::Kind::none: break;
    }
  }
  return addend(result.offset);
}

// Any number of "+ constant" and "- constant".
bool Parser::addend(int64_t& offset) {
  uint64_t sum = static_cast<uint64_t>(offset);
  while (token_.is('+') || token_.is('-')) {
    const bool minus = token_.is('-');
    advance();
    const Token at = token_;
    Constant value;
    if (!expression(value, 10, 0)) return false;  // products bind, sums are this loop
    if (value.kind != Literal::Kind::integer)
      return fail(at, "an offset is an integer: write it in bytes");
    sum += minus ? 0 - value.bits : value.bits;
  }
  offset = static_cast<int64_t>(sum);
  return true;
}

bool Parser::vector_operand(Operand& result, uint32_t nesting) {
  advance();
  result.kind = Operand::Kind::vector;
  for (;;) {
    Operand element;
    if (!operand(element, nesting)) return false;
    result.elements.push_back(std::move(element));
    if (accept('}')) return true;
    if (!expect(',', "between the elements of a vector, or '}' after the last")) return false;
  }
}

bool Parser::address_operand(Operand& result, uint32_t nesting) {
  advance();
  result.kind = Operand::Kind::address;
  const Token at = token_;
  Operand base;
  if (!operand(base, nesting)) return false;
  switch (base.kind) {
    case Operand::Kind::reg:
      if (!addend(result.offset)) return false;
      break;
    case Operand::Kind::symbol:
      result.offset = base.offset;
      base.offset = 0;
      break;
    case Operand::Kind::integer: break;
    default: return fail(at, "an address begins with a register, a variable or an integer");
  }
  result.elements.push_back(std::move(base));
  for (;;) {
    if (accept(']')) return true;
    if (!expect(',', "between the parts of an address, or ']' after the last")) return false;
    Operand part;
    if (!operand(part, nesting)) return false;
    result.elements.push_back(std::move(part));
  }
}

// ( a, b ) of a call; the '(' is the current token.
bool Parser::list_operand(Operand& result) {
  advance();
  result.kind = Operand::Kind::list;
  if (accept(')')) return true;
  for (;;) {
    Operand element;
    if (!operand(element, 1)) return false;
    result.elements.push_back(std::move(element));
    if (accept(')')) return true;
    if (!expect(',', "between arguments, or ')' after the last")) return false;
  }
}

bool Parser::constant(Constant& value) { return expression(value, 1, 0); }

bool Parser::expression(Constant& value, int precedence, uint32_t nesting) {
  if (nesting > kMaxExpressionDepth)
    return fail(token_, "constant expression nested too deeply: compute it");
  if (!unary(value, nesting)) return false;
  for (;;) {
    const int binds = strength(token_);
    if (binds < precedence || binds == 0) break;
    const Token operation = token_;
    advance();
    Constant right;
    if (!expression(right, binds + 1, nesting + 1)) return false;
    if (!binary(operation, value, right)) return false;
  }
  if (precedence == 1 && token_.is('?')) {
    const Token mark = token_;
    advance();
    Constant yes, no;
    if (!expression(yes, 1, nesting + 1) || !expect(':', "of the conditional expression") ||
        !expression(no, 1, nesting + 1))
      return false;
    if (value.kind != Literal::Kind::integer) return fail(mark, "a condition is an integer");
    value = value.bits != 0 ? yes : no;
  }
  return true;
}

bool Parser::unary(Constant& value, uint32_t nesting) {
  if (nesting > kMaxExpressionDepth)
    return fail(token_, "constant expression nested too deeply: compute it");
  const Token at = token_;
  if (token_.kind == TokenKind::number) {
    Literal literal;
    if (!parse_literal(token_.text, literal))
      return fail(token_, fmt::format("malformed number '{}': integers have up to 64 bits, 0f "
                                      "needs 8 and 0d 16 hexadecimal digits",
                                      token_.text));
    value.kind = literal.kind;
    value.bits = literal.bits;
    advance();
    return true;
  }
  if (token_.is('(')) {
    advance();
    if (is_directive("s64") || is_directive("u64")) {  // a cast: both are 64 bits here
      advance();
      return expect(')', "after the type of a cast") && unary(value, nesting + 1);
    }
    return expression(value, 1, nesting + 1) && expect(')', "after the expression");
  }
  if (token_.is('+') || token_.is('-') || token_.is('~') || token_.is('!')) {
    advance();
    if (!unary(value, nesting + 1)) return false;
    const char c = at.text[0];
    if (c == '+') return true;
    if (value.kind == Literal::Kind::float32 && c == '-') {
      value.bits ^= 0x80000000u;
    } else if (value.kind == Literal::Kind::float64 && c == '-') {
      value.bits ^= 0x8000000000000000u;
    } else if (value.kind != Literal::Kind::integer) {
      return fail(at, fmt::format("'{}' needs an integer", at.text));
    } else {
      value.bits = c == '-' ? 0 - value.bits : c == '~' ? ~value.bits : value.bits == 0 ? 1 : 0;
    }
    return true;
  }
  return unexpected("an operand");
}

bool Parser::binary(const Token& operation, Constant& left, const Constant& right) {
  if (left.kind != Literal::Kind::integer || right.kind != Literal::Kind::integer)
    return fail(operation,
                fmt::format("'{}' needs integers: write a floating-point constant as one number",
                            operation.text));
  // Wraps at 64 bits; comparison, division, remainder and shift right are signed.
  const uint64_t a = left.bits, b = right.bits;
  const int64_t x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  const std::string_view t = operation.text;
  uint64_t r = 0;
  if (t == "/" || t == "%") {
    if (b == 0) return fail(operation, "division by zero");
    const bool remainder = t == "%";
    if (y == -1) {
      r = remainder ? 0 : 0 - a;  // also INT64_MIN / -1
    } else {
      r = static_cast<uint64_t>(remainder ? x % y : x / y);
    }
  } else if (t == "<<" || t == ">>") {
    if (b > 63) return fail(operation, "shift by more than 63");
    r = t == "<<" ? a << b : static_cast<uint64_t>(x >> b);
  } else {
    r = t == "*"    ? a * b
        : t == "+"  ? a + b
        : t == "-"  ? a - b
        : t == "&"  ? a & b
        : t == "^"  ? a ^ b
        : t == "|"  ? a | b
        : t == "<"  ? x < y
        : t == ">"  ? x > y
        : t == "<=" ? x <= y
        : t == ">=" ? x >= y
        : t == "==" ? a == b
        : t == "!=" ? a != b
        : t == "&&" ? (a != 0 && b != 0)
                    : (a != 0 || b != 0);
  }
  left.bits = r;
  return true;
}

}  // namespace tw::ptx
