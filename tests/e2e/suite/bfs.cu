// Breadth-first search of a random graph, level by level, with a queue filled by warp-aggregated
// atomics.
#include <queue>

#include "suite.h"

__global__ void expand(const int* begin, const int* neighbour, const int* frontier, int size,
                       int* next, int* next_size, int* level, int depth) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  int v = frontier[i];
  for (int k = begin[v]; k < begin[v + 1]; k++) {
    int w = neighbour[k];
    if (atomicCAS(&level[w], -1, depth) == -1) {
      unsigned found = __activemask();
      int lane = threadIdx.x % 32, leader = __ffs(found) - 1, base = 0;
      if (lane == leader) base = atomicAdd(next_size, __popc(found));
      base = __shfl_sync(found, base, leader);
      next[base + __popc(found & ((1u << lane) - 1))] = w;
    }
  }
}

int main() {
  const int n = 6000;
  std::vector<std::vector<int>> lists(n);
  for (int i = 0; i < 2 * n; i++) {
    int a = int(hash(i) % n), b = int(hash(i + 1000000) % n);
    lists[a].push_back(b), lists[b].push_back(a);
  }
  std::vector<int> begin{0}, neighbour, wanted(n, -1);
  for (auto& list : lists)
    neighbour.insert(neighbour.end(), list.begin(), list.end()),
        begin.push_back(int(neighbour.size()));
  std::queue<int> queue;
  queue.push(0), wanted[0] = 0;
  for (; !queue.empty(); queue.pop())
    for (int w : lists[queue.front()])
      if (wanted[w] < 0) wanted[w] = wanted[queue.front()] + 1, queue.push(w);

  std::vector<int> start(n, -1);
  start[0] = 0;
  DeviceArray<int> dbegin(begin), dneighbour(neighbour), level(start), a(n), b(n), count(1);
  int *from = a, *to = b, size = 1, depth = 0;
  while (size > 0) {
    CHECK(cudaMemset(count, 0, sizeof(int)));
    expand<<<(size + 127) / 128, 128>>>(dbegin, dneighbour, from, size, to, count, level, ++depth);
    SYNC();
    size = count.host()[0];
    std::swap(from, to);
  }
  expect_equal(level.host(), wanted, "levels");
  printf("%d levels\n", depth);
  return verdict();
}
