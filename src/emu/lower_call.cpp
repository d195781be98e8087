// Calls. A device function is inlined at each of its calls: registers stay slots of one frame, and
// reconvergence needs no call stack. Two kinds cannot be inlined:
//
// - Functions that may call themselves, directly or through others (calls through a pointer count
//   as calls of every function whose address is taken and whose signature fits), and those that would
//   be nested too deeply or make a body too large (lowering.h). Each is lowered once, behind the
//   kernel's body, as a subroutine. An activation has a frame in the thread's local memory, at the
//   stack pointer: where to return to, parameters, return values, local variables. The caller writes
//   what it still needs of its own registers behind its frame, as a compiler without registers to
//   spare would, and reads it back afterwards. A return is a branch to one of the call sites by
//   number, so lanes of a warp may be at different depths; all that differs between activations is
//   per lane, hence it does not matter where their paths meet.
// - Functions that the CUDA device runtime provides (system_calls.cpp).
//
// Limits: a thread's stack is Launch::stack_bytes; past its end an access is out of bounds.
// Tested by tests/unit/emu/recursion_test.cpp and tests/e2e/suite/recursion.cu.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "emu/lowering.h"
#include "emu/windows.h"
#include "isa/lane_rows.h"

namespace tw::emu {

namespace {
constexpr uint64_t kFrameAlignment = 16;  // of .param and .local variables at most
}

Result<uint64_t> Lowering::local_argument(Instance& f, const ptx::Instruction& in,
                                          const Operand& o) {
  if (o.kind == OperandKind::symbol) {
    if (o.symbol.kind == ptx::SymbolRef::Kind::function_variable)
      return f.variables[o.symbol.index];
    if (o.symbol.kind == ptx::SymbolRef::Kind::parameter && f.depth > 0)
      return f.parameters[o.symbol.index];
    if (o.symbol.kind == ptx::SymbolRef::Kind::return_parameter) return f.returns[o.symbol.index];
  }
  return error_at(in, "call arguments must be .param variables");
}

bool Lowering::is_system_call(const std::string& name) const {
  return name == "vprintf" || name == "__assertfail" || name == "malloc" || name == "free";
}

Status Lowering::system_call(Instance& f, const ptx::Instruction& in, const std::string& name,
                             const Operand* returns, const Operand* arguments) {
  Builtin which = name == "vprintf"        ? Builtin::call_printf
                  : name == "__assertfail" ? Builtin::call_assertfail
                  : name == "malloc"       ? Builtin::call_malloc
                                           : Builtin::call_free;
  size_t wanted = which == Builtin::call_printf ? 2 : which == Builtin::call_assertfail ? 5 : 1;
  size_t given = arguments ? arguments->elements.size() : 0;
  if (given != wanted)
    return error_at(in,
                    fmt::format("'{}' takes {} arguments, the call gives {}", name, wanted, given));
  // The built-ins take their arguments at offsets that are the same for all lanes.
  auto variable = [&](const Operand& o) -> const ptx::Variable& {
    return o.symbol.kind == ptx::SymbolRef::Kind::function_variable
               ? f.function->variables[o.symbol.index]
           : o.symbol.kind == ptx::SymbolRef::Kind::parameter
               ? f.function->parameters[o.symbol.index]
               : f.function->returns[o.symbol.index];
  };
  auto fixed_place = [&](uint64_t at) {
    if (f.frame == nullptr) return at;
    uint64_t fixed = round_up(local_bytes_, kFrameAlignment);
    local_bytes_ = fixed + 8;
    return fixed;
  };
  auto copy = [&](const Operand& o, LocalPlace from, LocalPlace to) {
    if (f.frame != nullptr) copy_local(from, to, variable(o).bytes, variable(o).alignment);
  };
  auto make = [&]() -> Status {
    std::vector<Source> sources;
    for (const Operand& o : arguments->elements) {
      Result<uint64_t> at = local_argument(f, in, o);
      if (!at.ok()) return at.error();
      sources.push_back(constant(fixed_place(*at)));
      copy(o, local_place(f, *at), {sources.back(), 0});
    }
    Result<uint64_t> result = uint64_t{0};
    const bool wanted_result =
        returns != nullptr && !returns->elements.empty() && sources.size() < 5;
    if (wanted_result) {
      result = local_argument(f, in, returns->elements[0]);
      if (!result.ok()) return result.error();
      sources.push_back(constant(fixed_place(*result)));
      // The built-in's own write is no event; this one says that the result has been written.
      store_local({sources.back(), 0}, constant(0), uint8_t(variable(returns->elements[0]).bytes));
    }
    Ir& ir = append(IrKind::machine);
    ir.builtin = int32_t(which);
    for (const Source& s : sources) ir.s[ir.sources++] = s;
    if (wanted_result) copy(returns->elements[0], {sources.back(), 0}, local_place(f, *result));
    // What is printed, and which addresses malloc gives, depends on the order of CTAs.
    d_.program->order_dependent = true;
    return Unit{};
  };
  if (guard_ != kNoReg) return guarded(in, make);
  return make();
}

std::vector<uint32_t> Lowering::address_taken() const {
  std::vector<bool> taken(d_.module.functions.size(), false);
  auto visit = [&](const auto& self, const Operand& o) -> void {
    if (o.kind == OperandKind::symbol && o.symbol.kind == ptx::SymbolRef::Kind::function)
      taken[o.symbol.index] = true;
    for (const Operand& e : o.elements) self(self, e);
  };
  for (const ptx::Function& fn : d_.module.functions)
    for (const ptx::Instruction& in : fn.instructions)
      if (in.opcode != "call")
        for (const Operand& o : in.operands) visit(visit, o);
  for (const ptx::Variable& v : d_.module.variables)
    for (const ptx::Relocation& r : v.relocations)
      if (r.symbol.kind == ptx::SymbolRef::Kind::function) taken[r.symbol.index] = true;
  std::vector<uint32_t> list;
  for (uint32_t i = 0; i < taken.size(); ++i)
    if (taken[i]) list.push_back(i);
  return list;
}

// A call through a pointer: every function whose address is taken and whose signature fits is
// tried.
Status Lowering::call_pointer(Instance& f, const ptx::Instruction& in, const Operand& callee,
                              const Operand* returns, const Operand* arguments) {
  Result<Source> pointer = source(f, in, callee, 8, Type::u64);
  if (!pointer.ok()) return pointer.error();
  size_t given = arguments ? arguments->elements.size() : 0,
         returned = returns ? returns->elements.size() : 0;
  auto make = [&]() -> Status {
    uint32_t done = uint32_t(d_.labels.size());
    d_.labels.push_back(0);
    for (uint32_t index : address_taken()) {
      const ptx::Function* target = &d_.module.functions[index];
      if (const ptx::Function* definition = d_.module.find_function(target->name);
          definition != nullptr)
        target = definition;
      if (!target->has_body || target->parameters.size() != given ||
          target->returns.size() != returned)
        continue;
      uint32_t next = uint32_t(d_.labels.size());
      d_.labels.push_back(0);
      guard_ = kNoReg;
      guard_ = lane_op(isa::kRowSetpInt, Type::u64, Type::none,
                       {*pointer, constant(function_address(index))},
                       isa::Mods{}.with(Field::cmp, isa::kNe));
      guard_negated_ = false;
      branch(next);
      guard_ = kNoReg;
      if (Status s = call_function(f, in, *target, returns, arguments); !s.ok()) return s;
      guard_ = kNoReg;
      guard_negated_ = false;
      branch(done);
      d_.labels[next] = uint32_t(d_.code.size());
    }
    guard_ = kNoReg;
    Status s = builtin(in, Builtin::trap, {});  // a pointer to no function of this signature
    d_.labels[done] = uint32_t(d_.code.size());
    return s;
  };
  if (guard_ != kNoReg) return guarded(in, make);
  return make();
}

Status Lowering::call_function(Instance& f, const ptx::Instruction& in, const ptx::Function& target,
                               const Operand* returns, const Operand* arguments) {
  if (uninlined_.contains(&target)) return call_subroutine(f, in, target, returns, arguments);
  Instance g;
  g.function = &target;
  g.caller = &f;
  g.depth = f.depth + 1;
  g.frame = f.frame;
  g.call_site = site_;
  auto bind = [&](const Operand* list, const std::vector<ptx::Variable>& formals,
                  std::vector<uint64_t>& offsets) -> Status {
    size_t given = list ? list->elements.size() : 0;
    if (given != formals.size())
      return error_at(in, fmt::format("'{}' takes {} parameters, the call gives {}", target.name,
                                      formals.size(), given));
    for (size_t i = 0; i < given; ++i) {
      Result<uint64_t> at = local_argument(f, in, list->elements[i]);
      if (!at.ok()) return at.error();
      offsets.push_back(*at);
    }
    return Unit{};
  };
  if (Status s = bind(arguments, target.parameters, g.parameters); !s.ok()) return s;
  if (Status s = bind(returns, target.returns, g.returns); !s.ok()) return s;
  g.return_label = uint32_t(d_.labels.size());
  d_.labels.push_back(0);
  Status s = body(g);
  d_.labels[g.return_label] = uint32_t(d_.code.size());
  site_ = g.call_site;
  return s;
}

Status Lowering::call(Instance& f, const ptx::Instruction& in) {
  // (returns), function, (arguments){, prototype}: the lists are optional.
  const Operand* returns = nullptr;
  const Operand* arguments = nullptr;
  const Operand* callee = nullptr;
  for (const Operand& o : in.operands) {
    if (o.kind == OperandKind::list)
      (callee == nullptr ? returns : arguments) = &o;
    else if (callee == nullptr)
      callee = &o;
  }
  if (callee == nullptr) return error_at(in, "'call' names no function");
  if (callee->kind == OperandKind::reg) return call_pointer(f, in, *callee, returns, arguments);
  if (callee->kind != OperandKind::symbol || callee->symbol.kind != ptx::SymbolRef::Kind::function)
    return error_at(in, "'call' names no function");
  const ptx::Function* target = &d_.module.functions[callee->symbol.index];
  if (const ptx::Function* definition = d_.module.find_function(target->name);
      !target->has_body && definition != nullptr)
    target = definition;
  if (!target->has_body) {
    if (is_system_call(target->name)) return system_call(f, in, target->name, returns, arguments);
    if (target->name.starts_with("__cudaCDP2") || target->name.starts_with("cudaLaunchDevice"))
      return error_at(in, "launches from device code (dynamic parallelism) are not supported");
    return error_at(
        in,
        fmt::format("function '{}' has no body in this module and is not one the engine provides",
                    target->name));
  }
  auto expand = [&] { return call_function(f, in, *target, returns, arguments); };
  if (guard_ != kNoReg) return guarded(in, expand);
  return expand();
}

// ---- subroutines ----

namespace {

constexpr isa::RowId kRowLd = isa::RowId(isa::kLaneRows + size_t(Machine::ld)),
                     kRowSt = isa::RowId(isa::kLaneRows + size_t(Machine::st));
constexpr uint16_t kRowSelp = isa::lane_row_id<isa::Selp, isa::MoveRows>(isa::Group::move);

const ptx::Function* definition_of(const ptx::Module& module, uint32_t index) {
  const ptx::Function* f = &module.functions[index];
  if (f->has_body) return f;
  const ptx::Function* definition = module.find_function(f->name);
  return definition != nullptr ? definition : f;
}

// Who calls whom, from the kernel down.
struct CallGraph {
  std::vector<const ptx::Function*> functions;
  std::vector<std::vector<uint32_t>> callees;  // each once
  std::vector<std::vector<uint32_t>> sites;    // how often it is called, for each callee
};

CallGraph call_graph(const ptx::Module& module, const ptx::Function& kernel,
                     const std::vector<uint32_t>& address_taken) {
  CallGraph graph;
  std::unordered_map<const ptx::Function*, uint32_t> index;
  auto number = [&](const ptx::Function* f) {
    auto [it, fresh] = index.try_emplace(f, uint32_t(graph.functions.size()));
    if (fresh) graph.functions.push_back(f);
    return it->second;
  };
  number(&kernel);
  for (uint32_t i = 0; i < graph.functions.size(); ++i) {
    std::vector<uint32_t> callees;
    for (const ptx::Instruction& in : graph.functions[i]->instructions) {
      if (in.opcode != "call") continue;
      for (const Operand& o : in.operands) {
        if (o.kind == OperandKind::symbol && o.symbol.kind == ptx::SymbolRef::Kind::function)
          callees.push_back(number(definition_of(module, o.symbol.index)));
        if (o.kind == OperandKind::reg)
          for (uint32_t taken : address_taken)
            callees.push_back(number(definition_of(module, taken)));
      }
    }
    std::sort(callees.begin(), callees.end());
    graph.callees.emplace_back();
    graph.sites.emplace_back();
    for (uint32_t callee : callees) {
      if (graph.callees.back().empty() || graph.callees.back().back() != callee) {
        graph.callees.back().push_back(callee);
        graph.sites.back().push_back(0);
      }
      ++graph.sites.back().back();
    }
  }
  return graph;
}

// Strongly connected components after Tarjan, "Depth-First Search and Linear Graph Algorithms",
// without recursion of its own: a module may chain any number of functions. `order`: all functions,
// callees before callers.
std::unordered_set<const ptx::Function*> on_cycles(const CallGraph& graph,
                                                   std::vector<uint32_t>& order) {
  const size_t n = graph.functions.size();
  constexpr uint32_t kNew = 0xffffffff;
  std::vector<uint32_t> number(n, kNew), low(n, 0), component;
  std::vector<bool> open(n, false);
  std::vector<std::pair<uint32_t, size_t>> path;
  std::unordered_set<const ptx::Function*> found;
  uint32_t next = 0;
  auto enter = [&](uint32_t f) {
    number[f] = low[f] = next++;
    open[f] = true;
    component.push_back(f);
    path.push_back({f, 0});
  };
  enter(0);
  while (!path.empty()) {
    auto& [f, i] = path.back();
    if (i < graph.callees[f].size()) {
      uint32_t callee = graph.callees[f][i++];
      if (callee == f) found.insert(graph.functions[f]);
      if (number[callee] == kNew)
        enter(callee);
      else if (open[callee])
        low[f] = std::min(low[f], number[callee]);
      continue;
    }
    uint32_t done = f;
    order.push_back(done);
    path.pop_back();
    if (!path.empty()) low[path.back().first] = std::min(low[path.back().first], low[done]);
    if (low[done] != number[done]) continue;
    bool alone = component.back() == done;
    for (uint32_t member = kNew; member != done;) {
      member = component.back();
      component.pop_back();
      open[member] = false;
      if (!alone) found.insert(graph.functions[member]);
    }
  }
  return found;
}

// Programs whose calls can all be inlined are. In the others every function but the small ones is
// a subroutine, too.
void add_uninlinable(const CallGraph& graph, const std::vector<uint32_t>& order,
                     std::unordered_set<const ptx::Function*>& subroutines) {
  struct Inlined {
    uint64_t instructions = 0;
    uint32_t depth = 0;
  };
  std::vector<Inlined> inlined(graph.functions.size());
  for (const bool all : {true, false})
    for (uint32_t f : order) {
      Inlined& body = inlined[f] = {graph.functions[f]->instructions.size(), 0};
      for (size_t i = 0; i < graph.callees[f].size(); ++i) {
        const uint32_t callee = graph.callees[f][i];
        if (subroutines.contains(graph.functions[callee])) continue;
        body.instructions += graph.sites[f][i] * inlined[callee].instructions;
        body.instructions =
            std::min(body.instructions, 2 * kMaxInlined);  // it may grow without end
        body.depth = std::max(body.depth, inlined[callee].depth + 1);
      }
      const bool fits = body.instructions <= kMaxInlined && body.depth <= kMaxInlineDepth;
      if (all && f == order.back() && fits) return;  // the kernel comes last
      if (!all && f != order.back() &&
          (body.instructions > kMaxSmallFunction || body.depth == kMaxInlineDepth))
        subroutines.insert(graph.functions[f]);
    }
}

}  // namespace

std::unordered_set<const ptx::Function*> Lowering::subroutine_functions() const {
  bool calls = std::any_of(d_.function.instructions.begin(), d_.function.instructions.end(),
                           [](const ptx::Instruction& in) { return in.opcode == "call"; });
  if (!calls) return {};
  const CallGraph graph = call_graph(d_.module, d_.function, address_taken());
  std::vector<uint32_t> order;
  std::unordered_set<const ptx::Function*> found = on_cycles(graph, order);
  add_uninlinable(graph, order, found);
  return found;
}

// A register that is named nowhere behind the call, or only after it has been written, need not be
// kept. One set of registers an instruction: those that may still be read when it has run.
const std::vector<std::vector<bool>>& Lowering::live_after(const ptx::Function& function) {
  auto [entry, fresh] = live_after_.try_emplace(&function);
  std::vector<std::vector<bool>>& live = entry->second;
  if (!fresh) return live;
  const std::vector<ptx::Instruction>& code = function.instructions;
  struct Step {
    std::vector<uint32_t> reads, writes, next;
  };
  std::vector<Step> steps(code.size());
  for (uint32_t i = 0; i < code.size(); ++i) {
    const ptx::Instruction& in = code[i];
    Step& step = steps[i];
    auto named = [](const auto& self, const Operand& o, std::vector<uint32_t>& list) -> void {
      if (o.kind == OperandKind::reg) list.push_back(o.reg);
      for (const Operand& e : o.elements) self(self, e, list);
    };
    Result<isa::Match> match = find_match(in);
    bool writes = false;
    if (match.ok() && !in.guard) {
      std::string_view operands = isa::row_info(match->row).operands;
      writes = operands.starts_with("d") || operands.starts_with("p");
    }
    for (size_t o = 0; o < in.operands.size(); ++o)
      named(named, in.operands[o], o == 0 && writes ? step.writes : step.reads);
    if (in.guard) step.reads.push_back(in.guard->reg);
    auto label = [&](uint32_t l) { step.next.push_back(function.labels[l].instruction); };
    for (const Operand& o : in.operands) {
      if (o.kind == OperandKind::label) label(o.index);
      if (o.kind == OperandKind::table && in.opcode == "brx")
        for (uint32_t l : function.branch_tables[o.index].labels) label(l);
    }
    bool leaves = in.opcode == "bra" || in.opcode == "brx" || in.opcode == "ret" ||
                  in.opcode == "exit" || in.opcode == "trap";
    if (!leaves || in.guard) step.next.push_back(i + 1);
  }
  live.assign(code.size() + 1, std::vector<bool>(function.registers.size(), false));
  std::vector<bool> before(function.registers.size());
  std::vector<std::vector<bool>> live_before = live;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = uint32_t(code.size()); i-- > 0;) {
      std::vector<bool>& after = live[i];
      for (uint32_t next : steps[i].next)
        for (size_t r = 0; r < after.size(); ++r)
          if (live_before[next][r]) after[r] = true;
      before = after;
      for (uint32_t r : steps[i].writes) before[r] = false;
      for (uint32_t r : steps[i].reads) before[r] = true;
      if (before != live_before[i]) live_before[i] = before, changed = true;
    }
  }
  return live;
}

