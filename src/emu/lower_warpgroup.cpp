// wgmma: products of a warpgroup, 64 x N x 32 bytes of k, whose factors lie in shared memory where
// descriptors say (A may come in registers).
//
// Each warp computes its own 16 rows: it loads its part of A and, eight columns at a time, B as the
// fragments of mma, and multiplies them (Builtin::matrix_multiply). The loads are accesses like any
// other to the checkers; counters leave them out, as hardware's do (Ir::async).
//
// The manual lets a product happen at any time between its start and the end of the wait; here it
// happens at its start. So a program that does not fence or wait computes what it would if products
// took no time.
//
// Tested by tests/e2e/programs/wgmma.cu and step 15 of kernels/gemm.
#include <fmt/format.h>

#include "emu/lowering.h"
#include "isa/lane_rows.h"
#include "isa/matrix.h"

namespace tw::emu {
namespace {

constexpr uint32_t kWarpgroup = 128;  // threads

// Of each type: what the factors hold, and the product of mma that has as many bytes of k.
struct Factors {
  isa::MatrixElement element;
  isa::Geometry geometry;
  uint32_t sign_bits = 0;  // of the elements of a register; 0: there are no scales
};
Factors factors_of(isa::Machine machine) {
  switch (machine) {
    case isa::Machine::wgmma_half: return {isa::kElementF16, isa::kM16N8K16, 0x80008000};
    case isa::Machine::wgmma_bfloat: return {isa::kElementBf16, isa::kM16N8K16, 0x80008000};
    case isa::Machine::wgmma_tf32: return {isa::kElementTf32, isa::kM16N8K8, 0x80000000};
    case isa::Machine::wgmma_float8: return {isa::kElementFloat8, isa::kM16N8K32, 0x80808080};
    case isa::Machine::wgmma_byte: return {isa::kElementByte, isa::kM16N8K32};
    default: return {isa::kElementBit, isa::kM16N8K256};
  }
}

bool is_one_of(const Operand& o, std::initializer_list<int64_t> values) {
  return o.kind == OperandKind::integer &&
         std::ranges::any_of(values, [&](int64_t v) { return int32_t(o.bits) == v; });
}

}  // namespace

// A factor in shared memory, where its descriptor says (the manual's "Matrix Descriptor Format").
// Rows are those of A, columns of B; eight of them are a group. A line of the swizzle's pattern is
// 16 << log_pieces bytes: along k of one row, or across the rows of one k. Its 16-byte pieces lie
// at piece XOR (line of the pattern) in it.
struct Lowering::SharedFactor {
  SharedFactor(Lowering& l, const ptx::Instruction& in, const Source& descriptor, bool across)
      : l_(l), across_(across) {
    uint8_t size = 4;
    const Source lane = *l.special(in, "%laneid", size);  // which always exists
    const Source g = apply("shr.u32", {lane, constant(2)}),
                 t = apply("and.b32", {lane, constant(3)});
    const Source low = apply("cvt.u32.u64", {descriptor}),
                 high = apply("cvt.u32.u64", {apply("shr.u64", {descriptor, constant(32)})});
    const auto bytes = [&](const Source& from, uint32_t at) {  // 14 bits, in units of 16 bytes
      return times(apply("bfe.u32", {from, constant(at), constant(14)}), constant(16));
    };
    const Source leading = bytes(low, 16), stride = bytes(high, 0);
    const Source mode =
        apply("shr.u32", {high, constant(30)});  // 0 none; 1, 2, 3: 128, 64, 32 bytes
    const Source none = apply("setp.eq.u32", {mode, constant(0)});
    first_line_ = apply("bfe.u32", {high, constant(17), constant(3)});
    log_pieces_ = apply("and.b32", {apply("sub.u32", {constant(4), mode}), constant(3)});
    line_bytes_ = apply("shl.b32", {constant(16), log_pieces_});
    pieces_below_ = apply("sub.u32", {apply("shl.b32", {constant(1), log_pieces_}), constant(1)});
    base_ = bytes(low, 0);
    if (across_) {  // lane: row g, k 2 t
      base_ = plus(plus(base_, times(times(t, constant(2)), line_bytes_)), times(g, constant(2)));
      group_stride_ = apply("selp.b32", {stride, leading, none});
      half_ = apply("selp.b32", {leading, stride, none});
    } else {  // row g, bytes 4 t of k
      base_ = plus(plus(base_, times(g, line_bytes_)), times(t, constant(4)));
      group_stride_ = stride;
      half_ = apply("selp.b32", {leading, constant(16), none});
    }
  }

