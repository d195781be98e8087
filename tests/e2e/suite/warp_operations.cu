// Every warp operation: shuffles of each kind and width, votes, ballots, match, redux, under
// partial masks; a warp transpose by shuffles.
#include "suite.h"

__global__ void shuffles(int* out) {
  int lane = threadIdx.x, v = lane * lane;
  out[lane] = __shfl_sync(~0u, v, lane * 5);
  out[32 + lane] = __shfl_sync(~0u, v, 3, 8);
  out[64 + lane] = __shfl_up_sync(~0u, v, 3, 16);
  out[96 + lane] = __shfl_down_sync(~0u, v, 5, 8);
  out[128 + lane] = __shfl_xor_sync(~0u, v, 9);
  out[160 + lane] = int(__shfl_xor_sync(~0u, (long long)v << 33, 1) >> 33);
}
__global__ void votes(unsigned* out) {
  int lane = threadIdx.x;
  out[lane] = __ballot_sync(~0u, lane % 3 == 0);
  out[32 + lane] =
      __all_sync(~0u, lane < 32) * 4 + __any_sync(~0u, lane == 40) * 2 + __all_sync(~0u, lane != 9);
  out[64 + lane] = __match_any_sync(~0u, lane / 5);
  int same;
  out[96 + lane] = __match_all_sync(~0u, lane / 32, &same) + same;
  out[128 + lane] = 0;
  if (lane % 4 == 1)
    out[128 + lane] =
        __reduce_add_sync(0x22222222, unsigned(lane)) + (__ballot_sync(0x22222222, lane > 15) << 8);
  out[160 + lane] = __reduce_xor_sync(~0u, hash(lane)) ^ __reduce_or_sync(~0u, 1u << lane) ^
                    __reduce_and_sync(~0u, ~(1u << lane));
}
__global__ void transpose(int* data) {  // 32x32, a row a lane
  int row[32];
#pragma unroll
  for (int k = 0; k < 32; k++) row[k] = data[threadIdx.x * 32 + k];
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
#pragma unroll
    for (int k = 0; k < 32; k++)
      if (!(k & step)) {
        bool high = threadIdx.x & step;
        int send = high ? row[k] : row[k | step], got = __shfl_xor_sync(~0u, send, step);
        (high ? row[k] : row[k | step]) = got;
      }
#pragma unroll
  for (int k = 0; k < 32; k++) data[threadIdx.x * 32 + k] = row[k];
}

int main() {
  DeviceArray<int> s(192), t(1024);
  DeviceArray<unsigned> v(192);
  std::vector<int> ws(192), square(1024), turned(1024);
  std::vector<unsigned> wv(192);
  for (int i = 0; i < 1024; i++) square[i] = i, turned[i % 32 * 32 + i / 32] = i;
  t = square;
  shuffles<<<1, 32>>>(s);
  votes<<<1, 32>>>(v);
  transpose<<<1, 32>>>(t);
  SYNC();
  auto f = [](int lane) { return lane * lane; };
  unsigned ballot = 0, all_xor = 0, sum = 0;
  for (unsigned i = 0; i < 32; i++) {
    if (i % 3 == 0) ballot |= 1u << i;
    if (i % 4 == 1) sum += i;
    all_xor ^= hash(i);
  }
  for (int i = 0; i < 32; i++) {
    ws[i] = f(i * 5 % 32), ws[32 + i] = f(i / 8 * 8 + 3), ws[64 + i] = f(i % 16 < 3 ? i : i - 3);
    ws[96 + i] = f(i % 8 + 5 < 8 ? i + 5 : i), ws[128 + i] = f(i ^ 9), ws[160 + i] = f(i ^ 1);
    wv[i] = ballot, wv[32 + i] = 4, wv[96 + i] = 0xffffffffu + 1,
    wv[128 + i] = i % 4 == 1 ? sum + (0x22220000u << 8) : 0;
    for (int j = 0; j < 32; j++) wv[64 + i] |= unsigned(j / 5 == i / 5) << j;
    wv[160 + i] = all_xor ^ ~0u ^ 0u;
  }
  expect_equal(s.host(), ws, "shuffles");
  expect_equal(v.host(), wv, "votes");
  expect_equal(t.host(), turned, "transpose");
  return verdict();
}
