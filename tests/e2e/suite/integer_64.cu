// 64-bit integers: products and high words, division, shifts, bit counts, modular exponentiation,
// 128-bit products by carry chains.
#include "suite.h"

typedef unsigned long long u64;
typedef long long s64;

__host__ __device__ u64 mix(u64 x) {
  x ^= x >> 30, x *= 0xbf58476d1ce4e5b9ull, x ^= x >> 27, x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}
__global__ void operations(u64* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 a = mix(i + 1), b = mix(i + 1000) >> (i % 60);
  b += b == 0;
  out[i] = a / b;
  out[n + i] = a % b;
  out[2 * n + i] = u64(s64(a) / s64(b | 1)) + u64(s64(a) % s64(b | 1));
  out[3 * n + i] = __umul64hi(a, b);
  out[4 * n + i] = u64(__mul64hi(s64(a), s64(b)));
  out[5 * n + i] = a << (i % 64) ^ b >> (i % 64) ^ u64(s64(a) >> (i % 64));
  out[6 * n + i] = __popcll(a) * 1000000 + __clzll(b) * 1000 + __ffsll(s64(b << (i % 7)));
  out[7 * n + i] = __brevll(a);
}
__global__ void powers(u64* out, int n, u64 modulus) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned __int128 r = 1, base = mix(i + 1) % modulus;
  for (u64 e = modulus - 1; e; e >>= 1) {
    if (e & 1) r = r * base % modulus;
    base = base * base % modulus;
  }
  out[i] = u64(r);
}

int main() {
  const int n = 400;
  std::vector<u64> wanted(8 * n);
  DeviceArray<u64> out(8 * n), ones(64);
  operations<<<(n + 127) / 128, 128>>>(out, n);
  powers<<<1, 64>>>(ones, 64, (1ull << 61) - 1);  // a prime: Fermat gives 1
  SYNC();
  for (int i = 0; i < n; i++) {
    u64 a = mix(i + 1), b = mix(i + 1000) >> (i % 60);
    b += b == 0;
    wanted[i] = a / b, wanted[n + i] = a % b;
    wanted[2 * n + i] = u64(s64(a) / s64(b | 1)) + u64(s64(a) % s64(b | 1));
    wanted[3 * n + i] = u64((unsigned __int128)a * b >> 64);
    wanted[4 * n + i] = u64((__int128)s64(a) * s64(b) >> 64);
    wanted[5 * n + i] = a << (i % 64) ^ b >> (i % 64) ^ u64(s64(a) >> (i % 64));
    wanted[6 * n + i] = __builtin_popcountll(a) * 1000000 + __builtin_clzll(b) * 1000 +
                        __builtin_ffsll(b << (i % 7));
    for (int k = 0; k < 64; k++) wanted[7 * n + i] |= (a >> k & 1) << (63 - k);
  }
  expect_equal(out.host(), wanted, "operations");
  expect_equal(ones.host(), std::vector<u64>(64, 1), "Fermat");
  return verdict();
}
