// PTX instructions -> IR. Every operand becomes a register or a constant of the size the row's body
// wants (narrowing and widening moves are put in where PTX allows a wider register), device functions
// are inlined at their calls, and what the engine lacks is refused here, before the kernel starts.
//
// Device functions are inlined rather than called: registers stay slots of one frame, and reconvergence
// needs no call stack. Recursion and calls through pointers are refused.
#include <fmt/format.h>

#include <bit>
#include <unordered_map>

#include "emu/ir.h"
#include "emu/machine_handlers.h"
#include "emu/windows.h"
#include "isa/lane_rows.h"

namespace tw::emu {
namespace {

using isa::Field;
using isa::Machine;
using ptx::Operand;
using ptx::Type;
using OperandKind = ptx::Operand::Kind;

constexpr uint32_t kMaxInlineDepth = 32;
constexpr size_t kMaxInstructions = 4'000'000;

uint8_t register_bytes(Type type) {
  if (type == Type::pred) return 0;
  uint32_t bytes = ptx::type_bytes(type);
  return bytes < 2 ? 2 : uint8_t(bytes);
}

Type unsigned_type(uint8_t bytes) { return bytes == 8 ? Type::u64 : bytes == 4 ? Type::u32 : Type::u16; }
Type signed_type(uint8_t bytes) { return bytes == 8 ? Type::s64 : bytes == 4 ? Type::s32 : Type::s16; }
Type bits_type(uint8_t bytes) { return bytes == 8 ? Type::b64 : bytes == 4 ? Type::b32 : Type::b16; }

bool is_signed(Type t) { return t == Type::s8 || t == Type::s16 || t == Type::s32 || t == Type::s64; }

uint64_t round_up(uint64_t value, uint64_t to) { return to <= 1 ? value : (value + to - 1) / to * to; }

// One function being lowered: the kernel, or a device function at one call.
struct Instance {
  const ptx::Function* function = nullptr;
  const Instance* caller = nullptr;
  uint32_t depth = 0;
  std::vector<uint32_t> registers;         // PTX register -> IR register
  std::vector<uint64_t> variables;         // function variable -> shared or local offset
  std::vector<uint32_t> labels;            // PTX label -> label id
  std::vector<uint64_t> parameters, returns;  // device function: local offsets of the caller's .param variables
  uint32_t return_label = 0;
};

class Lowering {
 public:
  explicit Lowering(Decoding& d) : d_(d) {}

  Status run() {
    for (uint32_t& s : d_.special) s = kNoReg;
    lay_out_parameters();
    Instance kernel;
    kernel.function = &d_.function;
    if (Status s = lay_out_shared(); !s.ok()) return s;
    if (Status s = body(kernel); !s.ok()) return s;
    d_.program->local_bytes = round_up(local_bytes_, 16);
    d_.program->static_shared_bytes = shared_bytes_;
    return Unit{};
  }

 private:
  Error error_at(const ptx::Instruction& in, std::string message) const { return Error{std::move(message), d_.module.name, in.line, in.column}; }

  // ---- layout ----

