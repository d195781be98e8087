// GEMM step 04: the textbook kernel for whole tiles, and what a ragged size does to it.
//
// Change:  no guards: M, N and K must be multiples of the tile; the host passes the number of
//          phases.
// Why:     it shows what the guards of step 02 cost (instructions, no counter of memory changes)
//          and what they are for: main() breaks the kernel on ragged sizes in four separate ways.
// Expect:  m=256 n=256 k=256
//   ffma                     16777216
//   requests_ld              65536
//   sectors_ld               262144
//   sectors_per_request_ld   4
//   requests_st              2048
//   sectors_st               8192
//   sectors_per_request_st   4
//   shared_requests_ld       655360
//   shared_wavefronts_ld     786432
//   shared_requests_st       65536
//   shared_wavefronts_st     65536
//   shared_excess_wavefronts 0
// Limits:  whole tiles only. With N ragged and the grid rounded up, the end of a row of C is also
//          the start of the next one: two CTAs write different values to one element, a race.
//          That effect has no repeatable outcome and is not run here.
// Next:    05_tiled_dynamic has the guards back and chooses the tile at run time.
#include "../common/gemm_program.h"

using tw::ladder::GemmShape;

constexpr int kTile = 16;

__global__ void gemm_whole_tiles(const float* __restrict__ a, const float* __restrict__ b,
                                 float* __restrict__ c, int n, int k, int phases) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty;
  const int col = blockIdx.x * kTile + tx;
  float sum = 0.0f;
  for (int phase = 0; phase < phases; ++phase) {
    a_tile[ty][tx] = a[row * k + phase * kTile + tx];
    b_tile[ty][tx] = b[(phase * kTile + ty) * n + col];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += a_tile[ty][i] * b_tile[i][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

void launch(const float* a, const float* b, float* c, GemmShape shape) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const dim3 block(kTile, kTile);
  const dim3 grid(shape.n / kTile, shape.m / kTile);
  gemm_whole_tiles<<<grid, block>>>(a, b, c, shape.n, shape.k, shape.k / kTile);
}

// One way to get the boundary wrong, with what must be seen: elements of C that are wrong (some or
// none), that were never written, and elements after the end of C that were overwritten.
struct BoundaryCase {
  const char* what;
  GemmShape shape;
  dim3 grid;
  int phases;
  bool wrong;
  size_t unwritten, beyond;
};

// The matrices lie in larger allocations filled with kFiller, so that every stray access stays
// inside memory of this program and has the same effect on every machine.
bool run_boundary_case(const BoundaryCase& test) {
  using namespace tw::ladder;
  constexpr size_t kSlack = 4096;
  constexpr float kFiller = 1000.0f;
  const GemmShape s = test.shape;
  const size_t c_size = size_t(s.m) * s.n;
  auto a = random_floats(size_t(s.m) * s.k, Numbers::kIntegers, 1);
  auto b = random_floats(size_t(s.k) * s.n, Numbers::kIntegers, 2);
  std::vector<float> expected(c_size, 0.0f);
  for (int row = 0; row < s.m; ++row)
    for (int col = 0; col < s.n; ++col)
      for (int i = 0; i < s.k; ++i)
        expected[row * s.n + col] += a[row * s.k + i] * b[i * s.n + col];
  a.resize(a.size() + kSlack, kFiller);
  b.resize(b.size() + kSlack, kFiller);
  DeviceArray<float> device_a(a), device_b(b),
      device_c(std::vector<float>(c_size + kSlack, kFiller));
  gemm_whole_tiles<<<test.grid, dim3(kTile, kTile)>>>(device_a.data(), device_b.data(),
                                                      device_c.data(), s.n, s.k, test.phases);
  check_kernel();
  const std::vector<float> c = device_c.download();
  size_t wrong = 0, unwritten = 0, beyond = 0;
  for (size_t i = 0; i < c.size(); ++i) {
    if (i >= c_size)
      beyond += c[i] != kFiller;
    else if (c[i] == kFiller)
      ++unwritten;
    else
      wrong += c[i] != expected[i];
  }
  const bool as_expected =
      (wrong != 0) == test.wrong && unwritten == test.unwritten && beyond == test.beyond;
  std::printf(
      "boundary M=%d N=%d K=%d %s: of %zu elements %zu wrong, %zu never written; "
      "%zu written past the end: %s\n",
      s.m, s.n, s.k, test.what, c_size, wrong, unwritten, beyond,
      as_expected ? "as expected" : "NOT as expected");
  return as_expected;
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mnk");
  int status =
      tw::ladder::run_gemm_step(options, {"gemm/04_tiled_whole_tiles_only", launch, kTile});
  if (options.one_size) return status;
  constexpr size_t kRim = 35 * 25 - 32 * 16;
  const BoundaryCase cases[] = {
      {"phases rounded down, the last 13 terms are lost", {32, 32, 45}, dim3(2, 2), 2, true, 0, 0},
      {"phases rounded up, the next row of A is added", {32, 32, 45}, dim3(2, 2), 3, true, 0, 0},
      {"grid rounded up, rows past the end of C", {35, 32, 48}, dim3(2, 3), 3, false, 0, 13 * 32},
      {"grid rounded down, the rim of C is left out", {35, 25, 48}, dim3(1, 2), 3, false, kRim, 0}};
  for (const BoundaryCase& test : cases)
    if (!run_boundary_case(test)) status = 1;
  return status;
}
