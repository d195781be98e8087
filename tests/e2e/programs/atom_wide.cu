// Atomics of sixteen bytes: a counter of two words that change together, by compare and exchange, in global
// and in shared memory; and a value handed from thread to thread by exchange.
#include "check.h"

struct alignas(16) Pair {
  unsigned long long low, high;
};

__device__ Pair cas(Pair* at, Pair expected, Pair next) {
  Pair old;
  asm volatile(
      "{\n.reg .b128 e, n, o;\nmov.b128 e, {%3, %4};\nmov.b128 n, {%5, %6};\n"
      "atom.cas.b128 o, [%2], e, n;\nmov.b128 {%0, %1}, o;\n}"
      : "=l"(old.low), "=l"(old.high)
      : "l"(at), "l"(expected.low), "l"(expected.high), "l"(next.low), "l"(next.high)
      : "memory");
  return old;
}
__device__ Pair exchange(Pair* at, Pair next) {
  Pair old;
  asm volatile(
      "{\n.reg .b128 n, o;\nmov.b128 n, {%3, %4};\natom.global.exch.b128 o, [%2], n;\n"
      "mov.b128 {%0, %1}, o;\n}"
      : "=l"(old.low), "=l"(old.high)
      : "l"(at), "l"(next.low), "l"(next.high)
      : "memory");
  return old;
}

// low counts, high sums what low was.
__device__ void count(Pair* p) {
  Pair seen = {0, 0};
  for (;;) {
    const Pair old = cas(p, seen, {seen.low + 1, seen.high + seen.low});
    if (old.low == seen.low && old.high == seen.high) return;
    seen = old;
  }
}

__global__ void counters(Pair* global, Pair* out) {
  __shared__ Pair shared;
  if (threadIdx.x == 0) shared = {0, 0};
  __syncthreads();
  count(global);
  count(&shared);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = shared;
}

// Everything that is put in comes out again: the sums of what the threads got and of what is left.
__global__ void hand_on(Pair* p, unsigned long long* sums) {
  const unsigned long long id = blockIdx.x * blockDim.x + threadIdx.x + 1;
  const Pair got = exchange(p, {id, id * id});
  atomicAdd(&sums[0], got.low);
  atomicAdd(&sums[1], got.high);
  if (got.high != got.low * got.low) atomicAdd(&sums[2], 1ull);
}

int main() {
  Pair *p, *out, h[5];
  unsigned long long *sums, s[3];
  CHECK(cudaMalloc(&p, sizeof(Pair)));
  CHECK(cudaMalloc(&out, 4 * sizeof(Pair)));
  CHECK(cudaMalloc(&sums, sizeof s));
  CHECK(cudaMemset(p, 0, sizeof(Pair)));
  counters<<<4, 64>>>(p, out);
  CHECK(cudaMemcpy(h, p, sizeof(Pair), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(h + 1, out, 4 * sizeof(Pair), cudaMemcpyDeviceToHost));
  printf("global %llu %llu, shared %llu %llu\n", h[0].low, h[0].high, h[4].low, h[4].high);
  CHECK(cudaMemset(p, 0, sizeof(Pair)));
  CHECK(cudaMemset(sums, 0, sizeof s));
  hand_on<<<4, 64>>>(p, sums);
  CHECK(cudaMemcpy(h, p, sizeof(Pair), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(s, sums, sizeof s, cudaMemcpyDeviceToHost));
  printf("handed on %llu %llu, torn %llu\n", s[0] + h[0].low, s[1] + h[0].high, s[2]);
  return 0;
}