  void lay_out_parameters() {
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

  // Shared variables of the module and of the kernel, then the dynamic part.
  Status lay_out_shared() {
    module_shared_.assign(d_.module.variables.size(), 0);
    uint64_t at = 0;
    uint64_t dynamic_alignment = 16;
    auto place = [&](const ptx::Variable& v) {
      at = round_up(at, v.alignment);
      uint64_t offset = at;
      at += v.bytes;
      return offset;
    };
    for (size_t i = 0; i < d_.module.variables.size(); ++i) {
      const ptx::Variable& v = d_.module.variables[i];
      if (v.space != ptx::Space::shared) continue;
      if (v.bytes != 0) module_shared_[i] = place(v);
      else dynamic_alignment = std::max<uint64_t>(dynamic_alignment, v.alignment);
    }
    kernel_shared_.assign(d_.function.variables.size(), 0);
    for (size_t i = 0; i < d_.function.variables.size(); ++i) {
      const ptx::Variable& v = d_.function.variables[i];
      if (v.space != ptx::Space::shared) continue;
      if (v.bytes != 0) kernel_shared_[i] = place(v);
      else dynamic_alignment = std::max<uint64_t>(dynamic_alignment, v.alignment);
    }
    shared_bytes_ = at;
    dynamic_shared_ = round_up(at, dynamic_alignment);
    bool dynamic = false;
    for (size_t i = 0; i < d_.module.variables.size(); ++i)
      if (d_.module.variables[i].space == ptx::Space::shared && d_.module.variables[i].bytes == 0) module_shared_[i] = dynamic_shared_, dynamic = true;
    for (size_t i = 0; i < d_.function.variables.size(); ++i)
      if (d_.function.variables[i].space == ptx::Space::shared && d_.function.variables[i].bytes == 0) kernel_shared_[i] = dynamic_shared_, dynamic = true;
    if (dynamic) shared_bytes_ = dynamic_shared_;
    return Unit{};
  }

  void lay_out_locals(Instance& f) {
    f.variables.assign(f.function->variables.size(), 0);
    for (size_t i = 0; i < f.variables.size(); ++i) {
      const ptx::Variable& v = f.function->variables[i];
      if (v.space == ptx::Space::shared) {
        if (f.depth == 0) {
          f.variables[i] = kernel_shared_[i];
        } else {  // a device function's own __shared__ variable: one per module, whoever calls
          auto [it, fresh] = function_shared_.try_emplace(&v, 0);
          if (fresh) {
            shared_bytes_ = round_up(shared_bytes_, v.alignment);
            it->second = shared_bytes_;
            shared_bytes_ += v.bytes;
          }
          f.variables[i] = it->second;
        }
        continue;
      }
      local_bytes_ = round_up(local_bytes_, v.alignment);
      f.variables[i] = local_bytes_;
      local_bytes_ += v.bytes;
    }
  }

  // ---- small pieces ----

  Ir& append(IrKind kind) {
    Ir ir;
    ir.kind = kind;
    ir.site = site_;
    d_.code.push_back(ir);
    return d_.code.back();
  }

  static Source constant(uint64_t value) { return Source{true, value, kNoReg}; }
  static Source reg(uint32_t r) { return Source{false, 0, r}; }

  uint32_t lane_op(isa::RowId row, Type type, Type type2, std::initializer_list<Source> sources, isa::Mods mods = {}, uint32_t destination = kNoReg) {
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

  // `source` (a register of `from` bytes) as a value of `to` bytes.
  Source resize(Source source, uint8_t from, uint8_t to, bool sign_extend, bool saturate = false) {
    if (source.constant || from == to || from == 0 || to == 0) return source;
    isa::Mods mods;
    if (saturate) mods = mods.with(Field::sat, 1);
    Type to_type = sign_extend ? signed_type(to) : unsigned_type(to), from_type = sign_extend ? signed_type(from) : unsigned_type(from);
    return reg(lane_op(isa::kRowCvtInt, to_type, from_type, {source}, mods));
  }

  uint32_t ir_register(Instance& f, uint32_t ptx_register) {
    uint32_t& r = f.registers[ptx_register];
    if (r == kNoReg) r = d_.new_register(register_bytes(f.function->registers[ptx_register].type));
    return r;
  }

  uint32_t fixed_scalar(uint32_t slot, uint8_t bytes) {
    uint32_t r = d_.new_register(bytes);
    IrRegister& info = d_.registers[r];
    info.fixed_slot = info.scalar_slot = true;
    info.slot = slot;
    info.shape.kind = Shape::uniform;
    return r;
  }

  uint32_t lane_init(LaneInit what, Shape shape) {
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

  // The static shape of %tid.x/y/z for the block shape.
  Shape tid_shape(int axis) const {
    auto [x, y, z] = d_.options.block_shape;
    Shape s;
    uint32_t extent = axis == 0 ? x : axis == 1 ? y : z;
    if (extent == 1) return {Shape::uniform, false, 0};
    uint64_t below = axis == 0 ? 1 : axis == 1 ? x : uint64_t(x) * y;  // threads before this index changes
    if (axis == 0) {
      if (x % 32 == 0 || (y == 1 && z == 1)) return {Shape::affine, true, 1};
      if (x % 16 == 0) return {Shape::affine, false, 1};
    } else {
      if (below % 32 == 0) return {Shape::uniform, false, 0};
      if (below % 16 == 0) return {Shape::affine, false, 0};
    }
    return {Shape::varying, false, 0};
  }

  // A special register as a 32-bit (or 64-bit) source; `bytes` is what it has.
  Result<Source> special(const ptx::Instruction& in, const std::string& name, uint8_t& bytes) {
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
    if (name == "%dynamic_smem_size" || name == "%total_smem_size") return reg(slot_register(kDynamicShared));
    if (name == "%nwarpid") return constant((threads + 31) / 32);
    if (name == "WARP_SZ") return constant(32);
    if (name == "%laneid") return reg(lane_init(LaneInit::lane_id, {Shape::affine, true, 1}));
    if (name == "%lanemask_eq") return reg(lane_init(LaneInit::lanemask_eq, {Shape::varying, false, 0}));
    if (name == "%lanemask_lt") return reg(lane_init(LaneInit::lanemask_lt, {Shape::varying, false, 0}));
    if (name == "%lanemask_le") return reg(lane_init(LaneInit::lanemask_le, {Shape::varying, false, 0}));
    if (name == "%lanemask_gt") return reg(lane_init(LaneInit::lanemask_gt, {Shape::varying, false, 0}));
    if (name == "%lanemask_ge") return reg(lane_init(LaneInit::lanemask_ge, {Shape::varying, false, 0}));
    if (name == "%clusterid.x" || name == "%cluster_ctaid.x" || name == "%cluster_ctaid.y" || name == "%cluster_ctaid.z" || name == "%cluster_ctarank" || name == "%is_explicit_cluster") return constant(0);
    if (name == "%cluster_nctaid.x" || name == "%cluster_nctaid.y" || name == "%cluster_nctaid.z" || name == "%cluster_nctarank") return constant(1);
    if (name.starts_with("%envreg")) return constant(0);
    Builtin clock = name == "%clock" ? Builtin::clock32 : name == "%clock64" ? Builtin::clock64 : name == "%globaltimer" ? Builtin::global_timer : Builtin::count;
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

  uint32_t slot_register(UniformSlot slot) {
    uint32_t& r = slot_registers_[slot];
    if (r == kNoReg) r = fixed_scalar(slot * 8, 4);
    return r;
  }

  // Address of a symbol in the space it lives in; generic space for global and constant variables.
  Result<Source> symbol_address(Instance& f, const ptx::Instruction& in, const Operand& o, ptx::Space* space = nullptr) {
    ptx::Space where = ptx::Space::global;
    uint64_t address = 0;
    switch (o.symbol.kind) {
      case ptx::SymbolRef::Kind::module_variable: {
        const ptx::Variable& v = d_.module.variables[o.symbol.index];
        where = v.space;
        address = v.space == ptx::Space::shared ? module_shared_[o.symbol.index] : d_.symbols.variables[o.symbol.index];
        if (v.space != ptx::Space::shared && address == 0) return error_at(in, fmt::format("variable '{}' is declared but not defined in this module", v.name));
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
          return reg(lane_op(isa::kRowAdd, Type::u64, Type::none, {reg(parameter_address_), constant(offset)}));
        }
        where = ptx::Space::local;
        address = f.parameters[o.symbol.index];
        break;
      case ptx::SymbolRef::Kind::return_parameter:
        where = ptx::Space::local;
        address = f.returns[o.symbol.index];
        break;
      case ptx::SymbolRef::Kind::function:
        return error_at(in, fmt::format("the address of function '{}' is taken: calls through pointers are not supported", d_.module.functions[o.symbol.index].name));
    }
    if (space) *space = where;
    return constant(address + uint64_t(o.offset));
  }

  // Any operand as a source of `bytes`. `type` decides how literals are read and registers widened.
  Result<Source> source(Instance& f, const ptx::Instruction& in, const Operand& o, uint8_t bytes, Type type) {
    switch (o.kind) {
      case OperandKind::reg: {
        uint32_t r = ir_register(f, o.reg);
        uint8_t have = d_.registers[r].bytes;
        if (bytes == 0) {
          if (have != 0) return error_at(in, fmt::format("'{}' needs a predicate here, not register {}", in.spelling(), f.function->registers[o.reg].name));
          return o.negated ? reg(lane_op(isa::kRowNotPred, Type::pred, Type::none, {reg(r)})) : reg(r);
        }
        if (have == 0) return error_at(in, fmt::format("'{}' cannot take the predicate {} as a value", in.spelling(), f.function->registers[o.reg].name));
        if (have < bytes) return error_at(in, fmt::format("register {} is too narrow for '{}'", f.function->registers[o.reg].name, in.spelling()));
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
        if (type == Type::f64) return constant(std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(o.bits)))));
        return constant(o.bits);
      case OperandKind::float64:
        if (bytes == 4) return constant(std::bit_cast<uint32_t>(float(std::bit_cast<double>(o.bits))));
        return constant(o.bits);
      case OperandKind::symbol: {
        ptx::Space space;
        Result<Source> s = symbol_address(f, in, o, &space);
        if (s.ok() && s->constant && bytes < 8) s->value &= (1ull << (bytes * 8)) - 1;
        return s;
      }
      default:
        return error_at(in, fmt::format("this kind of operand is not supported by '{}'", in.spelling()));
    }
  }

  // Where a result of `bytes` goes: the register itself, or a temporary to be widened afterwards.
  struct Destination {
    uint32_t reg = kNoReg;     // written by the instruction
    uint32_t widened = kNoReg; // then extended into this one
    bool sign_extend = false;
  };
  Result<Destination> destination(Instance& f, const ptx::Instruction& in, const Operand& o, uint8_t bytes, bool sign_extend) {
    Destination out;
    if (o.kind == OperandKind::sink) {
      out.reg = d_.new_register(bytes);
      return out;
    }
    if (o.kind != OperandKind::reg) return error_at(in, fmt::format("'{}' needs a register as destination", in.spelling()));
    uint32_t r = ir_register(f, o.reg);
    uint8_t have = d_.registers[r].bytes;
    if ((have == 0) != (bytes == 0) || have < bytes) return error_at(in, fmt::format("register {} does not fit the result of '{}'", f.function->registers[o.reg].name, in.spelling()));
    if (have == bytes) {
      out.reg = r;
      return out;
    }
    out.reg = d_.new_register(bytes);
    out.widened = r;
    out.sign_extend = sign_extend;
    return out;
  }
  void finish(const Destination& out) {
    if (out.widened == kNoReg) return;
    uint8_t from = d_.registers[out.reg].bytes, to = d_.registers[out.widened].bytes;
    lane_op(isa::kRowCvtInt, out.sign_extend ? signed_type(to) : unsigned_type(to), out.sign_extend ? signed_type(from) : unsigned_type(from), {reg(out.reg)}, {}, out.widened);
  }

  // ---- bodies ----

  Status body(Instance& f) {
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
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return fn.labels[a].instruction < fn.labels[b].instruction; });
    size_t next = 0;
    for (uint32_t i = 0; i <= fn.instructions.size(); ++i) {
      for (; next < order.size() && fn.labels[order[next]].instruction == i; ++next) d_.labels[f.labels[order[next]]] = uint32_t(d_.code.size());
      if (i == fn.instructions.size()) break;
      site_ = uint32_t(d_.program->sites.size());
      d_.program->sites.push_back({&fn, i});
      if (d_.code.size() > kMaxInstructions) return error_at(fn.instructions[i], "the kernel is too large once its device functions are inlined");
      if (Status s = instruction(f, fn.instructions[i]); !s.ok()) return s;
    }
    if (fn.instructions.empty()) {
      site_ = uint32_t(d_.program->sites.size());
      d_.program->sites.push_back({&fn, 0});
    }
    return Unit{};
  }

