// Test data that is the same on every machine, and a hash of results that two machines can compare.
//
// Element i of a data set is a pure function of (seed, i): SplitMix64 (Steele, Lea, Flood, "Fast
// splittable pseudorandom number generators", OOPSLA 2014), so no library's generator is involved.
// Two kinds of numbers for sums:
//   integers -8..8: every product and partial sum is exact in fp32 as long as it stays below 2^24,
//                   so the result has the same bits in any order and with or without fused
//                   multiply-add;
//   reals [-1, 1):  rounding happens; only the error bound counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tw::ladder {

inline uint64_t random_bits(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

enum class Numbers { kIntegers, kReals };

constexpr int kLargestInteger = 8;

inline std::vector<float> random_floats(size_t count, Numbers numbers, uint64_t seed) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = random_bits(seed, i);
    values[i] = numbers == Numbers::kIntegers
                    ? static_cast<float>(static_cast<int>(bits % (2 * kLargestInteger + 1)) -
                                         kLargestInteger)
                    : static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f;
  }
  return values;
}

// Elements of any type made of random bits (floats include NaN patterns): for code that only moves
// data, where every bit has to arrive.
template <class T> std::vector<T> random_patterns(size_t count, uint64_t seed) {
  std::vector<T> values(count);
  auto* bytes = reinterpret_cast<unsigned char*>(values.data());
  for (size_t i = 0; i < count * sizeof(T); i += 8) {
    const uint64_t bits = random_bits(seed, i / 8);
    const size_t rest = count * sizeof(T) - i;
    std::memcpy(bytes + i, &bits, rest < 8 ? rest : 8);
  }
  return values;
}

// FNV-1a, 64 bits, over the bytes of the elements.
template <class T> uint64_t hash_of(const std::vector<T>& values) {
  uint64_t hash = 0xcbf29ce484222325ull;
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3ull;
  return hash;
}

}  // namespace tw::ladder
