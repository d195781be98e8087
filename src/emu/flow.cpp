// Basic blocks, successors and immediate post-dominators. Reconvergence happens at the
// post-dominator of a divergent branch: block order in PTX text is not topological, so "lowest
// address first" would meet at the wrong places.
//
// A branch to code that only ends the thread is an exit of those lanes, not a divergence: otherwise
// they would wait at a reconvergence point while their CTA waits for them at a barrier.
#include <algorithm>

#include "emu/ir.h"
#include "emu/machine_handlers.h"

namespace tw::emu {
namespace {

// Immediate post-dominators after Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm",
// on the reversed graph; node `n` is the kernel's end.
// `may_exit`: blocks that end in a guarded exit. Those edges count only for loops with no other way
// out
// (`for (;;) { ... if (done) return; ... }`).
void post_dominators(std::vector<IrBlock>& blocks, const std::vector<bool>& may_exit) {
  const uint32_t n = uint32_t(blocks.size());
  std::vector<std::vector<uint32_t>> to_end(1);
  std::vector<uint32_t> order;  // reverse graph, post-order
  std::vector<uint32_t> number(n + 1, kNoBlock);
  std::vector<bool> ends(n, false), seen(n + 1, false);
  for (uint32_t b = 0; b < n; ++b) ends[b] = blocks[b].successors.empty();

  auto visit_from = [&](uint32_t root) {
    // Iterative depth-first search over predecessors.
    std::vector<std::pair<uint32_t, size_t>> stack;
    auto predecessors = [&](uint32_t b) -> const std::vector<uint32_t>& {
      return blocks[b].predecessors;
    };
    seen[root] = true;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      auto& [b, i] = stack.back();
      const std::vector<uint32_t>& p = predecessors(b);
      if (i < p.size()) {
        uint32_t next = p[i++];
        if (!seen[next]) {
          seen[next] = true;
          stack.push_back({next, 0});
        }
      } else {
        order.push_back(b);
        stack.pop_back();
      }
    }
  };
  for (uint32_t b = 0; b < n; ++b)
    if (ends[b] && !seen[b]) visit_from(b);
  // Loops that reach the end only through a guarded exit, then endless ones: give each a way out.
  for (bool any : {false, true})
    for (uint32_t b = n; b-- > 0;) {
      if (seen[b] || (!any && !may_exit[b])) continue;
      ends[b] = true;
      visit_from(b);
    }
  order.push_back(n);
  for (uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;

  std::vector<uint32_t> idom(n + 1, kNoBlock);
  idom[n] = n;
  auto intersect = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (number[a] < number[b]) a = idom[a];
      while (number[b] < number[a]) b = idom[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = order.size() - 1; i-- > 0;) {
      uint32_t b = order[i];
      uint32_t best = ends[b] ? n : kNoBlock;
      for (uint32_t s : blocks[b].successors) {
        if (idom[s] == kNoBlock) continue;
        best = best == kNoBlock ? s : intersect(s, best);
      }
      if (best != kNoBlock && idom[b] != best) {
        idom[b] = best;
        changed = true;
      }
    }
  }
  for (uint32_t b = 0; b < n; ++b) blocks[b].post_dominator = idom[b] == n ? kNoBlock : idom[b];
}

// What an instruction is to a lane of the warp that spins until another lane has done something.
enum class Effect : uint8_t {
  none,   // nothing that it could see
  act,    // perhaps what it waits for
  stops,  // goes no further before that lane has come, too
};

Effect effect_of(const Ir& ir) {
  auto is = [&](uint32_t source, uint64_t value) {
    return source < ir.sources && ir.s[source].constant && uint32_t(ir.s[source].value) == value;
  };
  const Effect all_threads = is(1, 0) && ir.guard == kNoReg ? Effect::stops : Effect::act;
  switch (ir.kind) {
    case IrKind::lane:
    case IrKind::load:
    case IrKind::branch:
    case IrKind::nop: return Effect::none;
    case IrKind::store: return ir.space == AccessSpace::local ? Effect::none : Effect::act;
    case IrKind::exit: return Effect::act;  // barriers no longer wait for the lane
    case IrKind::barrier: return all_threads;
    case IrKind::machine: break;
  }
  switch (static_cast<Builtin>(ir.builtin)) {
    case Builtin::barrier_red: return all_threads;
    case Builtin::warp_sync:
      return is(0, kFullMask) && ir.guard == kNoReg ? Effect::stops : Effect::act;
    case Builtin::barrier_red_result:
    case Builtin::cluster_wait:
    case Builtin::active_mask:
    case Builtin::is_space:
    case Builtin::mbarrier_wait:
    case Builtin::mbarrier_pending:
    case Builtin::async_commit:
    case Builtin::async_wait:
    case Builtin::bulk_commit:
    case Builtin::bulk_wait:
    case Builtin::proxy_fence:
    case Builtin::nanosleep:
    case Builtin::fence:
    case Builtin::clock32:
    case Builtin::clock64:
    case Builtin::global_timer: return Effect::none;
    case Builtin::shuffle:
      return ir.sources == 4 && is(3, kFullMask) && ir.guard == kNoReg ? Effect::stops
                                                                       : Effect::act;
    case Builtin::vote:
    case Builtin::match:
    case Builtin::redux:
      return ir.sources == 2 && is(1, kFullMask) && ir.guard == kNoReg ? Effect::stops
                                                                       : Effect::act;
    case Builtin::matrix_move:
    case Builtin::matrix_multiply:
      return ir.guard == kNoReg ? Effect::stops : Effect::act;  // they name all lanes
    default: return Effect::act;
  }
}

// Block::acts.
void find_acts(Decoding& d) {
  std::vector<Effect> own(d.blocks.size(), Effect::none);
  for (uint32_t b = 0; b < d.blocks.size(); ++b)
    for (uint32_t i = d.blocks[b].begin; i < d.blocks[b].end && own[b] == Effect::none; ++i)
      own[b] = effect_of(d.code[i]);
  for (uint32_t b = 0; b < d.blocks.size(); ++b) d.blocks[b].acts = own[b] == Effect::act;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = uint32_t(d.blocks.size()); b-- > 0;) {
      IrBlock& block = d.blocks[b];
      if (block.acts || own[b] == Effect::stops) continue;
      for (uint32_t s : block.successors) block.acts = block.acts || d.blocks[s].acts;
      changed = changed || block.acts;
    }
  }
}

}  // namespace