  Status instruction(Instance& f, const ptx::Instruction& in) {
    guard_ = kNoReg;
    guard_negated_ = false;
    if (in.guard) {
      guard_ = ir_register(f, in.guard->reg);
      guard_negated_ = in.guard->negated;
      if (d_.registers[guard_].bytes != 0) return error_at(in, "the guard is not a predicate register");
    }
    Result<isa::Match> match = find_match(in);
    if (!match.ok()) return match.error();
    if (std::optional<Machine> machine = isa::machine_row(match->row)) return machine_instruction(f, in, *match, *machine);
    return lane_instruction(f, in, *match);
  }

  // Spellings repeat; a kernel has a few dozen different ones.
  Result<isa::Match> find_match(const ptx::Instruction& in) {
    spelling_.assign(in.opcode);
    for (const std::string& m : in.modifiers) spelling_.append(1, '.').append(m);
    auto found = matches_.find(spelling_);
    if (found != matches_.end()) return found->second;
    Result<isa::Match> m = isa::match(in, d_.module.name);
    if (m.ok()) matches_.emplace(spelling_, *m);
    return m;
  }

  Status lane_instruction(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
    if (match.row == isa::kRowMov && in.operands.size() == 2) {
      if (in.operands[0].kind == OperandKind::vector) return unpack(f, in, match);
      if (in.operands[1].kind == OperandKind::vector) return pack(f, in, match);
    }
    const LaneEntry* entry = find_entry(d_.target, match.row, match.type, match.type2);
    if (entry == nullptr) return error_at(in, fmt::format("'{}' has no handler", in.spelling()));
    if (in.operands.size() != size_t(entry->sources) + 1) return error_at(in, fmt::format("'{}' takes {} operands, not {}", in.spelling(), entry->sources + 1, in.operands.size()));
    isa::Mods mods = match.mods;
    Source sources[kMaxSources];
    for (uint32_t i = 0; i < entry->sources; ++i) {
      Type literal_type = match.type2 != Type::none ? match.type2 : match.type;
      Result<Source> s = source(f, in, in.operands[i + 1], entry->source_bytes[i], literal_type);
      if (!s.ok()) return s.error();
      sources[i] = *s;
    }
    const Operand& to = in.operands[0];
    bool two = to.kind == OperandKind::pair;
    for (int which = 0; which < (two ? 2 : 1); ++which) {
      const Operand& o = two ? to.elements[size_t(which)] : to;
      if (two && o.kind == OperandKind::sink) continue;
      Result<Destination> out = destination(f, in, o, entry->destination_bytes, entry->destination_signed);
      if (!out.ok()) return out.error();
      Ir& ir = append(IrKind::lane);
      ir.row = match.row;
      ir.entry = entry;
      ir.mods = which == 1 ? mods.with(Field::operation, 1) : mods;
      ir.destinations = 1;
      ir.d[0] = out->reg;
      ir.sources = entry->sources;
      for (uint32_t i = 0; i < entry->sources; ++i) ir.s[i] = sources[i];
      ir.guard = guard_;
      ir.guard_negated = guard_negated_;
      finish(*out);
    }
    return Unit{};
  }

