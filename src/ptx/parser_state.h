// The parser's state and its parts, private to src/ptx/parser*.cpp.
//
//   parser.cpp            what is accepted; module level; end-of-module passes
//   parser_variable.cpp   variables, parameters, initialisers
//   parser_function.cpp   headers, bodies, scopes, statements
//   parser_operand.cpp    operands and constant expressions
//   parser_name.cpp       registers, scopes, labels: what a name means where it stands
//   parser_location.cpp   .file, .loc, .debug_str
//
// Every parsing function returns false after it has recorded an error (the first one is kept).
// Tested by tests/unit/ptx.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/lexer.h"
#include "ptx/module.h"
#include "ptx/names.h"
#include "util/result.h"

namespace tw::ptx {

// Bounds on what a text may ask for, far above what compilers write.
inline constexpr uint32_t kMaxScopeDepth = 200;          // nested { } in a body
inline constexpr uint32_t kMaxOperandDepth = 8;          // nested [ { ( in an operand
inline constexpr uint32_t kMaxExpressionDepth = 64;      // nested parentheses and unary signs
inline constexpr uint32_t kMaxRegisterRange = 1u << 24;  // N of %r<N>
inline constexpr uint32_t kMaxDimensions = 8;
inline constexpr uint64_t kMaxVariableBytes = 1ull << 40;
inline constexpr uint64_t kMaxInitialBytes = 256ull << 20;  // initialised data of one module
inline constexpr uint32_t kMaxAlignment = 1u << 20;
inline constexpr uint32_t kMaxFileIndex = 1u << 16;
inline constexpr uint64_t kMaxInlinedNameBytes = 1ull << 30;  // of all locations of a module
inline constexpr uint32_t kMaxInlineDepth = 256;              // longer chains of inlined_at are cut

struct Constant {
  Literal::Kind kind = Literal::Kind::integer;
  uint64_t bits = 0;
};

// What a name means in the function being parsed.
struct Local {
  enum class Kind : uint8_t { none, declared, reg, vector, variable, parameter, return_parameter };
  uint32_t function = 0;  // the function it belongs to; any other value: no meaning
  Kind kind = Kind::none;
  Type type = Type::none;  // declared: a scalar register not used so far
  uint16_t depth = 0;      // of the scope that declares it: 0 parameters, 1 the body
  uint32_t index = 0;
};

struct LocalLabel {
  enum class Kind : uint8_t { none, label, branch_table, prototype };
  uint32_t function = 0;
  Kind kind = Kind::none;
  uint16_t depth = 0;
  uint32_t index = 0;
};

// `.reg .b32 %r<100>`: registers come into being when they are used first.
struct Range {
  uint32_t function = 0;
  Type type = Type::none;
  uint16_t depth = 0;
  uint32_t count = 0;
  uint32_t outer = kNone;  // into Parser::hidden_ranges_: the range of the same prefix it hides
};

struct VectorRegister {  // .reg .v4 .f32 %v
  Type type = Type::none;
  uint8_t width = 0;
  uint32_t registers[4] = {kNone, kNone, kNone, kNone};
};

// All facts about one interned name.
struct NameFacts {
  Local local;
  LocalLabel label;
  Range range;
  SymbolRef module_symbol;  // index kNone: none
  uint32_t taken_in = 0;    // the function in which a register or variable has this final name
  uint32_t label_taken_in = 0;
  uint32_t module_use_in = 0;  // the last function that used it for a module symbol
  uint32_t suffix = 0;         // last number tried to make it unique, in suffix_in
  uint32_t suffix_in = 0;
  bool special = false;  // a special register
};

struct Scope {
  struct Undo {
    enum class What : uint8_t { local, label, range };
    What what;
    uint32_t name;
    Local local;
    LocalLabel label;
    Range range;
  };
  std::vector<Undo> undo;
  size_t first_reference = 0;  // into Parser::references_
};

// A use of a label or table, resolved when the scope that defines it ends.
struct LabelReference {
  enum class Kind : uint8_t { branch, branch_table, call, table_entry };
  Kind kind;
  uint32_t name;
  uint32_t index;    // of the instruction or the branch table
  uint32_t element;  // of the operand or the entry
  uint32_t line, column;
};

struct RawLocation {  // a .loc row before the names of inlined functions are known
  uint32_t file = 0, line = 0, column = 0;
  uint32_t inlined_at = kNone;
  uint32_t function_label = kNone;  // name id
  uint64_t function_offset = 0;
  uint32_t depth = 0;  // length of the inlined_at chain
  bool operator==(const RawLocation& o) const {
    return file == o.file && line == o.line && column == o.column && inlined_at == o.inlined_at &&
           function_label == o.function_label && function_offset == o.function_offset;
  }
};
struct RawLocationHash {
  size_t operator()(const RawLocation& r) const;
};

class Parser {
 public:
  Parser(std::string_view text, std::string name);
  Result<Module> run();

 private:
  struct Declaration;  // what stands before a variable's name

