// Jacobi steps of the heat equation on a ragged grid, tiles with a halo in shared memory.
#include "suite.h"

constexpr int kTile = 16;

__global__ void step(const float* in, float* out, int width, int height) {
  __shared__ float s[kTile + 2][kTile + 2];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  auto at = [&](int cx, int cy) {
    return in[min(max(cy, 0), height - 1) * width + min(max(cx, 0), width - 1)];
  };
  s[threadIdx.y + 1][threadIdx.x + 1] = at(x, y);
  if (threadIdx.x == 0) s[threadIdx.y + 1][0] = at(x - 1, y);
  if (threadIdx.x == kTile - 1) s[threadIdx.y + 1][kTile + 1] = at(x + 1, y);
  if (threadIdx.y == 0) s[0][threadIdx.x + 1] = at(x, y - 1);
  if (threadIdx.y == kTile - 1) s[kTile + 1][threadIdx.x + 1] = at(x, y + 1);
  __syncthreads();
  if (x >= width || y >= height) return;
  int i = threadIdx.y + 1, j = threadIdx.x + 1;
  out[y * width + x] =
      0.5f * s[i][j] + 0.125f * (s[i - 1][j] + s[i + 1][j] + s[i][j - 1] + s[i][j + 1]);
}

int main() {
  const int width = 100, height = 77, steps = 8;
  std::vector<float> h = random_floats(width * height), next(width * height);
  DeviceArray<float> a(h), b(h);
  float *from = a, *to = b;
  for (int k = 0; k < steps; k++) {
    step<<<dim3((width + kTile - 1) / kTile, (height + kTile - 1) / kTile), dim3(kTile, kTile)>>>(
        from, to, width, height);
    std::swap(from, to);
    auto at = [&](int x, int y) {
      return h[std::min(std::max(y, 0), height - 1) * width + std::min(std::max(x, 0), width - 1)];
    };
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++)
        next[y * width + x] =
            0.5f * at(x, y) + 0.125f * (at(x, y - 1) + at(x, y + 1) + at(x - 1, y) + at(x + 1, y));
    std::swap(h, next);
  }
  SYNC();
  expect_near(a.host(), h, 1e-6, "heat equation in two dimensions");
  return verdict();
}