  // A register of a fragment of mma, of both factors alike: 4 bytes of k from 4 t + 16 `half` on,
  // of row g of group number `group`.
  Source word(const Source& group, uint32_t half) {
    Source at = half == 0 ? base_ : plus(base_, half_);
    if (!across_) return load(Element::b32, plus(at, times(group, group_stride_)));
    at = plus(at, times(apply("shr.u32", {group, log_pieces_}), group_stride_));
    at = plus(at, times(apply("and.b32", {group, pieces_below_}), constant(16)));
    const Source first = load(Element::b16, at), second = load(Element::b16, plus(at, line_bytes_));
    return apply("or.b32", {first, apply("shl.b32", {second, constant(16)})});
  }

 private:
  Source apply(std::string_view spelling, std::initializer_list<Source> sources) {
    return l_.apply(spelling, sources);
  }
  Source plus(const Source& x, const Source& y) { return apply("add.u32", {x, y}); }
  Source times(const Source& x, const Source& y) { return apply("mul.lo.u32", {x, y}); }

  // From where the swizzle has put what would lie at the address without one.
  Source load(Element element, const Source& address) {
    const Source line = apply("sub.u32", {apply("shr.u32", {address, constant(7)}), first_line_});
    const Source moved = times(apply("and.b32", {line, pieces_below_}), constant(16));
    const Source from = apply("xor.b32", {address, moved});
    const uint32_t to = l_.d_.new_register(element == Element::b16 ? 2 : 4);
    Ir& ir = l_.append(IrKind::load);
    ir.space = AccessSpace::shared;
    ir.element = element;
    ir.s[ir.sources++] = from;
    ir.d[ir.destinations++] = to;
    ir.async = true;
    return element == Element::b16 ? apply("cvt.u32.u16", {reg(to)}) : reg(to);
  }

