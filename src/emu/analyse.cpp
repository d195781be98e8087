// Which registers are the same in every lane, and which run in even steps over each half-warp (16
// lanes: the width of the tiles that people write; over 32 lanes such tiles show no pattern at
// all).
//
// A fact must hold whenever a full-mask handler reads the register. A write under part of the mask
// leaves old values in the other lanes, so facts about a register that outlives its block end at
// writes in blocks that may run divergent; inside one block all reads and writes have the same
// lanes.
#include <algorithm>

#include "emu/ir.h"
#include "emu/machine_handlers.h"
#include "isa/lane_rows.h"
#include "isa/table.h"

namespace tw::emu {
namespace {

using isa::Affine;

constexpr Shape kUniformShape{Shape::uniform, false, 0};
constexpr Shape kVaryingShape{Shape::varying, false, 0};

Shape joined(const Shape& a, const Shape& b) {
  if (a.kind == Shape::unknown) return b;
  if (b.kind == Shape::unknown) return a;
  if (a.kind == Shape::varying || b.kind == Shape::varying) return kVaryingShape;
  if (a.kind == Shape::uniform && b.kind == Shape::uniform) return a;
  int64_t sa = a.kind == Shape::affine ? a.stride : 0, sb = b.kind == Shape::affine ? b.stride : 0;
  bool wa = a.kind == Shape::uniform || a.whole, wb = b.kind == Shape::uniform || b.whole;
  if (sa != sb) return kVaryingShape;
  return {Shape::affine, wa && wb, sa};
}

class Analysis {
 public:
  explicit Analysis(Decoding& d) : d_(d) {}

  void run() {
    find_outliving();
    for (bool changed = true; changed;) {
      changed = shapes();
      changed |= divergence();
    }
    for (IrRegister& r : d_.registers)
      if (r.shape.kind == Shape::unknown) r.shape = kVaryingShape;
  }

 private:
  // Registers read in a block before that block writes them: values that cross blocks.
  void find_outliving() {
    outlives_.assign(d_.registers.size(), false);
    std::vector<uint32_t> written(d_.registers.size(), kNoBlock);
    for (uint32_t b = 0; b < d_.blocks.size(); ++b) {
      for (uint32_t i = d_.blocks[b].begin; i < d_.blocks[b].end; ++i) {
        const Ir& ir = d_.code[i];
        auto read = [&](uint32_t r) {
          if (r != kNoReg && written[r] != b) outlives_[r] = true;
        };
        for (uint32_t s = 0; s < ir.sources; ++s)
          if (!ir.s[s].constant) read(ir.s[s].reg);
        read(ir.guard);
        for (uint32_t w = 0; w < ir.destinations; ++w) {
          if (ir.guard != kNoReg) read(ir.d[w]);
          written[ir.d[w]] = b;
        }
      }
    }
  }

  Shape shape_of(const Source& s) const {
    return s.constant ? kUniformShape : d_.registers[s.reg].shape;
  }

  // Joins `shape` into the register; true if it changed.
  bool widen(uint32_t r, Shape shape, bool divergent, bool guarded) {
    IrRegister& info = d_.registers[r];
    if (info.fixed_slot) return false;
    if (guarded || (divergent && outlives_[r])) shape = kVaryingShape;
    if (shape.kind == Shape::affine) {
      if (info.bytes == 0)
        shape = kVaryingShape;
      else if (info.bytes == 4)
        shape.stride = int32_t(shape.stride);
      else if (info.bytes == 2)
        shape.stride = int16_t(shape.stride);
    }
    Shape now = joined(info.shape, shape);
    if (now == info.shape) return false;
    info.shape = now;
    return true;
  }

  bool shapes() {
    bool any = false;
    for (bool changed = true; changed;) {
      changed = false;
      for (const IrBlock& block : d_.blocks)
        for (uint32_t i = block.begin; i < block.end; ++i) {
          const Ir& ir = d_.code[i];
          if (ir.destinations == 0) continue;
          Shape shape = transfer(ir);
          if (shape.kind == Shape::unknown) continue;
          for (uint32_t w = 0; w < ir.destinations; ++w)
            changed |= widen(ir.d[w], shape, block.divergent, ir.guard != kNoReg);
        }
      any |= changed;
    }
    return any;
  }

  static bool even(const Shape& s) {
    return s.kind == Shape::uniform || (s.kind == Shape::affine && s.stride == 0);
  }
  static int64_t stride(const Shape& s) { return s.kind == Shape::affine ? s.stride : 0; }
  static bool whole(const Shape& s) { return s.kind == Shape::uniform || s.whole; }

