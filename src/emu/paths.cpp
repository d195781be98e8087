// Divergence within a warp. Lanes that part at a branch become paths; they meet again at the
// branch's post-dominator, where a Join waits for all of them. That is the convergence people
// expect; forward progress (Volta and later) asks for more: lanes that spin until diverged lanes of
// the same warp do something must not keep those waiting. So when the running path has used up its
// fuel, another path gets its turn, and lanes that wait at a join are let go in the end.
//
// From then on the warp is "split": convergent code runs more than once, and each path keeps its
// own copy of the warp-uniform registers. Counters and the checkers see that, so it must not happen
// to lanes that merely wait for a long loop. They are let go when
// - they may do something that others see before they wait for the spinning lanes once more, at a
//   barrier or a shuffle (Block::acts); and
// - the CTA, and where CTAs are interleaved every resident one, is stuck: its warps wait at
//   barriers, are done, or spin. A warp spins when it yields again and again in states that it has
//   been in before: all its registers are the same (what it has stored is not looked at). Loops that
//   wait and change registers (count, read the clock) take kPatience (grid.cpp); so a single lane's
//   loop of more branches than that, with others at its join, can be taken for one.
// Once that has happened (often, where registers are the same), lanes of that launch are let go
// whenever the warp that they wait for yields: every owner of a lock may be such a lane.
#include <cstdlib>
#include <cstring>

#include "emu/cta.h"

