// Four streams with copies in, two kernels and copies out of their own chunk; a reduction over all
// of them that waits for an event of each; a host function last.
#include "suite.h"

__global__ void square(float* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * p[i];
}
__global__ void shift(float* p, int n, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += by;
}
__global__ void total(const float* p, int n, double* out) {
  __shared__ double s[256];
  double v = 0;
  for (int i = threadIdx.x; i < n; i += 256) v += p[i];
  s[threadIdx.x] = v;
  for (int step = 128; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
  }
  if (threadIdx.x == 0) *out = s[0];
}

int main() {
  const int streams = 4, chunk = 5000, n = streams * chunk;
  float *in, *out;
  CHECK(cudaHostAlloc(&in, n * sizeof(float), cudaHostAllocDefault));
  CHECK(cudaHostAlloc(&out, n * sizeof(float), cudaHostAllocDefault));
  std::vector<float> h = random_floats(n);
  for (int i = 0; i < n; i++) in[i] = h[i], out[i] = 0;
  DeviceArray<float> d(n);
  DeviceArray<double> sum(1);
  cudaStream_t s[streams], last;
  cudaEvent_t done[streams];
  CHECK(cudaStreamCreate(&last));
  for (int k = 0; k < streams; k++) {
    CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done[k], cudaEventDisableTiming));
    float* p = d + k * chunk;
    CHECK(cudaMemcpyAsync(p, in + k * chunk, chunk * sizeof(float), cudaMemcpyHostToDevice, s[k]));
    square<<<(chunk + 255) / 256, 256, 0, s[k]>>>(p, chunk);
    shift<<<(chunk + 255) / 256, 256, 0, s[k]>>>(p, chunk, float(k));
    CHECK(cudaMemcpyAsync(out + k * chunk, p, chunk * sizeof(float), cudaMemcpyDeviceToHost, s[k]));
    CHECK(cudaEventRecord(done[k], s[k]));
    CHECK(cudaStreamWaitEvent(last, done[k]));
  }
  total<<<1, 256, 0, last>>>(d, n, sum);
  int told = 0;
  CHECK(cudaLaunchHostFunc(last, [](void* p) { *static_cast<int*>(p) = 1; }, &told));
  CHECK(cudaStreamSynchronize(last));
  expect(told == 1, "host function");
  std::vector<float> wanted(n);
  double wanted_sum = 0;
  for (int i = 0; i < n; i++) wanted[i] = h[i] * h[i] + float(i / chunk), wanted_sum += wanted[i];
  expect_near(std::vector<float>(out, out + n), wanted, 1e-6, "chunks");
  expect_near(sum.host(), {wanted_sum}, 1e-6, "sum over all streams");
  for (int k = 0; k < streams; k++) expect(cudaEventQuery(done[k]) == cudaSuccess, "event");
  CHECK(cudaFreeHost(in));
  CHECK(cudaFreeHost(out));
  return verdict();
}
