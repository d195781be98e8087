// PTX instructions -> IR. Every operand becomes a register or a constant of the size the row's body
// wants (narrowing and widening moves are put in where PTX allows a wider register), and what the
// engine lacks is refused here, before the kernel starts.
#include <fmt/format.h>

#include <bit>

#include "emu/lowering.h"
#include "emu/shared_layout.h"
#include "emu/windows.h"
#include "isa/lane_rows.h"

namespace tw::emu {

Status Lowering::run() {
  for (uint32_t& s : d_.special) s = kNoReg;
  lay_out_parameters();
  Instance kernel;
  kernel.function = &d_.function;
  if (Status s = lay_out_shared(); !s.ok()) return s;
  uninlined_ = subroutine_functions();
  uint32_t stack_start = 0;
  if (!uninlined_.empty()) {
    stack_pointer_ = d_.new_register(4);
    stack_start = uint32_t(d_.code.size());
    lane_op(isa::kRowMov, Type::b32, Type::none, {constant(0)}, {}, stack_pointer_);
  }
  if (Status s = body(kernel); !s.ok()) return s;
  if (!uninlined_.empty()) {
    append(IrKind::exit);
    if (Status s = lower_subroutines(); !s.ok()) return s;
    d_.code[stack_start].s[0].value = round_up(local_bytes_, 16);
  }
  d_.program->local_bytes = round_up(local_bytes_, 16);
  d_.program->has_subroutines = !uninlined_.empty();
  d_.program->static_shared_bytes = shared_bytes_;
  return Unit{};
}

void Lowering::lay_out_parameters() {
  uint32_t at = 0;
  for (const ptx::Variable& p : d_.function.parameters) {
    at = uint32_t(round_up(at, p.alignment));
    parameter_offsets_.push_back(at);
    at += uint32_t(p.bytes);
  }
  d_.program->parameter_offset = kFirstFree * 8;
  d_.program->parameter_bytes = at;
  uniform_end_ = uint32_t(round_up(d_.program->parameter_offset + at, 8));
  d_.program->uniform_bytes = uniform_end_;
}

Reachable reachable_from(const ptx::Module& module, const ptx::Function& kernel) {
  Reachable out;
  out.variables.resize(module.variables.size());
  std::vector<bool> seen(module.functions.size());
  std::vector<const ptx::Function*> work{&kernel};
  auto function = [&](size_t index) {
    if (seen[index]) return;
    seen[index] = true;
    const ptx::Function* callee = &module.functions[index];
    if (!callee->has_body)
      if (const ptx::Function* definition = module.find_function(callee->name);
          definition != nullptr)
        callee = definition;
    work.push_back(callee);
    if (std::find(out.functions.begin(), out.functions.end(), callee) == out.functions.end())
      out.functions.push_back(callee);
  };
  auto operand = [&](auto& self, const Operand& o) -> void {
    if (o.kind == OperandKind::symbol) {
      if (o.symbol.kind == ptx::SymbolRef::Kind::module_variable)
        out.variables[o.symbol.index] = true;
      else if (o.symbol.kind == ptx::SymbolRef::Kind::function)
        function(o.symbol.index);
    }
    for (const Operand& e : o.elements) self(self, e);
  };
  // A variable whose initialiser leads to functions that are called indirectly: take them all.
  for (const ptx::Variable& v : module.variables)
    for (const ptx::Relocation& r : v.relocations)
      if (r.symbol.kind == ptx::SymbolRef::Kind::function) {
        out.variables.assign(module.variables.size(), true);
        for (size_t i = 0; i < module.functions.size(); ++i)
          if (!module.functions[i].entry) function(i);
      }
  while (!work.empty()) {
    const ptx::Function* f = work.back();
    work.pop_back();
    for (const ptx::Instruction& in : f->instructions)
      for (const Operand& o : in.operands) operand(operand, o);
  }
  return out;
}

// The system's part of shared memory, at its beginning: on the hardware every CTA has it, here
// those of modules that ask where it lies (cooperative groups keep a few words there).
constexpr uint64_t kReservedShared = 1024;
constexpr std::string_view kReservedRegister = "%reserved_smem_offset_";

static bool reads_reserved_shared(const ptx::Module& module) {
  for (const ptx::Function& f : module.functions)
    for (const ptx::Instruction& in : f.instructions)
      for (const Operand& o : in.operands)
        if (o.kind == OperandKind::special && o.name.starts_with(kReservedRegister)) return true;
  return false;
}

SharedLayout shared_layout(const ptx::Module& module, const ptx::Function& kernel) {
  const Reachable reachable = reachable_from(module, kernel);
  const std::vector<bool>& used = reachable.variables;
  SharedLayout layout;
  if (reads_reserved_shared(module)) layout.reserved = kReservedShared;
  uint64_t at = layout.reserved;
  uint64_t dynamic_alignment = 16;
  auto place = [&](const ptx::Variable& v) {
    at = round_up(at, v.alignment);
    uint64_t offset = at;
    at += v.bytes;
    return offset;
  };
  layout.module.assign(module.variables.size(), 0);
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable& v = module.variables[i];
    if (v.space != ptx::Space::shared || !used[i]) continue;
    if (v.bytes != 0)
      layout.module[i] = place(v), layout.arrays.push_back({&v, layout.module[i]});
    else
      dynamic_alignment = std::max<uint64_t>(dynamic_alignment, v.alignment);
  }
  layout.kernel.assign(kernel.variables.size(), 0);
  for (size_t i = 0; i < kernel.variables.size(); ++i) {
    const ptx::Variable& v = kernel.variables[i];
    if (v.space != ptx::Space::shared) continue;
    if (v.bytes != 0)
      layout.kernel[i] = place(v), layout.arrays.push_back({&v, layout.kernel[i]});
    else
      dynamic_alignment = std::max<uint64_t>(dynamic_alignment, v.alignment);
  }
  for (const ptx::Function* f : reachable.functions)
    for (const ptx::Variable& v : f->variables)
      if (v.space == ptx::Space::shared && v.bytes != 0)
        layout.arrays.push_back({&v, layout.functions[&v] = place(v)});
  layout.static_bytes = at;
  layout.dynamic = round_up(at, dynamic_alignment);
  bool dynamic = false;
  for (size_t i = 0; i < module.variables.size(); ++i)
    if (used[i] && module.variables[i].space == ptx::Space::shared &&
        module.variables[i].bytes == 0)
      layout.module[i] = layout.dynamic, dynamic = true;
  for (size_t i = 0; i < kernel.variables.size(); ++i)
    if (kernel.variables[i].space == ptx::Space::shared && kernel.variables[i].bytes == 0)
      layout.kernel[i] = layout.dynamic, dynamic = true;
  for (const ptx::Function* f : reachable.functions)
    for (const ptx::Variable& v : f->variables)
      if (v.space == ptx::Space::shared && v.bytes == 0)
        layout.functions[&v] = layout.dynamic, dynamic = true;
  if (dynamic) layout.static_bytes = layout.dynamic;
  return layout;
}

