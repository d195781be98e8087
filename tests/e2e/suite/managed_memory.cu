// Managed memory: a linked list built on the host and walked on the device, a managed variable,
// host and device taking turns, prefetch and advice.
#include "suite.h"

struct Node {
  int value;
  Node* next;
};
__managed__ int total = 5;
__managed__ float table[4] = {1, 2, 4, 8};

__global__ void walk(const Node* head) {
  int sum = 0;
  for (const Node* n = head; n; n = n->next) sum += n->value;
  total += sum;
}
__global__ void append(Node* head, Node* spare) {
  Node* last = head;
  while (last->next) last = last->next;
  spare->value = int(table[3]) * 100, spare->next = nullptr, last->next = spare;
}

int main() {
  const int n = 100;
  Node* nodes;
  CHECK(cudaMallocManaged(&nodes, (n + 1) * sizeof(Node)));
  for (int i = 0; i < n; i++) nodes[i] = {i, i + 1 < n ? &nodes[i + 1] : nullptr};
  walk<<<1, 1>>>(nodes);
  SYNC();
  expect(total == 5 + n * (n - 1) / 2, "sum over a list");
  table[3] = 9;
  append<<<1, 1>>>(nodes, nodes + n);
  SYNC();
  expect(nodes[n - 1].next == &nodes[n] && nodes[n].value == 900,
         "the host sees what the device wrote");
  total = 0;
  walk<<<1, 1>>>(nodes);
  SYNC();
  expect(total == n * (n - 1) / 2 + 900, "again, through a managed variable");
  cudaPointerAttributes a;
  CHECK(cudaPointerGetAttributes(&a, nodes));
  expect(a.type == cudaMemoryTypeManaged, "attributes");
  CHECK(cudaFree(nodes));
  return verdict();
}
