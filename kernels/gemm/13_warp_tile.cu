// GEMM step 13: 8 x 16 a thread, fragments one k ahead.
//
// Change:  a thread computes 8 x 16 elements, a warp 64 x 64 of them, lanes laid out 8 x 4; the
//          fragments of the next k are read while those of this one are multiplied.
// Why:     in step 12 four vector loads feed 64 multiply-adds, and the first multiply-add of each k
//          waits for them. Here six feed 128, and they have a whole k to arrive. Lanes that share a
//          row or a column are neighbours, so that a vector load of a warp is two wavefronts; in
//          step 12 it is three on average.
// Expect:  m=256 n=256 k=256
//   ffma                     16777216
//   requests_ld              5120
//   sectors_ld               32768
//   requests_st              512
//   sectors_st               8192
//   sectors_per_request_st   16
// Limits:  registers are full: 128 sums, 48 of fragments. The loads and the multiply-adds share the
//          issue slots, one a clock: about seven eighths of the peak is what CUDA cores can give.
// Next:    14_mma_sync leaves the CUDA cores for the tensor cores, and fp32 for bf16.
#include "../common/async_copy.cuh"
#include "../common/gemm_access.cuh"
#include "../common/gemm_program.h"

using namespace tw::ladder;

constexpr int kTile = 128;  // rows and columns of C a CTA computes
constexpr int kDepth = 8;   // k of a stage
constexpr int kStages = 4;
constexpr int kThreads = 128;  // four warps of 64 x 64
constexpr int kRows = 8, kColumns = 16;
constexpr int kPad = 4;  // floats: a transposing copy of eight k by four rows meets 32 banks

// kCount / 4 vectors of a line, kStep floats apart.
template <int kCount, int kStep>
__device__ inline void read_fragment(float (&out)[kCount], const float* line) {
#pragma unroll
  for (int i = 0; i < kCount / 4; ++i) {
    const float4 v = *reinterpret_cast<const float4*>(line + i * kStep);
    out[4 * i] = v.x;
    out[4 * i + 1] = v.y;
    out[4 * i + 2] = v.z;
    out[4 * i + 3] = v.w;
  }
}

__global__ void __launch_bounds__(kThreads, 2)
    gemm_warp_tile(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                   int m, int n, int k) {
  __shared__ alignas(16) float a_tile[kStages][kDepth][kTile + kPad];  // transposed: k, then row
  __shared__ alignas(16) float b_tile[kStages][kDepth][kTile];
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  // Bits 1 to 3 of the lane go along the rows, 0 and 4 along the columns.
  const int ty = warp % 2 * 64 + ((lane >> 1) & 7) * 4;
  const int tx = warp / 2 * 64 + ((lane & 1) | ((lane >> 4) << 1)) * 4;
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  const bool b_aligned = n % 4 == 0;
  const int phases = (k + kDepth - 1) / kDepth;
  auto copy = [&](int phase) {  // as in step 12
    const int k0 = phase * kDepth, stage = phase % kStages;
#pragma unroll
    for (int i = 0; i < kTile * kDepth / kThreads; ++i) {
      const int at = thread + i * kThreads, line = at % kDepth, row = at / kDepth;
      const bool valid = row0 + row < m && k0 + line < k;
      copy_element(&a_tile[stage][line][row], valid ? a + size_t(row0 + row) * k + k0 + line : a,
                   valid);
    }
#pragma unroll
    for (int i = 0; i < kTile * kDepth / 4 / kThreads; ++i) {
      const int at = (thread + i * kThreads) * 4, line = at / kTile, column = at % kTile;
      const int left = k0 + line < k ? n - col0 - column : 0;  // elements of the row from here on
      const float* from = b + size_t(k0 + line) * n + col0 + column;
      if (b_aligned) {
        copy_four(&b_tile[stage][line][column], left > 0 ? from : b, left > 0);
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e)
          copy_element(&b_tile[stage][line][column + e], left > e ? from + e : b, left > e);
      }
    }
  };
  for (int phase = 0; phase < kStages - 1; ++phase) {
    if (phase < phases) copy(phase);
    copy_commit();
  }
  float sum[kRows][kColumns] = {}, a_now[2][kRows], b_now[2][kColumns];
  copy_wait<kStages - 2>();
  __syncthreads();  // the first stage is complete
  read_fragment<kRows, 32>(a_now[0], &a_tile[0][0][ty]);
  read_fragment<kColumns, 16>(b_now[0], &b_tile[0][0][tx]);
  for (int phase = 0; phase < phases; ++phase) {
    int stage = phase % kStages;
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      if (i == kDepth - 1) {
        copy_wait<kStages - 2>();
        __syncthreads();  // the next stage is complete, and this one has been read
        stage = (phase + 1) % kStages;
      }
      read_fragment<kRows, 32>(a_now[(i + 1) % 2], &a_tile[stage][(i + 1) % kDepth][ty]);
      read_fragment<kColumns, 16>(b_now[(i + 1) % 2], &b_tile[stage][(i + 1) % kDepth][tx]);
      if (i == 0) {
        if (phase + kStages - 1 < phases) copy(phase + kStages - 1);
        copy_commit();
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int s = 0; s < kColumns; ++s) sum[r][s] += a_now[i % 2][r] * b_now[i % 2][s];
      }
    }
  }
  copy_wait<0>();
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int s = 0; s < kColumns; s += 4) {
      store_four(c, row0 + ty + r / 4 * 32 + r % 4, col0 + tx + s * 4, m, n, b_aligned,
                 make_float4(sum[r][s], sum[r][s + 1], sum[r][s + 2], sum[r][s + 3]));
    }
  }
}

void launch(const float* a, const float* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const dim3 grid(ceil_div(shape.n, kTile), ceil_div(shape.m, kTile));
  gemm_warp_tile<<<grid, kThreads>>>(a, b, c, shape.m, shape.n, shape.k);
}

int main(int argc, char** argv) {
  const auto options = parse_options(argc, argv, "mnk");
  return run_gemm_step(options, {"gemm/13_warp_tile", launch});
}