  Shape transfer(const Ir& ir) const {
    if (ir.kind == IrKind::load) {
      Shape address = shape_of(ir.s[0]);
      if (address.kind == Shape::unknown) return {};
      bool one_place = ir.space == AccessSpace::global || ir.space == AccessSpace::shared;
      if (one_place && address.kind == Shape::uniform)
        return ir.elements == 1 ? kUniformShape : Shape{Shape::affine, true, 0};
      if (one_place && even(address)) return {Shape::affine, address.whole, 0};
      return kVaryingShape;
    }
    if (ir.kind == IrKind::machine) {
      auto b = static_cast<Builtin>(ir.builtin);
      if (b == Builtin::barrier_red_result && d_.registers[ir.d[0]].bytes != 0)
        return kVaryingShape;
      return b == Builtin::clock32 || b == Builtin::clock64 || b == Builtin::global_timer
                 ? kUniformShape
                 : kVaryingShape;
    }
    if (ir.kind != IrKind::lane) return kVaryingShape;
    bool all_uniform = true, all_even = true, all_whole = true;
    Shape s[kMaxSources];
    for (uint32_t i = 0; i < ir.sources; ++i) {
      s[i] = shape_of(ir.s[i]);
      if (s[i].kind == Shape::unknown) return {};
      all_uniform &= s[i].kind == Shape::uniform;
      all_even &= even(s[i]);
      all_whole &= whole(s[i]);
    }
    if (all_uniform) return kUniformShape;
    if (all_even) return {Shape::affine, all_whole, 0};
    if (const Shape part = part_of_thread_index(ir); part.kind != Shape::unknown) return part;
    for (uint32_t i = 0; i < ir.sources; ++i)
      if (s[i].kind == Shape::varying) return kVaryingShape;
    auto affine = [&](int64_t step) { return Shape{Shape::affine, all_whole, step}; };
    // Steps of a product: known when the other factor is a constant, or has no effect on a step of
    // 0.
    auto product = [&](int a, int b, int64_t& step) {
      if (ir.s[b].constant)
        step = stride(s[a]) * signed_value(ir, b);
      else if (ir.s[a].constant)
        step = stride(s[b]) * signed_value(ir, a);
      else
        return false;
      return true;
    };
    int64_t step = 0;
    switch (isa::row_info(ir.row).affine) {
      case Affine::copy: return s[0];
      case Affine::add: return affine(stride(s[0]) + stride(s[1]));
      case Affine::sub: return affine(stride(s[0]) - stride(s[1]));
      case Affine::neg: return affine(-stride(s[0]));
      case Affine::shl:
        return ir.s[1].constant && ir.s[1].value < 63 ? affine(stride(s[0]) << ir.s[1].value)
                                                      : kVaryingShape;
      case Affine::mul:
      case Affine::mul_wide: return product(0, 1, step) ? affine(step) : kVaryingShape;
      case Affine::mad:
      case Affine::mad_wide:
        if (even(s[0]) && even(s[1])) return affine(stride(s[2]));
        return product(0, 1, step) ? affine(step + stride(s[2])) : kVaryingShape;
      case Affine::widen: return ir.mods[isa::Field::sat] ? kVaryingShape : s[0];
      case Affine::none: break;
    }
    return kVaryingShape;
  }

  // tid.x / 16, tid.x % 16 and the like, as compilers write them. Where rows of the block are whole
  // half-warps, a half-warp's tid.x begins at a multiple of 16: shifts by 4 and more drop what
  // differs in it, masks of 4 low bits and more keep the steps.
  Shape part_of_thread_index(const Ir& ir) const {
    constexpr uint16_t kRowAnd = isa::lane_row_id<isa::And, isa::LogicRows>(isa::Group::logic);
    if ((ir.row != isa::kRowShr && ir.row != kRowAnd) || ir.s[0].constant) return {};
    if (ir.s[0].reg != thread_index() || !ir.s[1].constant) return {};
    const uint64_t value = ir.s[1].value & 0xffffffff;
    const uint32_t width = d_.options.block_shape[0];
    if (width % 16 != 0) return {};
    const bool warps = width % 32 == 0;
    if (ir.row == isa::kRowShr)
      return value >= 4 ? Shape{Shape::affine, warps && value >= 5, 0} : Shape{};
    if ((value & 15) == 0) return {Shape::affine, warps && (value & 31) == 0, 0};
    if ((value & 15) == 15) return {Shape::affine, warps && (value & 31) == 31, 1};
    return {};
  }
  uint32_t thread_index() const {
    for (size_t i = 0; i < d_.program->lane_inits.size(); ++i)
      if (d_.program->lane_inits[i].what == LaneInit::tid_x) return d_.lane_init_registers[i];
    return kNoReg;
  }

  int64_t signed_value(const Ir& ir, int source) const {
    uint64_t v = ir.s[source].value;
    uint8_t bytes = ir.entry->source_bytes[source];
    return bytes == 8 ? int64_t(v) : bytes == 4 ? int64_t(int32_t(v)) : int64_t(int16_t(v));
  }

  // Marks what lies between a divergent branch and where its lanes meet again.
  bool divergence() {
    bool changed = false;
    for (uint32_t b = 0; b < d_.blocks.size(); ++b) {
      IrBlock& block = d_.blocks[b];
      const Ir& last = d_.code[block.end - 1];
      if (last.kind != IrKind::branch || last.guard == kNoReg) continue;
      if (d_.registers[last.guard].shape.kind != Shape::varying &&
          d_.registers[last.guard].shape.kind != Shape::affine)
        continue;
      if (block.post_dominator != kNoBlock && !d_.blocks[block.post_dominator].join) {
        d_.blocks[block.post_dominator].join = true;
        changed = true;
      }
      std::vector<uint32_t> work(block.successors);
      while (!work.empty()) {
        uint32_t at = work.back();
        work.pop_back();
        if (at == block.post_dominator || visited(at, b)) continue;
        if (!d_.blocks[at].divergent) {
          d_.blocks[at].divergent = true;
          changed = true;
        }
        for (uint32_t s : d_.blocks[at].successors) work.push_back(s);
      }
    }
    return changed;
  }
  bool visited(uint32_t block, uint32_t root) {
    if (visited_by_.size() != d_.blocks.size()) visited_by_.assign(d_.blocks.size(), kNoBlock);
    if (visited_by_[block] == root) return true;
    visited_by_[block] = root;
    return false;
  }

  Decoding& d_;
  std::vector<bool> outlives_;
  std::vector<uint32_t> visited_by_;
};

}  // namespace

void analyse(Decoding& d) { Analysis(d).run(); }

}  // namespace tw::emu
