// cp.async: copies from global to shared memory that a thread starts and later waits for.
//
// The manual lets a copy happen at any time between its start and the end of the wait; here it
// happens at its start, as a load and a store (of the source's bytes, then zeros). So a program
// that does not wait computes what it would if copies took no time; `tilewright check` is who says
// that it did not wait (AccessSite::async, Observer::async_wait). Committing and waiting are
// nothing but events for it.
//
// Tested by tests/isa (machine_cases.cpp), tests/unit/emu, tests/checkers/planted/async_copy.cu and
// steps 12 and 13 of kernels/gemm.
#include <fmt/format.h>

#include "emu/lowering.h"
#include "isa/lane_rows.h"

namespace tw::emu {

// cp.async.ca|cg.shared.global [to], [from], bytes{, source bytes | ignore}{, policy}
Status Lowering::async_copy(Instance& f, const ptx::Instruction& in, bool sixteen_only) {
  const size_t n = in.operands.size();
  if (n < 3 || n > 5)
    return error_at(in, fmt::format("'{}' takes two addresses, a number of bytes, and at most a "
                                    "number of source bytes and a cache policy",
                                    in.spelling()));
  const uint64_t bytes = in.operands[2].bits;
  if (in.operands[2].kind != OperandKind::integer || (bytes != 4 && bytes != 8 && bytes != 16) ||
      (sixteen_only && bytes != 16))
    return error_at(in, fmt::format("'{}' copies {}", in.spelling(),
                                    sixteen_only ? "16 bytes" : "4, 8 or 16 bytes"));
  if (in.modifiers.size() < 3 || !in.modifiers[2].starts_with("shared"))
    return error_at(in, fmt::format("'{}' copies to shared memory only", in.spelling()));
  isa::Match side;
  side.mods = isa::Mods{}.with(Field::space, isa::kShared);
  Result<Place> to = place(f, in, side, in.operands[0]);
  if (!to.ok()) return to.error();
  side.mods = isa::Mods{}.with(Field::space, isa::kGlobal);
  Result<Place> from = place(f, in, side, in.operands[1]);
  if (!from.ok()) return from.error();

  // What is copied: all, or nothing where `ignored` holds, or the first `count` bytes.
  std::optional<Source> count, ignored;
  for (size_t i = 3; i < n; ++i) {
    const Operand& o = in.operands[i];
    const Type type = o.kind == OperandKind::reg ? f.function->registers[o.reg].type : Type::u32;
    if (type != Type::pred && ptx::type_bytes(type) == 8) continue;  // a cache policy: a hint
    if (count || ignored)
      return error_at(in, fmt::format("'{}' has one operand too many", in.spelling()));
    Result<Source> s = source(f, in, o, type == Type::pred ? 0 : 4, type);
    if (!s.ok()) return s.error();
    (type == Type::pred ? ignored : count) = *s;
  }

  const uint8_t words = uint8_t(bytes / 4);
  auto make = [&]() -> Status {
    uint32_t value[4];
    for (uint8_t w = 0; w < words; ++w) {
      value[w] = d_.new_register(4);
      if (count || ignored) apply("mov.b32", {constant(0)}, value[w]);
    }
    auto load = [&](Element element, uint8_t elements, int64_t offset,
                    const uint32_t* registers) -> Ir& {
      Ir& ir = append(IrKind::load);
      ir.space = from->space;
      ir.element = element;
      ir.elements = elements;
      ir.offset = from->offset + offset;
      ir.s[ir.sources++] = from->address;
      ir.copy_bytes = uint8_t(bytes);
      for (uint8_t e = 0; e < elements; ++e) ir.d[ir.destinations++] = registers[e];
      return ir;
    };
    auto is_more_than = [&](uint64_t limit) {
      return apply("setp.gt.u32", {*count, constant(limit)}).reg;
    };
    uint32_t whole = kNoReg;
    if (count) whole = is_more_than(bytes - 1);
    if (ignored) whole = ignored->reg;
    auto load_whole = [&](bool counted) {
      Ir& all = load(Element::b32, words, 0, value);
      all.guard = whole;
      all.guard_negated = ignored.has_value();
      all.async = !counted;
    };
    // Some of the bytes, one by one, as the others may not be readable.
    auto load_bytes = [&](bool first_counted) {
      for (uint64_t b = 0; b + 1 < bytes; ++b) {
        const uint32_t byte = d_.new_register(2), wide = d_.new_register(4);
        apply("mov.b32", {constant(0)}, wide);
        apply("mov.b16", {constant(0)}, byte);
        const uint32_t there = is_more_than(b);
        Ir& one = load(Element::u8, 1, int64_t(b), &byte);
        one.guard = there;
        one.async = b != 0 || !first_counted;
        apply("cvt.u32.u16", {reg(byte)}, wide);
        const Source part = apply("shl.b32", {reg(wide), constant(b % 4 * 8)});
        apply("or.b32", {reg(value[b / 4]), part}, value[b / 4]);
      }
    };
    if (!count) {
      load_whole(true);
    } else {
      const uint32_t some = d_.new_register(0);
      apply("and.pred", {reg(is_more_than(0)), apply("not.pred", {reg(whole)})}, some);
      auto where = [&](uint32_t predicate, bool negated, auto body) {
        guard_ = predicate, guard_negated_ = negated;
        return guarded(in, [&]() -> Status {
          body();
          return Unit{};
        });
      };
      if (d_.options.observed == 0) {
        load_whole(true);
        if (Status s = where(some, false, [&] { load_bytes(true); }); !s.ok()) return s;
      } else {
        // Counters see one request of a warp: where a lane has a part, the first bytes of all lanes
        // stand for it.
        const uint32_t any = d_.new_register(0);
        Ir& vote = append(IrKind::machine);
        vote.builtin = int32_t(Builtin::vote);
        vote.mods = isa::Mods{}.with(Field::operation, isa::kOpAny);
        vote.type = Type::pred;
        vote.s[vote.sources++] = reg(some);
        vote.d[vote.destinations++] = any;
        Status s = where(any, false, [&] {
          const uint32_t first = d_.new_register(2), there = is_more_than(0);
          load(Element::u8, 1, 0, &first).guard = there;
          load_whole(false);
        });
        if (!s.ok()) return s;
        s = where(some, false, [&] { load_bytes(false); });
        if (!s.ok()) return s;
        s = where(any, true, [&] { load_whole(true); });
        if (!s.ok()) return s;
      }
    }
    Ir& store = append(IrKind::store);
    store.space = to->space;
    store.element = Element::b32;
    store.elements = words;
    store.offset = to->offset;
    store.async = true;
    store.s[store.sources++] = to->address;
    for (uint8_t w = 0; w < words; ++w) store.s[store.sources++] = reg(value[w]);
    return Unit{};
  };
  d_.program->async_shared = true;
  if (guard_ != kNoReg) return guarded(in, make);
  return make();
}

Status Lowering::async_group(const ptx::Instruction& in, Machine machine) {
  uint64_t keep = 0;
  if (machine == Machine::cp_async_wait_group) {
    if (in.operands.size() != 1 || in.operands[0].kind != OperandKind::integer)
      return error_at(in, fmt::format("'{}' takes a number of groups", in.spelling()));
    keep = in.operands[0].bits;
  }
  if (d_.options.observed == 0) return Unit{};
  if (machine == Machine::cp_async_commit) return builtin(in, Builtin::async_commit, {});
  // wait_all: what has not been committed, too.
  auto make = [&]() -> Status {
    if (machine == Machine::cp_async_wait_all) append_async(Builtin::async_commit, 0);
    append_async(Builtin::async_wait, keep);
    return Unit{};
  };
  if (guard_ != kNoReg) return guarded(in, make);
  return make();
}

void Lowering::append_async(Builtin which, uint64_t keep) {
  Ir& ir = append(IrKind::machine);
  ir.builtin = int32_t(which);
  ir.offset = int64_t(keep);
}

// cp.async.mbarrier.arrive{.noinc} [addr]: an arrival when all earlier copies of the thread are
// complete, which they are; for `check` they are when the phase is. Without .noinc the phase expects
// one arrival more than it was told.
Status Lowering::async_arrive(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  if (in.operands.size() != 1)
    return error_at(in, fmt::format("'{}' takes the address of an mbarrier", in.spelling()));
  ptx::Instruction arrive = in;
  arrive.operands.insert(arrive.operands.begin(), Operand{});
  arrive.operands[0].kind = OperandKind::sink;
  Operand count;
  count.kind = OperandKind::integer;
  count.bits = match.mods[Field::noinc] ? 1 : 0;
  arrive.operands.push_back(count);
  isa::Match plain = match;
  plain.mods = isa::Mods{}.with(Field::space, match.mods[Field::space]);
  auto make = [&]() -> Status {
    const size_t begin = d_.code.size();
    Status s = mbarrier(f, arrive, plain, Machine::mbarrier_arrive);
    for (size_t i = begin; i < d_.code.size(); ++i) d_.code[i].async = true;
    return s;
  };
  if (guard_ != kNoReg) return guarded(in, make);
  return make();
}

}  // namespace tw::emu