  // mov.b64 {lo, hi}, x
  Status unpack(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
    const std::vector<Operand>& parts = in.operands[0].elements;
    uint8_t whole = register_bytes(match.type);
    if (parts.empty() || whole % parts.size() != 0 || whole / parts.size() < 2) return error_at(in, fmt::format("'{}' cannot split its source into {} parts", in.spelling(), parts.size()));
    uint8_t part = uint8_t(whole / parts.size());
    Result<Source> from = source(f, in, in.operands[1], whole, match.type);
    if (!from.ok()) return from.error();
    std::vector<Source> values;
    for (size_t i = 0; i < parts.size(); ++i) {  // all reads before all writes
      Source v = *from;
      if (v.constant) {
        v.value = (v.value >> (i * part * 8)) & ((1ull << (part * 8)) - 1);
      } else {
        if (i > 0) v = reg(lane_op(isa::kRowShr, unsigned_type(whole), Type::none, {v, constant(i * part * 8)}));
        v = resize(v, whole, part, false);
      }
      values.push_back(v);
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].kind == OperandKind::sink) continue;
      Result<Destination> out = destination(f, in, parts[i], part, false);
      if (!out.ok()) return out.error();
      lane_op(isa::kRowMov, bits_type(part), Type::none, {values[i]}, {}, out->reg);
      finish(*out);
    }
    return Unit{};
  }

