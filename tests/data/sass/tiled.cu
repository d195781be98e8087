// Input of tests/unit/sass: made into tiled.ptx and tiled.cubin as tests/data/README.md says.
template <int kTile> __global__ void gemm_tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
  float sum = 0.0f;
  for (int k0 = 0; k0 < n; k0 += kTile) {
    a_tile[ty][tx] = row < n && k0 + tx < n ? a[row * n + k0 + tx] : 0.0f;
    b_tile[ty][tx] = k0 + ty < n && col < n ? b[(k0 + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += a_tile[ty][k] * b_tile[k][tx];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = sum;
}
template __global__ void gemm_tiled<16>(const float*, const float*, float*, int);
