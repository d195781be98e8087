// The tiled transpose for elements of every width: half, bfloat16, int8, float, double, float4.
//
// What changes with the type is the shared-memory tile. A bank is one 4-byte word wide, so the
// padding that makes columns free of conflicts has to be thought out in words:
//
//   4, 8 and 16 bytes: one element a lane, tile[32][33] of elements. A column then steps by 33
//       elements = 33, 66 or 132 words. Eight-byte accesses are served 16 lanes at a time, 16-byte
//       ones 8 lanes: 66 mod 32 = 2 and 132 mod 32 = 4 spread such a group over all 32 banks.
//   1 and 2 bytes: moving single elements would waste lanes, sectors and banks, and one element of
//       padding would leave rows misaligned. A lane moves a whole word: a half2, a pair of
//       bfloat16, four int8. Row r of the tile goes to plane r % kPack, at [r / kPack][word] of 33
//       words; reading the same place in each plane gives a lane a square of kPack x kPack
//       elements, which it turns over in registers (byte permutes) and writes as kPack words to
//       kPack rows of the output.
//
// Expect:  m=256 n=256, every type
//   shared_excess_wavefronts 0
// Limits:  words are moved whole only where rows start at a multiple of 4 bytes (N, for the stores
//          M, a multiple of kPack); otherwise element by element.
//
// Usage: transpose_types [--m COUNT] [--n COUNT] [--no-time] [--repeat COUNT]
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "../kernels/common/transpose_program.h"

using tw::ladder::ceil_div;
using tw::ladder::MatrixShape;

constexpr int kTile = 32;
constexpr int kRows = 8;

template <class T>
__global__ void transpose_elements(const T* __restrict__ in, T* __restrict__ out, int m, int n) {
  __shared__ T tile[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int in_col = blockIdx.x * kTile + tx, in_row = blockIdx.y * kTile + ty;
  for (int j = 0; j < kTile; j += kRows)
    if (in_row + j < m && in_col < n) tile[ty + j][tx] = in[(in_row + j) * n + in_col];
  __syncthreads();
  const int out_col = blockIdx.y * kTile + tx, out_row = blockIdx.x * kTile + ty;
  for (int j = 0; j < kTile; j += kRows)
    if (out_row + j < n && out_col < m) out[(out_row + j) * m + out_col] = tile[tx][ty + j];
}

// T seen as bits: what moves are words of kPack elements.
template <class T> struct Packed {
  static constexpr int kPack = 4 / sizeof(T);
  using Bits = std::conditional_t<sizeof(T) == 1, uint8_t, uint16_t>;
};

// Elements (row, col .. col + kPack) of a rows x cols matrix; zero where there is no element.
template <class T>
__device__ uint32_t load_word(const T* matrix, int row, int col, int rows, int cols) {
  constexpr int kPack = Packed<T>::kPack;
  using Bits = typename Packed<T>::Bits;
  if (row >= rows) return 0;
  const T* first = matrix + row * cols + col;
  if (cols % kPack == 0) return col < cols ? *reinterpret_cast<const uint32_t*>(first) : 0;
  uint32_t word = 0;
  for (int e = 0; e < kPack; ++e)
    if (col + e < cols)
      word |= uint32_t{reinterpret_cast<const Bits*>(first)[e]} << (8 * sizeof(T) * e);
  return word;
}

template <class T>
__device__ void store_word(T* matrix, int row, int col, int rows, int cols, uint32_t word) {
  constexpr int kPack = Packed<T>::kPack;
  using Bits = typename Packed<T>::Bits;
  if (row >= rows) return;
  T* first = matrix + row * cols + col;
  if (cols % kPack == 0) {
    if (col < cols) *reinterpret_cast<uint32_t*>(first) = word;
    return;
  }
  for (int e = 0; e < kPack; ++e)
    if (col + e < cols)
      reinterpret_cast<Bits*>(first)[e] = static_cast<Bits>(word >> (8 * sizeof(T) * e));
}

// Turns a square of 2 x 2 16-bit or 4 x 4 8-bit elements, one row a word. __byte_perm(x, y, s)
// takes byte i of its result from byte s[i] (a hexadecimal digit, lowest first) of the eight bytes
// x, y.
__device__ void transpose_square(uint32_t (&rows)[2]) {
  const uint32_t low = __byte_perm(rows[0], rows[1], 0x5410);
  rows[1] = __byte_perm(rows[0], rows[1], 0x7632);
  rows[0] = low;
}
__device__ void transpose_square(uint32_t (&rows)[4]) {
  const uint32_t low01 = __byte_perm(rows[0], rows[1], 0x5140);   // columns 0 and 1 of rows 0, 1
  const uint32_t high01 = __byte_perm(rows[0], rows[1], 0x7362);  // columns 2 and 3
  const uint32_t low23 = __byte_perm(rows[2], rows[3], 0x5140);
  const uint32_t high23 = __byte_perm(rows[2], rows[3], 0x7362);
  rows[0] = __byte_perm(low01, low23, 0x5410);
  rows[1] = __byte_perm(low01, low23, 0x7632);
  rows[2] = __byte_perm(high01, high23, 0x5410);
  rows[3] = __byte_perm(high01, high23, 0x7632);
}

template <class T>
__global__ void transpose_words(const T* __restrict__ in, T* __restrict__ out, int m, int n) {
  constexpr int kPack = Packed<T>::kPack;
  constexpr int kSide = kTile * kPack;  // elements of a tile's side
  __shared__ uint32_t tile[kPack][kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int first_row = blockIdx.y * kSide, first_col = blockIdx.x * kSide;
  for (int j = ty; j < kSide; j += kRows)
    tile[j % kPack][j / kPack][tx] = load_word(in, first_row + j, first_col + tx * kPack, m, n);
  __syncthreads();
  for (int j = ty; j < kTile; j += kRows) {
    uint32_t square[kPack];
#pragma unroll
    for (int p = 0; p < kPack; ++p) square[p] = tile[p][tx][j];
    transpose_square(square);
#pragma unroll
    for (int p = 0; p < kPack; ++p)
      store_word(out, first_col + j * kPack + p, first_row + tx * kPack, n, m, square[p]);
  }
}

template <class T> void launch(const T* in, T* out, MatrixShape shape) {
  if (shape.m == 0 || shape.n == 0) return;  // a grid of no blocks is an invalid configuration
  const dim3 block(kTile, kRows);
  if constexpr (sizeof(T) < 4) {
    constexpr int kSide = kTile * Packed<T>::kPack;
    const dim3 grid(ceil_div(shape.n, kSide), ceil_div(shape.m, kSide));
    transpose_words<T><<<grid, block>>>(in, out, shape.m, shape.n);
  } else {
    const dim3 grid(ceil_div(shape.n, kTile), ceil_div(shape.m, kTile));
    transpose_elements<T><<<grid, block>>>(in, out, shape.m, shape.n);
  }
}

int main(int argc, char** argv) {
  const auto options = tw::ladder::parse_options(argc, argv, "mn");
  const auto run = [&](auto type, const char* name) {
    using T = decltype(type);
    return tw::ladder::run_transpose_step<T>(options, {name, launch<T>});
  };
  return run(__half{}, "transpose/half") | run(__nv_bfloat16{}, "transpose/bfloat16") |
         run(int8_t{}, "transpose/int8") | run(float{}, "transpose/float") |
         run(double{}, "transpose/double") | run(float4{}, "transpose/float4");
}