  // mov.b64 x, {lo, hi}
  Status pack(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
    const std::vector<Operand>& parts = in.operands[1].elements;
    uint8_t whole = register_bytes(match.type);
    if (parts.empty() || whole % parts.size() != 0 || whole / parts.size() < 2) return error_at(in, fmt::format("'{}' cannot join {} parts", in.spelling(), parts.size()));
    uint8_t part = uint8_t(whole / parts.size());
    Source sum;
    for (size_t i = 0; i < parts.size(); ++i) {
      Result<Source> v = source(f, in, parts[i], part, unsigned_type(part));
      if (!v.ok()) return v.error();
      Source piece = resize(*v, part, whole, false);
      if (i > 0) piece = piece.constant ? constant(piece.value << (i * part * 8)) : reg(lane_op(isa::kRowShl, bits_type(whole), Type::none, {piece, constant(i * part * 8)}));
      sum = i == 0 ? piece : reg(lane_op(isa::kRowOr, bits_type(whole), Type::none, {sum, piece}));
    }
    Result<Destination> out = destination(f, in, in.operands[0], whole, false);
    if (!out.ok()) return out.error();
    lane_op(isa::kRowMov, bits_type(whole), Type::none, {sum}, {}, out->reg);
    finish(*out);
    return Unit{};
  }

