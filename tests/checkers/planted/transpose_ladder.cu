// One mistake in each step of kernels/transpose: what a reader of the ladder is likely to get wrong
// there. The kernels are the steps' own, cut down to the lines that matter.
//
// expect: copy: error oob-global @copy_guard
// expect: naive: error oob-global @naive_guard
// allow: naive: error race-global @naive_read @naive_guard
// allow: naive: note race-global @naive_read @naive_guard
// expect: tiled: error race-shared @tiled_write @tiled_read
// allow: tiled: error uninit-shared @tiled_read
// expect: padded: error uninit-shared @padded_read
// expect: xor: error uninit-shared @xor_read
// expect: vector: error oob-global @vector_load
// expect: vector_tile: error race-shared @vector_write @vector_read
// allow: vector_tile: error uninit-shared @vector_read
// expect: chosen: error misaligned @chosen_load
#include <cstdint>

#include "planted.h"

namespace PLANTED {

constexpr int kTile = 32, kRows = 8;

// 01: the guard lets one element past the end through.
__global__ void copy(const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < BUG(count + 1, count)) out[i] = in[i % count];  // @copy_guard
}

// 02: out is n x m, and its guard still asks for a row below m and a column below n.
__global__ void naive(const float* in, float* out, int m, int n) {
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kRows) {
    const int row = BUG(x, y + j), col = BUG(y + j, x);
    const float value = row < m && col < n ? in[row * n + col] : 0;  // @naive_read
    if (y + j < m && x < n) out[col * m + row] = value;              // @naive_guard
  }
}

// 03: no barrier between the warps that fill the tile and those that empty it.
__global__ void tiled(const float* in, float* out, int m, int n) {
  __shared__ float tile[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * kTile, row = blockIdx.y * kTile;
  for (int j = ty; j < kTile; j += kRows)
    tile[j][tx] = in[(row + j) * n + col + tx];  // @tiled_write
  BUG(, __syncthreads());
  for (int j = ty; j < kTile; j += kRows)
    out[(col + j) * m + row + tx] = tile[tx][j];  // @tiled_read
}

// 04: the padding is declared and read, but the write does not skip it.
__global__ void padded(const float* in, float* out, int m, int n) {
  __shared__ float tile[kTile * (kTile + 1)];
  const int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * kTile, row = blockIdx.y * kTile;
  for (int j = ty; j < kTile; j += kRows)
    tile[j * BUG(kTile, (kTile + 1)) + tx] = in[(row + j) * n + col + tx];
  __syncthreads();
  for (int j = ty; j < kTile; j += kRows)
    out[(col + j) * m + row + tx] = tile[tx * (kTile + 1) + j];  // @padded_read
}

// 05: a ragged tile is filled as far as in reaches, and emptied whole: out has room for it.
__global__ void swizzled(const float* in, float* out, int m, int n, int pitch) {
  __shared__ float tile[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * kTile, row = blockIdx.y * kTile;
  for (int j = ty; j < kTile; j += kRows)
    if (row + j < m && col + tx < n) tile[j][tx ^ j] = in[(row + j) * n + col + tx];
  __syncthreads();
  for (int j = ty; j < kTile; j += kRows)
    if (BUG(true, col + j < n && row + tx < m))
      out[(col + j) * pitch + row + tx] = tile[tx][j ^ tx];  // @xor_read
}

// 06: sixteen bytes of every row that has a byte left, also where they reach over the end; and no
// barrier.
__global__ void vectorised(const unsigned char* in, unsigned char* out, int m, int n, int pitch) {
  __shared__ uint32_t words[16][4];  // column by column
  const int t = threadIdx.x, vectors = (n + 15) / 16;
  for (int v = 0; v < vectors; ++v) {
    if (t < m) {
      uint4 row = {};
      if (BUG(true, v * 16 + 16 <= n))
        row = *reinterpret_cast<const uint4*>(in + t * pitch + v * 16);  // @vector_load
      const auto* bytes = reinterpret_cast<const unsigned char*>(&row);
      auto* to = reinterpret_cast<unsigned char*>(words);
      for (int c = 0; c < 16; ++c) to[c * 16 + t] = bytes[c];
    }
    __syncthreads();
    if (v * 16 + 16 <= n && t < 16)
      *reinterpret_cast<uint4*>(out + (v * 16 + t) * 16) =
          *reinterpret_cast<const uint4*>(words[t]);
    __syncthreads();
  }
}
__global__ void vectorised_tile(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t words[64];
  words[threadIdx.x] = in[threadIdx.x];  // @vector_write
  BUG(, __syncthreads());
  out[threadIdx.x] = words[threadIdx.x ^ 32];  // @vector_read
}

// 07: the kernel for rows on 16 bytes is taken for a pitch that is no multiple of them.
__global__ void chosen(const float* in, float* out, int m, int n) {
  const int row = blockIdx.x, vector = threadIdx.x;
  const float4 v = *reinterpret_cast<const float4*>(in + row * n + vector * 4);  // @chosen_load
  const float values[] = {v.x, v.y, v.z, v.w};
  for (int i = 0; i < 4; ++i) out[(vector * 4 + i) * m + row] = values[i];
}
__global__ void chosen_ragged(const float* in, float* out, int m, int n) {
  out[threadIdx.x * m + blockIdx.x] = in[blockIdx.x * n + threadIdx.x];
}
void launch_chosen(const float* in, float* out, int m, int n) {
  if (BUG(n >= 4, n % 4 == 0))
    chosen<<<m, n / 4>>>(in, out, m, n);
  else
    chosen_ragged<<<m, n>>>(in, out, m, n);
}

const dim3 block(kTile, kRows);
const float* input() { return device_array<float>(64 * 64); }
void copy_case() { copy<<<3, 256>>>(input(), device_array<float>(700), 700); }
void naive_case() { naive<<<dim3(2, 3), block>>>(input(), device_array<float>(65 * 45), 65, 45); }
void tiled_case() { tiled<<<dim3(2, 2), block>>>(input(), device_array<float>(64 * 64), 64, 64); }
void padded_case() { padded<<<dim3(2, 2), block>>>(input(), device_array<float>(64 * 64), 64, 64); }
void xor_case() {
  swizzled<<<dim3(2, 2), block>>>(input(), device_array<float>(64 * 64), 40, 40, 64);
}
void vector_case() {
  vectorised<<<1, 32>>>(device_array<unsigned char>(15 * 48 + 40),
                        device_array<unsigned char>(48 * 16), 16, 40, 48);
}
void vector_tile_case() {
  vectorised_tile<<<1, 64>>>(device_array<uint32_t>(64), device_array<uint32_t>(64));
}
void chosen_case() { launch_chosen(input(), device_array<float>(8 * 10), 8, 10); }

int program(const char* only) {
  return run_cases({{"copy", copy_case},
                    {"naive", naive_case},
                    {"tiled", tiled_case},
                    {"padded", padded_case},
                    {"xor", xor_case},
                    {"vector", vector_case},
                    {"vector_tile", vector_tile_case},
                    {"chosen", chosen_case}},
                   only);
}

}  // namespace PLANTED
