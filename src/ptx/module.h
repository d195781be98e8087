// The parsed form of one PTX module. Pure data: nothing here executes, and nothing here knows which
// instructions exist (that is src/isa). Names are resolved: a register operand is an index into
// Function::registers, so nested `{ }` scopes and shadowing are gone once parsing is done (a
// shadowed name is made unique, and so printing and parsing again gives an equal Module).
//
// Produced by ptx::parse (parser.h), printed by ptx::print (printer.h).
// Tested by tests/unit/ptx.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tw::ptx {

inline constexpr uint32_t kNone = 0xffffffff;  // "no index"

enum class Type : uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  texref,
  samplerref,
  surfref,
};
// Spelling without the dot ("u32"); Type::none for anything else. Inverse: type_name.
Type type_from_name(std::string_view name);
std::string_view type_name(Type type);
// Size in bytes of a value of the type (pred: 1, none: 0, opaque references: 8).
uint32_t type_bytes(Type type);

enum class Space : uint8_t { generic, reg, global, constant, shared, local, param };
std::string_view space_name(Space space);  // "global", "const", ...

// Where an instruction comes from in the user's source, from `.loc`.
struct SourceLocation {
  uint32_t file = 0;  // index into Module::files; 0 with line 0: unknown
  uint32_t line = 0;  // 1-based; 0: unknown (nvcc writes line 0 for compiler-made code)
  uint32_t column = 0;
  uint32_t inlined_at = kNone;   // index into Function::locations of the call site, or kNone
  std::string inlined_function;  // name of the function inlined here, or empty
  bool operator==(const SourceLocation&) const = default;
};

// A reference to something with an address, or to a function.
struct SymbolRef {
  enum class Kind : uint8_t {
    module_variable,
    function_variable,
    parameter,
    return_parameter,
    function
  };
  Kind kind = Kind::module_variable;
  uint32_t index = kNone;  // into Module::variables, Function::variables, ::parameters, ::returns
                           // or Module::functions
  bool operator==(const SymbolRef&) const = default;
};

struct Operand {
  enum class Kind : uint8_t {
    reg,      // %r1, !%p1                           -> reg, negated
    special,  // %tid.x, %laneid, WARP_SZ            -> name
    integer,  // 42, -1, 0xffU                       -> bits (two's complement, 64 bits)
    float32,  // 0f3F800000                          -> bits (low 32)
    float64,  // 0d3FF0000000000000, 1.5             -> bits
    symbol,   // var, var+4, func                    -> symbol, offset
    address,  // [%rd1+4], [var+4], [64], [%r1]      -> elements[0] is the base (reg, symbol,
              // integer), offset; more elements: [tensor_map, {c0, c1}], [tex, {x, y}]
    vector,   // {%f1, %f2, _}                       -> elements
    list,     // (param0, param1) of a call          -> elements
    label,    // branch target                       -> index into Function::labels
    table,    // .branchtargets / .callprototype name -> index into Function::branch_tables or
              // ::prototypes
    pair,     // %r1|%p1                             -> elements[0], elements[1]
    sink,     // _
  };
  Kind kind = Kind::sink;
  bool negated = false;
  bool minus = false;      // reg: -%r1, an operand of vmad
  uint32_t reg = kNone;    // reg
  uint32_t index = kNone;  // label, table
  uint64_t bits = 0;       // integer, float32, float64
  int64_t offset = 0;      // symbol, address
  SymbolRef symbol;        // symbol
  std::string name;  // special; table: the table's name; reg: the part a video instruction takes,
                     // "b0" of %r1.b0
  std::vector<Operand> elements;
  bool operator==(const Operand&) const = default;
};

struct Guard {
  uint32_t reg = kNone;  // a .pred register
  bool negated = false;
  bool operator==(const Guard&) const = default;
};

struct Instruction {
  std::string opcode;  // "ld"
  std::vector<std::string>
      modifiers;  // {"global", "nc", "L2::128B", "f32"}: what follows the opcode, split at '.'
  std::vector<Operand> operands;  // as written, destination first
  std::optional<Guard> guard;
  uint32_t line = 0;  // in the PTX text, 1-based
  uint32_t column = 0;
  uint32_t location = kNone;  // index into Function::locations: the `.loc` in force, or kNone
  // Loads: which of the bytes loaded the program uses, a bit each (.pragma "used_bytes_mask N").
  uint32_t used_bytes = kAllBytes;
  static constexpr uint32_t kAllBytes = 0xffffffff;

  // Equality ignores the place in the PTX text.
  bool operator==(const Instruction& o) const {
    return opcode == o.opcode && modifiers == o.modifiers && operands == o.operands &&
           guard == o.guard && location == o.location && used_bytes == o.used_bytes;
  }
  std::string spelling() const;  // "ld.global.nc.f32"
};

struct Register {
  std::string name;  // "%r12"
  Type type = Type::none;
  bool operator==(const Register&) const = default;
};

