// Exact binary numbers with a sign, a wide integer and an exponent; rounding to any binary format.
// For the tests' reference only: clear rather than quick.
#pragma once

#include <array>
#include <cstdint>

namespace tw::isa_test {

enum class Rounding { nearest_even, zero, down, up, nearest_away };

// An integer of 4480 bits times 2^-2240: holds every sum and product of two doubles exactly.
class Exact {
 public:
  static constexpr int kWords = 70, kScale = 2240;

  Exact() = default;
  // mantissa * 2^exponent; must fit.
  Exact(bool negative, unsigned __int128 mantissa, int exponent) : negative_(negative) {
    int at = exponent + kScale;
    for (int i = 0; i < 128; ++i)
      if ((mantissa >> i) & 1) set(at + i);
  }
  bool zero() const {
    for (uint64_t w : words_)
      if (w) return false;
    return true;
  }
  bool negative() const { return negative_; }
  Exact negated() const {
    Exact r = *this;
    r.negative_ = !r.negative_;
    return r;
  }

  friend Exact operator+(const Exact& a, const Exact& b) {
    if (a.negative_ == b.negative_) {
      Exact r;
      r.negative_ = a.negative_;
      unsigned __int128 carry = 0;
      for (int i = 0; i < kWords; ++i) {
        carry += (unsigned __int128)a.words_[i] + b.words_[i];
        r.words_[i] = uint64_t(carry);
        carry >>= 64;
      }
      return r;
    }
    int order = compare_size(a, b);
    if (order == 0) return {};
    const Exact &big = order > 0 ? a : b, &small = order > 0 ? b : a;
    Exact r;
    r.negative_ = big.negative_;
    uint64_t borrow = 0;
    for (int i = 0; i < kWords; ++i) {
      unsigned __int128 take = (unsigned __int128)small.words_[i] + borrow;
      borrow = big.words_[i] < take;
      r.words_[i] = uint64_t(big.words_[i] - take);
    }
    return r;
  }

  // Rounded to `precision` bits with no bit below 2^least: value = mantissa * 2^exponent.
  struct Rounded {
    uint64_t mantissa = 0;
    int exponent = 0;
    bool inexact = false;
  };
  Rounded round(int precision, int least, Rounding how, bool sticky = false) const {
    int top = kWords * 64 - 1;
    while (top >= 0 && !bit(top)) --top;
    Rounded r;
    int low = top - precision + 1;
    if (top < 0 || low < least + kScale) low = least + kScale;
    r.exponent = low - kScale;
    for (int i = top; i >= low; --i) r.mantissa = r.mantissa << 1 | uint64_t(bit(i));
    bool half = low > 0 && bit(low - 1), rest = sticky;
    for (int i = low - 2; i >= 0 && !rest; --i) rest = bit(i);
    r.inexact = half || rest;
    bool up = false;
    switch (how) {
      case Rounding::nearest_even: up = half && (rest || (r.mantissa & 1)); break;
      case Rounding::nearest_away: up = half; break;
      case Rounding::zero: break;
      case Rounding::down: up = negative_ && r.inexact; break;
      case Rounding::up: up = !negative_ && r.inexact; break;
    }
    r.mantissa += up;
    return r;
  }

 private:
  void set(int i) { words_[size_t(i / 64)] |= 1ull << (i % 64); }
  bool bit(int i) const { return i >= 0 && ((words_[size_t(i / 64)] >> (i % 64)) & 1); }
  static int compare_size(const Exact& a, const Exact& b) {
    for (int i = kWords - 1; i >= 0; --i)
      if (a.words_[size_t(i)] != b.words_[size_t(i)])
        return a.words_[size_t(i)] > b.words_[size_t(i)] ? 1 : -1;
    return 0;
  }
  bool negative_ = false;
  std::array<uint64_t, kWords> words_{};
};

// A binary interchange format.
struct Format {
  int exponent_bits, mantissa_bits;
  bool has_infinity = true;
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int least() const { return 1 - bias() - mantissa_bits; }  // exponent of the last subnormal bit
  uint64_t sign_bit() const { return 1ull << (exponent_bits + mantissa_bits); }
  uint64_t exponent_mask() const { return (1ull << exponent_bits) - 1; }
  uint64_t infinity() const { return exponent_mask() << mantissa_bits; }
  uint64_t most() const {
    return has_infinity ? infinity() - 1 : infinity() + (1ull << mantissa_bits) - 2;
  }
};
inline constexpr Format kBinary16{5, 10}, kBrain16{8, 7}, kBinary32{8, 23}, kBinary64{11, 52},
    kTf32{8, 10}, kE4m3{4, 3, false}, kE5m2{5, 2};

struct Unpacked {
  bool nan = false, infinite = false, negative = false;
  Exact value;
  uint64_t mantissa = 0;
  int exponent = 0;
  bool zero() const { return !nan && !infinite && mantissa == 0; }
};
inline Unpacked unpack(const Format& f, uint64_t bits) {
  Unpacked u;
  u.negative = (bits & f.sign_bit()) != 0;
  uint64_t field = (bits >> f.mantissa_bits) & f.exponent_mask(),
           m = bits & ((1ull << f.mantissa_bits) - 1);
  if (f.has_infinity && field == f.exponent_mask()) {
    u.nan = m != 0, u.infinite = m == 0;
    return u;
  }
  if (!f.has_infinity && field == f.exponent_mask() && m == (1ull << f.mantissa_bits) - 1) {
    u.nan = true;
    return u;
  }
  u.mantissa = field ? m | 1ull << f.mantissa_bits : m;
  u.exponent = int(field ? field : 1) - f.bias() - f.mantissa_bits;
  u.value = Exact(u.negative, u.mantissa, u.exponent);
  return u;
}
// `negative_zero` is the sign of an exact zero. `finite`: the largest value instead of infinity.
inline uint64_t pack(const Format& f, const Exact& x, Rounding how, bool negative_zero,
                     bool finite = false, bool sticky = false) {
  if (x.zero() && !sticky) return negative_zero ? f.sign_bit() : 0;
  uint64_t sign = x.negative() ? f.sign_bit() : 0;
  Exact::Rounded r = x.round(f.mantissa_bits + 1, f.least(), how, sticky);
  if (r.mantissa >> (f.mantissa_bits + 1)) r.mantissa >>= 1, ++r.exponent;
  uint64_t bits = r.mantissa >> f.mantissa_bits
                      ? (uint64_t(r.exponent - f.least() + 1) << f.mantissa_bits) +
                            (r.mantissa - (1ull << f.mantissa_bits))
                      : r.mantissa;
  if (r.exponent - f.least() + 1 > int(f.exponent_mask()) || bits > f.most()) {
    bool inward = how == Rounding::zero || (how == Rounding::down && !x.negative()) ||
                  (how == Rounding::up && x.negative());
    bits = finite || inward || !f.has_infinity ? f.most() : f.infinity();
  }
  return bits | sign;
}

}  // namespace tw::isa_test
