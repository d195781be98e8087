// Mistakes that hide while blocks and warps run by number: another interleaving shows them.
//
// options: --schedules 8
// hidden: finisher roles warps queue
// expect: finisher: error race-global @partial @total
// expect: roles: error race-global @fill @use
// expect: warps: error race-shared @publish @take
// expect: queue: error race-global @push @pop
#include "planted.h"

namespace PLANTED {

// A reduction whose last block adds up. It is taken for the last to come, which it mostly is.
__global__ void finisher(const int* in, int* sums, unsigned* done, int* out) {
  if (threadIdx.x != 0) return;
  const unsigned b = blockIdx.x, last = gridDim.x - 1;
  sums[b] = in[b] * 2 + 100;  // @partial
  __threadfence();
  const unsigned before = atomicAdd(done, 1);
  __threadfence();
  if (BUG(b, before) != last) return;
  int sum = 0;
  for (unsigned i = 0; i <= last; ++i) sum += sums[i];  // @total
  *out = sum + int(before);
}
void finisher_case() {
  unsigned* done = device_array<unsigned>(1);
  cudaMemset(done, 0, sizeof *done);
  finisher<<<6, 32>>>(device_array<int>(6), device_array<int>(6), done, device_array<int>(1));
}

// Whoever comes first fills the table. Block 0 does not wait for it: it takes itself for the first.
__global__ void roles(int* ticket, int* ready, int* table, int* out) {
  if (threadIdx.x != 0) return;
  if (atomicAdd(ticket, 1) == 0) {
    *table = 42;  // @fill
    __threadfence();
    atomicExch(ready, 1);
  } else if (BUG(blockIdx.x != 0, true)) {
    while (atomicAdd(ready, 0) == 0) {
    }
    __threadfence();
  }
  out[blockIdx.x] = *table;  // @use
}
void roles_case() {
  int* counters = device_array<int>(2);
  cudaMemset(counters, 0, 2 * sizeof(int));
  roles<<<6, 32>>>(counters, counters + 1, device_array<int>(1), device_array<int>(6));
}

// The same with the warps of a block. The last one, which completes the barrier, mostly goes on first
// and does not wait.
__global__ void warps(const int* in, int* out) {
  __shared__ int arrived, ready, value;
  if (threadIdx.x == 0) arrived = ready = 0;
  __syncthreads();
  if (threadIdx.x % 32 != 0) return;
  if (atomicAdd(&arrived, 1) == 0) {
    value = in[threadIdx.x / 32] + 100;  // @publish
    __threadfence_block();
    atomicExch(&ready, 1);
  } else if (BUG(threadIdx.x / 32 != 3, true)) {
    while (atomicAdd(&ready, 0) == 0) {
    }
    __threadfence_block();
  }
  out[threadIdx.x / 32] = value;  // @take
}
void warps_case() { warps<<<1, 128>>>(device_array<int>(4), device_array<int>(4)); }

// A queue: block b takes what block b - 1 has put there, and waits for it if its number says so.
__global__ void queue(int* items, int* count, int* out) {
  if (threadIdx.x != 0) return;
  const int b = blockIdx.x;
  items[b] = b * 3 + 100;  // @push
  __threadfence();
  const int place = atomicAdd(count, 1);
  if (b > 0) {
    while (atomicAdd(count, 0) < BUG(place, int(gridDim.x))) {
    }
    __threadfence();
    out[b] = items[b - 1];  // @pop
  }
}
void queue_case() {
  int* count = device_array<int>(1);
  cudaMemset(count, 0, sizeof(int));
  queue<<<6, 32>>>(device_array<int>(6), count, device_array<int>(6));
}

int program(const char* only) {
  return run_cases({{"finisher", finisher_case},
                    {"roles", roles_case},
                    {"warps", warps_case},
                    {"queue", queue_case}},
                   only);
}

}  // namespace PLANTED
