// What one row of the instruction table says. See table.h for the list of all rows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "isa/mods.h"
#include "ptx/module.h"

namespace tw::isa {

using ptx::Type;

enum class Body : uint8_t {
  lane,     // a pure function of lane values, given in the row (`lane`)
  memory,   // ld, st, atom, red, ...: bodies in emu/memory_handlers*, event `access`
  control,  // bra, ret, exit, call, ...: handled by the decoder and emu/machine_handlers.cpp
  warp,     // shfl, vote, match, redux, ...: emu/warp_handlers.cpp
  cta,      // bar, barrier, fence, ...: emu/machine_handlers.cpp
};

enum class Category : uint8_t {
  move,
  integer,
  logic,
  compare,
  select,
  convert,
  fp32,
  fp64,
  fp16,
  bf16,
  special_function,
  load,
  store,
  atomic,
  control,
  sync,
  warp,
  matrix,
  other
};
std::string_view category_name(Category category);

// How a destination's per-half-warp stride follows from its sources' (decode's static stride
// analysis).
enum class Affine : uint8_t { none, copy, add, sub, mul, mul_wide, mad, mad_wide, shl, neg, widen };

struct RowInfo {
  std::string_view grammar;      // the manual's spelling: "add{.rnd}{.ftz}{.sat}.type"
  std::string_view operands;     // "d, a, b"; what the manual calls them
  std::span<const Type> types;   // what `.type` may be (empty: no type)
  std::span<const Type> types2;  // what `.type2` may be
  Body body = Body::lane;
  Category category = Category::other;
  uint8_t flops = 0;      // floating-point operations a lane (FMA counts 2)
  uint16_t min_ptx = 10;  // PTX ISA version * 10
  uint16_t min_sm = 10;
  std::string_view manual;  // anchor of the PTX ISA manual section
  Affine affine = Affine::none;
  bool carry_in = false;  // the last source is CC.CF, which the spelling does not name
  // What each operand is, a letter each (operand_types.h); empty: lane rows' are all of `.type`,
  // others' are not looked at.
  std::string_view takes = {};

  std::string_view opcode() const {
    size_t end = grammar.find_first_of(".{");
    return grammar.substr(0, end);
  }
};

inline constexpr Type kU16U32U64[] = {Type::u16, Type::u32, Type::u64};
inline constexpr Type kIntegers[] = {Type::u16, Type::u32, Type::u64,
                                     Type::s16, Type::s32, Type::s64};
inline constexpr Type kIntegers16And32[] = {Type::u16, Type::u32, Type::s16, Type::s32};
inline constexpr Type kIntegers32[] = {Type::u32, Type::s32};
inline constexpr Type kIntegers32And64[] = {Type::u32, Type::u64, Type::s32, Type::s64};
inline constexpr Type kSigned[] = {Type::s16, Type::s32, Type::s64};
inline constexpr Type kBits[] = {Type::b16, Type::b32, Type::b64};
inline constexpr Type kBits32And64[] = {Type::b32, Type::b64};
inline constexpr Type kB32[] = {Type::b32};
inline constexpr Type kS32[] = {Type::s32};
inline constexpr Type kU32[] = {Type::u32};
inline constexpr Type kPred[] = {Type::pred};
inline constexpr Type kF32[] = {Type::f32};
inline constexpr Type kF64[] = {Type::f64};
inline constexpr Type kF32F64[] = {Type::f32, Type::f64};
inline constexpr Type kMoveTypes[] = {Type::b16, Type::b32, Type::b64, Type::u16,
                                      Type::u32, Type::u64, Type::s16, Type::s32,
                                      Type::s64, Type::f32, Type::f64};
inline constexpr Type kMemoryTypes[] = {Type::b8,  Type::b16, Type::b32, Type::b64, Type::b128,
                                        Type::u8,  Type::u16, Type::u32, Type::u64, Type::s8,
                                        Type::s16, Type::s32, Type::s64, Type::f32, Type::f64};

}  // namespace tw::isa