Lowering::LocalPlace Lowering::local_place(const Instance& f, uint64_t offset) const {
  if (f.frame == nullptr) return {constant(offset), 0};
  return {reg(stack_pointer_), int64_t(offset)};
}

uint32_t Lowering::load_local(const LocalPlace& from, uint8_t bytes) {
  Ir& ir = append(IrKind::load);
  ir.row = kRowLd;
  ir.unobserved = true;
  ir.space = AccessSpace::local;
  ir.element = bytes == 8   ? Element::b64
               : bytes == 4 ? Element::b32
               : bytes == 2 ? Element::b16
                            : Element::u8;
  ir.offset = from.offset;
  ir.s[ir.sources++] = from.base;
  uint32_t to = d_.new_register(std::max<uint8_t>(bytes, 2));
  d_.code.back().d[d_.code.back().destinations++] = to;
  return to;
}

void Lowering::store_local(const LocalPlace& to, Source value, uint8_t bytes) {
  Ir& ir = append(IrKind::store);
  ir.row = kRowSt;
  ir.space = AccessSpace::local;
  ir.element = bytes == 8   ? Element::b64
               : bytes == 4 ? Element::b32
               : bytes == 2 ? Element::b16
                            : Element::u8;
  ir.offset = to.offset;
  ir.s[ir.sources++] = to.base;
  ir.s[ir.sources++] = value;
}