  Lowering& l_;
  bool across_;
  Source base_, group_stride_, half_, line_bytes_, log_pieces_, pieces_below_, first_line_;
};

// wgmma.mma_async.sync.aligned.SHAPE.types d, a, b, scale-d{, scale-a, scale-b{, trans-a}{,
// trans-b}}
Status Lowering::warpgroup_multiply(Instance& f, const ptx::Instruction& in,
                                    const isa::Match& match, Machine machine) {
  d_.program->async_shared = true;
  const Factors factors = factors_of(machine);
  const bool halves = factors.geometry == isa::kM16N8K16;
  const std::array<uint32_t, 3>& block = d_.options.block_shape;
  if (block[0] * block[1] * block[2] < kWarpgroup)
    return error_at(in,
                    fmt::format("'{}' takes a warpgroup: {} threads", in.spelling(), kWarpgroup));
  const uint32_t pieces = match.mods[Field::geometry];  // of eight columns
  const bool integers = factors.sign_bits == 0;
  if (integers && pieces > 4 && pieces % 2 != 0)
    return error_at(
        in, fmt::format("'{}': integers have 8, 16, 24, 32, 48, 64, ... columns", in.spelling()));
  if (machine == Machine::wgmma_bit && match.mods[Field::operation] != isa::kOpAnd)
    return error_at(in, fmt::format("'{}' takes .and only", in.spelling()));
  if (in.operands.size() < 4)
    return error_at(in, fmt::format("'{}' takes D, A, B and scale-d", in.spelling()));
  const bool a_in_registers = elements_of(in.operands[1]).size() > 1;
  const size_t scales = factors.sign_bits != 0 ? 2 : 0, turns = halves ? 2 - a_in_registers : 0;
  if (in.operands.size() != 4 + scales + turns)
    return error_at(in,
                    fmt::format("'{}' takes {} operands here", in.spelling(), 4 + scales + turns));
  bool negative = false;
  for (size_t i = 4; i < 4 + scales; ++i) {
    if (!is_one_of(in.operands[i], {1, -1}))
      return error_at(in, fmt::format("'{}' scales A and B by 1 or -1", in.spelling()));
    negative ^= int32_t(in.operands[i].bits) < 0;
  }
  bool turned[2] = {};  // A, B: M or N runs along the lines of shared memory
  for (size_t i = 0; i < turns; ++i) {
    const Operand& o = in.operands[4 + scales + i];
    if (!is_one_of(o, {0, 1}))
      return error_at(in, fmt::format("'{}' takes 0 or 1 for trans-a and trans-b", in.spelling()));
    turned[turns == 2 ? i : 1] = o.bits != 0;
  }

  const size_t sums = match.type == Type::f16 ? 2 : 4;  // registers of a piece of D
  Result<std::vector<Source>> c = fragment(f, in, 0, pieces * sums, 4);
  if (!c.ok()) return c.error();
  Result<std::vector<Destination>> outs = fragment_out(f, in, 0, pieces * sums, 4);
  if (!outs.ok()) return outs.error();
  std::vector<Source> a;
  if (a_in_registers) {
    Result<std::vector<Source>> registers = fragment(f, in, 1, 4, 4);
    if (!registers.ok()) return registers.error();
    a = *registers;
  }
  std::optional<Source> descriptor[2];
  for (size_t i = a_in_registers; i < 2; ++i) {
    Result<Source> s = source(f, in, in.operands[1 + i], 8, Type::b64);
    if (!s.ok()) return s.error();
    descriptor[i] = *s;
  }
  Result<Source> scale_d = source(f, in, in.operands[3], 0, Type::pred);
  if (!scale_d.ok()) return scale_d.error();

  auto make = [&]() -> Status {
    if (!a_in_registers) {
      SharedFactor factor(*this, in, *descriptor[0], turned[0]);
      uint8_t size = 4;
      const Source warp = apply("and.b32", {*special(in, "%warpid", size), constant(3)});
      const Source groups[2] = {apply("mul.lo.u32", {warp, constant(2)}),
                                apply("mad.lo.u32", {warp, constant(2), constant(1)})};
      for (uint32_t r = 0; r < 4; ++r) a.push_back(factor.word(groups[r % 2], r / 2));
    }
    if (negative)
      for (Source& r : a) r = apply("xor.b32", {r, constant(factors.sign_bits)});
    SharedFactor factor(*this, in, *descriptor[1], turned[1]);
    const isa::Mods mods =
        match.mods.with(Field::layout, factors.element).with(Field::geometry, factors.geometry);
    for (uint32_t piece = 0; piece < pieces; ++piece) {
      std::vector<Source> sources = a;
      for (uint32_t half = 0; half < 2; ++half)
        sources.push_back(factor.word(constant(piece), half));
      std::vector<uint32_t> to;
      for (size_t i = piece * sums; i < (piece + 1) * sums; ++i) {
        const Source before = scale_d->constant && scale_d->value != 0 ? (*c)[i]
                              : scale_d->constant
                                  ? constant(0)
                                  : apply("selp.b32", {(*c)[i], constant(0), *scale_d});
        sources.push_back(before);
        to.push_back((*outs)[i].reg);
      }
      matrix_op(Builtin::matrix_multiply, mods, match.type, match.type, sources, to);
    }
    return Unit{};
  };
  Status s = guard_ != kNoReg ? guarded(in, make) : make();
  for (const Destination& d : *outs) finish(d);
  return s;
}

// wgmma.commit_group, wgmma.wait_group n: the warps of a warpgroup meet at its groups.
Status Lowering::warpgroup_group(const ptx::Instruction& in, bool waits) {
  if (Status s = nothing_to_order(in, waits); !s.ok()) return s;
  auto make = [&]() -> Status {
    Ir& ir = append(IrKind::machine);
    ir.builtin = int32_t(waits ? Builtin::wgmma_wait : Builtin::wgmma_commit);
    if (waits) ir.offset = int64_t(in.operands[0].bits);
    return Unit{};
  };
  return guard_ != kNoReg ? guarded(in, make) : make();
}

}  // namespace tw::emu
