// Slots for registers. A kernel unrolled by the compiler has hundreds of registers of 128 bytes
// each, more than a first-level cache; lane slots are therefore shared between registers that are
// never live together (linear scan over intervals in block order). Liveness is a thread's own:
// masked writes touch only their lanes, so paths of one warp cannot disturb each other through a
// shared lane slot. Scalar slots are written for the whole warp and are not shared.
//
// A register that lives only between two instructions of one block at which no path can stop is a
// temporary: other paths of the warp never look at it, so even masked code may write all its lanes,
// which saves reading and blending the old ones. Temporaries share slots with one another only.
#include <algorithm>
#include <queue>

#include "emu/ir.h"

namespace tw::emu {
namespace {

struct Interval {
  uint32_t reg, start, end, units;  // units of 16 bits a lane: register pressure
};

// Lane registers live across block borders, as [first, last] positions in code order.
class Liveness {
 public:
  explicit Liveness(Decoding& d) : d_(d) {}

  std::vector<Interval> intervals() {
    name_outliving();
    solve();
    std::vector<uint32_t> first(d_.registers.size(), kNoReg), last(d_.registers.size(), 0);
    auto touch = [&](uint32_t r, uint32_t at) {
      if (first[r] == kNoReg || at < first[r]) first[r] = at;
      if (at > last[r]) last[r] = at;
    };
    for (uint32_t b = 0; b < d_.blocks.size(); ++b) {
      const IrBlock& block = d_.blocks[b];
      for (uint32_t n = 0; n < names_.size(); ++n) {
        if (test(in_[b], n)) touch(names_[n], block.begin);
        if (test(out_[b], n)) touch(names_[n], block.end - 1);
      }
      for (uint32_t i = block.begin; i < block.end; ++i)
        for_each_register(d_.code[i], [&](uint32_t r, bool) { touch(r, i); });
    }
    std::vector<Interval> result;
    for (uint32_t r = 0; r < d_.registers.size(); ++r) {
      const IrRegister& info = d_.registers[r];
      if (first[r] == kNoReg || info.fixed_slot || info.bytes == 0 ||
          info.shape.kind == Shape::uniform)
        continue;
      result.push_back({r, first[r], last[r], uint32_t(info.bytes) / 2});
    }
    return result;
  }

 private:
  template <class F> static void for_each_register(const Ir& ir, F f) {
    for (uint32_t s = 0; s < ir.sources; ++s)
      if (!ir.s[s].constant && ir.s[s].reg != kNoReg) f(ir.s[s].reg, false);
    if (ir.guard != kNoReg) f(ir.guard, false);
    for (uint32_t w = 0; w < ir.destinations; ++w) {
      if (ir.guard != kNoReg) f(ir.d[w], false);  // lanes whose guard is false keep the old value
      f(ir.d[w], true);
    }
  }
  static bool test(const std::vector<uint64_t>& bits, uint32_t n) {
    return (bits[n / 64] >> (n % 64)) & 1;
  }
  static void set(std::vector<uint64_t>& bits, uint32_t n) { bits[n / 64] |= 1ull << (n % 64); }

  void name_outliving() {
    name_of_.assign(d_.registers.size(), kNoReg);
    std::vector<uint32_t> written(d_.registers.size(), kNoBlock);
    for (uint32_t b = 0; b < d_.blocks.size(); ++b)
      for (uint32_t i = d_.blocks[b].begin; i < d_.blocks[b].end; ++i)
        for_each_register(d_.code[i], [&](uint32_t r, bool write) {
          if (write) {
            written[r] = b;
          } else if (written[r] != b && name_of_[r] == kNoReg) {
            name_of_[r] = uint32_t(names_.size());
            names_.push_back(r);
          }
        });
  }

  void solve() {
    const size_t words = (names_.size() + 63) / 64;
    const size_t n = d_.blocks.size();
    std::vector<std::vector<uint64_t>> use(n, std::vector<uint64_t>(words)),
        kill(n, std::vector<uint64_t>(words));
    in_.assign(n, std::vector<uint64_t>(words));
    out_.assign(n, std::vector<uint64_t>(words));
    for (uint32_t b = 0; b < n; ++b)
      for (uint32_t i = d_.blocks[b].begin; i < d_.blocks[b].end; ++i)
        for_each_register(d_.code[i], [&](uint32_t r, bool write) {
          uint32_t name = name_of_[r];
          if (name == kNoReg) return;
          if (write)
            set(kill[b], name);
          else if (!test(kill[b], name))
            set(use[b], name);
        });
    std::vector<uint32_t> work;
    std::vector<bool> queued(n, true);
    for (uint32_t b = 0; b < n; ++b) work.push_back(b);
    while (!work.empty()) {
      uint32_t b = work.back();
      work.pop_back();
      queued[b] = false;
      bool changed = false;
      for (size_t w = 0; w < words; ++w) {
        uint64_t out = 0;
        for (uint32_t s : d_.blocks[b].successors) out |= in_[s][w];
        out_[b][w] = out;
        uint64_t in = use[b][w] | (out & ~kill[b][w]);
        changed |= in != in_[b][w];
        in_[b][w] = in;
      }
      if (!changed) continue;
      for (uint32_t p : d_.blocks[b].predecessors)
        if (!queued[p]) {
          queued[p] = true;
          work.push_back(p);
        }
    }
  }

