// A producer warp fills two stages for three consumer warps; full and empty mbarriers by
// cuda::barrier, and by PTX. Correct: nothing is to be found.
#include <cstdio>
#include <cuda/barrier>
#include <utility>

constexpr int kStages = 2, kTile = 32;

__global__ void pipeline(const int* in, int* out, int tiles) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(8) char storage[2 * kStages * sizeof(Barrier)];
  Barrier* full = reinterpret_cast<Barrier*>(storage);
  Barrier* empty = full + kStages;
  __shared__ int stage[kStages][kTile];
  const int t = threadIdx.x;
  if (t < kStages) {
    init(full + t, 128);
    init(empty + t, 128);
  }
  __syncthreads();
  if (t < 32) {
    for (int i = 0; i < tiles; ++i) {
      const int s = i % kStages;
      empty[s].arrive_and_wait();
      stage[s][t] = in[i * kTile + t];
      (void)full[s].arrive();
    }
  } else {
    for (int s = 0; s < kStages; ++s) (void)empty[s].arrive();
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
      const int s = i % kStages;
      full[s].arrive_and_wait();
      sum += stage[s][(t + i) % kTile];
      (void)empty[s].arrive();
    }
    out[t - 32] = sum;
  }
}

__device__ unsigned shared_address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

// Two warps hand a value to and fro.
__global__ void ping_pong(int* out, int rounds) {
  __shared__ alignas(8) unsigned long long turn[2];
  __shared__ int value;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    value = 0;
    for (int i = 0; i < 2; ++i)
      asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(shared_address(&turn[i])) : "memory");
  }
  __syncthreads();
  for (int i = 0; i < rounds; ++i) {
    if (warp == 1 || i > 0) {
      const unsigned wanted = unsigned(warp == 1 ? i & 1 : (i - 1) & 1);
      unsigned done = 0;
      while (done == 0)
        asm volatile(
            "{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, "
            "p;}"
            : "=r"(done)
            : "r"(shared_address(&turn[1 - warp])), "r"(wanted)
            : "memory");
    }
    if (lane == 0) value += warp + 1;
    asm volatile(
        "{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" ::"r"(shared_address(&turn[warp]))
        : "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = value;
}

int main() {
  constexpr int kTiles = 6;
  int *in, *out, host[kTiles * kTile], result[97];
  for (int i = 0; i < kTiles * kTile; ++i) host[i] = i % 17;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, sizeof result);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  pipeline<<<1, 128>>>(in, out, kTiles);
  ping_pong<<<1, 64>>>(out + 96, 5);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
  for (int t = 32; t < 128; ++t) {
    int sum = 0;
    for (int i = 0; i < kTiles; ++i) sum += host[i * kTile + (t + i) % kTile];
    if (result[t - 32] != sum) return 2;
  }
  if (result[96] != 15) return 3;
  std::printf("right\n");
  return cudaFree(in) != cudaSuccess || cudaFree(out) != cudaSuccess;
}
