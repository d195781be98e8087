// GEMM step 15: WGMMA.
//
// Change:  a warpgroup of four warps multiplies 64 x 128 x 16 an instruction, both operands read by
//          the tensor cores from shared memory, in the swizzle of 128 bytes that a descriptor
//          names; copies as in step 14.
// Why:     ldmatrix and the registers behind it are gone: a warp of step 14 issues 22 instructions
//          for 64 x 32 x 16 products, four warps issue one here for 64 x 128 x 16, and they are
//          free while it runs.
// Expect:  m=256 n=256 k=256
//   requests_ld              1024
//   sectors_ld               16384
//   sectors_per_request_ld   16
//   requests_st              1024
//   sectors_st               8192
//   sectors_per_request_st   8
// Limits:  all threads still compute addresses and issue copies, and a barrier of the whole CTA a
//          stage lets the tensor cores drain.
// Next:    16_tma_pipeline has one thread ask for a whole tile.
#include "../common/async_copy.cuh"
#include "../common/gemm_program.h"
#include "../common/pitched.h"
#include "../common/warpgroup.cuh"

using namespace tw::ladder;
using namespace tw::gpu;

constexpr int kTile = 128;  // rows and columns of C a CTA computes
constexpr int kStages = 4;
constexpr int kThreads = 256;  // two warpgroups of 64 x 128
constexpr int kBytesA = kTile / 64 * kPanelBytes;
constexpr int kBytesB = kTile / 64 * kPanelBytes;
constexpr int kStageBytes = kBytesA + kBytesB;

__global__ void __launch_bounds__(kThreads, 1)
    gemm_wgmma(Pitched a, Pitched b, float* __restrict__ c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char stages[];  // a swizzle repeats after 1024 bytes
  const int thread = threadIdx.x, group = thread / 128;
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  const int phases = (k + kStageDepth - 1) / kStageDepth;
  // Piece of 16 bytes `piece` of 128-byte line `line`, as the tensor cores' swizzle has it.
  auto place = [](int line, int piece) { return line * 128 + ((piece ^ (line & 7)) << 4); };
  auto copy = [&](int phase) {  // zeros where the matrices end
    unsigned char* stage = stages + phase % kStages * kStageBytes;
    const int k0 = phase * kStageDepth;
#pragma unroll
    for (int i = 0; i < kBytesA / 16 / kThreads; ++i) {
      const int at = thread + i * kThreads, row = at / 8, piece = at % 8;
      const int left = row0 + row < m ? min(max(k - k0 - piece * 8, 0), 8) : 0;
      const __nv_bfloat16* from = a.data + size_t(row0 + row) * a.pitch + k0 + piece * 8;
      copy_sixteen(stage + place(row, piece), left > 0 ? from : a.data, left * 2);
    }
#pragma unroll
    for (int i = 0; i < kBytesB / 16 / kThreads;
         ++i) {  // a panel: 64 lines, one a k, of 64 columns
      const int at = thread + i * kThreads, panel = at / 512, line = at / 8 % 64, piece = at % 8;
      const int column = col0 + panel * 64 + piece * 8;
      const int left = k0 + line < k ? min(max(n - column, 0), 8) : 0;
      const __nv_bfloat16* from = b.data + size_t(k0 + line) * b.pitch + column;
      copy_sixteen(stage + kBytesA + panel * kPanelBytes + place(line, piece),
                   left > 0 ? from : b.data, left * 2);
    }
  };
  for (int phase = 0; phase < kStages - 1; ++phase) {
    if (phase < phases) copy(phase);
    copy_commit();
  }
  float d[kTile / 2] = {};
  for (int phase = 0; phase < phases; ++phase) {
    copy_wait<kStages - 2>();
    fence_async_shared();  // what threads wrote is now seen by the tensor cores' proxy
    wgmma_wait<0>();       // this warpgroup has multiplied the stage before
    __syncthreads();       // everyone's copies are complete; that stage is free
    const uint32_t stage = shared_address(stages) + phase % kStages * kStageBytes;
    multiply_stage<kTile>(d, stage + group * kPanelBytes, stage + kBytesA, false);
    if (phase + kStages - 1 < phases) copy(phase + kStages - 1);
    copy_commit();
  }
  copy_wait<0>();
  wgmma_wait<0>();
  keep_below(d);
  store_warpgroup<kTile>(d, c, row0 + group * 64, col0, m, n);
}

void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;
  check(cudaFuncSetAttribute(gemm_wgmma, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kStages * kStageBytes));
  const dim3 grid(ceil_div(shape.n, kTile), ceil_div(shape.m, kTile));
  gemm_wgmma<<<grid, kThreads, kStages * kStageBytes>>>(on_16_bytes(a, shape.m, shape.k, 0),
                                                        on_16_bytes(b, shape.k, shape.n, 1), c,
                                                        shape.m, shape.n, shape.k);
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  tw::ladder::GemmStep step{"gemm/15_wgmma", nullptr};
  step.launch_bf16 = launch;
  return tw::ladder::run_gemm_step(options, step);
}
