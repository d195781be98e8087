// Input of tests/unit/sass and tests/unit/report: made into floats.ptx and floats.cubin as
// tests/data/README.md says. What ptxas makes of floating-point PTX: joined, turned into another
// operation, taken apart.
extern "C" __global__ void joined(float* a) {
  float product, sum;
  asm("mul.f32 %0, %1, %2;" : "=f"(product) : "f"(a[0]), "f"(a[1]));
  asm("add.f32 %0, %1, %2;" : "=f"(sum) : "f"(product), "f"(a[2]));
  a[3] = sum;
  a[4] = a[5] * 2;  // an addition
}
extern "C" __global__ void quotients(float* a, int n) {
  float sum = 0;
#pragma unroll 4
  for (int i = 0; i < n; ++i) sum += a[i] / a[i + 1];
  a[0] = sum;
}
extern "C" __global__ void special(float* a, double* d) {
  a[0] = __sinf(a[1]);
  a[2] = exp2f(a[3]);
  a[4] = sqrtf(a[5]);
  d[0] = d[1] / d[2];
  __syncthreads();
}
extern "C" __global__ void guarded(float* a) {
  if (a[threadIdx.x] > 0) a[threadIdx.x] = __sinf(a[threadIdx.x]);
}
