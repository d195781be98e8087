// A 25-point stencil (radius 4) in double precision: planes in shared memory, the column along z in
// registers, coefficients in constant memory.
#include "suite.h"

constexpr int kRadius = 4, kX = 32, kY = 8;
__constant__ double coefficients[kRadius + 1];

__global__ void stencil(const double* in, double* out, int nx, int ny, int nz) {
  __shared__ double plane[kY + 2 * kRadius][kX + 2 * kRadius];
  int x = blockIdx.x * kX + threadIdx.x, y = blockIdx.y * kY + threadIdx.y;
  auto at = [&](int cx, int cy, int cz) {
    return cx < 0 || cy < 0 || cz < 0 || cx >= nx || cy >= ny || cz >= nz
               ? 0.0
               : in[(cz * ny + cy) * nx + cx];
  };
  double column[2 * kRadius + 1];
#pragma unroll
  for (int k = 0; k < 2 * kRadius; k++) column[k + 1] = at(x, y, k - kRadius);
  for (int z = 0; z < nz; z++) {
#pragma unroll
    for (int k = 0; k < 2 * kRadius; k++) column[k] = column[k + 1];
    column[2 * kRadius] = at(x, y, z + kRadius);
    for (int j = threadIdx.y; j < kY + 2 * kRadius; j += kY)
      for (int i = threadIdx.x; i < kX + 2 * kRadius; i += kX)
        plane[j][i] = at(blockIdx.x * kX + i - kRadius, blockIdx.y * kY + j - kRadius, z);
    __syncthreads();
    double sum = coefficients[0] * column[kRadius];
#pragma unroll
    for (int r = 1; r <= kRadius; r++) {
      int i = threadIdx.x + kRadius, j = threadIdx.y + kRadius;
      sum += coefficients[r] * (column[kRadius - r] + column[kRadius + r] + plane[j][i - r] +
                                plane[j][i + r] + plane[j - r][i] + plane[j + r][i]);
    }
    if (x < nx && y < ny) out[(z * ny + y) * nx + x] = sum;
    __syncthreads();
  }
}

int main() {
  const int nx = 40, ny = 21, nz = 13;
  std::vector<float> f = random_floats(nx * ny * nz);
  std::vector<double> h(f.begin(), f.end()), wanted(h.size()), c{-2.5, 1.6, -0.2, 0.025, -0.0018};
  CHECK(cudaMemcpyToSymbol(coefficients, c.data(), sizeof(double) * c.size()));
  DeviceArray<double> in(h), out(h.size());
  stencil<<<dim3((nx + kX - 1) / kX, (ny + kY - 1) / kY), dim3(kX, kY)>>>(in, out, nx, ny, nz);
  SYNC();
  auto at = [&](int x, int y, int z) {
    return x < 0 || y < 0 || z < 0 || x >= nx || y >= ny || z >= nz ? 0.0
                                                                    : h[(z * ny + y) * nx + x];
  };
  for (int z = 0; z < nz; z++)
    for (int y = 0; y < ny; y++)
      for (int x = 0; x < nx; x++) {
        double sum = c[0] * at(x, y, z);
        for (int r = 1; r <= kRadius; r++)
          sum += c[r] * (at(x, y, z - r) + at(x, y, z + r) + at(x - r, y, z) + at(x + r, y, z) +
                         at(x, y - r, z) + at(x, y + r, z));
        wanted[(z * ny + y) * nx + x] = sum;
      }
  expect_near(out.host(), wanted, 1e-13, "stencil in three dimensions");
  return verdict();
}
