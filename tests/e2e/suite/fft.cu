// Fast Fourier transform of 1024 complex points in shared memory (Stockham, radix 2), with sincosf;
// compared with a transform in double on the host, and transformed back.
#include <complex>

#include "suite.h"

constexpr int kPoints = 1024;

__global__ void transform(float2* data, float sign) {
  extern __shared__ float2 s[];
  float2 *from = s, *to = s + kPoints;
  int t = threadIdx.x;
  float2* mine = data + blockIdx.x * kPoints;
  from[t] = mine[t], from[t + kPoints / 2] = mine[t + kPoints / 2];
  for (int half = 1; half < kPoints; half *= 2) {
    __syncthreads();
    int k = t & (half - 1);
    float sine, cosine;
    sincosf(sign * 3.14159265358979f * k / half, &sine, &cosine);
    float2 a = from[t], b = from[t + kPoints / 2];
    float2 w = make_float2(b.x * cosine - b.y * sine, b.x * sine + b.y * cosine);
    int at = 2 * t - k;
    to[at] = make_float2(a.x + w.x, a.y + w.y);
    to[at + half] = make_float2(a.x - w.x, a.y - w.y);
    float2* swap = from;
    from = to, to = swap;
  }
  __syncthreads();
  mine[t] = from[t], mine[t + kPoints / 2] = from[t + kPoints / 2];
}

void reference(std::complex<double>* x, int n) {
  if (n == 1) return;
  std::vector<std::complex<double>> even(n / 2), odd(n / 2);
  for (int i = 0; i < n / 2; i++) even[i] = x[2 * i], odd[i] = x[2 * i + 1];
  reference(even.data(), n / 2), reference(odd.data(), n / 2);
  for (int k = 0; k < n / 2; k++) {
    std::complex<double> w = std::polar(1.0, -2 * M_PI * k / n) * odd[k];
    x[k] = even[k] + w, x[k + n / 2] = even[k] - w;
  }
}

int main() {
  const int batch = 3;
  std::vector<float> h = random_floats(2 * kPoints * batch), wanted(h.size()), back(h.size());
  DeviceArray<float> d(h);
  transform<<<batch, kPoints / 2, 2 * kPoints * sizeof(float2)>>>((float2*)d.data, -1);
  SYNC();
  for (int b = 0; b < batch; b++) {
    std::vector<std::complex<double>> x(kPoints);
    for (int i = 0; i < kPoints; i++)
      x[i] = {h[2 * (b * kPoints + i)], h[2 * (b * kPoints + i) + 1]};
    reference(x.data(), kPoints);
    for (int i = 0; i < kPoints; i++)
      wanted[2 * (b * kPoints + i)] = float(x[i].real()),
                                wanted[2 * (b * kPoints + i) + 1] = float(x[i].imag());
  }
  expect_near(d.host(), wanted, 2e-5, "transform");
  transform<<<batch, kPoints / 2, 2 * kPoints * sizeof(float2)>>>((float2*)d.data, 1);
  SYNC();
  back = d.host();
  for (float& v : back) v /= kPoints;
  expect_near(back, h, 1e-5, "there and back");
  return verdict();
}
