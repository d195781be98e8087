// Escape times of the Mandelbrot set in fixed point (exact on both sides), drawn as text.
#include "suite.h"

__host__ __device__ int escape(int px, int py) {
  long long cx = -(2ll << 24) + ((3ll << 24) * px) / 64,
            cy = -(1ll << 24) + ((2ll << 24) * py) / 24, x = 0, y = 0;
  for (int k = 0; k < 200; k++) {
    long long xx = (x * x) >> 24, yy = (y * y) >> 24;
    if (xx + yy > (4ll << 24)) return k;
    y = ((x * y) >> 23) + cy, x = xx - yy + cx;
  }
  return 200;
}
__global__ void draw(int* out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 64 && y < 24) out[y * 64 + x] = escape(x, y);
}

int main() {
  DeviceArray<int> out(64 * 24);
  draw<<<dim3(3, 5), dim3(24, 5)>>>(out);
  SYNC();
  std::vector<int> wanted(64 * 24), got = out.host();
  for (int i = 0; i < 64 * 24; i++) wanted[i] = escape(i % 64, i / 64);
  for (int y = 0; y < 24; y += 2) {
    for (int x = 0; x < 64; x++)
      putchar(got[y * 64 + x] >= 200 ? '#'
              : got[y * 64 + x] > 10 ? '+'
              : got[y * 64 + x] > 4  ? '.'
                                     : ' ');
    putchar('\n');
  }
  expect_equal(got, wanted, "escape times");
  return verdict();
}