  // Tokens and errors.
  void advance() { token_ = lexer_.next(); }
  bool accept(char c);
  bool accept_directive(std::string_view name);
  bool is_directive(std::string_view name) const {
    return token_.kind == TokenKind::directive && token_.text == name;
  }
  bool expect(char c, std::string_view why);
  bool expect_name(std::string_view what, std::string_view& name);
  bool expect_unsigned(std::string_view what, uint64_t limit, uint64_t& value);
  bool expect_unsigned(std::string_view what, uint32_t& value);
  bool fail(const Token& at, std::string message);
  bool fail(uint32_t line, uint32_t column, std::string message);
  bool unexpected(std::string_view wanted);  // fails at the current token
  std::string shown(const Token& token) const;

  // parser.cpp
  bool module_header();
  bool address_size();
  bool module_statement();
  bool linkage(Linkage& linkage);
  bool alias();
  bool section();

  // parser_variable.cpp
  bool declaration(Declaration& declaration, bool parameter);
  bool declarator(const Declaration& declaration, Variable& variable, Token& name);
  bool module_variables(Linkage linkage);
  bool add_module_variable(Variable&& variable, const Token& name, uint32_t& index);
  bool function_variables(Linkage linkage);
  bool parameter_list(std::vector<Variable>& parameters, Local::Kind kind);
  bool initializer(Variable& variable, bool sized);
  bool initializer_level(Variable& variable, const std::vector<uint64_t>& counts, size_t level,
                         uint64_t first, uint64_t capacity, uint64_t& used);
  bool initializer_element(Variable& variable, uint64_t element);
  bool initializer_symbol(Variable& variable, uint64_t offset, uint32_t bytes, uint64_t mask,
                          const Token& at);
  bool initializer_constant(Variable& variable, uint64_t offset, uint32_t bytes);
  bool reserve_initial(Variable& variable, uint64_t bytes);

  // parser_function.cpp
  bool function(Linkage linkage);
  bool header_directives();
  bool triple(std::array<uint32_t, 3>& values);
  bool body();
  bool statement();
  bool body_directive();
  bool registers();
  bool used_bytes_pragma(std::string_view text);
  bool label_statement();
  bool branch_targets(const Token& name);
  bool call_prototype(const Token& name);
  bool instruction();
  bool call_operands();

  // parser_operand.cpp
  bool operand(Operand& operand, uint32_t depth);
  bool operand_name(Operand& operand);
  bool vector_operand(Operand& operand, uint32_t depth);
  bool address_operand(Operand& operand, uint32_t depth);
  bool list_operand(Operand& operand);
  bool constant(Constant& value);
  bool expression(Constant& value, int precedence, uint32_t depth);
  bool unary(Constant& value, uint32_t depth);
  bool binary(const Token& operation, Constant& left, const Constant& right);
  bool addend(int64_t& offset);

  // parser_name.cpp
  uint32_t id(std::string_view name);
  void begin_function();
  void enter_scope();
  bool leave_scope();
  uint32_t depth() const { return static_cast<uint32_t>(scopes_.size()) - 1; }
  bool declare(const Token& name, Local local);      // checks and binds in the current scope
  void bind(uint32_t name, Local local);             // in the scope local.depth
  uint32_t claim(uint32_t name, uint32_t at_depth);  // a unique register or variable name
  uint32_t claim_label(uint32_t name);
  uint32_t made_name(uint32_t name, bool label);
  Local* local(uint32_t name);  // null: no meaning in this function
  bool declare_range(const Token& name, Type type, uint64_t count);
  bool from_range(uint32_t name, uint32_t from_depth, Local& found);
  uint32_t new_register(uint32_t name, Type type, uint32_t at_depth);
  uint32_t component(VectorRegister& vector, uint32_t base, uint32_t at_depth, uint32_t i);
  bool declare_label(const Token& name, LocalLabel::Kind kind, uint32_t index, std::string& unique);
  bool resolve(const LabelReference& reference, const LocalLabel& label);

  // parser_location.cpp
  bool file_directive();
  bool loc_directive();
  bool debug_strings();
  bool finish_locations();

  std::string_view text_;
  Lexer lexer_;
  Token token_;
  Module module_;
  Error error_;
  bool failed_ = false;

  NameTable names_;
  std::vector<NameFacts> facts_;
  uint64_t initial_bytes_ = 0;

  // The function being parsed.
  Function* function_ = nullptr;
  uint32_t function_number_ = 0;  // generation of Local, LocalLabel, Range
  std::vector<Scope> scopes_;
  std::vector<VectorRegister> vectors_;
  std::vector<Range> hidden_ranges_;
  uint32_t inner_ranges_ = 0;  // register ranges declared in nested scopes that are open
  std::vector<LabelReference> references_;
  std::vector<Operand> operands_;               // of the instruction at hand
  std::array<std::string_view, 24> modifiers_;  // likewise

  // Locations, by function.
  std::vector<std::vector<RawLocation>> raw_locations_;
  std::unordered_map<RawLocation, uint32_t, RawLocationHash> location_index_;
  std::unordered_map<RawLocation, uint32_t, RawLocationHash>
      latest_location_;  // by file, line and column alone
  uint32_t location_ = kNone;
  uint32_t used_bytes_ = Instruction::kAllBytes;  // of the next instruction
  std::string debug_str_;
  std::unordered_map<uint32_t, uint64_t> debug_labels_;  // name id -> offset in debug_str_
};

}  // namespace tw::ptx
