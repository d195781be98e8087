// Every atomic function, in global and in shared memory, with results used and unused, and the
// _block and _system forms.
#include "suite.h"

typedef unsigned long long u64;
struct Cells {
  int add, sub, low, high, exchanged, set;
  unsigned up, down, low_u, high_u, all, any, odd, swapped, tickets;
  u64 add64, all64, any64, odd64, high64;
  long long low64;
  float sum;
  double sum_d;
};

__device__ void apply(Cells* c, unsigned i, unsigned* seen) {
  atomicAdd(&c->add, int(i)), atomicSub(&c->sub, int(i)), atomicMin(&c->low, 100 - int(i)),
      atomicMax(&c->high, int(i) - 50);
  atomicInc(&c->up, 99), atomicDec(&c->down, 49), atomicMin(&c->low_u, 5000 - i),
      atomicMax(&c->high_u, i * 3);
  atomicAnd(&c->all, ~(1u << (i % 7))), atomicOr(&c->any, 1u << (i % 32)),
      atomicXor(&c->odd, i * 0x10001);
  atomicAdd(&c->add64, u64(i) << 30), atomicAnd(&c->all64, ~(1ull << (i % 60))),
      atomicOr(&c->any64, 1ull << (i % 60)), atomicXor(&c->odd64, u64(i) << 33);
  atomicMax(&c->high64, u64(i) << 40), atomicMin(&c->low64, -((long long)i << 35));
  atomicAdd(&c->sum, 0.25f), atomicAdd(&c->sum_d, i * 0.5);
  unsigned old = *static_cast<volatile unsigned*>(&c->swapped), expected;
  do expected = old;
  while ((old = atomicCAS(&c->swapped, expected, expected + i)) != expected);
  seen[atomicAdd(&c->tickets, 1)] = 1;
  if (atomicExch(&c->exchanged, 1) == 0) atomicAdd(&c->set, 1);
}
__global__ void global_cells(Cells* c, unsigned* seen) {
  apply(c, blockIdx.x * blockDim.x + threadIdx.x, seen);
}
__global__ void shared_cells(Cells* out, unsigned* seen) {
  __shared__ Cells c;
  if (threadIdx.x == 0) c = *out;
  __syncthreads();
  apply(&c, threadIdx.x, seen);
  __syncthreads();
  if (threadIdx.x == 0) *out = c;
}
__global__ void scopes(int* p) {
  atomicAdd_block(p, 1), atomicAdd_system(p, 2), atomicMax_block(p + 1, int(threadIdx.x)),
      atomicCAS_system(p + 2, 0, 7);
}

void check(const Cells& c, unsigned n, const std::vector<unsigned>& seen, const char* what) {
  Cells w{};
  unsigned sum = n * (n - 1) / 2;
  w.all = ~0u, w.all64 = ~0ull;
  for (unsigned i = 0; i < n; i++) {
    w.all &= ~(1u << (i % 7)), w.any |= 1u << (i % 32), w.odd ^= i * 0x10001;
    w.add64 += u64(i) << 30, w.all64 &= ~(1ull << (i % 60)), w.any64 |= 1ull << (i % 60),
        w.odd64 ^= u64(i) << 33, w.sum_d += i * 0.5;
  }
  int right = int(c.add == int(sum)) + (c.sub == -int(sum)) + (c.low == std::min(0, 101 - int(n))) +
              (c.high == std::max(0, int(n) - 51)) + (c.up == n % 100) +
              (c.down == (50 - n % 50) % 50);
  right += int(c.low_u == 5001 - n) + (c.high_u == 3 * (n - 1)) + (c.all == w.all) +
           (c.any == w.any) + (c.odd == w.odd) + (c.add64 == w.add64) + (c.all64 == w.all64) +
           (c.any64 == w.any64);
  right += int(c.odd64 == w.odd64) + (c.high64 == u64(n - 1) << 40) +
           (c.low64 == -((long long)(n - 1) << 35)) + (c.sum == n * 0.25f) + (c.sum_d == w.sum_d) +
           (c.swapped == sum);
  right += int(c.tickets == n) + (c.exchanged == 1) + (c.set == 1);
  unsigned tickets = 0;
  for (unsigned s : seen) tickets += s;
  if (right != 23 || tickets != n)
    printf("%s: %d of 23 cells right, %u tickets\n", what, right, tickets);
  expect(right == 23 && tickets == n, what);
}

int main() {
  Cells zero{};
  zero.all = ~0u, zero.all64 = ~0ull, zero.low_u = ~0u;
  DeviceArray<Cells> a(std::vector<Cells>{zero}), b(std::vector<Cells>{zero});
  const unsigned n = 5 * 70, m = 130;
  DeviceArray<unsigned> seen_a(n), seen_b(m);
  DeviceArray<int> scoped(3);
  global_cells<<<5, 70>>>(a, seen_a);
  shared_cells<<<1, m>>>(b, seen_b);
  scopes<<<1, 50>>>(scoped);
  SYNC();
  check(a.host()[0], n, seen_a.host(), "global memory");
  check(b.host()[0], m, seen_b.host(), "shared memory");
  expect_equal(scoped.host(), {150, 49, 7}, "scopes");
  return verdict();
}
