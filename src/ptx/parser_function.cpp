// Functions: headers, bodies, scopes and statements.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include "ptx/parser_state.h"

namespace tw::ptx {

// At .entry or .func.
bool Parser::function(Linkage link) {
  Function f;
  f.linkage = link;
  f.entry = token_.text == "entry";
  f.line = token_.line;
  advance();
  begin_function();
  function_ = &f;
  if (is_directive("attribute"))
    return unexpected("a name; attributes of functions are not supported");
  if (accept_directive("noreturn")) f.no_return = true;
  if (!f.entry && token_.is('(') && !parameter_list(f.returns, Local::Kind::return_parameter))
    return false;
  const Token name = token_;
  std::string_view spelled;
  if (!expect_name("the name of the function", spelled)) return false;
  f.name = spelled;
  if (token_.is('(') && !parameter_list(f.parameters, Local::Kind::parameter)) return false;
  if (!header_directives()) return false;

  const uint32_t n = id(name.text);
  NameFacts& known = facts_[n];
  if (known.special)
    return fail(name, fmt::format("'{}' is a special register: choose another name", name.text));
  if (known.module_symbol.index != kNone && known.module_symbol.kind != SymbolRef::Kind::function)
    return fail(name, fmt::format("'{}' is already a variable: choose another name", name.text));
  const bool defines = token_.is('{');
  if (!defines && !token_.is(';')) return unexpected("'{' of the body or ';' after a declaration");
  f.has_body = defines;
  uint32_t index = known.module_symbol.index;
  if (index == kNone) {
    index = static_cast<uint32_t>(module_.functions.size());
    known.module_symbol = {SymbolRef::Kind::function, index};
    module_.functions.push_back(std::move(f));
    raw_locations_.emplace_back();
  } else {
    Function& earlier = module_.functions[index];
    if (defines && earlier.has_body)
      return fail(name, fmt::format("'{}' is already defined: choose another name", name.text));
    if (f.entry != earlier.entry)
      return fail(name, fmt::format("'{}' was declared as .{} before", name.text,
                                    earlier.entry ? "entry" : "func"));
    if (defines) earlier = std::move(f);
  }
  function_ = &module_.functions[index];
  if (!defines) {
    scopes_.clear();
    return expect(';', "after the declaration");
  }
  location_ = kNone;
  used_bytes_ = Instruction::kAllBytes;
  // New maps: clear() takes time by the largest function so far.
  if (!location_index_.empty()) decltype(location_index_)().swap(location_index_);
  if (!latest_location_.empty()) decltype(latest_location_)().swap(latest_location_);
  return body();
}

bool Parser::triple(std::array<uint32_t, 3>& values) {
  advance();
  values = {1, 1, 1};
  for (size_t i = 0; i < 3; ++i) {
    if (!expect_unsigned("a number of threads or CTAs", values[i])) return false;
    if (!accept(',')) break;
  }
  return true;
}

// Between the parameters and the body. Hints without a place in Function are checked and dropped.
bool Parser::header_directives() {
  Function& f = *function_;
  uint32_t dropped = 0;
  while (token_.kind == TokenKind::directive) {
    if (is_directive("maxntid")) {
      if (!triple(f.max_ntid)) return false;
    } else if (is_directive("reqntid")) {
      if (!triple(f.req_ntid)) return false;
    } else if (is_directive("reqnctapercluster")) {
      if (!triple(f.cluster)) return false;
    } else if (accept_directive("minnctapersm")) {
      if (!expect_unsigned("a number of CTAs", f.min_ctas_per_sm)) return false;
    } else if (accept_directive("maxnreg")) {
      if (!expect_unsigned("a number of registers", f.max_registers)) return false;
    } else if (accept_directive("maxclusterrank")) {
      if (!expect_unsigned("a number of CTAs", f.max_cluster_rank)) return false;
    } else if (accept_directive("maxnctapersm") || accept_directive("abi_preserve") ||
               accept_directive("abi_preserve_control")) {
      if (!expect_unsigned("a number", dropped)) return false;
    } else if (accept_directive("explicitcluster")) {
      f.explicit_cluster = true;
    } else if (accept_directive("noreturn")) {
      f.no_return = true;
    } else if (is_directive("pragma") || is_directive("loc") || is_directive("file")) {
      if (is_directive("pragma")) {
        if (!body_directive()) return false;
      } else {
        lexer_.skip_line();
        advance();
      }
    } else {
      return unexpected("'{' of the body, ';' or a directive such as .maxntid");
    }
  }
  return true;
}

bool Parser::body() {
  const Token open = token_;
  advance();
  enter_scope();
  // The scopes are a counter, not recursion: nesting is as deep as kMaxScopeDepth allows.
  while (depth() > 0) {
    if (token_.is('}')) {
      const bool last = depth() == 1;
      if (!leave_scope()) return false;
      if (last) break;
      advance();
    } else if (token_.kind == TokenKind::end) {
      return fail(open, "body without an end: add '}'");
    } else if (!statement()) {
      return false;
    }
  }
  if (!references_.empty()) {
    const LabelReference& r = references_.front();
    return fail(r.line, r.column,
                fmt::format("label '{}' is not defined here or in a scope around: define it",
                            names_.text(r.name)));
  }
  advance();
  return true;
}

bool Parser::statement() {
  switch (token_.kind) {
    case TokenKind::identifier: return lexer_.at_label_colon() ? label_statement() : instruction();
    case TokenKind::directive: return body_directive();
    case TokenKind::punctuator:
      if (token_.is('@')) return instruction();
      if (accept(';')) return true;
      if (token_.is('{')) {
        if (depth() >= kMaxScopeDepth)
          return fail(token_,
                      fmt::format("more than {} nested scopes: flatten them", kMaxScopeDepth));
        advance();
        enter_scope();
        return true;
      }
      break;
    default: break;
  }
  return unexpected("an instruction, a label or a directive");
}

bool Parser::body_directive() {
  if (is_directive("loc")) return loc_directive();
  if (is_directive("reg")) return registers();
  if (is_directive("param") || is_directive("shared") || is_directive("local"))
    return function_variables(Linkage::internal);
  if (is_directive("file")) return file_directive();
  if (accept_directive("pragma")) {
    do {
      if (token_.kind != TokenKind::string) return unexpected("a string after .pragma");
      if (!used_bytes_pragma(token_.text)) function_->pragmas.emplace_back(token_.text);
      advance();
    } while (accept(','));
    return expect(';', "after .pragma");
  }
  if (accept_directive("extern")) {
    if (is_directive("shared")) return function_variables(Linkage::external);
    return unexpected(".shared after .extern");
  }
  if (is_directive("global") || is_directive("const"))
    return fail(
        token_,
        fmt::format(".{} variables inside a body are not supported: move it to module level",
                    token_.text));
  return unexpected("an instruction, a label or one of .reg .param .shared .local .loc .pragma");
}

// "used_bytes_mask N" is about the load that follows; others are hints to ptxas for the function.
bool Parser::used_bytes_pragma(std::string_view text) {
  constexpr std::string_view kName = "used_bytes_mask ";
  if (!text.starts_with(kName)) return false;
  text.remove_prefix(kName.size());
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  uint32_t mask = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mask, base);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  used_bytes_ = mask;
  return true;
}