Status Lowering::lay_out_shared() {
  SharedLayout layout = shared_layout(d_.module, d_.function);
  module_shared_ = std::move(layout.module);
  kernel_shared_ = std::move(layout.kernel);
  function_shared_ = std::move(layout.functions);
  shared_bytes_ = layout.static_bytes;
  reserved_shared_ = layout.reserved;
  dynamic_shared_ = layout.dynamic;
  return Unit{};
}

void Lowering::lay_out_locals(Instance& f) {
  f.variables.assign(f.function->variables.size(), 0);
  for (size_t i = 0; i < f.variables.size(); ++i) {
    const ptx::Variable& v = f.function->variables[i];
    if (v.space == ptx::Space::shared) {
      if (f.depth == 0) {
        f.variables[i] = kernel_shared_[i];
      } else {  // a device function's own __shared__ variable: one per module, whoever calls
        f.variables[i] = function_shared_.at(&v);
      }
      continue;
    }
    uint64_t& end = f.frame != nullptr ? f.frame->frame_bytes : local_bytes_;
    end = round_up(end, v.alignment);
    f.variables[i] = end;
    end += v.bytes;
  }
}

uint32_t Lowering::lane_op(isa::RowId row, Type type, Type type2,
                           std::initializer_list<Source> sources, isa::Mods mods,
                           uint32_t destination) {
  const LaneEntry* entry = find_entry(d_.target, row, type, type2);
  if (destination == kNoReg) destination = d_.new_register(entry->destination_bytes);
  Ir& ir = append(IrKind::lane);
  ir.row = row;
  ir.entry = entry;
  ir.mods = mods;
  ir.destinations = 1;
  ir.d[0] = destination;
  for (const Source& s : sources) ir.s[ir.sources++] = s;
  ir.guard = guard_;
  ir.guard_negated = guard_negated_;
  return destination;
}

