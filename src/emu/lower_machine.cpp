// Control flow, calls, barriers and warp operations. Device functions are inlined at their calls.
#include <fmt/format.h>

#include <bit>

#include "emu/lowering.h"
#include "emu/windows.h"
#include "isa/lane_rows.h"

namespace tw::emu {

Status Lowering::machine_instruction(Instance& f, const ptx::Instruction& in, const isa::Match& match, Machine machine) {
  switch (machine) {
    case Machine::ld: return load(f, in, match);
    case Machine::st: return store(f, in, match);
    case Machine::cvta_to:
    case Machine::cvta: return convert_address(f, in, match, machine == Machine::cvta_to);
    case Machine::bra: {
      if (in.operands.size() != 1 || in.operands[0].kind != OperandKind::label) return error_at(in, "'bra' needs a label");
      branch(f.labels[in.operands[0].index]);
      return Unit{};
    }
    case Machine::ret:
      if (f.depth > 0) {
        branch(f.return_label);
        return Unit{};
      }
      [[fallthrough]];
    case Machine::exit: {
      Ir& ir = append(IrKind::exit);
      ir.guard = guard_;
      ir.guard_negated = guard_negated_;
      return Unit{};
    }
    case Machine::call: return call(f, in);
    case Machine::trap: return builtin(in, Builtin::trap, {});
    case Machine::bar_sync:
    case Machine::barrier_sync: {
      if (in.operands.empty() || in.operands.size() > 2) return error_at(in, fmt::format("'{}' takes a barrier number and an optional thread count", in.spelling()));
      std::vector<Source> sources;
      for (const Operand& o : in.operands) {
        Result<Source> s = source(f, in, o, 4, Type::u32);
        if (!s.ok()) return s.error();
        sources.push_back(*s);
      }
      if (sources.size() == 1) sources.push_back(constant(0));
      if (guard_ != kNoReg) return guarded(in, [&] { return barrier(sources); });
      return barrier(sources);
    }
    case Machine::bar_warp_sync: {
      if (in.operands.size() != 1) return error_at(in, "'bar.warp.sync' needs a member mask");
      Result<Source> s = source(f, in, in.operands[0], 4, Type::u32);
      if (!s.ok()) return s.error();
      return builtin(in, Builtin::warp_sync, {*s});
    }
    case Machine::membar:
    case Machine::fence: return builtin(in, Builtin::fence, {});
    case Machine::count: break;
  }
  return error_at(in, fmt::format("'{}' is not supported", in.spelling()));
}

Status Lowering::barrier(const std::vector<Source>& sources) {
  Ir& ir = append(IrKind::barrier);
  ir.builtin = int32_t(Builtin::barrier_sync);
  for (const Source& s : sources) ir.s[ir.sources++] = s;
  return Unit{};
}

Status Lowering::builtin(const ptx::Instruction& in, Builtin which, std::initializer_list<Source> sources) {
  auto make = [&]() -> Status {
    Ir& ir = append(IrKind::machine);
    ir.builtin = int32_t(which);
    for (const Source& s : sources) ir.s[ir.sources++] = s;
    return Unit{};
  };
  if (guard_ != kNoReg) return guarded(in, make);
  return make();
}

void Lowering::branch(uint32_t label) {
  Ir& ir = append(IrKind::branch);
  ir.target = label;
  ir.guard = guard_;
  ir.guard_negated = guard_negated_;
}

Status Lowering::convert_address(Instance& f, const ptx::Instruction& in, const isa::Match& match, bool to_space) {
  if (in.operands.size() != 2) return error_at(in, fmt::format("'{}' takes two operands", in.spelling()));
  Result<Source> from = source(f, in, in.operands[1], 8, Type::u64);
  if (!from.ok()) return from.error();
  Result<Destination> out = destination(f, in, in.operands[0], 8, false);
  if (!out.ok()) return out.error();
  uint8_t space = match.mods[Field::space];
  uint64_t window = space == isa::kShared || space == isa::kSharedCluster ? kSharedWindow : space == isa::kLocal ? kLocalWindow : 0;
  if (window == 0) lane_op(isa::kRowMov, Type::b64, Type::none, {*from}, {}, out->reg);
  else lane_op(isa::kRowAdd, Type::u64, Type::none, {*from, constant(to_space ? 0 - window : window)}, {}, out->reg);
  return Unit{};
}

Status Lowering::call(Instance& f, const ptx::Instruction& in) {
  // (returns), function, (arguments): the lists are optional.
  const Operand* returns = nullptr;
  const Operand* arguments = nullptr;
  const Operand* callee = nullptr;
  for (const Operand& o : in.operands) {
    if (o.kind == OperandKind::list) (callee == nullptr ? returns : arguments) = &o;
    else if (callee == nullptr) callee = &o;
  }
  if (callee == nullptr) return error_at(in, "'call' names no function");
  if (callee->kind != OperandKind::symbol || callee->symbol.kind != ptx::SymbolRef::Kind::function) return error_at(in, "calls through function pointers are not supported");
  const ptx::Function* target = &d_.module.functions[callee->symbol.index];
  if (!target->has_body)
    if (const ptx::Function* definition = d_.module.find_function(target->name); definition != nullptr) target = definition;
  if (!target->has_body) return error_at(in, fmt::format("function '{}' has no body in this module and is not one the engine provides", target->name));
  for (const Instance* up = &f; up != nullptr; up = up->caller)
    if (up->function == target) return error_at(in, fmt::format("recursive call of '{}' is not supported", target->name));
  if (f.depth >= kMaxInlineDepth) return error_at(in, "calls are nested too deeply");
  auto expand = [&]() -> Status {
    Instance g;
    g.function = target;
    g.caller = &f;
    g.depth = f.depth + 1;
    uint32_t call_site = site_;
    auto bind = [&](const Operand* list, const std::vector<ptx::Variable>& formals, std::vector<uint64_t>& offsets) -> Status {
      size_t given = list ? list->elements.size() : 0;
      if (given != formals.size()) return error_at(in, fmt::format("'{}' takes {} parameters, the call gives {}", target->name, formals.size(), given));
      for (size_t i = 0; i < given; ++i) {
        const Operand& o = list->elements[i];
        if (o.kind != OperandKind::symbol) return error_at(in, "call arguments must be .param variables");
        if (o.symbol.kind == ptx::SymbolRef::Kind::function_variable) offsets.push_back(f.variables[o.symbol.index]);
        else if (o.symbol.kind == ptx::SymbolRef::Kind::parameter && f.depth > 0) offsets.push_back(f.parameters[o.symbol.index]);
        else if (o.symbol.kind == ptx::SymbolRef::Kind::return_parameter) offsets.push_back(f.returns[o.symbol.index]);
        else return error_at(in, "call arguments must be .param variables");
      }
      return Unit{};
    };
    if (Status s = bind(arguments, target->parameters, g.parameters); !s.ok()) return s;
    if (Status s = bind(returns, target->returns, g.returns); !s.ok()) return s;
    g.return_label = uint32_t(d_.labels.size());
    d_.labels.push_back(0);
    Status s = body(g);
    d_.labels[g.return_label] = uint32_t(d_.code.size());
    site_ = call_site;
    return s;
  };
  if (guard_ != kNoReg) return guarded(in, expand);
  return expand();
}

}  // namespace tw::emu