bool Parser::registers() {
  advance();
  uint32_t width = 1;
  if (is_directive("v2") || is_directive("v4")) {
    width = static_cast<uint32_t>(token_.text[1] - '0');
    advance();
  }
  const Type type = token_.kind == TokenKind::directive ? type_from_name(token_.text) : Type::none;
  if (type == Type::none) return unexpected("a register type such as .b32");
  advance();
  do {
    if (token_.kind != TokenKind::identifier) return unexpected("the name of a register");
    const Token name = token_;
    advance();
    if (accept('<')) {
      const Token at = token_;
      uint64_t count = 0;
      if (width != 1) return fail(name, "vector registers are declared one by one");
      if (!expect_unsigned("a number of registers", kMaxRegisterRange, count)) return false;
      if (count == 0) return fail(at, "a range needs at least one register");
      if (!expect('>', "after the number of registers") || !declare_range(name, type, count))
        return false;
      continue;
    }
    if (name.text == "_") return fail(name, "'_' is no name: choose another");
    Local meaning;
    meaning.type = type;
    meaning.kind = Local::Kind::declared;
    if (width != 1) {
      meaning.kind = Local::Kind::vector;
      meaning.index = static_cast<uint32_t>(vectors_.size());
      VectorRegister vector;
      vector.type = type;
      vector.width = static_cast<uint8_t>(width);
      vectors_.push_back(vector);
    }
    if (!declare(name, meaning)) return false;
  } while (accept(','));
  if (token_.is('=')) return fail(token_, "registers cannot be initialised: use mov");
  return expect(';', "after the registers");
}

bool Parser::label_statement() {
  const Token name = token_;
  advance();
  advance();  // ':'
  if (accept_directive("branchtargets")) return branch_targets(name);
  if (accept_directive("callprototype")) return call_prototype(name);
  if (is_directive("calltargets"))
    return fail(token_, ".calltargets is not supported: use .callprototype");
  Label label;
  label.instruction = static_cast<uint32_t>(function_->instructions.size());
  if (!declare_label(name, LocalLabel::Kind::label, static_cast<uint32_t>(function_->labels.size()),
                     label.name))
    return false;
  function_->labels.push_back(std::move(label));
  return true;
}

bool Parser::branch_targets(const Token& name) {
  BranchTable table;
  const uint32_t index = static_cast<uint32_t>(function_->branch_tables.size());
  if (!declare_label(name, LocalLabel::Kind::branch_table, index, table.name)) return false;
  do {
    const Token at = token_;
    std::string_view label;
    if (!expect_name("a label", label)) return false;
    references_.push_back({LabelReference::Kind::table_entry, id(label), index,
                           static_cast<uint32_t>(table.labels.size()), at.line, at.column});
    table.labels.push_back(kNone);
  } while (accept(','));
  function_->branch_tables.push_back(std::move(table));
  return expect(';', "after the labels");
}

