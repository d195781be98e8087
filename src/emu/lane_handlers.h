// Which handler runs a lane row: the table that each instruction set exports (lane_handlers.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "emu/op.h"
#include "isa/mods.h"
#include "ptx/module.h"

namespace tw::emu {

inline constexpr uint32_t kMaxSources = 4;

// The same as `mixed` and `mixed_masked`, and the branch on the result that comes next.
struct BranchHandlers {
  Handler mixed[8] = {};
  Handler mixed_masked[8] = {};
};

// Handlers of one row at one type for one choice of modifiers.
struct HandlerSet {
  // Destination per lane; index: bit i set when source i is uniform. nullptr where no handler of
  // its own was compiled: use `full` or `masked`, which read Op::flags.
  Handler mixed[8] = {};         // full mask
  Handler mixed_masked[8] = {};  // active lanes only
  Handler full = nullptr;        // full mask, any mix (reads Op::flags)
  Handler masked = nullptr;      // active lanes only, any mix
  Handler uniform = nullptr;     // all operands scalar
  const BranchHandlers* branching = nullptr;
};

struct FixedHandlers {
  isa::Mods mods;
  HandlerSet handlers;
};

// One row at one type (or pair of types).
struct LaneEntry {
  ptx::Type type = ptx::Type::none, type2 = ptx::Type::none;
  uint8_t sources = 0;
  uint8_t destination_bytes = 0;           // element size; 0: predicate
  uint8_t source_bytes[kMaxSources] = {};  // element size; 0: predicate
  bool destination_signed = false;
  uint8_t constant_source = kMaxSources;  // the source that must be a constant, if there is one
  std::span<const FixedHandlers> fixed;   // compiled for these modifiers exactly
  HandlerSet runtime;                     // reads Op::extra as isa::Mods*; null where unneeded
};

struct LaneRowHandlers {
  std::span<const isa::Field> reads;  // the fields that matter
  std::span<const LaneEntry> entries;
};

}  // namespace tw::emu
