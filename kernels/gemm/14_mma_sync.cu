// GEMM step 14: tensor cores by mma.sync.
//
// Change:  A and B are bf16 and a warp multiplies 16 x 8 x 16 an instruction: ldmatrix reads the
//          fragments, a swizzle of 16-byte pieces keeps its eight rows in different banks, 16-byte
//          asynchronous copies fill three stages of 64 k.
// Why:     a multiply-add of a warp is 32 products a slot of issue, an mma 2048. What bounded step
//          13, the issue rate, is gone; the bytes from shared memory bound this one: a warp of 64 x
//          32 reads 12 KiB for 262144 products.
// Expect:  m=256 n=256 k=256
//   requests_ld              1024
//   sectors_ld               16384
//   sectors_per_request_ld   16
//   requests_st              2048
//   sectors_st               16384
//   sectors_per_request_st   8
// Limits:  a ragged pitch is first copied to one of 16 bytes. Every operand passes registers, and a
//          warp waits for what it reads.
// Next:    15_wgmma reads both operands from shared memory without registers.
#include "../common/async_copy.cuh"
#include "../common/gemm_program.h"
#include "../common/pitched.h"

using namespace tw::ladder;

constexpr int kTile = 128;  // rows and columns of C a CTA computes
constexpr int kDepth = 64;  // k of a stage
constexpr int kStages = 3;
constexpr int kThreads = 256;                // eight warps, 2 x 4, of 64 x 32
constexpr int kBytesA = kTile * kDepth * 2;  // rows of 128 bytes
constexpr int kBytesB = kDepth * kTile * 2;  // lines of 256 bytes
constexpr int kStageBytes = kBytesA + kBytesB;

// Pieces of 16 bytes lie at piece XOR row mod 8 of their row.
__device__ inline int place_a(int row, int piece) { return row * 128 + ((piece ^ (row & 7)) << 4); }
__device__ inline int place_b(int line, int piece) {
  return line * 256 + ((piece ^ (line & 7)) << 4);
}

__device__ inline void load_matrices(uint32_t (&out)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address));
}
__device__ inline void load_matrices_turned(uint32_t (&out)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address));
}
__device__ inline void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
      " {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__global__ void __launch_bounds__(kThreads, 2)
    gemm_mma_sync(Pitched a, Pitched b, float* __restrict__ c, int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char stages[];
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  const int warp_row = warp % 2 * 64, warp_col = warp / 2 * 32;
  const int phases = (k + kDepth - 1) / kDepth;
  auto copy = [&](int phase) {  // zeros where the matrices end
    unsigned char* stage = stages + phase % kStages * kStageBytes;
    const int k0 = phase * kDepth;
#pragma unroll
    for (int i = 0; i < kBytesA / 16 / kThreads; ++i) {
      const int at = thread + i * kThreads, row = at / 8, piece = at % 8;
      const int left = row0 + row < m ? min(max(k - k0 - piece * 8, 0), 8) : 0;
      const __nv_bfloat16* from = a.data + size_t(row0 + row) * a.pitch + k0 + piece * 8;
      copy_sixteen(stage + place_a(row, piece), left > 0 ? from : a.data, left * 2);
    }
#pragma unroll
    for (int i = 0; i < kBytesB / 16 / kThreads; ++i) {
      const int at = thread + i * kThreads, line = at / 16, piece = at % 16;
      const int left = k0 + line < k ? min(max(n - col0 - piece * 8, 0), 8) : 0;
      const __nv_bfloat16* from = b.data + size_t(k0 + line) * b.pitch + col0 + piece * 8;
      copy_sixteen(stage + kBytesA + place_b(line, piece), left > 0 ? from : b.data, left * 2);
    }
  };
  for (int phase = 0; phase < kStages - 1; ++phase) {
    if (phase < phases) copy(phase);
    copy_commit();
  }
  float d[4][4][4] = {};  // 16 rows, 8 columns, fragment
  for (int phase = 0; phase < phases; ++phase) {
    copy_wait<kStages - 2>();
    __syncthreads();  // the stage is complete, and the one before it has been read
    if (phase + kStages - 1 < phases) copy(phase + kStages - 1);
    copy_commit();
    const uint32_t stage = shared_address_of(stages) + phase % kStages * kStageBytes;
#pragma unroll
    for (int step = 0; step < kDepth / 16; ++step) {
      uint32_t af[4][4], bf[2][4];
#pragma unroll
      for (int i = 0; i < 4; ++i)  // lanes 0-15: rows, first eight k; 16-31: the next eight k
        load_matrices(af[i], stage + place_a(warp_row + i * 16 + lane % 16, step * 2 + lane / 16));
#pragma unroll
      for (int j = 0; j < 2; ++j)  // lanes 0-15: lines k, eight columns; 16-31: the next eight
        load_matrices_turned(
            bf[j],
            stage + kBytesA + place_b(step * 16 + lane % 16, warp_col / 8 + j * 2 + lane / 16));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          multiply(d[i][j], af[i], bf[j / 2][j % 2 * 2], bf[j / 2][j % 2 * 2 + 1]);
      }
    }
  }
  copy_wait<0>();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int e = 0; e < 16; ++e) {  // fragment: rows lane / 4 and + 8, two neighbours each
      const int row = row0 + warp_row + i * 16 + lane / 4 + e % 4 / 2 * 8;
      const int column = col0 + warp_col + e / 4 * 8 + lane % 4 * 2 + e % 2;
      if (row < m && column < n) c[size_t(row) * n + column] = d[i][e / 4][e % 4];
    }
  }
}

void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;
  check(cudaFuncSetAttribute(gemm_mma_sync, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kStages * kStageBytes));
  const dim3 grid(ceil_div(shape.n, kTile), ceil_div(shape.m, kTile));
  gemm_mma_sync<<<grid, kThreads, kStages * kStageBytes>>>(on_16_bytes(a, shape.m, shape.k, 0),
                                                           on_16_bytes(b, shape.k, shape.n, 1), c,
                                                           shape.m, shape.n, shape.k);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  tw::ladder::GemmStep step{"gemm/14_mma_sync", nullptr};
  step.launch_bf16 = launch;
  return tw::ladder::run_gemm_step(options, step);
}
