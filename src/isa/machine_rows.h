// Rows whose bodies are not lane functions: memory, control flow, warp and CTA operations. The bodies
// live in src/emu under the row's name (Machine::ld -> emu/memory_handlers.cpp, ...).
#pragma once

#include "isa/row.h"

namespace tw::isa {

enum class Machine : uint16_t {
  ld, st, cvta_to, cvta,
  bra, ret, exit, call, trap,
  bar_sync, barrier_sync, bar_warp_sync, membar, fence,
  count
};
inline constexpr size_t kMachineRows = static_cast<size_t>(Machine::count);

// Indexed by Machine.
inline constexpr RowInfo kMachineTable[kMachineRows] = {
    {.grammar = "ld{.mmio}{.ordering}{.scope}{.space}{.cache}*{.vec}.type", .operands = "d, [a]", .types = kMemoryTypes, .types2 = {}, .body = Body::memory, .category = Category::load, .manual = "data-movement-and-conversion-instructions-ld"},
    {.grammar = "st{.mmio}{.ordering}{.scope}{.space}{.cache}*{.vec}.type", .operands = "[a], b", .types = kMemoryTypes, .types2 = {}, .body = Body::memory, .category = Category::store, .manual = "data-movement-and-conversion-instructions-st"},
    {.grammar = "cvta.to.space.type", .operands = "p, a", .types = kU16U32U64, .types2 = {}, .body = Body::control, .category = Category::move, .manual = "data-movement-and-conversion-instructions-cvta", .affine = Affine::copy},
    {.grammar = "cvta.space.type", .operands = "p, a", .types = kU16U32U64, .types2 = {}, .body = Body::control, .category = Category::move, .manual = "data-movement-and-conversion-instructions-cvta", .affine = Affine::copy},
    {.grammar = "bra{.uni}", .operands = "target", .types = {}, .types2 = {}, .body = Body::control, .category = Category::control, .manual = "control-flow-instructions-bra"},
    {.grammar = "ret{.uni}", .operands = "", .types = {}, .types2 = {}, .body = Body::control, .category = Category::control, .manual = "control-flow-instructions-ret"},
    {.grammar = "exit", .operands = "", .types = {}, .types2 = {}, .body = Body::control, .category = Category::control, .manual = "control-flow-instructions-exit"},
    {.grammar = "call{.uni}", .operands = "(ret), func, (params)", .types = {}, .types2 = {}, .body = Body::control, .category = Category::control, .manual = "control-flow-instructions-call"},
    {.grammar = "trap", .operands = "", .types = {}, .types2 = {}, .body = Body::control, .category = Category::control, .manual = "miscellaneous-instructions-trap"},
    {.grammar = "bar{.cta}.sync", .operands = "a{, b}", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-bar"},
    {.grammar = "barrier{.cta}.sync{.aligned}", .operands = "a{, b}", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-bar"},
    {.grammar = "bar.warp.sync", .operands = "membermask", .types = {}, .types2 = {}, .body = Body::warp, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-bar-warp-sync"},
    {.grammar = "membar.scope", .operands = "", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-membar"},
    {.grammar = "fence{.ordering}.scope", .operands = "", .types = {}, .types2 = {}, .body = Body::cta, .category = Category::sync, .manual = "parallel-synchronization-and-communication-instructions-membar"},
};

}  // namespace tw::isa