namespace tw::emu {
namespace {

int32_t new_join(Warp& warp, uint32_t block, uint32_t expected) {
  for (int32_t i = 0; i < int32_t(kMaxJoins); ++i) {
    if (warp.joins[i].live) continue;
    warp.joins[i] = Join{block, expected, 0, warp.join, true};
    return i;
  }
  return -1;  // every live join waits for different lanes or lies deeper: at most one a lane and a
              // nesting level
}

uint64_t* copy_uniforms(const Warp& warp) {
  const Program& p = warp.cta->program;
  size_t bytes = p.private_end - p.private_begin;
  auto* copy = static_cast<uint64_t*>(std::malloc(bytes ? bytes : 8));
  std::memcpy(copy, warp.frame + p.private_begin, bytes);
  return copy;
}

// Makes a parked path the running one.
const Op* take(Warp& warp, uint32_t i) {
  Path path = warp.paths[i];
  for (uint32_t k = i + 1; k < warp.path_count; ++k) warp.paths[k - 1] = warp.paths[k];
  --warp.path_count;
  warp.active = path.mask;
  warp.join = path.join;
  if (path.uniforms != nullptr) {
    const Program& p = warp.cta->program;
    std::memcpy(warp.frame + p.private_begin, path.uniforms, p.private_end - p.private_begin);
    std::free(path.uniforms);
  }
  return path.pc;
}

bool complete(const Warp& warp, const Join& join) {
  return (join.expected & ~(join.arrived | warp.exited)) == 0;
}

}  // namespace

const Op* block_code(const Warp& warp, uint32_t block, uint32_t mask) {
  const Program& p = warp.cta->program;
  return mask == kFullMask ? &p.full[p.blocks[block].full] : &p.masked[p.blocks[block].masked];
}

void park(Warp& warp, const Op* pc, PathState path_state) {
  Path& path = warp.paths[warp.path_count++];
  path = Path{};
  path.pc = pc;
  path.mask = warp.active;
  path.join = warp.join;
  path.state = path_state;
  if (warp.split) path.uniforms = copy_uniforms(warp);
}

const Op* next_path(Warp& warp) {
  for (uint32_t i = warp.path_count; i-- > 0;)
    if (warp.paths[i].state == PathState::ready) return take(warp, i);
  warp.active = 0;
  warp.pc = nullptr;
  warp.state = warp.path_count == 0 ? WarpState::done : WarpState::barrier;
  return nullptr;
}

const Op* path_ended(Warp& warp) {
  while (warp.join >= 0) {
    Join& join = warp.joins[warp.join];
    if (!complete(warp, join)) break;
    uint32_t mask = join.arrived & ~warp.exited;
    join.live = false;
    warp.join = join.parent;
    if (mask != 0) {
      warp.active = mask;
      return block_code(warp, join.block, mask);
    }
  }
  return next_path(warp);
}

const Op* diverge(const Op* op, Warp& warp, uint32_t taken) {
  const uint32_t rest = warp.active & ~taken;
  const uint32_t target = op->e, fall = op->d, meet = op->block;
  if (meet != kNoBlock) {
    if (warp.join < 0 || warp.joins[warp.join].block != meet) {
      int32_t join = new_join(warp, meet, warp.active);
      if (join >= 0) warp.join = join;
    }
    if (warp.join >= 0 && warp.joins[warp.join].block == meet) {
      Join& join = warp.joins[warp.join];
      if (target == meet) {
        join.arrived |= taken;
        warp.active = rest;
        return block_code(warp, fall, rest);
      }
      if (fall == meet) {
        join.arrived |= rest;
        warp.active = taken;
        return block_code(warp, target, taken);
      }
    }
  }
  warp.active = taken;
  park(warp, block_code(warp, target, taken), PathState::ready);
  warp.active = rest;
  return block_code(warp, fall, rest);
}

namespace {

uint32_t waiting_at(const Warp& warp, const Join& join) {
  return join.live ? join.arrived & ~warp.exited : 0;
}

// Lanes that wait at a join for other lanes become a path that goes on without them.
// `spinning`: the others spin, and do not wait at a barrier.
bool let_go(Warp& warp, bool spinning) {
  for (Join& join : warp.joins) {
    const uint32_t waiting = waiting_at(warp, join);
    if (waiting == 0 || (spinning && !warp.cta->program.blocks[join.block].acts)) continue;
    if (!warp.split) {
      warp.split = true;
      for (uint32_t i = 0; i < warp.path_count; ++i)
        if (warp.paths[i].uniforms == nullptr) warp.paths[i].uniforms = copy_uniforms(warp);
    }
    join.expected &= ~waiting;
    join.arrived = 0;
    Path& path = warp.paths[warp.path_count++];
    path = Path{};
    path.pc = block_code(warp, join.block, waiting);
    path.mask = waiting;
    path.join = join.parent;
    path.uniforms = copy_uniforms(warp);
    return true;
  }
  return false;
}

}  // namespace

bool go_on_past_join(Warp& warp, bool spinning) {
  if (warp.state != WarpState::barrier) return false;
  if (warp.path_count == 0) {
    // The only path waits as the warp itself: make it one of several.
    park(warp, warp.pc, PathState::barrier);
    warp.paths[0].barrier = warp.barrier;
  }
  if (!let_go(warp, spinning)) {
    if (warp.path_count == 1 && !warp.split) {
      warp.active = warp.paths[0].mask;
      warp.path_count = 0;
    }
    return false;
  }
  warp.state = WarpState::ready;
  warp.pc = nullptr;
  return true;
}

void rotate(Warp& warp) {
  uint32_t others = 0;
  for (uint32_t i = 0; i < warp.path_count; ++i) others += warp.paths[i].state == PathState::ready;
  if (others == 0) return;
  // The running path goes to the end of the line; the one that has waited longest is next.
  park(warp, warp.pc, PathState::ready);
  for (uint32_t i = 0; i < warp.path_count; ++i) {
    if (warp.paths[i].state != PathState::ready) continue;
    warp.pc = take(warp, i);
    return;
  }
}

bool lanes_wait(const Warp& warp) {
  for (const Join& join : warp.joins)
    if (waiting_at(warp, join) != 0 && warp.cta->program.blocks[join.block].acts) return true;
  return false;
}

bool let_spinning_go(Warp& warp) {
  if (!let_go(warp, true)) return false;
  rotate(warp);
  return true;
}

uint64_t hash_state(const Warp& warp) {
  uint64_t h = 0x9e3779b97f4a7c15ull;
  auto add = [&h](uint64_t v) {
    h = (h ^ v) * 0xbf58476d1ce4e5b9ull;
    h ^= h >> 29;
  };
  auto add_bytes = [&](const char* p, size_t bytes) {  // four sums, so that none waits for another
    uint64_t sums[4] = {1, 2, 3, 4};
    size_t i = 0;
    for (; i + 32 <= bytes; i += 32)
      for (size_t k = 0; k < 4; ++k) {
        uint64_t v;
        std::memcpy(&v, p + i + 8 * k, 8);
        sums[k] = (sums[k] ^ v) * 0x94d049bb133111ebull;
        sums[k] ^= sums[k] >> 31;
      }
    for (uint64_t sum : sums) add(sum);
    for (; i < bytes; ++i) add(uint8_t(p[i]));
  };
  const Cta& cta = *warp.cta;
  const size_t local = cta.local_bytes * kLanes;
  add(reinterpret_cast<uintptr_t>(warp.pc)), add(warp.active), add(warp.exited);
  add_bytes(warp.frame, cta.program.frame_bytes);
  add_bytes(cta.local.get() + local * warp.index, local);
  for (uint32_t i = 0; i < warp.path_count; ++i) {
    const Path& path = warp.paths[i];
    add(reinterpret_cast<uintptr_t>(path.pc)), add(path.mask), add(uint64_t(path.state));
    if (path.uniforms != nullptr)
      add_bytes(reinterpret_cast<const char*>(path.uniforms),
                cta.program.private_end - cta.program.private_begin);
  }
  return h;
}

}  // namespace tw::emu