// Both places are aligned for the largest power of two up to 8 that divides `bytes`: .param
// variables that are copied have the same type on both sides.
void Lowering::copy_local(LocalPlace from, LocalPlace to, uint64_t bytes, uint64_t alignment) {
  for (uint64_t at = 0; at < bytes;) {
    uint64_t size = std::min<uint64_t>(alignment, 8);
    while (size > bytes - at) size /= 2;
    store_local({to.base, to.offset + int64_t(at)},
                reg(load_local({from.base, from.offset + int64_t(at)}, uint8_t(size))),
                uint8_t(size));
    at += size;
  }
}

// The stack pointer plus the size of `frame` (minus it, when `down`) plus `more`.
uint32_t Lowering::beyond_frame(Subroutine& frame, bool down, int64_t more, uint32_t destination) {
  frame.size_uses.push_back({uint32_t(d_.code.size()), down});
  return lane_op(isa::kRowAdd, Type::u32, Type::none,
                 {reg(stack_pointer_), constant(uint32_t(more))}, {}, destination);
}

Subroutine& Lowering::subroutine(const ptx::Function& function) {
  for (Subroutine& s : subroutines_)
    if (s.function == &function) return s;
  Subroutine& s = subroutines_.emplace_back();
  s.function = &function;
  for (uint32_t* label : {&s.entry, &s.exit}) {
    *label = uint32_t(d_.labels.size());
    d_.labels.push_back(0);
  }
  auto place = [&](const std::vector<ptx::Variable>& formals, std::vector<uint64_t>& offsets) {
    for (const ptx::Variable& v : formals) {
      s.frame_bytes = round_up(s.frame_bytes, v.alignment);
      offsets.push_back(s.frame_bytes);
      s.frame_bytes += v.bytes;
    }
  };
  place(function.parameters, s.parameters);
  place(function.returns, s.returns);
  return s;
}

