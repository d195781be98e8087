// Kernels of the engine's benchmark: the lessons' GEMMs and transpose, a register-tiled GEMM as in
// SGEMM tutorials, and a divergent kernel. Plain CUDA as people write it; compiled to PTX by the
// build.
constexpr int kTile = 16;

extern "C" __global__ void tiled(const float* __restrict__ a, const float* __restrict__ b,
                                 float* __restrict__ c, int m, int n, int k) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  int row = blockIdx.y * kTile + threadIdx.y;
  int col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += kTile) {
    int a_col = k0 + threadIdx.x;
    int b_row = k0 + threadIdx.y;
    a_tile[threadIdx.y][threadIdx.x] = row < m && a_col < k ? a[row * k + a_col] : 0.0f;
    b_tile[threadIdx.y][threadIdx.x] = b_row < k && col < n ? b[b_row * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

extern "C" __global__ void naive(const float* __restrict__ a, const float* __restrict__ b,
                                 float* __restrict__ c, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}

constexpr int kSquare = 32, kRows = 8;

extern "C" __global__ void transpose(const float* __restrict__ in, float* __restrict__ out,
                                     int width, int height) {
  __shared__ float tile[kSquare][kSquare + 1];
  int x = blockIdx.x * kSquare + threadIdx.x;
  int y = blockIdx.y * kSquare + threadIdx.y;
  for (int j = 0; j < kSquare; j += kRows)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * kSquare + threadIdx.x;
  y = blockIdx.x * kSquare + threadIdx.y;
  for (int j = 0; j < kSquare; j += kRows)
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// 128x128 tile of C a block, 8 deep, 8x8 results a thread; sizes are multiples of the tile.
constexpr int kBlockM = 128, kBlockN = 128, kBlockK = 8;

extern "C" __global__ void __launch_bounds__(256)
    sgemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m,
          int n, int k) {
  __shared__ __align__(16) float a_tile[kBlockK][kBlockM];
  __shared__ __align__(16) float b_tile[kBlockK][kBlockN];
  int thread = threadIdx.x;
  int tx = thread % 16, ty = thread / 16;
  int a_row = thread / 2, a_col = thread % 2 * 4;
  int b_row = thread / 32, b_col = thread % 32 * 4;
  const float* a_block = a + (size_t)blockIdx.y * kBlockM * k;
  const float* b_block = b + (size_t)blockIdx.x * kBlockN;
  float sum[8][8] = {};
  for (int k0 = 0; k0 < k; k0 += kBlockK) {
    float4 v = *reinterpret_cast<const float4*>(a_block + (size_t)a_row * k + k0 + a_col);
    a_tile[a_col + 0][a_row] = v.x;
    a_tile[a_col + 1][a_row] = v.y;
    a_tile[a_col + 2][a_row] = v.z;
    a_tile[a_col + 3][a_row] = v.w;
    *reinterpret_cast<float4*>(&b_tile[b_row][b_col]) =
        *reinterpret_cast<const float4*>(b_block + (size_t)(k0 + b_row) * n + b_col);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kBlockK; ++i) {
      float ra[8], rb[8];
#pragma unroll
      for (int j = 0; j < 8; j += 4)
        *reinterpret_cast<float4*>(ra + j) =
            *reinterpret_cast<const float4*>(&a_tile[i][ty * 8 + j]);
#pragma unroll
      for (int j = 0; j < 8; j += 4)
        *reinterpret_cast<float4*>(rb + j) =
            *reinterpret_cast<const float4*>(&b_tile[i][tx * 8 + j]);
#pragma unroll
      for (int p = 0; p < 8; ++p)
#pragma unroll
        for (int q = 0; q < 8; ++q) sum[p][q] += ra[p] * rb[q];
    }
    __syncthreads();
  }
#pragma unroll
  for (int p = 0; p < 8; ++p)
#pragma unroll
    for (int q = 0; q < 8; q += 4)
      *reinterpret_cast<float4*>(c + (size_t)(blockIdx.y * kBlockM + ty * 8 + p) * n +
                                 blockIdx.x * kBlockN + tx * 8 + q) =
          make_float4(sum[p][q], sum[p][q + 1], sum[p][q + 2], sum[p][q + 3]);
}

// Collatz steps: every lane loops a different number of times; some lanes and one warp leave early.
extern "C" __global__ void divergent(int* out, int n) {
  __shared__ int steps_of[256];
  int t = threadIdx.x, g = blockIdx.x * blockDim.x + t;
  int v = g, steps = 0;
  while (v != 1 && steps < 200) {
    if (v & 1)
      v = 3 * v + 1;
    else
      v >>= 1;
    ++steps;
    if (v < 0) break;
  }
  steps_of[t] = steps;
  if (t >= 224) return;  // the last warp leaves before the barrier
  if ((t & 31) == 5 && g > 1000) {
    if (g < n) out[g] = -1;
    return;
  }
  __syncthreads();
  int other = steps_of[(t + 1) % 224];
  if (t % 32 == 4) other = 0;
  if (g < n) out[g] = steps * 1000 + other;
}

extern "C" __global__ void empty(int* out) {
  if (out != nullptr) *out = 1;
}
