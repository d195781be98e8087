// half, half2 and bfloat16: conversions, fused multiply-add, comparisons, intrinsics and atomics,
// against double arithmetic rounded once.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "suite.h"

__global__ void halves(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half x = __float2half(a[i]), y = __float2half(b[i]);
  out[i] = __half2float(__hadd_rn(x, y));
  out[n + i] = __half2float(__hmul_rn(x, y));
  out[2 * n + i] = __half2float(__hfma(x, y, x));
  out[3 * n + i] = __hlt(x, y) ? 1 : 0;
  out[4 * n + i] = __half2float(__hmax(x, y));
}
__global__ void bfloats(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __nv_bfloat16 x = __float2bfloat16(a[i]), y = __float2bfloat16(b[i]);
  out[i] = __bfloat162float(x);
  out[n + i] = __bfloat162float(__hfma(x, y, x));
}
__global__ void pairs(const float* a, float* sum, int n) {  // half2 dot product in a warp
  __half2 s = __float2half2_rn(0);
  for (int i = threadIdx.x; i < n / 2; i += 32)
    s = __hfma2(__floats2half2_rn(a[2 * i], a[2 * i + 1]), __float2half2_rn(0.5f), s);
  for (int step = 16; step > 0; step /= 2) s = __hadd2(s, __shfl_xor_sync(~0u, s, step));
  if (threadIdx.x == 0) *sum = __low2float(s) + __high2float(s);
}
__global__ void atomics(__half* h, __half2* h2, __nv_bfloat16* b) {
  atomicAdd(h, __float2half(0.5f));
  atomicAdd(h2, __floats2half2_rn(1.0f, 0.25f));
  atomicAdd(b, __float2bfloat16(1.0f));
}

float to_half(double v) { return __half2float(__double2half(v)); }
float to_bfloat(double v) { return __bfloat162float(__double2bfloat16(v)); }

int main() {
  const int n = 500;
  std::vector<float> a = random_floats(n, 1), b = random_floats(n, 2), wanted(5 * n),
                     wanted_b(2 * n);
  a[0] = 70000, b[0] = 0.5f, a[1] = 6e-8f, b[1] = 0.25f, a[2] = 2049, b[2] = -0.0f;
  DeviceArray<float> da(a), db(b), out(5 * n), out_b(2 * n), sum(1);
  halves<<<4, 128>>>(da, db, out, n);
  bfloats<<<4, 128>>>(da, db, out_b, n);
  pairs<<<1, 32>>>(db, sum, n);
  SYNC();
  double dot = 0;
  for (int i = 0; i < n; i++) {
    double x = to_half(a[i]), y = to_half(b[i]);
    wanted[i] = to_half(x + y), wanted[n + i] = to_half(x * y),
    wanted[2 * n + i] = to_half(x * y + x);
    wanted[3 * n + i] = x < y, wanted[4 * n + i] = float(std::fmax(x, y));
    double u = to_bfloat(a[i]), v = to_bfloat(b[i]);
    wanted_b[i] = float(u), wanted_b[n + i] = to_bfloat(u * v + u);
    dot += 0.5 * b[i];
  }
  expect_equal(out.host(), wanted, "half");
  expect_equal(out_b.host(), wanted_b, "bfloat16");
  expect_near(sum.host(), {float(dot)}, 0.05, "half2");
  DeviceArray<__half> h(1);
  DeviceArray<__half2> h2(1);
  DeviceArray<__nv_bfloat16> bf(1);
  atomics<<<2, 32>>>(h, h2, bf);
  SYNC();
  expect(__half2float(h.host()[0]) == 32 && __low2float(h2.host()[0]) == 64 &&
             __high2float(h2.host()[0]) == 16 && __bfloat162float(bf.host()[0]) == 64,
         "atomics");
  return verdict();
}