  Status machine_instruction(Instance& f, const ptx::Instruction& in, const isa::Match& match, Machine machine) {
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

  Status barrier(const std::vector<Source>& sources) {
    Ir& ir = append(IrKind::barrier);
    ir.builtin = int32_t(Builtin::barrier_sync);
    for (const Source& s : sources) ir.s[ir.sources++] = s;
    return Unit{};
  }

  Status builtin(const ptx::Instruction& in, Builtin which, std::initializer_list<Source> sources) {
    auto make = [&]() -> Status {
      Ir& ir = append(IrKind::machine);
      ir.builtin = int32_t(which);
      for (const Source& s : sources) ir.s[ir.sources++] = s;
      return Unit{};
    };
    if (guard_ != kNoReg) return guarded(in, make);
    return make();
  }

  // A guard on an instruction that cannot be masked: a branch around it.
  template <class F> Status guarded(const ptx::Instruction&, F make) {
    uint32_t around = uint32_t(d_.labels.size());
    d_.labels.push_back(0);
    guard_negated_ = !guard_negated_;
    branch(around);
    guard_ = kNoReg;
    Status s = make();
    d_.labels[around] = uint32_t(d_.code.size());
    return s;
  }

  void branch(uint32_t label) {
    Ir& ir = append(IrKind::branch);
    ir.target = label;
    ir.guard = guard_;
    ir.guard_negated = guard_negated_;
  }

  Status convert_address(Instance& f, const ptx::Instruction& in, const isa::Match& match, bool to_space) {
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

  // ---- memory ----

  static Element element_of(Type type) {
    switch (ptx::type_bytes(type)) {
      case 1: return type == Type::s8 ? Element::s8 : Element::u8;
      case 2: return Element::b16;
      case 4: return Element::b32;
      default: return Element::b64;
    }
  }

  struct Place {
    AccessSpace space = AccessSpace::global;
    Source address;
    int64_t offset = 0;
    bool kernel_parameter = false;  // address.value is an offset into the parameters
  };

  Result<Place> place(Instance& f, const ptx::Instruction& in, const isa::Match& match, const Operand& o) {
    if (o.kind != OperandKind::address || o.elements.size() != 1) return error_at(in, fmt::format("'{}' needs an address operand", in.spelling()));
    Place p;
    uint8_t space = match.mods[Field::space];
    if (match.mods[Field::ordering] != isa::kWeak || match.mods[Field::mmio]) d_.program->order_dependent = true;
    switch (space) {
      case isa::kGeneric: p.space = AccessSpace::generic; break;
      case isa::kShared:
      case isa::kSharedCluster: p.space = AccessSpace::shared; break;
      case isa::kLocal: p.space = AccessSpace::local; break;
      default: p.space = AccessSpace::global; break;
    }
    const Operand& base = o.elements[0];
    if (base.kind == OperandKind::symbol) {
      Operand with_offset = base;
      with_offset.offset += o.offset;
      if (space == isa::kParam && base.symbol.kind == ptx::SymbolRef::Kind::parameter && f.depth == 0) {
        uint64_t offset = parameter_offsets_[base.symbol.index] + uint64_t(with_offset.offset);
        p.kernel_parameter = true;
        p.address = constant(offset);
        return p;
      }
      ptx::Space where;
      Result<Source> s = symbol_address(f, in, with_offset, &where);
      if (!s.ok()) return s.error();
      p.address = *s;
      if (space == isa::kParam) p.space = where == ptx::Space::local ? AccessSpace::local : AccessSpace::global;
      if (space == isa::kGeneric) {  // a symbol named without a space: use the one it lives in
        p.space = where == ptx::Space::shared ? AccessSpace::shared : where == ptx::Space::local ? AccessSpace::local : AccessSpace::global;
      }
      return p;
    }
    uint8_t bytes = p.space == AccessSpace::shared || p.space == AccessSpace::local ? 4 : 8;
    if (base.kind == OperandKind::reg) {
      uint32_t r = ir_register(f, base.reg);
      uint8_t have = d_.registers[r].bytes;
      if (have != 4 && have != 8) return error_at(in, fmt::format("register {} cannot hold an address", f.function->registers[base.reg].name));
      p.address = resize(reg(r), have, bytes, false, have > bytes);
      p.offset = o.offset;
    } else if (base.kind == OperandKind::integer) {
      p.address = constant(base.bits + uint64_t(o.offset));
    } else {
      return error_at(in, fmt::format("'{}' has an address the engine does not know", in.spelling()));
    }
    return p;
  }

  static std::vector<Operand> elements_of(const Operand& o) { return o.kind == OperandKind::vector ? o.elements : std::vector<Operand>{o}; }

  Status load(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
    if (in.operands.size() != 2) return error_at(in, "a load takes a destination and an address");
    Result<Place> p = place(f, in, match, in.operands[1]);
    if (!p.ok()) return p.error();
    std::vector<Operand> to = elements_of(in.operands[0]);
    size_t count = match.mods[Field::vec] ? match.mods[Field::vec] : 1;
    if (to.size() != count || count > 4) return error_at(in, fmt::format("'{}' with {} destinations is not supported", in.spelling(), to.size()));
    Element element = element_of(match.type);
    uint8_t slot_bytes = element == Element::b64 ? 8 : element == Element::b32 ? 4 : 2;
    if (p->kernel_parameter) return load_parameter(f, in, match, *p, to, slot_bytes);
    std::vector<Destination> outs;
    for (const Operand& o : to) {
      Result<Destination> out = destination(f, in, o, slot_bytes, is_signed(match.type));
      if (!out.ok()) return out.error();
      outs.push_back(*out);
    }
    Ir& ir = append(IrKind::load);
    ir.row = match.row;
    ir.mods = match.mods;
    ir.space = p->space;
    ir.element = element;
    ir.elements = uint8_t(count);
    ir.offset = p->offset;
    ir.s[ir.sources++] = p->address;
    for (const Destination& out : outs) ir.d[ir.destinations++] = out.reg;
    ir.guard = guard_;
    ir.guard_negated = guard_negated_;
    for (const Destination& out : outs) finish(out);
    return Unit{};
  }

  // Kernel parameters lie in the uniform area: a load is a move from there.
  Status load_parameter(Instance& f, const ptx::Instruction& in, const isa::Match& match, const Place& p, const std::vector<Operand>& to, uint8_t slot_bytes) {
    uint32_t element_bytes = ptx::type_bytes(match.type);
    if (p.address.value + element_bytes * to.size() > d_.program->parameter_bytes) return error_at(in, "the load lies outside the kernel's parameters");
    for (size_t i = 0; i < to.size(); ++i) {
      Result<Destination> out = destination(f, in, to[i], slot_bytes, is_signed(match.type));
      if (!out.ok()) return out.error();
      uint32_t at = uint32_t(d_.program->parameter_offset + p.address.value + i * element_bytes);
      uint32_t from = fixed_scalar(at, slot_bytes);
      if (element_bytes == 1) lane_op(isa::kRowCvtInt, match.type == Type::s8 ? Type::s16 : Type::u16, match.type == Type::s8 ? Type::s8 : Type::u8, {reg(from)}, {}, out->reg);
      else lane_op(isa::kRowMov, bits_type(slot_bytes), Type::none, {reg(from)}, {}, out->reg);
      finish(*out);
    }
    return Unit{};
  }

  Status store(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
    if (in.operands.size() != 2) return error_at(in, "a store takes an address and a value");
    Result<Place> p = place(f, in, match, in.operands[0]);
    if (!p.ok()) return p.error();
    if (p->kernel_parameter) return error_at(in, "kernel parameters cannot be written");
    std::vector<Operand> from = elements_of(in.operands[1]);
    size_t count = match.mods[Field::vec] ? match.mods[Field::vec] : 1;
    if (from.size() != count || count > 4) return error_at(in, fmt::format("'{}' with {} values is not supported", in.spelling(), from.size()));
    Element element = element_of(match.type);
    uint8_t slot_bytes = element == Element::b64 ? 8 : element == Element::b32 ? 4 : 2;
    std::vector<Source> values;
    for (const Operand& o : from) {
      Result<Source> s = source(f, in, o, slot_bytes, match.type);
      if (!s.ok()) return s.error();
      values.push_back(*s);
    }
    Ir& ir = append(IrKind::store);
    ir.row = match.row;
    ir.mods = match.mods;
    ir.space = p->space;
    ir.element = element == Element::s8 ? Element::u8 : element;
    ir.elements = uint8_t(count);
    ir.offset = p->offset;
    ir.s[ir.sources++] = p->address;
    for (const Source& s : values) ir.s[ir.sources++] = s;
    ir.guard = guard_;
    ir.guard_negated = guard_negated_;
    return Unit{};
  }

  // ---- calls ----

  Status call(Instance& f, const ptx::Instruction& in) {
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

  Decoding& d_;
  uint32_t site_ = 0;
  uint32_t guard_ = kNoReg;
  bool guard_negated_ = false;
  uint32_t uniform_end_ = 0;
  uint32_t parameter_address_ = kNoReg;
  std::vector<uint32_t> parameter_offsets_;
  std::vector<uint64_t> module_shared_, kernel_shared_;
  std::unordered_map<const ptx::Variable*, uint64_t> function_shared_;
  uint64_t shared_bytes_ = 0, dynamic_shared_ = 0, local_bytes_ = 0;
  std::array<uint32_t, kFirstFree> slot_registers_ = [] { std::array<uint32_t, kFirstFree> a; a.fill(kNoReg); return a; }();
  std::vector<uint32_t> lane_init_registers_;
  std::unordered_map<std::string, isa::Match> matches_;
  std::string spelling_;

 public:
  const std::vector<uint32_t>& lane_init_registers() const { return lane_init_registers_; }
  uint32_t uniform_end() const { return uniform_end_; }
};

}  // namespace

Status lower(Decoding& d) {
  Lowering lowering(d);
  Status s = lowering.run();
  d.lane_init_registers = lowering.lane_init_registers();
  return s;
}

}  // namespace tw::emu
