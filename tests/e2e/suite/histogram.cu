// Histograms: global atomics, shared-memory atomics, one counter per warp combined by match.any.
#include "suite.h"

__global__ void global_atomics(const unsigned char* in, int n, unsigned* bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[in[i]], 1);
}
__global__ void shared_atomics(const unsigned char* in, int n, unsigned* bins) {
  __shared__ unsigned s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (s[i]) atomicAdd(&bins[i], s[i]);
}
__global__ void matched(const unsigned char* in, int n, unsigned* bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned value = in[i], peers = __match_any_sync(__activemask(), value);
    if ((threadIdx.x & 31) == unsigned(__ffs(peers) - 1)) atomicAdd(&bins[value], __popc(peers));
  }
}

int main() {
  const int n = 40000;
  std::vector<unsigned char> h(n);
  std::vector<unsigned> wanted(256);
  for (int i = 0; i < n; i++)
    wanted[h[i] = (unsigned char)((hash(i) & 63) * (hash(i) >> 28) / 4)]++;
  DeviceArray<unsigned char> in(h);
  DeviceArray<unsigned> a(256), b(256), c(256);
  global_atomics<<<16, 128>>>(in, n, a);
  shared_atomics<<<16, 128>>>(in, n, b);
  matched<<<13, 96>>>(in, n, c);
  SYNC();
  expect_equal(a.host(), wanted, "global atomics");
  expect_equal(b.host(), wanted, "shared atomics");
  expect_equal(c.host(), wanted, "one atomic for equal values of a warp");
  return verdict();
}