Status Lowering::call_subroutine(Instance& f, const ptx::Instruction& in,
                                 const ptx::Function& target, const Operand* returns,
                                 const Operand* arguments) {
  Subroutine& s = subroutine(target);
  auto places = [&](const Operand* list,
                    const std::vector<ptx::Variable>& formals) -> Result<std::vector<uint64_t>> {
    size_t given = list ? list->elements.size() : 0;
    if (given != formals.size())
      return error_at(in, fmt::format("'{}' takes {} parameters, the call gives {}", target.name,
                                      formals.size(), given));
    std::vector<uint64_t> offsets;
    for (size_t i = 0; i < given; ++i) {
      Result<uint64_t> at = local_argument(f, in, list->elements[i]);
      if (!at.ok()) return at.error();
      offsets.push_back(*at);
    }
    return offsets;
  };
  Result<std::vector<uint64_t>> from = places(arguments, target.parameters);
  if (!from.ok()) return from.error();
  Result<std::vector<uint64_t>> to = places(returns, target.returns);
  if (!to.ok()) return to.error();

  // Registers of the subroutine that calls, and of what is inlined in it around this call.
  std::vector<uint32_t> kept;
  if (f.frame != nullptr) {
    uint32_t at = uint32_t(&in - f.function->instructions.data());
    std::unordered_set<uint32_t> seen;
    for (Instance* i = &f; i != nullptr; i = i->caller) {
      const std::vector<bool>& live = live_after(*i->function)[at];
      for (uint32_t r = 0; r < live.size(); ++r)
        if (live[r]) {
          kept.push_back(ir_register(*i, r));
          if (i->function->registers[r].type == Type::b128) kept.push_back(halves(*i, r)[1]);
        }
      if (i->caller != nullptr) at = d_.program->sites[i->call_site].instruction;
    }
  }
  const int64_t room = int64_t(round_up(8 * kept.size(), kFrameAlignment));
  uint32_t base = stack_pointer_;  // of the new frame
  if (f.frame != nullptr) {
    uint32_t top = beyond_frame(*f.frame, false, 0);
    for (size_t i = 0; i < kept.size(); ++i) {
      uint8_t bytes = d_.registers[kept[i]].bytes;
      uint32_t value = kept[i];
      if (bytes == 0) {  // a predicate
        value = lane_op(kRowSelp, Type::b32, Type::none, {constant(1), constant(0), reg(kept[i])});
        bytes = 4;
      }
      store_local({reg(top), int64_t(8 * i)}, reg(value), bytes);
    }
    base = lane_op(isa::kRowAdd, Type::u32, Type::none, {reg(top), constant(uint64_t(room))});
  }
  for (size_t i = 0; i < from->size(); ++i)
    copy_local(local_place(f, (*from)[i]), {reg(base), int64_t(s.parameters[i])},
               target.parameters[i].bytes, target.parameters[i].alignment);
  store_local({reg(base), 0}, constant(s.call_sites.size()), 4);
  if (base != stack_pointer_)
    lane_op(isa::kRowMov, Type::b32, Type::none, {reg(base)}, {}, stack_pointer_);
  branch(s.entry);

  s.call_sites.push_back(uint32_t(d_.labels.size()));
  d_.labels.push_back(uint32_t(d_.code.size()));
  base = stack_pointer_;
  if (f.frame != nullptr) {
    base = lane_op(isa::kRowMov, Type::b32, Type::none, {reg(stack_pointer_)});
    beyond_frame(*f.frame, true, -room, stack_pointer_);
  }
  for (size_t i = 0; i < to->size(); ++i)
    copy_local({reg(base), int64_t(s.returns[i])}, local_place(f, (*to)[i]),
               target.returns[i].bytes, target.returns[i].alignment);
  if (kept.empty()) return Unit{};
  uint32_t top = beyond_frame(*f.frame, false, 0);
  for (size_t i = 0; i < kept.size(); ++i) {
    uint8_t bytes = d_.registers[kept[i]].bytes;
    uint32_t value = load_local({reg(top), int64_t(8 * i)}, bytes == 0 ? 4 : bytes);
    if (bytes == 0)
      lane_op(isa::kRowSetpInt, Type::u32, Type::none, {reg(value), constant(0)},
              isa::Mods{}.with(Field::cmp, isa::kNe), kept[i]);
    else
      lane_op(isa::kRowMov, bits_type(bytes), Type::none, {reg(value)}, {}, kept[i]);
  }
  return Unit{};
}