Source Lowering::resize(Source source, uint8_t from, uint8_t to, bool sign_extend, bool saturate) {
  if (source.constant || from == to || from == 0 || to == 0) return source;
  isa::Mods mods;
  if (saturate) mods = mods.with(Field::sat, 1);
  Type to_type = sign_extend ? signed_type(to) : unsigned_type(to),
       from_type = sign_extend ? signed_type(from) : unsigned_type(from);
  return reg(lane_op(isa::kRowCvtInt, to_type, from_type, {source}, mods));
}

uint32_t Lowering::ir_register(Instance& f, uint32_t ptx_register) {
  uint32_t& r = f.registers[ptx_register];
  if (r == kNoReg) r = d_.new_register(register_bytes(f.function->registers[ptx_register].type));
  return r;
}

std::array<uint32_t, 2> Lowering::halves(Instance& f, uint32_t ptx_register) {
  const auto [upper, fresh] = f.upper_halves.try_emplace(ptx_register, kNoReg);
  if (fresh) upper->second = d_.new_register(8);
  return {ir_register(f, ptx_register), upper->second};
}

uint32_t Lowering::fixed_scalar(uint32_t slot, uint8_t bytes) {
  uint32_t r = d_.new_register(bytes);
  IrRegister& info = d_.registers[r];
  info.fixed_slot = info.scalar_slot = true;
  info.slot = slot;
  info.shape.kind = Shape::uniform;
  return r;
}

uint32_t Lowering::lane_init(LaneInit what, Shape shape) {
  uint32_t index = uint32_t(what);
  if (d_.special[index] != kNoReg) return d_.special[index];
  uint32_t r = d_.new_register(4);
  IrRegister& info = d_.registers[r];
  info.fixed_slot = true;
  info.scalar_slot = shape.kind == Shape::uniform;
  info.shape = shape;
  if (info.scalar_slot) {
    info.slot = uniform_end_;
    uniform_end_ += 8;
    d_.program->uniform_bytes = uniform_end_;
  }  // lane slots are given by allocate
  d_.program->lane_inits.push_back({what, info.slot, info.scalar_slot});
  lane_init_registers_.push_back(r);
  return d_.special[index] = r;
}

Shape Lowering::tid_shape(int axis) const {
  auto [x, y, z] = d_.options.block_shape;
  Shape s;
  uint32_t extent = axis == 0 ? x : axis == 1 ? y : z;
  if (extent == 1) return {Shape::uniform, false, 0};
  uint64_t below = axis == 0   ? 1
                   : axis == 1 ? x
                               : uint64_t(x) * y;  // threads before this index changes
  if (axis == 0) {
    if (x % 32 == 0 || (y == 1 && z == 1)) return {Shape::affine, true, 1};
    if (x % 16 == 0) return {Shape::affine, false, 1};
  } else {
    if (below % 32 == 0) return {Shape::uniform, false, 0};
    if (below % 16 == 0) return {Shape::affine, false, 0};
  }
  return {Shape::varying, false, 0};
}