  Decoding& d_;
  std::vector<uint32_t> names_, name_of_;
  std::vector<std::vector<uint64_t>> in_, out_;
};

void find_temporaries(Decoding& d) {
  std::vector<uint32_t> block_of(d.registers.size(), kNoBlock), written(d.registers.size());
  std::vector<bool> outlives(d.registers.size(), false);
  for (uint32_t b = 0; b < d.blocks.size(); ++b) {
    uint32_t stop = d.blocks[b].begin;  // behind the last instruction at which a path may stop
    for (uint32_t i = d.blocks[b].begin; i < d.blocks[b].end; ++i) {
      const Ir& ir = d.code[i];
      const bool stops = ir.kind == IrKind::machine || ir.kind == IrKind::barrier;
      auto read = [&](uint32_t r) {
        if (block_of[r] != b || written[r] < stop || stops) outlives[r] = true;
      };
      for (uint32_t s = 0; s < ir.sources; ++s)
        if (!ir.s[s].constant) read(ir.s[s].reg);
      if (ir.guard != kNoReg) read(ir.guard);
      for (uint32_t w = 0; w < ir.destinations; ++w) {
        uint32_t r = ir.d[w];
        if ((block_of[r] != kNoBlock && block_of[r] != b) || ir.guard != kNoReg) outlives[r] = true;
        block_of[r] = b;
        written[r] = i;
      }
      if (stops || ir.kind == IrKind::exit) stop = i + 1;
    }
  }
  for (uint32_t r = 0; r < d.registers.size(); ++r)
    d.registers[r].temporary =
        block_of[r] != kNoBlock && !outlives[r] && !d.registers[r].fixed_slot;
}

// Slots of one element size; the lowest free one is taken, so that live registers stay close
// together.
class Slots {
 public:
  uint32_t take() {
    for (uint32_t at = 0;; ++at) {
      if (at == used_.size()) used_.push_back(false);
      if (used_[at]) continue;
      used_[at] = true;
      return at;
    }
  }
  void release(uint32_t at) { used_[at] = false; }
  uint32_t count() const { return uint32_t(used_.size()); }

 private:
  std::vector<bool> used_;
};

}  // namespace

void allocate(Decoding& d) {
  find_temporaries(d);
  Program& program = *d.program;
  uint32_t scalar_end = program.uniform_bytes;
  for (IrRegister& r : d.registers) {
    if (r.fixed_slot) continue;
    r.scalar_slot = r.bytes == 0 || r.shape.kind == Shape::uniform;
  }
  // Scalars that occur at all.
  std::vector<bool> occurs(d.registers.size(), false);
  for (const Ir& ir : d.code) {
    for (uint32_t s = 0; s < ir.sources; ++s)
      if (!ir.s[s].constant) occurs[ir.s[s].reg] = true;
    for (uint32_t w = 0; w < ir.destinations; ++w) occurs[ir.d[w]] = true;
    if (ir.guard != kNoReg) occurs[ir.guard] = true;
  }
  // Warp-uniform values first, then lane masks: a split warp keeps the former apart for each path.
  for (bool uniform : {true, false}) {
    if (uniform) program.private_begin = scalar_end;
    for (uint32_t i = 0; i < d.registers.size(); ++i) {
      IrRegister& r = d.registers[i];
      if (!r.scalar_slot || r.fixed_slot || !occurs[i] ||
          (r.shape.kind == Shape::uniform) != uniform)
        continue;
      r.slot = scalar_end;
      scalar_end += 8;
    }
    if (uniform) program.private_end = scalar_end;
  }
  program.uniform_bytes = scalar_end;  // emit adds the constants behind

  // One pool for each element size. Lane 5 of a 64-bit register lies where lanes 10 and 11 of a
  // 32-bit one would: shared across sizes, one path's write would reach another path's lanes.
  Slots pools[6];  // 8, 4, 2 bytes, each for temporaries and for the others
  auto pool_of = [](const IrRegister& r) {
    return (r.bytes == 8 ? 0u : r.bytes == 4 ? 2u : 4u) + (r.temporary ? 1u : 0u);
  };
  // %tid and the like keep their slots for the life of the CTA object.
  for (uint32_t reg : d.lane_init_registers) {
    IrRegister& r = d.registers[reg];
    if (!r.scalar_slot) r.slot = pools[pool_of(r)].take();
  }
  std::vector<Interval> intervals = Liveness(d).intervals();
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.start < b.start; });
  auto later = [](const Interval* a, const Interval* b) { return a->end > b->end; };
  std::priority_queue<const Interval*, std::vector<const Interval*>, decltype(later)> active(later);
  uint32_t live = 0;
  for (Interval& interval : intervals) {
    // A slot is free for what starts after the last read: handlers may write before they have read
    // all.
    while (!active.empty() && active.top()->end < interval.start) {
      IrRegister& r = d.registers[active.top()->reg];
      pools[pool_of(r)].release(r.slot);
      live -= active.top()->units;
      active.pop();
    }
    IrRegister& r = d.registers[interval.reg];
    r.slot = pools[pool_of(r)].take();
    live += interval.units;
    program.registers = std::max(program.registers, (live + 1) / 2);
    active.push(&interval);
  }
  uint32_t base[6], end = 0;
  for (uint32_t pool = 0; pool < 6; ++pool) {
    base[pool] = end;
    end += pools[pool].count() * (256u >> (pool / 2));
  }
  auto place = [&](uint32_t reg) {
    IrRegister& r = d.registers[reg];
    uint32_t pool = pool_of(r);
    r.slot = base[pool] + r.slot * (256u >> (pool / 2));
  };
  for (uint32_t reg : d.lane_init_registers)
    if (!d.registers[reg].scalar_slot) place(reg);
  for (const Interval& interval : intervals) place(interval.reg);
  program.frame_bytes = end;  // the lane area; emit puts the uniform area before it
}

}  // namespace tw::emu
