// SHA-256 of many short messages, one a thread: rotations, three-input logic, a message schedule in
// a local array; checked against the published digest of "abc" and a host version.
#include "suite.h"

__host__ __device__ unsigned rotate(unsigned x, int n) { return x >> n | x << (32 - n); }

#define ROUND_CONSTANTS                                                                           \
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, \
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7,         \
      0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,         \
      0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3,         \
      0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,         \
      0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70,         \
      0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,         \
      0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee,         \
      0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
__constant__ unsigned device_k[64] = {ROUND_CONSTANTS};
const unsigned host_k[64] = {ROUND_CONSTANTS};

__host__ __device__ void digest(const unsigned* block, const unsigned* k, unsigned* h) {
  unsigned w[64], s[8], start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (int i = 0; i < 16; i++) w[i] = block[i];
  for (int i = 16; i < 64; i++) {
    unsigned a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
           (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
  }
  for (int i = 0; i < 8; i++) s[i] = start[i];
  for (int i = 0; i < 64; i++) {
    unsigned e = s[4], a = s[0];
    unsigned t1 = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                  ((e & s[5]) ^ (~e & s[6])) + k[i] + w[i];
    unsigned t2 =
        (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    for (int j = 7; j > 0; j--) s[j] = s[j - 1];
    s[4] += t1, s[0] = t1 + t2;
  }
  for (int i = 0; i < 8; i++) h[i] = start[i] + s[i];
}
__global__ void digests(const unsigned* blocks, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) digest(blocks + 16 * i, device_k, out + 8 * i);
}

int main() {
  const int n = 150;
  std::vector<unsigned> blocks(16 * n), wanted(8 * n);
  for (int i = 0; i < n; i++) {  // messages of three bytes, padded
    blocks[16 * i] = (i == 0 ? 0x61626300 : hash(i) << 8) | 0x80;
    blocks[16 * i + 15] = 24;
    digest(&blocks[16 * i], host_k, &wanted[8 * i]);
  }
  DeviceArray<unsigned> in(blocks), out(8 * n);
  digests<<<(n + 63) / 64, 64>>>(in, out, n);
  SYNC();
  std::vector<unsigned> got = out.host();
  expect_equal(got, wanted, "digests");
  for (int i = 0; i < 8; i++) printf("%08x", got[i]);
  printf("\n");
  got.resize(8);
  expect_equal(got,
               {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3, 0x96177a9c, 0xb410ff61,
                0xf20015ad},
               "the published digest of abc");
  return verdict();
}
