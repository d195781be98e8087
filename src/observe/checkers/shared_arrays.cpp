#include "observe/checkers/shared_arrays.h"

#include <algorithm>
#include <map>

#include "emu/shared_layout.h"
#include "report/findings.h"

namespace tw::observe {
namespace {

using ptx::Operand;

// What a register holds: a number, an address in one array, or anything.
struct Value {
  enum Kind : uint8_t { none, number, address, anything } kind = none;
  const ptx::Variable* array = nullptr;
  bool operator==(const Value&) const = default;
};

Value join(Value a, Value b) {
  if (a.kind == Value::none) return b;
  if (b.kind == Value::none || a == b) return a;
  return {Value::anything, nullptr};
}

class FunctionValues {
 public:
  FunctionValues(const ptx::Module& module, const ptx::Function& function)
      : module_(module), function_(function), registers_(function.registers.size()) {
    // Values only rise, three steps at most for each register.
    for (bool changed = true; changed;) {
      changed = false;
      for (const ptx::Instruction& in : function.instructions) changed = step(in) || changed;
    }
  }

  Value of(const Operand& o) const {
    switch (o.kind) {
      case Operand::Kind::reg: return registers_[o.reg];
      case Operand::Kind::symbol: return symbol(o.symbol);
      case Operand::Kind::address: return o.elements.empty() ? Value{} : of(o.elements[0]);
      case Operand::Kind::vector:
      case Operand::Kind::list: {
        for (const Operand& e : o.elements)
          if (of(e).kind > Value::number) return {Value::anything, nullptr};
        return {Value::number, nullptr};
      }
      default: return {Value::number, nullptr};
    }
  }

 private:
  Value symbol(const ptx::SymbolRef& s) const {
    const ptx::Variable* v =
        s.kind == ptx::SymbolRef::Kind::module_variable     ? &module_.variables[s.index]
        : s.kind == ptx::SymbolRef::Kind::function_variable ? &function_.variables[s.index]
                                                            : nullptr;
    if (v == nullptr || v->space != ptx::Space::shared) return {Value::number, nullptr};
    if (v->bytes == 0) return {Value::anything, nullptr};  // dynamic: as long as the launch says
    return {Value::address, v};
  }

  // An address stays one if exactly this operand is it and the others are numbers.
  Value carried(const ptx::Instruction& in, size_t only) const {
    Value v = of(in.operands[only]);
    for (size_t i = 1; i < in.operands.size(); ++i)
      if (i != only && of(in.operands[i]).kind > Value::number) return {Value::anything, nullptr};
    return v;
  }

  Value result(const ptx::Instruction& in) const {
    const size_t n = in.operands.size();
    if (in.opcode == "mov" || in.opcode == "cvta" || in.opcode == "cvt")
      return n == 2 ? of(in.operands[1]) : Value{Value::anything, nullptr};
    if (in.opcode == "add" && n == 3) {
      const Value a = of(in.operands[1]), b = of(in.operands[2]);
      if (a.kind <= Value::number) return b.kind == Value::none ? a : b;
      return b.kind <= Value::number ? a : Value{Value::anything, nullptr};
    }
    if (in.opcode == "sub" && n == 3) return carried(in, 1);
    if (in.opcode == "mad" && n == 4) return carried(in, 3);
    if (in.opcode == "selp" && n == 4) return join(of(in.operands[1]), of(in.operands[2]));
    if (in.opcode == "call") return {Value::anything, nullptr};
    // What has been in memory counts as a number: an index, or an address that is not followed.
    if (in.opcode == "ld" || in.opcode == "atom" || in.opcode == "ldu")
      return {Value::number, nullptr};
    for (size_t i = 1; i < n; ++i)
      if (of(in.operands[i]).kind > Value::number) return {Value::anything, nullptr};
    return {Value::number, nullptr};
  }

  bool raise(const Operand& to, Value v) {
    if (to.kind == Operand::Kind::reg) {
      const Value joined = join(registers_[to.reg], v);
      if (joined == registers_[to.reg]) return false;
      registers_[to.reg] = joined;
      return true;
    }
    bool changed = false;
    if (v.kind == Value::address) v = {Value::anything, nullptr};  // a part of an address
    for (const Operand& e : to.elements) changed = raise(e, v) || changed;
    return changed;
  }

  bool step(const ptx::Instruction& in) {
    if (in.operands.empty() || in.opcode == "st" || in.opcode == "red" || in.opcode == "bra")
      return false;
    const Operand& to = in.operands[0];
    if (to.kind == Operand::Kind::address || to.kind == Operand::Kind::symbol) return false;
    return raise(to, result(in));
  }

  const ptx::Module& module_;
  const ptx::Function& function_;
  std::vector<Value> registers_;
};

// "a_tile" for _ZZ4gemmPKfE6a_tile.
std::string array_name(const ptx::Variable& array) {
  const std::string full = report::demangle(array.name);
  const size_t colon = full.rfind("::");
  return colon == std::string::npos ? full : full.substr(colon + 2);
}

}  // namespace

std::vector<SharedBounds> shared_bounds(const emu::Program& program) {
  std::vector<SharedBounds> bounds;
  const emu::SharedLayout layout = emu::shared_layout(*program.module, *program.function);
  if (layout.arrays.empty() || program.static_shared_bytes == 0) return bounds;
  std::map<const ptx::Function*, FunctionValues> values;
  bool any = false;
  bounds.resize(program.sites.size());
  for (size_t i = 0; i < program.sites.size(); ++i) {
    const emu::Site& site = program.sites[i];
    if (site.function == nullptr || site.instruction >= site.function->instructions.size())
      continue;
    const ptx::Instruction& in = site.function->instructions[site.instruction];
    const auto address = std::find_if(in.operands.begin(), in.operands.end(), [](const Operand& o) {
      return o.kind == Operand::Kind::address;
    });
    if (address == in.operands.end()) continue;
    auto it = values.find(site.function);
    if (it == values.end())
      it = values.try_emplace(site.function, *program.module, *site.function).first;
    const Value v = it->second.of(*address);
    if (v.kind != Value::address) continue;
    for (const emu::SharedArray& a : layout.arrays) {
      if (a.variable != v.array) continue;
      bounds[i] = {uint32_t(a.offset), uint32_t(a.offset + a.variable->bytes),
                   array_name(*a.variable)};
      any = true;
    }
  }
  if (!any) bounds.clear();
  return bounds;
}

}  // namespace tw::observe
