// PTX text -> Module.
//
// What is accepted: what nvcc 12 and 13, clang and Triton write, and what people write in inline
// assembly, of https://docs.nvidia.com/cuda/parallel-thread-execution/ :
//
//   module     .version .target .address_size first; .file; .section (skipped, but for .debug_str);
//              .alias; .pragma; variables and functions with .extern .visible .weak .common
//   variables  .global .const .shared with .align .attribute(.managed) .v2 .v4, arrays of several
//              dimensions, an open first extent; initialisers with nested braces, numbers, constant
//              expressions, symbols, symbol+4, generic(symbol), byte masks 0xFF00(symbol)
//   functions  .entry and .func, declared and defined, results and parameters in .param (.reg in
//              old texts, too), .ptr, .maxntid .reqntid .minnctapersm .maxnreg .noreturn
//              .reqnctapercluster .explicitcluster .maxclusterrank .pragma
//   bodies     nested { } with names of their own, .reg (ranges %r<N>, .v2 .v4 with .x .y .z .w),
//              .param .local .shared, labels, .branchtargets, .callprototype, .loc with
//              function_name and inlined_at, guards on any instruction
//   operands   see Operand in module.h; integers in all four bases with U, 0f and 0d, decimal
//              floating point, constant expressions, %r|%p, !%p, {a, _}, [a+-4], [map, {x, y}]
//
// Refused, with a message that says what to write instead: registers and .global at the wrong
// level, banks of .const, .calltargets, .tex variables, initialised samplers. Nothing here knows
// which instructions exist (src/isa does), but for the three whose operands are names of another
// kind: bra, brx, call. Where the texts differ from the manual: without .address_size 64 bits are
// assumed.
//
// One pass, no back-tracking, recursion only in brackets and bounded; see parser_state.h for the
// parts and the limits. What can only be known at the end is filled in then: labels when their
// scope ends, names of inlined functions when .debug_str has been read.
//
// Tested by tests/unit/ptx and fuzz/ptx_parse.cpp.
#include "ptx/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/parser_state.h"

