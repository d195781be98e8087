#include "reference.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <string_view>

#include "exact.h"

namespace tw::isa_test {
namespace {

using isa::Field;
using ptx::Type;

const Format* format_of(Type t) {
  switch (t) {
    case Type::f16:
    case Type::f16x2: return &kBinary16;
    case Type::bf16:
    case Type::bf16x2: return &kBrain16;
    case Type::f32: return &kBinary32;
    case Type::f64: return &kBinary64;
    case Type::tf32: return &kTf32;
    case Type::e4m3x2: return &kE4m3;
    case Type::e5m2x2: return &kE5m2;
    default: return nullptr;
  }
}
bool is_pair(Type t) { return t == Type::f16x2 || t == Type::bf16x2; }

Rounding rounding(const isa::Mods& mods) {
  switch (mods[Field::rnd]) {
    case isa::kRz:
    case isa::kRzi: return Rounding::zero;
    case isa::kRm:
    case isa::kRmi: return Rounding::down;
    case isa::kRp:
    case isa::kRpi: return Rounding::up;
    case isa::kRna: return Rounding::nearest_away;
    default: return Rounding::nearest_even;
  }
}

uint64_t flushed(const Format& f, uint64_t bits) {
  return ((bits >> f.mantissa_bits) & f.exponent_mask()) == 0 ? bits & f.sign_bit() : bits;
}

// The NaN that float arithmetic gives; f64 payloads are not defined by the manual.
Expected nan_result(const Format& f) {
  if (&f == &kBinary32) return {0x7fffffff};
  if (&f == &kBinary16 || &f == &kBrain16) return {0x7fff};
  return {0x7ff8000000000000u, true};
}

// .ftz, .sat, .relu on a finite or infinite result.
Expected finished(const Format& f, const isa::Mods& m, Expected e, bool nan) {
  uint64_t one = uint64_t(f.bias()) << f.mantissa_bits;
  if (!nan && m[Field::ftz] && &f != &kBinary64) e.bits = flushed(f, e.bits);
  if (m[Field::sat]) {
    if (nan || (e.bits & f.sign_bit())) return {0};
    return {e.bits > one ? one : e.bits};
  }
  if (nan) return nan_result(f);
  if (m[Field::relu] && (e.bits & f.sign_bit())) e.bits = 0;
  return e;
}

// Quotient or root of mantissas as an exact number with a sticky bit below it.
struct Inexact {
  Exact value;
  bool sticky;
};
Inexact quotient(const Unpacked& a, const Unpacked& b) {
  unsigned __int128 m = (unsigned __int128)a.mantissa << 63;
  int shift = 0;
  while (shift < 63 && !((b.mantissa << shift) >> 63))
    ++shift;  // normalised divisor: 64 quotient bits and more
  uint64_t d = b.mantissa << shift;
  int up = 0;
  while (!(m >> 126)) m <<= 1, ++up;
  unsigned __int128 q = m / d;
  return {Exact(a.negative != b.negative, q, a.exponent - b.exponent - 63 + shift - up),
          m % d != 0};
}
Inexact root(const Unpacked& a) {
  unsigned __int128 m = a.mantissa;
  int exponent = a.exponent;
  while (!(m >> 124)) m <<= 1, --exponent;
  if (exponent & 1) m <<= 1, --exponent;
  unsigned __int128 low = 0, high = (unsigned __int128)1 << 64;
  while (high - low > 1) {
    unsigned __int128 middle = (low + high) / 2;
    if (middle * middle <= m)
      low = middle;
    else
      high = middle;
  }
  return {Exact(false, low, exponent / 2), low * low != m};
}

// add, sub, mul, fma, mad, div, rcp, sqrt in any float format.
std::optional<Expected> arithmetic(std::string_view opcode, const Format& f, const isa::Mods& m,
                                   const uint64_t* in) {
  Unpacked a = unpack(f, 0), b = a, c = a;
  auto take = [&](uint64_t bits) {
    return unpack(f, m[Field::ftz] && &f != &kBinary64 ? flushed(f, bits) : bits);
  };
  Rounding how = rounding(m);
  bool down = how == Rounding::down;
  auto packed = [&](const Exact& x, bool negative_zero, bool sticky = false) {
    // .ftz: below the least normal number even with an unbounded exponent range.
    bool tiny = false;
    if (m[Field::ftz] && &f != &kBinary64 && !x.zero()) {
      Exact::Rounded wide = x.round(f.mantissa_bits + 1, -2000, how, sticky);
      Exact rounded(false, wide.mantissa, wide.exponent),
          least(false, uint64_t{1} << f.mantissa_bits, f.least());
      tiny = (rounded + least.negated()).negative();
    }
    uint64_t bits = pack(f, x, how, negative_zero, false, sticky);
    return finished(f, m, {tiny ? bits & f.sign_bit() : bits}, false);
  };
  auto infinity = [&](bool negative) {
    return finished(f, m, {f.infinity() | (negative ? f.sign_bit() : 0)}, false);
  };
  auto nan = [&] { return finished(f, m, {}, true); };
  a = take(in[0]);
  if (opcode == "sqrt") {
    if (a.nan || (a.negative && !a.zero())) return nan();
    if (a.infinite) return infinity(false);
    if (a.zero()) return packed({}, a.negative);
    Inexact r = root(a);
    return packed(r.value, false, r.sticky);
  }
  if (opcode == "rcp")
    b = a, a = unpack(f, uint64_t(f.bias()) << f.mantissa_bits);
  else
    b = take(in[1]);
  if (a.nan || b.nan) return nan();
  if (opcode == "div" || opcode == "rcp") {
    bool negative = a.negative != b.negative;
    if ((a.infinite && b.infinite) || (a.zero() && b.zero())) return nan();
    if (a.infinite || b.zero()) return infinity(negative);
    if (b.infinite || a.zero()) return packed({}, negative);
    Inexact q = quotient(a, b);
    return packed(q.value, negative, q.sticky);
  }
  if (opcode == "add" || opcode == "sub") {
    if (opcode == "sub") b.negative = !b.negative, b.value = b.value.negated();
    if (a.infinite || b.infinite)
      return a.infinite && b.infinite && a.negative != b.negative
                 ? nan()
                 : infinity(a.infinite ? a.negative : b.negative);
    bool zero_sign = a.zero() && b.zero() && a.negative == b.negative ? a.negative : down;
    return packed(a.value + b.value, zero_sign);
  }
  bool negative = a.negative != b.negative;
  bool fused = opcode == "fma" || opcode == "mad";
  if (fused) c = take(in[2]);
  if (c.nan && fused) return nan();
  if ((a.infinite && b.zero()) || (a.zero() && b.infinite)) return nan();
  if (a.infinite || b.infinite)
    return fused && c.infinite && c.negative != negative ? nan() : infinity(negative);
  Exact product(negative, (unsigned __int128)a.mantissa * b.mantissa, a.exponent + b.exponent);
  if (!fused) return packed(product, negative);
  if (c.infinite) return infinity(c.negative);
  bool product_zero = a.zero() || b.zero();
  bool zero_sign = product_zero && c.zero() && negative == c.negative ? negative : down;
  return packed(product + c.value, zero_sign);
}

bool integral(Type t, int& bits, bool& is_signed) {
  std::string_view name = ptx::type_name(t);
  if (name.empty() || (name[0] != 'u' && name[0] != 's' && name[0] != 'b')) return false;
  bits = 0;
  for (char ch : name.substr(1)) {
    if (ch < '0' || ch > '9') return false;
    bits = bits * 10 + (ch - '0');
  }
  is_signed = name[0] == 's';
  return true;
}

__int128 integer_value(uint64_t bits, int width, bool is_signed) {
  uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  bits &= mask;
  if (is_signed && (bits >> (width - 1))) return (__int128)bits - ((__int128)1 << width);
  return bits;
}
uint64_t low_bits(__int128 x, int width) {
  return uint64_t(x) & (width == 64 ? ~0ull : (1ull << width) - 1);
}

// How a narrow integer result lies in the register that the kernel stores (bytes are extended).
uint64_t in_register(__int128 x, int width) {
  return width == 8 ? uint64_t(uint16_t(x)) : low_bits(x, width);
}

std::optional<Expected> convert(const Case& c, const uint64_t* in) {
  const isa::Mods& m = c.match.mods;
  const Format *to = format_of(c.match.type), *from = format_of(c.match.type2);
  int to_bits = 0, from_bits = 0;
  bool to_signed = false, from_signed = false;
  Rounding how = rounding(m);
  if (is_pair(c.match.type2) || c.match.type2 == Type::e4m3x2 || c.match.type2 == Type::e5m2x2)
    return std::nullopt;
  if (isa::row_info(c.row).grammar.find(".pack") != std::string_view::npos) return std::nullopt;
  if (!from && !integral(c.match.type2, from_bits, from_signed)) return std::nullopt;
  if (!to && !integral(c.match.type, to_bits, to_signed)) return std::nullopt;
  if (!from && !to) {
    __int128 x = integer_value(in[0], from_bits, from_signed);
    if (m[Field::sat]) {
      __int128 least = to_signed ? -((__int128)1 << (to_bits - 1)) : 0,
               most = ((__int128)1 << (to_bits - (to_signed ? 1 : 0))) - 1;
      x = x < least ? least : x > most ? most : x;
    }
    return Expected{in_register(integer_value(uint64_t(x), to_bits, to_signed), to_bits)};
  }
  if (!from) {
    __int128 x = integer_value(in[0], from_bits, from_signed);
    Exact exact(x < 0, (unsigned __int128)(x < 0 ? -x : x), 0);
    return finished(*to, m, {pack(*to, exact, how, false)}, false);
  }
  auto source = [&](uint64_t bits) {
    return unpack(*from, m[Field::ftz] && from == &kBinary32 ? flushed(*from, bits) : bits);
  };
  if (!to) {
    Unpacked u = source(in[0]);
    uint64_t top = 1ull << (to_bits - 1);
    __int128 least = to_signed ? -((__int128)1 << (to_bits - 1)) : 0,
             most = ((__int128)1 << (to_bits - (to_signed ? 1 : 0))) - 1;
    if (u.nan)
      return Expected{to_bits == 64 || from == &kBinary64
                          ? in_register(integer_value(top, to_bits, to_signed), to_bits)
                          : 0};
    if (u.infinite) return Expected{in_register(u.negative ? least : most, to_bits)};
    Exact::Rounded r{};
    if (!u.zero() && u.exponent >= 0) {
      if (u.exponent > 70) return Expected{in_register(u.negative ? least : most, to_bits)};
      unsigned __int128 big = (unsigned __int128)u.mantissa << u.exponent;
      __int128 x = u.negative ? -(__int128)big : (__int128)big;
      return Expected{in_register(x < least ? least : x > most ? most : x, to_bits)};
    }
    if (!u.zero()) r = u.value.round(64, 0, how);
    __int128 x = u.negative ? -(__int128)r.mantissa : (__int128)r.mantissa;
    return Expected{in_register(x < least ? least : x > most ? most : x, to_bits)};
  }
  // Float to float; two sources make a pair, the first above.
  auto one = [&](uint64_t bits) -> Expected {
    Unpacked u = source(bits);
    const Format& f = *to;
    bool finite = m[Field::satfinite] || !f.has_infinity || to == &kE5m2;
    if (u.nan) {
      if (m[Field::sat]) return {0};
      // What an H200 does with NaNs that the manual leaves open.
      if (c.match.type == c.match.type2 && m[Field::rnd] == 0 && !m[Field::ftz] && to->bits() >= 32)
        return {bits};
      if (to == &kTf32 && how == Rounding::nearest_away) {
        uint64_t r = bits & ~0x1fffull;
        return {m[Field::satfinite] && (r & 0x7fffffff) >= 0x7f800000u ? r - 0x2000 : r};
      }
      if (to == &kTf32) return {0x7fffe000};
      if (from == &kBrain16 && to == &kBinary32) return {bits << 16};
      if (from == &kBinary64 && (to == &kBinary32 || to == &kBrain16)) {
        uint64_t single = (bits >> 63) << 31 | 0x7fc00000u | ((bits >> 29) & 0x3fffff);
        return {to == &kBinary32 ? single : single >> 16};
      }
      if (to == &kE4m3 || to == &kE5m2) return {0x7f};
      return nan_result(f);
    }
    uint64_t r;
    if (u.infinite)
      r = (finite ? f.most() : f.infinity()) | (u.negative ? f.sign_bit() : 0);
    else if (c.match.type == c.match.type2 && m[Field::rnd] != 0 && !u.zero() && u.exponent < 0) {
      Exact::Rounded whole = u.value.round(64, 0, how);
      r = pack(f, Exact(u.negative, whole.mantissa, 0), Rounding::nearest_even, u.negative);
    } else {
      r = pack(f, u.value, c.match.type == c.match.type2 ? Rounding::nearest_even : how, u.negative,
               finite);
    }
    isa::Mods only_f32 = to == &kBinary32 ? m : m.with(Field::ftz, 0);
    Expected e = finished(f, only_f32, {r}, false);
    if (to == &kTf32) e.bits <<= 13;
    return e;
  };
  if (c.operands.size() == 1) return one(in[0]);
  if (c.operands.size() != 2) return std::nullopt;
  Expected high = one(in[0]), low = one(in[1]);
  return Expected{high.bits << to->bits() | low.bits};
}

bool float_compare(isa::Cmp cmp, const Unpacked& a, const Unpacked& b) {
  bool unordered = a.nan || b.nan;
  int order = 0;  // -1 a < b
  if (!unordered) {
    auto rank = [](const Unpacked& u) { return u.infinite ? (u.negative ? -1 : 1) : 0; };
    if (rank(a) || rank(b))
      order = rank(a) < rank(b) ? -1 : rank(a) > rank(b);
    else {
      Exact d = a.value + b.value.negated();
      order = d.zero() ? 0 : d.negative() ? -1 : 1;
    }
  }
  switch (cmp) {
    case isa::kEq: return !unordered && order == 0;
    case isa::kNe: return !unordered && order != 0;
    case isa::kLt: return !unordered && order < 0;
    case isa::kLe: return !unordered && order <= 0;
    case isa::kGt: return !unordered && order > 0;
    case isa::kGe: return !unordered && order >= 0;
    case isa::kEqu: return unordered || order == 0;
    case isa::kNeu: return unordered || order != 0;
    case isa::kLtu: return unordered || order < 0;
    case isa::kLeu: return unordered || order <= 0;
    case isa::kGtu: return unordered || order > 0;
    case isa::kGeu: return unordered || order >= 0;
    case isa::kNum: return !unordered;
    case isa::kNan: return unordered;
    default: return false;
  }
}
bool integer_compare(isa::Cmp cmp, __int128 a, __int128 b) {
  switch (cmp) {
    case isa::kEq: return a == b;
    case isa::kNe: return a != b;
    case isa::kLt:
    case isa::kLo: return a < b;
    case isa::kLe:
    case isa::kLs: return a <= b;
    case isa::kGt:
    case isa::kHi: return a > b;
    default: return a >= b;
  }
}

std::optional<Expected> comparison(const Case& c, const uint64_t* in) {
  const isa::Mods& m = c.match.mods;
  const bool setp = isa::row_info(c.row).opcode() == "setp";
  Type type = setp ? c.match.type : c.match.type2;
  const Format* f = format_of(type);
  auto cmp = isa::Cmp(m[Field::cmp]);
  auto of = [&](uint64_t a, uint64_t b) {
    if (f) {
      auto take = [&](uint64_t bits) {
        return unpack(*f, m[Field::ftz] ? flushed(*f, bits) : bits);
      };
      return float_compare(cmp, take(a), take(b));
    }
    int bits = 0;
    bool is_signed = false;
    integral(type, bits, is_signed);
    return integer_compare(cmp, integer_value(a, bits, is_signed),
                           integer_value(b, bits, is_signed));
  };
  bool third = c.operands.size() > 2 && in[2];
  auto joined = [&](bool x) {
    switch (m[Field::boolop]) {
      case isa::kBoolAnd: return x && third;
      case isa::kBoolOr: return x || third;
      case isa::kBoolXor: return x != third;
      default: return x;
    }
  };
  if (is_pair(type)) {
    bool low = joined(of(in[0] & 0xffff, in[1] & 0xffff)),
         high = joined(of(in[0] >> 16, in[1] >> 16));
    if (setp) return Expected{uint64_t(low) | uint64_t(high) << 1};
    uint64_t yes = c.match.type == Type::f16x2    ? 0x3c00
                   : c.match.type == Type::bf16x2 ? 0x3f80
                                                  : 0xffff;
    return Expected{(low ? yes : 0) | (high ? yes << 16 : 0)};
  }
  bool hit = of(in[0], in[1]);
  if (setp && (type == Type::f16 || type == Type::bf16))
    return Expected{uint64_t(joined(hit))};  // no second predicate
  if (setp) return Expected{uint64_t(joined(hit)) | uint64_t(joined(!hit)) << 1};
  uint64_t yes = c.match.type == Type::f32   ? 0x3f800000u
                 : c.match.type == Type::f16 ? 0x3c00
                 : c.match.type == Type::bf16
                     ? 0x3f80
                     : low_bits(-1, int(ptx::type_bytes(c.match.type)) * 8);
  return Expected{joined(hit) ? yes : 0};
}

std::optional<Expected> integer_operation(std::string_view opcode, const Case& c,
                                          const uint64_t* in) {
  int bits = 0;
  bool is_signed = false;
  if (!integral(c.match.type, bits, is_signed)) return std::nullopt;
  const isa::Mods& m = c.match.mods;
  auto words = [&](std::string_view w) {
    return c.name.find(fmt::format(".{}.", w)) != std::string::npos;
  };
  auto value = [&](size_t i) { return integer_value(in[i], bits, is_signed); };
  auto result = [&](__int128 x, int width) { return Expected{low_bits(x, width)}; };
  auto limited = [&](__int128 x) {
    return result(x > 0x7fffffff                ? 0x7fffffff
                  : x < -(__int128)0x80000000ll ? -(__int128)0x80000000ll
                                                : x,
                  32);
  };
  const __int128 one = 1;
  if (c.result == "carry") {
    // d in the low word, then the carry that it leaves: both from wide unsigned sums.
    unsigned __int128 a = low_bits(value(0), bits), b = low_bits(value(1), bits),
                      modulus = (unsigned __int128)1 << bits;
    bool subtract = opcode.starts_with("sub"), in_carry = isa::row_info(c.row).carry_in,
         writes = m[Field::carry_out];
    bool first = in_carry && (subtract ? a < b : a + b >= modulus);
    unsigned __int128 d;
    bool carry;
    if (opcode.starts_with("mad")) {
      __int128 x = value(0), y = value(1);
      unsigned __int128 product = is_signed
                                      ? (unsigned __int128)(x * y)
                                      : (unsigned __int128)low_bits(x, bits) * low_bits(y, bits);
      uint64_t part = words("hi") ? low_bits(__int128(product >> bits), bits)
                                  : low_bits(__int128(product), bits);
      unsigned __int128 sum = (unsigned __int128)part + low_bits(value(2), bits) + (first ? 1 : 0);
      d = sum % modulus, carry = sum >= modulus;
    } else if (subtract) {
      unsigned __int128 take = b + (first ? 1 : 0);
      carry = a < take, d = (a + modulus - take) % modulus;
    } else {
      unsigned __int128 sum = a + b + (first ? 1 : 0);
      carry = sum >= modulus, d = sum % modulus;
    }
    if (!writes) carry = first;
    uint64_t left = subtract ? low_bits(carry ? -1 : 0, bits) : uint64_t(carry);
    return Expected{uint64_t(d) + left * 0x9e3779b97f4a7c15u};
  }
  if (c.match.type2 != Type::none) return std::nullopt;
  if (c.name.find("x2") != std::string::npos || c.name.find("relu") != std::string::npos)
    return std::nullopt;
  if (opcode == "add")
    return m[Field::sat] ? limited(value(0) + value(1)) : result(value(0) + value(1), bits);
  if (opcode == "sub")
    return m[Field::sat] ? limited(value(0) - value(1)) : result(value(0) - value(1), bits);
  if (opcode == "neg") return result(-value(0), bits);
  if (opcode == "abs") return result(value(0) < 0 ? -value(0) : value(0), bits);
  if (opcode == "min") return result(value(0) < value(1) ? value(0) : value(1), bits);
  if (opcode == "max") return result(value(0) > value(1) ? value(0) : value(1), bits);
  if (opcode == "sad")
    return result(integer_value(in[2], bits, is_signed) +
                      (value(0) < value(1) ? value(1) - value(0) : value(0) - value(1)),
                  bits);
  if (opcode == "mul" || opcode == "mad") {
    __int128 x = value(0), y = value(1);
    if (bits == 64 && !is_signed) {  // the product needs all 128 bits
      unsigned __int128 p = (unsigned __int128)uint64_t(x) * uint64_t(y);
      uint64_t part = words("hi") ? uint64_t(p >> 64) : uint64_t(p);
      return Expected{part + (opcode == "mad" ? in[2] : 0)};
    }
    __int128 p = x * y;
    if (words("wide"))
      return result(p + (opcode == "mad" ? integer_value(in[2], bits * 2, is_signed) : 0),
                    bits * 2);
    if (words("hi")) p >>= bits;
    if (opcode == "mad") p += value(2);
    return m[Field::sat] ? limited(p) : result(p, bits);
  }
  if (opcode == "mul24" || opcode == "mad24") {
    __int128 p = integer_value(in[0], 24, is_signed) * integer_value(in[1], 24, is_signed);
    if (words("hi"))
      p >>= 16;
    else
      p = low_bits(p, 32);
    if (opcode == "mad24") p += value(2);
    return m[Field::sat] ? limited(p) : result(p, 32);
  }
  if (opcode == "div" || opcode == "rem") {
    if (value(1) == 0) return std::nullopt;  // the manual leaves it open
    return result(opcode == "div" ? value(0) / value(1) : value(0) % value(1), bits);
  }
  auto amount = [&](size_t i) { return uint32_t(in[i]); };
  uint64_t x = low_bits(value(0), bits);
  if (opcode == "shl")
    return result(amount(1) >= uint32_t(bits) ? 0 : __int128(x) << amount(1), bits);
  if (opcode == "shr") return result(value(0) >> (amount(1) > 127 ? 127 : amount(1)), bits);
  if (opcode == "and") return result(__int128(in[0] & in[1]), bits);
  if (opcode == "or") return result(__int128(in[0] | in[1]), bits);
  if (opcode == "xor") return result(__int128(in[0] ^ in[1]), bits);
  if (opcode == "not") return result(~__int128(in[0]), bits);
  if (opcode == "cnot") return result(x == 0, bits);
  if (opcode == "popc") return Expected{uint64_t(std::popcount(x))};
  if (opcode == "clz") return Expected{uint64_t(std::countl_zero(x) - (64 - bits))};
  if (opcode == "brev") {
    uint64_t r = 0;
    for (int i = 0; i < bits; ++i) r |= ((x >> i) & 1) << (bits - 1 - i);
    return Expected{r};
  }
  if (opcode == "bfind") {
    int at = bits - 1;
    bool sign = is_signed && value(0) < 0;
    while (at >= 0 && bool((x >> at) & 1) == sign) --at;
    if (at < 0) return Expected{0xffffffffu};
    return Expected{uint64_t(m[Field::shiftamt] ? bits - 1 - at : at)};
  }
  if (opcode == "bfe") {  // the manual's loop
    uint64_t pos = amount(1), len = amount(2), top = uint64_t(bits) - 1;
    if (bits == 32) pos &= 0xff, len &= 0xff;
    bool sign = is_signed && len != 0 && ((x >> std::min(pos + len - 1, top)) & 1);
    uint64_t d = 0;
    for (uint64_t i = 0; i <= top; ++i)
      d |= uint64_t(i < len && pos + i <= top ? (x >> (pos + i)) & 1 : sign) << i;
    return Expected{d};
  }
  if (opcode == "bfi") {
    uint64_t pos = amount(2), len = amount(3), top = uint64_t(bits) - 1;
    if (bits == 32) pos &= 0xff, len &= 0xff;
    uint64_t f = low_bits(value(1), bits);
    for (uint64_t i = 0; i < len && pos + i <= top; ++i)
      f = (f & ~(1ull << (pos + i))) | ((x >> i) & 1) << (pos + i);
    return Expected{f};
  }
  if (opcode == "bmsk") {
    bool wrap = m[Field::shift] == isa::kShiftWrap;
    uint64_t from = wrap ? in[0] & 31 : uint32_t(in[0]),
             length = wrap ? in[1] & 31 : uint32_t(in[1]);
    uint64_t d = 0;
    for (uint64_t i = 0; i < 32; ++i) d |= uint64_t(i >= from && i < from + length) << i;
    return Expected{d};
  }
  if (opcode == "szext") {
    uint32_t n = m[Field::shift] == isa::kShiftWrap ? amount(1) & 31 : amount(1);
    if (n == 0) return Expected{0};
    return result(n >= 32 ? value(0) : integer_value(in[0], int(n), is_signed), 32);
  }
  if (opcode == "shf") {
    uint32_t n = m[Field::shift] == isa::kShiftWrap ? amount(2) & 31 : std::min(amount(2), 32u);
    unsigned __int128 both = (unsigned __int128)in[1] << 32 | uint32_t(in[0]);
    return Expected{uint64_t(uint32_t(words("l") ? (both << n) >> 32 : both >> n))};
  }
  if (opcode == "lop3") {
    uint32_t table = uint32_t(std::stoul(c.name.substr(c.name.find("0x")), nullptr, 16)), d = 0;
    for (int i = 0; i < 32; ++i) {
      uint32_t at = uint32_t((in[0] >> i & 1) << 2 | (in[1] >> i & 1) << 1 | (in[2] >> i & 1));
      d |= ((table >> at) & 1) << i;
    }
    return Expected{d};
  }
  if (opcode == "prmt" && m[Field::operation] == 0) {
    uint64_t bytes = (in[1] << 32) | uint32_t(in[0]), d = 0;
    for (int i = 0; i < 4; ++i) {
      uint32_t s = uint32_t(in[2] >> (4 * i)) & 15;
      uint64_t byte = (bytes >> (8 * (s & 7))) & 0xff;
      if (s & 8) byte = byte & 0x80 ? 0xff : 0;
      d |= byte << (8 * i);
    }
    return Expected{d};
  }
  if (opcode == "fns") {
    uint32_t mask = uint32_t(in[0]), base = uint32_t(in[1]);
    int32_t offset = int32_t(uint32_t(in[2]));
    if (offset == 0) return Expected{base < 32 && (mask >> base & 1) ? base : 0xffffffffu};
    if (uint32_t(offset) == 0x80000000u) return std::nullopt;  // no magnitude
    int64_t at = base, count = std::abs(int64_t(offset)) - 1;
    for (; at >= 0 && at < 32; at += offset > 0 ? 1 : -1)
      if (mask >> at & 1) {
        if (count-- == 0) return Expected{uint64_t(at)};
      }
    return Expected{0xffffffffu};
  }
  (void)one;
  return std::nullopt;
}

// Bounds of the manual for approximate instructions, on the function computed in double.
std::optional<Expected> approximate(std::string_view opcode, const Case& c, const uint64_t* in) {
  const isa::Mods& m = c.match.mods;
  const Format* f = format_of(c.match.type);
  if (!f || is_pair(c.match.type)) return std::nullopt;
  // f64 forms read and write the high word only.
  const bool high_word = f == &kBinary64 && c.name.find(".ftz") != std::string::npos;
  if (high_word && unpack(*f, in[0]).nan != unpack(*f, in[0] & ~0xffffffffull).nan)
    return std::nullopt;
  auto take = [&](uint64_t bits) {
    return number(c.match.type, high_word       ? flushed(*f, bits & ~0xffffffffull)
                                : m[Field::ftz] ? flushed(*f, bits)
                                                : bits);
  };
  double x = take(in[0]), y = c.operands.size() > 1 ? take(in[1]) : 0, exact = 0, bound = 0;
  const double half_unit = std::ldexp(1.0, -f->mantissa_bits - 1);
  if (opcode == "ex2")
    exact = std::exp2(x), bound = std::fabs(exact) * 0x1p-22;
  else if (opcode == "lg2")
    exact = std::log2(x), bound = 0x1p-22 * std::max(1.0, std::fabs(exact));
  else if (opcode == "sin" || opcode == "cos") {
    if (std::fabs(x) > 3.2) return std::nullopt;
    exact = opcode == "sin" ? std::sin(x) : std::cos(x), bound = 0x1p-20;
  } else if (opcode == "tanh")
    exact = std::tanh(x), bound = std::fabs(exact) * 0x1p-10;
  else if (opcode == "rsqrt")
    exact = 1 / std::sqrt(x), bound = std::fabs(exact) * 0x1p-22;
  else if (opcode == "rcp")
    exact = 1 / x, bound = std::fabs(exact) * 0x1p-22;
  else if (opcode == "sqrt")
    exact = std::sqrt(x), bound = std::fabs(exact) * 0x1p-22;
  else if (opcode == "div") {
    if (std::fabs(y) > 0x1p126 || (std::fabs(y) < 0x1p-126)) return std::nullopt;
    exact = x / y, bound = std::fabs(exact) * 0x1p-21;
  } else
    return std::nullopt;
  if (f != &kBinary32 && f != &kBinary64)
    bound = std::fabs(exact) * std::max(0x1p-9, 4 * half_unit) + 0x1p-24;
  if (f == &kBinary64) bound = std::fabs(exact) * 0x1p-20;
  bound += f == &kBinary32   ? 0x1p-126 * (m[Field::ftz] ? 1 : 0x1p-20)
           : f == &kBinary64 ? 0x1p-1021
                             : 0;
  if (std::isnan(exact)) return Expected{0, true};
  Expected e;
  e.bits = std::bit_cast<uint64_t>(exact);
  e.bound = bound;
  return e;
}

}  // namespace

double number(Type type, uint64_t bits) {
  if (type == Type::f64) return std::bit_cast<double>(bits);
  if (type == Type::f32) return double(std::bit_cast<float>(uint32_t(bits)));
  const Format& f = *format_of(type);
  Unpacked u = unpack(f, bits);
  double sign = u.negative ? -1 : 1;
  if (u.nan) return std::nan("");
  if (u.infinite) return sign * HUGE_VAL;
  return sign * std::ldexp(double(u.mantissa), u.exponent);
}

std::optional<Expected> reference(const Case& c, const uint64_t* in) {
  const isa::RowInfo& info = isa::row_info(c.row);
  std::string_view opcode = info.opcode();
  const isa::Mods& m = c.match.mods;
  if (opcode == "cvt") return convert(c, in);
  if (opcode == "setp" || opcode == "set") return comparison(c, in);
  const Format* f = format_of(c.match.type);
  if (f && opcode != "mov" && opcode != "selp" && opcode != "slct") {
    if (info.grammar.find("approx") != std::string_view::npos ||
        info.grammar.find("full") != std::string_view::npos)
      return approximate(opcode, c, in);
    bool known = opcode == "add" || opcode == "sub" || opcode == "mul" || opcode == "fma" ||
                 opcode == "mad" || opcode == "div" || opcode == "rcp" || opcode == "sqrt";
    if (!known) return std::nullopt;
    if (!is_pair(c.match.type)) return arithmetic(opcode, *f, m, in);
    uint64_t low[3] = {in[0] & 0xffff, in[1] & 0xffff, c.operands.size() > 2 ? in[2] & 0xffff : 0};
    uint64_t high[3] = {in[0] >> 16, in[1] >> 16, c.operands.size() > 2 ? in[2] >> 16 : 0};
    return Expected{arithmetic(opcode, *f, m, low)->bits | arithmetic(opcode, *f, m, high)->bits
                                                               << 16};
  }
  if (opcode == "mov") return Expected{in[0]};
  if (opcode == "selp") return Expected{in[2] ? in[0] : in[1]};
  return integer_operation(opcode, c, in);
}

bool agrees(const Case& c, const Expected& e, uint64_t got) {
  if (e.any_nan) return std::isnan(number(c.match.type, got));
  if (e.bound == 0) return got == e.bits;
  double exact = std::bit_cast<double>(e.bits), value = number(c.match.type, got);
  if (std::isinf(exact)) return value == exact;
  if (std::isinf(value))
    return std::fabs(exact) + e.bound >= (c.match.type == Type::f32   ? 0x1.fffffep127
                                          : c.match.type == Type::f64 ? 0x1.fffffp1023
                                                                      : 65504.0);
  return std::fabs(value - exact) <= e.bound;
}

}  // namespace tw::isa_test
