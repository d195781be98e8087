// C++ types and primitives for lane bodies. One lane value at a time: the handler's loop over 32
// lanes is vectorised by the compiler, so a body stays a scalar function that reads like the
// manual. Bodies must not trap, must not depend on the host's rounding mode, and must give the same
// bits on every instruction set (no contraction, no approximate reciprocal).
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "isa/mods.h"
#include "ptx/module.h"

namespace tw::isa {
inline namespace TW_TARGET {

using ptx::Type;

template <class To, class From> TW_INLINE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "a reinterpretation keeps the width");
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

// Small floats and pairs are bits; arithmetic goes through float (half.h). `Slot` is how they lie
// in a register: 16-bit ones are widened when they are read, since vector code of mixed widths is
// slow.
struct F16 {
  uint32_t bits;
  using Slot = uint16_t;
};
struct BF16 {
  uint32_t bits;
  using Slot = uint16_t;
};
struct F16x2 {
  uint32_t bits;
  using Slot = uint32_t;
};
struct BF16x2 {
  uint32_t bits;
  using Slot = uint32_t;
};
struct Tf32 {
  uint32_t bits;
  using Slot = uint32_t;
};
struct E4M3x2 {
  uint32_t bits;
  using Slot = uint16_t;
};
struct E5M2x2 {
  uint32_t bits;
  using Slot = uint16_t;
};

template <Type t> struct CppType;
template <> struct CppType<Type::pred> {
  using type = bool;
};
template <> struct CppType<Type::b8> {
  using type = uint8_t;
};
template <> struct CppType<Type::u8> {
  using type = uint8_t;
};
template <> struct CppType<Type::s8> {
  using type = int8_t;
};
template <> struct CppType<Type::b16> {
  using type = uint16_t;
};
template <> struct CppType<Type::u16> {
  using type = uint16_t;
};
template <> struct CppType<Type::s16> {
  using type = int16_t;
};
template <> struct CppType<Type::b32> {
  using type = uint32_t;
};
template <> struct CppType<Type::u32> {
  using type = uint32_t;
};
template <> struct CppType<Type::s32> {
  using type = int32_t;
};
template <> struct CppType<Type::b64> {
  using type = uint64_t;
};
template <> struct CppType<Type::u64> {
  using type = uint64_t;
};
template <> struct CppType<Type::s64> {
  using type = int64_t;
};
template <> struct CppType<Type::f32> {
  using type = float;
};
template <> struct CppType<Type::f64> {
  using type = double;
};
template <> struct CppType<Type::f16> {
  using type = F16;
};
template <> struct CppType<Type::bf16> {
  using type = BF16;
};
template <> struct CppType<Type::f16x2> {
  using type = F16x2;
};
template <> struct CppType<Type::bf16x2> {
  using type = BF16x2;
};
template <> struct CppType<Type::tf32> {
  using type = Tf32;
};
template <> struct CppType<Type::e4m3x2> {
  using type = E4M3x2;
};
template <> struct CppType<Type::e5m2x2> {
  using type = E5M2x2;
};
template <Type t> using Cpp = typename CppType<t>::type;

template <class T> struct WideOf;
template <> struct WideOf<uint16_t> {
  using type = uint32_t;
};
template <> struct WideOf<int16_t> {
  using type = int32_t;
};
template <> struct WideOf<uint32_t> {
  using type = uint64_t;
};
template <> struct WideOf<int32_t> {
  using type = int64_t;
};
template <> struct WideOf<uint64_t> {
  using type = unsigned __int128;
};
template <> struct WideOf<int64_t> {
  using type = __int128;
};
template <class T> using Wide = typename WideOf<T>::type;

template <class T> inline constexpr uint32_t kBitsOf = sizeof(T) * 8;
template <class T> inline constexpr bool kIsSigned = T(-1) < T(0);
template <class T>
inline constexpr bool kIsFloating = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T> struct UnsignedOf {
  using type = std::make_unsigned_t<T>;
};
template <class T> using Unsigned = typename UnsignedOf<T>::type;

// Wrapping arithmetic on any integer width (C++ promotes 16 bits to signed int, and signed overflow
// is undefined: both are avoided by computing unsigned and at least 32 bits wide).
template <class T> using Work = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T> TW_INLINE T wrap_add(T a, T b) { return T(Work<T>(a) + Work<T>(b)); }
template <class T> TW_INLINE T wrap_sub(T a, T b) { return T(Work<T>(a) - Work<T>(b)); }
template <class T> TW_INLINE T wrap_mul(T a, T b) { return T(Work<T>(a) * Work<T>(b)); }

TW_INLINE float flush(float x) {  // .ftz: subnormal -> zero of the same sign
  uint32_t u = bits_as<uint32_t>(x);
  return bits_as<float>((u & 0x7f800000u) == 0 ? u & 0x80000000u : u);
}
TW_INLINE bool is_nan(float x) { return x != x; }
TW_INLINE bool is_nan(double x) { return x != x; }
// Arithmetic NaN results are canonical on NVIDIA GPUs for f32: 0x7fffffff.
TW_INLINE float canonical(float x) { return x != x ? bits_as<float>(0x7fffffffu) : x; }
// For f64 the manual defines none; the hosts' differ in which operand's payload they keep.
TW_INLINE double canonical(double x) {
  return x != x ? bits_as<double>(uint64_t{0xfff8000000000000}) : x;
}

}  // namespace TW_TARGET
}  // namespace tw::isa
