// libcu++: atomics with orderings and scopes, a flag between blocks, a barrier in shared memory, a
// semaphore, latches.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>

#include "suite.h"

__device__ cuda::counting_semaphore<cuda::thread_scope_device, 2> slots(2);

__global__ void count(int* plain,
                      cuda::atomic<unsigned long long, cuda::thread_scope_device>* total) {
  cuda::atomic_ref<int, cuda::thread_scope_device> a(*plain);
  a.fetch_add(int(threadIdx.x), cuda::memory_order_relaxed);
  total->fetch_max(threadIdx.x * 3ull, cuda::memory_order_acq_rel);
}
__global__ void hand_over(int* data, int* flag, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      while (ready.load(cuda::memory_order_acquire) == 0) {
      }
      *out = *data + 1;
    }
  } else if (threadIdx.x == 0) {
    *data = 41;
    ready.store(1, cuda::memory_order_release);
  }
}
__global__ void phases(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int s[64];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  int v = threadIdx.x;
  for (int k = 0; k < 4; k++) {
    s[threadIdx.x] = v;
    barrier.arrive_and_wait();
    v = s[(threadIdx.x + 1) % 64] * 2;
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
  }
  out[threadIdx.x] = v;
}
__global__ void limited(int* inside, int* most, int* passed) {
  if (threadIdx.x != 0) return;
  slots.acquire();
  int now = atomicAdd(inside, 1) + 1;
  atomicMax(most, now);
  atomicAdd(passed, 1);
  atomicSub(inside, 1);
  slots.release();
}

int main() {
  DeviceArray<int> cells(8), out(64);
  DeviceArray<unsigned long long> total(1);
  count<<<2, 64>>>(
      cells,
      reinterpret_cast<cuda::atomic<unsigned long long, cuda::thread_scope_device>*>(total.data));
  hand_over<<<2, 32>>>(cells + 1, cells + 2, cells + 3);
  phases<<<1, 64>>>(out);
  limited<<<10, 32>>>(cells + 4, cells + 5, cells + 6);
  SYNC();
  std::vector<int> c = cells.host(), wanted(64);
  for (int t = 0; t < 64; t++) wanted[t] = (t + 4) % 64 * 16;
  expect(c[0] == 2 * 63 * 32 && total.host()[0] == 63 * 3, "atomics");
  expect(c[3] == 42, "released and acquired");
  expect_equal(out.host(), wanted, "phases of a barrier");
  expect(c[4] == 0 && c[5] >= 1 && c[5] <= 2 && c[6] == 10, "semaphore");
  return verdict();
}
