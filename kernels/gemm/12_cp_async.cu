// GEMM step 12: asynchronous copies, four stages.
//
// Change:  cp.async copies from global to shared memory without passing registers: four stages of 8
//          k, three of them on their way while one is multiplied; tiles of 128 x 128, so that 256
//          threads share them.
// Why:     step 11 has one phase in flight and pays registers and a store for each element that it
//          brings. A copy is one instruction and may take as long as three phases. A is copied one
//          element at a time, which transposes it on the way and needs no alignment, so that a
//          ragged pitch costs A nothing.
// Expect:  m=256 n=256 k=256
//   ffma                     16777216
//   requests_ld              5120
//   sectors_ld               32768
//   requests_st              512
//   sectors_st               8192
//   sectors_per_request_st   16
// Limits:  B falls back to single elements where its pitch is no multiple of four; the eight rows
//          and columns of a thread are read again for each k with nothing else in flight.
// Next:    13_warp_tile gives each thread 8 x 16 and loads fragments one k ahead.
#include "../common/async_copy.cuh"
#include "../common/gemm_access.cuh"
#include "../common/gemm_program.h"

using tw::ladder::ceil_div;
using tw::ladder::copy_commit;
using tw::ladder::copy_element;
using tw::ladder::copy_four;
using tw::ladder::copy_wait;
using tw::ladder::GemmShape;
using tw::ladder::store_four;

constexpr int kTile = 128;  // rows and columns of C a CTA computes
constexpr int kDepth = 8;   // k of a stage
constexpr int kStages = 4;
constexpr int kSums = 8;  // rows, and columns, of C a thread computes
constexpr int kSide = kTile / kSums;
constexpr int kThreads = kSide * kSide;
constexpr int kPad = 4;  // floats: a transposing copy of eight k by four rows meets 32 banks

__global__ void __launch_bounds__(kThreads, 2)
    gemm_cp_async(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                  int m, int n, int k) {
  __shared__ alignas(16) float a_tile[kStages][kDepth][kTile + kPad];  // transposed: k, then row
  __shared__ alignas(16) float b_tile[kStages][kDepth][kTile];
  const int thread = threadIdx.x;
  const int tx = thread % kSide, ty = thread / kSide;
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  const bool b_aligned = n % 4 == 0;
  const int phases = (k + kDepth - 1) / kDepth;
  // Queues the copies of one phase; what lies outside the matrices becomes zero.
  auto copy = [&](int phase) {
    const int k0 = phase * kDepth, stage = phase % kStages;
#pragma unroll
    for (int i = 0; i < kTile * kDepth / kThreads; ++i) {
      const int at = thread + i * kThreads, line = at % kDepth, row = at / kDepth;
      const bool valid = row0 + row < m && k0 + line < k;
      copy_element(&a_tile[stage][line][row], valid ? a + size_t(row0 + row) * k + k0 + line : a,
                   valid);
    }
    const int line = thread * 4 / kTile, column = thread * 4 % kTile;
    const int left = k0 + line < k ? n - col0 - column : 0;  // elements of the row from here on
    const float* from = b + size_t(k0 + line) * n + col0 + column;
    if (b_aligned) {
      copy_four(&b_tile[stage][line][column], left > 0 ? from : b, left > 0);
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        copy_element(&b_tile[stage][line][column + e], left > e ? from + e : b, left > e);
    }
  };
  static_assert(kThreads * 4 == kTile * kDepth, "one vector of B a thread and phase");
  for (int phase = 0; phase < kStages - 1; ++phase) {
    if (phase < phases) copy(phase);
    copy_commit();
  }
  float sum[kSums][kSums] = {};
  for (int phase = 0; phase < phases; ++phase) {
    copy_wait<kStages - 2>();  // this thread's copies of the phase have arrived
    __syncthreads();           // everyone's have, and the stage of the phase before is free
    if (phase + kStages - 1 < phases) copy(phase + kStages - 1);
    copy_commit();  // an empty group where nothing is left: the count of groups stays right
    const int stage = phase % kStages;
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      const float4 al = *reinterpret_cast<const float4*>(&a_tile[stage][i][4 * ty]);
      const float4 ah = *reinterpret_cast<const float4*>(&a_tile[stage][i][kTile / 2 + 4 * ty]);
      const float4 bl = *reinterpret_cast<const float4*>(&b_tile[stage][i][4 * tx]);
      const float4 bh = *reinterpret_cast<const float4*>(&b_tile[stage][i][kTile / 2 + 4 * tx]);
      const float a_value[kSums] = {al.x, al.y, al.z, al.w, ah.x, ah.y, ah.z, ah.w};
      const float b_value[kSums] = {bl.x, bl.y, bl.z, bl.w, bh.x, bh.y, bh.z, bh.w};
#pragma unroll
      for (int r = 0; r < kSums; ++r) {
#pragma unroll
        for (int s = 0; s < kSums; ++s) sum[r][s] += a_value[r] * b_value[s];
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kSums; ++r) {
    const int row = row0 + r / 4 * (kTile / 2) + 4 * ty + r % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float* s = &sum[r][4 * half];
      store_four(c, row, col0 + half * (kTile / 2) + 4 * tx, m, n, b_aligned,
                 make_float4(s[0], s[1], s[2], s[3]));
    }
  }
}

void launch(const float* a, const float* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const dim3 grid(ceil_div(shape.n, kTile), ceil_div(shape.m, kTile));
  gemm_cp_async<<<grid, kThreads>>>(a, b, c, shape.m, shape.n, shape.k);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  return tw::ladder::run_gemm_step(options, {"gemm/12_cp_async", launch});
}
