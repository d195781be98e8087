// The tiled GEMM of the lessons (16 x 16), n x n x n, one launch: what racecheck is timed on.
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kTile = 16;

__global__ void gemm(const float* a, const float* b, float* c, int n) {
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y, col = blockIdx.x * kTile + x;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += kTile) {
    a_tile[y][x] = a[row * n + k0 + x];
    b_tile[y][x] = b[(k0 + y) * n + col];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += a_tile[y][i] * b_tile[i][x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1024;
  std::vector<float> ones(size_t(n) * n, 1.0f);
  float *a, *b, *c;
  const size_t bytes = ones.size() * sizeof(float);
  cudaMalloc(&a, bytes);
  cudaMalloc(&b, bytes);
  cudaMalloc(&c, bytes);
  cudaMemcpy(a, ones.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(b, ones.data(), bytes, cudaMemcpyHostToDevice);
  gemm<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(a, b, c, n);
  cudaMemcpy(ones.data(), c, bytes, cudaMemcpyDeviceToHost);
  const bool right = cudaGetLastError() == cudaSuccess && ones[size_t(n) * n - 1] == float(n);
  std::printf("%s\n", right ? "right" : "wrong");
  cudaFree(a), cudaFree(b), cudaFree(c);
  return right ? 0 : 1;
}
