// Cooperative groups: blocks, tiles of every size, coalesced groups, labelled partitions, reduce
// and scan.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "suite.h"

namespace cg = cooperative_groups;

template <int size> __device__ void tile(cg::thread_block block, const int* in, int* out) {
  cg::thread_block_tile<size> t = cg::tiled_partition<size>(block);
  int v = in[block.thread_rank()];
  out[block.thread_rank()] =
      cg::reduce(t, v, cg::plus<int>()) + 1000 * t.shfl(v, 0) + 1000000 * int(t.any(v > 60));
}
__global__ void tiles(const int* in, int* out) {
  cg::thread_block block = cg::this_thread_block();
  int n = block.num_threads();
  tile<32>(block, in, out);
  tile<16>(block, in, out + n);
  tile<8>(block, in, out + 2 * n);
  tile<4>(block, in, out + 3 * n);
  tile<2>(block, in, out + 4 * n);
}
__global__ void groups(const int* in, int* active, int* label, int* running, int* greatest) {
  cg::thread_block block = cg::this_thread_block();
  int r = block.thread_rank(), v = in[r];
  active[r] = -1;
  if (v % 3 == 0) {
    cg::coalesced_group g = cg::coalesced_threads();
    active[r] = g.thread_rank() * 100 + g.size();
  }
  block.sync();
  auto warp = cg::tiled_partition<32>(block);
  auto same = cg::labeled_partition(warp, v % 5);
  label[r] = same.size() * 100 + same.thread_rank();
  running[r] = cg::inclusive_scan(warp, v);
  greatest[r] = cg::reduce(warp, v, cg::greater<int>());
}

int main() {
  const int n = 96;
  std::vector<int> h(n), wanted(5 * n);
  for (int i = 0; i < n; i++) h[i] = hash(i) % 64;
  DeviceArray<int> in(h), out(5 * n), active(n), label(n), running(n), greatest(n);
  tiles<<<1, n>>>(in, out);
  groups<<<1, n>>>(in, active, label, running, greatest);
  SYNC();
  for (int k = 0, size = 32; size >= 2; size /= 2, k++)
    for (int i = 0; i < n; i++) {
      int sum = 0, any = 0, base = i / size * size;
      for (int j = base; j < base + size; j++) sum += h[j], any |= h[j] > 60;
      wanted[k * n + i] = sum + 1000 * h[base] + 1000000 * any;
    }
  expect_equal(out.host(), wanted, "tiles");
  std::vector<int> a(n, -1), l(n), s(n), g(n);
  for (int i = 0; i < n; i++) {
    int base = i / 32 * 32, rank = 0, size = 0, label_rank = 0, label_size = 0;
    for (int j = base; j < base + 32; j++) {
      if (h[j] % 3 == 0) size++, rank += j < i;
      if (h[j] % 5 == h[i] % 5) label_size++, label_rank += j < i;
      if (j <= i) s[i] += h[j];
      g[i] = std::max(g[i], h[j]);
    }
    if (h[i] % 3 == 0) a[i] = rank * 100 + size;
    l[i] = label_size * 100 + label_rank;
  }
  expect_equal(active.host(), a, "coalesced groups");
  expect_equal(label.host(), l, "labelled partitions");
  expect_equal(running.host(), s, "inclusive scan");
  expect_equal(greatest.host(), g, "reduce to the greatest");
  return verdict();
}