// name: .callprototype (.param .b32 _) _ (.param .b64 _, ...) .noreturn;
bool Parser::call_prototype(const Token& name) {
  Prototype prototype;
  if (!declare_label(name, LocalLabel::Kind::prototype,
                     static_cast<uint32_t>(function_->prototypes.size()), prototype.name))
    return false;
  if (token_.is('(') && !parameter_list(prototype.returns, Local::Kind::none)) return false;
  if (token_.kind != TokenKind::identifier) return unexpected("'_'");
  advance();
  if (token_.is('(') && !parameter_list(prototype.parameters, Local::Kind::none)) return false;
  for (;;) {
    uint32_t dropped = 0;
    if (accept_directive("noreturn")) {
      prototype.no_return = true;
    } else if (accept_directive("abi_preserve") || accept_directive("abi_preserve_control")) {
      if (!expect_unsigned("a number", dropped)) return false;
    } else {
      break;
    }
  }
  function_->prototypes.push_back(std::move(prototype));
  return expect(';', "after the prototype");
}

bool Parser::instruction() {
  Instruction ins;
  ins.line = token_.line;
  ins.column = token_.column;
  ins.location = location_;
  ins.used_bytes = std::exchange(used_bytes_, Instruction::kAllBytes);
  if (accept('@')) {
    Guard guard;
    guard.negated = accept('!');
    if (token_.kind != TokenKind::identifier) return unexpected("a predicate register after '@'");
    const Token name = token_;
    Operand reg;
    if (!operand_name(reg)) return false;
    if (reg.kind != Operand::Kind::reg || function_->registers[reg.reg].type != Type::pred)
      return fail(name, fmt::format("'{}' is not a .pred register: a guard is one", name.text));
    guard.reg = reg.reg;
    ins.guard = guard;
    if (token_.kind != TokenKind::identifier) return unexpected("an instruction after its guard");
  }
  const char first = token_.text[0];
  if (first == '%' || first == '$' || first == '_')
    return fail(token_, fmt::format("'{}' is not an instruction: expected an opcode", token_.text));
  ins.opcode = token_.text;
  size_t count = 0;
  std::string_view m = lexer_.modifier();
  Token at = token_;
  for (;;) {
    if (m.empty()) {
      at = token_;
      advance();
      if (token_.kind != TokenKind::directive) break;  // a space before a '.' is allowed
      m = token_.text;
    }
    if (count == modifiers_.size())
      return fail(at, fmt::format("more than {} modifiers behind an opcode", modifiers_.size()));
    modifiers_[count++] = m;
    m = lexer_.modifier();
  }
  ins.modifiers.reserve(count);
  for (size_t i = 0; i < count; ++i) ins.modifiers.emplace_back(modifiers_[i]);

  operands_.clear();
  const bool branch = ins.opcode == "bra", indexed = ins.opcode == "brx";
  if (ins.opcode == "call") {
    if (!call_operands()) return false;
  } else if (!token_.is(';')) {
    do {
      if ((branch || (indexed && operands_.size() == 1)) && token_.kind == TokenKind::identifier) {
        operands_.emplace_back().kind = branch ? Operand::Kind::label : Operand::Kind::table;
        references_.push_back(
            {branch ? LabelReference::Kind::branch : LabelReference::Kind::branch_table,
             id(token_.text), static_cast<uint32_t>(function_->instructions.size()),
             static_cast<uint32_t>(operands_.size()) - 1, token_.line, token_.column});
        advance();
        continue;
      }
      Operand& next = operands_.emplace_back();
      if (!operand(next, 0)) return false;
    } while (accept(','));
  }
  ins.operands.assign(std::make_move_iterator(operands_.begin()),
                      std::make_move_iterator(operands_.end()));
  if (!accept(';')) return unexpected("',' or ';'");
  function_->instructions.push_back(std::move(ins));
  return true;
}

// [ (returns), ] target [, (arguments) ] [, prototype ]
bool Parser::call_operands() {
  if (token_.is('(')) {
    if (!list_operand(operands_.emplace_back()) ||
        !expect(',', "between the results of a call and its target"))
      return false;
  }
  if (token_.kind != TokenKind::identifier) return unexpected("the function to call");
  const Token target = token_;
  Operand& callee = operands_.emplace_back();
  if (!operand_name(callee)) return false;
  if (callee.kind != Operand::Kind::reg &&
      !(callee.kind == Operand::Kind::symbol && callee.symbol.kind == SymbolRef::Kind::function))
    return fail(
        target,
        fmt::format("'{}' is neither a function nor a register: it cannot be called", target.text));
  if (!accept(',')) return true;
  if (token_.is('(')) {
    if (!list_operand(operands_.emplace_back())) return false;
    if (!accept(',')) return true;
  }
  if (token_.kind != TokenKind::identifier) return unexpected("the name of a .callprototype");
  operands_.emplace_back().kind = Operand::Kind::table;
  references_.push_back({LabelReference::Kind::call, id(token_.text),
                         static_cast<uint32_t>(function_->instructions.size()),
                         static_cast<uint32_t>(operands_.size()) - 1, token_.line, token_.column});
  advance();
  return true;
}

}  // namespace tw::ptx
