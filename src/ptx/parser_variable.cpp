// Variables, parameters and initialisers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ptx/parser_state.h"

namespace tw::ptx {

struct Parser::Declaration {
  Space space = Space::global;
  Type type = Type::none;
  uint32_t vector = 1;
  uint32_t alignment = 0;  // 0: not given
  bool managed = false;
};

// Attributes and type, after the state space and up to the name.
bool Parser::declaration(Declaration& d, bool parameter) {
  bool pointer = false;  // behind .ptr: .align and the space speak of what is pointed at
  for (;;) {
    if (token_.kind != TokenKind::directive) break;
    const Token at = token_;
    if (is_directive("align")) {
      advance();
      uint64_t value = 0;
      const Token number = token_;
      if (!expect_unsigned("an alignment", kMaxAlignment, value)) return false;
      if (!std::has_single_bit(value)) return fail(number, "an alignment is a power of two");
      if (!pointer) d.alignment = static_cast<uint32_t>(value);
    } else if (is_directive("attribute")) {
      advance();
      if (!expect('(', "after .attribute")) return false;
      do {
        if (accept_directive("managed")) {
          d.managed = true;
        } else if (accept_directive(
                       "unified")) {  // .unified(uuid1, uuid2): where it lives, not what it is
          uint64_t uuid = 0;
          if (!expect('(', "after .unified") || !expect_unsigned("a number", ~0ull, uuid) ||
              !expect(',', "between the numbers") || !expect_unsigned("a number", ~0ull, uuid) ||
              !expect(')', "after the numbers"))
            return false;
        } else {
          return unexpected(".managed or .unified");
        }
      } while (accept(','));
      if (!expect(')', "after the attributes")) return false;
    } else if (is_directive("v2") || is_directive("v4")) {
      d.vector = static_cast<uint32_t>(token_.text[1] - '0');
      advance();
    } else if (parameter && is_directive("ptr")) {
      pointer = true;
      advance();
    } else if (pointer &&
               (is_directive("global") || is_directive("shared") || is_directive("const") ||
                is_directive("local") || is_directive("generic"))) {
      advance();
    } else {
      const Type type = type_from_name(token_.text);
      if (type == Type::none) return unexpected("a type such as .b32");
      if (d.type != Type::none) return fail(at, "a second type: a variable has one");
      if (type == Type::pred && d.space != Space::reg)
        return fail(at, ".pred exists in registers only: use another type");
      d.type = type;
      advance();
    }
  }
  if (d.type == Type::none) return unexpected("a type such as .b32");
  if (d.alignment == 0) d.alignment = type_bytes(d.type) * d.vector;
  return true;
}

// name [n][m]...; the size is complete unless the first dimension is left open (0).
bool Parser::declarator(const Declaration& d, Variable& v, Token& name) {
  if (token_.kind != TokenKind::identifier) return unexpected("a name");
  name = token_;
  v.name = token_.text;
  v.line = token_.line;
  v.space = d.space;
  v.type = d.type;
  v.vector = d.vector;
  v.alignment = d.alignment;
  v.managed = d.managed;
  advance();
  uint64_t row = uint64_t{type_bytes(d.type)} * d.vector;  // bytes, without an open first extent
  while (token_.is('[')) {
    const Token at = token_;
    advance();
    const bool first = v.dimensions.empty();
    uint64_t extent = 0;
    if (!token_.is(']')) {
      Constant value;
      if (!constant(value)) return false;
      if (value.kind != Literal::Kind::integer) return fail(at, "an array extent is an integer");
      extent = value.bits;
      if (extent == 0 && !first) return fail(at, "only the first extent of an array can be 0");
    } else if (!first) {
      return fail(at, "only the first extent of an array can be left out: give this one");
    }
    if (!expect(']', "after the extent")) return false;
    if (v.dimensions.size() == kMaxDimensions)
      return fail(at, fmt::format("more than {} dimensions", kMaxDimensions));
    v.dimensions.push_back(extent);
    if (extent > kMaxVariableBytes / row)
      return fail(at, fmt::format("array larger than the limit of {} bytes", kMaxVariableBytes));
    if (extent != 0) row *= extent;
  }
  v.bytes = !v.dimensions.empty() && v.dimensions[0] == 0 ? 0 : row;
  return true;
}

bool Parser::module_variables(Linkage link) {
  Declaration d;
  d.space = token_.text == "global"  ? Space::global
            : token_.text == "const" ? Space::constant
                                     : Space::shared;
  advance();
  if (token_.is('[')) return fail(token_, "banks of .const are not supported: leave the bank out");
  if (!declaration(d, false)) return false;
  do {
    Variable variable;
    Token name;
    if (!declarator(d, variable, name)) return false;
    variable.linkage = link;
    // Known before its initialiser is read, which may name it.
    uint32_t index = 0;
    const bool has_initial = token_.is('=');
    const bool sized = variable.dimensions.empty() || variable.dimensions[0] != 0;
    if (!sized && !has_initial && link != Linkage::external && variable.space != Space::shared)
      return fail(name,
                  fmt::format("'{}' has no size: give an extent or an initialiser", name.text));
    if (!add_module_variable(Variable(variable), name, index)) return false;
    if (has_initial) {
      if (link == Linkage::external)
        return fail(token_, "an .extern variable has no initialiser: drop .extern");
      if (d.space == Space::shared)
        return fail(token_, ".shared variables cannot be initialised: store to them in the kernel");
      advance();
      if (!initializer(variable, sized)) return false;
      module_.variables[index] = std::move(variable);
    }
  } while (accept(','));
  return expect(';', "after the declaration");
}

bool Parser::add_module_variable(Variable&& variable, const Token& name, uint32_t& index) {
  const uint32_t n = id(name.text);
  NameFacts& f = facts_[n];
  if (f.special)
    return fail(name, fmt::format("'{}' is a special register: choose another name", name.text));
  if (f.module_symbol.index == kNone) {
    index = static_cast<uint32_t>(module_.variables.size());
    f.module_symbol = {SymbolRef::Kind::module_variable, index};
    module_.variables.push_back(std::move(variable));
    return true;
  }
  if (f.module_symbol.kind != SymbolRef::Kind::module_variable)
    return fail(name, fmt::format("'{}' is already a function: choose another name", name.text));
  index = f.module_symbol.index;
  Variable& earlier = module_.variables[index];
  if (earlier.space != variable.space)
    return fail(name, fmt::format("'{}' was declared in .{} before: use one state space", name.text,
                                  space_name(earlier.space)));
  if (variable.linkage == Linkage::external) return true;  // declared or defined already
  if (earlier.linkage != Linkage::external)
    return fail(name, fmt::format("'{}' is already defined: choose another name", name.text));
  earlier = std::move(variable);
  return true;
}

bool Parser::function_variables(Linkage link) {
  Declaration d;
  d.space = token_.text == "shared"  ? Space::shared
            : token_.text == "local" ? Space::local
                                     : Space::param;
  advance();
  if (!declaration(d, true)) return false;
  do {
    Variable variable;
    Token name;
    if (!declarator(d, variable, name)) return false;
    variable.linkage = link;
    if (token_.is('='))
      return fail(token_, "variables of a function body cannot be initialised: store to them");
    Local meaning;
    meaning.kind = Local::Kind::variable;
    meaning.index = static_cast<uint32_t>(function_->variables.size());
    if (!declare(name, meaning)) return false;
    variable.name = names_.text(claim(id(name.text), depth()));
    function_->variables.push_back(std::move(variable));
  } while (accept(','));
  return expect(';', "after the declaration");
}

// ( .param .b32 a, ... ); kind none: a prototype, whose parameters are not bound.
bool Parser::parameter_list(std::vector<Variable>& parameters, Local::Kind kind) {
  if (!expect('(', "before the parameters")) return false;
  if (accept(')')) return true;
  do {
    Declaration d;
    if (accept_directive("param")) {
      d.space = Space::param;
    } else if (accept_directive("reg")) {
      d.space = Space::reg;
    } else {
      return unexpected(".param");
    }
    if (!declaration(d, true)) return false;
    Variable variable;
    Token name;
    if (!declarator(d, variable, name)) return false;
    if (kind != Local::Kind::none && name.text != "_") {
      Local meaning;
      meaning.kind = kind;
      meaning.index = static_cast<uint32_t>(parameters.size());
      if (d.space == Space::reg) {
        if (!variable.dimensions.empty() || d.vector != 1)
          return fail(name, "a parameter in a register is a scalar: use .param");
        meaning = Local{};
        meaning.kind = Local::Kind::declared;
        meaning.type = d.type;
      }
      facts_[id(name.text)].taken_in = function_number_;
      if (!declare(name, meaning)) return false;
    }
    parameters.push_back(std::move(variable));
  } while (accept(','));
  return expect(')', "after the parameters");
}

// --- initialisers

bool Parser::initializer(Variable& v, bool sized) {
  const Token at = token_;
  if (v.type == Type::f16 || v.type == Type::f16x2 || v.type == Type::bf16 ||
      v.type == Type::bf16x2 || v.type == Type::tf32 || v.type >= Type::e4m3 ||
      v.type == Type::b128)
    return fail(at,
                fmt::format("variables of type .{} cannot be initialised: use .b8, .b16 or .b64",
                            type_name(v.type)));
  // counts: elements at each level of braces; strides: how many scalars one entry of the level has.
  std::vector<uint64_t> counts = v.dimensions;
  if (v.vector > 1) counts.push_back(v.vector);
  if (counts.empty()) counts.push_back(1);
  std::vector<uint64_t> strides(counts.size(), 1);
  for (size_t i = counts.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * counts[i];
  const uint64_t scalar = type_bytes(v.type);
  uint64_t used = 0;
  if (token_.is('{')) {
    advance();
    const uint64_t capacity = sized ? counts[0] * strides[0] : kMaxVariableBytes / scalar;
    if (!initializer_level(v, strides, 0, 0, capacity, used)) return false;
  } else {
    if (!v.dimensions.empty() || v.vector > 1)
      return unexpected("'{' before the values of an array");
    if (!initializer_element(v, 0)) return false;
    used = 1;
  }
  if (!sized) {
    v.dimensions[0] = (used + strides[0] - 1) / strides[0];
    v.bytes = v.dimensions[0] * strides[0] * scalar;
  }
  if (v.bytes == 0) return fail(at, "an initialiser without values: give a value or drop it");
  return reserve_initial(v, v.bytes);
}

// Grows the data, within the module's budget.
bool Parser::reserve_initial(Variable& v, uint64_t bytes) {
  if (v.initial.size() >= bytes) return true;
  initial_bytes_ += bytes - v.initial.size();
  if (initial_bytes_ > kMaxInitialBytes)
    return fail(
        token_,
        fmt::format(
            "initialised variables beyond the limit of {} MiB in a module: fill them at run time",
            kMaxInitialBytes >> 20));
  if (bytes > v.initial.capacity())
    v.initial.reserve(std::max<uint64_t>(bytes, v.initial.size() * 2));
  v.initial.resize(bytes);
  return true;
}

// Behind '{'. Entries are scalars or, in braces, whole rows of the next level; as in C, a row
// without braces is filled scalar by scalar. Recursion ends at the number of dimensions.
bool Parser::initializer_level(Variable& v, const std::vector<uint64_t>& strides, size_t level,
                               uint64_t first, uint64_t capacity, uint64_t& used) {
  used = 0;
  if (accept('}')) return true;
  do {
    const Token at = token_;
    if (used >= capacity)
      return fail(
          at, fmt::format("too many values for '{}': its extents hold {} here", v.name, capacity));
    if (token_.is('{')) {
      if (level + 1 >= strides.size())
        return fail(at, fmt::format("more nested braces than '{}' has dimensions", v.name));
      if (used % strides[level] != 0)
        return fail(at, "braces must begin a row: write the row before it in braces, too");
      advance();
      uint64_t inner = 0;
      if (!initializer_level(v, strides, level + 1, first + used, strides[level], inner))
        return false;
      used += strides[level];
    } else {
      if (!initializer_element(v, first + used)) return false;
      ++used;
    }
  } while (accept(','));
  return expect('}', "after the values, or ',' between them");
}

bool Parser::initializer_element(Variable& v, uint64_t element) {
  const uint32_t bytes = type_bytes(v.type);
  const uint64_t offset = element * bytes;
  if (!reserve_initial(v, offset + bytes)) return false;
  const Token at = token_;
  if (token_.kind == TokenKind::identifier) return initializer_symbol(v, offset, bytes, 0, at);
  if (token_.kind == TokenKind::number && token_.text.size() > 2 &&
      (token_.text[1] == 'x' || token_.text[1] == 'X')) {
    Lexer ahead = lexer_;  // 0xFF00(symbol): one byte of an address
    if (ahead.next().is('(')) {
      Literal mask;
      if (!parse_literal(token_.text, mask))
        return fail(at, fmt::format("malformed mask '{}'", at.text));
      advance();
      advance();
      if (!initializer_symbol(v, offset, bytes, mask.bits, at)) return false;
      return expect(')', "after the masked address");
    }
  }
  return initializer_constant(v, offset, bytes);
}

bool Parser::initializer_symbol(Variable& v, uint64_t offset, uint32_t bytes, uint64_t mask,
                                const Token& at) {
  Relocation r;
  if (offset > 0xffffffffull) return fail(at, "an address so far into a variable is not supported");
  r.offset = static_cast<uint32_t>(offset);
  r.bytes = bytes;
  if (mask != 0 || at.kind == TokenKind::number) {
    const int shift = std::countr_zero(mask);
    if (mask == 0 || shift % 8 != 0 || mask >> shift != 0xff)
      return fail(
          at, fmt::format("mask '{}' does not select one byte: use 0xFF, 0xFF00, ...", at.text));
    if (bytes != 1) return fail(at, "a masked address fills a variable of bytes: use .b8");
    r.byte_shift = static_cast<uint32_t>(shift) / 8;
  } else if (bytes != 4 && bytes != 8) {
    return fail(at, fmt::format("an address does not fit .{}: use .u64, or 0xFF(symbol) masks",
                                type_name(v.type)));
  }
  if (v.type == Type::f32 || v.type == Type::f64)
    return fail(at, fmt::format("an address does not fit .{}: use .u64", type_name(v.type)));
  Token name = token_;
  if (name.kind == TokenKind::identifier && name.text == "generic") {
    Lexer ahead = lexer_;
    if (ahead.next().is('(')) {
      advance();
      advance();
      name = token_;
      r.generic = true;
    }
  }
  if (name.kind != TokenKind::identifier) return unexpected("the name of a variable or function");
  advance();
  const NameFacts& f = facts_[id(name.text)];
  if (f.module_symbol.index == kNone)
    return fail(name, fmt::format("'{}' is not declared: declare it before its use", name.text));
  r.symbol = f.module_symbol;
  if (r.generic && !expect(')', "after generic(symbol")) return false;
  if (!addend(r.addend)) return false;
  v.relocations.push_back(r);
  return true;
}

bool Parser::initializer_constant(Variable& v, uint64_t offset, uint32_t bytes) {
  const Token at = token_;
  Constant c;
  if (!constant(c)) return false;
  uint64_t bits = c.bits;
  using Kind = Literal::Kind;
  if (v.type == Type::f32) {
    if (c.kind == Kind::float64)
      bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    if (c.kind == Kind::integer)
      bits = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int64_t>(bits)));
  } else if (v.type == Type::f64) {
    if (c.kind == Kind::float32)
      bits = std::bit_cast<uint64_t>(
          static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
    if (c.kind == Kind::integer)
      bits = std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(bits)));
  } else if (c.kind != Kind::integer && bytes != (c.kind == Kind::float32 ? 4u : 8u)) {
    return fail(at, fmt::format("a floating-point value does not fit .{}", type_name(v.type)));
  }
  for (uint32_t i = 0; i < bytes; ++i)
    v.initial[offset + i] = static_cast<uint8_t>(bits >> (8 * i));
  return true;
}

}  // namespace tw::ptx
