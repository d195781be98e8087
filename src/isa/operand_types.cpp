#include "isa/operand_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tw::isa {
namespace {

enum class Kind : uint8_t { bits, integer, floating, predicate };

Kind kind_of(Type type) {
  if (type == Type::pred) return Kind::predicate;
  switch (ptx::type_name(type)[0]) {
    case 'b': return ptx::type_name(type).starts_with("bf") ? Kind::floating : Kind::bits;
    case 'u':
    case 's': return Kind::integer;
    default: return Kind::floating;
  }
}

// Registers of two halves are taken as bits, as ptxas does.
bool agrees(Type wanted, Type declared) {
  const bool pair = ptx::type_name(declared).ends_with("x2");
  const Kind want = kind_of(wanted), have = pair ? Kind::bits : kind_of(declared);
  if (want == Kind::predicate || have == Kind::predicate) return want == have;
  if (ptx::type_bytes(wanted) != ptx::type_bytes(declared)) return false;
  if (want == Kind::bits || have == Kind::bits) return true;
  return want == have && (want == Kind::integer || wanted == declared);
}

// Instructions all of whose operands are of `.type`.
constexpr std::string_view kOneType[] = {
    "add", "sub", "mul", "mad",  "fma", "div",  "rem",  "min",   "max", "abs",
    "neg", "and", "or",  "xor",  "not", "cnot", "sqrt", "rsqrt", "rcp", "sin",
    "cos", "lg2", "ex2", "tanh", "mov", "addc", "subc", "madc",  "sad", "copysign"};

}  // namespace

Status check_operand_types(const ptx::Instruction& instruction, const Match& match,
                           const ptx::Function& function, const std::string& file) {
  const RowInfo& info = row_info(match.row);
  const std::string_view opcode = info.opcode();
  const bool compares = opcode == "setp" && match.type2 == Type::none;
  if (info.body != Body::lane || match.type == Type::none || match.type2 != Type::none ||
      info.grammar.find(".wide") != std::string_view::npos)
    return Unit{};
  if (!compares &&
      std::find(std::begin(kOneType), std::end(kOneType), opcode) == std::end(kOneType))
    return Unit{};
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    const ptx::Operand& o = instruction.operands[i];
    if (o.kind != ptx::Operand::Kind::reg || !o.name.empty()) continue;
    const Type wanted = compares && (i == 0 || i == 3) ? Type::pred : match.type;
    const ptx::Register& declared = function.registers[o.reg];
    if (declared.type == Type::none || agrees(wanted, declared.type)) continue;
    return Error{
        fmt::format("'{}' takes a .{} as operand {}, and {} is a .{}", instruction.spelling(),
                    ptx::type_name(wanted), i + 1, declared.name, ptx::type_name(declared.type)),
        file, instruction.line, instruction.column};
  }
  return Unit{};
}

}  // namespace tw::isa
