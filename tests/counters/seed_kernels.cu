// The eight textbook kernels whose counters tests/data/seed-kernels-ncu-h200.tsv holds: naive and
// tiled matrix multiplication, three transposes, vector addition, vectorised copy; plain float,
// row-major, with boundary guards. Runs each once at n x n (n from the command line, 256 by
// default) and checks results.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void gemm_naive(const float* a, const float* b, float* c, int n) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && col < n) {
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
  }
}

template <int kTile> __global__ void gemm_tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int k0 = 0; k0 < n; k0 += kTile) {
    const int a_col = k0 + threadIdx.x, b_row = k0 + threadIdx.y;
    a_tile[threadIdx.y][threadIdx.x] = row < n && a_col < n ? a[row * n + a_col] : 0.0f;
    b_tile[threadIdx.y][threadIdx.x] = b_row < n && col < n ? b[b_row * n + col] : 0.0f;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = sum;
}

constexpr int kTileDim = 32, kBlockRows = 8;

__global__ void transpose_naive(const float* in, float* out, int m, int n) {
  const int x = blockIdx.x * kTileDim + threadIdx.x;
  const int y = blockIdx.y * kTileDim + threadIdx.y;
  for (int j = 0; j < kTileDim; j += kBlockRows)
    if (y + j < m && x < n) out[x * m + y + j] = in[(y + j) * n + x];
}

template <int kPad> __global__ void transpose_tiled(const float* in, float* out, int m, int n) {
  __shared__ float tile[kTileDim][kTileDim + kPad];
  int x = blockIdx.x * kTileDim + threadIdx.x;
  int y = blockIdx.y * kTileDim + threadIdx.y;
  for (int j = 0; j < kTileDim; j += kBlockRows)
    if (y + j < m && x < n) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * kTileDim + threadIdx.x;
  y = blockIdx.x * kTileDim + threadIdx.y;
  for (int j = 0; j < kTileDim; j += kBlockRows)
    if (y + j < n && x < m) out[(y + j) * m + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void vecadd(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void copy4(const float4* in, float4* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

static void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

static void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "%s: wrong result\n", what);
  std::exit(1);
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 256;
  const size_t count = size_t(n) * n, bytes = count * sizeof(float);
  std::vector<float> a(count), b(count), c(count);
  for (size_t i = 0; i < count; ++i) a[i] = float(i % 7) - 3, b[i] = float(i % 5) - 2;
  float *da, *db, *dc;
  check(cudaMalloc(&da, bytes), "malloc");
  check(cudaMalloc(&db, bytes), "malloc");
  check(cudaMalloc(&dc, bytes), "malloc");
  check(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice), "copy");
  check(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice), "copy");
  const auto result = [&](const char* what) {
    check(cudaGetLastError(), what);
    check(cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost), what);
    check(cudaMemset(dc, 0, bytes), what);
  };
  const auto product = [&](const char* what) {  // one row and one column of it
    result(what);
    for (int i = 0; i < n; ++i) {
      float row = 0, column = 0;
      for (int k = 0; k < n; ++k)
        row += a[size_t(3) * n + k] * b[size_t(k) * n + i],
            column += a[size_t(i) * n + k] * b[size_t(k) * n + 5];
      expect(c[size_t(3) * n + i] == row && c[size_t(i) * n + 5] == column,
             what);  // small integers: exact
    }
  };
  const auto ceil_div = [](int x, int y) { return unsigned((x + y - 1) / y); };
  const dim3 grid16(ceil_div(n, 16), ceil_div(n, 16)), grid32(ceil_div(n, 32), ceil_div(n, 32));
  gemm_naive<<<grid16, dim3(16, 16)>>>(da, db, dc, n);
  product("gemm_naive");
  gemm_tiled<16><<<grid16, dim3(16, 16)>>>(da, db, dc, n);
  product("gemm_tiled<16>");
  gemm_tiled<32><<<grid32, dim3(32, 32)>>>(da, db, dc, n);
  product("gemm_tiled<32>");
  const auto transposed = [&](const char* what) {
    result(what);
    for (size_t i = 0; i < count; ++i) expect(c[i % n * n + i / n] == a[i], what);
  };
  transpose_naive<<<grid32, dim3(32, 8)>>>(da, dc, n, n);
  transposed("transpose_naive");
  transpose_tiled<0><<<grid32, dim3(32, 8)>>>(da, dc, n, n);
  transposed("transpose_tiled<0>");
  transpose_tiled<1><<<grid32, dim3(32, 8)>>>(da, dc, n, n);
  transposed("transpose_tiled<1>");
  vecadd<<<ceil_div(int(count), 256), 256>>>(da, db, dc, int(count));
  result("vecadd");
  for (size_t i = 0; i < count; ++i) expect(c[i] == a[i] + b[i], "vecadd");
  copy4<<<ceil_div(int(count / 4), 256), 256>>>(reinterpret_cast<const float4*>(da),
                                                reinterpret_cast<float4*>(dc), int(count / 4));
  result("copy4");
  for (size_t i = 0; i < count / 4 * 4; ++i) expect(c[i] == a[i], "copy4");
  std::printf("eight kernels at n = %d: results right\n", n);
  return 0;
}
