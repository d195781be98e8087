#include "cli/content_hash.h"

#include <fmt/format.h>

#include <cstring>

namespace tw::cli {
namespace {

uint64_t fold(uint64_t a, uint64_t b) {
  const unsigned __int128 product = (unsigned __int128)a * b;
  return uint64_t(product) ^ uint64_t(product >> 64);
}

}  // namespace

std::string content_hash(std::string_view bytes) {
  constexpr uint64_t k0 = 0x9e3779b97f4a7c15, k1 = 0xc2b2ae3d27d4eb4f, k2 = 0x165667b19e3779f9,
                     k3 = 0xd6e8feb86659fd93;
  uint64_t a = k0 ^ bytes.size(), b = k2 + bytes.size();
  const char* p = bytes.data();
  size_t left = bytes.size();
  while (left > 0) {
    uint64_t block[2] = {0, 0};
    const size_t n = left < 16 ? left : 16;
    std::memcpy(block, p, n);
    a = fold(a ^ block[0] ^ k1, block[1] ^ k0 ^ a) + k3;
    b = fold(b + block[1] + k3, block[0] ^ k2 ^ (b << 1 | 1)) ^ a;
    p += n;
    left -= n;
  }
  return fmt::format("{:016x}{:016x}", fold(a ^ k2, b ^ k3), fold(a + k1, b + k0));
}

}  // namespace tw::cli
