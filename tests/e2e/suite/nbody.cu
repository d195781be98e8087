// Gravity between all pairs of bodies, float4 positions, tiles in shared memory, rsqrt.
#include "suite.h"

constexpr int kBlock = 64;

__global__ void accelerations(const float4* bodies, float4* out, int n) {
  __shared__ float4 tile[kBlock];
  int i = blockIdx.x * kBlock + threadIdx.x;
  float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float ax = 0, ay = 0, az = 0;
  for (int base = 0; base < n; base += kBlock) {
    tile[threadIdx.x] =
        base + threadIdx.x < n ? bodies[base + threadIdx.x] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < kBlock; j++) {
      float4 b = tile[j];
      float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float f = b.w * inverse * inverse * inverse;
      ax += dx * f, ay += dy * f, az += dz * f;
    }
    __syncthreads();
  }
  if (i < n) out[i] = make_float4(ax, ay, az, 0);
}

int main() {
  const int n = 500;
  std::vector<float> f = random_floats(4 * n), got(4 * n), wanted(4 * n);
  for (int i = 0; i < n; i++) f[4 * i + 3] = 1 + f[4 * i + 3];
  DeviceArray<float> in(f), out(4 * n);
  accelerations<<<(n + kBlock - 1) / kBlock, kBlock>>>((float4*)in.data, (float4*)out.data, n);
  SYNC();
  for (int i = 0; i < n; i++) {
    double a[3] = {};
    for (int j = 0; j < n; j++) {
      double d[3], r2 = 0.01;
      for (int k = 0; k < 3; k++) d[k] = f[4 * j + k] - f[4 * i + k], r2 += d[k] * d[k];
      for (int k = 0; k < 3; k++) a[k] += f[4 * j + 3] * d[k] / (r2 * std::sqrt(r2));
    }
    for (int k = 0; k < 3; k++) wanted[4 * i + k] = float(a[k]);
  }
  expect_near(out.host(), wanted, 1e-4, "accelerations");
  return verdict();
}
