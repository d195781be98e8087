// Counter-based Philox 4x32-10 (with its published test vectors), xorshift128 and a Monte Carlo
// estimate of pi, all bit for bit as on the host.
#include "suite.h"

struct Words {
  unsigned v[4];
};

__host__ __device__ Words philox(Words c, unsigned k0, unsigned k1) {
  for (int round = 0; round < 10; round++) {
    unsigned long long a = 0xd2511f53ull * c.v[0], b = 0xcd9e8d57ull * c.v[2];
    c = Words{{unsigned(b >> 32) ^ c.v[1] ^ k0, unsigned(b), unsigned(a >> 32) ^ c.v[3] ^ k1,
               unsigned(a)}};
    k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
  }
  return c;
}
__host__ __device__ unsigned xorshift(unsigned* s) {
  unsigned t = s[3];
  t ^= t << 11, t ^= t >> 8;
  s[3] = s[2], s[2] = s[1], s[1] = s[0];
  return s[0] = t ^ s[0] ^ s[0] >> 19;
}

__global__ void streams(unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Words w = philox(Words{{unsigned(i), 0, 0, 0}}, 7, 11);
  for (int k = 0; k < 50; k++) xorshift(w.v);
  out[i] = w.v[0];
}
__global__ void vectors(unsigned* out) {
  Words w[3] = {
      philox(Words{{0, 0, 0, 0}}, 0, 0), philox(Words{{~0u, ~0u, ~0u, ~0u}}, ~0u, ~0u),
      philox(Words{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0)};
  for (int i = 0; i < 12; i++) out[i] = w[i / 4].v[i % 4];
}
__global__ void monte_carlo(int each, unsigned long long* inside) {
  unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  int hits = 0;
  for (int k = 0; k < each; k++) {
    Words w = philox(Words{{id, unsigned(k), 0, 0}}, 1, 2);
    float x = (w.v[0] >> 8) * 0x1p-24f, y = (w.v[1] >> 8) * 0x1p-24f;
    hits += __fadd_rn(__fmul_rn(x, x), __fmul_rn(y, y)) < 1;
  }
  atomicAdd(inside, (unsigned long long)hits);
}

int main() {
  const int n = 1000;
  DeviceArray<unsigned> out(n), known(12);
  streams<<<(n + 127) / 128, 128>>>(out, n);
  vectors<<<1, 1>>>(known);
  DeviceArray<unsigned long long> inside(1);
  monte_carlo<<<16, 128>>>(25, inside);
  SYNC();
  std::vector<unsigned> wanted(n);
  for (int i = 0; i < n; i++) {
    Words w = philox(Words{{unsigned(i), 0, 0, 0}}, 7, 11);
    for (int k = 0; k < 50; k++) xorshift(w.v);
    wanted[i] = w.v[0];
  }
  expect_equal(out.host(), wanted, "streams");
  expect_equal(known.host(),
               {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8, 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
                0x6d5451fd, 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
               "Philox test vectors");
  unsigned long long hits = 0;
  for (unsigned id = 0; id < 16 * 128; id++)
    for (unsigned k = 0; k < 25; k++) {
      Words w = philox(Words{{id, k, 0, 0}}, 1, 2);
      float x = (w.v[0] >> 8) * 0x1p-24f, y = (w.v[1] >> 8) * 0x1p-24f, xx = x * x, yy = y * y;
      hits += xx + yy < 1;
    }
  expect(inside.host()[0] == hits, "points in the circle");
  printf("pi is about %.3f\n", 4.0 * hits / (16 * 128 * 25));
  return verdict();
}
