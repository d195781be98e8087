// The demo of this repository (make demo): C = A * B with the tiled kernel of the CUDA lessons, an
// ordinary CUDA program that knows nothing of Tilewright. It runs on a GPU and, through
// `tilewright run`, without one.
//
// Each CTA of 16 x 16 threads computes one 16 x 16 tile of C. Both input tiles are staged in shared
// memory, so that every element is loaded from global memory once per tile instead of once per
// multiplication: 16 times less traffic. Elements outside the matrices are staged as 0, which lets
// sizes that are no multiple of 16 (the ragged ones below) take the same path.
//
// The result is compared with a sum in double precision, against the bound that holds for any
// order of summation in float: |c - exact| <= K * u / (1 - K * u) * sum |a * b|, u = 2^-24
// (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). The exit status tells.
//
// Tested by: make demo.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kTile = 16;

// C[m][n] = sum over k of A[m][k] * B[k][n]; row-major, any sizes.
__global__ void tiled_gemm(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int col = blockIdx.x * kTile + threadIdx.x;

  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += kTile) {
    const int a_col = k0 + threadIdx.x;
    const int b_row = k0 + threadIdx.y;
    a_tile[threadIdx.y][threadIdx.x] = row < M && a_col < K ? A[row * K + a_col] : 0.0f;
    b_tile[threadIdx.y][threadIdx.x] = b_row < K && col < N ? B[b_row * N + col] : 0.0f;
    __syncthreads();  // both tiles are complete before anybody reads them
    for (int k = 0; k < kTile; ++k) sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
    __syncthreads();  // everybody has read them before they are overwritten
  }
  if (row < M && col < N) C[row * N + col] = sum;
}

static void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "demo_gemm: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

// Repeatable values in [-1, 1).
static std::vector<float> random_matrix(int rows, int cols, uint32_t seed) {
  std::vector<float> values(size_t(rows) * cols);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = float(int32_t(seed) >> 8) * 0x1p-23f;
  }
  return values;
}

// The number of elements of C that are further from the exact sum than rounding can explain.
static int count_wrong(int M, int N, int K, const std::vector<float>& A,
                       const std::vector<float>& B, const std::vector<float>& C) {
  const double u = 0x1p-24;
  const double gamma = K * u / (1 - K * u);
  std::vector<double> exact(N), magnitude(N);
  int wrong = 0;
  for (int m = 0; m < M; ++m) {
    exact.assign(N, 0.0);
    magnitude.assign(N, 0.0);
    for (int k = 0; k < K; ++k) {
      const double a = A[size_t(m) * K + k];
      const float* b = &B[size_t(k) * N];
      for (int n = 0; n < N; ++n) {
        exact[n] += a * b[n];
        magnitude[n] += std::fabs(a * b[n]);
      }
    }
    for (int n = 0; n < N; ++n) {
      // Written so that a NaN counts as wrong.
      if (!(std::fabs(C[size_t(m) * N + n] - exact[n]) <= gamma * magnitude[n])) ++wrong;
    }
  }
  return wrong;
}

// Runs one size, prints its line, returns whether the result is right.
static bool run(int M, int N, int K) {
  const std::vector<float> A = random_matrix(M, K, 1), B = random_matrix(K, N, 2);
  std::vector<float> C(size_t(M) * N, std::nanf(""));
  float *dA, *dB, *dC;
  check(cudaMalloc(&dA, A.size() * sizeof(float)), "cudaMalloc");
  check(cudaMalloc(&dB, B.size() * sizeof(float)), "cudaMalloc");
  check(cudaMalloc(&dC, C.size() * sizeof(float)), "cudaMalloc");
  check(cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice), "copy of A");
  check(cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice), "copy of B");

  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "cudaEventCreate");
  check(cudaEventCreate(&stop), "cudaEventCreate");
  const dim3 block(kTile, kTile), grid((N + kTile - 1) / kTile, (M + kTile - 1) / kTile);
  check(cudaEventRecord(start), "cudaEventRecord");
  tiled_gemm<<<grid, block>>>(M, N, K, dA, dB, dC);
  check(cudaGetLastError(), "launch of tiled_gemm");
  check(cudaEventRecord(stop), "cudaEventRecord");
  check(cudaEventSynchronize(stop), "tiled_gemm");
  float ms = 0;
  check(cudaEventElapsedTime(&ms, start, stop), "cudaEventElapsedTime");
  check(cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost), "copy of C");
  check(cudaEventDestroy(start), "cudaEventDestroy");
  check(cudaEventDestroy(stop), "cudaEventDestroy");
  check(cudaFree(dA), "cudaFree");
  check(cudaFree(dB), "cudaFree");
  check(cudaFree(dC), "cudaFree");

  const int wrong = count_wrong(M, N, K, A, B, C);
  std::printf("%5d x %4d x %4d   %10.3f ms   %8.3f GFLOP/s   ", M, N, K, ms,
              2.0 * M * N * K / (ms * 1e6));
  if (wrong == 0) {
    std::printf("right: all %d elements\n", M * N);
  } else {
    std::printf("WRONG: %d of %d elements\n", wrong, M * N);
  }
  return wrong == 0;
}

int main() {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  std::printf("tiled GEMM, T=%d, float, on %s\n", kTile, properties.name);
  std::printf("    M x    N x    K         time       throughput   result\n");
  bool right = run(512, 512, 512);
  right = run(35, 25, 45) && right;
  right = run(500, 301, 257) && right;
  return right ? 0 : 1;
}
