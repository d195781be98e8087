// Copies of single-definition registers disappear, and instructions on constants alone are run now,
// by the row's own scalar handler: folding cannot differ from execution. PTX from a compiler is
// nearly in SSA form, so this removes the parameter loads, address conversions and block-shape
// arithmetic that a warp would otherwise repeat.
#include <algorithm>

#include "emu/ir.h"
#include "emu/machine_handlers.h"
#include "isa/lane_rows.h"

namespace tw::emu {
namespace {

const Op* stop(TW_HANDLER_ARGS) {
  (void)op, (void)frame, (void)warp;
  return nullptr;
}

const HandlerSet& handlers_of(const LaneEntry& entry, const isa::Mods& mods) {
  for (const FixedHandlers& f : entry.fixed)
    if (f.mods == mods) return f.handlers;
  return entry.runtime;
}

// Clears the fields that the row's body does not read.
isa::Mods read_fields(const Target& target, isa::RowId row, const isa::Mods& mods) {
  isa::Mods out;
  for (isa::Field f : target.lane_row(row)->reads) out = out.with(f, mods[f]);
  return out;
}

bool fold(Ir& ir, IrRegister& destination) {
  alignas(64) char frame[64] = {};
  for (uint32_t i = 0; i < ir.sources; ++i) {
    if (!ir.s[i].constant) return false;
    __builtin_memcpy(frame + 8 * (i + 1), &ir.s[i].value, 8);
  }
  Op ops[2];
  ops[0].run = handlers_of(*ir.entry, ir.mods).uniform;
  if (ops[0].run == nullptr) return false;
  ops[0].a = 8, ops[0].b = 16, ops[0].c = 24, ops[0].e = 32;
  ops[0].extra = &ir.mods;
  ops[1].run = stop;
  for (const Op* op = ops; op != nullptr;) op = op->run(op, frame, nullptr);
  destination.constant = true;
  __builtin_memcpy(&destination.value, frame, 8);
  return true;
}

// The most that a special register can hold; 0: not known.
uint32_t most_of(const Decoding& d, uint32_t reg) {
  for (size_t i = 0; i < d.lane_init_registers.size(); ++i) {
    if (d.lane_init_registers[i] != reg) continue;
    switch (d.program->lane_inits[i].what) {
      case LaneInit::tid_x: return d.options.block_shape[0] - 1;
      case LaneInit::tid_y: return d.options.block_shape[1] - 1;
      case LaneInit::tid_z: return d.options.block_shape[2] - 1;
      default: return 0;
    }
  }
  return 0;
}

// The sign of a thread index, which compilers take for signed divisions of it, is 0.
bool always_zero(const Decoding& d, const Ir& ir) {
  if (ir.row != isa::kRowShr || ir.s[0].constant || !ir.s[1].constant) return false;
  const uint32_t most = most_of(d, ir.s[0].reg);
  return most != 0 && most >> std::min<uint64_t>(ir.s[1].value & 0xffffffff, 31) == 0;
}

// x + 0: the operand that is not 0; otherwise kNoReg.
uint32_t added_zero(const Ir& ir) {
  if (ir.row != isa::kRowAdd) return kNoReg;
  for (uint32_t i = 0; i < 2; ++i)
    if (ir.s[i].constant && ir.s[i].value == 0 && !ir.s[1 - i].constant) return ir.s[1 - i].reg;
  return kNoReg;
}

}  // namespace

const LaneEntry* find_entry(const Target& target, isa::RowId row, isa::Type type, isa::Type type2) {
  if (row >= isa::kLaneRows) return nullptr;
  for (const LaneEntry& e : target.lane_row(row)->entries)
    if (e.type == type && e.type2 == type2) return &e;
  return nullptr;
}

void simplify(Decoding& d) {
  for (Ir& ir : d.code) {
    if (ir.kind == IrKind::lane) ir.mods = read_fields(d.target, ir.row, ir.mods);
    for (uint32_t i = 0; i < ir.destinations; ++i) ++d.registers[ir.d[i]].definitions;
  }
  auto resolve = [&](Source& s) {
    while (!s.constant && s.reg != kNoReg) {
      const IrRegister& r = d.registers[s.reg];
      if (r.constant)
        s = Source{true, r.value, kNoReg};
      else if (r.copy_of != kNoReg)
        s.reg = r.copy_of;
      else
        break;
    }
  };
  // One pass suffices for definitions that come before their uses in the text; a second one catches
  // what loops and out-of-order blocks leave.
  for (int pass = 0; pass < 2; ++pass) {
    for (Ir& ir : d.code) {
      if (ir.dead) continue;
      for (uint32_t i = 0; i < ir.sources; ++i) resolve(ir.s[i]);
      if (ir.guard != kNoReg) {
        Source g{false, 0, ir.guard};
        resolve(g);
        if (g.constant) {
          bool on = (g.value != 0) != ir.guard_negated;
          if (!on) ir.dead = true;
          ir.guard = kNoReg;
          ir.guard_negated = false;
          if (ir.dead) continue;
        } else {
          ir.guard = g.reg;
        }
      }
      if (ir.kind != IrKind::lane || ir.guard != kNoReg) continue;
      IrRegister& to = d.registers[ir.d[0]];
      if (to.definitions != 1 || to.fixed_slot) continue;
      if ((ir.row == isa::kRowMov || ir.row == isa::kRowMovPred) && !ir.s[0].constant) {
        const IrRegister& from = d.registers[ir.s[0].reg];
        if (from.bytes == to.bytes && (from.definitions == 1 || from.fixed_slot)) {
          to.copy_of = ir.s[0].reg;
          ir.dead = true;
        }
      } else if (fold(ir, to)) {
        ir.dead = true;
      } else if (always_zero(d, ir)) {
        to.constant = true, to.value = 0;
        ir.dead = true;
      } else if (const uint32_t reg = added_zero(ir); reg != kNoReg) {
        const IrRegister& from = d.registers[reg];
        if (from.bytes == to.bytes && (from.definitions == 1 || from.fixed_slot)) {
          to.copy_of = reg;
          ir.dead = true;
        }
      }
    }
  }
}

}  // namespace tw::emu
