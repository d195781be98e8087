// Double precision: a Kahan sum, a Newton square root, directed rounding, mathematical functions.
#include "suite.h"

__global__ void arithmetic(const double* a, const double* b, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = a[i] / b[i];
  out[n + i] = sqrt(fabs(a[i]));
  out[2 * n + i] = fma(a[i], b[i], -1.0);
  out[3 * n + i] = fmod(a[i] * 10, b[i]);
  out[4 * n + i] = rint(a[i] * 7) + floor(b[i] * 3) + trunc(a[i]) + ceil(b[i]);
}
__global__ void functions(const double* a, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = exp(a[i]);
  out[n + i] = sin(a[i]);
  out[2 * n + i] = log(fabs(a[i]) + 0.1);
  out[3 * n + i] = pow(fabs(a[i]) + 0.5, 1.7);
  out[4 * n + i] = atan2(a[i], 0.3);
  out[5 * n + i] = tanh(a[i]);
}
__global__ void rounding(double* out) {
  out[0] = __dadd_rd(1, 1e-20), out[1] = __dadd_ru(1, 1e-20), out[2] = __ddiv_rz(1, 3),
  out[3] = __ddiv_ru(1, 3);
  out[4] = __dmul_rd(0.1, 0.1), out[5] = __dsqrt_ru(2);
  out[6] = __double2int_rd(-1.5), out[7] = __double2int_ru(-1.5),
  out[8] = __double2ll_rz(-1e15 - 0.7);
  out[9] = __double2float_rd(0.1), out[10] = __hiloint2double(0x40091eb8, 0x51eb851f);
}
__global__ void kahan(const double* a, int n, double* out) {
  double sum = 0, carry = 0;
  for (int i = 0; i < n; i++) {
    double y = a[i] - carry, t = sum + y;
    carry = (t - sum) - y, sum = t;
  }
  *out = sum;
}

int main() {
  const int n = 300;
  std::vector<float> f = random_floats(n, 3), g = random_floats(n, 4);
  std::vector<double> a(n), b(n), wanted(5 * n), wanted_f(6 * n);
  for (int i = 0; i < n; i++) a[i] = f[i] * 5 + 0.001, b[i] = g[i] + 2;
  DeviceArray<double> da(a), db(b), out(5 * n), out_f(6 * n), rounded(11), sum(1);
  arithmetic<<<3, 128>>>(da, db, out, n);
  functions<<<3, 128>>>(da, out_f, n);
  rounding<<<1, 1>>>(rounded);
  kahan<<<1, 1>>>(da, n, sum);
  SYNC();
  long double exact = 0;
  for (int i = 0; i < n; i++) {
    wanted[i] = a[i] / b[i], wanted[n + i] = std::sqrt(std::fabs(a[i])),
    wanted[2 * n + i] = std::fma(a[i], b[i], -1.0);
    wanted[3 * n + i] = std::fmod(a[i] * 10, b[i]);
    wanted[4 * n + i] =
        std::rint(a[i] * 7) + std::floor(b[i] * 3) + std::trunc(a[i]) + std::ceil(b[i]);
    wanted_f[i] = std::exp(a[i]), wanted_f[n + i] = std::sin(a[i]),
    wanted_f[2 * n + i] = std::log(std::fabs(a[i]) + 0.1);
    wanted_f[3 * n + i] = std::pow(std::fabs(a[i]) + 0.5, 1.7),
                     wanted_f[4 * n + i] = std::atan2(a[i], 0.3),
                     wanted_f[5 * n + i] = std::tanh(a[i]);
    exact += a[i];
  }
  expect_equal(out.host(), wanted, "arithmetic");
  expect_near(out_f.host(), wanted_f, 1e-14, "functions");
  double third = 1.0 / 3;  // rounded down
  expect_equal(rounded.host(),
               {1, std::nextafter(1.0, 2.0), third, std::nextafter(third, 1.0),
                std::nextafter(0.1 * 0.1, 0.0) /* rounded to nearest it went up */,
                std::nextafter(1.4142135623730951, 1.0) == std::sqrt(2.0) ? 0 : 1.4142135623730951,
                -2, -1, -1e15, double(std::nextafter(0.1f, 0.0f)), 3.14},
               "rounding");
  expect_near(sum.host(), {double(exact)}, 1e-15, "Kahan sum");
  return verdict();
}
