// Instructions that exchange values between the lanes of a warp. The `.sync` forms wait for the
// lanes that they name: a path that arrives alone parks at the instruction until the others have
// come (or exited), then the last one to arrive computes the result for all of them.
#include "emu/cta.h"
#include "emu/machine_handlers.h"
#include "emu/windows.h"

namespace tw::emu {
namespace {

using isa::Field;

const MachineOperands& operands(const Op* op) {
  return *static_cast<const MachineOperands*>(op->extra);
}

uint32_t mask_source(const MachineOperands& o, const char* frame, uint32_t i, uint32_t lane) {
  const uint32_t* slot = reinterpret_cast<const uint32_t*>(frame + o.s[i]);
  return slot[(o.uniform >> i) & 1 ? 0 : lane];
}
template <class T>
T lane_source(const MachineOperands& o, const char* frame, uint32_t i, uint32_t lane) {
  const T* slot = reinterpret_cast<const T*>(frame + o.s[i]);
  return slot[(o.uniform >> i) & 1 ? 0 : lane];
}
uint32_t predicate_source(const MachineOperands& o, const char* frame, uint32_t i) {
  return *reinterpret_cast<const uint32_t*>(frame + o.s[i]);
}

void write_predicate(char* frame, uint32_t slot, uint32_t lanes, uint32_t value) {
  if (slot == kNoSlot) return;
  uint32_t* d = reinterpret_cast<uint32_t*>(frame + slot);
  *d = (*d & ~lanes) | (value & lanes);
}

// The lanes that the active lanes name. Lanes of one warp may name different sets (two tiles of
// sixteen name a half each): those of all of them.
uint32_t named_lanes(const MachineOperands& o, const char* frame, uint32_t mask_index,
                     uint32_t active) {
  if ((o.uniform >> mask_index) & 1) return mask_source(o, frame, mask_index, 0);
  uint32_t members = 0;
  for (; active != 0; active &= active - 1)
    members |= mask_source(o, frame, mask_index, uint32_t(__builtin_ctz(active)));
  return members;
}

// Lanes that execute the instruction together, or 0 if the running path has to wait for others.
uint32_t gather(const Op* op, Warp* warp, uint32_t members) {
  members &= ~warp->exited;
  if ((members & ~warp->active) == 0) return warp->active;
  uint32_t here = warp->active;
  auto waits_here = [&](const Path& p) {
    return p.state == PathState::warp_sync && p.pc == op + 1;
  };
  for (uint32_t i = 0; i < warp->path_count; ++i)
    if (waits_here(warp->paths[i])) here |= warp->paths[i].mask;
  if ((members & ~here) != 0) return 0;
  uint32_t lanes = warp->active;
  for (uint32_t i = 0; i < warp->path_count; ++i) {
    Path& path = warp->paths[i];
    if (!waits_here(path) || (path.sync_mask & ~warp->exited & ~here) != 0)
      continue;  // others wait on
    path.state = PathState::ready;
    lanes |= path.mask;
  }
  return lanes;
}

const Op* wait_for_lanes(const Op* op, char*, Warp* warp, uint32_t members) {
  park(*warp, op + 1, PathState::warp_sync);
  warp->paths[warp->path_count - 1].sync_mask = members;
  return next_path(*warp);
}

// Calls body(lanes) once all named lanes are here, once for each set of lanes that name the same
// ones. `mask_index`: the member mask, or -1 for forms without one. The bodies are functions of
// their own: a handler with arrays among its locals could not end in a tail call.
using Together = void (*)(const MachineOperands& o, char* frame, uint32_t lanes);
[[gnu::noinline]] void each_set(const MachineOperands& o, char* frame, uint32_t mask_index,
                                uint32_t lanes, Together body) {
  uint32_t masks[kLanes];  // a body may write the register that holds them
  for (uint32_t l = 0; l < kLanes; ++l) masks[l] = mask_source(o, frame, mask_index, l);
  while (lanes != 0) {
    const uint32_t mask = masks[__builtin_ctz(lanes)];
    uint32_t set = 0;
    for (uint32_t l = 0; l < kLanes; ++l) set |= masks[l] == mask ? lanes & 1u << l : 0;
    body(o, frame, set);
    lanes &= ~set;
  }
}
TW_INLINE const Op* together(TW_HANDLER_ARGS, int mask_index, Together body) {
  const MachineOperands& o = operands(op);
  uint32_t lanes = warp->active;
  if (mask_index >= 0) {
    uint32_t members = named_lanes(o, frame, uint32_t(mask_index), warp->active);
    lanes = gather(op, warp, members);
    if (lanes == 0) {
      const Op* to = wait_for_lanes(op, frame, warp, members);
      if (to == nullptr) return nullptr;
      TW_GO(to);
    }
    if (!((o.uniform >> mask_index) & 1)) {
      each_set(o, frame, uint32_t(mask_index), lanes, body);
      TW_NEXT;
    }
  }
  body(o, frame, lanes);
  TW_NEXT;
}

template <class F> void for_lanes(uint32_t lanes, F f) {
  for (; lanes != 0; lanes &= lanes - 1) f(uint32_t(__builtin_ctz(lanes)));
}

[[gnu::noinline]] void shuffle_lanes(const MachineOperands& o, char* frame, uint32_t lanes) {
  uint32_t value[kLanes], result[kLanes];
  uint32_t in_range = 0;
  for (uint32_t l = 0; l < kLanes; ++l) value[l] = lane_source<uint32_t>(o, frame, 0, l);
  for (uint32_t l = 0; l < kLanes; ++l) {
    bool ok = false;
    const uint32_t from =
        shuffle_source(o.mods[Field::operation], l, lane_source<uint32_t>(o, frame, 1, l),
                       lane_source<uint32_t>(o, frame, 2, l), ok);
    in_range |= uint32_t(ok) << l;
    result[l] = value[from];
  }
  uint32_t* d = reinterpret_cast<uint32_t*>(frame + o.d[0]);
  for_lanes(lanes, [&](uint32_t l) { d[l] = result[l]; });
  write_predicate(frame, o.d[1], lanes, in_range);
}
const Op* shuffle(TW_HANDLER_ARGS) {
  return together(op, frame, warp, operands(op).sources == 4 ? 3 : -1, shuffle_lanes);
}

[[gnu::noinline]] void vote_lanes(const MachineOperands& o, char* frame, uint32_t lanes) {
  uint32_t members =
      o.sources == 2 ? mask_source(o, frame, 1, uint32_t(__builtin_ctz(lanes))) & lanes : lanes;
  uint32_t ballot = predicate_source(o, frame, 0) & members;
  bool value = false;
  switch (o.mods[Field::operation]) {
    case isa::kOpAll: value = ballot == members; break;
    case isa::kOpAny: value = ballot != 0; break;
    case isa::kOpUni: value = ballot == members || ballot == 0; break;
    default: {
      uint32_t* d = reinterpret_cast<uint32_t*>(frame + o.d[0]);
      for_lanes(lanes, [&](uint32_t l) { d[l] = ballot; });
      return;
    }
  }
  write_predicate(frame, o.d[0], lanes, value ? kFullMask : 0);
}
const Op* vote(TW_HANDLER_ARGS) {
  return together(op, frame, warp, operands(op).sources == 2 ? 1 : -1, vote_lanes);
}

[[gnu::noinline]] void match_lanes(const MachineOperands& o, char* frame, uint32_t lanes) {
  uint32_t members = mask_source(o, frame, 1, uint32_t(__builtin_ctz(lanes))) & lanes;
  bool wide = ptx::type_bytes(o.type) == 8;
  uint64_t value[kLanes] = {};
  for (uint32_t l = 0; l < kLanes; ++l)
    value[l] = wide ? lane_source<uint64_t>(o, frame, 0, l) : lane_source<uint32_t>(o, frame, 0, l);
  uint32_t* d = reinterpret_cast<uint32_t*>(frame + o.d[0]);
  uint32_t equal_to[kLanes] = {};
  for_lanes(members, [&](uint32_t l) {
    for_lanes(members, [&](uint32_t k) { equal_to[l] |= value[k] == value[l] ? 1u << k : 0u; });
  });
  if (o.mods[Field::operation] == isa::kOpAll) {
    bool all = members != 0 && equal_to[__builtin_ctz(members)] == members;
    for_lanes(lanes, [&](uint32_t l) { d[l] = all ? members : 0; });
    write_predicate(frame, o.d[1], lanes, all ? kFullMask : 0);
  } else {
    for_lanes(lanes, [&](uint32_t l) { d[l] = equal_to[l]; });
  }
}
const Op* match(TW_HANDLER_ARGS) { return together(op, frame, warp, 1, match_lanes); }

[[gnu::noinline]] void redux_lanes(const MachineOperands& o, char* frame, uint32_t lanes) {
  uint32_t members = mask_source(o, frame, 1, uint32_t(__builtin_ctz(lanes))) & lanes;
  bool is_signed = o.type == ptx::Type::s32;
  bool first = true;
  uint32_t sum = 0;
  for_lanes(members, [&](uint32_t l) {
    uint32_t v = lane_source<uint32_t>(o, frame, 0, l);
    if (first)
      sum = v;
    else {
      switch (o.mods[Field::operation]) {
        case isa::kOpAdd: sum += v; break;
        case isa::kOpMin:
          sum = is_signed ? uint32_t(std::min(int32_t(sum), int32_t(v))) : std::min(sum, v);
          break;
        case isa::kOpMax:
          sum = is_signed ? uint32_t(std::max(int32_t(sum), int32_t(v))) : std::max(sum, v);
          break;
        case isa::kOpAnd: sum &= v; break;
        case isa::kOpOr: sum |= v; break;
        default: sum ^= v; break;
      }
    }
    first = false;
  });
  uint32_t* d = reinterpret_cast<uint32_t*>(frame + o.d[0]);
  for_lanes(lanes, [&](uint32_t l) { d[l] = sum; });
}
const Op* redux(TW_HANDLER_ARGS) { return together(op, frame, warp, 1, redux_lanes); }

[[gnu::noinline]] void active_mask_lanes(const MachineOperands& o, char* frame, uint32_t lanes) {
  uint32_t* d = reinterpret_cast<uint32_t*>(frame + o.d[0]);
  for_lanes(lanes, [&](uint32_t l) { d[l] = lanes; });
}
const Op* active_mask(TW_HANDLER_ARGS) { return together(op, frame, warp, -1, active_mask_lanes); }

// The lowest named lane is elected.
[[gnu::noinline]] void elect_lanes(const MachineOperands& o, char* frame, uint32_t lanes) {
  uint32_t members = mask_source(o, frame, 0, uint32_t(__builtin_ctz(lanes))) & lanes;
  uint32_t leader = members != 0 ? uint32_t(__builtin_ctz(members)) : 0;
  if (o.d[0] != kNoSlot) {
    uint32_t* d = reinterpret_cast<uint32_t*>(frame + o.d[0]);
    for_lanes(lanes, [&](uint32_t l) { d[l] = leader; });
  }
  write_predicate(frame, o.d[1], lanes, 1u << leader);
}
const Op* elect(TW_HANDLER_ARGS) { return together(op, frame, warp, 0, elect_lanes); }

[[gnu::noinline]] void is_space_lanes(const MachineOperands& o, char* frame, uint32_t lanes) {
  uint32_t inside = 0;
  for_lanes(lanes, [&](uint32_t l) {
    uint64_t a = lane_source<uint64_t>(o, frame, 0, l);
    bool shared = in_shared_window(a), local = in_local_window(a), yes = false;
    switch (o.mods[Field::space]) {
      case isa::kShared:
      case isa::kSharedCluster: yes = shared; break;
      case isa::kLocal: yes = local; break;
      case isa::kGlobal: yes = !shared && !local; break;
      default: break;  // constants and parameters lie among global memory and are taken for it
    }
    if (yes) inside |= 1u << l;
  });
  write_predicate(frame, o.d[0], lanes, inside);
}
const Op* is_space(TW_HANDLER_ARGS) { return together(op, frame, warp, -1, is_space_lanes); }

// Their last source is the mask of all lanes.
const Op* matrix_move(TW_HANDLER_ARGS) {
  return together(op, frame, warp, operands(op).sources - 1, matrix_move_lanes);
}
const Op* matrix_multiply(TW_HANDLER_ARGS) {
  return together(op, frame, warp, operands(op).sources - 1, matrix_multiply_lanes);
}

}  // namespace

Handler warp_handler(Builtin builtin) {
  switch (builtin) {
    case Builtin::shuffle: return shuffle;
    case Builtin::vote: return vote;
    case Builtin::match: return match;
    case Builtin::redux: return redux;
    case Builtin::active_mask: return active_mask;
    case Builtin::elect: return elect;
    case Builtin::is_space: return is_space;
    case Builtin::matrix_move: return matrix_move;
    case Builtin::matrix_multiply: return matrix_multiply;
    default: return nullptr;
  }
}

}  // namespace tw::emu
