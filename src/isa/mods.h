// The vocabulary of instruction modifiers: what `.rn`, `.ftz`, `.lt`, `.global`, `.acquire` mean.
//
// A spelling such as `add.rn.ftz.f32` is matched (table.cpp) against a row's grammar
// `add{.rnd}{.ftz}{.sat}.type`; every word that carries meaning sets one Field of a Mods. Lane
// bodies read the fields through an accessor that is either a compile-time constant (the spellings
// worth a handler of their own) or read from the decoded instruction (all others): see `Fixed`,
// `Runtime`.
//
// Everything that handlers use lives in the inline namespace TW_TARGET: the same header is compiled
// once per instruction set, and the linker must never mix the copies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#ifndef TW_TARGET
#define TW_TARGET any
#endif
#define TW_INLINE [[gnu::always_inline]] inline
#define TW_INLINE_LAMBDA __attribute__((always_inline))  // after a lambda's parameters

namespace tw::isa {

enum class Field : uint8_t {
  rnd,
  ftz,
  sat,
  satfinite,
  relu,
  nan,
  xorsign,
  abs,
  approx,
  full,
  cmp,
  boolop,
  part,
  shift,
  carry_out,
  space,
  ordering,
  scope,
  vec,
  nontemporal,
  mmio,
  operation,  // atom.OP, red.OP, vote.MODE, shfl.MODE, bar.red.OP, lop/prmt/tex modes
  uniform,    // .uni, .aligned: a promise, not a behaviour
  to,         // cvta.to
  sync,       // .sync: names its lanes
  clamp,
  shiftamt,
  geometry,
  layout,
  noftz,
  type_a,
  type_b,
  cache_hint,  // one more operand: a cache policy
  noinc,       // cp.async.mbarrier.arrive
  count
};

// To nearest even is what an absent rounding means for floats, so it is the absent value.
enum Rnd : uint8_t { kRndNone, kRn = kRndNone, kRz, kRm, kRp, kRna, kRni, kRzi, kRmi, kRpi, kRs };
enum Cmp : uint8_t {
  kCmpNone,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kLo,
  kLs,
  kHi,
  kHs,
  kEqu,
  kNeu,
  kLtu,
  kLeu,
  kGtu,
  kGeu,
  kNum,
  kNan
};
enum BoolOp : uint8_t { kBoolNone, kBoolAnd, kBoolOr, kBoolXor };
enum Part : uint8_t { kPartNone, kHiPart, kLoPart, kWide };
enum SpaceMod : uint8_t { kGeneric, kGlobal, kShared, kLocal, kConst, kParam, kSharedCluster };
enum Ordering : uint8_t { kWeak, kVolatile, kRelaxed, kAcquire, kRelease, kAcqRel, kSc };
enum Scope : uint8_t { kScopeNone, kScopeCta, kScopeCluster, kScopeGpu, kScopeSys };
enum ProxyKind : uint8_t { kProxyNone, kProxyAlias, kProxyAsync };  // in Field::operation
enum Operation : uint8_t {
  kOpNone,
  kOpAdd,
  kOpMin,
  kOpMax,
  kOpAnd,
  kOpOr,
  kOpXor,
  kOpExch,
  kOpCas,
  kOpInc,
  kOpDec,
  kOpPopc,
  kOpAll,
  kOpAny,
  kOpUni,
  kOpBallot,
  kOpUp,
  kOpDown,
  kOpBfly,
  kOpIdx,
  kOpF4e,
  kOpB4e,
  kOpRc8,
  kOpEcl,
  kOpEcr,
  kOpRc16,
  kOpFinite,
  kOpInfinite,
  kOpNumber,
  kOpNotANumber,
  kOpNormal,
  kOpSubnormal
};
enum ShiftMode : uint8_t { kShiftNone, kShiftClamp, kShiftWrap };

struct Mods {
  std::array<uint8_t, static_cast<size_t>(Field::count)> values{};
  constexpr uint8_t operator[](Field f) const { return values[static_cast<size_t>(f)]; }
  constexpr Mods with(Field f, uint8_t value) const {
    Mods m = *this;
    m.values[static_cast<size_t>(f)] = value;
    return m;
  }
  bool operator==(const Mods&) const = default;
};

inline namespace TW_TARGET {

// Modifiers known when the handler is compiled.
template <Mods kMods> struct Fixed {
  TW_INLINE constexpr explicit Fixed(const Mods*) {}
  TW_INLINE constexpr uint8_t operator[](Field f) const { return kMods[f]; }
};

// Modifiers read from the decoded instruction. A copy: no store of the lane loop can change it.
struct Runtime {
  Mods mods;
  TW_INLINE explicit Runtime(const Mods* m) : mods(*m) {}
  TW_INLINE uint8_t operator[](Field f) const { return mods[f]; }
};

}  // namespace TW_TARGET
}  // namespace tw::isa