Result<Source> Lowering::special(const ptx::Instruction& in, const std::string& name,
                                 uint8_t& bytes) {
  bytes = 4;
  auto [bx, by, bz] = d_.options.block_shape;
  uint32_t threads = bx * by * bz;
  if (name == "%tid.x") return reg(lane_init(LaneInit::tid_x, tid_shape(0)));
  if (name == "%tid.y") return reg(lane_init(LaneInit::tid_y, tid_shape(1)));
  if (name == "%tid.z") return reg(lane_init(LaneInit::tid_z, tid_shape(2)));
  if (name == "%ntid.x") return constant(bx);
  if (name == "%ntid.y") return constant(by);
  if (name == "%ntid.z") return constant(bz);
  if (name == "%ctaid.x") return reg(slot_register(kCtaidX));
  if (name == "%ctaid.y") return reg(slot_register(kCtaidY));
  if (name == "%ctaid.z") return reg(slot_register(kCtaidZ));
  if (name == "%nctaid.x") return reg(slot_register(kNctaidX));
  if (name == "%nctaid.y") return reg(slot_register(kNctaidY));
  if (name == "%nctaid.z") return reg(slot_register(kNctaidZ));
  if (name == "%warpid") return reg(slot_register(kWarpId));
  if (name == "%gridid") return reg(slot_register(kGridId));
  if (name == "%smid") return reg(slot_register(kSmId));
  if (name == "%dynamic_smem_size") return reg(slot_register(kDynamicShared));
  if (name == "%total_smem_size" || name == "%aggr_smem_size") {
    const uint64_t fixed = shared_bytes_ - reserved_shared_;
    return reg(lane_op(isa::kRowAdd, Type::u32, Type::none,
                       {reg(slot_register(kDynamicShared)),
                        constant(name[1] == 't' ? fixed : fixed + kReservedShared)}));
  }
  if (name.starts_with(kReservedRegister)) {
    const std::string_view place = std::string_view(name).substr(kReservedRegister.size());
    return constant(place == "begin" || place == "0" ? 0
                    : place == "1"                   ? kReservedShared / 2
                                                     : kReservedShared);
  }
  if (name == "%nwarpid") return constant((threads + 31) / 32);
  if (name == "WARP_SZ") return constant(32);
  if (name == "%laneid") return reg(lane_init(LaneInit::lane_id, {Shape::affine, true, 1}));
  if (name == "%lanemask_eq")
    return reg(lane_init(LaneInit::lanemask_eq, {Shape::varying, false, 0}));
  if (name == "%lanemask_lt")
    return reg(lane_init(LaneInit::lanemask_lt, {Shape::varying, false, 0}));
  if (name == "%lanemask_le")
    return reg(lane_init(LaneInit::lanemask_le, {Shape::varying, false, 0}));
  if (name == "%lanemask_gt")
    return reg(lane_init(LaneInit::lanemask_gt, {Shape::varying, false, 0}));
  if (name == "%lanemask_ge")
    return reg(lane_init(LaneInit::lanemask_ge, {Shape::varying, false, 0}));
  if (const std::optional<Source> s = cluster_register(name)) return *s;
  if (name == "%envreg1") return reg(slot_register(kEnvreg1));
  if (name == "%envreg2") return reg(slot_register(kEnvreg2));
  if (name.starts_with("%envreg")) return constant(0);
  Builtin clock = name == "%clock"         ? Builtin::clock32
                  : name == "%clock64"     ? Builtin::clock64
                  : name == "%globaltimer" ? Builtin::global_timer
                                           : Builtin::count;
  if (clock != Builtin::count) {
    bytes = clock == Builtin::clock32 ? 4 : 8;
    Ir& ir = append(IrKind::machine);
    ir.builtin = int32_t(clock);
    ir.destinations = 1;
    uint32_t r = d_.new_register(bytes);
    d_.code.back().d[0] = r;
    d_.program->order_dependent = true;
    return reg(r);
  }
  return error_at(in, fmt::format("special register '{}' is not supported", name));
}

uint32_t Lowering::slot_register(UniformSlot slot) {
  uint32_t& r = slot_registers_[slot];
  if (r == kNoReg) r = fixed_scalar(slot * 8, 4);
  return r;
}

Result<Source> Lowering::symbol_address(Instance& f, const ptx::Instruction& in, const Operand& o,
                                        ptx::Space* space) {
  ptx::Space where = ptx::Space::global;
  uint64_t address = 0;
  switch (o.symbol.kind) {
    case ptx::SymbolRef::Kind::module_variable: {
      const ptx::Variable& v = d_.module.variables[o.symbol.index];
      where = v.space;
      address = v.space == ptx::Space::shared ? module_shared_[o.symbol.index]
                                              : d_.symbols.variables[o.symbol.index];
      if (v.space != ptx::Space::shared && address == 0)
        return error_at(
            in, fmt::format("variable '{}' is declared but not defined in this module", v.name));
      break;
    }
    case ptx::SymbolRef::Kind::function_variable: {
      where = f.function->variables[o.symbol.index].space;
      address = f.variables[o.symbol.index];
      if (where == ptx::Space::param) where = ptx::Space::local;
      break;
    }
    case ptx::SymbolRef::Kind::parameter:
      if (f.depth == 0) {
        d_.program->parameters_addressed = true;
        if (parameter_address_ == kNoReg) {
          d_.program->parameter_address_offset = uniform_end_;
          parameter_address_ = fixed_scalar(uniform_end_, 8);
          uniform_end_ += 8;
          d_.program->uniform_bytes = uniform_end_;
        }
        if (space) *space = ptx::Space::global;
        uint64_t offset = parameter_offsets_[o.symbol.index] + uint64_t(o.offset);
        if (offset == 0) return reg(parameter_address_);
        return reg(lane_op(isa::kRowAdd, Type::u64, Type::none,
                           {reg(parameter_address_), constant(offset)}));
      }
      where = ptx::Space::local;
      address = f.parameters[o.symbol.index];
      break;
    case ptx::SymbolRef::Kind::return_parameter:
      where = ptx::Space::local;
      address = f.returns[o.symbol.index];
      break;
    case ptx::SymbolRef::Kind::function: address = function_address(o.symbol.index); break;
  }
  if (space) *space = where;
  if (where == ptx::Space::local && f.frame != nullptr)
    return reg(lane_op(isa::kRowAdd, Type::u32, Type::none,
                       {reg(stack_pointer_), constant(uint32_t(address + uint64_t(o.offset)))}));
  return constant(address + uint64_t(o.offset));
}