namespace tw::ptx {

Parser::Parser(std::string_view text, std::string name) : text_(text), lexer_(text) {
  module_.name = std::move(name);
}

// --- tokens and errors

bool Parser::accept(char c) {
  if (!token_.is(c)) return false;
  advance();
  return true;
}

bool Parser::accept_directive(std::string_view name) {
  if (!is_directive(name)) return false;
  advance();
  return true;
}

std::string Parser::shown(const Token& token) const {
  if (token.kind == TokenKind::end) return "the end of the text";
  std::string text(token.text.substr(0, 40));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
  if (token.text.size() > 40) text += "...";
  if (token.kind == TokenKind::directive) text.insert(0, 1, '.');
  return fmt::format("'{}'", text);
}

bool Parser::fail(uint32_t line, uint32_t column, std::string message) {
  if (failed_) return false;
  failed_ = true;
  constexpr size_t kHead = 200, kTail = 100;  // names of a hostile text may be long
  if (message.size() > kHead + kTail) message.replace(kHead, message.size() - kHead - kTail, "...");
  error_.message = std::move(message);
  error_.file = module_.name;
  error_.line = line;
  error_.column = column;
  return false;
}

bool Parser::fail(const Token& at, std::string message) {
  return fail(at.line, at.column, std::move(message));
}

bool Parser::unexpected(std::string_view wanted) {
  if (token_.kind == TokenKind::invalid)
    return fail(token_, fmt::format("{}: {}", shown(token_), lexer_.problem()));
  return fail(token_, fmt::format("{} where {} was expected", shown(token_), wanted));
}

bool Parser::expect(char c, std::string_view why) {
  if (accept(c)) return true;
  return unexpected(fmt::format("'{}' {}", c, why));
}

bool Parser::expect_name(std::string_view what, std::string_view& name) {
  if (token_.kind != TokenKind::identifier) return unexpected(what);
  name = token_.text;
  advance();
  return true;
}

bool Parser::expect_unsigned(std::string_view what, uint64_t limit, uint64_t& value) {
  Literal literal;
  if (token_.kind != TokenKind::number || !parse_literal(token_.text, literal) ||
      literal.kind != Literal::Kind::integer)
    return unexpected(what);
  if (literal.bits > limit)
    return fail(token_, fmt::format("{} is more than {}", token_.text, limit));
  value = literal.bits;
  advance();
  return true;
}

bool Parser::expect_unsigned(std::string_view what, uint32_t& value) {
  uint64_t wide = 0;
  if (!expect_unsigned(what, 0xffffffffu, wide)) return false;
  value = static_cast<uint32_t>(wide);
  return true;
}

// --- module level

Result<Module> Parser::run() {
  advance();
  if (!module_header()) return std::move(error_);
  while (token_.kind != TokenKind::end)
    if (!module_statement()) return std::move(error_);
  if (!finish_locations()) return std::move(error_);
  return std::move(module_);
}

bool Parser::address_size() {
  advance();
  const Token at = token_;
  if (!expect_unsigned("64 or 32", module_.address_bits)) return false;
  if (module_.address_bits != 64 && module_.address_bits != 32)
    return fail(at, "an address has 64 or 32 bits");
  return true;
}

// .version 9.0  .target sm_90a [, debug ...]  [.address_size 64]
bool Parser::module_header() {
  if (!is_directive("version")) return unexpected(".version, the first line of PTX,");
  advance();
  const std::string_view version = token_.text;
  const size_t dot = version.find('.');
  auto digits = [](std::string_view s) {
    return !s.empty() && s.size() <= 3 &&
           s.find_first_not_of("0123456789") == std::string_view::npos;
  };
  auto number = [](std::string_view s) {
    uint32_t value = 0;
    for (char c : s) value = value * 10 + static_cast<uint32_t>(c - '0');
    return value;
  };
  if (token_.kind != TokenKind::number || dot == std::string_view::npos ||
      !digits(version.substr(0, dot)) || !digits(version.substr(dot + 1)) ||
      version.size() - dot != 2)
    return unexpected("a version such as 9.0");
  module_.version = number(version.substr(0, dot)) * 10 + number(version.substr(dot + 1));
  advance();
  if (!is_directive("target")) return unexpected(".target");
  advance();
  bool known = false;
  do {
    const Token at = token_;
    std::string_view target;
    if (!expect_name("a target such as sm_90", target)) return false;
    if (target.substr(0, 3) == "sm_" || target.substr(0, 8) == "compute_") {
      const std::string_view arch = target.substr(target.find('_') + 1);
      const size_t end = std::min(arch.find_first_not_of("0123456789"), arch.size());
      const std::string_view suffix = arch.substr(end);
      if (!digits(arch.substr(0, end)) || (!suffix.empty() && suffix != "a" && suffix != "f"))
        return fail(at, fmt::format("'{}' is no target: write sm_90, sm_90a or the like", target));
      if (!known) {
        module_.target = number(arch.substr(0, end));
        module_.target_suffix = suffix;
      }
      known = true;
    } else if (target == "debug") {
      module_.debug = true;
    } else if (target.substr(0, 8) != "texmode_" && target != "map_f64_to_f32") {
      return fail(at, fmt::format("unknown target option '{}'", target));
    }
  } while (accept(','));
  if (!known) return unexpected("a target such as sm_90");
  if (is_directive("address_size")) return address_size();
  return true;
}

bool Parser::linkage(Linkage& link) {
  if (accept_directive("visible")) {
    link = Linkage::visible;
  } else if (accept_directive("extern")) {
    link = Linkage::external;
  } else if (accept_directive("weak")) {
    link = Linkage::weak;
  } else if (accept_directive("common")) {
    link = Linkage::common;
  } else {
    return false;
  }
  return true;
}

bool Parser::module_statement() {
  if (accept(';')) return true;
  Linkage link = Linkage::internal;
  if (linkage(link) && !is_directive("entry") && !is_directive("func") && !is_directive("global") &&
      !is_directive("const") && !is_directive("shared"))
    return unexpected(".entry, .func, .global, .const or .shared");
  if (is_directive("entry") || is_directive("func")) return function(link);
  if (is_directive("global") || is_directive("const") || is_directive("shared"))
    return module_variables(link);
  if (is_directive("file")) return file_directive();
  if (is_directive("section")) return section();
  if (is_directive("alias")) return alias();
  if (is_directive("loc")) {  // means nothing outside a body
    lexer_.skip_line();
    advance();
    return true;
  }
  if (accept_directive("pragma")) {  // hints to ptxas
    do {
      if (token_.kind != TokenKind::string) return unexpected("a string after .pragma");
      advance();
    } while (accept(','));
    return expect(';', "after .pragma");
  }
  if (is_directive("address_size")) return address_size();
  if (token_.is('@')) {  // @@DWARF of PTX 2 and older
    lexer_.skip_line();
    advance();
    return true;
  }
  if (is_directive("reg"))
    return fail(token_, "registers at module level are not supported: declare them in a body");
  return unexpected("a function, a variable or a directive");
}

bool Parser::alias() {
  advance();
  std::string_view name, target;
  const Token at = token_;
  if (!expect_name("the name of the alias", name) || !expect(',', "after the name of the alias") ||
      !expect_name("the function it stands for", target))
    return false;
  const SymbolRef& symbol = facts_[id(name)].module_symbol;
  if (symbol.index == kNone || symbol.kind != SymbolRef::Kind::function)
    return fail(
        at,
        fmt::format("'{}' is not a declared function: declare it with .func before .alias", name));
  module_.aliases.emplace_back(name, target);
  return expect(';', "after .alias");
}

// .section .debug_info { ... }
bool Parser::section() {
  const Token at = token_;
  advance();
  if (token_.kind != TokenKind::directive && token_.kind != TokenKind::identifier)
    return unexpected("the name of a section");
  const bool strings = is_directive("debug_str");
  advance();
  while (accept(',')) {  // flags of old texts
    if (token_.kind == TokenKind::end || token_.kind == TokenKind::invalid)
      return unexpected("a flag of the section");
    advance();
  }
  if (!token_.is('{')) return unexpected("'{' before the data of a section");
  if (strings) {
    advance();
    return debug_strings();
  }
  if (!lexer_.skip_braced()) return fail(at, "section without an end: add '}'");
  advance();
  return true;
}

Result<Module> parse(std::string_view text, std::string name) {
  if (text.size() >= 0xffffffffu)
    return Error{"PTX text of 4 GiB or more: split it", std::move(name)};
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);  // embedded texts end with it
  return Parser(text, std::move(name)).run();
}

}  // namespace tw::ptx
