// A persistent kernel: a few blocks take work from one queue until it is empty, and put new work
// in. The work: count the nodes of an irregular tree whose shape a hash decides.
#include "suite.h"

struct Queue {
  unsigned head, tail, pending, visited;
};

__host__ __device__ unsigned children(unsigned node) { return node < 8 ? 2 : hash(node) % 3; }
__host__ __device__ unsigned child(unsigned node, unsigned k) {
  return hash(node * 4 + k + 1) & 0x7fffffff;
}
__host__ __device__ bool deep(unsigned depth) { return depth >= 9; }

__global__ void worker(Queue* q, volatile unsigned long long* items, unsigned capacity) {
  __shared__ unsigned long long item;
  for (;;) {
    if (threadIdx.x == 0) {
      item = ~0ull;
      while (((volatile Queue*)q)->pending != 0) {
        unsigned head = ((volatile Queue*)q)->head;
        if (head == ((volatile Queue*)q)->tail) continue;
        unsigned long long candidate = items[head % capacity];
        if (candidate == 0) continue;  // claimed, not yet written
        if (atomicCAS(&q->head, head, head + 1) == head) {
          item = candidate;
          break;
        }
      }
    }
    __syncthreads();
    unsigned long long mine = item;
    __syncthreads();
    if (mine == ~0ull) return;
    unsigned node = unsigned(mine), depth = unsigned(mine >> 32) - 1;
    if (threadIdx.x < children(node) && !deep(depth)) {
      atomicAdd(&q->pending, 1);
      unsigned at = atomicAdd(&q->tail, 1);
      items[at % capacity] = (unsigned long long)(depth + 2) << 32 | child(node, threadIdx.x);
      __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&q->visited, 1), __threadfence(), atomicSub(&q->pending, 1);
  }
}

unsigned count(unsigned node, unsigned depth) {
  unsigned sum = 1;
  for (unsigned k = 0; k < children(node) && !deep(depth); k++)
    sum += count(child(node, k), depth + 1);
  return sum;
}

int main() {
  const unsigned capacity = 1 << 14;
  DeviceArray<unsigned long long> items(capacity);
  std::vector<unsigned long long> first(capacity);
  for (unsigned root = 0; root < 8; root++) first[root] = 1ull << 32 | root;
  items = first;
  DeviceArray<Queue> q(std::vector<Queue>{{0, 8, 8, 0}});
  worker<<<6, 32>>>(q, items, capacity);
  SYNC();
  unsigned wanted = 0;
  for (unsigned root = 0; root < 8; root++) wanted += count(root, 0);
  printf("%u nodes\n", wanted);
  Queue end = q.host()[0];
  expect(end.visited == wanted && end.pending == 0 && end.head == end.tail, "every node once");
  return verdict();
}