static std::string wide_register_message(const ptx::Instruction& in) {
  return fmt::format("'{}' takes no .b128 register: split it, with mov.b128 {{low, high}}, ...",
                     in.spelling());
}

Result<Source> Lowering::source(Instance& f, const ptx::Instruction& in, const Operand& o,
                                uint8_t bytes, Type type) {
  switch (o.kind) {
    case OperandKind::reg: {
      if (o.minus)
        return error_at(in, fmt::format("'{}' takes no negated register: negate it before, with "
                                        "neg",
                                        in.spelling()));
      if (is_wide(f, o)) return error_at(in, wide_register_message(in));
      uint32_t r = ir_register(f, o.reg);
      uint8_t have = d_.registers[r].bytes;
      if (bytes == 0) {
        if (have != 0)
          return error_at(in, fmt::format("'{}' needs a predicate here, not register {}",
                                          in.spelling(), f.function->registers[o.reg].name));
        return o.negated ? reg(lane_op(isa::kRowNotPred, Type::pred, Type::none, {reg(r)}))
                         : reg(r);
      }
      if (have == 0)
        return error_at(in, fmt::format("'{}' cannot take the predicate {} as a value",
                                        in.spelling(), f.function->registers[o.reg].name));
      if (have < bytes)
        return error_at(in, fmt::format("register {} is too narrow for '{}'",
                                        f.function->registers[o.reg].name, in.spelling()));
      return resize(reg(r), have, bytes, false);
    }
    case OperandKind::special: {
      uint8_t have = 4;
      Result<Source> s = special(in, o.name, have);
      if (!s.ok()) return s;
      return resize(*s, have, bytes, false);
    }
    case OperandKind::integer: {
      if (bytes == 0) return constant(o.bits ? kFullMask : 0);
      uint64_t mask = bytes == 8 ? ~0ull : (1ull << (bytes * 8)) - 1;
      return constant(o.bits & mask);
    }
    case OperandKind::float32:
      if (type == Type::f64)
        return constant(std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(o.bits)))));
      return constant(o.bits);
    case OperandKind::float64:
      if (bytes == 4)
        return constant(std::bit_cast<uint32_t>(float(std::bit_cast<double>(o.bits))));
      return constant(o.bits);
    case OperandKind::symbol: {
      ptx::Space space;
      Result<Source> s = symbol_address(f, in, o, &space);
      if (s.ok() && s->constant && bytes < 8) s->value &= (1ull << (bytes * 8)) - 1;
      if (s.ok() && !s->constant) *s = resize(*s, d_.registers[s->reg].bytes, bytes, false);
      return s;
    }
    default:
      return error_at(in,
                      fmt::format("this kind of operand is not supported by '{}'", in.spelling()));
  }
}