// An initialiser entry that is an address: `value = address(symbol) + addend`, `bytes` wide at
// `offset`.
struct Relocation {
  uint32_t offset = 0;
  uint32_t bytes = 8;
  bool generic =
      false;  // generic(symbol): the generic address; otherwise the address in its own space
  SymbolRef symbol;
  int64_t addend = 0;
  uint32_t byte_shift =
      0;  // mask form 0xFF00(sym): the byte of the address stored here (bytes == 1)
  bool operator==(const Relocation&) const = default;
};

enum class Linkage : uint8_t { internal, visible, weak, external, common };

struct Variable {
  std::string name;
  Space space = Space::global;  // global, constant, shared, local, param
  Type type = Type::b8;         // element type
  uint32_t vector = 1;          // .v2 / .v4
  uint32_t alignment = 1;       // bytes
  uint64_t bytes = 0;           // whole size; 0 for `extern .shared x[]`
  std::vector<uint64_t> dimensions;
  Linkage linkage = Linkage::internal;
  bool managed = false;          // .attribute(.managed)
  std::vector<uint8_t> initial;  // empty: zero-filled; otherwise exactly `bytes` long
  std::vector<Relocation> relocations;
  uint32_t line = 0;
  bool operator==(const Variable& o) const {
    return name == o.name && space == o.space && type == o.type && vector == o.vector &&
           alignment == o.alignment && bytes == o.bytes && dimensions == o.dimensions &&
           linkage == o.linkage && managed == o.managed && initial == o.initial &&
           relocations == o.relocations;
  }
};

struct Label {
  std::string name;
  uint32_t instruction =
      0;  // index of the instruction it stands before; may equal instructions.size()
  bool operator==(const Label&) const = default;
};

struct BranchTable {  // name: .branchtargets a, b, c;
  std::string name;
  std::vector<uint32_t> labels;
  bool operator==(const BranchTable&) const = default;
};

struct Prototype {  // name: .callprototype (ret) _ (params);  the signature of an indirect call
  std::string name;
  std::vector<Variable> returns, parameters;
  bool no_return = false;
  bool operator==(const Prototype&) const = default;
};

struct Function {
  std::string name;
  bool entry = false;     // .entry (a kernel) or .func
  bool has_body = false;  // false: a declaration
  bool no_return = false;
  Linkage linkage = Linkage::internal;
  std::vector<Variable> parameters;  // kernel: laid out one after the other, each at its alignment
  std::vector<Variable> returns;     // .func only
  std::vector<Register> registers;   // those used, in the order of first use
  std::vector<Variable> variables;  // .shared, .local, .param (call arguments) declared in the body
  std::vector<Instruction> instructions;
  std::vector<Label> labels;
  std::vector<BranchTable> branch_tables;
  std::vector<Prototype> prototypes;
  std::vector<SourceLocation> locations;
  std::array<uint32_t, 3> max_ntid{};  // .maxntid, 0: not given
  std::array<uint32_t, 3> req_ntid{};  // .reqntid, 0: not given
  std::array<uint32_t, 3> cluster{};   // .reqnctapercluster, 0: not given
  bool explicit_cluster = false;
  uint32_t min_ctas_per_sm = 0;
  uint32_t max_registers = 0;
  uint32_t max_cluster_rank = 0;
  std::vector<std::string> pragmas;
  uint32_t line = 0;
  bool operator==(const Function& o) const {
    return name == o.name && entry == o.entry && has_body == o.has_body &&
           no_return == o.no_return && linkage == o.linkage && parameters == o.parameters &&
           returns == o.returns && registers == o.registers && variables == o.variables &&
           instructions == o.instructions && labels == o.labels &&
           branch_tables == o.branch_tables && prototypes == o.prototypes &&
           locations == o.locations && max_ntid == o.max_ntid && req_ntid == o.req_ntid &&
           cluster == o.cluster && explicit_cluster == o.explicit_cluster &&
           min_ctas_per_sm == o.min_ctas_per_sm && max_registers == o.max_registers &&
           max_cluster_rank == o.max_cluster_rank && pragmas == o.pragmas;
  }
};

struct Module {
  std::string name;           // where the text came from (a path), for messages
  uint32_t version = 0;       // .version 9.0 -> 90
  uint32_t target = 0;        // .target sm_90a -> 90
  std::string target_suffix;  // "a", "f" or empty
  uint32_t address_bits = 64;
  bool debug = false;              // .target ..., debug
  std::vector<std::string> files;  // index = the number in `.file N "path"`; gaps are empty
  std::vector<Variable> variables;
  std::vector<Function> functions;  // one a name: a definition takes the place of its declaration
  std::vector<std::pair<std::string, std::string>> aliases;  // .alias a, b

  const Function* find_function(
      std::string_view function_name) const;  // the definition if there is one
  bool operator==(const Module& o) const {
    return version == o.version && target == o.target && target_suffix == o.target_suffix &&
           address_bits == o.address_bits && debug == o.debug && files == o.files &&
           variables == o.variables && functions == o.functions && aliases == o.aliases;
  }
};

}  // namespace tw::ptx