void build_flow(Decoding& d) {
  // Drop what simplify killed, keeping label positions.
  std::vector<uint32_t> moved(d.code.size() + 1);
  std::vector<Ir> kept;
  kept.reserve(d.code.size());
  for (size_t i = 0; i < d.code.size(); ++i) {
    moved[i] = uint32_t(kept.size());
    if (!d.code[i].dead) kept.push_back(d.code[i]);
  }
  moved[d.code.size()] = uint32_t(kept.size());
  for (uint32_t& l : d.labels) l = moved[l];
  d.code = std::move(kept);
  Ir end;  // falling off the end is an exit
  end.kind = IrKind::exit;
  end.site = d.program->sites.empty() ? 0 : uint32_t(d.program->sites.size() - 1);
  d.code.push_back(end);

  auto only_exits = [&](uint32_t i) {
    return d.code[i].kind == IrKind::exit && d.code[i].guard == kNoReg;
  };
  std::vector<bool> leader(d.code.size() + 1, false);
  leader[0] = true;
  for (uint32_t i = 0; i < d.code.size(); ++i) {
    Ir& ir = d.code[i];
    if (ir.kind == IrKind::branch) {
      uint32_t to = d.labels[ir.target];
      for (uint32_t hops = 0;
           hops < 8 && d.code[to].kind == IrKind::branch && d.code[to].guard == kNoReg; ++hops)
        to = d.labels[d.code[to].target];
      if (only_exits(to))
        ir.kind = IrKind::exit;
      else
        leader[d.labels[ir.target]] = true;
    }
    bool ends = ir.kind == IrKind::branch || ir.kind == IrKind::exit ||
                ir.kind == IrKind::barrier || ir.kind == IrKind::machine;
    if (ends) leader[i + 1] = true;
  }
  std::vector<uint32_t> block_of(d.code.size() + 1, 0);
  for (uint32_t i = 0; i < d.code.size(); ++i) {
    if (leader[i]) {
      d.blocks.emplace_back();
      d.blocks.back().begin = i;
    }
    block_of[i] = uint32_t(d.blocks.size() - 1);
    d.blocks.back().end = i + 1;
  }
  for (uint32_t b = 0; b < d.blocks.size(); ++b) {
    IrBlock& block = d.blocks[b];
    Ir& last = d.code[block.end - 1];
    bool falls = true;
    if (last.kind == IrKind::branch) {
      last.target = block_of[d.labels[last.target]];
      block.successors.push_back(last.target);
      falls = last.guard != kNoReg;
    } else if (last.kind == IrKind::exit) {
      falls = last.guard != kNoReg;
    }
    if (falls && (block.successors.empty() || block.successors[0] != b + 1))
      block.successors.push_back(b + 1);
  }
  for (uint32_t b = 0; b < d.blocks.size(); ++b)
    for (uint32_t s : d.blocks[b].successors) d.blocks[s].predecessors.push_back(b);
  std::vector<bool> may_exit(d.blocks.size());
  for (uint32_t b = 0; b < d.blocks.size(); ++b)
    may_exit[b] = d.code[d.blocks[b].end - 1].kind == IrKind::exit;
  post_dominators(d.blocks, may_exit);
  find_acts(d);
}

}  // namespace tw::emu