Result<Lowering::Destination> Lowering::destination(Instance& f, const ptx::Instruction& in,
                                                    const Operand& o, uint8_t bytes,
                                                    bool sign_extend) {
  Destination out;
  if (o.kind == OperandKind::sink) {
    out.reg = d_.new_register(bytes);
    return out;
  }
  if (o.kind != OperandKind::reg)
    return error_at(in, fmt::format("'{}' needs a register as destination", in.spelling()));
  if (is_wide(f, o)) return error_at(in, wide_register_message(in));
  uint32_t r = ir_register(f, o.reg);
  uint8_t have = d_.registers[r].bytes;
  if ((have == 0) != (bytes == 0) || have < bytes)
    return error_at(in, fmt::format("register {} does not fit the result of '{}'",
                                    f.function->registers[o.reg].name, in.spelling()));
  if (have == bytes) {
    out.reg = r;
    return out;
  }
  out.reg = d_.new_register(bytes);
  out.widened = r;
  out.sign_extend = sign_extend;
  return out;
}

void Lowering::finish(const Destination& out) {
  if (out.widened == kNoReg) return;
  uint8_t from = d_.registers[out.reg].bytes, to = d_.registers[out.widened].bytes;
  lane_op(isa::kRowCvtInt, out.sign_extend ? signed_type(to) : unsigned_type(to),
          out.sign_extend ? signed_type(from) : unsigned_type(from), {reg(out.reg)}, {},
          out.widened);
}

// A message of PTX at the line of the user's source, where the PTX tells it (-lineinfo).
Error Lowering::at_source(Error error) const {
  if (error.file != d_.module.name) return error;  // told already, where a callee was lowered
  const SitePlace place = place_of(*d_.program, site_);
  if (!place.source) return error;
  error.message += fmt::format(" (line {} of the PTX of {})", error.line, error.file);
  error.file = place.file;
  error.line = place.line;
  error.column = 0;
  return error;
}

Status Lowering::body(Instance& f) {
  const ptx::Function& fn = *f.function;
  f.registers.assign(fn.registers.size(), kNoReg);
  lay_out_locals(f);
  f.labels.resize(fn.labels.size());
  for (uint32_t& l : f.labels) {
    l = uint32_t(d_.labels.size());
    d_.labels.push_back(0);
  }
  // Labels in order of position.
  std::vector<uint32_t> order(fn.labels.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return fn.labels[a].instruction < fn.labels[b].instruction;
  });
  size_t next = 0;
  for (uint32_t i = 0; i <= fn.instructions.size(); ++i) {
    for (; next < order.size() && fn.labels[order[next]].instruction == i; ++next)
      d_.labels[f.labels[order[next]]] = uint32_t(d_.code.size());
    if (i == fn.instructions.size()) break;
    site_ = uint32_t(d_.program->sites.size());
    d_.program->sites.push_back({&fn, i, f.call_site});
    if (d_.code.size() > kMaxInstructions)
      return error_at(fn.instructions[i],
                      "the kernel is too large once its device functions are inlined");
    if (Status s = instruction(f, fn.instructions[i]); !s.ok()) return at_source(s.error());
  }
  if (fn.instructions.empty()) {
    site_ = uint32_t(d_.program->sites.size());
    d_.program->sites.push_back({&fn, 0, f.call_site});
  }
  return Unit{};
}

Status Lowering::instruction(Instance& f, const ptx::Instruction& in) {
  guard_ = kNoReg;
  guard_negated_ = false;
  if (in.guard) {
    guard_ = ir_register(f, in.guard->reg);
    guard_negated_ = in.guard->negated;
    if (d_.registers[guard_].bytes != 0)
      return error_at(in, "the guard is not a predicate register");
  }
  Result<isa::Match> match = find_match(in);
  if (!match.ok()) return match.error();
  if (std::optional<Machine> machine = isa::machine_row(match->row))
    return machine_instruction(f, in, *match, *machine);
  return lane_instruction(f, in, *match);
}

Result<isa::Match> Lowering::find_match(const ptx::Instruction& in) {
  spelling_.assign(in.opcode);
  for (const std::string& m : in.modifiers) spelling_.append(1, '.').append(m);
  spelling_.append(1, ' ').append(
      1, char('0' + std::min<size_t>(in.operands.size(), 70)));  // min.f32 has two forms
  auto found = matches_.find(spelling_);
  if (found != matches_.end()) return found->second;
  Result<isa::Match> m = isa::match(in, d_.module.name);
  if (m.ok()) matches_.emplace(spelling_, *m);
  return m;
}

Status lower(Decoding& d) {
  Lowering lowering(d);
  Status s = lowering.run();
  d.lane_init_registers = lowering.lane_init_registers();
  return s;
}

}  // namespace tw::emu
