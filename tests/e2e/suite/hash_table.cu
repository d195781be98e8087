// An open-addressing hash table filled by atomicCAS (32- and 64-bit), then queried; counts per key.
#include <map>

#include "suite.h"

constexpr unsigned kSlots = 4096, kEmpty = ~0u;

__global__ void count_keys(const unsigned* keys, int n, unsigned* table, int* counts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (unsigned slot = hash(keys[i]) % kSlots;; slot = (slot + 1) % kSlots) {
    unsigned old = atomicCAS(&table[slot], kEmpty, keys[i]);
    if (old == kEmpty || old == keys[i]) {
      atomicAdd(&counts[slot], 1);
      return;
    }
  }
}
__global__ void insert_pairs(const unsigned* keys, int n,
                             unsigned long long* table) {  // key | smallest index
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long pair = (unsigned long long)keys[i] << 32 | unsigned(i);
  for (unsigned slot = hash(keys[i]) % kSlots;; slot = (slot + 1) % kSlots) {
    unsigned long long old = atomicCAS(&table[slot], ~0ull, pair);
    if (old == ~0ull) return;
    if (old >> 32 == keys[i]) {
      atomicMin(&table[slot], pair);
      return;
    }
  }
}
__global__ void look_up(const unsigned* table, const int* counts, const unsigned long long* pairs,
                        int n, int* count, int* first) {
  unsigned key = blockIdx.x * blockDim.x + threadIdx.x;
  if (key >= n) return;
  count[key] = 0, first[key] = -1;
  for (unsigned slot = hash(key) % kSlots; table[slot] != kEmpty; slot = (slot + 1) % kSlots)
    if (table[slot] == key) count[key] = counts[slot];
  for (unsigned slot = hash(key) % kSlots; pairs[slot] != ~0ull; slot = (slot + 1) % kSlots)
    if (pairs[slot] >> 32 == key) first[key] = int(pairs[slot]);
}

int main() {
  const int n = 9000, range = 3000;
  std::vector<unsigned> keys = random_words(n);
  std::vector<int> count(range), first(range, -1);
  for (int i = n - 1; i >= 0; i--) keys[i] %= range, count[keys[i]]++, first[keys[i]] = i;
  DeviceArray<unsigned> dkeys(keys), table(kSlots);
  DeviceArray<int> counts(kSlots), got_count(range), got_first(range);
  DeviceArray<unsigned long long> pairs(kSlots);
  CHECK(cudaMemset(table, 0xff, kSlots * sizeof(unsigned)));
  CHECK(cudaMemset(pairs, 0xff, kSlots * sizeof(unsigned long long)));
  count_keys<<<(n + 255) / 256, 256>>>(dkeys, n, table, counts);
  insert_pairs<<<(n + 255) / 256, 256>>>(dkeys, n, pairs);
  look_up<<<(range + 255) / 256, 256>>>(table, counts, pairs, range, got_count, got_first);
  SYNC();
  expect_equal(got_count.host(), count, "counts");
  expect_equal(got_first.host(), first, "first places");
  return verdict();
}