Status Lowering::lower_subroutines() {
  for (size_t i = 0; i < subroutines_.size(); ++i) {  // lowering one may add others
    Subroutine& s = subroutines_[i];
    Instance g;
    g.function = s.function;
    g.depth = 1;
    g.frame = &s;
    g.parameters = s.parameters;
    g.returns = s.returns;
    g.return_label = s.exit;
    d_.labels[s.entry] = uint32_t(d_.code.size());
    if (Status status = body(g); !status.ok()) return status;
    guard_ = kNoReg;
    branch(s.exit);
  }
  for (Subroutine& s : subroutines_) {
    d_.labels[s.exit] = uint32_t(d_.code.size());
    uint32_t number = load_local({reg(stack_pointer_), 0}, 4);
    for (size_t i = 0; i < s.call_sites.size(); ++i) {
      if (i + 1 < s.call_sites.size()) {
        guard_ = lane_op(isa::kRowSetpInt, Type::u32, Type::none, {reg(number), constant(i)},
                         isa::Mods{}.with(Field::cmp, isa::kEq));
        guard_negated_ = false;
      }
      branch(s.call_sites[i]);
      guard_ = kNoReg;
    }
    const int64_t bytes = int64_t(round_up(s.frame_bytes, kFrameAlignment));
    for (auto [index, down] : s.size_uses) {
      Source& constant = d_.code[index].s[1];
      constant.value = uint32_t(int64_t(constant.value) + (down ? -bytes : bytes));
    }
  }
  return Unit{};
}

}  // namespace tw::emu
