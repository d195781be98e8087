// Transpose step 07: the kernel chosen by shape and alignment.
//
// Change:  floats again, of any shape: a rule of four lines takes one of the library's tiles.
// Why:     one kernel loses on the shapes it was not made for: rows that start anywhere make every
//          access straddle sectors (step 05 falls by a third from 8192 to 8191 columns), a strip
//          of three columns leaves a tile of 32 nine tenths empty, and a grid of a few tiles is
//          bound by the latency of one. sectors_per_request_st is 16: four bytes a lane before,
//          sixteen now.
// Expect:  m=256 n=256
//   requests_ld              512
//   sectors_ld               8192
//   sectors_per_request_ld   16
//   requests_st              512
//   sectors_st               8192
//   sectors_per_request_st   16
//   shared_requests_ld       512
//   shared_wavefronts_ld     2048
//   shared_requests_st       2048
//   shared_wavefronts_st     2048
//   shared_excess_wavefronts 0
// Limits:  fewer than 2^31 elements; rows without gaps. The library's own rule
//          (src/transpose/transpose_plan.cpp) knows all element sizes, leading dimensions and
//          batches; `tilewright explain transpose` prints it.
// Next:    nothing: this is what tilewright/transpose.h does.
#include <cstdint>

#include "../common/transpose_program.h"
#include "lib/raw_tile.cuh"
#include "lib/strip_tile.cuh"
#include "lib/vector_tile.cuh"

using tw::ladder::ceil_div;
using tw::ladder::MatrixShape;
namespace lib = tilewright::detail;

using Large = lib::VectorTile<4, 64, 64, 256>;  // rows on 16 bytes
using Small = lib::VectorTile<4, 32, 32, 128>;  // the same, for grids of a few tiles
using Raw = lib::RawTile<4, 16, 512, 512>;      // rows that start anywhere
using Tall = lib::TallStrip<4, 256>;            // a few columns: the input is one stream
using Wide = lib::WideStrip<4, 256>;            // a few rows: the output is one stream
constexpr int kLogLong = 9;                     // log2 of a strip's long side

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreadCount)
    transpose_aligned(const char* __restrict__ in, char* __restrict__ out, int m, int n) {
  __shared__ __align__(128) char shared[Tile::kSharedBytes];
  const int row = blockIdx.x * Tile::kRows, col = blockIdx.y * Tile::kCols;
  Tile::load(threadIdx.x, shared, in + (size_t(row) * n + col) * 4, size_t(n) * 4, m - row,
             n - col);
  __syncthreads();  // words move between warps: the tile must be complete
  Tile::store_tile(threadIdx.x, shared, out + (size_t(col) * m + row) * 4, size_t(m) * 4, m - row,
                   n - col);
}

__global__ void __launch_bounds__(Raw::kThreadCount)
    transpose_ragged(const char* __restrict__ in, char* __restrict__ out, int m, int n) {
  __shared__ __align__(128) char shared[Raw::kSharedBytes];
  const int col = blockIdx.y * Raw::kCols;
  const Raw::Matrix matrix{in, int64_t(n) * 4, m, n};
  Raw::load(threadIdx.x, shared, matrix, int64_t(blockIdx.x) * Raw::kRows - Raw::kHalo, col);
  __syncthreads();  // words move between warps: the tile must be complete
  Raw::store_tile(threadIdx.x, shared, matrix, out, int64_t(m) * 4, blockIdx.x, col);
}

template <class Strip, class Shape>
__global__ void __launch_bounds__(256) transpose_strip(const __grid_constant__ Shape shape) {
  extern __shared__ __align__(128) char stream[];
  Strip::load(threadIdx.x, stream, shape, blockIdx.x);
  __syncthreads();  // words move between warps: the strip must be complete
  Strip::store_tile(threadIdx.x, stream, shape, blockIdx.x);
}

template <class Tile> void launch_aligned(const char* from, char* to, MatrixShape shape) {
  const dim3 grid(ceil_div(shape.m, Tile::kRows), ceil_div(shape.n, Tile::kCols));
  transpose_aligned<Tile><<<grid, Tile::kThreadCount>>>(from, to, shape.m, shape.n);
}

void launch(const float* in, float* out, MatrixShape shape) {
  const int m = shape.m, n = shape.n;
  if (m == 0 || n == 0) return;  // a grid of no blocks is an invalid configuration
  const char* from = reinterpret_cast<const char*>(in);
  char* to = reinterpret_cast<char*>(out);
  if (n <= 8 && m > n) {
    const Tall::Strip strip{from, to, int64_t(m) * 4, m, n, kLogLong};
    transpose_strip<Tall>
        <<<unsigned(Tall::tiles(m, kLogLong)), 256, Tall::shared_bytes(kLogLong, n)>>>(strip);
  } else if (m <= 8) {
    const Wide::Strip strip{from, to, int64_t(n) * 4, n, m, kLogLong};
    transpose_strip<Wide>
        <<<unsigned(Wide::tiles(n, kLogLong)), 256, Wide::shared_bytes(kLogLong, m)>>>(strip);
  } else if (m % 4 == 0 && n % 4 == 0) {
    if (int64_t(m) * n < int64_t(1) << 21)
      launch_aligned<Small>(from, to, shape);
    else
      launch_aligned<Large>(from, to, shape);
  } else {
    const dim3 grid(ceil_div(m + Raw::kHalo - 1, Raw::kRows), ceil_div(n, Raw::kCols));
    transpose_ragged<<<grid, Raw::kThreadCount>>>(from, to, m, n);
  }
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mn");
  return tw::ladder::run_transpose_step<float>(options, {"transpose/07_chosen_by_rule", launch});
}
